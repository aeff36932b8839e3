"""The posterior of correlated Gaussian arms, updated by one pull at a time.

The model is ``reward = arm + split + noise``. Arms have covariance G, splits are independent with
variance tau^2, and the noise has variance sigma^2. Pulls of two arms on the same split are
therefore compared as a pair.

An arm is ``f' z`` with independent standard normal variables z, where f is from a Cholesky factor
of G whose pivots are the pulled arms, in the order of their first pulls (`PriorFeatures`). The
posterior of z is stored as its mean and a square root of its covariance. With n variables and K
arms, a pull costs O(n K + n^2), however many pulls there were. n is at most the number of
different pulled arms, or the rank of G if that is smaller. No K x K matrix is computed.

Splits need no variables. Given z and m earlier rewards of a split, the effect of the split has
mean ``c * sum(reward - f' z)`` and variance ``c sigma^2``, with
``c = tau^2 / (sigma^2 + m tau^2)``. Another reward of the split, minus c times the sum of the
earlier ones, is therefore ``(f - c g)' z`` plus independent noise of variance
``(1 + c) sigma^2``, where g is the sum of the features of the earlier pulls.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from sklearn_halving._checks import refuse_unless
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._types import NO_ARM

MAX_CHECKED_ARMS = 5000
"""Maximum number of arms for which a matrix is tested for negative eigenvalues."""

N_SAMPLED_COLUMNS = 256
"""Number of columns from which the norm of a large matrix is estimated."""

RANK_TOLERANCE = 1e-10
"""Unexplained variance, relative to the largest variance, below which an arm needs no feature."""

NUGGET = 1e-11
"""Variance that is added to the diagonal for pulled arms, relative to the largest variance. For
some orders of pulls, the factor of a nearly singular covariance would be inaccurate without it."""


@runtime_checkable
class ArmCovariance(Protocol):
    """Protocol of the prior covariance G of all arms."""

    @property
    def diagonal(self) -> FloatArray:
        """Prior variances, shape ``(n_arms,)``."""

    def column(self, arm: int) -> FloatArray:
        """Return the covariances of all arms with one arm, shape ``(n_arms,)``."""

    def squared_norm(self) -> float:
        """Return the sum of all squared entries of G."""


@dataclass(frozen=True, eq=False)
class DenseCovariance:
    """All covariances as one symmetric matrix of shape ``(n_arms, n_arms)``."""

    matrix: FloatArray = field(repr=False)

    @cached_property
    def diagonal(self) -> FloatArray:
        """Prior variances, shape ``(n_arms,)``."""
        return self.matrix.diagonal().copy()

    def column(self, arm: int) -> FloatArray:
        """Return the covariances of all arms with one arm."""
        return self.matrix[arm]  # of a symmetric matrix; contiguous

    def squared_norm(self) -> float:
        """Return the sum of all squared entries."""
        return float(np.vdot(self.matrix, self.matrix))


@dataclass(frozen=True, eq=False)
class FactorCovariance:
    """The covariance ``X X'`` of a linear model, in which the mean of arm k is ``x_k' theta``.

    Parameters
    ----------
    factor : ndarray of shape (n_arms, n_features)
        The features X. The weights theta have independent priors with variance 1.

    Examples
    --------
    With two features, an arm needs 16 bytes. A full matrix of 100 000 arms needs 80 gigabytes.

    >>> import numpy as np
    >>> from sklearn_halving.policies import FactorCovariance
    >>> covariance = FactorCovariance(np.column_stack([np.ones(5), np.arange(5.0)]))
    >>> covariance.column(2)
    array([1., 3., 5., 7., 9.])
    >>> covariance.diagonal
    array([ 1.,  2.,  5., 10., 17.])
    """

    factor: FloatArray = field(repr=False)

    @cached_property
    def diagonal(self) -> FloatArray:
        """Prior variances, shape ``(n_arms,)``."""
        return np.einsum("kr,kr->k", self.factor, self.factor)

    def column(self, arm: int) -> FloatArray:
        """Return the covariances of all arms with one arm, shape ``(n_arms,)``."""
        return self.factor @ self.factor[arm]

    def squared_norm(self) -> float:
        """Return the sum of all squared entries of ``X X'``, which is that of ``X' X``."""
        gram = self.factor.T @ self.factor
        return float(np.vdot(gram, gram))


@dataclass(frozen=True, eq=False)
class KernelCovariance:
    """The covariance by a kernel function of the features, computed one column at a time.

    Parameters
    ----------
    kernel : callable
        ``kernel(points, others)`` returns covariances of shape ``(len(points), len(others))``.
    points : ndarray of shape (n_arms, n_features)
        Features of the arms.
    diagonal : ndarray of shape (n_arms,)
        Prior variances, which are the kernel of every point with itself.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import KernelCovariance
    >>> points = np.array([[0.0], [1.0], [3.0]])
    >>> def kernel(a, b):
    ...     return np.exp(-((a[:, None] - b) ** 2).sum(axis=2))
    >>> KernelCovariance(kernel, points, np.ones(3)).column(1).round(3)
    array([0.368, 1.   , 0.018])
    """

    kernel: Callable[[FloatArray, FloatArray], FloatArray]
    points: FloatArray = field(repr=False)
    diagonal: FloatArray = field(repr=False)

    def column(self, arm: int) -> FloatArray:
        """Return the covariances of all arms with one arm, shape ``(n_arms,)``."""
        column = np.asarray(self.kernel(self.points[[arm]], self.points), dtype=np.float64)
        shape = 1, len(self.points)
        rule = f"return an array of shape (len(points), len(others)), here {shape}"
        refuse_unless(column.shape == shape, "kernel(points, others)", rule, column.shape)
        return column[0]

    def squared_norm(self) -> float:
        """Return the sum of all squared entries, estimated from up to 256 columns."""
        arms = spread_places(N_SAMPLED_COLUMNS, len(self.points)).tolist()
        sums = [np.square(self.column(arm)).sum() for arm in arms]
        return float(np.mean(sums)) * len(self.points)


def spread_places(n_most: int, n_places: int) -> IntArray:
    """Return at most ``n_most`` of the places 0, 1, ..., spread over all of them.

    Steps of the golden ratio avoid the periods of a grid of arms.
    """
    if n_places <= n_most:
        return np.arange(n_places)
    golden = (5**0.5 - 1) / 2
    return np.unique((np.arange(n_most) * golden % 1 * n_places).astype(int))


def _are_same(points: FloatArray, others: FloatArray) -> FloatArray:
    """Return the kernel of independent arms, whose points are their numbers."""
    return (points == others.T).astype(np.float64)


def as_arm_covariance(covariance: npt.ArrayLike | ArmCovariance, n_arms: int) -> ArmCovariance:
    """Return the ``covariance`` parameter as an `ArmCovariance`.

    Parameters
    ----------
    covariance : ArmCovariance, array-like of shape (n_arms, n_arms) or None
        If None, arms are independent with variance 1.
    n_arms : int

    Raises
    ------
    ValueError
        If the size is wrong, entries are not finite, variances are negative or all zero, or a
        matrix is not symmetric or has a negative eigenvalue.
    """
    prior: ArmCovariance
    if covariance is None:
        numbers = np.arange(n_arms, dtype=np.float64)[:, np.newaxis]
        prior = KernelCovariance(_are_same, numbers, np.ones(n_arms))
    elif isinstance(covariance, ArmCovariance):
        prior = covariance
    else:
        prior = checked_covariance(covariance, n_arms)
    _check_diagonal(np.asarray(prior.diagonal), n_arms)
    return prior


def _check_diagonal(diagonal: FloatArray, n_arms: int) -> None:
    rule = f"have a row for each of the {n_arms} arms"
    refuse_unless(diagonal.shape == (n_arms,), "covariance", rule, f"{diagonal.size} rows")
    holds = bool(np.isfinite(diagonal).all() and diagonal.min() >= 0 and diagonal.max() > 0)
    rule, got = "be finite, not negative and not all 0", f"{diagonal.min()} to {diagonal.max()}"
    refuse_unless(holds, "The diagonal of covariance", rule, got)


def checked_covariance(given: npt.ArrayLike, n_arms: int) -> DenseCovariance:
    """Return a covariance matrix, or raise a ValueError if it is not one of so many arms."""
    matrix = np.ascontiguousarray(given, dtype=np.float64)
    rule = f"have shape ({n_arms}, {n_arms}), with a row and a column for each arm"
    refuse_unless(matrix.shape == (n_arms, n_arms), "covariance", rule, matrix.shape)
    n_bad = np.sum(~np.isfinite(matrix))
    got = f"NaN or infinity in {n_bad} of {matrix.size} entries"
    refuse_unless(n_bad == 0, "covariance", "be finite", got)
    size = float(np.abs(matrix).max(initial=0))
    asymmetry = float(np.abs(matrix - matrix.T).max(initial=0))
    got = f"entries that differ by {asymmetry:.3g}"
    refuse_unless(asymmetry <= 1e-8 * size, "covariance", "be symmetric", got)
    _check_diagonal(matrix.diagonal(), len(matrix))
    if len(matrix) <= MAX_CHECKED_ARMS:
        try:
            np.linalg.cholesky(matrix + 1e-6 * size * np.eye(len(matrix)))
        except np.linalg.LinAlgError:
            least = float(np.linalg.eigvalsh(matrix)[0])
            raise ValueError(
                f"covariance must be positive semi-definite, got the eigenvalue {least:.3g}."
            ) from None
    return DenseCovariance(matrix)


def effective_n_arms(covariance: ArmCovariance) -> float:
    """Return the effective number of independent arms, ``tr(G)^2 / ||G||_F^2``.

    It is 1 if all arms are copies of one arm, and the number of arms if they are independent and
    have equal variances.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies.posterior._arm_posterior import (
    ...     DenseCovariance,
    ...     effective_n_arms,
    ... )
    >>> effective_n_arms(DenseCovariance(np.eye(4))), effective_n_arms(
    ...     DenseCovariance(np.ones((4, 4)))
    ... )
    (4.0, 1.0)
    """
    diagonal = covariance.diagonal
    count = float(diagonal.sum()) ** 2 / covariance.squared_norm()
    return min(max(count, 1.0), float(len(diagonal)))


class PriorFeatures:
    """Features f of all arms with ``G = sum f f'`` for the arms that have been pulled.

    They depend only on the prior, so that all problems of a batch share them.

    Parameters
    ----------
    covariance : ArmCovariance

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_arms)
        The features so far.
    unexplained : ndarray of shape (n_arms,)
        Prior variance that the features so far do not explain.
    """

    def __init__(self, covariance: ArmCovariance) -> None:
        self.covariance = covariance
        self.unexplained = np.array(self.covariance.diagonal, dtype=np.float64)
        self.rows = np.zeros((0, len(self.unexplained)))
        self._largest = float(self.unexplained.max())

    @property
    def n_rows(self) -> int:
        """Number of features so far."""
        return len(self.rows)

    def cover(self, arm: int) -> bool:
        """Add a feature if the arm is not fully explained. Return whether one was added."""
        left = float(self.unexplained[arm])
        if left == 0:
            return False
        nugget = NUGGET * self._largest
        row = self.covariance.column(arm) - self.rows[:, arm] @ self.rows
        row[arm] += nugget
        row /= np.sqrt(left + nugget)
        self.rows = np.vstack([self.rows, row])
        self.unexplained -= row * row
        self.unexplained[arm] = 0.0
        self._check(arm)
        self.unexplained[self.unexplained <= RANK_TOLERANCE * self._largest] = 0.0
        return True

    def cover_all(self, max_rows: int) -> None:
        """Add features until all arms are explained, starting with the least explained arm."""
        while self.n_rows < max_rows and self.cover(int(self.unexplained.argmax())):
            pass

    def _check(self, arm: int) -> None:
        worst = int(self.unexplained.argmin())
        holds = self.unexplained[worst] >= -1e-6 * self._largest
        got = f"a covariance of arms {arm} and {worst} that exceeds their variances"
        refuse_unless(holds, "covariance", "be positive semi-definite", got)


class ArmPosterior:
    """Posterior of all arms in ``n_problems`` problems with a common prior.

    Parameters
    ----------
    features : PriorFeatures
    n_problems : int
    noise_variance : float
        sigma^2, above 0.
    split_variance : float, default=0.0
        tau^2. With 0, there are no split effects.

    Attributes
    ----------
    n_told : ndarray of int of shape (n_problems,)
        Number of rewards.
    variance : ndarray of shape (n_problems, n_arms)
        Posterior variances of the arms, given the pulls so far.
    answers : ndarray of shape (n_problems, 2, n_arms)
        Posterior means of the arms for a prior mean of 0, given the rewards, and given rewards
        that are all 1. The prior mean and the scale are computed from both, see
        `offset_and_scale`.
    root : ndarray of shape (n_problems, n, n)
        A square root of the covariance of the variables z.
    means : ndarray of shape (n_problems, 2, n)
        Means of the variables, given the rewards, and given rewards of 1.
    split_features : ndarray of shape (n_problems, n_splits, n)
        Sums of the features of the pulls of each split.
    split_sums : ndarray of shape (n_problems, n_splits, 2)
        Sum of the rewards, and number of the pulls of each split.
    squares : ndarray of shape (n_problems, 2, 2)
        Sums of products of the innovations, given the rewards, and given rewards of 1.
    """

    def __init__(
        self,
        features: PriorFeatures,
        n_problems: int,
        noise_variance: float,
        split_variance: float = 0.0,
    ) -> None:
        self.features = features
        self.noise_variance = noise_variance
        self.split_variance = split_variance
        self.n_told = np.zeros(n_problems, dtype=np.int64)
        self.variance = np.tile(features.covariance.diagonal, (n_problems, 1))
        self.answers = np.zeros((n_problems, 2, self.variance.shape[1]))
        self.root = np.zeros((n_problems, 0, 0))
        self.means = np.zeros((n_problems, 2, 0))
        self.split_features = np.zeros((n_problems, 0, 0))
        self.split_sums = np.zeros((n_problems, 0, 2))
        self.squares = np.zeros((n_problems, 2, 2))

    def copy(self) -> ArmPosterior:
        """Return a copy that can be updated independently. The features are shared."""
        return deepcopy(self, {id(self.features): self.features})

    def update(self, arm: IntArray, split: IntArray, rewards: FloatArray | None) -> None:
        """Update the posterior with one pull in each problem.

        Parameters
        ----------
        arm : ndarray of shape (n_problems,)
            ``NO_ARM`` if a problem has no pull.
        split : ndarray of shape (n_problems,)
            Index of the split. It is ignored if there are no split effects.
        rewards : ndarray of shape (n_problems,) or None
            If None, the pulls are in flight, and only the variances are updated.
        """
        is_pull = arm != NO_ARM
        is_new = is_pull & (self.features.unexplained[arm] > 0)
        for one in sorted(set(arm[is_new].tolist())):
            self.features.cover(one)
        has_splits = self.split_variance > 0
        self._make_room(1 + int(split.max(where=is_pull, initial=0)) if has_splits else 0)
        seen, noise, of_split = self._direction(arm, split, is_pull, rewards)
        inner = np.matmul(seen[:, np.newaxis, :], self.root)
        step = np.matmul(self.root, inner.transpose(0, 2, 1))[:, :, 0]
        total = np.vecdot(inner, inner) + noise[:, np.newaxis]  # (n_problems, 1)
        across = step @ self.features.rows
        if rewards is not None:
            values = np.stack([np.where(is_pull, rewards, 0.0), is_pull], axis=1) - of_split
            surprise = values[:, :, np.newaxis] - np.matmul(self.means, seen[:, :, np.newaxis])
            self.means += surprise * (step / total)[:, np.newaxis, :]
            self.answers += surprise * (across / total)[:, np.newaxis, :]
            products = surprise * surprise.transpose(0, 2, 1)
            self.squares += products / total[:, :, np.newaxis]
            self.n_told += is_pull
        # Update of the square root of the covariance (Potter's form of the Kalman filter).
        inner /= (total + np.sqrt(total * noise[:, np.newaxis]))[:, :, np.newaxis]
        self.root -= step[:, :, np.newaxis] * inner
        across *= across
        across /= total
        self.variance -= across
        np.maximum(self.variance, 0.0, out=self.variance)

    def _direction(
        self, arm: IntArray, split: IntArray, is_pull: BoolArray, rewards: FloatArray | None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the direction of each pull, its noise, and the part that its split explains.

        The pulls are added to the sums of their splits.
        """
        seen: FloatArray = np.where(is_pull, self.features.rows[:, arm], 0.0).T
        noise = np.full(len(arm), self.noise_variance)
        if self.split_variance == 0:
            return seen, noise, np.zeros((len(arm), 2))
        place = np.arange(len(arm)), np.where(is_pull, split, 0)
        earlier, sums = self.split_features[place], self.split_sums[place]
        weight = self.split_variance / (self.noise_variance + sums[:, 1] * self.split_variance)
        weight = np.where(is_pull, weight, 0.0)
        self.split_features[place] += seen
        self.split_sums[*place, 1] += is_pull
        if rewards is not None:
            self.split_sums[*place, 0] += np.where(is_pull, rewards, 0.0)
        seen = seen - weight[:, np.newaxis] * earlier
        return seen, noise * (1 + weight), weight[:, np.newaxis] * sums

    def offset_and_scale(self) -> tuple[FloatArray, FloatArray]:
        """Estimate the prior mean and the scale from the rewards, each of shape (n_problems,).

        The mean is estimated by generalized least squares, and the scale by restricted maximum
        likelihood. All standard deviations are multiplied by the scale. It is 1 after a single
        reward, and NaN if all rewards are equal.
        """
        (of_rewards, mixed), (_, of_ones) = self.squares.transpose(1, 2, 0)
        offset = mixed / np.where(of_ones > 0, of_ones, 1.0)
        left = of_rewards - mixed * offset
        left = np.where(left > 1e-14 * of_rewards, left, np.nan)
        scale = np.sqrt(left / np.maximum(self.n_told - 1, 1))
        return offset, np.where(self.n_told > 1, scale, 1.0)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw the deviations of the arms from their means.

        The variance that the features do not explain is drawn independently for every arm, so
        that the variances are correct. With `PriorFeatures.cover_all`, the features explain all.

        Returns
        -------
        sample : ndarray of shape (n_problems, n_arms)
        """
        self._make_room(0)
        of_rows = rng.standard_normal((*self.root.shape[:2], 1))
        of_arms = rng.standard_normal(self.variance.shape)
        explained = np.matmul(self.root, of_rows)[:, :, 0] @ self.features.rows
        deviation: FloatArray = explained + np.sqrt(self.features.unexplained) * of_arms
        return deviation

    def _make_room(self, n_splits: int) -> None:
        """Make room for all features, each with mean 0 and variance 1, and for some splits."""
        n_before, n = self.root.shape[1], self.features.n_rows
        n_splits = max(n_splits, self.split_sums.shape[1])
        self.root = _padded(self.root, n, n)
        self.root[:, np.arange(n_before, n), np.arange(n_before, n)] = 1.0
        self.means = _padded(self.means, 2, n)
        self.split_features = _padded(self.split_features, n_splits, n)
        self.split_sums = _padded(self.split_sums, n_splits, 2)


def _padded(values: FloatArray, n_rows: int, n_columns: int) -> FloatArray:
    """Return the arrays with rows and columns of zeros at their ends."""
    if values.shape[1:] == (n_rows, n_columns):
        return values
    padded = np.zeros((len(values), n_rows, n_columns))  # `np.pad` takes many times as long
    padded[:, : values.shape[1], : values.shape[2]] = values
    return padded
