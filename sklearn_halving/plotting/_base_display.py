"""What all displays share: they are read from a fitted search, and drawn on axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.exceptions import NotFittedError

from sklearn_halving._checks import check_choice
from sklearn_halving._formatting import shortened
from sklearn_halving.plotting._drawing import HEIGHT, WIDTH
from sklearn_halving.resources._resources import units_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = ["candidate", "n_resources"]
"""The columns that identify a row of ``cv_results_``."""
ENOUGH_SCORES = 5
"""With the default number of scores in GridSearchCV, a candidate is known well enough."""


class FittedSearch:
    """The fitted attributes of a search that displays need.

    Parameters
    ----------
    search : estimator
        The search.
    display : str
        Class name of the display, for error messages.
    metric : str or None
        Name of the metric, as in ``mean_test_<metric>``. None is the one that guided the search.

    Attributes
    ----------
    results : dict of ndarray
        ``cv_results_``.
    history : DataFrame
        ``history_`` with a column ``score`` of the metric, NaN if not finite. Without a resource
        or brackets, ``n_resources`` is 1, or ``bracket`` and ``loop`` are 0.
    score_label, resource_label, unit, partial_label : str
        Names of the metric and of the resource on an axis, what the resource counts, and what
        partial candidates lack.
    has_posterior : bool
        Whether there is a posterior; it exists only for the metric that guided the search.
    best_candidate, own : int or None
        Numbers of the winner, and of the unmodified estimator.

    Raises
    ------
    TypeError
        If it is not a search of this package.
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    ValueError
        If it was not scored by the metric.
    """

    def __init__(self, search: Any, display: str, metric: str | None = None) -> None:
        self.search, self.name, self.display = search, type(search).__name__, display
        if not hasattr(type(search), "leaderboard"):
            raise TypeError(f"{display} needs a search of sklearn_halving; got {self.name}.")
        if not hasattr(search, "cv_results_"):
            raise NotFittedError(f"{display} needs a fitted {self.name}. Call fit first.")
        kept = search._results
        self.results = kept.cv_results
        self.own = kept.own
        prefix = "mean_test_"
        known = [key.removeprefix(prefix) for key in self.results if key.startswith(prefix)]
        self.metric = kept.metric if metric is None else metric
        check_choice(f"metric of {display}", self.metric, choices=known)
        history = search.history_
        defaults = {"n_resources": 1, "bracket": 0, "loop": 0}
        columns = {name: history.get(name, default) for name, default in defaults.items()}
        self.history = history.assign(score=finite(history[f"test_{self.metric}"]), **columns)
        self.has_brackets = "bracket" in self.results
        self.has_posterior = "posterior_mean" in self.results and self.metric == kept.metric
        scoring = getattr(search, "scoring", None)
        is_named = self.metric == "score" and isinstance(scoring, str)
        kind = "posterior mean of" if self.has_posterior else "mean test"
        self.metric_label = shortened(str(scoring) if is_named else self.metric, 34)
        self.score_label = f"{kind} {self.metric_label}"
        unit, name = units_of(kept.fits.resource), str(kept.fits.resource.name)
        self.resource_label = name if unit == name else f"{unit} ({name})"
        self.unit = unit.rpartition("__")[2]
        fewer = f"{self.unit.rpartition(' ')[2]} or splits"
        self.partial_label = f"fewer {fewer if 'n_resources' in history else 'splits'}"
        row = getattr(search, "best_index_", None)
        self.best_candidate = None if row is None else int(self.results["candidate"][row])

    def rungs(self) -> pd.DataFrame:
        """Return a row for each candidate and amount of resource.

        Columns: ``candidate``, its number; ``n_resources``; ``loop`` and ``bracket``; ``score``,
        the mean, or the posterior mean if there is one; ``lower`` and ``upper``, one standard
        error or the bounds of the posterior, NaN if they are not known; ``is_partial``,
        whether others with the same resource have more splits; ``best`` and ``own``, whether it is
        the winner or the unmodified estimator.
        """
        fits = self.history.groupby(ROW)
        table, n_splits = fits[["loop", "bracket"]].first().join(self._by_row()), fits.size()
        mean = fits["score"].agg(lambda own: own.mean(skipna=False))
        table["score"] = table["score"].fillna(mean)
        most = n_splits.groupby("n_resources").transform("max").clip(upper=ENOUGH_SCORES)
        table = table.assign(is_partial=n_splits < most).reset_index()
        arm = table["candidate"]  # no number equals None
        return table.assign(best=arm == self.best_candidate, own=arm == self.own)

    def candidates(self) -> pd.DataFrame:
        """Return a row for each candidate with a score, in the order of `leaderboard`.

        It is the row of `rungs` with the largest amount of resource, with columns ``params``, and
        ``is_full``, whether no other candidate has more of it. If not, it is partial, too.
        """
        board = self.search.leaderboard().assign(n_resources=lambda t: t.get("n_resources", 1))
        board = board.drop_duplicates("candidate")  # a parameter as resource differs in its rows
        spent = self.search._results.fits.resource.params_at(1)
        params = board["params"].map(lambda own: {n: own[n] for n in own if n not in spent})
        table = board[ROW].assign(params=params).join(self.rungs().set_index(ROW), on=ROW)
        table["is_full"] = table["n_resources"] == self.history["n_resources"].max()
        table["is_partial"] |= ~table["is_full"]
        return table.dropna(subset=["score"]).reset_index(drop=True)

    def _by_row(self) -> pd.DataFrame:
        """Return scores and intervals of the rows of ``cv_results_``."""
        results, metric = self.results, self.metric
        mean = finite(results[f"mean_test_{metric}"])
        error = finite(results[f"standard_error_test_{metric}"])
        columns = [mean, mean - error, mean + error]
        if self.has_posterior:  # if all fits failed, it describes a substitute value
            names = "posterior_mean", "lower_bound", "upper_bound"
            columns = [np.where(np.isnan(mean), np.nan, finite(results[n])) for n in names]
        table = pd.DataFrame(dict(zip(("score", "lower", "upper"), columns, strict=True)))
        amounts = results.get("n_resources", 1)
        table["candidate"], table["n_resources"] = results["candidate"], amounts
        return table.drop_duplicates(ROW, keep="last").set_index(ROW)

    def lacks(self, what: str, way_out: str) -> ValueError:
        """Return the error for a search that lacks what the display shows."""
        return ValueError(
            f"{self.display} shows {what}, which this {self.name} does not have; {way_out}."
        )


def finite(values: npt.ArrayLike) -> np.ndarray:
    """Return the values as floats, with NaN for values that are not finite."""
    values = np.asarray(values, dtype=float)
    return np.where(np.isfinite(values), values, np.nan)


class Display:
    """Base of the displays: a subclass reads its arrays from a search, and draws them.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.
    """

    ax_: Axes
    _header: Axes

    @property
    def figure_(self) -> Figure:
        """The figure."""
        return self.ax_.figure.figure  # also of the axes of a subfigure

    @classmethod
    def from_estimator(
        cls, search: Any, *, metric: str | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw a fitted search.

        Parameters
        ----------
        search : estimator
            A fitted search of this package.
        metric : str or None, default=None
            The metric to show if there are several. None shows the one that steered the search.
        ax : matplotlib Axes or None, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        display : Display
            The display, drawn.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the search is not fitted.
        TypeError
            If it is not a search of this package.
        ValueError
            If the search has no such metric, or nothing that this display shows.
        ImportError
            If matplotlib is missing.
        """
        return cls._from_search(FittedSearch(search, cls.__name__, metric)).plot(ax=ax)

    @classmethod
    def _from_search(cls, found: FittedSearch) -> Self:
        """Return the display of a fitted search, not drawn yet.

        Displays whose `from_estimator` has parameters of its own do without it.
        """
        raise NotImplementedError

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
        raise NotImplementedError

    def _axes(self, ax: Axes | None, height: float = HEIGHT) -> Axes:
        """Set ``ax_`` to ``ax``, or to the axes of a new figure of this height in inches."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                f"{type(self).__name__}.plot needs matplotlib, which could not be imported "
                f"({error}). Install it with `pip install sklearn-halving[plot]`."
            ) from error
        if ax is None:
            ax = plt.subplots(figsize=(WIDTH, height), layout="constrained")[1]
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_ = ax
        return ax

    def _panels(self, ax: Axes | None, number: int, y_label: str) -> list[Axes]:
        """Return a number of axes with a common y axis, in the place of ``ax``."""
        n_columns = min(number, 2 if number == 4 else 3)
        n_rows = -(-number // n_columns)
        y_label = "\n".join(y_label.rsplit(" ", n_rows > 1 or len(y_label) > 30))
        ax = self._header = self._axes(ax, HEIGHT if n_rows == 1 else 0.9 + 2.1 * n_rows)
        if number == 1:
            ax.set_ylabel(y_label)
            return [ax]
        ax.set_axis_off()
        place = ax.get_subplotspec()
        if place is None:
            left, bottom, right, top = ax.get_position().extents
            sides: Any = {"left": left, "bottom": bottom, "right": right, "top": top}
            place = ax.figure.add_gridspec(**sides)[0]
        # The first row has no height: there is space for a title and a legend above it.
        grid = place.subgridspec(2, 1, height_ratios=[0.001, 1])
        self._header = ax.figure.add_subplot(grid[0])
        self._header.set_axis_off()
        cells = grid[1].subgridspec(n_rows, n_columns).subplots(sharey=True, squeeze=False)
        panels: list[Axes] = cells.ravel().tolist()
        for panel in panels[number:]:
            panel.remove()
        for panel in panels[:number]:
            panel.spines[["top", "right"]].set_visible(False)
        for panel in panels[:number:n_columns]:
            panel.set_ylabel(y_label)
        return panels[:number]
