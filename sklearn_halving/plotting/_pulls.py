"""PullsDisplay and WorkerDisplay: which candidates got the fits, and when they ran."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from sklearn_halving._typing import Params
from sklearn_halving.plotting._display import Display
from sklearn_halving.plotting._drawing import (
    GREY,
    MAX_LABELS,
    OTHERS,
    WINNER,
    count_of,
    height_of,
    label_candidates,
    legend_beside,
    note,
)
from sklearn_halving.plotting._labels import candidate_labels
from sklearn_halving.plotting._reading import FittedSearch, candidate_table

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

SCORING = "#e69f00"
FAILED = "#b2182b"
MAX_BARS = 150
"""Largest number of fits of which each has a bar of its own."""
N_VISIBLE = 400
"""Width of the axis, in units of the narrowest visible gap."""
CLOCK_ERROR = 1e-3
"""Seconds by which two fits of one worker may seem to overlap, because start and duration are
measured by two clocks."""
LEAST_PAUSE = 10.0
"""Minimum length of a pause in seconds. A busy machine may be idle for shorter times."""
LONG_PAUSE = 0.25
"""Minimum length of a pause as a share of the busy time. Pauses occur if a search is interrupted
and resumed later."""


@dataclass(eq=False, repr=False, kw_only=True)
class PullsDisplay(Display, example="halving"):
    """Number of fits of each candidate, best rank first: how the budget was spent.

    Use `from_estimator` to create a display. If the search uses a resource, each bar is split
    by amount of resource; darker parts mean more resource. With several metrics, ``metric``
    ranks the candidates.

    Parameters
    ----------
    candidate : ndarray of shape (n_candidates,)
        Number of the candidate, best rank first.
    n_pulls : ndarray of shape (n_candidates, n_levels)
        Number of fits with each amount of resource.
    levels : ndarray of shape (n_levels,)
        Amounts of resource; a single NaN if the search has no resource.
    best : ndarray of bool of shape (n_candidates,)
        True for the winner.
    labels : list of str
        Labels of the candidates.
    resource_label : str
        Name of the resource.

    See Also
    --------
    ConfidenceDisplay : Final score of each candidate, with its interval.

    Examples
    --------
    >>> from sklearn_halving.plotting import PullsDisplay
    >>> display = PullsDisplay.from_estimator(search)
    >>> int(display.n_pulls.sum()) == search.n_fits_
    True
    """

    candidate: np.ndarray
    n_pulls: np.ndarray
    levels: np.ndarray
    best: np.ndarray
    labels: list[str]
    resource_label: str = "resource"

    @classmethod
    def _from_search(cls, found: FittedSearch) -> Self:
        table = candidate_table(found)
        place = np.empty(table.candidate.max() + 1, dtype=int)
        place[table.candidate] = np.arange(len(table.candidate))
        rows = place[found.history["candidate"].to_numpy()]
        levels, columns = np.array([np.nan]), np.zeros(len(rows), dtype=int)
        if found.has_resources:
            amounts = found.history["n_resources"].to_numpy()
            levels, columns = np.unique(amounts, return_inverse=True)
        n_pulls = np.zeros((len(table.candidate), len(levels)), dtype=int)
        np.add.at(n_pulls, (rows, columns), 1)
        params = [found.results["params"][row] for row in table.row]
        return cls(
            candidate=table.candidate,
            n_pulls=n_pulls,
            levels=levels,
            best=table.best,
            labels=candidate_labels(table.candidate.tolist(), params),
            resource_label=found.resource_unit,
        )

    def _draw(self, ax: Axes | None) -> Axes:
        plt, n_candidates = self._pyplot(), len(self.candidate)
        ax = self._axes(ax, 8.6, height_of(n_candidates))
        n_levels = len(self.levels)
        colors = (
            [OTHERS] if n_levels == 1 else plt.get_cmap("Blues")(np.linspace(0.3, 1, n_levels))
        )
        start = np.zeros(n_candidates, dtype=int)
        # With hundreds of bars, gaps cause moiré, and bars thinner than a pixel are not drawn.
        height, edge = (0.8, 0.0) if n_candidates <= 2 * MAX_LABELS else (1.0, 0.8)
        for level, color, fits in zip(self.levels, colors, self.n_pulls.T, strict=True):
            label = f"{level:.4g}" if n_levels > 1 else None
            style = {"color": color, "edgecolor": color, "label": label}
            width = np.where(fits > 0, edge, 0.0)
            ax.barh(range(n_candidates), fits, height, start, linewidth=width, **style)
            start = start + fits
        for place in np.flatnonzero(self.best):
            label = "winner" if start[place] else "winner, never fitted"
            ax.plot(start[place], place, "*", markersize=12, color=WINNER, label=label)
        label_candidates(ax, self.labels)
        # The axis starts below 0 so that the star of a winner without fits is not clipped.
        ax.set_xlim(-0.02 * max(1, start.max()), 1.1 * max(1, start.max()))
        ax.locator_params(axis="x", integer=True)
        ax.set_xlabel("fits")
        if n_levels > 1 or self.best.any():
            title = f"fits with {self.resource_label} =" if n_levels > 1 else None
            legend_beside(ax, title=title)
        n_never = int((start == 0).sum())
        note(ax, f"{start.sum()} fits", f"{n_never} never fitted" if n_never else "")
        return ax


@dataclass(eq=False, repr=False, kw_only=True)
class WorkerDisplay(Display, example="halving"):
    """Timeline of all fits: when the workers were busy, and when they were idle.

    Use `from_estimator` to create a display. The history does not record the worker of a fit, so
    lanes are inferred: each fit is placed in the first free lane. The number of lanes is the
    largest number of fits that ran at the same time; a lane is not necessarily one process. Long
    pauses without any fit, such as the time between an interruption and a resume, are cut out.
    The timeline is the same for every ``metric``. With more than 150 fits, bars show when a lane
    was busy, not single fits.

    Parameters
    ----------
    start : ndarray of shape (n_fits,)
        Seconds since the start of the first fit, pauses excluded; ascending.
    fit_time, score_time : ndarray of shape (n_fits,)
        Seconds.
    lane : ndarray of shape (n_fits,)
        Lane of each fit, counted from 0.
    failed : ndarray of bool of shape (n_fits,)
        Whether the fit failed.
    pauses : ndarray of shape (n_pauses,)
        Times at which a pause was cut out.

    Examples
    --------
    >>> from sklearn_halving.plotting import WorkerDisplay
    >>> display = WorkerDisplay.from_estimator(search)
    >>> len(display.start) == search.n_fits_
    True
    """

    start: np.ndarray
    fit_time: np.ndarray
    score_time: np.ndarray
    lane: np.ndarray
    failed: np.ndarray
    pauses: np.ndarray

    @classmethod
    def _from_search(cls, found: FittedSearch) -> Self:
        history = found.history.sort_values("started", kind="stable")
        fit_time, score_time = history["fit_time"].to_numpy(), history["score_time"].to_numpy()
        start, pauses = _without_pauses(history["started"].to_numpy(), fit_time + score_time)
        return cls(
            start=start,
            fit_time=fit_time,
            score_time=score_time,
            lane=_lanes(start, fit_time + score_time),
            failed=history["failed"].to_numpy(),
            pauses=pauses,
        )

    def _draw(self, ax: Axes | None) -> Axes:
        n_lanes = int(self.lane.max()) + 1
        height = 1.3 + 0.35 * min(max(n_lanes, 3), 24)
        ax = self._axes(ax, 8.0, height)
        if self._is_crowded:
            self._draw_busy(ax)
        # A white edge separates fits.
        edge: Params = {"edgecolor": "white", "linewidth": 0.4}
        for lane in range(0 if self._is_crowded else n_lanes):
            inside = self.lane == lane
            for rows, color in ((inside & ~self.failed, OTHERS), (inside & self.failed, FAILED)):
                spans = list(zip(self.start[rows], self.fit_time[rows], strict=True))
                ax.broken_barh(spans, (lane - 0.4, 0.8), facecolors=color, **edge)
            spans = list(zip(self._scoring_starts[inside], self.score_time[inside], strict=True))
            ax.broken_barh(spans, (lane - 0.4, 0.8), facecolors=SCORING, **edge)
        for place in self.pauses:
            ax.axvline(place, color=GREY, linestyle=":")
        end = float((self._scoring_starts + self.score_time).max())
        ax.set_xlim(0, max(end, 1e-9))
        ax.set_ylim(n_lanes - 0.5, -0.5)
        self._finish(ax, end * n_lanes)
        return ax

    @property
    def _is_crowded(self) -> bool:
        """Whether single fits would be too thin to be told apart."""
        return len(self.start) > MAX_BARS

    def _draw_busy(self, ax: Axes) -> None:
        """Draw the times at which each lane was busy; fits without a visible gap are one bar."""
        end = self._scoring_starts + self.score_time
        gap = float(end.max()) / N_VISIBLE
        for lane in np.unique(self.lane).tolist():
            inside = self.lane == lane
            first, last = self.start[inside], np.maximum.accumulate(end[inside])
            is_new = np.concatenate([[True], first[1:] - last[:-1] > gap])
            is_last = np.concatenate([is_new[1:], [True]])
            spans = list(zip(first[is_new], last[is_last] - first[is_new], strict=True))
            ax.broken_barh(spans, (lane - 0.4, 0.8), facecolors=OTHERS)
            failed = self.start[inside & self.failed]
            ax.vlines(failed, lane - 0.4, lane + 0.4, color=FAILED, linewidth=0.8)

    @property
    def _scoring_starts(self) -> np.ndarray:
        return self.start + self.fit_time

    def _finish(self, ax: Axes, available: float) -> None:
        """Add labels and the legend."""
        from matplotlib.patches import Patch

        n_lanes = int(self.lane.max()) + 1
        step = -(-n_lanes // 12)
        lanes = range(0, n_lanes, step)
        ax.set_yticks(lanes, [f"{lane + 1}" for lane in lanes], fontsize="small")
        ax.set(xlabel="seconds", ylabel="worker (inferred)")
        colors = {"fit": OTHERS, "scoring": SCORING}
        if self._is_crowded:
            colors = {"fits and scoring": OTHERS}
        if self.failed.any():
            colors["failed fit"] = FAILED
        handles: list[Artist] = [Patch(color=color, label=name) for name, color in colors.items()]
        if len(self.pauses):
            handles += ax.plot([], [], color=GREY, linestyle=":", label="pause cut out")
        legend_beside(ax, handles=handles)
        busy = float((self.fit_time + self.score_time).sum()) / max(available, 1e-12)
        fits = count_of(len(self.start), "fit", "fits")
        note(ax, fits, f"lanes busy {min(busy, 1.0):.0%} of the time")


def _without_pauses(started: np.ndarray, seconds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the starts without long pauses, and the times at which a pause was cut out.

    Parameters
    ----------
    started : ndarray of shape (n_fits,)
        Ascending, in seconds.
    seconds : ndarray of shape (n_fits,)
        Duration of each fit.
    """
    last_end = np.maximum.accumulate(started + seconds)
    idle = np.maximum(started[1:] - last_end[:-1], 0.0)
    at_work = last_end[-1] - started[0] - idle.sum()
    is_pause = idle > max(LEAST_PAUSE, LONG_PAUSE * at_work)
    cut = np.concatenate([[0.0], np.cumsum(np.where(is_pause, idle, 0.0))])
    start = started - started[0] - cut
    return start, start[1:][is_pause]


def _lanes(start: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Return for each fit, in the order of starts, the first lane that is free."""
    lanes = np.zeros(len(start), dtype=int)
    free: list[int] = []
    running: list[tuple[float, int]] = []
    for place, (begin, duration) in enumerate(zip(start.tolist(), seconds.tolist(), strict=True)):
        while running and running[0][0] <= begin + CLOCK_ERROR:
            heapq.heappush(free, heapq.heappop(running)[1])
        lane = heapq.heappop(free) if free else len(running)
        lanes[place] = lane
        heapq.heappush(running, (begin + duration, lane))
    return lanes
