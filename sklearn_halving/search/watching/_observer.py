"""The observer of the pull loop: it updates progress output and scikit-learn's callbacks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from joblib import effective_n_jobs

from sklearn_halving._typing import CallbackContext
from sklearn_halving.execution._pull_loop import PullObserver
from sklearn_halving.execution._types import Outcome
from sklearn_halving.policies._types import Pull
from sklearn_halving.search._run import Run
from sklearn_halving.search.watching._callbacks import CallbackTree
from sklearn_halving.search.watching._progress import Part, Progress, Standings, parts_of
from sklearn_halving.search.watching._progress_output import (
    Bar,
    Milestones,
    checkpoint_line,
    end_line,
    headline,
    milestone_line,
    part_line,
    write_above,
)
from sklearn_halving.search.watching._remaining_time import FitCosts

if TYPE_CHECKING:
    from sklearn_halving.search._base_search import BaseBanditSearchCV


@dataclass
class Watch(PullObserver):
    """Passes each outcome to the progress counts, then to output and callbacks.

    Parameters
    ----------
    search : estimator
        The search. Callbacks can read the current state from its ``progress_``.
    run : Run
        The running fit, whose policy knows the stages and the races.
    progress : Progress
        The progress counts.
    callbacks : CallbackTree
        scikit-learn's callbacks.
    milestones : Milestones
        Decides when to print lines without rungs or stages.
    bar : Bar or None
        The progress bar.
    stops : bool
        Whether a callback requested a stop at the end of a race.
    """

    search: BaseBanditSearchCV
    run: Run
    progress: Progress
    callbacks: CallbackTree
    milestones: Milestones
    bar: Bar | None = None
    stops: bool = False

    @property
    def is_needed(self) -> bool:
        """Whether there is any output or callback. If not, pulls are not counted."""
        return self.search.verbose > 0 or self.bar is not None or self.callbacks.is_watched

    def context_of(self, pull: Pull) -> CallbackContext | None:
        """Return scikit-learn's callback context of a pull, if a callback follows pulls."""
        return self.callbacks.context_of(pull) if self.callbacks.is_watched else None

    def land(self, outcome: Outcome, *, is_replayed: bool) -> bool:
        """Process a completed pull; return whether a callback requests a stop."""
        progress = self.progress
        self._tell_of(progress.land(outcome, is_replayed=is_replayed))
        is_told_of_fits = self.search.verbose > 0 and not progress.parts
        if is_told_of_fits and self.milestones.is_reached(progress.n_fits):
            self.write(milestone_line(progress.report(), progress.resource))
        if self.callbacks.is_watched:
            self.search.progress_ = progress.report()
        if self.bar is not None and self.bar.is_due():
            self.bar.update(progress.report())
        if not self.callbacks.is_watched:
            return False
        end = self.callbacks.replay_pull if is_replayed else self.callbacks.end_pull
        return end(outcome.pull) or self.stops

    def tell(self) -> None:
        """Check whether a stage or a race has ended after the policy received rewards."""
        progress, policy, state = self.progress, self.run.prepared.policy, self.run.state
        if progress.parts and self.run.prepared.plan.schedule is None:
            self._tell_of(progress.enter_stage(policy.current_stage(state)))
        for path, n_fits, part in progress.end_races(partial(policy.n_dropped, state)):
            self._tell_of(part)
            if self.callbacks.is_watched:
                self.stops |= self.callbacks.end_pulls(path, n_fits)

    def _tell_of(self, part: Part | None) -> None:
        if part is not None and self.search.verbose > 0:
            self.write(part_line(part, self.progress.report(), self.progress.resource))

    def write(self, line: str) -> None:
        """Write a line above the bar, if there is one."""
        write_above(self.bar, line)


def make_progress(search: BaseBanditSearchCV, run: Run) -> Progress:
    """Return the progress counts for the start of a search."""
    prepared, task = run.prepared, run.task
    plan, parts, journal = prepared.plan, parts_of(prepared.plan), run.checkpoint.journal
    has_rungs = bool(parts) and parts[0].bracket is not None
    n_planned = None if run.is_timed else plan.n_fits
    if parts and n_planned is not None:  # stages may not use the whole budget
        n_planned = min(n_planned, sum(part.n_fits for part in parts))
    continues = task.resource.can_continue(task.estimator)
    return Progress(
        parts,
        n_planned,
        plan.path_of,
        run.reward,
        task.resource,
        Standings(
            by_level=plan.description.ranks_by_level,
            n_splits=_n_splits_of_level(parts) if has_rungs else None,
        ),
        FitCosts(task.resource, continues, max(1, effective_n_jobs(search.n_jobs))),
        run.deadline,
        n_in_checkpoint=0 if journal is None else len(journal.records),
    )


def _n_splits_of_level(parts: Sequence[Part]) -> dict[int, list[int]]:
    n_splits: dict[int, list[int]] = defaultdict(list)
    for part in parts:
        n_splits[part.level].append(part.n_splits)
    return n_splits


@contextmanager
def open_watch(search: BaseBanditSearchCV, run: Run, callbacks: CallbackTree) -> Iterator[Watch]:
    """Print the first lines, and show progress until the search ends."""
    progress = make_progress(search, run)
    if search.verbose > 0:
        for line in _first_lines(run, progress.n_planned):
            write_above(None, line)
    bar = Bar(type(search).__name__, progress.n_planned) if search.progress_bar else None
    watch = Watch(search, run, progress, callbacks, Milestones(progress.n_planned), bar)
    try:
        yield watch
    finally:
        search.__dict__.pop("progress_", None)
        if bar is not None:
            bar.update(progress.report())
            bar.close()


def _first_lines(run: Run, n_planned: int | None) -> Iterator[str]:
    plan, has_deadline = run.prepared.plan, run.deadline < float("inf")
    yield headline(plan, is_timed=run.is_timed, has_deadline=has_deadline)
    journal = run.checkpoint.journal
    if journal is not None and journal.records:
        may_end_early = plan.may_end_early or has_deadline
        yield checkpoint_line(len(journal.records), n_planned, may_end_early=may_end_early)


def write_end(search: BaseBanditSearchCV, run: Run, progress: Progress) -> None:
    """Write the last line of a search, if ``verbose``."""
    if search.verbose > 0:
        best_score = getattr(search, "best_score_", None)
        write_above(None, end_line(progress.report(), best_score, run.ended_by))
