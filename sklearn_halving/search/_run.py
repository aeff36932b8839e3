"""The state of a running `fit`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from sklearn_halving._typing import CrossValidation
from sklearn_halving.execution._pull_loop import PullLog
from sklearn_halving.execution._types import EvaluationTask, Outcome
from sklearn_halving.policies._types import Pull
from sklearn_halving.search.preparing._checkpoint import Checkpoint
from sklearn_halving.search.preparing._inputs import Reward
from sklearn_halving.search.preparing._setup import Prepared
from sklearn_halving.search.preparing._space import n_different
from sklearn_halving.search.reporting._statistics import additive_means
from sklearn_halving.search.reporting._tables import Means, ResultRows, SearchRecord
from sklearn_halving.search.watching._failures import stopped_message, warn_of_first_failures

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
    """The state of a running `fit`."""

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
            seconds=time.monotonic() - self.began,
            is_resumed=bool(self.earlier),
            is_timed=self.prepared.plan.description.keeps_time,
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
        # If a fit fails and ``scoring`` is a callable that returns a dict, the error score is a
        # single number for all metrics.
        scores = [outcome.test_scores for outcome in self.outcomes]
        return self.reward.metric_of(next((s for s in scores if isinstance(s, dict)), scores[0]))

    def comparable_means(self, rows: ResultRows) -> Means:
        """Return the function that averages scores of candidates on different splits."""
        failed = [outcome.pull.arm for outcome in self.outcomes if outcome.error is not None]
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
