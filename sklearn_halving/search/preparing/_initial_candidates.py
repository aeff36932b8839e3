"""The candidates of ``initial_candidates``: validated, and completed from the estimator."""

from __future__ import annotations

from collections.abc import Mapping

from sklearn.base import clone

from sklearn_halving._typing import Estimator
from sklearn_halving.resources import Resource
from sklearn_halving.resources._parameters import suggestion
from sklearn_halving.samplers import Space
from sklearn_halving.search._shared_parameters import SharedParameters
from sklearn_halving.search.preparing._content_hash import content_hash
from sklearn_halving.search.preparing._search_space import Params, SearchSpace


def with_initial_candidates(
    search: SharedParameters, space: SearchSpace, resource: Resource
) -> SearchSpace:
    """Return the search space with the candidates of ``initial_candidates`` in front.

    Raises
    ------
    ValueError
        If they are not dicts, or if the estimator lacks one of their parameters.
    """
    given = search.initial_candidates
    if given is None or len(given) == 0:
        return space
    different: dict[str, Params] = {}
    for place, params in enumerate(given):
        if not isinstance(params, Mapping):
            raise ValueError(
                "initial_candidates must be a list of dicts with parameter names and values; got "
                f"{params!r} at position {place}."
            )
        # The rows of another search may contain the resource, which the search itself sets.
        own = {name: v for name, v in params.items() if name not in resource.params_at(1)}
        complete = _completed(own, _estimator_with(search.estimator, own, place), space)
        different.setdefault(content_hash(complete), complete)
    return SearchSpace(search.param_distributions, list(different.values()))


def _estimator_with(estimator: Estimator, params: Params, place: int) -> Estimator:
    """Return the estimator with some parameters; raise if it lacks one of them."""
    unfitted: Estimator = clone(estimator)
    try:
        return unfitted.set_params(**clone(params, safe=False))
    except (ValueError, TypeError) as error:
        parts = {name: value for name, value in params.items() if hasattr(value, "get_params")}
        parts = {name: value for name, value in parts.items() if name in unfitted.get_params()}
        known = unfitted.set_params(**clone(parts, safe=False)).get_params()
        unknown = [name for name in params if name not in known]
        if not unknown:
            raise
        raise ValueError(
            f"initial_candidates must have parameters of {type(estimator).__name__}; got "
            f"{unknown[0]!r} at position {place}.{suggestion(unknown[0], known)} The parameters "
            f"are {sorted(known)}."
        ) from error


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
