"""The results of a search, made of its outcomes, its plan and what its policy believes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from sklearn_halving._content_hash import params_digest
from sklearn_halving._typing import CvResults, Estimator
from sklearn_halving.policies._arrays import FloatArray
from sklearn_halving.policies._protocol import Believes
from sklearn_halving.policies._types import Belief
from sklearn_halving.policies.noise._leaderboard import has_enough_splits
from sklearn_halving.search._run import Run
from sklearn_halving.search.preparing._space import first_of_each, n_different, own_candidate
from sklearn_halving.search.reporting._choice import finalists, numbers_of_scores
from sklearn_halving.search.reporting._statistics import (
    add_standard_errors,
    additive_means,
    overlap_of,
    probability_best,
)
from sklearn_halving.search.reporting._tables import (
    Means,
    ResultRows,
    SearchRecord,
    make_cv_results,
    pulled_means,
    ranks,
    result_rows,
)


@dataclass(frozen=True)
class Results:
    """The results of a search, computed from its outcomes."""

    cv_results: CvResults
    """The attribute ``cv_results_``."""
    rows: ResultRows
    """Its rows."""
    probability: FloatArray | None = None
    """The probability that each row is the best; None if the choice is that of a model."""
    belief: Belief | None = None
    """What a policy with a model believes; None for other policies."""


def make_results(run: Run) -> Results:
    """Return the results of a search with brackets, with a model, or with neither."""
    policy, rows = run.policy, result_rows(run.plan, run.outcomes, run.last_stages())
    if run.plan.has_rungs:
        return _of_brackets(run, rows)
    if isinstance(policy, Believes):
        return _of_belief(run, rows, policy.belief(run.state))
    return _without_brackets(run, rows)


def _of_brackets(run: Run, rows: ResultRows) -> Results:
    """Return the results of rungs, and statistics of the finalists."""
    # If the search was stopped, most candidates lack splits.
    means = pulled_means if run.stopped_by == "policy" else _comparable_means(run, rows)
    results = make_cv_results(run.task, run.outcomes, rows, means)
    overlap = overlap_of(run.outcomes, run.setup.splits.n_rows)
    index, name = finalists(results, rows, run), f"mean_test_{run.metric}"
    # Equal candidates count once, or they would share the probability; the winner stays.
    index = index[np.argsort(rows.arm[index] != run.best_arm, kind="stable")]
    index = index[first_of_each(results["params"][row] for row in index)]
    mean = np.full(len(rows), np.nan)
    if len(index) > 1:  # a single finalist is not more likely to be the best candidate of all
        mean[index] = results[name][index]
    probability = probability_best(results | {name: mean}, run.metric, rows.level, overlap)
    probability[np.isnan(mean)] = np.nan
    return Results(results, rows, probability)


def _with_errors(run: Run, rows: ResultRows) -> tuple[CvResults, float]:
    """Return the columns with standard errors, and the overlap of the splits."""
    results = make_cv_results(run.task, run.outcomes, rows, _comparable_means(run, rows))
    overlap = overlap_of(run.outcomes, run.setup.splits.n_rows)
    add_standard_errors(results, overlap)
    return results, overlap


def _without_brackets(run: Run, rows: ResultRows) -> Results:
    """Return one row for each candidate, ranked by its scores."""
    results, overlap = _with_errors(run, rows)
    metric = run.metric
    compared, mean = results, f"mean_test_{metric}"
    if run.plan.makes_candidates:  # as in the choice, those with few fits are left out
        has_enough = has_enough_splits(numbers_of_scores(results, f"test_{metric}"))
        compared = results | {mean: np.where(has_enough, results[mean], np.nan)}
    probability = probability_best(compared, metric, rows.level, overlap)
    is_compared = ~np.isnan(compared[mean]) | np.isnan(results[mean])
    probability = results["probability_best"] = np.where(is_compared, probability, np.nan)
    is_winner = rows.arm == run.best_arm
    if (results[f"rank_test_{metric}"][is_winner] != 1).any():
        # The policy may choose another candidate, for example if it ignores earlier stages.
        group = np.where(is_winner, rows.rank_group.max() + 1, rows.rank_group)
        results[f"rank_test_{metric}"] = ranks(results[mean], group)
    return Results(results, rows, probability)


def _of_belief(run: Run, rows: ResultRows, belief: Belief) -> Results:
    """Return one row for each candidate, ranked by what the policy believes."""
    results, _ = _with_errors(run, rows)
    results["posterior_mean"] = belief.mean[rows.arm]
    results["posterior_sd"] = belief.deviation[rows.arm]
    results["lower_bound"], results["upper_bound"] = belief.lower[rows.arm], belief.upper[rows.arm]
    score: FloatArray = results[f"mean_test_{run.metric}"].copy()
    alive = run.policy.is_alive(run.state)[rows.arm] & ~np.isnan(score).all()
    score[alive] = results["posterior_mean"][alive]
    is_winner = (rows.arm == run.best_arm).astype(np.int64)
    results[f"rank_test_{run.metric}"] = ranks(score, is_winner)
    return Results(results, rows, belief=belief)


def _comparable_means(run: Run, rows: ResultRows) -> Means:
    """Return the function that averages scores of candidates on different splits."""
    works = {o.pull[1:] for o in run.outcomes if not np.isnan(run.reward(o))}
    of_arms = (o for o in run.outcomes if o.error is not None and o.pull[1:] in works)
    failed = [outcome.pull.arm for outcome in of_arms]
    return partial(additive_means, level=rows.level, has_failed=np.isin(rows.arm, failed))


def make_record(run: Run, estimator: Estimator) -> SearchRecord:
    """Return the record of the pulls, which is kept after the search."""
    task, setup = run.task, run.setup
    return SearchRecord(
        task.resource,
        list(run.log.outcomes.values()),
        {pull.repetition: task.splits.number(pull.repetition) for pull in run.log.outcomes},
        setup.space.distributions,
        run.plan,
        run.log.stages,
        n_candidates=sum(1 for _ in task.candidates),  # some may not exist yet
        n_grid_fits=grid_fits(run),
        metric=run.metric,
        own=_own_candidate(run, estimator),
        max_level=task.max_level,
        seconds=time.monotonic() - run.began,
        limit=run.deadline - run.began,
        is_resumed=bool(run.earlier),
        overlap=overlap_of(run.outcomes, setup.splits.n_rows),
        ended_by=run.ended_by,
    )


def _own_candidate(run: Run, estimator: Estimator) -> int | None:
    """Return the first fitted candidate that is the estimator as it is."""
    own = params_digest(own_candidate(estimator, run.setup.space))
    fitted = sorted({pull.arm for pull in run.log.outcomes})
    return next((a for a in fitted if params_digest(run.candidates[a]) == own), None)


def grid_fits(run: Run) -> int | None:
    """Return the number of fits of GridSearchCV, if the candidates are all of its grid."""
    space, n_splits = run.setup.space, run.setup.splits.n_repetitions
    if space.size is None or not space.is_grid or len(run.candidates) < space.size:
        return None  # not listed: the grid may be huge
    is_whole = n_different(run.candidates) == space.n_different_in_grid
    return space.n_of_grid * n_splits if is_whole and n_splits is not None else None
