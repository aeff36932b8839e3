"""How sure a choice is: the chance that it is the best, what it may cost, what it is worth.

Arms have estimated means with independent normal errors and, for the first two, flat priors.
All integrals are by quadrature; nothing here is random.
"""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from sklearn_halving.policies._noise_estimates import (
    ArmEstimates,
    estimate_from_table,
    standard_errors,
)
from sklearn_halving.policies._types import FloatArray

__all__ = [
    "ArmEstimates",
    "corrected_mean",
    "estimate_from_table",
    "expected_regret",
    "is_clear",
    "probability_of_best",
    "standard_errors",
]

REACH = 8.3  # standard errors; what is farther out in a normal is lost in rounding
ONE_SIDED = float(ndtri(0.95))
GAUSS_NODES, GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(7)
CHUNK = 1_000_000  # numbers in memory at a time


def probability_of_best(mean: ArrayLike, standard_error: ArrayLike) -> FloatArray:
    """Return the probability that each arm is the best.

    The integral over x of ``phi_a(x) prod_{b != a} Phi_b(x)``, with the normal density and
    distribution functions of the arms.

    Parameters
    ----------
    mean : array-like of shape (n_arms,)
        Larger is better. NaN: an arm without an estimate, which is never the best.
    standard_error : array-like of shape (n_arms,)
        0: the mean is exact; such arms share their probability if they tie. Infinite: the mean
        says nothing. NaN: no estimate.

    Returns
    -------
    probability : ndarray of shape (n_arms,)
        Sums to 1; all NaN if no arm has an estimate.

    Raises
    ------
    ValueError
        If the shapes differ or a standard error is negative.

    Examples
    --------
    >>> from sklearn_halving.policies._choice import probability_of_best
    >>> probability_of_best([0.8, 0.7, 0.5], [0.05, 0.05, 0.05]).round(3)
    array([0.921, 0.079, 0.   ])
    """
    m, s = _checked(mean, standard_error)
    known = ~np.isnan(m)
    if not known.any():
        return np.full(len(m), np.nan)
    endless = known & (m == np.inf)
    if endless.any() or (m[known] == -np.inf).all():
        share = endless if endless.any() else known
        return share / share.sum()
    probability = np.zeros(len(m))
    # Very wide posteriors are above or below all others with equal chances.
    vague = known & np.isinf(s) & np.isfinite(m)
    finite = known & np.isfinite(m) & ~vague
    below = 0.5 ** int(vague.sum()) if finite.any() else 0.0
    probability[vague] = (1 - below) / max(1, vague.sum())
    if finite.any():
        probability[finite] = below * _contest(m[finite], s[finite])[0]
    return probability


def expected_regret(mean: ArrayLike, standard_error: ArrayLike, arm: int) -> float:
    """Return how much worse an arm is than the best one, on average: ``E[max_b mu_b - mu_arm]``.

    Parameters
    ----------
    mean, standard_error : array-like of shape (n_arms,)
        As for `probability_of_best`.
    arm : int
        The arm that was chosen.

    Returns
    -------
    regret : float
        Not negative, in units of the mean; infinite if an arm's mean says nothing, NaN if the
        arm itself has no estimate.

    Raises
    ------
    ValueError
        If the shapes differ or a standard error is negative.

    Examples
    --------
    >>> from sklearn_halving.policies._choice import expected_regret
    >>> round(expected_regret([0.8, 0.7, 0.5], [0.05, 0.05, 0.05], arm=0), 4)
    0.0025
    """
    m, s = _checked(mean, standard_error)
    known = ~np.isnan(m)
    if not known[arm]:
        return float("nan")
    if known.sum() == 1 or m[arm] == np.inf:
        return 0.0
    if m[known].max() == -np.inf:
        return 0.0
    finite = known & np.isfinite(m)
    if not finite[arm] or (m[known] == np.inf).any() or np.isinf(s[finite]).any():
        return float("inf")
    return max(0.0, _contest(m[finite], s[finite])[1] - float(m[arm]))


def is_clear(
    mean: FloatArray,
    standard_error: FloatArray,
    leader: int,
    stop_probability: float | None,
    tolerance: float | None,
) -> bool:
    """Return whether further pulls are not worth it, by either rule; None: a rule not used.

    Parameters
    ----------
    mean, standard_error : ndarray of shape (n_arms,)
        As for `probability_of_best`.
    leader : int
        The arm with the largest mean.
    stop_probability : float or None
        Least probability that the leader is best.
    tolerance : float or None
        The largest upper 95 % limit of ``mu_b - mu_leader``, over all other arms b.
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


def _checked(mean: ArrayLike, standard_error: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return both as arrays, NaN where either is."""
    m, s = np.asarray(mean, dtype=np.float64), np.asarray(standard_error, dtype=np.float64)
    if m.ndim != 1 or m.shape != s.shape:
        raise ValueError(
            "mean and standard_error must be one-dimensional and of the same length, got the "
            f"shapes {m.shape} and {s.shape}. Give one value an arm."
        )
    if (s < 0).any():
        raise ValueError(
            f"standard_error must not be negative, got {np.nanmin(s)!r}. Use 0 for an arm whose "
            "mean is exact, NaN for one without an estimate."
        )
    unknown = np.isnan(m) | np.isnan(s)
    return np.where(unknown, np.nan, m), np.where(unknown, np.nan, s)


def _contest(mean: FloatArray, error: FloatArray) -> tuple[FloatArray, float]:
    """Return each arm's probability to be the best, and the expected largest mean.

    Means and errors are finite.
    """
    exact = error < 1e-300
    origin = float((mean - REACH * error).max())  # the best arm is not below this
    mean = mean - origin
    probability = np.zeros(len(mean))
    reaches = np.flatnonzero(~exact & (mean + REACH * error > 0))
    m, s = mean[reaches], error[reaches]
    largest = exact & (mean == 0)
    if largest.any():
        # REACH makes an exact arm the lower end of all that is looked at, or leaves it out.
        probability[largest] = np.exp(log_ndtr(-m / s).sum()) / largest.sum()
    expected = 0.0
    if len(reaches):
        nodes, weights = _grid(m, s)
        step = max(1, CHUNK // len(m))
        won = np.zeros(len(m))
        for i in range(0, len(nodes), step):
            z = np.minimum((nodes[i : i + step, np.newaxis] - m) / s, 40.0)
            log_cdf = np.log(ndtr(z))  # z >= -REACH
            of_all = log_cdf.sum(axis=1)
            weight = weights[i : i + step]
            expected -= float(weight @ np.expm1(of_all))
            won += weight @ np.exp(of_all[:, np.newaxis] - log_cdf - z**2 / 2)
        probability[reaches] = won / (s * sqrt(2 * np.pi))
    return probability / probability.sum(), origin + expected


def _grid(mean: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights from 0 up, fine enough for every arm where it changes.

    Arms are taken together by powers of two of their errors; in the reach of each such group the
    intervals are no wider than half its smallest error, and there are few, since no arm is
    needed that is more than twice its reach below the best of its group.
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
