"""State of BayesGap: the posterior, the units of the rewards, and the pulls in flight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite
from typing import NamedTuple

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Shape
from sklearn_halving.policies._types import NO_ARM, Problem
from sklearn_halving.policies.bases._gap_rule import (
    Exploration,
    GapRound,
    OneChoice,
    first_largest,
)
from sklearn_halving.policies.posterior._arm_posterior import ArmPosterior
from sklearn_halving.policies.posterior._hyperparameters import ArmRewards

FARTHEST = 1e100
"""Upper limit of standardized rewards, so that their squares do not overflow."""

REFITS = frozenset(5 * 2**i for i in range(30))
"""Numbers of rewards after which the hyperparameters are estimated."""


OUTLIER_SPREADS = 3.0
"""Limit for the distance of a reward below the median, as a multiple of the distance of the best
reward above it. Lower rewards are raised to the limit, so that a few poor arms do not determine
the scale."""


def floor_of(rewards: FloatArray) -> float:
    """Return the limit to which lower rewards are raised in the model of a search."""
    median = float(np.median(rewards))
    spread = float(rewards.max()) - median
    return median - OUTLIER_SPREADS * spread if spread > 0 else -np.inf


class Beliefs(NamedTuple):
    """The posterior means in standardized units, and the units.

    Parameters
    ----------
    mean : ndarray of shape (n_problems, n_arms)
    offset, scale : ndarray of shape (n_problems,)
        ``offset + scale * mean`` is the posterior mean in the units of the rewards.
    """

    mean: FloatArray
    offset: FloatArray
    scale: FloatArray


@dataclass
class PosteriorState:
    """State of BayesGap. Each problem of the batch is a row.

    Parameters
    ----------
    problem : Problem
    batch_shape : tuple of int
    posterior : ArmPosterior
        Posterior given the rewards so far.
    exploration : Exploration
    standardize : bool
        Whether the level and the scale of the rewards are estimated.
    prior_mean : ndarray of shape (n_arms,)
    rng : numpy.random.Generator
    alive : ndarray of bool of shape (n_problems, n_arms)
        Arms with finite rewards only.
    n_asked : ndarray of int of shape (n_problems, n_arms)
        The next repetition of each arm.
    n_told : ndarray of int of shape (n_problems, n_arms)
        Number of finite rewards of each arm.
    infinite : ndarray of shape (n_problems, n_arms)
        Infinite rewards, which are not part of the posterior.
    lowest : ndarray of shape (n_problems,)
        The lowest finite reward so far, which replaces the reward of failed pulls; infinite if
        there is none.
    zero, unit : ndarray of shape (n_problems,)
        The posterior is updated with ``(reward - zero) / unit``. A unit of 0 is unknown, and 1 is
        used instead.
    """

    problem: Problem
    batch_shape: Shape
    posterior: ArmPosterior
    exploration: Exploration
    standardize: bool
    prior_mean: FloatArray
    rng: np.random.Generator
    alive: BoolArray
    n_asked: IntArray
    n_told: IntArray
    infinite: FloatArray
    lowest: FloatArray
    zero: FloatArray
    unit: FloatArray
    refit: Callable[[ArmRewards], tuple[ArmPosterior, Exploration]] | None = None
    """Computes the posterior with new hyperparameters from all rewards; not for batches."""
    told: list[tuple[int, int, float]] = field(default_factory=list)
    """Arms, repetitions and standardized rewards, for `refit`."""
    floor: float = -np.inf
    """Limit to which lower rewards are raised before updates, set by the last `refit`."""
    highest: FloatArray = field(init=False)
    """The highest standardized reward of each arm in ``told``, minus infinity without one."""
    n_rounds: int = 0
    ahead: ArmPosterior | None = None
    """Posterior that includes the pulls in flight; None if it has to be computed."""
    pending: list[tuple[IntArray, IntArray]] = field(default_factory=list)
    """Arms and repetitions in flight, oldest first."""
    lost: list[tuple[IntArray, IntArray]] = field(default_factory=list)
    """Arms and repetitions of pulls that failed before the first reward of their problem."""
    round: GapRound | None = None
    """Work arrays for a single problem, as long as several arms are in play."""
    out: IntArray | None = None
    """The arms that cannot win, if ``round`` is used; None if there are none."""
    priority: FloatArray | None = None
    """Ties go to the arm with the largest priority, or to the first arm if None."""
    # The leaders and bounds of all rounds, in standardized units that do not change.
    leaders: list[IntArray | int] = field(default_factory=list)
    bounds: list[FloatArray | float] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Use the faster implementation for a single problem."""
        self.highest = np.full(self.problem.n_arms, -np.inf)
        if self.batch_shape == () and self.problem.n_arms > 1 and not self.prior_mean.any():
            self.round = GapRound(self.problem.n_arms, self.priority)

    def break_ties(self, seed: np.random.SeedSequence) -> None:
        """Break ties at random, because the first arms of a grid are corners."""
        own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1))
        order = np.random.default_rng(own).permutation(self.problem.n_arms)
        self.priority = 1 + order.astype(np.float64)
        if self.round is not None:
            self.round.priority = self.priority

    def open_pulls(self, arm: IntArray, repetition: IntArray) -> None:
        """Record that each problem has one more pull in flight."""
        self.n_rounds += 1
        self.pending.append((arm, repetition))
        if self.ahead is not None:
            self.ahead.update(arm, repetition, None)

    def posterior_ahead(self) -> ArmPosterior:
        """Return the posterior whose variances include the pulls without a reward.

        These include pulls that failed before the first reward, so that the policy leaves a
        region in which all arms fail.
        """
        if not self.pending and not self.lost:
            return self.posterior
        if self.ahead is None:
            self.ahead = self.posterior.copy()
            for arm, repetition in (*self.lost, *self.pending):
                self.ahead.update(arm, repetition, None)
        return self.ahead

    def may_pull(self) -> BoolArray:
        """Return the arms that can be pulled; none if only one arm is left and has a reward."""
        may_pull: BoolArray = self.alive
        if self.problem.max_repetitions is not None:
            may_pull = may_pull & (self.n_asked < self.problem.max_repetitions)
        n_alive = self.alive.sum(axis=1)
        if n_alive.min(initial=2) < 2:
            is_settled = self.is_known() | (self.problem.n_arms == 1)
            goes_on = (n_alive > 1) | ~is_settled
            may_pull = np.logical_and(may_pull, goes_on[:, np.newaxis])
        return may_pull

    def goes_on(self) -> bool:
        """Return whether any problem has an arm that can be pulled."""
        most = self.problem.max_repetitions
        if self.round is not None and (most is None or self.n_rounds < most):
            return True
        return bool(self.may_pull().any())

    def choose_by_gap(self, epsilon: float) -> OneChoice | None:
        """Play a round of BayesGap with the faster implementation; None if it does not apply."""
        most = self.problem.max_repetitions
        if self.round is None or not (most is None or self.n_rounds < most):
            return None
        offset, scale = 0.0, 1.0
        if self.standardize:
            offset, scale = self.posterior.offset_and_scale_of_one()
        board = self.posterior.board[0]
        variance = self.posterior_ahead().variance
        np.sqrt(variance[0], board[2])
        if epsilon > 0:
            epsilon /= scale * (self.unit.item(0) or 1.0)
        weights = 1 / scale, -offset / scale
        return self.round.choose(self.exploration, board, weights, epsilon, self.out)

    def is_known(self) -> BoolArray:
        """Return in which problems an arm in play has a reward, shape ``(n_problems,)``."""
        n_known = ((self.n_told > 0) & self.alive).sum(axis=1)
        return n_known > 0

    def is_hopeless(self) -> BoolArray:
        """Return which arms only have rewards below the floor, in the shape of ``alive``.

        No arm is hopeless if this holds for all arms with a reward. An arm with any reward above
        the floor is not hopeless, because a single low reward may be due to its split.
        """
        is_hopeless = (self.highest > -np.inf) & (self.highest < self.floor)
        others: BoolArray = self.alive & (self.n_told > 0) & ~is_hopeless
        return is_hopeless & others.any(axis=1, keepdims=True)

    def beliefs(self) -> Beliefs:
        """Return posterior means in standardized units."""
        of_rewards, of_ones = self.posterior.answers[:, 0], self.posterior.answers[:, 1]
        if not self.standardize:
            zero = np.zeros(len(of_rewards))
            return Beliefs(self.prior_mean + of_rewards, zero, zero + 1)
        offset, scale = self.posterior.offset_and_scale()
        mean = (of_rewards - offset[:, np.newaxis] * of_ones) / scale[:, np.newaxis]
        unit = np.where(self.unit > 0, self.unit, 1.0)
        offset, scale = self.zero + unit * offset, unit * scale
        if self.prior_mean.any():
            mean += self.prior_mean / scale[:, np.newaxis]
        return Beliefs(mean, offset, scale)

    def leader_of_least_bound(self, otherwise: IntArray, may_win: BoolArray) -> IntArray:
        """Return the recommendation of the paper, ignoring leaders that may not win."""
        rows = np.arange(len(self.alive))
        shape = len(self.leaders), len(rows)
        leaders, bounds = (np.array(a).reshape(shape).T for a in (self.leaders, self.bounds))
        is_allowed = may_win[rows[:, np.newaxis], leaders]
        place = first_largest(np.where(is_allowed, -bounds, -np.inf))
        return np.where(is_allowed.any(axis=1), leaders[rows, place], otherwise)

    def take_in_one(self, arm: int, repetition: int, reward: float) -> None:
        """Faster variant of `take_in` for a single problem."""
        if arm == NO_ARM or not isfinite(reward) or self.round is None:
            self.take_in(np.array([arm]), np.array([repetition]), np.array([reward]))
            return
        oldest = self.pending[0] if self.pending else None
        if oldest is not None and oldest[0][0] == arm and oldest[1][0] == repetition:
            del self.pending[0]
        else:
            self._close_pulls(np.array([arm]), np.array([repetition]))
        if reward < self.lowest.item(0):
            self.lowest[0] = reward
        value = self._standardized_one(reward) if self.standardize else reward
        value = min(max(value, -FARTHEST), FARTHEST)
        self.n_told[0, arm] += 1
        self.posterior.update_one(arm, repetition, max(value, self.floor))
        if not self.pending:
            self.ahead = None
        if self.refit is not None:
            self._remember(arm, repetition, value)
        if self.lost:
            self._tell_lost(np.ones(1, dtype=bool))

    def _standardized_one(self, value: float) -> float:
        """Variant of `_standardized` for a single problem."""
        unit = self.unit.item(0)
        if unit == 0 and self.posterior.n_told[0] == 0:
            self.zero[0] = value
        value -= self.zero.item(0)
        if unit == 0 and value != 0:
            self.unit[0] = unit = min(max(abs(value), 1e-150), 1e150)
        return value / (unit or 1.0)

    def take_in(self, arm: IntArray, repetition: IntArray, reward: FloatArray) -> None:
        """Record one reward of each problem. An arm with a non-finite reward is eliminated.

        In the posterior, the reward of a failed pull is replaced by the lowest reward so far.
        """
        self._close_pulls(arm, repetition)
        rows = np.arange(len(arm))
        is_pull = arm != NO_ARM
        is_number = is_pull & np.isfinite(reward)
        has_failed = is_pull & ~is_number
        if has_failed.any():
            self.alive[rows[has_failed], arm[has_failed]] = False
            with np.errstate(invalid="ignore"):  # the sum of plus and minus infinity is NaN
                self.infinite[rows[has_failed], arm[has_failed]] += reward[has_failed]
            self._note_who_is_out()
            has_failed &= reward != np.inf
        self.n_told[rows[is_number], arm[is_number]] += 1
        self.lowest = np.where(is_number, np.minimum(self.lowest, reward), self.lowest)
        is_lost = has_failed & np.isinf(self.lowest)
        if is_lost.any():
            self.lost.append((np.where(is_lost, arm, NO_ARM), repetition))
        is_told = is_number | (has_failed & ~is_lost)
        self._tell(arm, repetition, np.where(is_number, reward, self.lowest), is_told)
        if (is_pull & ~is_told).any() or not self.pending:
            self.ahead = None  # it included a pull that has no reward
        if self.lost and is_number.any():
            self._tell_lost(is_number)

    def _tell(
        self, arm: IntArray, repetition: IntArray, reward: FloatArray, is_told: BoolArray
    ) -> None:
        """Update the posterior of the problems that have a reward."""
        value = np.where(is_told, reward, 0.0) - self.prior_mean[arm]
        if self.standardize:
            value = self._standardized(value, is_told)
        value = np.minimum(np.maximum(value, -FARTHEST), FARTHEST)
        raised = np.maximum(value, self.floor)
        self.posterior.update(np.where(is_told, arm, NO_ARM), repetition, raised)
        if self.refit is not None and is_told[0]:
            self._remember(int(arm[0]), int(repetition[0]), float(value[0]))

    def _tell_lost(self, is_number: BoolArray) -> None:
        """Update the posterior with failed pulls of the problems that now have a reward."""
        lost, self.lost, self.ahead = self.lost, [], None
        for arm, repetition in lost:
            is_told = is_number & (arm != NO_ARM)
            self._tell(arm, repetition, self.lowest, is_told)
            left = np.where(is_told, NO_ARM, arm)
            if (left != NO_ARM).any():
                self.lost.append((left, repetition))

    def _remember(self, arm: int, repetition: int, value: float) -> None:
        """Store a reward for the next fit of the hyperparameters, and fit them if it is due."""
        self.told.append((arm, repetition, value))
        self.highest[arm] = max(value, self.highest.item(arm))
        if self.refit is not None and len(self.told) in REFITS:
            told = ArmRewards(*map(np.array, zip(*self.told, strict=True)))
            self.floor = floor_of(told.rewards)
            raised = told._replace(rewards=np.maximum(told.rewards, self.floor))
            self.posterior, self.exploration = self.refit(raised)
            self.ahead = None

    def _note_who_is_out(self) -> None:
        if self.round is not None:
            self.out = np.flatnonzero(~self.alive[0])
            if len(self.out) > self.problem.n_arms - 2:
                self.round = None  # at most one arm is left

    def _standardized(self, value: FloatArray, is_number: BoolArray) -> FloatArray:
        """Return standardized rewards: 0 for the first, and 1 or -1 for the next different one.

        The level and the scale are estimated later. The standardization prevents overflow.
        """
        if not self.unit.all():
            self.zero = np.where(is_number & (self.posterior.n_told == 0), value, self.zero)
        with np.errstate(over="ignore"):
            value = value - self.zero
        is_first = (self.unit == 0) & (value != 0) & is_number
        if is_first.any():
            self.unit[is_first] = np.clip(np.abs(value[is_first]), 1e-150, 1e150)
        return value / np.where(self.unit > 0, self.unit, 1.0)

    def _close_pulls(self, arm: IntArray, repetition: IntArray) -> None:
        """Remove pulls from the list of pulls in flight."""
        left = []
        for open_arm, open_repetition in self.pending:
            same = (open_arm == arm) & (open_repetition == repetition)
            still = np.where(same, NO_ARM, open_arm)
            if (still != NO_ARM).any():
                left.append((still, open_repetition))
        self.pending = left
