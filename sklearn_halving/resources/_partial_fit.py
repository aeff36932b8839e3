"""Epochs of ``partial_fit`` as the resource.

Epochs of scikit-learn's own estimators are faster: `epochs_at_once` and `validated_once`
temporarily replace a private method of one estimator. If scikit-learn renames the methods, both
functions do nothing, and every epoch is an ordinary call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.multiclass import type_of_target

from sklearn_halving._typing import Estimator
from sklearn_halving._unstable_imports import NETWORK_VALIDATION, SGD_EPOCHS
from sklearn_halving.resources._fitting import (
    TrainingData,
    class_names,
    keeps_training_rows,
    last_step,
    to_last_step,
)
from sklearn_halving.resources._types import ContinuedResource


@dataclass(frozen=True)
class PartialFit(ContinuedResource):
    """Train by epochs of ``partial_fit``, each with all rows of the training fold.

    A level is the number of epochs, and each epoch is a call of ``partial_fit``.

    Estimators of scikit-learn's stochastic gradient descent family (`SGDClassifier`,
    `SGDRegressor`, `SGDOneClassSVM`, `Perceptron` and the passive-aggressive estimators) are an
    exception: all missing epochs of a level run in one call, which is much faster on small data.
    The first level then equals ``fit`` with ``max_iter`` set to the level and ``tol=None``.
    Later levels continue the learning rate schedule, which ``warm_start`` would restart. Three
    things differ from one call per epoch: rows are shuffled differently in every epoch of a
    level, whereas separate calls with an integer ``random_state`` shuffle alike; and an L1
    penalty and the averaging of a classifier restart with every call. Otherwise both are equal
    up to rounding.

    The estimator may be the last step of a pipeline. The earlier steps are fitted before the
    first epoch.

    Parameters
    ----------
    classes : tuple or None, default=None
        The class labels passed to the first call of a classifier; one tuple per output if there
        are several. None uses the labels of the training rows, which may lack a class: see
        `for_target`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import SGDClassifier
    >>> from sklearn_halving.resources import PartialFit
    >>> X, y = load_iris(return_X_y=True)
    >>> epochs = PartialFit().for_target(y)
    >>> model = epochs.train(SGDClassifier(random_state=0), X, y, 2, 0, {})
    >>> epochs.train(model, X, y, 6, 2, {}).t_ == 6 * 150 + 1
    True
    """

    classes: tuple[object, ...] | None = None

    name = "partial_fit"

    def for_target(self, y: object) -> PartialFit:
        """Return a resource that knows all classes of ``y``."""
        if self.classes is not None or y is None:
            return self
        return replace(self, classes=_classes_of(y))

    def check(self, estimator: Estimator, searched: frozenset[str]) -> None:
        """Raise a ValueError if the estimator, or its last step, has no ``partial_fit``."""
        step = last_step(estimator)
        if not hasattr(step, "partial_fit") and not last_step_is_replaced(estimator, searched):
            raise ValueError(
                "resource='partial_fit' needs an estimator with the method partial_fit, or a "
                f"pipeline whose last step has it; got {type(step).__name__}. Name one of its "
                "parameters as the resource instead, or use 'n_samples'."
            )

    def can_continue(self, estimator: Estimator) -> bool:
        """Return whether more epochs can be run on a fitted estimator."""
        return hasattr(last_step(estimator), "partial_fit") and keeps_training_rows(estimator)

    def _train_to(
        self, estimator: Estimator, data: TrainingData, level: int, previous_level: int
    ) -> Estimator:
        """Run the missing epochs."""
        first = previous_level == 0
        step, step_data = to_last_step(estimator, data, first=first)
        n_epochs = level - previous_level
        n_done = epochs_at_once(
            step, n_epochs, partial(self.run_epoch, step, step_data, first=first)
        )
        with validated_once(step):
            for epoch in range(n_done, n_epochs):
                self.run_epoch(step, step_data, first=first and epoch == 0)
        return estimator

    def run_epoch(self, step: Any, data: TrainingData, *, first: bool) -> None:
        """Call ``partial_fit`` once; the first call of a classifier gets the classes."""
        X, y, fit_params = data
        if first and y is not None and is_classifier(step) and _takes_classes(step):
            fit_params = {"classes": self._classes_for(step, y), **fit_params}
        if y is None:
            step.partial_fit(X, **fit_params)
        else:
            step.partial_fit(X, y, **fit_params)

    def _classes_for(self, step: Estimator, y: object) -> np.ndarray | list[np.ndarray] | None:
        classes = self.classes if self.classes is not None else _classes_of(y)
        if classes is not None and len(classes) > 0 and isinstance(classes[0], tuple):
            if "MultiOutputClassifier" in class_names(step):
                return [np.array(one) for one in classes]
            return np.arange(len(classes))  # multi-label: the labels are the columns
        return None if classes is None else np.array(classes)


def _classes_of(y: object) -> tuple[object, ...] | None:
    """Return the classes of ``y``, or of each of its columns; None for regression."""
    values = y.to_numpy() if hasattr(y, "to_numpy") else y
    kind = type_of_target(values)
    if kind in ("binary", "multiclass"):
        return tuple(np.unique(np.asarray(values)))
    if kind in ("multilabel-indicator", "multiclass-multioutput"):
        dense = values.toarray() if hasattr(values, "toarray") else np.asarray(values)
        return tuple(tuple(np.unique(column)) for column in dense.T)
    return None


def _takes_classes(step: Any) -> bool:
    parameters = inspect.signature(step.partial_fit).parameters
    return "classes" in parameters


def last_step_is_replaced(estimator: Estimator, searched: frozenset[str]) -> bool:
    """Return whether candidates replace the last step of a pipeline."""
    steps = getattr(estimator, "steps", None)
    path = ""
    while steps:
        name, estimator = steps[-1]
        path = f"{path}__{name}" if path else name
        if path in searched:
            return True
        steps = getattr(estimator, "steps", None)
    return False


def epochs_at_once(estimator: Any, n_epochs: int, partial_fit: Callable[[], None]) -> int:
    """Run epochs of scikit-learn's SGD family in one call of ``partial_fit``.

    ``partial_fit`` passes ``max_iter=1`` to a private method that accepts any number. ``tol`` is
    None in the meantime, so that the call does not stop early. ``fit`` could run several epochs
    too, but would restart the learning rate schedule.

    Parameters
    ----------
    estimator : estimator
        The estimator to train.
    n_epochs : int
        Number of epochs to run.
    partial_fit : callable
        Calls ``estimator.partial_fit`` once.

    Returns
    -------
    n_done : int
        Number of epochs that were run: ``n_epochs``; 1 if the private method was not called as
        expected; 0, without any call, for other estimators.
    """
    if not _is_defined_in("sklearn.linear_model", estimator, "partial_fit", SGD_EPOCHS):
        return 0
    one_epoch, tol = getattr(estimator, SGD_EPOCHS), estimator.tol
    n_done = 1

    def several_epochs(*args: object, **kwargs: object) -> object:
        nonlocal n_done
        if kwargs.get("max_iter") == 1:
            kwargs["max_iter"] = n_done = n_epochs
        return one_epoch(*args, **kwargs)

    setattr(estimator, SGD_EPOCHS, several_epochs)
    estimator.tol = None
    try:
        partial_fit()
    finally:
        delattr(estimator, SGD_EPOCHS)
        estimator.tol = tol
    return n_done


@contextmanager
def validated_once(estimator: Estimator) -> Iterator[None]:
    """Let scikit-learn's neural networks validate and encode the same data only once.

    Repeated calls of ``partial_fit`` with the same data otherwise spend more time on validation
    than on training.
    """
    if not _is_defined_in("sklearn.neural_network", estimator, "partial_fit", NETWORK_VALIDATION):
        yield
        return
    validate = getattr(estimator, NETWORK_VALIDATION)
    validated: list[object] = []

    def validate_once(*args: object, **kwargs: object) -> object:
        if not validated:
            validated.append(validate(*args, **kwargs))
        return validated[0]

    setattr(estimator, NETWORK_VALIDATION, validate_once)
    try:
        yield
    finally:
        delattr(estimator, NETWORK_VALIDATION)


def _is_defined_in(package: str, estimator: Estimator, *methods: str) -> bool:
    """Return whether all methods are the package's own, none overridden in a subclass."""
    found = [getattr(type(estimator), method, None) for method in methods]
    return all(getattr(method, "__module__", "").startswith(f"{package}.") for method in found)
