"""Allocation of pulls to the arms with the largest index, which decreases with each pull."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heapreplace
from math import floor, inf, log
from operator import truediv

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray


def greedy_counts(
    weight: FloatArray,
    n_pulls: IntArray,
    budget: int,
    limit: int | None = None,
    index: Callable[[float, int], float] = truediv,
) -> IntArray:
    """Return the number of pulls of each arm if each pull goes to ``argmax weight / N``.

    Arms without a pull are pulled first. Ties go to the smaller arm.

    Parameters
    ----------
    weight : ndarray of shape (n_arms,)
        Non-negative weights. An arm with weight 0 is not pulled.
    n_pulls : ndarray of shape (n_arms,)
        Number of earlier pulls of each arm.
    budget : int
        Number of pulls to allocate.
    limit : int or None, default=None
        Maximum number of pulls of an arm, including earlier pulls. Pulls are left over if all
        arms have reached it.
    index : callable, default=operator.truediv
        Function of a weight and of N that takes the place of their ratio. It decreases with N.

    Returns
    -------
    counts : ndarray of shape (n_arms,)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies.bases._pulls_by_index import greedy_counts
    >>> greedy_counts(np.array([3.0, 1.0, 0.0]), np.array([1, 1, 1]), 6)
    array([5, 1, 0])
    """
    weights, n, most = weight.tolist(), n_pulls.tolist(), inf if limit is None else limit

    def key(arm: int) -> tuple[float, int]:
        return (-index(weights[arm], n[arm]) if n[arm] else -inf), arm

    heap = [key(arm) for arm, own in enumerate(weights) if own > 0 and n[arm] < most]
    heapify(heap)  # the smallest key, of the largest index, is first
    while budget > 0 and heap:
        budget -= 1
        arm = heap[0][1]
        n[arm] += 1
        if n[arm] < most:
            heapreplace(heap, key(arm))
        else:
            heappop(heap)
    return np.array(n) - n_pulls


def least_count_for_bound(delta: float) -> int:
    """Return the smallest number of pulls for which the bound of the variance is finite.

    The condition is ``N - 1 > 4 log(1 / delta)``. Otherwise the denominator of the bound is not
    positive, and the arm would never be pulled again.
    """
    return floor(4 * log(1 / delta)) + 2


def positive_weights(weight: FloatArray, in_play: BoolArray) -> FloatArray:
    """Return weights that are positive for all arms in play, so that each gets its first pull."""
    weight = np.nan_to_num(weight, nan=1.0)  # variances of rewards near 1e300 overflow
    largest = np.where(in_play, weight, 0.0).max()
    least = 1e-30 * largest if largest > 0 else 1.0
    return np.where(in_play, np.maximum(weight, least), 0.0)
