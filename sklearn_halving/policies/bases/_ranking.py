"""Ranking and statistics of the arms of each row. NaN is worst, ties go to the smaller index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Shape
from sklearn_halving.policies._types import NO_ARM

TIE = 1e-9
"""Relative tolerance for ties, so that rounding errors do not affect the choice."""
AnyArray = npt.NDArray[Any]
Numbers = TypeVar("Numbers", FloatArray, IntArray)


def keep_best(score: FloatArray, alive: BoolArray, n_kept: int | IntArray) -> BoolArray:
    """Return the arms in play with the ``n_kept`` largest scores.

    Parameters
    ----------
    score : ndarray of shape (n_problems, n_arms)
    alive : ndarray of bool of shape (n_problems, n_arms)
        Arms in play. All other arms rank below them.
    n_kept : int or ndarray of shape (n_problems,)

    Returns
    -------
    kept : ndarray of bool of shape (n_problems, n_arms)

    Examples
    --------
    >>> import numpy as np
    >>> score = np.array([[0.5, 0.9, 0.5, np.nan]])
    >>> keep_best(score, np.ones((1, 4), dtype=bool), 2)
    array([[ True,  True, False, False]])
    """
    n_kept = np.reshape(n_kept, (-1, 1))
    usable = alive & ~np.isnan(score)
    cost = np.where(usable, -score, np.nan)
    # The largest cost that is kept; NaN, which is sorted last, if there are not as many arms.
    place = np.clip(n_kept - 1, 0, score.shape[1] - 1)
    limit = np.take_along_axis(np.sort(cost, axis=1), place, axis=1)
    kept: BoolArray = usable & ~(cost > limit) & (n_kept > 0)
    surplus = np.count_nonzero(kept, axis=1, keepdims=True) - n_kept
    if (surplus > 0).any():
        tied = kept & (cost == limit)
        kept &= ~tied | (np.cumsum(tied[:, ::-1], axis=1)[:, ::-1] > surplus)
    if (surplus < 0).any():
        failed = alive & ~usable
        kept |= failed & (np.cumsum(failed, axis=1) <= -surplus)
    return kept


def gap_to_others(upper: FloatArray, lower: FloatArray, nothing: float = -np.inf) -> FloatArray:
    """Return the largest ``upper`` of all other arms minus ``lower``, for each arm.

    NaN is not allowed in ``upper``. The others of a single arm are ``nothing``.

    Examples
    --------
    >>> import numpy as np
    >>> gap_to_others(np.array([[1.0, 5.0, 3.0]]), np.array([[0.0, 2.0, 1.0]]))
    array([[5., 1., 4.]])
    """
    best, others, place = two_largest(upper, nothing)
    gap: FloatArray = best[:, np.newaxis] - lower
    gap.put(place, others - lower.take(place))
    return gap


def two_largest(
    values: FloatArray, nothing: float = -np.inf
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the two largest values of each row, and the place of the largest in the array."""
    place = places(values, values.argmax(axis=1))
    best = values.take(place)
    values.put(place, nothing)
    others = values.max(axis=1)
    values.put(place, best)
    return best, others, place


def places(values: AnyArray, column: IntArray) -> IntArray:
    """Return the places in the flat array of one column of each row, for `take` and `put`."""
    return np.arange(0, values.size, values.shape[1]) + column


def best_alive(alive: BoolArray, mean: FloatArray) -> IntArray:
    """Return the arm with the largest mean in each row; ``NO_ARM`` if no arm is alive.

    Means that differ by a rounding error are tied.
    """
    known = alive & ~np.isnan(mean)
    # Arms at minus infinity rank below finite numbers, but above arms without a reward.
    score = np.where(known, mean, -np.inf)
    top = score.max(axis=1)
    top -= TIE * np.abs(np.where(np.isfinite(top), top, 0.0))
    tied = known & (score >= top[:, np.newaxis])
    arm = tied.argmax(axis=1)
    return np.where(known.take(places(known, arm)), arm, NO_ARM)


def best_known(alive: BoolArray, mean: FloatArray) -> IntArray:
    """Return the arm in play with the best mean, shape ``(n_problems,)``.

    If all arms in play have failed, it is the best of the other arms. Arms without a reward or
    with a NaN reward have a mean of NaN. ``NO_ARM`` is returned if all means are NaN.
    """
    best = best_alive(alive, mean)
    if (best == NO_ARM).any():
        best = np.where(best == NO_ARM, best_alive(np.ones_like(alive), mean), best)
    return best


def largest_usable(index: FloatArray, usable: BoolArray) -> IntArray:
    """Return the usable arm with the largest index in each row; ``NO_ARM`` if none is usable.

    An index of NaN is treated as minus infinity. Ties go to the smaller arm.
    """
    index = np.where(usable & ~np.isnan(index), index, -np.inf)
    return usable_or_first(index.argmax(axis=1), usable)


def usable_or_first(arm: IntArray, usable: BoolArray) -> IntArray:
    """Return the arm of each row, or the first usable one if it is not; ``NO_ARM`` for none."""
    wrong = ~usable.take(places(usable, arm))
    if wrong.any():
        first = np.where(usable.any(axis=1), usable.argmax(axis=1), NO_ARM)
        arm = np.where(wrong, first, arm)
    return arm


@dataclass
class ArmStatistics:
    """Number, sum and sum of squared deviations of the rewards of each arm.

    The sum is stored instead of the mean, because sums of scores are often exact. Equal arms are
    then tied.

    Parameters
    ----------
    n_pulls : ndarray of int
        Shape ``(*batch, n_arms)``.
    reward_sum : ndarray
        Shape ``(*batch, n_arms)``.
    squared_deviation_sum : ndarray
        Sum of the squared deviations from the mean of the arm. Shape ``(*batch, n_arms)``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies.bases._ranking import ArmStatistics
    >>> statistics = ArmStatistics.zeros((2,))
    >>> statistics.add(np.array([3, 1]), np.array([1.0, 2.0, 6.0, 5.0]))
    >>> statistics.mean(), statistics.squared_deviation_sum
    (array([3., 5.]), array([14.,  0.]))
    """

    n_pulls: IntArray
    reward_sum: FloatArray
    squared_deviation_sum: FloatArray

    @classmethod
    def zeros(cls, shape: Shape) -> ArmStatistics:
        """Return the statistics before the first pull."""
        return cls(np.zeros(shape, dtype=np.int64), np.zeros(shape), np.zeros(shape))

    def mean(self) -> FloatArray:
        """Return the mean reward of each arm; NaN for an arm without a pull."""
        with np.errstate(invalid="ignore"):  # 0 / 0
            return self.reward_sum / self.n_pulls.astype(np.float64)  # faster than mixed types

    def variance(self, ddof: int = 1) -> FloatArray:
        """Return the variance of each arm, by default the unbiased one; 0 for too few pulls."""
        return self.squared_deviation_sum / np.maximum(self.n_pulls - float(ddof), 1.0)

    def add(self, counts: IntArray, rewards: FloatArray) -> None:
        """Update the statistics with rewards that are sorted by problem and arm.

        Parameters
        ----------
        counts : ndarray of shape (*batch, n_arms)
            Number of new rewards of each arm.
        rewards : ndarray of shape (counts.sum(),)
        """
        flat = counts.ravel()
        places = np.flatnonzero(flat)
        if not len(places):
            return
        n = flat[places]
        starts = np.cumsum(n) - n
        # Infinite and huge rewards are valid, although their squares may overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            sums = np.add.reduceat(rewards, starts)
            deviations = rewards - np.repeat(sums / n, n)
            spread = np.add.reduceat(np.square(deviations, out=deviations), starts)
            # Merge two sets of rewards (Chan, Golub and LeVeque 1983).
            n_before = self.n_pulls.reshape(-1)[places]
            shift = sums / n - self.reward_sum.reshape(-1)[places] / np.maximum(n_before, 1)
            between = np.where(n_before > 0, shift**2 * n * n_before / (n + n_before), 0.0)
            self.n_pulls.reshape(-1)[places] += n
            self.reward_sum.reshape(-1)[places] += sums
            self.squared_deviation_sum.reshape(-1)[places] += spread + between


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
