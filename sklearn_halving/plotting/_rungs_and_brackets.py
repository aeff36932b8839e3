"""Displays of brackets: the score of each candidate in its rungs, and the size of each rung."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from sklearn_halving._typing import Params
from sklearn_halving.plotting import _drawing as drawing
from sklearn_halving.plotting._display import Display, FittedSearch, arrays

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_PANELS = 8
WINNERS: Params = {"color": drawing.WINNER, "linewidth": 2.4}
HOLLOW: Params = {"s": 14, "facecolors": "white", "linewidths": 0.9}


@dataclass(eq=False, repr=False, kw_only=True)
class RungDisplay(Display):
    """Score against resource, with one line per candidate.

    Use `from_estimator` to create a display. A line ends at the rung in which its candidate was
    eliminated, and the line of the winner has its own colour. A hollow point has fewer splits than
    others with the same resource, such as that of a candidate that was dropped after one split.
    The plot shows whether cheap fits predict full fits: if lines still cross late, use a larger
    ``min_resources`` or a smaller ``factor`` to promote more candidates.

    The fits of the search must differ in their resource. If no axes are given, each bracket has
    its own axes in a new figure; on given axes, brackets are told apart by colour.

    Parameters
    ----------
    candidate : ndarray of shape (n_points,)
        Number of the candidate.
    n_resources : ndarray of shape (n_points,)
        Amount of resource.
    score : ndarray of shape (n_points,)
        Mean test score with this resource, as in ``cv_results_``; NaN if any score is NaN.
    has_fewer_splits : ndarray of bool of shape (n_points,)
        True for points with fewer splits than others with the same resource.
    bracket : ndarray of shape (n_points,)
        Bracket (the paper's s); 0 if the search has no brackets.
    best_candidate : int or None
        Number of the winner.
    score_label, resource_label : str
        Labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes; the first if there are several.
    axes_ : ndarray of matplotlib Axes
        All axes: one for each bracket, or the axes that were given.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    BracketDisplay : Number of candidates in each rung.

    Examples
    --------
    >>> from scipy.stats import randint
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> from sklearn_halving import HyperbandSearchCV
    >>> X, y = load_wine(return_X_y=True)
    >>> space = {"max_depth": randint(1, 9), "max_features": randint(1, 13), "n_estimators": [3]}
    >>> search = HyperbandSearchCV(
    ...     ExtraTreesClassifier(), space, brackets="all", n_candidates=17, cv=3, random_state=0
    ... ).fit(X, y)
    >>> from sklearn_halving.plotting import RungDisplay
    >>> display = RungDisplay.from_estimator(search)
    >>> len(display.axes_)  # brackets
    3
    """

    candidate: np.ndarray
    n_resources: np.ndarray
    score: np.ndarray
    has_fewer_splits: np.ndarray
    bracket: np.ndarray
    best_candidate: int | None
    score_label: str = "score"
    resource_label: str = "resource"

    @classmethod
    def _from_search(cls, found: FittedSearch) -> Self:
        if not found.has_resources:
            raise found.lacks("scores against a resource", "use PullsDisplay or ConfidenceDisplay")
        names = "candidate", "n_resources", "score", "has_fewer_splits", "bracket"
        return cls(
            **arrays(found.rungs().reset_index(), *names),
            best_candidate=found.best_candidate,
            score_label=f"mean test {found.score_label}",
            resource_label=found.resource_label,
        )

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display."""
        plt = self._pyplot()
        brackets = np.unique(self.bracket)[::-1]  # the most exploratory first
        n = len(brackets)
        has_panels = ax is None and 1 < n <= MAX_PANELS
        if has_panels:
            size = 1.0 + 2.1 * n, 3.6
            self.axes_ = plt.subplots(ncols=n, figsize=size, sharey=True, layout="constrained")[1]
        else:
            self.axes_ = np.array([self._axes(ax)])
        self.ax_ = self.axes_[0]
        shades = plt.get_cmap("viridis")(np.linspace(0.0, 0.9, n))
        for place, bracket in enumerate(brackets):
            inside = self.bracket == bracket
            label = f"bracket {bracket}" if n > 1 else "candidates"
            if has_panels:
                panel = self.axes_[place]
                self._draw_bracket(panel, inside, drawing.OTHERS)
                drawing.set_log_levels(panel, self.n_resources[inside])
                number = drawing.count_of(len(np.unique(self.candidate[inside])), "candidate")
                lines = filter(None, [label, number, self._without_score(inside)])
                panel.set_title("\n".join(lines), fontsize="medium")
            else:
                self._draw_bracket(self.ax_, inside, shades[place], label)
        self.ax_.set_ylabel(drawing.wrapped(self.score_label))
        n_below = drawing.clip(self.ax_.set_ylim, self.score)
        below = f"{n_below} below the axis" if n_below else ""
        if has_panels:
            self.figure_.supxlabel(self.resource_label, fontsize="medium")
            self.ax_.text(0.03, 0.02, below, transform=self.ax_.transAxes, fontsize="small")
        else:
            drawing.set_log_levels(self.ax_, self.n_resources)
            self.ax_.set_xlabel(self.resource_label)
            drawing.note(self.ax_, below, self._without_score(slice(None)))
        last = self.axes_[-1]
        if self.best_candidate is not None:
            label = f"winner, #{self.best_candidate}"
            last.plot([], [], marker="o", markersize=3.5, label=label, **WINNERS)
        if self.has_fewer_splits.any():
            style: Params = {"edgecolors": drawing.OTHERS, "label": drawing.FEWER_SPLITS}
            last.scatter([], [], **style, **HOLLOW)
        if last.get_legend_handles_labels()[0]:
            drawing.legend_beside(last)
        return self

    def _draw_bracket(self, ax: Axes, inside: np.ndarray, color: object, label: str = "") -> None:
        """Draw one bracket."""
        candidates = np.unique(self.candidate[inside])
        alpha = float(np.clip(8 / len(candidates), 0.3, 0.8))
        for candidate in candidates:
            rows = np.flatnonzero(inside & (self.candidate == candidate))
            style: Params = {"color": color, "alpha": alpha, "linewidth": 1.2, "zorder": 2}
            if candidate == self.best_candidate:
                style = {"zorder": 3, **WINNERS}
            x, y = self.n_resources[rows], self.score[rows]
            ax.plot(x, y, marker="o", markersize=3.5, markeredgewidth=0, **style)
            hollow = self.has_fewer_splits[rows]
            if hollow.any():
                ax.scatter(x[hollow], y[hollow], edgecolors=style["color"], zorder=3, **HOLLOW)
        if label:
            ax.plot([], [], color=color, marker="o", markersize=3.5, label=label)

    def _without_score(self, inside: np.ndarray | slice) -> str:
        """Return a note on candidates without a score in one of their rungs."""
        n_without = len(np.unique(self.candidate[inside][np.isnan(self.score[inside])]))
        return f"{n_without} without score" if n_without else ""


MAX_LABELLED = 12
"""Maximum number of rungs that are labelled."""
BOX = 0.16
"""Half the width of a box, in rungs."""


@dataclass(frozen=True)
class Lane:
    """A bracket, drawn from left to right.

    Parameters
    ----------
    name : str
        Name of the bracket.
    column : ndarray of shape (n_rungs,)
        Position of each rung on the x axis.
    n_candidates : ndarray of shape (n_rungs,)
        Number of candidates in each rung.
    best_score : float
        Best mean score in the last rung. Candidates with fewer splits than others at the same
        amount of resource do not count. NaN if there is no score.
    has_winner : bool
        Whether the bracket contains the winner.
    """

    name: str
    column: np.ndarray
    n_candidates: np.ndarray
    best_score: float
    has_winner: bool


@dataclass(eq=False, repr=False, kw_only=True)
class BracketDisplay(Display):
    """Brackets as streams of candidates: the size of each rung, and how many are promoted.

    Use `from_estimator` to create a display. Each bracket is a lane, drawn from left to right.
    Each rung is a box labelled with its number of candidates, and the band between two boxes
    shows the candidates that are promoted. Rungs with the same amount of resource are aligned
    vertically, and those of one bracket share a box. The height of a box is proportional to the
    square root of the number of candidates, so that the last rungs remain visible. The best score
    of the last rung over all splits is written on the right, and the lane of the winner has its
    own colour. A search that eliminates candidates in stages, without brackets, has a single lane.

    The search must play rungs or stages.

    Parameters
    ----------
    lanes : list of Lane
        The brackets, from top to bottom, with attributes ``name``, ``column``,
        ``n_candidates``, ``best_score`` and ``has_winner``.
    columns : list of str
        Tick labels of the x axis.
    score_label, column_label : str
        Names of the score on the right and of the x axis.

    See Also
    --------
    RungDisplay : Scores of the candidates in each rung.

    Examples
    --------
    >>> from scipy.stats import randint
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> from sklearn_halving import HyperbandSearchCV
    >>> X, y = load_wine(return_X_y=True)
    >>> space = {"max_depth": randint(1, 9), "max_features": randint(1, 13), "n_estimators": [3]}
    >>> search = HyperbandSearchCV(
    ...     ExtraTreesClassifier(), space, brackets="all", n_candidates=17, cv=3, random_state=0
    ... ).fit(X, y)
    >>> from sklearn_halving.plotting import BracketDisplay
    >>> display = BracketDisplay.from_estimator(search)
    >>> [lane.n_candidates.tolist() for lane in display.lanes]
    [[9, 3, 1], [5, 1], [3]]
    """

    lanes: list[Lane]
    columns: list[str]
    score_label: str = "score"
    column_label: str = "resource"

    @classmethod
    def _from_search(cls, found: FittedSearch) -> Self:
        if found.has_brackets:
            lanes, column_label = _bracket_lanes(found), found.resource_label
            columns = [f"{amount:.4g}" for amount in np.unique(found.results["n_resources"])]
        elif "stage" in found.results:
            lanes, column_label = [_stage_lane(found)], "stage"
            columns = [str(stage) for stage in lanes[0].column]
        else:
            way_out = "use PullsDisplay to see how its fits were spent"
            raise found.lacks("brackets or stages", way_out)
        return cls(
            lanes=lanes,
            columns=columns,
            score_label=f"mean test {found.score_label}",
            column_label=column_label,
        )

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display."""
        heights = [max(2.0, float(np.sqrt(lane.n_candidates.max()))) for lane in self.lanes]
        gap = 0.12 * max(heights) + 1.2
        bottoms = np.cumsum([0.0, *(height + gap for height in heights)])
        ax = self._axes(ax, 7.2, float(np.clip(1.2 + 0.16 * bottoms[-1], 2.6, 12.0)))
        centers = bottoms[:-1] + np.array(heights) / 2
        several = len(self.lanes) > 1
        for lane, center in zip(self.lanes, centers.tolist(), strict=True):
            _draw_lane(ax, lane, center, is_marked=lane.has_winner and several)
        ax.set_yticks(centers, [lane.name for lane in self.lanes])
        ax.set_ylim(bottoms[-1] - gap / 2, -gap / 2 - 0.6)
        ticks = drawing.evenly(len(self.columns), MAX_LABELLED)
        ax.set_xticks(ticks, [self.columns[place] for place in ticks])
        ax.set_xlim(-0.5, max(len(self.columns), 3) - 0.2)
        ax.set_xlabel(self.column_label)
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
        winners = ", winner's in orange" if several else ""
        drawing.note(ax, f"numbers of candidates; right: best {self.score_label}{winners}")
        return self


def _draw_lane(ax: Axes, lane: Lane, center: float, *, is_marked: bool) -> None:
    """Draw boxes, the score, and bands of promoted candidates, which start at half the height."""
    column, n_candidates = lane.column, lane.n_candidates
    colors = (drawing.WINNER,) * 2 if is_marked else (drawing.OTHERS, drawing.GREY)
    half = np.sqrt(n_candidates) / 2
    leaving = half[:-1] * n_candidates[1:] / n_candidates[:-1]
    boxes = column - BOX, column + BOX, half, half
    bands = column[:-1] + BOX, column[1:] - BOX, leaving, half[1:]
    for (left, right, *heights), fill in ((boxes, colors[0]), (bands, drawing.PALE)):
        gap = np.full(len(left), np.nan)
        x, height = (np.stack([*ends, gap], axis=1).ravel() for ends in ((left, right), heights))
        ax.fill_between(x, center - height, center + height, color=fill, lw=0)
    for place in drawing.evenly(len(column), MAX_LABELLED):
        top = center - half[place] - 0.15
        ax.text(column[place], top, n_candidates[place], ha="center", va="bottom")
    text = "no score on all splits" if np.isnan(lane.best_score) else f"{lane.best_score:.4g}"
    style: Params = {"va": "center", "color": colors[1], "fontsize": "small"}
    end = float(lane.column[-1] + BOX)
    ax.annotate(text, (end, center), xytext=(6, 0), textcoords="offset points", **style)


def _bracket_lanes(found: FittedSearch) -> list[Lane]:
    """Return a lane for each bracket of each loop, in the order of ``cv_results_``."""
    results = found.results
    means = np.where(found.has_fewer_splits(), np.nan, found.means())
    bracket = results["bracket"]
    loop = results.get("loop", np.zeros_like(bracket))
    column = np.unique(results["n_resources"], return_inverse=True)[1]
    lanes = []
    for own_loop, minus_bracket in np.unique(np.stack([loop, -bracket], axis=1), axis=0):
        inside = (loop == own_loop) & (bracket == -minus_bracket)
        places, n_candidates = np.unique(column[inside], return_counts=True)
        best_score = float(np.fmax.reduce(means[inside & (column == places[-1])]))
        has_winner = found.best_row is not None and bool(inside[found.best_row])
        prefix = f"loop {own_loop}, " if loop.any() else ""
        name = f"{prefix}bracket {-minus_bracket}"
        lanes.append(Lane(name, places, n_candidates, best_score, has_winner))
    return lanes


def _stage_lane(found: FittedSearch) -> Lane:
    """Return one lane with the candidates that remain in each stage."""
    stage = found.results["stage"]
    stages = np.arange(max(int(stage.max()), 0) + 1)
    in_play = (stage[np.newaxis, :] >= stages[:, np.newaxis]).sum(axis=1)
    best_score = float(np.fmax.reduce(found.means()[stage == stage.max()]))
    return Lane("candidates", stages, in_play, best_score, True)
