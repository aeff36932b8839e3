"""A search space as the unit cube: an axis for each parameter, cells where it is discrete."""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sklearn_halving.samplers._dimensions import (
    EDGE,
    NEUTRAL,
    Choices,
    Dimension,
    Opaque,
    dimension_of,
    value_key,
)

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Params = dict[str, Any]

MAX_DRAWS = 100
"""Draws without a new candidate after which a finite space is searched for one in turn."""
MAX_ENDLESS_DRAWS = 1000
"""The same for a space without an end, which may still hold few values."""
BRANCH = "(which dict)"
"""Name of the axis that says which of several dicts a candidate is from."""


@dataclass(frozen=True)
class Space:
    """Parameters to points of the unit cube and back.

    Each parameter has an axis: a distribution by its ``cdf`` and ``ppf``, so that an axis is
    logarithmic where its distribution is; a list of numbers by their order; any other list in
    cells that have no order. With a list of dicts, the first axis says which dict a candidate is
    from, and the axes of parameters that this dict lacks are inactive. Dicts share the axis of a
    parameter for which they give the same values.

    Parameters
    ----------
    dimensions : tuple of Dimension
        The axes.
    branches : tuple of tuple of int
        The axes of each dict, in the order of the names.

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
    def of(cls, param_distributions: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Space:
        """Return the space of what a search is given as ``param_distributions``.

        Parameters
        ----------
        param_distributions : dict or list of dict
            Parameter names to lists of values or distributions with a method ``rvs``.
        """
        one = isinstance(param_distributions, Mapping)
        dicts: Sequence[Any] = [param_distributions] if one else list(param_distributions)
        if not dicts:
            raise ValueError(
                "param_distributions must hold candidates; got an empty list. Give a dict of "
                "parameter names and values, or a list of such dicts."
            )
        dimensions: list[Dimension] = []
        if len(dicts) > 1:
            dimensions.append(Choices(BRANCH, list(range(len(dicts)))))
        axis_of: dict[Hashable, int] = {}
        branches = []
        for one_dict in dicts:
            branch = []
            for name, values in sorted(one_dict.items()):
                key = name, _key_of_values(values)
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
        """Number of candidates; None where there is no end of them."""
        sizes = [self._size_of(branch) for branch in self.branches]
        return None if None in sizes else sum(size or 0 for size in sizes)

    def branch_of(self, point: FloatArray) -> int:
        """Return which dict a point is in, counted from 0."""
        if len(self.branches) == 1:
            return 0
        branch: int = self.dimensions[0].value_at(float(point[0]))
        return branch

    def active(self, point: FloatArray) -> list[int]:
        """Return the axes that count at a point, that of the dict first where there are several.

        Axes of a single value are left out: nothing can change along them.
        """
        own = self.branches[self.branch_of(point)]
        axes = own if len(self.branches) == 1 else (0, *own)
        return [axis for axis in axes if self.dimensions[axis].n_cells != 1]

    def params_at(
        self,
        point: FloatArray,
        rng: np.random.Generator | None = None,
        like: Params | None = None,
    ) -> Params:
        """Return the candidate at a point.

        Parameters
        ----------
        point : ndarray of shape (n_dimensions,)
            Numbers in (0, 1).
        rng : numpy.random.Generator, default=None
            Draws the values of parameters that have a method ``rvs`` and no ``ppf``.
        like : dict, default=None
            Where such a value is taken from instead, unless its coordinate is NaN.
        """
        params = {}
        for axis in self.branches[self.branch_of(point)]:
            dimension, x = self.dimensions[axis], float(point[axis])
            if not isinstance(dimension, Opaque):
                params[dimension.name] = dimension.value_at(min(max(x, EDGE), 1 - EDGE))
            elif like is not None and dimension.name in like and not np.isnan(x):
                params[dimension.name] = like[dimension.name]
            else:
                own = np.random.default_rng(0) if rng is None else rng
                params[dimension.name] = dimension.draw(own)
        return params

    def point_of(self, params: Params) -> FloatArray | None:
        """Return where a candidate is, or None if it is outside the space.

        Returns
        -------
        point : ndarray of shape (n_dimensions,) or None
            0.5 along inactive axes, the centre of its cell where a value is discrete.
        """
        for place, branch in enumerate(self.branches):
            if {self.dimensions[axis].name for axis in branch} != params.keys():
                continue
            point = np.full(self.n_dimensions, NEUTRAL)
            if len(self.branches) > 1:
                point[0] = (place + 0.5) / len(self.branches)
            for axis in branch:
                dimension = self.dimensions[axis]
                point[axis] = dimension.coordinate_of(params[dimension.name])
            if not np.isnan(point).any():
                return point
        return None

    def draw_point(self, rng: np.random.Generator) -> FloatArray:
        """Return a random point: a dict by equal chances, then each of its parameters.

        NaN for parameters with ``rvs`` alone, which `params_at` then draws.
        """
        point = np.full(self.n_dimensions, NEUTRAL)
        if len(self.branches) > 1:
            point[0] = self.draw_coordinate(0, rng)
        for axis in self.branches[self.branch_of(point)]:
            point[axis] = self.draw_coordinate(axis, rng)
        return point

    def draw_coordinate(self, axis: int, rng: np.random.Generator) -> float:
        """Return a random coordinate on one axis; NaN if `params_at` has to draw the value."""
        dimension = self.dimensions[axis]
        return np.nan if isinstance(dimension, Opaque) else dimension.snap(float(rng.random()))

    def draw(self, rng: np.random.Generator, known: Container[Hashable] = ()) -> Params:
        """Return a random candidate, one whose key is not in ``known`` while there is one.

        Parameters
        ----------
        rng : numpy.random.Generator
        known : set of hashable, default=()
            Keys of candidates that were made before, see `key`.
        """
        params: Params = {}
        for _ in range(MAX_ENDLESS_DRAWS if self.size is None else MAX_DRAWS):
            params = self.params_at(self.draw_point(rng), rng)
            if self.key(params) not in known:
                return params
        if self.size is not None:
            # Nearly used up: from a random place on, the first that is new.
            first = int(rng.random() * self.size)
            for step in range(self.size):
                other = self.candidate((first + step) % self.size)
                if self.key(other) not in known:
                    return other
        return params

    def candidate(self, index: int) -> Params:
        """Return a candidate of a finite space by its number, from 0 to ``size`` - 1."""
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
        raise IndexError(f"candidate {index} is beyond the end of the space")

    def key(self, params: Params) -> Hashable:
        """Return what equal candidates share, whatever dict they are from."""
        return frozenset((name, value_key(value)) for name, value in params.items())

    def _size_of(self, branch: tuple[int, ...]) -> int | None:
        cells = [self.dimensions[axis].n_cells for axis in branch]
        return None if None in cells else prod(n or 1 for n in cells)


def _key_of_values(values: Any) -> Hashable:
    """Return what two descriptions of the same values share."""
    if not hasattr(values, "rvs"):
        return tuple(value_key(value) for value in values)
    if hasattr(values, "dist"):  # frozen: equal if family and parameters are
        try:
            key = values.dist.name, values.args, tuple(sorted(values.kwds.items()))
            hash(key)
        except TypeError:
            return id(values)
        return key
    return id(values)
