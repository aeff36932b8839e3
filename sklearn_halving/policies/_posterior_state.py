"""What is told to a posterior, in which units, and which pulls are under way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sklearn_halving.policies._arm_posterior import ArmPosterior
from sklearn_halving.policies._gap_index import Exploration, first_largest
from sklearn_halving.policies._posterior_hyperparameters import Told
from sklearn_halving.policies._types import NO_ARM, BoolArray, FloatArray, IntArray, Problem

FARTHEST = 1e100
"""Distance of two rewards beyond which it counts as this much; its square is a number."""

REFITS = frozenset(5 * 2**i for i in range(30))
"""Numbers of rewards after which hyperparameters are estimated anew."""


def told_of(told: list[tuple[int, int, float]]) -> Told:
    """Return a list of pulls and rewards as arrays."""
    arm, split, rewards = zip(*told, strict=True)
    return Told(np.array(arm), np.array(split), np.array(rewards))


class Beliefs(NamedTuple):
    """The posterior in standardised units, and what these are.

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
    """Where a search stands; problems are rows.

    Parameters
    ----------
    problem : Problem
    batch_shape : tuple of int
    posterior : ArmPosterior
        Given the rewards told.
    exploration : Exploration
    standardize : bool
        Whether the level and the scale of the rewards are estimated.
    prior_mean : ndarray of shape (n_arms,)
    rng : numpy.random.Generator
    alive : ndarray of bool of shape (n_problems, n_arms)
        Arms that have returned finite rewards only.
    n_asked : ndarray of int of shape (n_problems, n_arms)
        The repetition of an arm's next pull.
    n_told : ndarray of int of shape (n_problems, n_arms)
        Finite rewards of each arm.
    infinite : ndarray of shape (n_problems, n_arms)
        Infinite rewards, which no posterior can take in.
    zero, unit : ndarray of shape (n_problems,)
        ``(reward - zero) / unit`` is what the posterior is told; a unit of 0 is not known yet and
        stands for 1.
    """

    problem: Problem
    batch_shape: tuple[int, ...]
    posterior: ArmPosterior
    exploration: Exploration
    standardize: bool
    prior_mean: FloatArray
    rng: np.random.Generator
    alive: BoolArray
    n_asked: IntArray
    n_told: IntArray
    infinite: FloatArray
    zero: FloatArray
    unit: FloatArray
    refit: Callable[[Told], tuple[ArmPosterior, Exploration]] | None = None
    """Makes the posterior from what was told, with new hyperparameters; not for batches."""
    told: list[tuple[int, int, float]] = field(default_factory=list)
    """Arms, repetitions and what the posterior was told of them, for `refit`."""
    n_rounds: int = 0
    ahead: ArmPosterior | None = None
    """Given the pulls in flight as well; None: to be made when it is needed."""
    pending: list[tuple[IntArray, IntArray]] = field(default_factory=list)
    """Arms and repetitions in flight, oldest first."""
    # Of every round, in standardised units: those of round one and of the last can be compared.
    leaders: list[IntArray] = field(default_factory=list)
    bounds: list[FloatArray] = field(default_factory=list)

    def open_pulls(self, arm: IntArray, repetition: IntArray) -> None:
        """Note that each problem has one more pull under way."""
        self.n_rounds += 1
        self.pending.append((arm, repetition))
        if self.ahead is not None:
            self.ahead.update(arm, repetition, None)

    def posterior_ahead(self) -> ArmPosterior:
        """Return the posterior whose variances know of the pulls under way."""
        if not self.pending:
            return self.posterior
        if self.ahead is None:
            self.ahead = self.posterior.copy()
            for arm, repetition in self.pending:
                self.ahead.update(arm, repetition, None)
        return self.ahead

    def may_pull(self) -> BoolArray:
        """Return the arms that can be pulled; none where the one arm left has a reward."""
        may_pull: BoolArray = self.alive
        if self.problem.max_repetitions is not None:
            may_pull = may_pull & (self.n_asked < self.problem.max_repetitions)
        n_alive = self.alive.sum(axis=1)
        if n_alive.min(initial=2) < 2:
            is_settled = self.is_known() | (self.problem.n_arms == 1)
            goes_on = (n_alive > 1) | ~is_settled
            may_pull = np.logical_and(may_pull, goes_on[:, np.newaxis])
        return may_pull

    def is_known(self) -> BoolArray:
        """Return in which problems an arm in play has a reward, shape ``(n_problems,)``."""
        n_known = ((self.n_told > 0) & self.alive).sum(axis=1)
        is_known: BoolArray = n_known > 0
        return is_known

    def beliefs(self) -> Beliefs:
        """Return posterior means in standardised units."""
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

    def leader_of_least_bound(self, otherwise: IntArray) -> IntArray:
        """Return the paper's recommendation; leaders that are out by now do not count."""
        rows = np.arange(len(self.alive))
        leaders, bounds = np.array(self.leaders).T, np.array(self.bounds).T
        is_alive = self.alive[rows[:, np.newaxis], leaders]
        place = first_largest(np.where(is_alive, -bounds, -np.inf))
        return np.where(is_alive.any(axis=1), leaders[rows, place], otherwise)

    def take_in(self, arm: IntArray, repetition: IntArray, reward: FloatArray) -> None:
        """Close one pull of each problem; an arm with a reward that is no number is out."""
        self._close_pulls(arm, repetition)
        rows = np.arange(len(arm))
        is_pull = arm != NO_ARM
        is_number = is_pull & np.isfinite(reward)
        lost = is_pull & ~is_number
        if lost.any():
            self.alive[rows[lost], arm[lost]] = False
            with np.errstate(invalid="ignore"):  # plus and minus infinity are NaN: neither
                self.infinite[rows[lost], arm[lost]] += reward[lost]
        value = np.where(is_number, reward, 0.0) - self.prior_mean[arm]
        if self.standardize:
            value = self._standardized(value, is_number)
        value = np.minimum(np.maximum(value, -FARTHEST), FARTHEST)
        self.n_told[rows[is_number], arm[is_number]] += 1
        self.posterior.update(np.where(is_number, arm, NO_ARM), repetition, value)
        if lost.any() or not self.pending:
            self.ahead = None  # it had counted on a reward
        if self.refit is not None and is_number[0]:
            self.told.append((int(arm[0]), int(repetition[0]), float(value[0])))
            if len(self.told) in REFITS:
                self.posterior, self.exploration = self.refit(told_of(self.told))
                self.ahead = None

    def _standardized(self, value: FloatArray, is_number: BoolArray) -> FloatArray:
        """Return what the posterior is told: the first reward is 0, the first other one 1 or -1.

        Level and scale are estimated later; here they are brought where squares are numbers.
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
        """Take pulls off the list of those under way."""
        left = []
        for open_arm, open_repetition in self.pending:
            same = (open_arm == arm) & (open_repetition == repetition)
            still = np.where(same, NO_ARM, open_arm)
            if (still != NO_ARM).any():
                left.append((still, open_repetition))
        self.pending = left
