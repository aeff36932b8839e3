"""Running statistics of the rewards of each arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_halving.policies._arrays import FloatArray, IntArray, Shape


@dataclass
class ArmStatistics:
    """Number, sum and sum of squared deviations of the rewards of each arm.

    The sum is stored instead of the mean, because sums of scores are often exact. Equal arms are
    then tied.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies.bases._arm_statistics import ArmStatistics
    >>> statistics = ArmStatistics.zeros((2,))
    >>> statistics.add(np.array([3, 1]), np.array([1.0, 2.0, 6.0, 5.0]))
    >>> statistics.mean(), statistics.squared_deviation_sum
    (array([3., 5.]), array([14.,  0.]))
    """

    n_pulls: IntArray
    """Shape ``(*batch, n_arms)``."""
    reward_sum: FloatArray
    """Shape ``(*batch, n_arms)``."""
    squared_deviation_sum: FloatArray
    """Sum of the squared deviations from the mean of the arm. Shape ``(*batch, n_arms)``."""

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
