"""Displays of brackets: the score of each candidate in its rungs, and the size of each rung."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd

from sklearn_halving._formatting import counted, number_text
from sklearn_halving._typing import Params
from sklearn_halving.plotting import _drawing as drawing
from sklearn_halving.plotting._base_display import Display, FittedSearch

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_BRACKETS = 9


@dataclass(eq=False, repr=False, kw_only=True)
class RungDisplay(Display):
    """Score against resource, with one line per candidate.

    Use `from_estimator` to create a display. A line ends where its candidate was dropped. The plot
    shows whether cheap fits predict full fits: if lines still cross late, use a larger
    ``min_resources`` or a smaller ``factor`` to promote more candidates. A hollow point has fewer
    splits than others with the same resource. Each bracket has its own axes.

    Parameters
    ----------
    rungs : DataFrame
        One row for each candidate and amount of resource, with columns ``candidate``,
        ``n_resources``, ``score``, ``is_partial``, ``bracket``, ``best`` and ``own``.
    score_label, resource_label : str
        Labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.
    axes_ : list of matplotlib Axes
        The axes of each bracket.

    See Also
    --------
    BracketDisplay : Number of candidates in each rung.

    Examples
    --------
    >>> from scipy.stats import randint
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> from sklearn_halving import HyperbandSearchCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> space = {"max_depth": randint(1, 9), "max_features": randint(1, 13), "n_estimators": [3]}
    >>> search = HyperbandSearchCV(ExtraTreesClassifier(), space, random_state=0).fit(X, y)
    >>> from sklearn_halving.plotting import RungDisplay
    >>> display = RungDisplay.from_estimator(search)
    >>> len(display.axes_)  # brackets
    3
    """

    rungs: pd.DataFrame
    score_label: str = "score"
    resource_label: str = "resource"

    @classmethod
    def _from_search(cls, found: FittedSearch) -> Self:
        rungs = found.rungs()
        if rungs["n_resources"].nunique() < 2:
            raise found.lacks("scores with different amounts of resource", "use HistoryDisplay")
        return cls(
            rungs=rungs,
            score_label=found.score_label,
            resource_label=found.resource_label,
        )

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        display : Display
            This display.

        Raises
        ------
        ImportError
            If matplotlib is missing.
        """
        rungs = self.rungs
        brackets = sorted(rungs["bracket"].unique(), reverse=True)  # the most exploratory first
        brackets = brackets if len(brackets) <= MAX_BRACKETS else [brackets]
        self.axes_ = self._panels(ax, len(brackets), self.score_label)
        at_most = rungs["n_resources"] == rungs["n_resources"].max()
        keep = rungs.loc[at_most & (rungs["best"] | rungs["own"]), "score"].tolist()
        limits = drawing.limits(rungs["score"].to_numpy(), *keep)
        for bracket, panel in zip(brackets, self.axes_, strict=True):
            own = rungs[rungs["bracket"].isin(np.atleast_1d(bracket))]
            _draw_bracket(panel, own, limits[0])
            panel.set_xlabel(self.resource_label)
            drawing.clip_below(
                panel, own["n_resources"].to_numpy(), own["score"].to_numpy(), limits
            )
            drawing.set_amounts(panel, own["n_resources"].to_numpy())
            if len(brackets) > 1:
                panel.set_title(f"bracket {bracket}", fontsize="medium")
        number = counted(rungs["candidate"].nunique(), "candidate")
        drawing.title(self._header, f"Rungs of {number}", *self.axes_)
        return self


def _draw_bracket(ax: Axes, rungs: pd.DataFrame, low: float) -> None:
    """Draw the lines and the points of one bracket. What is below the axis has no label."""
    for _, own in rungs[~(rungs["best"] | rungs["own"])].groupby("candidate"):
        style: Params = {"color": drawing.CANDIDATES, "alpha": 0.5, "linewidth": 1.2}
        ax.plot(own["n_resources"], own["score"], zorder=2, **style)
    for rows, label, color in drawing.marked(rungs):
        if rows.any():
            style = {"color": color, "linewidth": 2.8, "zorder": 4, "marker": "o"}
            style |= {"label": label} if rungs["score"][rows].max() >= low else {}
            ax.plot(rungs["n_resources"][rows], rungs["score"][rows], **style)
    x = rungs["n_resources"].to_numpy()
    drawing.draw_points(ax, x, rungs, "candidate", "fewer splits")


BOX = 0.16
"""Half the width of a box, in rungs."""


@dataclass(eq=False, repr=False, kw_only=True)
class BracketDisplay(Display):
    """Brackets as streams of candidates: the size of each rung, and how many advance.

    Use `from_estimator` to create a display. Each bracket is a lane, drawn from left to right.
    Each rung is a box labelled with its number of candidates, and the band between two boxes
    shows the candidates that advance. Rungs with the same amount of resource are below each other.
    The height of a box is the square root of its number, so that the last ones remain visible. On
    the right is the best score with the most resource and on all splits, and a star in the lane of
    the winner. A search that drops candidates in stages has one lane.

    Parameters
    ----------
    boxes : DataFrame
        One row for each rung, with columns ``lane``, ``place`` on the x axis and ``n_candidates``.
    lanes : DataFrame
        One row for each lane, with its name as index and columns ``has_winner`` and ``score`` (the
        best in the last rung).
    columns : list of str
        Tick labels of the x axis.
    score_label, column_label : str
        Names of the score and of the x axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    RungDisplay : Scores of the candidates in each rung.

    Examples
    --------
    >>> from scipy.stats import randint
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> from sklearn_halving import HyperbandSearchCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> space = {"max_depth": randint(1, 9), "max_features": randint(1, 13), "n_estimators": [3]}
    >>> search = HyperbandSearchCV(ExtraTreesClassifier(), space, random_state=0).fit(X, y)
    >>> from sklearn_halving.plotting import BracketDisplay
    >>> display = BracketDisplay.from_estimator(search)
    >>> [boxes["n_candidates"].tolist() for _, boxes in display.boxes.groupby("lane", sort=False)]
    [[9, 3, 1], [5, 1], [3]]
    """

    boxes: pd.DataFrame
    lanes: pd.DataFrame
    columns: list[str]
    score_label: str = "score"
    column_label: str = "resource"

    @classmethod
    def _from_search(cls, found: FittedSearch) -> Self:
        results, column_label = found.results, found.resource_label
        last = results.get("stage", results.get("iter"))
        if last is None:
            raise found.lacks("brackets or stages", "use HistoryDisplay")
        ends = found.rungs().drop_duplicates("candidate", keep="last")
        ends = ends.sort_values(["loop", "bracket"], ascending=[True, False], kind="stable")
        ends["rung"] = ends["candidate"].map(pd.Series(last).groupby(results["candidate"]).max())
        names = "bracket " + ends["bracket"].astype(str)
        if ends["loop"].any():
            names = "loop " + ends["loop"].astype(str) + ", " + names
        ends["lane"] = names if found.has_brackets else "candidates"
        is_last = ends["rung"] == ends.groupby("lane")["rung"].transform("max")
        lanes = ends.groupby("lane", sort=False)["best"].any().to_frame("has_winner")
        lanes["score"] = ends[is_last & ~ends["is_partial"]].groupby("lane")["score"].max()
        # A candidate was in all rungs up to its last one.
        boxes = ends.loc[ends.index.repeat(ends["rung"] + 1)]
        boxes["rung"] = boxes.groupby("candidate").cumcount()
        keys = ["loop", "bracket", "rung"]
        boxes = boxes.groupby(["lane", *keys], sort=False).size().reset_index(name="n_candidates")
        if "stage" in results:
            column_label, boxes["n_resources"] = "stage", boxes["rung"] + 1
        else:
            boxes = boxes.join(found.history.groupby(keys)["n_resources"].first(), on=keys)
        boxes["again"] = boxes.groupby(["lane", "n_resources"]).cumcount()
        boxes["place"] = boxes.groupby(["n_resources", "again"]).ngroup()
        return cls(
            boxes=boxes,
            lanes=lanes,
            columns=boxes.groupby("place")["n_resources"].first().map(number_text).tolist(),
            score_label=found.score_label,
            column_label=column_label,
        )

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        display : Display
            This display.

        Raises
        ------
        ImportError
            If matplotlib is missing.
        """
        lanes: Iterator[tuple[str, bool, float]] = self.lanes.itertuples(name=None)
        largest = self.boxes.groupby("lane")["n_candidates"].max()[self.lanes.index]
        heights = np.maximum(2.0, np.sqrt(largest.to_numpy()))
        gap = 0.12 * heights.max() + 1.2
        bottoms = np.cumsum([0.0, *(heights + gap)])
        centers = (bottoms[:-1] + heights / 2).tolist()
        ax = self._axes(ax, float(np.clip(1.2 + 0.16 * bottoms[-1], drawing.HEIGHT, 12.0)))
        for center, (name, has_winner, score) in zip(centers, lanes, strict=True):
            boxes = self.boxes[self.boxes["lane"] == name]
            _draw_lane(ax, boxes["place"].to_numpy(), boxes["n_candidates"].to_numpy(), center)
            end = boxes["place"].max() + BOX + 0.12
            text = "no score on all splits" if np.isnan(score) else f"{score:.4g}"
            if has_winner:
                ax.scatter(end, center, 200, drawing.WINNER, marker="*", label="winner")
            style: Params = {"textcoords": "offset points", "va": "center", "fontweight": "bold"}
            ax.annotate(text, (end, center), xytext=(11, 0), **style)
        ax.set_yticks(centers, self.lanes.index)
        ax.set_ylim(bottoms[-1] - gap / 2, -gap / 2 - 0.6)
        shown = drawing.evenly(len(self.columns), 10)
        ax.set_xticks(shown, [self.columns[place] for place in shown])
        ax.set_xlim(-0.5, max(len(self.columns), 3) - 0.2)
        ax.set_xlabel(self.column_label)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        drawing.title(ax, f"Candidates in each rung, and the best {self.score_label}")
        return self


def _draw_lane(ax: Axes, place: np.ndarray, n_candidates: np.ndarray, center: float) -> None:
    """Draw boxes, their numbers, and bands of the candidates that advance."""
    half = np.sqrt(n_candidates) / 2
    leaving = half[:-1] * np.minimum(n_candidates[1:] / n_candidates[:-1], 1.0)
    boxes = place - BOX, place + BOX, half, half
    bands = place[:-1] + BOX, place[1:] - BOX, leaving, half[1:]
    for (left, right, *ends), alpha in ((boxes, 1.0), (bands, 0.4)):
        x = np.stack([left, right, right], axis=1).ravel()
        height = np.stack([*ends, np.full(len(left), np.nan)], axis=1).ravel()
        style: Params = {"color": drawing.CANDIDATES, "alpha": alpha, "linewidth": 0}
        ax.fill_between(x, center - height, center + height, **style)
    for number in drawing.evenly(len(place), 10):
        top = center - half[number] - 0.15
        ax.text(place[number], top, f"{n_candidates[number]:,}", ha="center", va="bottom")
