"""BanditSearchCV by HOO: candidates that are made on the way, from distributions of numbers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import loguniform, randint, uniform
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from search.common import FITS, Known, Recording, data, numbered
from sklearn_halving import BanditSearchCV
from sklearn_halving.policies import HOO


def search_by(policy="hoo", estimator=None, space=None, **params):
    space = {"value": uniform(0, 1)} if space is None else space
    estimator = Known() if estimator is None else estimator
    return BanditSearchCV(estimator, space, policy=policy, **{"random_state": 0, **params})


def test_it_finds_the_largest_of_a_score_without_noise():
    search = search_by(HOO(60, n_splits=3), cv=3).fit(*data())
    assert search.best_params_["value"] > 0.9
    assert search.best_score_ == pytest.approx(search.best_params_["value"])
    values = search.cv_results_["param_value"].astype(float)
    n_pulls = search.cv_results_["n_fits"]
    assert n_pulls[values > 0.5].sum() > 1.2 * n_pulls[values < 0.5].sum()


def test_a_real_search_and_the_number_of_workers():
    X, y = load_wine(return_X_y=True)
    model = make_pipeline(StandardScaler(), SVC())
    space = {"svc__C": loguniform(1e-3, 1e3), "svc__gamma": loguniform(1e-5, 1e1)}
    one = search_by("hoo", model, space, n_fits=30).fit(X, y)
    with parallel_config(backend="threading", n_jobs=3):
        three = search_by("hoo", model, space, n_fits=30).fit(X, y)
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], three.cv_results_["mean_test_score"]
    )
    assert one.best_params_ == three.best_params_
    assert one.score(X, y) > 0.9
    assert pickle.loads(pickle.dumps(one)).best_params_ == one.best_params_


@pytest.mark.parametrize(
    ("space", "params", "message"),
    [
        ({"value": [0.1, 0.2]}, {}, "continuous .* for policy='hoo'.* other values of 'value'"),
        ({"value": randint(1, 4)}, {}, "other values of 'value'"),
        ({}, {}, "must be one dict .* got {}"),
        ([{"value": uniform(0, 1)}] * 2, {}, "must be one dict .* got 2 dicts"),
        ({"value": uniform(0, 1)}, {"n_candidates": 5}, "n_candidates=5 must be left out"),
        ({"valve": uniform(0, 1)}, {}, "Invalid parameter 'valve'"),
        ({"value": uniform(0, 1)}, {"policy": HOO(9, 2)}, "n_dimensions must be 1, the number"),
        ({"value": uniform(0, 1)}, {"policy": "ucb_e"}, "one of .*'adaptive_ucb_e'.* got 'ucb_e'"),
        ({"value": uniform(0, 1)}, {"policy": "UGapEc"}, "one of .*or an object.* got 'UGapEc'"),
        ({"value": uniform(0, 1)}, {"policy": "hyperband"}, "such as Hyperband.* got 'hyperband'"),
    ],
)
def test_bad_input_is_refused_before_any_fit(space, params, message):
    X, y = numbered(60)
    FITS.clear()
    with pytest.raises(ValueError, match=message):
        search_by(**{"policy": "hoo", **params}, estimator=Recording(), space=space).fit(X, y)
    assert len(FITS) == 0
