"""The range of levels of a search."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sklearn_halving._typing import Estimator
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies.bases._rungs import exact_factor, round_half_up
from sklearn_halving.resources import FitTime, Resource
from sklearn_halving.search._shared_parameters import read_seconds
from sklearn_halving.search.preparing._splits import SearchSplits

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
    """The range of levels of a search."""

    smallest: int
    largest: int
    """Level of the first rung of the widest bracket, and level of the last rung of all
    brackets."""
    n_eliminations: int | None = None
    """Number of eliminations between them; None for as many as are possible."""


def choose_levels(
    limits: tuple[float | str | None, float | str],
    estimator: Estimator,
    resource: Resource,
    splits: SearchSplits,
    *,
    factor: float | None = None,
    has_floor: bool = False,
) -> Levels:
    """Return the smallest and the largest level; raise if the requested ones are not possible.

    Parameters
    ----------
    limits : (float, str or None) and (float or str)
        ``min_resources`` and ``max_resources``, which are amounts. For seconds, text such as
        ``"10s"`` is allowed. If ``min_resources`` is None, the largest level is the only one.
    estimator : estimator object
    resource : Resource
        The resource, which defines the meaning of a level.
    splits : SearchSplits
        The splits, of which the smallest training fold limits the levels.
    factor : float or None, default=None
        Determines the number of eliminations between the two levels if ``min_resources="auto"``.
        If None, the policy chooses the levels.
    has_floor : bool, default=False
        Whether all rungs have at least the first number of rows of `EarlyRungs.row_floors`, with
        ``min_resources="auto"``.
    """
    smallest, largest = resource.level_range(estimator, splits.n_train, splits.n_rows_needed)
    max_resources = _amount_of("max_resources", limits[1], resource)
    max_level = _largest_level(max_resources, resource, smallest, largest)
    if limits[0] is None:
        return Levels(max_level, max_level)
    min_resources = _amount_of("min_resources", limits[0], resource)
    if isinstance(min_resources, str):
        if factor is None:
            return Levels(min(smallest, max_level), max_level)
        has_floor = has_floor and resource.subsamples_rows
        floor = splits.early.row_floors(max_level)[0] if has_floor else 1
        return _automatic_levels(resource, smallest, max_level, factor, floor)
    min_level = _level_of("min_resources", min_resources, resource)
    if min_level > max_level:
        raise ValueError(
            f"min_resources={min_resources} must be at most max_resources="
            f"{resource.to_amount(max_level)}. Lower min_resources, or use 'auto'."
        )
    if min_level < smallest:
        raise ValueError(
            f"min_resources={min_resources} is too small: a training subset needs at least "
            f"{smallest} rows to contain enough of every class or label. Use min_resources='auto' "
            f"or at least {smallest}."
        )
    return Levels(min_level, max_level)


def screening_levels(
    limits: tuple[float | str, float | str],
    estimator: Estimator,
    resource: Resource,
    splits: SearchSplits,
    factor: float,
) -> Levels:
    """Return a small level for a first look at candidates, and the largest.

    With ``min_resources="auto"``, the small one is the largest divided by the square of
    ``factor``, but at least as large as the deep rungs of a grid. Both are the same if that leaves
    less than a factor between them.
    """
    is_automatic = limits[0] == "auto"
    given = choose_levels(
        (None if is_automatic else limits[0], limits[1]), estimator, resource, splits
    )
    if not is_automatic:
        return given
    least, _ = resource.level_range(estimator, splits.n_train, splits.n_rows_needed)
    floors = splits.early.row_floors(given.largest) if resource.subsamples_rows else ()
    smallest = max(least, *floors, math.ceil(given.largest / factor**2))
    return Levels(smallest if smallest * factor <= given.largest else given.largest, given.largest)


def _largest_level(amount: float | str, resource: Resource, smallest: int, largest: int) -> int:
    """Return the level of ``max_resources``, given the range of levels that is possible."""
    if isinstance(amount, str):
        if largest < 1:
            raise ValueError(
                f"max_resources='auto' is not possible for resource={resource.name!r}, which has "
                "no largest amount. Give max_resources as a number."
            )
        return largest
    level = _level_of("max_resources", amount, resource)
    if resource.subsamples_rows and level < smallest and level < largest:
        raise ValueError(
            f"max_resources={amount} is too small: a training subset needs at least "
            f"{smallest} rows to contain enough of every class or label. Use "
            "max_resources='auto' for all rows."
        )
    if resource.subsamples_rows and level > largest:
        raise ValueError(
            f"max_resources={amount} is more than the {largest} rows of the smallest "
            "training fold. Use max_resources='auto' for all rows."
        )
    return level


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


def _automatic_levels(
    resource: Resource, needed: int, max_level: int, factor: float, floor: int
) -> Levels:
    """Return the levels for at most five rungs; the smallest is raised to the minimum.

    The minimum is ``needed`` or ``floor``, whichever is larger. A raised rung is used only if its
    level is at most half of the next one. Otherwise it would cost nearly as much as the next rung
    and be less informative.
    """
    if resource.subsamples_rows and needed == 1:
        needed = max(1, min(FEWEST_ROWS, max_level // 3))
    needed = max(needed, floor)
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
