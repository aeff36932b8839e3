"""Output of progress: lines if ``verbose`` is at least 1, and a tqdm progress bar."""

from __future__ import annotations

import sys
import time
from math import ceil, isnan

from sklearn_halving.execution._messages import write_line
from sklearn_halving.resources import Resource
from sklearn_halving.search._formatting import counted, number_text, score_text
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.watching._progress import Part, ProgressReport

N_LINES = 10
"""Number of lines of a search without rungs or stages, if its length is known."""
FIRST_LINE = 10
"""Fits before the first line if the length is unknown; doubled for each further line."""
REFRESH_SECONDS = 0.1
"""Shortest time between two updates of a bar."""


def check_progress_bar(progress_bar: bool) -> None:
    """Raise an ImportError if a bar is requested and tqdm is missing.

    Raises
    ------
    ImportError
        If tqdm is not installed.
    """
    if not progress_bar:
        return
    try:
        import tqdm.auto  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"progress_bar={progress_bar} needs the package tqdm, which cannot be imported: "
            f"{error}. Install it with pip install 'sklearn-halving[progress]', or use "
            "verbose=1, which prints lines instead."
        ) from error


class Bar:
    """A tqdm progress bar for terminals and notebooks.

    Parameters
    ----------
    name : str
        Text before the bar.
    n_planned : int or None
        Number of fits; None if unknown.
    """

    def __init__(self, name: str, n_planned: int | None) -> None:
        from tqdm.auto import tqdm

        has_end = n_planned is not None
        self._tqdm = tqdm(
            total=n_planned,
            desc=name,
            unit="fit",
            # tqdm's own time left assumes that all fits take the same time.
            bar_format=(
                "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
                if has_end
                else "{desc}: {n_fmt} fits [{elapsed}{postfix}]"
            ),
        )
        self._next = 0.0
        self._n_shown = -1

    def is_due(self) -> bool:
        """Return whether the bar may be updated now."""
        return time.monotonic() >= self._next

    def update(self, report: ProgressReport) -> None:
        """Show the current state, if it has changed."""
        if report.n_fits == self._n_shown:
            return
        self._n_shown = report.n_fits
        self._next = time.monotonic() + REFRESH_SECONDS
        self._tqdm.total = report.n_planned
        texts = [report.place] if report.place else []
        if not isnan(report.best_score):
            splits = counted(report.best_n_splits, "split")
            texts.insert(0, f"best {score_text(report.best_score)} ({splits})")
        texts += [left_text(report.seconds_left)] if report.seconds_left else []
        self._tqdm.set_postfix_str(", ".join(texts), refresh=False)
        self._tqdm.n = report.n_fits
        self._tqdm.refresh()

    def write(self, line: str) -> None:
        """Write a line above the bar."""
        self._tqdm.write(line, file=sys.stdout)

    def close(self) -> None:
        """Close the bar and leave it on the screen."""
        self._tqdm.close()


def headline(plan: SearchPlan, *, is_timed: bool = False, has_deadline: bool = False) -> str:
    """Return the line for the start of a search.

    ``is_timed`` says whether the time budget decides how many loops are played.
    """
    n_arms, n_fits = plan.problem.n_arms, plan.n_fits
    candidates = counted(n_arms, "candidate")
    at_most = "at most " if plan.may_end_early or has_deadline else ""
    if is_timed:
        return (
            "Fitting new candidates in each loop of brackets on up to "
            f"{counted(plan.problem.max_repetitions or 1, 'split')}; the time budget decides how "
            "many loops are played"
        )
    if plan.schedule is not None:
        n_brackets = counted(len(plan.schedule.brackets), "bracket")
        return (
            f"Fitting {candidates} in {n_brackets} on up to "
            f"{counted(plan.problem.max_repetitions or 1, 'split')}, totalling {at_most}"
            f"{counted(n_fits or 0, 'fit')}"
        )
    if plan.makes_candidates:
        return (
            f"Fitting at most {candidates}, which are created during the search, totalling "
            f"{at_most}{counted(n_fits or 0, 'fit')}"
        )
    if n_fits is None:
        return f"Fitting {candidates} until the policy stops"
    return f"Fitting {candidates}, totalling {at_most}{counted(n_fits, 'fit')}"


class Milestones:
    """Numbers of fits after which a line is printed in a search without rungs.

    Parameters
    ----------
    n_planned : int or None
        Number of fits; None if unknown.
    """

    def __init__(self, n_planned: int | None) -> None:
        self._n_planned = n_planned
        self._n_lines = 0
        self._next = self._after_next()

    def _after_next(self) -> int:
        self._n_lines += 1
        if self._n_planned is None:
            return FIRST_LINE << (self._n_lines - 1)
        return ceil(self._n_planned * self._n_lines / N_LINES)

    def is_reached(self, n_fits: int) -> bool:
        """Return whether a line is due; called once for each number of fits."""
        if n_fits < self._next:
            return False
        while self._next <= n_fits:
            self._next = self._after_next()
        return True


def checkpoint_line(n_done: int, n_planned: int | None, *, may_end_early: bool) -> str:
    """Return the line on the contents of a checkpoint."""
    line = f"The checkpoint has {counted(n_done, 'fit')}"
    if n_planned is None:
        return line
    at_most = "at most " if may_end_early else ""
    return f"{line}; {at_most}{max(0, n_planned - n_done):,} remain"


def part_line(part: Part, report: ProgressReport, resource: Resource) -> str:
    """Return the line for the end of a rung or stage."""
    amount, n_splits = resource.to_amount(part.level), None
    at, what = resource_text(resource, amount), counted(part.n_candidates, "candidate")
    if part.bracket is not None:
        n_splits = part.n_splits
        what += f" on {'up to ' * part.races}{counted(n_splits, 'split')}"
    what += f" at {at}" if at else ""
    best = _best_text(report, resource, (amount, n_splits))
    return f"{part.name}: {what}; {best}; {_fits_text(report)}, {_times_text(report)}"


def milestone_line(report: ProgressReport, resource: Resource) -> str:
    """Return the line for a number of fits."""
    what = f"{counted(report.n_candidates, 'candidate')} tried"
    best = _best_text(report, resource)
    return f"{_fits_text(report)}: {what}; {best}; {_times_text(report)}"


def end_line(report: ProgressReport, best_score: float | None, ended_by: str) -> str:
    """Return the line for the end of a search, before the refit."""
    line = f"Done: {counted(report.n_fits, 'fit')} in {clock_text(report.seconds)}"
    if ended_by:
        line += f", stopped by {ended_by}"
    return line if best_score is None else f"{line}; best score {score_text(best_score)}"


def resource_text(resource: Resource, amount: float) -> str:
    """Return an amount of resource with its unit; empty without a resource."""
    number = number_text(amount)
    if resource.name == "whole_fit":
        return ""
    units = {"partial_fit": "epoch", "fit_time": "second"}
    unit = "row" if resource.subsamples_rows else units.get(resource.name)
    if unit is None:
        return f"{resource.name}={number}"
    return f"{number} {unit}{'' if amount == 1 else 's'}"


def clock_text(seconds: float) -> str:
    """Return a time as ``m:ss``, or ``h:mm:ss`` from one hour."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def left_text(seconds: float) -> str:
    """Return the remaining time, at least one second."""
    return f"about {clock_text(max(1.0, seconds))} left"


def write_above(bar: Bar | None, line: str) -> None:
    """Write a line to the standard output, above the bar if there is one."""
    if bar is None:
        write_line(line)
    else:
        bar.write(line)


def _best_text(
    report: ProgressReport,
    resource: Resource,
    said: tuple[float | None, int | None] = (None, None),
) -> str:
    """Return the best score, with its number of splits and its amount of resource.

    ``said`` has the amount and the number of splits that the line has already given.
    """
    if isnan(report.best_score):
        return "no score yet"
    amount, n_splits = report.best_resources, report.best_n_splits
    texts = [] if (amount, n_splits) == said else [counted(n_splits, "split")]
    if amount != said[0] and resource_text(resource, amount):
        texts.append(resource_text(resource, amount))
    text = f"best score {score_text(report.best_score)}"
    return f"{text} ({', '.join(texts)})" if texts else text


def _fits_text(report: ProgressReport) -> str:
    if report.n_planned is None:
        return counted(report.n_fits, "fit")
    return f"{report.n_fits:,} of {counted(report.n_planned, 'fit')}"


def _times_text(report: ProgressReport) -> str:
    text = f"{clock_text(report.seconds)} elapsed"
    if not report.seconds_left:
        return text
    return f"{text}, {left_text(report.seconds_left)}"
