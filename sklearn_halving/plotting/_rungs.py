"""RungDisplay: score against resource, a line for each candidate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_halving.plotting._drawing import (
    OTHERS,
    WINNER,
    axes_for,
    count_of,
    import_pyplot,
    legend_beside,
    note,
    score_range,
    set_log_levels,
    wrapped,
)
from sklearn_halving.plotting._reading import read_search

MAX_PANELS = 8


@dataclass(eq=False, repr=False, kw_only=True)
class RungDisplay:
    """Score against resource: a line for each candidate, from rung to rung.

    Make it with `from_estimator`. A line ends where its candidate was left behind; the winner's
    is in another colour. It shows whether cheap fits were to be trusted: lines that cross late
    say that more should go on, a larger ``min_resources`` or a smaller ``factor``.

    Parameters
    ----------
    candidate : ndarray of shape (n_points,)
        Number of the candidate.
    n_resources : ndarray of shape (n_points,)
        Its resource.
    score : ndarray of shape (n_points,)
        Its mean test score over the splits fitted with this resource; NaN if one of them is.
    bracket : ndarray of shape (n_points,)
        Its bracket, the paper's s; 0 where there are no brackets.
    best_candidate : int or None
        Number of the winner.
    score_label, resource_label : str
        What is on the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, the first of them where there are several.
    axes_ : ndarray of matplotlib Axes
        All of them: one for each bracket, or the one that was given.
    figure_ : matplotlib Figure
        Their figure.

    See Also
    --------
    BracketDisplay : Only the numbers of candidates of each rung.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> from sklearn_halving import HyperbandSearchCV
    >>> from sklearn_halving.plotting import RungDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> space = {"max_depth": [1, 2, 4, None], "max_features": [1, 3, 9], "n_estimators": [3]}
    >>> search = HyperbandSearchCV(
    ...     ExtraTreesClassifier(), space, max_candidates=9, cv=2, random_state=0
    ... ).fit(X, y)
    >>> display = RungDisplay.from_estimator(search)
    >>> len(display.axes_)  # brackets
    3
    """

    candidate: np.ndarray
    n_resources: np.ndarray
    score: np.ndarray
    bracket: np.ndarray
    best_candidate: int | None
    score_label: str = "score"
    resource_label: str = "resource"

    @classmethod
    def from_estimator(
        cls, search: Any, *, metric: str | None = None, ax: Any = None
    ) -> RungDisplay:
        """Draw the rungs of a fitted search.

        Parameters
        ----------
        search : estimator
            A fitted search whose fits differ in their resource.
        metric : str or None, default=None
            Which metric, if there are several; by default the one that steered the search.
        ax : matplotlib Axes or None, default=None
            Where to draw all brackets, told apart by colour; by default each bracket has axes
            of its own in a new figure.

        Returns
        -------
        display : RungDisplay
            The display, drawn.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the search is not fitted.
        TypeError
            If it is not a search of this package.
        ValueError
            If it has no resource, or no such metric.
        ImportError
            If matplotlib is missing.
        """
        found = read_search(search, cls.__name__, metric)
        if not found.has_resources:
            raise found.lacks(
                "scores against a resource", "PullsDisplay and ConfidenceDisplay need none"
            )
        history = found.history
        if "bracket" not in history:
            history = history.assign(bracket=0)
        points = (
            history.groupby(["bracket", "candidate", "n_resources"])["score"]
            .agg(lambda scores: scores.mean(skipna=False))
            .reset_index()
        )
        display = cls(
            candidate=points["candidate"].to_numpy(),
            n_resources=points["n_resources"].to_numpy(),
            score=points["score"].to_numpy(),
            bracket=points["bracket"].to_numpy(),
            best_candidate=found.best_candidate,
            score_label=f"mean test {found.score_label}",
            resource_label=found.resource_label,
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> RungDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            As in `from_estimator`.

        Returns
        -------
        display : RungDisplay
            This display.
        """
        plt = import_pyplot(type(self).__name__)
        brackets = np.unique(self.bracket)[::-1]
        if ax is not None or not 1 < len(brackets) <= MAX_PANELS:
            axes = [axes_for(type(self).__name__, ax)]
            colors = [plt.get_cmap("viridis")(x) for x in np.linspace(0.0, 0.9, len(brackets))]
            for bracket, color in zip(brackets, colors, strict=True):
                label = f"bracket {bracket}" if len(brackets) > 1 else "candidates"
                self._draw(axes[0], self.bracket == bracket, color, label)
            set_log_levels(axes[0], self.n_resources)
            axes[0].set(xlabel=self.resource_label, ylabel=wrapped(self.score_label))
        else:
            axes = self._draw_panels(plt, brackets)
        self._finish(axes)
        self.axes_ = np.array(axes)
        self.ax_ = axes[0]
        self.figure_ = self.ax_.figure
        return self

    def _draw_panels(self, plt: Any, brackets: np.ndarray) -> list[Any]:
        """Draw each bracket in axes of its own, the most exploratory first."""
        figure, grid = plt.subplots(
            ncols=len(brackets),
            figsize=(1.0 + 2.1 * len(brackets), 3.6),
            sharey=True,
            layout="constrained",
        )
        for axes, bracket in zip(grid, brackets, strict=True):
            inside = self.bracket == bracket
            self._draw(axes, inside, OTHERS, "candidates")
            set_log_levels(axes, self.n_resources[inside])
            n_candidates = len(np.unique(self.candidate[inside]))
            lines = [
                f"bracket {bracket}",
                count_of(n_candidates, "candidate", "candidates"),
                self._without_score(inside),
            ]
            axes.set_title("\n".join(line for line in lines if line), fontsize="medium")
        grid[0].set_ylabel(wrapped(self.score_label))
        figure.supxlabel(self.resource_label, fontsize="medium")
        return list(grid)

    def _draw(self, ax: Any, inside: np.ndarray, color: Any, label: str) -> None:
        """Draw one bracket."""
        candidates = np.unique(self.candidate[inside])
        alpha = float(np.clip(8 / len(candidates), 0.3, 0.8))
        for candidate in candidates:
            rows = np.flatnonzero(inside & (self.candidate == candidate))
            rows = rows[np.argsort(self.n_resources[rows])]
            style = {"color": color, "alpha": alpha, "linewidth": 1.2, "zorder": 2}
            if candidate == self.best_candidate:
                style = {"color": WINNER, "linewidth": 2.4, "zorder": 3}
            x, y = self.n_resources[rows], self.score[rows]
            ax.plot(x, y, marker="o", markersize=3.5, markeredgewidth=0, **style)
        ax.plot([], [], color=color, marker="o", markersize=3.5, label=label)

    def _without_score(self, inside: Any = slice(None)) -> str:
        """Say how many candidates had no score in one of their rungs."""
        without = np.unique(self.candidate[inside][np.isnan(self.score[inside])])
        return "" if not len(without) else f"{len(without)} without score"

    def _finish(self, axes: list[Any]) -> None:
        """Cut the axis where outliers would rule it, and say which line is whose."""
        limits = score_range(self.score)
        below = ""
        if limits is not None:
            axes[0].set_ylim(limits)
            below = f"{int((self.score < limits[0]).sum())} below the axis"
        if len(axes) == 1:
            note(axes[0], below, self._without_score())
        elif below:
            axes[0].text(0.03, 0.02, below, transform=axes[0].transAxes, fontsize="small")
        if self.best_candidate is None:
            handles: list[Any] = []
        else:
            handles = axes[0].plot([], [], color=WINNER, linewidth=2.4, marker="o", markersize=3.5)
            is_drawn = bool((self.candidate == self.best_candidate).any())
            never = "" if is_drawn else ", never fitted"
            handles[0].set_label(f"winner, #{self.best_candidate}{never}")
        if len(axes) == 1:
            legend_beside(axes[0])
        elif handles:
            legend_beside(axes[-1], handles=handles)
