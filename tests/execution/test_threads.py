"""The fits of workers share the cores, whatever their threads are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from joblib import cpu_count, parallel_config
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.ensemble import HistGradientBoostingClassifier as HistogramBoosting
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

from doubles import CountsThreads, threads_of
from sklearn_halving import HyperbandSearchCV
from sklearn_halving.execution._threads import fit_threads, limited_n_jobs

SHARE = max(1, cpu_count() // 2)
"""The threads of each of two workers."""
X, Y = make_classification(120, 5, random_state=0)
SPACE = {"quality": [0.1, 0.2, 0.3, 0.4]}


def search(estimator: Any, space: Any, **options: Any) -> HyperbandSearchCV:
    defaults = {"scoring": threads_of, "refit": "score", "min_resources": 40, "random_state": 0}
    return HyperbandSearchCV(estimator, space, **(defaults | options))


def seen(fitted: Any, name: str) -> set[int]:
    return set(fitted.history_[f"test_{name}"].astype(int))


# ------------------------------------------------------------------- what the workers see


@pytest.mark.walk
@pytest.mark.parametrize("allowed", [None, "2"])
@pytest.mark.parametrize("options", [{}, {"fit_timeout": 60}], ids=["plain", "guarded"])
@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_workers_share_the_cores_also_if_the_environment_allows_more(
    backend: str, options: dict[str, Any], allowed: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if allowed is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", allowed)
    with threadpool_limits(2), parallel_config(backend):
        fitted = search(CountsThreads(), SPACE, n_jobs=2, **options).fit(X, Y)
        after = {pool["num_threads"] for pool in threadpool_info()}
    assert seen(fitted, "param") == {SHARE}
    assert seen(fitted, "fit") == seen(fitted, "scoring") <= set(range(1, SHARE + 1))
    assert after == {2}
    assert all(params.keys() == {"quality"} for params in fitted.cv_results_["params"])
    assert fitted.best_estimator_.get_params() == {"quality": 0.4, "n_jobs": -1}
    assert max(fitted.best_estimator_.threads_.values()) == 2


def test_nothing_changes_with_one_worker() -> None:
    with threadpool_limits(2):
        fitted = search(CountsThreads(), SPACE, n_jobs=1).fit(X, Y)
    assert (seen(fitted, "param"), seen(fitted, "fit"), seen(fitted, "scoring")) == (
        {-1},
        {2},
        {2},
    )


def test_what_the_user_says_stays() -> None:
    fitted = search(CountsThreads(n_jobs=3), SPACE, n_jobs=2).fit(X, Y)
    assert seen(fitted, "param") == {3}
    with parallel_config("loky", inner_max_num_threads=2):
        fitted = search(CountsThreads(), SPACE, n_jobs=2).fit(X, Y)
    assert seen(fitted, "param") == seen(fitted, "fit") == {2}


def lightgbm(**params: Any) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(verbose=-1, min_child_samples=5, **params)


def xgboost(**params: Any) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(**params)


def catboost(**params: Any) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(verbose=False, allow_writing_files=False, **params)


KINDS: dict[str, tuple[Callable[[], Any], str, int]] = {
    "LightGBM": (lambda: lightgbm(n_estimators=3), "learning_rate", SHARE),
    "XGBoost": (lambda: xgboost(n_estimators=3, n_jobs=-1), "learning_rate", SHARE),
    "CatBoost": (lambda: catboost(iterations=3), "learning_rate", SHARE),
    "histograms": (lambda: HistogramBoosting(max_iter=3), "learning_rate", 0),
    "forest": (lambda: RandomForestClassifier(3, n_jobs=-1), "max_features", SHARE),
    "MLP": (lambda: MLPClassifier(max_iter=300), "learning_rate_init", 0),
}


@pytest.mark.walk
@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_in_a_pipeline(kind: str, backend: str) -> None:
    make, name, expected = KINDS[kind]
    pipe = make_pipeline(StandardScaler(), make())
    space = {f"{pipe.steps[-1][0]}__{name}": [0.1, 0.2, 0.3, 0.4]}
    with parallel_config(backend):
        fitted = search(pipe, space, n_jobs=2, error_score="raise").fit(X, Y)
    assert seen(fitted, "param") == {expected}
    assert max(seen(fitted, "scoring")) <= SHARE
    refitted = fitted.best_estimator_[-1].get_params()
    for parameter in ("n_jobs", "thread_count"):
        assert refitted.get(parameter) == pipe[-1].get_params().get(parameter)


def test_models_that_are_trained_further_keep_their_share() -> None:
    trees = {"resource": "n_estimators", "min_resources": 2, "max_resources": 18}
    space = {"num_leaves": [4, 5, 6, 7, 8, 9]}
    fitted = search(lightgbm(), space, n_jobs=2, brackets="all", **trees).fit(X, Y)
    assert fitted.history_["continued_from"].max() > 0
    assert seen(fitted, "param") == {SHARE}
    assert fitted.best_estimator_.n_jobs is None


# ------------------------------------------------------------------------ nested searches


class Nesting(HyperbandSearchCV):
    """A search whose score is that of its own fits: the largest number of threads."""

    def score(self, X: Any, y: Any = None) -> float:
        return float(max(*seen(self, "param"), *seen(self, "fit"), *seen(self, "scoring")))


@pytest.mark.walk
@pytest.mark.parametrize("backend", ["loky", "threading"])
@pytest.mark.parametrize("estimator", [CountsThreads(), make_pipeline(CountsThreads(n_jobs=1))])
def test_a_search_inside_a_search(estimator: Any, backend: str) -> None:
    """The second estimator is replaced by the candidates of the inner search."""
    space: Any = SPACE
    if hasattr(estimator, "steps"):
        space = {"countsthreads": [CountsThreads(quality) for quality in (0.1, 0.2, 0.3, 0.4)]}
    options = {"scoring": threads_of, "refit": "score", "min_resources": 20, "random_state": 0}
    inner = Nesting(estimator, space, **options)
    outer = HyperbandSearchCV(inner, {"cv": [3, 4]}, n_jobs=2, min_resources=60, random_state=0)
    with parallel_config(backend):
        outer.fit(X, Y)
    assert set(outer.history_["test_score"]) == {SHARE}
    assert seen(outer.best_estimator_, "param") == {-1}


@pytest.mark.parametrize(("n_outer", "n_inner"), [(2, None), (2, 2), (None, 2)])
def test_a_search_inside_cross_validate(n_outer: int | None, n_inner: int | None) -> None:
    nested = search(CountsThreads(), SPACE, n_jobs=n_inner, min_resources=20)
    done = cross_validate(
        nested, X, Y, n_jobs=n_outer, cv=2, return_estimator=True, scoring=lambda *_: 0.0
    )
    n_fits = (n_outer or 1) * (n_inner or 1)
    for fitted in done["estimator"]:
        assert seen(fitted, "param") == seen(fitted, "fit") == {max(1, cpu_count() // n_fits)}
        assert fitted.best_estimator_.n_jobs == -1


# --------------------------------------------------------------------------- the parts


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (RandomForestClassifier(), {}),
        (RandomForestClassifier(n_jobs=-2), {"n_jobs": 4}),
        (RandomForestClassifier(n_jobs=8), {}),
        (lightgbm(), {"n_jobs": 4}),
        (lightgbm(n_jobs=0), {"n_jobs": 4}),
        (lightgbm(num_threads=8), {}),
        (xgboost(), {"n_jobs": 4}),
        (xgboost(n_jobs=8), {}),
        (catboost(thread_count=-1), {"thread_count": 4}),
        (catboost(thread_count=8), {}),
        (
            GridSearchCV(BaggingClassifier(lightgbm(), n_jobs=2), {}, n_jobs=-1),
            {"n_jobs": 4, "estimator__estimator__n_jobs": 1},
        ),
        (
            VotingClassifier(
                [("a", catboost()), ("b", RandomForestClassifier(n_jobs=-1))], n_jobs=2
            ),
            {"a__thread_count": 2, "b__n_jobs": 2},
        ),
    ],
)
def test_parameters_that_ask_for_all_cores(estimator: Any, expected: dict[str, int]) -> None:
    assert limited_n_jobs(estimator, estimator.get_params(), 4) == expected


def threads(user_api: str) -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == user_api}


@pytest.fixture
def two_threads() -> Iterator[None]:
    with threadpool_limits(2):
        yield


@pytest.mark.usefixtures("two_threads")
def test_a_limit_never_raises_the_number_of_threads() -> None:
    with fit_threads(5):
        assert (threads("blas"), threads("openmp")) == ({2}, {2})


@pytest.mark.usefixtures("two_threads")
def test_a_thread_limits_no_other() -> None:
    def fit() -> tuple[set[int], set[int]]:
        with fit_threads(1):
            return threads("blas"), threads("openmp")

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(fit).result() == ({2}, {1})
    assert (threads("blas"), threads("openmp")) == ({2}, {2})
