"""What `compare.py` notes at the end of a search: other choices, and the scores it reports."""

from __future__ import annotations

from typing import Any

import pandas as pd
from _compare_types import Params

CHOSEN = "as returned"


def other_choices(search: Any) -> dict[str, Params]:
    """Return what a fitted search chose, and what two other rules choose among its fits.

    The fastest candidate within one standard error of the best, and the best one by the splits
    of the last stage alone: the survivors had not been selected by these.
    """
    table = pd.DataFrame(search.cv_results_)
    best = table.loc[search.best_index_]
    choices = {CHOSEN: best["params"]}
    if not {"stage", "standard_error_test_score"} <= {*table}:
        return choices
    bound = best["mean_test_score"] - best["standard_error_test_score"]
    if pd.isna(bound):  # too few fits
        return choices
    within = table[(table["mean_test_score"] >= bound) & (table["n_fits"] >= best["n_fits"])]
    choices["one standard error"] = within.loc[within["mean_fit_time"].idxmin(), "params"]
    history = search.history_
    last = history[history["stage"] == history["stage"].max()]
    fresh = int(last.groupby("candidate")["test_score"].mean().idxmax())
    choices["last stage alone"] = table.loc[table["candidate"] == fresh, "params"].iloc[0]
    return choices


def claims(search: Any) -> dict[str, float]:
    """Return the scores that a fitted search reports for its choice."""
    found = {"best_score_": float(search.best_score_)}
    if hasattr(search, "best_corrected_score_"):
        found["best_corrected_score_"] = float(search.best_corrected_score_)
    return found
