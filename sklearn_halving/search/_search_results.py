"""Fitted attributes of a search: the table, the history, the best candidate and the refit."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr

from sklearn_halving._typing import CvResults, Estimator, Params
from sklearn_halving._unstable_imports import (
    BaseSearchCV,
    check_refit_metric,
    named_scorers,
    num_samples,
    one_blas_thread,
    select_best_index,
)
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.execution._evaluation import arm_estimator
from sklearn_halving.execution._types import EvaluationTask, Outcome
from sklearn_halving.policies._arrays import FloatArray
from sklearn_halving.policies._types import NO_ARM, Belief, Pull
from sklearn_halving.policies.bases._base_policy import name_of
from sklearn_halving.policies.bases._parameter_checks import is_outside
from sklearn_halving.resources._boosters import fix_rounds
from sklearn_halving.resources._of_parameter import is_number_of_rounds
from sklearn_halving.search._formatting import score_text
from sklearn_halving.search._run import Run
from sklearn_halving.search.preparing._space import first_of_each
from sklearn_halving.search.reporting._statistics import (
    ChoiceStatistics,
    Overlap,
    add_standard_errors,
)
from sklearn_halving.search.reporting._summary import Findings, search_html, summary_text
from sklearn_halving.search.reporting._tables import (
    ResultRows,
    finalists,
    make_cv_results,
    make_history,
    pulled_means,
    ranks,
    result_rows,
    take_rows,
    without_sparse_splits,
)
from sklearn_halving.search.watching import _failures as failures
from sklearn_halving.search.watching._callbacks import CallbackTree
from sklearn_halving.search.watching._progress import Progress, ProgressReport

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ResultTable:
    """The results of a search, computed from its outcomes."""

    cv_results: CvResults
    """The attribute ``cv_results_``."""
    statistics: ChoiceStatistics | None = None
    """Statistics of the choice, from scores; None if the choice is that of a model."""
    belief: Belief | None = None
    """What a policy with a model believes; None for other policies."""

    def of_choice(self, row: int, metric: str) -> dict[str, float]:
        """Return the attributes that describe the choice of a row; NaN without any score."""
        if self.statistics is None:
            has_score = not np.isnan(self.cv_results[f"mean_test_{metric}"]).all()
            mean = float(self.cv_results["posterior_mean"][row])
            return {"best_corrected_score_": mean if has_score else np.nan}
        found = {
            "best_probability_": float(self.statistics.probability_best()[row]),
            "best_regret_": self.statistics.regret(row),
            "best_corrected_score_": self.statistics.corrected_score(row),
        }
        has_score = not np.isnan(self.statistics.mean[row])
        return found if has_score else dict.fromkeys(found, np.nan)


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
    statistics = ChoiceStatistics.of(results, metric, rows.level, overlap)
    results["probability_best"] = statistics.probability_best()
    is_winner = rows.arm == run.best_arm
    if (results[f"rank_test_{metric}"][is_winner] != 1).any():
        # The policy may choose another candidate, for example if it ignores earlier stages.
        of_all = results[f"mean_test_{metric}"]
        group = np.where(is_winner, rows.rank_group.max() + 1, rows.rank_group)
        results[f"rank_test_{metric}"] = ranks(of_all, group)
    return ResultTable(results, statistics)


def _of_belief(run: Run, rows: ResultRows, belief: Belief) -> ResultTable:
    """Return one row for each candidate, ranked by what the policy believes.

    Candidates that arrived after the model was left have NaN, and the ranks of their scores.
    """
    if run.prepared.plan.problem.n_arms > len(belief.mean):
        table = _without_brackets(run, rows)
        table.cv_results.update(_belief_columns(rows, belief))
        return replace(table, belief=belief)
    results, _ = _with_errors(run, rows)
    results.update(_belief_columns(rows, belief))
    alive = run.prepared.policy.is_alive(run.state)[rows.arm]
    score: FloatArray = results["posterior_mean"].copy()
    score[~alive] = results[f"mean_test_{run.metric}"][~alive]
    is_winner = (rows.arm == run.best_arm).astype(np.int64)
    results[f"rank_test_{run.metric}"] = ranks(score, is_winner)
    return ResultTable(results, belief=belief)


def _belief_columns(rows: ResultRows, belief: Belief) -> dict[str, FloatArray]:
    named = {
        "posterior_mean": belief.mean,
        "posterior_sd": belief.deviation,
        "lower_bound": belief.lower,
        "upper_bound": belief.upper,
    }
    is_known, columns = rows.arm < len(belief.mean), {}
    for name, values in named.items():
        columns[name] = np.full(len(rows), np.nan)
        columns[name][is_known] = values[rows.arm[is_known]]
    return columns


REFIT = 2**31 - 1
"""Used instead of a repetition in the seed of the refit, which uses all rows."""


class SearchResults(BaseSearchCV):
    """Sets and shows the results of the pulls."""

    @property
    def history_(self) -> pd.DataFrame:
        """One row for each pull, in the order in which the pulls returned.

        Columns: ``candidate``; ``bracket``, ``loop`` and ``rung`` if there are brackets, ``stage``
        if there are stages; ``n_resources`` if there is a resource; ``split``; ``started`` and
        ``ended`` (start of training and end of scoring, in seconds since the first fit began);
        ``fit_time`` and ``score_time`` (in seconds); ``continued_from`` (resource of the model
        that was trained further, or 0 for a fit from scratch); ``n_train`` and ``n_test``;
        ``failed``; ``outcome`` (``"ok"``, ``"failed"``, ``"scorer_failed"``, ``"timeout"``,
        ``"memory"`` or ``"lost"``); ``error`` (the traceback, missing if there was no error); and
        a column for each score.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from sklearn_halving import HyperbandSearchCV
        >>> X, y = load_wine(return_X_y=True)
        >>> tree, grid = DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3, 4]}
        >>> search = HyperbandSearchCV(tree, grid, n_candidates=4, cv=3, random_state=0)
        >>> history = search.fit(X, y).history_
        >>> len(history) == search.n_fits_, set(history["outcome"])
        (True, {'ok'})
        """
        if not hasattr(self, "_record"):
            name = type(self).__name__
            raise AttributeError(f"This {name} is not fitted yet, so it has no history_.")
        return make_history(self._record)

    @property
    def progress_(self) -> ProgressReport:
        """The state of a search while it runs, which callbacks of scikit-learn can read."""
        if "_progress" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has progress_ only while fit runs.")
        return self._progress.report()

    @contextmanager
    def _showing(self, progress: Progress) -> Iterator[None]:
        """Show the progress as ``progress_``."""
        self._progress = progress
        try:
            yield
        finally:
            del self._progress

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the progress, which stays in its process."""
        state: dict[str, object] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_progress"}

    def summary(self) -> str:
        """Return a summary of the search and its results as plain text.

        Returns
        -------
        summary : str
            Lines of at most 88 characters: the number of candidates and the cost, compared with a
            GridSearchCV of the same candidates; the reason for the end of the search; a line for
            each bracket or stage; the winner and the runner-up; and the failed fits. Except for
            the times, the text is the same for the same search.

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
        >>> print(search.fit(*load_iris(return_X_y=True)).summary())  # doctest: +ELLIPSIS
        VarianceHalvingSearchCV of LogisticRegression(max_iter=1000)
          searched ...
        """
        if not (hasattr(self, "_record") and hasattr(self, "cv_results_")):
            raise NotFittedError(
                f"This {type(self).__name__} has no results to summarize yet. Call fit first."
            )
        statistics = self._table.statistics
        found = Findings(
            self._record,
            self.cv_results_,
            row=getattr(self, "best_index_", None),
            steering=self.refit if isinstance(self.refit, str) else None,
            n_compared=0 if statistics is None else int(np.isfinite(statistics.mean).sum()),
            probability=getattr(self, "best_probability_", np.nan),
            regret=getattr(self, "best_regret_", np.nan),
            corrected_score=getattr(self, "best_corrected_score_", np.nan),
            refit_time=getattr(self, "refit_time_", None),
            lacks_model=bool(self.refit) and not hasattr(self, "best_estimator_"),
        )
        return summary_text(type(self).__name__, repr(self.estimator), found)

    def _html_repr(self) -> str:  # the name of `_unstable_imports.HTML_HOOK`
        """Return scikit-learn's diagram, and the summary if there are results."""
        diagram: str = estimator_html_repr(self)
        try:
            return search_html(diagram, self.summary())
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
            stopped_by, has_choice = (
                getattr(self, "stopped_by_", ""),
                hasattr(self, "best_params_"),
            )
            has_journal, name = self.checkpoint is not None, type(self).__name__
            raise NotFittedError(
                failures.no_refit_message(name, stopped_by, has_choice, has_journal)
            )
        return True

    def _save_results(self, run: Run, error: BaseException) -> None:
        """Set the results of the pulls before an error. Further errors must not hide it."""
        run.stopped_by = "interrupt" if isinstance(error, KeyboardInterrupt) else "error"
        if isinstance(error, ConnectionError) and self.checkpoint is not None:
            error.add_note(failures.RESUME)  # the cluster was lost
        try:
            self._tabulate(run)
            if run.outcomes:
                with suppress(ValueError):  # no candidate has a score yet
                    self._choose(run)
        except Exception as another:  # noqa: BLE001 - for example, errors of a user's policy
            error.add_note(f"The results of the finished fits could not be set: {another!r}")

    def _tabulate(self, run: Run) -> None:
        """Set the attributes with the results of the pulls, even if the search was aborted."""
        outcomes = run.outcomes
        self.stopped_by_ = run.stopped_by
        if not outcomes:
            return
        self._record = run.record(self.cv)
        self.n_fits_ = len(outcomes)
        self.multimetric_ = any(isinstance(o.test_scores, dict) for o in outcomes)
        n_known = run.prepared.setup.splits.n_repetitions
        n_used = 1 + max(outcome.pull.repetition for outcome in outcomes)
        self.n_splits_ = n_used if n_known is None else n_known
        stage_of_arm = run.prepared.policy.stage_of_arm(run.state)
        run.rows = result_rows(run.prepared.plan, outcomes, stage_of_arm)
        with one_blas_thread():
            self._table = make_result_table(run, run.rows)
        self.cv_results_ = without_sparse_splits(self._table.cv_results, n_known)
        if run.prepared.plan.schedule is None:
            most = run.prepared.plan.description.max_pulls
            self.n_fits_left_ = None if most is None else most - len(outcomes)
        if self._table.belief is not None:
            self.regret_bounds_ = self._table.belief.regret_bounds
        self.n_resources_spent_ = self._record.n_resources_spent
        self.scorer_ = named_scorers(run.task.scorer) or run.task.scorer

    def _report(self, run: Run) -> None:
        """Warn about failures; raise if there are no outcomes."""
        if not run.outcomes:
            n_candidates = len(run.task.candidates)
            raise ValueError(
                failures.no_fit_message(run.prepared.policy, n_candidates, run.budget)
            )
        failures.report_failures(run.task, run.outcomes)
        failures.report_lost_models(run.log.lost_models)
        failures.report_non_finite(self.cv_results_)
        if run.prepared.plan.schedule is None:
            report_doubt(run)
        if run.stopped_by == "policy":
            failures.report_abandoned(run.task, run.prepared.plan, run.outcomes)
        elif not (run.stopped_by == "time_budget" and run.prepared.plan.description.keeps_time):
            warn_user(run.stopped_message())

    def _write_end(self, run: Run, progress: Progress) -> None:
        """Write the last line of ``verbose``."""
        chosen = ""
        if hasattr(self, "best_index_"):
            name = f"mean_test_{run.metric}"
            score = score_text(self.cv_results_[name][self.best_index_])
            chosen = f"candidate {self.cv_results_['candidate'][self.best_index_]}, {name} {score}"
        progress.write_end(run.ended_by, chosen)

    def _best_arm(self, run: Run) -> int:
        """Return the policy's choice.

        If the search was stopped, return the top-ranked candidate instead if it has all its fits
        of a rung at the largest level, even if that rung is still open, or if the policy has no
        choice.
        """
        arm, rows = run.best_arm, cast(ResultRows, run.rows)
        if run.stopped_by == "policy":
            return arm
        first = int(self.cv_results_[f"rank_test_{run.metric}"].argmin())
        if not np.isfinite(self.cv_results_[f"mean_test_{run.metric}"][first]):
            return arm
        is_complete = rows.is_complete[first] and rows.level[first] == rows.level.max()
        return int(rows.arm[first]) if is_complete or arm == NO_ARM else arm

    def _choose(self, run: Run) -> None:
        """Set ``best_*`` in the same cases as GridSearchCV."""
        refit_metric = run.prepared.setup.inputs.refit_metric
        if callable(self.scoring) and self.multimetric_:
            metrics = [key[10:] for key in self.cv_results_ if key.startswith("mean_test_")]
            check_refit_metric(self, metrics)
            refit_metric = self.refit
        if not self.refit and self.multimetric_:
            return
        if callable(self.refit):
            index = finalists(self.cv_results_, cast(ResultRows, run.rows), run.best_arm)
            table = take_rows(self.cv_results_, index)
            self.best_index_ = int(index[select_best_index(self, refit_metric, table)])
        else:
            self.best_index_ = self._row_of(self._best_arm(run), run, str(refit_metric))
            self.best_score_ = self.cv_results_[f"mean_test_{refit_metric}"][self.best_index_]
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        for name, value in self._table.of_choice(self.best_index_, run.metric).items():
            setattr(self, name, value)

    def _row_of(self, arm: int, run: Run, metric: str) -> int:
        """Return the best row of the arm, or the first of the largest level if all are NaN."""
        results, rows = self.cv_results_, cast(ResultRows, run.rows)
        if arm == NO_ARM:
            was_broken_off = run.stopped_by in ("interrupt", "error")
            if was_broken_off or not np.isnan(results[f"mean_test_{metric}"]).all():
                has_rungs = run.prepared.plan.schedule is not None
                raise ValueError(failures.no_score_message(has_rungs=has_rungs))
            warn_user(failures.all_nan_message(metric, run.outcomes))
            is_fitted = results.get("n_fits", 1) > np.zeros(len(rows.level))
            return int(np.where(is_fitted, rows.level, 0).argmax())
        own = np.flatnonzero(rows.arm == arm)
        return int(own[results[f"rank_test_{metric}"][own].argmin()])

    def _refit_best(self, run: Run, callbacks: CallbackTree) -> None:
        """Train the best candidate on all rows, with the resource of its row."""
        if not self.refit or run.rows is None:
            return
        task, inputs = run.task, run.prepared.setup.inputs
        arm, level = (int(column[self.best_index_]) for column in (run.rows.arm, run.rows.level))
        if run.stopped_by == "time_budget":  # before a fit with all of the resource, perhaps
            level = task.max_level
            self.best_params_ = self.best_params_ | task.resource.params_at(level)
        # Parameters are rescaled to the data of the refit.
        of_data = num_samples(task.X) if task.resource.subsamples_rows else level
        self.best_estimator_ = arm_estimator(task, Pull(arm, of_data, REFIT))
        level, fit_params = _fix_rounds_of_winner(
            self.best_estimator_, task, run.outcomes, Pull(arm, level, REFIT)
        )
        with callbacks.refit(self.best_estimator_):
            start = time.time()
            self.best_estimator_ = task.resource.train(
                self.best_estimator_, inputs.X, inputs.y, level, 0, fit_params
            )
            self.refit_time_ = time.time() - start
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_

    def _forget(self) -> None:
        """Remove the results of an earlier fit, so that an aborted fit does not show them."""
        found = [n for n in vars(self) if n.endswith("_") and not n.startswith("_")]
        for name in [*found, *(n for n in ("_record", "_table") if n in vars(self))]:
            delattr(self, name)


def _fix_rounds_of_winner(
    estimator: Estimator, task: EvaluationTask, outcomes: Sequence[Outcome], pull: Pull
) -> tuple[int, Params]:
    """Set the number of rounds of a booster that stopped early; return level and fit parameters.

    It is the median number of rounds on all splits. The refit uses all rows, so that none are
    left to decide when to stop.
    """
    rounds = [
        outcome.n_rounds
        for outcome in outcomes
        if outcome.pull[:2] == pull[:2] and outcome.n_rounds is not None
    ]
    if not rounds:
        return pull.level, task.fit_params
    n_rounds = round(float(np.median(rounds)))
    counts_rounds = any(map(is_number_of_rounds, task.resource.params_at(pull.level)))
    level = n_rounds if counts_rounds else pull.level
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
