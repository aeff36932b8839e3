"""The policy of HyperbandSearchCV: one bracket for a grid, Hyperband's brackets otherwise."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from sklearn_halving._typing import Candidates
from sklearn_halving.policies import FiniteHorizonHalving, GridHalving, Hyperband
from sklearn_halving.policies.bases._rungs import exact_factor
from sklearn_halving.resources import Resource
from sklearn_halving.search._user_warnings import warn_user
from sklearn_halving.search.preparing._arriving import BRACKETS_IN_PLAY, sampler_of
from sklearn_halving.search.preparing._content_hash import content_hash
from sklearn_halving.search.preparing._loops import n_planned_loops
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.preparing._preparation import Levels
from sklearn_halving.search.preparing._search_space import (
    SearchSpace,
    check_number,
    n_different,
)
from sklearn_halving.search.preparing._splitting import SearchSplits

if TYPE_CHECKING:
    from sklearn_halving.search._hyperband import HyperbandSearchCV

BRACKET_FACTOR = 3
"""Default factor of Hyperband's brackets."""
N_WITHOUT_HALVING = 10
"""Number of candidates that are drawn from distributions if only one level is possible: the
default ``n_iter`` of RandomizedSearchCV."""
USUAL_FACTOR = 10
"""Larger factors cause a warning."""
MAX_STARTED = 2**16
"""Maximum number of candidates that a bracket may start. Drawing them takes a few seconds."""
GRID_FACTOR = 2
EARLY_SPLITS = 2
"""Number of splits of the early rungs. A single split was worse on recorded learning curves,
except if test folds have `MANY_TEST_ROWS` rows."""
MANY_TEST_ROWS = 2000
FLOOR_ROWS, FLOOR_ROWS_OF_CLASS = 50, 5
"""Minimum numbers of rows for the rung directly below the largest level."""
DEEP_ROWS, DEEP_ROWS_OF_CLASS = 200, 10
"""Minimum numbers of rows for all rungs below that one."""
ONLY_FOR_BRACKETS: dict[str, object] = {
    "n_loops": 1,
    "min_candidates": None,
    "schedule": "algorithm_1",
    "select": "max_resources",
}
"""Parameters that apply only to Hyperband's brackets, and their defaults."""


def halves_grid(search: HyperbandSearchCV, space: SearchSpace) -> bool:
    """Return whether all candidates of a grid start in one bracket."""
    is_automatic = isinstance(search.brackets, str) and search.brackets == "auto"
    return is_automatic and space.is_grid and sampler_of(search, space) is None


def bracket_factor(search: HyperbandSearchCV) -> float:
    """Return the factor of Hyperband's brackets."""
    return BRACKET_FACTOR if isinstance(search.factor, str) else search.factor


def make_bracket_policy(
    search: HyperbandSearchCV, levels: Levels, space: SearchSpace, splits: SearchSplits
) -> Hyperband | FiniteHorizonHalving:
    """Return the policy that plays the brackets of Hyperband."""
    eta = exact_factor(bracket_factor(search))
    can_halve = levels.n_eliminations or levels.largest >= levels.smallest * eta
    if search.max_candidates is not None and search.max_candidates < eta:
        can_halve = False
    if isinstance(search.brackets, str) and not can_halve:
        # With one level, nothing can be halved, and Algorithm 1 would try a single candidate.
        # All candidates are therefore evaluated at that level.
        n_arms = max(N_WITHOUT_HALVING, search.min_candidates or 1)
        if space.size is not None:
            n_arms = space.size if space.is_grid else min(n_arms, space.size)
        n_arms = min(n_arms, search.max_candidates or n_arms)
        check_number(n_arms)
        return FiniteHorizonHalving(n_arms, n_arms * levels.largest, float(eta))
    brackets = search.brackets
    if isinstance(brackets, str):
        brackets = "all" if brackets == "auto" else brackets
    else:
        brackets = tuple(brackets)
    loop = Hyperband(
        factor=bracket_factor(search),
        brackets=brackets,
        min_candidates=search.min_candidates,
        max_candidates=search.max_candidates,
        max_eliminations=levels.n_eliminations,
        select=search.select,
        schedule_rule=search.schedule,
        early_repetitions=_n_early_splits(search, splits),
        brackets_in_play=None if sampler_of(search, space) is None else BRACKETS_IN_PLAY,
    )
    n_loops = n_planned_loops(search, loop, levels, space, splits.n_repetitions or 1)
    return replace(loop, n_loops=n_loops)


def _n_early_splits(search: HyperbandSearchCV, splits: SearchSplits) -> int | None:
    """Return the number of splits on which the early rungs are evaluated; None for all."""
    if search.early_splits == "all" or splits.n_repetitions is None:
        return None
    wanted = None if isinstance(search.early_splits, str) else int(search.early_splits)
    if wanted is None and search.select == "max_resources":
        # With select="all_rungs", an early rung may win. The best of many means over few splits
        # is biased upwards compared with means over all splits.
        wanted = splits.n_telling
    return None if wanted is None or wanted >= splits.n_repetitions else wanted


def _check_grid_options(search: HyperbandSearchCV) -> None:
    """Raise if a parameter does not apply to the bracket that starts the whole grid."""
    for name, default in ONLY_FOR_BRACKETS.items():
        value = getattr(search, name)
        if value != default:
            raise ValueError(
                f"{name}={value!r} cannot be combined with brackets='auto' for a grid, which is "
                "one bracket that starts every candidate once and compares the last ones on all "
                f"splits. Use {name}={default!r}, or brackets='all' for the brackets of Hyperband."
            )


def make_grid_policy(
    search: HyperbandSearchCV,
    resource: Resource,
    levels: Levels,
    space: SearchSpace,
    splits: SearchSplits,
) -> GridHalving:
    """Return the policy for a grid, with the minimum numbers of rows if rows are the resource."""
    _check_grid_options(search)
    n_splits = splits.n_repetitions or 1
    if search.early_splits == "auto":
        n_race = EARLY_SPLITS if splits.has_like_folds else n_splits
        n_early = 1 if splits.has_like_folds and splits.n_test >= MANY_TEST_ROWS else n_race
    else:
        n_early = n_splits if isinstance(search.early_splits, str) else search.early_splits
        n_race = n_early
    first_floor = deep_floor = 1
    if resource.subsamples_rows and search.min_resources == "auto":
        first_floor, deep_floor = row_floors(splits, levels.largest)
    size = space.size or 1
    n_arms = min(size, search.max_candidates or size)
    check_number(n_arms)
    return GridHalving(
        n_arms=n_arms,
        n_repetitions=n_splits,
        factor=GRID_FACTOR if isinstance(search.factor, str) else search.factor,
        early_repetitions=n_early,
        race_repetitions=n_race,
        first_floor=first_floor,
        deep_floor=deep_floor,
    )


def row_floors(splits: SearchSplits, n_train: int) -> tuple[int, int]:
    """Return the minimum number of rows for the rung below the largest level and for lower rungs.

    A subset needs some rows of each class. If the training fold has more rows than columns, a
    subset also needs as many rows as there are columns: models rank differently if there are
    too few rows to determine their coefficients.
    """
    n_columns = splits.n_columns if splits.n_columns < n_train else 0
    first = max(FLOOR_ROWS, FLOOR_ROWS_OF_CLASS * splits.n_classes, n_columns)
    return first, max(first, DEEP_ROWS, DEEP_ROWS_OF_CLASS * splits.n_classes)


def tie_break_of(candidates: Candidates, seed: np.random.SeedSequence) -> tuple[int, ...]:
    """Return a number for each candidate that depends on its parameters and on the seed."""
    key = blake2b(repr((seed.entropy, seed.spawn_key)).encode(), digest_size=32).digest()
    return tuple(
        int.from_bytes(blake2b(content_hash(params).encode(), key=key, digest_size=7).digest())
        for params in candidates
    )


def check_width(search: HyperbandSearchCV, plan: SearchPlan) -> None:
    """Raise if planning the brackets would take minutes, and warn of an unusual factor."""
    factor, n_widest = search.factor, max(plan.n_of_bracket)
    if n_widest > MAX_STARTED:
        raise ValueError(
            f"factor={factor!r} must be small enough that no bracket starts more than "
            f"{MAX_STARTED} candidates, but one would start {n_widest}. Use a smaller factor, "
            "usually from 2 to 5, raise min_resources, or set max_candidates."
        )
    if not isinstance(factor, str) and factor > USUAL_FACTOR:
        warn_user(
            f"factor={factor!r} is unusually large: only 1 of {factor!r} candidates is kept from "
            f"rung to rung. Up to {plan.n_fits} fits of {sum(plan.n_of_bracket)} candidates are "
            "planned. Usually factor is from 2 to 5."
        )


def warn_of_left_out(
    search: HyperbandSearchCV, space: SearchSpace, candidates: Candidates
) -> None:
    """Warn if candidates of a grid are left out, and name the parameter that changes it."""
    n_started = n_different(candidates)
    if not space.is_grid or n_started == space.size:
        return
    n_all = space.n_different_in_grid
    if n_started == n_all:
        return
    if search.max_candidates is not None:
        remedy = f"A larger max_candidates, now {search.max_candidates}, starts more of them"
    else:
        remedy = "brackets='auto', the default, starts every candidate"
    warn_user(
        f"{n_all - n_started} of the {n_all} candidates of the grid are left out: brackets="
        f"{search.brackets!r} starts {n_started} of them, drawn at random. {remedy}."
    )
