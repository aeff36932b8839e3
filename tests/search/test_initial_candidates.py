"""Candidates that a search tries first."""

from __future__ import annotations

import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import loguniform, randint, uniform
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from search.common import SEARCHES, data, numbered, small
from search.resuming import Steady, found, table
from sklearn_halving import (
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)
from sklearn_halving.policies import BayesGap, VarianceHalving

parametrize_searches = pytest.mark.parametrize("search_class", SEARCHES)
X, Y = numbered(120)
FIRST = {"value": 1.5}  # better than all others, and outside the space


def tried(search):
    """Return the parameters of the candidates, in the order of their numbers."""
    of_candidate = zip(search.cv_results_["candidate"], search.cv_results_["params"], strict=True)
    return [params for _, params in sorted(dict(of_candidate).items())]


@pytest.mark.parametrize("space", [{"value": [0.1, 0.4, 0.8]}, {"value": uniform(0, 1)}])
@parametrize_searches
def test_they_are_tried_first_and_may_be_outside_the_space(search_class, space):
    search = small(search_class, Steady(), space, initial_candidates=[FIRST], random_state=0)
    plan = search.plan(X, Y)
    search.fit(X, Y)
    assert plan["n_initial"].sum() == 1
    assert search.best_params_ == FIRST
    assert FIRST in tried(search)
    assert "1 of them initial" in search.summary()
    assert search.n_fits_ <= plan["n_fits"].sum()


@parametrize_searches
def test_a_grid_follows_them_in_its_own_order_and_without_duplicates(search_class):
    grid = {"value": [0.1, 0.4, 0.8], "noise": [0, 1]}
    given = [{"value": 0.4, "noise": 1}, {"value": 2.0, "noise": 0}, {"value": 0.4, "noise": 1}]
    search = search_class(Two(), grid, initial_candidates=given).fit(X, Y)
    rest = [params for params in ParameterGrid(grid) if params not in given]
    assert tried(search) == [*given[:2], *rest]


class Two(Steady):
    """Steady with a second parameter, which has no effect."""

    def __init__(self, value=0.0, noise=0):
        super().__init__(value)
        self.noise = noise


def test_equal_values_of_numpy_are_duplicates():
    grid = {"C": [0.1, 1.0, 10.0], "gamma": np.logspace(-2, 0, 3)}
    given = [{"C": 1.0, "gamma": 0.1}, {"C": np.float64(10), "gamma": 1.0}, {"C": 1, "gamma": 0.1}]
    given += [{"C": np.float64(1), "gamma": 0.1}]
    search = HyperbandSearchCV(SVC(), grid, initial_candidates=given, cv=2).fit(*data())
    assert len(tried(search)) == 10  # the integer 1 is another value


@pytest.mark.filterwarnings("ignore:No numeric parameter varies")
@parametrize_searches
@pytest.mark.parametrize("values", [[0.5, 1.0], [1, 0.5, 1.0]])
def test_a_number_of_another_type_does_not_replace_a_candidate_of_the_grid(search_class, values):
    """max_features=1 is one column, 1.0 is all of them."""
    tree = DecisionTreeClassifier(random_state=0)
    search = small(
        search_class, tree, {"max_features": values}, initial_candidates=[{"max_features": 1}]
    )
    given = dict.fromkeys(repr(params["max_features"]) for params in tried(search.fit(X, Y)))
    assert sorted(given) == sorted({"1", *map(repr, values)})


def test_what_a_dict_leaves_out_has_the_value_of_the_estimator():
    space = {"C": loguniform(1e-2, 1e2), "gamma": loguniform(1e-3, 1), "kernel": ["rbf", "poly"]}
    search = VarianceHalvingSearchCV(
        SVC(C=7.0, gamma=0.5), space, initial_candidates=[{}, {"C": 3}], random_state=0
    ).fit(*data())
    assert tried(search)[:2] == [
        {"C": 7.0, "gamma": 0.5, "kernel": "rbf"},
        {"C": 3, "gamma": 0.5, "kernel": "rbf"},
    ]


@pytest.mark.parametrize("sampler", ["random", "gaussian_process"])
def test_dicts_with_conditions(sampler):
    space = [
        {"clf": [DecisionTreeClassifier(random_state=0)], "clf__max_depth": randint(1, 9)},
        {"clf": [LogisticRegression()], "clf__C": loguniform(1e-3, 1e3)},
    ]
    given = [{}, {"clf": LogisticRegression(), "clf__C": 3.0}, {"clf": GaussianNB()}]
    pipeline = Pipeline([("scale", StandardScaler()), ("clf", GaussianNB())])
    search = HyperbandSearchCV(
        pipeline,
        space,
        sampler=sampler,
        initial_candidates=given,
        n_loops=2,
        n_candidates=17,
        brackets="all",
    ).fit(*data())
    first = [{k: repr(v) for k, v in params.items()} for params in tried(search)]
    assert {} in first
    assert {"clf": "LogisticRegression()", "clf__C": "3.0"} in first
    assert {"clf": "GaussianNB()"} in first


def test_a_model_of_the_candidates_takes_those_with_other_parameters():
    space = [{"C": loguniform(1e-2, 1e2)}, {"gamma": [0.1, 1.0], "kernel": ["poly"]}]
    given = [{}, {"C": 1e4}, {"C": 2.0, "shrinking": False}, {"gamma": "scale"}, {"tol": 0.1}]
    first = {"C": 1.0}  # the estimator as it is, in the dict that contains it
    search = BayesGapSearchCV(
        SVC(), space, initial_candidates=given, n_candidates=12, sampler="random", random_state=0
    ).fit(*data())
    assert tried(search)[:5] == [first, *given[1:]]
    assert np.isfinite(search.cv_results_["posterior_mean"]).all()


def test_rows_of_another_search_without_its_resource():
    space = {"max_depth": randint(1, 9)}
    tree = DecisionTreeClassifier(random_state=0)
    first = HyperbandSearchCV(
        tree, space, resource="max_leaf_nodes", min_resources=3, max_resources=9, random_state=0
    ).fit(*data())
    rows = first.cv_results_["params"]
    assert "max_leaf_nodes" in rows[0]
    second = first.set_params(initial_candidates=[*rows[:2], first.best_params_])
    plan = second.plan(*data())
    first_depths = {row["max_depth"] for row in [*rows[:2], first.best_params_]}
    assert plan["n_initial"].sum() == len(first_depths)
    assert first_depths <= {params["max_depth"] for params in tried(second.fit(*data()))}


@pytest.mark.parametrize("sampler", ["random", "gaussian_process"])
def test_they_are_in_the_brackets_that_eliminate_the_fewest(sampler):
    given = [{"value": 2.0 + i} for i in range(7)]
    search = HyperbandSearchCV(
        Steady(), {"value": uniform(0, 1)}, sampler=sampler, initial_candidates=given, cv=3,
        n_candidates=17, brackets="all", random_state=0,
    )  # fmt: skip
    plan = search.plan(X, Y)
    firsts = plan.groupby("bracket")[["n_candidates", "n_initial"]].first()
    assert firsts.to_dict() == {
        "n_candidates": {0: 3, 1: 5, 2: 9},
        "n_initial": {0: 3, 1: 4, 2: 0},
    }
    search.fit(X, Y)
    in_full = search.history_.query("bracket == 0")["candidate"]
    params = dict(zip(search.cv_results_["candidate"], search.cv_results_["params"], strict=True))
    assert {params[arm]["value"] for arm in in_full} == {2.0, 3.0, 4.0}
    assert search.best_params_["value"] in (4.0, 8.0)


def test_a_small_grid_in_several_brackets_has_them_once_in_each():
    search = HyperbandSearchCV(
        Steady(), {"value": [0.1, 0.4, 0.8, 0.9, 0.2]}, brackets="all", cv=3, random_state=0,
        initial_candidates=[{"value": 0.9}, FIRST], n_candidates=17,
    )  # fmt: skip
    with pytest.warns(UserWarning, match="6 candidates"):
        search.fit(X, Y)
    plan = search._record.plan
    values = [params["value"] for params in tried(search)]
    ends = np.cumsum(plan.n_of_bracket)
    for n, end in zip(plan.n_of_bracket, ends, strict=True):
        assert len(set(values[end - n : end])) == n
    assert FIRST["value"] in values
    assert set(values) == {0.1, 0.4, 0.8, 0.9, 0.2, 1.5}


@pytest.mark.parametrize("sampler", ["random", "gaussian_process"])
def test_the_result_does_not_depend_on_the_workers_or_on_a_break(sampler, tmp_path):
    options = {"cv": 3, "random_state": 0, "refit": False, "n_candidates": 9, "n_loops": 2}
    options |= {"initial_candidates": [FIRST, {"value": 0.5}], "sampler": sampler}
    options["brackets"] = "all"
    space = {"value": uniform(0, 1)}
    one = HyperbandSearchCV(Steady(), space, **options).fit(X, Y)
    with parallel_config("threading", n_jobs=3):
        several = HyperbandSearchCV(Steady(), space, **options).fit(X, Y)
    assert found(several) == found(one)
    steady = Steady(log=str(tmp_path / "log"), event="interrupt", at=20)
    options["checkpoint"] = tmp_path / "journal"
    with pytest.raises(KeyboardInterrupt):
        HyperbandSearchCV(steady, space, **options).fit(X, Y)
    resumed = HyperbandSearchCV(steady, space, **options).fit(X, Y)
    assert table(resumed) == table(one)
    options["initial_candidates"] = [FIRST]
    with pytest.raises(ValueError, match=r"these settings differ: .*initial_candidates"):
        HyperbandSearchCV(steady, space, **options).fit(X, Y)


@parametrize_searches
def test_the_fits_without_them_are_those_of_before(search_class):
    space = {"value": [0.1, 0.4, 0.8]}
    none = small(search_class, Steady(), space, random_state=0).fit(X, Y)
    empty = small(search_class, Steady(), space, random_state=0, initial_candidates=[])
    assert table(empty.fit(X, Y)) == table(none)
    assert "n_initial" not in empty.plan(X, Y)


@pytest.mark.walk
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([{"gama": 1}], r"got 'gama' at position 0. Did you mean 'gamma'"),
        ([{}, {"C": 1, "kernell": "rbf"}], r"got 'kernell' at position 1. Did you mean 'kernel'"),
        ([("C", 1)], "must be a list of dicts"),
        ({"C": 1}, "initial_candidates"),
        ("defaults", "initial_candidates"),
    ],
)
@parametrize_searches
def test_refuses_what_the_estimator_lacks_before_any_fit(search_class, given, message):
    search = small(search_class, SVC(), {"C": [1, 2, 3]}, initial_candidates=given)
    with pytest.raises(ValueError, match=message):
        search.fit(*data())
    assert not hasattr(search, "history_")


def test_refuses_more_than_start():
    given = [{"value": float(i)} for i in range(5)]
    search = VarianceHalvingSearchCV(
        Steady(), {"value": uniform(0, 1)}, n_candidates=3, initial_candidates=given
    )
    with pytest.raises(ValueError, match="has 5 candidates, but the search starts only 3"):
        search.fit(X, Y)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (VarianceHalving(20, "known", reward_variances=[1, 2]), "each of the 3 arms"),
        (BayesGap(20, covariance=np.eye(2)), r"shape \(3, 3\)"),
    ],
)
def test_refuses_arrays_of_a_policy_that_leave_them_out(policy, message):
    search = BanditSearchCV(
        Steady(), {"value": [0.1, 0.2]}, policy=policy, initial_candidates=[FIRST]
    )
    with pytest.raises(ValueError, match=message):
        search.fit(X, Y)


def test_refuses_them_where_the_policy_makes_all_candidates():
    search = BanditSearchCV(
        Steady(), {"value": uniform(0, 1)}, policy="hoo", initial_candidates=[FIRST]
    )
    with pytest.raises(ValueError, match="initial_candidates must be None"):
        search.fit(X, Y)
