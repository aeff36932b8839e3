"""ConfidenceDisplay: the score of each candidate, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from sklearn_halving._typing import Params
from sklearn_halving.plotting._display import Display
from sklearn_halving.plotting._drawing import (
    GREY,
    MAX_LABELS,
    OTHERS,
    WINNER,
    clip,
    count_of,
    height_of,
    label_candidates,
    legend_beside,
    note,
)
from sklearn_halving.plotting._labels import candidate_labels
from sklearn_halving.plotting._reading import (
    CandidateTable,
    FittedSearch,
    Search,
    candidate_table,
    finite,
    read_search,
)
from sklearn_halving.splits import corrected_variance_of_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEFT_OUT = (
    "candidate without score or with less resource left out",
    "candidates without score or with less resource left out",
)

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
    ...     DecisionTreeClassifier(), {"max_depth": range(1, 9)}, n_pulls=12, random_state=0
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
        table = candidate_table(found)
        has_posterior = found.has_posterior
        intervals = _posterior if has_posterior else _standard_errors
        mean, lower, upper = intervals(found, table, n_errors)
        shown = ~np.isnan(mean)
        params = [found.results["params"][row] for row in table.row[shown]]
        return cls(
            candidate=table.candidate[shown],
            mean=mean[shown],
            lower=lower[shown],
            upper=upper[shown],
            best=table.best[shown],
            n_pulls=table.n_pulls[shown],
            labels=candidate_labels(table.candidate[shown].tolist(), params),
            gap=_gap(lower[shown], upper[shown], table.best[shown]) if has_posterior else None,
            n_left_out=int((~shown).sum()),
            score_label=f"{'posterior mean' if has_posterior else 'mean'} of {found.score_label}",
            interval_label=(
                "lower and upper bound" if has_posterior else f"± {n_errors:g} standard error"
            ),
        )

    def _draw(self, ax: Axes | None) -> Axes:
        n_candidates = len(self.candidate)
        ax = self._axes(ax, 8.6, height_of(n_candidates))
        if self.gap is not None:
            self._draw_gap(ax)
        for is_winner, color in ((False, OTHERS), (True, WINNER)):
            label = "winner" if is_winner else self.interval_label
            self._draw_intervals(ax, self.best == is_winner, color, label)
        label_candidates(ax, self.labels)
        ax.set_xlabel(self.score_label)
        n_cut = clip(ax.set_xlim, self.mean)
        note(
            ax,
            count_of(n_cut, "mean off the axis", "means off the axis"),
            count_of(self.n_left_out, *LEFT_OUT),
        )
        if n_candidates:
            legend_beside(ax)
        return ax

    def _draw_intervals(self, ax: Axes, rows: np.ndarray, color: str, label: str) -> None:
        """Draw scores with intervals, and with another marker if the noise is unknown."""
        width = self.upper - self.lower
        never = rows & (self.n_pulls == 0)
        has_none = rows & ~never & np.isnan(width)
        # Scores that are equal by chance are as uninformative about noise as a single score.
        is_flat = rows & ~never & (width <= FLAT * np.maximum(1.0, np.abs(self.mean)))
        known = rows & ~never & ~has_none & ~is_flat
        thin = len(self.candidate) > 2 * MAX_LABELS and color != WINNER
        size, line = (2, 0.6) if thin else (5, 1.6)
        style: Params = {
            "color": color,
            "markersize": size,
            "zorder": 3 if color == WINNER else 2,
        }
        hollow = style | {"markerfacecolor": "white"}
        sides = np.maximum(np.stack([self.mean - self.lower, self.upper - self.mean]), 0.0)
        start = "winner, " if color == WINNER else ""
        shapes: tuple[tuple[np.ndarray, str, Params], ...] = (
            (known, label, {"fmt": "o", **style}),
            (never, f"{start}never fitted", {"fmt": "D", **hollow}),
        )
        for which, name, shape in shapes:
            at = np.flatnonzero(which)
            if len(at):
                bars = ax.errorbar(
                    self.mean[at], at, xerr=sides[:, at], linewidth=line, label=name, **shape
                )
                if which is never:
                    bars[2][0].set_linestyle(":")
        for which, name, marker in (
            (has_none, f"{start}one score: no interval", "o"),
            (is_flat, f"{start}all scores equal: width 0", "s"),
        ):
            at = np.flatnonzero(which)
            if len(at):
                ax.plot(self.mean[at], at, marker, label=name, **hollow)

    def _draw_gap(self, ax: Axes) -> None:
        """Draw the span from the winner's lower bound to the largest upper bound of the others."""
        lower = float(self.lower[self.best][0])
        ends = sorted((lower, lower + float(self.gap or 0.0)))
        ax.axvspan(*ends, color=GREY, alpha=0.15, linewidth=0, label=f"gap {self.gap:.3g}")


Intervals = tuple[np.ndarray, np.ndarray, np.ndarray]


def _posterior(found: FittedSearch, table: CandidateTable, n_errors: float) -> Intervals:
    columns = ("posterior_mean", "lower_bound", "upper_bound")
    mean, lower, upper = (finite(found.results[column])[table.row] for column in columns)
    # If all fits failed, the posterior describes a substitute value, not a score.
    failed = (table.n_pulls > 0) & np.isnan(table.score)
    return np.where(failed, np.nan, mean), lower, upper


def _standard_errors(found: FittedSearch, table: CandidateTable, n_errors: float) -> Intervals:
    mean = table.score
    if found.has_resources:
        amounts = found.results["n_resources"][table.row]
        largest = amounts[~np.isnan(mean)].max(initial=0)
        mean = np.where(amounts == largest, mean, np.nan)
    column = found.results.get(f"standard_error_test_{found.metric}")
    error = _corrected_errors(found) if column is None else finite(column)
    error = error[table.row]
    return mean, mean - n_errors * error, mean + n_errors * error


def _corrected_errors(found: FittedSearch) -> np.ndarray:
    """Return the standard error of every row's mean, from its splits."""
    columns: list[np.ndarray] = []
    while (key := f"split{len(columns)}_test_{found.metric}") in found.results:
        columns.append(finite(found.results[key]))
    rows = found.history
    if found.has_resources:
        rows = rows[rows["n_resources"] == rows["n_resources"].max()]
    sizes = rows["n_train"].mean(), rows["n_test"].mean()
    return np.sqrt(corrected_variance_of_mean(np.column_stack(columns), *sizes))


def _gap(lower: np.ndarray, upper: np.ndarray, best: np.ndarray) -> float | None:
    if not best.any() or best.all():
        return None
    return float(np.nanmax(upper[~best]) - lower[best][0])
