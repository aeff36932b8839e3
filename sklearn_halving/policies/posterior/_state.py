"""State of BayesGap: what is known of each arm, the posterior, and the pulls in flight."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Shape
from sklearn_halving.policies._types import NO_ARM, Problem
from sklearn_halving.policies.bases._gap_rule import Exploration, first_largest
from sklearn_halving.policies.bases._ranking import any_of_each
from sklearn_halving.policies.posterior._arm_posterior import ArmPosterior

FARTHEST = 1e100
"""Upper limit of standardized rewards, so that their squares do not overflow."""

PullOfEach = tuple[IntArray, IntArray]
"""Arms and repetitions of shape (n_problems,), with ``NO_ARM`` for problems without a pull."""


class Beliefs(NamedTuple):
    """The posterior means in standardized units, and the units.

    Parameters
    ----------
    mean : ndarray of shape (n_problems, n_arms)
    offset, scale : ndarray of shape (n_problems,)
        ``offset + scale * mean`` is the posterior mean in the units of the rewards.
    known_scale : ndarray of shape (n_problems,)
        The scale, or NaN if it is not known because all rewards are equal.
    """

    mean: FloatArray
    offset: FloatArray
    scale: FloatArray
    known_scale: FloatArray


@dataclass(eq=False)
class ArmCounts:
    """What is known of each arm. All arrays have shape (n_problems, n_arms).

    Parameters
    ----------
    alive : ndarray of bool
        Arms with finite rewards only.
    n_asked : ndarray of int
        The next repetition of each arm.
    n_told : ndarray of int
        Number of finite rewards of each arm.
    infinite : ndarray of float
        Sum of the infinite rewards and NaN, which are not part of the posterior.
    """

    alive: BoolArray
    n_asked: IntArray
    n_told: IntArray
    infinite: FloatArray

    @classmethod
    def none(cls, shape: Shape) -> ArmCounts:
        """Return the counts before the first pull."""
        n_asked, n_told = np.zeros((2, *shape), dtype=np.int64)
        return cls(np.ones(shape, dtype=bool), n_asked, n_told, np.zeros(shape))

    def is_known(self) -> BoolArray:
        """Return in which problems an arm in play has a reward, shape ``(n_problems,)``."""
        return any_of_each((self.n_told > 0) & self.alive)

    def may_pull(self, max_repetitions: int | None) -> BoolArray:
        """Return the arms that can be pulled; none if only one arm is left and has a reward."""
        may_pull: BoolArray = self.alive
        if max_repetitions is not None:
            may_pull = may_pull & (self.n_asked < max_repetitions)
        n_alive = self.alive.sum(axis=1)
        if n_alive.min(initial=2) < 2:
            is_settled = self.is_known() | (self.alive.shape[1] == 1)
            goes_on = (n_alive > 1) | ~is_settled
            may_pull = np.logical_and(may_pull, goes_on[:, np.newaxis])
        return may_pull


@dataclass(eq=False)
class Units:
    """Units of the rewards in the posterior, which prevent overflow. Shapes are (n_problems,).

    The first reward becomes 0, and the next different one becomes 1 or -1. The level and the
    scale are estimated later, in these units.

    Parameters
    ----------
    zero : ndarray of float
        The first reward.
    unit : ndarray of float
        Distance to the next different reward; 0 before there is one.
    """

    zero: FloatArray
    unit: FloatArray

    def known(self) -> FloatArray:
        """Return the unit, or 1 if it is not known."""
        return np.where(self.unit > 0, self.unit, 1.0)

    def convert(self, value: FloatArray, is_told: BoolArray, is_first: BoolArray) -> FloatArray:
        """Return rewards in these units. The first ones of a problem set its units."""
        if not self.unit.all():
            self.zero = np.where(is_told & is_first, value, self.zero)
        with np.errstate(over="ignore"):
            value = value - self.zero
        is_next = (self.unit == 0) & (value != 0) & is_told
        if is_next.any():
            self.unit[is_next] = np.clip(np.abs(value[is_next]), 1e-150, 1e150)
        return value / self.known()


@dataclass(eq=False)
class PullsInFlight:
    """Pulls without a reward in the posterior, whose variances they reduce.

    Parameters
    ----------
    pending : list of tuple
        Arms and repetitions in flight, oldest first.
    lost : list of tuple
        Arms and repetitions of pulls that failed before the first reward of their problem. They
        reduce the variances, so that the policy leaves a region in which all arms fail.
    ahead : ArmPosterior or None
        Posterior that includes all of them; None if it has to be computed.
    """

    pending: list[PullOfEach] = field(default_factory=list)
    lost: list[PullOfEach] = field(default_factory=list)
    ahead: ArmPosterior | None = None

    def open(self, arm: IntArray, repetition: IntArray) -> None:
        """Add a pull of each problem."""
        self.pending.append((arm, repetition))
        if self.ahead is not None:
            self.ahead.update(arm, repetition, None)

    def close_oldest(self, arm: int, repetition: int) -> bool:
        """Remove the oldest pull of a single problem, and return whether it is the given one."""
        if not self.pending:
            return False
        oldest_arm, oldest_repetition = self.pending[0]
        if oldest_arm.item(0) != arm or oldest_repetition.item(0) != repetition:
            return False
        del self.pending[0]
        if not self.pending:
            self.ahead = None
        return True

    def close(self, arm: IntArray, repetition: IntArray) -> None:
        """Remove a pull of each problem."""
        left = [(np.where((a == arm) & (r == repetition), NO_ARM, a), r) for a, r in self.pending]
        self.pending = _without_empty(left)
        if not self.pending:
            self.ahead = None

    def lose(self, arm: IntArray, repetition: IntArray) -> None:
        """Add pulls that failed before the first reward of their problem."""
        if (arm != NO_ARM).any():
            self.lost.append((arm, repetition))

    def find(
        self, has_reward: BoolArray, lowest: FloatArray
    ) -> list[tuple[IntArray, IntArray, FloatArray, BoolArray]]:
        """Remove the lost pulls of problems that have a reward now.

        Returns
        -------
        found : list of tuple
            Arms, repetitions, their rewards, and in which problems they were found.
        """
        found = [(arm, split, lowest, has_reward & (arm != NO_ARM)) for arm, split in self.lost]
        if found:
            self.ahead = None
            left = [(np.where(has_reward, NO_ARM, arm), split) for arm, split in self.lost]
            self.lost = _without_empty(left)
        return found

    def ahead_of(self, posterior: ArmPosterior) -> ArmPosterior:
        """Return the posterior whose variances include these pulls."""
        if not self.pending and not self.lost:
            return posterior
        if self.ahead is None:
            self.ahead = posterior.copy()
            for arm, repetition in (*self.lost, *self.pending):
                self.ahead.update(arm, repetition, None)
        return self.ahead


def _without_empty(pulls: list[PullOfEach]) -> list[PullOfEach]:
    return [pull for pull in pulls if (pull[0] != NO_ARM).any()]


@dataclass(eq=False)
class PosteriorState:
    """State of BayesGap. Each problem of the batch is a row.

    Parameters
    ----------
    problem : Problem
    batch_shape : tuple of int
    rng : numpy.random.Generator
    arms : ArmCounts
    prior_mean : ndarray of shape (n_arms,)
    units : Units or None
        None if the level and the scale of the rewards are known.
    posterior : ArmPosterior
        Posterior given the rewards so far.
    exploration : Exploration
    in_flight : PullsInFlight
    n_rounds : int
        Number of pulls of each problem that were requested.
    priority : ndarray of shape (n_arms,) or None
        Ties go to the arm with the largest priority, or to the first arm if None.
    rounds : list of tuple
        The leaders of all rounds, and the bounds of their regrets in standardized units.

    Attributes
    ----------
    lowest : ndarray of shape (n_problems,)
        The lowest finite reward of each problem so far, which replaces the reward of failed
        pulls; infinite if there is none.
    """

    problem: Problem
    batch_shape: Shape
    rng: np.random.Generator
    arms: ArmCounts
    prior_mean: FloatArray
    units: Units | None
    posterior: ArmPosterior
    exploration: Exploration
    in_flight: PullsInFlight = field(default_factory=PullsInFlight)
    n_rounds: int = 0
    priority: FloatArray | None = None
    rounds: list[tuple[IntArray | int, FloatArray | float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Start without rewards."""
        self.lowest: FloatArray = np.full(len(self.arms.alive), np.inf)

    def break_ties(self, seed: np.random.SeedSequence) -> None:
        """Break ties at random, because the first arms of a grid are corners."""
        own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1))
        order = np.random.default_rng(own).permutation(self.problem.n_arms)
        self.priority = 1 + order.astype(np.float64)

    def open_pulls(self, arm: IntArray, repetition: IntArray) -> None:
        """Record that each problem has one more pull in flight."""
        self.n_rounds += 1
        self.in_flight.open(arm, repetition)

    def may_pull(self) -> BoolArray:
        """Return the arms that can be pulled."""
        return self.arms.may_pull(self.problem.max_repetitions)

    def goes_on(self) -> bool:
        """Return whether an arm can be pulled."""
        return bool(self.may_pull().any())

    def may_win(self) -> BoolArray:
        """Return the arms that can be recommended, in the shape of ``arms.alive``."""
        return self.arms.alive

    def beliefs(self) -> Beliefs:
        """Return posterior means in standardized units."""
        of_rewards, of_ones = self.posterior.answers[:, 0], self.posterior.answers[:, 1]
        if self.units is None:
            one = np.ones(len(of_rewards))
            return Beliefs(self.prior_mean + of_rewards, 0 * one, one, one)
        offset, known_scale = self.posterior.offset_and_scale()
        scale = np.where(np.isnan(known_scale), 1.0, known_scale)
        mean = (of_rewards - offset[:, np.newaxis] * of_ones) / scale[:, np.newaxis]
        unit = self.units.known()
        if self.prior_mean.any():
            mean += self.prior_mean / (unit * scale)[:, np.newaxis]
        return Beliefs(mean, self.units.zero + unit * offset, unit * scale, unit * known_scale)

    def in_rewards(self) -> tuple[FloatArray, FloatArray]:
        """Return posterior means and standard deviations in units of reward.

        Both arrays have shape ``(n_problems, n_arms)``. Standard deviations are NaN if the scale
        is not known.
        """
        beliefs = self.beliefs()
        mean = beliefs.offset[:, np.newaxis] + beliefs.scale[:, np.newaxis] * beliefs.mean
        return mean, beliefs.known_scale[:, np.newaxis] * np.sqrt(self.posterior.variance)

    def regret_bounds(self) -> FloatArray:
        """Return the bounds of all rounds in units of reward, shape ``(n_problems, n_rounds)``."""
        return self._bounds() * self.beliefs().known_scale[:, np.newaxis]

    def _bounds(self) -> FloatArray:
        bounds = np.array([np.ravel(bound) for _, bound in self.rounds])
        return bounds.reshape(len(self.rounds), len(self.lowest)).T

    def leader_of_least_bound(self, otherwise: IntArray, may_win: BoolArray) -> IntArray:
        """Return the recommendation of the paper, ignoring leaders that may not win."""
        leaders = np.array([np.ravel(leader) for leader, _ in self.rounds]).T
        rows = np.arange(len(leaders))
        is_allowed = may_win[rows[:, np.newaxis], leaders]
        place = first_largest(np.where(is_allowed, -self._bounds(), -np.inf))
        return np.where(is_allowed.any(axis=1), leaders[rows, place], otherwise)

    def take_in(self, arm: IntArray, repetition: IntArray, reward: FloatArray) -> None:
        """Record one reward of each problem. An arm with a non-finite reward is eliminated.

        In the posterior, the reward of a failed pull is replaced by the lowest reward so far.
        """
        arms, rows = self.arms, np.arange(len(arm))
        is_pull = arm != NO_ARM
        is_number = is_pull & np.isfinite(reward)
        has_failed = is_pull & ~is_number
        self.in_flight.close(arm, repetition)
        if has_failed.any():
            self._eliminate(rows[has_failed], arm[has_failed], reward[has_failed])
            has_failed &= reward != np.inf
        arms.n_told[rows[is_number], arm[is_number]] += 1
        self.lowest = np.where(is_number, np.minimum(self.lowest, reward), self.lowest)
        is_lost = has_failed & np.isinf(self.lowest)
        self.in_flight.lose(np.where(is_lost, arm, NO_ARM), repetition)
        is_told = is_number | (has_failed & ~is_lost)
        if (is_pull & ~is_told).any():
            self.in_flight.ahead = None  # it included a pull that has no reward
        told = [(arm, repetition, np.where(is_number, reward, self.lowest), is_told)]
        if is_number.any():
            told += self.in_flight.find(is_number, self.lowest)
        for pulls in told:
            self._learn(*pulls)

    def _learn(
        self, arm: IntArray, repetition: IntArray, reward: FloatArray, is_told: BoolArray
    ) -> None:
        """Update the posterior of the problems that have a reward."""
        value = np.where(is_told, reward, 0.0) - self.prior_mean[arm]
        if self.units is not None:
            value = self.units.convert(value, is_told, self.posterior.n_told == 0)
        value = np.minimum(np.maximum(value, -FARTHEST), FARTHEST)
        self._update(arm, repetition, value, is_told)

    def _update(
        self, arm: IntArray, repetition: IntArray, value: FloatArray, is_told: BoolArray
    ) -> None:
        """Update the posterior with rewards in its units."""
        self.posterior.update(np.where(is_told, arm, NO_ARM), repetition, value)

    def _eliminate(self, rows: IntArray, arm: IntArray, reward: FloatArray) -> None:
        self.arms.alive[rows, arm] = False
        with np.errstate(invalid="ignore"):  # the sum of plus and minus infinity is NaN
            self.arms.infinite[rows, arm] += reward
