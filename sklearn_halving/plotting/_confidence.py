"""ConfidenceDisplay: the score of each candidate, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from sklearn_halving._typing import Params
from sklearn_halving.plotting import _drawing as drawing
from sklearn_halving.plotting._display import Display
from sklearn_halving.plotting._reading import FittedSearch, Search, arrays, finite, read_search
from sklearn_halving.splits import corrected_variance_of_mean

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

LEFT_OUT = "without score or with less resource left out"

NEVER = "never fitted"
KINDS = (
    ("", "o"),
    (NEVER, "D"),
    ("one score: no interval", "o"),
    ("all scores equal: width 0", "s"),
)
"""What is special about an interval, and the marker of its score."""

FLAT = 1e-9
"""Relative width of an interval below which all scores count as equal."""


@dataclass(eq=False, repr=False, kw_only=True)
class ConfidenceDisplay(Display):
    """Score of each candidate with its interval, best rank first.

    Use `from_estimator` to create a display. For BayesGapSearchCV it shows the mean and the
    bounds of the posterior, and the gap: the largest upper bound of the other candidates minus
    the lower bound of the winner. For the other searches it shows the mean and a number of
    standard errors, corrected for overlapping training sets. Only candidates with the largest
    amount of resource are shown, because scores at other amounts are not comparable.

    Parameters
    ----------
    candidate : ndarray of shape (n_candidates,)
        Number of the candidate, best rank first.
    mean, lower, upper : ndarray of shape (n_candidates,)
        Score and interval of each candidate; the bounds are NaN if there is a single score.
    best : ndarray of bool of shape (n_candidates,)
        True for the winner.
    n_pulls : ndarray of shape (n_candidates,)
        Number of fits. A candidate without fits is known from the posterior only.
    labels : list of str
        Labels of the candidates.
    gap : float or None
        For BayesGapSearchCV, the largest upper bound of the other candidates minus the lower
        bound of the winner. If it is negative, the winner is the best by these bounds.
    n_left_out : int
        Number of candidates without a score or with less resource.
    score_label, interval_label : str
        Labels of the axis and of the intervals.

    References
    ----------
    Hoffman, Shahriari and de Freitas. On correlation and budget constraints in model-based
    bandit optimization with application to automatic machine learning. AISTATS 2014, Algorithm
    1 (bounds, and the gap of the winner).

    Nadeau and Bengio. Inference for the generalization error. Machine Learning 52 (2003),
    section 4 (standard errors).

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
    >>> display = ConfidenceDisplay.from_estimator(search)
    >>> bool((display.lower <= display.mean).all())
    True
    """

    candidate: np.ndarray
    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    best: np.ndarray
    n_pulls: np.ndarray
    labels: list[str]
    gap: float | None = None
    n_left_out: int = 0
    score_label: str = "score"
    interval_label: str = ""

    @classmethod
    def from_estimator(
        cls,
        search: Search,
        *,
        metric: str | None = None,
        n_errors: float = 1.0,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the scores and intervals of a fitted search.

        Parameters
        ----------
        metric : str or None, default=None
            The metric to show if there are several. None shows the one that steered the search.
            BayesGapSearchCV has a posterior for that metric only; others are shown with
            standard errors.
        n_errors : float, default=1.0
            Number of standard errors on each side of the mean. Ignored for a posterior.

        Raises
        ------
        ValueError
            If the search has no such metric, or ``n_errors`` is not positive.
        """
        if not n_errors > 0:
            raise ValueError(
                f"n_errors of {cls.__name__} must be positive; got {n_errors!r}. It is the "
                "number of standard errors on each side of the mean, 1 by default."
            )
        found = read_search(search, cls.__name__, metric)
        return cls._from_search(found, n_errors).plot(ax=ax)

    @classmethod
    def _from_search(cls, found: FittedSearch, n_errors: float = 1.0) -> Self:
        table = found.candidates()
        table["mean"] = table["value"]
        if found.has_posterior:
            interval = "lower and upper bound"
            for side in ("lower", "upper"):
                table[side] = finite(found.results[f"{side}_bound"])[table["row"]]
        else:
            interval = f"± {n_errors:g} standard error"
            largest = table["level"][table["score"].notna()].max()
            table.loc[table["level"] != largest, "mean"] = np.nan
            width = n_errors * _standard_errors(found)[table["row"]]
            table["lower"], table["upper"] = table["mean"] - width, table["mean"] + width
        shown = table[table["mean"].notna()]
        return cls(
            **arrays(shown, "candidate", "mean", "lower", "upper", "best", "n_pulls"),
            labels=found.labels(shown),
            gap=_gap(shown) if found.has_posterior else None,
            n_left_out=len(table) - len(shown),
            score_label=found.value_label,
            interval_label=interval,
        )

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display."""
        n_candidates = len(self.candidate)
        ax = self._axes(ax, 8.6, drawing.height_of(n_candidates))
        if self.gap is not None:
            self._draw_gap(ax)
        for is_winner, color in ((False, drawing.OTHERS), (True, drawing.WINNER)):
            label = "winner" if is_winner else self.interval_label
            self._draw_intervals(ax, self.best == is_winner, color, label)
        drawing.label_candidates(ax, self.labels)
        ax.set_xlabel(self.score_label)
        n_cut = drawing.clip(ax.set_xlim, self.mean)
        drawing.note(
            ax,
            drawing.count_of(n_cut, "mean", "off the axis"),
            drawing.count_of(self.n_left_out, "candidate", LEFT_OUT),
        )
        if n_candidates:
            drawing.legend_beside(ax)
        return self

    def _draw_intervals(self, ax: Axes, rows: np.ndarray, color: str, label: str) -> None:
        """Draw scores with intervals, and with another marker if the noise is unknown."""
        width = self.upper - self.lower
        never = self.n_pulls == 0
        # Scores that are equal by chance are as uninformative about noise as a single score.
        is_flat = width <= FLAT * np.maximum(1.0, np.abs(self.mean))
        kind = np.select([never, np.isnan(width), is_flat], [1, 2, 3], default=0)
        is_winner = color == drawing.WINNER
        size, line = (
            (5, 1.6) if is_winner or len(self.mean) <= 2 * drawing.MAX_LABELS else (2, 0.6)
        )
        style: Params = {"color": color, "markersize": size, "zorder": 3 if is_winner else 2}
        sides = np.maximum(np.stack([self.mean - self.lower, self.upper - self.mean]), 0.0)
        for number, (name, marker) in enumerate(KINDS):
            at = np.flatnonzero(rows & (kind == number))
            if not len(at):
                continue
            if name:
                style |= {"markerfacecolor": "white"}
                label = f"winner, {name}" if is_winner else name
            if name and name != NEVER:
                ax.plot(self.mean[at], at, marker, label=label, **style)
                continue
            errors: Params = {"xerr": sides[:, at], "linewidth": line, "label": label}
            bars = ax.errorbar(self.mean[at], at, fmt=marker, **errors, **style)
            if name == NEVER:
                bars[2][0].set_linestyle(":")

    def _draw_gap(self, ax: Axes) -> None:
        """Draw the span from the winner's lower bound to the largest upper bound of the others."""
        lower = float(self.lower[self.best][0])
        ends = sorted((lower, lower + float(self.gap or 0.0)))
        ax.axvspan(*ends, color=drawing.GREY, alpha=0.15, linewidth=0, label=f"gap {self.gap:.3g}")


def _standard_errors(found: FittedSearch) -> np.ndarray:
    """Return the standard error of every row's mean: its column, or computed from its splits."""
    if (column := found.results.get(f"standard_error_test_{found.metric}")) is not None:
        return finite(column)
    columns: list[np.ndarray] = []
    while (key := f"split{len(columns)}_test_{found.metric}") in found.results:
        columns.append(finite(found.results[key]))
    rows = found.history[found.history["n_resources"] == found.history["n_resources"].max()]
    sizes = rows["n_train"].mean(), rows["n_test"].mean()
    return np.sqrt(corrected_variance_of_mean(np.column_stack(columns), *sizes))


def _gap(table: pd.DataFrame) -> float | None:
    best = table["best"]
    if not best.any() or best.all():
        return None
    return float(table["upper"][~best].max() - table["lower"][best].iloc[0])
