"""Gaussian processes: kernels, hyperparameters and the exact posterior. NumPy and SciPy only.

`BayesGap` and `GaussianProcessSampler` share this module. Both have a prior for the logarithms of
their hyperparameters (`most_probable`) and a Cholesky factor that grows by a row for each point
(`Factor`). They differ in what they know. The sampler has one score for each point, and a level
and a scale that are known after the scores are standardized, so that its likelihood has a signal
variance (`negative_log_likelihood`). BayesGap has many rewards of an arm on splits that arms
share, and the level and the scale of the rewards are estimated (`restricted_likelihood`).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize

from sklearn_halving._checks import refuse_unless

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Kernel = Callable[[FloatArray, FloatArray], FloatArray]

MAX_CHECKED_ARMS = 5000
"""Maximum number of arms for which a matrix is tested for negative eigenvalues."""
N_SAMPLED_COLUMNS = 256
"""Number of columns from which the norm of the covariance by a kernel is estimated."""
RANK_TOLERANCE = 1e-10
"""Unexplained variance, relative to the largest variance, below which an arm needs no feature."""
NUGGET = 1e-11
"""Variance that is added to the diagonal for pulled arms, relative to the largest variance. For
some orders of pulls, the factor of a nearly singular covariance would be inaccurate without it."""
JITTER = 1e-6
"""Smallest ratio of the noise variance to the signal variance in a sampler."""
VARIANCE_BOUNDS = (1e-4, 1e2)
"""Bounds of the noise and split variance, as multiples of the prior variance of the arms."""
PRIOR_DEVIATION = 1.5
"""Prior standard deviation of the logarithm of each hyperparameter of BayesGap, around its
guess."""
LEAST_REWARDS = 4
"""Minimum number of rewards for a fit. With fewer rewards, the initial values are returned."""
MAX_FITTED_ARMS = 500
"""Hyperparameters are fitted to the rewards of at most this many arms."""
STEP = 1e-5
"""Step of numerical derivatives of a kernel by the logarithm of a length scale."""


# Kernels and prior covariances.


def squared_distances(points: FloatArray, others: FloatArray) -> FloatArray:
    """Return squared Euclidean distances, shape (n_points, n_others)."""
    squares = (points**2).sum(axis=1)[:, np.newaxis] + (others**2).sum(axis=1)
    return np.maximum(squares - 2 * points @ others.T, 0)


def matern(squares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the Matern 5/2 correlation and its derivative by the squared distance."""
    r = np.sqrt(5 * squares)
    decay = np.exp(-r)
    return (1 + r + r**2 / 3) * decay, -5 / 6 * (1 + r) * decay


class ArmPrior(NamedTuple):
    """The prior covariance G of all arms, of which only columns are computed.

    Parameters
    ----------
    variance : ndarray of shape (n_arms,)
    column : callable
        Function of an arm that returns its covariances with all arms.
    n_sampled : int
        Number of columns from which the norm of G is estimated.
    """

    variance: FloatArray
    column: Callable[[int], FloatArray]
    n_sampled: int = N_SAMPLED_COLUMNS

    @classmethod
    def of(cls, covariance: npt.ArrayLike | None, n_arms: int) -> ArmPrior:
        """Return the prior with a covariance matrix, or with independent arms if it is None."""
        if covariance is None:
            arms = np.arange(n_arms)
            return cls(np.ones(n_arms), lambda arm: (arms == arm).astype(np.float64))
        matrix = checked_covariance(covariance, n_arms)
        return cls(matrix.diagonal().copy(), matrix.__getitem__, n_arms)

    def effective_n_arms(self) -> float:
        """Return the effective number of independent arms, ``tr(G)^2 / ||G||_F^2``.

        It is 1 if all arms are copies of one arm, and the number of arms if they are independent
        and have equal variances.

        Examples
        --------
        >>> import numpy as np
        >>> [ArmPrior.of(G, 4).effective_n_arms() for G in (np.eye(4), np.ones((4, 4)))]
        [4.0, 1.0]
        """
        n_arms = len(self.variance)
        arms = spread_places(self.n_sampled, n_arms).tolist()
        squared_norm = np.mean([np.square(self.column(arm)).sum() for arm in arms]) * n_arms
        return float(np.clip(self.variance.sum() ** 2 / squared_norm, 1.0, n_arms))


@dataclass(frozen=True, eq=False)
class KernelFamily:
    """A family of prior covariances, whose length scales are estimated from the rewards.

    Its covariances are computed one column at a time: 100 000 arms need no full matrix, which
    would have 80 gigabytes.

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
    >>> from sklearn_halving.policies import BayesGap, KernelFamily
    >>> def kernel(a, b):
    ...     return np.exp(-0.5 * ((a[:, None] - b) ** 2).sum(axis=2))
    >>> family = KernelFamily(kernel, np.array([[0.0], [1.0], [2.0]]), np.array([0.5]))
    >>> family.among(np.log([1.0]), np.array([0, 1])).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    >>> policy = BayesGap(n_pulls=10, covariance=family)
    """

    kernel: Kernel = field(repr=False)
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

    def at(self, log_lengths: FloatArray) -> ArmPrior:
        """Return the prior of all arms for given length scales."""
        scaled = self.scaled(self.points, log_lengths)

        def column(arm: int) -> FloatArray:
            row = np.asarray(self.kernel(scaled[[arm]], scaled), dtype=np.float64)
            rule = f"return an array of shape (len(points), len(others)), here {(1, len(scaled))}"
            refuse_unless(row.shape == (1, len(scaled)), "kernel(points, others)", rule, row.shape)
            return row[0]

        return ArmPrior(np.ones(len(scaled)), column)

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


def spread_places(n_most: int, n_places: int) -> IntArray:
    """Return at most ``n_most`` of the places 0, 1, ..., spread over all of them.

    Steps of the golden ratio avoid the periods of a grid of arms.
    """
    if n_places <= n_most:
        return np.arange(n_places)
    golden = (5**0.5 - 1) / 2
    return np.unique((np.arange(n_most) * golden % 1 * n_places).astype(int))


def checked_covariance(given: npt.ArrayLike, n_arms: int) -> FloatArray:
    """Return a covariance matrix, or raise a ValueError if its shape is wrong."""
    matrix = np.ascontiguousarray(given, dtype=np.float64)
    rule = f"have shape ({n_arms}, {n_arms}), with a row and a column for each arm"
    refuse_unless(matrix.shape == (n_arms, n_arms), "covariance", rule, matrix.shape)
    refuse_unless(bool(np.isfinite(matrix).all()), "covariance", "be finite", "NaN or infinity")
    size = float(np.abs(matrix).max(initial=0))
    asymmetry = float(np.abs(matrix - matrix.T).max(initial=0))
    got = f"entries that differ by {asymmetry:.3g}"
    refuse_unless(asymmetry <= 1e-8 * size, "covariance", "be symmetric", got)
    variance = matrix.diagonal()
    holds = bool(variance.min() >= 0 and variance.max() > 0)
    rule, got = "be not negative and not all 0", f"{variance.min()} to {variance.max()}"
    refuse_unless(holds, "The diagonal of covariance", rule, got)
    if n_arms <= MAX_CHECKED_ARMS:
        try:
            np.linalg.cholesky(matrix + 1e-6 * size * np.eye(n_arms))
        except np.linalg.LinAlgError:
            least = float(np.linalg.eigvalsh(matrix)[0])
            raise ValueError(
                f"covariance must be positive semi-definite, got the eigenvalue {least:.3g}."
            ) from None
    return matrix


# The posterior.


class Factor:
    """A Cholesky factor of a covariance, which grows by a row for each point that is known.

    ``rows.T @ rows`` is the part of the covariance of all points that the known ones explain.

    Parameters
    ----------
    variance : ndarray of shape (n_points,)
        The variances that are not explained by the rows.
    rows : ndarray of shape (n_rows, n_points)
    """

    def __init__(self, variance: FloatArray, rows: FloatArray) -> None:
        self.variance, self.rows = variance, rows

    def add(self, place: int, column: FloatArray, noise: float) -> None:
        """Add a row for a point, given its covariances with all points and its noise variance."""
        row = column - self.rows[:, place] @ self.rows
        row /= np.sqrt(max(self.variance[place], 0.0) + noise)
        self.rows = np.vstack([self.rows, row])
        self.variance = self.variance - row * row


class Features(Factor):
    """Features f of all arms with ``G = sum f f'`` for the arms that have been pulled."""

    def __init__(self, prior: ArmPrior) -> None:
        n_arms = len(prior.variance)
        super().__init__(np.array(prior.variance, dtype=np.float64), np.zeros((0, n_arms)))
        self.prior, self._largest = prior, float(prior.variance.max())

    def cover(self, arm: int) -> bool:
        """Add a feature if the arm is not fully explained. Return whether one was added."""
        if self.variance[arm] == 0:
            return False
        nugget, column = NUGGET * self._largest, self.prior.column(arm).copy()
        column[arm] += nugget
        self.add(arm, column, nugget)
        self.variance[arm] = 0.0
        worst = int(self.variance.argmin())
        holds = self.variance[worst] >= -1e-6 * self._largest
        got = f"a covariance of arms {arm} and {worst} that exceeds their variances"
        refuse_unless(holds, "covariance", "be positive semi-definite", got)
        self.variance[self.variance <= RANK_TOLERANCE * self._largest] = 0.0
        return True

    def cover_all(self, max_rows: int) -> None:
        """Add features until all arms are explained, starting with the least explained arm."""
        while len(self.rows) < max_rows and self.cover(int(self.variance.argmax())):
            pass


class ArmPosterior:
    """Posterior of correlated arms, updated by one pull at a time.

    The model is ``reward = arm + split + noise``. Arms have covariance G, splits are independent
    with variance tau^2, and the noise has variance sigma^2. Pulls of two arms on the same split
    are therefore compared as a pair.

    An arm is ``f' z`` with independent standard normal variables z and `Features` f.
    The posterior of z is stored as its mean and a square root of its covariance. With n variables
    and K arms, a pull costs O(n K + n^2), however many pulls there were. n is at most the number
    of different pulled arms, or the rank of G if that is smaller.

    Parameters
    ----------
    features : Features
    noise_variance : float
        sigma^2, above 0.
    split_variance : float, default=0.0
        tau^2. With 0, there are no split effects.

    Attributes
    ----------
    n_told : int
        Number of rewards.
    variance : ndarray of shape (n_arms,)
        Posterior variances of the arms, given the pulls so far.
    answers : ndarray of shape (2, n_arms)
        Posterior means of the arms for a prior mean of 0, given the rewards, and given rewards
        that are all 1. The prior mean and the scale are computed from both, see
        `offset_and_scale`.
    root : ndarray of shape (n, n)
        A square root of the covariance of the variables z.
    means : ndarray of shape (2, n)
        Means of the variables, given the rewards, and given rewards of 1.
    squares : ndarray of shape (2, 2)
        Sums of products of the innovations, given the rewards, and given rewards of 1.
    splits : dict
        For each split, the sum of the features of its pulls, and the sum of their rewards and of
        ones.
    """

    def __init__(
        self, features: Features, noise_variance: float, split_variance: float = 0.0
    ) -> None:
        self.features = features
        self.noise_variance, self.split_variance = noise_variance, split_variance
        self.n_told = 0
        self.variance = np.array(features.prior.variance, dtype=np.float64)
        self.answers = np.zeros((2, len(self.variance)))
        self.root, self.means = np.zeros((0, 0)), np.zeros((2, 0))
        self.squares = np.zeros((2, 2))
        self.splits: dict[int, tuple[FloatArray, FloatArray]] = {}

    def copy(self) -> ArmPosterior:
        """Return a copy that can be updated independently. The features are shared."""
        twin = copy(self)
        twin.variance, twin.answers, twin.squares = (
            own.copy() for own in (self.variance, self.answers, self.squares)
        )
        twin.root, twin.means, twin.splits = self.root.copy(), self.means.copy(), {**self.splits}
        return twin

    def update(self, arm: int, split: int, reward: float | None) -> None:
        """Update the posterior with a pull.

        Without a reward, the pull is in flight, and only the variances are updated.
        """
        self.features.cover(arm)
        self._make_room()
        seen, noise, of_split = self._direction(arm, split, reward)
        inner = seen @ self.root
        step = self.root @ inner
        total = float(inner @ inner) + noise
        across = step @ self.features.rows
        if reward is not None:
            surprise = np.array([reward, 1.0]) - of_split - self.means @ seen
            self.means += np.outer(surprise, step / total)
            self.answers += np.outer(surprise, across / total)
            self.squares += np.outer(surprise, surprise) / total
            self.n_told += 1
        # Update of the square root of the covariance (Potter's form of the Kalman filter).
        self.root -= np.outer(step, inner / (total + np.sqrt(total * noise)))
        self.variance -= across * across / total
        np.maximum(self.variance, 0.0, out=self.variance)

    def _direction(
        self, arm: int, split: int, reward: float | None
    ) -> tuple[FloatArray, float, FloatArray]:
        """Return the direction of a pull, its noise, and the part that its split explains.

        Splits need no variables. Given z and m earlier rewards of a split, its effect has mean
        ``c * sum(reward - f' z)`` and variance ``c sigma^2``, with
        ``c = tau^2 / (sigma^2 + m tau^2)``. Another reward of the split, minus c times the sum of
        the earlier ones, is therefore ``(f - c g)' z`` plus independent noise of variance
        ``(1 + c) sigma^2``, where g is the sum of the features of the earlier pulls.
        """
        seen = self.features.rows[:, arm]
        if self.split_variance == 0:
            return seen, self.noise_variance, np.zeros(2)
        earlier, sums = self.splits.get(split, (np.zeros(0), np.zeros(2)))
        earlier = np.append(earlier, np.zeros(len(seen) - len(earlier)))
        weight = self.split_variance / (self.noise_variance + sums[1] * self.split_variance)
        self.splits[split] = earlier + seen, sums + np.array([reward or 0.0, 1.0])
        return seen - weight * earlier, float(self.noise_variance * (1 + weight)), weight * sums

    def _make_room(self) -> None:
        """Make room for all features, each with mean 0 and variance 1."""
        n_before, n = len(self.root), len(self.features.rows)
        if n_before < n:
            root, means = np.eye(n), np.zeros((2, n))
            root[:n_before, :n_before], means[:, :n_before] = self.root, self.means
            self.root, self.means = root, means

    def offset_and_scale(self) -> tuple[float, float]:
        """Estimate the prior mean and the scale from the rewards.

        The mean is estimated by generalized least squares, and the scale by restricted maximum
        likelihood. All standard deviations are multiplied by the scale. It is 1 after a single
        reward, and NaN if all rewards are equal.
        """
        (of_rewards, mixed), (_, of_ones) = self.squares.tolist()
        offset = mixed / of_ones if of_ones > 0 else 0.0
        if self.n_told < 2:
            return offset, 1.0
        left = of_rewards - mixed * offset
        is_known = left > 1e-14 * of_rewards
        return offset, float(np.sqrt(left / (self.n_told - 1))) if is_known else np.nan

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw the deviations of the arms from their means.

        The variance that the features do not explain is drawn independently for every arm, so
        that the variances are correct. With `Features.cover_all`, the features explain all.
        """
        self._make_room()
        of_rows, of_arms = (rng.standard_normal(len(x)) for x in (self.root, self.variance))
        explained = (self.root @ of_rows) @ self.features.rows
        return explained + np.sqrt(self.features.variance) * of_arms


# Hyperparameters.

Loss = Callable[[FloatArray], tuple[float, FloatArray]]
"""Function of the logarithms of hyperparameters that returns a value and its gradient."""


def most_probable(
    loss: Loss, centre: FloatArray, width: FloatArray, bounds: FloatArray, **options: Any
) -> FloatArray:
    """Return the logarithms of hyperparameters with the largest posterior density.

    They are found within bounds by L-BFGS-B, starting from the mean of the prior.

    Parameters
    ----------
    loss : callable
        The negative log likelihood and its gradient.
    centre, width : ndarray of shape (n,)
        Mean and standard deviation of the normal prior.
    bounds : ndarray of shape (n, 2)
    """

    def penalized(logs: FloatArray) -> tuple[float, FloatArray]:
        value, slope = loss(logs)
        z = (logs - centre) / width
        return value + 0.5 * float(z @ z), slope + z / width

    start = np.clip(centre, *bounds.T)
    found = minimize(penalized, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(found.x, dtype=np.float64)


def negative_log_likelihood(
    logs: FloatArray, squares: FloatArray, values: FloatArray
) -> tuple[float, FloatArray]:
    """Return the negative log likelihood of values with a Matern kernel, and its gradient.

    Parameters
    ----------
    logs : ndarray of shape (n_axes + 2,)
        Logarithms of the length scales, the signal variance and the noise variance.
    squares : ndarray of shape (n_axes, n_points * n_points)
        Squared distances along each axis.
    values : ndarray of shape (n_points,)
    """
    n, weights = len(values), np.exp(-2 * logs[:-2])
    signal, noise = np.exp(logs[-2:])
    correlation, slope = matern((weights @ squares).reshape(n, n))
    covariance = signal * correlation
    covariance[np.diag_indices(n)] += noise + JITTER * signal
    lower = np.linalg.cholesky(covariance)
    root = solve_triangular(lower, np.eye(n), lower=True)
    inverse = root.T @ root
    alpha = inverse @ values
    outer = 0.5 * (inverse - np.outer(alpha, alpha))  # derivative by the covariance
    by_scale = -2 * weights * (squares @ (signal * outer * slope).ravel())
    by_signal = signal * ((outer * correlation).sum() + JITTER * np.trace(outer))
    value = 0.5 * values @ alpha + np.log(np.diag(lower)).sum()
    return float(value), np.append(by_scale, [by_signal, noise * np.trace(outer)])


class RewardSums:
    """Sums of the rewards that are sufficient for `restricted_likelihood`.

    ``V`` has two columns, the centered rewards and ones.

    Attributes
    ----------
    n_rewards : int
    arms : ndarray of int of shape (n_arms,)
        The arms that have rewards.
    table : ndarray of shape (n_arms, n_splits)
        Number of rewards of each arm on each split.
    by_arm, by_split : ndarray of shape (n_arms, 2) and (n_splits, 2)
        Sums of the rows of V.
    squares : ndarray of shape (2, 2)
        ``V' V``.
    """

    def __init__(self, arm: IntArray, split: IntArray, rewards: FloatArray) -> None:
        self.arms, place = np.unique(arm, return_inverse=True)
        splits, position = np.unique(split, return_inverse=True)
        values = np.column_stack([rewards - rewards.mean(), np.ones(len(place))])
        self.n_rewards, self.squares = len(place), values.T @ values
        self.table = np.zeros((len(self.arms), len(splits)))
        self.by_arm, self.by_split = np.zeros((len(self.arms), 2)), np.zeros((len(splits), 2))
        np.add.at(self.table, (place, position), 1.0)
        np.add.at(self.by_arm, place, values)
        np.add.at(self.by_split, position, values)


def restricted_likelihood(
    sums: RewardSums, prior: FloatArray, noise: float, spread: float
) -> tuple[float, FloatArray, FloatArray]:
    """Return the restricted log likelihood of rewards without its constant, and its derivatives.

    The level of all rewards has a flat prior and is integrated out. Their scale is the one that
    maximizes the likelihood, as in `ArmPosterior.offset_and_scale`. The covariance of n rewards is
    ``Z G Z' + spread * S S' + noise * I`` with indicator matrices Z of arms and S of splits. With
    the a x a matrix G of the arms that have rewards, and never a matrix of shape (n, n), an
    evaluation costs O(a^3 + a^2 s).

    Parameters
    ----------
    sums : RewardSums
    prior : ndarray of shape (n_arms, n_arms)
        G, the prior covariance of `RewardSums.arms`.
    noise, spread : float
        Variances of the noise and of the splits.

    Returns
    -------
    value : float
    arm_weights : ndarray of shape (n_arms, n_arms)
        Derivatives by the entries of G.
    by_variances : ndarray of shape (2,)
        Derivatives by the logarithms of the noise variance and of the split variance.
    """
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
    by_variances = -0.5 * np.array([from_noise, from_splits])
    return -0.5 * float(loss), -0.5 * of_prior, by_variances


def fit_to_rewards(
    family: KernelFamily, arm: IntArray, split: IntArray, rewards: FloatArray, guess: FloatArray
) -> FloatArray:
    """Return the most probable hyperparameters of a family of covariances, given rewards.

    With few rewards the result stays near the guess, and no number of rewards leads to a model
    without noise or with an extreme length scale. The rewards of more than 500 arms are thinned
    to 500 of them.

    Parameters
    ----------
    guess : ndarray of shape (n,)
        Logarithms of the length scales, the noise variance, and the split variance unless it is 0.

    Returns
    -------
    logs : ndarray of shape (n,)
        The guess itself if there are fewer than four rewards, or if all are equal.
    """
    arms, n_lengths = np.unique(arm), len(family.lengths)
    is_chosen = np.isin(arm, arms[spread_places(MAX_FITTED_ARMS, len(arms))])
    if is_chosen.sum() < LEAST_REWARDS or np.ptp(rewards[is_chosen]) == 0:
        return guess
    sums = RewardSums(arm[is_chosen], split[is_chosen], rewards[is_chosen])
    n_variances = len(guess) - n_lengths
    bounds = np.log([family.length_bounds] * n_lengths + [VARIANCE_BOUNDS] * n_variances)

    def loss(logs: FloatArray) -> tuple[float, FloatArray]:
        lengths, variances = logs[:n_lengths], variances_of(logs[n_lengths:])
        prior = family.among(lengths, sums.arms)
        value, arm_weights, by_variances = restricted_likelihood(sums, prior, *variances)
        by_lengths = family.gradient(lengths, sums.arms, arm_weights)
        return -value, -np.concatenate([by_lengths, by_variances[:n_variances]])

    return most_probable(loss, guess, np.full(len(guess), PRIOR_DEVIATION), bounds)


def variances_of(logs: FloatArray) -> tuple[float, float]:
    """Return the variances of the noise and of the splits; the latter is 0 if it is not fitted."""
    noise, *split = np.exp(logs).tolist()
    return noise, split[0] if split else 0.0
