"""What a search keeps of its run: outcomes and plan, and the table made from them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from sklearn_halving._content_hash import params_digest
from sklearn_halving._typing import CvResults, Estimator, Params
from sklearn_halving.execution._types import Outcome
from sklearn_halving.policies._arrays import BoolArray, FloatArray
from sklearn_halving.policies._protocol import Believes
from sklearn_halving.policies._types import Belief, Pull
from sklearn_halving.resources import Resource
from sklearn_halving.search._run_state import Run
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.preparing._space import first_of_each, own_candidate
from sklearn_halving.search.reporting._choice import finalists
from sklearn_halving.search.reporting._cv_results import (
    Means,
    ResultRows,
    additive_means,
    make_cv_results,
    overlap_of,
    probability_best,
    pulled_means,
    ranks,
    result_rows,
)
from sklearn_halving.splits._stream import split_scores


@dataclass(frozen=True)
class Record:
    """What is kept of a run after `fit`, even if its policy failed. The data are not kept.

    Parameters
    ----------
    outcomes : list[Outcome]
        The outcomes in the order in which the pulls returned.
    abandoned : list[Outcome]
        The fits that were given up because of the time budget.
    stages : dict[Pull, int]
        The stage of each pull; empty if there are no stages.
    numbers : dict[int, int]
        The number of the split of each repetition.
    distributions : list[Params]
        The search space.
    n_candidates : int
        Number of candidates that were created.
    n_grid_fits : int or None
        Number of fits of GridSearchCV over the same candidates; None if they are not a grid.
    metric : str
        The metric that guided the search.
    own : int or None
        The candidate that is the unmodified estimator; None if there is none.
    seconds : float
        Time from the start to the end of the pulls in this call of `fit`.
    limit : float
        The time budget, including the refit; infinite without one.
    n_known : int
        Number of outcomes of earlier calls, which come first.
    overlap : float
        Size of a test set divided by the size of a training set.
    n_workers : int
        Number of workers.
    """

    plan: SearchPlan
    outcomes: list[Outcome]
    abandoned: list[Outcome]
    stages: dict[Pull, int]
    resource: Resource
    numbers: dict[int, int]
    distributions: list[Params]
    n_candidates: int
    n_grid_fits: int | None
    metric: str
    own: int | None
    seconds: float
    limit: float
    n_known: int
    overlap: float
    n_workers: int

    @property
    def seconds_in_no_fit(self) -> float:
        """Time of a worker in which there was no fit: for proposals, or until it had started.

        Fits that were abandoned do not count.
        """
        made = self.outcomes[self.n_known :]
        fits = sum(outcome.fit_seconds + outcome.score_seconds for outcome in made)
        return self.seconds - fits / self.n_workers

    @property
    def max_level(self) -> int:
        """The level of a full fit."""
        return self.plan.problem.max_level

    @property
    def full_fits(self) -> float:
        """Cost of all fits in full fits. Continued training counts only what is new."""
        top = self.max_level
        return sum((o.pull.level - o.previous_level) / top for o in self.outcomes)

    @property
    def n_resources_spent(self) -> float:
        """Sum of the resource over all fits. Continued training counts only what is new."""
        resource = self.resource
        return sum(
            o.n_train
            if resource.subsamples_rows
            else resource.to_amount(o.pull.level - o.previous_level)
            for o in self.outcomes
        )


@dataclass(frozen=True)
class Results(Record):
    """A record, the table made from it, and what the policy says at the end.

    Parameters
    ----------
    cv_results : CvResults
        The attribute ``cv_results_``.
    rows : ResultRows
        Its rows.
    belief : Belief or None
        What a policy with a model believes; None for other policies.
    is_in_play : BoolArray
        Which candidates the policy has not dropped.
    ended_by : str
        What ended the search before its plan was complete; empty if nothing did.
    """

    cv_results: CvResults
    rows: ResultRows
    belief: Belief | None
    is_in_play: BoolArray
    ended_by: str


def make_record(run: Run, estimator: Estimator) -> Record:
    """Return the record of a run, finished or not."""
    task, setup = run.task, run.setup
    every = [*run.outcomes, *run.log.abandoned]
    repetitions = {outcome.pull.repetition for outcome in every}
    return Record(
        run.plan,
        run.log.in_order_of_return(),
        run.log.abandoned,
        run.log.stages,
        task.resource,
        numbers={number: task.splits.number(number) for number in repetitions},
        distributions=setup.space.distributions,
        n_candidates=sum(1 for _ in task.candidates),  # some may not exist yet
        n_grid_fits=grid_fits(run),
        metric=run.metric,
        own=_own_candidate(run, estimator),
        seconds=time.monotonic() - run.began,
        limit=run.deadline - run.began,
        n_known=len(run.log.places),
        overlap=overlap_of(run.outcomes, setup.splits.n_rows),
        n_workers=run.n_workers,
    )


def make_results(run: Run, record: Record) -> Results:
    """Return the results of a run. Its policy is asked for what it has learned."""
    rows, belief = result_rows(run.plan, run.outcomes, run.last_stages()), None
    # If rungs were not finished, most candidates lack splits.
    is_comparable = run.plan.has_rungs and run.stopped_by == "policy"
    means = pulled_means if is_comparable else _comparable_means(run, rows)
    table = make_cv_results(run.task, run.outcomes, rows, means, record.overlap)
    if isinstance(run.game, Believes):
        belief = run.game.belief()
        _add_belief(run, rows, table, belief)
    else:
        table["probability_best"] = _probability(run, rows, table, record.overlap)
        if not run.plan.has_rungs:
            _rank_choice_first(run, rows, table)
    return Results(
        **vars(record),
        cv_results=table,
        rows=rows,
        belief=belief,
        is_in_play=run.is_alive(),
        ended_by=run.ended_by,
    )


def _probability(run: Run, rows: ResultRows, results: CvResults, overlap: float) -> FloatArray:
    """Return the probability that each row is the best of those that are compared.

    Of rungs, these are the finalists. Otherwise, as in the choice, candidates that were created
    during the search need as many scores as the winner.
    """
    index, scores = np.arange(len(rows)), split_scores(results, f"test_{run.metric}")
    if run.plan.has_rungs:
        # Equal candidates count once, or they would share the probability; the winner stays.
        index = finalists(results, rows, run)
        index = index[np.argsort(rows.arm[index] != run.best_arm, kind="stable")]
        index = index[first_of_each(results["params"][row] for row in index)]
        index = index[:0] if len(index) == 1 else index  # alone, it is not certain
    elif run.plan.makes_candidates:
        n_scores = (~np.isnan(scores)).sum(axis=1)
        index = np.flatnonzero(n_scores >= min(n_scores[rows.arm == run.best_arm], default=0))
    mean = np.full(len(rows), np.nan)
    mean[index] = results[f"mean_test_{run.metric}"][index]
    probability = probability_best(mean, scores, rows.level, overlap)
    return np.where(np.isnan(mean), np.nan, probability)


def _rank_choice_first(run: Run, rows: ResultRows, results: CvResults) -> None:
    """Rank the policy's choice first, which may be another if it ignores earlier stages."""
    metric, is_winner = run.metric, rows.arm == run.best_arm
    if (results[f"rank_test_{metric}"][is_winner] != 1).any():
        group = np.where(is_winner, rows.rank_group.max() + 1, rows.rank_group)
        results[f"rank_test_{metric}"] = ranks(results[f"mean_test_{metric}"], group)


def _add_belief(run: Run, rows: ResultRows, results: CvResults, belief: Belief) -> None:
    """Add what the policy believes, by which candidates are ranked."""
    results["posterior_mean"] = belief.mean[rows.arm]
    results["posterior_sd"] = belief.deviation[rows.arm]
    results["lower_bound"], results["upper_bound"] = belief.lower[rows.arm], belief.upper[rows.arm]
    score: FloatArray = results[f"mean_test_{run.metric}"].copy()
    alive = run.is_alive()[rows.arm] & ~np.isnan(score).all()
    score[alive] = results["posterior_mean"][alive]
    is_winner = (rows.arm == run.best_arm).astype(np.int64)
    results[f"rank_test_{run.metric}"] = ranks(score, is_winner)


def _comparable_means(run: Run, rows: ResultRows) -> Means:
    """Return the function that averages scores of candidates on different splits."""
    works = {o.pull[1:] for o in run.outcomes if not np.isnan(run.reward(o))}
    of_arms = (o for o in run.outcomes if o.error is not None and o.pull[1:] in works)
    failed = [outcome.pull.arm for outcome in of_arms]
    return partial(additive_means, level=rows.level, has_failed=np.isin(rows.arm, failed))


def _own_candidate(run: Run, estimator: Estimator) -> int | None:
    """Return the first fitted candidate that is the unmodified estimator."""
    own = params_digest(own_candidate(estimator, run.setup.space))
    fitted = sorted({pull.arm for pull in run.log.outcomes})
    return next((a for a in fitted if params_digest(run.candidates[a]) == own), None)


def grid_fits(run: Run) -> int | None:
    """Return the number of fits of GridSearchCV, if the candidates are all of its grid."""
    space, n_splits = run.setup.space, run.setup.splits.n_repetitions
    if not space.is_grid or n_splits is None:
        return None
    n_made = sum(1 for _ in run.candidates)  # none is made again before all are made
    return space.n_of_grid * n_splits if n_made >= space.at_most() else None
