"""The bracket that HyperbandSearchCV plays for a grid by default."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import uniform
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from sklearn_halving import HyperbandSearchCV
from tests.search.common import FITS, Recording, numbered

TREE = DecisionTreeClassifier(random_state=0)
DEPTHS = {"max_depth": [1, 2, 3, 4, 5, 6], "min_samples_leaf": [1, 2, 5, 10]}


def grid_of(n_candidates: int) -> dict[str, list[float]]:
    return {"value": np.linspace(0, 1, n_candidates).tolist()}


@settings(max_examples=40)
@given(
    n_rows=st.integers(12, 700),
    n_candidates=st.integers(1, 40),
    n_splits=st.integers(2, 6),
    options=st.fixed_dictionaries(
        {},
        optional={
            "factor": st.sampled_from([2, 2.5, 3, 4]),
            "min_resources": st.sampled_from([12, 20]),
            "n_candidates": st.sampled_from([1, 3, 10]),
        },
    ),
)
def test_the_plan_is_kept_and_never_has_more_fits_than_grid_search(
    n_rows, n_candidates, n_splits, options
):
    X, y = numbered(n_rows)
    if "min_resources" in options:
        n_train = n_rows + -n_rows // n_splits
        options["min_resources"] = min(options["min_resources"], n_train)
    search = HyperbandSearchCV(
        Recording(), grid_of(n_candidates), cv=KFold(n_splits), random_state=0, **options
    )
    FITS.clear()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="There are only")
        plan = search.plan(X, y)
        assert len(FITS) == 0
        history = search.fit(X, y).history_
    n_started = min(n_candidates, options.get("n_candidates", n_candidates))
    assert len(FITS) == len(history) + 1
    assert history["candidate"].nunique() == n_started == plan["n_candidates"][0]
    assert history.groupby("rung").size().tolist() == plan["n_fits"].tolist()
    assert not plan["at_most"].any()
    assert len(history) <= n_started * n_splits
    at_end = history[history["n_resources"] == history["n_resources"].max()]
    n_full = at_end.groupby("candidate").size()
    assert (n_full == n_splits).sum() >= min(n_started, max(1, min(3, n_started - 1)))
    tried = [params["value"] for params in search.cv_results_["params"]]
    assert len(set(tried)) == n_started


def test_the_other_equal_candidates_go_on_whatever_their_order():
    """The first values of a parameter that does nothing must not be preferred."""

    def survivors(space):
        search = HyperbandSearchCV(Recording(), space, cv=KFold(5), refit=False)
        results = search.fit(*numbered(700)).cv_results_
        at_end = results["iter"] == results["iter"].max()
        return {
            p["other"] for p, is_last in zip(results["params"], at_end, strict=True) if is_last
        }

    forward, backward = (survivors({"other": list(range(30))[::step]}) for step in (1, -1))
    # The first candidate goes on in any case, and the others by a hash that knows no order.
    assert len((forward - {0}) & backward) >= len(forward) - 2
    assert forward != {0, 1, 2}


@pytest.mark.parametrize("grid", [{"max_depth": [2]}, {"max_depth": [2, 4]}])
def test_one_or_two_candidates_are_searched_as_by_grid_search(grid):
    X, y = load_wine(return_X_y=True)
    ours = HyperbandSearchCV(TREE, grid, random_state=0).fit(X, y)
    theirs = GridSearchCV(TREE, grid).fit(X, y)
    for key in ("params", "mean_test_score", "std_test_score", "rank_test_score"):
        assert list(ours.cv_results_[key]) == list(theirs.cv_results_[key])
    assert ours.best_index_ == theirs.best_index_


def test_iterations_have_the_same_plan_in_their_units():
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(n_estimators=40, random_state=0)
    search = HyperbandSearchCV(forest, DEPTHS, resource="n_estimators", random_state=0)
    plan = search.plan(X, y)
    assert plan["n_resources"].tolist() == [5, 10, 20, 40]
    assert plan["n_candidates"].tolist() == [24, 12, 6, 3]
    # Forests grow from rung to rung: on two splits 5, 5, 10 and 20 trees, on three splits 40.
    assert plan["full_fits"].tolist() == [6, 3, 3, 3 * (2 * 0.5 + 3)]
    assert search.fit(X, y).n_resources_spent_ == 40 * plan["full_fits"].sum()


@settings(max_examples=40)
@given(
    n_rows=st.integers(24, 2000), n_candidates=st.integers(1, 200), n_splits=st.integers(2, 6),
    factor=st.sampled_from([2, 2.5, 3, 4]),
    min_resources=st.sampled_from([None, 12, 30]),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:The smallest training fold has")
def test_all_brackets_share_a_grid_and_never_cost_more_than_grid_search(
    n_rows, n_candidates, n_splits, factor, min_resources
):
    if min_resources is not None:
        min_resources = min(min_resources, n_rows + -n_rows // n_splits)
    search = HyperbandSearchCV(
        Recording(), grid_of(n_candidates), brackets="all", cv=KFold(n_splits), factor=factor,
        min_resources=min_resources, random_state=0,
    )  # fmt: skip
    plan = search.plan(*numbered(n_rows))
    assert plan["full_fits"].sum() <= n_candidates * n_splits + 0.01 * len(plan)
    first = plan[plan["rung"] == 0]
    assert first["n_candidates"].sum() == n_candidates
    assert first["n_candidates"].is_monotonic_decreasing
    if n_candidates <= 4 and factor >= 3:
        assert len(plan) == 1


def test_plan_and_summary_state_the_cost_beside_grid_search():
    X, y = load_digits(return_X_y=True)
    search = HyperbandSearchCV(SVC(), {"C": np.logspace(-1, 2, 16).tolist()}, random_state=0)
    plan = search.plan(X, y)
    assert plan["of_grid_search"].sum() == pytest.approx(plan["full_fits"].sum() / 80, abs=0.002)
    part, draws = {"n_candidates": 9}, {"param_distributions": {"C": uniform(1, 9)}}
    for changes in (part, draws):  # GridSearchCV would try others
        assert "of_grid_search" not in clone(search).set_params(**changes).plan(X, y)
    n_full = plan["n_fits"][plan["n_resources"] == plan["n_resources"].max()].sum()
    spent = f"{plan['n_fits'].sum()} fits ({n_full} full), 41 % of GridSearchCV"
    assert spent in str(search.fit(X, y).summary())
