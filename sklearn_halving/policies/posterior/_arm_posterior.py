"""The posterior of correlated Gaussian arms, updated by one pull at a time.

The model is ``reward = arm + split + noise``. Arms have covariance G, splits are independent with
variance tau^2, and the noise has variance sigma^2. Pulls of two arms on the same split are
therefore compared as a pair.

An arm is ``f' z`` with independent standard normal variables z, where f is from a Cholesky factor
of G whose pivots are the pulled arms, in the order of their first pulls (`PriorFeatures`). The
posterior of z is stored as its mean and a square root of its covariance. With n variables and K
arms, a pull costs O(n K + n^2), however many pulls there were. n is at most the number of
different pulled arms, or the rank of G if that is smaller. No K x K matrix is computed.

Splits need no variables. Given z and m earlier rewards of a split, the effect of the split has
mean ``c * sum(reward - f' z)`` and variance ``c sigma^2``, with
``c = tau^2 / (sigma^2 + m tau^2)``. Another reward of the split, minus c times the sum of the
earlier ones, is therefore ``(f - c g)' z`` plus independent noise of variance
``(1 + c) sigma^2``, where g is the sum of the features of the earlier pulls.
"""

from __future__ import annotations

from copy import deepcopy

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._types import NO_ARM
from sklearn_halving.policies.posterior._arm_covariance import PriorFeatures


class ArmPosterior:
    """Posterior of all arms in ``n_problems`` problems with a common prior.

    Parameters
    ----------
    features : PriorFeatures
    n_problems : int
    noise_variance : float
        sigma^2, above 0.
    split_variance : float, default=0.0
        tau^2. With 0, there are no split effects.

    Attributes
    ----------
    n_told : ndarray of int of shape (n_problems,)
        Number of rewards.
    variance : ndarray of shape (n_problems, n_arms)
        Posterior variances of the arms, given the pulls so far.
    answers : ndarray of shape (n_problems, 2, n_arms)
        Posterior means of the arms for a prior mean of 0, given the rewards, and given rewards
        that are all 1. The prior mean and the scale are computed from both, see
        `offset_and_scale`.
    root : ndarray of shape (n_problems, n, n)
        A square root of the covariance of the variables z.
    means : ndarray of shape (n_problems, 2, n)
        Means of the variables, given the rewards, and given rewards of 1.
    split_features : ndarray of shape (n_problems, n_splits, n)
        Sums of the features of the pulls of each split.
    split_sums : ndarray of shape (n_problems, n_splits, 2)
        Sum of the rewards, and number of the pulls of each split.
    squares : ndarray of shape (n_problems, 2, 2)
        Sums of products of the innovations, given the rewards, and given rewards of 1.
    """

    def __init__(
        self,
        features: PriorFeatures,
        n_problems: int,
        noise_variance: float,
        split_variance: float = 0.0,
    ) -> None:
        self.features = features
        self.noise_variance = noise_variance
        self.split_variance = split_variance
        self.n_told = np.zeros(n_problems, dtype=np.int64)
        self.variance = np.tile(features.covariance.diagonal, (n_problems, 1))
        self.answers = np.zeros((n_problems, 2, self.variance.shape[1]))
        self.root = np.zeros((n_problems, 0, 0))
        self.means = np.zeros((n_problems, 2, 0))
        self.split_features = np.zeros((n_problems, 0, 0))
        self.split_sums = np.zeros((n_problems, 0, 2))
        self.squares = np.zeros((n_problems, 2, 2))

    def copy(self) -> ArmPosterior:
        """Return a copy that can be updated independently. The features are shared."""
        return deepcopy(self, {id(self.features): self.features})

    def update(self, arm: IntArray, split: IntArray, rewards: FloatArray | None) -> None:
        """Update the posterior with one pull in each problem.

        Parameters
        ----------
        arm : ndarray of shape (n_problems,)
            ``NO_ARM`` if a problem has no pull.
        split : ndarray of shape (n_problems,)
            Index of the split. It is ignored if there are no split effects.
        rewards : ndarray of shape (n_problems,) or None
            If None, the pulls are in flight, and only the variances are updated.
        """
        is_pull = arm != NO_ARM
        is_new = is_pull & (self.features.unexplained[arm] > 0)
        for one in sorted(set(arm[is_new].tolist())):
            self.features.cover(one)
        has_splits = self.split_variance > 0
        self._make_room(1 + int(split.max(where=is_pull, initial=0)) if has_splits else 0)
        seen, noise, of_split = self._direction(arm, split, is_pull, rewards)
        inner = np.matmul(seen[:, np.newaxis, :], self.root)
        step = np.matmul(self.root, inner.transpose(0, 2, 1))[:, :, 0]
        total = np.vecdot(inner, inner) + noise[:, np.newaxis]  # (n_problems, 1)
        across = step @ self.features.rows
        if rewards is not None:
            values = np.stack([np.where(is_pull, rewards, 0.0), is_pull], axis=1) - of_split
            surprise = values[:, :, np.newaxis] - np.matmul(self.means, seen[:, :, np.newaxis])
            self.means += surprise * (step / total)[:, np.newaxis, :]
            self.answers += surprise * (across / total)[:, np.newaxis, :]
            products = surprise * surprise.transpose(0, 2, 1)
            self.squares += products / total[:, :, np.newaxis]
            self.n_told += is_pull
        # Update of the square root of the covariance (Potter's form of the Kalman filter).
        inner /= (total + np.sqrt(total * noise[:, np.newaxis]))[:, :, np.newaxis]
        self.root -= step[:, :, np.newaxis] * inner
        across *= across
        across /= total
        self.variance -= across
        np.maximum(self.variance, 0.0, out=self.variance)

    def _direction(
        self, arm: IntArray, split: IntArray, is_pull: BoolArray, rewards: FloatArray | None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the direction of each pull, its noise, and the part that its split explains.

        The pulls are added to the sums of their splits.
        """
        seen: FloatArray = np.where(is_pull, self.features.rows[:, arm], 0.0).T
        noise = np.full(len(arm), self.noise_variance)
        if self.split_variance == 0:
            return seen, noise, np.zeros((len(arm), 2))
        place = np.arange(len(arm)), np.where(is_pull, split, 0)
        earlier, sums = self.split_features[place], self.split_sums[place]
        weight = self.split_variance / (self.noise_variance + sums[:, 1] * self.split_variance)
        weight = np.where(is_pull, weight, 0.0)
        self.split_features[place] += seen
        self.split_sums[*place, 1] += is_pull
        if rewards is not None:
            self.split_sums[*place, 0] += np.where(is_pull, rewards, 0.0)
        seen = seen - weight[:, np.newaxis] * earlier
        return seen, noise * (1 + weight), weight[:, np.newaxis] * sums

    def offset_and_scale(self) -> tuple[FloatArray, FloatArray]:
        """Estimate the prior mean and the scale from the rewards, each of shape (n_problems,).

        The mean is estimated by generalized least squares, and the scale by restricted maximum
        likelihood. All standard deviations are multiplied by the scale. It is 1 after a single
        reward, and NaN if all rewards are equal.
        """
        (of_rewards, mixed), (_, of_ones) = self.squares.transpose(1, 2, 0)
        offset = mixed / np.where(of_ones > 0, of_ones, 1.0)
        left = of_rewards - mixed * offset
        left = np.where(left > 1e-14 * of_rewards, left, np.nan)
        scale = np.sqrt(left / np.maximum(self.n_told - 1, 1))
        return offset, np.where(self.n_told > 1, scale, 1.0)

    def sample(self, rng: np.random.Generator, n_draws: int = 1) -> FloatArray:
        """Draw the deviations of the arms from their means.

        The variance that the features do not explain is drawn independently for every arm, so
        that the variances are correct. With `PriorFeatures.cover_all`, the features explain all.

        Returns
        -------
        sample : ndarray of shape (n_problems, n_draws, n_arms)
        """
        self._make_room(0)
        n_problems, n_arms = self.variance.shape
        n = self.features.n_rows
        normal = rng.standard_normal((n_draws, n_problems * (n + n_arms)))
        of_rows = normal[:, : n_problems * n].reshape(n_draws, n_problems, n)
        of_arms = normal[:, n_problems * n :].reshape(n_draws, n_problems, n_arms)
        weights = np.matmul(self.root, of_rows.transpose(1, 2, 0)).transpose(0, 2, 1)
        explained = weights.reshape(-1, n) @ self.features.rows
        unexplained = np.sqrt(self.features.unexplained) * of_arms.transpose(1, 0, 2)
        return explained.reshape(unexplained.shape) + unexplained

    def _make_room(self, n_splits: int) -> None:
        """Make room for all features, each with mean 0 and variance 1, and for some splits."""
        n_before, n = self.root.shape[1], self.features.n_rows
        if n_splits > self.split_sums.shape[1]:
            n_splits = max(8, 2 * n_splits)
        n_splits = max(n_splits, self.split_sums.shape[1])
        self.root = _enlarged(self.root, n, n)
        self.root[:, np.arange(n_before, n), np.arange(n_before, n)] = 1.0
        self.means = _enlarged(self.means, 2, n)
        self.split_features = _enlarged(self.split_features, n_splits, n)
        self.split_sums = _enlarged(self.split_sums, n_splits, 2)


def _enlarged(values: FloatArray, n_rows: int, n_columns: int) -> FloatArray:
    """Return the arrays with rows and columns of zeros at their ends."""
    if values.shape[1:] == (n_rows, n_columns):
        return values
    larger = np.zeros((len(values), n_rows, n_columns))
    larger[:, : values.shape[1], : values.shape[2]] = values
    return larger
