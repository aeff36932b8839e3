"""Acquisition rules that score arms by their posterior, as alternatives to BayesGap."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from sklearn_halving.policies._arrays import BoolArray, FloatArray

GP_UCB_DELTA = 0.1
"""One minus the confidence level of the bounds of GP-UCB in all rounds together."""

MARGIN = 0.1
"""Minimum improvement, as a multiple of the largest posterior standard deviation."""


class Outlook(NamedTuple):
    """Input of the acquisition rules.

    Parameters
    ----------
    mean, deviation : ndarray of shape (n_problems, n_arms)
        Posterior means and standard deviations. The latter include pulls in flight.
    was_pulled : ndarray of bool of shape (n_problems, n_arms)
        Arms in play that have a reward.
    round : int
        Number of the next pull, counted from 1.
    """

    mean: FloatArray
    deviation: FloatArray
    was_pulled: BoolArray
    round: int


def bayes_ucb(outlook: Outlook) -> FloatArray:
    """Return the ``1 - 1 / (round + 1)`` quantiles (Kaufmann et al. 2012, with c = 0).

    The paper uses ``1 - 1 / round``, which is a quantile of 0 in the first round.
    """
    quantile = float(ndtri(1 - 1 / (outlook.round + 1)))
    return outlook.mean + quantile * outlook.deviation


def gp_ucb(outlook: Outlook) -> FloatArray:
    """Return ``mean + sqrt(2 log(K t^2 pi^2 / (6 delta))) deviation`` (Srinivas et al. 2010)."""
    n_arms = outlook.mean.shape[1]
    inside = n_arms * outlook.round**2 * np.pi**2 / (6 * GP_UCB_DELTA)
    return outlook.mean + np.sqrt(2 * np.log(inside)) * outlook.deviation


def expected_improvement(outlook: Outlook) -> FloatArray:
    """Return the expected improvement over the best posterior mean of a pulled arm."""
    z = _improvement(outlook)
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    return outlook.deviation * (z * ndtr(z) + density)


def probability_of_improvement(outlook: Outlook) -> FloatArray:
    """Return the normal quantiles of the probabilities of improvement.

    An improvement exceeds the best posterior mean of a pulled arm by a margin. Without a margin,
    the best arm would always have the largest probability, 1/2, and no other arm would be pulled.
    """
    margin = MARGIN * outlook.deviation.max(axis=1, keepdims=True)
    return _improvement(outlook, margin)


def _improvement(outlook: Outlook, margin: FloatArray | float = 0.0) -> FloatArray:
    """Return the difference from the best pulled arm, in standard deviations of each arm."""
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
