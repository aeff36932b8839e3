"""The search that all others are: `fit` in eight steps."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from copy import copy, deepcopy
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils import check_random_state

from sklearn_halving._unstable_imports import (
    BaseSearchCV,
    Interval,
    StrOptions,
    fit_context,
    is_multimetric_scorer,
)
from sklearn_halving.execution._executors import open_executor
from sklearn_halving.execution._messages import write_line
from sklearn_halving.execution._pull_loop import PullLog, PullLoop
from sklearn_halving.execution._types import EvaluationTask
from sklearn_halving.policies._brackets import ScheduledPolicy
from sklearn_halving.policies._types import NO_ARM, Problem
from sklearn_halving.resources import Rescaling, resolve_resource
from sklearn_halving.search._callbacks import CallbackTree
from sklearn_halving.search._candidates import Params, SearchSpace
from sklearn_halving.search._cv_results import ResultRows, make_cv_results
from sklearn_halving.search._failures import (
    no_score_message,
    report_abandoned,
    report_failures,
    report_non_finite,
)
from sklearn_halving.search._history import make_history
from sklearn_halving.search._inputs import (
    FitInputs,
    ask_splitter,
    check_inputs,
    nested_folds,
    whole_folds,
)
from sklearn_halving.search._preparation import (
    Levels,
    Preparation,
    check_candidates,
    check_rescaling,
    choose_levels,
    seed_of,
    warn_of_refitting,
    warn_of_small_grid,
)
from sklearn_halving.search._reward import Reward
from sklearn_halving.search._winner import unfitted_winner

if TYPE_CHECKING:
    import pandas as pd


class BaseBanditSearchCV(BaseSearchCV):
    """Base of the searches: a subclass names its policy and the parameters of that."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseSearchCV._parameter_constraints,
        "resource": [str, object],
        "min_resources": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "max_resources": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "factor": [Real],
        "select": [StrOptions({"max_resources", "all_rungs"})],
        "rescale": [dict, None],
        "random_state": ["random_state"],
    }

    @abstractmethod
    def _make_policy(self, levels: Levels, space: SearchSpace) -> ScheduledPolicy:
        """Return the policy for this range of levels."""

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
        self.n_splits_ = len(prepared.splits)
        log = PullLog()
        try:
            best_arm = self._run(prepared, task, log, callbacks)
        finally:
            self._set_results(prepared, task, log)
        report_failures(task, log.outcomes.values())
        report_non_finite(self.cv_results_)
        report_abandoned(task, prepared.schedule, log.outcomes.values())
        self._set_best(inputs, best_arm)
        self._refit_best(prepared, task, callbacks)
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
            One row for each rung, with the columns ``bracket`` (the paper's s), ``rung``,
            ``n_candidates``, ``n_resources`` (for each fit) and ``n_fits`` (for all
            candidates and splits; without the refit).
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
        return prepared.plan()

    @property
    def history_(self) -> pd.DataFrame:
        """One row for each pull, in the order in which they came back.

        Columns: ``candidate``, ``bracket``, ``loop``, ``rung``, ``n_resources``, ``split``,
        ``started`` (seconds since the epoch), ``fit_time`` and ``score_time`` (seconds),
        ``continued_from`` (resource at which a fitted model was taken up; 0: from scratch),
        ``n_train``, ``n_test``, ``failed``, and a column for each score.
        """
        if not hasattr(self, "_record"):
            raise AttributeError(f"This {type(self).__name__} has no history_: it is not fitted.")
        return make_history(*self._record)

    def _prepare(self, inputs: FitInputs, seed: np.random.SeedSequence) -> Preparation:
        """Check everything that can be checked before the first fit."""
        space = SearchSpace(self.param_distributions)
        resource = resolve_resource(self.resource, self.estimator)
        resource.check(self.estimator, space.names)
        pairs = ask_splitter(self, inputs)
        if resource.subsamples_rows:
            splits, n_rows_needed = nested_folds(self, inputs, pairs, seed)
        else:
            splits, n_rows_needed = whole_folds(pairs), 1
        n_train = min(len(train) for train, _ in pairs)
        smallest, largest = resource.level_range(self.estimator, n_train, n_rows_needed)
        levels = choose_levels(
            resource,
            smallest,
            largest,
            min_resources=self.min_resources,
            max_resources=self.max_resources,
            factor=float(self.factor),
        )
        policy = self._make_policy(levels, space)
        schedule = policy.schedule(levels.smallest, levels.largest, space.size)
        return Preparation(inputs, resource, splits, levels, policy, schedule, space)

    def _draw_candidates(
        self, prepared: Preparation, rng: np.random.RandomState
    ) -> tuple[Params, ...]:
        """Draw a candidate for each arm, and try the names of their parameters."""
        sizes = [bracket.n_arms for bracket in prepared.schedule.brackets]
        candidates = prepared.space.draw(sizes, rng)
        check_candidates(self.estimator, candidates)
        warn_of_small_grid(prepared)
        return candidates

    def _make_task(
        self,
        prepared: Preparation,
        rng: np.random.RandomState,
        seed: np.random.SeedSequence,
        callbacks: CallbackTree,
    ) -> EvaluationTask:
        """Draw the candidates, and gather what a worker needs."""
        candidates = self._draw_candidates(prepared, rng)
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
            splits=prepared.splits,
            resource=resource,
            scorer=inputs.scorers,
            fit_params=inputs.fit_params,
            score_params=inputs.score_params,
            return_train_score=self.return_train_score,
            error_score=self.error_score,
            verbose=int(self.verbose),
            n_repetitions=len(prepared.splits),
            max_level=prepared.levels.largest,
            rescaling=rescaling,
            seed=None if self.random_state is None else seed,
            config=get_config(),
            caller=self if callbacks.is_watched else None,
        )

    def _run(
        self, prepared: Preparation, task: EvaluationTask, log: PullLog, callbacks: CallbackTree
    ) -> int:
        """Pull until the policy is finished; return the arm that it recommends."""
        schedule, policy = prepared.schedule, prepared.policy
        problem = Problem(
            n_arms=schedule.n_arms,
            min_level=prepared.levels.smallest,
            max_level=prepared.levels.largest,
            max_repetitions=task.n_repetitions,
            n_available=prepared.space.size,
        )
        if self.verbose > 0:
            write_line(
                f"Fitting {task.n_repetitions} folds for {schedule.n_arms} candidates, brackets: "
                f"{len(schedule.brackets)}, totalling {schedule.n_pulls * task.n_repetitions} fits"
            )
        state = policy.start(problem)
        callbacks.begin_search(schedule, task.n_repetitions, task.resource.to_amount)
        with open_executor(task, self.n_jobs, self.pre_dispatch) as executor:
            PullLoop(
                policy,
                state,
                executor,
                reward=Reward(self.refit, prepared.inputs.refit_metric),
                log=log,
                top_level=prepared.levels.largest,
                context_of=callbacks.context_of if callbacks.is_watched else None,
                landed=callbacks.end_pull if callbacks.is_watched else None,
            ).run()
        callbacks.end_search()
        return int(policy.recommend(state))

    def _set_results(self, prepared: Preparation, task: EvaluationTask, log: PullLog) -> None:
        """Set what the pulls gave, also where the search was broken off."""
        outcomes = log.outcomes.values()
        if not outcomes:
            return
        self.multimetric_ = any(isinstance(o.test_scores, dict) for o in outcomes)
        rows = ResultRows.of(outcomes, prepared.schedule)
        by_level = self.select == "max_resources"
        self.cv_results_ = make_cv_results(task, outcomes, rows, by_level=by_level)
        self.n_fits_ = len(log.outcomes)
        self.n_resources_spent_ = sum(
            o.n_train
            if task.resource.subsamples_rows
            else task.resource.to_amount(o.pull.level - o.previous_level)
            for o in outcomes
        )
        self._record = (task.resource, list(outcomes), prepared.schedule)
        is_container = is_multimetric_scorer(task.scorer)
        self.scorer_ = task.scorer._scorers if is_container else task.scorer

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
            raise ValueError(no_score_message(self.cv_results_, self.select))
        rows = np.flatnonzero(self.cv_results_["candidate"] == arm)
        return int(rows[self.cv_results_[rank_key][rows].argmin()])

    def _refit_best(
        self, prepared: Preparation, task: EvaluationTask, callbacks: CallbackTree
    ) -> None:
        """Train the best candidate on all rows, with the resource of its row."""
        if not self.refit:
            return
        inputs = prepared.inputs
        arm = int(self.cv_results_["candidate"][self.best_index_])
        level = task.resource.to_level(self.cv_results_["n_resources"][self.best_index_])
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
