"""What a search knows before its first pull, the same for `plan` and `fit`, and its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from sklearn_halving._typing import Estimator, Params
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies import GridHalving
from sklearn_halving.policies._plan import Bracket, Plan, Round
from sklearn_halving.policies._protocol import ChoosesPoints, GrowsArms, Policy
from sklearn_halving.policies._types import Problem
from sklearn_halving.resources import Iterations, Resource, WholeFit
from sklearn_halving.resources._resource import ContinuedResource, check_rescaled_names
from sklearn_halving.samplers import Sampler
from sklearn_halving.search._parameters import Inputs
from sklearn_halving.search.preparing._candidates import (
    DrawnCandidates,
    LazyCandidates,
    PointCandidates,
    SampledCandidates,
    check_candidates,
)
from sklearn_halving.search.preparing._numbers import Levels, choose_levels
from sklearn_halving.search.preparing._space import SearchSpace, check_number
from sklearn_halving.search.preparing._splits import SearchSplits, search_splits

GRID_FACTOR = 2
"""Default factor of the bracket of a grid."""
SPLITS_OF_RUNGS = 2
"""Number of splits of the first rungs of a grid. A single split was worse on recorded learning
curves."""


@dataclass(frozen=True)
class Setup:
    """Everything that is known of a search, apart from its policy.

    Parameters
    ----------
    inputs : Inputs
        Data, scorers and routed parameters.
    space : SearchSpace
        The search space, from which candidates are drawn.
    resource : Resource
        The resource, which defines the meaning of a level.
    splits : SearchSplits
        The splits, and what is known about them before the first fit.
    levels : Levels
        The range of levels.
    n_candidates : int
        Maximum number of candidates. Brackets have their own.
    sampler : Sampler or None
        The sampler that creates candidates during the search, if one does.
    is_endless : bool
        Whether loops of brackets are played until the time is used up.
    reward_range : tuple[float, float] or None
        The range of the score that guides the search, if it is known.
    drawn : Sequence[Params]
        The candidates, if they must be known before the policy is created.
    """

    inputs: Inputs
    space: SearchSpace
    resource: Resource
    splits: SearchSplits
    levels: Levels
    n_candidates: int = 1
    sampler: Sampler | None = None
    is_endless: bool = False
    reward_range: tuple[float, float] | None = None
    drawn: Sequence[Params] = ()


def grid_setup(
    search: Any, inputs: Inputs, space: SearchSpace, resource: Resource
) -> tuple[Setup, GridHalving]:
    """Return the setup and the policy for a grid. They never make more fits than GridSearchCV.

    If rows are the resource, no rung has fewer than the minimum of `EarlyRungs`.
    """
    splits = search_splits(search, inputs, resource, is_stream=False)
    levels = choose_levels(search, resource, splits)
    factor, n_early = getattr(search, "factor", None), splits.n_repetitions or 1
    if splits.early.has_like_folds:
        n_early = SPLITS_OF_RUNGS
    first_floor = deep_floor = 1
    if resource.subsamples_rows and search.min_resources is None:
        first_floor, deep_floor = splits.early.row_floors(levels.largest)
    n_arms = space.at_most(search.n_candidates)
    check_number(n_arms)
    return Setup(inputs, space, resource, splits, levels), GridHalving(
        n_arms=n_arms,
        factor=GRID_FACTOR if factor is None else factor,
        early_repetitions=n_early,
        first_floor=first_floor,
        deep_floor=deep_floor,
    )


def make_plan(policy: Policy, setup: Setup) -> SearchPlan:
    """Return the plan of a policy, which may determine the number of candidates."""
    levels, splits = setup.levels, setup.splits
    problem = Problem(
        setup.n_candidates,
        levels.smallest,
        levels.largest,
        splits.n_repetitions,
        setup.space.size,
        reward_range=setup.reward_range,
        overlap=splits.overlap,
    )
    plan = policy.plan(problem)
    return SearchPlan(
        **{each.name: getattr(plan, each.name) for each in fields(Plan)},
        problem=replace(problem, n_arms=plan.n_arms),
        makes_candidates=isinstance(policy, GrowsArms | ChoosesPoints),
        uses_time=isinstance(policy, GrowsArms) and policy.uses_time,
        is_endless=setup.is_endless,
    )


@dataclass(frozen=True)
class Prepared:
    """All that is known before the first pull.

    Parameters
    ----------
    setup : Setup
        What is known apart from the policy.
    policy, plan, game
        The policy, its plan, and its game, which has begun.
    candidates : LazyCandidates
        The candidates, some of which may be created during the search.
    """

    setup: Setup
    policy: Policy
    plan: SearchPlan
    game: Any
    candidates: LazyCandidates


def prepare(estimator: Estimator, setup: Setup, policy: Policy) -> Prepared:
    """Start a policy, and return it with its candidates; raise if one does not suit the other."""
    plan, space, seeds = make_plan(policy, setup), setup.space, setup.inputs.seeds
    problem, n_arms = plan.problem, plan.problem.n_arms
    candidates: LazyCandidates
    if plan.makes_candidates:
        game = policy.start(problem, seeds.policy)
        if isinstance(policy, ChoosesPoints):
            candidates = PointCandidates(game, n_arms, space)
        else:
            seed = seeds.rng.randint(2**31 - 1, size=4).tolist()
            candidates = SampledCandidates(game, n_arms, space, setup.sampler, seed)
        check_candidates(estimator, candidates.examples())
    else:
        draw = partial(space.draw, [bracket.n_arms for bracket in plan.first_loop], seeds.rng)
        candidates = DrawnCandidates(n_arms, draw, setup.drawn)
        check_candidates(estimator, (candidate.params for candidate in candidates))
        if plan.breaks_ties:
            ties = tuple(int(candidate.digest[:12], 16) for candidate in candidates)
            problem = replace(problem, tie_break=ties)
        game = policy.start(problem, seeds.policy)
    check_rungs(estimator, setup, candidates)
    return Prepared(setup, policy, plan, game, candidates)


def check_rungs(estimator: Estimator, setup: Setup, candidates: LazyCandidates) -> None:
    """Raise before any fit if a parameter that depends on the resource cannot be rescaled.

    Every candidate is rescaled to the smallest level once. A warning says if the models of a
    resource that could continue are fitted from scratch in each rung.
    """
    resource, levels = setup.resource, setup.levels
    if resource.rescale:
        check_rescaled_names(resource.rescale, estimator, setup.space.names)
        for candidate in candidates:
            unfitted = clone(estimator).set_params(**clone(candidate.params, safe=False))
            resource.rescaled(unfitted, levels.smallest, levels.largest)
    has_rungs = levels.smallest < levels.largest and isinstance(resource, ContinuedResource)
    if not has_rungs or resource.can_continue(estimator):
        return
    if not (isinstance(resource, Iterations) and resource.continuation == "refit"):
        reason = (
            "rescale changes the parameters from rung to rung"
            if resource.rescale
            else f"{type(estimator).__name__}, as it is set up, cannot be trained further by "
            f"{resource.name!r}"
        )
        warn_user(f"Models are fitted from scratch in every rung, because {reason}.")


@dataclass(frozen=True, kw_only=True)
class SearchPlan(Plan):
    """The plan of a policy for a search.

    With rungs, the result table has one row for each candidate and level, and otherwise one row
    for each candidate.

    Parameters
    ----------
    problem : Problem
        Numbers of candidates and splits, and the range of levels.
    makes_candidates : bool
        Whether candidates are created during the search, which may end before all are created.
    uses_time : bool
        Whether the policy plans by the measured times of its pulls.
    is_endless : bool
        Whether loops of brackets are played until the time is used up.
    """

    problem: Problem
    makes_candidates: bool = False
    uses_time: bool = False
    is_endless: bool = False

    @property
    def first_loop(self) -> list[Bracket]:
        """The brackets; if loops are endless, only of the first loop, which stands for all."""
        return [each for each in self.brackets if not (self.is_endless and each.loop)]

    @property
    def n_fits(self) -> int | None:
        """Maximum number of fits; None if it is not known."""
        return None if self.is_endless else self.fits_of(self)

    def fits_of(self, rounds: Plan | Round) -> int | None:
        """Return the maximum number of fits of a plan or a round; None if it is not known."""
        return rounds.n_pulls(self.problem.max_repetitions)


def plan_table(plan: SearchPlan, resource: Resource) -> pd.DataFrame:
    """Return one row for each round."""
    amount = resource.to_amount
    rows = [
        {
            "loop": bracket.loop,
            "bracket": bracket.label,
            "rung" if plan.has_rungs else "stage": number,
            "n_candidates": pd.NA if plan.uses_time and each.is_open else each.n_arms,
            "n_resources": amount(each.level),
            "n_fits": pd.NA if (n := plan.fits_of(each)) is None else n,
        }
        for bracket in plan.first_loop
        for number, each in enumerate(bracket.rounds)
    ]
    table = pd.DataFrame(rows)
    unused = [
        *(["loop"] if table["loop"].nunique() < 2 else []),
        *([] if plan.has_rungs else ["bracket"]),
        *(["n_resources"] if isinstance(resource, WholeFit) and not plan.has_rungs else []),
    ]
    return table.drop(columns=unused)


def add_costs(plan: pd.DataFrame, n_grid_fits: int | None, *, continues: bool) -> None:
    """Add the cost of each rung in full fits, and as a share of the cost of GridSearchCV.

    Parameters
    ----------
    plan : DataFrame
        One row for each rung.
    n_grid_fits : int or None
        Number of fits of GridSearchCV; None without a grid.
    continues : bool
        Whether the training of a model is continued from rung to rung, on the same splits.
    """
    amount, n_fits = plan["n_resources"], plan["n_fits"]
    cost = amount * n_fits
    if continues:
        before = plan[["n_resources", "n_fits"]].shift(fill_value=0)
        n_each = n_fits // plan["n_candidates"]
        n_each_before = before["n_fits"] // plan["n_candidates"].shift(fill_value=1)
        n_continued = np.minimum(n_each, n_each_before) * plan["n_candidates"]
        has_lower_rung = (plan["rung"] > 0) & (before["n_resources"] < amount)
        cost = cost - (before["n_resources"] * n_continued).where(has_lower_rung, 0)
    plan["full_fits"] = (cost / amount.max()).round(2)
    if n_grid_fits is not None:
        plan["of_grid_search"] = (cost / amount.max() / n_grid_fits).round(3)


def add_seconds(
    table: pd.DataFrame, plan: SearchPlan, seconds: float, n_workers: int, held: float
) -> None:
    """Add the time of each round, given the seconds of a full fit.

    Parameters
    ----------
    table : DataFrame
        The plan. A number of full fits that the time budget decides is filled in.
    plan : SearchPlan
        The plan of the search.
    seconds : float
        Time of a full fit.
    n_workers : int
        Number of fits that run at the same time.
    held : float
        Number of full fits that the time budget can hold; infinite without one.
    """
    amount = table.get("n_resources", table["n_fits"] * 0 + 1)
    is_full = amount == amount.max()
    if plan.uses_time:
        is_open = is_full & table["n_fits"].isna()
        if plan.problem.max_repetitions is not None:
            held = min(held, plan.problem.n_arms * plan.problem.max_repetitions)
        n_fits = max(0, int(held - table["n_fits"][is_full].sum()))
        table.loc[is_open, ["n_fits", "n_candidates"]] = n_fits, min(n_fits, plan.problem.n_arms)
    cost = table.get("full_fits", table["n_fits"] * amount / amount.max())
    table["seconds"] = cost.astype("Float64") * seconds / n_workers
