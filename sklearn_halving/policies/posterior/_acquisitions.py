"""Scores of arms from their posterior: the rules that BayesGap is compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from sklearn_halving.policies._types import BoolArray, FloatArray

GP_UCB_DELTA = 0.1
"""One minus the confidence with which GP-UCB's bounds hold in all rounds together."""

MARGIN = 0.1
"""What counts as an improvement, in deviations of the least known arm."""


class Outlook(NamedTuple):
    """What a rule may look at.

    Parameters
    ----------
    mean, deviation : ndarray of shape (n_problems, n_arms)
        Of the posterior; pulls in flight are in the deviation.
    was_pulled : ndarray of bool of shape (n_problems, n_arms)
        Arms in play that have a reward.
    round : int
        Number of the pull to come, from 1.
    """

    mean: FloatArray
    deviation: FloatArray
    was_pulled: BoolArray
    round: int


def bayes_ucb(outlook: Outlook) -> FloatArray:
    """Return the ``1 - 1 / (round + 1)`` quantiles (Kaufmann et al. 2012, with c = 0).

    A round later than printed, where the first has the quantile of 0.
    """
    quantile = float(ndtri(1 - 1 / (outlook.round + 1)))
    score: FloatArray = outlook.mean + quantile * outlook.deviation
    return score


def gp_ucb(outlook: Outlook) -> FloatArray:
    """Return ``mean + sqrt(2 log(K t^2 pi^2 / (6 delta))) deviation`` (Srinivas et al. 2010)."""
    n_arms = outlook.mean.shape[1]
    inside = n_arms * outlook.round**2 * np.pi**2 / (6 * GP_UCB_DELTA)
    score: FloatArray = outlook.mean + np.sqrt(2 * np.log(inside)) * outlook.deviation
    return score


def expected_improvement(outlook: Outlook) -> FloatArray:
    """Return the expected improvement over the best posterior mean of a pulled arm."""
    z = _improvement(outlook)
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    score: FloatArray = outlook.deviation * (z * ndtr(z) + density)
    return score


def probability_of_improvement(outlook: Outlook) -> FloatArray:
    """Return by how many deviations an arm is above the target: its probability's quantile.

    The target is the best posterior mean of a pulled arm and a margin, as usual: without one the
    best arm itself is always the likeliest, at 1/2, and no other is ever pulled.
    """
    margin = MARGIN * outlook.deviation.max(axis=1, keepdims=True)
    return _improvement(outlook, margin)


def _improvement(outlook: Outlook, margin: FloatArray | float = 0.0) -> FloatArray:
    """Return by how many deviations each arm is ahead of the best that was pulled."""
    best = np.where(outlook.was_pulled, outlook.mean, -np.inf).max(axis=1, keepdims=True)
    best = np.where(np.isfinite(best), best, outlook.mean.max(axis=1, keepdims=True))
    ahead: FloatArray = (outlook.mean - best - margin) / np.maximum(outlook.deviation, 1e-150)
    return np.clip(ahead, -1e150, 1e150)


SCORES: dict[str, Callable[[Outlook], FloatArray]] = {
    "bayes_ucb": bayes_ucb,
    "gp_ucb": gp_ucb,
    "ei": expected_improvement,
    "pi": probability_of_improvement,
}
