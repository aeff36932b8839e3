"""The rule of gap-based exploration: which arm to pull, and how wide the bounds are.

`choose_by_gap` and `Exploration.beta` play many problems at a time. `GapRound` plays one problem
by the same rules, in few calls, because a search waits for it between fits; the tests hold the
two against each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import NamedTuple

import numpy as np

from sklearn_halving.policies._types import BoolArray, FloatArray, IntArray
from sklearn_halving.policies.posterior._arm_covariance import ArmCovariance, effective_n_arms

TIE = 1e-9
"""Scores that differ by a smaller share of the best are tied: rounding decides nothing."""

NOWHERE = -1e200
"""The bound of an arm that is out; of a size that can be subtracted."""

LEAST_DELTA = 0.05
"""One minus the confidence beyond which the effective beta does not grow."""


class GapChoice(NamedTuple):
    """What one round of gap-based exploration says, each of shape (n_problems,).

    Parameters
    ----------
    arm : ndarray of int
        The arm to pull: of leader and runner-up, the one of which less is known.
    leader : ndarray of int
        The paper's J: the arm whose regret has the least bound.
    bound : ndarray of float
        The paper's B_J: the bound of the leader's regret.
    """

    arm: IntArray
    leader: IntArray
    bound: FloatArray


def first_largest(score: FloatArray, priority: FloatArray | None = None) -> IntArray:
    """Return the first place in each row of a score that is, but for rounding, the largest.

    With ``priority``, positive and of the shape of the score or of a row, the first place of the
    largest priority among them.
    """
    top = score.max(axis=1, keepdims=True)  # minus infinity is fine, plus infinity is not
    top -= TIE * np.abs(top)
    is_tied = score >= top
    place: IntArray = (is_tied if priority is None else is_tied * priority).argmax(axis=1)
    return place


def choose_by_gap(
    mean: FloatArray,
    half_width: FloatArray,
    alive: BoolArray,
    may_pull: BoolArray,
    priority: FloatArray | None = None,
) -> GapChoice:
    """Play one round (Algorithm 1, with ``argmax`` in line 3, as the text of the paper has it).

    Parameters
    ----------
    mean, half_width : ndarray of shape (n_problems, n_arms)
        Bounds are ``mean +- half_width``.
    alive, may_pull : ndarray of bool of shape (n_problems, n_arms)
        Arms that can win, and those among them that can be pulled once more. Where neither
        leader nor runner-up can, it is the arm with the largest upper bound that can.
    priority : ndarray of shape (n_arms,) or None
        Who is taken among equals; None: the first.

    Returns
    -------
    GapChoice
        Where no arm is alive its entries mean nothing; the bound of an arm without rivals is 0.
    """
    rows = np.arange(len(mean))
    upper, lower = mean + half_width, mean - half_width
    if not alive.all():
        upper[~alive] = lower[~alive] = NOWHERE
    best, others, place = _two_largest(upper)
    gap = lower - best[:, np.newaxis]
    gap[rows, place] = lower[rows, place] - others
    leader = first_largest(gap, priority)
    bound = -gap[rows, leader]
    kept = upper[rows, leader]
    upper[rows, leader] = NOWHERE
    runner_up = first_largest(upper, priority)
    upper[rows, leader] = kept
    first, second = np.minimum(leader, runner_up), np.maximum(leader, runner_up)
    of_first = np.where(may_pull[rows, first], half_width[rows, first], -1.0)
    of_second = np.where(may_pull[rows, second], half_width[rows, second], -1.0)
    arm = np.where(of_second > of_first * (1 + TIE), second, first)
    neither = np.maximum(of_first, of_second) < 0
    if neither.any():
        rest = first_largest(np.where(may_pull, upper, NOWHERE))
        arm = np.where(neither, rest, arm)
    return GapChoice(arm, leader, np.where(bound > 0.5 * NOWHERE, bound, 0.0))


@dataclass(frozen=True)
class Exploration:
    """The exploration constant beta of eq. (9), with the hardness estimated in every round.

    Parameters
    ----------
    rule : {"effective", "printed"} or float
        A number is beta itself.
    n_pulls : int
        The horizon T.
    noise_variance : float
    n_counted : float
        The number of arms that T - K and the sums over arms count: K as printed, else `K_eff`.
    weight : float
        ``n_counted / K``.
    kappa : float
        ``sum_k 1 / G_kk``, times the weight; arms that are known from the start are left out.
    least, most : float
        What beta does not fall below, and does not exceed.
    """

    rule: str | float
    n_pulls: int
    noise_variance: float
    n_counted: float = 1.0
    weight: float = 1.0
    kappa: float = 0.0
    least: float = 0.0
    most: float = np.inf

    @classmethod
    def of(
        cls,
        rule: str | float,
        covariance: ArmCovariance,
        n_pulls: int,
        noise_variance: float,
    ) -> Exploration:
        """Work out what stays the same in all rounds."""
        if not isinstance(rule, str):
            return cls(rule, n_pulls, noise_variance)
        variance = np.asarray(covariance.diagonal)
        n_arms = len(variance)
        n_counted = effective_n_arms(covariance) if rule == "effective" else float(n_arms)
        weight = n_counted / n_arms
        varied = variance[variance > 1e-12 * variance.max()]
        kappa = weight * float((1 / varied).sum())
        least, most = 0.0, np.inf
        if rule == "effective":
            # Theorem 1: a good choice with probability 1 - K T exp(-beta^2 / 2). Eq. (9) leaves
            # the range in which this says something, for long horizons and small gaps.
            least = float(np.sqrt(2 * np.log(max(n_counted * n_pulls, 2.0))))
            most = float(np.sqrt(2 * np.log(n_counted * n_pulls / LEAST_DELTA)))
        return cls(rule, n_pulls, noise_variance, n_counted, weight, kappa, least, most)

    @cached_property
    def least_gap(self) -> float:
        """Half a gap below which hardness does not go.

        An arm pulled T times would be known this well: a hardness below it is out of reach, and
        its square is what T - K and epsilon = 0 would otherwise divide by nothing.
        """
        return sqrt(self.noise_variance / self.n_pulls)

    @cached_property
    def information(self) -> float:
        """What hardness is divided into: ``(T - K) / sigma^2 + kappa``, T - K at least 0."""
        n_left = max(self.n_pulls - self.n_counted, 0.0)
        return n_left / self.noise_variance + self.kappa

    def beta(
        self, mean: FloatArray, deviation: FloatArray, alive: BoolArray, epsilon: FloatArray
    ) -> FloatArray:
        """Return beta in each problem, shape ``(n_problems,)``.

        Parameters
        ----------
        mean, deviation : ndarray of shape (n_problems, n_arms)
        alive : ndarray of bool of shape (n_problems, n_arms)
        epsilon : ndarray of shape (n_problems,)
            Regret that does not matter, in the units of ``mean``.
        """
        if not isinstance(self.rule, str):
            return np.full(len(mean), float(self.rule))
        hardness = self.weight * _hardness(mean, deviation, alive, epsilon, self.least_gap)
        beta = np.sqrt(self.information / (4 * np.maximum(hardness, 1e-300)))
        return np.minimum(np.maximum(beta, self.least), self.most)


def _hardness(
    mean: FloatArray, deviation: FloatArray, alive: BoolArray, epsilon: FloatArray, floor: float
) -> FloatArray:
    """Return ``H_eps``, its gaps taken three standard deviations wide (end of section 5)."""
    rows = np.arange(len(mean))
    wide = 3 * deviation
    upper, lower = mean + wide, mean - wide
    if not alive.all():
        upper[~alive] = NOWHERE
        lower[~alive] = -NOWHERE  # a gap without end, which adds nothing
    best, others, place = _two_largest(upper)
    gap = np.subtract(best[:, np.newaxis], lower, out=lower)
    gap[rows, place] = others - (best - 2 * wide[rows, place])
    # Of an arm that is ahead of all others by more than three deviations the gap is negative.
    np.abs(gap, out=gap)
    gap += epsilon[:, np.newaxis]
    gap *= 0.5
    np.maximum(gap, np.maximum(epsilon, floor)[:, np.newaxis], out=gap)
    np.reciprocal(gap, out=gap)
    hardness: FloatArray = np.vecdot(gap, gap)
    return hardness


def _two_largest(values: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the largest of each row, the largest of the others, and the place of the former."""
    rows = np.arange(len(values))
    place = values.argmax(axis=1)
    best = values[rows, place]
    values[rows, place] = NOWHERE
    others = values.max(axis=1)
    values[rows, place] = best
    return best, others, place


class OneChoice(NamedTuple):
    """What one round says; see `GapChoice`."""

    arm: int
    leader: int
    bound: float


class GapRound:
    """Room for the bounds of one problem's arms.

    Parameters
    ----------
    n_arms : int
        At least 2.
    priority : ndarray of shape (n_arms,) or None, default=None
        Who is taken among equals; None: the first.
    """

    def __init__(self, n_arms: int, priority: FloatArray | None = None) -> None:
        self.priority = priority
        self._sums = np.empty((2, n_arms))
        self._upper, self._lower = self._sums
        self._weights = np.zeros((2, 3))
        self._is_tied = np.empty(n_arms, dtype=bool)
        self._number = np.zeros(())  # all arms are compared sooner with an array than a float

    def __reduce__(self) -> tuple[type[GapRound], tuple[int, FloatArray | None]]:
        """Copy and pickle nothing: arrays that share memory would not do so any more."""
        return GapRound, (len(self._is_tied), self.priority)

    def choose(
        self,
        exploration: Exploration,
        board: FloatArray,
        weights: tuple[float, float],
        epsilon: float,
        out: IntArray | None,
    ) -> OneChoice:
        """Return leader or runner-up, whichever is less known.

        Parameters
        ----------
        exploration : Exploration
        board : ndarray of shape (3, n_arms)
            Answers to rewards, answers to ones, and standard deviations.
        weights : tuple of float
            Of the answers; their weighted sum is the mean.
        epsilon : float
            Regret that does not matter, in the units of the mean.
        out : ndarray of int or None
            Arms that cannot win.
        """
        upper, lower, w = self._upper, self._lower, self._weights
        w[0, 0], w[0, 1] = weights
        beta = exploration.rule
        if isinstance(beta, str):
            beta = self._beta(exploration, board, epsilon, out)
        w[1, 0], w[1, 1] = weights
        w[0, 2], w[1, 2] = beta, -beta
        w.dot(board, self._sums)
        if out is not None:
            upper[out] = lower[out] = NOWHERE
        best, others, place = _two_largest_of_one(upper)
        # Every arm's gap is its lower bound less the best of the others' upper ones.
        lower[place] = lower.item(place) + (best - others)
        top, next_to_top, leader = _two_largest_of_one(lower)
        least = top - TIE * abs(top - best)
        if next_to_top >= least:
            leader = self._first(lower, least)
        bound = best - lower.item(leader)
        runner_up, top = place, others if leader == place else best
        if leader == place or others >= best - TIE * abs(best):
            upper[leader] = NOWHERE
            runner_up = self._first(upper, top - TIE * abs(top))
        first, second = (leader, runner_up) if leader < runner_up else (runner_up, leader)
        is_second = board.item(2, second) > board.item(2, first) * (1 + TIE)
        return OneChoice(second if is_second else first, leader, bound)

    def _first(self, score: FloatArray, least: float) -> int:
        """Return the first place where a score is not below the least."""
        self._number[()] = least
        is_tied = np.greater_equal(score, self._number, self._is_tied)
        return int((is_tied if self.priority is None else is_tied * self.priority).argmax())

    def _beta(
        self, exploration: Exploration, board: FloatArray, epsilon: float, out: IntArray | None
    ) -> float:
        """Return eq. (9), its gaps three standard deviations wide."""
        upper, gap, w, number = self._upper, self._lower, self._weights, self._number
        w[1, 0], w[1, 1] = -w.item(0, 0), -w.item(0, 1)
        w[0, 2] = w[1, 2] = 3.0
        w.dot(board, self._sums)
        if out is not None:
            upper[out], gap[out] = NOWHERE, -NOWHERE  # a gap without end, which adds nothing
        best, others, place = _two_largest_of_one(upper)
        number[()] = best + epsilon
        np.add(gap, number, gap)
        # Of an arm that is ahead of all others by more than three deviations it is negative.
        gap[place] = abs(gap.item(place) - epsilon - (best - others)) + epsilon
        number[()] = 2 * max(epsilon, exploration.least_gap)  # as gaps are not halved here
        np.maximum(gap, number, out=gap)
        np.reciprocal(gap, gap)
        hardness = 4 * exploration.weight * gap.dot(gap).item()
        beta = sqrt(exploration.information / (4 * max(hardness, 1e-300)))
        return min(max(beta, exploration.least), exploration.most)


def _two_largest_of_one(values: FloatArray) -> tuple[float, float, int]:
    """Return the largest, the largest of the others, and the place of the former."""
    place = int(values.argmax())
    best: float = values.item(place)
    values[place] = NOWHERE
    others: float = values.item(values.argmax())
    values[place] = best
    return best, others, place
