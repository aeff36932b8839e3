from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
from sklearn.linear_model import Lasso, LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.neural_network import MLPClassifier

from resources.climbing import trained_to
from sklearn_halving.resources import Iterations

X, Y = make_classification(300, 10, n_informative=6, random_state=0)

FOREST, HISTOGRAM = "n_estimators", "max_iter"
ENSEMBLES = [
    (RandomForestClassifier(), FOREST),
    (RandomForestClassifier(max_samples=0.5, class_weight="balanced"), FOREST),
    (RandomForestClassifier(oob_score=True), FOREST),
    (RandomForestRegressor(), FOREST),
    (ExtraTreesClassifier(), FOREST),
    (ExtraTreesRegressor(bootstrap=True), FOREST),
    (RandomTreesEmbedding(), FOREST),
    (IsolationForest(contamination=0.1), FOREST),
    (BaggingClassifier(), FOREST),
    (BaggingRegressor(max_features=0.5, max_samples=0.5, bootstrap=False), FOREST),
    (GradientBoostingClassifier(), FOREST),
    (GradientBoostingClassifier(subsample=0.5, max_features=0.5), FOREST),
    (GradientBoostingRegressor(loss="huber", subsample=0.7, init="zero"), FOREST),
    (HistGradientBoostingClassifier(), HISTOGRAM),
    (HistGradientBoostingClassifier(max_features=0.5), HISTOGRAM),
    (HistGradientBoostingRegressor(loss="absolute_error"), HISTOGRAM),
    (HistGradientBoostingRegressor(early_stopping=True), HISTOGRAM),
]


def climb(resource, estimator, levels, X=X, y=Y):
    return trained_to(X, y, resource, clone(estimator), levels)


def output(model):
    for method in ("predict_proba", "decision_function", "predict", "transform"):
        if hasattr(model, method):
            result = getattr(model, method)(X)
            return result.toarray() if hasattr(result, "toarray") else result
    raise AssertionError


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize(("estimator", "parameter"), ENSEMBLES)
def test_continued_ensembles_predict_as_if_fitted_cold(estimator, parameter):
    estimator = clone(estimator).set_params(random_state=0)
    resource = Iterations(parameter)
    assert resource.can_continue(estimator)
    continued = climb(resource, estimator, [2, 6, 18])
    cold = clone(estimator).set_params(**{parameter: 18}).fit(X, Y)
    np.testing.assert_array_equal(output(continued), output(cold))
    assert continued.get_params() == cold.get_params()


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("kind", [HistGradientBoostingClassifier, HistGradientBoostingRegressor])
@pytest.mark.parametrize("share", [0.2, None])
def test_histogram_boosting_that_stopped_early_stays_as_it_is(kind, seed, share):
    """Continued by scikit-learn alone it would grow on, patience being counted anew."""
    model = kind(
        random_state=seed,
        learning_rate=0.7,
        n_iter_no_change=2,
        tol=1e-3,
        validation_fraction=share,
        max_iter=200,
        early_stopping=True,
    )
    cold = clone(model).fit(X, Y)
    assert cold.n_iter_ < 200
    stop = cold.n_iter_
    for levels in ([stop - 1, 200], [stop, 200], [stop + 1, 200], [2, stop, stop + 5, 200]):
        continued = climb(Iterations("max_iter"), model, [at for at in levels if at > 0])
        assert continued.n_iter_ == stop, levels
        np.testing.assert_array_equal(output(continued), output(cold))


@pytest.mark.parametrize(
    ("estimator", "parameter"),
    [
        (GradientBoostingClassifier(n_iter_no_change=3), FOREST),
        (BaggingClassifier(oob_score=True), FOREST),
        (MLPClassifier(solver="lbfgs"), "max_iter"),
        (LogisticRegression(), "max_iter"),
        (Lasso(), "max_iter"),
        (RandomForestClassifier(), "max_depth"),
        (RandomForestClassifier(), "unknown"),
        (SGDClassifier(), "n_iter_no_change"),
        (BaggingClassifier(RandomForestClassifier()), "estimator__n_estimators"),
    ],
)
def test_what_cannot_be_continued(estimator, parameter):
    assert not Iterations(parameter).can_continue(estimator)


def test_warm_start_is_put_back_after_a_failure(counting_warm_start):
    model = climb(Iterations("max_iter"), counting_warm_start(), [3])
    model.fit = lambda X, y: 1 / 0
    with pytest.raises(ZeroDivisionError):
        Iterations("max_iter").train(model, X, Y, 9, 3, {})
    assert not model.warm_start


def test_the_way_to_continue_can_be_said(counting_warm_start):
    model = climb(Iterations("max_iter", "total"), counting_warm_start(), [3, 9])
    assert [asked for asked, _ in model.seen_] == [3, 9]


@pytest.mark.parametrize(
    "estimator", [SGDClassifier(), SGDRegressor(alpha=0.01), MLPClassifier(n_iter_no_change=3)]
)
def test_a_converged_model_is_not_trained_on(estimator):
    model = clone(estimator).set_params(random_state=0, tol=0.05)
    cold = clone(model).set_params(max_iter=1000).fit(X, Y)
    stop = cold.n_iter_
    assert stop < 900
    for levels in ([stop + 1, 1000], [stop + 1, 2 * stop + 2, 1000]):
        continued = climb(Iterations("max_iter"), model, levels)
        np.testing.assert_array_equal(output(continued), output(cold))


FORESTS = Iterations("n_estimators")


def test_errors():
    forest = RandomForestClassifier()
    with pytest.raises(ValueError, match=r"searched parameters \['max_depth', 'n_est"):
        FORESTS.check(forest, frozenset({"n_estimators", "max_depth"}))
    with pytest.raises(ValueError, match=r"'n_estimator' .*mean 'n_estimators'.*bootstrap"):
        Iterations("n_estimator").check(forest, frozenset())
    with pytest.raises(ValueError, match=r"continuation must be one of .*got .warm"):
        Iterations("n_estimators", "warm")
    FORESTS.check(forest, frozenset({"max_depth"}))
