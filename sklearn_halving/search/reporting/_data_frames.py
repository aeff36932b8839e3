"""The DataFrames ``history_``, one row for each fit, and ``leaderboard()``, for each candidate."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sklearn_halving._formatting import counted, differing_names
from sklearn_halving.execution._types import Outcome
from sklearn_halving.policies._arrays import IntArray
from sklearn_halving.resources import WholeFit
from sklearn_halving.search.reporting._results import (
    Fits,
    Results,
    first_of_each,
    numbers_of_scores,
)


def make_history(fits: Fits) -> pd.DataFrame:
    """Return the table ``history_``: one row for each pull, in the order of their returns.

    Those that were abandoned come last.
    """
    outcomes = [*fits.outcomes, *fits.abandoned]
    table = pd.DataFrame([_row(fits, outcome) for outcome in outcomes])
    table[["started", "ended"]] -= table["started"].min()
    return table


def _row(fits: Fits, outcome: Outcome) -> dict[str, object]:
    (arm, level, repetition), resource = outcome.pull, fits.resource
    row: dict[str, object] = {"candidate": arm}
    if fits.plan.has_rungs:
        index, rung = fits.plan.position(outcome.pull)
        bracket = fits.plan.brackets[index]
        row |= {"bracket": bracket.label, "loop": bracket.loop, "rung": rung}
    if outcome.pull in fits.stages:
        row["stage"] = fits.stages[outcome.pull]
    if not isinstance(resource, WholeFit):
        row["n_resources"] = resource.to_amount(level)
    error = outcome.problem
    row |= {
        "split": fits.numbers[repetition],
        "started": outcome.started,
        "ended": outcome.started + outcome.seconds,
        "fit_time": outcome.fit_seconds,
        "score_time": outcome.score_seconds,
        "continued_from": resource.to_amount(outcome.previous_level),
        "n_train": outcome.n_train,
        "n_test": outcome.n_test,
        "failed": error is not None and outcome.kind != "abandoned",
        "outcome": outcome.kind,
        "error": error,
    }
    for side, scores in (("test", outcome.test_scores), ("train", outcome.train_scores)):
        if scores is not None:
            each = scores if isinstance(scores, dict) else {"score": scores}
            row |= {f"{side}_{metric}": score for metric, score in each.items()}
    return row


def make_leaderboard(results: Results, best_row: int | None) -> pd.DataFrame:
    """Return one row for each candidate that was fitted: the one with the largest resource.

    The candidate that was chosen comes first, and those without a score last. Equal candidates
    count once.
    """
    metric, columns, fits = results.metric, results.cv_results, results.fits
    candidate, spent = columns["candidate"], fits.resource.params_at(fits.max_level)
    params = [{k: v for k, v in each.items() if k not in spent} for each in columns["params"]]
    amount = columns.get("n_resources", np.ones(len(candidate)))
    chosen = np.arange(len(candidate)) == (-1 if best_row is None else best_row)
    score = columns[f"mean_test_{metric}"]
    keys = (candidate, columns[f"rank_test_{metric}"], -amount, np.isnan(score), ~chosen)
    pulls = [(o.pull.arm, o.seconds) for o in fits.outcomes]
    times = pd.DataFrame(pulls, columns=["candidate", "seconds"]).groupby("candidate")["seconds"]
    seconds, n_fits = times.sum(), times.size()
    order = [row for row in np.lexsort(keys) if candidate[row] in n_fits.index]
    digests = [results.digests[candidate[row]] for row in order]
    rows = [order[place] for place in first_of_each(digests)]
    arms, n_scores = candidate[rows], numbers_of_scores(columns, f"test_{metric}")
    table = pd.DataFrame(
        {
            "candidate": arms,
            "rank": np.arange(1, len(rows) + 1),
            metric: score[rows],
            "standard_error": columns[f"standard_error_test_{metric}"][rows],
            "n_fits": n_fits[arms].to_numpy(),
            "n_resources": amount[rows],
            "seconds": seconds[arms].to_numpy(),
            "status": [
                "chosen" if row == best_row else _status(results, row, n_scores) for row in rows
            ],
        }
    )
    if isinstance(fits.resource, WholeFit):
        table = table.drop(columns="n_resources")
    names, taken = differing_names([params[row] for row in rows]), {*table.columns, "params"}
    differ = pd.DataFrame([params[row] for row in rows], dtype=object)[list(names)]
    differ.columns = [f"param_{name}" if name in taken else name for name in names.values()]
    return table.join(differ).assign(params=[columns["params"][row] for row in rows])


def _status(results: Results, row: int, n_scores: IntArray) -> str:
    """Return how a candidate failed, where it was dropped, or that it is unfinished."""
    columns, resource = results.cv_results, results.fits.resource
    arm = columns["candidate"][row]
    if np.isnan(columns[f"mean_test_{results.metric}"][row]):
        kinds = {o.kind for o in results.fits.outcomes if o.pull.arm == arm} - {"ok"}
        return " and ".join(sorted(kinds)) or "no score"
    is_in_play, level = results.is_in_play[arm], results.rows.level[row]
    if level < results.fits.max_level:
        place = f"{resource.name}={resource.to_amount(level)}"
        return f"reached {place}" if is_in_play else f"dropped at {place}"
    has_all = is_in_play or n_scores[row] == n_scores.max()
    return "" if has_all else f"dropped after {counted(n_scores[row], 'split')}"
