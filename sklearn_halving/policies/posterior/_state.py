"""State of BayesGap: what is known of each arm, the posterior, and the pulls in flight."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._types import NO_ARM, Problem
from sklearn_halving.policies.bases._gap_rule import Exploration, first_largest
from sklearn_halving.policies.posterior._arm_posterior import ArmPosterior
from sklearn_halving.policies.posterior._hyperparameters import REFITS, Refits

FARTHEST = 1e100
"""Largest distance of a reward from the first one, so that squares do not overflow."""

Shape = tuple[int, ...]
PullOfEach = tuple[IntArray, IntArray]
"""Arms and repetitions of shape (n_problems,), with ``NO_ARM`` for problems without a pull."""


def places(values: FloatArray, column: IntArray) -> IntArray:
    """Return the places in the flat array of one column of each row, for `take` and `put`."""
    return np.arange(0, values.size, values.shape[1]) + column


N_DOUBTS = 2
"""A split is suspected to be broken if so many pulls failed there and none succeeded."""


class BrokenSplits:
    """The pulls that failed on splits on which no arm has a reward so far.

    As long as this is so, they say nothing about their arms. Each problem of the batch has its own
    splits. Arrays have one entry for each pull.
    """

    def __init__(self, n_problems: int) -> None:
        self.works = np.zeros((n_problems, 1), dtype=bool)
        """Whether an arm has a reward on a split, shape (n_problems, n_splits)."""
        self.doubtful = np.zeros((3, 0), dtype=np.int64)
        """Problems, arms and splits of the failed pulls."""

    def take_in(
        self, problem: IntArray, arm: IntArray, split: IntArray, rewards: FloatArray
    ) -> IntArray:
        """Record pulls, and return problems, arms and splits of pulls for which arms failed."""
        n_more = max(0, int(split.max(initial=-1)) + 1 - self.works.shape[1])
        self.works = np.pad(self.works, ((0, 0), (0, n_more)))
        is_lost = np.isnan(rewards)
        self.works[problem[~is_lost], split[~is_lost]] = True
        lost = np.stack([problem, arm, split])[:, is_lost]
        doubtful = np.concatenate([self.doubtful, lost], axis=1)
        is_at_fault = self.works[doubtful[0], doubtful[2]]
        self.doubtful = doubtful[:, ~is_at_fault]
        return doubtful[:, is_at_fault]

    def suspects(self) -> BoolArray:
        """Return which splits may be broken, shape (n_problems, n_splits)."""
        n_doubts = np.zeros(self.works.shape, dtype=np.int64)
        np.add.at(n_doubts, (self.doubtful[0], self.doubtful[2]), 1)
        return n_doubts >= N_DOUBTS


class Estimates(NamedTuple):
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
class PosteriorState:
    """State of BayesGap. Each problem of the batch is a row.

    Parameters
    ----------
    problem : Problem
    batch_shape : tuple of int
    rng : numpy.random.Generator
    prior_mean : ndarray of shape (n_arms,)
    standardize : bool
        Whether the level and the scale of the rewards are estimated.
    posterior : ArmPosterior
        Posterior given the rewards so far.
    exploration : Exploration
    refits : Refits or None
        The rewards so far, if hyperparameters are fitted to them.
    priority : ndarray of shape (n_arms,) or None
        Ties go to the arm with the largest priority, or to the first arm if None.
    n_rounds : int
        Number of pulls of each problem that were requested.
    rounds : list of tuple
        The leaders of all rounds, and the bounds of their regrets in standardized units.
    pending : list of tuple
        Arms and repetitions of the pulls in flight, oldest first.
    lost : list of tuple
        Arms and repetitions of failed pulls of problems without a reward.
    splits : BrokenSplits
        The splits on which nothing works. Arms that fail there may be pulled again. All failed
        pulls reduce the variances, so that the policy leaves a region in which all arms fail.

    Attributes
    ----------
    alive : ndarray of bool of shape (n_problems, n_arms)
        Arms with finite rewards only.
    n_asked, n_told : ndarray of int of shape (n_problems, n_arms)
        The next repetition of each arm, and the number of its finite rewards.
    infinite : ndarray of shape (n_problems, n_arms)
        Sum of the infinite rewards and NaN, which are not part of the posterior.
    lowest : ndarray of shape (n_problems,)
        The lowest finite reward of each problem so far, which replaces the reward of failed
        pulls; infinite if there is none.
    zero : ndarray of shape (n_problems,)
        The first reward, which is subtracted from all if their level is estimated.
    """

    problem: Problem
    batch_shape: Shape
    rng: np.random.Generator
    prior_mean: FloatArray
    standardize: bool
    posterior: ArmPosterior
    exploration: Exploration
    refits: Refits | None = None
    priority: FloatArray | None = None
    n_rounds: int = 0
    rounds: list[tuple[IntArray, FloatArray]] = field(default_factory=list)
    pending: list[PullOfEach] = field(default_factory=list)
    lost: list[PullOfEach] = field(default_factory=list)
    splits: BrokenSplits = field(init=False)
    _ahead: ArmPosterior | None = None

    def __post_init__(self) -> None:
        """Start without rewards."""
        shape = self.posterior.variance.shape
        self.alive, self.splits = np.ones(shape, dtype=bool), BrokenSplits(shape[0])
        self.n_asked, self.n_told = np.zeros((2, *shape), dtype=np.int64)
        self.infinite = np.zeros(shape)
        self.lowest = np.full(shape[0], np.inf)
        self.zero = np.zeros(shape[0])

    def break_ties(self, seed: np.random.SeedSequence) -> None:
        """Break ties at random, because the first arms of a grid are corners."""
        own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1))
        order = np.random.default_rng(own).permutation(self.problem.n_arms)
        self.priority = 1 + order.astype(np.float64)

    def is_known(self) -> BoolArray:
        """Return in which problems an arm in play has a reward, shape ``(n_problems,)``."""
        return ((self.n_told > 0) & self.alive).any(axis=1)

    def may_pull(self) -> BoolArray:
        """Return the arms that can be pulled; none if only one arm is left and has a reward."""
        may_pull: BoolArray = self.alive
        if self.problem.max_repetitions is not None:
            may_pull = may_pull & (self.n_asked < self.problem.max_repetitions)
        n_alive = self.alive.sum(axis=1)
        if n_alive.min(initial=2) < 2:
            is_settled = self.is_known() | (self.problem.n_arms == 1)
            may_pull = may_pull & ((n_alive > 1) | ~is_settled)[:, np.newaxis]
        return may_pull

    def may_win(self) -> BoolArray:
        """Return the arms that can be recommended, in the shape of ``alive``."""
        if self.refits is None:
            return self.alive
        may_win = self.alive.copy()
        may_win[:, self.refits.hopeless()] = False
        has_others = (may_win & (self.n_told > 0)).any()
        return may_win if has_others else self.alive

    def estimates(self) -> Estimates:
        """Return posterior means in standardized units."""
        of_rewards, of_ones = self.posterior.answers[:, 0], self.posterior.answers[:, 1]
        offset, known_scale = np.zeros_like(self.zero), np.ones_like(self.zero)
        if self.standardize:
            offset, known_scale = self.posterior.offset_and_scale()
        scale = np.where(np.isnan(known_scale), 1.0, known_scale)
        mean = self.prior_mean + of_rewards - offset[:, np.newaxis] * of_ones
        return Estimates(mean / scale[:, np.newaxis], self.zero + offset, scale, known_scale)

    def posterior_ahead(self) -> ArmPosterior:
        """Return the posterior whose variances include the pulls in flight and the lost ones."""
        failed = [*self.lost, *(self._pull_of_each(*pull) for pull in self.splits.doubtful.T)]
        if not self.pending and not failed:
            return self.posterior
        if self._ahead is None:
            self._ahead = self.posterior.copy()
            for arm, repetition in (*failed, *self.pending):
                self._ahead.update(arm, repetition, None)
        return self._ahead

    def bounds(self) -> FloatArray:
        """Return the bounds of all rounds, standardized; shape ``(n_problems, n_rounds)``."""
        bounds = np.array([bound for _, bound in self.rounds])
        return bounds.reshape(len(self.rounds), len(self.lowest)).T

    def leader_of_least_bound(self, otherwise: IntArray, may_win: BoolArray) -> IntArray:
        """Return the recommendation of the paper, ignoring leaders that may not win."""
        leaders = np.array([leader for leader, _ in self.rounds]).T
        is_allowed = np.take_along_axis(may_win, leaders, axis=1)
        place = np.array([first_largest(np.where(is_allowed, -self.bounds(), -np.inf)[0])])
        leader = np.take_along_axis(leaders, place[:, np.newaxis], axis=1)[:, 0]
        return np.where(is_allowed.any(axis=1), leader, otherwise)

    def open_pulls(self, arm: IntArray) -> PullOfEach:
        """Record that each problem has one more pull in flight, and return the pulls."""
        rows = np.arange(len(arm))
        repetition = self._next_split(rows, self.n_asked[rows, arm])
        self.n_asked[rows, arm] = np.where(arm == NO_ARM, self.n_asked[rows, arm], repetition + 1)
        self.n_rounds += 1
        self.pending.append((arm, repetition))
        if self._ahead is not None:
            self._ahead.update(arm, repetition, None)
        return arm, repetition

    def _next_split(self, rows: IntArray, repetition: IntArray) -> IntArray:
        """Return the first repetitions, from the given ones on, whose splits may work."""
        suspects, last = self.splits.suspects(), (self.problem.max_repetitions or np.inf) - 1
        while True:
            known = np.minimum(repetition, suspects.shape[1] - 1)
            is_suspect = suspects[rows, known] & (known == repetition) & (repetition < last)
            if not is_suspect.any():
                return repetition
            repetition = repetition + is_suspect

    def take_in(self, arm: IntArray, repetition: IntArray, reward: FloatArray) -> None:
        """Record one reward of each problem. An arm that fails or is infinite is eliminated.

        In the posterior, the reward of a failed pull is replaced by the lowest reward so far.
        """
        self._close(arm, repetition)
        is_pull, is_number = arm != NO_ARM, np.isfinite(reward)
        told = np.where(is_pull & is_number, arm, NO_ARM)
        rows = np.flatnonzero(told != NO_ARM)
        self.n_told[rows, arm[rows]] += 1
        self.lowest[rows] = np.minimum(self.lowest, reward)[rows]
        self._learn(told, repetition, reward)
        rows = np.flatnonzero(is_pull & np.isinf(reward))
        self.alive[rows, arm[rows]] = False
        with np.errstate(invalid="ignore"):  # the sum of plus and minus infinity is NaN
            self.infinite[rows, arm[rows]] += reward[rows]
        rows = np.flatnonzero(is_pull)
        failed = self.splits.take_in(rows, arm[rows], repetition[rows], reward[rows])
        self.alive[failed[0], failed[1]] = False
        self.infinite[failed[0], failed[1]] = np.nan
        if not is_number[is_pull].all() or failed.size:
            self._ahead = None
        self.lost.append((np.where(is_pull & (reward == -np.inf), arm, NO_ARM), repetition))
        self.lost += [self._pull_of_each(*pull) for pull in failed.T]
        self._learn_lost()

    def _pull_of_each(self, problem: int, arm: int, repetition: int) -> PullOfEach:
        """Return a pull of a single problem."""
        arms, repetitions = np.full((2, len(self.lowest)), NO_ARM)
        arms[problem], repetitions[problem] = arm, repetition
        return arms, repetitions

    def _close(self, arm: IntArray, repetition: IntArray) -> None:
        """Remove pulls from those in flight."""
        left = [(np.where((a == arm) & (r == repetition), NO_ARM, a), r) for a, r in self.pending]
        self.pending = _without_empty(left)
        if not self.pending:
            self._ahead = None

    def _learn_lost(self) -> None:
        """Learn the lowest reward of the pulls that failed, if the problem has a reward."""
        lost, self.lost = _without_empty(self.lost), []
        has_reward = np.isfinite(self.lowest)
        for arm, repetition in lost:
            self._learn(np.where(has_reward, arm, NO_ARM), repetition, self.lowest)
            self._ahead = None
        left = [(np.where(has_reward, NO_ARM, arm), repetition) for arm, repetition in lost]
        self.lost = _without_empty(left)

    def _learn(self, arm: IntArray, repetition: IntArray, reward: FloatArray) -> None:
        """Update the posterior of the problems that have a pull."""
        is_pull = arm != NO_ARM
        if not is_pull.any():
            return
        value = np.where(is_pull, reward, 0.0) - self.prior_mean[arm]
        if self.standardize:
            is_first = is_pull & (self.posterior.n_told == 0)
            self.zero = np.where(is_first, value, self.zero)
        with np.errstate(over="ignore"):
            value = np.clip(value - self.zero, -FARTHEST, FARTHEST)
        refits = self.refits
        if refits is None:
            self.posterior.update(arm, repetition, value)
        else:
            self.posterior.update(arm, repetition, np.maximum(value, refits.floor))
            refits.pulls.append((int(arm[0]), int(repetition[0]), float(value[0])))
            if len(refits.pulls) in REFITS:
                self.posterior, self.exploration = refits.fit()
                self._ahead = None


def _without_empty(pulls: list[PullOfEach]) -> list[PullOfEach]:
    return [pull for pull in pulls if (pull[0] != NO_ARM).any()]
