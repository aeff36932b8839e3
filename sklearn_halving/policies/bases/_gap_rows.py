"""Gap-based exploration of the arms of many problems: the choice of the next arm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies.bases._gap_rule import NOWHERE
from sklearn_halving.policies.bases._ranking import TIE, gap_to_others, places


class GapChoice(NamedTuple):
    """Result of one round of gap-based exploration. Arrays have shape (n_problems,).

    Parameters
    ----------
    arm : ndarray of int
        The arm to pull: the leader or the runner-up, whichever has the wider interval.
    leader : ndarray of int
        The arm whose regret has the smallest bound (J in the paper).
    bound : ndarray of float
        The bound of the leader's regret (B_J in the paper).
    """

    arm: IntArray
    leader: IntArray
    bound: FloatArray


def first_largest(score: FloatArray, priority: FloatArray | None = None) -> IntArray:
    """Return the first place of the largest score in each row, up to rounding errors.

    If ``priority`` is given, ties go to the first place with the largest priority. It must be
    positive, and have the shape of the scores or of a row.
    """
    top = score.max(axis=1)[:, np.newaxis]  # minus infinity is fine, plus infinity is not
    top -= TIE * np.abs(top)
    is_tied = score >= top
    return (is_tied if priority is None else is_tied * priority).argmax(axis=1)


def choose_by_gap(
    mean: FloatArray,
    half_width: FloatArray,
    alive: BoolArray,
    may_pull: BoolArray,
    priority: FloatArray | None = None,
) -> GapChoice:
    """Play one round of Algorithm 1, with ``argmax`` in line 3 as in the text of the paper.

    Parameters
    ----------
    mean, half_width : ndarray of shape (n_problems, n_arms)
        The bounds are ``mean +- half_width``.
    alive, may_pull : ndarray of bool of shape (n_problems, n_arms)
        Arms that can win, and those of them that can be pulled again. If neither the leader nor
        the runner-up can be pulled, the arm with the largest upper bound that can is chosen.
    priority : ndarray of shape (n_arms,) or None
        Ties go to the arm with the largest priority, or to the first arm if None.

    Returns
    -------
    GapChoice
        Entries are undefined if no arm is alive. The bound of an arm without rivals is 0.
    """
    upper, lower = mean + half_width, mean - half_width
    upper[~alive] = lower[~alive] = NOWHERE
    regret = gap_to_others(upper, lower, NOWHERE)
    leader = first_largest(-regret, priority)
    start = places(regret, np.zeros_like(leader))  # of each row in the flat arrays
    bound = regret.take(start + leader)
    upper.put(start + leader, NOWHERE)
    runner_up = first_largest(upper, priority)
    first, second = np.minimum(leader, runner_up), np.maximum(leader, runner_up)
    width = np.where(may_pull, half_width, -1.0)
    of_first, of_second = width.take(start + first), width.take(start + second)
    arm = np.where(of_second > of_first * (1 + TIE), second, first)
    neither = np.maximum(of_first, of_second) < 0
    if neither.any():
        rest = first_largest(np.where(may_pull, upper, NOWHERE))
        arm = np.where(neither, rest, arm)
    return GapChoice(arm, leader, np.where(bound > 0.5 * NOWHERE, bound, 0.0))
