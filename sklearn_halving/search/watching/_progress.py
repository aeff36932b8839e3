"""The progress of a search: counts, lines for ``verbose``, and news for callbacks."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, isnan, nan

import numpy as np

from sklearn_halving._formatting import clock_text, counted, number_text, score_text
from sklearn_halving._typing import CallbackContext
from sklearn_halving.execution._evaluation import write_line
from sklearn_halving.execution._pull_loop import PullObserver
from sklearn_halving.execution._types import Outcome
from sklearn_halving.policies._types import NO_ARM, Pull
from sklearn_halving.resources import Resource, WholeFit
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.watching._callbacks import CallbackTree

N_LINES = 10
"""Number of lines of a search that has none for rungs, if its number of fits or time is known. If
not, there is a line after this many fits, after twice as many, and so on."""


@dataclass(frozen=True)
class ProgressReport:
    """The current state of a search, which callbacks can read.

    Attributes
    ----------
    n_fits : int
        Number of completed fits, including those from a checkpoint.
    n_planned : int or None
        Largest number of fits; None if unknown.
    n_from_checkpoint : int
        Number of fits from the checkpoint.
    n_candidates : int
        Number of candidates with at least one fit.
    best_candidate : int
        The candidate that would be chosen now; -1 if there is no score yet.
    best_score : float
        Its mean score at the largest resource with which it was scored; NaN if there is none.
    best_resources : float
        Amount of resource of ``best_score``.
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
    best_candidate: int
    best_score: float
    best_resources: float
    best_n_splits: int
    seconds: float
    seconds_left: float | None


@dataclass
class Progress(PullObserver):
    """Observes the pull loop: counts its fits, writes lines and tells callbacks.

    Parameters
    ----------
    reward : Callable[[Outcome], float]
        Function that returns the score that guides the search.
    choose : Callable[[], int]
        Function that returns the candidate that the policy would choose now.
    deadline : float
        No fit starts after this, by the clock of ``time.monotonic``.
    n_known : int
        Number of fits in the checkpoint at the start. While they are read, no lines are written.

    Attributes
    ----------
    _due : list[str]
        The first parts of lines that are written when the policy knows the latest scores.
    _scores : dict[tuple[int, int], dict[int, float]]
        Scores by level and candidate, and by split.
    _seconds : dict[int, list[float]]
        Seconds of the fits of this session, by level.
    _first_began : float
        The time when the first of them began.
    _in_rung : dict[tuple[int, int], list[int]]
        Candidates of the fits of each rung.
    _n_scored : dict[tuple[int, int], int]
        Number of candidates that can be promoted from each rung that is complete.
    """

    plan: SearchPlan
    reward: Callable[[Outcome], float]
    choose: Callable[[], int]
    resource: Resource
    callbacks: CallbackTree
    verbose: int = 0
    deadline: float = inf
    n_known: int = 0
    n_fits: int = 0
    began: float = field(default_factory=time.monotonic)
    _n_read: int = 0
    _n_lines: int = 0
    _due: list[str] = field(default_factory=list)
    _scores: dict[tuple[int, int], dict[int, float]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    _seconds: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    _first_began: float = 0.0
    # Rungs are known by the indices of their bracket and of their round.
    _in_rung: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    _n_scored: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def _writes_rungs(self) -> bool:
        """Whether there is a line for each rung. In endless loops there would be thousands."""
        return self.plan.has_rungs and not self.plan.is_endless

    @property
    def _at_most(self) -> str:
        is_exact = self.plan.of_policy.is_exact and self.deadline == inf
        return "" if is_exact else "at most "

    def begin(self) -> None:
        """Write the first lines."""
        self._write(headline(self.plan, self._at_most))
        if self.n_known:
            self._write(f"{counted(self.n_known, 'fit')} of earlier searches can be used")

    def write_start(self, n_workers: int) -> None:
        """Write that worker processes start, which can take seconds."""
        self._write(f"Starting {counted(n_workers, 'worker')}")

    def context_of(self, pull: Pull) -> CallbackContext | None:
        """Return scikit-learn's callback context of a pull, if a callback follows pulls."""
        return self.callbacks.context_of(pull) if self.callbacks.is_watched else None

    def land(self, outcome: Outcome, *, is_known: bool) -> bool:
        """Process a completed pull; return whether a callback requests a stop."""
        (arm, level, repetition), stops = outcome.pull, False
        seconds = outcome.fit_seconds + outcome.score_seconds
        self.n_fits += 1
        self._scores[level, arm][repetition] = self.reward(outcome)
        if is_known:
            self._n_read += 1
            if self.callbacks.is_watched:
                stops = self.callbacks.replay_pull(outcome.pull)
        else:
            if not self._seconds:  # the start of the workers does not count
                self._first_began = time.monotonic() - seconds
            self._seconds[level].append(seconds)
        if self.plan.has_rungs:
            rung = self.plan.of_policy.position(outcome.pull)
            self._in_rung[rung].append(arm)
            if self._n_left(rung) == 0:
                self._end_rung(rung)
                stops |= self.callbacks.end_rung(rung)
        if not self._writes_rungs and self._n_lines_due() > self._n_lines:
            self._n_lines, self._due = self._n_lines_due(), self._due or [""]
        if is_known:
            self._due = []
        return stops

    def told(self) -> None:
        """Write the lines that are due, as the policy knows all scores now."""
        for text in self._due if self.verbose > 0 else ():
            self._write_line(text)
        self._due = []

    def _n_lines_due(self) -> int:
        """Return how many lines a search that has none for rungs has written by now.

        There is one for each tenth of the fits or of the time, or each time the fits double.
        """
        if self.plan.n_fits is not None:
            return N_LINES * self.n_fits // max(1, self.plan.n_fits)
        if self.deadline < inf:
            passed = time.monotonic() - self.began
            return int(N_LINES * passed / max(self.deadline - self.began, 1e-9))
        return (self.n_fits // N_LINES).bit_length()

    def _n_left(self, rung: tuple[int, int]) -> int:
        """Return the number of fits that are left in a rung.

        It has fewer candidates than planned if too many failed in the rungs before.
        """
        index, number = rung
        here = self.plan.brackets[index].rounds[number]
        before = (self._n_scored.get((index, lower), here.n_arms) for lower in range(number))
        n_each = here.n_splits(self.plan.problem.max_repetitions) - here.first_repetition
        return min([here.n_arms, *before]) * n_each - len(self._in_rung[rung])

    def _end_rung(self, rung: tuple[int, int]) -> None:
        """Count the candidates that can be promoted, and let a line be written.

        A split on which all fail says nothing, and a rung in which all fail decides nothing.
        """
        bracket, arms = self.plan.brackets[rung[0]], set(self._in_rung[rung])
        here = bracket.rounds[rung[1]]
        splits = range(here.n_splits(self.plan.problem.max_repetitions))
        scores = [[self._scores[here.level, arm].get(s, nan) for s in splits] for arm in arms]
        has_score = ~np.isnan(scores)
        n_scored = has_score[:, has_score.any(axis=0)].all(axis=1).sum()
        self._n_scored[rung] = int(n_scored) or len(arms)
        if self._writes_rungs:
            loop = f"loop {bracket.loop}, " if self.plan.n_loops > 1 else ""
            name = f"{loop}bracket {bracket.label}, rung {rung[1]}"
            amount = resource_text(self.resource, self.resource.to_amount(here.level))
            self._due.append(f"{name}: {counted(len(arms), 'candidate')}{amount}; ")

    def report(self) -> ProgressReport:
        """Return the current state."""
        now, left = time.monotonic(), self._left()
        arm, level, scores = self._choice()
        return ProgressReport(
            n_fits=self.n_fits,
            n_planned=None if left is None else self.n_fits + left.total(),
            n_from_checkpoint=self._n_read,
            n_candidates=len({arm for _, arm in self._scores}),
            best_candidate=arm,
            best_score=float(np.mean(scores)) if scores else nan,
            best_resources=self.resource.to_amount(level) if level else nan,
            best_n_splits=len(scores),
            seconds=now - self.began,
            seconds_left=self._seconds_left(now, left),
        )

    def _choice(self) -> tuple[int, int, list[float]]:
        """Return the candidate that would be chosen now, its largest level, and its scores there.

        If the policy has no choice yet, it is the best one of those with the largest level and
        the most splits.
        """
        finite = {
            key: [x for x in own.values() if not isnan(x)] for key, own in self._scores.items()
        }
        known, chosen = {key: own for key, own in finite.items() if own}, self.choose()
        if not known:
            return NO_ARM, 0, []
        key = max(
            [key for key in known if key[1] == chosen] or known,
            key=lambda key: (key[0], len(known[key]), np.mean(known[key])),
        )
        return key[1], key[0], known[key]

    def _left(self) -> Counter[int] | None:
        """Return the number of fits that are left at each level; None if it is not known."""
        if self.plan.n_fits is None:
            return None
        left = Counter[int]()
        if not self.plan.has_rungs:
            left[self.plan.problem.max_level] = self.plan.n_fits - self.n_fits
        for index, bracket in enumerate(self.plan.brackets if self.plan.has_rungs else ()):
            for number, rung in enumerate(bracket.rounds):
                left[rung.level] += self._n_left((index, number))
        return left

    def _seconds_left(self, now: float, n_left: Counter[int] | None) -> float | None:
        """Return an estimate of the remaining time; None if it is not known.

        The time of fits at a new level is read off a line through the means at the others. From
        one level it is not estimated: ten times the rows may take any time up to the tenfold.
        """
        left = [] if self.deadline == inf else [max(0.0, self.deadline - now)]
        if n_left is not None and self._seconds:
            n_left = +n_left  # levels with fits that are left
            known = {level: float(np.mean(each)) for level, each in self._seconds.items()}
            if len(known) > 1:
                line = np.polyfit(list(known), list(known.values()), 1)
                known = {each: max(0.0, float(np.polyval(line, each))) for each in n_left} | known
            if n_left.keys() <= known.keys():
                to_do = sum(n * known[level] for level, n in n_left.items())
                done = sum(map(sum, self._seconds.values()))
                left.append((now - self._first_began) / max(done, 1e-9) * to_do)
        return min(left, default=None)

    def _write(self, line: str) -> None:
        if self.verbose > 0:
            write_line(line)

    def _write_line(self, text: str) -> None:
        """Write a line with the present state."""
        report = self.report()
        fits = counted(report.n_fits, "fit")
        if report.n_planned is not None:
            total = counted(report.n_planned, "fit")
            fits = f"{report.n_fits:,} of {self._at_most}{total}"
        tried = "" if self._writes_rungs else f" of {counted(report.n_candidates, 'candidate')}"
        best = "no score yet"
        if report.best_n_splits:
            best = f"choice so far: candidate {report.best_candidate}, score "
            best += f"{score_text(report.best_score)} on {counted(report.best_n_splits, 'split')}"
            best += resource_text(self.resource, report.best_resources)
        times = f"{clock_text(report.seconds)} elapsed"
        if report.seconds_left:
            times += f", about {clock_text(max(1.0, report.seconds_left))} left"
        self._write(f"{text}{fits}{tried}; {best}; {times}")

    def write_end(self, ended_by: str, chosen: str) -> None:
        """Write the last line, with the candidate that was chosen, after the refit."""
        seconds = clock_text(time.monotonic() - self.began)
        used = f" ({self._n_read:,} of them from earlier searches)" if self._n_read else ""
        line = f"Done: {counted(self.n_fits, 'fit')}{used} in {seconds}"
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
