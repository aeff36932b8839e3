"""The results of a fitted search, in the form in which its report uses them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sklearn_halving._typing import Params
from sklearn_halving.resources import WholeFit

if TYPE_CHECKING:
    from pandas import DataFrame

    from sklearn_halving.search._search_results import SearchResults

N_LEADERS = 5
"""Maximum number of candidates shown, if there are no brackets."""


@dataclass(frozen=True)
class Leader:
    """A candidate, in the row of ``cv_results_`` in which it ranks best.

    ``n_fits`` is the number of fits of the row, and ``n_all_fits`` that of all levels. The score
    of a candidate that was never fitted is predicted by the model of the search.
    """

    candidate: int
    params: Params
    rank: int
    score: float
    deviation: float
    n_fits: int
    n_all_fits: int
    amount: float
    probability: float


class Findings:
    """The results of a search.

    Parameters
    ----------
    search : SearchResults
        A search that has ``cv_results_``.

    Attributes
    ----------
    metrics : list of str
        The metrics.
    metric : str
        The metric that guided the search.
    resource : str or None
        Name of the resource; None if there is none.
    best_row : int or None
        The row that the search chose.
    """

    def __init__(self, search: SearchResults) -> None:
        self.search = search
        self.record = search._record
        self.history = search.history_
        prefix = "mean_test_"
        keys = [key for key in search.cv_results_ if key.startswith(prefix)]
        self.metrics = [key.removeprefix(prefix) for key in keys]
        self.metric: str = search.refit if search.refit in self.metrics else self.metrics[0]
        resource = self.record.resource
        self.resource = None if isinstance(resource, WholeFit) else resource.name
        self.best_row: int | None = getattr(search, "best_index_", None)

    @cached_property
    def rows(self) -> DataFrame:
        """The rows of ``cv_results_``, with the columns that are shown."""
        import pandas as pd

        results, metric = self.search.cv_results_, self.metric
        frame = pd.DataFrame(
            {
                "candidate": results["candidate"],
                "rank": results[f"rank_test_{metric}"],
                "score": results[f"mean_test_{metric}"],
                "deviation": results[f"std_test_{metric}"],
                "amount": results.get("n_resources", 1),
                "probability": results.get("probability_best", np.nan),
                "params": [repr(params) for params in results["params"]],
            }
        )
        for name in ("loop", "bracket", "iter"):
            frame[name] = results.get(name, 0)
        frame["is_best"] = frame.index == self.best_row
        of_splits = [
            np.isfinite(column)
            for key, column in results.items()
            if key.startswith("split") and key.endswith(f"_test_{metric}")
        ]
        frame["n_splits"] = np.sum(of_splits, axis=0) if of_splits else 1
        frame["is_fitted"] = results.get("n_fits", 1) > np.zeros(len(frame))
        if "posterior_mean" in results:
            frame["score"] = frame["score"].where(frame["is_fitted"], results["posterior_mean"])
        return frame

    @cached_property
    def leaders(self) -> list[Leader]:
        """The candidates that rank best, and one more. Of these, only the winner may lack fits."""
        rows = self.rows[self.rows["is_fitted"] | self.rows["is_best"]]
        rows = rows.sort_values("rank", kind="stable")
        # If a small grid is used in several brackets, a candidate has several numbers.
        rows = rows.drop_duplicates("params").drop_duplicates("candidate")
        return [self._leader(number) for number in rows.index[: N_LEADERS + 1]]

    def _leader(self, number: int) -> Leader:
        row = self.rows.loc[number].to_dict()
        fits = self.history[self.history["candidate"] == row["candidate"]]
        own = fits[fits["n_resources"] == row["amount"]] if "n_resources" in fits else fits
        return Leader(
            row["candidate"],
            self.search.cv_results_["params"][number],
            rank=row["rank"],
            score=row["score"],
            deviation=row["deviation"],
            n_fits=len(own),
            n_all_fits=len(fits),
            amount=row["amount"],
            probability=row["probability"],
        )

    @property
    def winner(self) -> Leader | None:
        """The candidate that the search chose."""
        return None if self.best_row is None else self._leader(self.best_row)

    @property
    def n_unfitted(self) -> int:
        """Number of candidates that were not fitted."""
        return self.record.n_candidates - self.history["candidate"].nunique()
