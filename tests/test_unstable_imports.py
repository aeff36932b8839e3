"""Every private name that the package uses is there, and does what it is used for."""

from __future__ import annotations

import inspect
import time
from numbers import Integral
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from sklearn_halving import _unstable_imports as unstable
from sklearn_halving import _unstable_joblib as joblib_names


@pytest.mark.parametrize("module", [unstable, joblib_names])
def test_all_names_exist(module: Any) -> None:
    missing = [name for name in module.__all__ if not hasattr(module, name)]
    assert not missing


@pytest.mark.parametrize("module", [unstable, joblib_names])
def test_everything_imported_is_listed(module: Any) -> None:
    public = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and getattr(value, "__module__", "").startswith((module.__name__, "sklearn", "joblib"))
    }
    assert public <= set(module.__all__)


def test_base_search_cv_is_the_base_of_grid_search() -> None:
    assert issubclass(GridSearchCV, unstable.BaseSearchCV)
    search = GridSearchCV(DummyClassifier(), {"strategy": ["prior"]}, scoring=["accuracy", "f1"])
    search.refit = "f1"
    scorers, refit_metric = unstable.scorers_of(search)
    assert refit_metric == "f1"
    assert set(unstable.named_scorers(scorers) or ()) == {"accuracy", "f1"}
    assert unstable.named_scorers(check_scoring(DummyClassifier(), "accuracy")) is None


def test_refit_is_checked_as_grid_search_checks_it() -> None:
    def scoring(estimator: Any, X: Any, y: Any) -> dict[str, float]:
        return {"a": 1.0}

    search = GridSearchCV(DummyClassifier(), {"strategy": ["prior"]}, scoring=scoring, refit="b")
    with pytest.raises(ValueError, match="refit"):
        unstable.check_refit_metric(search, ["a"])
    unstable.check_refit_metric(search.set_params(refit="a"), ["a"])
    search.set_params(refit=lambda results: results["rank"].index(1))
    assert unstable.select_best_index(search, "a", {"params": [1, 2], "rank": [2, 1]}) == 1
    with pytest.raises(IndexError):
        unstable.select_best_index(search, "a", {"params": [1], "rank": [2, 1]})
    unstable.validate_params(search)
    with pytest.raises(ValueError, match="'verbose' parameter"):
        unstable.validate_params(search.set_params(verbose=-1))


def test_param_columns_are_masked_where_a_candidate_lacks_the_parameter() -> None:
    columns = dict(unstable.param_columns([{"a": 1}, {"a": 2, "b": "x"}]))
    assert columns["param_a"].tolist() == [1, 2]
    assert columns["param_b"].mask.tolist() == [True, False]


def test_parameters_are_validated_by_the_same_rules() -> None:
    class Constrained(BaseEstimator):
        _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - as scikit-learn does
            "n": [
                unstable.Interval(Integral, 1, None, closed="left"),
                unstable.StrOptions({"auto"}),
            ]
        }

        def __init__(self, n: Any = 1) -> None:
            self.n = n

        @unstable.fit_context(prefer_skip_nested_validation=True)
        def fit(self, X: Any) -> Constrained:
            return self

    assert Constrained(n="auto").fit(None)
    with pytest.raises(ValueError, match="'n' parameter of Constrained"):
        Constrained(n=0).fit(None)


def test_safe_split_cuts_both_sides_of_a_precomputed_kernel() -> None:
    kernel = np.arange(25.0).reshape(5, 5)
    train, test = np.array([0, 2, 4]), np.array([1, 3])
    X, y = unstable.safe_split(SVC(kernel="precomputed"), kernel, np.arange(5), test, train)
    np.testing.assert_array_equal(X, kernel[np.ix_(test, train)])
    np.testing.assert_array_equal(y, test)
    X, y = unstable.safe_split(SVC(), [[1], [2], [3]], None, [2, 0])
    assert X == [[3], [1]]
    assert y is None


def test_method_params_cuts_what_has_one_entry_a_row() -> None:
    params = {"sample_weight": [1.0, 2.0, 3.0], "flag": True}
    cut = unstable.method_params(np.zeros((3, 1)), params=params, indices=np.array([2, 0]))
    assert list(cut["sample_weight"]) == [3.0, 1.0]
    assert cut["flag"] is True
    assert unstable.num_samples([[1], [2]]) == 2


def test_routed_fit_params_has_the_three_receivers() -> None:
    search = GridSearchCV(SVC(), {"C": [1]})
    routed = unstable.routed_fit_params(search, {"sample_weight": np.ones(3), "groups": [1, 2, 3]})
    assert list(routed.estimator.fit) == ["sample_weight"]
    assert list(routed.splitter.split) == ["groups"]
    assert hasattr(routed, "scorer")


@pytest.mark.parametrize(
    ("pre_dispatch", "expected"),
    [("all", None), ("2*n_jobs", 6), ("n_jobs", 3), ("n_jobs // 2", 1), (7, 7), (0, 1), ("0", 1)],
)
def test_pre_dispatch_is_read_as_joblib_reads_it(
    pre_dispatch: int | str, expected: int | None
) -> None:
    assert joblib_names.evaluated_pre_dispatch(pre_dispatch, 3) == expected


# ---------------------------------------------------------------------------- the session


def double(value: int) -> int:
    return 2 * value


def fail() -> None:
    raise ZeroDivisionError("in a worker")


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_session_submits_and_says_when_it_is_done(backend: str) -> None:
    done: SimpleQueue[Any] = SimpleQueue()
    with parallel_config(backend), joblib_names.JoblibSession(2) as session:
        assert session.can_submit
        assert session.n_workers == 2
        assert session.shares_memory == session.uses_threads == (backend == "threading")
        for i in range(10):
            session.submit(double, [i], done.put)
        results = {session.result(done.get(timeout=60)) for _ in range(10)}
    assert results == {2 * i for i in range(10)}


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_session_raises_what_the_function_raised(backend: str) -> None:
    done: SimpleQueue[Any] = SimpleQueue()
    with parallel_config(backend), joblib_names.JoblibSession(2) as session:
        session.submit(fail, [], done.put)
        with pytest.raises(ZeroDivisionError, match="in a worker"):
            session.result(done.get(timeout=60))
        session.submit(double, [4], done.put)
        assert session.result(done.get(timeout=60)) == 8, "still in working order"


def test_an_aborted_session_does_not_wait_and_the_next_one_works() -> None:
    def interrupted() -> None:
        with parallel_config("loky"), joblib_names.JoblibSession(2) as session:
            for _ in range(4):
                session.submit(time.sleep, [60], SimpleQueue().put)
            raise KeyboardInterrupt

    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert time.perf_counter() - start < 30
    done: SimpleQueue[Any] = SimpleQueue()
    with parallel_config("loky"), joblib_names.JoblibSession(2) as session:
        session.submit(double, [1], done.put)
        assert session.result(done.get(timeout=60)) == 2


def test_session_takes_n_jobs_from_the_context() -> None:
    with parallel_config("threading", n_jobs=3), joblib_names.JoblibSession(None) as session:
        assert session.n_workers == 3


def test_cloudpickle_takes_what_pickle_does_not() -> None:
    assert joblib_names.cloudpickle.loads(joblib_names.cloudpickle.dumps(lambda: 3))() == 3


# ------------------------------------------------------------------------------ callbacks


def test_without_callbacks_nothing_is_done() -> None:
    with unstable.propagated_callbacks(None, DummyClassifier()) as nothing:
        assert nothing is None
