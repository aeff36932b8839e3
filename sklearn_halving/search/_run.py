"""The state of a running `fit`, and the table of its results."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from sklearn_halving._typing import CrossValidation, CvResults, Estimator, Params
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.execution._pull_loop import PullLog
from sklearn_halving.execution._types import EvaluationTask, Outcome
from sklearn_halving.policies._arrays import FloatArray
from sklearn_halving.policies._types import Belief, Pull
from sklearn_halving.policies.bases._base_policy import name_of
from sklearn_halving.policies.bases._parameter_checks import is_outside
from sklearn_halving.resources._boosters import fix_rounds
from sklearn_halving.resources._of_parameter import is_number_of_rounds
from sklearn_halving.search._parameters import Reward
from sklearn_halving.search.preparing._checkpoint import Checkpoint
from sklearn_halving.search.preparing._setup import Prepared
from sklearn_halving.search.preparing._space import first_of_each, n_different
from sklearn_halving.search.reporting._statistics import (
    ChoiceStatistics,
    Overlap,
    add_standard_errors,
    additive_means,
)
from sklearn_halving.search.reporting._tables import (
    Means,
    ResultRows,
    SearchRecord,
    finalists,
    make_cv_results,
    pulled_means,
    ranks,
)
from sklearn_halving.search.watching._failure_messages import (
    stopped_message,
    warn_of_first_failures,
)

SILENT_SECONDS = 60.0
N_SILENT = 3
"""Seconds and number of fits after which a warning says that all fits so far have failed."""
STOPPED_BY = {"interrupt": "Ctrl-C", "callback": "a callback", "error": "an exception"}
"""``stopped_by_`` in words."""


@dataclass
class StagedLog(PullLog):
    """All outcomes so far, with the stage of each pull if the policy has stages."""

    stage_of: Callable[[Pull], int | None] = field(kw_only=True)
    """Function that returns the stage of a pull, or None if the policy has no stages."""
    stages: dict[Pull, int] = field(default_factory=dict)
    silent_until: float = field(default_factory=lambda: time.monotonic() + SILENT_SECONDS)
    """Time of ``time.monotonic`` after which a warning says that all fits have failed."""

    def record(self, outcome: Outcome) -> None:
        """Add an outcome. A stage ends after the policy has been told all of its pulls."""
        super().record(outcome)
        stage = self.stage_of(outcome.pull)
        if stage is not None:
            self.stages[outcome.pull] = stage
        if outcome.error is None:
            self.silent_until = inf
        elif len(self.outcomes) >= N_SILENT and time.monotonic() > self.silent_until:
            self.silent_until = inf
            warn_of_first_failures(len(self.outcomes), outcome.error)


@dataclass
class Run:
    """The state of a running `fit`, and the table of its results."""

    prepared: Prepared
    """The preparation, which does not depend on any pull."""
    task: EvaluationTask
    """The task of the workers."""
    state: Any
    """The state of the policy."""
    checkpoint: Checkpoint
    """The journal of the search."""
    deadline: float
    """Time of ``time.monotonic`` after which no pull starts."""
    budget: str
    """The time budget as the user wrote it; empty if there is none."""
    log: StagedLog = field(init=False)
    """The outcomes so far."""
    stopped_by: str = "policy"
    """The reason for the end of the search."""
    rows: ResultRows | None = None
    """The rows of ``cv_results_``; None before they are computed."""
    began: float = field(default_factory=time.monotonic)
    """Time of ``time.monotonic`` at the start of the search."""
    n_workers: int = 1
    """Number of workers of the backend."""
    earlier: frozenset[Pull] = field(init=False)
    """The pulls of earlier sessions, which were in the journal at the start."""

    def __post_init__(self) -> None:
        """Open the log, which knows the stages of the policy."""
        journal = self.checkpoint.journal
        self.earlier = frozenset() if journal is None else frozenset(journal.outcomes)
        stage_of = partial(self.prepared.policy.stage_of_pull, self.state)
        self.log = StagedLog(stage_of=stage_of)

    @property
    def reward(self) -> Reward:
        """Function that returns the reward of an outcome."""
        return self.prepared.setup.inputs.reward

    def record(self, cv: CrossValidation | None) -> SearchRecord:
        """Return the record of the pulls, which is kept after the search."""
        task, setup = self.task, self.prepared.setup
        n_started = n_different(task.candidates)
        is_whole_grid = self._has_whole_grid(n_started)
        fitted = {pull.arm for pull in self.log.outcomes}
        return SearchRecord(
            task.resource,
            list(self.log.outcomes.values()),
            {pull.repetition: task.splits.number(pull.repetition) for pull in self.log.outcomes},
            setup.space.distributions,
            self.prepared.plan,
            self.log.stages,
            n_candidates=sum(1 for _ in task.candidates),  # some may not exist yet
            n_different=n_started,
            n_grid_candidates=(
                n_started if is_whole_grid else n_different(task.candidates[a] for a in fitted)
            ),
            n_grid_splits=n_splits_of_grid_search(cv, setup.splits.n_repetitions),
            is_whole_grid=is_whole_grid,
            largest=task.resource.to_amount(task.max_level),
            max_level=task.max_level,
            seconds=time.monotonic() - self.began,
            limit=self.deadline - self.began,
            is_resumed=bool(self.earlier),
            is_timed=self.prepared.plan.uses_time,
            ended_by=self.ended_by,
        )

    def _has_whole_grid(self, n_started: int) -> bool:
        space, n_candidates = self.prepared.setup.space, len(self.task.candidates)
        if space.size is None or not space.is_grid or n_candidates < space.size:
            return False  # not listed: the grid may be huge
        return n_started == space.n_different_in_grid

    @property
    def ended_by(self) -> str:
        """What ended the search before its plan was complete; empty if nothing did."""
        if self.stopped_by != "policy":
            return STOPPED_BY.get(self.stopped_by, self.budget)
        return " or ".join(self.prepared.policy.ended_by(self.state) or ())

    def stopped_message(self) -> str:
        """Return what a search did before it was stopped, and what it did not do."""
        has_checkpoint = self.checkpoint.journal is not None
        return stopped_message(self.task, self.outcomes, self.ended_by, has_checkpoint)

    @property
    def outcomes(self) -> list[Outcome]:
        """All outcomes, sorted by pull, so that sums do not depend on which returned first."""
        return [self.log.outcomes[pull] for pull in sorted(self.log.outcomes)]

    @property
    def best_arm(self) -> int:
        """The arm that the policy recommends."""
        return int(self.prepared.policy.recommend(self.state))

    @property
    def metric(self) -> str:
        """The name of the metric that guides the search."""
        return self.reward.metric_of(self.outcomes[0].test_scores)

    def comparable_means(self, rows: ResultRows) -> Means:
        """Return the function that averages scores of candidates on different splits."""
        works = {o.pull[1:] for o in self.outcomes if not np.isnan(self.reward(o))}
        of_arms = (o for o in self.outcomes if o.error is not None and o.pull[1:] in works)
        failed = [outcome.pull.arm for outcome in of_arms]
        return partial(additive_means, level=rows.level, has_failed=np.isin(rows.arm, failed))


def n_splits_of_grid_search(cv: object, n_repetitions: int | None) -> int | None:
    """Return the number of splits on which GridSearchCV fits each candidate; None if not known.

    If the number of splits is unlimited, it is the number of splits that ``cv`` yields in
    GridSearchCV.
    """
    if n_repetitions is not None:
        return n_repetitions
    try:
        return int(check_cv(cv).get_n_splits())
    except (AttributeError, TypeError, ValueError):  # the number may depend on the groups
        return None


@dataclass(frozen=True)
class ResultTable:
    """The results of a search, computed from its outcomes."""

    cv_results: CvResults
    """The attribute ``cv_results_``."""
    statistics: ChoiceStatistics | None = None
    """Statistics of the choice, from scores; None if the choice is that of a model."""
    belief: Belief | None = None
    """What a policy with a model believes; None for other policies."""

    def probability(self, row: int) -> float:
        """Return the probability that a row is the best; NaN if it is not known."""
        if self.statistics is None or np.isnan(self.statistics.mean[row]):
            return np.nan
        return float(self.statistics.probability_best()[row])


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
        means = pulled_means
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
    compared, mean = results, f"mean_test_{metric}"
    if run.prepared.plan.makes_candidates:  # as in the choice, those with few fits are left out
        has_enough = 2 * results["n_fits"] >= results["n_fits"].max()
        compared = results | {mean: np.where(has_enough, results[mean], np.nan)}
    statistics = ChoiceStatistics.of(compared, metric, rows.level, overlap)
    is_compared = ~np.isnan(compared[mean]) | np.isnan(results[mean])
    results["probability_best"] = np.where(is_compared, statistics.probability_best(), np.nan)
    is_winner = rows.arm == run.best_arm
    if (results[f"rank_test_{metric}"][is_winner] != 1).any():
        # The policy may choose another candidate, for example if it ignores earlier stages.
        group = np.where(is_winner, rows.rank_group.max() + 1, rows.rank_group)
        results[f"rank_test_{metric}"] = ranks(results[mean], group)
    return ResultTable(results, statistics)


def _of_belief(run: Run, rows: ResultRows, belief: Belief) -> ResultTable:
    """Return one row for each candidate, ranked by what the policy believes."""
    results, _ = _with_errors(run, rows)
    results["posterior_mean"] = belief.mean[rows.arm]
    results["posterior_sd"] = belief.deviation[rows.arm]
    results["lower_bound"], results["upper_bound"] = belief.lower[rows.arm], belief.upper[rows.arm]
    score: FloatArray = results[f"mean_test_{run.metric}"].copy()
    alive = run.prepared.policy.is_alive(run.state)[rows.arm] & ~np.isnan(score).all()
    score[alive] = results["posterior_mean"][alive]
    is_winner = (rows.arm == run.best_arm).astype(np.int64)
    results[f"rank_test_{run.metric}"] = ranks(score, is_winner)
    return ResultTable(results, belief=belief)


def fix_rounds_of_winner(
    estimator: Estimator, task: EvaluationTask, outcomes: Sequence[Outcome], row: tuple[int, int]
) -> tuple[int, Params]:
    """Set the number of rounds of a booster that stopped early; return level and fit parameters.

    It is the median number of rounds on all splits of a row, which is an arm and a level. The
    refit uses all rows of the data, so that none are left to decide when to stop.
    """
    rounds = [
        outcome.n_rounds
        for outcome in outcomes
        if outcome.pull[:2] == row and outcome.n_rounds is not None
    ]
    if not rounds:
        return row[1], task.fit_params
    n_rounds = round(float(np.median(rounds)))
    counts_rounds = any(map(is_number_of_rounds, task.resource.params_at(row[1])))
    level = n_rounds if counts_rounds else row[1]
    return level, fix_rounds(estimator, n_rounds, task.fit_params)


def report_doubt(run: Run) -> None:
    """Warn if scores are outside of the range that a policy assumes, or its choice is in doubt."""
    policy, reward_range = run.prepared.policy, run.prepared.plan.description.reward_range
    rewards = np.array([run.reward(outcome) for outcome in run.outcomes])
    outside = rewards[is_outside(reward_range, rewards)]
    if len(outside):
        warn_user(
            f"{len(outside)} scores are outside reward_range={reward_range}, such as "
            f"{outside[0]:.6g}, so the confidence bounds of the policy are not valid. Give a "
            "policy object with the reward_range of the score."
        )
    is_confident = policy.is_confident(run.state)
    if is_confident is not None and policy.is_finished(run.state) and not is_confident:
        warn_user(
            f"{name_of(policy)} used its {len(run.outcomes)} fits before it reached its "
            "confidence level, so the choice is not guaranteed. Give it more fits."
        )
