"""The steps of BayesGap for a single problem, with few calls of NumPy and BLAS.

A search plays a single problem and waits for its policy between two fits. In batched functions,
most of this time would be overhead of NumPy: a round would take six times as long. `SingleUpdate`
is `ArmPosterior.update`, and `SingleRound` is `choose_by_gap` with `Exploration.beta`. The tests
compare both ways.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.blas import daxpy, dger, dscal

from sklearn_halving.policies._arrays import FloatArray, IntArray
from sklearn_halving.policies.bases._gap_rule import NOWHERE, TIE, Exploration

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
        squares[0, 0] = squares.item(0) + of_reward * of_reward
        squares[0, 1] = squares.item(1) + of_reward * of_one
        squares[1, 1] = squares.item(3) + of_one * of_one


class SingleRound:
    """Chooses the next arm of a single problem, with work arrays that are used again.

    Parameters
    ----------
    n_arms : int
        At least 2.

    Attributes
    ----------
    priority : ndarray of shape (n_arms,) or None
        Ties go to the arm with the largest priority, or to the first arm if None.
    out : ndarray of int
        Arms that cannot win.
    """

    def __init__(self, n_arms: int) -> None:
        self.priority: FloatArray | None = None
        self.out: IntArray = np.zeros(0, dtype=np.int64)
        self._bounds = np.empty((2, n_arms))
        self._weights = np.zeros((2, 3))
        self._number = np.zeros(())  # operations with an array are faster than with a float

    def choose(
        self,
        exploration: Exploration,
        board: FloatArray,
        weights: tuple[float, float],
        epsilon: float,
    ) -> tuple[int, int, float]:
        """Return the arm to pull, the leader, and the bound of its regret.

        Parameters
        ----------
        exploration : Exploration
        board : ndarray of shape (3, n_arms)
            Posterior means given the rewards, posterior means given rewards of 1, and standard
            deviations.
        weights : tuple of float
            Weights of the first two rows, whose weighted sum is the mean.
        epsilon : float
            Tolerated regret, in the units of the mean.
        """
        w, (upper, lower) = self._weights, self._bounds
        w[0, 0], w[0, 1] = weights
        beta = exploration.least
        if beta != exploration.most:
            beta = self._beta(exploration, board, epsilon)
        w[1, 0], w[1, 1] = weights
        w[0, 2], w[1, 2] = beta, -beta
        w.dot(board, self._bounds)
        if len(self.out):
            upper[self.out] = lower[self.out] = NOWHERE
        best, others, place = _two_largest(upper)
        # The gap of an arm is its lower bound minus the largest upper bound of the others.
        lower[place] = lower.item(place) + (best - others)
        top, next_to_top, leader = _two_largest(lower)
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
        return second if is_second else first, leader, bound

    def _first(self, score: FloatArray, least: float) -> int:
        """Return the first place where a score is at least ``least``."""
        self._number[()] = least
        is_tied = score >= self._number
        return int((is_tied if self.priority is None else is_tied * self.priority).argmax())

    def _beta(self, exploration: Exploration, board: FloatArray, epsilon: float) -> float:
        """Return beta by eq. (9), with gaps between bounds of three standard deviations."""
        w, number, (upper, gap) = self._weights, self._number, self._bounds
        w[1, 0], w[1, 1] = -w.item(0, 0), -w.item(0, 1)
        w[0, 2] = w[1, 2] = 3.0
        w.dot(board, self._bounds)
        if len(self.out):
            upper[self.out], gap[self.out] = NOWHERE, -NOWHERE  # an infinite gap, which adds 0
        best, others, place = _two_largest(upper)
        number[()] = best + epsilon
        np.add(gap, number, gap)
        # The gap of an arm that leads by more than three standard deviations is negative.
        gap[place] = abs(gap.item(place) - epsilon - (best - others)) + epsilon
        number[()] = 2 * max(epsilon, exploration.least_gap)  # gaps are not halved here
        np.maximum(gap, number, out=gap)
        np.reciprocal(gap, gap)
        hardness = 4 * exploration.weight * gap.dot(gap).item()
        beta = sqrt(exploration.information / (4 * max(hardness, 1e-300)))
        return min(max(beta, exploration.least), exploration.most)


def _two_largest(values: FloatArray) -> tuple[float, float, int]:
    """Return the two largest values, and the place of the largest."""
    place = int(values.argmax())
    best: float = values.item(place)
    values[place] = NOWHERE
    others: float = values.item(values.argmax())
    values[place] = best
    return best, others, place
