"""RungDisplay: score against resource, a line for each candidate."""

from __future__ import annotations

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

Color = str | tuple[float, ...]
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
        Mean test score over the splits fitted with this resource; NaN if any score is NaN.
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
    ...     ExtraTreesClassifier(), space, brackets="all", n_candidates=17, cv=2, random_state=0
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
        has_brackets = "bracket" in found.history
        history = found.history if has_brackets else found.history.assign(bracket=0)
        scores = history.groupby(["bracket", "candidate", "n_resources"])["score"]
        points = scores.agg(lambda own: own.mean(skipna=False)).reset_index()
        n_splits = scores.size().reset_index(drop=True)
        most = n_splits.groupby(points["n_resources"]).transform("max")
        return cls(
            **arrays(points, "candidate", "n_resources", "score", "bracket"),
            has_fewer_splits=has_brackets & (n_splits < most).to_numpy(),
            best_candidate=found.best_candidate,
            score_label=f"mean test {found.score_label}",
            resource_label=found.resource_label,
        )

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display."""
        plt = self._pyplot()
        brackets = np.unique(self.bracket)[::-1]  # the most exploratory first
        n = len(brackets)
        if ax is None and 1 < n <= MAX_PANELS:
            size = 1.0 + 2.1 * n, 3.6
            self.axes_ = plt.subplots(ncols=n, figsize=size, sharey=True, layout="constrained")[1]
            for panel, bracket in zip(self.axes_, brackets, strict=True):
                self._draw_panel(panel, bracket)
            self.ax_ = self.axes_[0]
            self.figure_.supxlabel(self.resource_label, fontsize="medium")
        else:
            ax = self._axes(ax)
            self.axes_ = np.array([ax])
            for bracket, place in zip(brackets, np.linspace(0.0, 0.9, n), strict=True):
                label = f"bracket {bracket}" if n > 1 else "candidates"
                color = plt.get_cmap("viridis")(place)
                self._draw_bracket(ax, self.bracket == bracket, color, label)
            drawing.set_log_levels(ax, self.n_resources)
            ax.set_xlabel(self.resource_label)
        self.ax_.set_ylabel(drawing.wrapped(self.score_label))
        n_below = drawing.clip(self.ax_.set_ylim, self.score)
        self._add_notes(f"{n_below} below the axis" if n_below else "")
        self._add_legend()
        return self

    def _draw_panel(self, ax: Axes, bracket: int) -> None:
        """Draw a bracket on its own axes."""
        inside = self.bracket == bracket
        self._draw_bracket(ax, inside, drawing.OTHERS, "candidates")
        drawing.set_log_levels(ax, self.n_resources[inside])
        number = drawing.count_of(len(np.unique(self.candidate[inside])), "candidate")
        lines = filter(None, [f"bracket {bracket}", number, self._without_score(inside)])
        ax.set_title("\n".join(lines), fontsize="medium")

    def _draw_bracket(self, ax: Axes, inside: np.ndarray, color: Color, label: str) -> None:
        """Draw one bracket."""
        candidates = np.unique(self.candidate[inside])
        alpha = float(np.clip(8 / len(candidates), 0.3, 0.8))
        for candidate in candidates:
            rows = np.flatnonzero(inside & (self.candidate == candidate))
            rows = rows[np.argsort(self.n_resources[rows])]
            style: Params = {"color": color, "alpha": alpha, "linewidth": 1.2, "zorder": 2}
            if candidate == self.best_candidate:
                style = {"zorder": 3, **WINNERS}
            x, y = self.n_resources[rows], self.score[rows]
            ax.plot(x, y, marker="o", markersize=3.5, markeredgewidth=0, **style)
            hollow = self.has_fewer_splits[rows]
            if hollow.any():
                ax.scatter(x[hollow], y[hollow], edgecolors=style["color"], zorder=3, **HOLLOW)
        ax.plot([], [], color=color, marker="o", markersize=3.5, label=label)

    def _without_score(self, inside: np.ndarray | slice = slice(None)) -> str:
        """Return a note on candidates without a score in one of their rungs."""
        n_without = len(np.unique(self.candidate[inside][np.isnan(self.score[inside])]))
        return f"{n_without} without score" if n_without else ""

    def _add_notes(self, below: str) -> None:
        """Say what is not drawn. The titles of panels say which candidates have no score."""
        if len(self.axes_) == 1:
            drawing.note(self.ax_, below, self._without_score())
        elif below:
            self.ax_.text(0.03, 0.02, below, transform=self.ax_.transAxes, fontsize="small")

    def _add_legend(self) -> None:
        handles: list[Artist] = []
        if self.best_candidate is not None:
            never = "" if (self.candidate == self.best_candidate).any() else ", never fitted"
            label = f"winner, #{self.best_candidate}{never}"
            handles += self.ax_.plot([], [], marker="o", markersize=3.5, label=label, **WINNERS)
        if self.has_fewer_splits.any():
            style: Params = {"edgecolors": drawing.OTHERS, "label": drawing.FEWER_SPLITS}
            handles.append(self.ax_.scatter([], [], **style, **HOLLOW))
        if len(self.axes_) == 1:
            drawing.legend_beside(self.ax_)
        elif handles:
            drawing.legend_beside(self.axes_[-1], handles=handles)
