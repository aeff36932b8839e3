"""Base classes of policies that plan the number of pulls of each arm.

A plan is closed when the rewards of all its pulls are known. The next plan is made from the
rewards in the order of the plan, so that decisions do not depend on the order of arrival.
Internally, each problem of the batch is a row, and arrays have shape ``(n_problems, n_arms)``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Seed, Shape
from sklearn_halving.policies._types import NO_ARM, PolicyDescription, Problem, Pulls, Stage
from sklearn_halving.policies.bases._arm_statistics import ArmStatistics
from sklearn_halving.policies.bases._base_policy import BasePolicy


class Step(NamedTuple):
    """One plan: ``n_pulls`` pulls in a stage."""

    n_pulls: int
    is_even: bool
    """Whether all arms get equal numbers of pulls, so that variances can be estimated."""
    n_kept: int | None
    """The number of arms that are kept after the step; None if the step does not end a stage."""
    n_contenders: int | None = None
    """The number of arms that share the pulls, if arms are not eliminated."""
    stage: int = 0
    """The stage to which the step belongs, counted from 0."""


def n_stages_of(n_arms: int) -> int:
    """Return the number of halvings until one of ``n_arms`` arms is left."""
    return (n_arms - 1).bit_length()  # ceil(log2 n_arms), exact


def widths_of(n_arms: int) -> list[int]:
    """Return the number of arms in play in each stage."""
    widths = []
    while n_arms > 1:
        widths.append(n_arms)
        n_arms = (n_arms + 1) // 2
    return widths


def in_plans(
    n_even: int, n_adaptive: int, n_plans: int, n_kept: int | None, stage: int = 0
) -> tuple[Step, ...]:
    """Return an even step and ``n_plans`` steps of similar size. The last step ends the stage."""
    n_plans = max(1, min(n_plans, n_adaptive))
    cuts = [i * n_adaptive // n_plans for i in range(n_plans + 1)]
    sizes = [(n_even, True)] + [(b - a, False) for a, b in pairwise(cuts)]
    steps = [Step(n_pulls, is_even, None, stage=stage) for n_pulls, is_even in sizes if n_pulls]
    if steps:
        steps[-1] = steps[-1]._replace(n_kept=n_kept)
    return tuple(steps)


@dataclass
class Plan:
    """The pulls before the next decision, sorted by arm in each row."""

    counts: IntArray
    """Number of pulls of each arm. Shape ``(n_problems, n_arms)``."""
    first_repetition: IntArray
    """The repetition of the first of these pulls. Shape ``(n_problems, n_arms)``."""
    n_asked: int = 0
    n_told: int = 0
    arm: IntArray = field(init=False)
    repetition: IntArray = field(init=False)
    rewards: FloatArray = field(init=False)
    first_slot: IntArray = field(init=False)

    def __post_init__(self) -> None:
        """Expand the counts to pulls, and pad short rows."""
        n_problems, n_arms = self.counts.shape
        n_pulls = self.counts.sum(axis=1)
        width = int(n_pulls.max(initial=0))
        self.first_slot = np.cumsum(self.counts, axis=1) - self.counts
        arms = np.append(np.arange(n_arms), NO_ARM)
        shift = np.zeros((n_problems, n_arms + 1), dtype=np.int64)
        shift[:, :-1] = self.first_repetition - self.first_slot
        counts = np.column_stack([self.counts, width - n_pulls]).ravel()
        shape = n_problems, width
        self.arm = np.repeat(np.tile(arms, n_problems), counts).reshape(shape)
        self.repetition = np.repeat(shift.ravel(), counts).reshape(shape)
        self.repetition += np.arange(width)
        self.rewards = np.full(shape, np.nan)

    @property
    def n_columns(self) -> int:
        return int(self.arm.shape[1])

    def store(self, arm: IntArray, repetition: IntArray, rewards: FloatArray) -> None:
        """Store rewards at the places of their pulls; arrays have shape (n_problems, n)."""
        self.n_told += arm.shape[1]
        if (
            arm.shape == self.arm.shape
            and (arm == self.arm).all()
            and (repetition == self.repetition).all()
        ):
            self.rewards[...] = rewards
            return
        problem, column = np.nonzero(arm != NO_ARM)
        arms = arm[problem, column]
        ahead = repetition[problem, column] - self.first_repetition[problem, arms]
        slot = self.first_slot[problem, arms] + ahead
        self.rewards[problem, slot] = rewards[problem, column]

    def rewards_in_order(self) -> FloatArray:
        """Return the rewards sorted by problem, arm and repetition, without padding."""
        if not (self.arm[:, -1:] == NO_ARM).any():
            return self.rewards.ravel()
        return self.rewards[self.arm != NO_ARM]


@dataclass
class PlannedState:
    """State of a policy with plans."""

    problem: Problem
    batch_shape: Shape
    n_steps: int
    """Total number of plans."""
    alive: BoolArray
    """Shape ``(n_problems, n_arms)``."""
    statistics: ArmStatistics
    """Statistics of the rewards, without those that were discarded."""
    n_pulls_ever: IntArray
    """Number of pulls including discarded ones, which is the next repetition of an arm.
    Shape ``(n_problems, n_arms)``."""
    best: IntArray
    """The arm to recommend. Shape ``(n_problems,)``."""
    stage: IntArray
    """The last stage in which an arm was in play, counted from 0.
    Shape ``(n_problems, n_arms)``."""
    stopped: BoolArray
    """Whether a stopping rule ended the problem before the budget was spent.
    Shape ``(n_problems,)``."""
    level: int
    """The level of the current pulls."""
    table: FloatArray | None = None
    """All rewards at this level, if arms are compared on common splits.
    Shape ``(n_problems, n_arms, n_splits)``."""
    step: int = 0
    plan: Plan | None = None
    settings: Any = None
    ahead: Any = None
    """What a subclass needs to ask for pulls of the next plans before this one is closed."""


def new_state(
    problem: Problem,
    batch_shape: Shape,
    n_steps: int,
    settings: Any = None,
    *,
    with_table: bool = False,
) -> PlannedState:
    """Return the state before the first pull."""
    shape = prod(batch_shape), problem.n_arms
    return PlannedState(
        problem,
        batch_shape,
        n_steps,
        alive=np.ones(shape, dtype=bool),
        statistics=ArmStatistics.zeros(shape),
        n_pulls_ever=np.zeros(shape, dtype=np.int64),
        best=np.full(shape[0], 0 if problem.n_arms == 1 else NO_ARM),
        stage=np.zeros(shape, dtype=np.int64),
        stopped=np.zeros(shape[0], dtype=bool),
        level=problem.max_level,
        table=np.empty((*shape, 0)) if with_table else None,
        settings=settings,
    )


class PlannedPolicy(BasePolicy):
    """Base class that plays plans; subclasses make the plans and draw the conclusions."""

    order_free: ClassVar[bool] = True

    def _first_state(self, problem: Problem, batch_shape: Shape) -> PlannedState:
        """Return the state before the first plan, or raise if the budget is too small."""
        raise NotImplementedError

    def _counts(self, state: PlannedState) -> IntArray:
        """Return the number of pulls of each arm in step ``state.step``."""
        raise NotImplementedError

    def _conclude(self, state: PlannedState) -> None:
        """Drop arms and set ``state.best`` at the end of step ``state.step``."""
        raise NotImplementedError

    def _stages(self, state: PlannedState) -> tuple[Stage, ...]:
        """Return the stages that follow from the first state; empty if they are unknown."""
        return ()

    def describe(self, problem: Problem | None = None) -> PolicyDescription:
        """Return the properties of the policy that are known before the first pull.

        Raises the same errors as `start` if the parameters do not suit the problem.
        """
        description = super().describe(problem)
        if problem is None:
            return description
        return replace(description, stages=self._stages(self._first_state(problem, ())))

    def start(
        self, problem: Problem, *, batch_shape: Shape = (), seed: Seed = None
    ) -> PlannedState:
        """Return the state before the first pull. The policy is deterministic; no seed is used."""
        state = self._first_state(problem, batch_shape)
        self._open_step(state)
        return state

    def ask(self, state: PlannedState, max_pulls: int) -> Pulls:
        """Return up to ``max_pulls`` pulls of the plan, all at the level of the stage."""
        start = stop = 0
        columns = np.empty((len(state.alive), 0), dtype=np.int64)
        arm = repetition = columns
        if state.plan is not None:
            start = state.plan.n_asked
            stop = max(start, min(start + max_pulls, state.plan.n_columns))
            state.plan.n_asked = stop
            arm, repetition = state.plan.arm[:, start:stop], state.plan.repetition[:, start:stop]
        shape = (*state.batch_shape, stop - start)
        level = np.broadcast_to(np.int64(state.level), shape)
        return Pulls(arm.reshape(shape), level, repetition.reshape(shape))

    def tell(self, state: PlannedState, pulls: Pulls, rewards: FloatArray) -> None:
        """Update the state with rewards, and close the plan if it is complete."""
        if state.plan is None or len(pulls) == 0:
            return
        shape = len(state.alive), len(pulls)
        state.plan.store(
            pulls.arm.reshape(shape),
            pulls.repetition.reshape(shape),
            np.asarray(rewards, dtype=np.float64).reshape(shape),
        )
        if state.plan.n_told == state.plan.n_columns:
            self._close_step(state)
            self._open_step(state)

    def _open_step(self, state: PlannedState) -> None:
        """Make the next plan that is not empty, if there is one."""
        state.plan = None
        while state.step < state.n_steps and not state.stopped.all():
            plan = Plan(self._counts(state), state.n_pulls_ever)
            if plan.n_columns:
                state.plan = plan
                return
            self._close_step(state)

    def _stage(self, state: PlannedState) -> int:
        """Return the stage to which step ``state.step`` belongs."""
        return state.step

    def current_stage(self, state: PlannedState) -> int | None:
        """Return the stage of the current pulls; None after the last stage."""
        return None if state.plan is None else self._stage(state)

    def _close_step(self, state: PlannedState) -> None:
        if state.plan is not None:
            _take_in(state, state.plan)
            state.stage[state.plan.counts > 0] = self._stage(state)
        self._conclude(state)
        state.plan = None
        state.step += 1

    def is_finished(self, state: PlannedState) -> bool:
        """Return whether all plans are complete."""
        return state.plan is None

    def is_alive(self, state: PlannedState) -> BoolArray:
        """Return which arms may still be pulled. At the end, these are the remaining arms."""
        return state.alive.reshape(*state.batch_shape, -1).copy()

    def recommend(self, state: PlannedState) -> IntArray:
        """Return the arm with the best estimate; ``NO_ARM`` if no arm has a reward."""
        return state.best.reshape(state.batch_shape).copy()

    def stage_of_arm(self, state: PlannedState) -> IntArray:
        """Return the last stage in which each arm was in play, shape ``(*batch, n_arms)``.

        Stages are counted from 0. The remaining arms have the last stage. If arms are not
        eliminated, it is the last stage in which the arm was pulled.
        """
        return state.stage.reshape(*state.batch_shape, -1).copy()


def _take_in(state: PlannedState, plan: Plan) -> None:
    """Add the rewards of the plan to the statistics, and eliminate arms with a NaN reward."""
    rewards = plan.rewards_in_order()
    state.statistics.add(plan.counts, rewards)
    state.n_pulls_ever = state.n_pulls_ever + plan.counts
    state.alive &= ~np.isnan(state.statistics.reward_sum)
    if state.table is not None:
        n_new = int(state.n_pulls_ever.max()) - state.table.shape[2]
        if n_new > 0:
            room = np.full((*state.alive.shape, n_new), np.nan)
            state.table = np.concatenate([state.table, room], axis=2)
        problem, column = np.nonzero(plan.arm != NO_ARM)
        arm, repetition = plan.arm[problem, column], plan.repetition[problem, column]
        state.table[problem, arm, repetition] = rewards
