"""Base class of policies that repeatedly pull the arm with the largest index.

Subclasses define the index. The base class handles the first pulls of every arm, pulls in flight,
arms that failed or have no splits left, the budget, and the end of each problem. Internally, each
problem of the batch is a row, and arrays have shape ``(n_problems, n_arms)``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any, ClassVar

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Seed, Shape
from sklearn_halving.policies._types import NO_ARM, Problem, Pulls
from sklearn_halving.policies.bases._arm_statistics import ArmStatistics
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.policies.bases._parameter_checks import check_budget
from sklearn_halving.policies.bases._ranking import best_known, largest_usable


@dataclass
class IndexState:
    """State of an index policy."""

    problem: Problem
    batch_shape: Shape
    width: float
    """The largest minus the smallest possible reward, by which bounds are multiplied."""
    statistics: ArmStatistics
    """Statistics of the known rewards."""
    mean: FloatArray
    """Mean reward; NaN for arms without a reward and for failed arms.
    Shape ``(n_problems, n_arms)``."""
    n_asked: IntArray
    """Number of pulls including pulls in flight, which is the next repetition of an arm.
    Shape ``(n_problems, n_arms)``."""
    alive: BoolArray
    """Arms without a NaN reward. Shape ``(n_problems, n_arms)``."""
    is_open: BoolArray
    """Problems that are not finished. Shape ``(n_problems,)``."""
    is_first: bool = True
    """Whether an arm has not had its first pulls."""
    memory: Any = None
    """Memory of the subclass."""
    is_decided: BoolArray = field(init=False)
    """Problems that ended because of the stopping rule, or because no rival was left.
    Shape ``(n_problems,)``."""
    n_asked_of_row: IntArray = field(init=False)
    n_told_of_row: IntArray = field(init=False)
    rows: IntArray = field(init=False)

    def __post_init__(self) -> None:
        """Set all counts to zero."""
        self.rows = np.arange(len(self.is_open))
        self.is_decided = ~self.is_open
        self.n_asked_of_row = np.zeros_like(self.rows)
        self.n_told_of_row = np.zeros_like(self.rows)

    @property
    def n_pulls(self) -> IntArray:
        """Number of rewards of each arm, shape (n_problems, n_arms)."""
        return self.statistics.n_pulls

    def can_be_pulled(self) -> BoolArray:
        """Return which arms have not failed and have a split left."""
        if self.problem.max_repetitions is None:
            return self.alive
        return self.alive & (self.n_asked < self.problem.max_repetitions)


class IndexPolicy(BasePolicy):
    """Base class of policies that pull the arm with the largest index.

    Each request returns one pull per problem, so that a simulation knows each reward before the
    next decision. Further requests before the reward is known take pulls in flight into account.
    """

    n_first: ClassVar[int] = 1
    """Number of pulls that an arm needs before it has an index."""
    goes_on_when_decided: ClassVar[bool] = False
    """Whether an arm without rivals is still pulled, to collect rewards."""

    def _index(self, state: IndexState) -> FloatArray:
        """Return the index of each arm, with any value for arms that cannot be pulled."""
        raise NotImplementedError

    def _width(self) -> float:
        """Return the width of the range of the rewards, or raise if it is required but unknown."""
        return 1.0

    def _most_pulls(self) -> int | None:
        """Return the maximum number of pulls; None if it is unlimited."""
        raise NotImplementedError

    def _first_memory(self, state: IndexState, seed: Seed) -> Any:
        """Return the memory of the policy besides the statistics."""
        return None

    def _has_decided(self, state: IndexState) -> BoolArray | None:
        """Return which problems the stopping rule ends, shape (n_problems,); None for none."""
        return None

    def _learn(self, state: IndexState, row: IntArray, pulled: Pulls, rewards: FloatArray) -> None:
        """Update the memory with rewards. Each array has one entry per row."""

    def start(self, problem: Problem, *, batch_shape: Shape = (), seed: Seed = None) -> IndexState:
        """Return the state before the first pull.

        Raises ValueError if the parameters do not suit the problem.
        """
        width, most = self._width(), self._most_pulls()
        if most is not None:
            name = "max_pulls" if hasattr(self, "max_pulls") else "n_pulls"
            why = f"to pull each of {problem.n_arms} arms {self.n_first} times"
            least = 1 if problem.n_arms == 1 else max(1, self.n_first * problem.n_arms)
            check_budget(name, most, least, why)
        shape = prod(batch_shape), problem.n_arms
        state = IndexState(
            problem,
            batch_shape,
            width,
            ArmStatistics.zeros(shape),
            mean=np.full(shape, np.nan),
            n_asked=np.zeros(shape, dtype=np.int64),
            alive=np.ones(shape, dtype=bool),
            is_open=np.ones(shape[0], dtype=bool),
        )
        state.memory = self._first_memory(state, seed)
        return state

    def ask(self, state: IndexState, max_pulls: int) -> Pulls:
        """Return one pull for each problem that is not finished, at the largest level.

        No pulls are returned if the policy has to wait for rewards.
        """
        arm = np.full(len(state.rows), NO_ARM)
        if max_pulls > 0 and state.is_open.any():
            arm = self._next_arm(state)
        return self._pulls_of(state, arm)

    def _pulls_of(self, state: IndexState, arm: IntArray) -> Pulls:
        """Return a pull of the given arm of each row, and count it."""
        is_pulled = arm != NO_ARM
        shape = (*state.batch_shape, 1 if is_pulled.any() else 0)
        place = state.rows * state.problem.n_arms + arm
        if is_pulled.all():
            repetition = state.n_asked.take(place)
            state.n_asked.put(place, repetition + 1)
            state.n_asked_of_row += 1
        elif shape[-1]:
            repetition = np.zeros_like(arm)
            before = state.n_asked.take(place[is_pulled])
            repetition[is_pulled] = before
            state.n_asked.put(place[is_pulled], before + 1)
            state.n_asked_of_row += is_pulled
        else:
            arm = repetition = arm[:0]
        level = np.full(shape, state.problem.max_level, dtype=np.int64)
        return Pulls(arm.reshape(shape), level, repetition.reshape(shape))

    def _next_arm(self, state: IndexState) -> IntArray:
        """Return the arm with the largest index in each row; ``NO_ARM`` if there is none."""
        open_ = state.can_be_pulled()
        usable = open_
        if state.is_first:
            # If most first pulls are in flight, the few arms with an index must not get all pulls.
            has_few = state.n_pulls < self.n_first
            n_waiting = (state.alive & has_few).sum(axis=1, keepdims=True)
            usable = open_ & ~has_few & (2 * n_waiting <= state.problem.n_arms)
        arm = self._largest(state, usable)
        if state.is_first:
            arm = self._first_arm(state, open_, arm)
        may_ask = state.is_open
        most = self._most_pulls()
        if most is not None:
            may_ask = may_ask & (state.n_asked_of_row < most)
        return np.where(may_ask, arm, NO_ARM)

    def _largest(self, state: IndexState, usable: BoolArray) -> IntArray:
        """Return the usable arm with the largest index. Ties go to the smaller arm."""
        if not usable.any():
            return np.full(len(state.rows), NO_ARM)
        # Infinite rewards are valid. Arms without a valid index because of them come last.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            index = self._index(state)
        return largest_usable(index, usable)

    def _first_arm(self, state: IndexState, open_: BoolArray, arm: IntArray) -> IntArray:
        """Return the arm with the fewest first pulls; ``arm`` if all have been requested."""
        waits = open_ & (state.n_asked < self.n_first)
        in_row = waits.any(axis=1)
        fewest = np.where(waits, state.n_asked, self.n_first).argmin(axis=1)
        state.is_first = bool(in_row.any()) or not self._has_first(state).all()
        return np.where(in_row, fewest, arm)

    def _has_first(self, state: IndexState) -> BoolArray:
        """Return in which rows every arm has the rewards of its first pulls, or has failed."""
        if not state.is_first:
            return np.ones(len(state.rows), dtype=bool)
        told = (state.n_pulls >= self.n_first) | ~state.alive
        return told.all(axis=1) | ~state.is_open

    def tell(self, state: IndexState, pulls: Pulls, rewards: FloatArray) -> None:
        """Update the state with rewards, in the order in which the pulls were requested."""
        if not len(pulls):
            return
        shape = len(state.rows), len(pulls)
        columns = [np.asarray(column).reshape(shape) for column in pulls]
        rewards = np.asarray(rewards, dtype=np.float64).reshape(shape)
        for j in range(shape[1]):
            pulled = Pulls(*(column[:, j] for column in columns))
            # Rewards that arrive after the end must not change the recommendation.
            counts = (pulled.arm != NO_ARM) & state.is_open
            if counts.all():
                self._tell_rows(state, state.rows, pulled, rewards[:, j])
            else:
                row = np.flatnonzero(counts)
                self._tell_rows(state, row, Pulls(*(c[row] for c in pulled)), rewards[row, j])
        self._close_problems(state)

    def _tell_rows(
        self, state: IndexState, row: IntArray, pulled: Pulls, rewards: FloatArray
    ) -> None:
        """Update the state with one reward for each of the rows."""
        place = row * state.problem.n_arms + pulled.arm
        n_pulls, total = add_singly(state.statistics, place, rewards)
        state.n_told_of_row[row] += 1
        state.mean.put(place, total / n_pulls)
        failed = np.isnan(total)
        if failed.any():
            state.alive.put(place[failed], False)
        self._learn(state, row, pulled, rewards)

    def _close_problems(self, state: IndexState) -> None:
        """Close the problems that are finished."""
        decided = self._has_decided(state)
        if decided is not None:
            decided = decided & state.is_open
            if state.is_first:
                decided &= self._has_first(state)
            state.is_decided |= decided
            state.is_open &= ~decided
        most = self._most_pulls()
        if most is not None:
            state.is_open &= state.n_told_of_row < most
        is_endless = state.problem.max_repetitions is None and state.problem.n_arms > 1
        if not (is_endless and state.alive.all()):
            is_waiting = state.n_told_of_row < state.n_asked_of_row
            state.is_open &= is_waiting | state.can_be_pulled().any(axis=1)
            if not self.goes_on_when_decided:
                n_unknown = (state.alive & (state.n_pulls == 0)).sum(axis=1)
                is_alone = (state.alive.sum(axis=1) <= 1) & (n_unknown == 0)
                state.is_decided |= is_alone & state.alive.any(axis=1)
                state.is_open &= ~is_alone

    def is_finished(self, state: IndexState) -> bool:
        """Return whether all problems are finished."""
        return not state.is_open.any()

    def is_alive(self, state: IndexState) -> BoolArray:
        """Return which arms have not failed. Arms are not eliminated because of low rewards."""
        return state.alive.reshape(*state.batch_shape, -1).copy()

    def _recommended(self, state: IndexState) -> IntArray:
        """Return the arm with the best mean in each row."""
        return best_known(state.alive, state.mean)

    def recommend(self, state: IndexState) -> IntArray:
        """Return the arm to choose; ``NO_ARM`` if no arm has a reward."""
        return self._recommended(state).reshape(state.batch_shape)


def add_singly(
    statistics: ArmStatistics, place: IntArray, rewards: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Add one reward at each of several distinct places of the flat arrays (Welford 1962).

    Return the new number and sum of the rewards at these places.
    """
    spread = statistics.squared_deviation_sum
    n_before, sum_before = statistics.n_pulls.take(place), statistics.reward_sum.take(place)
    # Infinite rewards are valid, although their squared deviations are NaN.
    with np.errstate(over="ignore", invalid="ignore"):
        n_after, sum_after = n_before + 1, sum_before + rewards
        before = np.where(n_before > 0, rewards - sum_before / np.maximum(n_before, 1), 0.0)
        spread.put(place, spread.take(place) + before * (rewards - sum_after / n_after))
    statistics.n_pulls.put(place, n_after)
    statistics.reward_sum.put(place, sum_after)
    return n_after, sum_after
