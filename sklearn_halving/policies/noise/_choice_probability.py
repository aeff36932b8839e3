"""How sure a choice is: the chance that it is the best, what it may cost, what it is worth.

Arms have estimated means with independent normal errors and, for the first two, flat priors.
All integrals are by quadrature; nothing here is random.
"""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from sklearn_halving.policies._types import FloatArray
from sklearn_halving.policies.noise._noise_estimates import (
    ArmEstimates,
    estimate_from_table,
    standard_errors,
)

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
N_EM_STEPS = 8  # on from a normal prior; by simulation, see `corrected_mean`
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
    >>> from sklearn_halving.policies.noise._choice_probability import probability_of_best
    >>> probability_of_best([0.8, 0.7, 0.5], [0.05, 0.05, 0.05]).round(3)
    array([0.921, 0.079, 0.   ])
    """
    m, s = _checked(mean, standard_error)
    known = ~np.isnan(m)
    if not known.any():
        return np.full(len(m), np.nan)
    endless = known & (m == np.inf)
    if endless.any() or (m[known] == -np.inf).all():
        share = np.where(endless if endless.any() else known, 1.0, 0.0)
        return np.asarray(share / share.sum())
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
    >>> from sklearn_halving.policies.noise._choice_probability import expected_regret
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


def corrected_mean(mean: ArrayLike, standard_error: ArrayLike, arm: int) -> float:
    """Return an arm's mean, corrected for having been chosen as the best of several noisy ones.

    The posterior mean under a prior that is estimated from all arms: the normal distribution of
    largest likelihood, reshaped by a few steps of the EM algorithm for a distribution of any
    form. The posterior depends on the rewards and not on why they were asked for, so that it
    also holds after halving, where the means of the pulls that were kept were selected again and
    again. With few arms the prior is poorly known: five arms in even steps of about one
    standard error are corrected too much.

    Parameters
    ----------
    mean, standard_error : array-like of shape (n_arms,)
        As for `probability_of_best`. Arms of which one is not finite are left out.
    arm : int
        The arm that was chosen.

    Returns
    -------
    corrected : float
        At most ``mean[arm]``, and that itself where the arm is exact, infinite or alone. NaN
        if its standard error is infinite, or if it has no estimate.

    Raises
    ------
    ValueError
        If the shapes differ or a standard error is negative.

    References
    ----------
    N. Laird (1978). Nonparametric maximum likelihood estimation of a mixing distribution.
    Journal of the American Statistical Association 73, 805-811.

    B. Efron (2011). Tweedie's formula and selection bias. Journal of the American Statistical
    Association 106, 1602-1614.

    Examples
    --------
    >>> from sklearn_halving.policies.noise._choice_probability import corrected_mean
    >>> round(corrected_mean([0.84, 0.82, 0.81, 0.79, 0.78], [0.02] * 5, arm=0), 3)
    0.815
    """
    m, s = _checked(mean, standard_error)
    value, error = float(m[arm]), float(s[arm])
    if np.isnan(value) or np.isinf(value) or error < 1e-300:
        return value
    if np.isinf(error):
        return float("nan")
    usable = np.isfinite(m) & np.isfinite(s)
    m, s = m[usable], s[usable]
    if (m == value).all():  # also if the arm is alone
        return value
    place = int(usable[:arm].sum())
    nodes, widths = _nodes_below(float(m.max()), float(m.min()), value, error)
    # Between nodes that are far apart an arm must not vanish.
    s = np.maximum(s, np.interp(-m, -nodes, widths))
    prior = _normal_prior(m, s, nodes, widths)
    z = (m[:, np.newaxis] - nodes) / s[:, np.newaxis]
    likelihood = np.exp(-(z**2) / 2)
    for _ in range(N_EM_STEPS):
        posterior = likelihood * prior
        prior = (posterior / posterior.sum(axis=1, keepdims=True)).mean(axis=0)
    posterior_of_arm = likelihood[place] * prior
    return min(value, float(posterior_of_arm @ nodes / posterior_of_arm.sum()))


def _nodes_below(
    top: float, bottom: float, value: float, error: float
) -> tuple[FloatArray, FloatArray]:
    """Return nodes of a prior, from the top down, close together near the value; and widths."""
    near, all_ = top - value + REACH * error, top - bottom
    depth = np.linspace(0.0, near, ceil(min(near / error, 100.0) * 4))
    n_more = ceil(max(0.0, np.log(all_ / near)) / np.log(1.03))
    depth = np.append(depth, near * 1.03 ** np.arange(1, n_more + 1))
    depth = np.append(depth[depth < all_], all_)
    return top - depth, np.gradient(depth)


def _normal_prior(
    mean: FloatArray, error: FloatArray, nodes: FloatArray, widths: FloatArray
) -> FloatArray:
    """Return the weights of the nodes under the normal prior of largest marginal likelihood.

    Its mean is profiled out, its standard deviation is taken from a grid.
    """
    spread = np.median(error) * np.append(0.0, np.geomspace(0.05, 50, 40))[:, np.newaxis]
    weight = 1 / (error**2 + spread**2)
    total = weight.sum(axis=1)
    centre = weight @ mean / total
    squares = (weight * (mean - centre[:, np.newaxis]) ** 2).sum(axis=1)
    best = int((np.log(weight).sum(axis=1) - np.log(total) - squares).argmax())
    # Not narrower than the grid, or it falls between two nodes.
    sd = max(float(spread[best, 0]), float(np.interp(-centre[best], -nodes, widths)))
    prior = np.exp(-(((nodes - centre[best]) / sd) ** 2) / 2) * widths
    prior /= prior.sum()
    return np.asarray(prior + 1e-6 * widths / widths.sum())


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
    exact = error < 1e-300  # smaller ones are lost when they are squared
    error = np.where(exact, 0.0, error)
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
