"""Outcomes -> ``cv_results_``: a pure function, called once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import rankdata

from sklearn_halving._unstable_imports import param_columns
from sklearn_halving.execution._evaluation import arm_estimator, rescaled_params
from sklearn_halving.execution._types import EvaluationTask, Outcome, Scores
from sklearn_halving.policies._types import FloatArray, IntArray, Pull, Schedule


@dataclass(frozen=True)
class ResultRows:
    """The rows of the table, in the order of the pulls, not of their completion.

    Parameters
    ----------
    arm, level : ndarray of shape (n_rows,)
        Which candidate, and how much resource, in units.
    bracket, rung, loop : ndarray of shape (n_rows,)
        The place in the schedule; ``bracket`` is the paper's s.
    """

    arm: IntArray
    level: IntArray
    bracket: IntArray
    rung: IntArray
    loop: IntArray

    @classmethod
    def of(cls, outcomes: Iterable[Outcome], schedule: Schedule) -> ResultRows:
        """Return one row for each (arm, level) that was pulled."""
        bracket_of_arm = schedule.bracket_of_arm()
        keys = {(outcome.pull.arm, outcome.pull.level) for outcome in outcomes}
        table = sorted((int(bracket_of_arm[arm]), level, arm) for arm, level in keys)
        rung_of = [
            {rung.level: place for place, rung in enumerate(bracket.rungs)}
            for bracket in schedule.brackets
        ]
        columns = [
            (arm, level, schedule.brackets[b].label, rung_of[b][level], schedule.brackets[b].loop)
            for b, level, arm in table
        ]
        return cls(*np.array(columns, dtype=np.int64).reshape(-1, 5).T)

    def __len__(self) -> int:
        return len(self.arm)


def make_cv_results(
    task: EvaluationTask, outcomes: Iterable[Outcome], rows: ResultRows, *, by_level: bool
) -> dict[str, Any]:
    """Return the table in the form of GridSearchCV's ``cv_results_``.

    Parameters
    ----------
    task : EvaluationTask
        What was evaluated.
    outcomes : iterable of Outcome
        What the pulls gave, in any order.
    rows : ResultRows
        The rows.
    by_level : bool
        Whether a row with more resource ranks before every row with less: then the first
        in rank is the best at the largest level.
    """
    pulls = _Cells.of(outcomes, rows, task.n_repetitions)
    results: dict[str, Any] = {
        "bracket": rows.bracket,
        "iter": rows.rung,
        "n_resources": np.array([task.resource.to_amount(level) for level in rows.level.tolist()]),
        "candidate": rows.arm,
    }
    if rows.loop.any():
        results["loop"] = rows.loop
    _add_times(results, pulls)
    params = [
        task.candidates[arm] | task.resource.params_at(level)
        for arm, level in zip(rows.arm.tolist(), rows.level.tolist(), strict=True)
    ]
    results.update(param_columns(params))
    results.update(_rescaled_columns(task, rows))
    results["params"] = params
    rank_level = rows.level if by_level else np.zeros_like(rows.level)
    for metric, table in pulls.scores("test_scores").items():
        _add_scores(results, f"test_{metric}", table)
        results[f"rank_test_{metric}"] = _ranks(results[f"mean_test_{metric}"], rank_level)
    if task.return_train_score:
        for metric, table in pulls.scores("train_scores").items():
            _add_scores(results, f"train_{metric}", table)
    return results


@dataclass(frozen=True)
class _Cells:
    """The outcomes with their places in a table of shape (n_rows, n_repetitions)."""

    outcomes: list[Outcome]
    row: IntArray
    column: IntArray
    shape: tuple[int, int]

    @classmethod
    def of(cls, outcomes: Iterable[Outcome], rows: ResultRows, n_repetitions: int) -> _Cells:
        outcomes = list(outcomes)
        keys = zip(rows.arm.tolist(), rows.level.tolist(), strict=True)
        row_of = {key: row for row, key in enumerate(keys)}
        row = [row_of[outcome.pull.arm, outcome.pull.level] for outcome in outcomes]
        column = [outcome.pull.repetition for outcome in outcomes]
        return cls(outcomes, np.array(row), np.array(column), (len(rows), n_repetitions))

    def table(self, values: list[float]) -> FloatArray:
        """Return the values at their places; NaN where there was no pull."""
        table = np.full(self.shape, np.nan)
        table[self.row, self.column] = values
        return table

    def scores(self, side: str) -> dict[str, FloatArray]:
        """Return a table for each metric; a single metric is called "score"."""
        scores: list[Scores] = [getattr(outcome, side) for outcome in self.outcomes]
        metrics = next((list(s) for s in scores if isinstance(s, dict)), None)
        if metrics is None:
            return {"score": self.table(scores)}  # type: ignore[arg-type]
        # Where the fit failed under a callable that returns a dict, the error score is one
        # number that stands for every metric.
        return {
            metric: self.table([s[metric] if isinstance(s, dict) else s for s in scores])
            for metric in metrics
        }


def _rescaled_columns(task: EvaluationTask, rows: ResultRows) -> dict[str, Any]:
    """Return ``rescaled_<parameter>``: the values used where they depend on the level."""
    if task.rescaling is None:
        return {}
    unscaled = replace(task, rescaling=None, seed=None)
    values = []
    for arm, level in zip(rows.arm.tolist(), rows.level.tolist(), strict=True):
        pull = Pull(arm, level, 0)
        values.append(rescaled_params(task, arm_estimator(unscaled, pull), pull))
    columns = param_columns(values)
    return {f"rescaled_{key.removeprefix('param_')}": column for key, column in columns}


def _add_times(results: dict[str, Any], pulls: _Cells) -> None:
    for name in ("fit", "score"):
        seconds = [getattr(outcome, f"{name}_seconds") for outcome in pulls.outcomes]
        table = pulls.table(seconds)
        results[f"mean_{name}_time"] = table.mean(axis=1)
        results[f"std_{name}_time"] = table.std(axis=1)


def _add_scores(results: dict[str, Any], key: str, table: FloatArray) -> None:
    for split, column in enumerate(table.T):
        results[f"split{split}_{key}"] = column
    means = table.mean(axis=1)
    results[f"mean_{key}"] = means
    with np.errstate(invalid="ignore"):  # infinite scores have no spread
        results[f"std_{key}"] = table.std(axis=1)


def _ranks(means: FloatArray, level: IntArray) -> IntArray:
    """Return ranks from 1: larger level first, then larger mean; ties share; NaN is last."""
    is_nan = np.isnan(means)
    keys = np.column_stack([is_nan, np.where(is_nan, 0, -level), np.where(is_nan, 0, -means)])
    places = np.unique(keys, axis=0, return_inverse=True)[1]
    ranks: IntArray = rankdata(places.reshape(-1), method="min").astype(np.int32)
    return ranks
