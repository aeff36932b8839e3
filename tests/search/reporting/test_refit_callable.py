"""Code of scikit-learn's examples for a callable ``refit`` chooses correctly in all searches."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from sklearn_halving import AdaptiveSearchCV, HyperbandSearchCV, VarianceHalvingSearchCV
from tests.search.common import SEARCHES, Known, Noisy, data, numbered

parametrize_searches = pytest.mark.parametrize("search_class", SEARCHES)
ignore_failures = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.FitFailedWarning",
    "ignore:.*are non-finite",
)
DEPTHS = {"max_depth": list(range(1, 13)), "min_samples_leaf": [1, 3, 9]}
TREE = DecisionTreeClassifier(random_state=0)


def largest_mean(cv_results):
    return np.argmax(cv_results["mean_test_score"])


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
        (HyperbandSearchCV, {"brackets": "all"}),
        (VarianceHalvingSearchCV, {}),
        (VarianceHalvingSearchCV, {"allocation": "pooled"}),
    ],
)
@pytest.mark.parametrize("random_state", range(2))
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


@parametrize_searches
@ignore_failures
def test_no_row_without_a_score_wins(search_class):
    grid = [{"value": [0.1, 0.3, 0.2, 0.25]}, {"value": [0.9, 0.8], "fails": [True]}]
    search = search_class(Known(), grid, refit=Watched(), random_state=0).fit(*data())
    assert not np.isnan(search.refit.table["mean_test_score"]).any()
    assert search.best_params_ == {"value": 0.3}
    assert_maps_back(search)


@pytest.mark.parametrize("n_fits", [3, 8, 20])
def test_too_few_finalists_are_not_offered_without_a_word(n_fits):
    search = AdaptiveSearchCV(TREE, DEPTHS, n_fits=n_fits, refit=Watched(), random_state=0)
    with warnings.catch_warnings(record=True, action="always") as found:
        search.fit(*load_wine(return_X_y=True))
    n_scores = search.refit.table["n_fits"]
    is_enough = bool(len(n_scores) > 1 and n_scores.min() == 5)
    assert is_enough == (n_fits == 20)
    offered = f"{len(n_scores)} candidate{'s' * (len(n_scores) > 1)}, on {n_scores.min()} of 5"
    texts = [] if is_enough else [f"refit could only choose from {offered} splits. With"]
    assert [str(one.message)[: len(texts[0])] for one in found] == texts


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
