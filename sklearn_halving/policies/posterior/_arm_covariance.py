"""Prior covariances of arms and their features, computed for the pulled arms only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from sklearn_halving._checks import refuse_unless
from sklearn_halving.policies._arrays import FloatArray, IntArray

MAX_CHECKED_ARMS = 5000
"""Maximum number of arms for which a matrix is tested for negative eigenvalues."""

N_SAMPLED_COLUMNS = 256
"""Number of columns from which the norm of a large matrix is estimated."""

N_AT_ONCE = 2**16
"""Maximum number of covariances that are computed at once for the norm."""

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

    def columns(self, arms: IntArray) -> FloatArray:
        """Return the covariances of some arms with all arms, shape ``(len(arms), n_arms)``."""
        columns = np.asarray(self.kernel(self.points[arms], self.points), dtype=np.float64)
        shape = len(arms), len(self.points)
        rule = f"return an array of shape (len(points), len(others)), here {shape}"
        refuse_unless(columns.shape == shape, "kernel(points, others)", rule, columns.shape)
        return columns

    def column(self, arm: int) -> FloatArray:
        """Return the covariances of all arms with one arm, shape ``(n_arms,)``."""
        return self.columns(np.array([arm]))[0]

    def squared_norm(self) -> float:
        """Return the sum of all squared entries, estimated from up to 256 columns."""
        n_arms = len(self.points)
        arms = spread_places(N_SAMPLED_COLUMNS, n_arms)
        n_parts = -(-len(arms) * n_arms // N_AT_ONCE)
        parts = np.array_split(arms, min(n_parts, len(arms)))
        sums = [np.square(self.columns(part)).sum(axis=1) for part in parts]
        return float(np.mean(np.concatenate(sums))) * n_arms


def spread_places(n_most: int, n_places: int) -> IntArray:
    """Return at most ``n_most`` of the places 0, 1, ..., spread over all of them.

    Steps of the golden ratio avoid the periods of a grid of arms.
    """
    if n_places <= n_most:
        return np.arange(n_places)
    golden = (5**0.5 - 1) / 2
    return np.unique((np.arange(n_most) * golden % 1 * n_places).astype(int))


@dataclass(frozen=True, eq=False)
class IndependentCovariance:
    """The covariance of independent arms."""

    diagonal: FloatArray = field(repr=False)

    def column(self, arm: int) -> FloatArray:
        """Return the variance at the place of the arm, and zeros elsewhere."""
        column = np.zeros(len(self.diagonal))
        column[arm] = self.diagonal[arm]
        return column

    def squared_norm(self) -> float:
        """Return the sum of all squared variances."""
        return float(np.square(self.diagonal).sum())


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
        prior = IndependentCovariance(np.ones(n_arms))
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
    >>> from sklearn_halving.policies.posterior._arm_covariance import (
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
    n_rows : int
        Number of features so far.
    unexplained : ndarray of shape (n_arms,)
        Prior variance that the features so far do not explain.
    """

    def __init__(self, covariance: ArmCovariance) -> None:
        self.covariance, self.n_rows = covariance, 0
        self.unexplained = np.array(self.covariance.diagonal, dtype=np.float64)
        self._buffer = np.zeros((0, len(self.unexplained)))
        self._largest = float(self.unexplained.max())

    @property
    def rows(self) -> FloatArray:
        """The features, shape ``(n_rows, n_arms)``; a view."""
        return self._buffer[: self.n_rows]

    def cover(self, arm: int) -> bool:
        """Add a feature if the arm is not fully explained. Return whether one was added."""
        left = float(self.unexplained[arm])
        if left == 0:
            return False
        n, nugget = self.n_rows, NUGGET * self._largest
        row = self.covariance.column(arm) - self._buffer[:n, arm] @ self._buffer[:n]
        row[arm] += nugget
        row /= np.sqrt(left + nugget)
        self._make_room()
        self._buffer[n] = row
        self.n_rows += 1
        row *= row
        self.unexplained -= row
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

    def _make_room(self) -> None:
        n_max, n_arms = self._buffer.shape
        if self.n_rows == n_max:
            # Memory pages are only allocated when they are written.
            larger = np.zeros((min(n_arms, max(16, 2 * n_max)), n_arms))
            larger[:n_max] = self._buffer
            self._buffer = larger
