"""Base class of all searches, which implements `fit` and `plan`."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from copy import copy, deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils import check_random_state

from sklearn_halving._typing import Candidates
from sklearn_halving._unstable_imports import fit_context, validate_params
from sklearn_halving.execution._pull_loop import PullLoop, PullObserver, StopSignals
from sklearn_halving.execution._step_cache import StepCache
from sklearn_halving.execution._types import EvaluationTask, PullLimits
from sklearn_halving.execution.workers._executors import open_executor
from sklearn_halving.execution.workers._interrupt import Interrupt
from sklearn_halving.policies._types import Problem
from sklearn_halving.policies.bases._base_policy import BasePolicy, window_of
from sklearn_halving.resources import FitTime, Resource, resolve_resource
from sklearn_halving.samplers import Sampler
from sklearn_halving.search._formatting import budget_text
from sklearn_halving.search._run import Run
from sklearn_halving.search._search_results import SearchResults
from sklearn_halving.search._shared_parameters import PositiveFloat, SharedParameters
from sklearn_halving.search.preparing._candidates import (
    ArrivingCandidates,
    draw_candidates,
    resolve_sampler,
)
from sklearn_halving.search.preparing._checkpoint import Checkpoint, open_checkpoint
from sklearn_halving.search.preparing._inputs import FitInputs, check_inputs, limits_of
from sklearn_halving.search.preparing._levels import Levels, choose_levels
from sklearn_halving.search.preparing._plan import SearchPlan, add_costs, fronts_of, plan_table
from sklearn_halving.search.preparing._preparation import Preparation, Setup, check_rungs, seed_of
from sklearn_halving.search.preparing._search_space import SearchSpace, with_initial_candidates
from sklearn_halving.search.preparing._splitting import SearchSplits, fixed_splits
from sklearn_halving.search.watching._callbacks import CallbackTree
from sklearn_halving.search.watching._progress import Progress

if TYPE_CHECKING:
    import pandas as pd


POLICY = 2**31 - 2
"""Used instead of a repetition in the seed of the policy."""


class BaseBanditSearchCV(SharedParameters, SearchResults):
    """Base class of the searches. A subclass defines the policy and its parameters."""

    max_resources: PositiveFloat | str

    @abstractmethod
    def _make_policy(self, setup: Setup) -> BasePolicy:
        """Return the policy."""

    def _make_levels(
        self, space: SearchSpace, sampler: Sampler | None, resource: Resource, splits: SearchSplits
    ) -> Levels:
        """Return the range of levels."""
        return choose_levels(self, resource, splits)

    def _count_candidates(self, setup: Setup) -> int:
        """Return the number of candidates of a policy without brackets."""
        raise NotImplementedError

    def _make_plan(self, policy: BasePolicy, setup: Setup) -> SearchPlan:
        """Return the plan of the search."""
        levels, space, splits = setup.levels, setup.space, setup.splits
        schedule = policy.schedule(levels.smallest, levels.largest, space.size)
        if schedule is not None:
            n_arms = schedule.n_arms
        else:
            n_arms = policy.describe().n_arms or self._count_candidates(setup)
        problem = Problem(
            n_arms, levels.smallest, levels.largest, splits.n_repetitions, space.size
        )
        plan = SearchPlan(
            problem,
            policy.describe(problem),
            schedule,
            makes_candidates=setup.sampler is not None,
        )
        if not space.initial:
            return plan
        order = [0] if schedule is None else list(policy.order_of_play(schedule))
        return replace(plan, fronts=fronts_of(len(space.initial), plan.n_of_bracket, order))

    def _resolve_sampler(self, space: SearchSpace) -> Sampler | None:
        """Return the sampler; None if candidates are drawn from the space."""
        return resolve_sampler(getattr(self, "sampler", "random"))

    def _resolve_resource(self) -> Resource:
        """Return the resource for the parameter ``resource``."""
        return resolve_resource(self.resource, self.estimator)

    def _make_splits(
        self, inputs: FitInputs, resource: Resource, seed: np.random.SeedSequence
    ) -> SearchSplits:
        """Return the splits, and what is known about them."""
        return fixed_splits(self, inputs, resource, seed)

    def _plays_until_deadline(self, plan: SearchPlan) -> bool:
        """Return whether the time budget decides how much of the plan is played."""
        return False

    def _warn_of_candidates(self, prepared: Preparation, candidates: Candidates) -> None:
        """Warn if the candidates do not suit the policy; does nothing by default."""

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
            or if only candidates that ``select`` does not allow have a score.
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
        began = time.monotonic()
        seconds, limits = limits_of(self)
        inputs = check_inputs(self, X, y, params)
        callbacks = CallbackTree.begin(
            self, inputs.X, inputs.y, inputs.fit_params, refits=self.refit is not False
        )
        with open_checkpoint(self) as checkpoint:
            rng, seed = seed_of(checkpoint.random_state)
            prepared = self._prepare(inputs, seed)
            task = self._draw(prepared, rng, seed, callbacks)
            run = self._start(prepared, task, checkpoint, seed, began + seconds)
            with Interrupt() as interrupt:  # until the results are set
                try:
                    progress = self._pull(run, limits, callbacks, interrupt)
                except BaseException as error:
                    self._save_results(run, error)
                    raise
                self._tabulate(run)
                if run.stopped_by == "interrupt":
                    with suppress(ValueError):  # no candidate has a score yet
                        self._choose(run)
                else:
                    self._report(run)
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
            - ``n_fits``, for all candidates and splits, without the refit;
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
        prepared = own._prepare(check_inputs(own, X, y, params), seed)
        candidates = own._draw_candidates(prepared, rng)
        prepared = own._with_candidates(prepared, candidates)
        own._start_policy(prepared, candidates, seed)  # raises if the budget is too small
        resource = prepared.setup.resource
        table = plan_table(prepared.plan, resource)
        table.attrs["at_most"] = prepared.plan.may_end_early or self.time_budget is not None
        if prepared.plan.schedule is not None:
            continues = resource.can_continue(self.estimator)
            add_costs(table, prepared.plan.problem, continues=continues)
        return table

    def _prepare(self, inputs: FitInputs, seed: np.random.SeedSequence) -> Preparation:
        """Validate the parameters and the data, and prepare the pulls."""
        space = SearchSpace(self.param_distributions)
        resource = self._resolve_resource()
        space = with_initial_candidates(self, space, resource)
        resource.check(self.estimator, space.names)
        sampler = self._resolve_sampler(space)
        splits = self._make_splits(inputs, resource, seed)
        levels = self._make_levels(space, sampler, resource, splits)
        setup = Setup(inputs, space, sampler, resource, splits, levels)
        policy = self._make_policy(setup)
        return Preparation(setup, policy, self._make_plan(policy, setup))

    def _draw_candidates(self, prepared: Preparation, rng: np.random.RandomState) -> Candidates:
        """Return the candidates, and check the names of their parameters."""
        candidates = draw_candidates(self.estimator, prepared, rng)
        self._warn_of_candidates(prepared, candidates)
        return candidates

    def _with_candidates(self, prepared: Preparation, candidates: Candidates) -> Preparation:
        """Return the preparation with what a policy needs to know of the candidates, if any."""
        return prepared

    def _start(
        self,
        prepared: Preparation,
        task: EvaluationTask,
        checkpoint: Checkpoint,
        seed: np.random.SeedSequence,
        deadline: float,
    ) -> Run:
        """Compare the search with its journal, start the policy, and drop earlier results."""
        prepared = self._with_candidates(prepared, task.candidates)
        checkpoint.begin(self, task, prepared.plan)
        state = self._start_policy(prepared, task.candidates, seed)
        self._forget()
        is_timed = self._plays_until_deadline(prepared.plan)
        budget = budget_text(self.time_budget)
        return Run(prepared, task, state, checkpoint, deadline, is_timed, budget)

    def _start_policy(
        self, prepared: Preparation, candidates: Candidates, seed: np.random.SeedSequence
    ) -> Any:
        """Return the state of the policy before the first pull."""
        own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, POLICY))
        tie_break = self._tie_break(prepared.setup, candidates, seed)
        problem = replace(prepared.plan.problem, tie_break=tie_break)
        state = prepared.policy.start(problem, seed=own)
        if isinstance(candidates, ArrivingCandidates):
            candidates.source.follow(prepared.policy, state)
        return state

    def _tie_break(
        self, setup: Setup, candidates: Candidates, seed: np.random.SeedSequence
    ) -> tuple[int, ...] | None:
        """Return numbers that break ties between candidates; None to use the order of arms."""
        return None

    def _draw(
        self,
        prepared: Preparation,
        rng: np.random.RandomState,
        seed: np.random.SeedSequence,
        callbacks: CallbackTree,
    ) -> EvaluationTask:
        """Draw the candidates, and return the task for the workers."""
        setup, candidates = prepared.setup, self._draw_candidates(prepared, rng)
        rng.randint(2**31 - 1)  # advances the state even if nothing was drawn from a grid
        check_rungs(self.estimator, setup, candidates)
        inputs, splits = setup.inputs, setup.splits
        return EvaluationTask(
            estimator=clone(self.estimator),
            X=inputs.X,
            y=inputs.y,
            candidates=candidates,
            splits=splits.folds,
            resource=setup.resource.for_target(inputs.y),
            scorer=inputs.scorers,
            fit_params=inputs.fit_params,
            score_params=inputs.score_params,
            return_train_score=self.return_train_score,
            error_score=self.error_score,
            verbose=int(self.verbose),
            n_repetitions=splits.n_repetitions,
            max_level=setup.levels.largest,
            seed=None if self.random_state is None else seed,
            config=get_config(),
            caller=self if callbacks.is_watched else None,
            held_out=splits.held_out,
            # If the resource is time, it includes the steps of each fit.
            step_cache=None if isinstance(setup.resource, FitTime) else StepCache(),
        )

    def _pull(
        self, run: Run, limits: PullLimits, callbacks: CallbackTree, interrupt: Interrupt
    ) -> Progress:
        """Run pulls until the policy is finished or the search is stopped."""
        prepared, checkpoint, candidates = run.prepared, run.checkpoint, run.task.candidates
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
            is_timed=run.is_timed,
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
            )
            loop.run()
            run.stopped_by = "interrupt" if interrupt.is_requested else loop.stopped_by
            callbacks.end_search()
        return progress
