"""The prior covariance of candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from sklearn_halving._typing import Params
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies import KernelCovariance, KernelFamily
from sklearn_halving.policies._arrays import FloatArray, IntArray
from sklearn_halving.policies.posterior._arm_covariance import (
    ArmCovariance,
    DenseCovariance,
    as_arm_covariance,
    checked_covariance,
)
from sklearn_halving.search.candidate_model._features import (
    CandidateFeatures,
    Space,
    make_features,
)

Kernel = Callable[[FloatArray, FloatArray], FloatArray]

LENGTH = 8**-0.5
"""Initial length scale if one parameter varies. With d parameters it is sqrt(d) times this, such
that the correlation between opposite corners of a space of numbers is exp(-4)."""
NOISE = 0.25
"""Initial variance of the noise of a fit, and of the effect of a split, in prior variances of a
candidate."""
NO_NUMBERS = (
    "No numeric parameter varies, so the model of BayesGapSearchCV only knows which values the "
    "candidates have in common: a fit tells little or nothing about other candidates. "
    "VarianceHalvingSearchCV compares candidates without a model, and kernel= sets another one."
)


@dataclass(frozen=True, eq=False)
class ParameterFamily(KernelFamily):
    """Kernels with a length scale for each parameter.

    Parameters
    ----------
    kernel, points, lengths, length_bounds
        As for `KernelFamily`, except that the last column of the points is the branch, and that
        there is a length for each parameter.
    parameter : ndarray of int of shape (n_columns,)
        Parameter of each column.
    steepness : callable
        Minus twice the derivative of the kernel by the squared distance.
    """

    parameter: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    steepness: Kernel = field(default_factory=lambda: squared_exponential, repr=False)

    def __post_init__(self) -> None:
        """Skip the checks of users' input."""

    @property
    def has_numbers(self) -> bool:
        """Whether a numeric parameter varies. Only these have a single column."""
        return bool((np.bincount(self.parameter) == 1).any())

    def scaled(self, points: FloatArray, log_lengths: FloatArray) -> FloatArray:
        """Return points divided by the length scales. The branch is not changed."""
        scaled = points.copy()
        scaled[:, :-1] /= np.exp(log_lengths)[self.parameter]
        return scaled

    def gradient(self, log_lengths: FloatArray, arms: IntArray, weights: FloatArray) -> FloatArray:
        """Return the derivatives of ``sum(weights * among(log_lengths, arms))``."""
        scaled = self.scaled(self.points[arms], log_lengths)
        columns = scaled[:, :-1]
        weights = weights * self.steepness(scaled, scaled)
        # The sum of weights[i, j] * (x[i] - x[j]) ** 2 for each column x.
        squares = weights.sum(axis=1) @ columns**2 - np.vecdot(columns.T, columns.T @ weights)
        derivatives = np.zeros(len(log_lengths))
        np.add.at(derivatives, self.parameter, 2 * squares)
        return derivatives


@dataclass(frozen=True)
class CandidatePrior:
    """The parameters of `BayesGap` that depend on the candidates.

    Parameters
    ----------
    covariance : KernelFamily, ArmCovariance or None
        None for independent candidates.
    noise_variance : float
        Variance of the noise of a fit, and of the effect of a split.
    """

    covariance: KernelFamily | ArmCovariance | None = None
    noise_variance: float = NOISE

    @classmethod
    def of(cls, covariance: KernelFamily | ArmCovariance, noise: float | str) -> CandidatePrior:
        """Return the prior of candidates with a covariance and the noise that the user passed.

        Length scales and noise are estimated together, unless the noise is given.
        """
        if isinstance(covariance, ParameterFamily) and not covariance.has_numbers:
            warn_user(NO_NUMBERS)
        if isinstance(covariance, KernelFamily):
            if isinstance(noise, str):
                return cls(covariance)
            covariance = covariance.at(np.log(covariance.lengths))
        if not isinstance(noise, str):
            return cls(covariance, float(noise))
        diagonal = as_arm_covariance(covariance, len(covariance.diagonal)).diagonal
        return cls(covariance, NOISE * float(diagonal.mean()))


def over_branches(kernel: Kernel, branch_correlation: float) -> Kernel:
    """Return a kernel of points whose last column is the branch."""

    def kernel_over_branches(points: FloatArray, others: FloatArray) -> FloatArray:
        covariance = kernel(points[:, :-1], others[:, :-1])
        is_same = points[:, -1:] == others[:, -1]
        return np.where(is_same, covariance, branch_correlation * covariance)

    return kernel_over_branches


def squared_exponential(points: FloatArray, others: FloatArray) -> FloatArray:
    """Return ``exp(-d^2 / 2)`` of the distances."""
    if points.shape[1] == 0:
        return np.ones((len(points), len(others)))
    squares: FloatArray = cdist(points, others, "sqeuclidean")
    return np.exp(-0.5 * squares)


def matern(points: FloatArray, others: FloatArray) -> FloatArray:
    """Return the Matern kernel of the distances with nu = 5/2: twice differentiable."""
    if points.shape[1] == 0:
        return np.ones((len(points), len(others)))
    distance = np.sqrt(5) * cdist(points, others)
    return (1 + distance + distance**2 / 3) * np.exp(-distance)


def matern_steepness(points: FloatArray, others: FloatArray) -> FloatArray:
    """Return minus twice the derivative of `matern` by the squared distance."""
    distance = np.sqrt(5) * cdist(points, others)
    return 5 / 3 * (1 + distance) * np.exp(-distance)


KernelName = Literal["squared_exponential", "matern"]
KERNELS = {
    "squared_exponential": (squared_exponential, squared_exponential),
    "matern": (matern, matern_steepness),
}


def make_prior(
    kernel: Any,
    candidates: Sequence[Params],
    spaces: Sequence[Space],
    branch_correlation: float = 0.0,
    *,
    is_whole_grid: bool = True,
) -> KernelFamily | ArmCovariance:
    """Return the prior covariance of candidates, in a form that `BayesGap` takes.

    Parameters
    ----------
    kernel : None, str, scikit-learn kernel, callable or array-like
        As `BayesGapSearchCV` takes it.
    candidates : sequence of dict
    spaces : sequence of dict
        Where they come from.
    branch_correlation : float, default=0.0
        Factor for the covariance of candidates from different branches.
    is_whole_grid : bool, default=True
        Whether the candidates are a whole grid in its order, as an array requires.

    Returns
    -------
    prior : KernelFamily or ArmCovariance
        A family, whose length scales are estimated later, for None and for a name.

    Raises
    ------
    ValueError
        If a matrix is not a covariance of these candidates, if an array is given although the
        candidates are drawn, if the parameters of a candidate cannot be converted to features, or
        if ``branch_correlation`` is set although the kernel is a function or an array.
    """
    is_kernel = hasattr(kernel, "diag") and hasattr(kernel, "theta")
    if branch_correlation and not (kernel is None or isinstance(kernel, str) or is_kernel):
        raise ValueError(
            "branch_correlation must be 0 if kernel is a function or an array, which determines "
            f"the covariance of different branches itself; got {branch_correlation!r}. Leave it "
            "out."
        )
    if not (kernel is None or isinstance(kernel, str) or callable(kernel)):
        if not is_whole_grid:
            raise ValueError(
                "kernel must not be an array unless the candidates are a whole grid, whose order "
                f"is known; got an array for {len(candidates)} candidates that are drawn, or come "
                "with initial_candidates. Use a callable, which is called with their features, or "
                "a whole grid."
            )
        return checked_matrix(kernel, len(candidates))
    features = make_features(candidates, spaces)
    if kernel is None or isinstance(kernel, str):
        function, steepness = KERNELS[kernel or "squared_exponential"]
        lengths = np.full(len(features.names), LENGTH)
        points = features.points()
        return ParameterFamily(
            over_branches(function, branch_correlation),
            points,
            lengths,
            parameter=features.parameter,
            steepness=over_branches(steepness, branch_correlation),
        )
    if is_kernel:
        return _of_scikit_learn(kernel, features, branch_correlation)
    return checked_matrix(kernel(features.with_branches()), len(candidates))


def checked_matrix(matrix: npt.ArrayLike, n_candidates: int) -> DenseCovariance:
    """Return a user's covariance matrix. Raise an error if it is not valid."""
    try:
        numbers = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"kernel must return numbers; got {matrix!r}. Compute it with a function of the "
            "features that measures similarity."
        ) from error
    advice = " Put candidates in the order of ParameterGrid, and use all of the grid."
    return checked_covariance(numbers, n_candidates, "kernel", "candidate", advice)


@dataclass(frozen=True, eq=False)
class _KernelWithNoise(KernelCovariance):
    """A kernel that is larger for a point with itself than for equal points (a white kernel)."""

    def columns(self, arms: IntArray) -> FloatArray:
        columns = super().columns(arms)
        columns[np.arange(len(arms)), arms] = self.diagonal[arms]
        return columns


def _of_scikit_learn(
    kernel: Any, features: CandidateFeatures, branch_correlation: float
) -> KernelCovariance:
    """Return the covariance of a kernel object of ``sklearn.gaussian_process``."""
    matrix = features.matrix
    if matrix.shape[1] == 0:
        matrix = np.zeros((len(matrix), 1))
    try:
        diagonal = np.asarray(kernel.diag(matrix), dtype=np.float64)
        kernel(matrix[:1], matrix[:1])
    except ValueError as error:
        columns = ", ".join(features.names[p] for p in features.parameter) or "none"
        raise ValueError(
            f"kernel={kernel!r} must take the features of the candidates; got: {error} It has "
            f"{matrix.shape[1]} columns, of: {columns}. Use one length scale, or one per column."
        ) from error
    points = np.column_stack([matrix, features.branch])
    return _KernelWithNoise(over_branches(kernel, branch_correlation), points, diagonal)
