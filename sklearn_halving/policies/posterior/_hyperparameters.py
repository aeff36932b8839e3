"""Length scales, noise and split effects of a Gaussian prior, by marginal likelihood.

The covariance of n rewards is ``Z G Z' + split_variance * S S' + noise_variance * I`` with
indicator matrices Z of arms and S of splits. Everything below works with the a x a matrix G of
the arms that have rewards and with the table of pulls by arm and split, never with a matrix of
shape (n, n): one evaluation of the likelihood and its gradient costs O(a^3 + a^2 s).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, rq, solve_triangular
from scipy.optimize import minimize

from sklearn_halving._checks import refuse_unless
from sklearn_halving.policies._arrays import FloatArray, IntArray
from sklearn_halving.policies.bases._gap_rule import Exploration
from sklearn_halving.policies.posterior._arm_posterior import (
    ArmCovariance,
    ArmPosterior,
    KernelCovariance,
    spread_places,
)

VARIANCE_BOUNDS = (1e-4, 1e2)
"""Bounds of the noise and split variance, as multiples of the prior variance of the arms."""

PRIOR_DEVIATION = 1.5
"""Prior standard deviation of the logarithm of each hyperparameter around its guess."""

LEAST_REWARDS = 4
"""Minimum number of rewards for a fit. With fewer rewards, the initial values are returned."""

MAX_FITTED_ARMS = 500
"""Hyperparameters are fitted to the rewards of at most this many arms."""

STEP = 1e-5
"""Step of numerical derivatives of a kernel by the logarithm of a length scale."""

REFITS = frozenset(5 * 2**i for i in range(30))
"""Numbers of rewards after which the hyperparameters are estimated."""

OUTLIER_SPREADS = 3.0
"""Limit for the distance of a reward below the median, as a multiple of the distance of the best
reward above it. Lower rewards are raised to the limit, so that a few poor arms do not determine
the scale."""

Model = tuple[ArmPosterior, Exploration]
"""A posterior, and the constants of its bounds."""


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """Hyperparameters of the prior, except for its level and scale.

    Parameters
    ----------
    log_lengths : ndarray of shape (n_lengths,)
        Logarithms of the length scales of the kernel.
    noise_variance, split_variance : float
        Multiples of the prior variance of the arms. A split variance of 0 remains 0.
    """

    log_lengths: FloatArray = field(default_factory=lambda: np.zeros(0))
    noise_variance: float = 0.25
    split_variance: float = 0.0

    def to_vector(self) -> FloatArray:
        """Return the logarithms of all hyperparameters that are fitted, in one array."""
        variances = [self.noise_variance, self.split_variance][: 1 + (self.split_variance > 0)]
        return np.concatenate([self.log_lengths, np.log(variances)])

    def from_vector(self, vector: FloatArray) -> Hyperparameters:
        """Return hyperparameters from an array, as the inverse of `to_vector`."""
        n = len(self.log_lengths)
        variances = np.exp(vector[n:]).tolist()
        return Hyperparameters(vector[:n], variances[0], variances[1] if variances[1:] else 0.0)


@dataclass(frozen=True, eq=False)
class KernelFamily:
    """A family of prior covariances, whose length scales are estimated from the rewards.

    Parameters
    ----------
    kernel : callable
        ``kernel(points, others)`` returns covariances of shape ``(len(points), len(others))``,
        which are 1 for equal points. It is called with points divided by the length scales.
    points : ndarray of shape (n_arms, n_features)
        Features of the arms.
    lengths : ndarray of shape (n_features,)
        Initial length scales, one for each feature.
    length_bounds : tuple of float, default=(1e-2, 1e2)
        Smallest and largest length scale.

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
        """Validate the length scales and their bounds."""
        lengths = np.asarray(self.lengths, dtype=np.float64)
        least, most = self.length_bounds
        holds, rule = 0 < least <= most, "be two numbers above 0, the smaller first"
        refuse_unless(holds, "length_bounds", rule, self.length_bounds)
        is_inside = (lengths >= least) & (lengths <= most)
        holds = lengths.shape == self.points.shape[1:] and bool(is_inside.all())
        rule = f"be {self.points.shape[1]} numbers from {least} to {most}, one for each feature"
        refuse_unless(holds, "lengths", rule, repr(self.lengths))

    def scaled(self, points: FloatArray, log_lengths: FloatArray) -> FloatArray:
        """Return points divided by the length scales."""
        return points / np.exp(log_lengths)

    def at(self, log_lengths: FloatArray) -> KernelCovariance:
        """Return the covariance of all arms for given length scales."""
        scaled = self.scaled(self.points, log_lengths)
        return KernelCovariance(self.kernel, scaled, np.ones(len(scaled)))

    def among(self, log_lengths: FloatArray, arms: IntArray) -> FloatArray:
        """Return the covariance matrix of the given arms."""
        scaled = self.scaled(self.points[arms], log_lengths)
        return self.kernel(scaled, scaled)

    def gradient(self, log_lengths: FloatArray, arms: IntArray, weights: FloatArray) -> FloatArray:
        """Return the derivatives of ``sum(weights * among(log_lengths, arms))``.

        They are numerical, which is cheap compared with a factorization.
        """
        steps = STEP * np.eye(len(log_lengths))
        among = self.among
        differences = (among(log_lengths + e, arms) - among(log_lengths - e, arms) for e in steps)
        return np.array([np.vdot(weights, d) / (2 * STEP) for d in differences])


class ArmRewards(NamedTuple):
    """Rewards so far, as arrays of shape ``(n_rewards,)``. All rewards are finite."""

    arm: IntArray
    split: IntArray
    rewards: FloatArray


@dataclass(frozen=True, eq=False)
class RewardSums:
    """Sums of the rewards that are sufficient for the likelihood.

    ``V`` has two columns, the centered rewards and ones.

    Parameters
    ----------
    n_rewards : int
    arms : ndarray of int of shape (n_arms,)
        The arms that have rewards.
    table : ndarray of shape (n_arms, n_splits)
        Number of rewards of each arm on each split.
    by_arm : ndarray of shape (n_arms, 2)
    by_split : ndarray of shape (n_splits, 2)
        Sums of the rows of V.
    squares : ndarray of shape (2, 2)
        ``V' V``.
    """

    n_rewards: int
    arms: IntArray
    table: FloatArray
    by_arm: FloatArray
    by_split: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, told: ArmRewards) -> RewardSums:
        """Return the sums of the rewards."""
        arms, place = np.unique(told.arm, return_inverse=True)
        splits, position = np.unique(told.split, return_inverse=True)
        shape = len(arms), len(splits)
        counts = np.bincount(place * shape[1] + position, minlength=shape[0] * shape[1])
        values = np.column_stack([told.rewards - told.rewards.mean(), np.ones(len(place))])
        by_arm, by_split = np.zeros((shape[0], 2)), np.zeros((shape[1], 2))
        np.add.at(by_arm, place, values)
        np.add.at(by_split, position, values)
        table = counts.reshape(shape).astype(np.float64)
        return cls(len(place), arms, table, by_arm, by_split, values.T @ values)


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The restricted log likelihood of hyperparameters, and its derivatives.

    Parameters
    ----------
    value : float
        The restricted log likelihood without its constant.
    arm_weights : ndarray of shape (n_arms, n_arms)
        Derivatives by the entries of the prior covariance of `RewardSums.arms`.
    by_variances : ndarray of shape (2,)
        Derivatives by the logarithms of the noise variance and of the split variance.
    """

    value: float
    arm_weights: FloatArray
    by_variances: FloatArray


def likelihood_of(sums: RewardSums, prior: FloatArray, parameters: Hyperparameters) -> Likelihood:
    """Return the restricted log likelihood of rewards and its derivatives.

    The level of all rewards has a flat prior and is integrated out. Their scale is the one that
    maximizes the likelihood, as in `ArmPosterior.offset_and_scale`.

    Parameters
    ----------
    sums : RewardSums
    prior : ndarray of shape (n_arms, n_arms)
        G, the prior covariance of `RewardSums.arms`.
    parameters : Hyperparameters
    """
    noise, spread = parameters.noise_variance, parameters.split_variance
    # M = spread * S S' + noise * I. Its inverse follows from the number of pulls of each split.
    totals = noise + spread * sums.table.sum(axis=0)
    shrink = spread / totals
    precision = (np.diag(sums.table.sum(axis=1)) - (sums.table * shrink) @ sums.table.T) / noise
    of_arms = (sums.by_arm - (sums.table * shrink) @ sums.by_split) / noise  # Z' M^-1 V
    squares = (sums.squares - (sums.by_split.T * shrink) @ sums.by_split) / noise
    root = cholesky(precision, lower=True)
    inside = cholesky(np.eye(len(prior)) + root.T @ prior @ root, lower=True)
    answers = root @ cho_solve((inside, True), solve_triangular(root, of_arms, lower=True))
    squares = squares - of_arms.T @ (prior @ answers)  # V' Sigma^-1 V
    n, freedom = sums.n_rewards, sums.n_rewards - 1
    level = squares[0, 1] / squares[1, 1]
    residual = max(squares[0, 0] - level * squares[0, 1], 1e-12 * sums.squares[0, 0])
    log_determinant = (n - len(totals)) * np.log(noise) + np.log(totals).sum()
    log_determinant += 2 * np.log(inside.diagonal()).sum()
    loss = freedom * np.log(residual / freedom) + log_determinant + np.log(squares[1, 1])

    # The derivative by Sigma is -W / 2 with W = Sigma^-1 - u u' / (1' u) - c r r'.
    factors = np.array([1 / squares[1, 1], freedom / residual])
    u_and_r = np.column_stack([answers[:, 1], answers[:, 0] - level * answers[:, 1]])
    half = solve_triangular(inside, root.T, lower=True)
    of_prior = half.T @ half - (u_and_r * factors) @ u_and_r.T  # Z' W Z
    across = sums.table / totals  # Z' M^-1 S
    spread_out = solve_triangular(root, across, lower=True)
    shrunk = solve_triangular(inside, spread_out, lower=True)
    trace = float((sums.table.sum(axis=0) / totals).sum())
    trace += float(np.vdot(shrunk, shrunk) - np.vdot(spread_out, spread_out))
    of_splits = sums.by_split / totals[:, np.newaxis] - across.T @ (prior @ answers)
    u_and_r = np.column_stack([of_splits[:, 1], of_splits[:, 0] - level * of_splits[:, 1]])
    trace -= float(factors @ np.square(u_and_r).sum(axis=0))  # of S' W S
    from_splits = spread * trace
    # The trace of W Sigma is 0, since the scale of the rewards is free.
    from_noise = -float(np.vdot(of_prior, prior)) - from_splits
    return Likelihood(
        -0.5 * float(loss), -0.5 * of_prior, -0.5 * np.array([from_noise, from_splits])
    )


def fit_hyperparameters(
    family: KernelFamily, told: ArmRewards, guess: Hyperparameters
) -> Hyperparameters:
    """Return the hyperparameters that maximize the posterior density, near a guess.

    The density is the marginal likelihood times a log-normal prior around the guess. It is
    maximized within bounds by L-BFGS-B, starting from the guess. With few rewards the result
    stays near the guess, and no number of rewards leads to a model without noise or with an
    extreme length scale. The rewards of more than 500 arms are thinned to 500 of them.

    Returns
    -------
    Hyperparameters
        The guess itself if there are fewer than four rewards, or if all are equal.
    """
    arms = np.unique(told.arm)
    is_chosen = np.isin(told.arm, arms[spread_places(MAX_FITTED_ARMS, len(arms))])
    told = ArmRewards(told.arm[is_chosen], told.split[is_chosen], told.rewards[is_chosen])
    if len(told.rewards) < LEAST_REWARDS or np.ptp(told.rewards) == 0:
        return guess
    sums = RewardSums.of(told)
    center, n_lengths = guess.to_vector(), len(guess.log_lengths)
    n_variances = len(center) - n_lengths
    bounds = np.log([family.length_bounds] * n_lengths + [VARIANCE_BOUNDS] * n_variances)

    def loss(vector: FloatArray) -> tuple[float, FloatArray]:
        parameters = guess.from_vector(vector)
        prior = family.among(parameters.log_lengths, sums.arms)
        found = likelihood_of(sums, prior, parameters)
        by_lengths = family.gradient(parameters.log_lengths, sums.arms, found.arm_weights)
        by_variances = found.by_variances[:n_variances]
        distance = (vector - center) / PRIOR_DEVIATION
        slope = distance / PRIOR_DEVIATION - np.concatenate([by_lengths, by_variances])
        return 0.5 * float(distance @ distance) - found.value, slope

    start = np.clip(center, *bounds.T)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return guess.from_vector(np.asarray(found.x, dtype=np.float64))


@dataclass(eq=False)
class Refits:
    """The rewards of a single problem, to which hyperparameters are fitted from time to time.

    Parameters
    ----------
    family : KernelFamily
    guess : Hyperparameters
        The initial hyperparameters.
    make_model : callable
        Function of a covariance and hyperparameters that returns a posterior without rewards.
    pulls : list of tuple
        Arms, repetitions and standardized rewards.
    floor : float
        Limit to which lower rewards are raised before updates, set by the last fit.
    """

    family: KernelFamily
    guess: Hyperparameters
    make_model: Callable[[ArmCovariance, Hyperparameters], Model]
    pulls: list[tuple[int, int, float]] = field(default_factory=list)
    floor: float = -np.inf

    @property
    def told(self) -> ArmRewards:
        """The rewards so far, at least one."""
        return ArmRewards(*map(np.array, zip(*self.pulls, strict=True)))

    def fit(self) -> Model:
        """Return the posterior given all rewards, with hyperparameters that are fitted to them."""
        told = self.told
        median, most = np.median(told.rewards), told.rewards.max()
        self.floor = median - OUTLIER_SPREADS * (most - median) if most > median else -np.inf
        # The search for the maximum stops at a tolerance that depends on the unit of the rewards.
        unit = next((abs(reward) for reward in told.rewards if reward), 1.0)
        told = told._replace(rewards=np.maximum(told.rewards, self.floor))
        in_units = told._replace(rewards=told.rewards / unit)
        found = fit_hyperparameters(self.family, in_units, self.guess)
        posterior, exploration = self.make_model(self.family.at(found.log_lengths), found)
        for pull in zip(*(column[:, np.newaxis] for column in told), strict=True):
            posterior.update(*pull)
        # Of all roots the triangular one: Thompson sampling then ignores the order of the rewards.
        root = rq(posterior.root[0], mode="r")
        posterior.root[0] = root * np.sign(root.diagonal())
        return posterior, exploration

    def hopeless(self) -> IntArray:
        """Return the arms that only have rewards below the floor.

        An arm with any reward above the floor is not hopeless, because a single low reward may be
        due to its split.
        """
        if self.floor == -np.inf:
            return np.zeros(0, dtype=np.int64)
        told = self.told
        return np.setdiff1d(told.arm, told.arm[told.rewards >= self.floor])
