"""The progress of a search: counts, lines for ``verbose``, and news for callbacks."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, isnan, nan

from sklearn_halving._typing import CallbackContext
from sklearn_halving.execution._evaluation import write_line
from sklearn_halving.execution._pull_loop import PullObserver
from sklearn_halving.execution._types import Outcome
from sklearn_halving.policies._types import Pull
from sklearn_halving.resources import Resource, WholeFit
from sklearn_halving.search._formatting import clock_text, counted, number_text, score_text
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.watching._callbacks import CallbackTree

N_LINES = 10
"""Number of lines of a search without rungs, if its number of fits or its time is known."""
FIRST_LINE = 10
"""Fits before the first line if the length is unknown; doubled for each further line."""


@dataclass
class Part:
    """A rung, at whose end a line is printed."""

    name: str
    """Its name, with the numbers of the columns of ``history_``, which begin with 0."""
    level: int
    """The level of its fits."""
    # Numbers of candidates and of further fits that are planned, at most.
    n_candidates: int
    n_left: int
    # Numbers of fits of each candidate of a rung, and of splits on which they are compared.
    n_each: int
    n_splits: int
    arms: set[int] = field(default_factory=set)
    """Candidates with fits in this part."""
    scored: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Those with a score on a split, by the splits on which there are any."""


def parts_of(plan: SearchPlan) -> dict[tuple[int, ...], Part]:
    """Return the rungs by their paths."""
    parts: dict[tuple[int, ...], Part] = {}
    n_repetitions, n_loops = plan.problem.max_repetitions, plan.n_loops
    for place, bracket in enumerate(plan.brackets if plan.has_rungs else ()):
        loop = f"loop {bracket.loop}, " if n_loops > 1 else ""
        for number, rung in enumerate(bracket.rounds):
            name = f"{loop}bracket {bracket.label}, rung {number}"
            n_splits = rung.n_splits(n_repetitions)
            n_each = n_splits - rung.first_repetition
            n_fits = rung.n_arms * n_each
            parts[place, number] = Part(name, rung.level, rung.n_arms, n_fits, n_each, n_splits)
    return parts


@dataclass(frozen=True)
class ProgressReport:
    """The current state of a search, which callbacks can read."""

    n_fits: int
    """Number of completed fits, including those from a checkpoint."""
    n_planned: int | None
    """Largest number of fits; None if unknown."""
    n_from_checkpoint: int
    """Number of fits from the checkpoint."""
    n_candidates: int
    """Number of candidates with at least one fit."""
    place: str
    """Bracket and rung of the latest fit; empty if there are none."""
    best_score: float
    """Best mean score of a candidate; NaN if there is no score yet. The winner may be another
    candidate whose score is more certain."""
    best_resources: float
    """Amount of resource at which ``best_score`` was reached."""
    best_n_splits: int
    """Number of splits over which ``best_score`` is the mean; 0 if there is no score yet."""
    seconds: float
    """Time since the start of the search."""
    seconds_left: float | None
    """Estimate of the remaining time without the refit; None if unknown."""


@dataclass
class Progress(PullObserver):
    """Observes the pull loop: counts its fits, writes lines and tells callbacks."""

    plan: SearchPlan
    reward: Callable[[Outcome], float]
    """Function that returns the score that guides the search."""
    resource: Resource
    callbacks: CallbackTree
    verbose: int = 0
    deadline: float = inf
    """No fit starts after this, by the clock of ``time.monotonic``."""
    n_in_checkpoint: int = 0
    """Number of fits in the checkpoint at the start."""
    parts: dict[tuple[int, ...], Part] = field(default_factory=dict)
    n_planned: int | None = None
    n_fits: int = 0
    began: float = field(default_factory=time.monotonic)
    _n_replayed: int = 0
    _is_replaying: bool = False
    _n_lines: int = 0
    _n_compared: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set), init=False)
    """Numbers of splits on which candidates are compared at each level."""
    _sums: dict[tuple[int, int], tuple[float, int]] = field(default_factory=dict)
    """Sum and number of the scores of each level and arm."""
    _failed: dict[tuple[int, int], set[int]] = field(default_factory=lambda: defaultdict(set))
    """Splits on which an arm has no score at a level."""
    _works: set[int] = field(default_factory=set)
    """Splits on which there are scores."""
    # Resource of the fits of this session, and the time when the first one began.
    _done: float = 0.0
    _first_began: float = 0.0
    # Level of the latest fit, and its part.
    _level: int = 1
    _part: Part | None = None
    _stops: bool = False

    @property
    def is_needed(self) -> bool:
        """Whether there are any lines or callbacks. If not, fits are not counted."""
        return self.verbose > 0 or self.callbacks.is_watched

    def begin(self) -> None:
        """Plan the parts, and write the first lines."""
        self.parts = parts_of(self.plan)
        self.n_planned = self.plan.n_fits
        for part in self.parts.values():
            self._n_compared[part.level].add(part.n_splits)
        has_deadline = self.deadline < inf
        at_most = "at most " if has_deadline or not self.plan.of_policy.is_exact else ""
        self._write(headline(self.plan, at_most))
        if self.n_in_checkpoint:
            line = f"The checkpoint has {counted(self.n_in_checkpoint, 'fit')}"
            if self.n_planned is not None:
                line += f"; {at_most}{max(0, self.n_planned - self.n_in_checkpoint):,} remain"
            self._write(line)

    def write_start(self, n_workers: int) -> None:
        """Write that worker processes start, which can take seconds."""
        self._write(f"Starting {counted(n_workers, 'worker')}")

    def context_of(self, pull: Pull) -> CallbackContext | None:
        """Return scikit-learn's callback context of a pull, if a callback follows pulls."""
        return self.callbacks.context_of(pull) if self.callbacks.is_watched else None

    def land(self, outcome: Outcome, *, is_replayed: bool) -> bool:
        """Process a completed pull; return whether a callback requests a stop."""
        pull = outcome.pull
        self._count(outcome, is_replayed=is_replayed)
        if is_replayed and self.callbacks.is_watched:
            self._stops |= self.callbacks.replay_pull(pull)
        path = self.plan.of_policy.position(pull) if self.parts else ()
        if path:
            self._part = self.parts[path]
        if self._part is not None:
            self._part.arms.add(pull.arm)
            if pull.repetition not in self._failed.get((pull.level, pull.arm), ()):
                self._part.scored[pull.repetition].add(pull.arm)
            self._part.n_left -= 1
            if self._part.n_left == 0:
                self._end_rung(path, self._part)
        elif self._n_lines_due() > self._n_lines:
            self._n_lines = self._n_lines_due()
            self._write_line()
        return self._stops

    def _n_lines_due(self) -> int:
        """Return how many lines a search without rungs has written by now.

        There is one for each tenth of the fits or of the time, or each time the fits double.
        """
        if self.n_planned is not None:
            return N_LINES * self.n_fits // max(1, self.n_planned)
        if self.deadline < inf:
            passed = time.monotonic() - self.began
            return int(N_LINES * passed / max(self.deadline - self.began, 1e-9))
        return (self.n_fits // FIRST_LINE).bit_length()

    def _count(self, outcome: Outcome, *, is_replayed: bool) -> None:
        """Add a fit with its score and its time."""
        pull = outcome.pull
        self.n_fits += 1
        self._n_replayed += is_replayed
        self._is_replaying = is_replayed and self._n_replayed < self.n_in_checkpoint
        self._level = pull.level
        key, reward = (pull.level, pull.arm), self.reward(outcome)
        total, n = self._sums.setdefault(key, (0.0, 0))
        if isnan(reward):
            self._failed[key].add(pull.repetition)
        else:
            self._works.add(pull.repetition)
            self._sums[key] = total + reward, n + 1
        if not is_replayed:
            if self._done == 0:  # the start of the workers does not count
                seconds = outcome.fit_seconds + outcome.score_seconds
                self._first_began = time.monotonic() - seconds
            self._done += self.resource.to_amount(pull.level)

    def _end_rung(self, path: tuple[int, ...], part: Part) -> None:
        """Plan later rungs for those that can be promoted, and tell of the end of a rung."""
        n_scored = len(part.arms.intersection(*part.scored.values()))
        later = (path[0], path[1] + 1)
        while later in self.parts:
            rung = self.parts[later]
            n_lost = max(0, rung.n_candidates - n_scored)
            rung.n_candidates -= n_lost
            self._drop(later, n_lost * rung.n_each)
            later = (later[0], later[1] + 1)
        self._write_line(part)
        self._stops |= self.callbacks.end_rung(path)

    def _drop(self, path: tuple[int, ...], n_fits: int) -> None:
        """Take fits that are not needed out of the plan of a rung."""
        part = self.parts[path]
        part.n_left -= n_fits
        if self.n_planned is not None:
            self.n_planned -= n_fits
        if n_fits and part.arms and part.n_left == 0:
            self._end_rung(path, part)

    def report(self) -> ProgressReport:
        """Return the current state."""
        now = time.monotonic()
        score, level, n_splits = self._best()
        return ProgressReport(
            n_fits=self.n_fits,
            n_planned=self.n_planned,
            n_from_checkpoint=self._n_replayed,
            n_candidates=len({arm for _, arm in self._sums}),
            place="" if self._part is None else self._part.name,
            best_score=score,
            best_resources=self.resource.to_amount(level) if level else nan,
            best_n_splits=n_splits,
            seconds=now - self.began,
            seconds_left=self._seconds_left(now),
        )

    def _best(self) -> tuple[float, int, int]:
        """Return the best mean, its level and its number of scores, or NaN, 0 and 0.

        If the policy ranks by level, the largest level counts. In a rung, candidates have a mean
        once they have all its scores, and those with more splits rank before all others.
        """
        has_rungs = bool(self._n_compared)
        by_level = self.plan.of_policy.ranks_by == "level"
        best: tuple[tuple[float, ...], tuple[float, int, int]] = (-inf,), (nan, 0, 0)
        for (level, arm), (total, n) in self._sums.items():
            failed = self._failed.get((level, arm), set())
            n_all = n + len(failed)
            is_compared = not has_rungs or n_all in self._n_compared[level]
            if n and is_compared and not failed & self._works:
                mean = total / n
                key = (level, n_all if has_rungs else 0, mean) if by_level else (mean,)
                best = max(best, (key, (mean, level, n)), key=lambda pair: pair[0])
        return best[1]

    def _seconds_left(self, now: float) -> float | None:
        """Return an estimate of the remaining time.

        The time of a fit is assumed to be in proportion to its resource.
        """
        if self._is_replaying:
            return None  # some of the remaining fits are in the checkpoint
        left = [] if self.deadline == inf else [max(0.0, self.deadline - now)]
        if self.n_planned is not None and self._done > 0:
            amount = self.resource.to_amount
            to_do = sum(part.n_left * amount(part.level) for part in self.parts.values())
            if not self.parts:
                to_do = max(0, self.n_planned - self.n_fits) * amount(self._level)
            left.append((now - self._first_began) * to_do / self._done)
        return min(left, default=None)

    def _write(self, line: str) -> None:
        if self.verbose > 0:
            write_line(line)

    def _write_line(self, part: Part | None = None) -> None:
        """Write the line for the end of a rung, or else for a number of fits."""
        report = self.report()
        fits = counted(report.n_fits if self.n_planned is None else self.n_planned, "fit")
        if self.n_planned is not None:
            fits = f"{report.n_fits:,} of {fits}"
        best = "no score yet"
        if not isnan(report.best_score):
            best = f"best mean so far {score_text(report.best_score)}"
            if not self._n_compared:
                best += f" ({counted(report.best_n_splits, 'split')})"
        times = f"{clock_text(report.seconds)} elapsed"
        if report.seconds_left:
            times += f", about {clock_text(max(1.0, report.seconds_left))} left"
        if part is None:
            tried = f"{counted(report.n_candidates, 'candidate')} tried"
            self._write(f"{fits}: {tried}; {best}; {times}")
            return
        what = counted(len(part.arms), "candidate")
        what += f" on {counted(part.n_splits, 'split')}"
        what += resource_text(self.resource, self.resource.to_amount(part.level))
        self._write(f"{part.name}: {what}; {best}; {fits}, {times}")

    def write_end(self, ended_by: str, chosen: str) -> None:
        """Write the last line, with the candidate that was chosen, after the refit."""
        seconds = clock_text(time.monotonic() - self.began)
        line = f"Done: {counted(self.n_fits, 'fit')} in {seconds}"
        if ended_by:
            line += f", stopped by {ended_by}"
        self._write(f"{line}; chosen: {chosen}" if chosen else line)


def headline(plan: SearchPlan, at_most: str) -> str:
    """Return the line for the start of a search."""
    n_splits = counted(plan.problem.max_repetitions or 1, "split")
    if plan.uses_time or plan.is_endless:
        what = "new candidates" if plan.uses_time else "loops of brackets with new candidates"
        return f"Fitting {what} on up to {n_splits} until the time budget is over"
    text = counted(plan.problem.n_arms, "candidate")
    if plan.has_rungs:
        text += f" in {counted(len(plan.brackets), 'bracket')} on up to {n_splits}"
    elif plan.makes_candidates:
        text = f"at most {text}, which are created during the search"
    if plan.n_fits is None:
        return f"Fitting {text} until the policy stops"
    return f"Fitting {text}, totalling {at_most}{counted(plan.n_fits, 'fit')}"


def resource_text(resource: Resource, amount: float) -> str:
    """Return at which amount of resource fits were made; empty without a resource."""
    if isinstance(resource, WholeFit):
        return ""
    if resource.subsamples_rows:
        return f" at {counted(int(amount), 'row')}"
    return f" at {resource.name}={number_text(amount)}"
