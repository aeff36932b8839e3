from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

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


def test_epochs_are_those_of_calls_by_hand():
    resource = PartialFit()
    model = resource.train(SGDClassifier(random_state=0), X, NAMES, 2, 0, {})
    model = resource.train(model, X, NAMES, 7, 2, {})
    by_hand = SGDClassifier(random_state=0)
    for _ in range(7):
        by_hand.partial_fit(X, NAMES, classes=np.unique(NAMES))
    np.testing.assert_array_equal(model.coef_, by_hand.coef_)


def test_classes_are_told_once(counting_epochs):
    resource = PartialFit()
    model = resource.train(counting_epochs(), X, NAMES, 3, 0, {})
    model = resource.train(model, X, NAMES, 9, 3, {})
    assert (model.units_, model.told_classes_) == (9, 1)
    assert resource.train(model, X, NAMES, 9, 9, {}).units_ == 9


def test_weights_come_with_every_epoch(counting_epochs):
    weight = np.ones(90)
    model = PartialFit().train(counting_epochs(), X, NAMES, 3, 0, {"sample_weight": weight})
    assert model.weights_ is weight


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
    with pytest.raises(
        ValueError, match=r"needs an estimator with the method partial_fit.*Random"
    ):
        PartialFit().check(RandomForestClassifier(), frozenset())
    resource = PartialFit()
    resource.check(SGDClassifier(), frozenset({"alpha"}))
    assert resource.level_range(SGDClassifier(), 100, 4) == (1, 0)
    assert (resource.to_level(3.2), resource.to_amount(3), resource.params_at(3)) == (3, 3, {})
    assert not resource.can_continue(RandomForestClassifier())
