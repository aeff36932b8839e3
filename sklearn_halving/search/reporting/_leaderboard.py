"""The leaderboard: one row for each candidate that was fitted, the best first."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from sklearn_halving._content_hash import content_hash, params_digest
from sklearn_halving._typing import CvResults
from sklearn_halving.resources import WholeFit
from sklearn_halving.search._formatting import short_names
from sklearn_halving.search.reporting._tables import SearchRecord, outcome_kind

if TYPE_CHECKING:
    import pandas as pd


def make_leaderboard(
    record: SearchRecord, results: CvResults, best_row: int | None
) -> pd.DataFrame:
    """Return one row for each candidate that was fitted: the one with the largest resource.

    The candidate that was chosen comes first. Equal candidates count once.
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
    order = [
        row for row in np.lexsort((candidate, rank, -amount, ~chosen)) if n_fits[candidate[row]]
    ]
    rows = list({params_digest(results["params"][row]): row for row in reversed(order)}.values())
    rows = sorted(rows, key=order.index)
    score = results[f"mean_test_{metric}"][rows]
    arms = candidate[rows].tolist()
    table = pd.DataFrame(
        {
            "candidate": arms,
            "rank": np.arange(1, len(rows) + 1),
            metric: score,
            "standard_error": results[f"standard_error_test_{metric}"][rows],
            "n_fits": [n_fits[arm] for arm in arms],
            "n_resources": amount[rows],
            "seconds": [seconds[arm] for arm in arms],
            "status": [_status(record, results, row, best_row) for row in rows],
        }
    )
    if isinstance(record.resource, WholeFit):
        table = table.drop(columns="n_resources")
    params = [results["params"][row] for row in rows]
    table = table.join(pd.DataFrame(differing(params), dtype=object))
    return table.assign(params=params)


def _status(record: SearchRecord, results: CvResults, row: int, best_row: int | None) -> str:
    """Return what became of a candidate: chosen, failed, dropped, or nothing."""
    if row == best_row:
        return "chosen"
    arm = results["candidate"][row]
    if np.isnan(results[f"mean_test_{record.metric}"][row]):
        kinds = {outcome_kind(o) for o in record.outcomes if o.pull.arm == arm} - {"ok"}
        return " and ".join(sorted(kinds))
    amount, largest = results.get("n_resources"), record.resource.to_amount(record.max_level)
    if amount is not None and amount[row] < largest:
        return f"dropped at {record.resource.name}={amount[row]}"
    return ""


def differing(params: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return the parameters in which candidates differ, with short names if these differ."""
    names = dict.fromkeys(name for each in params for name in each)
    own = [name for name in names if len({content_hash(each.get(name)) for each in params}) > 1]
    short = dict(zip(short_names(dict.fromkeys(own, None)), own, strict=True))
    return [{s: each[name] for s, name in short.items() if name in each} for each in params]
