"""Who watches a search: scikit-learn's callbacks, and MLflow.

Callbacks (scikit-learn 1.9 or later) get a task for the search, each bracket, rung and pull.
MLflow gets one run for a search and some for its best candidates, none for a fit.
"""

from __future__ import annotations

import sys
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
from sklearn_halving.search.preparing._plan import SearchPlan


@dataclass
class _Task:
    """A node of the tree, with the numbers of its parts that are left and that have begun."""

    context: CallbackContext
    n_left: int = 1
    n_begun: int = 0


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

    Attributes
    ----------
    _tasks : dict[tuple[int, ...], _Task]
        Tasks that have begun, by bracket and rung; that of the search has an empty path.
    """

    search: Estimator
    root: CallbackContext | None
    data: Params
    is_watched: bool
    _plan: SearchPlan = field(init=False)
    _resource: Resource = field(init=False)
    _tasks: dict[tuple[int, ...], _Task] = field(default_factory=dict)

    @classmethod
    def begin(
        cls, search: Estimator, X: object, y: object, fit_params: Params, *, refits: bool
    ) -> CallbackTree:
        """Open the task of the whole fit."""
        data = {"X": X, "y": y, "metadata": callback_metadata(fit_params)}
        root = init_callbacks(search, max_subtasks=1 + refits)
        if root is not None:
            root.call_on_fit_task_begin(estimator=search, **data)
        return cls(search, root, data, root is not None and has_callbacks(search))

    def begin_search(self, plan: SearchPlan, resource: Resource) -> None:
        """Open the task of the search. Without brackets, pulls are its direct parts."""
        if self.root is None:
            return
        self._plan, self._resource = plan, resource
        n_parts = len(plan.brackets) if plan.has_rungs else plan.n_fits
        context = self.root.subcontext(
            task_name="search", max_subtasks=n_parts, sequential_subtasks=plan.has_rungs
        )
        context.call_on_fit_task_begin(estimator=self.search)
        self._tasks[()] = _Task(context)

    def _task_of(self, path: tuple[int, ...]) -> _Task:
        """Return the task of a bracket or a rung, which begins when it is first used."""
        if path in self._tasks:
            return self._tasks[path]
        parent = self._task_of(path[:-1])
        name, n_parts = self._described(path)
        context = parent.context.subcontext(
            task_name=name, max_subtasks=n_parts, sequential_subtasks=len(path) == 1
        )
        context.call_on_fit_task_begin(estimator=self.search)
        self._tasks[path] = _Task(context, n_parts if len(path) == 1 else 1)
        return self._tasks[path]

    def _described(self, path: tuple[int, ...]) -> tuple[str, int]:
        """Return the name and the number of parts of a bracket or a rung."""
        plan, resource = self._plan, self._resource
        bracket = plan.brackets[path[0]]
        if len(path) == 1:
            return f"bracket s={bracket.label}", len(bracket.rounds)
        rung = bracket.rounds[path[1]]
        name = f"rung n_resources={resource.to_amount(rung.level)}"
        return name, plan.fits_of(rung) or 0

    def context_of(self, pull: Pull) -> CallbackContext:
        """Return the context of a pull with its ancestors, but without their other tasks."""
        plan = self._plan
        task = self._task_of(plan.of_policy.position(pull) if plan.has_rungs else ())
        task.n_begun += 1
        context = task.context.subcontext(
            task_name="candidate-split-evaluation", task_id=task.n_begun - 1
        )
        lone: CallbackContext = lone_branch(context)
        return lone

    def replay_pull(self, pull: Pull) -> bool:
        """Begin and end a pull from a checkpoint; return whether to stop."""
        context = self.context_of(pull)
        context.call_on_fit_task_begin(estimator=self.search)
        return bool(context.call_on_fit_task_end(estimator=self.search))

    def end_rung(self, path: tuple[int, ...]) -> bool:
        """Close a rung, and its bracket with the last of its rungs.

        Returns
        -------
        stop : bool
            Whether a callback requests a stop. All hooks are called in any case.
        """
        stop = False
        if self.is_watched:
            for task in (self._tasks[path], self._tasks[path[:1]]):
                task.n_left -= 1
                if task.n_left == 0:
                    stop |= bool(task.context.call_on_fit_task_end(estimator=self.search))
        return stop

    def end_search(self) -> None:
        """Close the tasks of the search that are open, such as those of a search that stopped."""
        for path in sorted(self._tasks, key=len, reverse=True):
            if self._tasks[path].n_left > 0:
                self._tasks[path].context.call_on_fit_task_end(estimator=self.search)

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
    if "mlflow.sklearn" not in sys.modules:
        yield
        return
    from mlflow.utils.autologging_utils import autologging_is_disabled, disable_autologging

    if autologging_is_disabled("sklearn"):
        yield
        return
    with disable_autologging():
        yield
    _log(search)


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
                of_row = {
                    name: float(column[row])
                    for name, column in results.items()
                    if name.startswith(("mean_", "std_", "rank_"))
                }
                mlflow.log_metrics({name: x for name, x in of_row.items() if np.isfinite(x)})
