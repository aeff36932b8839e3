"""Searches that go on where an earlier one ended: the checkpoint, more of a budget."""

from __future__ import annotations

import json
import math
import os
import pickle
import re
import sqlite3
import warnings
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed, parallel_config
from scipy.stats import loguniform, uniform
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import KFold, ParameterGrid, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeRegressor

from search.common import parametrize_searches, small
from search.resuming import (
    GRID,
    Steady,
    X,
    Y,
    crashing,
    cut_after,
    fits_in,
    fits_of,
    found,
    query,
    steady,
    table,
)
from sklearn_halving import (
    AdaptiveSearchCV,
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)
from sklearn_halving.policies import HOO, SuccessiveRejects

# -------------------------------------------------------------------- resume is replay


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("share", [0, 0.2, 0.7, 1])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_search_goes_on_where_the_file_ends(search_class, share, n_jobs, tmp_path):
    path, log = tmp_path / "j", str(tmp_path / "log")
    unbroken = steady(search_class, path).fit(X, Y)
    assert found(steady(search_class).fit(X, Y)) == found(unbroken)
    n_done = int(share * unbroken.n_fits_)
    cut_after(path, n_done)
    done = fits_in(path)
    estimator = Steady(log=log)
    with parallel_config("threading", n_jobs=n_jobs):
        resumed = steady(search_class, path, n_jobs=n_jobs).fit(X, Y)
    assert found(resumed) == found(unbroken)
    assert fits_in(path)[: len(done)] == done
    assert len(fits_in(path)) == unbroken.n_fits_, "every other fit was done, and once"
    # finished: nothing is left to fit but the best
    again = steady(search_class, path).fit(X, Y)
    assert table(again, with_times=True) == table(resumed, with_times=True)
    assert estimator.log == log
    assert not fits_of(log)


def test_candidates_made_on_the_way_are_made_again(tmp_path):
    path, space = tmp_path / "j", {"value": uniform(0, 0.9)}  # scores have noise, and end at 1

    def search(n_fits, policy="hoo", checkpoint=path):
        options = {"policy": policy, "n_fits": n_fits, "checkpoint": checkpoint}
        return small(BanditSearchCV, Steady(), space, **options)

    unbroken = search(20).fit(X, Y)
    cut_after(path, 8)
    assert found(search(20).fit(X, Y)) == found(unbroken)
    for other in ({"n_fits": 25}, {"n_fits": None, "policy": HOO(25)}):
        alone = search(**other, checkpoint=None).fit(X, Y)
        assert found(search(**other).fit(X, Y)) == found(alone)


@parametrize_searches
def test_a_search_that_stops_again_at_once_has_all_fits_of_its_file(search_class, tmp_path):
    """Also those that come after fits that were not made any more."""
    path = tmp_path / "j"
    space = {"value": uniform(0, 0.9)}
    options = {"checkpoint": path, "cv": 3}
    small(search_class, Steady(), space, **options).fit(X, Y)
    whole = path.read_bytes()
    n_all = len(fits_in(path))
    for n_fits in range(2, n_all, max(1, n_all // 12)):
        path.write_bytes(whole)
        cut_after(path, n_fits)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*time_budget")
            again = small(search_class, Steady(), space, time_budget=1e-9, **options).fit(X, Y)
        assert again.n_fits_ == n_fits


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("random_state", [None, np.random.MT19937, np.random.PCG64])
def test_without_a_number_the_draws_are_those_of_the_file(search_class, random_state, tmp_path):
    def search():
        instance = None if random_state is None else np.random.RandomState(random_state(5))
        space = {"value": uniform(0, 1)}
        n = {"n_candidates": 5}
        kept = {"checkpoint": tmp_path / "j", "random_state": instance}
        return small(search_class, Steady(), space, **n, **kept)

    first = search()
    found_first = found(first.fit(X, Y))
    cut_after(tmp_path / "j", 5)
    np.random.rand(3)  # noqa: NPY002 - what others draw meanwhile is no matter
    assert found(search().fit(X, Y)) == found_first
    assert found(first.fit(X, Y)) == found_first, "the same object, whose state has moved on"
    n_fits = len(fits_in(tmp_path / "j"))
    first.set_params(random_state=0).fit(X, Y)  # another search
    assert len(fits_in(tmp_path / "j")) == n_fits + first.n_fits_


# -------------------------------------------------------- other searches in the same file


CHANGES = {
    r"y\.": {"Y": 1 - Y},
    r"seconds \(0\.0 before, 1e-09 now\)": {"estimator": Steady(seconds=1e-9)},
    r"scoring \(None before, 'accuracy' now\)": {"scoring": "accuracy"},
    r"error_score \(nan before, 0\.0 now\)": {"error_score": 0.0},
    "": {"random_state": 1},
    "nothing, as the data differ": {"X": X + 1, "Y": 1 - Y},
    "nothing, as two things differ": {"scoring": "accuracy", "error_score": 0.0},
}


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("name", CHANGES)
def test_another_search_in_the_file_is_as_alone_and_one_difference_is_named(
    search_class, name, tmp_path
):
    path = tmp_path / "j"
    first = found(small(search_class, Steady(), GRID, checkpoint=path).fit(X, Y))
    change = dict(CHANGES[name])
    data = change.pop("X", X), change.pop("Y", Y)
    estimator = change.pop("estimator", Steady())
    search = small(search_class, estimator, GRID, checkpoint=path, **change)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        both = found(search.fit(*data)), found(search.fit(*data))
    alone = small(search_class, estimator, GRID, **change).fit(*data)
    assert both == (found(alone), found(alone))
    texts = [str(each.message) for each in said if "only in" in str(each.message)]
    assert len(texts) == (name != "" and "nothing" not in name), "said once"
    assert not texts or re.search(f"only in {name}", texts[0])
    assert found(small(search_class, Steady(), GRID, checkpoint=path).fit(X, Y)) == first


def test_the_only_difference_is_that_from_a_search_without_another(tmp_path):
    def search(**params):
        model, space = DecisionTreeRegressor(random_state=0), {"max_depth": [1, 2, 3]}
        return small(HyperbandSearchCV, model, space, checkpoint=tmp_path / "j", **params)

    search().fit(X, Y)
    with pytest.warns(UserWarning, match="only in error_score"):
        search(error_score=0).fit(X, Y)
    with pytest.warns(UserWarning, match=r"only in arguments of fit\."):
        search().fit(X, Y, sample_weight=np.ones(len(Y)))


OWN_CODE = """
def tripled(X):
    return 3 * X
class Scorer:
    n_calls = 0
    def __call__(self, estimator, X, y):
        Scorer.n_calls += 1
        return estimator.score(X, y)
"""


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (("3 * X", "4 * X"), r"your own tripled\. "),
        (("return estimator.score(X, y)", "return 0.5"), r"your own Scorer\.__call__\. "),
    ],
)
def test_a_change_of_own_code_is_one_difference_without_what_it_counts(change, name, tmp_path):
    def search(source):
        own: dict = {"__name__": "users_own"}
        exec(compile(source, "own.py", "exec"), own)
        model = make_pipeline(FunctionTransformer(own["tripled"]), Steady())
        space, options = {"steady__value": [1, 2, 3]}, {"scoring": own["Scorer"]()}
        return small(HyperbandSearchCV, model, space, checkpoint=tmp_path / "j", **options)

    search(OWN_CODE).fit(X, Y).fit(X, Y)
    with pytest.warns(UserWarning, match=f"only in {name}"):
        search(OWN_CODE.replace(*change)).fit(X, Y)


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_a_nested_cross_validation_keeps_the_fits_of_all_folds(backend, tmp_path):
    path, log = tmp_path / "a file.db", str(tmp_path / "log")
    search = steady(HyperbandSearchCV, path, estimator=Steady(log=log), random_state=None)

    def scores():
        with warnings.catch_warnings(), parallel_config(backend, n_jobs=2):
            warnings.simplefilter("error")  # nothing is said about other folds
            warnings.simplefilter("ignore", DeprecationWarning)  # of fork with threads
            return cross_validate(search, X, Y, cv=3)["test_score"].tolist()

    first, n_fits = scores(), len(fits_of(log))
    assert len(query(path, "SELECT id FROM searches")) == 3
    assert len(fits_in(path)) == n_fits - 3
    assert scores() == first
    assert len(fits_of(log)) == n_fits + 3, "the winners are fitted again"


def test_processes_with_the_same_and_other_searches_share_a_file(tmp_path):
    path = tmp_path / "j"
    states = [0, 0, 0, 0, 1, 2]
    searches = [crashing(HyperbandSearchCV, tmp_path, random_state=state) for state in states]
    fitted = Parallel(n_jobs=3)(delayed(search.fit)(X, Y) for search in searches)
    alone = [found(clone(each).set_params(checkpoint=None).fit(X, Y)) for each in searches]
    assert [found(search) for search in fitted] == alone
    assert len(fits_in(path)) == sum(search.n_fits_ for search in fitted[3:])


def test_the_scores_can_be_read_while_a_search_runs(tmp_path):
    seen = []

    def scoring(estimator, X, y):
        with closing(sqlite3.connect(tmp_path / "j")) as connection:
            seen.append(len(pd.read_sql("SELECT * FROM scores", connection)))
        return estimator.score(X, y)

    search = steady(HyperbandSearchCV, tmp_path / "j", scoring=scoring).fit(X, Y)
    assert seen == list(range(search.n_fits_))
    with closing(sqlite3.connect(tmp_path / "j")) as connection:
        scores = pd.read_sql("SELECT * FROM scores", connection)
    names = "search started estimator candidate params n_train scores seconds error"
    assert scores.columns.tolist() == names.split()
    read = [json.loads(text)["score"] for text in scores["scores"]]
    assert read == pytest.approx(search.history_["test_score"].tolist(), rel=1e-14)
    assert scores["n_train"].tolist() == search.history_["n_train"].tolist()
    assert set(scores["estimator"]) == {"Steady()"}
    assert scores["error"].isna().all()


def test_other_versions_are_a_warning(tmp_path, monkeypatch):
    search = steady(HyperbandSearchCV, tmp_path / "j").fit(X, Y)
    monkeypatch.setattr(np, "__version__", "99")
    with pytest.warns(UserWarning, match=r"numpy .* before, 99 now"):
        search.fit(X, Y)
    search.fit(X, Y)  # said once


# ------------------------------------------------------------------------ more of a budget

EXTENSIONS = [
    (HyperbandSearchCV, {}, {"n_loops": 2}),
    (VarianceHalvingSearchCV, {"n_fits": 20}, {"n_fits": 40}),
    (VarianceHalvingSearchCV, {"n_fits": 20, "allocation": "pooled"}, {"n_fits": 40}),
    (BanditSearchCV, {"n_fits": 12}, {"n_fits": 20}),
    (
        BanditSearchCV,
        {"policy": SuccessiveRejects(12)},
        {"policy": SuccessiveRejects(20)},
    ),
    (BayesGapSearchCV, {"n_fits": 6}, {"n_fits": 12}),
    (AdaptiveSearchCV, {"n_fits": 12}, {"n_fits": 40}),
]


@pytest.mark.parametrize(("search_class", "less", "more"), EXTENSIONS)
def test_a_larger_budget_extends_a_search(search_class, less, more, tmp_path):
    """The result is that of the larger search, and fits that both have are done once."""
    log, path = str(tmp_path / "log"), tmp_path / "j"
    space = {"value": uniform(0, 1)}
    common = {"refit": False, "cv": 5}
    if search_class is not HyperbandSearchCV:
        common["n_candidates"] = 4

    def search(**params):
        return small(search_class, Steady(log=log), space, **{**common, **params})

    whole = search(**{**less, **more}).fit(X, Y)
    n_whole = len(fits_of(log))
    first = search(checkpoint=path, **less).fit(X, Y)
    extended = search(checkpoint=path, **{**less, **more}).fit(X, Y)
    assert found(extended) == found(whole)
    fits = fits_of(log)[n_whole:]
    assert len(set(fits)) == len(fits), "none is done twice"
    assert first.n_fits_ < len(fits) < first.n_fits_ + whole.n_fits_
    search(checkpoint=path, **less).fit(X, Y)  # and the smaller one is in it
    assert len(fits_of(log)) == n_whole + len(fits)


@pytest.mark.parametrize("search_class", [AdaptiveSearchCV, HyperbandSearchCV])
def test_a_warm_start_goes_on_without_a_file(search_class, tmp_path):
    log, space = str(tmp_path / "log"), {"value": uniform(0, 1)}
    less, more = ({"n_fits": 12}, {"n_fits": 40})
    if search_class is HyperbandSearchCV:
        less, more = {"n_loops": 1}, {"n_loops": 2}
    common = {"refit": False, "random_state": None}
    search = small(search_class, Steady(log=log), space, warm_start=True, **common, **less)
    first = search.fit(X, Y).n_fits_
    whole = search.set_params(**more).fit(X, Y)
    assert whole.n_fits_ > first
    assert len(fits_of(log)) <= whole.n_fits_ + first // 3, "fits of the first call are used"
    [record] = whole._known.searches()
    alone = small(search_class, Steady(), space, **{**common, "random_state": record.seed}, **more)
    assert found(alone.fit(X, Y)) == found(whole)
    assert found(pickle.loads(pickle.dumps(whole)).fit(X, Y)) == found(whole)
    other = small(search_class, Steady(), space, **{**common, "random_state": 0}, **more)
    assert found(whole.set_params(random_state=0).fit(X + 1, Y)) == found(other.fit(X + 1, Y))


# ------------------------------------------------------------- another search, the same data

OWN = Steady(0.2)
OBJECTS = [
    {"estimator": [Steady(0.3), Steady(0.9)], "n": [1, 2]},
    {"estimator": [Steady(0.5)], "cv": [KFold(2), KFold(3)], "n": [3]},
]


class Holder(Steady):
    """Scores the value of the estimator that it holds."""

    def __init__(self, estimator=OWN, cv=None, n=1, log=None):
        self.estimator, self.cv, self.n, self.log = estimator, cv, n, log
        self.value, self.event, self.at, self.seconds = 0, None, 0, 0.0

    def score(self, X, y=None):
        return self.estimator.value + self.noise_ + self.n / 100


@pytest.mark.parametrize(
    ("estimator", "before", "after"),
    [(Steady, {"value": [0.3, 0.9]}, {"value": [0.3, 0.5, 0.9]}), (Holder, OBJECTS, OBJECTS)],
    ids=["grid that grew", "objects"],
)
def test_other_searches_use_the_fits_on_the_same_rows(estimator, before, after, tmp_path):
    """GridSearchCV's fits, then other classes, a larger grid, and a budget of time."""
    path, log = tmp_path / "j", str(tmp_path / "log")

    def fit(search_class, space, **params):
        search = search_class(estimator(log=log), space, cv=3, random_state=0, **params)
        before = len(fits_of(log))
        search.set_params(checkpoint=path, refit=False).fit(X, Y)
        return search, len(fits_of(log)) - before

    every = {"policy": "uniform", "n_fits": 3 * len(ParameterGrid(before)), "n_candidates": None}
    first, n_made = fit(BanditSearchCV, before, **every)
    assert n_made == first.n_fits_ == every["n_fits"]
    for search_class in (VarianceHalvingSearchCV, BayesGapSearchCV):
        other, n_new = fit(search_class, before, n_fits=n_made)
        assert n_new <= sum(other.history_["split"] >= 3) < n_made, "those on further splits"
    grown, n_new = fit(BanditSearchCV, after, **every | {"n_fits": 3 * len(ParameterGrid(after))})
    assert n_new == grown.n_fits_ - first.n_fits_
    timed, n_new = fit(AdaptiveSearchCV, after, time_budget="1min")
    assert timed.stopped_by_ == "policy", "all candidates are known on all splits"
    n_own = 0 if estimator is Steady else 3  # its own parameters are none of the grid
    n_own += sum(timed.history_["n_resources"] < 40)  # the price of a small fit
    assert n_new == n_own
    assert set(zip(*map(grown.history_.get, ("split", "test_score")), strict=True)) <= set(
        zip(*map(timed.history_.get, ("split", "test_score")), strict=True)
    )


def test_fits_that_a_limit_ended_are_made_again_with_a_larger_one(tmp_path):
    log, kept = str(tmp_path / "log"), {"checkpoint": tmp_path / "j", "refit": False}
    slow = Steady(log=log, event="sleep", at=1, seconds=60)

    def outcomes(**params):
        search = small(BayesGapSearchCV, slow, {"value": [0.3, 0.9]}, n_fits=4, **kept, **params)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return search.fit(X, Y).history_["outcome"].value_counts().to_dict()

    found = outcomes(fit_timeout=2)
    assert found == {"ok": 1, "timeout": 1}, "the other candidate is left"
    assert outcomes(fit_timeout=2) == outcomes(fit_timeout=np.float32(1)) == found
    n_fits = len(fits_of(log))
    assert outcomes() == {"ok": 4}
    assert len(fits_of(log)) == n_fits + 3


def test_training_scores_that_are_missing_mean_a_fit(tmp_path):
    path, log = tmp_path / "j", str(tmp_path / "log")
    search = steady(BayesGapSearchCV, path, estimator=Steady(log=log)).fit(X, Y)
    n_fits = len(fits_of(log))
    for n_new in (search.n_fits_, 0):
        results = search.set_params(return_train_score=True).fit(X, Y).cv_results_
        assert np.isfinite(results["mean_train_score"]).all()
        n_fits += n_new + 1  # with the refit
        assert len(fits_of(log)) == n_fits
    results = search.set_params(return_train_score=False).fit(X, Y).cv_results_
    assert "mean_train_score" not in results


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_history_has_the_order_of_the_file(n_jobs, tmp_path):
    path = tmp_path / "j"
    first = steady(HyperbandSearchCV, path, n_jobs=n_jobs).fit(X, Y)
    again = steady(HyperbandSearchCV, path).fit(X, Y)
    assert again.history_["started"].tolist() == first.history_["started"].tolist()


# ------------------------------------------------------------------- models for continuation

N_BEFORE = 34
"""Fits before the scorer breaks: nine candidates on three splits, and some of the next rung."""
SCORINGS_LEFT = "SKLEARN_HALVING_SCORINGS_LEFT"
"""How often `fragile` gives a score before it breaks, in this process."""
BOOSTING = {
    "estimator": GradientBoostingClassifier(n_estimators=18, subsample=0.5, random_state=0),
    "space": {"learning_rate": loguniform(1e-2, 1)},
    "resource": "n_estimators",
}
SGD = {
    "estimator": SGDClassifier(random_state=0),
    "space": {"alpha": loguniform(1e-5, 1)},
    "resource": "partial_fit",
    "max_resources": 18,
}


def continued(path, *, estimator, space, **params):
    params = {"scoring": fragile, "error_score": "raise", "checkpoint": path, **params}
    params["min_resources"] = 2
    return small(HyperbandSearchCV, estimator, space, **params)


FOREST = {
    "estimator": RandomForestClassifier(n_estimators=18, random_state=0),
    "space": {"max_depth": list(range(1, 18))},
    "resource": "n_estimators",
}
N_JOBS_OF_BACKENDS = [
    *[("sequential", 1), ("threading", 1), ("threading", 2)],
    *[("loky", 1), ("loky", 2), ("multiprocessing", 1), ("multiprocessing", 2)],
]


@pytest.mark.walk
@pytest.mark.parametrize(("backend", "n_jobs"), N_JOBS_OF_BACKENDS)
@pytest.mark.parametrize("what", [BOOSTING, SGD, FOREST], ids=["boosting", "epochs", "warm start"])
def test_levels_go_on_as_in_an_unbroken_search(what, backend, n_jobs, tmp_path):
    """The models of candidates that are still in the race are trained again, level by level."""
    path = tmp_path / "j"
    unbroken = continued(None, **what).fit(X, Y)
    assert (unbroken.history_["continued_from"] > 0).any()
    search = continued(path, **what)
    break_off(search, N_BEFORE)
    with parallel_config(backend, n_jobs=n_jobs):
        resumed = search.fit(X, Y)
        assert table(resumed) == table(unbroken)
        continues = resumed.history_[N_BEFORE:].query("n_resources > 2")
        assert (continues["continued_from"] > 0).any()
        assert resumed.n_resources_spent_ > unbroken.n_resources_spent_
        cut_after(path, N_BEFORE - 10)
        assert table(search.fit(X, Y)) == table(unbroken)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["j"]


def fragile(estimator, X, y):
    left = float(os.environ.get(SCORINGS_LEFT, "inf"))  # a variable of the code would count
    if left <= 0:
        raise ZeroDivisionError("the scorer is broken")
    if math.isfinite(left):
        os.environ[SCORINGS_LEFT] = str(left - 1)
    return estimator.score(X, y)


def break_off(search, n_fits):
    os.environ[SCORINGS_LEFT] = str(n_fits)
    try:
        with pytest.raises(ZeroDivisionError):
            search.fit(X, Y)
    finally:
        del os.environ[SCORINGS_LEFT]
    assert len(search.history_) == search.n_fits_ == n_fits
