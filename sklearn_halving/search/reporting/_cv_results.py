"""The table ``cv_results_``, computed from the outcomes: its columns, and comparable means.

What only a policy knows, such as a posterior, is added in `_results`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.base import clone

from sklearn_halving._typing import CvResults
from sklearn_halving._unstable_imports import param_columns
from sklearn_halving.execution._types import EvaluationTask, Outcome, Scores
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._protocol import PlaysStages
from sklearn_halving.policies.noise._additive_model import fit_table
from sklearn_halving.resources import WholeFit
from sklearn_halving.search._run_state import Run
from sklearn_halving.splits._stream import corrected_variance_of_mean

NEGLIGIBLE = 1e-12
"""A standard error below this share of the score comes from rounding."""


@dataclass(frozen=True)
class ResultRows:
    """The rows of the table. Their order does not depend on the order in which pulls return.

    Parameters
    ----------
    arm, level : ndarray of shape (n_rows,)
        Candidate and level of each row.
    places : dict of str to ndarray of shape (n_rows,)
        Columns with the position of a row in the search, such as its bracket.
    rank_group : ndarray of shape (n_rows,)
        Rows with a larger number rank before all rows with a smaller number.
    is_complete : ndarray of bool of shape (n_rows,)
        Whether a row has all fits of its last rung. Always False without rungs.
    """

    arm: IntArray
    level: IntArray
    places: dict[str, IntArray]
    rank_group: IntArray
    is_complete: BoolArray

    def __len__(self) -> int:
        return len(self.arm)


def _rows_of_rungs(run: Run) -> ResultRows:
    """Return a row for each candidate and level, with the last rung at that level."""
    plan = run.plan
    n_repetitions = plan.problem.max_repetitions
    last_rung: dict[tuple[int, int, int], int] = {}
    n_pulls: Counter[tuple[int, int, int]] = Counter()
    for pull in (outcome.pull for outcome in run.outcomes):
        place, number = plan.position(pull)
        key = (place, pull.level, pull.arm)
        last_rung[key] = max(number, last_rung.get(key, 0))
        n_pulls[key] += 1
    columns = []
    for (place, at_level, of_arm), number in sorted(last_rung.items()):
        played = plan.brackets[place]
        here = played.rounds[number]
        n_own, n_needed = n_pulls[place, at_level, of_arm], here.n_splits(n_repetitions)
        is_continued = here.first_repetition > 0
        place_of_row = (played.label, number, played.loop)
        columns.append((of_arm, at_level, is_continued, n_own >= n_needed, *place_of_row))
    by_column = np.array(columns, dtype=np.int64).reshape(-1, 7).T
    arm, level, goes_on, has_all, bracket, rung, loop = by_column
    places = {"bracket": bracket, "iter": rung}
    if loop.any():
        places["loop"] = loop
    # Candidates that were compared on all splits of a level rank before those that were
    # eliminated at that level. If the search was stopped, those without all fits rank behind.
    rank_group = np.zeros_like(level)
    if plan.ranks_by == "level":
        rank_group = 4 * level + 2 * goes_on + has_all
    return ResultRows(arm, level, places, rank_group, has_all > 0)


def _rows_of_candidates(run: Run, alive: BoolArray) -> ResultRows:
    """Return one row for each candidate, with the pulls at the largest level it reached."""
    plan, last_stage = run.plan, _last_stages(run, alive)
    n_arms, ranks_by = plan.problem.n_arms, plan.ranks_by
    arms, levels, _ = np.array([outcome.pull for outcome in run.outcomes]).T
    n_pulls = np.bincount(arms, minlength=n_arms)
    level = np.full(n_arms, min(stage.level for stage in plan.brackets[0].rounds))
    np.maximum.at(level, arms, levels)
    places = {"n_fits": n_pulls}
    if last_stage is not None:
        places["stage"] = last_stage
    rank_group = {"level": level, "stage": last_stage}.get(ranks_by)
    if rank_group is None:
        rank_group = np.zeros_like(level)
    # Candidates that are created during the search have a row only if they were created.
    has_row = n_pulls > 0 if plan.makes_candidates else np.full(n_arms, True)
    places = {name: column[has_row] for name, column in places.items()}
    arms, no_rungs = np.flatnonzero(has_row), np.zeros(has_row.sum(), dtype=bool)
    return ResultRows(arms, level[has_row], places, rank_group[has_row], no_rungs)


def _last_stages(run: Run, alive: BoolArray) -> IntArray | None:
    """Return the last stage in which each candidate was in play; None without stages.

    Candidates without a fit have -1.
    """
    if not isinstance(run.game, PlaysStages):
        return None
    last = np.full(run.plan.problem.n_arms, -1)
    for pull, stage in run.log.stages.items():
        last[pull.arm] = max(last[pull.arm], stage)
    is_left = alive & (last >= 0)
    if run.plan.ranks_by == "stage":
        last[is_left] = last.max()
    return last


def pulled_means(scores: FloatArray, is_pulled: BoolArray) -> FloatArray:
    """Return the mean over the splits that were pulled; NaN if there are none."""
    n_pulls = is_pulled.sum(axis=1)
    sums = np.where(is_pulled, scores, 0.0).sum(axis=1)
    return np.where(n_pulls > 0, sums / np.maximum(n_pulls, 1), np.nan)


def make_table(run: Run, alive: BoolArray, *, is_finished: bool) -> tuple[ResultRows, CvResults]:
    """Return the table in the form of GridSearchCV's ``cv_results_``, and what its rows are.

    ``alive`` says which candidates are still in play.
    """
    task, has_rungs = run.task, run.plan.has_rungs
    rows = _rows_of_rungs(run) if has_rungs else _rows_of_candidates(run, alive)
    pulls = _Cells.of(run.outcomes, rows, task.n_repetitions)
    numbers = list(map(task.splits.number, range(pulls.is_pulled.shape[1])))
    has_failed = _have_failed(run, rows)
    results: CvResults = dict(rows.places)
    if not isinstance(task.resource, WholeFit):
        amounts = [task.resource.to_amount(level) for level in rows.level.tolist()]
        results["n_resources"] = np.array(amounts)
    results["candidate"] = rows.arm
    for name in ("fit", "score"):
        seconds = [getattr(outcome, f"{name}_seconds") for outcome in pulls.outcomes]
        results[f"mean_{name}_time"] = pulled_means(pulls.table(seconds), pulls.is_pulled)
        results[f"std_{name}_time"] = _deviations(pulls.table(seconds), pulls.is_pulled)
    params = [
        task.candidates[arm].params | task.resource.params_at(level)
        for arm, level in zip(rows.arm.tolist(), rows.level.tolist(), strict=True)
    ]
    results.update(param_columns(params))
    results.update(_rescaled_columns(task, rows))
    results["params"] = params
    for side in ("test", "train") if task.return_train_score else ("test",):
        for metric, table in pulls.scores(f"{side}_scores").items():
            key = f"{side}_{metric}"
            in_order = np.take(table, np.argsort(numbers), axis=1)
            for number, scores in zip(sorted(numbers), in_order.T, strict=True):
                results[f"split{number}_{key}"] = scores
            is_compared = pulls.is_pulled & telling_splits(table, rows.level)
            mean = pulled_means(table, is_compared)
            # If rungs were not finished, most candidates lack splits.
            if not (has_rungs and is_finished):
                mean = additive_means(table, is_compared, rows.level, has_failed)
            results[f"mean_{key}"] = mean
            results[f"std_{key}"] = _deviations(table, is_compared)
            error = np.sqrt(corrected_variance_of_mean(in_order, 1, run.overlap))
            is_rounding = error < NEGLIGIBLE * np.abs(mean)
            results[f"standard_error_{key}"] = np.where(is_rounding, 0.0, error)
            if side == "test":
                results[f"rank_{key}"] = ranks(mean, rows.rank_group)
    return rows, results


def _have_failed(run: Run, rows: ResultRows) -> BoolArray:
    """Return which candidates have a failed fit on a split on which others have a score."""
    failed = [o.pull for o in run.outcomes if o.error is not None]
    return np.isin(rows.arm, [pull.arm for pull in failed if pull[1:] in run.telling])


def telling_splits(table: FloatArray, level: IntArray) -> BoolArray:
    """Return on which splits at least one candidate at the same level has a score."""
    return pd.DataFrame(~np.isnan(table)).groupby(level).transform("any").to_numpy()


@dataclass(frozen=True)
class _Cells:
    """The outcomes with their positions in a table of shape (n_rows, n_repetitions)."""

    outcomes: list[Outcome]
    row: IntArray
    column: IntArray
    is_pulled: BoolArray

    @classmethod
    def of(
        cls, outcomes: Iterable[Outcome], rows: ResultRows, n_repetitions: int | None
    ) -> _Cells:
        """Return the outcomes that have a row.

        If the number of splits is unlimited, there is a column for each split up to the last one
        that was pulled.
        """
        keys = zip(rows.arm.tolist(), rows.level.tolist(), strict=True)
        row_of = {key: row for row, key in enumerate(keys)}
        outcomes = [o for o in outcomes if (o.pull.arm, o.pull.level) in row_of]
        row = np.array([row_of[o.pull.arm, o.pull.level] for o in outcomes], dtype=np.int64)
        column = np.array([o.pull.repetition for o in outcomes], dtype=np.int64)
        n_columns = int(column.max(initial=-1)) + 1 if n_repetitions is None else n_repetitions
        is_pulled = np.zeros((len(rows), n_columns), dtype=bool)
        is_pulled[row, column] = True
        return cls(outcomes, row, column, is_pulled)

    def table(self, values: list[float]) -> FloatArray:
        """Return a table of the values; NaN where there was no pull."""
        table = np.full(self.is_pulled.shape, np.nan)
        table[self.row, self.column] = values
        return table

    def scores(self, side: str) -> dict[str, FloatArray]:
        """Return a table for each metric; a single metric is called "score"."""
        scores: list[Scores] = [getattr(outcome, side) for outcome in self.outcomes]
        named = [s if isinstance(s, dict) else {"score": s} for s in scores]
        return {metric: self.table([s[metric] for s in named]) for metric in named[0]}


def _rescaled_columns(task: EvaluationTask, rows: ResultRows) -> CvResults:
    """Return columns ``rescaled_<parameter>`` with the values of rescaled parameters."""
    if not task.resource.rescale:
        return {}
    values = []
    for arm, level in zip(rows.arm.tolist(), rows.level.tolist(), strict=True):
        params = clone(task.candidates[arm].params, safe=False)
        as_drawn = clone(task.estimator).set_params(**params)
        values.append(task.resource.rescaled(as_drawn, level, task.max_level))
    columns = param_columns(values)
    return {f"rescaled_{key.removeprefix('param_')}": column for key, column in columns}


def _deviations(table: FloatArray, is_pulled: BoolArray) -> FloatArray:
    """Return the standard deviation over the splits that were pulled; NaN for fewer than two."""
    with np.errstate(invalid="ignore"):  # the deviation of infinite scores is NaN
        squares = (table - pulled_means(table, is_pulled)[:, np.newaxis]) ** 2
        is_known = is_pulled.sum(axis=1) > 1
        return np.where(is_known, np.sqrt(pulled_means(squares, is_pulled)), np.nan)


def ranks(means: FloatArray, group: IntArray) -> IntArray:
    """Return ranks from 1: by group, then by mean, in descending order.

    Ties have the same rank. NaN ranks last.
    """
    is_nan = np.isnan(means)
    keys = np.column_stack([is_nan, np.where(is_nan, 0, -group), np.where(is_nan, 0, -means)])
    places = np.unique(keys, axis=0, return_inverse=True)[1]
    numbers: IntArray = rankdata(places.reshape(-1), method="min").astype(np.int32)
    return numbers


def additive_means(
    scores: FloatArray, is_pulled: BoolArray, level: IntArray, has_failed: BoolArray
) -> FloatArray:
    """Return comparable means of candidates that were scored on different splits.

    Candidates with all splits have exactly their plain means. Scores at different levels are not
    combined.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates, n_splits)
        NaN if a candidate was not scored on a split, or if scoring failed.
    is_pulled : ndarray of bool of shape (n_candidates, n_splits)
        Whether a candidate was scored on a split.
    level : ndarray of shape (n_candidates,)
        Level of the scores of each candidate.
    has_failed : ndarray of bool of shape (n_candidates,)
        Whether a candidate has failed fits. Their scores are not informative about the splits.
    """
    means = pulled_means(scores, is_pulled)
    usable = np.isfinite(means) & ~has_failed
    for one in np.unique(level[usable]):
        group = np.flatnonzero(usable & (level == one))
        patterns = is_pulled[group]
        if (has_all := (patterns == patterns.any(axis=0)).all(axis=1)).all():
            continue
        fitted = fit_table(np.where(patterns, scores[group], np.nan)).mean
        if has_all.any():  # the effects of all splits are zero on average
            fitted += (means[group] - fitted)[has_all][0]
        means[group] = np.where(has_all, means[group], fitted)
    return means
