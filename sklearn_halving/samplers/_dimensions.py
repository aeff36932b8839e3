"""One parameter as an axis of the unit cube: maps its values to (0, 1) and back."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor, log
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
from scipy.stats import rv_continuous, rv_discrete

FloatArray = npt.NDArray[np.float64]
EDGE = 1e-12
"""Distance of all coordinates from 0 and 1, where a ppf may be infinite."""
NEUTRAL = 0.5
"""Coordinate of a parameter that a candidate lacks, or that has no axis."""
MAX_CHOICES = 10_000
"""A discrete distribution with more values is treated as infinite."""


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

    def snap(self, x: float) -> float:
        """Return the centre of the cell that contains a coordinate."""
        return x


@dataclass(frozen=True)
class Uniform(Dimension):
    """A uniform or log-uniform number, as in nearly every space: SciPy takes 0.04 ms for each."""

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

    @property
    def n_cells(self) -> int | None:
        """Number of values; None if `values` is None."""
        return None if self.values is None else len(self.values)

    @cached_property
    def _ends(self) -> FloatArray | None:
        """The upper ends of the cells: SciPy takes 0.2 ms for a single value."""
        if self.values is None or sorted(self.values) != self.values:
            return None
        return np.asarray(self.distribution.cdf(self.values), dtype=np.float64)

    def value_at(self, x: float) -> int | float:
        """Return the value at a coordinate in (0, 1)."""
        if self.values is not None and self._ends is not None:
            return self.values[min(int(self._ends.searchsorted(x)), len(self.values) - 1)]
        return self._as_number(float(self.distribution.ppf(x)))

    @staticmethod
    def _as_number(value: float) -> int | float:
        return int(value) if float(value).is_integer() else float(value)

    def coordinate_of(self, value: object) -> float:
        """Return the centre of the cell of a value; NaN if its probability is 0."""
        if not is_finite_number(value):
            return float("nan")
        width = float(self.distribution.pmf(value))
        return float(self.distribution.cdf(value)) - width / 2 if width > 0 else float("nan")

    def snap(self, x: float) -> float:
        """Return the centre of the cell that contains a coordinate."""
        return self.coordinate_of(self.value_at(x))


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

    def cell_of(self, x: float) -> int:
        """Return the index of the value at a coordinate."""
        return min(floor(x * len(self.values)), len(self.values) - 1)

    def value_at(self, x: float) -> object:
        """Return the value at a coordinate in (0, 1)."""
        return self.values[self.cell_of(x)]

    @cached_property
    def _place_of(self) -> dict[Hashable, int]:
        return {value_key(value): place for place, value in enumerate(self.values)}

    def coordinate_of(self, value: object) -> float:
        """Return the centre of the cell of a value; NaN if it is not in the list."""
        place = self._place_of.get(value_key(value))
        return float("nan") if place is None else (place + 0.5) / len(self.values)

    def snap(self, x: float) -> float:
        """Return the centre of the cell that contains a coordinate."""
        return (self.cell_of(x) + 0.5) / len(self.values)


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


def dimension_of(name: str, values: Any) -> Dimension:
    """Return the axis of one parameter, given its list of values or its distribution."""
    if not hasattr(values, "rvs"):
        return choices_of(name, list(values))
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


def choices_of(name: str, values: list[Any]) -> Choices:
    """Return the axis of a list of values: each value once, numbers in increasing order."""
    different = list({value_key(value): value for value in values}.values())
    is_ordered = all(is_finite_number(value) for value in different)
    return Choices(name, sorted(different) if is_ordered else different, is_ordered)


def value_key(value: object) -> Hashable:
    """Return a key that equal values share; an unhashable value only equals itself.

    1, 1.0 and True are different values: ``max_features`` is a number of columns or a share of
    them. A scalar of NumPy equals that of Python.
    """
    try:
        hash(value)
    except TypeError:
        return "object", id(value)
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, tuple):
        return type(plain), tuple(map(value_key, plain))
    if isinstance(plain, float) and np.isnan(plain):
        return float, "nan"
    return type(plain), plain


def is_finite_number(value: Any) -> TypeGuard[float]:
    """Return whether a value is a finite number, but not a boolean."""
    is_real = isinstance(value, (int, float, np.integer, np.floating))
    return is_real and not isinstance(value, bool) and bool(np.isfinite(value))
