"""Conditioning the posterior of one problem on one pull, in few calls of BLAS.

What `ArmPosterior.update` does for many problems at a time; the tests hold the two against
each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from scipy.linalg.blas import dger, dscal

from sklearn_halving.policies._types import FloatArray

ZERO = np.zeros(())
"""All arms are compared sooner with an array than with a number."""


@dataclass(slots=True, eq=False)
class SingleUpdate:
    """The arrays of one problem, as long as they do not have to grow.

    They are taken whole, with the room that they have for variables to come: those are
    independent of all others, and stay so.

    Parameters
    ----------
    root : ndarray of shape (n_max, n_max)
        A square root of the covariance of all variables: splits, features, and room.
    state : ndarray of shape (2, n_max)
        Means of the variables, from the rewards and from ones; looked at for the splits alone.
    answers : ndarray of shape (2, n_arms)
        Means of the arms.
    variance : ndarray of shape (n_arms,)
    squares : ndarray of shape (3,)
        Of innovations: rewards, mixed, ones.
    rows : ndarray of shape (n_features, n_arms)
        Features of all arms.
    n_splits : int
        Variables that are splits.
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
    _transposed: FloatArray = field(init=False)  # BLAS counts columns first
    _seen: FloatArray = field(init=False)
    _seen_splits: FloatArray = field(init=False)
    _seen_features: FloatArray = field(init=False)
    _inner: FloatArray = field(init=False)
    _step: FloatArray = field(init=False)
    _step_features: FloatArray = field(init=False)
    _deviation_of_noise: float = field(init=False)
    _deviation_of_split: float = field(init=False)

    def __post_init__(self) -> None:
        """Make room for what does not outlive a call."""
        first, last = self.n_splits, self.n_splits + len(self.rows)
        self._transposed = self.root.T
        self._seen, self._inner, self._step = np.zeros((3, len(self.root)))
        self._seen_splits, self._seen_features = self._seen[:first], self._seen[first:last]
        self._step_features = self._step[first:last]
        self._deviation_of_noise = sqrt(self.noise_variance)
        self._deviation_of_split = sqrt(self.split_variance)

    def add(self, arm: int, split: int, reward: float | None) -> None:
        """Take in one pull, or with None that there will be one."""
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
        # A square root of the covariance stays one (Potter's form of the Kalman filter).
        share = -deviation / (total + deviation * self._deviation_of_noise)
        dger(share, inner, step, 1, 1, self._transposed, 1, 1, 1)
        np.multiply(across, across, across)
        variance = self.variance
        np.subtract(variance, across, variance)
        np.maximum(variance, ZERO, out=variance)

    def _learn(
        self, arm: int, split: int, across: FloatArray, reward: float, deviation: float
    ) -> None:
        """Move the means; all steps are divided by the deviation."""
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
