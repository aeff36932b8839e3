"""A search space as the unit cube: one axis for each parameter, with cells if it is discrete."""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sklearn_halving._checks import refuse_unless
from sklearn_halving.samplers._dimensions import (
    EDGE,
    NEUTRAL,
    Choices,
    Dimension,
    FloatArray,
    Opaque,
    dimension_of,
    value_key,
)

IntArray = npt.NDArray[np.int64]
Params = dict[str, Any]

MAX_DRAWS = 100
"""After this many draws without a new candidate, a finite space is searched in order."""
MAX_ENDLESS_DRAWS = 1000
"""Maximum number of draws from an infinite space, which may have only a few likely values."""
BRANCH = "(which dict)"
"""Name of the axis for the dict that a candidate comes from."""


@dataclass(frozen=True)
class Space:
    """A search space, which maps parameters to points of the unit cube and back.

    Each parameter has one axis. A distribution is mapped by its ``cdf`` and ``ppf``, so the axis
    of a log-uniform distribution is logarithmic. A list has one cell for each value. The cells of
    numbers are in increasing order, those of other values have no order.

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
        """Return a random point. All dicts are equally likely.

        The coordinate is NaN for distributions without ``ppf``, which `params_at` draws from.
        """
        point = np.full(self.n_dimensions, NEUTRAL)
        if len(self.branches) > 1:
            point[0] = self.draw_coordinate(0, rng)
        for axis in self.branches[self.branch_of(point)]:
            point[axis] = self.draw_coordinate(axis, rng)
        return point

    def draw_coordinate(self, axis: int, rng: np.random.Generator) -> float:
        """Return a random coordinate of one axis; NaN if `params_at` has to draw the value."""
        dimension = self.dimensions[axis]
        return np.nan if isinstance(dimension, Opaque) else dimension.snap(float(rng.random()))

    def draw(self, rng: np.random.Generator, known: Container[Hashable] = ()) -> Params:
        """Return a random candidate whose key is not in ``known``, if there is one left.

        Parameters
        ----------
        rng : numpy.random.Generator
        known : container of hashable, default=()
            Keys of earlier candidates, see `key`.

        Returns
        -------
        params : dict
        """
        params: Params = {}
        for _ in range(MAX_ENDLESS_DRAWS if self.size is None else MAX_DRAWS):
            params = self.params_at(self.draw_point(rng), rng)
            if self.key(params) not in known:
                return params
        if self.size is not None:
            # Few new candidates are left: return the first one after a random index.
            first = int(rng.random() * self.size)
            for step in range(self.size):
                other = self.candidate((first + step) % self.size)
                if self.key(other) not in known:
                    return other
        return params

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
        """Return a key that equal candidates share, even if they come from different dicts."""
        return frozenset((name, value_key(value)) for name, value in params.items())

    def _size_of(self, branch: tuple[int, ...]) -> int | None:
        cells = [self.dimensions[axis].n_cells for axis in branch]
        return None if None in cells else prod(n or 1 for n in cells)


def _key_of_values(values: Any) -> Hashable:
    """Return a key that two definitions of the same values share."""
    if not hasattr(values, "rvs"):
        return tuple(value_key(value) for value in values)
    if hasattr(values, "dist"):  # frozen: equal if family and parameters are equal
        try:
            key = values.dist.name, values.args, tuple(sorted(values.kwds.items()))
            hash(key)
        except TypeError:
            return id(values)
        return key
    return id(values)
