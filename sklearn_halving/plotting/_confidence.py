"""ConfidenceDisplay: the score of each candidate, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_halving.plotting._drawing import (
    GREY,
    MAX_LABELS,
    OTHERS,
    WINNER,
    axes_for,
    count_of,
    height_of,
    label_candidates,
    legend_beside,
    note,
    score_range,
)
from sklearn_halving.plotting._labels import candidate_labels
from sklearn_halving.plotting._reading import (
    CandidateTable,
    FittedSearch,
    candidate_table,
    finite,
    read_search,
)

LEFT_OUT = (
    "candidate without score or with less resource left out",
    "candidates without score or with less resource left out",
)

FLAT = 1e-9
"""Width of an interval, against the score or 1, below which all scores were the same."""


@dataclass(eq=False, repr=False, kw_only=True)
class ConfidenceDisplay:
    """Score of each candidate with its interval, best rank on top.

    Make it with `from_estimator`. For BayesGapSearchCV these are the mean and the bounds of its
    posterior, and the gap: by how much the upper bound of another candidate is above the lower
    bound of the winner. For the other searches they are the mean and so many standard errors,
    which are corrected for training sets that overlap. Only candidates with the largest amount
    of the resource are shown: others cannot be compared with them.

    Parameters
    ----------
    candidate : ndarray of shape (n_candidates,)
        Number of the candidate, best rank first.
    mean, lower, upper : ndarray of shape (n_candidates,)
        Its score and its interval; bounds are NaN where one fit says nothing of the noise.
    best : ndarray of bool of shape (n_candidates,)
        True for the winner.
    n_pulls : ndarray of shape (n_candidates,)
        Its fits. A candidate without any is judged by the posterior alone.
    labels : list of str
        What each candidate is called.
    gap : float or None
        Largest upper bound of the others minus the winner's lower bound, for BayesGap; where
        it is negative, the winner is the best by these bounds.
    n_left_out : int
        Candidates that have no score, or less of the resource.
    score_label, interval_label : str
        What is on the axis, and what the intervals are.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

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
        cls, search: Any, *, metric: str | None = None, n_errors: float = 1.0, ax: Any = None
    ) -> ConfidenceDisplay:
        """Draw what a fitted search knows of its candidates.

        Parameters
        ----------
        search : estimator
            A fitted search.
        metric : str or None, default=None
            Which metric, if there are several; by default the one that steered the search. The
            posterior of BayesGapSearchCV is of that one: others are shown with standard errors.
        n_errors : float, default=1.0
            Standard errors on each side of the mean. The bounds of a posterior are its own.
        ax : matplotlib Axes or None, default=None
            Where to draw; by default in a new figure.

        Returns
        -------
        display : ConfidenceDisplay
            The display, drawn.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the search is not fitted.
        TypeError
            If it is not a search of this package.
        ValueError
            If it has no such metric, or ``n_errors`` is not positive.
        ImportError
            If matplotlib is missing.
        """
        if not n_errors > 0:
            raise ValueError(
                f"n_errors of {cls.__name__} must be positive, as standard errors on each side "
                f"of the mean; got {n_errors!r}. Leave it out for 1."
            )
        found = read_search(search, cls.__name__, metric)
        table = candidate_table(found)
        has_posterior = found.has_posterior
        intervals = _posterior if has_posterior else _standard_errors
        mean, lower, upper = intervals(found, table, n_errors)
        shown = ~np.isnan(mean)
        params = [found.results["params"][row] for row in table.row[shown]]
        display = cls(
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
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> ConfidenceDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; by default in a new figure.

        Returns
        -------
        display : ConfidenceDisplay
            This display.
        """
        n_candidates = len(self.candidate)
        ax = axes_for(type(self).__name__, ax, 8.6, height_of(n_candidates))
        if self.gap is not None:
            self._draw_gap(ax)
        for is_winner, color in ((False, OTHERS), (True, WINNER)):
            label = "winner" if is_winner else self.interval_label
            self._draw_intervals(ax, self.best == is_winner, color, label)
        label_candidates(ax, self.labels)
        ax.set_xlabel(self.score_label)
        limits = score_range(self.mean)
        n_cut = 0
        if limits is not None:
            ax.set_xlim(limits)
            n_cut = int((self.mean < limits[0]).sum())
        note(
            ax,
            count_of(n_cut, "mean off the axis", "means off the axis"),
            count_of(self.n_left_out, *LEFT_OUT),
        )
        if n_candidates:
            legend_beside(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_intervals(self, ax: Any, rows: np.ndarray, color: str, label: str) -> None:
        """Draw marks with intervals, and in other shapes those whose noise is not known."""
        width = self.upper - self.lower
        never = rows & (self.n_pulls == 0)
        has_none = rows & ~never & np.isnan(width)
        # Scores that are the same by chance say no more of the noise than a single one does.
        is_flat = rows & ~never & (width <= FLAT * np.maximum(1.0, np.abs(self.mean)))
        known = rows & ~never & ~has_none & ~is_flat
        thin = len(self.candidate) > 2 * MAX_LABELS and color != WINNER
        size, line = (2, 0.6) if thin else (5, 1.6)
        style = {"color": color, "markersize": size, "zorder": 3 if color == WINNER else 2}
        hollow = style | {"markerfacecolor": "white"}
        sides = np.maximum(np.stack([self.mean - self.lower, self.upper - self.mean]), 0.0)
        start = "winner, " if color == WINNER else ""
        for which, name, shape in (
            (known, label, {"fmt": "o", **style}),
            (never, f"{start}never fitted", {"fmt": "D", **hollow}),
        ):
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

    def _draw_gap(self, ax: Any) -> None:
        """Draw the span from the winner's lower bound to the best upper bound of the others."""
        lower = float(self.lower[self.best][0])
        ends = sorted((lower, lower + float(self.gap or 0.0)))
        ax.axvspan(*ends, color=GREY, alpha=0.15, linewidth=0, label=f"gap {self.gap:.3g}")


Intervals = tuple[np.ndarray, np.ndarray, np.ndarray]


def _posterior(found: FittedSearch, table: CandidateTable, n_errors: float) -> Intervals:
    columns = ("posterior_mean", "lower_bound", "upper_bound")
    mean, lower, upper = (finite(found.results[column])[table.row] for column in columns)
    # Fits of these failed: the posterior is of a stand-in, not of a score.
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
    scores = np.column_stack(columns)
    n_scores = (~np.isnan(scores)).sum(axis=1)
    total = np.where(np.isnan(scores), 0.0, scores).sum(axis=1)
    residuals = scores - (total / np.maximum(n_scores, 1))[:, np.newaxis]
    squares = np.where(np.isnan(residuals), 0.0, residuals**2).sum(axis=1)
    rows = found.history
    if found.has_resources:
        rows = rows[rows["n_resources"] == rows["n_resources"].max()]
    overlap = rows["n_test"].mean() / rows["n_train"].mean()
    shares = 1 / np.maximum(n_scores, 1) + overlap
    error: np.ndarray = np.sqrt(shares * squares / np.maximum(n_scores - 1, 1))
    return np.where(n_scores > 1, error, np.nan)


def _gap(lower: np.ndarray, upper: np.ndarray, best: np.ndarray) -> float | None:
    if not best.any() or best.all():
        return None
    return float(np.nanmax(upper[~best]) - lower[best][0])
