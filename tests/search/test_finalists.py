"""How sure HyperbandSearchCV is of its choice among the candidates of the last rung."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rv_discrete, uniform
from sklearn.ensemble import RandomForestClassifier

from sklearn_halving import HyperbandSearchCV
from sklearn_halving.samplers import RandomSampler
from tests.search.common import Known, data, numbered
from tests.search.test_variance_halving import Noisy

X, Y = numbered(200)
VALUES = {"value": np.linspace(0, 0.5, 12).tolist()}


def search_of(noise_sd=0.0, **params):
    options = {"random_state": 0, "split_sd": 0.3} | params
    estimator = Noisy(noise_sd=noise_sd, split_sd=options.pop("split_sd"))
    return HyperbandSearchCV(estimator, VALUES, **options).fit(X, Y)


def test_the_winner_is_the_most_likely_of_three_finalists():
    search = search_of(0.1)
    assert 1 / 3 < search.best_probability_ < 1
    assert search.best_regret_ >= 0
    assert "probability_best" not in search.cv_results_  # the columns are those of GridSearchCV
    assert f"being the best of the 3 finalists {search.best_probability_:.2f}" in search.summary()


def test_less_noise_means_more_certainty():
    """The effect that a split has on all candidates does not matter."""
    sure, unsure = search_of(0.001), search_of(0.3)
    assert sure.best_probability_ > 0.99 > 0.9 > unsure.best_probability_
    assert sure.best_regret_ < 0.001 < unsure.best_regret_


@pytest.mark.filterwarnings("ignore:.*different candidates")
def test_equal_finalists_count_once():
    """Copies do not share the probability of a candidate."""
    space = {"value": rv_discrete(values=([0.0, 0.45, 0.5], [0.2, 0.4, 0.4]))}
    estimator = Noisy(noise_sd=0.02, split_sd=0.3)
    search = HyperbandSearchCV(estimator, space, cv=3, sampler="random", random_state=0).fit(X, Y)
    results = search.cv_results_
    full = results["n_resources"] == results["n_resources"].max()
    assert (results["param_value"][full] == 0.5).sum() > 1
    assert search.best_params_ == {"value": 0.5}
    assert search.best_probability_ > 0.85


def test_one_column_and_all_columns_are_two_finalists():
    grid = {"max_features": [1, 1.0]}
    forest = RandomForestClassifier(5, random_state=0)
    search = HyperbandSearchCV(forest, grid, random_state=0).fit(*data(200))
    one, all_columns = search.cv_results_["mean_test_score"]
    assert one != all_columns
    assert 0.5 < search.best_probability_ < 1
    assert "searched   2 candidates;" in search.summary()


def test_the_summary_says_that_all_candidates_of_a_bracket_were_dropped():
    """Some of them have a higher score than the winner, on their only split."""
    estimator = Noisy(noise_sd=0.02, split_sd=0.5)
    space = {"value": uniform(0, 0.5)}
    search = HyperbandSearchCV(estimator, space, n_loops=6, n_candidates=17, random_state=0)
    results = search.set_params(sampler=RandomSampler()).fit(X, Y).cv_results_
    n_scores = sum(~np.isnan(results[f"split{i}_test_score"]) for i in range(5))
    is_last = results["n_resources"] == results["n_resources"].max()
    best = []
    for loop, bracket in {*zip(results["loop"], results["bracket"], strict=True)}:
        inside = is_last & (results["loop"] == loop) & (results["bracket"] == bracket)
        if n_scores[inside].max() == 1:
            best.append((inside.sum(), results["mean_test_score"][inside].max()))
    assert max(score for _, score in best) > search.best_score_
    assert search._repr_html_().count(" (1 of 5 splits)") == len(best) < 12
    for n, score in best:
        assert f"{n} at 160: {score:.4g} (1 of 5 splits)" in search._repr_html_()
    assert " (1 of 5 splits)" in search.summary()
    assert f": {search.best_score_:.4g} (" not in search.summary()


def test_candidates_that_were_dropped_after_one_split_do_not_count():
    search = HyperbandSearchCV(
        Noisy(noise_sd=0.1, split_sd=0.3), {"value": uniform(0, 0.5)}, n_loops=4, random_state=0
    ).fit(X, Y)
    results = search.cv_results_
    full = results["n_resources"] == results["n_resources"].max()
    n_scores = sum(~np.isnan(results[f"split{i}_test_score"][full]) for i in range(5))
    assert set(n_scores) == {1, 5}
    n_dropped = int((n_scores == 1).sum())
    word = "candidate" if n_dropped == 1 else "candidates"
    assert f"{n_dropped} {word} dropped after one split of the last rung" in search.summary()
    complete = results["mean_test_score"][full][n_scores == 5]
    assert f": {results['mean_test_score'][full].max():.4}" not in search.summary()
    assert f": {complete.max():.4}*" in search.summary()
    assert np.isfinite(search._table.statistics.mean).sum() == (n_scores == 5).sum()
    assert 0 < search.best_probability_ < 1


@pytest.mark.filterwarnings("ignore:.*are left out", "ignore:The grid has")
def test_nothing_is_known_of_a_single_finalist():
    search = search_of(0.1, brackets="most_exploratory")
    last = search.cv_results_["iter"].max()
    assert (search.cv_results_["iter"] == last).sum() == 1
    assert np.isnan(search.best_probability_)
    assert np.isnan(search.best_regret_)
    assert "probability" not in search.summary()


def test_the_statistics_are_those_of_the_choice_of_a_callable_refit():
    def least_likely(results):
        return results["mean_test_score"].argmin()

    search = search_of(0.1, refit=least_likely)
    assert search.best_probability_ < 1 / 3
    assert search.best_regret_ > search_of(0.1).best_regret_


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_without_scores_nothing_is_known():
    search = HyperbandSearchCV(Known(nan_below=1000), VALUES, cv=3, random_state=0).fit(*data())
    assert np.isnan(search.best_probability_)
    assert np.isnan(search.best_regret_)


def test_statistics_of_several_metrics_are_those_of_the_one_that_guides_the_search():
    def scores(estimator, X, y):
        return {"constant": 1.0, "noisy": estimator.score(X, y)}

    noisy, constant = (search_of(0.1, scoring=scores, refit=m) for m in ("noisy", "constant"))
    assert noisy.best_probability_ == search_of(0.1).best_probability_
    assert constant.best_probability_ == pytest.approx(1 / 3)
    undecided = search_of(0.1, scoring=scores, refit=False)
    assert not hasattr(undecided, "best_probability_")
