"""VarianceHalvingSearchCV: budgets, common splits, what is reported, early stops."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.model_selection import PredefinedSplit, TimeSeriesSplit
from sklearn.tree import DecisionTreeClassifier

from search.common import Noisy, data, numbered
from sklearn_halving import VarianceHalvingSearchCV

TREE = {"max_depth": [1, 2, 3, 4, 5, 6, 7, 8]}
ALLOCATIONS = ["likelihood", "pooled", "ucb", "uniform"]


def tree_search(**params):
    tree = DecisionTreeClassifier(random_state=0)
    return VarianceHalvingSearchCV(tree, TREE, **{"random_state": 0, **params})


# ------------------------------------------------------------------------------------- budget


@pytest.mark.parametrize("allocation", ALLOCATIONS)
@pytest.mark.parametrize("n_fits", [24, 25, 40, 61])
def test_the_budget_is_spent_and_never_exceeded(allocation, n_fits):
    search = tree_search(n_fits=n_fits, allocation=allocation).fit(*data())
    assert search.n_fits_ == len(search.history_) == search.cv_results_["n_fits"].sum()
    assert search.n_fits_ + search.n_fits_left_ == n_fits
    assert 0 <= search.n_fits_left_ <= 2  # three stages share it evenly


def test_plan_is_what_fit_does():
    search = tree_search(n_fits=48, allocation="uniform")
    plan = search.plan(*data())
    assert plan.columns.tolist() == ["stage", "n_candidates", "n_fits", "at_most"]
    assert plan["at_most"].all()
    search.fit(*data())
    stage, n_pulls = search.cv_results_["stage"], search.cv_results_["n_fits"]
    assert plan["n_fits"].sum() == n_pulls.sum() == 48
    assert plan["n_candidates"].tolist() == [(stage >= s).sum() for s in range(3)] == [8, 4, 2]
    assert sorted(n_pulls) == [2] * 4 + [6] * 2 + [14] * 2


def test_splits_that_come_to_an_end():
    X, y = data()
    search = tree_search(cv=PredefinedSplit(np.arange(60) % 2)).fit(X, y)
    assert search.n_splits_ == 2
    assert search.cv_results_["n_fits"].max() == 2
    assert search.n_fits_ <= 16
    assert search.n_fits_ + search.n_fits_left_ == 16  # not 40: there are no more
    assert search.plan(X, y)["n_fits"].sum() == 16
    with pytest.raises(ValueError, match=r"n_fits=17 is too large for .*2 splits of cv"):
        tree_search(n_fits=17, cv=PredefinedSplit(np.arange(60) % 2)).fit(X, y)
    assert tree_search(cv=TimeSeriesSplit(3)).fit(X, y).n_splits_ == 3


# ----------------------------------------------------------------------------- what is reported


def test_the_table():
    search = tree_search(n_fits=48, return_train_score=True).fit(*data())
    table = search.cv_results_
    assert len(table["params"]) == 8  # one row a candidate
    scores = np.column_stack([table[f"split{j}_test_score"] for j in range(search.n_splits_)])
    n_pulls = (~np.isnan(scores)).sum(axis=1)
    np.testing.assert_array_equal(n_pulls, table["n_fits"])
    for row, n in enumerate(n_pulls):  # the j-th fit of a candidate is on split j
        assert not np.isnan(scores[row, :n]).any()
    np.testing.assert_allclose(np.nanstd(scores, axis=1), table["std_test_score"])
    of_two = n_pulls >= 2
    variance = np.nanvar(scores[of_two], axis=1, ddof=1)
    # Nadeau and Bengio (2003): 12 rows are tested, 48 are trained on
    expected = np.sqrt((1 / n_pulls[of_two] + 12 / 48) * variance)
    np.testing.assert_allclose(table["standard_error_test_score"][of_two], expected)
    assert np.isnan(table["standard_error_test_score"][~of_two]).all()
    assert "standard_error_train_score" in table
    assert table["rank_test_score"][search.best_index_] == 1
    assert table["probability_best"].sum() == pytest.approx(1)
    assert search.best_probability_ == table["probability_best"][search.best_index_]


def test_means_make_up_for_easy_and_hard_splits():
    # without noise of their own, candidates differ by just their values on every split
    values = [0.1, 0.12, 0.3, 0.31, 0.32, 0.33, 0.34, 0.35]
    search = VarianceHalvingSearchCV(
        Noisy(split_sd=1.0), {"value": values}, allocation="pooled", random_state=0
    ).fit(*numbered(60))
    assert len(set(search.cv_results_["n_fits"])) > 1
    assert search.best_params_ == {"value": 0.35}
    means = search.cv_results_["mean_test_score"]
    np.testing.assert_allclose(means - means[0], np.array(values) - 0.1, atol=1e-6)
    assert search.best_probability_ > 0.99


# ---------------------------------------------------------------------------------- early stops


@pytest.mark.parametrize("allocation", ["likelihood", "pooled"])
def test_stops_when_the_leader_is_clear(allocation):
    X, y = numbered(80)
    params = {"n_fits": 200, "allocation": allocation, "random_state": 0}
    estimator, grid = Noisy(noise_sd=0.02), {"value": [0.1, 0.2, 0.3, 0.9]}
    whole = VarianceHalvingSearchCV(estimator, grid, **params).fit(X, y)
    stopped = VarianceHalvingSearchCV(estimator, grid, stop_probability=0.95, **params).fit(X, y)
    assert whole.n_fits_ >= 199
    assert stopped.n_fits_ < 100
    assert stopped.n_fits_left_ == 200 - stopped.n_fits_
    assert stopped.best_params_ == whole.best_params_ == {"value": 0.9}
    assert stopped.best_probability_ >= 0.95


@pytest.mark.parametrize("scale", [1e160, 1e300, 1e-310])
def test_the_scale_of_extreme_scores_does_not_matter(scale):
    """The variances of such scores overflow, or underflow."""
    X, y = load_wine(return_X_y=True)

    def scaled(estimator, X, y):
        return scale * estimator.score(X, y)

    tree = DecisionTreeClassifier(random_state=0)
    search = VarianceHalvingSearchCV(tree, TREE, scoring=scaled, random_state=0).fit(X, y)
    assert search.n_fits_ > len(TREE["max_depth"])
    assert search.best_score_ / scale > 0.8
