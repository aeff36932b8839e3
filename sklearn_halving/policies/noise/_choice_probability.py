"""Uncertainty of the chosen arm: the probability that an arm is the best.

The estimated means of the arms have independent normal errors and flat priors. Integrals are
computed by quadrature, without random numbers.
"""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from sklearn_halving.policies._arrays import FloatArray
from sklearn_halving.policies.noise._noise_estimates import (
    LEAST_FREEDOM,
    noise_of_arms,
    standard_errors,
    tail_factor,
)

REACH = 8.3  # standard errors; the normal density beyond them is negligible
ONE_SIDED = float(ndtri(0.95))
GAUSS_NODES, GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(7)
CHUNK = 1_000_000  # numbers in memory at a time


def probability_of_best(mean: ArrayLike, standard_error: ArrayLike) -> FloatArray:
    """Return the probability that each arm is the best.

    It is the integral over x of ``phi_a(x) prod_{b != a} Phi_b(x)``, with the normal density and
    distribution functions of the arms.

    Parameters
    ----------
    mean : array-like of shape (n_arms,)
        Means, where larger is better. An arm with NaN has no estimate and is never the best.
    standard_error : array-like of shape (n_arms,)
        Standard errors of the means. 0 means that the mean is exact. Tied exact arms share their
        probability. If NaN, the arm has no estimate.

    Returns
    -------
    probability : ndarray of shape (n_arms,)
        Probabilities that sum to 1; all NaN if no arm has an estimate.

    Examples
    --------
    >>> from sklearn_halving.policies.noise._choice_probability import probability_of_best
    >>> probability_of_best([0.8, 0.7, 0.5], [0.05, 0.05, 0.05]).round(3)
    array([0.921, 0.079, 0.   ])
    """
    m, s = np.array(mean, dtype=np.float64), np.asarray(standard_error, dtype=np.float64)
    m[np.isnan(s)] = np.nan
    known = ~np.isnan(m)
    if not known.any():
        return np.full(len(m), np.nan)
    best = m[known].max()
    if np.isinf(best):
        return np.asarray((m == best) / (m == best).sum())
    probability = np.zeros(len(m))
    finite = known & np.isfinite(m)
    probability[finite] = _contest(m[finite], s[finite])
    return probability


def probability_of_choice(
    mean: FloatArray, rewards: FloatArray, overlap: float = 0.0
) -> FloatArray:
    """Return the probability that each arm is the best, from rewards on common splits.

    The noise is that of the better half of the arms, because a poor arm may have a much larger
    variance. The errors are wider than the standard errors, see `tail_factor`.

    Parameters
    ----------
    mean : ndarray of shape (n_arms,)
        Means of the arms; NaN for an arm that cannot be the best.
    rewards : ndarray of shape (n_arms, n_splits)
        NaN if an arm was not pulled.
    overlap : float, default=0.0
        As for `standard_errors`.

    Returns
    -------
    probability : ndarray of shape (n_arms,)
        All NaN if there are too few rewards to estimate the noise.
    """
    known = ~np.isnan(mean)
    error, freedom = np.where(known, 0.0, np.nan), np.full(len(mean), np.inf)
    best = np.max(mean, initial=-np.inf, where=known)
    if known.sum() > 1 and not np.isposinf(best):  # otherwise, the choice is certain
        finite = known & np.isfinite(mean)
        better = finite & (mean >= np.median(mean[known]))
        of_all, of_best = (
            noise_of_arms(np.where(rows[:, np.newaxis], rewards, np.nan))
            for rows in (finite, better)
        )
        if of_best[1].sum() < LEAST_FREEDOM:
            of_best = of_all
        if of_best[1].sum() < LEAST_FREEDOM:
            return np.full(len(mean), np.nan)
        variance, freedom = (np.where(better, *both) for both in zip(of_best, of_all, strict=True))
        n_pulls = (~np.isnan(rewards)).sum(axis=1)
        error[finite] = standard_errors(n_pulls, variance, overlap)[finite]
    is_tied = np.isclose(mean, best, rtol=1e-10, atol=0)  # sums have rounding errors
    mean = np.where(is_tied, best, mean)
    return probability_of_best(mean, error * tail_factor(freedom, int(known.sum())))


def is_clear(
    mean: FloatArray,
    standard_error: FloatArray,
    leader: int,
    stop_probability: float | None,
    tolerance: float | None,
) -> bool:
    """Return whether either stopping rule is fulfilled. A rule is not used if it is None.

    Parameters
    ----------
    mean, standard_error : ndarray of shape (n_arms,)
        As for `probability_of_best`.
    leader : int
        The arm with the largest mean.
    stop_probability : float or None
        Minimum probability that the leader is the best arm.
    tolerance : float or None
        Maximum of the upper 95 % limits of ``mu_b - mu_leader`` over all other arms b.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies.noise._choice_probability import is_clear
    >>> is_clear(np.array([0.9, 0.8]), np.array([0.05, 0.05]), 0, 0.9, None)
    True
    """
    if tolerance is not None:
        with np.errstate(invalid="ignore"):
            error = np.hypot(standard_error, standard_error[leader])
            limit = mean - mean[leader] + ONE_SIDED * error
        limit[leader] = 0.0
        if (np.isnan(mean) | (limit <= tolerance)).all():
            return True
    if stop_probability is None:
        return False
    return bool(probability_of_best(mean, standard_error)[leader] >= stop_probability)


def _contest(mean: FloatArray, error: FloatArray) -> FloatArray:
    """Return the probability of each arm to be the best; means and errors must be finite."""
    exact = error < 1e-300  # the squares of smaller errors underflow
    error = np.where(exact, 0.0, error)
    mean = mean - (mean - REACH * error).max()  # the best arm is not below this
    probability = np.zeros(len(mean))
    reaches = np.flatnonzero(~exact & (mean + REACH * error > 0))
    m, s = mean[reaches], error[reaches]
    largest = exact & (mean == 0)
    if largest.any():
        # An exact arm is either the origin of the integral, or cannot be the best.
        probability[largest] = np.exp(log_ndtr(-m / s).sum()) / largest.sum()
    if len(reaches):
        nodes, weights = _grid(m, s)
        step = max(1, CHUNK // len(m))
        won = np.zeros(len(m))
        for i in range(0, len(nodes), step):
            z = np.minimum((nodes[i : i + step, np.newaxis] - m) / s, 40.0)
            log_cdf = np.log(ndtr(z))  # z >= -REACH
            of_all = log_cdf.sum(axis=1)
            weight = weights[i : i + step]
            won += weight @ np.exp(of_all[:, np.newaxis] - log_cdf - z**2 / 2)
        probability[reaches] = won / (s * sqrt(2 * np.pi))
    return np.asarray(probability / probability.sum())


def _grid(mean: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of a quadrature from 0 up, which resolves the errors of all arms.

    Arms are grouped by powers of two of their errors. Within the reach of a group, intervals are
    at most half as wide as its smallest error. Their number is small, since arms that are more
    than twice their reach below the best of the group are not needed.
    """
    power = np.frexp(error)[1]
    edges = [np.zeros(1)]
    for k in np.unique(power):
        m, reach = mean[power == k], REACH * error[power == k]
        low, high = max(0.0, float((m - reach).min())), float((m + reach).max())
        n_intervals = max(1, ceil((high - low) / 2.0 ** (int(k) - 2)))
        edges.append(np.linspace(low, high, n_intervals + 1))
    edge = np.unique(np.concatenate(edges))
    half = np.diff(edge)[:, np.newaxis] / 2
    nodes = edge[:-1, np.newaxis] + half * (1 + GAUSS_NODES)
    return nodes.ravel(), (half * GAUSS_WEIGHTS).ravel()
