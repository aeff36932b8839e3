"""Base class of policies that plan the number of pulls of each arm.

A policy is a loop that yields the counts of its next plan, and goes on when the rewards of all
these pulls are known. The rewards are taken in the order of the plan, so that decisions do not
depend on the order of arrival. Each problem of the batch is a row, and arrays have shape
``(n_problems, n_arms)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import prod
from typing import Any, ClassVar

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Seed, Shape
from sklearn_halving.policies._plan import Bracket, Plan, Round, open_plan
from sklearn_halving.policies._types import NO_ARM, Problem, Pull, Pulls
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.policies.bases._ranking import ArmStatistics, BrokenSplits


def halving_widths(n_arms: int) -> list[int]:
    """Return the number of arms in play in each stage of halvings, until one is left."""
    widths = []
    while n_arms > 1:
        widths.append(n_arms)
        n_arms = (n_arms + 1) // 2
    return widths


def in_plans(n_even: int, n_adaptive: int, n_plans: int) -> list[tuple[int, bool]]:
    """Return a plan of even pulls and ``n_plans`` adaptive ones of similar size, if not empty.

    A plan is a number of pulls, and whether the arms share them evenly.
    """
    n_plans = max(1, min(n_plans, n_adaptive))
    cuts = [i * n_adaptive // n_plans for i in range(n_plans + 1)]
    sizes = [(n_even, True)] + [(b - a, False) for a, b in pairwise(cuts)]
    return [size for size in sizes if size[0]]


class PullBlock:
    """The pulls before the next decision, sorted by arm in each row.

    Parameters
    ----------
    counts : ndarray of int of shape (n_problems, n_arms)
        Number of pulls of each arm.
    first_repetition : ndarray of int of shape (n_problems, n_arms)
        The repetition of the first of these pulls.
    """

    def __init__(self, counts: IntArray, first_repetition: IntArray) -> None:
        """Expand the counts to pulls, and pad short rows."""
        self.counts, self.n_asked, self.n_told = counts, 0, 0
        n_problems, n_arms = counts.shape
        n_pulls = counts.sum(axis=1)
        width = int(n_pulls.max(initial=0))
        padded = np.column_stack([counts, width - n_pulls]).ravel()
        # Repetition minus column of the pulls of each arm, and 0 for the padding
        self._shift = np.zeros((n_problems, n_arms + 1), dtype=np.int64)
        self._shift[:, :-1] = first_repetition - np.cumsum(counts, axis=1) + counts
        shape, arms = (n_problems, width), np.append(np.arange(n_arms), NO_ARM)
        # Arrays have the shape (n_problems, width).
        self.arm: IntArray = np.repeat(np.tile(arms, n_problems), padded).reshape(shape)
        self.repetition: IntArray = np.repeat(self._shift.ravel(), padded).reshape(shape)
        self.repetition += np.arange(width)
        self.rewards = np.full(shape, np.nan)

    def store(self, arm: IntArray, repetition: IntArray, rewards: FloatArray) -> None:
        """Store rewards at the places of their pulls; arrays have shape (n_problems, n)."""
        self.n_told += arm.shape[1]
        column = repetition - np.take_along_axis(self._shift, arm, axis=1)  # NO_ARM is the last
        np.put_along_axis(self.rewards, column, rewards, axis=1)


class PlannedState:
    """What the loop of a policy knows of its problems, and what it decides about them."""

    def __init__(self, problem: Problem, batch_shape: Shape) -> None:
        self.problem, self.batch_shape = problem, batch_shape
        shape = prod(batch_shape), problem.n_arms
        # Arms in play, arms that failed, which are dropped, arms with a reward, and arms with a
        # reward that is out of range, if the policy has one. Shape (n_problems, n_arms).
        self.alive = np.ones(shape, dtype=bool)
        self.has_failed, self.has_reward, self.is_outside = np.zeros((3, *shape), dtype=bool)
        # The arm to recommend, and whether a stopping rule ended a problem. Shape (n_problems,).
        self.best = np.full(shape[0], 0 if problem.n_arms == 1 else NO_ARM)
        self.is_stopped = np.zeros(shape[0], dtype=bool)
        # The current stage, counted from 0; all stages, if they are known at the start.
        self.stage = 0
        self.stages: tuple[Round, ...] = ()
        # Maximum number of pulls of all stages together, if there is one
        self.most_pulls: int | None = None
        # Whether all arms that have not failed will be in play again. Shape (n_problems, 1).
        self.revives: BoolArray | bool = False
        # All rewards at this level, if arms are compared on common splits; NaN for no reward.
        # Shape (n_problems, n_arms, n_splits).
        self.table: FloatArray | None = None
        # What a policy needs outside of its loop
        self.extra: Any = None
        self.block: PullBlock | None = None
        self.batches: Iterator[IntArray] = iter(())
        self.enter_level(problem.max_level)

    @property
    def n_arms(self) -> int:
        return self.problem.n_arms

    def mean(self) -> FloatArray:
        """Return the mean reward of each arm; NaN for an arm without a reward."""
        return self.statistics.mean()

    def contested(self) -> BoolArray:
        """Return which arms in play have a rival; a single arm counts until its first pull."""
        several = (self.alive.sum(axis=1) > 1) & ~self.is_stopped
        if self.n_arms == 1:
            return self.alive & (self.n_pulls == 0)
        return self.alive & several[:, np.newaxis]

    def within_splits(self, counts: IntArray) -> IntArray:
        """Return the counts, of which each is limited by the splits that are left for the arm."""
        if self.problem.max_repetitions is None:
            return counts
        return np.minimum(counts, self.problem.max_repetitions - self.n_pulls)

    def within_budget(self, counts: IntArray, max_pulls: int | None) -> IntArray:
        """Return the counts, but 0 in problems whose number of pulls would exceed the budget."""
        if max_pulls is None:
            return counts
        is_within = (self.n_pulls + counts).sum(axis=1, keepdims=True) <= max_pulls
        return np.where(is_within, counts, 0)

    def enter_level(self, level: int) -> None:
        """Set the level of the next pulls. Rewards at other levels cannot be compared."""
        self.level = level
        # Number of pulls at this level, also forgotten ones; it is the next repetition of an arm.
        self.n_pulls = np.zeros(self.alive.shape, dtype=np.int64)
        self.splits = BrokenSplits(len(self.alive))
        self.forget()

    def forget(self) -> None:
        """Reset the statistics."""
        self.statistics = ArmStatistics.zeros(self.alive.shape)
        if self.table is not None:
            self.table = self.table[..., :0]

    def take_in(self, block: PullBlock) -> None:
        """Add the rewards of a block to the statistics, and drop arms that failed."""
        problem, column = np.nonzero(block.arm != NO_ARM)
        arm, repetition = block.arm[problem, column], block.repetition[problem, column]
        rewards = block.rewards[problem, column]
        failed = self.splits.take_in(problem, arm, repetition, rewards)
        self.has_failed[failed[0], failed[1]] = True
        counts, is_known = block.counts.copy(), ~np.isnan(rewards)
        np.subtract.at(counts, (problem[~is_known], arm[~is_known]), 1)
        self.statistics.add(counts, rewards[is_known])
        self.n_pulls = self.n_pulls + block.counts
        self.has_reward |= counts > 0
        self.statistics.reward_sum[self.has_failed] = np.nan
        self.alive &= ~self.has_failed
        if self.table is not None:
            n_more = max(0, int(self.n_pulls.max()) - self.table.shape[2])
            room = np.full((*self.alive.shape, n_more), np.nan)
            self.table = np.concatenate([self.table, room], axis=2)
            self.table[problem, arm, repetition] = rewards


class PlannedPolicy(BasePolicy):
    """Base class that plays the plans of a loop, which is all that a subclass has to write."""

    order_free: ClassVar[bool] = True

    def _play(self, state: PlannedState) -> Iterator[IntArray]:
        """Yield the number of pulls of each arm, drop arms, and set ``state.best``.

        When the loop continues, the rewards of these pulls are in ``state.statistics``. A plan
        without pulls is skipped. Before the first plan, the loop sets ``state.stages`` and
        ``state.most_pulls`` if they are known, and raises an error if the parameters do not suit
        the problem.
        """
        raise NotImplementedError

    def plan(self, problem: Problem) -> Plan:
        """Return the stages, or a single one if they are not known at the start.

        Raises the same errors as `start` if the parameters do not suit the problem.
        """
        state = PlannedState(problem, ())
        next(self._play(state), None)
        if not state.stages:
            return open_plan(problem, state.most_pulls)
        return Plan((Bracket(None, state.stages),), state.most_pulls, is_exact=False)

    def start(
        self, problem: Problem, *, batch_shape: Shape = (), seed: Seed = None
    ) -> PlannedState:
        """Return the state before the first pull. The policy is deterministic; no seed is used."""
        state = PlannedState(problem, batch_shape)
        state.batches = self._play(state)
        self._open_plan(state)
        return state

    def _open_plan(self, state: PlannedState) -> None:
        """Run the loop to its next plan with pulls, if there is one."""
        for counts in state.batches:
            state.block = PullBlock(counts, state.n_pulls)
            if state.block.rewards.size:
                return
        state.block, state.revives = None, False

    def ask(self, state: PlannedState, max_pulls: int) -> Pulls:
        """Return up to ``max_pulls`` pulls of the plan, all at the level of the stage."""
        arm = repetition = np.empty((len(state.alive), 0), dtype=np.int64)
        if (block := state.block) is not None:
            asked = slice(block.n_asked, block.n_asked + max(max_pulls, 0))
            arm, repetition = block.arm[:, asked], block.repetition[:, asked]
            block.n_asked += arm.shape[1]
        shape = (*state.batch_shape, arm.shape[1])
        level = np.broadcast_to(np.int64(state.level), shape)
        return Pulls(arm.reshape(shape), level, repetition.reshape(shape))

    def tell(self, state: PlannedState, pulls: Pulls, rewards: FloatArray) -> None:
        """Update the state with rewards, and go on to the next plan if this one is complete."""
        block = state.block
        if block is None or not len(pulls):
            return
        shape = len(state.alive), len(pulls)
        told = np.asarray(rewards, dtype=np.float64).reshape(shape)
        block.store(pulls.arm.reshape(shape), pulls.repetition.reshape(shape), told)
        if block.n_told == block.rewards.shape[1]:
            with np.errstate(over="ignore", invalid="ignore"):  # rewards may be near 1e300
                state.take_in(block)
                self._open_plan(state)

    def is_finished(self, state: PlannedState) -> bool:
        """Return whether all plans are complete."""
        return state.block is None

    def is_alive(self, state: PlannedState) -> BoolArray:
        """Return which arms may still be pulled. At the end, these are the remaining arms."""
        alive = np.where(state.revives, ~state.has_failed, state.alive)
        return alive.reshape(*state.batch_shape, -1)

    def recommend(self, state: PlannedState) -> IntArray:
        """Return the arm with the best estimate; ``NO_ARM`` if no arm has a reward."""
        rows, n_pulls = np.arange(len(state.best)), state.n_pulls.sum(axis=1)
        is_known = state.has_reward[rows, state.best] | (n_pulls == 0)
        return np.where(is_known, state.best, NO_ARM).reshape(state.batch_shape)

    def stage(self, state: PlannedState, pull: Pull) -> int:
        """Return the stage of a pull that has just returned, counted from 0."""
        return state.stage
