"""Code of scikit-learn's examples for a callable ``refit`` chooses correctly in all searches."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import randint
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, precision_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sklearn_halving import BayesGapSearchCV, HyperbandSearchCV, VarianceHalvingSearchCV
from tests.search.common import SEARCHES, Known, data, interrupted, numbered, small
from tests.search.test_variance_halving import Noisy

parametrize_searches = pytest.mark.parametrize("search_class", SEARCHES)
ignore_failures = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.FitFailedWarning", "ignore:.*are non-finite"
)
DEPTHS = {"max_depth": list(range(1, 13)), "min_samples_leaf": [1, 3, 9]}
TREE = DecisionTreeClassifier(random_state=0)


def largest_mean(cv_results):
    return np.argmax(cv_results["mean_test_score"])


# From scikit-learn's example plot_grid_search_refit_callable.
def lower_bound(cv_results):
    best_score_idx = np.argmax(cv_results["mean_test_score"])
    return (
        cv_results["mean_test_score"][best_score_idx]
        - cv_results["std_test_score"][best_score_idx]
    )


def best_low_complexity(cv_results):
    threshold = lower_bound(cv_results)
    candidate_idx = np.flatnonzero(cv_results["mean_test_score"] >= threshold)
    return candidate_idx[cv_results["param_reduce_dim__n_components"][candidate_idx].argmin()]


# From scikit-learn's example plot_grid_search_digits, without its printing.
def refit_strategy(cv_results):
    table = pd.DataFrame(cv_results)
    precise = table[table["mean_test_precision"] > 0.7]
    columns = ["mean_score_time", "mean_test_recall", "std_test_recall", "mean_test_precision"]
    precise = precise[[*columns, "std_test_precision", "rank_test_recall", "params"]]
    threshold = precise["mean_test_recall"].max() - precise["mean_test_recall"].std(ddof=0)
    return precise[precise["mean_test_recall"] >= threshold]["mean_score_time"].idxmin()


# From scikit-learn's example plot_grid_search_stats: the ranking of the models.
def first_of_ranking(cv_results):
    ranked = pd.DataFrame(cv_results).sort_values(by=["rank_test_score"])
    return int(ranked.index[0])


def row_of(table, index):
    return {name: column[index] for name, column in table.items()}


class Watched:
    """A callable ``refit`` that keeps the table that it was given."""

    def __init__(self, choose=largest_mean):
        self.choose = choose

    def __call__(self, cv_results):
        self.table = cv_results
        self.index = self.choose(cv_results)
        return self.index


def assert_maps_back(search):
    """Check that the chosen row of the callable's table is row ``best_index_`` of all rows."""
    chosen = row_of(search.refit.table, search.refit.index)
    row = row_of(search.cv_results_, search.best_index_)
    assert list(chosen) == list(row)
    assert chosen["params"] == search.best_params_
    # A masked value, of a parameter that the candidate lacks, is not equal to itself in NumPy 2.0.
    for name in chosen:
        if not np.ma.is_masked(chosen[name]):
            np.testing.assert_equal(chosen[name], row[name])


@pytest.mark.walk
@pytest.mark.parametrize("choose", [largest_mean, first_of_ranking])
@pytest.mark.parametrize(
    ("search_class", "params"),
    [
        (HyperbandSearchCV, {}),
        (HyperbandSearchCV, {"brackets": [2, 1]}),
        (VarianceHalvingSearchCV, {}),
        (VarianceHalvingSearchCV, {"allocation": "pooled"}),
    ],
)
@pytest.mark.parametrize("random_state", range(2))
@pytest.mark.filterwarnings("ignore:.*are left out")
def test_the_largest_mean_and_the_first_rank_are_the_winner(
    search_class, params, choose, random_state
):
    X, y = load_wine(return_X_y=True)
    params = {"random_state": random_state, **params}
    search = search_class(TREE, DEPTHS, refit=Watched(choose), **params).fit(X, y)
    usual = search_class(TREE, DEPTHS, **params).fit(X, y)
    assert_maps_back(search)
    index = search.best_index_
    assert search.cv_results_["mean_test_score"][index] == usual.best_score_
    if choose is first_of_ranking:
        assert usual.cv_results_["rank_test_score"][index] == 1


@pytest.mark.parametrize("params", [{}, {"brackets": [3, 2]}])
def test_cheap_rungs_with_lucky_scores_are_left_out(params):
    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    search = HyperbandSearchCV(TREE, DEPTHS, refit=Watched(), random_state=0, **params).fit(X, y)
    table = search.refit.table
    assert 1 < len(table["params"]) < len(search.cv_results_["params"])
    assert set(table["n_resources"]) == {search.cv_results_["n_resources"].max()}
    splits = np.array([table[f"split{i}_test_score"] for i in range(5)])
    assert not np.isnan(splits).any()
    np.testing.assert_allclose(table["mean_test_score"], splits.mean(axis=0))
    np.testing.assert_allclose(table["std_test_score"], splits.std(axis=0))


def test_distributions_of_integers_are_sorted_out_in_the_same_way():
    X, y = load_wine(return_X_y=True)
    space = {"max_depth": randint(1, 12), "min_samples_leaf": randint(1, 20)}
    search = HyperbandSearchCV(TREE, space, n_candidates=17, refit=Watched(), random_state=0).fit(
        X, y
    )
    assert_maps_back(search)
    assert set(search.refit.table["n_resources"]) == {search.cv_results_["n_resources"].max()}


@parametrize_searches
def test_the_one_standard_error_rule_of_scikit_learn(search_class):
    X, y = load_digits(return_X_y=True)
    pipe = Pipeline(
        [
            ("scaling", StandardScaler()),
            ("reduce_dim", PCA(random_state=42)),
            ("classify", LogisticRegression(random_state=42, C=0.01, max_iter=1000)),
        ]
    )
    grid = {"reduce_dim__n_components": [6, 8, 10, 15, 20, 25, 35, 45]}
    search = search_class(pipe, grid, refit=Watched(best_low_complexity), random_state=0)
    search.fit(X[:500], y[:500])
    assert_maps_back(search)
    table = search.refit.table
    best = table["mean_test_score"].argmax()
    least = table["mean_test_score"][best] - table["std_test_score"][best]
    assert search.cv_results_["mean_test_score"][search.best_index_] >= least
    # The rule has several rows to choose from, and none whose deviation is that of one score.
    assert len(table["params"]) > 1
    scores = np.array([table[name] for name in table if name.startswith("split")])
    n_scores = np.isfinite(scores).sum(axis=0)
    assert n_scores.min() > 1 or search_class is BayesGapSearchCV
    assert (
        search.best_estimator_.named_steps["reduce_dim"].n_components_
        == (search.best_params_["reduce_dim__n_components"])
    )


@parametrize_searches
def test_the_strategy_of_scikit_learn_for_precision_and_recall(search_class):
    X, y = load_digits(return_X_y=True)
    refit = Watched(refit_strategy)
    search = search_class(
        make_pipeline(StandardScaler(), TREE),
        {"decisiontreeclassifier__max_depth": list(range(2, 14))},
        scoring={"precision": make_scorer(precision_score, zero_division=0), "recall": "recall"},
        refit=refit,
        random_state=0,
    ).fit(X[:500], y[:500] == 8)
    assert_maps_back(search)
    assert search.cv_results_["mean_test_precision"][search.best_index_] > 0.7


@parametrize_searches
@ignore_failures
def test_no_row_without_a_score_wins(search_class):
    X, y = data()
    grid = [{"value": [0.1, 0.3, 0.2, 0.25]}, {"value": [0.9, 0.8], "fails": [True]}]
    search = search_class(Known(), grid, refit=Watched(), random_state=0).fit(X, y)
    assert not np.isnan(search.refit.table["mean_test_score"]).any()
    assert search.best_params_ == {"value": 0.3}
    assert_maps_back(search)


@parametrize_searches
@ignore_failures
def test_one_metric_without_a_score_is_enough_to_leave_a_row_out(search_class):
    def scores(estimator, X, y):
        return {"good": estimator.value, "often_nan": np.nan if estimator.value > 0.4 else 1.0}

    X, y = data()
    refit = Watched(lambda table: np.argmax(table["mean_test_good"]))
    grid = {"value": [0.1, 0.2, 0.3, 0.5]}
    search = small(search_class, Known(), grid, scoring=scores, refit=refit).fit(X, y)
    assert search.best_params_ == {"value": 0.3}


@parametrize_searches
@ignore_failures
@pytest.mark.filterwarnings("ignore:.*are NaN", "ignore:.*are all NaN")
def test_if_all_scores_are_nan_the_callable_still_chooses(search_class):
    X, y = data()
    grid = {"value": [0.1, 0.2, 0.3, 0.5]}
    search = small(search_class, Known(nan_below=1000), grid, refit=Watched()).fit(X, y)
    assert len(search.refit.table["params"]) >= 1
    assert_maps_back(search)


@parametrize_searches
def test_after_an_interrupt_the_callable_chooses_among_finished_fits(search_class):
    search = interrupted(search_class, {"value": [0.1, 0.2, 0.3, 0.5]}, refit=Watched())
    assert_maps_back(search)
    assert not np.isnan(search.refit.table["mean_test_score"]).any()


def test_candidates_with_few_fits_do_not_win_by_luck():
    X, y = numbered(60)
    grid = {"value": np.linspace(0, 0.5, 24).tolist()}
    for random_state in range(5):
        search = VarianceHalvingSearchCV(
            Noisy(noise_sd=0.2), grid, refit=Watched(), random_state=random_state
        ).fit(X, y)
        n_pulls = search.refit.table["n_fits"]
        assert n_pulls.min() >= 5 > search.cv_results_["n_fits"].min()
        assert_maps_back(search)
