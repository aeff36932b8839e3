"""Training time as the resource."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter

from sklearn_halving._typing import Estimator
from sklearn_halving.resources._fitting import (
    TrainingData,
    keeps_training_rows,
    last_step,
    prefix_of_last_step,
)
from sklearn_halving.resources._iterations import Iterations, has_stopped, way_to_continue
from sklearn_halving.resources._parameters import check_not_searched, is_replaced
from sklearn_halving.resources._partial_fit import PartialFit
from sklearn_halving.resources._rescaling import Rescale
from sklearn_halving.resources._types import ContinuedResource

MILLISECOND = 1e-3
"""Seconds per level."""

_COUNTS = ("n_estimators", "iterations", "max_iter", "n_iter", "max_epochs", "epochs")


@dataclass(frozen=True)
class FitTime(ContinuedResource):
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

    classes: tuple[object, ...] | None = None
    rescale: Rescale | None = None

    name = "fit_time"

    def for_target(self, y: object) -> FitTime:
        """Return a resource that knows all classes of ``y``."""
        return replace(self, classes=PartialFit(self.classes).for_target(y).classes)

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
        self, estimator: Estimator, data: TrainingData, level: int, previous_level: int
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
            to = done + step
            estimator = steps.train(estimator, data.X, data.y, to, done, data.fit_params)
            now = perf_counter() - begin
            per_unit, end, done = (now - end) / step, now, to
            affordable = int((seconds - end) / max(per_unit, 1e-9))
            is_done = count is not None and has_stopped(last_step(estimator), done)
            step = 0 if is_done else min(2 * step, affordable)
        return estimator


def _count_of(estimator: Estimator) -> str | None:
    """Return the number of iterations with which training continues, or None."""
    step = last_step(estimator)
    is_counted = hasattr(step, "get_params") and not hasattr(step, "partial_fit")
    if not is_counted or not keeps_training_rows(estimator):
        return None
    names = (leaf for leaf in _COUNTS if way_to_continue(step, leaf) != "refit")
    name = next(names, None)
    return None if name is None else prefix_of_last_step(estimator) + name
