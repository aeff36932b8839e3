"""The search space, a grid or distributions, and the candidates with which a search begins."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from itertools import cycle, islice
from math import prod
from numbers import Integral
from typing import Any

import joblib
import numpy as np
from scipy.stats import rv_discrete
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils.random import sample_without_replacement

from sklearn_halving._typing import Estimator, ParamDistributions, Params
from sklearn_halving._unstable_imports import InvalidParameterError, refuses
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies._arrays import IntArray
from sklearn_halving.resources import Resource
from sklearn_halving.samplers import Space
from sklearn_halving.samplers._space import dimension_of, value_key
from sklearn_halving.search._shared_parameters import FitInputs, SharedParameters
from sklearn_halving.search.preparing._content_hash import content_hash

MAX_REDRAWS = 1000
"""If this many draws in a row give no new candidate, the space counts as exhausted."""
MAX_VALUES = 10_000
"""A discrete distribution with more values than this is treated as infinite."""
MAX_LISTED = 10**6
"""Maximum number of candidates of a grid that can be tried whole."""


def check_number(n_candidates: int) -> None:
    """Raise if there are too many candidates to list, before they are listed."""
    if n_candidates > MAX_LISTED:
        raise ValueError(
            f"param_distributions has {n_candidates} candidates, and all of them would be tried; "
            f"at most {MAX_LISTED} are possible. Set n_candidates to draw "
            "some of them at random."
        )


class SearchSpace:
    """A validated grid, a list of grids, or distributions.

    Parameters
    ----------
    param_distributions : dict or list of dict
        As for GridSearchCV or RandomizedSearchCV: parameter names as keys, and lists of values or
        objects with a method ``rvs`` as values.
    initial : sequence of dict, default=()
        Candidates that come before all others, with different parameters. They are a part of the
        space, and are not drawn again.
    """

    def __init__(
        self, param_distributions: ParamDistributions, initial: Sequence[Params] = ()
    ) -> None:
        _check_lists(param_distributions)
        self._sampler = ParameterSampler(param_distributions, n_iter=1)
        spaces = self._sampler.param_distributions
        self.initial = tuple(dict(sorted(params.items())) for params in initial)
        self.names = frozenset(name for space in (*spaces, *initial) for name in space)
        self.is_grid = not any(hasattr(v, "rvs") for space in spaces for v in space.values())
        self._grid = _grid_of(spaces, self.is_grid)
        in_front = self._indices_of_initial()
        self._shifts = in_front - np.arange(len(in_front))
        if self.size == 0:
            raise ValueError(
                f"param_distributions must hold candidates; got {param_distributions!r}. Give a "
                "dict of parameter names and values, or a list of such dicts."
            )

    @property
    def distributions(self) -> list[Params]:
        """The values and distributions, as a list of dicts."""
        return [dict(space) for space in self._sampler.param_distributions]

    @property
    def size(self) -> int | None:
        """Number of candidates; None if it is unlimited."""
        if self._grid is None:
            return None
        return len(self.initial) + len(self._grid) - len(self._shifts)

    @property
    def n_different_in_grid(self) -> int:
        """Number of candidates of a grid, without duplicates unless the grid is very large."""
        grid = self._grid or ()
        if len(grid) > MAX_VALUES:
            return self.size or 0
        return n_different((*self.initial, *grid))

    def _indices_of_initial(self) -> IntArray:
        """Return the indices of the initial candidates in a grid, unless it is very large."""
        grid = self._grid if self.initial and self._grid is not None else ()
        keys = {content_key(params) for params in self.initial}
        listed = enumerate(grid if len(grid) <= MAX_VALUES else ())
        found = [index for index, params in listed if content_key(params) in keys]
        return np.array(found, dtype=np.int64)

    def draw(
        self,
        n_of_bracket: Sequence[int],
        rng: np.random.RandomState,
        fronts: Sequence[range] = (),
    ) -> tuple[Params, ...]:
        """Draw candidates for brackets of the given sizes, one bracket after the other.

        ``fronts`` are the indices of the initial candidates with which each bracket begins.

        Candidates are drawn without replacement within each bracket. From a grid, no candidate
        is drawn again before all others have been drawn, and a bracket that contains the whole
        grid keeps its order. Discrete distributions are treated in the same way if they have
        fewer candidates than are drawn.
        """
        check_number(sum(n_of_bracket))
        fronts = fronts or [range(0)] * len(n_of_bracket)
        n_drawn = [n - len(front) for n, front in zip(n_of_bracket, fronts, strict=True)]
        size = self.size
        if size is None or not (self.is_grid or size <= sum(n_of_bracket)):
            others = self._draw_from_distributions(sum(n_drawn), rng)
        else:
            n_others = size - len(self.initial)
            n_drawn = [min(n, n_others) for n in n_drawn]
            others = [self._at(place) for place in _draw_indices(n_others, n_drawn, rng)]
        rest = iter(others)
        drawn: list[Params] = []
        for n, n_here, front in zip(n_of_bracket, n_drawn, fronts, strict=True):
            of_bracket = [self.initial[i] for i in front] + list(islice(rest, n_here))
            # A bracket that contains all others is completed by initial candidates.
            again = [i for i in range(len(self.initial)) if i not in front]
            of_bracket += [self.initial[i] for i in again[: n - len(of_bracket)]]
            drawn += of_bracket
        return tuple(drawn)

    def _at(self, place: int) -> Params:
        """Return a candidate of the grid by its index among those that are not initial."""
        grid: Any = self._grid
        index = place + int(np.searchsorted(self._shifts, place, side="right"))
        # Indexing a ParameterGrid returns the parameters in reverse order.
        return dict(sorted(grid[index].items()))

    def _draw_from_distributions(self, n: int, rng: np.random.RandomState) -> list[Params]:
        """Draw n candidates. Duplicates are drawn again as long as this gives new candidates."""
        known = {_key(params) for params in self.initial}
        drawn: dict[Hashable, Params] = {}
        n_in_vain = 0
        self._sampler.random_state = rng
        while len(drawn) < n and n_in_vain < MAX_REDRAWS:
            n_before = len(drawn)
            self._sampler.n_iter = n - n_before
            for params in self._sampler:
                if _key(params) not in known:
                    drawn.setdefault(_key(params), params)
            n_in_vain = 0 if len(drawn) > n_before else n_in_vain + self._sampler.n_iter
        different = list(drawn.values()) or list(self.initial)
        if len(drawn) < n:
            warn_user(
                f"The distributions have only {len(drawn)} different candidates, but {n} are "
                "needed. Some are therefore tried several times."
            )
        return list(islice(cycle(different), n))


def _check_lists(param_distributions: object) -> None:
    """Raise unless there are dicts of lists and distributions, and if a list is empty."""
    is_one = isinstance(param_distributions, Mapping)
    spaces = [param_distributions] if is_one else param_distributions
    if not isinstance(spaces, (list, tuple)) or not all(isinstance(s, Mapping) for s in spaces):
        raise InvalidParameterError(
            "param_distributions must be a dict of parameter names, each with a list of values or "
            "a distribution, such as {'C': [0.1, 1, 10]}, a list of such dicts, or 'auto'. "
            f"Got {param_distributions!r} instead."
        )
    for space in spaces:
        for name, values in space.items():
            if not isinstance(name, str):
                raise InvalidParameterError(
                    f"The names in param_distributions must be text; got {name!r}."
                )
            form = None if hasattr(values, "rvs") else _scipy_form(values)
            if form is not None:
                raise InvalidParameterError(
                    f"{name}={values!r} in param_distributions is neither a list of values nor a "
                    f"distribution of SciPy. Use scipy.stats.{form}."
                )
            if not hasattr(values, "rvs"):
                # ParameterGrid raises the same errors as GridSearchCV. ParameterSampler does so
                # only if all values are lists.
                ParameterGrid({name: values})


def _scipy_form(values: Any) -> str | None:
    """Return SciPy's distribution for a range in the form of another library; None if not one."""
    if isinstance(values, tuple) and len(values) == 3 and "uniform" in str(values[2]):
        low, high, is_log = values[0], values[1], "log" in values[2]
    elif hasattr(values, "low") and hasattr(values, "high"):
        low, high, is_log = values.low, values.high, getattr(values, "log", False)
    else:
        return None
    return f"loguniform({low}, {high})" if is_log else f"uniform({low}, {high - low})"


def _grid_of(spaces: Iterable[Mapping[str, object]], is_grid: bool) -> ParameterGrid | None:
    """Return all candidates as a grid; None if their number is unlimited or very large."""
    grids = [{name: _values(v) for name, v in space.items()} for space in spaces]
    if any(values is None for grid in grids for values in grid.values()):
        return None
    n_all = sum(prod(len(values) for values in grid.values()) for grid in grids)
    return ParameterGrid(grids) if is_grid or n_all < MAX_VALUES else None


def content_key(params: Params) -> Hashable:
    """Return a key that candidates with the same content share.

    1 and 1.0 differ, as for ``max_features``. A scalar of NumPy is the same as that of Python.
    """
    return tuple(
        (name, content_hash(value.item() if isinstance(value, np.generic) else value))
        for name, value in sorted(params.items())
    )


def _values(values: Any) -> Any:
    """Return the values of a list or of a discrete distribution; None if there are too many."""
    if not hasattr(values, "rvs"):
        return values
    if not is_discrete(values):
        return None
    first, last = values.support()
    if not last - first < MAX_VALUES:
        return None
    possible = np.arange(first, last + 1)
    shares = values.pmf(possible)
    if not np.isclose(shares.sum(), 1):  # some values are not integers
        return None
    return possible[shares > 0].tolist()


def is_discrete(distribution: object) -> bool:
    """Return whether a distribution is a discrete one of SciPy, frozen or not."""
    return isinstance(getattr(distribution, "dist", distribution), rv_discrete)


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
    return len(first_of_each(candidates))


def first_of_each(candidates: Iterable[Params]) -> list[int]:
    """Return the index of the first of all equal candidates, for each different one."""
    first: dict[Hashable, int] = {}
    for index, params in enumerate(candidates):
        first.setdefault(_key(params), index)
    return list(first.values())


def _key(params: Params) -> Hashable:
    """Return a hashable key that is the same for equal candidates.

    Values of different types differ, even if Python considers them equal (see `value_key`).
    """
    keys = {name: value_key(value) for name, value in params.items()}
    for name, value in params.items():
        if keys[name] == ("object", id(value)):  # not hashable
            keys[name] = str(joblib.hash(value))
    return frozenset(keys.items())


def search_space(
    parameters: SharedParameters, resource: Resource, inputs: FitInputs
) -> SearchSpace:
    """Return the search space, with the candidates of ``initial_candidates`` in front.

    With ``param_distributions="auto"``, it is the ready space of the estimator, without the
    resource.

    Raises
    ------
    ValueError
        If they are not dicts, if the estimator lacks one of their parameters, or if the space
        does not suit the resource.
    """
    values, given = parameters.param_distributions, parameters.initial_candidates
    if isinstance(values, str) and values == "auto":
        # Slow to import: it loads the linear models of scikit-learn.
        from sklearn_halving.spaces import first_candidates_for, space_for

        values = space_for(parameters.estimator, inputs.X, inputs.y)
        values = {name: v for name, v in values.items() if name not in resource.params_at(1)}
        if given is None:
            n_most = getattr(parameters, "n_candidates", None)
            given = first_candidates_for(parameters.estimator)
            given = given[:n_most] if isinstance(n_most, Integral) else given
    space = SearchSpace(values)
    different: dict[Hashable, Params] = {}
    for place, params in enumerate(() if given is None else given):
        if not isinstance(params, Mapping):
            raise ValueError(
                "initial_candidates must be a list of dicts with parameter names and values; got "
                f"{params!r} at position {place}."
            )
        # The rows of another search may contain the resource, which the search itself sets.
        free = params.keys() - resource.params_at(1).keys()
        own = {name: _as_listed(name, params[name], space) for name in sorted(free)}
        must = "initial_candidates must have parameters of {estimator.__class__.__name__}; got "
        message = f"{must}{{name!r}} at position {place}."
        complete = _completed(own, estimator_with(parameters.estimator, own, message), space)
        different.setdefault(content_key(complete), complete)
    if different:
        space = SearchSpace(values, list(different.values()))
    resource.check(parameters.estimator, space.names)
    _check_whole_numbers(parameters.estimator, space)
    return space


def _as_listed(name: str, value: object, space: SearchSpace) -> object:
    """Return the object of a list of the space that equals an object, such as an estimator."""
    if value is None or isinstance(value, str | int | float | np.generic):
        return value
    wanted = content_hash(value)
    lists = [v for d in space.distributions if not hasattr(v := d.get(name, ()), "rvs")]
    return next((v for values in lists for v in values if content_hash(v) == wanted), value)


def _check_whole_numbers(estimator: Estimator, space: SearchSpace) -> None:
    """Raise if a parameter takes whole numbers only and its distribution has none."""
    own = estimator.get_params()
    for name, values in ((n, v) for one in space.distributions for n, v in one.items()):
        if not hasattr(values, "ppf") or is_discrete(values) or not hasattr(values, "support"):
            continue
        prefix, _, last = name.rpartition("__")
        owner, middle = own.get(prefix) if prefix else estimator, float(values.ppf(0.5))
        if np.isnan(middle):
            raise ValueError(f"The distribution of {name} has invalid bounds, such as a low of 0.")
        if refuses(owner, last, middle) and not refuses(owner, last, round(middle)):
            low, high = (round(end) for end in values.support())
            form = f"scipy.stats.randint({low}, {high + 1})"
            if getattr(dimension_of(name, values), "is_log", False):
                form = f"sklearn_halving.spaces.loguniform_int({low}, {high})"
            raise ValueError(
                f"{name} must be a whole number, but its distribution in param_distributions is "
                f"continuous. Use {form}."
            )


def with_own_parameters(space: SearchSpace, estimator: Estimator) -> SearchSpace:
    """Return the space with a first candidate that is as close to the estimator as possible.

    A parameter whose value in the estimator lies outside of its range has the middle of the range.
    With a list of dicts, it is in the dict that has the fewest of these.
    """
    own = {name: _as_listed(name, v, space) for name, v in estimator.get_params().items()}
    nearest = [_nearest(one_dict, own) for one_dict in space.distributions]
    return SearchSpace(space.distributions, [min(nearest, key=lambda found: found[0])[1]])


def _nearest(values: Params, own: Params) -> tuple[int, Params]:
    """Return a candidate close to some parameters, and how many values are not the same."""
    space, n_others = Space.of(values), len(values)
    params = space.params_at(np.full(space.n_dimensions, 0.5))
    for name in values.keys() & own.keys():
        nearer = params | {name: own[name]}
        if space.point_of(nearer) is not None:
            params, n_others = nearer, n_others - 1
    return n_others, params


def estimator_with(estimator: Estimator, params: Params, message: str) -> Estimator:
    """Return a clone of the estimator with some parameters.

    If the estimator lacks a parameter, the error begins with the message, in which ``{name}`` and
    ``{estimator}`` are replaced.
    """
    own = clone(params, safe=False)
    try:
        changed: Estimator = clone(estimator).set_params(**own)
    except (ValueError, TypeError) as error:
        unknown = _unknown_parameter(estimator, own)
        if unknown is None:
            raise
        name, owner, hint = unknown
        raise ValueError(message.format(name=name, estimator=owner) + hint) from error
    return changed


def _unknown_parameter(estimator: Estimator, params: Params) -> tuple[str, Estimator, str] | None:
    """Return a parameter that the estimator, with its new steps, lacks, and a hint; or None."""
    unfitted: Estimator = clone(estimator)
    objects = {name: value for name, value in params.items() if hasattr(value, "get_params")}
    with suppress(ValueError):
        unfitted.set_params(**objects)  # may have other parameters than the object it replaces
    valid = unfitted.get_params()
    for name in sorted(params.keys() - valid.keys()):
        last = name.rpartition("__")[2]
        same = [known for known in valid if known.rpartition("__")[2] == last]  # another prefix
        near = get_close_matches(name, same, 1, cutoff=0) or get_close_matches(name, valid, 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return name, unfitted, f"{hint} Valid parameters are: {sorted(valid)}."
    return None


def _completed(params: Params, estimator: Estimator, space: SearchSpace) -> Params:
    """Return the candidate with the estimator's values of the parameters that it leaves out.

    With a list of dicts, these are the parameters of the first dict that contains the candidate.
    The candidate remains as it is if there is none.
    """
    own = estimator.get_params()
    possible = []
    for one_dict in space.distributions:
        missing = one_dict.keys() - params.keys()
        if params.keys() <= one_dict.keys() and missing <= own.keys():
            complete = params | {name: own[name] for name in sorted(missing)}
            if Space.of(one_dict).point_of(complete) is not None:
                return complete
            possible.append(complete)
    return possible[0] if len(space.distributions) == 1 and possible else dict(params)
