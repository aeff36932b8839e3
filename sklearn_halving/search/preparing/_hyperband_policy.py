"""The policy of HyperbandSearchCV: one bracket for a grid, Hyperband's brackets otherwise."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from sklearn_halving._typing import Candidates
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies import FiniteHorizonHalving, GridHalving, Hyperband
from sklearn_halving.policies.bases._rungs import exact_factor
from sklearn_halving.samplers import Sampler
from sklearn_halving.search._formatting import counted
from sklearn_halving.search.preparing._candidates import BRACKETS_IN_PLAY
from sklearn_halving.search.preparing._content_hash import content_hash
from sklearn_halving.search.preparing._inputs import check_defaults, read_seconds
from sklearn_halving.search.preparing._levels import MAX_ELIMINATIONS
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.preparing._preparation import Preparation, Setup
from sklearn_halving.search.preparing._search_space import SearchSpace, check_number, n_different
from sklearn_halving.search.preparing._splitting import SearchSplits

if TYPE_CHECKING:
    from sklearn_halving.search._hyperband import HyperbandSearchCV

BRACKET_FACTOR = 3
"""Default factor of Hyperband's brackets."""
MIN_LOOP_COST = (MAX_ELIMINATIONS + 1) ** 2
"""Cost of Hyperband's five brackets in full pulls. If there are fewer because of the minimum
number of rows, they start more candidates than in the paper: with the paper's numbers, the scores
of the winners were lower on small tables than with five brackets, and with these they were not."""
N_WITHOUT_HALVING = 10
"""Number of candidates that are drawn from distributions if only one level is possible: the
default ``n_iter`` of RandomizedSearchCV."""
USUAL_FACTOR = 10
"""Larger factors cause a warning."""
MAX_STARTED = 2**16
"""Maximum number of candidates that a bracket may start. Drawing them takes a few seconds."""
GRID_FACTOR = 2
MAX_PLANNED_FITS = 500_000
"""Loops beyond this number of fits are not planned if the search has a time budget."""
MAX_FITS_PER_SECOND = 50_000
"""Nor are loops that cannot start within the time budget: no search makes fits this fast."""
MAX_DRAWN = 20_000
"""Loops beyond this number of candidates are not planned either, if all of them are drawn before
the first fit, as from a grid."""
ONLY_FOR_BRACKETS: dict[str, object] = {
    "n_loops": 1,
    "min_candidates": None,
    "schedule": "algorithm_1",
    "select": "max_resources",
}
"""Parameters that apply only to Hyperband's brackets, and their defaults."""


def chooses_plan(search: HyperbandSearchCV) -> bool:
    """Return whether the brackets are not those of the paper, but chosen by the search."""
    return isinstance(search.brackets, str) and search.brackets == "auto"


def halves_grid(search: HyperbandSearchCV, space: SearchSpace, sampler: Sampler | None) -> bool:
    """Return whether all candidates of a grid start in one bracket."""
    return chooses_plan(search) and space.is_grid and sampler is None


def bracket_factor(search: HyperbandSearchCV) -> float:
    """Return the factor of Hyperband's brackets."""
    return BRACKET_FACTOR if isinstance(search.factor, str) else search.factor


def make_bracket_policy(
    search: HyperbandSearchCV, setup: Setup
) -> Hyperband | FiniteHorizonHalving:
    """Return the policy that plays the brackets of Hyperband."""
    levels, space = setup.levels, setup.space
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
    brackets = search.brackets if isinstance(search.brackets, str) else tuple(search.brackets)
    arms_arrive = setup.sampler is not None
    may_be_short = chooses_plan(search) and setup.resource.subsamples_rows
    may_be_short &= search.min_resources == "auto"
    loop = Hyperband(
        factor=bracket_factor(search),
        brackets="all" if chooses_plan(search) else brackets,
        min_candidates=search.min_candidates,
        max_candidates=search.max_candidates,
        max_eliminations=levels.n_eliminations,
        select=search.select,
        schedule_rule=search.schedule,
        early_repetitions=_n_early_splits(search, setup.splits),
        brackets_in_play=BRACKETS_IN_PLAY if arms_arrive else None,
        races=arms_arrive and _may_race(search),
        min_loop_cost=MIN_LOOP_COST if may_be_short else 1,
    )
    return replace(loop, n_loops=_n_planned_loops(search, loop, setup))


def _may_race(search: HyperbandSearchCV) -> bool:
    """Return whether candidates may be dropped in the last rung.

    A callable ``refit`` may prefer other candidates than those with the best scores.
    """
    is_paper = search.select != "max_resources" or search.promotion != "synchronous"
    return not is_paper and not callable(search.refit)


def _n_planned_loops(search: HyperbandSearchCV, loop: Hyperband, setup: Setup) -> int:
    """Return the number of loops to plan; ``loop`` is the policy with a single loop."""
    seconds = read_seconds("time_budget", search.time_budget)
    if seconds is None:
        if search.n_loops == "auto":
            raise ValueError(
                "n_loops='auto' needs a time budget; got time_budget=None. Set time_budget, or "
                "give n_loops as a number."
            )
        return int(search.n_loops)
    size = setup.space.size
    schedule = loop.schedule(setup.levels.smallest, setup.levels.largest, size)
    # The time budget may change between the sessions of a checkpoint, but not the candidates.
    possible = MAX_FITS_PER_SECOND * seconds if search.checkpoint is None else MAX_PLANNED_FITS
    most = int(min(possible, MAX_PLANNED_FITS)) // schedule.n_pulls_on(
        setup.splits.n_repetitions or 1
    )
    if size is not None:
        most = min(most, MAX_DRAWN // schedule.n_arms)
    most = max(1, most)
    return most if search.n_loops == "auto" else min(int(search.n_loops), most)


def _n_early_splits(search: HyperbandSearchCV, splits: SearchSplits) -> int | None:
    """Return the number of splits on which the early rungs are evaluated; None for all."""
    if search.early_splits == "all" or splits.n_repetitions is None:
        return None
    wanted = None if isinstance(search.early_splits, str) else int(search.early_splits)
    if wanted is None and search.select == "max_resources":
        # With select="all_rungs", an early rung may win. The best of many means over few splits
        # is biased upwards compared with means over all splits.
        wanted = splits.early.n_telling
    return None if wanted is None or wanted >= splits.n_repetitions else wanted


def make_grid_policy(search: HyperbandSearchCV, setup: Setup) -> GridHalving:
    """Return the policy for a grid, with the minimum numbers of rows if rows are the resource."""
    other = (
        "brackets='auto' for a grid, which has one bracket that starts every candidate once and "
        "compares the last ones on all splits"
    )
    check_defaults(
        search, ONLY_FOR_BRACKETS, other, "brackets='all' for the brackets of Hyperband"
    )
    splits = setup.splits
    n_splits = splits.n_repetitions or 1
    if search.early_splits == "auto":
        n_early, n_race = splits.early.splits_of_grid(n_splits, splits.n_test)
    else:
        n_early = n_splits if isinstance(search.early_splits, str) else search.early_splits
        n_race = n_early
    first_floor = deep_floor = 1
    if setup.resource.subsamples_rows and search.min_resources == "auto":
        first_floor, deep_floor = splits.early.row_floors(setup.levels.largest)
    size = setup.space.size or 1
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
            "planned. Usual values are 2 to 5."
        )


def warn_of_left_out(
    search: HyperbandSearchCV, prepared: Preparation, candidates: Candidates
) -> None:
    """Warn if candidates of a grid are left out, and name the parameter that changes it."""
    space, has_sampler = prepared.setup.space, prepared.setup.sampler is not None
    if not space.is_grid:
        return
    # The candidates of a sampler do not exist yet. It does not repeat any while there are others.
    n_started = prepared.plan.problem.n_arms if has_sampler else n_different(candidates)
    if n_started == space.size:
        return
    n_all = space.n_different_in_grid
    if n_started >= n_all:
        return
    if has_sampler:
        warn_user(
            f"At least {n_all - n_started} of the {n_all} candidates of the grid are left out: "
            f"with sampler={search.sampler!r}, the brackets start {n_started}. Leave sampler out "
            "to start every candidate."
        )
        return
    if search.max_candidates is not None:
        remedy = f"A larger max_candidates, now {search.max_candidates}, starts more of them"
    else:
        remedy = "brackets='auto', the default, starts every candidate"
    warn_user(
        f"{n_all - n_started} of the {n_all} candidates of the grid are left out: brackets="
        f"{search.brackets!r} starts {n_started} of them, drawn at random. {remedy}."
    )


def warn_of_small_grid(prepared: Preparation) -> None:
    """Warn if there are fewer candidates than a bracket would start with."""
    setup, schedule = prepared.setup, prepared.plan.schedule
    size, n_splits = setup.space.size, setup.splits.n_repetitions or 1
    wanted = prepared.policy.schedule(setup.levels.smallest, setup.levels.largest)
    if size is None or wanted is None or schedule is None or schedule == wanted:
        return
    short = [b.label for b in wanted.brackets if b.n_arms > size and b.loop == 0]
    what = "grid has" if setup.space.is_grid else "distributions have"
    message = (
        f"The {what} {counted(size, 'candidate')}, fewer than the brackets {short} would start. "
        "Each of these brackets starts all of them."
    )
    if schedule.n_pulls > size and len(schedule.brackets) > 1:
        n_fits = schedule.n_pulls_on(n_splits)
        message += (
            f" Candidates may be fitted in several brackets, with {n_fits} fits in total. Fitting "
            f"all candidates on all splits would take {size * n_splits} fits. For a grid, in "
            "which all values are lists, the defaults never make more fits than that."
        )
    warn_user(message)
