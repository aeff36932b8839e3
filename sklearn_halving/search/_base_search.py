"""The search that all others are: `fit` in eight steps."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from copy import copy, deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils import check_random_state

from sklearn_halving._unstable_imports import (
    BaseSearchCV,
    fit_context,
    is_multimetric_scorer,
)
from sklearn_halving.execution._executors import open_executor
from sklearn_halving.execution._messages import write_line
from sklearn_halving.execution._pull_loop import PullLog, PullLoop
from sklearn_halving.execution._types import EvaluationTask, Outcome
from sklearn_halving.policies._types import NO_ARM, Policy, Problem
from sklearn_halving.resources import Rescaling, Resource, resolve_resource
from sklearn_halving.search._callbacks import CallbackTree
from sklearn_halving.search._candidates import Params, SearchSpace
from sklearn_halving.search._cv_results import ResultRows, make_cv_results
from sklearn_halving.search._failures import (
    no_score_message,
    report_failures,
    report_non_finite,
)
from sklearn_halving.search._history import make_history
from sklearn_halving.search._inputs import FitInputs, check_inputs
from sklearn_halving.search._layout import Layout
from sklearn_halving.search._preparation import (
    Levels,
    Preparation,
    check_candidates,
    check_rescaling,
    seed_of,
    warn_of_refitting,
)
from sklearn_halving.search._reward import Reward
from sklearn_halving.search._split_rows import SplitRows, fixed_splits
from sklearn_halving.search._winner import unfitted_winner

if TYPE_CHECKING:
    import pandas as pd


POLICY = 2**31 - 2
"""Stands for the repetition in the seed of the policy."""


@dataclass
class Run:
    """One fit under way.

    Parameters
    ----------
    prepared : Preparation
        What was known before.
    task : EvaluationTask
        What the workers have.
    state : object
        The policy's state.
    reward : Reward
        Outcome -> what the policy is told.
    log : PullLog
        What came back so far.
    rows : ResultRows or None
        The rows of ``cv_results_``, once there is one.
    """

    prepared: Preparation
    task: EvaluationTask
    state: Any
    reward: Reward
    log: PullLog = field(default_factory=PullLog)
    rows: ResultRows | None = None

    @property
    def outcomes(self) -> list[Outcome]:
        """Every outcome, in the order in which they came back."""
        return list(self.log.outcomes.values())

    @property
    def best_arm(self) -> int:
        """The arm that the policy recommends."""
        return int(self.prepared.policy.recommend(self.state))


class BaseBanditSearchCV(BaseSearchCV):
    """Base of the searches: a subclass names its policy and the parameters of that."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseSearchCV._parameter_constraints,
        "rescale": [dict, None],
        "random_state": ["random_state"],
    }

    @abstractmethod
    def _make_levels(self, resource: Resource, rows: SplitRows) -> Levels:
        """Return the range of levels."""

    @abstractmethod
    def _make_policy(self, levels: Levels, space: SearchSpace, rows: SplitRows) -> Policy:
        """Return the policy for this range of levels."""

    @abstractmethod
    def _make_layout(
        self, policy: Any, levels: Levels, space: SearchSpace, rows: SplitRows
    ) -> Layout:
        """Return how the policy orders its pulls."""

    def _resolve_resource(self) -> Resource:
        """Return the resource that ``resource`` stands for."""
        return resolve_resource(self.resource, self.estimator)

    def _split_rows(
        self, inputs: FitInputs, resource: Resource, seed: np.random.SeedSequence
    ) -> SplitRows:
        """Return train and test rows."""
        return fixed_splits(self, inputs, resource, seed)

    def _warn_of_space(self, prepared: Preparation) -> None:
        """Warn where the search space does not suit the policy; nothing to say here."""

    def _make_results(self, run: Run, rows: ResultRows) -> dict[str, Any]:
        """Return ``cv_results_``."""
        return make_cv_results(run.task, run.outcomes, rows)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, **params: Any) -> BaseBanditSearchCV:
        """Run the search, and refit the best candidate on all data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Training data, in any form that the estimator takes. For a precomputed kernel or
            distance matrix the shape is (n_samples, n_samples).
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Target; None for unsupervised learning.
        **params : dict of str to object
            Parameters for the ``fit`` of the estimator, the scorer and the splitter, as in
            GridSearchCV: what has one entry a row is split along with X; ``groups`` goes to
            the splitter.

        Returns
        -------
        self : object
            The fitted search.

        Raises
        ------
        ValueError
            If the arguments do not fit together, before any fit; if every fit failed, or no
            candidate has a score at all, after them.
        """
        inputs = check_inputs(self, X, y, params)
        callbacks = CallbackTree.begin(self, inputs.X, inputs.y, inputs.fit_params)
        rng, seed = seed_of(self.random_state)
        prepared = self._prepare(inputs, seed)
        task = self._make_task(prepared, rng, seed, callbacks)
        reward = Reward(self.refit, inputs.refit_metric)
        run = Run(prepared, task, self._start(prepared, seed), reward)
        self._forget()
        try:
            self._pull(run, callbacks)
        finally:
            self._set_results(run)
        if not run.outcomes:
            raise ValueError(
                f"{prepared.policy!r} ended without a single fit for {len(task.candidates)} "
                "candidates. Give it more candidates, or another policy."
            )
        report_failures(task, run.outcomes)
        report_non_finite(self.cv_results_)
        prepared.layout.report(task, run.outcomes)
        self._set_best(inputs, run.best_arm)
        self._refit_best(run, callbacks)
        callbacks.end()
        return self

    def plan(self, X: Any, y: Any = None, **params: Any) -> pd.DataFrame:
        """Return what `fit` with the same arguments will do, without fitting anything.

        Parameters
        ----------
        X, y, **params
            As for `fit`.

        Returns
        -------
        plan : DataFrame
            One row for each rung or stage, with the columns ``bracket`` (the paper's s) and
            ``rung``, or ``stage``, and ``n_candidates``, ``n_resources`` (for each fit) and
            ``n_fits`` (for all candidates and splits; without the refit).
        """
        self._validate_params()
        if isinstance(self.cv, Iterator):
            raise ValueError(
                f"plan would use up the iterator cv={self.cv!r}, and leave nothing for fit. Give "
                "a list of the splits."
            )
        # What is drawn here must leave fit's splits and candidates as they are.
        own = copy(self)
        own.cv = deepcopy(self.cv)
        rng, seed = seed_of(deepcopy(check_random_state(self.random_state)))
        prepared = own._prepare(check_inputs(own, X, y, params), seed)
        own._draw_candidates(prepared, rng)
        own._start(prepared, seed)  # what it has to say against the budget, it says here
        return prepared.layout.plan(prepared.rows.n_repetitions, prepared.resource)

    @property
    def history_(self) -> pd.DataFrame:
        """One row for each pull, in the order in which they came back.

        Columns: ``candidate``, ``bracket``, ``loop`` and ``rung`` where there are brackets,
        ``n_resources``, ``split``, ``started`` (seconds since the epoch), ``fit_time`` and
        ``score_time`` (seconds),
        ``continued_from`` (resource at which a fitted model was taken up; 0: from scratch),
        ``n_train``, ``n_test``, ``failed``, and a column for each score.
        """
        if not hasattr(self, "_record"):
            raise AttributeError(f"This {type(self).__name__} has no history_: it is not fitted.")
        return make_history(*self._record)

    def _prepare(self, inputs: FitInputs, seed: np.random.SeedSequence) -> Preparation:
        """Check everything that can be checked before the first fit."""
        space = SearchSpace(self.param_distributions)
        resource = self._resolve_resource()
        resource.check(self.estimator, space.names)
        rows = self._split_rows(inputs, resource, seed)
        levels = self._make_levels(resource, rows)
        policy = self._make_policy(levels, space, rows)
        layout = self._make_layout(policy, levels, space, rows)
        return Preparation(inputs, resource, rows, levels, policy, layout, space)

    def _draw_candidates(
        self, prepared: Preparation, rng: np.random.RandomState
    ) -> tuple[Params, ...]:
        """Draw a candidate for each arm, and try the names of their parameters."""
        candidates = prepared.space.draw(prepared.layout.n_of_bracket, rng)
        check_candidates(self.estimator, candidates)
        self._warn_of_space(prepared)
        return candidates

    def _start(self, prepared: Preparation, seed: np.random.SeedSequence) -> Any:
        """Return the policy's state before the first pull."""
        problem = Problem(
            n_arms=sum(prepared.layout.n_of_bracket),
            min_level=prepared.levels.smallest,
            max_level=prepared.levels.largest,
            max_repetitions=prepared.rows.n_repetitions,
            n_available=prepared.space.size,
        )
        own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, POLICY))
        return prepared.policy.start(problem, seed=own)

    def _forget(self) -> None:
        """Drop what an earlier fit found: a fit that is broken off must not seem to have."""
        found = [n for n in vars(self) if n.endswith("_") and not n.startswith("_")]
        for name in [*found, *(n for n in ("_record", "_statistics") if n in vars(self))]:
            delattr(self, name)

    def _make_task(
        self,
        prepared: Preparation,
        rng: np.random.RandomState,
        seed: np.random.SeedSequence,
        callbacks: CallbackTree,
    ) -> EvaluationTask:
        """Draw the candidates, and gather what a worker needs."""
        candidates = self._draw_candidates(prepared, rng)
        rng.randint(2**31 - 1)  # where a grid leaves nothing to draw, the next search differs too
        rescaling = check_rescaling(
            Rescaling.from_option(self.rescale), self.estimator, prepared, candidates
        )
        warn_of_refitting(prepared.resource, self.estimator, rescaling)
        inputs, resource = prepared.inputs, prepared.resource
        if hasattr(resource, "for_target"):
            resource = resource.for_target(inputs.y)
        return EvaluationTask(
            estimator=clone(self.estimator),
            X=inputs.X,
            y=inputs.y,
            candidates=candidates,
            splits=prepared.rows.splits,
            resource=resource,
            scorer=inputs.scorers,
            fit_params=inputs.fit_params,
            score_params=inputs.score_params,
            return_train_score=self.return_train_score,
            error_score=self.error_score,
            verbose=int(self.verbose),
            n_repetitions=prepared.rows.n_repetitions,
            max_level=prepared.levels.largest,
            rescaling=rescaling,
            seed=None if self.random_state is None else seed,
            config=get_config(),
            caller=self if callbacks.is_watched else None,
        )

    def _pull(self, run: Run, callbacks: CallbackTree) -> None:
        """Pull until the policy is finished."""
        prepared, task = run.prepared, run.task
        layout, n_repetitions = prepared.layout, prepared.rows.n_repetitions
        if self.verbose > 0:
            write_line(layout.headline(n_repetitions))
        branches = layout.branches(n_repetitions, prepared.resource)
        callbacks.begin_search(branches, layout.path_of, layout.n_fits(n_repetitions))
        with open_executor(task, self.n_jobs, self.pre_dispatch) as executor:
            PullLoop(
                prepared.policy,
                run.state,
                executor,
                reward=run.reward,
                log=run.log,
                top_level=prepared.levels.largest,
                window=getattr(prepared.policy, "pulls_in_flight", None),
                context_of=callbacks.context_of if callbacks.is_watched else None,
                landed=callbacks.end_pull if callbacks.is_watched else None,
            ).run()
        callbacks.end_search()

    def _set_results(self, run: Run) -> None:
        """Set what the pulls gave, also where the search was broken off."""
        outcomes, layout, resource = run.outcomes, run.prepared.layout, run.task.resource
        if not outcomes:
            return
        self.multimetric_ = any(isinstance(o.test_scores, dict) for o in outcomes)
        n_known = run.prepared.rows.n_repetitions
        n_used = 1 + max(outcome.pull.repetition for outcome in outcomes)
        self.n_splits_ = n_used if n_known is None else n_known
        stage_of_arm = None
        if hasattr(run.prepared.policy, "stage_of_arm"):
            stage_of_arm = run.prepared.policy.stage_of_arm(run.state)
        run.rows = layout.result_rows(outcomes, stage_of_arm)
        self.cv_results_ = self._make_results(run, run.rows)
        self.n_fits_ = len(outcomes)
        self.n_resources_spent_ = sum(
            o.n_train
            if resource.subsamples_rows
            else resource.to_amount(o.pull.level - o.previous_level)
            for o in outcomes
        )
        self._record = (resource, outcomes, layout)
        is_container = is_multimetric_scorer(run.task.scorer)
        self.scorer_ = run.task.scorer._scorers if is_container else run.task.scorer

    def _set_best(self, inputs: FitInputs, best_arm: int) -> None:
        """Set ``best_*`` where GridSearchCV sets them."""
        refit_metric = inputs.refit_metric
        if callable(self.scoring) and self.multimetric_:
            metrics = [key[10:] for key in self.cv_results_ if key.startswith("mean_test_")]
            self._check_refit_for_multimetric(dict.fromkeys(metrics))
            refit_metric = self.refit
        if not self.refit and self.multimetric_:
            return
        if callable(self.refit):
            self.best_index_ = self._select_best_index(self.refit, refit_metric, self.cv_results_)
        else:
            self.best_index_ = self._row_of(best_arm, f"rank_test_{refit_metric}")
            self.best_score_ = self.cv_results_[f"mean_test_{refit_metric}"][self.best_index_]
        self.best_params_ = self.cv_results_["params"][self.best_index_]

    def _row_of(self, arm: int, rank_key: str) -> int:
        """Return the row in which the arm ranks best."""
        if arm == NO_ARM:
            raise ValueError(no_score_message(self.cv_results_, getattr(self, "select", None)))
        rows = np.flatnonzero(self.cv_results_["candidate"] == arm)
        return int(rows[self.cv_results_[rank_key][rows].argmin()])

    def _refit_best(self, run: Run, callbacks: CallbackTree) -> None:
        """Train the best candidate on all rows, with the resource of its row."""
        if not self.refit or run.rows is None:
            return
        task, inputs = run.task, run.prepared.inputs
        arm, level = (int(column[self.best_index_]) for column in (run.rows.arm, run.rows.level))
        self.best_estimator_ = unfitted_winner(task, arm, level)
        context = callbacks.refit_task()
        with callbacks.propagating(context, self.best_estimator_):
            if context is not None:
                context.call_on_fit_task_begin(estimator=self, **callbacks.data)
            start = time.time()
            self.best_estimator_ = task.resource.train(
                self.best_estimator_, inputs.X, inputs.y, level, 0, inputs.fit_params
            )
            self.refit_time_ = time.time() - start
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_
        if context is not None:
            context.call_on_fit_task_end(estimator=self, **callbacks.data)
