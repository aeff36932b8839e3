"""The evaluation of one pull: select the rows, fit or continue training, and score."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from itertools import pairwise
from traceback import format_exc
from typing import TypeGuard

import numpy as np
from sklearn.base import clone

from sklearn_halving._typing import Estimator, Params
from sklearn_halving._unstable_imports import (
    method_params,
    num_samples,
    propagated_callbacks,
    safe_split,
)
from sklearn_halving.execution._scoring import Part, failed_scores, scores_of
from sklearn_halving.execution._train_test_rows import Rows
from sklearn_halving.execution._types import EvaluationTask, Job, Landing, Outcome, Scores
from sklearn_halving.execution.workers._messages import end_message, start_message, write_line
from sklearn_halving.policies._types import Pull
from sklearn_halving.resources._early_stopping import evaluated_on, rounds_found, stops_early

IMMUTABLE = (int, float, str, bool, type(None), np.generic)


def evaluate(task: EvaluationTask, job: Job) -> Landing:
    """Fit and score one pull; return its outcome, and its model if it may be trained further.

    If the fit fails, the scores are those of `failed_scores`.
    """
    pull = job.pull
    fold = task.splits.fold(pull.repetition)
    rows = fold.train_rows(pull.level)
    if task.verbose > 9:
        write_line(start_message(task, pull))
    estimator: Estimator = job.model if job.model is not None else arm_estimator(task, pull)
    fit_rows, held_out = _hold_out(task, pull, estimator, rows)
    train = _part(task, estimator, fit_rows, None, task.fit_params)
    started, clock = time.time(), time.perf_counter()
    estimator, error, stop = _train(task, job, estimator, train, held_out)
    fitted = time.perf_counter()
    train_scores: Scores | None = None
    score_errors: list[str] = []
    if error is not None:
        test_scores = failed_scores(task)
        train_scores = failed_scores(task) if task.return_train_score else None
    else:
        test = _part(task, estimator, fold.test, rows, task.score_params)
        test_scores = scores_of(task, estimator, test, score_errors)
        if task.return_train_score:
            score_params = method_params(task.X, params=task.score_params, indices=fit_rows)
            train = replace(train, params=score_params)
            train_scores = scores_of(task, estimator, train, score_errors)
    outcome = Outcome(
        pull,
        test_scores,
        train_scores,
        started,
        fit_seconds=fitted - clock,
        score_seconds=time.perf_counter() - fitted if error is None else 0.0,
        n_train=len(rows),
        n_test=len(fold.test),
        previous_level=job.previous_level,
        error=error,
        score_error=score_errors[0] if score_errors else None,
        n_rounds=rounds_found(estimator) if held_out is not None and error is None else None,
    )
    if task.verbose > 1:
        write_line(end_message(task, outcome))
    keep = (
        job.keep_model
        and error is None
        and held_out is None  # training that stopped early must not start to wait again
        and task.rescaling is None  # continued training cannot change the parameters
        and task.resource.can_continue(estimator)
    )
    return Landing(outcome, estimator if keep else None, stop)


def failed_landing(
    task: EvaluationTask, job: Job, error: str, started: float, seconds: float
) -> Landing:
    """Return the landing of a pull that timed out or killed its process."""
    fold = task.splits.fold(job.pull.repetition)
    outcome = Outcome(
        job.pull,
        failed_scores(task),
        failed_scores(task) if task.return_train_score else None,
        started,
        fit_seconds=seconds,
        score_seconds=0.0,
        n_train=len(fold.train_rows(job.pull.level)),
        n_test=len(fold.test),
        previous_level=job.previous_level,
        error=error,
    )
    if task.verbose > 1:
        write_line(end_message(task, outcome))
    return Landing(outcome)


def arm_estimator(task: EvaluationTask, pull: Pull) -> Estimator:
    """Return an unfitted estimator with the parameters of the arm, rescaled to the level."""
    params = task.candidates[pull.arm]
    estimator: Estimator = clone(task.estimator)
    if not params and task.rescaling is None and task.seed is None:
        return estimator
    # Parameters are cloned too, because they may be estimators and fits must not share them.
    params = {
        name: value if isinstance(value, IMMUTABLE) else clone(value, safe=False)
        for name, value in params.items()
    }
    if params:
        estimator.set_params(**params)
    if task.rescaling is not None:
        rescaled = rescaled_params(task, estimator, pull)
        if rescaled:
            estimator.set_params(**rescaled)
    if task.seed is not None:
        seed_random_states(estimator, task.seed, (pull.arm, pull.repetition))
    return estimator


def rescaled_params(task: EvaluationTask, estimator: Estimator, pull: Pull) -> Params:
    """Return the parameters that depend on the level, with their values at this level."""
    amount = task.resource.to_amount(pull.level)
    max_amount = task.resource.to_amount(task.max_level)
    rescaled: Params = task.rescaling.apply(
        task.candidates[pull.arm], estimator, amount, max_amount
    )
    return rescaled


def seed_random_states(
    estimator: Estimator, seed: np.random.SeedSequence, spawn_key: tuple[int, ...]
) -> None:
    """Set every ``random_state`` that is None to a number that depends only on the key."""
    unset = sorted(
        name
        for name, value in estimator.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    )
    if unset:
        stream = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *spawn_key))
        numbers = stream.generate_state(len(unset)) >> 1
        estimator.set_params(**dict(zip(unset, numbers.tolist(), strict=True)))


def _part(
    task: EvaluationTask, estimator: Estimator, rows: Rows, train_rows: Rows | None, params: Params
) -> Part:
    """Select rows of the data and of the parameters that have one entry per row."""
    X, y = task.X, task.y
    if _is_plain(X) and (y is None or type(y) is np.ndarray):
        X, y = X[rows], None if y is None else y[rows]
    else:
        X, y = safe_split(estimator, X, y, rows, train_rows)
    return Part(X, y, method_params(task.X, params=params, indices=rows) if params else {})


def _hold_out(
    task: EvaluationTask, pull: Pull, estimator: Estimator, rows: Rows
) -> tuple[Rows, Part | None]:
    """Return the rows to fit on, and the part on which early stopping is evaluated, if any."""
    if task.held_out is None or not stops_early(estimator, task.fit_params):
        return rows, None
    fit_rows, held_out = task.held_out.cut(pull.repetition, rows)
    if len(held_out) == 0:
        return rows, None
    return fit_rows, _part(task, estimator, held_out, fit_rows, task.fit_params)


def _is_plain(X: object) -> TypeGuard[np.ndarray]:
    """Return whether indexing selects the rows. A square array may be a precomputed kernel."""
    return type(X) is np.ndarray and not (X.ndim == 2 and X.shape[0] == X.shape[1])


def _train(
    task: EvaluationTask, job: Job, estimator: Estimator, part: Part, held_out: Part | None
) -> tuple[Estimator, str | None, bool]:
    """Train up to the level of the pull.

    Return the model, the traceback of a failure, and whether a callback wants to stop.
    """
    context, error, stop = job.context, None, False
    data = {"X": part.X, "y": part.y, "metadata": _weights(part.params)}
    try:
        with ExitStack() as stack:
            stack.enter_context(propagated_callbacks(context, estimator))
            rows = (job.pull.repetition, num_samples(part.X), held_out is not None)
            stack.enter_context(_step_memory(task, job, estimator, rows))
            if held_out is not None:
                stack.enter_context(_evaluated_on(estimator, held_out))
            if context is not None:
                context.call_on_fit_task_begin(estimator=task.caller, **data)
            # A resource may return a different object.
            levels = (job.previous_level, *job.levels, job.pull.level)
            for previous_level, level in pairwise(levels):
                estimator = task.resource.train(
                    estimator, part.X, part.y, level, previous_level, part.params
                )
    except Exception:
        if task.error_score == "raise":
            raise
        error = format_exc()
    finally:
        if context is not None:
            stop = bool(context.call_on_fit_task_end(estimator=task.caller, **data))
    return estimator, error, stop


def _evaluated_on(estimator: Estimator, held_out: Part) -> AbstractContextManager[None]:
    weights = [v for name, v in held_out.params.items() if name.endswith("sample_weight")]
    return evaluated_on(estimator, held_out.X, held_out.y, weights[0] if weights else None)


def _step_memory(
    task: EvaluationTask, job: Job, estimator: Estimator, rows: tuple[object, ...]
) -> AbstractContextManager[None]:
    """Return a context in which steps of a pipeline that have been fitted are not fitted again."""
    # Callbacks follow the fit of every step.
    if task.step_cache is None or job.model is not None or job.context is not None:
        return nullcontext()
    return task.step_cache.memory_of(estimator, rows)


def _weights(params: Params) -> Params | None:
    weights = params.get("sample_weight")
    return None if weights is None else {"sample_weight": weights}
