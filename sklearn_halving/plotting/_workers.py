"""WorkerDisplay: when the fits ran."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from sklearn_halving._typing import Params
from sklearn_halving.plotting import _drawing as drawing
from sklearn_halving.plotting._display import Display
from sklearn_halving.plotting._reading import FittedSearch, arrays

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
class WorkerDisplay(Display):
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
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_halving import VarianceHalvingSearchCV
    >>> X, y = load_wine(return_X_y=True)
    >>> search = VarianceHalvingSearchCV(
    ...     DecisionTreeClassifier(), {"max_depth": [1, 2, 3, 4, 5]}, random_state=0
    ... ).fit(X, y)
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
        seconds = (history["fit_time"] + history["score_time"]).to_numpy()
        start, pauses = _without_pauses(history["started"].to_numpy(), seconds)
        columns = arrays(history, "fit_time", "score_time", "failed")
        return cls(start=start, lane=_lanes(start, seconds), pauses=pauses, **columns)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display."""
        n_lanes = int(self.lane.max()) + 1
        ax = self._axes(ax, 8.0, 1.3 + 0.35 * min(max(n_lanes, 3), 24))
        (self._draw_busy if self._is_crowded else self._draw_fits)(ax)
        for place in self.pauses:
            ax.axvline(place, color=drawing.GREY, linestyle=":")
        end = float(self._end.max())
        ax.set_xlim(0, max(end, 1e-9))
        ax.set_ylim(n_lanes - 0.5, -0.5)
        lanes = range(0, n_lanes, -(-n_lanes // 12))
        ax.set_yticks(lanes, [f"{lane + 1}" for lane in lanes], fontsize="small")
        ax.set(xlabel="seconds", ylabel="worker (inferred)")
        self._add_legend(ax)
        busy = float((self.fit_time + self.score_time).sum()) / max(end * n_lanes, 1e-12)
        fits = drawing.count_of(len(self.start), "fit")
        drawing.note(ax, fits, f"lanes busy {min(busy, 1.0):.0%} of the time")
        return self

    @property
    def _is_crowded(self) -> bool:
        """Whether single fits would be too thin to be told apart."""
        return len(self.start) > MAX_BARS

    @property
    def _end(self) -> np.ndarray:
        """Seconds at which each fit and its scoring ended."""
        return self.start + self.fit_time + self.score_time

    def _draw_fits(self, ax: Axes) -> None:
        """Draw each fit and its scoring, with a white edge between fits."""
        colors = np.where(self.failed, FAILED, drawing.OTHERS)
        edge: Params = {"edgecolor": "white", "linewidth": 0.4}
        ax.barh(self.lane, self.fit_time, 0.8, self.start, color=colors, **edge)
        scoring = self.start + self.fit_time
        ax.barh(self.lane, self.score_time, 0.8, scoring, color=SCORING, **edge)

    def _draw_busy(self, ax: Axes) -> None:
        """Draw when each lane was busy; fits without a visible gap are one bar."""
        gap = float(self._end.max()) / N_VISIBLE
        for lane in np.unique(self.lane):
            inside = self.lane == lane
            first, last = self.start[inside], np.maximum.accumulate(self._end[inside])
            is_new = np.concatenate([[True], first[1:] - last[:-1] > gap])
            is_last = np.concatenate([is_new[1:], [True]])
            ax.barh(lane, last[is_last] - first[is_new], 0.8, first[is_new], color=drawing.OTHERS)
        start, lane = self.start[self.failed], self.lane[self.failed]
        ax.vlines(start, lane - 0.4, lane + 0.4, color=FAILED, linewidth=0.8)

    def _add_legend(self, ax: Axes) -> None:
        from matplotlib.patches import Patch

        colors = {"fit": drawing.OTHERS, "scoring": SCORING}
        if self._is_crowded:
            colors = {"fits and scoring": drawing.OTHERS}
        if self.failed.any():
            colors["failed fit"] = FAILED
        handles: list[Artist] = [Patch(color=color, label=name) for name, color in colors.items()]
        if len(self.pauses):
            handles += ax.plot([], [], color=drawing.GREY, linestyle=":", label="pause cut out")
        drawing.legend_beside(ax, handles=handles)


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
