"""What displays read of a fitted search: its table, its history, its winner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import NotFittedError

if TYPE_CHECKING:
    import pandas as pd

RESOURCE_UNITS = {
    "n_samples": "training rows",
    "partial_fit": "epochs",
    "fit_time": "seconds of training",
}
"""What is counted, for resources whose names do not say it."""


@dataclass(frozen=True)
class FittedSearch:
    """The fitted attributes of a search that displays need.

    Parameters
    ----------
    name : str
        Class of the search.
    display : str
        Class of the display, for messages.
    results : dict of str to array
        ``cv_results_``.
    history : DataFrame
        ``history_``; its column ``score`` is that of the metric, NaN where it is not finite.
    metric : str
        What ``mean_test_`` is followed by.
    score_label : str
        What the metric is called on an axis.
    resource_label, resource_unit : str
        What the resource is called on an axis, and where there is less room.
    best_row : int or None
        ``best_index_``, if there is one.
    has_posterior : bool
        Whether there is a posterior, which is of the metric that steered the search alone.
    """

    name: str
    display: str
    results: dict[str, Any]
    history: pd.DataFrame
    metric: str
    score_label: str
    resource_label: str
    resource_unit: str
    best_row: int | None
    has_posterior: bool

    @property
    def best_candidate(self) -> int | None:
        """Number of the winner; None if the search chose none."""
        return None if self.best_row is None else int(self.results["candidate"][self.best_row])

    @property
    def has_resources(self) -> bool:
        """Whether fits differ in their resource, or could."""
        return "n_resources" in self.results

    def means(self) -> np.ndarray:
        """Return the mean score of every row; NaN where it is not finite."""
        return finite(self.results[f"mean_test_{self.metric}"])

    def lacks(self, what: str, way_out: str) -> ValueError:
        """Return the error for a search that has not what the display shows."""
        return ValueError(
            f"{self.display} shows {what}, which this {self.name} has not; {way_out}."
        )


def read_search(search: Any, display: str, metric: str | None = None) -> FittedSearch:
    """Return the fitted attributes.

    Raises
    ------
    TypeError
        If it is no search of this package.
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    ValueError
        If it was not scored by the metric.
    """
    name = type(search).__name__
    if not hasattr(type(search), "history_"):
        raise TypeError(
            f"{display} shows searches of sklearn_halving, which keep a history_ of their fits; "
            f"got {name}. Give a fitted HyperbandSearchCV, VarianceHalvingSearchCV, "
            "BayesGapSearchCV or BanditSearchCV."
        )
    if not hasattr(search, "cv_results_"):
        raise NotFittedError(
            f"{display} shows what a search found, and this {name} is not fitted: it has no "
            "cv_results_. Call fit first."
        )
    steering = _metric_of(search, display, None)
    metric = _metric_of(search, display, metric)
    scoring = getattr(search, "scoring", None)
    score_name = scoring if metric == "score" and isinstance(scoring, str) else metric
    resource = getattr(search, "resource", None)
    resource = resource if isinstance(resource, str) else "resource"
    unit = RESOURCE_UNITS.get(resource, resource)
    return FittedSearch(
        name=name,
        display=display,
        results=search.cv_results_,
        history=_history_of(search, metric),
        metric=metric,
        score_label=score_name,
        resource_label=resource if unit == resource else f"{unit} ({resource})",
        resource_unit=unit,
        best_row=getattr(search, "best_index_", None),
        has_posterior="posterior_mean" in search.cv_results_ and metric == steering,
    )


def _metric_of(search: Any, display: str, metric: str | None) -> str:
    """Return the metric asked for, else the one that steered the search."""
    prefix = "mean_test_"
    known = [key.removeprefix(prefix) for key in search.cv_results_ if key.startswith(prefix)]
    if metric is None:
        return str(search.refit) if search.refit in known else str(known[0])
    if metric not in known:
        raise ValueError(
            f"metric={metric!r} of {display} must be one that the search was scored by, which "
            f"are {', '.join(map(repr, known))}. Leave it out for the one that steered the search."
        )
    return metric


def _history_of(search: Any, metric: str) -> pd.DataFrame:
    history: pd.DataFrame = search.history_
    # Where a scorer gives a dict and the fit failed, the one error score stands for all metrics.
    names = [name for name in (f"test_{metric}", "test_score") if name in history]
    score = history[names[0]]
    for name in names[1:]:
        score = score.fillna(history[name])
    return history.assign(score=finite(score.to_numpy(dtype=float)))


def finite(values: Any) -> np.ndarray:
    """Return the values as floats, with NaN for what is not finite."""
    values = np.asarray(values, dtype=float)
    return np.where(np.isfinite(values), values, np.nan)


@dataclass(frozen=True)
class CandidateTable:
    """One row for each candidate, in the order of the search's own ranks.

    Parameters
    ----------
    candidate : ndarray of shape (n_candidates,)
        Its number.
    row : ndarray of shape (n_candidates,)
        The row of ``cv_results_`` in which it ranks best.
    score : ndarray of shape (n_candidates,)
        Mean score of that row.
    n_pulls : ndarray of shape (n_candidates,)
        Its fits, in all rungs.
    best : ndarray of bool of shape (n_candidates,)
        True for the winner.
    """

    candidate: np.ndarray
    row: np.ndarray
    score: np.ndarray
    n_pulls: np.ndarray
    best: np.ndarray


def candidate_table(search: FittedSearch) -> CandidateTable:
    """Return the candidates, best rank first."""
    # Stable: rows of one rank stay in the order of the table, and the winner comes before them.
    keys = search.results[f"rank_test_{search.metric}"].astype(float)
    if search.best_row is not None:
        keys[search.best_row] -= 0.5
    order = np.argsort(keys, kind="stable")
    numbers = search.results["candidate"][order]
    first = np.sort(np.unique(numbers, return_index=True)[1])
    row = order[first]
    candidate = search.results["candidate"][row]
    n_pulls = np.bincount(search.history["candidate"], minlength=candidate.max() + 1)[candidate]
    best = candidate == (-1 if search.best_candidate is None else search.best_candidate)
    return CandidateTable(candidate, row, search.means()[row], n_pulls, best)
