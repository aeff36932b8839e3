"""The search space, a grid or distributions, and the candidates with which a search begins."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import cycle, islice
from math import prod
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils.random import sample_without_replacement

from sklearn_halving._content_hash import params_digest, value_digest
from sklearn_halving._formatting import counted
from sklearn_halving._typing import Estimator, ParamDistributions, Params
from sklearn_halving._unstable_imports import InvalidParameterError, refuses
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.resources import Resource
from sklearn_halving.resources._resource import listed, suggestion
from sklearn_halving.samplers import Space
from sklearn_halving.samplers._space import (
    MAX_CHOICES,
    Continuous,
    Uniform,
    different,
    dimension_of,
    is_finite_number,
)
from sklearn_halving.search._parameters import Inputs, SharedParameters

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
    has_own : bool, default=False
        Whether the first initial candidate is the unmodified estimator.

    Attributes
    ----------
    names : frozenset of str
        The parameters.
    is_grid : bool
        Whether all values are lists.
    """

    def __init__(
        self,
        param_distributions: ParamDistributions,
        initial: Sequence[Params] = (),
        has_own: bool = False,
    ) -> None:
        _check_lists(param_distributions)
        spaces = ParameterSampler(param_distributions, n_iter=1).param_distributions
        self._spaces = [dict(space) for space in spaces]
        self.has_own = has_own
        self.initial = tuple(dict(sorted(params.items())) for params in initial)
        self.names = frozenset(name for space in (*spaces, *initial) for name in space)
        self.is_grid = not any(hasattr(v, "rvs") for space in spaces for v in space.values())
        self._grid = _grid_of(spaces, self.is_grid)
        # The candidates of the grid that are not among the initial ones, unless it is very large.
        self._others: Any = self._grid
        if self.initial and self._grid is not None and len(self._grid) <= MAX_CHOICES:
            key = Space.of(self._spaces).key
            known = set(map(key, self.initial))
            self._others = [params for params in self._grid if key(params) not in known]
        if self.size == 0:
            raise ValueError(
                f"param_distributions must hold candidates; got {param_distributions!r}. Give a "
                "dict of parameter names and values, or a list of such dicts."
            )

    def starting_with(self, first: Iterable[Params], *, has_own: bool = False) -> SearchSpace:
        """Return the space with other initial candidates."""
        return SearchSpace(self.distributions, list(first), has_own)

    @property
    def distributions(self) -> list[Params]:
        """The values and distributions, as a list of dicts."""
        return [dict(space) for space in self._spaces]

    @property
    def size(self) -> int | None:
        """Number of candidates; None if it is unlimited."""
        if self._grid is None:
            return None
        return len(self.initial) + len(self._others)

    def at_most(self, *numbers: int | None) -> int:
        """Return the number of candidates, or the smallest of some numbers that is below it."""
        return min(int(n) for n in (*numbers, self.size) if n is not None)

    @property
    def n_of_grid(self) -> int:
        """Number of candidates of GridSearchCV; 0 without a grid."""
        return len(self._grid or ())

    def check_initial(self, n_candidates: int) -> None:
        """Raise if there are more initial candidates than the search starts."""
        if n_candidates < len(self.initial):
            given = counted(len(self.initial) - self.has_own, "candidate")
            own = " and your estimator as it is" * self.has_own
            raise ValueError(
                f"initial_candidates has {given}{own}, but the search starts only {n_candidates}. "
                "Pass fewer of them, or let the search start more."
            )

    def draw(self, n_of_bracket: Sequence[int], rng: np.random.RandomState) -> list[Params]:
        """Draw candidates for brackets of the given sizes, the initial ones first.

        Candidates are drawn without replacement within each bracket. From a grid, no candidate
        is drawn again before all others have been drawn, and a bracket that contains the whole
        grid keeps its order. Discrete distributions are treated in the same way if they have
        fewer candidates than are drawn.
        """
        n, n_initial, size = sum(n_of_bracket), len(self.initial), self.size
        check_number(n)
        self.check_initial(n)
        if size is None or not (self.is_grid or size <= n):
            return [*self.initial, *self._draw_from_distributions(n - n_initial, rng)]
        # Indexing a ParameterGrid returns the parameters in reverse order.
        return [
            self.initial[i] if i < n_initial else dict(sorted(self._others[i - n_initial].items()))
            for i in _draw_indices(size, n_initial, n_of_bracket, rng)
        ]

    def _draw_from_distributions(self, n: int, rng: np.random.RandomState) -> list[Params]:
        """Draw n candidates. Duplicates are drawn again as long as this gives new candidates."""
        known = {params_digest(params) for params in self.initial}
        draws = ParameterSampler(self.distributions, sys.maxsize, random_state=rng)
        drawn = list(islice(different(draws, params_digest, known), n))
        if len(drawn) < n:
            warn_user(
                f"The distributions have only {len(drawn)} different candidates, but {n} are "
                "needed. Some are therefore tried several times."
            )
        return list(islice(cycle(drawn or self.initial), n))


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
                text = f"{name}={values!r} in param_distributions looks like a range of another"
                if not isinstance(values, tuple) or len(values) != 2:
                    raise InvalidParameterError(f"{text} library. Use scipy.stats.{form}.")
                use = f"Use scipy.stats.{form}, or a list of two."
                warn_user(f"{text} library, but is two values. {use}")
            if getattr(values, "numargs", 0):
                raise InvalidParameterError(
                    f"The distribution of {name} has no parameters. Write them in brackets, such "
                    f"as scipy.stats.{values.name}({values.shapes})."
                )
            if not hasattr(values, "rvs"):
                # ParameterGrid raises the same errors as GridSearchCV. ParameterSampler does so
                # only if all values are lists.
                ParameterGrid({name: values})


def _scipy_form(values: Any) -> str | None:
    """Return SciPy's distribution for a range of another library; None if it is not one."""
    if isinstance(values, tuple) and len(values) == 3 and "uniform" in str(values[2]):
        low, high, is_log = values[0], values[1], "log" in values[2]
    elif type(values) is tuple and [*map(type, values)] == [float] * 2 and values[0] < values[1]:
        low, high, is_log = *values, False
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
    return ParameterGrid(grids) if is_grid or n_all < MAX_CHOICES else None


def _values(values: Any) -> Any:
    """Return the values of a list or of a discrete distribution; None if there are too many."""
    is_list = not hasattr(values, "rvs")
    return values if is_list else getattr(dimension_of("", values), "values", None)


def _draw_indices(
    size: int, n_first: int, n_of_bracket: Sequence[int], rng: np.random.RandomState
) -> list[int]:
    """Return indices of a finite space, the first ones first, without duplicates in a bracket."""
    drawn: list[int] = []
    n_others = min(size, sum(n_of_bracket)) - n_first
    others = sample_without_replacement(size - n_first, n_others, random_state=rng)
    unused = [*range(n_first), *(n_first + others).tolist()]
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


def search_space(parameters: SharedParameters, resource: Resource, inputs: Inputs) -> SearchSpace:
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
        from sklearn_halving.spaces import space_for

        estimator = clone(parameters.estimator)
        with suppress(ValueError):  # it may have another name in the space
            estimator.set_params(**resource.params_at(1))
        values = space_for(estimator, inputs.X, inputs.y)
        values = {name: v for name, v in values.items() if name not in resource.params_at(1)}
    space = SearchSpace(values)
    first: dict[str, Params] = {}
    if not isinstance(given, list | tuple | None):
        raise InvalidParameterError(
            "initial_candidates must be a list of dicts with parameter names and values, such as "
            f"[{{'C': 1}}]; got a {type(given).__name__}. list(...) makes a Series a list."
        )
    for place, params in enumerate(given or ()):
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
        first.setdefault(params_digest(complete), complete)
    if first:
        space = space.starting_with(first.values())
    resource.check(parameters.estimator, space.names)
    _check_aliases(parameters.estimator, space)
    _check_whole_numbers(parameters.estimator, space)
    size, wanted = space.size, parameters.n_candidates
    if size is not None and wanted is not None and size < wanted:
        warn_user(
            f"There are only {size} candidates, fewer than n_candidates={wanted}: all of them are "
            "tried."
        )
    return space


def _as_listed(name: str, value: object, space: SearchSpace) -> object:
    """Return the value of a list of the space that equals a value, such as 1 for 1.0."""
    if value is None or isinstance(value, bool | str):
        return value
    given = [v for d in space.distributions if not hasattr(v := d.get(name, ()), "rvs")]
    lists = [values for values in given if len(values) <= MAX_CHOICES]
    if is_finite_number(value):
        whole = [int(value)]
        lists += [whole for v in given if isinstance(v, range) and whole[0] in v]
        numbers = (v for values in lists for v in values if is_finite_number(v))
        return next((v for v in numbers if v == value), value)
    wanted = value_digest(value)
    return next((v for values in lists for v in values if value_digest(v) == wanted), value)


def _check_aliases(estimator: Estimator, space: SearchSpace) -> None:
    """Raise if a searched parameter is also set under another name."""
    if not {"catboost", "lightgbm", "xgboost"} & sys.modules.keys():
        return
    from sklearn_halving.spaces._aliases import rival_of

    own = estimator.get_params()
    for searched in space.distributions:
        for name in searched:
            path, separator, last = name.rpartition("__")
            prefix, model = path + separator, own.get(path) if path else estimator
            models = searched.get(path, [model])
            for owner in () if hasattr(models, "rvs") else models:
                same = {n.removeprefix(prefix) for n in searched if n.startswith(prefix)}
                if other := rival_of(owner, last, same):
                    raise ValueError(
                        f"{name!r} in param_distributions and {prefix + other!r}, which is also "
                        f"set, are two names of one parameter of {type(owner).__name__}. Use one."
                    )


def _check_whole_numbers(estimator: Estimator, space: SearchSpace) -> None:
    """Raise if a parameter takes whole numbers only and its distribution has none."""
    own = estimator.get_params()
    for name, values in ((n, v) for one in space.distributions for n, v in one.items()):
        if not hasattr(values, "support"):
            continue
        dimension = dimension_of(name, values)
        if not isinstance(dimension, Uniform | Continuous):
            continue
        prefix, _, last = name.rpartition("__")
        owner, middle = own.get(prefix) if prefix else estimator, float(values.ppf(0.5))
        if np.isnan(middle):
            raise ValueError(f"The distribution of {name} has invalid bounds, such as a low of 0.")
        if refuses(owner, last, middle) and not refuses(owner, last, round(middle)):
            low, high = (round(end) for end in values.support())
            form = f"scipy.stats.randint({low}, {high + 1})"
            if getattr(dimension, "is_log", False):
                form = f"sklearn_halving.spaces.loguniform_int({low}, {high})"
            raise ValueError(
                f"{name} must be a whole number, but its distribution in param_distributions is "
                f"continuous. Use {form}."
            )


def own_candidate(estimator: Estimator, space: SearchSpace) -> Params:
    """Return the unmodified estimator as a candidate.

    If a dict of the space contains it, it has the parameters of this dict. Otherwise, it has all
    parameters of the space that the estimator has.
    """
    return _completed({}, estimator, space)


def estimator_with(estimator: Estimator, params: Params, message: str) -> Estimator:
    """Return a clone of the estimator with some parameters.

    If the estimator lacks a parameter, the error begins with the message, in which ``{name}`` and
    ``{estimator}`` are replaced.
    """
    own = clone(params, safe=False)
    try:
        changed: Estimator = clone(estimator).set_params(**own)
    except (ValueError, TypeError) as error:
        unfitted = clone(estimator)
        objects = {name: value for name, value in own.items() if hasattr(value, "get_params")}
        with suppress(ValueError):
            unfitted.set_params(**objects)  # may have other parameters than what it replaces
        valid = unfitted.get_params()
        if own.keys() <= valid.keys() or "nvalid parameter" not in str(error):
            raise  # it says more
        name = min(own.keys() - valid.keys())
        text = message.format(name=name, estimator=unfitted) + suggestion(name, valid)
        raise ValueError(f"{text} Valid parameters are: {listed(valid)}.") from error
    return changed


def _completed(params: Params, estimator: Estimator, space: SearchSpace) -> Params:
    """Return a candidate with the estimator's values of the parameters that it leaves out.

    With a list of dicts, these are the parameters of the first dict that contains the candidate.
    """
    values = estimator.get_params()
    own = {name: _as_listed(name, values[name], space) for name in space.names & values.keys()}
    for one_dict in space.distributions:
        missing = one_dict.keys() - params.keys()
        if params.keys() <= one_dict.keys() and missing <= own.keys():
            complete = params | {name: own[name] for name in missing}
            if Space.of(one_dict).point_of(complete) is not None:
                return dict(sorted(complete.items()))
    if params and len(space.distributions) > 1:  # parameters of other dicts may not suit
        return dict(params)
    return dict(sorted((own | params).items()))
