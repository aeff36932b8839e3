"""How the pulls of a search are ordered: brackets and rungs planned ahead, or found on the way.

Everything that a search does differently for the two kinds of policy is here: how many
candidates it draws, what it says at the start, where a pull belongs, and the rows of its table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sklearn_halving.execution._types import EvaluationTask, Outcome
from sklearn_halving.policies._types import IntArray, Pull, Rung, Schedule
from sklearn_halving.resources import Resource, WholeFit
from sklearn_halving.search.reporting._cv_results import ResultRows
from sklearn_halving.search.watching._callbacks import Branch
from sklearn_halving.search.watching._failure_messages import report_abandoned
from sklearn_halving.search.watching._progress import Part

if TYPE_CHECKING:
    import pandas as pd

ALL_SPLITS = np.iinfo(np.int64).max
"""As many splits as there are."""
MAX_STAGES = 20
"""With more stages than these, it is not told when each of them ends."""


class Layout(Protocol):
    """What a search asks about the order of its pulls."""

    @property
    def n_of_bracket(self) -> list[int]:
        """How many candidates each bracket starts with."""

    def n_fits(self, n_repetitions: int | None) -> int | None:
        """Return the most fits that there can be; None if nobody knows."""

    def headline(self, n_repetitions: int | None) -> str:
        """Return the line that is written at the start if ``verbose`` is above 0."""

    def branches(self, n_repetitions: int | None, resource: Resource) -> list[Branch]:
        """Return the tasks between the search and its pulls, for callbacks."""

    def parts(self, n_repetitions: int | None) -> tuple[Part, ...]:
        """Return the rungs or stages whose ends are told; none if there is neither."""

    def path_of(self, pull: Pull) -> tuple[int, ...]:
        """Return the keys of the branches that lead to a pull."""

    def result_rows(
        self, outcomes: Iterable[Outcome], stage_of_arm: IntArray | None
    ) -> ResultRows:
        """Return the rows of ``cv_results_``."""

    def place_of(self, pull: Pull) -> dict[str, int]:
        """Return the columns of ``history_`` that say where a pull belongs."""

    def report(self, task: EvaluationTask, outcomes: Iterable[Outcome]) -> None:
        """Warn of what did not go as planned."""

    def plan(self, n_repetitions: int | None, resource: Resource) -> pd.DataFrame:
        """Return what `fit` will do."""


@dataclass(frozen=True)
class ScheduledLayout:
    """Brackets and rungs, known before the first pull; the arms of a rung on the same splits.

    Parameters
    ----------
    schedule : Schedule
        The brackets.
    ranks_by_level : bool
        Whether a row with more resource ranks before every row with less.
    """

    schedule: Schedule
    ranks_by_level: bool

    @property
    def n_of_bracket(self) -> list[int]:
        """How many candidates each bracket starts with."""
        return [bracket.n_arms for bracket in self.schedule.brackets]

    def n_fits(self, n_repetitions: int | None) -> int:
        """Return how many fits the brackets have."""
        return self.schedule.n_pulls_on(n_repetitions)

    def headline(self, n_repetitions: int | None) -> str:
        """Return the line that is written at the start if ``verbose`` is above 0."""
        return (
            f"Fitting {n_repetitions} folds for {self.schedule.n_arms} candidates, brackets: "
            f"{len(self.schedule.brackets)}, totalling {self.n_fits(n_repetitions)} fits"
        )

    def branches(self, n_repetitions: int | None, resource: Resource) -> list[Branch]:
        """Return a task for each bracket, and in it one for each rung."""
        return [
            Branch(
                place,
                f"bracket s={bracket.label}",
                len(bracket.rungs),
                tuple(
                    Branch(
                        rung.level,
                        f"rung n_resources={resource.to_amount(rung.level)}",
                        rung.n_pulls(n_repetitions),
                    )
                    for rung in bracket.rungs
                ),
            )
            for place, bracket in enumerate(self.schedule.brackets)
        ]

    def parts(self, n_repetitions: int | None) -> tuple[Part, ...]:
        """Return the rungs of all brackets."""
        n_loops = 1 + max((bracket.loop for bracket in self.schedule.brackets), default=0)
        parts = []
        for place, bracket in enumerate(self.schedule.brackets):
            loop = f"loop {bracket.loop + 1} of {n_loops}, " if n_loops > 1 else ""
            before, n_splits_before = 0, 0
            for number, rung in enumerate(bracket.rungs, start=1):
                name = f"{loop}bracket {bracket.label}, rung {number} of {len(bracket.rungs)}"
                n_fits = rung.n_pulls(n_repetitions)
                n_splits = rung.n_splits(n_repetitions)
                n_new = rung.n_arms * max(0, n_splits - n_splits_before) if before else 0
                parts.append(Part(name, rung.level, rung.n_arms, n_fits, place, before, n_new))
                before, n_splits_before = rung.level, n_splits
        return tuple(parts)

    def path_of(self, pull: Pull) -> tuple[int, ...]:
        """Return the place of the bracket, and the level as the key of the rung."""
        return self._bracket_of_arm[pull.arm], pull.level

    def result_rows(
        self, outcomes: Iterable[Outcome], stage_of_arm: IntArray | None
    ) -> ResultRows:
        """Return one row for each (arm, level) that was pulled."""
        bracket_of_arm, brackets = self._bracket_of_arm, self.schedule.brackets
        keys = {(outcome.pull.arm, outcome.pull.level) for outcome in outcomes}
        table = sorted((bracket_of_arm[arm], level, arm) for arm, level in keys)
        columns = [
            (arm, level, brackets[b].label, self._rung_of(b, level), brackets[b].loop)
            for b, level, arm in table
        ]
        arm, level, bracket, rung, loop = np.array(columns, dtype=np.int64).reshape(-1, 5).T
        places = {"bracket": bracket, "iter": rung}
        if loop.any():
            places["loop"] = loop
        rank_group = level if self.ranks_by_level else np.zeros_like(level)
        n_splits = [self._rung(b, level).n_repetitions or ALL_SPLITS for b, level, _ in table]
        return ResultRows(arm, level, places, rank_group, np.array(n_splits, dtype=np.int64))

    def place_of(self, pull: Pull) -> dict[str, int]:
        """Return bracket, loop and rung."""
        place = self._bracket_of_arm[pull.arm]
        bracket = self.schedule.brackets[place]
        rung = self._rung_of(place, pull.level)
        return {"bracket": bracket.label, "loop": bracket.loop, "rung": rung}

    def report(self, task: EvaluationTask, outcomes: Iterable[Outcome]) -> None:
        """Warn of brackets that were stopped."""
        report_abandoned(task, self.schedule, outcomes)

    def plan(self, n_repetitions: int | None, resource: Resource) -> pd.DataFrame:
        """Return one row for each rung, in the order of `cv_results_`."""
        import pandas as pd  # not needed by a plain `fit`, and slow to import

        rows = [
            (
                bracket.label,
                place,
                rung.n_arms,
                resource.to_amount(rung.level),
                rung.n_pulls(n_repetitions),
            )
            for bracket in self.schedule.brackets
            for place, rung in enumerate(bracket.rungs)
        ]
        columns = ["bracket", "rung", "n_candidates", "n_resources", "n_fits"]
        return pd.DataFrame(rows, columns=columns)

    @cached_property
    def _bracket_of_arm(self) -> list[int]:
        brackets: list[int] = self.schedule.bracket_of_arm().tolist()
        return brackets

    def _rung_of(self, place: int, level: int) -> int:
        return [rung.level for rung in self.schedule.brackets[place].rungs].index(level)

    def _rung(self, place: int, level: int) -> Rung:
        return self.schedule.brackets[place].rungs[self._rung_of(place, level)]


@dataclass(frozen=True)
class AdaptiveLayout:
    """Arms that are pulled as often as the policy finds worth while; a row for each of them.

    Parameters
    ----------
    n_arms : int
        Number of candidates.
    n_pulls : int or None
        The most fits that there may be; None if nobody knows.
    stages : tuple of (int, int)
        Numbers of candidates and of fits, stage by stage, where they are known beforehand.
    levels : tuple of int
        The level of each stage.
    eliminates : bool
        Whether candidates that left in an earlier stage rank behind those of a later one.
    """

    n_arms: int
    n_pulls: int | None
    stages: tuple[tuple[int, int], ...] = ()
    levels: tuple[int, ...] = ()
    eliminates: bool = False

    @property
    def n_of_bracket(self) -> list[int]:
        """All candidates: there are no brackets."""
        return [self.n_arms]

    def n_fits(self, n_repetitions: int | None) -> int | None:
        """Return the budget, or all fits there can be if that is less."""
        if n_repetitions is None:
            return self.n_pulls
        n_all = self.n_arms * n_repetitions * max(1, len(set(self.levels)))
        return n_all if self.n_pulls is None else min(self.n_pulls, n_all)

    def headline(self, n_repetitions: int | None) -> str:
        """Return the line that is written at the start if ``verbose`` is above 0."""
        n_fits = self.n_fits(n_repetitions)
        if n_fits is None:
            return f"Fitting {self.n_arms} candidates, as often as the policy asks for"
        return f"Fitting {self.n_arms} candidates, totalling at most {n_fits} fits"

    def branches(self, n_repetitions: int | None, resource: Resource) -> list[Branch]:
        """Return nothing: pulls are tasks of the search itself."""
        return []

    def parts(self, n_repetitions: int | None) -> tuple[Part, ...]:
        """Return the stages, if there are several but not too many."""
        n_stages = len(self.stages)
        if not 1 < n_stages <= MAX_STAGES:
            return ()
        return tuple(
            Part(f"stage {number} of {n_stages}", level, n_arms, n_pulls)
            for number, ((n_arms, n_pulls), level) in enumerate(
                zip(self.stages, self.levels, strict=True), start=1
            )
        )

    def path_of(self, pull: Pull) -> tuple[int, ...]:
        """Return no key."""
        return ()

    def result_rows(
        self, outcomes: Iterable[Outcome], stage_of_arm: IntArray | None
    ) -> ResultRows:
        """Return one row for each candidate, with the pulls at the largest level it reached."""
        level = np.zeros(self.n_arms, dtype=np.int64)
        n_pulls = np.zeros(self.n_arms, dtype=np.int64)
        for outcome in outcomes:
            arm = outcome.pull.arm
            level[arm] = max(level[arm], outcome.pull.level)
            n_pulls[arm] += 1
        places = {"n_pulls": n_pulls}
        if stage_of_arm is not None:
            places["stage"] = np.where(n_pulls > 0, stage_of_arm, -1)
        # In pairs of numbers, so that there is room for the winner ahead of its group.
        rank_group = 2 * places["stage"] if self.eliminates else np.zeros_like(level)
        smallest = min(self.levels, default=1)
        return ResultRows(np.arange(self.n_arms), np.maximum(level, smallest), places, rank_group)

    def place_of(self, pull: Pull) -> dict[str, int]:
        """Return nothing: a pull belongs to its candidate only."""
        return {}

    def report(self, task: EvaluationTask, outcomes: Iterable[Outcome]) -> None:
        """Say nothing: a policy that adapts has no plan to fall short of."""

    def plan(self, n_repetitions: int | None, resource: Resource) -> pd.DataFrame:
        """Return one row for each stage, or for all fits where there are no stages."""
        import pandas as pd  # not needed by a plain `fit`, and slow to import

        rows: list[tuple[Any, ...]] = [
            (stage, n_arms, resource.to_amount(level), n_pulls)
            for stage, ((n_arms, n_pulls), level) in enumerate(
                zip(self.stages, self.levels, strict=False)
            )
        ]
        if not rows:
            n_fits = self.n_fits(n_repetitions)
            amount = resource.to_amount(max(self.levels)) if self.levels else np.nan
            rows = [(0, self.n_arms, amount, pd.NA if n_fits is None else n_fits)]
        plan = pd.DataFrame(rows, columns=["stage", "n_candidates", "n_resources", "n_fits"])
        return plan.drop(columns="n_resources") if isinstance(resource, WholeFit) else plan
