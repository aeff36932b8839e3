"""PullsDisplay: which candidates got the fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from sklearn_halving.plotting import _drawing as drawing
from sklearn_halving.plotting._display import Display
from sklearn_halving.plotting._reading import FittedSearch, arrays

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False, kw_only=True)
class PullsDisplay(Display):
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
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_halving import VarianceHalvingSearchCV
    >>> X, y = load_wine(return_X_y=True)
    >>> search = VarianceHalvingSearchCV(
    ...     DecisionTreeClassifier(), {"max_depth": [1, 2, 3, 4, 5]}, random_state=0
    ... ).fit(X, y)
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
        table = found.candidates()
        rungs = found.history.groupby(["candidate", "n_resources"])
        counts = rungs.size().unstack(fill_value=0)
        return cls(
            n_pulls=counts.reindex(table["candidate"], fill_value=0).to_numpy(),
            levels=counts.columns.to_numpy() if found.has_resources else np.array([np.nan]),
            **arrays(table, "candidate", "best"),
            labels=found.labels(table),
            resource_label=found.resource_unit,
        )

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display."""
        plt, n_candidates = self._pyplot(), len(self.candidate)
        ax = self._axes(ax, 8.6, drawing.height_of(n_candidates))
        n_levels = len(self.levels)
        shades = plt.get_cmap("Blues")(np.linspace(0.3, 1, n_levels))
        colors = [drawing.OTHERS] if n_levels == 1 else shades
        start = np.zeros(n_candidates, dtype=int)
        # With hundreds of bars, gaps cause moiré, and bars thinner than a pixel are not drawn.
        height, edge = (0.8, 0.0) if n_candidates <= 2 * drawing.MAX_LABELS else (1.0, 0.8)
        for level, color, fits in zip(self.levels, colors, self.n_pulls.T, strict=True):
            label = f"{level:.4g}" if n_levels > 1 else None
            style = {"color": color, "edgecolor": color, "label": label}
            width = np.where(fits > 0, edge, 0.0)
            ax.barh(range(n_candidates), fits, height, start, linewidth=width, **style)
            start = start + fits
        for place in np.flatnonzero(self.best):
            label = "winner" if start[place] else "winner, never fitted"
            ax.plot(start[place], place, "*", markersize=12, color=drawing.WINNER, label=label)
        drawing.label_candidates(ax, self.labels)
        # The axis starts below 0 so that the star of a winner without fits is not clipped.
        ax.set_xlim(-0.02 * max(1, start.max()), 1.1 * max(1, start.max()))
        ax.locator_params(axis="x", integer=True)
        ax.set_xlabel("fits")
        if n_levels > 1 or self.best.any():
            title = f"fits with {self.resource_label} =" if n_levels > 1 else None
            drawing.legend_beside(ax, title=title)
        n_never = int((start == 0).sum())
        drawing.note(ax, f"{start.sum()} fits", f"{n_never} never fitted" if n_never else "")
        return self
