"""The progress of a search: counts, lines for ``verbose``, and news for callbacks."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from math import inf, isnan, nan
from typing import Any

import numpy as np

from sklearn_halving._formatting import counted, number_text, score_text, seconds_text
from sklearn_halving._typing import CallbackContext
from sklearn_halving.execution._evaluation import write_line
from sklearn_halving.execution._pull_loop import PullObserver
from sklearn_halving.execution._types import Outcome
from sklearn_halving.policies._types import NO_ARM, Pull
from sklearn_halving.resources import Resource, WholeFit
from sklearn_halving.search._run_state import Run
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.watching._callbacks import CallbackTree

N_LINES = 10
"""Number of lines of a search that has none for rungs, if its number of fits or time is known. If
not, there is a line after this many fits, then each time the number doubles."""


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
    """Observes the pull loop: writes lines and tells callbacks.

    Parameters
    ----------
    run : Run
        The run, whose log has each outcome before it lands.
    callbacks : CallbackTree
        The callbacks.
    verbose : int
        Lines are written from 1 on, but not while known fits are read.

    Attributes
    ----------
    _due : list[str]
        The first parts of lines that are written when the policy knows the latest scores.
    _in_rung : dict[tuple[int, int], list[int]]
        Candidates of the fits of each rung, by the indices of its bracket and of its round.
    _n_scored : dict[tuple[int, int], int]
        Number of candidates that can be promoted from each rung that is complete.
    _first_began : float
        The time when the first fit of this call began; the start of the workers does not count.
    """

    run: Run
    callbacks: CallbackTree
    verbose: int
    _n_lines: int = 0
    _due: list[str] = field(default_factory=list)
    _in_rung: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    _n_scored: dict[tuple[int, int], int] = field(default_factory=dict)
    _first_began: float = inf

    @property
    def _writes_rungs(self) -> bool:
        """Whether there is a line for each rung. In endless loops there would be thousands."""
        return self.run.plan.has_rungs and not self.run.plan.is_endless

    @property
    def _at_most(self) -> str:
        is_exact = self.run.plan.of_policy.is_exact and self.run.deadline == inf
        return "" if is_exact else "at most "

    def begin(self) -> None:
        """Write the first lines."""
        self._write(headline(self.run.plan, self._at_most))
        n_known = 0 if self.run.known is None else len(self.run.known.outcomes)
        if n_known:
            self._write(f"{counted(n_known, 'fit')} of earlier searches can be used")

    def write_start(self, n_workers: int) -> None:
        """Write that worker processes start, which can take seconds."""
        self._write(f"Starting {counted(n_workers, 'worker')}")

    def context_of(self, pull: Pull) -> CallbackContext | None:
        """Return scikit-learn's callback context of a pull, if a callback follows pulls."""
        return self.callbacks.context_of(pull) if self.callbacks.is_watched else None

    def land(self, outcome: Outcome, *, is_known: bool) -> bool:
        """Process a completed pull; return whether a callback requests a stop."""
        plan, stops = self.run.plan, False
        if is_known and self.callbacks.is_watched:
            stops = self.callbacks.replay_pull(outcome.pull)
        if not is_known:
            seconds = outcome.fit_seconds + outcome.score_seconds
            self._first_began = min(self._first_began, time.monotonic() - seconds)
        if plan.has_rungs:
            rung = plan.of_policy.position(outcome.pull)
            self._in_rung[rung].append(outcome.pull.arm)
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
        n_fits, n_planned = len(self.run.log.outcomes), self.run.plan.n_fits
        if n_planned is not None:
            return N_LINES * n_fits // max(1, n_planned)
        if self.run.deadline < inf:
            passed = time.monotonic() - self.run.began
            return int(N_LINES * passed / max(self.run.deadline - self.run.began, 1e-9))
        return (n_fits // N_LINES).bit_length()

    def _n_left(self, rung: tuple[int, int]) -> int:
        """Return the number of fits that are left in a rung.

        It has fewer candidates than planned if too many failed in the rungs before.
        """
        (index, number), plan = rung, self.run.plan
        here = plan.brackets[index].rounds[number]
        before = (self._n_scored.get((index, lower), here.n_arms) for lower in range(number))
        n_each = here.n_splits(plan.problem.max_repetitions) - here.first_repetition
        return min([here.n_arms, *before]) * n_each - len(self._in_rung[rung])

    def _end_rung(self, rung: tuple[int, int]) -> None:
        """Count the candidates that can be promoted, and let a line be written.

        A split on which all fail says nothing, and a rung in which all fail decides nothing.
        """
        plan, arms, resource = self.run.plan, set(self._in_rung[rung]), self.run.task.resource
        bracket, number = plan.brackets[rung[0]], rung[1]
        here = bracket.rounds[number]
        splits = range(here.n_splits(plan.problem.max_repetitions))
        pulls = [[Pull(arm, here.level, split) for split in splits] for arm in arms]
        has_score = np.array([list(map(self._has_score, of_arm)) for of_arm in pulls])
        n_scored = has_score[:, has_score.any(axis=0)].all(axis=1).sum()
        self._n_scored[rung] = int(n_scored) or len(arms)
        if self._writes_rungs:
            loop = f"loop {bracket.loop}, " if plan.n_loops > 1 else ""
            n_arms = counted(len(arms), "candidate")
            amount = resource_text(resource, resource.to_amount(here.level))
            text = f"{loop}bracket {bracket.label}, rung {number}: {n_arms}{amount}; "
            self._due.append(text)

    def _has_score(self, pull: Pull) -> bool:
        outcome = self.run.log.outcomes.get(pull)
        return outcome is not None and not isnan(self.run.reward(outcome))

    def _left(self) -> Counter[int] | None:
        """Return the number of fits that are left at each level; None if it is not known."""
        plan, left = self.run.plan, Counter[int]()
        if plan.n_fits is None:
            return None
        if not plan.has_rungs:
            left[plan.problem.max_level] = plan.n_fits - len(self.run.log.outcomes)
        for index, bracket in enumerate(plan.brackets if plan.has_rungs else ()):
            for number, rung in enumerate(bracket.rounds):
                left[rung.level] += self._n_left((index, number))
        return left

    def report(self) -> ProgressReport:
        """Return the current state."""
        outcomes, now = list(self.run.log.outcomes.values()), time.monotonic()
        left = self._left()
        arm, level, scores = self._choice(outcomes)
        return ProgressReport(
            n_fits=len(outcomes),
            n_planned=None if left is None else len(outcomes) + left.total(),
            n_from_checkpoint=len(self.run.log.places),
            n_candidates=len({outcome.pull.arm for outcome in outcomes}),
            best_candidate=arm,
            best_score=float(np.mean(scores)) if scores else nan,
            best_resources=self.run.task.resource.to_amount(level) if level else nan,
            best_n_splits=len(scores),
            seconds=now - self.run.began,
            seconds_left=self._seconds_left(now, outcomes, left),
        )

    def _choice(self, outcomes: list[Outcome]) -> tuple[int, int, list[float]]:
        """Return the candidate that would be chosen now, its largest level, and its scores there.

        If the policy has no choice yet, it is the best one of those with the largest level and
        the most splits.
        """
        known = defaultdict[tuple[int, int], list[float]](list)
        for outcome in outcomes:
            if not isnan(score := self.run.reward(outcome)):
                known[outcome.pull.level, outcome.pull.arm].append(score)
        if not known:
            return NO_ARM, 0, []
        chosen = self.run.recommended()
        key = max(
            [key for key in known if key[1] == chosen] or known,
            key=lambda key: (key[0], len(known[key]), np.mean(known[key])),
        )
        return key[1], key[0], known[key]

    def _seconds_left(
        self, now: float, outcomes: list[Outcome], n_left: Counter[int] | None
    ) -> float | None:
        """Return an estimate of the remaining time; None if it is not known.

        The time of fits at a new level is not estimated: ten times the rows may take any time up
        to the tenfold.
        """
        deadline = self.run.deadline
        left = [] if deadline == inf else [max(0.0, deadline - now)]
        seconds = defaultdict[int, list[float]](list)
        for outcome in outcomes:
            if outcome.pull not in self.run.log.places:
                seconds[outcome.pull.level].append(outcome.fit_seconds + outcome.score_seconds)
        if n_left is not None and seconds:
            n_left = +n_left  # levels with fits that are left
            if n_left.keys() <= seconds.keys():
                to_do = sum(n * float(np.mean(seconds[level])) for level, n in n_left.items())
                done = sum(map(sum, seconds.values()))
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
            best += resource_text(self.run.task.resource, report.best_resources)
        times = f"{seconds_text(report.seconds)} elapsed"
        if report.seconds_left is not None and report.seconds_left >= 1:
            times += f", about {seconds_text(report.seconds_left)} left"
        self._write(f"{text}{fits}{tried}; {best}; {times}")

    def write_end(self, search: Any) -> None:
        """Write the last line, with the candidate that was chosen, after the refit."""
        run, seconds = self.run, seconds_text(time.monotonic() - self.run.began)
        n_read = len(run.log.places)
        used = f" ({n_read:,} of them from earlier searches)" if n_read else ""
        line = f"Done: {counted(len(run.log.outcomes), 'fit')}{used} in {seconds}"
        line += f", stopped by {run.ended_by}" if run.ended_by else ""
        if hasattr(search, "best_index_"):
            results, row, name = search.cv_results_, search.best_index_, f"mean_test_{run.metric}"
            line += f"; chosen: candidate {results['candidate'][row]}, {name} "
            line += score_text(results[name][row])
        self._write(line)


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
