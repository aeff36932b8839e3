from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.base import is_classifier
from sklearn.linear_model import Perceptron, SGDClassifier, SGDOneClassSVM, SGDRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor

from sklearn_halving.resources._partial_fit import epochs_at_once, validated_once


def test_epochs_at_once():
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2
    for estimator in (SGDClassifier(), SGDRegressor(), SGDOneClassSVM(), Perceptron()):
        classes = {"classes": [0, 1]} if is_classifier(estimator) else {}
        train = partial(estimator.partial_fit, X, y, **classes)
        assert epochs_at_once(estimator, 5, train) == 5
        assert (estimator.n_iter_, estimator.t_) == (5, 31)
    assert epochs_at_once(MLPClassifier(), 5, train) == 0


def test_epochs_at_once_are_not_believed_to_have_run():
    estimator = SGDClassifier()
    assert epochs_at_once(estimator, 5, lambda: None) == 1


def test_data_are_validated_once():
    class Counting(list):
        n_looks = 0

        def __array__(self, *args, **kwargs):
            Counting.n_looks += 1
            return np.array(list(self))

    X, y = Counting([[0.0], [1.0], [2.0]]), [0.0, 1.0, 2.0]
    network = MLPRegressor(hidden_layer_sizes=(2,), random_state=0)
    network.partial_fit(X, y)
    once = Counting.n_looks
    with validated_once(network):
        for _ in range(3):
            network.partial_fit(X, y)
    assert Counting.n_looks == 2 * once > 0
    assert network.t_ == 12
    network.partial_fit(X, y)
    assert Counting.n_looks == 3 * once
    with validated_once(SGDClassifier()):
        pass
