"""Uncertainty of the chosen arm: probability to be best, expected regret and corrected mean.

The estimated means of the arms have independent normal errors, and flat priors for the first two.
All integrals are computed by quadrature, without random numbers.
"""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from sklearn_halving._checks import refuse_unless
from sklearn_halving.policies._arrays import FloatArray

REACH = 8.3  # standard errors; the normal density beyond them is negligible
ONE_SIDED = float(ndtri(0.95))
GAUSS_NODES, GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(7)
N_EM_STEPS = 8  # starting from a normal prior; chosen by simulation, see `corrected_mean`
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
        probability. If infinite, the mean is uninformative. If NaN, the arm has no estimate.

    Returns
    -------
    probability : ndarray of shape (n_arms,)
        Probabilities that sum to 1; all NaN if no arm has an estimate.

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
    best = m[known].max()
    if np.isinf(best):
        return np.asarray((m == best) / (m == best).sum())
    probability = np.zeros(len(m))
    # Arms with infinite errors are above or below all others with equal probability.
    vague = known & np.isinf(s) & np.isfinite(m)
    finite = known & np.isfinite(m) & ~vague
    below = 0.5 ** int(vague.sum()) if finite.any() else 0.0
    probability[vague] = (1 - below) / max(1, vague.sum())
    if finite.any():
        probability[finite] = below * _contest(m[finite], s[finite])[0]
    return probability


def expected_regret(mean: ArrayLike, standard_error: ArrayLike, arm: int) -> float:
    """Return the expected regret of an arm, ``E[max_b mu_b - mu_arm]``.

    Parameters
    ----------
    mean, standard_error : array-like of shape (n_arms,)
        As for `probability_of_best`, with the same errors.
    arm : int
        The arm that was chosen.

    Returns
    -------
    regret : float
        Expected regret in units of the mean. Infinite if the mean of any arm is uninformative, NaN
        if the chosen arm has no estimate.

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
    best = m[known].max()
    if known.sum() == 1 or (np.isinf(best) and m[arm] == best):
        return 0.0
    finite = known & np.isfinite(m)
    if not finite[arm] or np.isinf(best) or np.isinf(s[finite]).any():
        return float("inf")
    return max(0.0, _contest(m[finite], s[finite])[1] - float(m[arm]))


def corrected_mean(mean: ArrayLike, standard_error: ArrayLike, arm: int) -> float:
    """Return the mean of an arm, corrected for its selection as the best of several noisy arms.

    It is the posterior mean under a prior that is estimated from all arms: the normal distribution
    with the largest likelihood, modified by a few steps of the EM algorithm for a nonparametric
    distribution. The posterior depends only on the rewards, and not on the reason for a pull. It
    is therefore also valid after halving, where arms are selected repeatedly. With few arms, the
    prior is inaccurate: the correction is too large for five arms in even steps of about one
    standard error.

    Parameters
    ----------
    mean, standard_error : array-like of shape (n_arms,)
        As for `probability_of_best`. Arms with a non-finite value are left out.
    arm : int
        The arm that was chosen.

    Returns
    -------
    corrected : float
        Corrected mean, at most ``mean[arm]``. It is ``mean[arm]`` if the arm is exact, infinite
        or the only arm, and NaN if its standard error is infinite or if it has no estimate.

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
    if (m == value).all():  # also if there is only one arm
        return value
    place = int(usable[:arm].sum())
    nodes, widths = _nodes_below(float(m.max()), float(m.min()), value, error)
    # The likelihood of an arm must not vanish between nodes that are far apart.
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
    """Return the nodes of a prior in decreasing order, denser near the value, and their widths."""
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

    Its mean is profiled out, and its standard deviation is chosen from a grid.
    """
    spread = np.median(error) * np.append(0.0, np.geomspace(0.05, 50, 40))[:, np.newaxis]
    weight = 1 / (error**2 + spread**2)
    total = weight.sum(axis=1)
    centre = weight @ mean / total
    squares = (weight * (mean - centre[:, np.newaxis]) ** 2).sum(axis=1)
    best = int((np.log(weight).sum(axis=1) - np.log(total) - squares).argmax())
    # The prior must not be narrower than the grid, or it would be between two nodes.
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


def _checked(mean: ArrayLike, standard_error: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return both as arrays, with NaN if either is NaN."""
    m, s = np.asarray(mean, dtype=np.float64), np.asarray(standard_error, dtype=np.float64)
    rule, got = "have one value for each arm", f"the shapes {m.shape} and {s.shape}"
    refuse_unless(m.ndim == 1 and m.shape == s.shape, "mean and standard_error", rule, got)
    refuse_unless(not (s < 0).any(), "standard_error", "not be negative", repr(s))
    unknown = np.isnan(m) | np.isnan(s)
    return np.where(unknown, np.nan, m), np.where(unknown, np.nan, s)


def _contest(mean: FloatArray, error: FloatArray) -> tuple[FloatArray, float]:
    """Return the probability of each arm to be the best, and the expected largest mean.

    Means and errors must be finite.
    """
    exact = error < 1e-300  # the squares of smaller errors underflow
    error = np.where(exact, 0.0, error)
    origin = float((mean - REACH * error).max())  # the best arm is not below this
    mean = mean - origin
    probability = np.zeros(len(mean))
    reaches = np.flatnonzero(~exact & (mean + REACH * error > 0))
    m, s = mean[reaches], error[reaches]
    largest = exact & (mean == 0)
    if largest.any():
        # An exact arm is either the origin of the integral, or cannot be the best.
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
