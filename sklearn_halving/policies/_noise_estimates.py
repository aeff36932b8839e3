"""What the rewards so far say about every arm: mean, variance, and the chance to lead."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_halving.policies._additive_model import fit_additive_model
from sklearn_halving.policies._planned_pulls import PlannedState, best_alive
from sklearn_halving.policies._types import BoolArray, FloatArray, IntArray


class Estimates(NamedTuple):
    """Of each arm: mean, sum of squared noise, and the degrees of freedom of that sum."""

    mean: FloatArray
    squares: FloatArray
    freedom: FloatArray


def estimate_arms(state: PlannedState) -> Estimates:
    """Return what is known of the arms in play, split by split if they share splits."""
    statistics = state.statistics
    mean, n_pulls = statistics.mean(), statistics.n_pulls
    squares, freedom = statistics.squared_deviation_sum, np.maximum(n_pulls - 1.0, 0.0)
    if state.table is not None:
        # Overflow makes a spread that is no number, and such arms are compared by means.
        usable = state.alive & np.isfinite(mean) & np.isfinite(squares)
        n_columns = state.table.shape[2]
        observed = usable[..., np.newaxis] & (np.arange(n_columns) < n_pulls[..., np.newaxis])
        fit = fit_additive_model(state.table, observed)
        mean = np.where(usable, fit.mean, mean)
        squares = np.where(usable, fit.squared_residual_sum, squares)
        freedom = np.where(usable, fit.degrees_of_freedom, freedom)
    is_finite = np.isfinite(squares)
    return Estimates(mean, np.where(is_finite, squares, 0.0), np.where(is_finite, freedom, 0.0))


def shrunk_variances(estimates: Estimates, alive: BoolArray, extra_freedom: float) -> FloatArray:
    """Return each arm's variance, shrunk towards the pooled variance of the arms in play.

    Where no arm has two pulls, the spread between arms stands in: noise is no larger.
    """
    _, squares, freedom = estimates
    total = np.where(alive, freedom, 0.0).sum(axis=1, keepdims=True)
    pooled = np.where(alive, squares, 0.0).sum(axis=1, keepdims=True) / np.maximum(total, 1e-9)
    if (total == 0).any():
        finite = np.where(alive & np.isfinite(estimates.mean), estimates.mean, np.nan)
        n_finite = np.maximum((~np.isnan(finite)).sum(axis=1, keepdims=True), 1)
        centre = np.nansum(finite, axis=1, keepdims=True) / n_finite
        spread = np.nansum((finite - centre) ** 2, axis=1, keepdims=True) / n_finite
        pooled = np.where(total == 0, spread, pooled)
    weight = np.where(freedom > 0, extra_freedom, max(extra_freedom, 1.0))
    variance: FloatArray = (squares + weight * pooled) / (freedom + weight)
    return variance


def likelihood_of_leading(
    estimates: Estimates,
    variance: FloatArray,
    n_pulls: IntArray,
    alive: BoolArray,
    shrinkage: float,
) -> FloatArray:
    """Return the likelihood that an arm's mean is the leader's, relative to the leader's own.

    Student's t density of the difference of means, with the arm's degrees of freedom: an arm
    whose variance may have been underestimated is not written off.
    """
    mean = estimates.mean
    leader = np.maximum(best_alive(alive, mean), 0)[:, np.newaxis]
    error = variance / np.maximum(n_pulls, 1)
    error = error + np.take_along_axis(error, leader, axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.take_along_axis(mean, leader, axis=1) - mean
        z_squared = np.where(gap > 0, gap**2 / np.maximum(error, 1e-300), 0.0)
    freedom = np.maximum(estimates.freedom + shrinkage, 1.0)
    density: FloatArray = np.exp(-(freedom + 1) / 2 * np.log1p(z_squared / freedom))
    return density
