"""Allocation of pulls to the arms with the largest index, without a loop over the pulls.

The index of an arm decreases with each of its pulls. A greedy loop therefore selects the largest
elements of all index sequences, which can be computed directly.
"""

from __future__ import annotations

from math import floor, log

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray


def greedy_counts(
    weight: FloatArray, n_pulls: IntArray, budget: IntArray, limit: int | None = None
) -> IntArray:
    """Return the number of pulls of each arm if each pull goes to ``argmax weight / n_pulls``.

    Arms without a pull are pulled first. Ties go to the smaller arm.

    Parameters
    ----------
    weight : ndarray of shape (n_problems, n_arms)
        Non-negative weights. An arm with weight 0 is not pulled.
    n_pulls : ndarray of shape (n_problems, n_arms)
        Number of earlier pulls of each arm.
    budget : ndarray of shape (n_problems,)
        Number of pulls to allocate.
    limit : int or None, default=None
        Maximum number of pulls of an arm, including earlier pulls. Pulls are left over if all
        arms have reached it.

    Returns
    -------
    counts : ndarray of shape (n_problems, n_arms)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies.bases._greedy_allocation import greedy_counts
    >>> greedy_counts(np.array([[3.0, 1.0, 0.0]]), np.array([[1, 1, 1]]), np.array([6]))
    array([[5, 1, 0]])
    """
    budget = np.where((weight > 0).any(axis=1), budget, 0)
    weight = _scaled(weight)
    if limit is None:
        return _unlimited_counts(weight, n_pulls, budget)
    counts = np.zeros_like(n_pulls)
    while True:
        open_ = weight > 0
        more: IntArray = _unlimited_counts(weight, n_pulls, np.where(open_.any(axis=1), budget, 0))
        full = open_ & (n_pulls + more >= limit)
        if not (full & (n_pulls + more > limit)).any():
            return counts + more
        # Arms that reach the limit are removed, and the other arms share the remaining pulls.
        counts += np.where(full, limit - n_pulls, 0)
        budget = budget - np.where(full, limit - n_pulls, 0).sum(axis=1)
        weight = _scaled(np.where(full, 0.0, weight))


def _scaled(weight: FloatArray) -> FloatArray:
    """Return the weights divided by the largest weight of each problem."""
    largest = weight.max(axis=1, keepdims=True)
    return weight / np.where(largest > 0, largest, 1.0)


def _unlimited_counts(weight: FloatArray, n_pulls: IntArray, budget: IntArray) -> IntArray:
    first = ((n_pulls == 0) & (weight > 0)).astype(np.int64)
    if first.any():
        first = np.where(first.cumsum(axis=1) <= budget[:, np.newaxis], first, 0)
        budget = budget - first.sum(axis=1)
        n_pulls = n_pulls + first
    level = _integer_level(weight, n_pulls, budget)
    counts = _counts_above(weight, n_pulls, level)
    rest = budget - counts.sum(axis=1)
    index = weight / np.maximum(n_pulls + counts, 1)
    return counts + first + _one_to_the_largest(index, rest)


def _counts_above(weight: FloatArray, n_pulls: IntArray, level: FloatArray) -> IntArray:
    """Return the number of pulls with an index ``weight / n_pulls`` above ``1 / level``."""
    target = np.ceil(weight * level[:, np.newaxis]).astype(np.int64)
    return np.maximum(target - n_pulls, 0)


def _integer_level(weight: FloatArray, n_pulls: IntArray, budget: IntArray) -> FloatArray:
    """Return a level that allocates at most the budget, with at most one pull per arm missing.

    Since the largest weight is 1, a precision of half a pull is sufficient.
    """
    low, high = np.zeros(len(budget)), budget + n_pulls.max(axis=1) + 1.0
    while (high - low > 0.5).any():
        middle = (low + high) / 2
        is_low = _counts_above(weight, n_pulls, middle).sum(axis=1) <= budget
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    return low


def _one_to_the_largest(index: FloatArray, rest: IntArray) -> IntArray:
    """Return 1 for the ``rest`` arms with the largest index in each problem, and 0 otherwise."""
    order = np.argsort(-index, axis=1, kind="stable")
    given = np.arange(index.shape[1]) < rest[:, np.newaxis]
    ones = np.zeros(index.shape, dtype=np.int64)
    np.put_along_axis(ones, order, given.astype(np.int64), axis=1)
    return ones


def least_count_for_bound(delta: float) -> int:
    """Return the smallest number of pulls for which the bound of the variance is finite.

    The condition is ``N - 1 > 4 log(1 / delta)``. Otherwise the denominator of the bound is not
    positive, and the arm would never be pulled again.
    """
    return floor(4 * log(1 / delta)) + 2


def bounded_counts(
    variance: FloatArray, n_pulls: IntArray, budget: IntArray, delta: float
) -> IntArray:
    """Return the number of pulls of each arm if each pull goes to ``argmax U / N``.

    ``U = variance / (1 - 2 sqrt(log(1 / delta) / (N - 1)))`` is eq. 7 of Lalitha et al. (2023).
    N grows with the pulls, and the variance is constant. Every arm with a positive variance must
    have `least_count_for_bound` pulls.
    """
    top = int((n_pulls.max(axis=1) + budget).max()) + 2
    count = np.arange(2, top + 1)
    with np.errstate(divide="ignore"):
        effective = count * (1 - 2 * np.sqrt(log(1 / delta) / (count - 1)))  # increasing
    is_open = variance > 0
    held = np.where(is_open, n_pulls, top)  # more than any arm can have, so that nothing is added
    largest = variance.max(axis=1)
    low, high = np.zeros(len(budget)), effective[-1] / np.where(largest > 0, largest, np.inf)
    for _ in range(top.bit_length() + 2):  # the count of each arm is off by at most one pull
        middle = (low + high) / 2
        target = 2 + np.searchsorted(effective, variance * middle[:, np.newaxis])
        too_many = np.maximum(target - held, 0).sum(axis=1) > budget
        low, high = np.where(too_many, low, middle), np.where(too_many, middle, high)
    target = 2 + np.searchsorted(effective, variance * low[:, np.newaxis])
    counts = np.where(is_open, np.maximum(target - held, 0), 0)
    index = np.where(is_open, variance / effective[np.maximum(n_pulls + counts, 2) - 2], -1.0)
    rest = np.minimum(budget - counts.sum(axis=1), is_open.sum(axis=1))
    return counts + _one_to_the_largest(index, rest)


def positive_weights(weight: FloatArray, in_play: BoolArray) -> FloatArray:
    """Return weights that are positive for all arms in play, so that each gets its first pull."""
    weight = np.nan_to_num(weight, nan=1.0)  # variances of rewards near 1e300 overflow
    largest = np.where(in_play, weight, 0.0).max(axis=1, keepdims=True)
    least = np.where(largest > 0, 1e-30 * largest, 1.0)
    return np.where(in_play, np.maximum(weight, least), 0.0)
