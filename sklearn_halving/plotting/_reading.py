"""What displays read from a fitted search: its tables, its winner and its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError

from sklearn_halving._typing import CvResults
from sklearn_halving.plotting._drawing import (
    candidate_labels,
    value_text,
    value_texts,
)

if TYPE_CHECKING:
    import pandas as pd

RESOURCE_UNITS = {
    "n_samples": "training rows",
    "partial_fit": "epochs",
    "fit_time": "seconds of training",
}
"""Units of resources, if they differ from the name."""


class Search(Protocol):
    """The attributes of a search that displays read; the first two exist after ``fit``."""

    cv_results_: CvResults

    @property
    def history_(self) -> pd.DataFrame:
        """One row for each fit."""

    @property
    def refit(self) -> object:
        """The metric that steered the search, if there are several."""


@dataclass(frozen=True)
class FittedSearch:
    """The fitted attributes of a search that displays need.

    Parameters
    ----------
    name, display : str
        Class names of the search and of the display, for error messages.
    results : dict of ndarray
        ``cv_results_``.
    history : DataFrame
        ``history_`` with a column ``score`` of the metric, NaN if not finite. Without a resource,
        ``n_resources`` is 1.
    metric : str
        Name of the metric, as in ``mean_test_<metric>``.
    score_label : str
        Name of the metric on an axis.
    resource_label, resource_unit : str
        Name of the resource on an axis, and a shorter one.
    best_row : int or None
        ``best_index_``, if there is one.
    has_posterior : bool
        Whether there is a posterior; it exists only for the metric that steered the search.
    """

    name: str
    display: str
    results: CvResults
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
        """Whether the search has a resource."""
        return "n_resources" in self.results

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters that were searched."""
        return [key.removeprefix("param_") for key in self.results if key.startswith("param_")]

    @property
    def value_label(self) -> str:
        """Name of the column ``value`` of `candidates` on an axis."""
        kind = "posterior mean of" if self.has_posterior else "mean test"
        return f"{kind} {self.score_label}"

    def means(self) -> np.ndarray:
        """Return the mean score of every row; NaN where it is not finite."""
        return finite(self.results[f"mean_test_{self.metric}"])

    def has_fewer_splits(self) -> np.ndarray:
        """Return which rows have fewer splits than others with the same resource.

        This is only known for brackets. Such a candidate was dropped in the last rung, or it is
        from a rung that the search did not complete. Its mean may be that of one lucky split.
        """
        if "bracket" not in self.results:
            return np.zeros(len(self.results["candidate"]), dtype=bool)
        amounts = self.results["n_resources"]
        n_splits = self.history.value_counts(["candidate", "n_resources"])
        most = n_splits.groupby("n_resources").max().reindex(amounts).to_numpy()
        rows = list(zip(self.results["candidate"], amounts, strict=True))
        fewer: np.ndarray = n_splits.reindex(rows).to_numpy() < most
        return fewer

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

    def labels(self, candidates: pd.DataFrame) -> list[str]:
        """Return the labels of rows of `candidates`."""
        params = [self.results["params"][row] for row in candidates["row"]]
        return candidate_labels(candidates["candidate"].tolist(), params)

    def lacks(self, what: str, way_out: str) -> ValueError:
        """Return the error for a search that lacks what the display shows."""
        return ValueError(
            f"{self.display} shows {what}, which this {self.name} does not have; {way_out}."
        )


def read_search(search: Search, display: str, metric: str | None = None) -> FittedSearch:
    """Return the fitted attributes.

    Raises
    ------
    TypeError
        If it is not a search of this package.
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    ValueError
        If it was not scored by the metric.
    """
    name = type(search).__name__
    if not hasattr(type(search), "history_"):
        raise TypeError(
            f"{display} shows searches of sklearn_halving, which record their fits in history_; "
            f"got {name}. Pass a fitted HyperbandSearchCV, VarianceHalvingSearchCV, "
            "BayesGapSearchCV or BanditSearchCV."
        )
    if not hasattr(search, "cv_results_"):
        raise NotFittedError(
            f"{display} shows the results of a search, but this {name} is not fitted: it has no "
            "cv_results_. Call fit first."
        )
    steering, metric = _metric_of(search, display, None), _metric_of(search, display, metric)
    scoring = getattr(search, "scoring", None)
    resource = getattr(search, "resource", None)
    resource = resource if isinstance(resource, str) else "resource"
    unit = RESOURCE_UNITS.get(resource, resource)
    return FittedSearch(
        name=name,
        display=display,
        results=search.cv_results_,
        history=_history_of(search, metric),
        metric=metric,
        score_label=scoring if metric == "score" and isinstance(scoring, str) else metric,
        resource_label=resource if unit == resource else f"{unit} ({resource})",
        resource_unit=unit,
        best_row=getattr(search, "best_index_", None),
        has_posterior="posterior_mean" in search.cv_results_ and metric == steering,
    )


def _metric_of(search: Search, display: str, metric: str | None) -> str:
    """Return the requested metric, or the one that steered the search."""
    prefix = "mean_test_"
    known = [key.removeprefix(prefix) for key in search.cv_results_ if key.startswith(prefix)]
    if metric is None:
        return str(search.refit) if search.refit in known else str(known[0])
    check_choice(display, "metric", metric, known)
    return metric


def _history_of(search: Search, metric: str) -> pd.DataFrame:
    history = search.history_
    # If a scorer returns a dict and the fit failed, one error score stands for all metrics.
    names = [name for name in (f"test_{metric}", "test_score") if name in history]
    score = history[names].bfill(axis="columns").iloc[:, 0]
    levels = history.get("n_resources", 1)
    return history.assign(score=finite(score.to_numpy(dtype=float)), n_resources=levels)


def check_choice(display: str, name: str, value: object, known: Sequence[str]) -> None:
    """Raise if the value of a parameter of a display is not one of the known ones."""
    if value not in known:
        raise ValueError(
            f"{name} of {display} must be one of {', '.join(map(repr, known))}; got {value!r}."
        )


def arrays(table: pd.DataFrame, *names: str) -> dict[str, np.ndarray]:
    """Return columns of a table, for the parameters of a display that have these names."""
    return {name: table[name].to_numpy() for name in names}


def finite(values: npt.ArrayLike) -> np.ndarray:
    """Return the values as floats, with NaN for values that are not finite."""
    values = np.asarray(values, dtype=float)
    return np.where(np.isfinite(values), values, np.nan)


@dataclass(frozen=True)
class Axis:
    """One parameter of all candidates.

    Parameters
    ----------
    name : str
        Name of the parameter, as in ``param_distributions``.
    position : ndarray of shape (n_candidates,)
        Values of a numeric parameter, places of the categories otherwise. NaN for candidates
        without the parameter.
    categories : tuple of str
        Names of the categories; empty for numbers.
    is_log : bool
        Whether values are spaced more evenly on a logarithmic scale.
    """

    name: str
    position: np.ndarray
    categories: tuple[str, ...]
    is_log: bool

    @property
    def even(self) -> np.ndarray:
        """Positions on the scale on which they are spaced evenly."""
        return np.log10(self.position) if self.is_log else self.position


def tried_space(found: FittedSearch) -> tuple[list[Axis], pd.DataFrame]:
    """Return the parameters in which candidates with a score differ, and these candidates.

    The candidates are rows of `FittedSearch.candidates`, best first.

    Raises
    ------
    ValueError
        If candidates do not differ in any parameter.
    """
    table = found.candidates().dropna(subset=["score"])
    axes = [axis_of(n, found.results[f"param_{n}"][table["row"]]) for n in found.parameters]
    varying = [axis for axis in axes if len(np.unique(axis.position)) > 1]
    if not varying:
        way_out = "PullsDisplay shows its candidates"
        raise found.lacks("parameters in which candidates differ", way_out)
    return varying, table


def axis_of(name: str, column: np.ndarray) -> Axis:
    """Return the axis of a parameter; values that are missing are masked in its column."""
    position = np.full(len(column), np.nan)
    has_value = ~np.ma.getmaskarray(column)
    values = as_numbers(column[has_value])
    if values.dtype != object:
        position[has_value] = values
        return Axis(name, position, (), _suits_log(values))
    texts = value_texts(list(values))
    categories = sorted(set(texts), key=lambda text: _category_key(values[texts.index(text)]))
    position[has_value] = [categories.index(text) for text in texts]
    return Axis(name, position, tuple(categories), is_log=False)


def as_numbers(values: np.ndarray) -> np.ndarray:
    """Return an array of floats, or of objects where one is not a finite number."""
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    if all(map(_is_number, objects)) and np.isfinite(objects.astype(float)).all():
        return objects.astype(float)
    return objects


def _is_number(value: object) -> TypeGuard[Real]:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _suits_log(values: np.ndarray) -> bool:
    """Return whether values are positive, and more evenly spaced on a logarithmic scale."""
    values = np.unique(values)
    if len(values) < 3 or values[0] <= 0 or values[-1] / values[0] < 20:
        return False
    unevenness = [np.diff(v).std() / np.diff(v).mean() for v in (np.log(values), values)]
    return bool(unevenness[0] < unevenness[1])


def _category_key(value: object) -> tuple[bool, float, str]:
    """Return a sort key: numbers come first, by size, followed by other values by name."""
    size = float(value) if _is_number(value) else 0.0
    return not _is_number(value), size, value_text(value)
