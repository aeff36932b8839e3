"""What is sent to a worker, and what a worker does with it: evaluate a few jobs in turn."""

from __future__ import annotations

import pickle
import sys
import uuid
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from traceback import format_exc
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context

from sklearn_halving._unstable_joblib import cloudpickle
from sklearn_halving.execution._evaluation import evaluate
from sklearn_halving.execution._types import EvaluationTask, Job, Landing
from sklearn_halving.execution.workers._clusters import local_array
from sklearn_halving.execution.workers._interrupt import leave_interrupts_to_the_search

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


class Casualty(NamedTuple):
    """A pull that gave nothing: it took too long, or its process was killed each time.

    ``exit_code`` is that of the process, None where the time ran out; ``started`` is in
    seconds since the epoch, ``seconds`` how long the last attempt took.
    """

    job: Job
    started: float
    seconds: float
    exit_code: int | None = None


class ChunkResult(NamedTuple):
    """What a chunk gave: landings, what ended it early if anything, and what gave nothing."""

    landings: list[Landing]
    failure: Failure | None = None
    casualties: tuple[Casualty, ...] = ()


def packed(task: EvaluationTask) -> list[Any]:
    """Return a token, and the task for other processes: arrays, the large ones in it apart.

    The arrays in X, y and what goes with the rows, those inside a DataFrame or a sparse
    matrix too, are left to joblib: in the bytes they would be copied into every worker.
    Candidates are not in it, `candidates_of` goes with each chunk.
    """
    _take_script_along()
    task = replace(task, candidates=())
    large: list[Any] = []
    data = cloudpickle.dumps(
        [_plain(value) for value in (task.X, task.y, task.fit_params, task.score_params)],
        buffer_callback=partial(_is_small, large),
    )
    rest = replace(task, X=None, y=None, fit_params={}, score_params={}) if large else task
    content = cloudpickle.dumps((rest, list(warnings.filters)))
    return [uuid.uuid4().hex, _sent(content), *([_sent(data), *large] if large else [])]


def _take_script_along() -> None:
    """Have what the script defines pickled as code, also where it is not called ``__main__``.

    A process of multiprocessing imports the script by another name, which no worker knows.
    """
    script = sys.modules.get("__main__")
    if script is not None and script.__name__ == "__mp_main__":
        cloudpickle.register_pickle_by_value(script)


def candidates_of(task: EvaluationTask, jobs: list[Job]) -> bytes:
    """Return the parameters that the jobs need; how many others there are costs nothing."""
    params = {job.pull.arm: task.candidates[job.pull.arm] for job in jobs}
    # Pickled here: not every backend of joblib's can pickle what a user's script defines.
    content: bytes = cloudpickle.dumps(Candidates(params, len(task.candidates)))
    return content


@dataclass(frozen=True)
class Candidates:
    """Some of the candidates, in the place of all."""

    params_of_arm: dict[int, dict[str, Any]]
    n_all: int

    def __getitem__(self, arm: int) -> dict[str, Any]:
        return self.params_of_arm[arm]

    def __len__(self) -> int:
        return self.n_all


def _plain(data: Any) -> Any:
    """Return maps of the user's as arrays, which alone are pickled apart from their content."""
    if isinstance(data, dict):
        return {name: _plain(value) for name, value in data.items()}
    return np.asarray(data) if isinstance(data, np.memmap) else data


def _is_small(large: list[Any], buffer: pickle.PickleBuffer) -> bool:
    """Return whether a buffer is to stay in the bytes; else note it as an array."""
    with buffer.raw() as raw:
        if raw.nbytes <= MAPPED_BYTES:
            return True
        source = raw.obj
        if isinstance(source, np.ndarray):
            # A view, not the bare bytes: joblib sends of an array that is mapped already,
            # by the user, no more than where it lies.
            large.append(np.asarray(source).ravel(order="K").view(np.uint8))
        else:
            large.append(np.frombuffer(raw, dtype=np.uint8))
        return False


def _sent(content: bytes) -> Any:
    """Return bytes as an array that is sent with each chunk or, if long, written to disk."""
    if len(content) > MAX_SENT_BYTES:  # for joblib to map it; what follows is not read
        content = content.ljust(MAPPED_BYTES + 1)
    return np.frombuffer(content, dtype=np.uint8)


_unpacked: OrderedDict[str, tuple[EvaluationTask, list[Any]]] = OrderedDict()
_unpacked_lock = Lock()  # a worker of a cluster may have threads
_MAX_UNPACKED = 2


def unpack(token: str, arrays: Sequence[Any]) -> tuple[EvaluationTask, list[Any]]:
    """Return task and warning filters, unpickled once a process; the latest two are kept."""
    content, *rest = map(local_array, arrays)
    with _unpacked_lock:
        if token not in _unpacked:
            _unpacked[token] = pickle.loads(memoryview(content))  # made by this very search
        _unpacked.move_to_end(token)
        while len(_unpacked) > _MAX_UNPACKED:
            _unpacked.popitem(last=False)
        task, filters = _unpacked[token]
    if rest:
        # Maps are not kept: joblib removes the file of one when nobody holds it any more.
        data, *large = rest
        values = pickle.loads(memoryview(data), buffers=[memoryview(array) for array in large])
        X, y, fit_params, score_params = values
        task = replace(task, X=X, y=y, fit_params=fit_params, score_params=score_params)
    return task, filters


def evaluate_jobs(task: EvaluationTask, jobs: list[Job]) -> ChunkResult:
    """Evaluate jobs in a thread of the calling process, up to the first exception."""
    with config_context(**task.config):
        return _landings(task, jobs, is_remote=False)


def evaluate_chunk(jobs: list[Job], candidates: bytes, token: str, *arrays: Any) -> ChunkResult:
    """Evaluate jobs in another process, up to the first exception.

    scikit-learn's configuration and the warning filters are those of the calling process.
    ``token`` and ``arrays`` are what `packed` returned. Each is an argument of its own: Dask
    sends those that are large once and not with every call.
    """
    leave_interrupts_to_the_search()
    task, filters = unpack(token, arrays)
    task = replace(task, candidates=pickle.loads(candidates))
    with config_context(**task.config), _warning_filters(filters):
        return _landings(task, jobs, is_remote=True)


def _landings(task: EvaluationTask, jobs: list[Job], *, is_remote: bool) -> ChunkResult:
    landings: list[Landing] = []
    for job in jobs:
        try:
            landings.append(_evaluate_remotely(task, job) if is_remote else evaluate(task, job))
        except Exception as error:  # noqa: BLE001 - raised where the search runs
            return ChunkResult(landings, Failure(error, format_exc() if is_remote else None))
    return ChunkResult(landings)


@contextmanager
def _warning_filters(filters: list[Any]) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filters[:] = filters  # type: ignore[index]
        yield


def evaluate_with_model(task: EvaluationTask, job: Job) -> Landing:
    """Evaluate a job with its model unpickled, or from scratch, and say so, if that fails."""
    if not isinstance(job.model, bytes):
        return evaluate(task, job)
    try:
        model = pickle.loads(job.model)
    except Exception as error:  # noqa: BLE001 - whatever the class of the model raises
        landing = evaluate(task, job._replace(model=None, previous_level=0))
        return landing._replace(lost=_told(error))
    return evaluate(task, job._replace(model=model))


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _evaluate_remotely(task: EvaluationTask, job: Job) -> Landing:
    """Evaluate a job that comes from another process, with its model as bytes.

    The model is pickled here, not by joblib, which would turn its large arrays into
    read-only maps that cannot be trained on. One that cannot be pickled is not kept, and that
    is said: the next level is then fitted from scratch.
    """
    landing = evaluate_with_model(task, job)
    if landing.model is None:
        return landing
    try:
        return landing._replace(model=cloudpickle.dumps(landing.model))
    except Exception as error:  # noqa: BLE001 - as above
        return landing._replace(model=None, lost=_told(error))
