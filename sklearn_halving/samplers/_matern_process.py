"""A Gaussian process with a Matern kernel and fitted hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from sklearn_halving.samplers._dimensions import FloatArray
from sklearn_halving.samplers._space import IntArray

MAX_ITERATIONS = 15
"""Maximum number of iterations for the hyperparameters."""
LOG_NOISE, LOG_NUGGET = -6.0, -3.0
"""Prior means of the logarithm of the noise variance, without and beside known noise. The standard
deviation is 2."""
JITTER = 1e-6
"""Smallest ratio of the noise variance to the signal variance."""


@dataclass(frozen=True)
class Process:
    """A Gaussian process with a Matern 5/2 kernel, conditioned on values at some inputs.

    Parameters
    ----------
    scales : ndarray of shape (n_columns,)
        Length scale of each column.
    signal, noise : float
        Variances. The noise is what the known noise of the values does not explain.
    inputs : ndarray of shape (n_points, n_columns)
        Divided by the length scales.
    known : ndarray of shape (n_points,)
        Known part of the noise variances of the values.
    root : ndarray of shape (n_points, n_points)
        Inverse of the Cholesky factor of the covariance of the values.
    weights : ndarray of shape (n_points,)
        The inverse covariance times the values.
    """

    scales: FloatArray
    signal: float
    noise: float
    inputs: FloatArray
    known: FloatArray
    root: FloatArray
    weights: FloatArray

    @classmethod
    def of(
        cls,
        logs: FloatArray,
        columns: FloatArray,
        of_column: IntArray,
        values: FloatArray,
        known: FloatArray,
    ) -> Self:
        """Return the process with some hyperparameters, see `fit_hyperparameters`."""
        *of_axis, signal, noise = np.exp(logs).tolist()
        scales = np.array(of_axis)[np.unique(of_column, return_inverse=True)[1]]
        prior = cls(scales, signal, noise, columns / scales, known, np.eye(0), values)
        root = prior.inverse_root()
        return replace(prior, root=root, weights=root.T @ (root @ values))

    def believing(self, columns: FloatArray) -> Self:
        """Return the process given also the values that it predicts at some inputs.

        All means remain as they are, and the variances near these inputs decrease.
        """
        inputs = np.concatenate([self.inputs, columns / self.scales])
        more = np.zeros(len(columns))
        wider = replace(
            self,
            inputs=inputs,
            known=np.append(self.known, more),
            weights=np.append(self.weights, more),
        )
        return replace(wider, root=wider.inverse_root())

    @cached_property
    def best(self) -> float:
        """The largest posterior mean at the inputs."""
        return float((self.covariance(self.inputs, self.inputs) @ self.weights).max())

    @property
    def least_noise(self) -> float:
        """The noise variance of a value without known noise."""
        return self.noise + JITTER * self.signal

    def covariance(self, inputs: FloatArray, others: FloatArray) -> FloatArray:
        """Return the prior covariance of the values at inputs that are divided by the scales."""
        return self.signal * matern(squared_distances(inputs, others))[0]

    def inverse_root(self) -> FloatArray:
        """Return the inverse of the Cholesky factor of the covariance of the values."""
        covariance = self.covariance(self.inputs, self.inputs)
        covariance[np.diag_indices(len(self.inputs))] += self.least_noise + self.known
        lower = np.linalg.cholesky(covariance)
        return solve_triangular(lower, np.eye(len(lower)), lower=True)


def fit_hyperparameters(
    columns: FloatArray, of_column: IntArray, values: FloatArray, known: FloatArray
) -> FloatArray:
    """Return the hyperparameters with the largest posterior density, see `negative_log_posterior`.

    ``known`` is the known part of the noise variances of the values.
    """
    of_axis, place = np.unique(of_column, return_inverse=True)
    squares = np.zeros((len(of_axis), len(values), len(values)))
    varies = np.ptp(columns, axis=0) > 0
    for column, own in zip(columns.T[varies], place[varies].tolist(), strict=True):
        squares[own] += np.subtract.outer(column, column) ** 2
    log_noise = LOG_NOISE if not known.any() else LOG_NUGGET
    centre = np.append(np.full(len(of_axis), 0.5 * log(len(of_axis) / 8)), [0.0, log_noise])
    width = np.append(np.ones(len(of_axis) + 1), 2.0)
    fit = minimize(
        negative_log_posterior,
        centre,
        (squares.reshape(len(of_axis), -1), values, known, centre, width),
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(centre - 3 * width, centre + 3 * width, strict=True)),
        options={"maxiter": MAX_ITERATIONS},
    )
    # Rounded, so that rounding errors of another machine do not change the candidates.
    rounded: FloatArray = fit.x.round(4)
    return rounded


def squared_distances(points: FloatArray, others: FloatArray) -> FloatArray:
    """Return squared Euclidean distances, shape (n_points, n_others)."""
    squares = (points**2).sum(axis=1)[:, np.newaxis] + (others**2).sum(axis=1)
    return np.maximum(squares - 2 * points @ others.T, 0)


def matern(squares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the Matern 5/2 correlation and its derivative by the squared distance."""
    r = np.sqrt(5 * squares)
    decay = np.exp(-r)
    return (1 + r + r**2 / 3) * decay, -5 / 6 * (1 + r) * decay


def negative_log_posterior(
    logs: FloatArray,
    squares: FloatArray,
    values: FloatArray,
    known: FloatArray,
    centre: FloatArray,
    width: FloatArray,
) -> tuple[float, FloatArray]:
    """Return the negative log posterior density of hyperparameters, and its gradient.

    Parameters
    ----------
    logs : ndarray of shape (n_axes + 2,)
        Logarithms of the length scales, the signal variance and the noise variance.
    squares : ndarray of shape (n_axes, n_points * n_points)
        Squared distances along each axis.
    values, known : ndarray of shape (n_points,)
        Values, and the known part of their noise variances.
    centre, width : ndarray of shape (n_axes + 2,)
        Mean and standard deviation of the normal prior of ``logs``.
    """
    n, weights = len(values), np.exp(-2 * logs[:-2])
    signal, noise = np.exp(logs[-2:])
    correlation, slope = matern((weights @ squares).reshape(n, n))
    covariance = signal * correlation
    covariance[np.diag_indices(n)] += noise + JITTER * signal + known
    lower = np.linalg.cholesky(covariance)
    root = solve_triangular(lower, np.eye(n), lower=True)
    inverse = root.T @ root
    alpha = inverse @ values
    outer = 0.5 * (inverse - np.outer(alpha, alpha))  # derivative by the covariance
    by_scale = -2 * weights * (squares @ (signal * outer * slope).ravel())
    by_signal = signal * ((outer * correlation).sum() + JITTER * np.trace(outer))
    z = (logs - centre) / width
    value = 0.5 * values @ alpha + np.log(np.diag(lower)).sum() + 0.5 * z @ z
    return float(value), np.append(by_scale, [by_signal, noise * np.trace(outer)]) + z / width
