"""Validation of the arguments of a search, and preparation of its pulls."""

from __future__ import annotations

import math
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from sklearn_halving._typing import Candidates, Estimator, Params, RandomState
from sklearn_halving.policies._types import Schedule
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.policies.bases._rungs import exact_factor, round_half_up
from sklearn_halving.resources import FitTime, Iterations, PartialFit, Rescaling, Resource
from sklearn_halving.search._user_warnings import warn_user
from sklearn_halving.search.preparing._inputs import FitInputs
from sklearn_halving.search.preparing._limits import read_seconds
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.preparing._search_space import SearchSpace
from sklearn_halving.search.preparing._splitting import SearchSplits

MAX_ELIMINATIONS = 4
"""``min_resources="auto"`` allows at most this many eliminations, that is five brackets, as
in the experiments of Li et al. (2018, sections 4.1 and 4.2)."""
MAX_LEVEL = 10**12
"""The largest level of a resource that has no limit of its own: schedules are int64."""
FEWEST_ROWS = 10
"""Number of rows of the smallest rung with ``min_resources="auto"`` if there are no classes; at
most a third of all rows."""


@dataclass(frozen=True)
class Levels:
    """The range of levels of a search.

    Parameters
    ----------
    smallest, largest : int
        Level of the first rung of the widest bracket, and level of the last rung of all brackets.
    n_eliminations : int or None
        Number of eliminations between them; None for as many as are possible.
    """

    smallest: int
    largest: int
    n_eliminations: int | None = None


@dataclass(frozen=True)
class Preparation:
    """Everything that is known before the first pull; the same for `plan` and `fit`.

    Parameters
    ----------
    inputs : FitInputs
        Data, scorers and routed parameters.
    resource : Resource
        The resource, which defines the meaning of a level.
    splits : SearchSplits
        The splits, and what is known about them before the first fit.
    policy : BasePolicy
        The policy.
    plan : SearchPlan
        The plan of the policy.
    space : SearchSpace
        The search space, from which candidates are drawn.
    """

    inputs: FitInputs
    resource: Resource
    splits: SearchSplits
    policy: BasePolicy
    plan: SearchPlan
    space: SearchSpace


def choose_levels(
    resource: Resource,
    estimator: Estimator,
    splits: SearchSplits,
    *,
    min_resources: float | str | None,
    max_resources: float | str,
    factor: float | None = None,
) -> Levels:
    """Return the smallest and the largest level; raise if the requested ones are not possible.

    Parameters
    ----------
    resource : Resource
        The resource, which defines the meaning of a level.
    estimator : estimator object
        The estimator of the search.
    splits : SearchSplits
        The splits, of which the smallest training fold limits the levels.
    min_resources, max_resources : float, str or "auto"
        Parameters of the search, as amounts. For seconds, text such as ``"10s"`` is allowed. With
        ``min_resources=None``, the largest level is the only one.
    factor : float or None, default=None
        Determines the number of eliminations between the two levels. If None, the policy chooses
        them.
    """
    smallest, largest = resource.level_range(estimator, splits.n_train, splits.n_rows_needed)
    max_resources = _amount_of("max_resources", max_resources, resource)
    if isinstance(max_resources, str):
        if largest < 1:
            raise ValueError(
                f"max_resources='auto' is not possible for resource={resource.name!r}, which has "
                "no largest amount. Give max_resources as a number."
            )
        max_level = largest
    else:
        max_level = _level_of("max_resources", max_resources, resource)
    if resource.subsamples_rows and max_level < smallest and max_level < largest:
        raise ValueError(
            f"max_resources={max_resources} is too small: a training subset needs at least "
            f"{smallest} rows to hold every class. Use max_resources='auto' for all rows."
        )
    if resource.subsamples_rows and max_level > largest:
        raise ValueError(
            f"max_resources={max_resources} is more than the {largest} rows of the smallest "
            "training fold. Use max_resources='auto' for all rows."
        )
    if min_resources is None:
        return Levels(max_level, max_level)
    min_resources = _amount_of("min_resources", min_resources, resource)
    if isinstance(min_resources, str):
        if factor is None:
            return Levels(min(smallest, max_level), max_level)
        return _automatic_levels(resource, smallest, max_level, factor)
    min_level = _level_of("min_resources", min_resources, resource)
    if min_level > max_level:
        raise ValueError(
            f"min_resources={min_resources} must be at most max_resources="
            f"{resource.to_amount(max_level)}. Lower min_resources, or use 'auto'."
        )
    if min_level < smallest:
        raise ValueError(
            f"min_resources={min_resources} is too small: a training subset needs at least "
            f"{smallest} rows to hold every class. Use min_resources='auto' or at least "
            f"{smallest}."
        )
    return Levels(min_level, max_level)


def _amount_of(name: str, amount: float | str, resource: Resource) -> float | str:
    """Return an amount as a number, or "auto"; raise for text that is not a time."""
    if not isinstance(amount, str) or amount == "auto":
        return amount
    if isinstance(resource, FitTime):
        return read_seconds(name, amount)
    raise ValueError(
        f"{name} must be a number or 'auto' for resource={resource.name!r}; got {amount!r}. Only "
        "resource='fit_time' also takes text with a unit, such as '10s'."
    )


def _level_of(name: str, amount: float, resource: Resource) -> int:
    """Return the level of an amount; raise if it is not possible."""
    # The number of rows is limited by the training fold, which is checked separately.
    most = math.inf if resource.subsamples_rows else MAX_LEVEL
    level = resource.to_level(amount) if amount < math.inf and amount <= most else 0
    if not 1 <= level <= most:
        raise ValueError(
            f"{name}={amount} must be finite, at least {resource.to_amount(1)}, the smallest "
            f"amount of resource={resource.name!r}, and at most {MAX_LEVEL:.0e} times that. Give "
            "another number or 'auto'."
        )
    return level


def _automatic_levels(resource: Resource, needed: int, max_level: int, factor: float) -> Levels:
    """Return the levels for at most five rungs; the smallest is raised to ``needed``.

    A raised rung is used only if its level is at most half of the next one. Otherwise it would
    cost nearly as much as the next rung and be less informative.
    """
    if needed >= max_level > 1 and resource.subsamples_rows:
        warn_user(
            f"The smallest training fold has {max_level} rows and a subset needs {needed}: "
            "there is room for one rung only, at all rows, and nothing is eliminated early."
        )
    if resource.subsamples_rows and needed == 1:
        needed = max(1, min(FEWEST_ROWS, max_level // 3))
    eta = exact_factor(factor)
    n_fitting = 0
    while n_fitting < MAX_ELIMINATIONS and max_level / eta ** (n_fitting + 1) >= needed:
        n_fitting += 1
    has_raised_rung = n_fitting < MAX_ELIMINATIONS and 2 * needed <= max_level / eta**n_fitting
    n_eliminations = n_fitting + has_raised_rung
    smallest = max(needed, round_half_up(max_level / eta**n_eliminations))
    return Levels(min(max_level, smallest), max_level, n_eliminations)


def check_candidates(estimator: Estimator, candidates: Candidates) -> None:
    """Set each combination of parameter names once, to raise early for an invalid name."""
    seen = set()
    for params in candidates:
        kind = tuple(
            (name, type(value) if hasattr(value, "get_params") else None)
            for name, value in sorted(params.items())
        )
        if kind in seen:
            continue
        seen.add(kind)
        own = clone(params, safe=False)
        try:
            clone(estimator).set_params(**own)
        except ValueError:
            _check_names(clone(estimator), own)
            raise


def _check_names(estimator: Estimator, params: Params) -> None:
    """Raise for the first parameter that the estimator lacks; name the nearest one first."""
    objects = {name: value for name, value in params.items() if hasattr(value, "get_params")}
    with suppress(ValueError):
        estimator.set_params(**objects)  # may have other parameters than the object it replaces
    valid = estimator.get_params()
    for name in sorted(params.keys() - valid.keys()):
        last = name.rpartition("__")[2]
        same = [known for known in valid if known.rpartition("__")[2] == last]  # another prefix
        near = get_close_matches(name, same, 1, cutoff=0) or get_close_matches(name, valid, 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"Invalid parameter {name!r} for estimator {estimator}.{hint} Valid parameters are: "
            f"{sorted(valid)}."
        )


def warn_of_refitting(
    resource: Resource, estimator: Estimator, rescaling: Rescaling | None
) -> None:
    """Warn if models are fitted from scratch in each rung of a resource that could continue."""
    if not isinstance(resource, (Iterations, PartialFit, FitTime)):
        return
    if isinstance(resource, Iterations) and resource.continuation == "refit":
        return
    if rescaling is not None:
        reason = "rescale changes the parameters from rung to rung"
    elif not resource.can_continue(estimator):
        reason = (
            f"{type(estimator).__name__}, as it is set up, cannot be trained on by "
            f"{resource.name!r}"
        )
    else:
        return
    warn_user(f"Models are fitted from scratch in every rung, since {reason}.")


def check_rescaling(
    rescaling: Rescaling,
    estimator: Estimator,
    prepared: Preparation,
    candidates: Candidates,
) -> Rescaling | None:
    """Return the rescaling, or None if there is nothing to rescale.

    Every candidate is rescaled to the smallest level once, so that an invalid name or a value
    that cannot be rescaled raises an error before any fit.
    """
    if not rescaling.rules:
        return None
    rescaling.check(estimator, prepared.space.names)
    to_amount = prepared.resource.to_amount
    problem = prepared.plan.problem
    amounts = to_amount(problem.min_level), to_amount(problem.max_level)
    for params in candidates:
        unfitted = clone(estimator).set_params(**clone(params, safe=False))
        rescaling.apply(params, unfitted, *amounts)
    return rescaling


def seed_of(
    random_state: RandomState | None,
) -> tuple[np.random.RandomState, np.random.SeedSequence]:
    """Return a generator for the candidates and a seed for splits and fits."""
    rng = check_random_state(random_state)
    # A copy is used, so that the same candidates are drawn as by RandomizedSearchCV.
    entropy = deepcopy(rng).randint(0, 2**31 - 1, size=4)
    return rng, np.random.SeedSequence(entropy.tolist())


def warn_of_small_grid(prepared: Preparation, wanted: Schedule | None) -> None:
    """Warn if there are fewer candidates than a bracket would start with."""
    size, schedule = prepared.space.size, prepared.plan.schedule
    if size is None or wanted is None or schedule is None or schedule == wanted:
        return
    short = [b.label for b in wanted.brackets if b.n_arms > size and b.loop == 0]
    n_splits = prepared.splits.n_repetitions or 1
    what = "grid has" if prepared.space.is_grid else "distributions have"
    message = (
        f"The {what} {size} candidates, fewer than the brackets {short} start with: these "
        "brackets take all of them."
    )
    if schedule.n_pulls > size and len(schedule.brackets) > 1:
        n_fits = schedule.n_pulls_on(n_splits)
        message += (
            f" A candidate may be fitted in several brackets, {n_fits} fits in all, most of "
            f"them cheap; GridSearchCV would make {size * n_splits} full fits. "
            "brackets='most_exploratory' needs fewer fits."
        )
    warn_user(message)
