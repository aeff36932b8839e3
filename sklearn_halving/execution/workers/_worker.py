"""The code that runs in a worker: it evaluates the jobs of a chunk one after the other."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from traceback import format_exc
from typing import NamedTuple

from sklearn import config_context

from sklearn_halving._unstable_joblib import cloudpickle
from sklearn_halving.execution._evaluation import evaluate
from sklearn_halving.execution._types import EvaluationTask, Job, Landing
from sklearn_halving.execution.workers._interrupt import leave_interrupts_to_the_search
from sklearn_halving.execution.workers._task_transfer import is_stopped, unpack


class RemoteError(Exception):
    """The cause of an exception that was raised in a worker; shows the worker's traceback."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class Failure(NamedTuple):
    """An exception that ended a chunk early.

    ``traceback`` is its traceback as text if it was raised in another process.
    """

    error: Exception
    traceback: str | None = None

    def exception(self) -> Exception:
        """Return the exception; its cause is the traceback in the worker."""
        if self.traceback is not None:
            self.error.__cause__ = RemoteError(self.traceback)
        return self.error


class Casualty(NamedTuple):
    """A pull without an outcome: it timed out, or its process died at every attempt.

    ``exit_code`` is the exit code of the process, or None after a timeout. ``started`` is in
    seconds since the epoch, and ``seconds`` is the duration of the last attempt.
    """

    job: Job
    started: float
    seconds: float
    exit_code: int | None = None


class ChunkResult(NamedTuple):
    """The result of a chunk: pulls with an outcome, pulls without one, and an exception."""

    landings: list[Landing]
    failure: Failure | None = None
    casualties: tuple[Casualty, ...] = ()


def evaluate_jobs(task: EvaluationTask, jobs: list[Job]) -> ChunkResult:
    """Evaluate jobs in a thread of the calling process, up to the first exception."""
    with config_context(**task.config):
        return _landings(task, jobs)


def evaluate_chunk(jobs: list[Job], candidates: bytes, token: str, *arrays: object) -> ChunkResult:
    """Evaluate jobs in a worker process, until one raises or the search stops.

    scikit-learn's configuration and the warning filters of the calling process apply.
    ``token`` and ``arrays`` are returned by `packed`. Each array is a separate argument, so
    that Dask sends large arrays once and not with every call.
    """
    leave_interrupts_to_the_search()
    task, filters = unpack(token, arrays)
    task = replace(task, candidates=pickle.loads(candidates))
    with config_context(**task.config), _warning_filters(filters):
        return _landings(task, jobs, token)


def _landings(task: EvaluationTask, jobs: list[Job], token: str | None = None) -> ChunkResult:
    """Evaluate jobs. With a token, they come from another process, which may stop them."""
    landings: list[Landing] = []
    is_remote = token is not None
    for job in jobs:
        if token is not None and is_stopped(token, job.pull):
            break
        try:
            landings.append(_evaluate_remotely(task, job) if is_remote else evaluate(task, job))
        except Exception as error:  # noqa: BLE001 - raised in the process of the search
            return ChunkResult(landings, Failure(error, format_exc() if is_remote else None))
    return ChunkResult(landings)


@contextmanager
def _warning_filters(filters: list[object]) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filters[:] = filters  # type: ignore[index]
        yield


def evaluate_with_model(task: EvaluationTask, job: Job) -> Landing:
    """Unpickle the model of a job and evaluate the job.

    If the model cannot be unpickled, the job is fitted from scratch, and ``lost`` says why.
    """
    if not isinstance(job.model, bytes):
        return evaluate(task, job)
    try:
        model = pickle.loads(job.model)
    except Exception as error:  # noqa: BLE001 - the class of the model may raise anything
        landing = evaluate(task, job._replace(model=None))
        return landing._replace(lost=_told(error))
    return evaluate(task, job._replace(model=model))


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _evaluate_remotely(task: EvaluationTask, job: Job) -> Landing:
    """Evaluate a job of another process; models are sent and returned as bytes.

    The model is pickled here and not by joblib. joblib would turn its large arrays into
    read-only memory maps, and such a model cannot be trained further. If the model cannot be
    pickled, the next level is fitted from scratch, and ``lost`` says why.
    """
    landing = evaluate_with_model(task, job)
    if landing.model is None:
        return landing
    try:
        return landing._replace(model=cloudpickle.dumps(landing.model))
    except Exception as error:  # noqa: BLE001 - as above
        return landing._replace(model=None, lost=_told(error))
