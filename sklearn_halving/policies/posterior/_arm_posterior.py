"""The posterior of correlated Gaussian arms, updated by one pull at a time.

The model is ``reward = arm + split + noise``. Arms have covariance G, splits are independent with
variance tau^2, and the noise has variance sigma^2. Pulls of two arms on the same split are
therefore compared as a pair.

Both random effects are linear in independent standard normal variables z. An arm is ``f' z``,
where f is from a Cholesky factor of G whose pivots are the pulled arms, in the order of their
first pulls (`PriorFeatures`). A split is ``tau`` times a separate variable. The posterior of z is
stored as its mean and a square root of its covariance. With n variables and K arms, a pull costs
O(n K + n^2). n is at most the number of different pulled arms, or the rank of G if that is
smaller, plus the number of splits. Repeated pulls of an arm do not increase n, and no K x K
matrix is computed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from scipy.linalg.blas import dger, dscal

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
    variance : ndarray of shape (n_problems, n_arms)
        Posterior variances of the arms, given the pulls so far.
    board : ndarray of shape (n_problems, 3, n_arms)
        `answers`, and a row for standard deviations. Bounds are weighted sums of the three rows.
    """

    def __init__(
        self,
        features: PriorFeatures,
        n_problems: int,
        noise_variance: float,
        split_variance: float = 0.0,
    ) -> None:
        n_arms = len(features.unexplained)
        self.features = features
        self.noise_variance = noise_variance
        self.split_variance = split_variance
        self.variance = np.tile(features.covariance.diagonal, (n_problems, 1))
        self.board = np.zeros((n_problems, 3, n_arms))
        self.n_told = np.zeros(n_problems, dtype=np.int64)
        self._rows = np.arange(n_problems)
        self._squares = np.zeros((n_problems, 3))  # of innovations: rewards, mixed, ones
        # The order of the variables is: splits, reserved splits, features.
        self._n_splits = 0
        self._n = 0
        self._root = np.zeros((n_problems, 0, 0))
        self._state = np.zeros((n_problems, 2, 0))
        self._single: SingleUpdate | None = None

    @property
    def answers(self) -> FloatArray:
        """Posterior means of the arms for a prior mean of 0, shape (n_problems, 2, n_arms).

        The first row is given the rewards, and the second is given rewards that are all 1. The
        prior mean and the scale are computed from both, see `offset_and_scale`.
        """
        return self.board[:, :2]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the object that shares memory with the other attributes."""
        return {**self.__dict__, "_single": None}

    def copy(self) -> ArmPosterior:
        """Return a copy that can be updated independently. The features are shared."""
        other = object.__new__(ArmPosterior)
        other.__dict__.update(self.__getstate__())
        for name in ("variance", "board", "n_told", "_squares", "_root", "_state"):
            setattr(other, name, getattr(self, name).copy())
        return other

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
        if len(arm) == 1 and arm[0] != NO_ARM:
            reward = None if rewards is None else float(rewards[0])
            self.update_one(int(arm[0]), int(split[0]), reward)
            return
        is_pull = arm != NO_ARM
        self._cover(arm, split, is_pull)
        root = self._root[:, : self._n, : self._n]
        seen = self._direction(arm, split, is_pull)
        inner = np.matmul(seen[:, np.newaxis, :], root)
        step = np.matmul(root, inner.transpose(0, 2, 1))[:, :, 0]
        total = np.vecdot(inner, inner) + self.noise_variance  # (n_problems, 1)
        # Update of the square root of the covariance (Potter's form of the Kalman filter).
        inner /= (total + np.sqrt(total * self.noise_variance))[:, :, np.newaxis]
        gain = step / total
        across = step[:, self._n_splits :] @ self.features.rows
        if rewards is not None:
            self._learn(seen, gain, across / total, total[:, 0], rewards, is_pull)
        root -= step[:, :, np.newaxis] * inner
        across *= across
        across /= total
        self.variance -= across
        np.maximum(self.variance, 0.0, out=self.variance)

    def update_one(self, arm: int, split: int, reward: float | None) -> None:
        """Variant of `update` for a single problem."""
        features = self.features
        if features.unexplained.item(arm) > 0:
            features.cover(arm)
        if self.split_variance > 0 or self._n != features.n_rows:
            self._resize(self._splits_for(split))
        single = self._single or self._make_single()
        single.add(arm, split, reward)
        if reward is not None:
            self.n_told[0] = self.n_told.item(0) + 1

    def _make_single(self) -> SingleUpdate:
        self._single = SingleUpdate(
            self._root[0],
            self._state[0],
            self.answers[0],
            self.variance[0],
            self._squares[0],
            self.features.rows,
            self._n_splits,
            self.noise_variance,
            self.split_variance,
        )
        return self._single

    def _learn(
        self,
        seen: FloatArray,
        gain: FloatArray,
        gain_across: FloatArray,
        total: FloatArray,
        rewards: FloatArray,
        is_pull: np.ndarray,
    ) -> None:
        state = self._state[:, :, : self._n]
        surprise = np.matmul(state, seen[:, :, np.newaxis])
        np.negative(surprise, out=surprise)
        surprise[:, 0, 0] += np.where(is_pull, rewards, 0.0)
        surprise[:, 1, 0] += is_pull
        state += surprise * gain[:, np.newaxis, :]
        answers = self.answers
        answers += surprise * gain_across[:, np.newaxis, :]
        of_rewards, of_ones = surprise[:, 0, 0], surprise[:, 1, 0]
        self._squares[:, 0] += of_rewards * of_rewards / total
        self._squares[:, 1] += of_rewards * of_ones / total
        self._squares[:, 2] += of_ones * of_ones / total
        self.n_told += is_pull

    def offset_and_scale(self) -> tuple[FloatArray, FloatArray]:
        """Estimate the prior mean and the scale from the rewards, each of shape (n_problems,).

        The mean is estimated by generalized least squares, and the scale by restricted maximum
        likelihood. All standard deviations are multiplied by the scale. It is 1 until there are
        two different rewards.
        """
        offset, left, knows = self._fit_of_level()
        scale = np.sqrt(np.where(knows, left, 1.0) / np.where(knows, self.n_told - 1, 1))
        return offset, scale

    def has_equal_rewards(self) -> BoolArray:
        """Return which problems have at least two rewards, all equal, shape (n_problems,)."""
        _, _, knows = self._fit_of_level()
        return ~knows & (self.n_told > 1)

    def _fit_of_level(self) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return the level, the residual sum of squares, and whether it is positive."""
        of_rewards, mixed, of_ones = self._squares.T
        offset = mixed / np.where(of_ones > 0, of_ones, 1.0)
        left = of_rewards - mixed * offset
        knows: BoolArray = (self.n_told > 1) & (left > 1e-14 * of_rewards)
        return offset, left, knows

    def offset_and_scale_of_one(self) -> tuple[float, float]:
        """Variant of `offset_and_scale` for a single problem."""
        of_rewards, mixed, of_ones = self._squares[0].tolist()
        n_told = self.n_told.item(0)
        offset = mixed / of_ones if of_ones > 0 else 0.0
        left = of_rewards - mixed * offset
        if n_told < 2 or left <= 1e-14 * of_rewards:
            return offset, 1.0
        return offset, sqrt(left / (n_told - 1))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw the deviations of the arms from their means, shape ``(n_problems, n_arms)``.

        The variance that the features do not explain is drawn independently for every arm, so
        that the variances are correct. With `PriorFeatures.cover_all`, the features explain all.
        """
        self._resize(self._n_splits)
        n_problems = len(self._rows)
        root = self._root[:, : self._n, : self._n]
        normal = rng.standard_normal((n_problems, self._n, 1))
        sample: FloatArray = np.matmul(root, normal)[:, self._n_splits :, 0] @ self.features.rows
        unexplained = np.sqrt(self.features.unexplained)
        sample += unexplained * rng.standard_normal(self.variance.shape)
        return sample

    def draws_of_one(self, rng: np.random.Generator, n_draws: int) -> FloatArray:
        """Return what `n_draws` calls of `sample` draw, shape ``(n_draws, n_arms)``.

        This is for a single problem. One product of matrices takes the place of many.
        """
        self._resize(self._n_splits)
        normal = rng.standard_normal((n_draws, self._n + self.variance.shape[1]))
        root = self._root[0, self._n_splits : self._n, : self._n]
        weights = root.T @ self.features.rows
        unexplained = np.sqrt(self.features.unexplained)
        draws: FloatArray = normal[:, : self._n] @ weights
        if unexplained.any():
            draws += unexplained * normal[:, self._n :]
        return draws

    def _direction(self, arm: IntArray, split: IntArray, is_pull: np.ndarray) -> FloatArray:
        """Return the weights of all variables in the reward of each pull."""
        seen = np.empty((len(arm), self._n))
        seen[:, self._n_splits :] = self.features.rows[:, arm].T
        if self._n_splits:
            seen[:, : self._n_splits] = 0.0
            seen[self._rows, np.where(is_pull, split, 0)] = np.sqrt(self.split_variance)
        if not is_pull.all():
            seen[~is_pull] = 0.0
        return seen

    def _cover(self, arm: IntArray, split: IntArray, is_pull: np.ndarray) -> None:
        """Add variables for new arms and splits."""
        is_new = self.features.unexplained[arm] > 0
        if is_new.any():
            for one in np.unique(arm[is_new & is_pull]):
                self.features.cover(int(one))
        self._resize(self._splits_for(int(split.max(where=is_pull, initial=-1))))

    def _splits_for(self, split: int) -> int:
        """Return the number of variables for splits that is needed for a split."""
        if self.split_variance == 0 or split < self._n_splits:
            return self._n_splits
        return max(split + 1, 8, self._n_splits + self._n_splits // 4)

    def _resize(self, n_splits: int) -> None:
        """Set the number of variables to the number of splits and features."""
        n = n_splits + self.features.n_rows
        if n == self._n and n_splits == self._n_splits:
            return
        if n_splits != self._n_splits or n > self._root.shape[1]:
            self._move(n_splits, max(16, n + n // 8))
        self._n, self._n_splits = n, n_splits
        self._single = None

    def _move(self, n_splits: int, n_max: int) -> None:
        """Move the variables to larger arrays. New variables are uncorrelated with all others."""
        old, n_old = self._n_splits, self._n
        root = np.zeros((len(self._rows), n_max, n_max))
        root[:, np.arange(n_max), np.arange(n_max)] = 1.0
        state = np.zeros((len(self._rows), 2, n_max))
        place = np.arange(n_old)
        place[old:] += n_splits - old
        root[:, place[:, np.newaxis], place] = self._root[:, :n_old, :n_old]
        state[:, :, place] = self._state[:, :, :n_old]
        self._root, self._state = root, state


ZERO = np.zeros(())
"""Comparisons with an array are faster than with a number."""


@dataclass(slots=True, eq=False)
class SingleUpdate:
    """The arrays of a single problem, valid until they have to grow.

    They include reserved places for future variables, which remain independent of all others.

    Parameters
    ----------
    root : ndarray of shape (n_max, n_max)
        A square root of the covariance of all variables: splits, features and reserved places.
    state : ndarray of shape (2, n_max)
        Means of the variables, given the rewards and given ones. Only those of splits are used.
    answers : ndarray of shape (2, n_arms)
        Means of the arms.
    variance : ndarray of shape (n_arms,)
    squares : ndarray of shape (3,)
        Sums of products of innovations: rewards, mixed, ones.
    rows : ndarray of shape (n_features, n_arms)
        Features of all arms.
    n_splits : int
        Number of variables for splits.
    noise_variance, split_variance : float
    """

    root: FloatArray
    state: FloatArray
    answers: FloatArray
    variance: FloatArray
    squares: FloatArray
    rows: FloatArray
    n_splits: int
    noise_variance: float
    split_variance: float
    _transposed: FloatArray = field(init=False)  # BLAS uses column-major order
    _seen: FloatArray = field(init=False)
    _seen_splits: FloatArray = field(init=False)
    _seen_features: FloatArray = field(init=False)
    _inner: FloatArray = field(init=False)
    _step: FloatArray = field(init=False)
    _step_features: FloatArray = field(init=False)
    _deviation_of_noise: float = field(init=False)
    _deviation_of_split: float = field(init=False)

    def __post_init__(self) -> None:
        """Allocate work arrays."""
        first, last = self.n_splits, self.n_splits + len(self.rows)
        self._transposed = self.root.T
        self._seen, self._inner, self._step = np.zeros((3, len(self.root)))
        self._seen_splits, self._seen_features = self._seen[:first], self._seen[first:last]
        self._step_features = self._step[first:last]
        self._deviation_of_noise = sqrt(self.noise_variance)
        self._deviation_of_split = sqrt(self.split_variance)

    def add(self, arm: int, split: int, reward: float | None) -> None:
        """Update the arrays with one pull, which is in flight if the reward is None."""
        seen, inner, step = self._seen, self._inner, self._step
        np.copyto(self._seen_features, self.rows[:, arm])
        if self.n_splits:
            self._seen_splits.fill(0.0)
            seen[split] = self._deviation_of_split
        self._transposed.dot(seen, inner)
        self.root.dot(inner, step)
        total = inner.dot(inner).item() + self.noise_variance
        deviation = sqrt(total)
        dscal(1 / deviation, step)
        across = self._step_features.dot(self.rows)
        if reward is not None:
            self._learn(arm, split, across, reward, deviation)
        # Update of the square root of the covariance (Potter's form of the Kalman filter).
        share = -deviation / (total + deviation * self._deviation_of_noise)
        dger(share, inner, step, 1, 1, self._transposed, 1, 1, 1)
        np.multiply(across, across, across)
        variance = self.variance
        np.subtract(variance, across, variance)
        np.maximum(variance, ZERO, out=variance)

    def _learn(
        self, arm: int, split: int, across: FloatArray, reward: float, deviation: float
    ) -> None:
        """Update the means. All steps are divided by the standard deviation."""
        answers, state = self.answers, self.state
        of_reward, of_one = reward - answers.item(0, arm), 1.0 - answers.item(1, arm)
        if self.n_splits:
            of_reward -= self._deviation_of_split * state.item(0, split)
            of_one -= self._deviation_of_split * state.item(1, split)
        of_reward /= deviation
        of_one /= deviation
        surprise = np.array((of_reward, of_one))
        if self.n_splits:
            dger(1.0, self._step, surprise, 1, 1, state.T, 1, 1, 1)
        dger(1.0, across, surprise, 1, 1, answers.T, 1, 1, 1)
        squares = self.squares
        squares[0] = squares.item(0) + of_reward * of_reward
        squares[1] = squares.item(1) + of_reward * of_one
        squares[2] = squares.item(2) + of_one * of_one
