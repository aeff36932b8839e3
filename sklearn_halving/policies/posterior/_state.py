"""State of BayesGap: what is known of each arm, the posterior, and the pulls in flight."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import NamedTuple

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Shape
from sklearn_halving.policies._types import NO_ARM, Problem, Pulls
from sklearn_halving.policies.bases._gap_rule import Exploration, first_largest
from sklearn_halving.policies.bases._ranking import any_of_each
from sklearn_halving.policies.posterior._arm_posterior import ArmPosterior
from sklearn_halving.policies.posterior._prior import Refits
from sklearn_halving.policies.posterior._pulls_in_flight import PullsInFlight
from sklearn_halving.policies.posterior._single_problem import SingleRound

FARTHEST = 1e100
"""Upper limit of standardized rewards, so that their squares do not overflow."""


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
    refits : Refits or None
        The rewards so far, if hyperparameters are fitted to them.
    """

    problem: Problem
    batch_shape: Shape
    rng: np.random.Generator
    arms: ArmCounts
    prior_mean: FloatArray
    units: Units | None
    posterior: ArmPosterior
    exploration: Exploration
    refits: Refits | None
    lowest: FloatArray = field(init=False)
    """The lowest finite reward of each problem so far, which replaces the reward of failed
    pulls; infinite if there is none."""
    in_flight: PullsInFlight = field(default_factory=PullsInFlight)
    n_rounds: int = 0
    priority: FloatArray | None = None
    """Ties go to the arm with the largest priority, or to the first arm if None."""
    rounds: list[tuple[IntArray | int, FloatArray | float]] = field(default_factory=list)
    """The leaders of all rounds, and the bounds of their regrets in standardized units."""
    single: SingleRound | None = field(init=False, default=None)
    """The faster implementation of a round, for a single problem with several arms in play."""

    def __post_init__(self) -> None:
        """Use the faster implementation for a single problem."""
        self.lowest = np.full(len(self.arms.alive), np.inf)
        if self.batch_shape == () and self.problem.n_arms > 1 and not self.prior_mean.any():
            self.single = SingleRound(self.problem.n_arms)

    def break_ties(self, seed: np.random.SeedSequence) -> None:
        """Break ties at random, because the first arms of a grid are corners."""
        own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1))
        order = np.random.default_rng(own).permutation(self.problem.n_arms)
        self.priority = 1 + order.astype(np.float64)
        if self.single is not None:
            self.single.priority = self.priority

    def open_pulls(self, arm: IntArray, repetition: IntArray) -> None:
        """Record that each problem has one more pull in flight."""
        self.n_rounds += 1
        self.in_flight.open(arm, repetition)

    def may_pull(self) -> BoolArray:
        """Return the arms that can be pulled."""
        return self.arms.may_pull(self.problem.max_repetitions)

    def has_room(self) -> bool:
        """Return whether all arms of a single problem have unused repetitions."""
        most = self.problem.max_repetitions
        return self.single is not None and (most is None or self.n_rounds < most)

    def choose_in_single(self, epsilon: float) -> int | None:
        """Return the arm of a round of a single problem; None if `SingleRound` does not apply."""
        if self.single is None or not self.has_room():
            return None
        offset, scale = 0.0, 1.0
        if self.units is not None:
            offset, scale = self.posterior.offset_and_scale_of_one()
            epsilon /= scale * (self.units.unit.item(0) or 1.0)
        board = self.posterior.board[0]
        np.sqrt(self.in_flight.ahead_of(self.posterior).variance[0], board[2])
        weights = 1 / scale, -offset / scale
        arm, leader, bound = self.single.choose(self.exploration, board, weights, epsilon)
        self.rounds.append((leader, bound))
        return arm

    def pull_in_single(self, arm: int) -> Pulls:
        """Record and return the next pull of a single problem."""
        repetition = self.arms.n_asked.item(0, arm)
        self.arms.n_asked[0, arm] = repetition + 1
        level = self.problem.max_level
        pulls = Pulls(np.array([arm]), np.array([level]), np.array([repetition]))
        self.open_pulls(pulls.arm, pulls.repetition)
        return pulls

    def may_win(self) -> BoolArray:
        """Return the arms that can be recommended, in the shape of ``arms.alive``."""
        if self.refits is None:
            return self.arms.alive
        is_hopeless = self.refits.is_hopeless()
        others: BoolArray = self.arms.alive & (self.arms.n_told > 0) & ~is_hopeless
        return self.arms.alive & ~(is_hopeless & others.any(axis=1, keepdims=True))

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

    def take_in_one(self, arm: int, repetition: int, reward: float) -> None:
        """Record a reward of a single problem, with few calls of NumPy in the usual case."""
        units, in_flight = self.units, self.in_flight
        is_usual = self.single is not None and isfinite(reward) and not in_flight.lost
        if is_usual and units is not None:
            is_usual = units.unit.item(0) > 0
        if not (is_usual and in_flight.close_oldest(arm, repetition)):
            self.take_in(np.array([arm]), np.array([repetition]), np.array([reward]))
            return
        if reward < self.lowest.item(0):
            self.lowest[0] = reward
        if units is not None:
            reward = (reward - units.zero.item(0)) / units.unit.item(0)
        self.arms.n_told[0, arm] += 1
        self._learn_one(arm, repetition, min(max(reward, -FARTHEST), FARTHEST))

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
        if self.refits is None:
            self.posterior.update(np.where(is_told, arm, NO_ARM), repetition, value)
        elif is_told[0]:
            self._learn_one(int(arm[0]), int(repetition[0]), float(value[0]))

    def _learn_one(self, arm: int, repetition: int, value: float) -> None:
        """Update the posterior of a single problem, and its hyperparameters if it is time."""
        if self.refits is None:
            self.posterior.update_one(arm, repetition, value)
        else:
            self.posterior.update_one(arm, repetition, max(value, self.refits.floor))
            if self.refits.add(arm, repetition, value):
                self.posterior, self.exploration = self.refits.fit()
                self.in_flight.ahead = None

    def _eliminate(self, rows: IntArray, arm: IntArray, reward: FloatArray) -> None:
        self.arms.alive[rows, arm] = False
        with np.errstate(invalid="ignore"):  # the sum of plus and minus infinity is NaN
            self.arms.infinite[rows, arm] += reward
        if self.single is not None:
            self.single.out = np.flatnonzero(~self.arms.alive[0])
            if len(self.single.out) > self.problem.n_arms - 2:
                self.single = None  # at most one arm is left
