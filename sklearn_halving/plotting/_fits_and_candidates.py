"""Displays of fits and candidates: the best over time, and the best with their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from sklearn_halving._checks import check_choice
from sklearn_halving._formatting import aligned, counted, parameter_columns
from sklearn_halving._typing import Params
from sklearn_halving.plotting import _drawing as drawing
from sklearn_halving.plotting._base_display import ROW, Display, FittedSearch

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Cost = Literal["fits", "seconds"]


@dataclass(eq=False, repr=False, kw_only=True)
class HistoryDisplay(Display):
    """Every fit, the best candidate so far, and the level of your model.

    Use `from_estimator` to create a display. Each point is a fit. The line is the final mean score
    of the best candidate so far, in the order of `leaderboard`. A candidate counts from its first
    fit with its largest resource. So the line ends at the winner, and shows when it was found.
    Your model is the unmodified estimator, if it was fitted.

    Parameters
    ----------
    fits : DataFrame
        One row for each fit, with columns ``candidate``, ``score``, ``fits`` and ``seconds`` (the
        numbers of fits and of seconds so far), ``is_partial``, ``best`` (a candidate, NaN if there
        is none yet) and ``best_score``.
    own_score : float or None
        Mean score of the unmodified estimator.
    score_label, unit : str
        Names of the metric, and of what the resource counts.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_halving import VarianceHalvingSearchCV
    >>> X, y = load_wine(return_X_y=True)
    >>> search = VarianceHalvingSearchCV(
    ...     DecisionTreeClassifier(), {"max_depth": [1, 2, 3, 4, 5]}, random_state=0
    ... ).fit(X, y)
    >>> from sklearn_halving.plotting import HistoryDisplay
    >>> display = HistoryDisplay.from_estimator(search)
    >>> display.fits[["candidate", "fits", "best"]].tail(2)
        candidate  fits  best
    23          ...    24     ...
    24          ...    25     ...
    """

    fits: pd.DataFrame
    own_score: float | None
    score_label: str = "score"
    unit: str = "resource"

    @classmethod
    def from_estimator(
        cls,
        search: Any,
        *,
        cost: Cost = "fits",
        metric: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the fits of a fitted search.

        Parameters
        ----------
        search : estimator
            A fitted search of this package.
        cost : {"fits", "seconds"}, default="fits"
            Quantity on the x axis. Seconds are those in which fits ran.
        metric : str or None, default=None
            The metric to show if there are several. None shows the one that guided the search.
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
            If the search has no such metric, or ``cost`` is unknown.
        ImportError
            If matplotlib is missing.
        """
        found = FittedSearch(search, cls.__name__, metric)
        history, table = found.history, found.candidates()
        place = table.reset_index(names="place").set_index(ROW)["place"]
        best = history.join(place, on=ROW)["place"].cummin().ffill()
        fits = history[["candidate", "score"]].assign(
            fits=np.arange(1, len(history) + 1),
            seconds=_busy_seconds(history),
            is_partial=history["n_resources"] < history["n_resources"].max(),
            best=table["candidate"].reindex(best).to_numpy(),
            best_score=table["score"].reindex(best).to_numpy(),
        )
        own = table.loc[table["own"] & table["is_full"], "score"]
        display = cls(
            fits=fits,
            own_score=float(own.iloc[0]) if len(own) else None,
            score_label=f"test {found.metric_label}",
            unit=found.unit,
        )
        return display.plot(ax=ax, cost=cost)

    def plot(self, ax: Axes | None = None, *, cost: Cost = "fits") -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            The axes to draw on. None makes a new figure.
        cost : {"fits", "seconds"}, default="fits"
            Quantity on the x axis.

        Returns
        -------
        display : Display
            This display.

        Raises
        ------
        ImportError
            If matplotlib is missing.
        """
        check_choice(f"cost of {type(self).__name__}", cost, choices=Cost)
        ax, fits = self._axes(ax), self.fits
        x, score = fits[cost].to_numpy(), fits["score"].to_numpy()
        label = "full fit" if fits["is_partial"].any() else "fit"
        drawing.draw_points(ax, x, fits, label, f"fewer {self.unit}")
        best = fits["best_score"].to_numpy()
        keep = [np.nan if self.own_score is None else self.own_score, best[-1]]
        low, high = drawing.limits(score, *keep)
        best = np.maximum(best, low + drawing.AT_EDGE * (high - low))
        if self.own_score is not None:
            ax.axhline(self.own_score, color=drawing.OWN, ls="--", lw=2, label="your model")
        line: Params = {"color": drawing.WINNER, "linewidth": 2.5, "zorder": 3}
        ax.step(x, best, where="post", label="best so far", **line)
        ax.plot(x[-1:], best[-1:], "*", ms=15, mec=ax.get_facecolor(), clip_on=False, **line)
        drawing.clip_below(ax, x, score, (low, high))
        drawing.set_numbers(ax.xaxis, np.arange(2) if cost == "fits" else np.array([0, 0.5]))
        ax.set(xlabel=cost, ylabel=self.score_label, xlim=(0, 1.02 * x.max()))
        n_candidates = counted(fits["candidate"].nunique(), "candidate")
        drawing.title(ax, f"{counted(len(fits), 'fit')} of {n_candidates}")
        return self


def _busy_seconds(history: pd.DataFrame) -> pd.Series:
    """Return the time at the end of each fit, without breaks such as before a resume."""
    in_order = history.sort_values("started", kind="stable")
    last_end = in_order["ended"].cummax().shift(fill_value=0.0)
    breaks = (in_order["started"] - last_end).clip(lower=0.0).cumsum()
    return (in_order["ended"] - breaks).reindex(history.index).cummax()


MAX_CANDIDATES, MAX_LABEL = 12, 46


@dataclass(eq=False, repr=False, kw_only=True)
class ConfidenceDisplay(Display):
    """Scores of the best candidates with their intervals, the winner first.

    Use `from_estimator` to create a display. At most twelve candidates are shown, your model among
    them, and only those with the largest amount of resource, because other scores are not
    comparable. The interval is one standard error to each side, corrected for overlapping training
    sets [1]_, or the bounds of the posterior of BayesGapSearchCV [2]_. Intervals of scores between
    0 and 1 end there.

    Parameters
    ----------
    candidates : DataFrame
        One row for each candidate that is shown, with columns ``candidate``, ``score``, ``lower``,
        ``upper``, ``is_partial``, ``best``, ``own`` and ``label``. The bounds are NaN after a
        single score.
    n_candidates : int
        Number of candidates with a score.
    header : str
        Names of the parameters in which the candidates differ, above their labels.
    score_label, interval_label : str
        Labels of the axis and of the intervals.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    References
    ----------
    .. [1] Nadeau and Bengio. Inference for the generalization error. Machine Learning 52 (2003),
       section 4.
    .. [2] Hoffman, Shahriari and de Freitas. On correlation and budget constraints in model-based
       bandit optimization with application to automatic machine learning. AISTATS 2014,
       Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_halving import BayesGapSearchCV
    >>> from sklearn_halving.plotting import ConfidenceDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> search = BayesGapSearchCV(
    ...     DecisionTreeClassifier(), {"max_depth": range(1, 9)}, n_fits=12, random_state=0
    ... ).fit(X, y)
    >>> shown = ConfidenceDisplay.from_estimator(search).candidates
    >>> shown[["label", "lower", "score", "upper"]].head(2).round(2)
          label  lower  score  upper
    0  6           0.82   0.87   0.92
    1  7           0.81   0.86   0.91
    """

    candidates: pd.DataFrame
    n_candidates: int
    header: str = ""
    score_label: str = "score"
    interval_label: str = ""

    @classmethod
    def _from_search(cls, found: FittedSearch) -> Self:
        table = found.candidates()
        full = table[table["is_full"]]
        if full.empty:
            raise found.lacks("full fits with a score", "use HistoryDisplay")
        is_good = full["score"] >= drawing.limits(full["score"].to_numpy())[0]
        n_others = MAX_CANDIDATES - int(full["own"][MAX_CANDIDATES:].any())
        is_first = is_good & (is_good.cumsum() <= n_others)
        shown = full[is_first | full["own"] | full["best"]].reset_index(drop=True)
        if found.history["score"].dropna().between(0, 1).all():
            shown[["lower", "upper"]] = shown[["lower", "upper"]].clip(0.0, 1.0)
        board = found.search.leaderboard().set_index("candidate").loc[shown["candidate"]]
        columns = parameter_columns(board, MAX_LABEL)
        header, *labels = aligned(columns or {"": ["the only candidate"] * len(shown)})
        return cls(
            candidates=shown.assign(label=[label[:-2] for label in labels]),
            header=header[:-2],
            n_candidates=len(table),
            score_label=found.score_label,
            interval_label="with bounds" if found.has_posterior else "± 1 standard error",
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
        ax, shown = self._axes(ax), self.candidates
        ax.set_yticks(range(-1, len(shown)), [self.header, *shown["label"]], family="monospace")
        ax.tick_params(axis="y", length=0)
        score, place = shown["score"].to_numpy(), np.arange(len(shown))
        sides = np.stack([score - shown["lower"], shown["upper"] - score]).clip(min=0.0)
        others = ~(shown["best"] | shown["own"]).to_numpy()
        kinds = (others, "candidate", drawing.CANDIDATES), *drawing.marked(shown)
        for rows, label, color in kinds:
            if rows.any():
                style: Params = {"color": color, "linewidth": 2.5, "label": label}
                ax.errorbar(score[rows], place[rows], xerr=sides[:, rows], fmt="o", ms=8, **style)
        if (hollow := shown["is_partial"].to_numpy()).any():
            ax.plot(score[hollow], place[hollow], "o", ms=5, color=ax.get_facecolor(), zorder=3)
            style = {"color": drawing.CANDIDATES, "mfc": "none", "label": "fewer splits"}
            ax.errorbar([], [], fmt="o", ms=8, **style)
        ax.set_ylim(max(len(shown), 4) - 0.4, -1.4)
        ax.set_xlabel(self.score_label)
        few = f"The best {len(shown)} of " if len(shown) < self.n_candidates else ""
        number = counted(self.n_candidates, "candidate")
        drawing.title(ax, f"{few}{number}, {self.interval_label}", side="right")
        return self
