"""The progress of a search: counts, lines for ``verbose``, and news for callbacks."""

from __future__ import annotations

import time
from collections import defaultdict
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
"""Number of lines, if the number of fits or the time is known. If not, there is a line after this
number of fits, then each time the number doubles."""


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
    _n_lines : int
        Number of lines that were due so far.
    _is_due : bool
        Whether a line is written when the policy knows the latest scores.
    """

    run: Run
    callbacks: CallbackTree
    verbose: int
    _n_lines: int = field(default=0, init=False)
    _is_due: bool = field(default=False, init=False)

    @property
    def _at_most(self) -> str:
        is_exact = self.run.plan.is_exact and self.run.prices.deadline == inf
        return "" if is_exact else "at most "

    def begin(self) -> None:
        """Write the first lines."""
        self._write(headline(self.run.plan, self._at_most))
        n_known = 0 if self.run.known is None else len(self.run.known.outcomes)
        if n_known:
            self._write(f"{counted(n_known, 'fit')} of earlier searches can be used")

    def context_of(self, pull: Pull) -> CallbackContext | None:
        """Return scikit-learn's callback context of a pull, if a callback follows pulls."""
        return self.callbacks.context_of(pull) if self.callbacks.is_watched else None

    def land(self, outcome: Outcome, *, is_known: bool) -> bool:
        """Process a completed pull; return whether a callback requests a stop."""
        if (n_due := self._n_lines_due()) > self._n_lines:
            self._n_lines, self._is_due = n_due, True
        self._is_due &= not is_known
        return self.callbacks.land(outcome.pull, is_known=is_known)

    def told(self) -> None:
        """Write the line that is due, as the policy knows all scores now."""
        if self._is_due and self.verbose > 0:
            self._write_line()
        self._is_due = False

    def _n_lines_due(self) -> int:
        """Return how many lines are due by now.

        There is one for each tenth of the fits or of the time, or each time the fits double.
        """
        n_fits, n_planned = len(self.run.log.outcomes), self.run.plan.n_fits
        if n_planned is not None:
            return N_LINES * n_fits // max(1, n_planned)
        if self.run.prices.deadline < inf:
            began, deadline = self.run.prices.began, self.run.prices.deadline
            return int(N_LINES * (time.monotonic() - began) / max(deadline - began, 1e-9))
        return (n_fits // N_LINES).bit_length()

    def report(self) -> ProgressReport:
        """Return the current state."""
        outcomes = list(self.run.log.outcomes.values())
        arm, level, scores = self._choice(outcomes)
        return ProgressReport(
            n_fits=len(outcomes),
            n_planned=self.run.plan.n_fits,
            n_from_checkpoint=len(self.run.log.places),
            n_candidates=len({outcome.pull.arm for outcome in outcomes}),
            best_candidate=arm,
            best_score=float(np.mean(scores)) if scores else nan,
            best_resources=self.run.task.resource.to_amount(level) if level else nan,
            best_n_splits=len(scores),
            seconds=time.monotonic() - self.run.prices.began,
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

    def _write(self, line: str) -> None:
        if self.verbose > 0:
            write_line(line)

    def _write_line(self) -> None:
        """Write a line with the present state."""
        report, place = self.report(), ""
        if self.run.plan.has_rungs:
            index, rung = self.run.plan.position(next(reversed(self.run.log.outcomes)))
            place = f"bracket {self.run.plan.brackets[index].label}, rung {rung}: "
        fits = counted(report.n_fits, "fit")
        if report.n_planned is not None:
            total = counted(report.n_planned, "fit")
            fits = f"{report.n_fits:,} of {self._at_most}{total}"
        tried = counted(report.n_candidates, "candidate")
        best = "no score yet"
        if report.best_n_splits:
            best = f"choice so far: candidate {report.best_candidate}, score "
            best += f"{score_text(report.best_score)} on {counted(report.best_n_splits, 'split')}"
            best += resource_text(self.run.task.resource, report.best_resources)
        elapsed = f"{seconds_text(report.seconds)} elapsed"
        self._write(f"{place}{fits} of {tried}; {best}; {elapsed}")

    def write_end(self, search: Any) -> None:
        """Write the last line, with the candidate that was chosen, after the refit."""
        run, seconds = self.run, seconds_text(time.monotonic() - self.run.prices.began)
        n_read = len(run.log.places)
        used = f" ({n_read:,} of them from earlier searches)" if n_read else ""
        line = f"Done: {counted(len(run.log.outcomes), 'fit')}{used} in {seconds}"
        end = search._results.end
        line += f", stopped by {end.stopped_by}" if end.stopped_by else ""
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
