"""Warnings and errors about failed fits, missing scores, and searches that were stopped."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from sklearn.exceptions import FitFailedWarning

from sklearn_halving._typing import CvResults
from sklearn_halving.execution._types import EvaluationTask, Outcome
from sklearn_halving.policies._types import Policy, Pull
from sklearn_halving.search._formatting import counted
from sklearn_halving.search._user_warnings import warn_user
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.reporting._history import outcome_of

if TYPE_CHECKING:
    from sklearn_halving.search._search_results import SearchResults


class FitTypeError(ValueError, TypeError):
    """Every fit failed with a TypeError.

    It is also a ValueError, which GridSearchCV raises when every fit failed.
    """


MAX_NAMED = 5
"""Maximum number of errors in a message, and of candidates for each error."""
WAY_OUT = "If this does not happen with more of the resource, use a larger min_resources."
NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+(\.\d+)?([eE][-+]?\d+)?")
"""Numbers and memory addresses, which may differ between equal errors."""
SOURCE = re.compile(r'^(  File ".*", line )\d+(.*\n)(?: {4}.*\n)*', re.MULTILINE)
"""A frame of a traceback: place, number of the line and its text."""


def report_failures(
    task: EvaluationTask,
    outcomes: Sequence[Outcome],
    where: str = "With error_score='raise', the first error is raised where it occurs.",
    earlier: Container[Pull] = (),
) -> None:
    """Warn of failed fits, with their parameters. Raise an error if all fits failed.

    ``earlier`` has the pulls of earlier sessions, which are in the checkpoint.
    """
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    if not failed:
        return
    details = _details(task, failed, "fits failed")
    # Both messages begin with the words of GridSearchCV, which users' code may look for.
    if len(failed) == len(outcomes):
        causes = {_last_line(outcome.error).partition(":")[0] for outcome in failed}
        raise (FitTypeError if causes == {"TypeError"} else ValueError)(
            f"\nAll the {len(failed)} fits failed.\nIt is very likely that your model is "
            f"misconfigured. {where}{details}"
        )
    warn_user(
        f"\n{len(failed)} fits failed out of a total of {len(outcomes)}.\n"
        "The score on these train-test partitions for these parameters will be set to "
        f"{task.error_score}. {_when(failed, earlier)}{where}"
        f"{_hint(task, outcomes, failed)}{details}",
        FitFailedWarning,
    )


def report_failed_scores(
    task: EvaluationTask, outcomes: Sequence[Outcome], earlier: Container[Pull] = ()
) -> None:
    """Warn once of all scorers that failed, in the words of GridSearchCV."""
    failed = [outcome for outcome in outcomes if outcome.score_error is not None]
    if failed:
        warn_user(
            f"Scoring failed for {len(failed)} of {counted(len(outcomes), 'fit')}. The score on "
            "these train-test partitions for these parameters will be set to "
            f"{task.error_score}. {_when(failed, earlier)}With error_score='raise', the first "
            "error is raised where it occurs."
            f"{_hint(task, outcomes, failed)}{_details(task, failed, 'scores failed')}"
        )


def _when(failed: Sequence[Outcome], earlier: Container[Pull]) -> str:
    """Return how many of the failures are not new, because they are in the checkpoint."""
    n_old = sum(outcome.pull in earlier for outcome in failed)
    if n_old == 0:
        return ""
    how_many = "All" if n_old == len(failed) else f"{n_old:,}"
    return f"{how_many} of them are from an earlier session of this checkpoint. "


def _hint(task: EvaluationTask, outcomes: Sequence[Outcome], failed: Sequence[Outcome]) -> str:
    """Return what may help if errors only occurred in fits with little of the resource."""
    largest = max(outcome.pull.level for outcome in outcomes)
    groups = _by_error(failed)
    curable = [same for same in groups if _may_be_cured(same[0])]
    levels = [max(outcome.pull.level for outcome in same) for same in curable]
    small = [level for level in levels if level < largest]
    if not small:
        return ""
    amount = task.resource.to_amount(max(small))
    whose = "They" if len(small) == len(groups) else "Some of the errors"
    return f" {whose} only occurred with at most {task.resource.name}={amount}. {WAY_OUT}"


def _may_be_cured(failed: Outcome) -> bool:
    """Return whether more of the resource may avoid an error.

    It does not help a fit that takes too long or needs too much memory, nor an invalid parameter.
    """
    is_invalid = "InvalidParameterError" in _last_line(failed.error)
    return outcome_of(failed) in ("failed", "scorer_failed") and not is_invalid


def _details(task: EvaluationTask, failed: Sequence[Outcome], what: str) -> str:
    """Return the distinct errors, with the number of fits and the candidates of each."""
    shown, by_error = [], _by_error(failed)
    for same in by_error[:MAX_NAMED]:
        arms = list(dict.fromkeys(outcome.pull.arm for outcome in same))
        who = [f"candidate {arm}: {task.candidates[arm]}" for arm in arms[:MAX_NAMED]]
        if len(arms) > MAX_NAMED:
            who.append(f"and {counted(len(arms) - MAX_NAMED, 'more candidate')}")
        texts = {_error_of(outcome) for outcome in same}
        like = "the following error" if len(texts) == 1 else "this error, apart from numbers"
        shown.append(
            f"{'-' * 80}\n{len(same)} {what} with {like}:\n{_error_of(same[0])}"
            "with the parameters of\n" + "".join(f"{line}\n" for line in who)
        )
    if len(by_error) > MAX_NAMED:
        shown.append(f"{'-' * 80}\nand {counted(len(by_error) - MAX_NAMED, 'other error')}\n")
    errors = "\n".join(shown)
    return f"\n\nThe errors, and the candidates that caused them:\n{errors}"


def _by_error(failed: Sequence[Outcome]) -> list[list[Outcome]]:
    """Return the outcomes of each error.

    Errors are the same if they differ only in numbers, memory addresses, or the lines of the files
    in their tracebacks.
    """
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in failed:
        groups[NUMBER.sub("0", SOURCE.sub(r"\1\2", _error_of(outcome)))].append(outcome)
    return list(groups.values())


def _error_of(outcome: Outcome) -> str:
    return outcome.error or outcome.score_error or ""


def _last_line(error: str | None) -> str:
    return (error or "").strip().rpartition("\n")[2]


def report_abandoned(task: EvaluationTask, plan: SearchPlan, outcomes: Iterable[Outcome]) -> None:
    """Warn of brackets that ended because of NaN, and of rungs smaller than planned.

    There is a warning for each bracket that ended, and a single one for all smaller rungs.
    """
    arms: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for outcome in outcomes:
        arms[plan.path_of(outcome.pull)].add(outcome.pull.arm)
    narrowed, has_loops = [], plan.n_loops > 1
    for place, bracket in enumerate(plan.schedule.brackets if plan.schedule else ()):
        name = f"s={bracket.label}" + (f" of loop {bracket.loop}" if has_loops else "")
        for number, (rung, above) in enumerate(pairwise(bracket.rungs)):
            n_here, n_above = len(arms[place, number]), len(arms[place, number + 1])
            where = f"n_resources={task.resource.to_amount(rung.level)}"
            if n_above == 0:
                warn_user(
                    f"Bracket {name} was stopped, because all mean scores of its rung "
                    f"at {where} are NaN. {WAY_OUT}"
                )
                break
            # Only candidates with a mean score are kept: if they are too few, all of them.
            if n_above < min(n_here, above.n_arms):
                narrowed.append(
                    f"bracket {name} at {where}: {n_above} of {n_here} candidates "
                    f"have a mean score, {above.n_arms} were planned\n"
                )
    if narrowed:
        warn_user(
            "Some rungs had fewer candidates than planned, because candidates whose mean score is "
            f"NaN are eliminated. {WAY_OUT}\n{''.join(narrowed).rstrip()}"
        )


def report_lost_models(task: EvaluationTask, lost: list[str]) -> None:
    """Warn of fitted models that could not be sent between processes."""
    if lost:
        warn_user(
            f"{len(lost)} fitted models could not be trained further, because they cannot be sent "
            f"between processes ({lost[0]}). Their next fits started from scratch, which takes "
            "longer and may give other scores than n_jobs=1. Define the classes used in "
            f"{type(task.estimator).__name__} in a module that can be imported, not in the script."
        )


def report_non_finite(cv_results: CvResults) -> None:
    """Warn of mean scores that are not finite, unless the candidate was never fitted."""
    is_fitted = cv_results.get("n_fits", 1) > np.zeros(len(cv_results["params"]))
    for key, means in cv_results.items():
        if key.startswith(("mean_test_", "mean_train_")):
            n_bad = int(np.sum(is_fitted & ~np.isfinite(means)))
            if n_bad:
                # the words of GridSearchCV
                warn_user(
                    f"One or more of the {key.split('_')[1]} scores are non-finite: {n_bad} of "
                    f"{len(means)} in {key!r}."
                )


def all_nan_message(metric: str, outcomes: Sequence[Outcome]) -> str:
    """Return why every mean score is NaN, and what that means for the choice."""
    of_metric = "" if metric == "score" else f" of {metric}"
    return (
        f"Every mean score{of_metric} is NaN, so the first candidate is chosen: "
        f"{_causes(outcomes)}."
    )


def no_score_message(*, has_rungs: bool) -> str:
    """Return why no candidate can be chosen."""
    if has_rungs:
        return (
            "No candidate has a score with the largest resource, so none can be chosen. To choose "
            "from all rungs, use BanditSearchCV(policy=Hyperband(select='all_rungs'))."
        )
    return (
        "No candidate has a score in the metric that guides the search, so none can be "
        "chosen. See cv_results_ for the scores; refit names the metric."
    )


def _causes(outcomes: Sequence[Outcome]) -> str:
    """Return how many fits and scores failed, and the first error."""
    fits = [outcome.error for outcome in outcomes if outcome.error is not None]
    scores = [outcome.score_error for outcome in outcomes if outcome.score_error is not None]
    if not fits and not scores:
        return "the scorer returns NaN for this data"
    parts = [
        f"{len(errors)} of {len(outcomes)} {what} failed"
        for what, errors in (("fits", fits), ("scores", scores))
        if errors
    ]
    first = _last_line((fits or scores)[0])
    return (
        f"{' and '.join(parts)}, the first with {first}. With error_score='raise', the first "
        "error is raised where it occurs"
    )


def no_fit_message(policy: Policy, task: EvaluationTask, time_budget: str | None) -> str:
    """Return why a search ended before its first fit."""
    n_candidates = len(task.candidates)
    if time_budget is not None:
        return (
            f"{time_budget} must be enough for the first fit; none of {n_candidates} candidates "
            "was fitted in that time. Use a larger time_budget."
        )
    return (
        f"{policy!r} ended without a single fit for {n_candidates} candidates. Use more "
        "candidates, or another policy."
    )


def no_refit_message(search: SearchResults) -> str:
    """Return why a search with results has no model to predict with, and how to get one."""
    why = {
        "interrupt": "Ctrl-C was pressed before the best candidate was refitted",
        "error": "an error occurred before the best candidate was refitted",
    }.get(getattr(search, "stopped_by_", ""), "the refit failed, or refit was set after fit")
    way_out = ""
    if hasattr(search, "best_params_"):
        way_out = (
            "clone(search.estimator).set_params(**search.best_params_).fit(X, y) trains the best "
            "candidate so far. "
        )
    return (
        f"This {type(search).__name__} has results but no best_estimator_ to predict with: {why}. "
        f"{way_out}With a checkpoint, fit resumes the search."
    )


def stopped_message(
    task: EvaluationTask, outcomes: Sequence[Outcome], by: str, n_loops: int | None = None
) -> str:
    """Return what a search did before it was stopped, and what it did not do.

    ``n_loops`` is the number of loops that began if the time budget decides it, None otherwise.
    """
    n_fitted = len({outcome.pull.arm for outcome in outcomes})
    n_full = sum(outcome.pull.level == task.max_level for outcome in outcomes)
    fitted = f"{n_fitted:,} of {len(task.candidates):,} planned candidates were fitted"
    if n_loops is not None:
        fitted = (
            "The time budget decides how many loops are played: "
            f"{counted(n_loops, 'loop')} began, with {counted(n_fitted, 'candidate')}"
        )
    return (
        f"The search was stopped by {by} after {counted(len(outcomes), 'fit')}, "
        f"{n_full or 'none'} of them with the full resource. {fitted}, and the best of these is "
        "chosen. With a checkpoint, fit resumes the search."
    )
