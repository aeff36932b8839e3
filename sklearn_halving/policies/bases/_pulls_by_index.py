"""Allocation of pulls to the arms with the largest index, without a loop over the pulls.

The index of an arm decreases with each of its pulls. A greedy loop therefore selects the largest
elements of all index sequences, which can be computed directly.
"""

from __future__ import annotations

from math import floor, log

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray


def greedy_counts(
    weight: FloatArray, n_pulls: IntArray, budget: int, limit: int | None = None
) -> IntArray:
    """Return the number of pulls of each arm if each pull goes to ``argmax weight / n_pulls``.

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
    counts = np.zeros_like(n_pulls)
    while True:
        largest = weight.max()
        if not largest > 0:
            return counts
        more = _unlimited_counts(weight / largest, n_pulls, budget)
        if limit is None:
            return more
        full = (weight > 0) & (n_pulls + more >= limit)
        if not (full & (n_pulls + more > limit)).any():
            return counts + more
        # Arms that reach the limit are removed, and the other arms share the remaining pulls.
        taken = np.where(full, limit - n_pulls, 0)
        counts += taken
        budget -= int(taken.sum())
        weight = np.where(full, 0.0, weight / largest)


def _unlimited_counts(weight: FloatArray, n_pulls: IntArray, budget: int) -> IntArray:
    first = ((n_pulls == 0) & (weight > 0)).astype(np.int64)
    if first.any():
        first[np.cumsum(first) > budget] = 0
        budget -= int(first.sum())
        n_pulls = n_pulls + first
    level = _integer_level(weight, n_pulls, budget)
    counts = _counts_above(weight, n_pulls, level).astype(np.int64)
    index = weight / np.maximum(n_pulls + counts, 1)
    return counts + first + _one_to_the_largest(index, budget - int(counts.sum()))


def _counts_above(weight: FloatArray, n_pulls: IntArray, level: float) -> FloatArray:
    """Return the number of pulls with an index ``weight / n_pulls`` above ``1 / level``."""
    return np.maximum(np.ceil(weight * level) - n_pulls, 0.0)


def _integer_level(weight: FloatArray, n_pulls: IntArray, budget: int) -> float:
    """Return a level that allocates at most the budget, with at most one pull per arm missing.

    Since the largest weight is 1, a precision of half a pull is sufficient.
    """
    # Where the indices are continuous, this level allocates the budget or more.
    low, high = 0.0, (budget + n_pulls[weight > 0].sum()) / weight.sum() + 1.0
    while high - low > 0.5:
        middle = (low + high) / 2
        if _counts_above(weight, n_pulls, middle).sum() <= budget:
            low = middle
        else:
            high = middle
    return low


def _one_to_the_largest(index: FloatArray, rest: int) -> IntArray:
    """Return 1 for the ``rest`` arms with the largest index, and 0 otherwise."""
    ones = np.zeros(len(index), dtype=np.int64)
    ones[np.argsort(-index, kind="stable")[: max(rest, 0)]] = 1
    return ones


def least_count_for_bound(delta: float) -> int:
    """Return the smallest number of pulls for which the bound of the variance is finite.

    The condition is ``N - 1 > 4 log(1 / delta)``. Otherwise the denominator of the bound is not
    positive, and the arm would never be pulled again.
    """
    return floor(4 * log(1 / delta)) + 2


def bounded_counts(variance: FloatArray, n_pulls: IntArray, budget: int, delta: float) -> IntArray:
    """Return the number of pulls of each arm if each pull goes to ``argmax U / N``.

    ``U = variance / (1 - 2 sqrt(log(1 / delta) / (N - 1)))`` is eq. 7 of Lalitha et al. (2023).
    N grows with the pulls, and the variance is constant. Every arm with a positive variance must
    have `least_count_for_bound` pulls.
    """
    is_open = variance > 0
    top = int(n_pulls.max()) + budget + 2
    count = np.arange(2, top + 1)
    with np.errstate(divide="ignore"):
        effective = count * (1 - 2 * np.sqrt(log(1 / delta) / (count - 1)))  # increasing
    held = np.where(is_open, n_pulls, top)  # more than any arm can have, so that nothing is added
    largest = variance.max()
    low, high = 0.0, effective[-1] / (largest if largest > 0 else np.inf)
    for _ in range(top.bit_length() + 2):  # the count of each arm is off by at most one pull
        middle = (low + high) / 2
        target = 2 + np.searchsorted(effective, variance * middle)
        if np.maximum(target - held, 0).sum() > budget:
            high = middle
        else:
            low = middle
    target = 2 + np.searchsorted(effective, variance * low)
    counts = np.where(is_open, np.maximum(target - held, 0), 0)
    index = np.where(is_open, variance / effective[np.maximum(n_pulls + counts, 2) - 2], -1.0)
    rest = min(budget - int(counts.sum()), int(is_open.sum()))
    return counts + _one_to_the_largest(index, rest)


def positive_weights(weight: FloatArray, in_play: BoolArray) -> FloatArray:
    """Return weights that are positive for all arms in play, so that each gets its first pull."""
    weight = np.nan_to_num(weight, nan=1.0)  # variances of rewards near 1e300 overflow
    largest = np.where(in_play, weight, 0.0).max()
    least = 1e-30 * largest if largest > 0 else 1.0
    return np.where(in_play, np.maximum(weight, least), 0.0)
