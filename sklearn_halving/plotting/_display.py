"""What all displays share: they are read from a fitted search, and drawn on axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError

from sklearn_halving._checks import check_choice
from sklearn_halving._docstrings import inherit_sections
from sklearn_halving._typing import CvResults
from sklearn_halving.resources._resolve import units_of

if TYPE_CHECKING:
    from types import ModuleType

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


class Search(Protocol):
    """The attributes of a search that displays read; the first two exist after ``fit``."""

    cv_results_: CvResults

    @property
    def history_(self) -> pd.DataFrame:
        """One row for each fit."""

    @property
    def refit(self) -> object:
        """The metric that steered the search, if there are several."""


class FittedSearch:
    """The fitted attributes of a search that displays need.

    Parameters
    ----------
    search : estimator
        The search.
    display : str
        Class name of the display, for error messages.
    metric : str or None
        Name of the metric, as in ``mean_test_<metric>``. None is the one that steered the search.

    Attributes
    ----------
    results : dict of ndarray
        ``cv_results_``.
    history : DataFrame
        ``history_`` with a column ``score`` of the metric, NaN if not finite. Without a resource
        or brackets, ``n_resources`` is 1 or ``bracket`` is 0.
    score_label : str
        Name of the metric on an axis.
    resource_label, resource_unit : str
        Name of the resource on an axis, and a shorter one.
    has_posterior : bool
        Whether there is a posterior; it exists only for the metric that steered the search.
    value_label : str
        Name of the column ``value`` of `candidates` on an axis.
    has_resources, has_brackets : bool
        Whether the search has a resource, and whether it has brackets.
    rows : list of tuple
        Candidate and amount of resource of each row of ``cv_results_``; 1 without a resource.
    parameters : list of str
        Names of the parameters that were searched.
    best_row, best_candidate : int or None
        ``best_index_`` and the number of the winner; None if the search chose none.

    Raises
    ------
    TypeError
        If it is not a search of this package.
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    ValueError
        If it was not scored by the metric.
    """

    def __init__(self, search: Search, display: str, metric: str | None = None) -> None:
        self.name, self.display = type(search).__name__, display
        if not hasattr(type(search), "history_"):
            raise TypeError(f"{display} needs a search of sklearn_halving; got {self.name}.")
        if not hasattr(search, "cv_results_"):
            raise NotFittedError(f"{display} needs a fitted {self.name}. Call fit first.")
        self.results = search.cv_results_
        known = self._names("mean_test_")
        steering = str(search.refit) if search.refit in known else known[0]
        self.metric = steering if metric is None else metric
        check_choice(f"metric of {display}", self.metric, choices=known)
        history = search.history_
        defaults = {"n_resources": 1, "bracket": 0}
        columns = {name: history.get(name, default) for name, default in defaults.items()}
        self.history = history.assign(score=finite(history[f"test_{self.metric}"]), **columns)
        self.has_posterior = "posterior_mean" in self.results and self.metric == steering
        scoring = getattr(search, "scoring", None)
        is_named = self.metric == "score" and isinstance(scoring, str)
        self.score_label = str(scoring) if is_named else self.metric
        kind = "posterior mean of" if self.has_posterior else "mean test"
        self.value_label = f"{kind} {self.score_label}"
        resource = getattr(search, "resource", None) or "n_samples"
        unit = self.resource_unit = units_of(resource)
        name = str(getattr(resource, "name", resource))
        self.resource_label = name if unit == name else f"{unit} ({name})"
        self.has_resources = "n_resources" in self.results
        self.has_brackets = "bracket" in self.results
        amounts = self.results.get("n_resources", np.ones(len(self.results["candidate"])))
        self.rows = list(zip(self.results["candidate"], amounts, strict=True))
        self.parameters = self._names("param_")
        row = self.best_row = getattr(search, "best_index_", None)
        self.best_candidate = None if row is None else int(self.results["candidate"][row])

    def _names(self, prefix: str) -> list[str]:
        """Return what follows the prefix in the names of columns."""
        return [key.removeprefix(prefix) for key in self.results if key.startswith(prefix)]

    def means(self) -> np.ndarray:
        """Return the mean score of every row; NaN where it is not finite."""
        return finite(self.results[f"mean_test_{self.metric}"])

    def rungs(self) -> pd.DataFrame:
        """Return a row for each candidate and amount of resource, which are the index.

        Columns: ``bracket``; ``score``, the mean in ``cv_results_`` if that has all candidates
        with the same resource, otherwise the mean of the fits; and ``has_fewer_splits``, whether
        others with the same resource have more splits.
        """
        pulls = self.history.groupby(["candidate", "n_resources"])
        score, n_splits = pulls["score"].agg(lambda own: own.mean(skipna=False)), pulls.size()
        most = self.history["n_resources"].max()
        means: Any = zip(self.rows, self.means(), strict=True)
        score.update({row: mean for row, mean in means if self.has_brackets or row[1] == most})
        has_fewer = n_splits < n_splits.groupby("n_resources").transform("max")
        return pulls[["bracket"]].first().assign(score=score, has_fewer_splits=has_fewer)

    def has_fewer_splits(self) -> np.ndarray:
        """Return which rows have fewer splits than others with the same resource, if in brackets.

        Such a candidate is no finalist of a grid, or it is from a rung that the search did not
        complete. Its mean may be that of one lucky split. Without brackets, means are without
        the effects of splits.
        """
        has_fewer = self.rungs()["has_fewer_splits"].reindex(self.rows, fill_value=False)
        return self.has_brackets & has_fewer.to_numpy()

    def candidates(self) -> pd.DataFrame:
        """Return a row for each candidate, in the order of the search's own ranks.

        Columns: ``candidate``, its number; ``row`` of ``cv_results_`` in which it ranks best;
        ``score``, the mean in that row; ``value``, the posterior mean if there is a posterior,
        which also knows of candidates that were never fitted, otherwise the score; ``level``, the
        resource in that row, 1 if there is none; ``n_pulls``, the number of fits in all rungs;
        ``best``, whether it is the winner; and ``has_fewer_splits`` in that row.
        """
        import pandas as pd

        # A stable sort keeps rows of equal rank in the order of the table; the winner comes first.
        rank = self.results[f"rank_test_{self.metric}"].astype(float)
        if self.best_row is not None:
            rank[self.best_row] -= 0.5
        order = np.argsort(rank, kind="stable")
        row = order[~pd.Index(self.results["candidate"][order]).duplicated()]
        candidate = self.results["candidate"][row]
        n_pulls = np.bincount(self.history["candidate"], minlength=candidate.max() + 1)[candidate]
        score = value = self.means()[row]
        if self.has_posterior:  # if all fits failed, it describes a substitute value
            posterior = finite(self.results["posterior_mean"])[row]
            value = np.where((n_pulls > 0) & np.isnan(score), np.nan, posterior)
        columns = {
            "candidate": candidate,
            "row": row,
            "score": score,
            "value": value,
            "level": self.results["n_resources"][row] if self.has_resources else 1.0,
            "n_pulls": n_pulls,
            "best": candidate == self.best_candidate,
            "has_fewer_splits": self.has_fewer_splits()[row],
        }
        return pd.DataFrame(columns)

    def lacks(self, what: str, way_out: str) -> ValueError:
        """Return the error for a search that lacks what the display shows."""
        return ValueError(
            f"{self.display} shows {what}, which this {self.name} does not have; {way_out}."
        )


def arrays(table: pd.DataFrame, *names: str) -> dict[str, np.ndarray]:
    """Return columns of a table, for the parameters of a display that have these names."""
    return {name: table[name].to_numpy() for name in names}


def finite(values: npt.ArrayLike) -> np.ndarray:
    """Return the values as floats, with NaN for values that are not finite."""
    values = np.asarray(values, dtype=float)
    return np.where(np.isfinite(values), values, np.nan)


class Display:
    """Base of the displays: a subclass reads its arrays from a search, and draws them.

    The docstrings of a subclass leave out the attributes below, and the parameters, values and
    errors of the methods that it overrides. They are inserted.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.
    """

    ax_: Axes

    @property
    def figure_(self) -> Figure | SubFigure:
        """The figure."""
        return self.ax_.figure

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        inherit_sections(cls, Display, "Attributes")
        for name in ("from_estimator", "plot"):
            if (method := vars(cls).get(name)) is not None:
                own = getattr(method, "__func__", method)
                inherit_sections(own, getattr(Display, name), "Parameters", "Returns", "Raises")

    @classmethod
    def from_estimator(
        cls, search: Search, *, metric: str | None = None, ax: Axes | None = None
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

    def _axes(self, ax: Axes | None, width: float = 6.4, height: float = 4.0) -> Axes:
        """Set ``ax_`` to ``ax``, or to the axes of a new figure of this size in inches."""
        plt = self._pyplot()
        if ax is None:
            ax = plt.subplots(figsize=(width, height), layout="constrained")[1]
        self.ax_ = ax
        return ax

    def _pyplot(self) -> ModuleType:
        """Return ``matplotlib.pyplot``, or raise an ImportError that says how to install it."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                f"{type(self).__name__}.plot needs matplotlib, which could not be imported "
                f"({error}). Install it with `pip install sklearn-halving[plot]`."
            ) from error
        return plt
