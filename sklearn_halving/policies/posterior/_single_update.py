"""`ArmPosterior.update` for a single problem, with few calls of NumPy and BLAS."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.blas import daxpy, dger, dscal

from sklearn_halving.policies._arrays import FloatArray

if TYPE_CHECKING:
    from sklearn_halving.policies.posterior._arm_posterior import ArmPosterior

ZERO = np.zeros(())
"""Comparisons with an array are faster than with a number."""


class SingleUpdate:
    """The arrays of a single problem and work arrays, valid until the arrays have to grow.

    Parameters
    ----------
    posterior : ArmPosterior
        The posterior whose arrays are updated.
    """

    def __init__(self, posterior: ArmPosterior) -> None:
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
        squares[0] = squares.item(0) + of_reward * of_reward
        squares[1] = squares.item(1) + of_reward * of_one
        squares[2] = squares.item(2) + of_one * of_one
