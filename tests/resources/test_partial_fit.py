from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Perceptron, SGDClassifier, SGDOneClassSVM, SGDRegressor
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from resources.climbing import trained_to
from sklearn_halving.resources import PartialFit

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 4))
CODES = np.arange(90) % 3
NAMES = np.array(["no", "yes", "maybe"])[CODES]


@pytest.mark.parametrize(
    "y",
    [
        CODES,
        NAMES,
        NAMES.astype(object),
        list(NAMES),
        pd.Series(NAMES, dtype="string"),
        pd.Series(NAMES, dtype="category"),
        pd.Series(CODES, dtype="Int64"),
    ],
    ids=["int", "str", "object", "list", "pd.string", "pd.category", "pd.Int64"],
)
@pytest.mark.parametrize("estimator", [SGDClassifier(random_state=0), GaussianNB()])
def test_a_fold_may_miss_a_class(y, estimator):
    resource = PartialFit().for_target(y)
    assert len(resource.classes) == 3
    part = np.flatnonzero(CODES != 1)
    y_part = y.iloc[part] if hasattr(y, "iloc") else np.asarray(y)[part]
    model = resource.train(clone(estimator), X[part], y_part, 2, 0, {})
    model = resource.train(model, X[part], y_part, 5, 2, {})
    assert sorted(model.classes_) == sorted(np.unique(np.asarray(y)))


def climb(estimator, y, levels, **fit_params):
    return trained_to(X, y, PartialFit().for_target(y), estimator, levels, **fit_params)


def calls_by_hand(estimator, y, n_calls):
    for call in range(n_calls):
        first = call == 0 and y is not None and is_classifier(estimator)
        classes = {"classes": np.unique(y)} if first else {}
        estimator.partial_fit(*((X,) if y is None else (X, y)), **classes)
    return estimator


TARGET = X @ [1.0, -2.0, 0.5, 0.0]
SGD_FAMILY = [
    (SGDClassifier(random_state=0), NAMES),
    (SGDClassifier(random_state=0), CODES > 0),
    (SGDClassifier(tol=1e9, n_iter_no_change=1, random_state=0), CODES),
    (SGDClassifier(class_weight={0: 3.0}, penalty=None, average=9, random_state=0), CODES),
    (SGDRegressor(learning_rate="adaptive", random_state=0), TARGET),
    (SGDOneClassSVM(average=9, random_state=0), None),
    (Perceptron(penalty="l1", random_state=0), CODES),
]


@pytest.mark.parametrize(("estimator", "y"), SGD_FAMILY, ids=repr)
def test_epochs_are_those_of_calls_by_hand(estimator, y):
    model = climb(clone(estimator), y, [2, 7])
    by_hand = calls_by_hand(clone(estimator), y, 7)
    np.testing.assert_array_equal(model.coef_, by_hand.coef_)
    assert model.t_ == by_hand.t_ == 7 * 90 + 1
    assert model.get_params() == estimator.get_params()


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (MLPClassifier((4,), random_state=0), NAMES),
        (MLPClassifier((4,), random_state=0), np.column_stack([CODES > 0, CODES > 1])),
        (
            MLPRegressor(
                hidden_layer_sizes=(4,),
                solver="sgd",
                learning_rate="adaptive",
                n_iter_no_change=1,
                tol=1.0,
                random_state=0,
            ),
            TARGET,
        ),
    ],
    ids=["classes", "several outputs", "adaptive rate"],
)
def test_networks_learn_as_by_calls_by_hand(estimator, y):
    model = climb(clone(estimator), y, [2, 9])
    by_hand = calls_by_hand(clone(estimator), y, 9)
    for weights, expected in zip(model.coefs_, by_hand.coefs_, strict=True):
        np.testing.assert_array_equal(weights, expected)
    assert model.loss_curve_ == by_hand.loss_curve_
    assert vars(model).keys() == vars(by_hand).keys()


@pytest.mark.parametrize("base", [SGDClassifier, MLPClassifier])
def test_a_partial_fit_of_ones_own_is_called_for_every_epoch(base):
    class Own(base):
        n_calls = 0

        def partial_fit(self, X, y, classes=None):
            self.n_calls += 1
            return super().partial_fit(X, y, classes=classes)

    model = climb(Own(random_state=0), NAMES, [2, 5])
    assert model.n_calls == 5


def test_classes_are_told_once(counting_epochs):
    resource = PartialFit()
    model = resource.train(counting_epochs(), X, NAMES, 3, 0, {})
    model = resource.train(model, X, NAMES, 9, 3, {})
    assert (model.units_, model.told_classes_) == (9, 1)
    assert resource.train(model, X, NAMES, 9, 9, {}).units_ == 9


def test_several_outputs():
    Z, labels = make_multilabel_classification(60, n_classes=3, random_state=0)
    resource = PartialFit().for_target(labels)
    network = resource.train(MLPClassifier((4,), random_state=0), Z, labels, 3, 0, {})
    assert network.predict(Z).shape == labels.shape
    several = MultiOutputClassifier(SGDClassifier(random_state=0))
    several = resource.train(several, Z, labels, 3, 0, {})
    assert several.predict(Z).shape == labels.shape
    named = np.column_stack([NAMES, CODES.astype(str)])
    several = MultiOutputClassifier(SGDClassifier(random_state=0))
    assert PartialFit().train(several, X, named, 2, 0, {}).predict(X).shape == named.shape


def test_regressors_and_clusterers_have_no_classes():
    y = X[:, 0] + 0.5
    assert PartialFit().for_target(y).classes is None
    assert PartialFit().for_target(None) == PartialFit()
    PartialFit().for_target(y).train(SGDRegressor(), X, y, 2, 0, {}).predict(X)
    PartialFit().for_target(CODES).train(SGDRegressor(), X, CODES, 2, 0, {}).predict(X)
    PartialFit().train(MiniBatchKMeans(2, n_init=1), X, None, 2, 0, {}).predict(X)


def test_classes_given_are_kept():
    assert PartialFit((0, 1, 2, 3)).for_target(CODES).classes == (0, 1, 2, 3)


def test_check_and_levels():
    resource = PartialFit()
    resource.check(SGDClassifier(), frozenset({"alpha"}))
    for model, most in ((SGDClassifier(max_iter=81), 81), (GaussianNB(), 0)):
        assert resource.level_range(model, 100, 4) == (1, most)
        assert resource.level_range(make_pipeline(StandardScaler(), model), 100, 4) == (1, most)
    for no_number in (None, np.inf, np.nan, -1):
        assert resource.level_range(SGDClassifier(max_iter=no_number), 100, 4) == (1, 0)
    assert (resource.to_level(3.2), resource.to_amount(3), resource.params_at(3)) == (3, 3, {})
    assert not resource.can_continue(RandomForestClassifier())
