"""Numbers of candidates and fits, and the range of levels, that a search chooses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from sklearn_halving._checks import refuse_unless
from sklearn_halving._formatting import counted
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies.bases._rungs import exact_factor, round_half_up
from sklearn_halving.resources import FitTime, Resource, WholeFit, resolve_resource
from sklearn_halving.search._parameters import read_seconds
from sklearn_halving.search.preparing._space import SearchSpace, check_number
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
    """The range of levels of a search.

    Parameters
    ----------
    n_eliminations : int or None
        Number of eliminations between them; None for the maximum.
    """

    # Level of the first rung of the widest bracket, and level of the last rung of all brackets.
    smallest: int
    largest: int
    n_eliminations: int | None = None


def full_level(search: Any, resource: Resource, splits: SearchSplits) -> Levels:
    """Return the largest level as the only one; raise if it is not possible."""
    _, top = _level_range(search, resource, splits)
    return Levels(top, top)


def choose_levels(
    search: Any, resource: Resource, splits: SearchSplits, factor: float | None = None
) -> Levels:
    """Return the smallest and the largest level; raise if the requested ones are not possible.

    ``factor`` determines the number of eliminations between the two levels if ``min_resources`` is
    None. If it is None, the policy chooses the levels.
    """
    smallest, max_level = _level_range(search, resource, splits)
    amount = search.min_resources
    min_level = _level("min_resources", amount, resource, smallest)
    if min_level is None:
        if factor is None:
            return Levels(min(smallest, max_level), max_level)
        floor = splits.early.row_floors(max_level)[0] if resource.subsamples_rows else 1
        return _automatic_levels(resource, max(smallest, floor), max_level, factor)
    if min_level > max_level:
        raise ValueError(
            f"min_resources={amount} must be at most max_resources="
            f"{resource.to_amount(max_level)}. Lower min_resources, or leave it out."
        )
    return Levels(min_level, max_level)


def screening_levels(search: Any, resource: Resource, splits: SearchSplits) -> Levels:
    """Return a small level for a first look at candidates, and the largest.

    If ``min_resources`` is None, the small one is a ninth of the largest, but at least as large as
    the deep rungs of a grid. Both are the same if that is more than a third.
    """
    if search.min_resources is not None:
        return choose_levels(search, resource, splits)
    least, top = _level_range(search, resource, splits)
    floors = splits.early.row_floors(top) if resource.subsamples_rows else ()
    smallest = max(least, *floors, math.ceil(top / SCREENED**2))
    return Levels(smallest if smallest * SCREENED <= top else top, top)


def _level_range(search: Any, resource: Resource, splits: SearchSplits) -> tuple[int, int]:
    """Return the smallest sensible level and the largest; raise if they are not possible."""
    levels = resource.level_range(search.estimator, splits.n_train, splits.n_rows_needed)
    is_pair = np.shape(levels) == (2,) and [isinstance(n, Integral) for n in levels] == [True] * 2
    refuse_unless(is_pair, f"level_range of {type(resource).__name__}", "be two integers", levels)
    smallest, largest = levels
    level = _level("max_resources", search.max_resources, resource, smallest)
    if level is None and largest < 1:
        raise ValueError(
            f"max_resources must be a number for resource={resource.name!r}, which has no "
            "largest amount; got None."
        )
    if level is not None and resource.subsamples_rows and level > largest:
        raise ValueError(
            f"max_resources={search.max_resources} is more than the {largest} rows of the "
            "smallest training fold. Leave max_resources out for all rows."
        )
    return smallest, largest if level is None else level


def _level(name: str, amount: float | str | None, resource: Resource, least: int) -> int | None:
    """Return the level of an amount, or None; raise if it is not possible."""
    if isinstance(amount, str) and not isinstance(resource, FitTime):
        raise ValueError(
            f"{name} must be None or a number for resource={resource.name!r}; got {amount!r}. "
            "Only resource='fit_time' also takes text with a unit, such as '10s'."
        )
    amount = read_seconds(name, amount)
    if amount is None:
        return None
    # The number of rows is limited by the training fold, which is checked separately.
    most = math.inf if resource.subsamples_rows else MAX_LEVEL
    level = resource.to_level(amount) if amount < math.inf and amount <= most else 0
    if not least <= level <= most:
        more = f", and at most {MAX_LEVEL:.0e} units"
        more = " with enough rows of every class or label" if resource.subsamples_rows else more
        raise ValueError(
            f"{name}={amount} must be finite and at least {resource.to_amount(least)}, the "
            f"smallest amount of resource={resource.name!r}{more}. Give another number, or leave "
            "it out."
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
            f"The smallest training fold has {max_level} rows. A part of them would be fewer than "
            f"the {needed} that a rung needs, so all candidates are fitted on all rows, and none "
            "is eliminated early."
        )
    smallest = max(needed, round_half_up(max_level / eta**n_eliminations))
    return Levels(min(max_level, smallest), max_level, n_eliminations)


N_OF_DISTRIBUTIONS = 10
"""Default number of candidates that are drawn from distributions: the default ``n_iter`` of
RandomizedSearchCV."""
FITS_OF_GRID_SEARCH = 5
"""Number of fits of a candidate in GridSearchCV with its default cv."""
MOST_CANDIDATES = 10_000
"""Maximum number of candidates that are created during a search."""


def optional_resource(search: Any) -> Resource:
    """Return the resource: rows if only an amount is given, and none if nothing is given."""
    if search.resource is None and search.max_resources is None:
        return WholeFit()
    return resolve_resource(search.resource or "n_samples", search.estimator)


def count_candidates(search: Any, space: SearchSpace, n_drawn: int) -> int:
    """Return the number of candidates of a search that draws them before the first fit.

    ``n_drawn`` is the default number for distributions.
    """
    if search.n_candidates is None and space.is_grid:
        n_arms = space.at_most()
        if search.n_fits is None:
            check_number(n_arms)  # otherwise the policy compares it with its budget
        return n_arms
    return space.at_most(search.n_candidates or max(n_drawn, len(space.initial)))


def count_drawn(
    n_fits: int | None,
    least_n_fits: Callable[[int], int],
    fits_of_each: int = FITS_OF_GRID_SEARCH,
) -> int:
    """Return how many candidates are drawn for a budget: one for ``fits_of_each`` fits.

    ``least_n_fits`` is the smallest budget for a number of candidates.
    """
    if n_fits is None:
        return N_OF_DISTRIBUTIONS
    n_drawn = max(1, int(n_fits) // fits_of_each)
    while n_drawn > 1 and least_n_fits(n_drawn) > n_fits:
        n_drawn -= 1
    return n_drawn


def count_fits(search: Any, n_arms: int, splits: SearchSplits, least: int = 1) -> int:
    """Return the budget of fits: by default, as for GridSearchCV with five folds."""
    if search.n_fits is not None:
        return int(search.n_fits)
    n_each = min(FITS_OF_GRID_SEARCH, splits.n_repetitions or FITS_OF_GRID_SEARCH)
    return max(n_each * n_arms, least)


def check_splits(search: Any, n_arms: int, n_splits: int | None, least: int) -> None:
    """Raise if there are not enough splits for the number of fits."""
    if n_splits is None or search.n_fits is None:
        return
    most = max(n_arms * n_splits, least)
    if search.n_fits > most:
        raise ValueError(
            f"n_fits={search.n_fits} is too large for {counted(n_arms, 'candidate')} on the "
            f"{counted(n_splits, 'split')} of cv: at most {most} fits are possible. Leave n_fits "
            "out, or use a cv that can be reshuffled, such as a number of folds."
        )
