"""Ranking of the arms of each row. NaN is worst, and ties go to the smaller index."""

from __future__ import annotations

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._types import NO_ARM


def keep_best(score: FloatArray, alive: BoolArray, n_kept: int | IntArray) -> BoolArray:
    """Return the arms in play with the ``n_kept`` largest scores.

    Parameters
    ----------
    score : ndarray of shape (n_problems, n_arms)
    alive : ndarray of bool of shape (n_problems, n_arms)
        Arms in play. All other arms rank below them.
    n_kept : int or ndarray of shape (n_problems,)

    Returns
    -------
    kept : ndarray of bool of shape (n_problems, n_arms)

    Examples
    --------
    >>> import numpy as np
    >>> score = np.array([[0.5, 0.9, 0.5, np.nan]])
    >>> keep_best(score, np.ones((1, 4), dtype=bool), 2)
    array([[ True,  True, False, False]])
    """
    order = np.lexsort((-np.where(alive, score, np.nan), ~alive), axis=1)
    in_order = np.arange(score.shape[1]) < np.reshape(n_kept, (-1, 1))
    kept = np.zeros_like(alive)
    np.put_along_axis(kept, order, np.broadcast_to(in_order, kept.shape), axis=1)
    return kept & alive


def best_of_others(value: FloatArray) -> FloatArray:
    """Return the largest value of all other arms for each arm, in the same shape.

    NaN is not allowed. If there is only one arm, the result is minus infinity.

    Examples
    --------
    >>> import numpy as np
    >>> best_of_others(np.array([[1.0, 5.0, 3.0]]))
    array([[5., 3., 5.]])
    """
    first = value.argmax(axis=1)[:, np.newaxis]
    largest = np.take_along_axis(value, first, axis=1)
    rest = value.copy()
    np.put_along_axis(rest, first, -np.inf, axis=1)
    others = np.repeat(largest, value.shape[1], axis=1)
    np.put_along_axis(others, first, rest.max(axis=1, keepdims=True), axis=1)
    return others


def best_alive(alive: BoolArray, mean: FloatArray) -> IntArray:
    """Return the arm with the largest mean in each row; ``NO_ARM`` if no arm is alive."""
    known = alive & ~np.isnan(mean)
    first_known = known & (np.cumsum(known, axis=1) == 1)
    # Arms at minus infinity rank below finite numbers, but above arms without a reward.
    score = np.where(known, mean, -np.inf)
    tied = known & (score == score.max(axis=1, keepdims=True))
    place: IntArray = np.where(tied.any(axis=1), tied.argmax(axis=1), first_known.argmax(axis=1))
    return np.where(known.any(axis=1), place, NO_ARM)


def best_known(alive: BoolArray, mean: FloatArray) -> IntArray:
    """Return the arm in play with the best mean, shape ``(n_problems,)``.

    If all arms in play have failed, it is the best of the other arms. Arms without a reward or
    with a NaN reward have a mean of NaN. ``NO_ARM`` is returned if all means are NaN.
    """
    best = best_alive(alive, mean)
    if (best == NO_ARM).any():
        best = np.where(best == NO_ARM, best_alive(np.ones_like(alive), mean), best)
    return best


def largest_usable(index: FloatArray, usable: BoolArray) -> IntArray:
    """Return the usable arm with the largest index in each row; ``NO_ARM`` if none is usable.

    An index of NaN is treated as minus infinity. Ties go to the smaller arm.
    """
    index = np.where(usable, index, -np.inf)
    arm: IntArray = index.argmax(axis=1)
    rows = np.arange(len(arm))
    if np.isnan(index[rows, arm]).any():
        index = np.where(np.isnan(index), -np.inf, index)
        arm = index.argmax(axis=1)
    wrong = ~usable[rows, arm]
    if wrong.any():
        first = usable.argmax(axis=1)
        arm = np.where(wrong, np.where(usable.any(axis=1), first, NO_ARM), arm)
    return arm
