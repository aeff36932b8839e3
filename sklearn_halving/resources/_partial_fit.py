"""Epochs of ``partial_fit`` as the resource."""

from __future__ import annotations

from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.multiclass import type_of_target

from sklearn_halving._typing import Estimator, Params
from sklearn_halving.resources._fitting import (
    TrainingData,
    class_names,
    keeps_training_rows,
    last_step,
    prefix_of_last_step,
    to_last_step,
)
from sklearn_halving.resources._parameters import is_replaced
from sklearn_halving.resources._rescaling import Rescale
from sklearn_halving.resources._types import ContinuedResource


@dataclass(frozen=True)
class PartialFit(ContinuedResource):
    """Train by epochs of ``partial_fit``, each with all rows of the training fold.

    A level is the number of epochs, and each epoch is a call of ``partial_fit``.

    The learning rate schedule continues from level to level, whereas ``warm_start`` would restart
    it. With an integer ``random_state``, most estimators shuffle the rows alike in every epoch.

    The estimator may be the last step of a pipeline. The earlier steps are fitted before the
    first epoch.

    Parameters
    ----------
    classes : tuple or None, default=None
        The class labels passed to the first call of a classifier; one tuple per output if there
        are several. None uses the labels of the training rows, which may lack a class: see
        `for_target`.
    rescale : dict of str to {"inverse", "proportional"} or callable, default=None
        Parameters that depend on the number of epochs, as in `TrainingSize`. Every fit then
        starts from scratch, since a fitted model cannot change its parameters.

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
    rescale: Rescale | None = None

    name = "partial_fit"

    def for_target(self, y: object) -> PartialFit:
        """Return a resource that knows all classes of ``y``."""
        if self.classes is not None or y is None:
            return self
        return replace(self, classes=_classes_of(y))

    def check(self, estimator: Estimator, searched: frozenset[str]) -> None:
        """Raise a ValueError if the estimator, or its last step, has no ``partial_fit``."""
        step = last_step(estimator)
        may_be_replaced = is_replaced(prefix_of_last_step(estimator), searched)
        if not hasattr(step, "partial_fit") and not may_be_replaced:
            raise ValueError(
                "resource='partial_fit' needs an estimator with the method partial_fit, or a "
                f"pipeline whose last step has it; got {type(step).__name__}. Name one of its "
                "parameters as the resource instead, or use 'n_samples'."
            )

    def can_continue(self, estimator: Estimator) -> bool:
        """Return whether more epochs can be run on a fitted estimator."""
        has_epochs = hasattr(last_step(estimator), "partial_fit")
        return not self.rescale and has_epochs and keeps_training_rows(estimator)

    def _train_to(
        self, estimator: Estimator, data: TrainingData, level: int, previous_level: int
    ) -> Estimator:
        """Run the missing epochs."""
        step: Any
        step, step_data = to_last_step(estimator, data, first=previous_level == 0)
        for epoch in range(previous_level, level):
            classes = self._classes_for(step, step_data.y) if epoch == 0 else {}
            step.partial_fit(*step_data.arrays, **(classes | step_data.fit_params))
        return estimator

    def _classes_for(self, step: Any, y: object) -> Params:
        """Return the classes, which the first call of a classifier gets."""
        if y is None or not is_classifier(step):
            return {}
        if "classes" not in signature(step.partial_fit).parameters:
            return {}
        classes = self.classes if self.classes is not None else _classes_of(y)
        if not classes or not isinstance(classes[0], tuple):
            return {"classes": None if classes is None else np.array(classes)}
        if "MultiOutputClassifier" in class_names(step):
            return {"classes": [np.array(one) for one in classes]}
        return {"classes": np.arange(len(classes))}  # multi-label: the labels are the columns


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
