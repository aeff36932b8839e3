"""scikit-learn's callbacks (1.9 and later): one task for the search, each bracket, rung, pull."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sklearn_halving._unstable_imports import init_callbacks, lone_branch, propagated_callbacks
from sklearn_halving.policies._types import Pull, Schedule


@dataclass
class _Task:
    """A node of the tree, how many parts are still to end, and how many pulls have begun."""

    context: Any
    n_left: int
    n_begun: int = 0


@dataclass
class CallbackTree:
    """Tells callbacks where a search is.

    With a scikit-learn that has no callbacks, and in a search that has none, every method
    does nothing.

    Parameters
    ----------
    search : estimator
        The search.
    root : CallbackContext or None
        The context of `fit`; None without support for callbacks.
    data : dict
        ``X``, ``y`` and ``metadata`` for the hooks.
    """

    search: Any
    root: Any
    data: dict[str, Any]
    _search_task: Any = None
    _brackets: list[_Task] = field(default_factory=list)
    _rungs: dict[tuple[int, int], _Task] = field(default_factory=dict)
    _bracket_of_arm: Any = None

    @classmethod
    def begin(cls, search: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> CallbackTree:
        """Open the task of the whole fit."""
        weights = fit_params.get("sample_weight")
        metadata = None if weights is None else {"sample_weight": weights}
        data = {"X": X, "y": y, "metadata": metadata}
        root = init_callbacks(search, max_subtasks=1 + (search.refit is not False))
        if root is not None:
            root.call_on_fit_task_begin(estimator=search, **data)
        return cls(search, root, data)

    @property
    def is_watched(self) -> bool:
        """Whether anybody listens to single pulls."""
        owners = (self.search, self.search.estimator)
        return self.root is not None and (
            any(hasattr(owner, "_skl_callbacks") for owner in owners)
            or hasattr(self.search, "_parent_callback_ctx")
        )

    def begin_search(
        self, schedule: Schedule, n_repetitions: int, to_amount: Callable[[int], float]
    ) -> None:
        """Open the task of the search, and lay out its brackets and rungs.

        ``to_amount`` says what a level amounts to, for the names of the rungs.
        """
        if self.root is None:
            return
        self._bracket_of_arm = schedule.bracket_of_arm()
        self._search_task = self.root.subcontext(
            task_name="search", max_subtasks=len(schedule.brackets)
        )
        self._search_task.call_on_fit_task_begin(estimator=self.search)
        if not self.is_watched:
            return
        for place, bracket in enumerate(schedule.brackets):
            context = self._search_task.subcontext(
                task_name=f"bracket s={bracket.label}", max_subtasks=len(bracket.rungs)
            )
            self._brackets.append(_Task(context, len(bracket.rungs)))
            for rung in bracket.rungs:
                n_pulls = rung.n_arms * n_repetitions
                rung_context = context.subcontext(
                    task_name=f"rung n_resources={to_amount(rung.level)}",
                    max_subtasks=n_pulls,
                    sequential_subtasks=False,
                )
                self._rungs[place, rung.level] = _Task(rung_context, n_pulls)

    def context_of(self, pull: Pull) -> Any:
        """Return the context of a pull, with its ancestors but none of their other tasks."""
        bracket = int(self._bracket_of_arm[pull.arm])
        rung = self._rungs[bracket, pull.level]
        for task in (self._brackets[bracket], rung):
            task.n_begun += 1
            if task.n_begun == 1:
                task.context.call_on_fit_task_begin(estimator=self.search)
        context = rung.context.subcontext(
            task_name="candidate-split-evaluation", task_id=rung.n_begun - 1
        )
        return lone_branch(context)

    def end_pull(self, pull: Pull) -> None:
        """Close the rung and the bracket whose last pull this was."""
        bracket = int(self._bracket_of_arm[pull.arm])
        for task in (self._rungs[bracket, pull.level], self._brackets[bracket]):
            task.n_left -= 1
            if task.n_left > 0:
                return
            task.context.call_on_fit_task_end(estimator=self.search)

    def end_search(self) -> None:
        """Close the task of the search, and first the brackets that were stopped early."""
        for task in (*self._rungs.values(), *self._brackets):
            if task.n_begun and task.n_left > 0:
                task.context.call_on_fit_task_end(estimator=self.search)
        if self._search_task is not None:
            self._search_task.call_on_fit_task_end(estimator=self.search)

    def refit_task(self) -> Any:
        """Return the context of the refit, begun; None without support for callbacks."""
        if self.root is None:
            return None
        return self.root.subcontext(task_name="refit-with-best-params")

    def propagating(self, context: Any, estimator: Any) -> Any:
        """Hand callbacks down to the estimator of the refit."""
        return propagated_callbacks(context, estimator)

    def end(self) -> None:
        """Close the task of the whole fit."""
        if self.root is not None:
            self.root.call_on_fit_task_end(estimator=self.search, **self.data)
