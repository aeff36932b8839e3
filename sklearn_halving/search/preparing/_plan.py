"""The plan of a search: what the policy plans for it, as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sklearn_halving.policies._plan import Bracket, Plan, Round
from sklearn_halving.policies._types import Problem
from sklearn_halving.resources import Resource, WholeFit

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SearchPlan:
    """The plan of a search, before its first pull."""

    problem: Problem
    """Numbers of candidates and splits, and the range of levels."""
    of_policy: Plan
    """The brackets and rounds. With rungs, the result table has one row for each candidate and
    level, and otherwise one row for each candidate."""
    makes_candidates: bool = False
    """Whether candidates are created during the search, which may end before all are created."""
    uses_time: bool = False
    """Whether the policy plans by the measured times of its pulls."""
    is_endless: bool = False
    """Whether loops of brackets are played until the time is over."""

    @property
    def brackets(self) -> tuple[Bracket, ...]:
        """The brackets; a single one if there are no rungs."""
        return self.of_policy.brackets

    @property
    def has_rungs(self) -> bool:
        """Whether the rounds are rungs."""
        return self.of_policy.has_rungs

    @property
    def n_of_bracket(self) -> list[int]:
        """Number of candidates with which each bracket starts."""
        return [bracket.n_arms for bracket in self.brackets]

    @property
    def n_fits(self) -> int | None:
        """Maximum number of fits; None if it is not known."""
        return None if self.is_endless else self.fits_of(self.of_policy)

    def fits_of(self, rounds: Plan | Round) -> int | None:
        """Return the maximum number of fits of a plan or a round; None if it is not known."""
        return rounds.n_pulls(self.problem.max_repetitions)

    @property
    def n_loops(self) -> int:
        """Number of loops of brackets."""
        return len({bracket.loop for bracket in self.brackets})


def plan_table(plan: SearchPlan, resource: Resource) -> pd.DataFrame:
    """Return one row for each round. Of endless loops, the first one stands for all."""
    import pandas as pd  # slow to import, and `fit` does not need it

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
        for bracket in plan.brackets
        for number, each in enumerate(bracket.rounds)
        if not (plan.is_endless and bracket.loop)
    ]
    table = pd.DataFrame(rows)
    unused = [
        *(["loop"] if table["loop"].nunique() < 2 else []),
        *([] if plan.has_rungs else ["bracket"]),
        *(["n_resources"] if isinstance(resource, WholeFit) and not plan.has_rungs else []),
    ]
    return table.drop(columns=unused)


def add_costs(plan: pd.DataFrame, n_grid_fits: int | None, *, continues: bool) -> None:
    """Add the cost of each rung in full fits, and its share of that of GridSearchCV.

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
