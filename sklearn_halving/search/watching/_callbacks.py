"""Who watches a search: scikit-learn's callbacks, and MLflow.

Callbacks (scikit-learn 1.9 or later) get a task for the search, each bracket, rung and pull.
MLflow gets one run for a search and some for its best candidates, none for a fit.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sklearn_halving._typing import CallbackContext, Estimator, Params
from sklearn_halving._unstable_imports import (
    has_callbacks,
    init_callbacks,
    lone_branch,
    propagated_callbacks,
)
from sklearn_halving.execution._evaluation import callback_metadata
from sklearn_halving.policies._types import Pull
from sklearn_halving.resources import Resource
from sklearn_halving.search.preparing._plan import Prepared, SearchPlan


@dataclass
class CallbackTree:
    """Informs callbacks of the progress of a search.

    Every method does nothing if scikit-learn has no callbacks or the search has none. The search
    is the estimator that the hooks get.

    Parameters
    ----------
    root : CallbackContext or None
        The context of `fit`; None if callbacks are not supported.
    data : Params
        ``X``, ``y`` and ``metadata`` for the hooks.
    is_watched : bool
        Whether any callback follows single pulls.
    plan, resource
        The plan and the resource of the search.

    Attributes
    ----------
    _open : dict[tuple[int, ...], CallbackContext]
        The tasks that have begun but not ended: rungs, by the indices of their bracket and of
        their round, and the task of the search, by ``()``.
    """

    search: Estimator
    root: CallbackContext | None
    data: Params
    is_watched: bool
    plan: SearchPlan
    resource: Resource
    _open: dict[tuple[int, ...], CallbackContext] = field(default_factory=dict)
    _n_landed: Counter[tuple[int, int]] = field(default_factory=Counter)

    @classmethod
    def begin(cls, search: Any, known: Prepared) -> CallbackTree:
        """Open the tasks of the whole fit, and of the search.

        The parts of the search are rungs, or pulls if there are none.
        """
        plan, inputs = known.plan, known.setup.inputs
        metadata = callback_metadata(inputs.fit_params)
        data = {"X": inputs.X, "y": inputs.y, "metadata": metadata}
        root = init_callbacks(search, max_subtasks=1 + (search.refit is not False))
        is_watched = root is not None and has_callbacks(search)
        tree = cls(search, root, data, is_watched, plan, known.setup.resource)
        if root is not None:
            root.call_on_fit_task_begin(estimator=search, **data)
            n_rungs = sum(len(bracket.rounds) for bracket in plan.brackets)
            tree._begin((), root, "search", n_rungs if plan.has_rungs else plan.n_fits)
        return tree

    def _begin(
        self, key: tuple[int, ...], parent: CallbackContext, name: str, n_parts: int | None
    ) -> None:
        context = parent.subcontext(task_name=name, max_subtasks=n_parts)
        context.call_on_fit_task_begin(estimator=self.search)
        self._open[key] = context

    def context_of(self, pull: Pull) -> CallbackContext:
        """Return the context of a pull with its ancestors, but without their other tasks.

        Its rung begins with the first of its pulls.
        """
        plan, key = self.plan, tuple[int, ...]()
        if plan.has_rungs:
            key = index, number = plan.position(pull)
        if key not in self._open:
            n_fits = plan.fits_of(plan.brackets[index].rounds[number])
            name = f"rung n_resources={self.resource.to_amount(pull.level)}"
            self._begin(key, self._open[()], name, n_fits)
        lone: CallbackContext = lone_branch(
            self._open[key].subcontext(task_name="candidate-split-evaluation")
        )
        return lone

    def land(self, pull: Pull, *, is_known: bool) -> bool:
        """Count a pull that returned; return whether a callback requests a stop.

        A rung ends with the last of its planned fits, or with the search if some are not made.
        """
        if not self.is_watched:
            return False
        stops, plan = False, self.plan
        if is_known:  # nobody has begun it
            context = self.context_of(pull)
            context.call_on_fit_task_begin(estimator=self.search)
            stops = bool(context.call_on_fit_task_end(estimator=self.search))
        if plan.has_rungs:
            key = index, number = plan.position(pull)
            self._n_landed[key] += 1
            if self._n_landed[key] == plan.fits_of(plan.brackets[index].rounds[number]):
                stops |= bool(self._open.pop(key).call_on_fit_task_end(estimator=self.search))
        return stops

    def end_search(self) -> None:
        """Close the tasks that are open: rungs, if the search stopped in them, and the search."""
        while self._open:
            self._open.popitem()[1].call_on_fit_task_end(estimator=self.search)

    @contextmanager
    def refit(self, estimator: Estimator) -> Iterator[None]:
        """Open the task of the refit, and propagate callbacks to the estimator."""
        if self.root is None:
            yield
            return
        context = self.root.subcontext(task_name="refit-with-best-params")
        with propagated_callbacks(context, estimator):
            context.call_on_fit_task_begin(estimator=self.search, **self.data)
            yield
        context.call_on_fit_task_end(estimator=self.search, **self.data)

    def end(self) -> None:
        """Close the task of the whole fit."""
        if self.root is not None:
            self.root.call_on_fit_task_end(estimator=self.search, **self.data)


N_CHILDREN = 5
"""Number of candidates with a run, as for GridSearchCV by default."""


@contextmanager
def logged_as_a_whole(search: Any) -> Iterator[None]:
    """Log a search as MLflow logs GridSearchCV, if MLflow logs scikit-learn's estimators.

    Without this, each fit would be a run, which takes ten times as long as the fit.
    """
    if "mlflow.sklearn" in sys.modules:
        from mlflow.utils.autologging_utils import autologging_is_disabled, disable_autologging

        if not autologging_is_disabled("sklearn"):
            with disable_autologging():
                yield
            _log(search)
            return
    yield


def _log(search: Any) -> None:
    import mlflow

    with nullcontext() if mlflow.active_run() else mlflow.start_run():
        mlflow.set_tag("estimator_name", type(search).__name__)
        own = {name: str(value)[:500] for name, value in search.get_params(deep=False).items()}
        best = {f"best_{name}": value for name, value in search.best_params_.items()}
        mlflow.log_params(own | best)
        mlflow.log_metric("best_cv_score", search.best_score_)
        results = search.cv_results_
        ranks = next(column for name, column in results.items() if name.startswith("rank_test_"))
        for row in np.argsort(ranks, kind="stable")[:N_CHILDREN]:
            with mlflow.start_run(nested=True):
                mlflow.log_params(results["params"][row])
                names = [name for name in results if name.startswith(("mean_", "std_", "rank_"))]
                of_row = {name: float(results[name][row]) for name in names}
                mlflow.log_metrics({name: x for name, x in of_row.items() if np.isfinite(x)})
