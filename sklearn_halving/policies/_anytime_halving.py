"""Successive halving with a budget that doubles, which can be stopped at any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Shape
from sklearn_halving.policies._types import Problem, Rung, Stage
from sklearn_halving.policies.bases._parameter_checks import check_budget
from sklearn_halving.policies.bases._planned_pulls import (
    Plan,
    PlannedPolicy,
    PlannedState,
    new_state,
)
from sklearn_halving.policies.bases._ranking import best_known, keep_best
from sklearn_halving.policies.bases._rungs import fixed_budget_rungs


class LevelStep(NamedTuple):
    """A rung of a run: arms are trained to ``level``, then ``n_kept`` of them are kept."""

    level: int
    n_kept: int
    ends_run: bool


@dataclass
class DoublingMemory:
    """Memory of the policy besides the rewards of the rung."""

    steps: tuple[LevelStep, ...]
    levels: list[int]
    """All levels that occur, in increasing order."""
    mean: FloatArray
    """Mean reward over the splits; NaN if an arm was not pulled at a level.
    Shape ``(n_levels, n_problems, n_arms)``."""
    standing: IntArray
    """The current level of each arm. Shape ``(n_problems, n_arms)``."""
    is_over: BoolArray
    """Whether the budget is spent. Shape ``(n_problems,)``."""
    has_winner: BoolArray
    """Whether a run is complete. Shape ``(n_problems,)``."""

    def value_from(self, place: int) -> FloatArray:
        """Return the mean of each arm at the smallest level, from a place on, with a pull."""
        value: FloatArray = self.mean[place].copy()
        missing = np.flatnonzero(np.isnan(value) & (self.standing > self.levels[place]))
        for mean in self.mean[place + 1 :]:
            if not len(missing):
                break
            value.put(missing, mean.take(missing))
            missing = missing[np.isnan(value.take(missing))]
        return value


@dataclass(frozen=True)
class DoublingHalving(PlannedPolicy):
    """Successive halving with budgets n, 2n, 4n, ..., which can be stopped at any time.

    Every run is `SuccessiveHalving` of all arms with twice the budget of the previous run. The
    first run has the smallest budget of the series that trains every arm to the ``min_level`` of
    the problem. Training is continued: an arm starts at its current level. If this level is above
    the level of a rung, the arm is not pulled, but compared by its reward at the next larger level
    at which it was pulled. The policy recommends the winner of the last complete run. ``budget``
    only determines when the policy stops. Earlier decisions do not depend on it.

    Parameters
    ----------
    budget : int
        Maximum number of units of resource for all arms and runs together. Units are counted
        once.

    Notes
    -----
    Levels above the ``max_level`` of the problem are lowered to it. The policy stops when all
    arms have reached it.

    References
    ----------
    Jamieson and Talwalkar. Non-stochastic best arm identification and hyperparameter
    optimization. AISTATS 2016, Fig. 3 and section 3 (the "doubling trick").

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import DoublingHalving, Problem
    >>> policy = DoublingHalving(budget=24)
    >>> state = policy.start(Problem(n_arms=4, max_level=100))
    >>> limits = np.array([0.1, 0.7, 0.5, 0.9])
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=100)
    ...     print(pulls.arm, pulls.level)
    ...     policy.tell(state, pulls, limits[pulls.arm] - 1 / pulls.level)
    [0 1 2 3] [1 1 1 1]
    [1 3] [3 3]
    [0 2] [2 2]
    [1 3] [6 6]
    [0 2] [4 4]
    >>> int(policy.recommend(state))
    3
    """

    plays_levels: ClassVar[bool] = True

    budget: int

    def _stages(self, state: PlannedState) -> tuple[Stage, ...]:
        stages, n_arms = [], state.problem.n_arms
        n_each, n_in_play = state.problem.max_repetitions or 1, n_arms
        for step in state.settings.steps:
            stages.append(Stage(n_in_play, n_in_play * n_each, step.level))
            n_in_play = n_arms if step.ends_run else step.n_kept
        return tuple(stages)

    def _first_state(self, problem: Problem, batch_shape: Shape) -> PlannedState:
        n_arms = problem.n_arms
        # A single arm is pulled once.
        steps: tuple[LevelStep, ...] = (LevelStep(problem.min_level, 1, True),)
        if n_arms > 1:
            run_budget = _first_budget(n_arms, problem.min_level)
            first = fixed_budget_rungs(n_arms, run_budget)
            least = _cost(first)
            check_budget("budget", self.budget, least, f"for a first run of {n_arms} arms")
            steps = _all_steps(n_arms, self.budget, problem.max_level, run_budget)
        state = new_state(problem, batch_shape, len(steps))
        shape = state.alive.shape
        levels = sorted({step.level for step in steps})
        state.settings = DoublingMemory(
            steps,
            levels,
            mean=np.full((len(levels), *shape), np.nan),
            standing=np.zeros(shape, dtype=np.int64),
            is_over=np.zeros(shape[0], dtype=bool),
            has_winner=np.zeros(shape[0], dtype=bool),
        )
        return state

    def _open_step(self, state: PlannedState) -> None:
        state.plan = None
        memory: DoublingMemory = state.settings
        while state.step < state.n_steps and not memory.is_over.all():
            plan = Plan(self._counts(state), np.zeros_like(memory.standing))
            if plan.n_columns:
                state.plan, state.level = plan, memory.steps[state.step].level
                return
            self._close_step(state)

    def _counts(self, state: PlannedState) -> IntArray:
        memory: DoublingMemory = state.settings
        level = memory.steps[state.step].level
        goes_up = state.alive & (memory.standing < level)
        cost = np.where(goes_up, level - memory.standing, 0).sum(axis=1)
        memory.is_over |= memory.standing.sum(axis=1) + cost > self.budget
        goes_up &= ~memory.is_over[:, np.newaxis]
        return goes_up * (state.problem.max_repetitions or 1)

    def _conclude(self, state: PlannedState) -> None:
        memory: DoublingMemory = state.settings
        step = memory.steps[state.step]
        place = memory.levels.index(step.level)
        if state.plan is not None:
            pulled, rewards = state.plan.counts > 0, state.plan.rewards_in_order()
            n_each = state.problem.max_repetitions or 1
            with np.errstate(over="ignore", invalid="ignore"):  # infinite rewards are numbers
                sums = np.add.reduceat(rewards, np.arange(0, len(rewards), n_each))
            memory.mean[place][pulled] = sums / n_each
            memory.standing[pulled] = step.level
        value = memory.value_from(place)
        failed = np.isnan(state.statistics.reward_sum)
        goes_on = ~memory.is_over
        kept = keep_best(value, state.alive & ~failed, step.n_kept)
        state.alive = np.where(goes_on[:, np.newaxis], kept, state.alive)
        best = best_known(state.alive, np.where(failed, np.nan, value))
        # Recommend an arm of an incomplete run only if there is no winner, or if it has failed.
        stands = memory.has_winner & ~failed[np.arange(len(failed)), state.best]
        state.best = np.where(goes_on & (step.ends_run | ~stands), best, state.best)
        memory.has_winner |= goes_on & step.ends_run & (state.best >= 0)
        if step.ends_run and state.step + 1 < state.n_steps:
            state.alive = np.where(goes_on[:, np.newaxis], ~failed, state.alive)

    def is_alive(self, state: PlannedState) -> BoolArray:
        """Return which arms may still be pulled, in this run or in a later one."""
        memory: DoublingMemory = state.settings
        is_over = memory.is_over[:, np.newaxis] | (state.plan is None)
        alive = np.where(is_over, state.alive, ~np.isnan(state.statistics.reward_sum))
        return alive.reshape(*state.batch_shape, -1)


def _first_budget(n_arms: int, min_level: int) -> int:
    """Return the smallest of n, 2n, 4n, ... that trains every arm to the smallest level."""
    budget = n_arms
    while budget < n_arms * (n_arms - 1).bit_length() * min_level:
        budget *= 2
    return budget


def _cost(rungs: tuple[Rung, ...]) -> int:
    """Return the cost of the rungs in units of resource, counting each unit once."""
    cost = below = 0
    for rung in rungs:
        cost += rung.n_arms * (rung.level - below)
        below = rung.level
    return cost


def _all_steps(n_arms: int, budget: int, max_level: int, run_budget: int) -> tuple[LevelStep, ...]:
    """Return the rungs of all runs whose first rung fits into the budget."""
    steps: list[LevelStep] = []
    while True:
        rungs = fixed_budget_rungs(n_arms, run_budget)
        if n_arms * min(rungs[0].level, max_level) > budget:
            break
        levels = [min(rung.level, max_level) for rung in rungs]
        for i, level in enumerate(levels):
            is_last = i + 1 == len(rungs) or levels[i + 1] == level
            steps.append(LevelStep(level, 1 if is_last else rungs[i + 1].n_arms, is_last))
            if is_last:
                break  # further rungs would be at the same level
        if levels[0] == max_level:
            break
        run_budget *= 2
    return tuple(steps)
