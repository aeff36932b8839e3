"""The range of levels of a search."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from sklearn_halving._checks import refuse_unless
from sklearn_halving._typing import Estimator
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies.bases._rungs import exact_factor, round_half_up
from sklearn_halving.resources import FitTime, Resource
from sklearn_halving.resources._types import LevelRange
from sklearn_halving.search._parameters import read_seconds
from sklearn_halving.search.preparing._splits import SearchSplits

MAX_ELIMINATIONS = 4
"""If ``min_resources`` is None, there are at most this many eliminations, that is five brackets,
as in the experiments of Li et al. (2018, sections 4.1 and 4.2)."""
MAX_LEVEL = 10**12
"""The largest level of a resource that has no limit of its own: schedules are int64."""
SCREENED = 3
"""The resource of a first look is the largest one divided by the square of this number."""


@dataclass(frozen=True)
class Levels:
    """The range of levels of a search."""

    # Level of the first rung of the widest bracket, and level of the last rung of all brackets.
    smallest: int
    largest: int
    n_eliminations: int | None = None
    """Number of eliminations between them; None for as many as are possible."""


def full_level(
    max_resources: float | str | None,
    estimator: Estimator,
    resource: Resource,
    splits: SearchSplits,
) -> Levels:
    """Return the largest level as the only one; raise if it is not possible."""
    smallest, largest = _level_range(estimator, resource, splits)
    amount = _amount_of("max_resources", max_resources, resource)
    level = _largest_level(amount, resource, smallest, largest)
    return Levels(level, level)


def choose_levels(
    limits: tuple[float | str | None, float | str | None],
    estimator: Estimator,
    resource: Resource,
    splits: SearchSplits,
    factor: float | None = None,
) -> Levels:
    """Return the smallest and the largest level; raise if the requested ones are not possible.

    Parameters
    ----------
    limits : (float, str or None) and (float, str or None)
        ``min_resources`` and ``max_resources``, which are amounts. For seconds, text such as
        ``"10s"`` is allowed.
    estimator : estimator object
    resource : Resource
        The resource, which defines the meaning of a level.
    splits : SearchSplits
        The splits, of which the smallest training fold limits the levels.
    factor : float or None, default=None
        Determines the number of eliminations between the two levels if ``min_resources`` is None.
        If None, the policy chooses the levels.
    """
    smallest, _ = _level_range(estimator, resource, splits)
    max_level = full_level(limits[1], estimator, resource, splits).largest
    min_resources = _amount_of("min_resources", limits[0], resource)
    if min_resources is None:
        if factor is None:
            return Levels(min(smallest, max_level), max_level)
        floor = splits.early.row_floors(max_level)[0] if resource.subsamples_rows else 1
        return _automatic_levels(resource, max(smallest, floor), max_level, factor)
    min_level = _level_of("min_resources", min_resources, resource)
    if min_level > max_level:
        raise ValueError(
            f"min_resources={min_resources} must be at most max_resources="
            f"{resource.to_amount(max_level)}. Lower min_resources, or leave it out."
        )
    if min_level < smallest:
        raise ValueError(
            f"min_resources={min_resources} is too small: a training subset needs at least "
            f"{smallest} rows to contain enough of every class or label. Leave min_resources out, "
            f"or use at least {smallest}."
        )
    return Levels(min_level, max_level)


def screening_levels(
    limits: tuple[float | str | None, float | str | None],
    estimator: Estimator,
    resource: Resource,
    splits: SearchSplits,
) -> Levels:
    """Return a small level for a first look at candidates, and the largest.

    If ``min_resources`` is None, the small one is a ninth of the largest, but at least as large as
    the deep rungs of a grid. Both are the same if that is more than a third.
    """
    if limits[0] is not None:
        return choose_levels(limits, estimator, resource, splits)
    top = full_level(limits[1], estimator, resource, splits).largest
    least, _ = _level_range(estimator, resource, splits)
    floors = splits.early.row_floors(top) if resource.subsamples_rows else ()
    smallest = max(least, *floors, math.ceil(top / SCREENED**2))
    return Levels(smallest if smallest * SCREENED <= top else top, top)


def _level_range(estimator: Estimator, resource: Resource, splits: SearchSplits) -> LevelRange:
    """Return the smallest sensible level, and the largest; raise if they are no such numbers."""
    levels = resource.level_range(estimator, splits.n_train, splits.n_rows_needed)
    is_pair = np.shape(levels) == (2,) and [isinstance(n, Integral) for n in levels] == [True] * 2
    refuse_unless(is_pair, f"level_range of {type(resource).__name__}", "be two integers", levels)
    return levels


def _largest_level(amount: float | None, resource: Resource, smallest: int, largest: int) -> int:
    """Return the level of ``max_resources``, given the range of levels that is possible."""
    if amount is None:
        if largest < 1:
            raise ValueError(
                f"max_resources must be a number for resource={resource.name!r}, which has no "
                "largest amount; got None."
            )
        return largest
    level = _level_of("max_resources", amount, resource)
    if resource.subsamples_rows and level < smallest and level < largest:
        raise ValueError(
            f"max_resources={amount} is too small: a training subset needs at least "
            f"{smallest} rows to contain enough of every class or label. Leave max_resources out "
            "for all rows."
        )
    if resource.subsamples_rows and level > largest:
        raise ValueError(
            f"max_resources={amount} is more than the {largest} rows of the smallest "
            "training fold. Leave max_resources out for all rows."
        )
    return level


def _amount_of(name: str, amount: float | str | None, resource: Resource) -> float | None:
    """Return an amount as a number, or None; raise for text that is not a time."""
    if not isinstance(amount, str):
        return amount
    if isinstance(resource, FitTime):
        return read_seconds(name, amount)
    raise ValueError(
        f"{name} must be None or a number for resource={resource.name!r}; got {amount!r}. Only "
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
            "another number, or leave it out."
        )
    return level


def _automatic_levels(resource: Resource, needed: int, max_level: int, factor: float) -> Levels:
    """Return the levels for at most five rungs, of which the smallest is at least ``needed``.

    A rung that is raised to this minimum is used only if its level is at most half of the next
    one. Otherwise it would cost nearly as much as the next rung and be less informative.
    """
    eta = exact_factor(factor)
    n_fitting = 0
    while n_fitting < MAX_ELIMINATIONS and max_level / eta ** (n_fitting + 1) >= needed:
        n_fitting += 1
    has_raised_rung = n_fitting < MAX_ELIMINATIONS and 2 * needed <= max_level / eta**n_fitting
    n_eliminations = n_fitting + has_raised_rung
    if n_eliminations == 0 and max_level > 1 and resource.subsamples_rows:
        warn_user(
            f"The smallest training fold has {max_level} rows, which are too few for a rung with "
            f"part of the rows, at least {needed}. All candidates are therefore fitted on all "
            "rows, and none is eliminated early."
        )
    smallest = max(needed, round_half_up(max_level / eta**n_eliminations))
    return Levels(min(max_level, smallest), max_level, n_eliminations)
