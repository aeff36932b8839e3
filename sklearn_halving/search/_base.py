"""Base class of all searches: `fit`, `plan`, and the fitted attributes."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from copy import copy, deepcopy
from dataclasses import replace
from inspect import Signature, signature
from math import inf
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn import get_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, estimator_html_repr

from sklearn_halving._checks import refuse_unless
from sklearn_halving._content_hash import code_as_first_seen
from sklearn_halving._typing import Params
from sklearn_halving._unstable_imports import (
    BaseSearchCV,
    check_refit_metric,
    fit_context,
    named_scorers,
    num_samples,
    select_best_index,
    validate_params,
)
from sklearn_halving._unstable_joblib import count_workers
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.execution._evaluation import arm_estimator
from sklearn_halving.execution._pull_loop import Interrupt, PullLoop
from sklearn_halving.execution._step_cache import StepCache
from sklearn_halving.execution._threads import limited_threads, one_blas_thread
from sklearn_halving.execution._types import End, EvaluationTask, Fold, Job, PullLimits
from sklearn_halving.execution.workers._executors import open_executor
from sklearn_halving.policies._protocol import Policy
from sklearn_halving.policies._types import Pull
from sklearn_halving.resources import FitTime
from sklearn_halving.search._parameters import (
    Inputs,
    SharedParameters,
    check_inputs,
    check_scorer_names,
    read_limits,
    refuse_unknown,
)
from sklearn_halving.search._run_state import (
    RESUME,
    Run,
    begin_run,
    fix_rounds_of_winner,
    report_doubt,
)
from sklearn_halving.search.preparing import _plan as planning
from sklearn_halving.search.preparing._checkpoint import begin_search, open_store
from sklearn_halving.search.reporting._data_frames import make_history, make_leaderboard
from sklearn_halving.search.reporting._results import (
    Fits,
    Results,
    grid_fits,
    make_results,
    take_rows,
)
from sklearn_halving.search.reporting._summary import Summarizer, search_html
from sklearn_halving.search.reporting._summary_data import Summary
from sklearn_halving.search.watching import _failure_messages as failures
from sklearn_halving.search.watching._callbacks import CallbackTree, logged_as_a_whole
from sklearn_halving.search.watching._progress import Progress, ProgressReport

STATISTICS = ("standard_error_", "probability_best")
"""First parts of the names of columns that tables of rungs do not show."""


class BaseSearch(SharedParameters, BaseSearchCV):
    """Base class of the searches.

    A subclass defines its parameters, and what follows from them and from the data (`_setup`).
    """

    __signature__: ClassVar[Signature]
    _results: Results

    def __init_subclass__(cls, **options: Any) -> None:
        """Show the parameters of the constructor in documentation, not those of `__new__`."""
        super().__init_subclass__(**options)
        own = list(signature(cls.__init__).parameters.values())[1:]
        cls.__signature__ = Signature(own)

    def __new__(cls, *_: object, **params: object) -> Self:
        """Refuse a parameter that another search has, or that has another name."""
        refuse_unknown(cls, BaseSearch.__subclasses__(), params)
        return super().__new__(cls)

    @abstractmethod
    def _setup(self, inputs: Inputs) -> tuple[planning.Setup, Policy]:
        """Return what the parameters and the data determine, and the policy."""

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
            Before any fit: if the arguments are not consistent, or if the file of ``checkpoint``
            cannot be used. After the fits: if every fit failed, or if no candidate has a score
            with the largest resource.
        ConnectionError
            If the scheduler of Dask or the head of Ray is gone. ``cv_results_``, ``history_`` and
            ``best_*``, except ``best_estimator_``, are then set from the finished fits.
        KeyboardInterrupt
            After Ctrl-C. ``cv_results_``, ``history_`` and ``best_*``, except
            ``best_estimator_``, are then set from the finished fits.

        Warns
        -----
        UserWarning
            If the search was stopped early; the warning says how many candidates were fitted.
            If all mean scores are NaN; the first candidate with the largest resource is then
            chosen, similarly to GridSearchCV.
        """
        with logged_as_a_whole(self):
            return self._fit(X, y, params)

    def _fit(self, X: object, y: object, params: Params) -> Self:
        """Search, choose, and refit."""
        began = time.monotonic()
        seconds, limits = read_limits(self)
        with code_as_first_seen(), open_store(self) as store:
            inputs = check_inputs(self, X, y, params)
            inputs = inputs if store is None else begin_search(self, store, inputs)
            prepared = self._prepare(inputs)
            inputs.seeds.rng.randint(2**31 - 1)  # advances, even if nothing was drawn
            callbacks = CallbackTree.begin(self, prepared)
            task = self._make_task(prepared, callbacks, seeds_all=store is not None)
            run = begin_run(self, prepared, task, store, limits, (began, began + seconds))
            progress = Progress(run, callbacks, int(self.verbose))
            self._forget()
            self.scorer_ = named_scorers(task.scorer) or task.scorer
            with Interrupt() as interrupt:  # until the results are set
                try:
                    end, n_threads = self._pull(run, limits, progress, interrupt)
                    if interrupt.is_requested:
                        raise KeyboardInterrupt
                except BaseException as error:
                    self._save_results(run, error)
                    raise
                self._tabulate(run, end)
                self._report(run, end)
                self._choose(run)
        if interrupt.is_requested:  # while the results were set
            end = run.end("interrupt")
            self.stopped_by_ = end.reason
            self._results = replace(self._results, end=end)
            raise KeyboardInterrupt(run.stopped_message(end))
        self._refit_best(run, callbacks, n_threads)
        progress.write_end(self)
        callbacks.end()
        return self

    def plan(
        self, X: object, y: object = None, *, measure: bool = False, **params: object
    ) -> pd.DataFrame:
        """Return the plan of `fit` with the same arguments. Nothing is fitted without ``measure``.

        Parameters
        ----------
        X, y, **params
            As for `fit`.
        measure : bool, default=False
            If True, the first candidate is fitted in full on the first split, as `fit` would, and
            the plan has a column ``seconds``, and with a ``time_budget`` the number of full fits
            that it can hold, if all take the same time. These are estimates.

        Returns
        -------
        plan : DataFrame
            One row for each rung or stage, or one row for all fits, with these columns:

            - ``bracket`` (the paper's s) and ``rung``, or ``stage``, and ``loop`` if there are
              several loops of brackets;
            - ``n_candidates`` of each rung, or the most that may be tried if candidates are
              created during the search. A later rung has the best candidates of the rung before,
              so the first rungs of all brackets together have all candidates of the search;
            - ``n_resources`` of each fit, unless all fits have the full resource;
            - ``n_fits``, for all candidates and splits, without the refit; missing, as the number
              of candidates, where the time budget decides;
            - with ``measure``, ``seconds`` of these fits with the workers of ``n_jobs``, if the
              time of a fit is proportional to its resource;
            - for rungs, ``full_fits`` is their cost in fits with ``max_resources``, if the cost
              of a fit is proportional to its resource, which fits on few rows may exceed by far;
              for a whole grid, ``of_grid_search`` is its share of the cost of GridSearchCV;
            - ``at_most``: True if a search that nothing interrupts may make fewer fits than
              these, because the policy may stop early, or because of a ``time_budget``. If it is
              False, all of these fits are made, unless candidates have no score because fits
              failed.

            The fits and costs add up to the whole search. If loops of brackets are
            played until the ``time_budget`` is used up, they add up to one loop.

        Raises
        ------
        ValueError
            If a setting is not possible, or if the measured fit fails.
        """
        validate_params(self)
        refuse_unless(isinstance(measure, bool), "measure", "be a bool", repr(measure))
        budget, limits = read_limits(self)
        if isinstance(self.cv, Iterator):
            raise ValueError(
                f"plan would exhaust the iterator cv={self.cv!r} and leave no splits for fit. "
                "Pass a list of splits."
            )
        # The plan must not change the splits and candidates that `fit` draws later.
        own = copy(self)
        own.cv = deepcopy(self.cv)
        own.random_state = deepcopy(check_random_state(self.random_state))
        prepared = own._prepare(check_inputs(own, X, y, params))
        plan, resource = prepared.plan, prepared.setup.resource
        table = planning.plan_table(plan, resource)
        if plan.has_rungs:
            continues = resource.can_continue(self.estimator)
            planning.add_costs(table, grid_fits(prepared), continues=continues)
        may_be_less = not plan.is_exact or self.time_budget is not None
        table["at_most"] = may_be_less and not plan.is_endless
        if measure:
            n_workers, splits = count_workers(self.n_jobs), prepared.setup.splits
            seconds = own._seconds_of_full_fit(prepared, limits)
            refit = splits.refit_cost if self.refit else 0.0
            held = (budget / seconds - refit) * n_workers
            planning.add_seconds(table, plan, seconds, n_workers, held)
        return table

    def _seconds_of_full_fit(self, prepared: planning.Prepared, limits: PullLimits) -> float:
        """Return the time of training and scoring the first candidate on the first split."""
        task = self._make_task(prepared)
        arm = prepared.game.ask(1)[0].arm
        prepared.candidates.ensure(arm)
        with open_executor(task, self.n_jobs, self.pre_dispatch, limits) as executor:
            executor.submit(Job(Pull(arm, task.max_level, 0)))
            while not (results := executor.wait_any()):
                pass
        outcome = results[0].outcome
        if (error := outcome.problem) is not None:
            raise ValueError(f"The fit that was to be measured failed:\n{error}")
        return max(outcome.seconds, 1e-9)

    def _prepare(self, inputs: Inputs) -> planning.Prepared:
        """Return all that is known before the first pull, or raise if it cannot work."""
        return planning.prepare(self.estimator, *self._setup(inputs))

    def _make_task(
        self,
        prepared: planning.Prepared,
        callbacks: CallbackTree | None = None,
        *,
        seeds_all: bool = False,
    ) -> EvaluationTask:
        """Return all that the workers get; with `seeds_all`, also without a `random_state`."""
        setup, inputs = prepared.setup, prepared.setup.inputs
        # If the resource is time, it includes the steps of each fit.
        caches = type(self.estimator) is Pipeline and not isinstance(setup.resource, FitTime)
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
            n_candidates=len(prepared.candidates),
            n_repetitions=setup.splits.n_repetitions,
            max_level=setup.levels.largest,
            seed=inputs.seeds.root if seeds_all or self.random_state is not None else None,
            config=get_config(),
            caller=self if callbacks is not None and callbacks.is_watched else None,
            held_out=setup.splits.held_out,
            step_cache=StepCache() if caches else None,
        )

    def _pull(
        self, run: Run, limits: PullLimits, progress: Progress, interrupt: Interrupt
    ) -> tuple[End, int | None]:
        """Run pulls; return why they ended, and the number of threads of a fit."""
        progress.begin()
        self._progress = progress
        places = self.n_jobs, self.pre_dispatch
        try:
            with open_executor(run.task, *places, limits, run.prices) as executor:
                loop = PullLoop(
                    run.policy,
                    run.game,
                    executor,
                    reward=run.reward,
                    log=run.log,
                    problem=run.plan.problem,
                    window=run.plan.pulls_in_flight(run.policy.order_free),
                    observer=progress,
                    known=run.known,
                    known_first=run.known_first,
                    prices=run.prices,
                    interrupt=interrupt,
                    ensure=run.candidates.ensure,
                    n_workers=run.n_workers,
                )
                end = run.end(loop.run())
                progress.callbacks.end_search()
                return end, executor.guard.task.n_threads
        finally:
            del self._progress

    def score(self, X: object, y: object = None, **params: object) -> float:
        """Return the score of the best estimator, as `GridSearchCV.score` does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data to score on.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Target; None for unsupervised learning.
        **params : dict of str to object
            Parameters for the scorer.

        Returns
        -------
        score : float
            The score by ``scoring``; of several metrics, by the one that ``refit`` names.
        """
        if callable(self.refit) and getattr(self, "multimetric_", False):
            raise ValueError(
                "score needs one metric, but refit is a callable and there are several. Set refit "
                "to the name of one, or call scorer_ with best_estimator_."
            )
        score: float = super().score(X, y, **params)
        return score

    def _validate_params(self) -> None:  # scikit-learn calls it before `fit`
        """Raise if a parameter is wrong. A misspelled scorer gets a guess, not a list of all."""
        check_scorer_names(self.scoring)
        super()._validate_params()

    @property
    def history_(self) -> pd.DataFrame:
        """One row for each pull, in the order in which the pulls returned.

        Columns: ``candidate``; ``bracket``, ``loop`` and ``rung`` if there are brackets, ``stage``
        if there are stages; ``n_resources`` if there is a resource; ``split``; ``started`` and
        ``ended`` (start of training and end of scoring, in seconds since the first fit began);
        ``fit_time`` and ``score_time`` (in seconds); ``continued_from`` (resource of the model
        that was trained further, or 0 for a fit from scratch); ``n_train`` and ``n_test``;
        ``failed``; ``outcome`` (``"ok"``, ``"failed"``, ``"scorer_failed"``, ``"timeout"``,
        ``"memory"``, ``"lost"``, or ``"abandoned"`` if there was no time for it); ``error`` (the
        traceback, missing if there was no error); and a column for each score.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from sklearn_halving import HyperbandSearchCV
        >>> X, y = load_wine(return_X_y=True)
        >>> tree, grid = DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3, 4]}
        >>> search = HyperbandSearchCV(tree, grid, n_candidates=4, cv=3, random_state=0)
        >>> history = search.fit(X, y).history_
        >>> history[["candidate", "n_resources", "split", "n_train", "outcome"]].head(3)
           candidate  n_resources  split  n_train outcome
        0          0          118      0      118      ok
        1          1          118      0      118      ok
        2          2          118      0      118      ok
        """
        if not hasattr(self, "_fits"):
            raise AttributeError(f"{type(self).__name__} has history_ only after fit.")
        return make_history(self._fits)

    @property
    def progress_(self) -> ProgressReport:
        """The state of a search while it runs, which callbacks of scikit-learn can read."""
        if "_progress" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has progress_ only while fit runs.")
        return self._progress.report()

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the progress, which stays in its process."""
        state: dict[str, object] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_progress"}

    def leaderboard(self) -> pd.DataFrame:
        """Return the candidates that were fitted, the chosen one first.

        Returns
        -------
        leaderboard : DataFrame
            One row for each candidate, with its largest resource, and these columns:

            - ``candidate`` and ``rank``; candidates with full fits rank first;
            - the metric that guided the search (``score`` if there is one metric) and its
              ``standard_error``;
            - ``n_fits``, all fits of the candidate; the ``n_resources`` of the score, if there is
              a resource, and the ``seconds`` of all its fits;
            - ``status``: ``"chosen"``, where the candidate was dropped, how far it got if the
              search ended early, or how its fits failed;
            - the parameters in which candidates differ, and ``params`` with all of them.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no results yet.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from sklearn_halving import AdaptiveSearchCV
        >>> tree, grid = DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3]}
        >>> search = AdaptiveSearchCV(tree, grid, random_state=0).fit(*load_iris(return_X_y=True))
        >>> search.leaderboard()[["rank", "n_fits", "status", "max_depth"]]
           rank  n_fits                  status max_depth
        0     1       5                  chosen         3
        1     2       5                                 2
        2     3       2  dropped after 2 splits         1
        """
        self._require_results()
        row = getattr(self, "best_index_", None)
        return make_leaderboard(self._results, row)

    def summary(self) -> Summary:
        """Return a summary of the search and its results, to print or for programs.

        Returns
        -------
        summary : object
            Its text has about twelve lines: what was searched; what was spent; your estimator as
            it is against the winner, on common splits, if it is a candidate; why the search
            ended; if candidates were created in it, when the best was found and what the last
            half gained; the best candidates; failed fits; and advice on the ranges. Except for
            the times, the text is the same for the same search.

            Each line is also an attribute with its figures, such as ``summary.gained.gain``,
            ``summary.spent.seconds`` and ``summary.failures.n_fits``. ``summary.to_dict()``
            returns all of them as dicts, lists and numbers, for ``json.dumps`` and, one row for
            a search, ``pd.json_normalize``.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no results yet. After Ctrl-C, results are available.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn_halving import VarianceHalvingSearchCV
        >>> logistic = LogisticRegression(max_iter=1000)
        >>> search = VarianceHalvingSearchCV(logistic, {"C": [0.1, 1, 10]}, random_state=0)
        >>> summary = search.fit(*load_iris(return_X_y=True)).summary()
        >>> print(summary)  # doctest: +ELLIPSIS
        VarianceHalvingSearchCV of LogisticRegression(max_iter=1000)
          searched   3 candidates
          spent      15 fits; ...
          ...
        >>> summary.spent.n_fits, summary.best[0]["params"]
        (15, {'C': 1})
        """
        self._require_results()
        return Summarizer(self, self._results, self.leaderboard()).summary()

    def _require_results(self) -> None:
        """Raise if there are no results yet."""
        if not (hasattr(self, "_results") and hasattr(self, "cv_results_")):
            raise NotFittedError(
                f"This {type(self).__name__} has no results to summarize yet. Call fit first."
            )

    def _html_repr(self) -> str:  # a private name, see `_unstable_imports`
        """Return scikit-learn's diagram, and the results if there are any."""
        diagram: str = estimator_html_repr(self)
        try:
            return search_html(diagram, self.summary(), self.leaderboard())
        except Exception:  # noqa: BLE001 - not fitted, or a user has changed the results
            return diagram

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether ``fit`` has finished, including the refit if there is one.

        If the search was stopped before the refit, raise an error that says so, because "not
        fitted yet" would be misleading.
        """
        if not hasattr(self, "cv_results_"):
            return False
        if self.refit and not hasattr(self, "best_estimator_"):
            stopped_by, name = getattr(self, "stopped_by_", ""), type(self).__name__
            has_choice, goes_on = hasattr(self, "best_params_"), self._keeps_fits
            message = failures.no_refit_message(name, stopped_by, has_choice, goes_on)
            raise NotFittedError(message)
        return True

    @property
    def _keeps_fits(self) -> bool:
        """Whether the next call of `fit` reuses the fits of this one."""
        return self.checkpoint is not None or self.warm_start

    def _save_results(self, run: Run, error: BaseException) -> None:
        """Set the results of the pulls before an error. Further errors must not hide it."""
        end = run.end("interrupt" if isinstance(error, KeyboardInterrupt) else "error")
        if isinstance(error, ConnectionError) and self._keeps_fits:
            error.add_note(RESUME)  # the cluster was lost
        try:
            self._tabulate(run, end)
            if run.outcomes:
                with suppress(ValueError):  # no candidate has a score yet
                    self._choose(run)
            if isinstance(error, KeyboardInterrupt) and not error.args:
                error.args = (run.stopped_message(end),)
        except Exception as another:  # noqa: BLE001 - for example, errors of a user's policy
            error.add_note(f"The results of the finished fits could not be set: {another!r}")

    def _tabulate(self, run: Run, end: End) -> None:
        """Set the attributes with the results of the pulls, even if the search was aborted."""
        outcomes = run.outcomes
        self.stopped_by_ = end.reason
        if not outcomes:
            return
        self._fits = Fits.of(run)
        self.n_fits_ = len(outcomes)
        self.multimetric_ = any(isinstance(o.test_scores, dict) for o in outcomes)
        n_known = run.setup.splits.n_repetitions
        n_used = 1 + max(outcome.pull.repetition for outcome in outcomes)
        self.n_splits_ = n_used if n_known is None else n_known
        # Scores may be near 1e300, whose variances overflow.
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            self._results = make_results(run, self._fits, end)
        hidden = STATISTICS if run.plan.has_rungs else ()  # only the columns of GridSearchCV
        table = self._results.cv_results.items()
        self.cv_results_ = {name: column for name, column in table if not name.startswith(hidden)}
        if "n_fits" in vars(self):
            most = run.plan.max_pulls
            self.n_fits_left_ = None if most is None else most - len(outcomes)
        if (belief := self._results.verdict.belief) is not None:
            self.regret_bounds_ = belief.regret_bounds
        self.n_resources_spent_ = self._fits.n_resources_spent
        self.full_fits_ = self._fits.full_fits

    def _report(self, run: Run, end: End) -> None:
        """Warn about failures; raise if there are no outcomes."""
        if not run.outcomes:
            raise ValueError(f"{run.policy!r} ended before the first fit. Use another policy.")
        failures.report_failures(run.task, run.outcomes)
        failures.report_broken_splits(run)
        failures.report_lost_models(run.log.lost_models)
        failures.report_non_finite(self.cv_results_)
        if not run.plan.has_rungs:
            report_doubt(run)
        if callable(self.refit):
            failures.report_few_finalists(self._results, self.n_splits_)
        if end.reason == "time_budget":
            limit, plan = run.prices.deadline - run.prices.began, run.plan
            few = failures.few_full_fits_message(run.task, run.outcomes, limit, run.n_workers)
            if few or not (plan.uses_time or plan.is_endless):
                warn_user(few or run.stopped_message(end))
        elif end.reason != "policy":
            warn_user(run.stopped_message(end))

    def _choose(self, run: Run) -> None:
        """Set ``best_*`` in the same cases as GridSearchCV."""
        refit_metric = run.setup.inputs.refit_metric
        if callable(self.scoring) and self.multimetric_:
            check_refit_metric(self, run.log.metrics)
            refit_metric = self.refit
        if not self.refit and self.multimetric_:
            return
        if callable(self.refit):
            index = self._results.verdict.finalists
            table = take_rows(self.cv_results_, index)
            self.best_index_ = int(index[select_best_index(self, refit_metric, table)])
        else:
            self.best_index_ = self._results.chosen_row()
            self.best_score_ = self.cv_results_[f"mean_test_{refit_metric}"][self.best_index_]
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        if (probability := self._results.cv_results.get("probability_best")) is not None:
            self.best_probability_ = float(probability[self.best_index_])

    def _refit_best(self, run: Run, callbacks: CallbackTree, n_threads: int | None) -> None:
        """Train the best candidate on all rows, with the resource of its row.

        With a time budget, it has the threads of a fit: its time is then known.
        """
        if not self.refit or not run.outcomes:
            return
        task, inputs, rows = run.task, run.setup.inputs, self._results.rows
        arm, level = (int(column[self.best_index_]) for column in (rows.arm, rows.level))
        if self._results.end.reason != "policy":  # perhaps before any full fit
            level = task.max_level
            self.best_params_ = self.best_params_ | task.resource.params_at(level)
        # Parameters are rescaled to the data of the refit.
        n_rows = num_samples(task.X)
        n_threads = None if run.prices.deadline == inf else n_threads
        model = arm_estimator(
            task,
            task.candidates[arm],
            n_rows if task.resource.subsamples_rows else level,
            Fold(np.arange(n_rows), np.arange(0)),
        )
        level, fit_params = fix_rounds_of_winner(model, task, run.outcomes, (arm, level))
        with callbacks.refit(model), limited_threads(model, n_threads):
            start = time.time()
            # Set when it is fitted: a refit that fails, or that a signal ends, leaves no model.
            self.best_estimator_ = task.resource.train(
                model, inputs.X, inputs.y, level, 0, fit_params
            )
            self.refit_time_ = time.time() - start
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_

    def _forget(self) -> None:
        """Remove the results of an earlier fit, so that an aborted fit does not show them."""
        for name in list(vars(self)):
            if name in ("_fits", "_results") or (name[-1] == "_" and name[0] != "_"):
                delattr(self, name)
