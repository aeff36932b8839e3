"""Convert candidates to points: numbers are scaled to 0 to 1, other values one-hot encoded."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import joblib
import numpy as np
from scipy.stats import qmc, rv_discrete

from sklearn_halving._typing import Params
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
