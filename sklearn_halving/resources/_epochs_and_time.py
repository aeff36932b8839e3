"""Epochs of ``partial_fit``, and training time, as the resource."""

from __future__ import annotations

from dataclasses import dataclass, replace
from inspect import signature
from math import inf
from time import perf_counter
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.multiclass import type_of_target

from sklearn_halving._typing import Estimator, Params
from sklearn_halving.resources._fitting import (
    SplitData,
    check_not_searched,
    class_names,
    is_replaced,
    keeps_training_rows,
    last_step,
    number_of,
    prefix_of_last_step,
    to_last_step,
)
from sklearn_halving.resources._of_parameter import Iterations, has_stopped, way_to_continue
from sklearn_halving.resources._types import ContinuedResource, LevelRange, Rescale

MILLISECOND = 1e-3
"""Seconds per level."""

_COUNTS = ("n_estimators", "iterations", "max_iter", "n_iter", "max_epochs", "epochs")


@dataclass(frozen=True)
class OfClasses(ContinuedResource):
    """Base class of resources that may call ``partial_fit``, which is told all classes."""

    classes: tuple[object, ...] | None = None
    rescale: Rescale | None = None

    def for_target(self, y: object) -> Self:
        """Return a resource that knows all classes of ``y``."""
        if self.classes is not None or y is None:
            return self
        return replace(self, classes=_classes_of(y))


@dataclass(frozen=True)
class PartialFit(OfClasses):
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

    name = "partial_fit"
    units = "epochs"

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

    def level_range(self, estimator: Estimator, n_train: int, n_rows_needed: int) -> LevelRange:
        """Return 1 and the ``max_iter`` of the estimator, or 0 if it has none."""
        most = number_of(getattr(last_step(estimator), "max_iter", None)) or 0
        return 1, int(max(0, most)) if most < inf else 0

    def can_continue(self, estimator: Estimator) -> bool:
        """Return whether more epochs can be run on a fitted estimator."""
        has_epochs = hasattr(last_step(estimator), "partial_fit")
        return not self.rescale and has_epochs and keeps_training_rows(estimator)

    def _train_to(
        self, estimator: Estimator, data: SplitData, level: int, previous_level: int
    ) -> Estimator:
        """Run the missing epochs."""
        step, step_data = to_last_step(estimator, data, first=previous_level == 0)
        for epoch in range(previous_level, level):
            classes = self._classes_for(step, step_data.y) if epoch == 0 else {}
            step.partial_fit(*step_data.arrays, **(classes | step_data.params))
        return estimator

    def _classes_for(self, step: Any, y: object) -> Params:
        """Return the classes, which the first call of a classifier gets."""
        is_told = is_classifier(step) and "classes" in signature(step.partial_fit).parameters
        if y is None or not is_told:
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


@dataclass(frozen=True)
class FitTime(OfClasses):
    """Train each candidate for a given time.

    A level is a millisecond; amounts are in seconds. A candidate is trained in steps of doubling
    size: epochs of ``partial_fit``, or with ``warm_start`` its iterations (``n_estimators``,
    ``max_iter``). A step is shorter if it would exceed the time at the speed of the previous
    one. At least one step is made, and it counts as the full level no matter how long it takes.
    Time left over at a level is not carried over to the next.

    The time is wall time on the machine that fits. Results therefore depend on the machine and
    its load, and no two searches are exactly equal. Set ``n_jobs`` to at most the number of
    idle cores.

    Parameters
    ----------
    classes : tuple or None, default=None
        The class labels passed to a classifier, as in `PartialFit`.
    rescale : dict of str to {"inverse", "proportional"} or callable, default=None
        Parameters that depend on the time in seconds, as in `TrainingSize`. Every fit then
        starts from scratch, since a fitted model cannot change its parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import SGDClassifier
    >>> from sklearn_halving.resources import FitTime
    >>> time = FitTime()
    >>> time.to_level(0.05)
    50
    >>> X, y = load_iris(return_X_y=True)
    >>> model = time.train(SGDClassifier(), X, y, 5, 0, {})
    >>> epochs = model.t_ // 150
    >>> time.train(model, X, y, 50, 5, {}).t_ // 150 > epochs
    True
    """

    name = "fit_time"
    units = "seconds of training"

    def check(self, estimator: Estimator, searched: frozenset[str]) -> None:
        """Raise a ValueError if the estimator cannot be trained in steps."""
        if is_replaced(prefix_of_last_step(estimator), searched):
            return
        count = _count_of(estimator)
        if count is not None:
            check_not_searched(count, searched)
        elif not hasattr(last_step(estimator), "partial_fit"):
            raise ValueError(
                "resource='fit_time' needs an estimator with partial_fit, or warm_start and a "
                f"number of iterations; got {estimator!r}. Use 'n_samples'."
            )

    def to_level(self, amount: float) -> int:
        """Return milliseconds for an amount in seconds."""
        return round(amount / MILLISECOND)

    def to_amount(self, level: int) -> float:
        """Return the level in seconds."""
        return round(level * MILLISECOND, 3)

    def can_continue(self, estimator: Estimator) -> bool:
        """Return whether the estimator can be trained in steps."""
        has_steps = PartialFit().can_continue(estimator) or _count_of(estimator) is not None
        return has_steps and not self.rescale

    def _train_to(
        self, estimator: Estimator, data: SplitData, level: int, previous_level: int
    ) -> Estimator:
        """Train for the time between the two levels, in steps of doubling size."""
        self.check(estimator, frozenset())  # a candidate may have replaced the last step
        count = _count_of(estimator)
        steps = PartialFit(self.classes) if count is None else Iterations(count)
        done = previous_level
        if previous_level > 0 and count is not None:
            # The parameter of a trained model is its number of iterations so far.
            done = int(estimator.get_params()[count])
        seconds = (level - previous_level) * MILLISECOND
        begin, end, step = perf_counter(), 0.0, 1
        while step > 0:
            estimator = steps.train(estimator, data.X, data.y, done + step, done, data.params)
            now = perf_counter() - begin
            per_unit, end, done = (now - end) / step, now, done + step
            affordable = int((seconds - end) / max(per_unit, 1e-9))
            is_done = count is not None and has_stopped(last_step(estimator), done)
            step = 0 if is_done else min(2 * step, affordable)
        return estimator


def _count_of(estimator: Estimator) -> str | None:
    """Return the number of iterations with which training continues, or None."""
    step = last_step(estimator)
    if hasattr(step, "partial_fit") or not keeps_training_rows(estimator):
        return None
    prefix = prefix_of_last_step(estimator)
    return next((prefix + x for x in _COUNTS if way_to_continue(step, x) != "refit"), None)
