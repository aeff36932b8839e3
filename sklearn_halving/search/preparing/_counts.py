"""Numbers of candidates and fits that a search chooses if the user does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn_halving._formatting import counted
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies import GridHalving
from sklearn_halving.resources import Resource, WholeFit, resolve_resource
from sklearn_halving.search.preparing._levels import Levels
from sklearn_halving.search.preparing._setup import Setup
from sklearn_halving.search.preparing._space import SearchSpace, check_number
from sklearn_halving.search.preparing._splits import SearchSplits

N_OF_DISTRIBUTIONS = 10
"""Default number of candidates that are drawn from distributions: the default ``n_iter`` of
RandomizedSearchCV."""
FITS_OF_GRID_SEARCH = 5
"""Number of fits of a candidate in GridSearchCV with its default cv."""
MOST_CANDIDATES = 10_000
"""Maximum number of candidates that are created during a search."""
GRID_FACTOR = 2
"""Default factor of the bracket of a grid."""
SPLITS_OF_RUNGS = 2
"""Number of splits of the first rungs of a grid. A single split was worse on recorded learning
curves."""


def optional_resource(search: Any) -> Resource:
    """Return the resource, which is rows if only its amount is given; else, fits are whole."""
    if search.resource is None and search.max_resources is None:
        return WholeFit()
    return resolve_resource(search.resource or "n_samples", search.estimator)


def count_candidates(
    search: Any,
    space: SearchSpace,
    least_n_fits: Callable[[int], int],
    fits_of_a_drawn: int = FITS_OF_GRID_SEARCH,
) -> int:
    """Return the number of candidates of a search that draws them before the first fit.

    ``least_n_fits`` is the smallest budget for a number of candidates, and one candidate is
    drawn from distributions for ``fits_of_a_drawn`` fits.
    """
    if search.n_candidates is not None:
        return min(int(search.n_candidates), space.size or int(search.n_candidates))
    if space.is_grid and space.size is not None:
        if search.n_fits is None:
            check_number(space.size)  # otherwise the policy compares it with its budget
        return space.size
    n_arms = N_OF_DISTRIBUTIONS
    if search.n_fits is not None:
        n_arms = max(1, int(search.n_fits) // fits_of_a_drawn)
        while n_arms > 1 and least_n_fits(n_arms) > search.n_fits:
            n_arms -= 1
    n_arms = max(n_arms, len(space.initial))
    return min(n_arms, space.size or n_arms)


def count_fits(search: Any, n_arms: int, splits: SearchSplits, least: int = 1) -> int:
    """Return the budget of fits: by default, that of GridSearchCV with five folds."""
    if search.n_fits is not None:
        return int(search.n_fits)
    n_each = min(FITS_OF_GRID_SEARCH, splits.n_repetitions or FITS_OF_GRID_SEARCH)
    return max(n_each * n_arms, least)


def check_splits(search: Any, setup: Setup, least: int) -> None:
    """Raise if there are not enough splits for the number of fits."""
    n_arms, n_splits = setup.n_candidates, setup.splits.n_repetitions
    if n_splits is None or search.n_fits is None:
        return
    most = max(n_arms * n_splits, least)
    if search.n_fits > most:
        raise ValueError(
            f"n_fits={search.n_fits} is too large for {counted(n_arms, 'candidate')} on the "
            f"{counted(n_splits, 'split')} of cv: at most {most} fits are possible. Leave n_fits "
            "out, or use a cv that can be reshuffled, such as a number of folds."
        )


def warn_of_candidates(search: Any, space: SearchSpace) -> None:
    """Warn if there are fewer candidates than were asked for."""
    size, wanted = space.size, search.n_candidates
    if size is not None and wanted is not None and size < wanted:
        warn_user(
            f"There are only {size} candidates, fewer than n_candidates={wanted}: all of them are "
            "tried."
        )


def grid_policy(
    search: Any, space: SearchSpace, resource: Resource, splits: SearchSplits, levels: Levels
) -> GridHalving:
    """Return the policy for a grid, which never makes more fits than GridSearchCV.

    It has the minimum numbers of rows if rows count.
    """
    n_splits, factor = splits.n_repetitions or 1, getattr(search, "factor", None)
    first_floor = deep_floor = 1
    if resource.subsamples_rows and search.min_resources is None:
        first_floor, deep_floor = splits.early.row_floors(levels.largest)
    n_arms = min(n for n in (search.n_candidates, space.size) if n is not None)
    check_number(n_arms)
    return GridHalving(
        n_arms=n_arms,
        n_repetitions=n_splits,
        factor=GRID_FACTOR if factor is None else factor,
        early_repetitions=SPLITS_OF_RUNGS if splits.early.has_like_folds else n_splits,
        first_floor=first_floor,
        deep_floor=deep_floor,
    )
