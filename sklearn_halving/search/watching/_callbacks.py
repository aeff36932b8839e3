"""scikit-learn's callbacks (1.9 or later): a task for the search, each bracket, rung and pull."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sklearn_halving._typing import CallbackContext, Params
from sklearn_halving._unstable_imports import has_callbacks, init_callbacks, lone_branch
from sklearn_halving.execution._evaluation import callback_metadata
from sklearn_halving.policies._types import Pull, Schedule
from sklearn_halving.resources import Resource
from sklearn_halving.search.preparing._plan import SearchPlan

if TYPE_CHECKING:
    from sklearn_halving.search._base import BaseBanditSearchCV


@dataclass
class _Task:
    """A node of the tree, with the numbers of parts left and of parts begun."""

    context: CallbackContext
    n_left: int
    n_begun: int = 0


@dataclass
class CallbackTree:
    """Informs callbacks of the progress of a search.

    Every method does nothing if scikit-learn has no callbacks or the search has none.

    Parameters
    ----------
    search : estimator
        The search.
    root : CallbackContext or None
        The context of `fit`; None if callbacks are not supported.
    data : dict
        ``X``, ``y`` and ``metadata`` for the hooks.
    """

    search: BaseBanditSearchCV
    root: CallbackContext | None
    data: Params
    _search_task: CallbackContext | None = None
    _tasks: dict[tuple[int, ...], _Task] = field(default_factory=dict)
    _path_of: Callable[[Pull], tuple[int, ...]] | None = None

    @classmethod
    def begin(
        cls, search: BaseBanditSearchCV, X: object, y: object, fit_params: Params
    ) -> CallbackTree:
        """Open the task of the whole fit."""
        data = {"X": X, "y": y, "metadata": callback_metadata(fit_params)}
        root = init_callbacks(search, max_subtasks=1 + (search.refit is not False))
        if root is not None:
            root.call_on_fit_task_begin(estimator=search, **data)
        return cls(search, root, data)

    @property
    def is_watched(self) -> bool:
        """Whether any callback follows single pulls."""
        return self.root is not None and has_callbacks(self.search)

    def begin_search(self, plan: SearchPlan, resource: Resource) -> None:
        """Open the task of the search, with tasks for its brackets and rungs.

        Without brackets, pulls are direct parts of the search.
        """
        if self.root is None:
            return
        self._path_of = plan.path_of
        n_parts = plan.n_fits if plan.schedule is None else len(plan.schedule.brackets)
        self._search_task = self.root.subcontext(
            task_name="search",
            max_subtasks=n_parts,
            sequential_subtasks=plan.schedule is not None,
        )
        self._search_task.call_on_fit_task_begin(estimator=self.search)
        self._tasks[()] = _Task(self._search_task, n_parts or 0)
        if self.is_watched and plan.schedule is not None:
            self._lay_out(plan.schedule, plan.problem.max_repetitions, resource)

    def _lay_out(self, schedule: Schedule, n_splits: int | None, resource: Resource) -> None:
        """Open a task for each bracket, and tasks for its rungs."""
        for place, bracket in enumerate(schedule.brackets):
            self._open((place,), f"bracket s={bracket.label}", len(bracket.rungs))
            for number, rung in enumerate(bracket.rungs):
                name = f"rung n_resources={resource.to_amount(rung.level)}"
                self._open((place, number), name, rung.n_pulls(n_splits))

    def _open(self, path: tuple[int, ...], name: str, n_parts: int) -> None:
        context = self._tasks[path[:-1]].context.subcontext(
            task_name=name, max_subtasks=n_parts, sequential_subtasks=len(path) == 1
        )
        self._tasks[path] = _Task(context, n_parts)

    def context_of(self, pull: Pull) -> CallbackContext:
        """Return the context of a pull with its ancestors, but without their other tasks."""
        path = self._path(pull)
        for depth in range(1, len(path) + 1):
            task = self._tasks[path[:depth]]
            task.n_begun += 1
            if task.n_begun == 1:
                task.context.call_on_fit_task_begin(estimator=self.search)
        parent = self._tasks[path]
        if not path:
            parent.n_begun += 1
        context = parent.context.subcontext(
            task_name="candidate-split-evaluation", task_id=parent.n_begun - 1
        )
        lone: CallbackContext = lone_branch(context)
        return lone

    def end_pull(self, pull: Pull) -> bool:
        """Close the rung and the bracket if this was their last pull.

        Returns
        -------
        stop : bool
            Whether a callback requests a stop. All hooks are called in any case.
        """
        return self.end_pulls(self._path(pull), 1)

    def end_pulls(self, path: tuple[int, ...], n_pulls: int) -> bool:
        """Count pulls of a rung that have ended, or will not be made; return whether to stop."""
        n_parts, stop = n_pulls, False
        for depth in range(len(path), 0, -1):
            task = self._tasks[path[:depth]]
            task.n_left -= n_parts
            if task.n_left > 0:
                break
            stop |= bool(task.context.call_on_fit_task_end(estimator=self.search))
            n_parts = 1
        return stop

    def replay_pull(self, pull: Pull) -> bool:
        """Begin and end a pull from a checkpoint; return whether to stop."""
        context = self.context_of(pull)
        context.call_on_fit_task_begin(estimator=self.search)
        stop = bool(context.call_on_fit_task_end(estimator=self.search))
        return self.end_pull(pull) or stop

    def end_search(self) -> None:
        """Close the task of the search, after branches that were stopped early."""
        inner_first = sorted(self._tasks, key=len, reverse=True)
        for path in inner_first:
            task = self._tasks[path]
            if path and task.n_begun and task.n_left > 0:
                task.context.call_on_fit_task_end(estimator=self.search)
        if self._search_task is not None:
            self._search_task.call_on_fit_task_end(estimator=self.search)

    def _path(self, pull: Pull) -> tuple[int, ...]:
        return () if self._path_of is None else self._path_of(pull)

    def refit_task(self) -> CallbackContext | None:
        """Return the context of the refit; None if callbacks are not supported."""
        if self.root is None:
            return None
        return self.root.subcontext(task_name="refit-with-best-params")

    def end(self) -> None:
        """Close the task of the whole fit."""
        if self.root is not None:
            self.root.call_on_fit_task_end(estimator=self.search, **self.data)
