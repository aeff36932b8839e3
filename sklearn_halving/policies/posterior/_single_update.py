"""Updates of the posterior of a single problem, with few calls of NumPy and BLAS."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from scipy.linalg.blas import daxpy, dger, dscal

from sklearn_halving.policies._arrays import FloatArray

ZERO = np.zeros(())
"""Comparisons with an array are faster than with a number."""


@dataclass(slots=True, eq=False)
class SingleUpdate:
    """The arrays of a single problem, valid until they have to grow.

    Parameters
    ----------
    root : ndarray of shape (n_max, n_max)
        A square root of the covariance of all variables: features and reserved places.
    state : ndarray of shape (2, n_max)
        Means of the variables, given the rewards and given ones.
    split_features : ndarray of shape (n_splits, n_max)
        Sums of the features of the pulls of each split.
    split_sums : ndarray of shape (n_splits, 2)
        Sum of the rewards, and number of the pulls of each split.
    answers : ndarray of shape (2, n_arms)
        Means of the arms.
    variance : ndarray of shape (n_arms,)
    squares : ndarray of shape (3,)
        Sums of products of innovations: rewards, mixed, ones.
    rows : ndarray of shape (n_features, n_arms)
        Features of all arms.
    noise_variance, split_variance : float
    """

    root: FloatArray
    state: FloatArray
    split_features: FloatArray
    split_sums: FloatArray
    answers: FloatArray
    variance: FloatArray
    squares: FloatArray
    rows: FloatArray
    noise_variance: float
    split_variance: float
    _transposed: FloatArray = field(init=False)  # BLAS uses column-major order
    _seen: FloatArray = field(init=False)
    _seen_features: FloatArray = field(init=False)
    _inner: FloatArray = field(init=False)
    _step: FloatArray = field(init=False)
    _step_features: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        """Allocate work arrays."""
        n_features = len(self.rows)
        self._transposed = self.root.T
        self._seen, self._inner, self._step = np.zeros((3, len(self.root)))
        self._seen_features = self._seen[:n_features]
        self._step_features = self._step[:n_features]

    def add(self, arm: int, split: int, reward: float | None) -> None:
        """Update the arrays with one pull, which is in flight if the reward is None."""
        seen, inner, step = self._seen, self._inner, self._step
        np.copyto(self._seen_features, self.rows[:, arm])
        surprise, noise = self._surprise(arm, reward), self.noise_variance
        if self.split_variance > 0:
            noise *= 1 + self._add_to_split(split, reward, surprise)
        self._transposed.dot(seen, inner)
        self.root.dot(inner, step)
        total = inner.dot(inner).item() + noise
        deviation = sqrt(total)
        dscal(1 / deviation, step)
        across = self._step_features.dot(self.rows)
        if reward is not None:
            self._learn(across, surprise, deviation)
        # Update of the square root of the covariance (Potter's form of the Kalman filter).
        share = -deviation / (total + deviation * sqrt(noise))
        dger(share, inner, step, 1, 1, self._transposed, 1, 1, 1)
        np.multiply(across, across, across)
        variance = self.variance
        np.subtract(variance, across, variance)
        np.maximum(variance, ZERO, out=variance)

    def _surprise(self, arm: int, reward: float | None) -> FloatArray:
        """Return the difference from the expectation of the arm: reward, and reward of 1."""
        answers = self.answers
        return np.array(((reward or 0.0) - answers.item(0, arm), 1.0 - answers.item(1, arm)))

    def _add_to_split(self, split: int, reward: float | None, surprise: FloatArray) -> float:
        """Subtract from the pull what its split explains, and return the weight of the split.

        The weight is c of the module's docstring. The pull is added to the sums of the split.
        """
        seen, features, sums = self._seen, self.split_features[split], self.split_sums[split]
        n_pulls: float = sums.item(1)
        weight = self.split_variance / (self.noise_variance + n_pulls * self.split_variance)
        if n_pulls == 0:
            np.copyto(features, seen)
        else:
            surprise -= weight * (sums - self.state.dot(features))
            np.add(features, seen, self._step)
            daxpy(features, seen, a=-weight)
            np.copyto(features, self._step)
        sums[0] = sums.item(0) + (reward or 0.0)
        sums[1] = n_pulls + 1
        return weight

    def _learn(self, across: FloatArray, surprise: FloatArray, deviation: float) -> None:
        """Update the means. All steps are divided by the standard deviation."""
        surprise /= deviation
        if self.split_variance > 0:
            dger(1.0, self._step, surprise, 1, 1, self.state.T, 1, 1, 1)
        dger(1.0, across, surprise, 1, 1, self.answers.T, 1, 1, 1)
        of_reward, of_one = surprise.tolist()
        squares = self.squares
        squares[0] = squares.item(0) + of_reward * of_reward
        squares[1] = squares.item(1) + of_reward * of_one
        squares[2] = squares.item(2) + of_one * of_one
