"""Prior covariances of arms, of which only the columns of pulled arms are ever made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sklearn_halving.policies._types import FloatArray

MAX_CHECKED_ARMS = 2000
"""A full matrix of at most so many arms is tested for negative eigenvalues."""

N_SAMPLED_COLUMNS = 256
"""Columns from which the norm of a matrix too large to be written down is estimated."""


@runtime_checkable
class ArmCovariance(Protocol):
    """What a posterior has to know of the prior covariance G of all arms."""

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
        """Return the covariances with one arm."""
        row: FloatArray = self.matrix[arm]  # of a symmetric matrix; contiguous
        return row

    def squared_norm(self) -> float:
        """Return the sum of all squared entries."""
        return float(np.vdot(self.matrix, self.matrix))


@dataclass(frozen=True, eq=False)
class FactorCovariance:
    """The covariance ``X X'`` of arms with a few features: arm k's mean is ``x_k' theta``.

    Parameters
    ----------
    factor : ndarray of shape (n_arms, n_features)
        X; the weights theta have independent priors of variance 1.

    Examples
    --------
    A hundred thousand arms need 2 x 8 bytes each, not a matrix of 80 gigabytes.

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
        diagonal: FloatArray = np.einsum("kr,kr->k", self.factor, self.factor)
        return diagonal

    def column(self, arm: int) -> FloatArray:
        """Return the covariances of all arms with one arm, shape ``(n_arms,)``."""
        column: FloatArray = self.factor @ self.factor[arm]
        return column

    def squared_norm(self) -> float:
        """Return the sum of all squared entries of ``X X'``, from those of ``X' X``."""
        gram = self.factor.T @ self.factor
        return float(np.vdot(gram, gram))


@dataclass(frozen=True, eq=False)
class KernelCovariance:
    """A kernel function on the features of the arms, called for one column at a time.

    Parameters
    ----------
    kernel : callable
        ``kernel(points, point)`` returns the covariances of n points, shape
        ``(n, n_features)``, with one, shape ``(1, n_features)``, as n numbers.
    points : ndarray of shape (n_arms, n_features)
    diagonal : ndarray of shape (n_arms,)
        The kernel of every point with itself.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import KernelCovariance
    >>> points = np.array([[0.0], [1.0], [3.0]])
    >>> def kernel(a, b):
    ...     return np.exp(-((a - b) ** 2).sum(axis=1))
    >>> KernelCovariance(kernel, points, np.ones(3)).column(1).round(3)
    array([0.368, 1.   , 0.018])
    """

    kernel: Callable[[FloatArray, FloatArray], FloatArray]
    points: FloatArray = field(repr=False)
    diagonal: FloatArray = field(repr=False)

    def column(self, arm: int) -> FloatArray:
        """Return the covariances of all arms with one arm, shape ``(n_arms,)``."""
        column = self.kernel(self.points, self.points[arm : arm + 1])
        return np.asarray(column, dtype=np.float64).reshape(len(self.points))

    def squared_norm(self) -> float:
        """Return the sum of all squared entries, estimated from up to 256 columns."""
        n_arms = len(self.points)
        n_columns = min(n_arms, N_SAMPLED_COLUMNS)
        # Steps of the golden ratio keep clear of the periods that a grid of arms has.
        golden = (5**0.5 - 1) / 2
        arms = np.unique((np.arange(n_columns) * golden % 1 * n_arms).astype(int))
        if n_columns == n_arms:
            arms = np.arange(n_arms)
        sums = [float(np.square(self.column(int(arm))).sum()) for arm in arms]
        return float(np.mean(sums)) * n_arms


@dataclass(frozen=True, eq=False)
class IndependentCovariance:
    """Arms that say nothing about each other."""

    diagonal: FloatArray = field(repr=False)

    def column(self, arm: int) -> FloatArray:
        """Return zeros, and the arm's variance in its own place."""
        column = np.zeros(len(self.diagonal))
        column[arm] = self.diagonal[arm]
        return column

    def squared_norm(self) -> float:
        """Return the sum of all squared variances."""
        return float(np.square(self.diagonal).sum())


def as_arm_covariance(covariance: Any, n_arms: int) -> ArmCovariance:
    """Return a matrix, or what a user gave in its place, as an `ArmCovariance`.

    Parameters
    ----------
    covariance : ArmCovariance, array-like of shape (n_arms, n_arms) or None
        None stands for independent arms of variance 1.
    n_arms : int

    Raises
    ------
    ValueError
        If the size is wrong, entries are not finite, variances are negative or all zero, or a
        matrix is not symmetric or has a negative eigenvalue.
    """
    if covariance is None:
        return IndependentCovariance(np.ones(n_arms))
    prior: ArmCovariance
    if isinstance(covariance, ArmCovariance):
        prior = covariance
    else:
        prior = DenseCovariance(_checked_matrix(covariance, n_arms))
    diagonal = np.asarray(prior.diagonal)
    if diagonal.shape != (n_arms,):
        raise ValueError(
            f"covariance must be that of the {n_arms} arms, got one of {diagonal.size}. "
            "Give a row for every arm."
        )
    if not (np.isfinite(diagonal).all() and diagonal.min() >= 0 and diagonal.max() > 0):
        raise ValueError(
            "the diagonal of covariance must be finite variances, none negative and not all 0; "
            f"got values from {diagonal.min()} to {diagonal.max()}."
        )
    return prior


def _checked_matrix(covariance: Any, n_arms: int) -> FloatArray:
    matrix = np.ascontiguousarray(covariance, dtype=np.float64)
    if matrix.shape != (n_arms, n_arms):
        raise ValueError(
            f"covariance must be of shape ({n_arms}, {n_arms}), a row and a column for each arm; "
            f"got {matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        raise ValueError("covariance must be finite; got NaN or infinity in it.")
    size = float(np.abs(matrix).max(initial=0))
    asymmetry = float(np.abs(matrix - matrix.T).max(initial=0))
    if asymmetry > 1e-8 * size:
        raise ValueError(
            f"covariance must be symmetric; two entries that should be equal differ by "
            f"{asymmetry:.3g}. Use (G + G.T) / 2 if that is rounding."
        )
    if n_arms <= MAX_CHECKED_ARMS and size > 0:
        _check_eigenvalues(matrix, size)
    return matrix


def _check_eigenvalues(matrix: FloatArray, size: float) -> None:
    try:
        np.linalg.cholesky(matrix + 1e-6 * size * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        least = float(np.linalg.eigvalsh(matrix)[0])
        raise ValueError(
            "covariance must be positive semi-definite; its smallest eigenvalue is "
            f"{least:.3g}. Add {-least:.3g} to the diagonal, or use another kernel."
        ) from None


def effective_n_arms(covariance: ArmCovariance) -> float:
    """Return ``tr(G)^2 / ||G||_F^2``: how many independent arms are as varied as these.

    Between 1, where all arms are copies of one, and their number, where they are independent and
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
