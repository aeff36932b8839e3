"""Length scales, noise and split effects of a Gaussian prior, by marginal likelihood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from sklearn_halving.policies._types import FloatArray, IntArray
from sklearn_halving.policies.posterior._arm_covariance import KernelCovariance

VARIANCE_BOUNDS = (1e-4, 1e2)
"""Noise and split variance, as multiples of the arms' prior variance."""

PRIOR_DEVIATION = 1.5
"""Of the logarithm of each hyperparameter around its guess: a factor of 4.5 is one of them."""

LEAST_REWARDS = 4
"""With fewer rewards the guess is returned."""

Kernel = Callable[[FloatArray, IntArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """What a prior is made of, besides its level and scale.

    Parameters
    ----------
    log_lengths : ndarray of shape (n_lengths,)
        What the kernel takes; logarithms, so that all numbers are allowed.
    noise_variance, split_variance : float
        As multiples of the arms' prior variance. A split variance of 0 stays 0.
    """

    log_lengths: FloatArray = field(default_factory=lambda: np.zeros(0))
    noise_variance: float = 0.25
    split_variance: float = 0.0

    def to_vector(self) -> FloatArray:
        """Return what the search moves: all logarithms in one array."""
        variances = [self.noise_variance, self.split_variance][: 1 + (self.split_variance > 0)]
        return np.concatenate([self.log_lengths, np.log(variances)])

    def from_vector(self, vector: FloatArray) -> Hyperparameters:
        """Return hyperparameters of the same kind as these from one array."""
        n = len(self.log_lengths)
        variances = np.exp(vector[n:]).tolist()
        return Hyperparameters(vector[:n], variances[0], variances[1] if variances[1:] else 0.0)


@dataclass(frozen=True, eq=False)
class KernelFamily:
    """Prior covariances among which the rewards choose, in place of one that is given.

    Parameters
    ----------
    kernel : callable
        ``kernel(points, others)`` returns covariances of shape ``(len(points), len(others))``; 1
        for equal points. It is called with points divided by the length scales.
    points : ndarray of shape (n_arms, n_features)
    lengths : ndarray of shape (n_features,)
        Length scales to start from, one for each feature.
    length_bounds : tuple of float, default=(1e-2, 1e2)
        Least and largest length scale.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import KernelFamily
    >>> def kernel(a, b):
    ...     return np.exp(-0.5 * ((a[:, None] - b) ** 2).sum(axis=2))
    >>> family = KernelFamily(kernel, np.array([[0.0], [1.0], [2.0]]), np.array([0.5]))
    >>> family.at(np.log([1.0])).column(0).round(3)
    array([1.   , 0.607, 0.135])
    """

    kernel: Callable[[FloatArray, FloatArray], FloatArray] = field(repr=False)
    points: FloatArray = field(repr=False)
    lengths: FloatArray
    length_bounds: tuple[float, float] = (1e-2, 1e2)

    def __post_init__(self) -> None:
        """Refuse length scales that are not one for each feature, inside of the bounds."""
        lengths = np.asarray(self.lengths, dtype=np.float64)
        least, most = self.length_bounds
        if not 0 < least <= most:
            raise ValueError(
                f"length_bounds must be two numbers above 0, the smaller first; got "
                f"{self.length_bounds!r}."
            )
        is_inside = (lengths >= least) & (lengths <= most)
        if lengths.shape != self.points.shape[1:] or not is_inside.all():
            raise ValueError(
                f"lengths must be {self.points.shape[1]} numbers from {least} to {most}, one for "
                f"each feature; got {self.lengths!r}. Scale the features, or widen length_bounds."
            )

    def at(self, log_lengths: FloatArray) -> KernelCovariance:
        """Return the covariance of all arms for some length scales."""
        scaled = self.points / np.exp(log_lengths)
        return KernelCovariance(self.kernel, scaled, np.ones(len(scaled)))

    def among(self, log_lengths: FloatArray, arms: IntArray) -> FloatArray:
        """Return the covariance matrix of some arms."""
        scaled = self.points[arms] / np.exp(log_lengths)
        return self.kernel(scaled, scaled)


class Told(NamedTuple):
    """Rewards told so far, each an array of shape ``(n_rewards,)``; all finite."""

    arm: IntArray
    split: IntArray
    rewards: FloatArray


def log_marginal_likelihood(kernel: Kernel, told: Told, parameters: Hyperparameters) -> float:
    """Return the restricted log likelihood of the rewards, without its constant.

    The level of all rewards has a flat prior and is integrated out; their scale is the one that
    makes the likelihood largest, as in `ArmPosterior.offset_and_scale`.

    Parameters
    ----------
    kernel : callable
        ``kernel(log_lengths, arms)`` returns the prior covariance of some arms as a matrix of
        shape ``(len(arms), len(arms))``.
    told : Told
    parameters : Hyperparameters

    Examples
    --------
    Neighbours with rewards alike speak for a long length scale.

    >>> import numpy as np
    >>> from sklearn_halving.policies.posterior._hyperparameters import (
    ...     Hyperparameters,
    ...     Told,
    ...     log_marginal_likelihood,
    ... )
    >>> def kernel(log_lengths, arms):
    ...     return np.exp(-0.5 * ((arms[:, None] - arms) / np.exp(log_lengths[0])) ** 2)
    >>> told = Told(np.arange(6), np.zeros(6, int), np.array([0.0, 0.3, 0.6, 0.7, 0.8, 0.8]))
    >>> short, long = (Hyperparameters(np.log([length]), 0.01) for length in (0.3, 3.0))
    >>> log_marginal_likelihood(kernel, told, long) > log_marginal_likelihood(kernel, told, short)
    True
    """
    arms, place = np.unique(told.arm, return_inverse=True)
    covariance = kernel(parameters.log_lengths, arms)[np.ix_(place, place)]
    covariance = covariance + parameters.split_variance * (told.split[:, np.newaxis] == told.split)
    covariance += parameters.noise_variance * np.eye(len(place))
    factor = cho_factor(covariance, lower=True)
    ones = np.ones(len(place))
    centred = told.rewards - told.rewards.mean()
    of_ones = cho_solve(factor, ones)
    residual = centred - (of_ones @ centred) / of_ones.sum()
    squares = float(residual @ cho_solve(factor, residual))
    freedom = len(place) - 1
    size = float(centred @ centred)
    if size == 0:
        return 0.0  # all rewards are equal, and speak for nothing
    log_determinant = 2 * float(np.log(factor[0].diagonal()).sum())
    log_variance = float(np.log(max(squares, 1e-12 * size) / freedom))
    return -0.5 * (freedom * log_variance + log_determinant + float(np.log(of_ones.sum())))


def fit_hyperparameters(
    kernel: Kernel,
    told: Told,
    guess: Hyperparameters,
    length_bounds: tuple[float, float] = (1e-2, 1e2),
) -> Hyperparameters:
    """Return the hyperparameters that fit the rewards best, not far from a guess.

    The marginal likelihood times a prior that is log-normal around the guess, maximised inside of
    bounds by L-BFGS-B from the guess: with few rewards the guess stands, and no number of
    rewards makes a model without noise or with one length for everything.

    Parameters
    ----------
    kernel : callable
        As for `log_marginal_likelihood`.
    told : Told
    guess : Hyperparameters
    length_bounds : tuple of float, default=(1e-2, 1e2)
        Least and largest length scale.

    Returns
    -------
    Hyperparameters
        The guess itself if there are fewer than four rewards, or all are equal.
    """
    if len(told.rewards) < LEAST_REWARDS or np.ptp(told.rewards) == 0:
        return guess
    center = guess.to_vector()
    n_lengths = len(guess.log_lengths)
    bounds = [tuple(np.log(length_bounds))] * n_lengths
    bounds += [tuple(np.log(VARIANCE_BOUNDS))] * (len(center) - n_lengths)

    def loss(vector: FloatArray) -> float:
        distance = (vector - center) / PRIOR_DEVIATION
        likelihood = log_marginal_likelihood(kernel, told, guess.from_vector(vector))
        return 0.5 * float(distance @ distance) - likelihood

    least, most = np.array(bounds).T
    found = minimize(loss, np.clip(center, least, most), method="L-BFGS-B", bounds=bounds)
    return guess.from_vector(np.asarray(found.x, dtype=np.float64))
