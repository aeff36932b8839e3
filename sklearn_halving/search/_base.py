"""Base class of all searches, which implements `fit` and `plan`."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from copy import copy, deepcopy
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils import check_random_state

from sklearn_halving._typing import Candidates, Params
from sklearn_halving._unstable_imports import fit_context, validate_params
from sklearn_halving.execution._pull_loop import Interrupt, PullLoop, PullObserver, StopSignals
from sklearn_halving.execution._step_cache import StepCache
from sklearn_halving.execution._types import EvaluationTask, PullLimits
from sklearn_halving.execution.workers._executors import open_executor
from sklearn_halving.policies.bases._base_policy import BasePolicy, window_of
from sklearn_halving.resources import FitTime
from sklearn_halving.search._formatting import budget_text
from sklearn_halving.search._parameters import SharedParameters
from sklearn_halving.search._run import Run
from sklearn_halving.search._search_results import SearchResults
from sklearn_halving.search.preparing._arriving import ArrivingCandidates, draw_candidates
from sklearn_halving.search.preparing._checkpoint import open_checkpoint
from sklearn_halving.search.preparing._inputs import FitInputs, check_inputs, limits_of
from sklearn_halving.search.preparing._plan import SearchPlan, add_costs, plan_table
from sklearn_halving.search.preparing._setup import (
    Prepared,
    Setup,
    check_rungs,
    make_plan,
    seed_of,
)
from sklearn_halving.search.watching._callbacks import CallbackTree
from sklearn_halving.search.watching._mlflow import logged_as_a_whole
from sklearn_halving.search.watching._progress import Progress

if TYPE_CHECKING:
    import pandas as pd


class BaseBanditSearchCV(SharedParameters, SearchResults):
    """Base class of the searches.

    A subclass defines its parameters, what follows from them and from the data (`_setup`), and
    the policy (`_policy`). It may also change where the candidates come from (`_candidates`).
    """

    @abstractmethod
    def _setup(
        self, inputs: FitInputs, rng: np.random.RandomState, seed: np.random.SeedSequence
    ) -> Setup:
        """Return what the parameters and the data determine."""

    @abstractmethod
    def _policy(self, setup: Setup) -> BasePolicy:
        """Return the policy."""

    def _candidates(
        self, setup: Setup, policy: BasePolicy, plan: SearchPlan, rng: np.random.RandomState
    ) -> Candidates:
        """Return the candidates, and check the names of their parameters."""
        return draw_candidates(self.estimator, setup.space, setup.sampler, policy, plan, rng)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: object, y: object = None, **params: object) -> Self:
        """Run the search, and refit the best candidate on all data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Training data, in any form that the estimator accepts. For a precomputed kernel or
            distance matrix, the shape is (n_samples, n_samples).
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Target; None for unsupervised learning.
        **params : dict of str to object
            Parameters for the ``fit`` of the estimator, the scorer and the splitter, as in
            GridSearchCV. Parameters with one entry per row are split like X. ``groups`` is
            passed to the splitter.

        Returns
        -------
        self : object
            The fitted search.

        Raises
        ------
        ValueError
            Before any fit: if the arguments are not consistent, or if ``checkpoint`` is the
            journal of another search, in use, or damaged. After the fits: if every fit failed,
            or if no candidate has a score with the largest resource.
        ConnectionError
            If the scheduler of Dask or the head of Ray is gone. ``cv_results_``, ``history_`` and
            ``best_*``, except ``best_estimator_``, are then set from the finished fits.
        KeyboardInterrupt
            After Ctrl-C. ``cv_results_``, ``history_`` and ``best_*``, except
            ``best_estimator_``, are then set from the finished fits.

        Warns
        -----
        UserWarning
            If the search was stopped early; the warning says how many candidates were not fitted.
            If all mean scores are NaN; the first candidate with the largest resource is then
            chosen, similarly to GridSearchCV.
        """
        with logged_as_a_whole(self):
            return self._fit(X, y, params)

    def _fit(self, X: object, y: object, params: Params) -> Self:
        """Search, choose, and refit."""
        began = time.monotonic()
        seconds, limits = limits_of(self)
        inputs = check_inputs(self, X, y, params)
        callbacks = CallbackTree.begin(
            self, inputs.X, inputs.y, inputs.fit_params, refits=self.refit is not False
        )
        with open_checkpoint(self) as checkpoint:
            rng, seed = seed_of(checkpoint.random_state)
            prepared = self._prepare(inputs, rng, seed)
            rng.randint(2**31 - 1)  # advances the state even if nothing was drawn from a grid
            task = self._make_task(prepared, callbacks)
            budget = budget_text(self.time_budget)
            checkpoint.begin(self, task, prepared.plan)
            run = Run(prepared, task, prepared.start(), checkpoint, began + seconds, budget)
            self._forget()
            with Interrupt() as interrupt:  # until the results are set
                try:
                    progress = self._pull(run, limits, callbacks, interrupt)
                except BaseException as error:
                    self._save_results(run, error)
                    raise
                self._tabulate(run)
                if run.stopped_by != "interrupt":
                    self._report(run)
                    self._choose(run)
                elif run.outcomes:
                    with suppress(ValueError):  # no candidate has a score yet
                        self._choose(run)
        if interrupt.is_requested:
            run.stopped_by = self.stopped_by_ = "interrupt"
            raise KeyboardInterrupt(run.stopped_message())
        self._write_end(run, progress)
        self._refit_best(run, callbacks)
        callbacks.end()
        return self

    def plan(self, X: object, y: object = None, **params: object) -> pd.DataFrame:
        """Return the plan of `fit` with the same arguments, without fitting any model.

        Parameters
        ----------
        X, y, **params
            As for `fit`.

        Returns
        -------
        plan : DataFrame
            One row for each rung or stage, or one row for all fits, with these columns:

            - ``bracket`` (the paper's s) and ``rung``, or ``stage``, and ``loop`` if there are
              several loops of brackets;
            - ``n_candidates`` of each rung. Those of a later rung are the best of the rung before,
              so the first rungs of all brackets together have all candidates of the search;
            - ``n_initial``, those from ``initial_candidates``, if there are any;
            - ``n_resources`` of each fit, unless all fits have the full resource;
            - ``n_fits``, for all candidates and splits, without the refit; missing, as the number
              of candidates, where the time budget decides;
            - for rungs, ``full_fits`` is their cost in fits with ``max_resources``, if the cost
              of a fit is proportional to its resource, and ``of_grid_search`` is this cost as a
              fraction of that of GridSearchCV over all candidates of the search.

            The sums of the last three columns are those of the whole search.
            ``plan.attrs["at_most"]`` is True if a search that nothing interrupts may make fewer
            fits than these: candidates may be dropped in the last rung of a bracket, a policy may
            stop early, or there is a ``time_budget``. If it is False, all of these fits are made,
            unless candidates have no score because fits failed.
        """
        validate_params(self)
        limits_of(self)  # raises if one of them cannot be read
        if isinstance(self.cv, Iterator):
            raise ValueError(
                f"plan would exhaust the iterator cv={self.cv!r} and leave no splits for fit. "
                "Pass a list of splits."
            )
        # The plan must not change the splits and candidates that `fit` draws later.
        own = copy(self)
        own.cv = deepcopy(self.cv)
        rng, seed = seed_of(deepcopy(check_random_state(self.random_state)))
        prepared = own._prepare(check_inputs(own, X, y, params), rng, seed)
        prepared.start()  # raises if the budget is too small
        plan, resource = prepared.plan, prepared.setup.resource
        table = plan_table(plan, resource)
        table.attrs["at_most"] = plan.may_end_early or self.time_budget is not None
        if plan.schedule is not None:
            add_costs(table, plan.problem, continues=resource.can_continue(self.estimator))
        return table

    def _prepare(
        self, inputs: FitInputs, rng: np.random.RandomState, seed: np.random.SeedSequence
    ) -> Prepared:
        """Return all that is known before the first pull, or raise if it cannot work."""
        setup = self._setup(inputs, rng, seed)
        policy = self._policy(setup)
        plan = make_plan(policy, setup)
        candidates = self._candidates(setup, policy, plan, rng)
        check_rungs(self.estimator, setup, candidates)
        return Prepared(setup, policy, plan, candidates, seed)

    def _make_task(self, prepared: Prepared, callbacks: CallbackTree) -> EvaluationTask:
        """Return all that the workers get."""
        setup, inputs = prepared.setup, prepared.setup.inputs
        return EvaluationTask(
            estimator=clone(self.estimator),
            X=inputs.X,
            y=inputs.y,
            candidates=prepared.candidates,
            splits=setup.splits.folds,
            resource=setup.resource.for_target(inputs.y),
            scorer=inputs.scorers,
            fit_params=inputs.fit_params,
            score_params=inputs.score_params,
            return_train_score=self.return_train_score,
            error_score=self.error_score,
            verbose=int(self.verbose),
            n_repetitions=setup.splits.n_repetitions,
            max_level=setup.levels.largest,
            seed=None if self.random_state is None else prepared.seed,
            config=get_config(),
            caller=self if callbacks.is_watched else None,
            held_out=setup.splits.held_out,
            # If the resource is time, it includes the steps of each fit.
            step_cache=None if isinstance(setup.resource, FitTime) else StepCache(),
        )

    def _pull(
        self, run: Run, limits: PullLimits, callbacks: CallbackTree, interrupt: Interrupt
    ) -> Progress:
        """Run pulls until the policy is finished or the search is stopped."""
        prepared, checkpoint, candidates = run.prepared, run.checkpoint, run.task.candidates
        keeps_time = prepared.plan.description.keeps_time
        callbacks.begin_search(prepared.plan, prepared.setup.resource)
        progress = Progress(
            prepared.plan,
            prepared.policy,
            run.state,
            run.reward,
            run.task.resource,
            callbacks,
            int(self.verbose),
            deadline=run.deadline,
            n_in_checkpoint=len(run.earlier),
        )
        if progress.is_needed:
            progress.begin()
        with (
            self._showing(progress),
            open_executor(run.task, self.n_jobs, self.pre_dispatch, limits) as executor,
        ):
            loop = PullLoop(
                prepared.policy,
                run.state,
                executor,
                reward=run.reward,
                log=run.log,
                problem=prepared.plan.problem,
                window=window_of(prepared.policy, prepared.plan.description),
                observer=progress if progress.is_needed else PullObserver(),
                journal=checkpoint.journal,
                signals=StopSignals(run.deadline, interrupt),
                arrive=candidates.arrive if isinstance(candidates, ArrivingCandidates) else None,
                first_to_tell=prepared.policy.first_to_tell,
                charge=partial(prepared.policy.charge, run.state) if keeps_time else None,
                n_workers=effective_n_jobs(self.n_jobs),
            )
            loop.run()
            run.stopped_by = "interrupt" if interrupt.is_requested else loop.stopped_by
            if keeps_time and run.stopped_by == "policy" and not run.ended_by:
                run.stopped_by = "time_budget"
            callbacks.end_search()
        return progress
