"""Acquisition rules that score arms by their posterior, as alternatives to BayesGap."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from sklearn_halving.policies._arrays import BoolArray, FloatArray

GP_UCB_DELTA = 0.1
"""One minus the confidence level of the bounds of GP-UCB in all rounds together."""

MARGIN = 0.1
"""Minimum improvement, as a multiple of the largest posterior standard deviation."""


def scores_of(
    acquisition: str,
    mean: FloatArray,
    deviation: FloatArray,
    was_pulled: BoolArray,
    round_number: int,
) -> FloatArray:
    """Return the scores of all arms, of which the largest is pulled next.

    Parameters
    ----------
    acquisition : {"bayes_ucb", "gp_ucb", "ei", "pi"}
        "bayes_ucb" is the quantile of ``1 - 1 / (t + 1)`` in round t (Kaufmann et al. 2012, with
        c = 0). The paper uses ``1 - 1 / t``, which is a quantile of 0 in the first round.
        "gp_ucb" is ``mean + sqrt(2 log(K t^2 pi^2 / (6 delta))) deviation`` (Srinivas et al.
        2010). "ei" is the expected improvement over the best posterior mean of a pulled arm, and
        "pi" the normal quantile of the probability of an improvement by a margin. Without a
        margin, the best arm would always have the largest probability, 1/2, and no other arm
        would be pulled.
    mean, deviation : ndarray of shape (n_problems, n_arms)
        Posterior means and standard deviations. The latter include pulls in flight.
    was_pulled : ndarray of bool of shape (n_problems, n_arms)
        Arms in play that have a reward.
    round_number : int
        Number of the next pull, t, counted from 1.
    """
    if acquisition == "bayes_ucb":
        return mean + float(ndtri(1 - 1 / (round_number + 1))) * deviation
    if acquisition == "gp_ucb":
        inside = mean.shape[1] * round_number**2 * np.pi**2 / (6 * GP_UCB_DELTA)
        return mean + np.sqrt(2 * np.log(inside)) * deviation
    best = np.where(was_pulled, mean, -np.inf).max(axis=1, keepdims=True)
    best = np.where(np.isfinite(best), best, mean.max(axis=1, keepdims=True))
    if acquisition == "pi":
        best = best + MARGIN * deviation.max(axis=1, keepdims=True)
    z: FloatArray = np.clip((mean - best) / np.maximum(deviation, 1e-150), -1e150, 1e150)
    if acquisition == "pi":
        return z
    return deviation * (z * ndtr(z) + np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi))
