"""One round of BayesGap for one problem, in few calls: what a search waits for between fits.

The rules are those of `choose_by_gap` and `Exploration.beta`, which play many problems at a
time; the tests hold the two against each other. Bounds are weighted sums of three rows: the
answers to rewards and to ones, and the standard deviations.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from sklearn_halving.policies._types import FloatArray, IntArray
from sklearn_halving.policies.bases._gap_index import NOWHERE, TIE, Exploration


class OneChoice(NamedTuple):
    """What one round says; see `GapChoice`."""

    arm: int
    leader: int
    bound: float


class GapRound:
    """Room for the bounds of one problem's arms.

    Parameters
    ----------
    n_arms : int
        At least 2.
    priority : ndarray of shape (n_arms,) or None, default=None
        Who is taken among equals; None: the first.
    """

    def __init__(self, n_arms: int, priority: FloatArray | None = None) -> None:
        self.priority = priority
        self._sums = np.empty((2, n_arms))
        self._upper, self._lower = self._sums
        self._weights = np.zeros((2, 3))
        self._is_tied = np.empty(n_arms, dtype=bool)
        self._number = np.zeros(())  # all arms are compared sooner with an array than a float

    def __reduce__(self) -> tuple[type[GapRound], tuple[int, FloatArray | None]]:
        """Copy and pickle nothing: arrays that share memory would not do so any more."""
        return GapRound, (len(self._is_tied), self.priority)

    def choose(
        self,
        exploration: Exploration,
        board: FloatArray,
        weights: tuple[float, float],
        epsilon: float,
        out: IntArray | None,
    ) -> OneChoice:
        """Return leader or runner-up, whichever is less known.

        Parameters
        ----------
        exploration : Exploration
        board : ndarray of shape (3, n_arms)
            Answers to rewards, answers to ones, and standard deviations.
        weights : tuple of float
            Of the answers; their weighted sum is the mean.
        epsilon : float
            Regret that does not matter, in the units of the mean.
        out : ndarray of int or None
            Arms that cannot win.
        """
        upper, lower, w = self._upper, self._lower, self._weights
        w[0, 0], w[0, 1] = weights
        beta = exploration.rule
        if isinstance(beta, str):
            beta = self._beta(exploration, board, epsilon, out)
        w[1, 0], w[1, 1] = weights
        w[0, 2], w[1, 2] = beta, -beta
        w.dot(board, self._sums)
        if out is not None:
            upper[out] = lower[out] = NOWHERE
        best, others, place = _two_largest(upper)
        # Every arm's gap is its lower bound less the best of the others' upper ones.
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
        return OneChoice(second if is_second else first, leader, bound)

    def _first(self, score: FloatArray, least: float) -> int:
        """Return the first place where a score is not below the least."""
        self._number[()] = least
        is_tied = np.greater_equal(score, self._number, self._is_tied)
        return int((is_tied if self.priority is None else is_tied * self.priority).argmax())

    def _beta(
        self, exploration: Exploration, board: FloatArray, epsilon: float, out: IntArray | None
    ) -> float:
        """Return eq. (9), its gaps three standard deviations wide."""
        upper, gap, w, number = self._upper, self._lower, self._weights, self._number
        w[1, 0], w[1, 1] = -w.item(0, 0), -w.item(0, 1)
        w[0, 2] = w[1, 2] = 3.0
        w.dot(board, self._sums)
        if out is not None:
            upper[out], gap[out] = NOWHERE, -NOWHERE  # a gap without end, which adds nothing
        best, others, place = _two_largest(upper)
        number[()] = best + epsilon
        np.add(gap, number, gap)
        # Of an arm that is ahead of all others by more than three deviations it is negative.
        gap[place] = abs(gap.item(place) - epsilon - (best - others)) + epsilon
        number[()] = 2 * max(epsilon, exploration.least_gap)  # as gaps are not halved here
        np.maximum(gap, number, out=gap)
        np.reciprocal(gap, gap)
        hardness = 4 * exploration.weight * gap.dot(gap).item()
        beta = sqrt(exploration.information / (4 * max(hardness, 1e-300)))
        return min(max(beta, exploration.least), exploration.most)


def _two_largest(values: FloatArray) -> tuple[float, float, int]:
    """Return the largest, the largest of the others, and the place of the former."""
    place = int(values.argmax())
    best: float = values.item(place)
    values[place] = NOWHERE
    others: float = values.item(values.argmax())
    values[place] = best
    return best, others, place
