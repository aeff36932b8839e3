"""What a search keeps of its run: the fits, the table made from them, and the verdict."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklearn_halving._typing import CvResults, Params
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.execution._types import End, Outcome
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._types import NO_ARM, Belief, Pull
from sklearn_halving.policies.noise._noise_estimates import probability_of_choice
from sklearn_halving.resources import Resource
from sklearn_halving.search._run_state import Answer, Run
from sklearn_halving.search.preparing._numbers import FITS_OF_GRID_SEARCH
from sklearn_halving.search.preparing._plan import Prepared, SearchPlan
from sklearn_halving.search.reporting._cv_results import ResultRows, make_table, ranks
from sklearn_halving.splits._stream import split_scores

ALL_RUNGS = " with the largest resource; policies.Hyperband(select='all_rungs') uses others"
"""What helps if candidates have scores in lower rungs alone."""


@dataclass(frozen=True)
class Fits:
    """The table of fits, which is kept even if the policy failed. The data are not kept.

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
    n_known : int
        Number of outcomes of earlier calls, which come first.
    """

    plan: SearchPlan
    resource: Resource
    outcomes: list[Outcome]
    abandoned: list[Outcome]
    stages: dict[Pull, int]
    numbers: dict[int, int]
    n_known: int

    @classmethod
    def of(cls, run: Run) -> Fits:
        """Return the fits of a run, finished or not."""
        task, log = run.task, run.log
        repetitions = {outcome.pull.repetition for outcome in [*run.outcomes, *log.abandoned]}
        return cls(
            run.plan,
            task.resource,
            log.in_order_of_return(),
            log.abandoned,
            log.stages,
            {repetition: task.splits.number(repetition) for repetition in repetitions},
            len(log.places),
        )

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
class Verdict:
    """What a search concludes from its table.

    Parameters
    ----------
    row : int or None
        The row of the winner; None if no candidate can win.
    finalists : ndarray of int
        The rows among which a callable ``refit`` chooses.
    belief : Belief or None
        What a policy with a model believes; None for other policies.
    """

    row: int | None
    finalists: IntArray
    belief: Belief | None


@dataclass(frozen=True)
class Results:
    """What a search keeps of its run beside the fits: the table made from them, and the verdict.

    Parameters
    ----------
    distributions : list[Params]
        The search space.
    digests : list[str]
        The digests of the candidates that were created, which equal candidates share.
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
    overlap : float
        Size of a test set divided by the size of a training set.
    seconds_in_no_fit : float
        Time of a worker in which there was no fit: for proposals, or until it had started.
    cv_results : CvResults
        The attribute ``cv_results_``.
    rows : ResultRows
        Its rows.
    is_in_play : BoolArray
        Which candidates the policy has not dropped.
    """

    fits: Fits
    end: End
    distributions: list[Params]
    digests: list[str]
    n_grid_fits: int | None
    metric: str
    own: int | None
    seconds: float
    limit: float
    overlap: float
    seconds_in_no_fit: float
    cv_results: CvResults
    rows: ResultRows
    is_in_play: BoolArray
    verdict: Verdict

    def chosen_row(self) -> int:
        """Return the row of the winner, or the first of the largest level if all are NaN."""
        if self.verdict.row is not None:
            return self.verdict.row
        was_broken_off = self.end.reason in ("interrupt", "error")
        if was_broken_off or not np.isnan(self.cv_results[f"mean_test_{self.metric}"]).all():
            where = ALL_RUNGS if self.fits.plan.has_rungs else ""
            raise ValueError(f"No candidate can be chosen, because none has a score{where}.")
        warn_user("Every mean score is NaN, so the first candidate is chosen.")
        is_fitted = self.cv_results.get("n_fits", 1) > np.zeros(len(self.rows))
        return int(np.where(is_fitted, self.rows.level, 0).argmax())


def make_results(run: Run, fits: Fits, end: End) -> Results:
    """Return the results of a run. Its policy is asked for what it has learned."""
    seconds = time.monotonic() - run.prices.began
    seconds_in_fits = sum(outcome.seconds for outcome in fits.outcomes[fits.n_known :])
    answer = run.answer()
    rows, table = make_table(run, answer.is_in_play, is_finished=end.reason == "policy")
    fitted = {pull.arm for pull in run.log.outcomes}
    same = [c.number for c in run.candidates if c.digest == run.own and c.number in fitted]
    return Results(
        fits,
        end,
        run.setup.space.distributions,
        digests=[candidate.digest for candidate in run.candidates],
        n_grid_fits=grid_fits(run),
        metric=run.metric,
        own=min(same, default=None),
        seconds=seconds,
        limit=run.prices.deadline - run.prices.began,
        overlap=run.overlap,
        seconds_in_no_fit=seconds - seconds_in_fits / run.n_workers,
        cv_results=table,
        rows=rows,
        is_in_play=answer.is_in_play,
        verdict=decide(run, table, rows, answer, end),
    )


def grid_fits(prepared: Prepared) -> int | None:
    """Return the number of fits of GridSearchCV, if the candidates are all of its grid."""
    space, n_splits = prepared.setup.space, prepared.setup.splits.n_repetitions
    if not space.is_grid or n_splits is None:
        return None
    n_made = sum(1 for _ in prepared.candidates)  # some are repeated after all were made
    return space.n_of_grid * n_splits if n_made >= space.at_most() else None


def decide(run: Run, results: CvResults, rows: ResultRows, answer: Answer, end: End) -> Verdict:
    """Return the verdict on a table, which gets the ranks and probabilities of the policy."""
    best, belief = answer.best, answer.belief
    is_winner, rank = rows.arm == best, f"rank_test_{run.metric}"
    score = results[f"mean_test_{run.metric}"]
    finalists = _finalists(run, results, rows, is_winner)
    if belief is not None:
        results["posterior_mean"] = mean = belief.mean[rows.arm]
        results["posterior_sd"] = belief.deviation[rows.arm]
        results["lower_bound"] = belief.lower[rows.arm]
        results["upper_bound"] = belief.upper[rows.arm]
        is_left = answer.is_in_play[rows.arm] & ~np.isnan(score).all()
        results[rank] = ranks(np.where(is_left, mean, score), 1 * is_winner)
    else:
        results["probability_best"] = _probability(run, results, rows, finalists)
        if not run.plan.has_rungs and (results[rank][is_winner] != 1).any():
            # The policy's choice may be another if it ignores earlier stages.
            group = np.where(is_winner, rows.rank_group.max() + 1, rows.rank_group)
            results[rank] = ranks(score, group)
    order = np.argsort(results[rank], kind="stable").tolist()
    first = order[0]
    if best == NO_ARM:  # a round was cut short
        arm = run.refittable(int(rows.arm[first]))
        first = next(row for row in order if rows.arm[row] == arm)
    if end.reason != "policy" and np.isfinite(score[first]):
        # After an early stop, a candidate with all its fits of a rung at the largest level wins.
        is_complete = rows.is_complete[first] and rows.level[first] == rows.level.max()
        best = int(rows.arm[first]) if is_complete or best == NO_ARM else best
    own = np.flatnonzero(rows.arm == best)
    row = int(own[results[rank][own].argmin()]) if len(own) else None
    return Verdict(row, finalists, belief)


def _finalists(run: Run, results: CvResults, rows: ResultRows, is_winner: BoolArray) -> IntArray:
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
        of_winner = n_scores[kept & is_winner].tolist()
        most = enough if run.plan.makes_candidates else FITS_OF_GRID_SEARCH
        enough = min([*of_winner, enough, most])
    return np.flatnonzero(kept & (n_scores >= enough))


def _probability(
    run: Run, results: CvResults, rows: ResultRows, finalists: IntArray
) -> FloatArray:
    """Return the probability that each row is the best of those that are compared.

    Of rungs, these are the finalists. Otherwise, as in the choice, candidates that were created
    during the search need as many scores as the winner. Only those that reached the largest level
    can be the best.
    """
    index, scores = np.arange(len(rows)), split_scores(results, f"test_{run.metric}")
    if run.plan.has_rungs:
        # Equal candidates count once, or they would share the probability; the winner stays.
        index = finalists[np.argsort(rows.arm[finalists] != run.best_arm, kind="stable")]
        index = index[first_of_each([run.candidates[arm].digest for arm in rows.arm[index]])]
        index = index[:0] if len(index) == 1 else index  # alone, it is not certain
    elif run.plan.makes_candidates:
        n_scores = (~np.isnan(scores)).sum(axis=1)
        index = np.flatnonzero(n_scores >= min(n_scores[rows.arm == run.best_arm], default=0))
    mean = np.full(len(rows), np.nan)
    mean[index] = results[f"mean_test_{run.metric}"][index]
    is_known = ~np.isnan(mean)
    is_full = rows.level == rows.level[is_known].max(initial=0)
    full = np.where(is_full, mean, np.nan)
    return np.where(is_known, probability_of_choice(full, scores, run.overlap), np.nan)


def first_of_each(digests: Sequence[str]) -> IntArray:
    """Return the index of the first of all equal candidates, for each different one."""
    return np.sort(np.unique(digests, return_index=True)[1])


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
