"""A search space as the unit cube: one axis for each parameter, with cells if it is discrete.

An axis maps the values of its parameter to (0, 1) and back.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from math import log, prod
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
from scipy.stats import rv_continuous, rv_discrete

from sklearn_halving._checks import refuse_unless
from sklearn_halving._content_hash import content_hash, plain_value, value_digest
from sklearn_halving._typing import Params

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

EDGE = 1e-12
"""Distance of all coordinates from 0 and 1, where a ppf may be infinite."""
NEUTRAL = 0.5
"""Coordinate of a parameter that a candidate lacks, or that has no axis."""
MAX_CHOICES = 10_000
"""A discrete distribution with more values is treated as infinite."""
MAX_IN_VAIN = 1000
"""If this many draws in a row give no new candidate, a space counts as exhausted."""
GRID = tuple(((np.arange(1000) + 0.5) / 1000).tolist())
"""Coordinates at which a number outside of a range may be placed."""
BRANCH = "(which dict)"
"""Name of the axis for the dict that a candidate comes from."""


@dataclass(frozen=True)
class Dimension:
    """One parameter.

    Parameters
    ----------
    name : str
        The parameter's name.
    """

    name: str

    is_ordered = True
    """Whether close coordinates stand for similar values."""

    @property
    def n_cells(self) -> int | None:
        """Number of values; None if it is infinite."""
        return None

    def value_at(self, x: float) -> Any:
        """Return the value at a coordinate in (0, 1)."""
        raise NotImplementedError

    def coordinate_of(self, value: object) -> float:
        """Return the coordinate of a value; NaN if the value is not possible."""
        raise NotImplementedError

    def cells_at(self, x: FloatArray) -> FloatArray:
        """Return numbers that are equal for coordinates of the same value."""
        return x


@dataclass(frozen=True)
class Uniform(Dimension):
    """A uniform or log-uniform number, as in nearly every space. SciPy takes 0.04 ms for each."""

    low: float
    high: float
    is_log: bool

    def value_at(self, x: float) -> float:
        """Return the value at a coordinate in (0, 1)."""
        if self.is_log:
            value = self.low * float((self.high / self.low) ** x)
        else:
            value = self.low + x * (self.high - self.low)
        return min(max(value, self.low), self.high)

    def coordinate_of(self, value: object) -> float:
        """Return the coordinate of a value; NaN if it is outside the bounds."""
        if not is_finite_number(value) or not self.low <= value <= self.high:
            return float("nan")
        if self.is_log:
            return log(value / self.low) / log(self.high / self.low)
        return float((value - self.low) / (self.high - self.low))


@dataclass(frozen=True)
class Continuous(Dimension):
    """A number whose distribution has the methods ``cdf`` and ``ppf``."""

    distribution: Any

    def value_at(self, x: float) -> float:
        """Return the value at a coordinate in (0, 1)."""
        return float(self.distribution.ppf(x))

    def coordinate_of(self, value: object) -> float:
        """Return the coordinate of a value; NaN if it is outside the support."""
        if not is_finite_number(value):
            return float("nan")
        x = float(self.distribution.cdf(value))
        is_inside = 0 < x < 1 or value in (self.distribution.ppf(0), self.distribution.ppf(1))
        return x if is_inside else float("nan")


@dataclass(frozen=True)
class Whole(Dimension):
    """A discrete distribution: the width of the cell of a value is its probability."""

    distribution: Any

    @cached_property
    def values(self) -> list[int | float] | None:
        """All values; None if they are infinitely many, or more than `MAX_CHOICES`."""
        listed = getattr(self.distribution, "xk", None)
        if listed is not None:  # rv_discrete(values=...); they need not be integers
            return [self._as_number(x) for x in listed if self.distribution.pmf(x) > 0]
        first, last = getattr(self.distribution, "support", lambda: (0, np.inf))()
        if not last - first < MAX_CHOICES:
            return None
        possible = np.arange(first, last + 1)
        shares = self.distribution.pmf(possible)
        whole: list[int | float] = [int(value) for value in possible[shares > 0]]
        return whole if np.isclose(shares.sum(), 1) else None

    @cached_property
    def _upper(self) -> tuple[list[int | float], list[float]]:
        """The values in increasing order, and the upper ends of their cells."""
        values = sorted(self.values or [])
        return values, np.asarray(self.distribution.cdf(values), dtype=np.float64).tolist()

    @property
    def n_cells(self) -> int | None:
        """Number of values; None if `values` is None."""
        return None if self.values is None else len(self.values)

    def value_at(self, x: float) -> int | float:
        """Return the value at a coordinate in (0, 1)."""
        if self.values is None:
            return self._as_number(float(self.distribution.ppf(x)))
        values, upper = self._upper  # SciPy takes 0.1 ms
        return values[min(bisect_left(upper, x), len(values) - 1)]

    @staticmethod
    def _as_number(value: float) -> int | float:
        return int(value) if float(value).is_integer() else float(value)

    def coordinate_of(self, value: object) -> float:
        """Return the centre of the cell of a value; NaN if its probability is 0."""
        if not is_finite_number(value):
            return float("nan")
        width = float(self.distribution.pmf(value))
        return float(self.distribution.cdf(value)) - width / 2 if width > 0 else float("nan")

    def cells_at(self, x: FloatArray) -> FloatArray:
        """Return numbers that are equal for coordinates of the same value."""
        return x if self.values is None else np.searchsorted(self._upper[1], x).astype(float)


@dataclass(frozen=True)
class Choices(Dimension):
    """A list of values in cells of equal width. Numbers are ordered, other values are not."""

    values: Sequence[object]
    is_ordered: bool = False
    """Whether the values are numbers, in increasing order."""

    @property
    def n_cells(self) -> int:
        """Number of different values."""
        return len(self.values)

    def value_at(self, x: float) -> object:
        """Return the value at a coordinate in (0, 1)."""
        return self.values[int(self.cells_at(x))]

    @cached_property
    def _place_of(self) -> dict[str, int]:
        return {value_digest(value): place for place, value in enumerate(self.values)}

    @property
    def by_digest(self) -> dict[str, object]:
        """The values by their digests; empty for a range, whose values are plain."""
        if isinstance(self.values, range):
            return {}
        return {digest: self.values[place] for digest, place in self._place_of.items()}

    def coordinate_of(self, value: Any) -> float:
        """Return the centre of the cell of a value; NaN if it is not in the list."""
        if isinstance(self.values, range):  # may be too long to be listed
            is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            is_listed = is_whole and int(value) in self.values
            place = self.values.index(int(value)) if is_listed else None
        else:
            place = self._place_of.get(value_digest(value))
        return float("nan") if place is None else (place + 0.5) / len(self.values)

    def cells_at(self, x: Any) -> Any:
        """Return the indices of the values at coordinates, or at a single one."""
        return np.minimum(np.floor(x * len(self.values)), len(self.values) - 1)


@dataclass(frozen=True)
class Opaque(Dimension):
    """A distribution with ``rvs`` but without ``ppf``: it has no coordinates."""

    distribution: Any

    is_ordered = False

    def draw(self, rng: np.random.Generator) -> object:
        """Return a random value."""
        # An `rvs` written for scikit-learn may rely on the methods of RandomState.
        return self.distribution.rvs(random_state=np.random.RandomState(rng.integers(2**31)))

    def coordinate_of(self, value: object) -> float:
        """Return the coordinate of all values."""
        return NEUTRAL

    def cells_at(self, x: FloatArray) -> FloatArray:
        """Return different numbers: a new value is drawn for each point."""
        return np.arange(float(len(x)))


def dimension_of(name: str, values: Any) -> Dimension:
    """Return the axis of one parameter, given its list of values or its distribution.

    The axis of a list has each value once, numbers in increasing order.
    """
    if isinstance(values, range):
        return Choices(name, values if values.step > 0 else values[::-1], is_ordered=True)
    if not hasattr(values, "rvs"):
        different = list({value_digest(value): value for value in values}.values())
        is_ordered = all(is_finite_number(value) for value in different)
        return Choices(name, sorted(different) if is_ordered else different, is_ordered)
    if not (hasattr(values, "ppf") and hasattr(values, "cdf")):
        return Opaque(name, values)
    inner = getattr(values, "dist", values)  # `dist` is the family of a frozen distribution
    family = getattr(inner, "name", None)
    if isinstance(inner, rv_discrete) or (
        hasattr(values, "pmf") and not isinstance(inner, rv_continuous)
    ):
        whole = Whole(name, values)
        if family == "randint" and whole.values:
            return Choices(name, whole.values, is_ordered=True)  # quicker: its cells are equal
        return whole
    low, high = map(float, values.support()) if hasattr(values, "support") else (0.0, np.inf)
    is_log = family in ("loguniform", "reciprocal")
    # A location moves the logarithmic scale.
    if is_log and low > 0 and np.isclose(values.ppf(0.5) ** 2, low * high):
        return Uniform(name, low, high, is_log=True)
    if family == "uniform" and low < high:
        return Uniform(name, low, high, is_log=False)
    return Continuous(name, values)


def is_finite_number(value: Any) -> TypeGuard[float]:
    """Return whether a value is a finite number, but not a boolean."""
    is_real = isinstance(value, (int, float, np.integer, np.floating))
    # NumPy has no `isfinite` for integers of more than 64 bits.
    return is_real and not isinstance(value, bool) and bool(-np.inf < value < np.inf)


@dataclass(frozen=True)
class Space:
    """A search space, which maps parameters to points of the unit cube and back.

    Each parameter has one axis. A distribution is mapped by its ``cdf`` and ``ppf``, so the axis
    of a log-uniform distribution is logarithmic. A list has one cell for each value. The cells of
    numbers are in increasing order; other values have no order.

    For a list of dicts, the first axis is the dict that a candidate comes from. The axes of
    parameters that this dict lacks are inactive. If several dicts give the same values for a
    parameter, they share its axis.

    Parameters
    ----------
    dimensions : tuple of Dimension
        The axes.
    branches : tuple of tuple of int
        The indices of the axes of each dict, sorted by parameter name.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn_halving.samplers import Space
    >>> space = Space.of({"C": loguniform(0.01, 100), "kernel": ["rbf", "poly"]})
    >>> point = space.point_of({"C": 1.0, "kernel": "poly"})
    >>> point
    array([0.5 , 0.75])
    >>> space.params_at(point)
    {'C': 1.0, 'kernel': 'poly'}
    """

    dimensions: tuple[Dimension, ...]
    branches: tuple[tuple[int, ...], ...]

    @classmethod
    def of(
        cls, param_distributions: Mapping[str, object] | Sequence[Mapping[str, object]]
    ) -> Space:
        """Return the space for the ``param_distributions`` of a search.

        Parameters
        ----------
        param_distributions : dict or list of dict
            Parameter names (str) as keys, and lists of values or distributions with a method
            ``rvs`` as values.

        Returns
        -------
        space : Space

        Raises
        ------
        ValueError
            If the list of dicts is empty.
        """
        one = isinstance(param_distributions, Mapping)
        dicts: Sequence[Any] = [param_distributions] if one else list(param_distributions)
        refuse_unless(bool(dicts), "param_distributions", "hold candidates", "an empty list")
        dimensions: list[Dimension] = []
        if len(dicts) > 1:
            dimensions.append(Choices(BRANCH, list(range(len(dicts)))))
        axis_of: dict[tuple[str, str], int] = {}
        branches = []
        for one_dict in dicts:
            branch = []
            for name, values in sorted(one_dict.items()):
                key = name, _values_digest(values)
                if key not in axis_of:
                    axis_of[key] = len(dimensions)
                    dimensions.append(dimension_of(name, values))
                branch.append(axis_of[key])
            branches.append(tuple(branch))
        return cls(tuple(dimensions), tuple(branches))

    @property
    def n_dimensions(self) -> int:
        """Number of axes."""
        return len(self.dimensions)

    @cached_property
    def size(self) -> int | None:
        """Number of candidates; None if it is infinite."""
        sizes = [self._size_of(branch) for branch in self.branches]
        return None if None in sizes else sum(size or 0 for size in sizes)

    def branch_of(self, point: FloatArray) -> int:
        """Return the index of the dict that a point belongs to."""
        if len(self.branches) == 1:
            return 0
        return self.dimensions[0].value_at(float(point[0]))

    def params_at(self, point: FloatArray, rng: np.random.Generator | None = None) -> Params:
        """Return the candidate at a point.

        Parameters
        ----------
        point : ndarray of shape (n_dimensions,)
            Numbers in (0, 1).
        rng : numpy.random.Generator, default=None
            Used for parameters whose distribution has ``rvs`` but no ``ppf``. None uses a
            generator with seed 0.

        Returns
        -------
        params : dict
        """
        params = {}
        for axis in self.branches[self.branch_of(point)]:
            dimension, x = self.dimensions[axis], float(point[axis])
            if not isinstance(dimension, Opaque):
                params[dimension.name] = dimension.value_at(min(max(x, EDGE), 1 - EDGE))
            else:
                own = np.random.default_rng(0) if rng is None else rng
                params[dimension.name] = dimension.draw(own)
        return params

    def point_of(self, params: Params) -> FloatArray | None:
        """Return the point of a candidate, or None if it is outside the space.

        Returns
        -------
        point : ndarray of shape (n_dimensions,) or None
            Inactive axes have the coordinate 0.5. Discrete values have the centre of their cell.
        """
        for place in range(len(self.branches)):
            if self._n_common(place, params) == len(params) == len(self.branches[place]):
                point = self._point_in(place, params)
                if not np.isnan(point).any():
                    return point
        return None

    def point_near(self, params: Params) -> FloatArray:
        """Return the point of a candidate that may be outside the space.

        It then belongs to the dict that has most of its parameters. A number outside of its range
        has the coordinate of the closest number. Any other impossible value has NaN.
        """
        point = self.point_of(params)
        if point is None:
            n_common = [self._n_common(place, params) for place in range(len(self.branches))]
            point = self._point_in(int(np.argmax(n_common)), params)
            for axis in np.flatnonzero(np.isnan(point)).tolist():
                dimension = self.dimensions[axis]
                if dimension.is_ordered and is_finite_number(value := params[dimension.name]):
                    point[axis] = bisect_left(GRID, value, key=dimension.value_at) / len(GRID)
        return point

    def _n_common(self, place: int, params: Params) -> int:
        return sum(self.dimensions[axis].name in params for axis in self.branches[place])

    def _point_in(self, place: int, params: Params) -> FloatArray:
        """Return the point of a candidate of a dict; NaN for values that are not possible."""
        point = np.full(self.n_dimensions, NEUTRAL)
        if len(self.branches) > 1:
            point[0] = (place + 0.5) / len(self.branches)
        for axis in self.branches[place]:
            if (dimension := self.dimensions[axis]).name in params:
                point[axis] = dimension.coordinate_of(params[dimension.name])
        return point

    def cells_at(self, points: FloatArray) -> FloatArray:
        """Return rows that are equal for points of the same candidate."""
        each = zip(self.dimensions, points.T, strict=True)
        return np.column_stack([dimension.cells_at(x) for dimension, x in each])

    def draw_point(self, rng: np.random.Generator) -> FloatArray:
        """Return a random point. All dicts are equally likely."""
        point = np.full(self.n_dimensions, NEUTRAL)
        if len(self.branches) > 1:
            point[0] = rng.random()
        for axis in self.branches[self.branch_of(point)]:
            if not isinstance(self.dimensions[axis], Opaque):  # `params_at` draws its value
                point[axis] = rng.random()
        return point

    def draw(self, rng: np.random.Generator, known: Container[Hashable] = ()) -> Params:
        """Return a random candidate whose key is not in ``known``, if there is one left.

        Parameters
        ----------
        rng : numpy.random.Generator
        known : container, default=()
            Keys of earlier candidates, see `key`.

        Returns
        -------
        params : dict
        """
        draws = (self.params_at(self.draw_point(rng), rng) for _ in repeat(None))
        if (params := next(different(draws, self.key, known), None)) is not None:
            return params
        if self.size is not None:
            # Few new candidates are left: return the first one after a random index.
            first = int(rng.random() * self.size)
            for step in range(self.size):
                other = self.candidate((first + step) % self.size)
                if self.key(other) not in known:
                    return other
        return next(draws)

    def candidate(self, index: int) -> Params:
        """Return a candidate of a finite space by its index, from 0 to ``size`` - 1."""
        left = index
        for branch in self.branches:
            size = self._size_of(branch) or 0
            if left < size:
                params = {}
                for axis in reversed(branch):
                    dimension: Any = self.dimensions[axis]
                    left, cell = divmod(left, dimension.n_cells)
                    params[dimension.name] = dimension.values[cell]
                return dict(reversed(params.items()))
            left -= size
        raise IndexError(f"candidate {index} does not exist: the space has {self.size} candidates")

    def key(self, params: Params) -> Hashable:
        """Return a key that equal candidates share, even if they come from different dicts.

        1 and 1.0 differ, since ``max_features`` is a number of columns or a share of them.
        """
        return frozenset((name, *self._identity(value)) for name, value in params.items())

    def _identity(self, value: object) -> tuple[Hashable, ...]:
        """Return the type and the value of a plain value, and the digest of any other."""
        plain = plain_value(value)
        if plain is None or isinstance(plain, str | bool | int | float):
            return type(plain).__name__, plain
        return (value_digest(value),)

    def _size_of(self, branch: tuple[int, ...]) -> int | None:
        cells = [self.dimensions[axis].n_cells for axis in branch]
        return None if None in cells else prod(n or 1 for n in cells)


def different(
    draws: Iterable[Params], key: Callable[[Params], Hashable], known: Container[Hashable]
) -> Iterator[Params]:
    """Yield the draws whose keys are new, until `MAX_IN_VAIN` of them in a row are not."""
    drawn, n_in_vain = set[Hashable](), 0
    for params in draws:
        if (own := key(params)) not in known and own not in drawn:
            drawn.add(own)
            n_in_vain = 0
            yield params
        else:
            n_in_vain += 1
        if n_in_vain == MAX_IN_VAIN:
            return


def _values_digest(values: Any) -> str:
    """Return a digest that two definitions of the same values share."""
    if hasattr(values, "rvs") or isinstance(values, range):
        return content_hash(values)
    return content_hash(list(map(plain_value, values)))
