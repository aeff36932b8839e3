"""How sure HyperbandSearchCV is of its choice among the candidates of the last rung."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rv_discrete

from sklearn_halving import HyperbandSearchCV
from tests.search.common import Noisy, numbered

X, Y = numbered(200)
VALUES = {"value": np.linspace(0, 0.5, 12).tolist()}


def search_of(noise_sd=0.0, space=VALUES, **params):
    options = {"random_state": 0, "split_sd": 0.3} | params
    estimator = Noisy(noise_sd=noise_sd, split_sd=options.pop("split_sd"))
    return HyperbandSearchCV(estimator, space, **options).fit(X, Y)


def test_the_winner_is_the_most_likely_of_three_finalists():
    search = search_of(0.1)
    assert 1 / 3 < search.best_probability_ < 1
    assert "probability_best" not in search.cv_results_  # the columns are those of GridSearchCV


@pytest.mark.filterwarnings("ignore:.*different candidates")
def test_equal_finalists_count_once():
    """Copies do not share the probability of a candidate."""
    space = {"value": rv_discrete(values=([0.0, 0.45, 0.5], [0.2, 0.4, 0.4]))()}
    estimator = Noisy(noise_sd=0.02, split_sd=0.3)
    search = HyperbandSearchCV(
        estimator, space, n_candidates=20, brackets=[0], cv=3, random_state=0
    ).fit(X, Y)
    results = search.cv_results_
    full = results["n_resources"] == results["n_resources"].max()
    assert (results["param_value"][full] == 0.5).sum() > 1
    assert search.best_params_ == {"value": 0.5}
    assert search.best_probability_ > 0.85


def test_nothing_is_known_of_a_single_finalist():
    search = search_of(0.1, {"value": [0.1, 0.2, 0.3]}, brackets="most_exploratory")
    last = search.cv_results_["iter"].max()
    assert (search.cv_results_["iter"] == last).sum() == 1
    assert np.isnan(search.best_probability_)
