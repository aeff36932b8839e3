"""The model of candidates behind BayesGapSearchCV: their features and prior covariance."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import qmc

from sklearn_halving._checks import check_choice, refuse_unless
from sklearn_halving._typing import ParamDistributions, Params
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies import KernelFamily
from sklearn_halving.policies._arrays import FloatArray, IntArray
from sklearn_halving.samplers import Space as Cube
from sklearn_halving.samplers._space import (
    NEUTRAL,
    Choices,
    Continuous,
    Opaque,
    Uniform,
    Whole,
    dimension_of,
    is_finite_number,
    value_key,
)

CATEGORY_DISTANCE = 0.5
"""Distance of two categories of a parameter; the range of a number is 1."""

Space = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class CandidateFeatures:
    """Candidates as points.

    Parameters
    ----------
    matrix : ndarray of shape (n_candidates, n_columns)
        A numeric parameter has one column, a categorical parameter one for each value.
        Parameters that do not vary within any dict have no column.
    parameter : ndarray of int of shape (n_columns,)
        Parameter of each column, as an index of ``names``.
    names : tuple of str
        Parameters that vary.
    branch : ndarray of int of shape (n_candidates,)
        Branch of each candidate. Candidates of different branches are not similar.
    """

    matrix: FloatArray
    parameter: IntArray
    names: tuple[str, ...]
    branch: IntArray

    def with_branches(self) -> FloatArray:
        """Return the matrix, with an indicator column for each branch if there are several."""
        n_branches = int(self.branch.max()) + 1
        if n_branches == 1:
            return self.matrix
        return np.column_stack([self.matrix, np.eye(n_branches)[self.branch]])

    def points(self) -> FloatArray:
        """Return the matrix over the root of the number of varying parameters, and the branch."""
        scaled = self.matrix.copy()
        for branch in range(int(self.branch.max()) + 1):
            rows = self.branch == branch
            varies = np.ptp(scaled[rows], axis=0) > 0
            scaled[rows] /= np.sqrt(max(1, len(np.unique(self.parameter[varies]))))
        return np.column_stack([scaled, self.branch])


# ------------------------------------------------------------------------ values -> numbers


def make_features(candidates: Sequence[Params], spaces: Sequence[Space]) -> CandidateFeatures:
    """Return candidates as points.

    A number is scaled by the cumulative distribution function of its distribution, or by its rank
    in its list. Each dict is scaled separately. All dicts share their columns.

    Parameters
    ----------
    candidates : sequence of dict
    spaces : sequence of dict
        Parameter names to lists of values, or to distributions.
    """
    space_of = _space_of_candidates(candidates, spaces)
    columns: list[FloatArray] = []
    parameter: list[int] = []
    names: list[str] = []
    for name in sorted({name for params in candidates for name in params}):
        is_known = [
            name in params and name in spaces[number]
            for number, params in zip(space_of.tolist(), candidates, strict=True)
        ]
        rows = np.flatnonzero(is_known)
        if not len(rows):
            continue
        values = [candidates[row][name] for row in rows.tolist()]
        given = {number: spaces[number][name] for number in np.unique(space_of[rows]).tolist()}
        block = _encoded(values, given, space_of[rows])
        varies = [np.ptp(block[space_of[rows] == number], axis=0) for number in given]
        if not np.any(varies):  # it varies between dicts only, like the branches
            continue
        for values_of_column in block[:, np.ptp(block, axis=0) > 0].T:
            # Candidates without the parameter get the mean of those that have it.
            columns.append(np.full(len(candidates), values_of_column.mean()))
            columns[-1][rows] = values_of_column
            parameter.append(len(names))
        names.append(name)
    matrix = np.array(columns).reshape(len(columns), len(candidates)).T
    branch = _branches(candidates, space_of)
    return CandidateFeatures(matrix, np.array(parameter, dtype=np.int64), tuple(names), branch)


def _branches(candidates: Sequence[Params], space_of: IntArray) -> IntArray:
    """Number the branches: combinations of the dict and the classes of predictors."""
    number_of: dict[Hashable, int] = {}
    branch = [
        number_of.setdefault(
            (space, *((name, type(v)) for name, v in sorted(params.items()) if _predicts(v))),
            len(number_of),
        )
        for space, params in zip(space_of.tolist(), candidates, strict=True)
    ]
    return np.array(branch, dtype=np.int64)


def _predicts(value: object) -> bool:
    """Return whether a value is a predictor rather than a transformer."""
    return hasattr(value, "fit") and hasattr(value, "predict") and not isinstance(value, type)


def _space_of_candidates(candidates: Sequence[Params], spaces: Sequence[Space]) -> IntArray:
    """Return the dict of each candidate: the first one with its names and values.

    An initial candidate may have other names. Its dict is the one with the most names in common.
    """
    cubes, found = [Cube.of(space) for space in spaces], []
    for params in candidates:
        n_common = [len(params.keys() & space.keys()) for space in spaces]
        possible = [n for n, space in enumerate(spaces) if space.keys() == params.keys()]
        if len(possible) > 1:
            possible = [n for n in possible if cubes[n].point_of(params) is not None] or possible
        found.append(possible[0] if possible else int(np.argmax(n_common)))
    return np.array(found, dtype=np.int64)


def _encoded(
    values: Sequence[object], given: Mapping[int, object], space_of: IntArray
) -> FloatArray:
    """Return the columns of one parameter, for the candidates that have it.

    Numbers are scaled by the values of their dict. Categories are the same in all dicts.
    """
    is_number = np.array([is_finite_number(value) for value in values])
    column = np.full(len(values), NEUTRAL)  # a category is in the middle of the numbers
    for number, values_of_dict in given.items():
        here = np.flatnonzero((space_of == number) & is_number)
        column[here] = _scaled([values[place] for place in here.tolist()], values_of_dict)
    keys = [value_key(value) for value in values]
    of_numbers = {
        key: value for key, value in zip(keys, values, strict=True) if is_finite_number(value)
    }
    # If 1 and 1.0 are both given, they are different values, as for max_features.
    differ_by_type = len(of_numbers) > len(set(of_numbers.values()))
    if is_number.all() and not differ_by_type:
        return column[:, np.newaxis]
    label_of = [
        (differ_by_type and isinstance(of_numbers[key], Integral)) if key in of_numbers else key
        for key in keys
    ]
    code_of = {label: code for code, label in enumerate(dict.fromkeys(label_of))}
    one_hot = np.eye(len(code_of))[[code_of[label] for label in label_of]]
    return np.column_stack([column, one_hot * (CATEGORY_DISTANCE / np.sqrt(2))])


def _scaled(numbers: Sequence[Any], given: Any) -> FloatArray:
    """Return numbers between 0 and 1: by their distribution, or by their rank in the list."""
    dimension = dimension_of("", given)
    if isinstance(dimension, Uniform | Continuous | Whole):
        # A number outside of the range, of an initial candidate, is at the end of it.
        shares = [(dimension.coordinate_of(number), number) for number in numbers]
        return np.array([given.cdf(n) if np.isnan(x) else x for x, n in shares], np.float64)
    known = dimension.values if isinstance(dimension, Choices) else numbers
    different = np.unique([float(value) for value in known if is_finite_number(value)])
    if len(different) < 2:
        return np.full(len(numbers), NEUTRAL)
    ranks = np.interp(np.asarray(numbers, dtype=np.float64), different, range(len(different)))
    return ranks / (len(different) - 1)


# ------------------------------------------------------------- candidates that are spread evenly


def draw_evenly(
    spaces: Sequence[Space], n: int, rng: np.random.RandomState
) -> tuple[Params, ...] | None:
    """Draw candidates that are spread more evenly than independent ones.

    They are at the points of a scrambled Halton sequence. Every dict gets the same number of them.

    Returns
    -------
    candidates : tuple of dict or None
        None if a dict has no continuous distribution, or a distribution has no method ``ppf``.
    """
    cubes = [Cube.of(space) for space in spaces]
    for cube in cubes:
        kinds = list(map(type, cube.dimensions))
        if Opaque in kinds or not (Uniform in kinds or Continuous in kinds):
            return None
    n_of_space = np.full(len(spaces), n // len(spaces))
    n_of_space[rng.permutation(len(spaces))[: n % len(spaces)]] += 1
    drawn: list[Params] = []
    for cube, n_here in zip(cubes, n_of_space.tolist(), strict=True):
        seed = np.random.default_rng(rng.randint(2**31 - 1))
        points = qmc.Halton(cube.n_dimensions, seed=seed).random(n_here)
        drawn += [cube.params_at(point) for point in points]
    return tuple(drawn)


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
    # The columns of the categories of a parameter have the same sum for all candidates.
    sums = features.matrix @ np.eye(len(features.names))[features.parameter]
    if len(candidates) > 1 and (np.ptp(sums, axis=0) < 1e-9).all():
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
        A number is scaled to the range from 0 to 1, by its distribution or its rank in its list.
        All other values are one-hot encoded, such that the distance of two categories is 0.5.
        With several dicts, the last columns indicate the dict.

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
        If there is no such kernel, or if ``branch_correlation`` is not from 0 to 1.

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
