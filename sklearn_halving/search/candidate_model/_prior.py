"""The prior covariance of candidates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import cdist

from sklearn_halving._checks import check_choice, refuse_unless
from sklearn_halving._typing import ParamDistributions, Params
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies import KernelFamily
from sklearn_halving.policies._arrays import FloatArray, IntArray
from sklearn_halving.search.candidate_model._features import Space, make_features

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
    "VarianceHalvingSearchCV compares candidates without a model."
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
    kernel: KernelName,
    candidates: Sequence[Params],
    spaces: Sequence[Space],
    branch_correlation: float = 0.0,
) -> ParameterFamily:
    """Return the prior covariance of candidates, whose length scales are estimated later."""
    features = make_features(candidates, spaces)
    function, steepness = KERNELS[kernel]
    family = ParameterFamily(
        over_branches(function, branch_correlation),
        features.points(),
        np.full(len(features.names), LENGTH),
        parameter=features.parameter,
        steepness=over_branches(steepness, branch_correlation),
    )
    if len(candidates) > 1 and not family.has_numbers:
        warn_user(NO_NUMBERS)
    return family


def candidate_features(
    candidates: Sequence[Params], param_distributions: ParamDistributions
) -> FloatArray:
    """Return candidates as points, from which a covariance can be computed.

    Parameters
    ----------
    candidates : sequence of dict of length n_candidates
        Parameter names and values.
    param_distributions : dict or list of dict
        The search space of the candidates, as in BayesGapSearchCV.

    Returns
    -------
    features : ndarray of shape (n_candidates, n_columns)
        A number is scaled to the range from 0 to 1. All other values are one-hot encoded, such
        that the distance of two categories is 0.5. With several dicts, the last columns indicate
        the dict.

    Examples
    --------
    >>> from sklearn.model_selection import ParameterGrid
    >>> from sklearn_halving.search import candidate_features
    >>> grid = {"C": [1, 10, 100], "kernel": ["rbf"]}
    >>> candidate_features(list(ParameterGrid(grid)), grid).tolist()
    [[0.0], [0.5], [1.0]]
    """
    return make_features(candidates, _spaces(param_distributions)).with_branches()


def candidate_covariance(
    candidates: Sequence[Params],
    param_distributions: ParamDistributions,
    kernel: KernelName = "squared_exponential",
    branch_correlation: float = 0.0,
) -> KernelFamily:
    """Return the prior covariance that BayesGapSearchCV gives its candidates.

    Use it to run `~sklearn_halving.policies.BayesGap` with parameters that BayesGapSearchCV does
    not have, such as ``epsilon``. Its candidates must be in the same order: those of a whole grid
    are in the order of `ParameterGrid`.

    Parameters
    ----------
    candidates : sequence of dict of length n_candidates
        Parameter names and values.
    param_distributions : dict or list of dict
        The search space of the candidates.
    kernel : {"squared_exponential", "matern"}, default="squared_exponential"
        The kernel, see BayesGapSearchCV.
    branch_correlation : float, default=0.0
        Factor from 0 to 1 for the covariance of candidates from different dicts.

    Returns
    -------
    covariance : KernelFamily
        Its length scales are estimated during the search.

    Raises
    ------
    ValueError
        If there is no such kernel, if ``branch_correlation`` is not from 0 to 1, or if a value
        can neither be hashed nor pickled.

    Examples
    --------
    >>> from sklearn.model_selection import ParameterGrid
    >>> from sklearn.svm import SVC
    >>> from sklearn_halving import BanditSearchCV
    >>> from sklearn_halving.policies import BayesGap
    >>> from sklearn_halving.search import candidate_covariance
    >>> grid = {"C": [0.1, 1, 10, 100], "gamma": [0.001, 0.01, 0.1]}
    >>> covariance = candidate_covariance(list(ParameterGrid(grid)), grid)
    >>> policy = BayesGap(n_pulls=20, covariance=covariance, epsilon=0.01)
    >>> search = BanditSearchCV(SVC(), grid, policy=policy)
    """
    check_choice("kernel", kernel, "For another one, see candidate_features.", choices=KernelName)
    holds = 0 <= branch_correlation <= 1
    refuse_unless(holds, "branch_correlation", "be from 0 to 1", branch_correlation, "Use 0.")
    return make_prior(kernel, candidates, _spaces(param_distributions), branch_correlation)


def _spaces(param_distributions: Any) -> Sequence[Space]:
    return (
        [param_distributions] if isinstance(param_distributions, Mapping) else param_distributions
    )
