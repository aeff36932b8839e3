"""PullsDisplay: how many fits each candidate got."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_halving.plotting._drawing import (
    MAX_LABELS,
    OTHERS,
    WINNER,
    axes_for,
    height_of,
    import_pyplot,
    label_candidates,
    legend_beside,
    note,
)
from sklearn_halving.plotting._labels import candidate_labels
from sklearn_halving.plotting._reading import candidate_table, read_search


@dataclass(eq=False, repr=False, kw_only=True)
class PullsDisplay:
    """Fits of each candidate, best rank on top: where the budget went.

    Make it with `from_estimator`. Where candidates have rungs, a bar has a part for each
    amount of the resource, the largest the darkest.

    Parameters
    ----------
    candidate : ndarray of shape (n_candidates,)
        Number of the candidate, best rank first.
    n_pulls : ndarray of shape (n_candidates, n_levels)
        Its fits with each amount of resource.
    levels : ndarray of shape (n_levels,)
        The amounts; one NaN where the search has no resource.
    best : ndarray of bool of shape (n_candidates,)
        True for the winner.
    labels : list of str
        What each candidate is called.
    resource_label : str
        What the resource is called.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    ConfidenceDisplay : How sure the search is of each candidate in the end.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_halving import VarianceHalvingSearchCV
    >>> from sklearn_halving.plotting import PullsDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> search = VarianceHalvingSearchCV(
    ...     DecisionTreeClassifier(), {"max_depth": [1, 2, 3, 4, 5]}, random_state=0
    ... ).fit(X, y)
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
    def from_estimator(
        cls, search: Any, *, metric: str | None = None, ax: Any = None
    ) -> PullsDisplay:
        """Draw the fits of a fitted search.

        Parameters
        ----------
        search : estimator
            A fitted search.
        metric : str or None, default=None
            Which metric ranks the candidates, if there are several; by default the one that
            steered the search.
        ax : matplotlib Axes or None, default=None
            Where to draw; by default in a new figure.

        Returns
        -------
        display : PullsDisplay
            The display, drawn.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the search is not fitted.
        TypeError
            If it is not a search of this package.
        ValueError
            If it has no such metric.
        ImportError
            If matplotlib is missing.
        """
        found = read_search(search, cls.__name__, metric)
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
        display = cls(
            candidate=table.candidate,
            n_pulls=n_pulls,
            levels=levels,
            best=table.best,
            labels=candidate_labels(table.candidate.tolist(), params),
            resource_label=found.resource_unit,
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> PullsDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; by default in a new figure.

        Returns
        -------
        display : PullsDisplay
            This display.
        """
        name, n_candidates = type(self).__name__, len(self.candidate)
        plt = import_pyplot(name)
        ax = axes_for(name, ax, 8.6, height_of(n_candidates))
        n_levels = len(self.levels)
        colors = (
            [OTHERS] if n_levels == 1 else plt.get_cmap("Blues")(np.linspace(0.3, 1, n_levels))
        )
        start = np.zeros(n_candidates, dtype=int)
        # Hundreds of bars: gaps would shimmer, and a bar below a pixel would not be drawn.
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
        # Below 0, so that the star of a winner that was never fitted is whole.
        ax.set_xlim(-0.02 * max(1, start.max()), 1.1 * max(1, start.max()))
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("fits")
        if n_levels > 1 or self.best.any():
            title = f"fits with {self.resource_label} =" if n_levels > 1 else None
            legend_beside(ax, title=title)
        n_never = int((start == 0).sum())
        note(ax, f"{start.sum()} fits", f"{n_never} never fitted" if n_never else "")
        self.ax_, self.figure_ = ax, ax.figure
        return self
