"""Candidates that a search tries first."""

from __future__ import annotations

import pytest
from scipy.stats import loguniform, randint, uniform
from sklearn.model_selection import ParameterGrid
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from search.common import SEARCHES, data, numbered, small
from search.resuming import Steady
from sklearn_halving import (
    BanditSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)

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


def test_what_a_dict_leaves_out_has_the_value_of_the_estimator():
    space = {"C": loguniform(1e-2, 1e2), "gamma": loguniform(1e-3, 1), "kernel": ["rbf", "poly"]}
    search = VarianceHalvingSearchCV(
        SVC(C=7.0, gamma=0.5), space, initial_candidates=[{}, {"C": 3}], random_state=0
    ).fit(*data())
    assert tried(search)[:2] == [
        {"C": 7.0, "gamma": 0.5, "kernel": "rbf"},
        {"C": 3, "gamma": 0.5, "kernel": "rbf"},
    ]


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


def test_refuses_them_where_the_policy_makes_all_candidates():
    search = BanditSearchCV(
        Steady(), {"value": uniform(0, 1)}, policy="hoo", initial_candidates=[FIRST]
    )
    with pytest.raises(ValueError, match="must be left out"):
        search.fit(X, Y)
