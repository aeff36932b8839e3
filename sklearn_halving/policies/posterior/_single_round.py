"""A round of BayesGap for a single problem: `choose_by_gap` with `Exploration.beta`.

A search waits for its policy between two fits. For a single problem, most of the time of the
batched functions is overhead of NumPy. `SingleRound` follows the same rules with fewer calls, and
`SingleUpdate` does so for the update of the posterior. A round is then six times as fast. The
tests compare both ways.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from sklearn_halving.policies._arrays import FloatArray, IntArray
from sklearn_halving.policies.bases._gap_rule import NOWHERE, TIE, Exploration


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
