"""The state of a running `fit`, and the table of its results."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from sklearn_halving._content_hash import params_digest
from sklearn_halving._typing import CvResults, Estimator, Params
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.execution._pull_loop import PullLog
from sklearn_halving.execution._types import EvaluationTask, Outcome
from sklearn_halving.policies._arrays import FloatArray, IntArray
from sklearn_halving.policies._protocol import Believes, Guarantees, PlaysStages, StopsEarly
from sklearn_halving.policies._types import Belief, Pull
from sklearn_halving.policies.bases._parameter_checks import is_outside
from sklearn_halving.policies.noise._leaderboard import has_enough_splits
from sklearn_halving.resources._boosters import fix_rounds
from sklearn_halving.resources._of_parameter import is_number_of_rounds
from sklearn_halving.search._parameters import Reward
from sklearn_halving.search.preparing._checkpoint import Checkpoint
from sklearn_halving.search.preparing._setup import Prepared
from sklearn_halving.search.preparing._space import first_of_each, n_different, own_candidate
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
    finalists,
    make_cv_results,
    pulled_means,
    ranks,
)
from sklearn_halving.search.watching._failure_messages import (
    stopped_message,
    warn_of_first_failures,
)
from sklearn_halving.splits._stream import split_scores

N_SILENT = 3
"""A warning says at once if so many fits, of several candidates, failed or were not scored."""
STOPPED_BY = {"interrupt": "Ctrl-C", "callback": "a callback", "error": "an exception"}
"""``stopped_by_`` in words."""


@dataclass
class RunLog(PullLog):
    """All outcomes so far, with the stage of each pull if the policy has stages."""

    stage: Callable[[Pull], int] | None = field(kw_only=True)
    """Function that returns the stage of a pull; None if the policy has no stages."""
    stages: dict[Pull, int] = field(default_factory=dict)
    works: bool = False
    """Whether a fit has a score, or it was said that none has."""
    failing: set[int] = field(default_factory=set)
    """The candidates with fits before one has a score."""

    def record(self, outcome: Outcome) -> None:
        """Add an outcome. A stage ends after the policy has been told all of its pulls."""
        super().record(outcome)
        if self.stage is not None:
            self.stages[outcome.pull] = self.stage(outcome.pull)
        error = outcome.error or outcome.score_error
        self.works |= error is None
        self.failing.add(outcome.pull.arm)
        if error and not self.works and len(self.outcomes) >= N_SILENT and len(self.failing) > 1:
            self.works = True  # it is said once
            warn_of_first_failures(len(self.outcomes), error)


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
    log: RunLog = field(init=False)
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
        policy = self.prepared.policy
        stage = partial(policy.stage, self.state) if isinstance(policy, PlaysStages) else None
        self.log = RunLog(stage=stage)

    @property
    def reward(self) -> Reward:
        """Function that returns the reward of an outcome."""
        return self.prepared.setup.inputs.reward

    def record(self, estimator: Estimator) -> SearchRecord:
        """Return the record of the pulls, which is kept after the search."""
        task, setup = self.task, self.prepared.setup
        return SearchRecord(
            task.resource,
            list(self.log.outcomes.values()),
            {pull.repetition: task.splits.number(pull.repetition) for pull in self.log.outcomes},
            setup.space.distributions,
            self.prepared.plan,
            self.log.stages,
            n_candidates=sum(1 for _ in task.candidates),  # some may not exist yet
            n_grid_fits=self._grid_fits(),
            metric=self.metric,
            own=self._own(estimator),
            max_level=task.max_level,
            seconds=time.monotonic() - self.began,
            limit=self.deadline - self.began,
            is_resumed=bool(self.earlier),
            overlap=overlap_of(self.outcomes, setup.splits.n_rows),
            ended_by=self.ended_by,
        )

    def _own(self, estimator: Estimator) -> int | None:
        """Return the first fitted candidate that is the estimator as it is."""
        own = params_digest(own_candidate(estimator, self.prepared.setup.space))
        fitted = sorted({pull.arm for pull in self.log.outcomes})
        return next((a for a in fitted if params_digest(self.task.candidates[a]) == own), None)

    def _grid_fits(self) -> int | None:
        """Return the number of fits of GridSearchCV, if the candidates are all of its grid."""
        space, n_splits = self.prepared.setup.space, self.prepared.setup.splits.n_repetitions
        if space.size is None or not space.is_grid or len(self.task.candidates) < space.size:
            return None  # not listed: the grid may be huge
        n_all = space.n_different_in_grid
        is_whole = n_different(self.task.candidates) == n_all
        return n_all * n_splits if is_whole and n_splits is not None else None

    @property
    def ended_by(self) -> str:
        """What ended the search before its plan was complete; empty if nothing did."""
        if self.stopped_by != "policy":
            return STOPPED_BY.get(self.stopped_by, self.budget)
        policy = self.prepared.policy
        return " or ".join(policy.ended_by(self.state)) if isinstance(policy, StopsEarly) else ""

    def last_stages(self) -> IntArray | None:
        """Return the last stage in which each candidate was in play; None without stages.

        Candidates without a fit have -1.
        """
        if self.log.stage is None:
            return None
        last = np.full(self.prepared.plan.problem.n_arms, -1)
        for pull, stage in self.log.stages.items():
            last[pull.arm] = max(last[pull.arm], stage)
        is_left = self.prepared.policy.is_alive(self.state) & (last >= 0)
        if self.prepared.plan.of_policy.ranks_by == "stage":
            last[is_left] = last.max()
        return last

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
        # If a fit fails and ``scoring`` is a callable that returns a dict, the error score is a
        # single number for all metrics.
        scores = [outcome.test_scores for outcome in self.outcomes]
        return self.reward.metric_of(next((s for s in scores if isinstance(s, dict)), scores[0]))

    def comparable_means(self, rows: ResultRows) -> Means:
        """Return the function that averages scores of candidates on different splits."""
        works = {o.pull[1:] for o in self.outcomes if not np.isnan(self.reward(o))}
        of_arms = (o for o in self.outcomes if o.error is not None and o.pull[1:] in works)
        failed = [outcome.pull.arm for outcome in of_arms]
        return partial(additive_means, level=rows.level, has_failed=np.isin(rows.arm, failed))


@dataclass(frozen=True)
class ResultTable:
    """The results of a search, computed from its outcomes."""

    cv_results: CvResults
    """The attribute ``cv_results_``."""
    probability: FloatArray | None = None
    """The probability that each row is the best; None if the choice is that of a model."""
    n_compared: int = 0
    """Number of rows among which the choice is uncertain."""
    belief: Belief | None = None
    """What a policy with a model believes; None for other policies."""


def make_result_table(run: Run, rows: ResultRows) -> ResultTable:
    """Return the results of a search with brackets, with a model, or with neither."""
    policy = run.prepared.policy
    if run.prepared.plan.has_rungs:
        return _of_brackets(run, rows)
    if isinstance(policy, Believes):
        return _of_belief(run, rows, policy.belief(run.state))
    return _without_brackets(run, rows)


def _of_brackets(run: Run, rows: ResultRows) -> ResultTable:
    """Return the results of rungs, and statistics of the finalists."""
    # If the search was stopped, most candidates lack splits.
    means = pulled_means if run.stopped_by == "policy" else run.comparable_means(rows)
    results, overlap = _with_errors(run, rows, means)
    index, name = finalists(results, rows, run.best_arm), f"mean_test_{run.metric}"
    # Equal candidates count once, or they would share the probability; the winner stays.
    index = index[np.argsort(rows.arm[index] != run.best_arm, kind="stable")]
    index = index[first_of_each(results["params"][row] for row in index)]
    mean = np.full(len(rows), np.nan)
    if len(index) > 1:  # a single finalist is not more likely to be the best candidate of all
        mean[index] = results[name][index]
    probability = probability_best(results | {name: mean}, run.metric, rows.level, overlap)
    probability[np.isnan(mean)] = np.nan
    return ResultTable(results, probability, int(np.isfinite(mean).sum()))


def _with_errors(run: Run, rows: ResultRows, means: Means) -> tuple[CvResults, float]:
    """Return the columns with standard errors, and the overlap of the splits."""
    results = make_cv_results(run.task, run.outcomes, rows, means)
    overlap = overlap_of(run.outcomes, run.prepared.setup.splits.n_rows)
    add_standard_errors(results, overlap)
    return results, overlap


def _without_brackets(run: Run, rows: ResultRows) -> ResultTable:
    """Return one row for each candidate, ranked by its scores."""
    results, overlap = _with_errors(run, rows, run.comparable_means(rows))
    metric = run.metric
    compared, mean = results, f"mean_test_{metric}"
    if run.prepared.plan.makes_candidates:  # as in the choice, those with few fits are left out
        n_scores = (~np.isnan(split_scores(results, f"test_{metric}"))).sum(axis=1)
        has_enough = has_enough_splits(n_scores)
        compared = results | {mean: np.where(has_enough, results[mean], np.nan)}
    probability = probability_best(compared, metric, rows.level, overlap)
    is_compared = ~np.isnan(compared[mean]) | np.isnan(results[mean])
    probability = results["probability_best"] = np.where(is_compared, probability, np.nan)
    is_winner = rows.arm == run.best_arm
    if (results[f"rank_test_{metric}"][is_winner] != 1).any():
        # The policy may choose another candidate, for example if it ignores earlier stages.
        group = np.where(is_winner, rows.rank_group.max() + 1, rows.rank_group)
        results[f"rank_test_{metric}"] = ranks(results[mean], group)
    return ResultTable(results, probability, int(np.isfinite(compared[mean]).sum()))


def _of_belief(run: Run, rows: ResultRows, belief: Belief) -> ResultTable:
    """Return one row for each candidate, ranked by what the policy believes."""
    results, _ = _with_errors(run, rows, run.comparable_means(rows))
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
    policy, reward_range = run.prepared.policy, run.prepared.plan.of_policy.reward_range
    rewards = np.array([run.reward(outcome) for outcome in run.outcomes])
    outside = rewards[is_outside(reward_range, rewards)]
    if len(outside):
        warn_user(
            f"{len(outside)} scores are outside reward_range={reward_range}, such as "
            f"{outside[0]:.6g}, so the confidence bounds of the policy are not valid. Give a "
            "policy object with the reward_range of the score."
        )
    if not isinstance(policy, Guarantees) or not policy.is_finished(run.state):
        return
    if not policy.is_confident(run.state):
        warn_user(
            f"{type(policy).__name__} used its {len(run.outcomes)} fits before it reached its "
            "confidence level, so the choice is not guaranteed. Give it more fits."
        )
