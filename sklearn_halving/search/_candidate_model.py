"""The model of candidates behind BayesGapSearchCV: their features and prior covariance."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Literal

import joblib
import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import qmc, rv_discrete

from sklearn_halving._checks import check_choice, refuse_unless
from sklearn_halving._typing import ParamDistributions, Params
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies import KernelFamily
from sklearn_halving.policies._arrays import FloatArray, IntArray

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

    Numbers are scaled by the cumulative distribution function of their distribution, or by the
    range of their list, on a logarithmic scale if the list is more evenly spaced on it. Each dict
    is scaled separately. All dicts share their columns.

    Parameters
    ----------
    candidates : sequence of dict
    spaces : sequence of dict
        Parameter names to lists of values, or to distributions.

    Raises
    ------
    ValueError
        If a value can neither be hashed nor pickled. The error names the candidate.
    """
    labels = _Labels(candidates)
    space_of = _space_of_candidates(candidates, spaces, labels)
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
        of_values = [labels.of(row, name) for row in rows.tolist()]
        given = {number: spaces[number][name] for number in np.unique(space_of[rows]).tolist()}
        block = _encoded(values, of_values, given, space_of[rows])
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


class _Labels:
    """Labels of values: equal for equal values, and different otherwise."""

    def __init__(self, candidates: Sequence[Params]) -> None:
        self._candidates = candidates
        self._known: dict[int, Hashable] = {}  # by id: candidates keep their values alive

    def of(self, row: int, name: str) -> Hashable:
        """Return the label of a candidate's value."""
        value = self._candidates[row][name]
        try:
            return self.of_value(value)
        except TypeError as error:
            raise ValueError(
                "param_distributions must have values that can be converted to features: numbers, "
                f"or objects that can be pickled or hashed; got {name}={value!r} in candidate "
                f"{row}. Use another value, or pass the covariance of all candidates to BayesGap."
            ) from error

    def of_value(self, value: object) -> Hashable:
        """Return the label of a value. Raise a TypeError if there is none."""
        number = _number(value)
        if number is not None:
            return number
        if value is None or isinstance(value, str | bool | np.bool_):
            return (str(type(value).__name__).rstrip("_"), str(value))
        if id(value) not in self._known:
            try:
                self._known[id(value)] = str(joblib.hash(value))
            except (pickle.PicklingError, TypeError, AttributeError, ValueError, RuntimeError):
                hash(value)
                self._known[id(value)] = ("object", value)
        return self._known[id(value)]


def _number(value: object) -> float | None:
    """Return a value as a float; None if it is not a finite number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if np.isfinite(number) else None


def _space_of_candidates(
    candidates: Sequence[Params], spaces: Sequence[Space], labels: _Labels
) -> IntArray:
    """Return the dict of each candidate: the first one with its names and values.

    An initial candidate may have other names. Its dict is the one with the most names in common.
    """
    by_names: dict[frozenset[str], list[int]] = defaultdict(list)
    for number, space in enumerate(spaces):
        by_names[frozenset(space)].append(number)
    sets = [
        {n: None if hasattr(v, "rvs") else {labels.of_value(x) for x in v} for n, v in s.items()}
        if len(by_names[frozenset(s)]) > 1
        else {}
        for s in spaces
    ]

    def holds(number: int, row: int) -> bool:
        return all(
            _may_give(spaces[number][name], value)
            if (values := sets[number][name]) is None
            else labels.of(row, name) in values
            for name, value in candidates[row].items()
        )

    found = []
    for row, params in enumerate(candidates):
        possible = by_names.get(frozenset(params), [])
        if not possible:
            n_common = [len(params.keys() & space.keys()) for space in spaces]
            possible = [int(np.argmax(n_common))]
        if len(possible) > 1:
            possible = [n for n in possible if holds(n, row)] or possible
        found.append(possible[0])
    return np.array(found, dtype=np.int64)


def _may_give(distribution: object, value: object) -> bool:
    number = _number(value)
    if number is None or not hasattr(distribution, "support"):
        return True
    low, high = distribution.support()
    return bool(low <= number <= high)


def _encoded(
    values: list[object], labels: list[Hashable], given: Mapping[int, object], space_of: IntArray
) -> FloatArray:
    """Return the columns of one parameter, for the candidates that have it.

    Numbers are scaled by the values of their dict. Categories are the same in all dicts.
    """
    numbers = [_number(value) for value in values]
    is_number = np.array([number is not None for number in numbers])
    known = np.array([np.nan if number is None else number for number in numbers])
    column = np.full(len(values), 0.5)  # a category is in the middle of the numbers
    for number, values_of_dict in given.items():
        here = space_of == number
        column[here & is_number] = _scaled(known[here & is_number], values_of_dict)
    is_whole = [isinstance(v, Integral) and not isinstance(v, bool) for v in values]
    # If 1 and 1.0 are both given, they are different values, as for max_features.
    differ_by_type = len(set(zip(numbers, is_whole, strict=True))) > len(set(numbers))
    if is_number.all() and not differ_by_type:
        return column[:, np.newaxis]
    label_of = [
        differ_by_type and whole if is_known else label
        for is_known, whole, label in zip(is_number, is_whole, labels, strict=True)
    ]
    code_of = {label: code for code, label in enumerate(dict.fromkeys(label_of))}
    codes = np.array([code_of[label] for label in label_of])
    one_hot = np.eye(len(code_of))[codes] * (CATEGORY_DISTANCE / np.sqrt(2))
    return np.column_stack([column, one_hot])


def _scaled(numbers: FloatArray, given: Any) -> FloatArray:
    """Return numbers between 0 and 1."""
    if hasattr(given, "cdf"):
        # This is linear for a uniform distribution, and logarithmic for a log-uniform one.
        first = np.asarray(given.cdf(given.support()[0]) if hasattr(given, "support") else 0.0)
        shares: FloatArray = (np.asarray(given.cdf(numbers)) - first) / (1 - first)
        if np.isfinite(shares).all():
            return shares
    listed: Any = numbers if hasattr(given, "rvs") else [_number(value) for value in given]
    different = np.unique([number for number in listed if number is not None])
    if len(different) < 2:
        return np.full(len(numbers), 0.5)
    if is_geometric(different):
        numbers, different = np.log(numbers), np.log(different)
    # Halves, because the difference of two numbers may overflow.
    low, high = different[0] / 2, different[-1] / 2
    return (numbers / 2 - low) / (high - low)


def is_geometric(numbers: FloatArray) -> bool:
    """Return whether increasing numbers are more evenly spaced on a logarithmic scale.

    This requires at least three positive numbers. It holds for numbers with a constant ratio, and
    also for 1, 2, 5, 10.
    """
    if len(numbers) < 3 or numbers[0] <= 0:
        return False
    gaps, log_gaps = np.diff(numbers / numbers[-1]), np.diff(np.log(numbers))
    return bool(np.std(log_gaps) / np.mean(log_gaps) < 0.99 * np.std(gaps) / np.mean(gaps))


# ------------------------------------------------------------- candidates that are spread evenly


def draw_evenly(
    spaces: Sequence[Space], n: int, rng: np.random.RandomState
) -> tuple[Params, ...] | None:
    """Draw candidates that are spread more evenly than independent ones.

    The points of a scrambled Halton sequence are mapped by the quantiles of the distributions.
    Every dict gets the same number of candidates.

    Returns
    -------
    candidates : tuple of dict or None
        None if a dict has no continuous distribution, or a distribution has no method ``ppf``.
    """
    if not all(_has_quantiles(space) for space in spaces):
        return None
    n_of_space = np.full(len(spaces), n // len(spaces))
    n_of_space[rng.permutation(len(spaces))[: n % len(spaces)]] += 1
    drawn: list[Params] = []
    for space, n_here in zip(spaces, n_of_space.tolist(), strict=True):
        seed = np.random.default_rng(rng.randint(2**31 - 1))
        places = qmc.Halton(len(space), seed=seed).random(n_here)
        names = sorted(space)
        columns = [
            _quantiles(space[name], column)
            for name, column in zip(names, np.clip(places, 1e-9, 1 - 1e-9).T, strict=True)
        ]
        drawn += [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return tuple(drawn)


def _has_quantiles(space: Space) -> bool:
    """Return whether all distributions have quantiles, and at least one is continuous."""
    drawn = [values for values in space.values() if hasattr(values, "rvs")]
    is_continuous = [not isinstance(getattr(v, "dist", v), rv_discrete) for v in drawn]
    return any(is_continuous) and all(hasattr(values, "ppf") for values in drawn)


def _quantiles(values: Any, places: FloatArray) -> Sequence[object]:
    if not hasattr(values, "rvs"):
        return [values[int(place * len(values))] for place in places.tolist()]
    # Distributions of SciPy take arrays; those of others may not.
    is_of_scipy = hasattr(values, "dist")
    quantiles = values.ppf(places) if is_of_scipy else [values.ppf(p) for p in places.tolist()]
    numbers: list[float] = np.asarray(quantiles, dtype=np.float64).tolist()
    if not isinstance(getattr(values, "dist", values), rv_discrete):
        return numbers
    return [int(number) if number.is_integer() else number for number in numbers]


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
