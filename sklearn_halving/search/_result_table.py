"""The results of the pulls: ``cv_results_``, and how certain the choice is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np

from sklearn_halving._typing import CvResults
from sklearn_halving.policies._arrays import FloatArray, IntArray
from sklearn_halving.policies._types import Belief
from sklearn_halving.search._run import Run
from sklearn_halving.search.preparing._space import first_of_each
from sklearn_halving.search.reporting._statistics import (
    ChoiceStatistics,
    Overlap,
    add_standard_errors,
)
from sklearn_halving.search.reporting._tables import (
    ResultRows,
    finalists,
    make_cv_results,
    planned_means,
    ranks,
)


@dataclass(frozen=True)
class ResultTable:
    """The results of a search, computed from its outcomes."""

    cv_results: CvResults
    """The attribute ``cv_results_``."""
    statistics: ChoiceStatistics | None = None
    """Statistics of the choice, from scores; None if the choice is that of a model."""
    belief: Belief | None = None
    """What a policy with a model believes; None for other policies."""

    def of_choice(self, row: int, metric: str) -> dict[str, float]:
        """Return the attributes that describe the choice of a row; NaN without any score."""
        if self.statistics is None:
            has_score = not np.isnan(self.cv_results[f"mean_test_{metric}"]).all()
            mean = float(self.cv_results["posterior_mean"][row])
            return {"best_corrected_score_": mean if has_score else np.nan}
        found = {
            "best_probability_": float(self.statistics.probability_best()[row]),
            "best_regret_": self.statistics.regret(row),
            "best_corrected_score_": self.statistics.corrected_score(row),
        }
        has_score = not np.isnan(self.statistics.mean[row])
        return found if has_score else dict.fromkeys(found, np.nan)


def make_result_table(run: Run, rows: ResultRows) -> ResultTable:
    """Return the results of a search with brackets, with a model, or with neither."""
    if run.prepared.plan.schedule is not None:
        return _of_brackets(run, rows)
    belief = run.prepared.policy.belief(run.state)
    return _without_brackets(run, rows) if belief is None else _of_belief(run, rows, belief)


def _of_brackets(run: Run, rows: ResultRows) -> ResultTable:
    """Return the results of rungs, and statistics of the finalists."""
    means = run.comparable_means(rows)
    if run.stopped_by == "policy":  # otherwise, most candidates lack splits
        means = partial(planned_means, n_splits=cast(IntArray, rows.n_splits))
    results = make_cv_results(run.task, run.outcomes, rows, means)
    index, name = finalists(results, rows, run.best_arm), f"mean_test_{run.metric}"
    # Equal candidates count once, or they would share the probability; the winner stays.
    index = index[np.argsort(rows.arm[index] != run.best_arm, kind="stable")]
    index = index[first_of_each(results["params"][row] for row in index)]
    mean = np.full(len(rows), np.nan)
    if len(index) > 1:  # a single finalist is not more likely to be the best candidate of all
        mean[index] = results[name][index]
    overlap = Overlap.of(run.outcomes, run.prepared.setup.splits.n_rows)
    compared = results | {name: mean}
    return ResultTable(results, ChoiceStatistics.of(compared, run.metric, rows.level, overlap))


def _with_errors(run: Run, rows: ResultRows) -> tuple[CvResults, Overlap]:
    """Return the columns with standard errors, and the overlap of the splits."""
    results = make_cv_results(run.task, run.outcomes, rows, run.comparable_means(rows))
    overlap = Overlap.of(run.outcomes, run.prepared.setup.splits.n_rows)
    add_standard_errors(results, overlap)
    return results, overlap


def _without_brackets(run: Run, rows: ResultRows) -> ResultTable:
    """Return one row for each candidate, ranked by its scores."""
    (results, overlap), metric = _with_errors(run, rows), run.metric
    statistics = ChoiceStatistics.of(results, metric, rows.level, overlap)
    results["probability_best"] = statistics.probability_best()
    is_winner = rows.arm == run.best_arm
    if (results[f"rank_test_{metric}"][is_winner] != 1).any():
        # The policy may choose another candidate, for example if it ignores earlier stages.
        of_all = results[f"mean_test_{metric}"]
        group = np.where(is_winner, rows.rank_group.max() + 1, rows.rank_group)
        results[f"rank_test_{metric}"] = ranks(of_all, group)
    return ResultTable(results, statistics)


def _of_belief(run: Run, rows: ResultRows, belief: Belief) -> ResultTable:
    """Return one row for each candidate, ranked by what the policy believes.

    Candidates that arrived after the model was left have NaN, and the ranks of their scores.
    """
    if run.prepared.plan.problem.n_arms > len(belief.mean):
        table = _without_brackets(run, rows)
        table.cv_results.update(_belief_columns(rows, belief))
        return replace(table, belief=belief)
    results, _ = _with_errors(run, rows)
    results.update(_belief_columns(rows, belief))
    alive = run.prepared.policy.is_alive(run.state)[rows.arm]
    score: FloatArray = results["posterior_mean"].copy()
    score[~alive] = results[f"mean_test_{run.metric}"][~alive]
    is_winner = (rows.arm == run.best_arm).astype(np.int64)
    results[f"rank_test_{run.metric}"] = ranks(score, is_winner)
    return ResultTable(results, belief=belief)


def _belief_columns(rows: ResultRows, belief: Belief) -> dict[str, FloatArray]:
    named = {
        "posterior_mean": belief.mean,
        "posterior_sd": belief.deviation,
        "lower_bound": belief.lower,
        "upper_bound": belief.upper,
    }
    is_known, columns = rows.arm < len(belief.mean), {}
    for name, values in named.items():
        columns[name] = np.full(len(rows), np.nan)
        columns[name][is_known] = values[rows.arm[is_known]]
    return columns
