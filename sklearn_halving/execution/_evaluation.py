"""The evaluation of one pull: select the rows, fit or continue training, and score.

A fit that fails gets its score here. What follows from it is decided by the policy.
"""

from __future__ import annotations

import reprlib
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from itertools import pairwise
from numbers import Number
from traceback import format_exc
from typing import Any, cast

import numpy as np
from joblib.logger import short_format_time
from sklearn.base import clone

from sklearn_halving._formatting import object_text, printable
from sklearn_halving._typing import Estimator, Params, Scorer
from sklearn_halving._unstable_imports import (
    method_params,
    named_scorers,
    num_samples,
    propagated_callbacks,
    safe_split,
)
from sklearn_halving.execution._threads import limited_n_jobs
from sklearn_halving.execution._types import (
    Candidate,
    EvaluationTask,
    Fold,
    Job,
    Outcome,
    Result,
    Rows,
    Scores,
)
from sklearn_halving.policies._types import Pull
from sklearn_halving.resources._boosters import (
    EvaluatedBooster,
    evaluated_on,
    rounds_found,
    stops_early,
)
from sklearn_halving.resources._resource import SplitData

WIDTH = 80
"""Of the lines that workers write if ``verbose > 1``."""


def evaluate(task: EvaluationTask, job: Job) -> Result:
    """Fit and score one pull; return its outcome, and its model if it may be trained further.

    If the fit fails, the scores are ``error_score``.
    """
    pull, fold = job.pull, task.splits.fold(job.pull.repetition)
    if task.verbose > 9:
        start = _head(task, pull, "START") + _params_text(task, pull)
        write_line(start.ljust(WIDTH, "."))
    model: Estimator = job.model
    if model is None:
        model = arm_estimator(task, task.candidates[pull.arm], pull.level, fold)
    rows, held_out = _hold_out(task, pull, model, fold.train_rows(pull.level))
    train = _selected(task, model, rows, None, task.fit_params)
    started, clock = time.time(), time.perf_counter()
    model, error, stop = _trained(task, job, model, train, held_out)
    outcome = _unscored(task, job, fold, (started, time.perf_counter() - clock), error)
    del train  # before the test rows are copied
    if error is None:
        if held_out is not None:
            outcome = replace(outcome, n_rounds=rounds_found(model))
        outcome = _scored(task, outcome, model, rows, fold.test_rows())
    _write_end(task, outcome)
    # Training that stopped early must not start to wait again.
    if held_out is None and error is None and task.resource.can_continue(model):
        outcome = replace(outcome, levels=(*job.levels, pull.level))
    return Result(outcome, model if outcome.levels and job.keep_model else None, stop)


def failed_result(
    task: EvaluationTask, job: Job, error: str, started: float, seconds: float
) -> Result:
    """Return the result of a pull that timed out or killed its process."""
    fold = task.splits.fold(job.pull.repetition)
    outcome = _unscored(task, job, fold, (started, seconds), error)
    _write_end(task, outcome)
    return Result(outcome)


def _unscored(
    task: EvaluationTask, job: Job, fold: Fold, times: tuple[float, float], error: str | None
) -> Outcome:
    """Return an outcome without scores; after an error, these are ``error_score``.

    ``times`` are the start and the seconds of the fit.
    """
    scores: Scores = np.nan
    if error is not None:
        scores = np.nan if task.error_score == "raise" else float(task.error_score)
        if (scorers := named_scorers(task.scorer)) is not None:
            scores = dict.fromkeys(scorers, scores)
    train_scores = scores if task.return_train_score else None
    previous = 0 if job.model is None else job.levels[-1]
    sizes = len(fold.train_rows(job.pull.level)), len(fold.test)
    return Outcome(job.pull, scores, train_scores, *times, 0.0, *sizes, previous, error)


def _write_end(task: EvaluationTask, outcome: Outcome) -> None:
    """Write the line of a pull that has ended."""
    if task.verbose > 1:
        params = _params_text(task, outcome.pull)
        scores = _scores_text(outcome) if task.verbose > 2 else ""
        seconds = short_format_time(outcome.seconds)
        head = _head(task, outcome.pull, "END")
        text = f"{params}{';' if params else ''}{scores} total time={seconds}"
        write_line(head + text.rjust(WIDTH - len(head), "."))


def arm_estimator(
    task: EvaluationTask, candidate: Candidate, level: int, fold: Fold | None = None
) -> Estimator:
    """Return an unfitted estimator with the parameters of a candidate, rescaled to the level.

    It is seeded for the rows of a fold.
    """
    estimator = clone(task.estimator)
    # Parameters are cloned too, because they may be estimators and fits must not share them.
    params = {name: clone(value, safe=False) for name, value in candidate.params.items()}
    estimator.set_params(**params)
    if task.resource.rescale:
        estimator.set_params(**task.resource.rescaled(estimator, level, task.max_level))
    given, changed = estimator.get_params(), {}
    if task.seed is not None and fold is not None:
        changed = _random_states(given, task.seed, candidate, fold)
    if task.n_threads is not None:
        changed |= limited_n_jobs(estimator, given, task.n_threads)
    # Not every class of users can set no parameters.
    return estimator.set_params(**changed) if changed else estimator


def _random_states(
    given: Params, seed: np.random.SeedSequence, candidate: Candidate, fold: Fold
) -> Params:
    """Return every ``random_state`` that is None as a number.

    The numbers depend on the parameters of the candidate and on the rows of the split. So it has
    the same scores in every search with this seed.
    """
    unset = sorted(
        name
        for name, value in given.items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    )
    if not unset:
        return {}
    key = (*seed.spawn_key, int(candidate.digest, 16), int(fold.digest, 16))
    numbers = np.random.SeedSequence(seed.entropy, spawn_key=key).generate_state(len(unset)) >> 1
    return dict(zip(unset, numbers.tolist(), strict=True))


def _selected(
    task: EvaluationTask, estimator: Estimator, rows: Rows, train_rows: Rows | None, params: Params
) -> SplitData:
    """Select rows of the data and of the parameters that have one entry per row."""
    X, y = task.X, task.y
    # Plain arrays are faster by far. A square one may be a precomputed kernel.
    is_plain = type(X) is np.ndarray and not (X.ndim == 2 and X.shape[0] == X.shape[1])
    if is_plain and (y is None or type(y) is np.ndarray):
        X, y = _taken(X, rows), None if y is None else _taken(y, rows)
    else:
        X, y = safe_split(estimator, X, y, rows, train_rows)
    return SplitData(X, y, method_params(task.X, params=params, indices=rows) if params else {})


def _hold_out(
    task: EvaluationTask, pull: Pull, estimator: Estimator, rows: Rows
) -> tuple[Rows, SplitData | None]:
    """Return the rows to fit on, and those on which early stopping is evaluated, if any."""
    if task.held_out is None or not stops_early(estimator, task.fit_params):
        return rows, None
    fit_rows, held_out = task.held_out.hold_out(pull.repetition, rows)
    if len(held_out) == 0:
        return rows, None
    return fit_rows, _selected(task, estimator, held_out, fit_rows, task.fit_params)


def _taken(array: Any, rows: Rows) -> Any:
    """Return rows of an array; `take` is faster, but its result is always in C order."""
    return array.take(rows, axis=0) if array.flags.c_contiguous else array[rows]


def _trained(
    task: EvaluationTask, job: Job, model: Estimator, train: SplitData, held_out: SplitData | None
) -> tuple[Estimator, str | None, bool]:
    """Train up to the level of the pull.

    Returns
    -------
    model, error, stop
        The model, the traceback if the training failed, and whether a callback requests the end
        of the search.
    """
    pull, context, error, stop = job.pull, job.context, None, False
    data = {"X": train.X, "y": train.y, "metadata": callback_metadata(train.params)}
    # Steps of a pipeline that have been fitted are not fitted again. Callbacks follow every step.
    cache = task.step_cache if job.model is None and context is None else None
    key = (pull.repetition, num_samples(train.X), held_out is not None)
    try:
        with (
            no_exit(),
            propagated_callbacks(context, model),
            nullcontext() if cache is None else cache.memory_of(model, key, train.X),
            nullcontext(model) if held_out is None else evaluated_on(held_out, model) as model,
        ):
            if context is not None:
                context.call_on_fit_task_begin(estimator=task.caller, **data)
            # A resource may return a different object.
            levels = (0, *job.levels, pull.level)
            for previous_level, level in pairwise(levels if job.model is None else levels[-2:]):
                model = task.resource.train(
                    model, train.X, train.y, level, previous_level, train.params
                )
                if model is None:
                    raise TypeError("train of the resource must return the model, got None.")
    except Exception:
        if task.error_score == "raise":
            raise
        error = _traceback()
    finally:
        if context is not None:
            stop = bool(context.call_on_fit_task_end(estimator=task.caller, **data))
    return model.step if isinstance(model, EvaluatedBooster) else model, error, stop


def _traceback() -> str:
    """Return the traceback of an error, which can be printed."""
    return printable(format_exc())


def _scored(
    task: EvaluationTask, outcome: Outcome, model: Estimator, train: Rows, test: Rows
) -> Outcome:
    """Score a model on the test rows and, if asked for, on the rows it was fitted on."""
    clock = time.perf_counter()
    errors: list[str] = []
    scores: dict[str, Any] = {}
    for side, rows, fitted in (("test_scores", test, train), ("train_scores", train, None)):
        if rows is test or task.return_train_score:
            data = _selected(task, model, rows, fitted, task.score_params)
            scores[side] = scores_of(task, model, data, errors)
    seconds, error = time.perf_counter() - clock, errors[0] if errors else None
    return replace(outcome, **scores, score_seconds=seconds, score_error=error)


@contextmanager
def no_exit() -> Iterator[None]:
    """Let ``sys.exit`` in an estimator be an error of its fit, and not the end of the search."""
    try:
        yield
    except SystemExit as error:
        raise RuntimeError(f"The estimator or the scorer called sys.exit: {error!r}") from error


def callback_metadata(params: Params) -> Params | None:
    """Return the fit parameters that scikit-learn's callbacks get."""
    weights = params.get("sample_weight")
    return None if weights is None else {"sample_weight": weights}


def scores_of(
    task: EvaluationTask, estimator: Estimator, data: SplitData, errors: list[str]
) -> Scores:
    """Score a fitted estimator.

    The tracebacks of scorers that raise are added to ``errors``, and are reported after the
    search. Scores that are not numbers raise a ValueError for any ``error_score``, as in
    GridSearchCV.
    """
    is_single = named_scorers(task.scorer) is None
    try:
        with no_exit():
            scores = task.scorer(estimator, *data.arrays, **data.params)
    except Exception:
        if task.error_score == "raise" or not is_single:
            raise
        errors.append(_traceback())
        scores = task.error_score
    if not isinstance(scores, dict):
        return _real_number(scores, scores, task.scorer)
    found = {}
    for name, value in scores.items():
        if not is_single and isinstance(value, str):  # scikit-learn's container returns tracebacks
            errors.append(value)
            value = task.error_score
        found[name] = _real_number(value, scores, task.scorer)
    return found or _real_number(None, scores, task.scorer)


def _real_number(value: Any, scores: object, scorer: Scorer) -> float:
    """Return a score as a plain number, or raise if it cannot be compared with others."""
    with suppress(AttributeError, ValueError):  # of NumPy, with one element
        value = value.item()
    if isinstance(value, Number) and not isinstance(value, complex):
        with suppress(OverflowError):  # of a huge whole number
            return float(cast("float", value))  # also of a Decimal
    raise ValueError(
        "scoring must return a number that can be compared, or a dict with one for each "
        f"metric; got {reprlib.repr(scores)}. (scorer={object_text(scorer)})"
    )


def write_line(line: str) -> None:
    """Write a line to the standard output, like ``print``."""
    sys.stdout.write(printable(line) + "\n")
    sys.stdout.flush()


def _head(task: EvaluationTask, pull: Pull, word: str) -> str:
    """Return the beginning of a line, in the format of GridSearchCV."""
    of_all = "" if task.n_repetitions is None else f"/{task.n_repetitions}"
    candidate = f"; {pull.arm + 1}/{task.n_candidates}" if task.verbose > 9 else ""
    return f"[CV {task.splits.number(pull.repetition) + 1}{of_all}{candidate}] {word} "


def _params_text(task: EvaluationTask, pull: Pull) -> str:
    level_params = task.resource.params_at(pull.level)
    params = task.candidates[pull.arm].params | level_params
    texts = [f"{name}={object_text(params[name])}" for name in sorted(params)]
    if not level_params and pull.level < task.max_level:
        # Without the amount, a candidate would seem to have several scores on the same split.
        texts.append(f"n_resources={task.resource.to_amount(pull.level)}")
    return ", ".join(texts)


def _scores_text(outcome: Outcome) -> str:
    test, train = outcome.test_scores, outcome.train_scores
    if isinstance(test, dict):
        known = train if isinstance(train, dict) else {}
        trained = {name: f"train={score:.3f}, " for name, score in known.items()}
        return "".join(f" {n}: ({trained.get(n, '')}test={test[n]:.3f})" for n in sorted(test))
    return (
        f", score={test:.3f}" if train is None else f", score=(train={train:.3f}, test={test:.3f})"
    )
