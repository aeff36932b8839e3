"""Ranking and statistics of arms. NaN is worst, ties go to the smaller index."""

from __future__ import annotations

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray
from sklearn_halving.policies._types import NO_ARM

TIE = 1e-9
"""Relative tolerance for ties, so that rounding errors do not affect the choice."""


def keep_best(score: FloatArray, alive: BoolArray, n_kept: int) -> BoolArray:
    """Return the arms in play with the ``n_kept`` largest scores. All other arms rank below them.

    Examples
    --------
    >>> import numpy as np
    >>> keep_best(np.array([0.5, 0.9, 0.5, np.nan]), np.ones(4, dtype=bool), 2)
    array([ True,  True, False, False])
    """
    usable = alive & (score == score)
    best_first = np.argsort(np.where(usable, -score, np.nan), kind="stable")  # NaN is last
    n_usable = np.count_nonzero(usable)
    kept = np.zeros(len(score), dtype=bool)
    kept[best_first[: min(n_kept, n_usable)]] = True
    failed = np.flatnonzero(alive & ~usable)
    kept[failed[: max(n_kept - n_usable, 0)]] = True
    return kept


def best_alive(alive: BoolArray, mean: FloatArray) -> int:
    """Return the arm with the largest mean; ``NO_ARM`` if no arm is alive.

    Means that differ by a rounding error are tied.
    """
    # Arms at minus infinity rank below finite numbers, but above arms without a reward.
    known = alive & (mean == mean)
    score = np.where(known, mean, -np.inf)
    top = float(score.max())
    if top - top == 0:  # finite
        top -= TIE * abs(top)
    tied = known & (score >= top)
    arm = int(tied.argmax())
    return arm if tied[arm] else NO_ARM


def best_known(alive: BoolArray, mean: FloatArray) -> int:
    """Return the arm in play with the best mean.

    If all arms in play have failed, it is the best of the other arms. Arms without a reward or
    with a NaN reward have a mean of NaN. ``NO_ARM`` is returned if all means are NaN.
    """
    best = best_alive(alive, mean)
    return best if best != NO_ARM else best_alive(np.ones_like(alive), mean)


def largest_usable(index: FloatArray, usable: BoolArray) -> int:
    """Return the usable arm with the largest index; ``NO_ARM`` if none is usable.

    An index of NaN is treated as minus infinity. Ties go to the smaller arm.
    """
    index = np.where(usable & (index == index), index, -np.inf)
    return usable_or_first(int(index.argmax()), usable)


def usable_or_first(arm: int, usable: BoolArray) -> int:
    """Return the arm, or the first usable one if it is not; ``NO_ARM`` for none."""
    if not usable[arm]:
        arm = int(usable.argmax())
    return arm if usable[arm] else NO_ARM


class ArmStatistics:
    """Number, sum and sum of squared deviations of the rewards of each arm.

    The sum is stored instead of the mean, because sums of scores are often exact. Equal arms are
    then tied.

    Parameters
    ----------
    n_arms : int

    Attributes
    ----------
    n_pulls, reward_sum, squares, mean : ndarray of shape (n_arms,)
        Number of rewards, their sum, the sum of their squared deviations from the mean of the arm,
        and this mean, which is NaN for an arm without a reward.

    Examples
    --------
    >>> from sklearn_halving.policies.bases._ranking import ArmStatistics
    >>> statistics = ArmStatistics(2)
    >>> for arm, reward in [(0, 1.0), (0, 2.0), (0, 6.0), (1, 5.0)]:
    ...     statistics.add(arm, reward)
    >>> statistics.mean, statistics.squares
    (array([3., 5.]), array([14.,  0.]))
    """

    def __init__(self, n_arms: int) -> None:
        self.n_pulls = np.zeros(n_arms, dtype=np.int64)
        self.reward_sum, self.squares = np.zeros((2, n_arms))
        self.mean = np.full(n_arms, np.nan)

    def variance(self, ddof: int = 1) -> FloatArray:
        """Return the variance of each arm, by default the unbiased one; 0 for too few pulls."""
        return self.squares / np.maximum(self.n_pulls - float(ddof), 1.0)

    def fail(self, arms: list[int] | BoolArray) -> None:
        """Forget the rewards of arms that failed, also later ones."""
        self.reward_sum[arms] = self.mean[arms] = np.nan

    def add(self, arm: int, reward: float) -> None:
        """Add one reward (Welford 1962)."""
        n, total = self.n_pulls.item(arm), self.reward_sum.item(arm)
        before = reward - total / n if n else 0.0
        total += reward
        mean = total / (n + 1)
        self.n_pulls[arm] = n + 1
        self.reward_sum[arm] = total
        self.mean[arm] = mean
        self.squares[arm] += before * (reward - mean)


class BrokenSplits:
    """The pulls that failed on splits on which no arm has a reward so far.

    As long as this is so, they say nothing about their arms.
    """

    def __init__(self) -> None:
        self.works: set[int] = set()
        """The splits on which an arm has a reward."""
        self.doubtful: dict[int, list[int]] = {}
        """The arms that failed on each of the other splits."""

    def take_in(self, arm: int, split: int, reward: float) -> list[int]:
        """Record a pull, and return the arms that are now known to have failed."""
        if reward == reward:
            self.works.add(split)
        else:
            self.doubtful.setdefault(split, []).append(arm)
        return self.doubtful.pop(split, []) if split in self.works else []
