"""Candidates that a search tries first."""

from __future__ import annotations

import pandas as pd
import pytest
from scipy.stats import loguniform, uniform
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from search.common import data, numbered, parametrize_searches, small
from search.resuming import Steady
from sklearn_halving import AdaptiveSearchCV, HyperbandSearchCV, VarianceHalvingSearchCV

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
    assert search.best_params_ == FIRST
    assert tried(search)[search_class is AdaptiveSearchCV] == FIRST  # the own model comes before
    assert search.n_fits_ <= plan["n_fits"].sum()


def test_what_a_dict_leaves_out_has_the_value_of_the_estimator():
    space = {"C": loguniform(1e-2, 1e2), "gamma": loguniform(1e-3, 1), "kernel": ["rbf", "poly"]}
    search = VarianceHalvingSearchCV(
        SVC(C=7.0, gamma=0.5), space, initial_candidates=[{}, {"C": 3}], random_state=0
    ).fit(*data())
    assert tried(search)[:2] == [
        {"C": 7.0, "gamma": 0.5, "kernel": "rbf"},
        {"C": 3, "gamma": 0.5, "kernel": "rbf"},
    ]


def test_the_own_model_is_the_member_of_a_grid_that_equals_it():
    for values in ([1, 10, 100], [10.0, 1.0, 100.0]):  # its C is 1.0
        search = AdaptiveSearchCV(SVC(), {"C": values}, n_fits=30, random_state=0)
        assert search.plan(*data())["n_fits"].tolist() == [15]
        assert tried(search.fit(*data()))[0] == {"C": 1}


def test_the_own_model_is_tried_although_the_space_lacks_it():
    space = {"C": loguniform(10, 1e3), "gamma": loguniform(1e-3, 1)}
    search = AdaptiveSearchCV(SVC(C=2.0), space, n_fits=12, random_state=0).fit(*data())
    assert tried(search)[0] == {"C": 2.0, "gamma": "scale"}
    without = AdaptiveSearchCV(
        SVC(C=2.0), space, n_fits=12, initial_candidates=[], random_state=0
    ).fit(*data())
    assert {"C": 2.0, "gamma": "scale"} not in tried(without)
    is_worse = AdaptiveSearchCV(Steady(value=5.0), {"value": uniform(0, 1)}, n_fits=20).fit(X, Y)
    assert is_worse.best_params_ == {"value": 5.0}


def test_they_are_in_the_widest_bracket_of_hyperband():
    given = [{"value": 2.0 + i} for i in range(3)]
    search = HyperbandSearchCV(
        Steady(), {"value": uniform(0, 1)}, initial_candidates=given, cv=3, min_resources=12,
        max_resources=80, n_loops=2, random_state=0,
    )  # fmt: skip
    search.fit(X, Y)
    assert tried(search)[:3] == given
    history = search.history_
    assert set(history.query("candidate < 3 and rung == 0")["bracket"]) == {1}
    assert search.best_params_["value"] == 4.0


@pytest.mark.parametrize("seed", range(3))
def test_an_equal_estimator_is_that_of_the_grid(seed):
    pipeline = Pipeline([("model", SVC())])
    grid = {"model": [SVC(), GaussianNB(), DecisionTreeClassifier()]}
    params = {"initial_candidates": [{"model": GaussianNB()}], "n_fits": 15, "random_state": seed}
    search = AdaptiveSearchCV(pipeline, grid, **params).fit(*data())
    assert [id(params["model"]) for params in tried(search)][:2] == [*map(id, grid["model"])][:2]
    assert len(tried(search)) == 3


@pytest.mark.parametrize("space", [{"value": [0.1, 0.4]}, {"value": uniform(0, 1)}])
@parametrize_searches
def test_more_than_the_search_starts_are_refused(search_class, space):
    given = [{"value": value} for value in (1.0, 2.0, 3.0, 4.0)]
    search = small(search_class, Steady(), space, n_candidates=2, initial_candidates=given)
    own = " and your estimator as it is" if search_class is AdaptiveSearchCV else ""
    with pytest.raises(ValueError, match=f"has 4 candidates{own}, but the search starts only 2"):
        search.fit(X, Y)


@pytest.mark.walk
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([{"gama": 1}], r"got 'gama' at position 0. Did you mean 'gamma'"),
        ([{}, {"C": 1, "kernell": "rbf"}], r"got 'kernell' at position 1. Did you mean 'kernel'"),
        ([("C", 1)], "must be a list of dicts"),
        ({"C": 1}, "initial_candidates"),
        ("defaults", "initial_candidates"),
        (pd.Series([{"C": 1}]), r"initial_candidates .* got a Series. list\(...\) makes"),
    ],
)
@parametrize_searches
def test_refuses_what_the_estimator_lacks_before_any_fit(search_class, given, message):
    search = small(search_class, SVC(), {"C": [1, 2, 3]}, initial_candidates=given)
    with pytest.raises(ValueError, match=message):
        search.fit(*data())
    assert not hasattr(search, "history_")
