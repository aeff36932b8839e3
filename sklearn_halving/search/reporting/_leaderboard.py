"""The leaderboard: one row for each candidate that was fitted, the best first."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from sklearn_halving._content_hash import content_hash, params_digest
from sklearn_halving._typing import CvResults, Params
from sklearn_halving.resources import WholeFit
from sklearn_halving.search._formatting import short_names
from sklearn_halving.search.reporting._statistics import mean_errors
from sklearn_halving.search.reporting._tables import SearchRecord, outcome_kind

if TYPE_CHECKING:
    import pandas as pd

NEGLIGIBLE = 1e-12
"""A standard error that is so small a part of the score comes from rounding."""


def make_leaderboard(
    record: SearchRecord, results: CvResults, best_row: int | None
) -> pd.DataFrame:
    """Return one row for each candidate that was fitted: the one with the largest resource.

    The candidate that was chosen comes first, and those without a score last. Equal candidates
    count once.
    """
    import pandas as pd  # slow to import, and `fit` does not need it

    metric = record.metric
    n_fits = Counter(outcome.pull.arm for outcome in record.outcomes)
    seconds = dict.fromkeys(n_fits, 0.0)
    for outcome in record.outcomes:
        seconds[outcome.pull.arm] += outcome.fit_seconds + outcome.score_seconds
    candidate, rank = results["candidate"], results[f"rank_test_{metric}"]
    amount = results.get("n_resources", np.ones(len(candidate)))
    chosen = np.arange(len(candidate)) == (-1 if best_row is None else best_row)
    score, error = (
        results[f"mean_test_{metric}"],
        mean_errors(results, f"test_{metric}", record.overlap),
    )
    error = np.where(error < NEGLIGIBLE * np.abs(score), 0.0, error)
    order = np.lexsort((candidate, rank, -amount, np.isnan(score), ~chosen))
    params = without_resource(record, results["params"])
    first = {params_digest(params[row]): row for row in reversed(order) if n_fits[candidate[row]]}
    kept = {*first.values()}
    rows = [row for row in order if row in kept]
    arms = candidate[rows].tolist()
    table = pd.DataFrame(
        {
            "candidate": arms,
            "rank": np.arange(1, len(rows) + 1),
            metric: score[rows],
            "standard_error": error[rows],
            "n_fits": [n_fits[arm] for arm in arms],
            "n_resources": amount[rows],
            "seconds": [seconds[arm] for arm in arms],
            "status": [_status(record, results, row, best_row) for row in rows],
        }
    )
    if isinstance(record.resource, WholeFit):
        table = table.drop(columns="n_resources")
    differ = pd.DataFrame(differing([params[row] for row in rows]), dtype=object)
    taken = {*table.columns, "params"}
    differ = differ.rename(columns=lambda name: f"param_{name}" if name in taken else name)
    return table.join(differ).assign(params=[results["params"][row] for row in rows])


def _status(record: SearchRecord, results: CvResults, row: int, best_row: int | None) -> str:
    """Return what became of a candidate: chosen, failed, dropped, or nothing.

    It is not known which candidates a search that was stopped would have dropped.
    """
    if row == best_row:
        return "chosen"
    arm = results["candidate"][row]
    if np.isnan(results[f"mean_test_{record.metric}"][row]):
        kinds = {outcome_kind(o) for o in record.outcomes if o.pull.arm == arm} - {"ok"}
        return " and ".join(sorted(kinds)) or "no score"
    amount, largest = results.get("n_resources"), record.resource.to_amount(record.max_level)
    if amount is not None and amount[row] < largest and not record.ended_by:
        return f"dropped at {record.resource.name}={amount[row]}"
    return ""


def without_resource(record: SearchRecord, params: list[Params]) -> list[Params]:
    """Return the parameters of candidates without the one that sets the resource."""
    of_resource = record.resource.params_at(record.max_level)
    return [{k: v for k, v in each.items() if k not in of_resource} for each in params]


def differing(params: list[Params]) -> list[Params]:
    """Return the parameters in which candidates differ, with short names if these differ."""
    names = dict.fromkeys(name for each in params for name in each)
    own = [name for name in names if len({content_hash(each.get(name)) for each in params}) > 1]
    short = dict(zip(short_names(dict.fromkeys(own, None)), own, strict=True))
    return [{s: each[name] for s, name in short.items() if name in each} for each in params]
