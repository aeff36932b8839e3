"""The choice of the winner, and the rows among which a callable ``refit`` chooses."""

from __future__ import annotations

import numpy as np

from sklearn_halving._typing import CvResults
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies._arrays import IntArray
from sklearn_halving.policies._types import NO_ARM
from sklearn_halving.search._run_state import Run
from sklearn_halving.search.preparing._numbers import FITS_OF_GRID_SEARCH
from sklearn_halving.search.reporting._cv_results import ResultRows
from sklearn_halving.search.watching._failure_messages import no_score_message
from sklearn_halving.splits._stream import split_scores


def chosen_row(results: CvResults, rows: ResultRows, run: Run, metric: str) -> int:
    """Return the best row of the winner, or the first of the largest level if all are NaN."""
    arm = _winner(results, rows, run)
    if arm == NO_ARM:
        was_broken_off = run.stopped_by in ("interrupt", "error")
        if was_broken_off or not np.isnan(results[f"mean_test_{metric}"]).all():
            raise ValueError(no_score_message(has_rungs=run.plan.has_rungs))
        warn_user("Every mean score is NaN, so the first candidate is chosen.")
        is_fitted = results.get("n_fits", 1) > np.zeros(len(rows.level))
        return int(np.where(is_fitted, rows.level, 0).argmax())
    own = np.flatnonzero(rows.arm == arm)
    return int(own[results[f"rank_test_{metric}"][own].argmin()])


def _winner(results: CvResults, rows: ResultRows, run: Run) -> int:
    """Return the policy's choice.

    After an early stop, it is the top-ranked candidate, if it has all its fits of a rung at the
    largest level or if the policy has no choice.
    """
    arm = run.best_arm
    if run.stopped_by == "policy":
        return arm
    first = int(results[f"rank_test_{run.metric}"].argmin())
    if not np.isfinite(results[f"mean_test_{run.metric}"][first]):
        return arm
    is_complete = rows.is_complete[first] and rows.level[first] == rows.level.max()
    return int(rows.arm[first]) if is_complete or arm == NO_ARM else arm


def finalists(results: CvResults, rows: ResultRows, run: Run) -> IntArray:
    """Return the rows among which a callable ``refit`` chooses.

    They have a score for every metric and the largest resource, and were not eliminated before
    the last stage. If the number of splits is fixed, they have as many scores as any of these
    rows. Otherwise, they have as many as the winner; if all candidates are known from the start,
    `FITS_OF_GRID_SEARCH` are enough. A condition that no row meets is skipped.
    """
    metrics = [key.removeprefix("mean_") for key in results if key.startswith("mean_test_")]
    n_scores = numbers_of_scores(results, metrics[0])
    if not run.plan.makes_candidates:  # their other fits had less of the resource
        n_scores = n_scores if run.plan.has_rungs else results["n_fits"]
    kept = ~np.isnan([results[f"mean_{metric}"] for metric in metrics]).any(axis=0)
    if not kept.any():
        kept = np.full(len(rows), True)
    kept &= rows.rank_group == rows.rank_group[kept].max()
    enough = n_scores[kept].max()
    if not run.plan.has_rungs:
        of_winner = n_scores[kept & (rows.arm == run.best_arm)].tolist()
        most = enough if run.plan.makes_candidates else FITS_OF_GRID_SEARCH
        enough = min([*of_winner, enough, most])
    return np.flatnonzero(kept & (n_scores >= enough))


def numbers_of_scores(results: CvResults, side: str) -> IntArray:
    """Return the number of scores of each row, for a side and metric such as "test_score"."""
    numbers: IntArray = (~np.isnan(split_scores(results, side))).sum(axis=1)
    return numbers


def take_rows(results: CvResults, index: IntArray) -> CvResults:
    """Return a table with some of the rows."""
    return {
        name: [column[i] for i in index] if isinstance(column, list) else column[index]
        for name, column in results.items()
    }
