"""LightGBM, XGBoost and CatBoost, continued by their own means."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from resources.boosting import boosting, count_trees
from resources.climbing import trained_to
from sklearn_halving.resources import Iterations, resolve_resource

X, Y = make_classification(200, 8, n_informative=5, n_classes=3, random_state=0)
climb = partial(trained_to, X, Y)


def test_continued_boosting_predicts_as_if_fitted_cold(library):
    resource = Iterations("n_estimators")
    estimator = boosting(library)
    resource.check(estimator, frozenset())
    assert resource.can_continue(estimator)
    model = climb(resource, clone(estimator), [3, 9, 20])
    assert count_trees(model) == 20
    cold = estimator.fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), cold.predict_proba(X), rtol=1e-5)
    if library.__name__ != "catboost":  # whose fitted models refuse set_params
        assert model.get_params()["n_estimators"] == 20


def test_sample_weights(library):
    weight = np.linspace(0.1, 2, len(Y))
    model = climb(Iterations("n_estimators"), boosting(library), [3, 9], sample_weight=weight)
    cold = boosting(library, n_estimators=9).fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(X), cold.predict_proba(X), rtol=1e-5)


def test_in_a_pipeline(library):
    pipeline = make_pipeline(StandardScaler(), boosting(library))
    name = pipeline.steps[-1][0]
    resource = resolve_resource(f"{name}__n_estimators", pipeline)
    assert isinstance(resource, Iterations)
    assert resource.can_continue(pipeline)
    model = climb(resource, pipeline, [3, 9])
    assert model is pipeline
    assert count_trees(model[-1]) == 9
    cold = make_pipeline(StandardScaler(), boosting(library, n_estimators=9)).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), cold.predict_proba(X), rtol=1e-5)


def test_refit(library):
    model = climb(Iterations("n_estimators", "refit"), boosting(library), [3, 9])
    assert count_trees(model) == 9


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("lightgbm", {"boosting_type": "dart"}),
        ("lightgbm", {"early_stopping_rounds": 3}),
        ("xgboost", {"booster": "dart"}),
        ("xgboost", {"booster": "gblinear"}),
        ("xgboost", {"early_stopping_rounds": 3}),
        ("catboost", {"cat_features": [0]}),
        ("catboost", {"learning_rate": None}),
        ("catboost", {"early_stopping_rounds": 3}),
    ],
)
def test_what_is_not_continued(need, name, params):
    estimator = boosting(need(name), **params)
    assert not Iterations("n_estimators").can_continue(estimator)
    assert not Iterations("learning_rate").can_continue(estimator)


def test_forests_of_xgboost_are_not_continued(need):
    assert not Iterations("n_estimators").can_continue(need("xgboost").XGBRFClassifier())


@pytest.mark.parametrize("alias", ["iterations", "num_boost_round", "num_trees"])
def test_catboost_by_another_name(need, alias):
    estimator = need("catboost").CatBoostClassifier(
        learning_rate=0.1, verbose=0, allow_writing_files=False
    )
    resource = resolve_resource(alias, estimator)
    resource.check(estimator, frozenset())
    assert resource.level_range(estimator, 100, 4) == (1, 0)
    assert count_trees(climb(resource, estimator, [3, 9])) == 9


@pytest.mark.filterwarnings("ignore:Found .* in params")
def test_lightgbm_by_another_name(need):
    estimator = need("lightgbm").LGBMClassifier(verbose=-1, n_jobs=1)
    resource = resolve_resource("num_iterations", estimator)
    resource.check(estimator, frozenset())
    assert count_trees(climb(resource, estimator, [3, 9])) == 9


def test_a_number_of_trees_with_two_names_is_an_error(need):
    resource = Iterations("n_estimators")
    with pytest.raises(ValueError, match=r"is also set by \['iterations'\]"):
        resource.check(need("catboost").CatBoostClassifier(iterations=9), frozenset())
    with pytest.raises(ValueError, match=r"is also set by \['num_iterations'\]"):
        resource.check(need("lightgbm").LGBMClassifier(num_iterations=9), frozenset())
    with pytest.raises(ValueError, match=r"is also set by \['num_trees'\]"):
        resource.check(need("catboost").CatBoostClassifier(), frozenset({"num_trees"}))
