"""The time spent on fitting as the resource."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from sklearn_halving.resources._continuation import has_stopped, way_to_continue
from sklearn_halving.resources._fitting import keeps_training_rows, last_step, to_last_step
from sklearn_halving.resources._iterations import Iterations
from sklearn_halving.resources._parameters import check_not_searched
from sklearn_halving.resources._partial_fit import PartialFit, last_step_is_replaced

MILLISECOND = 1e-3
"""Seconds that one level is."""

_COUNTS = ("n_estimators", "iterations", "max_iter", "n_iter", "max_epochs", "epochs")


@dataclass(frozen=True)
class FitTime:
    """Train each candidate for a given time.

    A level is a millisecond, amounts are in seconds. A candidate with ``partial_fit`` is
    trained epoch by epoch; one with ``warm_start`` in steps that double, by the parameter that
    it continues with (``n_estimators``, ``max_iter``). It ends before the step that, at the
    speed of the last one, would end too late; one step is always made, and counts as the whole
    level however long it took. What was left over at a level is not carried to the next.

    The time is the wall time on the machine that fits, so that results differ from machine to
    machine and with what else runs there: use ``n_jobs`` not above the number of free cores,
    and expect no two searches to be equal.

    Parameters
    ----------
    classes : tuple or None, default=None
        The labels that a classifier is told, as in `PartialFit`.

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

    classes: tuple[Any, ...] | None = None

    name = "fit_time"
    subsamples_rows = False

    def for_target(self, y: Any) -> FitTime:
        """Return the resource that knows the classes of the whole ``y``."""
        return replace(self, classes=PartialFit(self.classes).for_target(y).classes)

    def check(self, estimator: Any, searched: frozenset[str]) -> None:
        """Raise a ValueError if the estimator cannot be trained in steps."""
        if last_step_is_replaced(estimator, searched):
            return
        count = _count_of(estimator)
        if count is not None:
            check_not_searched(count, searched)
        elif not hasattr(last_step(estimator), "partial_fit"):
            raise ValueError(_cannot_train(estimator))

    def level_range(self, estimator: Any, n_train: int, n_rows_needed: int) -> tuple[int, int]:
        """Return 1, and 0 for unknown: only the user can say what time is the most."""
        return 1, 0

    def to_level(self, amount: float) -> int:
        """Return the milliseconds of an amount in seconds."""
        return round(amount / MILLISECOND)

    def to_amount(self, level: int) -> float:
        """Return the seconds."""
        return round(level * MILLISECOND, 3)

    def params_at(self, level: int) -> dict[str, Any]:
        """Return no parameter: what is reached in the time is not known before."""
        return {}

    def can_continue(self, estimator: Any) -> bool:
        """Return whether the estimator can be trained in steps."""
        epochs = PartialFit().can_continue(estimator)
        return epochs or _count_of(estimator) is not None

    def train(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        level: int,
        previous_level: int,
        fit_params: dict[str, Any],
    ) -> Any:
        """Train for the time that lies between the two levels."""
        seconds = (level - previous_level) * MILLISECOND
        if seconds <= 0:
            return estimator
        first = previous_level == 0
        if hasattr(last_step(estimator), "partial_fit"):
            return self._run_epochs(estimator, X, y, seconds, fit_params, first=first)
        return _run_iterations(estimator, X, y, seconds, fit_params, first=first)

    def _run_epochs(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        seconds: float,
        fit_params: dict[str, Any],
        *,
        first: bool,
    ) -> Any:
        epochs = PartialFit(self.classes)
        begin = perf_counter()
        step, Xt, params = to_last_step(estimator, X, y, fit_params, first=first)
        end = took = 0.0
        while end == 0.0 or end + took < seconds:
            epochs.run_epoch(step, Xt, y, params, first=first)
            first = False
            now = perf_counter() - begin
            end, took = now, now - end
        return estimator


def _run_iterations(
    estimator: Any, X: Any, y: Any, seconds: float, fit_params: dict[str, Any], *, first: bool
) -> Any:
    parameter = _count_of(estimator)
    if parameter is None:
        raise ValueError(_cannot_train(estimator))
    iterations = Iterations(parameter)
    # a trained model's parameter says how far it has come
    done = 0 if first else int(estimator.get_params()[parameter])
    step, end = 1, 0.0
    begin = perf_counter()
    while True:
        estimator = iterations.train(estimator, X, y, done + step, done, fit_params)
        done += step
        now = perf_counter() - begin
        per_iteration, end = (now - end) / step, now
        affordable = int((seconds - end) / max(per_iteration, 1e-9))
        leaf = parameter.rpartition("__")[2]
        trained = last_step(estimator)
        if affordable < 1 or has_stopped(trained, way_to_continue(trained, leaf), done):
            return estimator
        step = min(2 * step, affordable)


def _cannot_train(estimator: Any) -> str:
    return (
        "resource='fit_time' needs an estimator, or the last step of a pipeline, with partial_fit "
        "or with warm_start and a number of iterations by which it is continued; got "
        f"{estimator!r}. Leave such candidates out, or use 'n_samples'."
    )


def _count_of(estimator: Any) -> str | None:
    """Return the parameter by which the estimator is trained on, None if it has none."""
    step = last_step(estimator)
    if hasattr(step, "partial_fit") or not hasattr(step, "get_params"):
        return None
    if not keeps_training_rows(estimator):
        return None
    path = []
    while hasattr(estimator, "steps"):
        name, estimator = estimator.steps[-1]
        path.append(name)
    for leaf in _COUNTS:
        if way_to_continue(step, leaf) != "refit":
            return "__".join([*path, leaf])
    return None
