"""Warnings and errors about failed fits, and about scores and models that are missing.

What score a failed fit gets is decided in `execution/_evaluation`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import FitFailedWarning

from sklearn_halving._formatting import counted, object_text, raised, seconds_text
from sklearn_halving._typing import CvResults
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.execution._types import EvaluationTask, Outcome
from sklearn_halving.search._run_state import RESUME, Run
from sklearn_halving.search.preparing._numbers import FITS_OF_GRID_SEARCH
from sklearn_halving.search.reporting._results import Results

FEW_FULL_FITS = 3
"""Warn if the budget cannot fit this many candidates in full."""
ENOUGH_FULL_FITS = 10
"""Number of full fits that a budget should have."""
MAX_ERRORS = 5
"""Maximum number of errors in a message."""
DEBUG = "you can try to debug them by setting error_score='raise'.\n"


class FitTypeError(ValueError, TypeError):
    """Every fit failed with a TypeError.

    It is also a ValueError, which GridSearchCV raises when every fit failed.
    """


def report_failures(task: EvaluationTask, outcomes: Sequence[Outcome]) -> None:
    """Warn of failed fits and scorers in the words of GridSearchCV; raise if all fits failed."""
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    if failed and len(failed) == len(outcomes):
        causes = {raised(outcome.problem or "").partition(":")[0] for outcome in failed}
        raise (FitTypeError if causes == {"TypeError"} else ValueError)(
            f"\nAll the {len(failed)} fits failed.\nIt is very likely that your model is "
            "misconfigured.\nYou can try to debug the error by setting error_score='raise'.\n\n"
            f"Below are more details about the failures:\n{_details(task, failed)}"
        )
    unscored = [outcome for outcome in outcomes if outcome.score_error is not None]
    fits = f"{len(failed)} fits failed out of a total of {len(outcomes)}.\nThe score"
    scores = f"Scoring failed for {len(unscored)} of {len(outcomes)} fits. The score"
    for head, own, category in (
        (f"\n{fits}", failed, FitFailedWarning),
        (scores, unscored, UserWarning),
    ):
        if own:
            warn_user(
                f"{head} on these train-test partitions for these parameters will be set to "
                f"{task.error_score}.\nIf these failures are not expected, {DEBUG}"
                "\nBelow are more details about the failures:\n"
                f"{_details(task, own)}",
                category,
            )
    if unscored and (hint := _missing_class(task, unscored[0].pull.repetition)):
        warn_user(hint)


def report_broken_splits(run: Run) -> None:
    """Warn of splits on which no candidate has a score, if one of them has it elsewhere."""
    task, telling = run.task, {split for _, split in run.telling}
    of_broken: dict[int, list[Outcome]] = defaultdict(list)
    for outcome in run.outcomes:
        if outcome.pull.repetition not in telling:
            of_broken[outcome.pull.repetition].append(outcome)
    working = {o.pull.arm for o in run.outcomes if not np.isnan(run.reward(o))}
    broken = {
        task.splits.number(repetition): own[0].problem
        for repetition, own in of_broken.items()
        if len(arms := {outcome.pull.arm for outcome in own}) > 1 and arms & working
    }
    if broken:
        numbers, error = sorted(broken), broken[min(broken)]
        what = f"Splits {', '.join(map(str, numbers))}" if numbers[1:] else f"Split {numbers[0]}"
        why = raised(error) if error else "the score is NaN"
        levels = {o.pull.level for o in run.outcomes} - {level for level, _ in run.telling}
        blind = " or ".join(str(task.resource.to_amount(k)) for k in sorted(levels))
        if levels:  # of rungs that are played on few splits
            blind = f" With {task.resource.name}={blind}, there are none: the first ones went on."
        warn_user(
            f"{what}: no candidate could be fitted and scored there ({why}). Candidates are "
            f"compared on the other splits.{blind}"
        )


def _missing_class(task: EvaluationTask, repetition: int) -> str:
    """Return what to do if a split lacks a class, which many scorers do not accept."""
    y = np.asarray(task.y)
    if not is_classifier(task.estimator) or y.ndim != 1:
        return ""
    fold = task.splits.fold(repetition)
    for rows, what in ((fold.train, "train"), (fold.test, "test")):
        if missing := np.setdiff1d(y, y[rows]).tolist():
            number = task.splits.number(repetition)
            return (
                f"Split {number} has no rows of class {missing[0]!r} to {what} with. Shuffle or "
                "stratify the splits, as cv=5 does; pool classes with few rows; or use a scorer "
                "that accepts this."
            )
    return ""


def _details(task: EvaluationTask, failed: Sequence[Outcome]) -> str:
    """Return an entry for each kind of error, which is a type and a message."""
    by_kind: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in failed:
        by_kind[raised(outcome.problem or "")].append(outcome)
    entries = []
    for same in list(by_kind.values())[:MAX_ERRORS]:
        arm, level = same[0].pull.arm, max(outcome.pull.level for outcome in same)
        what, where = "fits" if same[0].error else "scores", ""
        if level < task.max_level:
            where = f" with at most {task.resource.name}={task.resource.to_amount(level)}"
        entries.append(
            f"{'-' * 80}\n{len(same)} {what} failed{where} with the following error, the first "
            f"of candidate {arm}, {object_text(task.candidates[arm].params)}:\n{same[0].problem}"
        )
    if len(by_kind) > MAX_ERRORS:
        entries.append(f"and {counted(len(by_kind) - MAX_ERRORS, 'other error')}\n")
    return "\n".join(entries)


def few_full_fits_message(
    task: EvaluationTask, outcomes: Sequence[Outcome], limit: float, n_workers: int
) -> str:
    """Return that a time budget was too short to compare candidates in full; empty if not."""
    n_full = len({o.pull.arm for o in outcomes if o.pull.level == task.max_level})
    if n_full >= min(FEW_FULL_FITS, len(task.candidates)):
        return ""
    level = max(outcome.pull.level for outcome in outcomes)
    same = [o.seconds for o in outcomes if o.pull.level == level]
    seconds = float(np.mean(same)) * task.max_level / level
    # If fits are short, most of the time was lost, for example while the workers started.
    budget = max(seconds * ENOUGH_FULL_FITS / n_workers, 2 * limit)
    return (
        f"The time_budget was enough to fit {counted(n_full, 'candidate')} in full, too few to "
        f"compare. A full fit {'took' if n_full else 'takes about'} {seconds_text(seconds)}. "
        f"{ENOUGH_FULL_FITS} of them need a time_budget of {seconds_text(budget)}."
    )


def report_few_finalists(results: Results, n_splits: int) -> None:
    """Warn if a callable ``refit`` has no two candidates with enough splits to choose from."""
    rows = results.verdict.finalists
    n_scores = min(results.cv_results.get("n_fits", np.full(rows.max() + 1, n_splits))[rows])
    is_compared = len(rows) > 1 and n_scores >= min(n_splits, FITS_OF_GRID_SEARCH)
    if len(results.digests) > 1 and not is_compared:
        warn_user(
            f"refit could only choose from {counted(len(rows), 'candidate')}, on {n_scores} of "
            f"{n_splits} splits. With a larger budget, more candidates are fitted on all splits."
        )


def report_lost_models(lost: Sequence[str]) -> None:
    """Warn of fitted models that could not be sent between processes."""
    if lost:
        warn_user(
            f"{len(lost)} fitted models could not be trained further, because they cannot be sent "
            f"between processes ({lost[0]}). Their next fits started from scratch, which takes "
            "longer and may give other scores than n_jobs=1. Define the classes of the estimator "
            "in a module that can be imported, not in the script."
        )


def report_non_finite(cv_results: CvResults) -> None:
    """Warn of mean scores that are not finite, unless the candidate was never fitted."""
    is_fitted = cv_results.get("n_fits", 1) > np.zeros(len(cv_results["params"]))
    for key, means in cv_results.items():
        if key.startswith(("mean_test_", "mean_train_")):
            n_bad = int(np.sum(is_fitted & ~np.isfinite(means)))
            if n_bad:  # the words of GridSearchCV
                warn_user(
                    f"One or more of the {key.split('_')[1]} scores are non-finite: {n_bad} of "
                    f"{len(means)} in {key!r}."
                )


def no_refit_message(name: str, stopped_by: str, has_choice: bool, goes_on: bool) -> str:
    """Return why a search with results has no model to predict with, and how to get one."""
    causes = {"interrupt": "Ctrl-C was pressed", "error": "an error occurred"}
    before = "the best candidate was refitted" if has_choice else "a candidate had a score"
    why, way_out = "the refit failed or was stopped, or refit was set after fit", ""
    if stopped_by in causes:
        why = f"{causes[stopped_by]} before {before}"
    if stopped_by in causes and goes_on:
        way_out = f" {RESUME}"
    elif has_choice:
        way_out = (
            " clone(search.estimator).set_params(**search.best_params_).fit(X, y) trains the best "
            "candidate so far."
        )
    return f"This {name} has results but no best_estimator_ to predict with: {why}.{way_out}"
