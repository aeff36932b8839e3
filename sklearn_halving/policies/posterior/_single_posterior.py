"""The posterior of a single problem, with few calls of NumPy and BLAS.

A search plays a single problem and waits for its policy between two fits. In the batched
`ArmPosterior`, most of this time would be overhead of NumPy: a round would take six times as long.
The tests compare both.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.blas import daxpy, dger, dscal
from scipy.sparse import csr_array

from sklearn_halving.policies._arrays import FloatArray, IntArray
from sklearn_halving.policies._types import NO_ARM
from sklearn_halving.policies.posterior._arm_covariance import PriorFeatures
from sklearn_halving.policies.posterior._arm_posterior import ArmPosterior
from sklearn_halving.policies.posterior._hyperparameters import ArmRewards

ZERO = np.zeros(())
"""Comparisons with an array are faster than with a number."""


class SinglePosterior(ArmPosterior):
    """The `ArmPosterior` of a single problem; arrays have a first axis of length 1.

    Parameters
    ----------
    features, noise_variance, split_variance
        As for `ArmPosterior`.
    """

    def __init__(
        self, features: PriorFeatures, noise_variance: float, split_variance: float = 0.0
    ) -> None:
        super().__init__(features, 1, noise_variance, split_variance)
        self._single: SingleUpdate | None = None

    def __getstate__(self) -> dict[str, object]:
        """Leave out the object that shares memory with the other attributes."""
        return {**self.__dict__, "_single": None}

    def update(self, arm: IntArray, split: IntArray, rewards: FloatArray | None) -> None:
        """Update the posterior with a pull; arrays have shape (1,)."""
        if arm[0] != NO_ARM:
            reward = None if rewards is None else float(rewards[0])
            self.update_one(int(arm[0]), int(split[0]), reward)

    def update_one(self, arm: int, split: int, reward: float | None) -> None:
        """Update the posterior with a pull, which is in flight if the reward is None."""
        features = self.features
        if features.unexplained.item(arm) > 0:
            features.cover(arm)
        self._resize(split)
        if self._single is None:
            self._single = SingleUpdate(self)
        self._single.add(arm, split, reward)
        if reward is not None:
            self.n_told[0] = self.n_told.item(0) + 1

    def learn_all(self, told: ArmRewards) -> None:
        """Update a posterior that has no pulls with many pulls at once."""
        for arm in dict.fromkeys(told.arm.tolist()):
            self.features.cover(arm)
        self._resize(int(told.split.max()))
        rows, noise, n_told = self.features.rows, self.noise_variance, len(told.arm)
        seen, values = rows[:, told.arm].T, np.column_stack([told.rewards, np.ones(n_told)])
        precision, answers = seen.T @ seen, seen.T @ values
        squares = values.T @ values
        if self.split_variance > 0:
            shape = self.split_sums.shape[1], n_told
            on_split = csr_array((np.ones(n_told), (told.split, np.arange(n_told))), shape)
            of_splits, sums = on_split @ seen, on_split @ values
            self.split_features[0, :, : self._n], self.split_sums[0] = of_splits, sums
            weight = self._weight_of_split(sums[:, 1])[:, np.newaxis]
            precision -= of_splits.T @ (weight * of_splits)
            answers -= of_splits.T @ (weight * sums)
            squares -= sums.T @ (weight * sums)
        factor = cholesky(precision / noise + np.eye(self._n), lower=True)
        root = solve_triangular(factor, np.eye(self._n), lower=True).T
        state = root @ (root.T @ answers) / noise
        squares = (squares - answers.T @ state) / noise
        self.root[0, : self._n, : self._n], self.means[0, :, : self._n] = root, state.T
        self.answers[0] = state.T @ rows
        self.squares[0] = squares
        explained = np.square(rows).sum(axis=0) - np.square(root.T @ rows).sum(axis=0)
        self.variance[0] = np.maximum(self.variance[0] - explained, 0.0)
        self.n_told[0] = n_told

    def offset_and_scale_of_one(self) -> tuple[float, float]:
        """Return `offset_and_scale` as numbers; a scale of NaN is replaced by 1."""
        (of_rewards, mixed), (_, of_ones) = self.squares[0].tolist()
        n_told = self.n_told.item(0)
        offset = mixed / of_ones if of_ones > 0 else 0.0
        left = of_rewards - mixed * offset
        if n_told < 2 or left <= 1e-14 * of_rewards:
            return offset, 1.0
        return offset, sqrt(left / (n_told - 1))

    def draws_of_one(self, rng: np.random.Generator, n_draws: int) -> FloatArray:
        """Draw as `sample` does, ``n_draws`` times at once, shape ``(n_draws, n_arms)``.

        It needs only one product of matrices.
        """
        self._resize()
        normal = rng.standard_normal((n_draws, self._n + self.variance.shape[1]))
        weights = self.root[0, : self._n, : self._n].T @ self.features.rows
        unexplained = np.sqrt(self.features.unexplained)
        draws: FloatArray = normal[:, : self._n] @ weights
        if unexplained.any():
            draws += unexplained * normal[:, self._n :]
        return draws

    def _note_growth(self) -> None:
        self._single = None


class SingleUpdate:
    """The arrays of a single problem and work arrays, valid until the arrays have to grow.

    Parameters
    ----------
    posterior : SinglePosterior
        The posterior whose arrays are updated.
    """

    def __init__(self, posterior: SinglePosterior) -> None:
        self._rows = posterior.features.rows
        self._noise_variance = posterior.noise_variance
        self._split_variance = posterior.split_variance
        self._answers, self._variance = posterior.answers[0], posterior.variance[0]
        self._squares = posterior.squares[0]
        self._root, self._means = posterior.root[0], posterior.means[0]
        self._split_features = posterior.split_features[0]
        self._split_sums = posterior.split_sums[0]
        self._transposed = self._root.T  # BLAS uses column-major order
        self._seen, self._inner, self._step = np.zeros((3, len(self._root)))
        n_features = len(self._rows)
        self._seen_features = self._seen[:n_features]
        self._step_features = self._step[:n_features]

    def add(self, arm: int, split: int, reward: float | None) -> None:
        """Update the arrays with one pull, which is in flight if the reward is None."""
        seen, inner, step = self._seen, self._inner, self._step
        np.copyto(self._seen_features, self._rows[:, arm])
        surprise, noise = self._surprise(arm, reward), self._noise_variance
        if self._split_variance > 0:
            noise *= 1 + self._add_to_split(split, reward, surprise)
        self._transposed.dot(seen, inner)
        self._root.dot(inner, step)
        total = inner.dot(inner).item() + noise
        deviation = sqrt(total)
        dscal(1 / deviation, step)
        across = self._step_features.dot(self._rows)
        if reward is not None:
            self._learn(across, surprise, deviation)
        # Update of the square root of the covariance (Potter's form of the Kalman filter).
        share = -deviation / (total + deviation * sqrt(noise))
        dger(share, inner, step, 1, 1, self._transposed, 1, 1, 1)
        np.multiply(across, across, across)
        variance = self._variance
        np.subtract(variance, across, variance)
        np.maximum(variance, ZERO, out=variance)

    def _surprise(self, arm: int, reward: float | None) -> FloatArray:
        """Return the difference from the expectation of the arm: reward, and reward of 1."""
        answers = self._answers
        return np.array(((reward or 0.0) - answers.item(0, arm), 1.0 - answers.item(1, arm)))

    def _add_to_split(self, split: int, reward: float | None, surprise: FloatArray) -> float:
        """Subtract from the pull what its split explains, and return the weight of the split.

        The weight is c of the module's docstring. The pull is added to the sums of the split.
        """
        seen, features, sums = self._seen, self._split_features[split], self._split_sums[split]
        n_pulls: float = sums.item(1)
        weight = self._split_variance / (self._noise_variance + n_pulls * self._split_variance)
        if n_pulls == 0:
            np.copyto(features, seen)
        else:
            surprise -= weight * (sums - self._means.dot(features))
            np.add(features, seen, self._step)
            daxpy(features, seen, a=-weight)
            np.copyto(features, self._step)
        sums[0] = sums.item(0) + (reward or 0.0)
        sums[1] = n_pulls + 1
        return weight

    def _learn(self, across: FloatArray, surprise: FloatArray, deviation: float) -> None:
        """Update the means. All steps are divided by the standard deviation."""
        surprise /= deviation
        if self._split_variance > 0:
            dger(1.0, self._step, surprise, 1, 1, self._means.T, 1, 1, 1)
        dger(1.0, across, surprise, 1, 1, self._answers.T, 1, 1, 1)
        of_reward, of_one = surprise.tolist()
        squares = self._squares
        squares[0, 0] = squares.item(0) + of_reward * of_reward
        squares[0, 1] = squares.item(1) + of_reward * of_one
        squares[1, 1] = squares.item(3) + of_one * of_one
