"""What a search says of fits that failed and of rungs that told it nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.exceptions import FitFailedWarning

from sklearn_halving.execution._types import EvaluationTask, Outcome
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.watching._user_warnings import warn_user

MAX_NAMED = 5
"""How many errors a message shows, and how many candidates it names for each."""


def report_failures(task: EvaluationTask, outcomes: Iterable[Outcome]) -> None:
    """Warn of failed fits, with their parameters; raise if all failed."""
    outcomes = list(outcomes)
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    if not failed:
        return
    details = _details(task, failed)
    if len(failed) == len(outcomes):
        raise ValueError(
            f"\nAll the {len(outcomes)} fits failed.\nMost likely your model is misconfigured; "
            "with error_score='raise' the first error is raised where it happens.\n\n"
            f"The errors, and which candidates met them:\n{details}"
        )
    warn_user(
        f"\n{len(failed)} fits failed out of a total of {len(outcomes)}.\n"
        # the words of GridSearchCV, which code that looks for them must find
        "The score on these train-test partitions for these parameters will be set to "
        f"{task.error_score}. With error_score='raise' the first error is raised where it "
        "happens.\n\n"
        f"The errors, and which candidates met them:\n{details}",
        FitFailedWarning,
    )


def _details(task: EvaluationTask, failed: list[Outcome]) -> str:
    by_error: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in failed:
        by_error[outcome.error or ""].append(outcome)
    shown = [
        f"{'-' * 80}\n{len(group)} fits failed with the following error:\n{error}"
        f"{_who(task, group)}"
        for error, group in list(by_error.items())[:MAX_NAMED]
    ]
    if len(by_error) > MAX_NAMED:
        shown.append(f"{'-' * 80}\nand {len(by_error) - MAX_NAMED} other errors\n")
    return "\n".join(shown)


def _who(task: EvaluationTask, group: list[Outcome]) -> str:
    arms = list(dict.fromkeys(outcome.pull.arm for outcome in group))
    lines = [f"candidate {arm}: {task.candidates[arm]}" for arm in arms[:MAX_NAMED]]
    if len(arms) > MAX_NAMED:
        lines.append(f"and {len(arms) - MAX_NAMED} more candidates")
    return "with the parameters of\n" + "\n".join(lines) + "\n"


def report_abandoned(task: EvaluationTask, plan: SearchPlan, outcomes: Iterable[Outcome]) -> None:
    """Warn of brackets that NaN stopped, and of rungs that it left narrower than planned.

    A stop is told in a warning of its own; all rungs that were narrower are told in one.
    """
    arms: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for outcome in outcomes:
        arms[plan.path_of(outcome.pull)].add(outcome.pull.arm)
    narrowed = []
    for place, bracket in enumerate(plan.schedule.brackets if plan.schedule else ()):
        for number, (rung, above) in enumerate(pairwise(bracket.rungs)):
            n_here, n_above = len(arms[place, number]), len(arms[place, number + 1])
            where = f"n_resources={task.resource.to_amount(rung.level)}"
            if n_above == 0:
                warn_user(
                    f"Bracket s={bracket.label} was stopped: all mean scores of its rung at "
                    f"{where} are NaN, and nothing speaks for any of its candidates. A larger "
                    "min_resources may help."
                )
                break
            # Only those with a mean go on, so where they are fewer than planned they are all.
            if n_above < min(n_here, above.n_arms):
                narrowed.append(
                    f"bracket s={bracket.label} at {where}: {n_above} of {n_here} candidates "
                    f"have a mean score, {above.n_arms} were to go on"
                )
    if narrowed:
        warn_user(
            "Rungs had fewer candidates than planned, since none goes on whose mean score is "
            "NaN. A larger min_resources may help.\n" + "\n".join(narrowed)
        )


def report_lost_models(task: EvaluationTask, lost: list[str]) -> None:
    """Warn of fitted models that could not be sent between processes."""
    if lost:
        warn_user(
            f"{len(lost)} fitted models could not go on from rung to rung, since they cannot be "
            f"sent between processes ({lost[0]}). Their next fits were from scratch, which takes "
            "longer, and may give other scores than n_jobs=1 does. Define the classes that "
            f"{type(task.estimator).__name__} holds in a module that can be imported, not in the "
            "script itself."
        )


def report_non_finite(cv_results: dict[str, Any]) -> None:
    """Warn of means that are not finite numbers, in the words of GridSearchCV.

    Candidates that were never fitted have none, and are nothing to be warned of.
    """
    n_pulls = cv_results.get("n_pulls")
    for key, means in cv_results.items():
        if not key.startswith(("mean_test_", "mean_train_")):
            continue
        is_bad = ~np.isfinite(means)
        if n_pulls is not None:
            is_bad &= n_pulls > 0
        if is_bad.any():
            warn_user(
                f"One or more of the {key.split('_')[1]} scores are non-finite: {is_bad.sum()} "
                f"of {len(means)} in {key!r}."
            )


def _causes(outcomes: list[Outcome]) -> str:
    """Say how many fits and scores failed, and the first error."""
    fits = [outcome.error for outcome in outcomes if outcome.error is not None]
    scores = [outcome.score_error for outcome in outcomes if outcome.score_error is not None]
    if not fits and not scores:
        return "the scorer gives NaN for this data"
    parts = [
        f"{len(errors)} of {len(outcomes)} {what} failed"
        for what, errors in (("fits", fits), ("scores", scores))
        if errors
    ]
    first = (fits or scores)[0].strip().rpartition("\n")[2]
    return f"{' and '.join(parts)}, the first with {first}"


def no_score_message(
    cv_results: dict[str, Any], select: str | None, outcomes: list[Outcome]
) -> str:
    """Say that no candidate can be chosen, and what to look at."""
    means = [v for key, v in cv_results.items() if key.startswith("mean_test_")]
    if all(np.isnan(values).all() for values in means):
        return (
            "Every mean score is NaN, and no candidate can be chosen: "
            f"{_causes(outcomes)}. error_score='raise' raises the first error where it happens."
        )
    if select is None:
        return (
            "No candidate has a score that is a number in the metric that steers the search, and "
            "none can be chosen. cv_results_ has the scores; refit names the metric."
        )
    return (
        f"No candidate has a score that is a number where select={select!r} looks for the best, "
        "and none can be chosen. cv_results_ has the scores; a larger min_resources or "
        "select='all_rungs' may help."
    )


def no_fit_message(policy: Any, task: EvaluationTask, time_budget: float | None) -> str:
    """Say that a search ended before its first fit."""
    n_candidates = len(task.candidates)
    if time_budget is not None:
        return (
            f"time_budget={time_budget} seconds must be enough for the first fit; got none of "
            f"{n_candidates} candidates fitted in that time. Give it more."
        )
    return (
        f"{policy!r} ended without a single fit for {n_candidates} candidates. Give it more "
        "candidates, or another policy."
    )


def no_refit_message(search: Any) -> str:
    """Say why a search with results has no model to predict with, and how to get one."""
    why = {
        "interrupt": "Ctrl-C ended it before the best candidate was refitted",
        "error": "an exception ended it before the best candidate was refitted",
    }.get(getattr(search, "stopped_by_", ""), "the refit failed, or refit was set after fit")
    way_out = "With a checkpoint, fit goes on from there."
    if hasattr(search, "best_params_"):
        way_out = (
            "clone(search.estimator).set_params(**search.best_params_).fit(X, y) trains the best "
            "candidate so far; with refit_on_interrupt=True, Ctrl-C does. With a checkpoint, fit "
            "goes on from there."
        )
    return (
        f"This {type(search).__name__} has results but no best_estimator_ to predict with: {why}. "
        f"{way_out}"
    )


def stopped_message(task: EvaluationTask, outcomes: list[Outcome], by: str) -> str:
    """Say what a search that was stopped did, and what it did not do."""
    n_candidates = len(task.candidates)
    n_fitted = len({outcome.pull.arm for outcome in outcomes})
    top = sum(outcome.pull.level == task.max_level for outcome in outcomes)
    return (
        f"The search was stopped by {by} after {len(outcomes)} fits, {top} of them with all of "
        f"the resource; {n_candidates - n_fitted} of {n_candidates} candidates were not fitted "
        "at all. The best is that of these fits. With a checkpoint, fit goes on from here."
    )
