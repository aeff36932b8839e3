"""The progress of a search, and an estimate of the remaining time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from math import isnan, nan
from typing import cast

from sklearn_halving.execution._types import Outcome
from sklearn_halving.policies._types import Pull
from sklearn_halving.resources import Resource
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.watching._remaining_time import FitCosts

MAX_STAGES = 20
"""With more stages than this, no line is printed at the end of each stage."""


@dataclass(frozen=True)
class Part:
    """A part of a search, a rung or a stage, at whose end a line is printed.

    Parameters
    ----------
    name : str
        Name of the part, with the numbers of the columns of ``history_``, which begin with 0.
    level : int
        Level of its fits.
    n_candidates, n_fits : int
        Largest number of candidates and of fits.
    n_splits : int, default=1
        Number of splits on which the candidates of a rung are compared.
    bracket : int or None, default=None
        Index of its bracket; None for a stage.
    previous_level : int, default=0
        Level of the previous rung of its bracket; 0 for the first rung.
    n_from_scratch : int, default=0
        Number of its last fits that are on splits which the previous rung does not use, so that
        there is no model to continue from.
    races : bool, default=False
        Whether candidates may be dropped after their fits on one split. When the part has ended:
        whether some were.
    """

    name: str
    level: int
    n_candidates: int
    n_fits: int
    n_splits: int = 1
    bracket: int | None = None
    previous_level: int = 0
    n_from_scratch: int = 0
    races: bool = False


def parts_of(plan: SearchPlan) -> tuple[Part, ...]:
    """Return the rungs of all brackets, or the stages if their number is 2 to `MAX_STAGES`."""
    if plan.schedule is None:
        stages = plan.description.stages
        if not 1 < len(stages) <= MAX_STAGES:
            return ()
        return tuple(
            Part(f"stage {number}", stage.level, stage.n_arms, stage.n_pulls)
            for number, stage in enumerate(stages)
        )
    parts, n_repetitions, has_loops = [], plan.problem.max_repetitions, plan.n_loops > 1
    for place, bracket in enumerate(plan.schedule.brackets):
        loop = f"loop {bracket.loop}, " if has_loops else ""
        before, n_splits_before = 0, 0
        for number, rung in enumerate(bracket.rungs):
            name = f"{loop}bracket {bracket.label}, rung {number}"
            n_fits, n_splits = rung.n_pulls(n_repetitions), rung.n_splits(n_repetitions)
            n_new = rung.n_arms * max(0, n_splits - n_splits_before) if before else 0
            is_last = number == len(bracket.rungs) - 1
            races = plan.description.races and is_last and n_splits > 1
            parts.append(
                Part(name, rung.level, rung.n_arms, n_fits, n_splits, place, before, n_new, races)
            )
            before, n_splits_before = rung.level, n_splits
    return tuple(parts)


@dataclass(frozen=True)
class ProgressReport:
    """The current state of a search.

    Parameters
    ----------
    n_fits : int
        Number of completed fits, including those from a checkpoint.
    n_planned : int or None
        Largest number of fits; None if unknown.
    n_from_checkpoint : int
        Number of fits from the checkpoint.
    n_candidates : int
        Number of candidates with at least one fit.
    place : str
        Bracket and rung, or stage, of the latest fit; empty if there are none.
    best_score : float
        Best mean score of a candidate; NaN if there is no score yet. The winner may be another
        candidate whose score is more certain.
    best_resources : float
        Amount of resource at which ``best_score`` was reached.
    best_n_splits : int
        Number of splits over which ``best_score`` is the mean; 0 if there is no score yet.
    seconds : float
        Time since the start of the search.
    seconds_left : float or None
        Estimate of the remaining time without the refit; None if unknown.
    """

    n_fits: int
    n_planned: int | None
    n_from_checkpoint: int
    n_candidates: int
    place: str
    best_score: float
    best_resources: float
    best_n_splits: int
    seconds: float
    seconds_left: float | None


@dataclass
class Standings:
    """Mean scores of candidates at each level, and the best mean.

    Parameters
    ----------
    by_level : bool
        Whether candidates with more resource rank before all with less.
    n_splits : dict of int to list of int, or None
        Numbers of scores for which a candidate has a mean at each level; None: any number.
    """

    by_level: bool
    n_splits: Mapping[int, Sequence[int]] | None
    _sums: dict[int, dict[int, tuple[float, int]]] = field(default_factory=dict)
    _ranked: dict[tuple[int, int], list[tuple[float, int]]] = field(default_factory=dict)

    def add(self, pull: Pull, score: float) -> None:
        """Add the score of one fit."""
        sums = self._sums.setdefault(pull.level, {})
        total, n = sums.get(pull.arm, (0.0, 0))
        sums[pull.arm] = total + score, n + 1
        if self.n_splits is None or n + 1 in self.n_splits[pull.level]:
            mean = self._mean(pull.level, pull.arm)
            if not isnan(mean):
                # Candidates compared on more splits of a level rank before all others.
                key = pull.level, 0 if self.n_splits is None else n + 1
                heappush(self._ranked.setdefault(key, []), (-mean, pull.arm))

    def n_with_mean(self, level: int, arms: Sequence[int]) -> int:
        """Return how many of these arms have scores at this level, none of them NaN."""
        sums = self._sums.get(level, {})
        return sum(not isnan(sums[arm][0]) for arm in arms if arm in sums)

    def best(self) -> tuple[float, int, int]:
        """Return the best mean, its level and its number of scores, or NaN, 0 and 0."""
        best = {key: self._best_of(key) for key in self._ranked}
        best = {key: (mean, n) for key, (mean, n) in best.items() if not isnan(mean)}
        if not best:
            return nan, 0, 0
        key = max(best) if self.by_level else max(best, key=lambda key: best[key][0])
        mean, n = best[key]
        return mean, key[0], key[1] or n

    def _best_of(self, key: tuple[int, int]) -> tuple[float, int]:
        """Return the best mean at a level and its number of scores, without visiting all arms."""
        ranked = self._ranked[key]
        while ranked and -ranked[0][0] != self._mean(key[0], ranked[0][1]):
            heappop(ranked)  # outdated by a later score
        return (-ranked[0][0], self._sums[key[0]][ranked[0][1]][1]) if ranked else (nan, 0)

    def _mean(self, level: int, arm: int) -> float:
        total, n = self._sums[level][arm]
        return total / n


@dataclass
class Progress:
    """Counts the fits of a search and estimates the rest.

    Parameters
    ----------
    parts : sequence of Part
        The rungs, bracket by bracket, or the stages; may be empty.
    n_planned : int or None
        Largest number of fits; None if unknown.
    path_of : callable
        Returns the bracket and the rung of a pull, or nothing without brackets.
    reward : callable
        Returns the score that guides the search.
    resource : Resource
        The resource of the levels.
    standings : Standings
        Mean scores so far.
    costs : FitCosts
        Times of fits.
    deadline : float, default=inf
        No fit starts after this, by the clock of ``time.monotonic``.
    n_in_checkpoint : int, default=0
        Number of fits in the checkpoint at the start.
    """

    parts: Sequence[Part]
    n_planned: int | None
    path_of: Callable[[Pull], tuple[int, ...]]
    reward: Callable[[Outcome], float]
    resource: Resource
    standings: Standings
    costs: FitCosts
    deadline: float = float("inf")
    n_in_checkpoint: int = 0
    n_fits: int = 0
    n_from_checkpoint: int = 0
    began: float = field(default_factory=time.monotonic)
    _left: list[int] = field(default_factory=list)
    _arms: dict[int, set[int]] = field(default_factory=dict)
    _raced: list[int] = field(default_factory=list)
    _fitted: set[int] = field(default_factory=set)
    _place: int | None = None
    _latest_level: int = 1
    _is_replaying: bool = False

    def __post_init__(self) -> None:
        """Find the first rung of each bracket."""
        self._left = [part.n_fits for part in self.parts]
        self._planned = list(self._left)
        self._has_rungs = bool(self.parts) and self.parts[0].bracket is not None
        self._first_of: dict[int | None, int] = {}
        for place, part in enumerate(self.parts):
            self._first_of.setdefault(part.bracket, place)
        if self.parts and not self._has_rungs:
            self._place = 0

    def land(self, outcome: Outcome, *, is_replayed: bool = False) -> Part | None:
        """Add a fit; return the rung that it completes, if any."""
        pull = outcome.pull
        self.n_fits += 1
        self.n_from_checkpoint += is_replayed
        self._is_replaying = is_replayed and self.n_from_checkpoint < self.n_in_checkpoint
        self._fitted.add(pull.arm)
        self._latest_level = pull.level
        self.standings.add(pull, self.reward(outcome))
        self.costs.add(outcome, None if is_replayed else time.monotonic())
        if self._has_rungs:
            bracket, rung = self.path_of(pull)
            self._place = self._first_of[bracket] + rung
        if self._place is None:
            return None
        self._arms.setdefault(self._place, set()).add(pull.arm)
        self._left[self._place] -= 1
        part, n_planned = self.parts[self._place], self._planned[self._place]
        if part.races and n_planned - self._left[self._place] == n_planned // part.n_splits:
            self._raced.append(self._place)
        if not self._has_rungs or self._left[self._place] != 0:
            return None
        self._narrow(self._place)
        return self._ended(self._place)

    def _ended(self, place: int) -> Part:
        """Return a part with its actual number of candidates."""
        part, n_candidates = self.parts[place], len(self._arms.pop(place, ()))
        has_dropped = part.races and self._planned[place] < n_candidates * part.n_splits
        return replace(part, n_candidates=n_candidates, races=has_dropped)

    def _narrow(self, place: int) -> None:
        """Reduce the plan of later rungs to the candidates that can be promoted."""
        part = self.parts[place]
        n_going_on = self.standings.n_with_mean(part.level, list(self._arms[place]))
        for later in range(place + 1, len(self.parts)):
            other = self.parts[later]
            if other.bracket != part.bracket:
                return
            n_each = other.n_fits // max(1, other.n_candidates)
            # With asynchronous promotions, some of these fits have been made already.
            self._reduce(later, max(0, self._planned[later] - n_going_on * n_each))

    def end_races(
        self, n_dropped: Callable[[int], int | None]
    ) -> Iterator[tuple[tuple[int, int], int, Part | None]]:
        """Reduce the plan by the fits of dropped candidates.

        Parameters
        ----------
        n_dropped : callable
            Returns how many candidates a bracket has dropped in its race, None before it ends.

        Yields
        ------
        path : (int, int)
            Bracket and rung of a race that has ended with dropped candidates.
        n_fits : int
            Number of fits that will not be made.
        part : Part or None
            The rung, if this completes it.
        """
        for place in list(self._raced):
            bracket = cast(int, self.parts[place].bracket)
            n = n_dropped(bracket)
            if n is None:
                continue
            self._raced.remove(place)
            if n > 0:
                n_fits = n * (self.parts[place].n_splits - 1)
                self._reduce(place, n_fits)
                path = bracket, place - self._first_of[bracket]
                yield path, n_fits, self._ended(place) if self._left[place] == 0 else None

    def _reduce(self, place: int, n_fits: int) -> None:
        """Take fits that are not needed out of the plan."""
        self._planned[place] -= n_fits
        self._left[place] -= n_fits
        if self.n_planned is not None:
            self.n_planned -= n_fits

    def enter_stage(self, stage: int | None) -> Part | None:
        """Enter a stage, None after the last; return the stage that has ended, if any."""
        before = self._place
        if before is None or stage == before:
            return None
        # Fits planned for earlier stages are no longer needed.
        first = len(self._left) if stage is None else stage
        self._left[:first] = [0] * first
        self._place = stage
        return self._ended(before)

    def report(self) -> ProgressReport:
        """Return the current state."""
        now = time.monotonic()
        score, level, n_splits = self.standings.best()
        return ProgressReport(
            n_fits=self.n_fits,
            n_planned=self.n_planned,
            n_from_checkpoint=self.n_from_checkpoint,
            n_candidates=len(self._fitted),
            place="" if self._place is None else self.parts[self._place].name,
            best_score=score,
            best_resources=self.resource.to_amount(level) if level else nan,
            best_n_splits=n_splits,
            seconds=now - self.began,
            seconds_left=self._seconds_left(now),
        )

    def _seconds_left(self, now: float) -> float | None:
        if self._is_replaying:
            return None  # some of the remaining fits are in the checkpoint
        seconds = self._seconds_of_rest(now)
        if self.deadline == float("inf") or seconds == 0:
            return seconds
        until_deadline = max(0.0, self.deadline - now)
        return until_deadline if seconds is None else min(seconds, until_deadline)

    def _seconds_of_rest(self, now: float) -> float | None:
        if self.n_planned is None:
            return None
        if self.parts:
            rest = []
            for part, n in zip(self.parts, self._left, strict=True):
                n_from_scratch = min(n, part.n_from_scratch)
                rest.append((part.previous_level, part.level, n - n_from_scratch))
                rest.append((0, part.level, n_from_scratch))
        else:
            rest = [(0, self._latest_level, max(0, self.n_planned - self.n_fits))]
        return self.costs.seconds_of(rest, now)
