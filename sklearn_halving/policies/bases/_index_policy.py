"""Base classes of policies that pull the arm with the largest index, again and again.

A policy is the formula of its index, `IndexPolicy._index`. The base classes own the budget, the
range of the rewards and the confidence. They take care of the first pulls of every arm, of pulls
in flight, and of arms that failed or have no splits left. Internally, each problem of the batch
is a row, and arrays have shape ``(n_problems, n_arms)``.
"""

from __future__ import annotations

from math import inf, prod
from typing import Any, ClassVar, Literal

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Seed, Shape
from sklearn_halving.policies._plan import Plan, open_plan
from sklearn_halving.policies._types import NO_ARM, Problem, Pulls
from sklearn_halving.policies.bases._base_policy import (
    BasePolicy,
    RewardRange,
    check_budget,
    is_outside,
    known_range,
    reward_width,
)
from sklearn_halving.policies.bases._ranking import (
    ArmStatistics,
    BrokenSplits,
    best_known,
    largest_usable,
)


class IndexState:
    """State of an index policy.

    Attributes
    ----------
    width : float
        The largest minus the smallest possible reward, by which bounds are multiplied.
    most_pulls : float
        Maximum number of pulls of a problem; infinite if there is no maximum.
    statistics : ArmStatistics
        Statistics of the known rewards.
    n_asked : ndarray of int
        Number of pulls including pulls in flight, which is the next repetition of an arm.
        Shape ``(n_problems, n_arms)``.
    n_lost : ndarray of int
        Number of pulls that failed, for which the split may be to blame. Shape ``(n_problems,
        n_arms)``.
    splits : BrokenSplits
        The splits on which nothing works.
    is_open : ndarray of bool
        Problems that are not finished. Shape ``(n_problems,)``.
    is_decided : ndarray of bool
        Problems that ended because of the stopping rule, or because no rival was left. Shape
        ``(n_problems,)``.
    is_outside : ndarray of bool
        Problems with a reward outside of the range. Shape ``(n_problems,)``.
    memory : Any
        What a policy has to remember besides the statistics.
    """

    def __init__(self, problem: Problem, batch_shape: Shape, width: float, most: float) -> None:
        self.problem, self.batch_shape = problem, batch_shape
        self.width, self.most_pulls = width, most
        shape = prod(batch_shape), problem.n_arms
        self.statistics, self.splits = ArmStatistics.zeros(shape), BrokenSplits(shape[0])
        self.n_asked, self.n_lost = np.zeros((2, *shape), dtype=np.int64)
        self.is_open = np.ones(shape[0], dtype=bool)
        self.is_decided, self.is_outside = np.zeros((2, shape[0]), dtype=bool)
        self.memory: Any = None

    @property
    def rows(self) -> IntArray:
        return np.arange(len(self.is_open))

    @property
    def n_pulls(self) -> IntArray:
        """Number of rewards of each arm."""
        return self.statistics.n_pulls

    @property
    def n(self) -> FloatArray:
        """Number of pulls of each arm in the formulas (N in the papers).

        Pulls in flight are included, since they will narrow the bound for any reward.
        """
        n = self.n_asked - self.n_lost
        return n.astype(np.float64)  # faster than to convert it in every division

    @property
    def mean(self) -> FloatArray:
        """Mean reward of each arm; NaN for arms without a reward and for failed arms."""
        return self.statistics.mean()

    @property
    def alive(self) -> BoolArray:
        """Arms that have not failed."""
        return ~np.isnan(self.statistics.reward_sum)

    @property
    def n_asked_in_all(self) -> IntArray:
        """Number of pulls of all arms together, with those in flight; shape (n_problems,)."""
        return self.n_asked.sum(axis=1)

    @property
    def n_pulls_in_all(self) -> IntArray:
        """Number of pulls of all arms that returned, shape (n_problems,)."""
        return (self.n_pulls + self.n_lost).sum(axis=1)

    def is_waiting(self) -> BoolArray:
        """Return which arms have pulls in flight."""
        return self.n_asked > self.n_pulls + self.n_lost

    def can_be_pulled(self) -> BoolArray:
        """Return which arms have not failed and have a split left."""
        most = self.problem.max_repetitions
        return self.alive if most is None else self.alive & (self.n_asked < most)


class IndexPolicy(BasePolicy):
    """Base class of policies that pull the arm with the largest index.

    Each request returns one pull per problem, so that a simulation knows each reward before the
    next decision. Further requests before the reward is known take pulls in flight into account.

    Attributes
    ----------
    n_first : int
        Number of pulls that an arm needs before it has an index.
    budget : Literal['n_pulls', 'max_pulls']
        The field with the maximum number of pulls; ``max_pulls`` may be None.
    goes_on_when_decided : bool
        Whether an arm without rivals is still pulled, to collect rewards.
    """

    n_first: ClassVar[int] = 1
    budget: ClassVar[Literal["n_pulls", "max_pulls"]] = "n_pulls"
    goes_on_when_decided: ClassVar[bool] = False

    reward_range: RewardRange | None

    def _index(self, state: IndexState) -> FloatArray:
        """Return the index of each arm, with any value for arms that cannot be pulled."""
        raise NotImplementedError

    def _choose(self, state: IndexState, usable: BoolArray, has_first: BoolArray) -> IntArray:
        """Return the usable arm with the largest index in each row; ``NO_ARM`` for none.

        ``has_first`` are the open problems in which no arm lacks a reward of its first pulls.
        """
        if not usable.any():
            return np.full(len(usable), NO_ARM)
        return largest_usable(self._index(state), usable)

    def _first_memory(self, state: IndexState, seed: Seed) -> Any:
        """Return what the policy has to remember besides the statistics."""
        return None

    def _learn(self, state: IndexState, row: IntArray, pulled: Pulls, rewards: FloatArray) -> None:
        """Update the memory with rewards. Each array has one entry per row."""

    def _is_decided(self, state: IndexState) -> BoolArray:
        """Return which problems the stopping rule ends, shape (n_problems,)."""
        return np.zeros(len(state.is_open), dtype=bool)

    def _recommended(self, state: IndexState) -> IntArray:
        """Return the arm with the best mean in each row."""
        return best_known(state.alive, state.mean)

    def _most_pulls(self) -> Any:
        return getattr(self, self.budget)

    def plan(self, problem: Problem) -> Plan:
        """Return the plan of a single round, with the range of rewards."""
        known = known_range(self, problem)
        return open_plan(problem, self._most_pulls(), reward_range=known)

    def start(self, problem: Problem, *, batch_shape: Shape = (), seed: Seed = None) -> IndexState:
        """Return the state before the first pull.

        Raises ValueError if the parameters do not suit the problem.
        """
        width, most = reward_width(self, problem), self._most_pulls()
        if most is None and self.budget == "max_pulls":
            most = inf
        else:
            why = f"to pull each of {problem.n_arms} candidates {self.n_first} times"
            least = 1 if problem.n_arms == 1 else max(1, self.n_first * problem.n_arms)
            check_budget(self.budget, most, least, why)
        state = IndexState(problem, batch_shape, width, most)
        state.memory = self._first_memory(state, seed)
        return state

    def ask(self, state: IndexState, max_pulls: int) -> Pulls:
        """Return one pull for each problem that is not finished, at the largest level.

        No pulls are returned if the policy has to wait for rewards.
        """
        arm = np.full(len(state.is_open), NO_ARM)
        may_ask = state.is_open & (state.n_asked_in_all < state.most_pulls)
        if max_pulls > 0 and may_ask.any():
            # Infinite rewards are valid. Formulas may divide by 0 where an arm has no pull.
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                arm = self._next_arm(state, may_ask)
        row = np.flatnonzero(arm != NO_ARM)
        arm = arm if len(row) else arm[:0]
        repetition = np.zeros_like(arm)
        repetition[row] = state.n_asked[row, arm[row]]
        state.n_asked[row, arm[row]] += 1
        level = np.full_like(arm, state.problem.max_level)
        shape = (*state.batch_shape, int(len(row) > 0))
        return Pulls(arm.reshape(shape), level.reshape(shape), repetition.reshape(shape))

    def _next_arm(self, state: IndexState, may_ask: BoolArray) -> IntArray:
        """Return the arm that has had too few first pulls, or else what the policy chooses."""
        usable = state.can_be_pulled() & may_ask[:, np.newaxis]
        has_few = state.n_pulls < self.n_first
        if not has_few.any():
            return self._choose(state, usable, may_ask)
        waits = usable & (state.n_asked - state.n_lost < self.n_first)
        is_first = waits.any(axis=1)
        n_few = (state.alive & has_few & (state.can_be_pulled() | state.is_waiting())).sum(axis=1)
        # If most first pulls are in flight, the few arms with an index must not get all pulls.
        chooses = ~is_first & (2 * n_few <= state.problem.n_arms)
        may_choose = usable & ~has_few & chooses[:, np.newaxis]
        arm = self._choose(state, may_choose, may_ask & (n_few == 0))
        fewest = np.where(waits, state.n_asked, state.n_asked.max() + 1).argmin(axis=1)
        return np.where(is_first, fewest, arm)

    def tell(self, state: IndexState, pulls: Pulls, rewards: FloatArray) -> None:
        """Update the state with rewards, in the order in which the pulls were requested."""
        shape = len(state.is_open), len(pulls)
        columns = [np.asarray(column).reshape(shape) for column in pulls]
        rewards = np.asarray(rewards, dtype=np.float64).reshape(shape)
        # Infinite rewards are valid, although their squared deviations are NaN.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            for j in range(shape[1]):
                # Rewards that arrive after the end must not change the recommendation.
                row = np.flatnonzero((columns[0][:, j] != NO_ARM) & state.is_open)
                pulled = Pulls(*(column[:, j][row] for column in columns))
                told = rewards[:, j][row]
                failed = state.splits.take_in(row, pulled.arm, pulled.repetition, told)
                if (is_lost := np.isnan(told)).any():
                    state.n_lost[row[is_lost], pulled.arm[is_lost]] += 1
                    row, told = row[~is_lost], told[~is_lost]
                    pulled = Pulls(*(column[~is_lost] for column in pulled))
                state.statistics.reward_sum[failed[0], failed[1]] = np.nan
                add_singly(state.statistics, row * state.problem.n_arms + pulled.arm, told)
                self._learn(state, row, pulled, told)
            self._close_problems(state)

    def _close_problems(self, state: IndexState) -> None:
        """Close the problems that are decided, have spent the budget, or have no pull left."""
        alive = state.alive
        is_decided = state.is_open & self._is_decided(state)
        is_decided &= ~(alive & (state.n_pulls < self.n_first)).any(axis=1)
        is_over = is_decided | (state.n_pulls_in_all >= state.most_pulls)
        is_over |= ~(state.can_be_pulled() | state.is_waiting()).any(axis=1)
        if not self.goes_on_when_decided:
            is_unknown = alive & (state.n_pulls == 0)
            is_alone = (alive.sum(axis=1) <= 1) & ~is_unknown.any(axis=1)
            is_decided |= state.is_open & is_alone & alive.any(axis=1)
            is_over |= is_alone
        state.is_decided |= is_decided
        state.is_open &= ~is_over

    def is_finished(self, state: IndexState) -> bool:
        """Return whether all problems are finished."""
        return not state.is_open.any()

    def is_alive(self, state: IndexState) -> BoolArray:
        """Return which arms have not failed. Arms are not eliminated because of low rewards."""
        return state.alive.reshape(*state.batch_shape, -1)

    def recommend(self, state: IndexState) -> IntArray:
        """Return the arm to choose; ``NO_ARM`` if no arm has a reward."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return self._recommended(state).reshape(state.batch_shape)


class ConfidentIndexPolicy(IndexPolicy):
    """Base class of index policies with a stopping rule, `_is_decided`."""

    budget = "max_pulls"

    max_pulls: int | None

    def _learn(self, state: IndexState, row: IntArray, pulled: Pulls, rewards: FloatArray) -> None:
        state.is_outside[row] |= is_outside(known_range(self, state.problem), rewards)

    def is_confident(self, state: IndexState) -> BoolArray:
        """Return whether the stopping rule ended the search, so that the guarantee holds.

        The shape is ``batch``. False if the search is not finished, if it ended because of
        ``max_pulls`` or because no splits were left, or if a reward was outside of
        ``reward_range``.
        """
        return (state.is_decided & ~state.is_outside).reshape(state.batch_shape)


def add_singly(statistics: ArmStatistics, place: IntArray, rewards: FloatArray) -> None:
    """Add one reward at each of several distinct places of the flat arrays (Welford 1962)."""
    n_pulls, reward_sum = statistics.n_pulls.reshape(-1), statistics.reward_sum.reshape(-1)
    n, total = n_pulls[place], reward_sum[place]
    before = np.where(n > 0, rewards - total / np.maximum(n, 1), 0.0)
    n_pulls[place], reward_sum[place] = n + 1, total + rewards
    after = rewards - reward_sum[place] / n_pulls[place]
    statistics.squared_deviation_sum.reshape(-1)[place] += before * after
