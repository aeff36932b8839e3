"""Estimates of the mean and the variance of each arm, and of the probability that it is the best.

Means on common splits come from the model reward = arm + split + noise. For the probability,
the estimated means have independent normal errors and flat priors. Integrals are computed by
quadrature, without random numbers.
"""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri, stdtrit

from sklearn_halving._checks import refuse_unless
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies.bases._planned_policy import PlannedGame
from sklearn_halving.policies.bases._ranking import best_alive
from sklearn_halving.policies.noise._additive_model import (
    Estimates,
    fit_additive_model,
    fit_table,
)

DEFAULT_SHRINKAGE = 3.0
"""Weight of the pooled variance in the variance of each arm, in degrees of freedom."""

LEAST_FREEDOM = 3.0
"""Minimum degrees of freedom of the noise of all arms in play for the stopping rules."""

LARGEST = 1e150
"""Rewards are clipped to this magnitude, so that squares of differences do not overflow."""

HUGE = 1e280
"""Sums of squares above this number, of which a multiple may overflow, are ignored."""

QUANTILE = 0.975
"""The quantile in which widened normal errors agree with Student's t distribution."""


def estimate_arms(game: PlannedGame, *, common_splits: bool) -> Estimates:
    """Return the estimates of the arms in play, by the additive model if they share splits."""
    statistics = game.statistics
    mean, squares = statistics.mean, statistics.squares
    freedom = np.maximum(statistics.n_pulls - 1.0, 0.0)
    usable = game.alive & np.isfinite(mean) & (squares < HUGE)
    if common_splits and usable.any():
        # Arms whose squares may overflow are compared by their means.
        arm, split, rewards = map(np.concatenate, zip(*game.rewards, strict=True))
        order = np.flatnonzero(usable[arm])
        fit = fit_additive_model(arm[order], split[order], rewards[order], game.n_arms)
        mean, squares, freedom = (
            np.where(usable, fitted, own)
            for fitted, own in zip(fit, (mean, squares, freedom), strict=True)
        )
    is_small = squares < HUGE
    return Estimates(mean, np.where(is_small, squares, 0.0), np.where(is_small, freedom, 0.0))


def noise_of_arms(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the variance of the noise of each arm on common splits, and its degrees of freedom.

    ``table`` has the rewards, shape ``(n_arms, n_splits)``, and NaN where an arm was not pulled.
    Variances are shrunk towards the pooled one.
    """
    fit = fit_table(np.clip(table, -LARGEST, LARGEST))
    return shrunk_variances(fit, ~np.isnan(fit.mean), DEFAULT_SHRINKAGE), fit.freedom


def standard_errors(
    n_pulls: IntArray, noise_variance: FloatArray, overlap: float = 0.0
) -> FloatArray:
    """Return the standard errors of means of rewards, ``sqrt((1 / n + overlap) v)``.

    With an overlap, they follow the corrected resampled t-test (Nadeau and Bengio 2003).

    Parameters
    ----------
    n_pulls : ndarray of int of shape (n_arms,)
    noise_variance : ndarray of shape (n_arms,)
        Variance of one reward.
    overlap : float, default=0.0
        ``n_test / n_train``. The training sets of different splits overlap, so that the rewards
        of an arm are correlated. 0 assumes that they are independent.

    Returns
    -------
    standard_error : ndarray of shape (n_arms,)
        Standard errors in units of reward; NaN for an arm without a pull.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies.noise._noise_estimates import standard_errors
    >>> standard_errors(np.array([4, 4, 0]), np.array([1.0, 9.0, 9.0]))
    array([0.5, 1.5, nan])
    """
    share = 1 / np.where(n_pulls > 0, n_pulls, np.nan) + overlap
    return np.sqrt(share * noise_variance)


def tail_factor(freedom: FloatArray, n_arms: IntArray | int) -> FloatArray:
    """Return the factor by which standard errors are widened for the probability of being best.

    It has two parts. The first is the 97.5 % quantile of Student's t distribution divided by that
    of the normal one: standard errors times this ratio have about the tails of means with an
    estimated variance. Without it, arms whose first rewards were similar by chance seem to be
    precise. The variance of an arm is shrunk towards the pooled variance, which counts as
    `DEFAULT_SHRINKAGE` further degrees of freedom. The second part is ``1 + 1 / (n_arms + 2)``:
    the leader is selected by the same rewards, so its lead is too large on average, and the flat
    prior of the probability does not correct for it. The constants were chosen by simulation, and
    checked with other seeds; see `examples/benchmarks/calibration.py`.

    Parameters
    ----------
    freedom : ndarray of shape (n_arms,)
        Degrees of freedom of the variance of each arm, 0 or more.
    n_arms : int
        Number of arms that may be the best.

    Returns
    -------
    factor : ndarray of shape (n_arms,)
        Above 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies.noise._noise_estimates import tail_factor
    >>> tail_factor(np.array([0, 4, np.inf]), n_arms=5).round(2)
    array([1.86, 1.38, 1.14])
    """
    # stdtrit does not take infinity
    freedom = np.minimum(np.asarray(freedom, dtype=np.float64) + DEFAULT_SHRINKAGE, 1e6)
    ratio = stdtrit(freedom, QUANTILE) / ndtri(QUANTILE)
    return ratio * (1 + 1 / (np.asarray(n_arms) + 2))


def errors_in_play(
    game: PlannedGame, estimates: Estimates, known: FloatArray | None, overlap: float
) -> FloatArray | None:
    """Return standard errors of the arms in play; None if they are not known.

    ``known`` are known variances, which are not estimated.
    """
    alive, n_pulls, freedom = game.alive, game.statistics.n_pulls, estimates.freedom
    if not n_pulls[alive].all() or (known is None and freedom[alive].sum() < LEAST_FREEDOM):
        return None
    if known is None:
        variance = shrunk_variances(estimates, alive, DEFAULT_SHRINKAGE)
        error = standard_errors(n_pulls, variance, overlap)
        error *= tail_factor(freedom, int(alive.sum()))
    else:
        error = standard_errors(n_pulls, known, overlap)
    if game.problem.max_repetitions is not None:  # means over all splits are exact
        error[n_pulls >= game.problem.max_repetitions] = 0.0
    return error


def shrunk_variances(estimates: Estimates, alive: BoolArray, extra_freedom: float) -> FloatArray:
    """Return the variance of each arm, shrunk towards the pooled variance of the arms in play.

    If no arm has two pulls, the variance between arms is used, as an upper limit of the noise.
    """
    mean, squares, freedom = estimates
    total = np.where(alive, freedom, 0.0).sum()
    pooled = np.where(alive, squares, 0.0).sum() / max(total, 1e-9)
    if total == 0:
        finite = mean[alive & np.isfinite(mean)]
        centre = finite.sum() / max(len(finite), 1)
        pooled = ((finite - centre) ** 2).sum() / max(len(finite), 1)
    weight = np.where(freedom > 0, extra_freedom, max(extra_freedom, 1.0))
    return (squares + weight * pooled) / (freedom + weight)


def likelihood_of_leading(
    estimates: Estimates,
    variance: FloatArray,
    n_pulls: IntArray,
    alive: BoolArray,
    shrinkage: float,
) -> FloatArray:
    """Return the likelihood that an arm is as good as the leader, relative to the leader.

    It is Student's t density of the difference of the means, with the degrees of freedom of the
    arm. The heavy tails account for variances that may be underestimated.
    """
    mean, leader = estimates.mean, max(best_alive(alive, estimates.mean), 0)
    error = variance / np.maximum(n_pulls, 1)
    error = error + error[leader]
    with np.errstate(invalid="ignore", over="ignore"):
        gap = mean[leader] - mean
        z_squared = np.where(gap > 0, gap**2 / np.maximum(error, 1e-300), 0.0)
    freedom = np.maximum(estimates.freedom + shrinkage, 1.0)
    return np.exp(-(freedom + 1) / 2 * np.log1p(z_squared / freedom))


def checked_variances(variances: npt.ArrayLike | None, n_arms: int) -> FloatArray | None:
    """Return known variances in shape (n_arms,), or raise if they are invalid."""
    if variances is None:
        return None
    values = np.asarray(variances, dtype=np.float64)
    rule = f"have one value for each of the {n_arms} arms, finite and not negative"
    has_shape = values.shape == (n_arms,)
    is_valid = has_shape and bool((np.isfinite(values) & (values >= 0)).all())
    got = variances if has_shape else f"an array of shape {values.shape}"
    refuse_unless(is_valid, "reward_variances", rule, got)
    return values


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
    >>> from sklearn_halving.policies.noise._noise_estimates import probability_of_best
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
    >>> from sklearn_halving.policies.noise._noise_estimates import is_clear
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
