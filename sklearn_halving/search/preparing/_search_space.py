"""The search space, a grid or distributions, from which candidates are drawn."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import cycle, islice
from math import prod
from typing import Any

import joblib
import numpy as np
from scipy.stats import rv_discrete
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils.random import sample_without_replacement

from sklearn_halving.search.watching._user_warnings import warn_user

Params = dict[str, Any]

MAX_REDRAWS = 1000
"""If this many draws in a row give no new candidate, the space counts as exhausted."""
MAX_VALUES = 10_000
"""A discrete distribution with more values than this is treated as infinite."""


class SearchSpace:
    """A validated grid, a list of grids, or distributions.

    Parameters
    ----------
    param_distributions : dict or list of dict
        As for GridSearchCV or RandomizedSearchCV: parameter names as keys, and lists of values or
        objects with a method ``rvs`` as values.
    """

    def __init__(self, param_distributions: Any) -> None:
        _check_lists(param_distributions)
        self._sampler = ParameterSampler(param_distributions, n_iter=1)
        spaces = self._sampler.param_distributions
        self.names = frozenset(name for space in spaces for name in space)
        self.is_grid = not any(hasattr(v, "rvs") for space in spaces for v in space.values())
        self._grid = _grid_of(spaces, self.is_grid)
        if self.size == 0:
            raise ValueError(
                f"param_distributions must hold candidates; got {param_distributions!r}. Give a "
                "dict of parameter names and values, or a list of such dicts."
            )

    @property
    def distributions(self) -> list[dict[str, Any]]:
        """The values and distributions, as a list of dicts."""
        return [dict(space) for space in self._sampler.param_distributions]

    @property
    def size(self) -> int | None:
        """Number of candidates; None if it is unlimited."""
        return None if self._grid is None else len(self._grid)

    @property
    def n_different_in_grid(self) -> int:
        """Number of candidates of a grid, without duplicates.

        The grid may be huge, so it is listed only if two of its dicts have the same names.
        """
        spaces = self.distributions
        if len({frozenset(space) for space in spaces}) < len(spaces):
            return n_different(self._grid or ())
        return sum(
            prod(n_different({name: v} for v in values) for name, values in space.items())
            for space in spaces
        )

    def draw(self, n_of_bracket: Sequence[int], rng: np.random.RandomState) -> tuple[Params, ...]:
        """Draw candidates for brackets of the given sizes, one bracket after the other.

        Candidates are drawn without replacement within each bracket. From a grid, no candidate
        is drawn again before all others have been drawn, and a bracket that contains the whole
        grid keeps its order. Discrete distributions are treated in the same way if they have
        fewer candidates than are drawn.
        """
        if self._grid is None or not (self.is_grid or len(self._grid) <= sum(n_of_bracket)):
            return tuple(self._draw_from_distributions(sum(n_of_bracket), rng))
        places = _draw_indices(len(self._grid), n_of_bracket, rng)
        # Indexing a ParameterGrid returns the parameters in reverse order.
        return tuple(dict(sorted(self._grid[i].items())) for i in places)

    def _draw_from_distributions(self, n: int, rng: np.random.RandomState) -> list[Params]:
        """Draw n candidates. Duplicates are drawn again as long as this gives new candidates."""
        drawn: dict[Hashable, Params] = {}
        n_in_vain = 0
        self._sampler.random_state = rng
        while len(drawn) < n and n_in_vain < MAX_REDRAWS:
            n_before = len(drawn)
            self._sampler.n_iter = n - n_before
            for params in self._sampler:
                drawn.setdefault(_key(params), params)
            n_in_vain = 0 if len(drawn) > n_before else n_in_vain + self._sampler.n_iter
        different = list(drawn.values())
        if len(different) < n:
            warn_user(
                f"The distributions gave only {len(different)} different candidates where {n} "
                "are needed: some are tried again, in other brackets or in the same."
            )
        return list(islice(cycle(different), n))


def _check_lists(param_distributions: Any) -> None:
    """Raise for empty lists of values; scikit-learn raises only if all values are lists."""
    if isinstance(param_distributions, Mapping):
        param_distributions = [param_distributions]
    if not isinstance(param_distributions, Iterable):
        return  # ParameterSampler raises the error
    for space in param_distributions:
        for name, values in space.items() if isinstance(space, Mapping) else ():
            if hasattr(values, "rvs"):
                continue
            # ParameterGrid raises the same errors as GridSearchCV.
            ParameterGrid({name: values})


def _grid_of(spaces: Iterable[Mapping[str, Any]], is_grid: bool) -> ParameterGrid | None:
    """Return all candidates as a grid; None if their number is unlimited or very large."""
    grids = [{name: _values(v) for name, v in space.items()} for space in spaces]
    if any(values is None for grid in grids for values in grid.values()):
        return None
    n_all = sum(prod(len(values) for values in grid.values()) for grid in grids)
    return ParameterGrid(grids) if is_grid or n_all < MAX_VALUES else None


def _values(values: Any) -> Any:
    """Return the values of a list or of a discrete distribution; None if there are too many."""
    if not hasattr(values, "rvs"):
        return values
    distribution = getattr(values, "dist", values)  # attribute of a frozen distribution
    if not isinstance(distribution, rv_discrete):
        return None
    first, last = values.support()
    if not last - first < MAX_VALUES:
        return None
    possible = np.arange(first, last + 1)
    shares = values.pmf(possible)
    if not np.isclose(shares.sum(), 1):  # some values are not integers
        return None
    return possible[shares > 0].tolist()


def _draw_indices(size: int, n_of_bracket: Sequence[int], rng: np.random.RandomState) -> list[int]:
    """Return indices of a grid of the given size, without duplicates within a bracket."""
    if size >= sum(n_of_bracket) and size not in n_of_bracket:
        indices = sample_without_replacement(size, sum(n_of_bracket), random_state=rng)
        return [int(i) for i in indices]
    drawn: list[int] = []
    unused: list[int] = []
    for n in n_of_bracket:
        if n >= size:
            drawn += range(size)
            continue
        first, unused = unused[:n], unused[n:]
        if len(first) < n:
            taken = set(first)
            again = [i for i in rng.permutation(size).tolist() if i not in taken]
            first, unused = first + again[: n - len(first)], again[n - len(first) :]
        drawn += first
    return drawn


def n_different(candidates: Iterable[Params]) -> int:
    """Return the number of different candidates. A small grid is used in several brackets."""
    return len({_key(params) for params in candidates})


def _key(params: Params) -> Hashable:
    """Return a hashable key that is the same for equal candidates."""
    try:
        return frozenset(params.items())
    except TypeError:
        return str(joblib.hash(params))
