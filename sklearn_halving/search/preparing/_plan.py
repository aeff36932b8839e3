"""The plan of a search as plain data: brackets and rungs, or stages, or neither.

This module does not depend on the rest of the search. The plan is used to draw candidates, and
for callbacks, progress, the result table, the history and the warnings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sklearn_halving.policies._types import PolicyDescription, Problem, Pull, Schedule
from sklearn_halving.resources import Resource, WholeFit

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SearchPlan:
    """The plan of a search, before its first pull.

    Parameters
    ----------
    problem : Problem
        Numbers of candidates and splits, and the range of levels.
    description : PolicyDescription
        Description of the policy for this problem.
    schedule : Schedule or None
        The brackets and rungs, if the policy has any. The result table then has one row for
        each candidate and level. Otherwise it has one row for each candidate.
    makes_candidates : bool, default=False
        Whether candidates are created during the search. The search may then end before all of
        them are created.
    uses_time : bool, default=False
        Whether the policy plans by the measured times of its pulls.
    is_endless : bool, default=False
        Whether loops of brackets are played until the time is over.
    """

    problem: Problem
    description: PolicyDescription
    schedule: Schedule | None
    makes_candidates: bool = False
    uses_time: bool = False
    is_endless: bool = False

    @property
    def n_of_bracket(self) -> list[int]:
        """Number of candidates with which each bracket starts."""
        if self.schedule is None:
            return [self.problem.n_arms]
        return [bracket.n_arms for bracket in self.schedule.brackets]

    @property
    def n_loops(self) -> int:
        """Number of loops of brackets; 1 without brackets."""
        brackets = () if self.schedule is None else self.schedule.brackets
        return max((bracket.loop for bracket in brackets), default=0) + 1

    @property
    def n_fits(self) -> int | None:
        """Maximum number of fits; None if it is not known."""
        problem, description = self.problem, self.description
        if self.uses_time or self.is_endless:
            return None
        if self.schedule is not None:
            return self.schedule.n_pulls_on(problem.max_repetitions)
        most, n_splits = description.max_pulls, problem.max_repetitions
        n_planned = sum(stage.n_pulls for stage in description.stages)
        if not n_planned:
            # At several levels, a candidate may have more fits than there are splits.
            if n_splits is None or description.plays_levels:
                return most
            n_planned = problem.n_arms * n_splits
        return n_planned if most is None else min(most, n_planned)

    @property
    def may_end_early(self) -> bool:
        """Whether a search may have fewer fits than planned although nothing stops it."""
        return self.schedule is None and not self.description.is_exact

    def path_of(self, pull: Pull) -> tuple[int, ...]:
        """Return the indices of the bracket and the rung; an empty tuple without brackets."""
        if self.schedule is None:
            return ()
        place = self.bracket_of_arm[pull.arm]
        return place, self.schedule.brackets[place].rung_of(pull.level, pull.repetition)

    @cached_property
    def bracket_of_arm(self) -> list[int]:
        """Index of the bracket of each candidate in the schedule."""
        if self.schedule is None:
            return [0] * self.problem.n_arms
        brackets: list[int] = self.schedule.bracket_of_arm().tolist()
        return brackets


def plan_table(plan: SearchPlan, resource: Resource) -> pd.DataFrame:
    """Return one row for each rung or stage, or one row for all fits if there are neither."""
    import pandas as pd  # slow to import, and `fit` does not need it

    of_rungs = ["bracket", "rung", "n_candidates", "n_resources", "n_fits"]
    if plan.schedule is not None:
        n_splits, amount = plan.problem.max_repetitions, resource.to_amount
        # Of endless loops, the first one stands for all.
        brackets = [b for b in plan.schedule.brackets if not (plan.is_endless and b.loop)]
        rungs = [
            (bracket.label, place, rung.n_arms, amount(rung.level), rung.n_pulls(n_splits))
            for bracket in brackets
            for place, rung in enumerate(bracket.rungs)
        ]
        table = pd.DataFrame(rungs, columns=of_rungs)
        if plan.n_loops > 1:
            table.insert(0, "loop", [bracket.loop for bracket in brackets for _ in bracket.rungs])
        return table
    rows: list[tuple[object, ...]] = [
        (number, stage.n_arms, resource.to_amount(stage.level), stage.n_pulls)
        for number, stage in enumerate(plan.description.stages)
    ]
    if plan.uses_time:
        low, top = map(resource.to_amount, (plan.problem.min_level, plan.problem.max_level))
        screening = [(1, pd.NA, low, pd.NA)] * (low != top)
        rows = [(0, 1, top, 1), *screening, (2, pd.NA, top, pd.NA)]
    if not rows:
        n_fits = pd.NA if plan.n_fits is None else plan.n_fits
        rows = [(0, plan.problem.n_arms, resource.to_amount(plan.problem.max_level), n_fits)]
    table = pd.DataFrame(rows, columns=["stage", *of_rungs[2:]])
    return table.drop(columns="n_resources") if isinstance(resource, WholeFit) else table


def add_costs(plan: pd.DataFrame, problem: Problem, *, continues: bool) -> None:
    """Add the cost of each rung in full fits, and its share of the cost of a grid search.

    Parameters
    ----------
    plan : DataFrame
        One row for each rung.
    problem : Problem
        Numbers of candidates and splits.
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
    n_started = int(plan.loc[plan["rung"] == 0, "n_candidates"].sum())
    n_different = min(n_started, problem.n_available or n_started)
    n_grid_fits = n_different * (problem.max_repetitions or 1)
    plan["full_fits"] = (cost / amount.max()).round(2)
    plan["of_grid_search"] = (cost / amount.max() / n_grid_fits).round(3)
