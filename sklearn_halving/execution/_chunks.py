"""What is sent to a worker, and what a worker does with it: evaluate a few jobs in turn."""

from __future__ import annotations

import pickle
import uuid
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from traceback import format_exc
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context

from sklearn_halving._unstable_imports import cloudpickle
from sklearn_halving.execution._evaluation import evaluate
from sklearn_halving.execution._types import EvaluationTask, Job, Landing

MAPPED_BYTES = 2**20
"""Arrays of more bytes joblib writes to disk once, and workers map the file into memory."""
MAX_SENT_BYTES = 2**17
"""A task of more bytes is not sent with every chunk."""


class RemoteError(Exception):
    """Shows, as the cause of an exception, where in a worker it was raised."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class Failure(NamedTuple):
    """What ended a chunk; the traceback as text where the exception comes from elsewhere."""

    error: Exception
    traceback: str | None = None

    def exception(self) -> Exception:
        """Return the exception, with the traceback in the worker as its cause."""
        if self.traceback is not None:
            self.error.__cause__ = RemoteError(self.traceback)
        return self.error


def packed(task: EvaluationTask) -> list[Any]:
    """Return a token, and the task for other processes: bytes and large arrays.

    The arrays are left to joblib: in the bytes they would be copied into every worker.
    """
    X, y = (None if _is_large(data) else data for data in (task.X, task.y))
    content = cloudpickle.dumps((replace(task, X=X, y=y), list(warnings.filters)))
    if len(content) > MAX_SENT_BYTES:  # let joblib write it to disk; what follows is not read
        content = content.ljust(MAPPED_BYTES + 1)
    large = [data if _is_large(data) else None for data in (task.X, task.y)]
    return [uuid.uuid4().hex, (np.frombuffer(content, dtype=np.uint8), *large)]


def _is_large(data: Any) -> bool:
    is_array = type(data) in (np.ndarray, np.memmap)
    return is_array and not data.dtype.hasobject and data.nbytes > MAPPED_BYTES


_unpacked: OrderedDict[str, tuple[EvaluationTask, list[Any]]] = OrderedDict()
_unpacked_lock = Lock()  # a worker of a cluster may have threads
_MAX_UNPACKED = 2


def _unpack(token: str, content: tuple[Any, Any, Any]) -> tuple[EvaluationTask, list[Any]]:
    """Return task and warning filters, unpickled once a process; the latest two are kept."""
    buffer, X, y = content
    with _unpacked_lock:
        if token not in _unpacked:
            _unpacked[token] = pickle.loads(memoryview(buffer))  # made by this very search
        _unpacked.move_to_end(token)
        while len(_unpacked) > _MAX_UNPACKED:
            _unpacked.popitem(last=False)
        task, filters = _unpacked[token]
    # Maps are not kept: joblib removes the file of one when nobody holds it any more.
    X = task.X if X is None else np.asarray(X)
    y = task.y if y is None else np.asarray(y)
    return replace(task, X=X, y=y), filters


def evaluate_chunk(
    token: str | None, task: Any, jobs: list[Job]
) -> tuple[list[Landing], Failure | None]:
    """Evaluate jobs, configured as the calling process is, up to the first exception.

    ``token`` is None in a thread of the calling process, and ``task`` the task itself.
    """
    if token is None:
        with config_context(**task.config):
            return _landings(task, jobs, is_remote=False)
    task, filters = _unpack(token, task)
    with config_context(**task.config), _warning_filters(filters):
        return _landings(task, jobs, is_remote=True)


def _landings(
    task: EvaluationTask, jobs: list[Job], *, is_remote: bool
) -> tuple[list[Landing], Failure | None]:
    landings: list[Landing] = []
    for job in jobs:
        try:
            landings.append(_evaluate_remotely(task, job) if is_remote else evaluate(task, job))
        except Exception as error:  # noqa: BLE001 - raised where the search runs
            return landings, Failure(error, format_exc() if is_remote else None)
    return landings, None


@contextmanager
def _warning_filters(filters: list[Any]) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filters[:] = filters  # type: ignore[index]
        yield


def _evaluate_remotely(task: EvaluationTask, job: Job) -> Landing:
    """Evaluate a job that comes from another process, with its model as bytes.

    The model is pickled here, not by joblib, which would turn its large arrays into
    read-only maps that cannot be trained on. One that cannot be pickled is not kept: the
    next level is then fitted from scratch.
    """
    if job.model is not None:
        try:
            job = job._replace(model=pickle.loads(job.model))
        except Exception:  # noqa: BLE001 - whatever the class of the model raises
            job = job._replace(model=None, previous_level=0)
    landing = evaluate(task, job)
    if landing.model is None:
        return landing
    try:
        return landing._replace(model=cloudpickle.dumps(landing.model))
    except Exception:  # noqa: BLE001 - as above
        return landing._replace(model=None)
