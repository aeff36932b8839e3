"""What a worker gets and does: a task, which is sent once, and chunks of jobs to evaluate."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import sys
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from traceback import format_exception
from typing import Any

import numpy as np
from sklearn import config_context

from sklearn_halving._unstable_joblib import JoblibSession, LostWorkerError, cloudpickle
from sklearn_halving.execution._evaluation import evaluate
from sklearn_halving.execution._threads import fit_threads
from sklearn_halving.execution._types import EvaluationTask, Job, Result

MAPPED_BYTES = 2**20
"""joblib writes arrays larger than this to disk once, and workers map the file into memory."""
WAIT_SECONDS = 2.0
"""Dask waits this long for a worker that can be sent data, if the last one has just died."""
Chunk = Any
"""Jobs and their candidates, pickled: bytes, or an array of bytes."""
MAX_UNPACKED = 2
"""Maximum number of unpickled tasks that a worker keeps."""


def packed(task: EvaluationTask) -> list[np.ndarray]:
    """Return the task and its data as arrays of bytes, followed by the large arrays of the data.

    Large arrays in X, y and the parameters, including those inside a DataFrame or a sparse
    matrix, are separate, so that joblib maps them into memory. If they were part of the bytes,
    every worker would copy them. The candidates are not included: each chunk brings those that
    it needs.
    """
    # A child of multiprocessing imports the user's script under a name that workers cannot import.
    script = sys.modules.get("__main__")
    if script is not None and script.__name__ == "__mp_main__":
        cloudpickle.register_pickle_by_value(script)
    large: list[np.ndarray] = []
    data = cloudpickle.dumps(
        [_plain(value) for value in (task.X, task.y, task.fit_params, task.score_params)],
        buffer_callback=partial(_is_small, large),
    )
    rest = replace(task, X=None, y=None, fit_params={}, score_params={}, candidates=())
    content = cloudpickle.dumps((rest, list(warnings.filters)))
    return [*(np.frombuffer(bytes_, dtype=np.uint8) for bytes_ in (content, data)), *large]


def packed_chunk(task: EvaluationTask, jobs: list[Job]) -> Chunk:
    """Return jobs and their candidates as bytes."""
    candidates = {job.pull.arm: task.candidates[job.pull.arm] for job in jobs}
    # Pickled here, because not every backend can pickle definitions of a user's script.
    return cloudpickle.dumps((jobs, candidates))


def _plain(data: object) -> object:
    """Convert memory maps to arrays, whose content can be pickled out of band."""
    if isinstance(data, dict):
        return {name: _plain(value) for name, value in data.items()}
    return np.asarray(data) if isinstance(data, np.memmap) else data


def _is_small(large: list[np.ndarray], buffer: pickle.PickleBuffer) -> bool:
    """Return whether a buffer stays in the bytes; append a large one to ``large``."""
    with buffer.raw() as raw:
        if raw.nbytes <= MAPPED_BYTES:
            return True
        source = raw.obj
        if isinstance(source, np.ndarray):
            # A view is used instead of bytes: if the array of the user is a memory map, joblib
            # sends only its position in the file.
            large.append(np.asarray(source).ravel(order="K").view(np.uint8))
        else:
            large.append(np.frombuffer(raw, dtype=np.uint8))
        return False


_unpacked: OrderedDict[str, tuple[EvaluationTask, list[object], Any]] = OrderedDict()
_unpacked_lock = threading.Lock()  # a worker of a cluster may have several threads


def unpack(token: str, arrays: Sequence[object]) -> tuple[EvaluationTask, list[object]]:
    """Return the task and the warning filters, which each process unpickles once."""
    content, data, *large = map(local_array, arrays)
    with _unpacked_lock:
        if token not in _unpacked:  # pickled by this search
            rest = pickle.loads(memoryview(content))
            _unpacked[token] = *rest, None if large else pickle.loads(memoryview(data))
        _unpacked.move_to_end(token)
        while len(_unpacked) > MAX_UNPACKED:
            _unpacked.popitem(last=False)
        task, filters, values = _unpacked[token]
    if values is None:  # data are not kept, so that joblib can remove a file
        values = pickle.loads(memoryview(data), buffers=[memoryview(array) for array in large])
    X, y, fit_params, score_params = values
    return replace(task, X=X, y=y, fit_params=fit_params, score_params=score_params), filters


def local_array(array: Any) -> Any:
    """Return an array, or what a function returns that fetches or maps it."""
    return array() if callable(array) else array


def shared_arrays(arrays: Sequence[object], session: JoblibSession) -> list[object]:
    """Store arrays on the workers of a cluster, so that they are sent only once.

    joblib maps large arrays into the memory of its own workers. Its Dask backend scatters an
    array to one worker; the other workers fetch it from there, and again after each pause. Its
    Ray backend sends arrays with every call.

    Raises
    ------
    LostWorkerError
        If the workers of Dask were lost meanwhile.
    """
    if session.library == "ray":
        import ray

        # The processes of a machine share one copy.
        return [partial(ray.get, ray.put(array)) for array in arrays]
    if session.library == "dask":
        return _scattered(arrays, session.client)
    return list(arrays)


def _scattered(arrays: Sequence[object], client: Any) -> list[object]:
    """Send arrays to all workers of Dask.

    With ``direct=True``, this process sends an array to one worker, and workers send it on to
    each other. It is otherwise sent through the scheduler, which is one more copy. Networks of
    some clusters allow no other way.
    """
    send = partial(client.scatter, list(arrays), broadcast=True, hash=False, timeout=WAIT_SECONDS)
    if client.direct_to_workers is not False:
        with suppress(Exception):  # a worker was lost, or cannot be reached from here
            return list(send(direct=True))
    try:
        return list(send(direct=False))
    except Exception as error:
        raise LostWorkerError(error, is_broken=False) from error


Done = list[Result | Exception]
"""The results of a chunk; an exception, which ends it early, comes last."""


def evaluate_jobs(
    task: EvaluationTask, evaluate_job: Callable[[Job], Result], jobs: list[Job]
) -> Done:
    """Evaluate jobs in a thread of the calling process, up to the first exception."""
    with config_context(**task.config), fit_threads(task.n_threads):
        return _evaluated(jobs, evaluate_job)


def evaluate_chunk(chunk: Chunk, token: str, *arrays: object) -> Done:
    """Evaluate jobs in a worker process, up to the first exception.

    scikit-learn's configuration and the warning filters of the calling process apply.
    ``arrays`` are those of `packed`, each a separate argument, so that Dask sends large ones
    once and not with every call.
    """
    leave_interrupts_to_the_search()
    jobs, candidates = pickle.loads(memoryview(chunk))
    task, filters = unpack(token, arrays)
    task = replace(task, candidates=candidates)
    with config_context(**task.config), warnings.catch_warnings(), fit_threads(task.n_threads):
        warnings.filters[:] = filters  # type: ignore[index]
        done = _evaluated(jobs, partial(_evaluate_remotely, task))
    return [_portable(one) if isinstance(one, Exception) else one for one in done]


def _evaluated(jobs: list[Job], evaluate_job: Callable[[Job], Result]) -> Done:
    done: Done = []
    for job in jobs:
        try:
            done.append(evaluate_job(job))
        except Exception as error:  # noqa: BLE001 - raised by the search
            return [*done, error]
    return done


def _portable(error: Exception) -> Exception:
    """Return an exception that can be sent, with its traceback; another would break the pool."""
    text = "".join(format_exception(error))
    try:
        pickle.loads(cloudpickle.dumps(error))
    except Exception:  # noqa: BLE001 - the class of the exception may raise anything
        error = RuntimeError(repr(error))
    error.add_note(f"It was raised in a worker:\n{text}")
    return error


def leave_interrupts_to_the_search() -> None:
    """Ignore Ctrl-C in a worker, because a terminal sends it to all processes.

    It is ignored until the worker exits. An interrupted idle worker would break the whole pool.
    A handler of SIGTERM that a forked worker has from its parent could be taken for an error of
    the fit, and the pool would then wait for this worker without end.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and multiprocessing.current_process().name != "MainProcess":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if callable(signal.getsignal(signal.SIGTERM)):
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _evaluate_remotely(task: EvaluationTask, job: Job) -> Result:
    """Evaluate a job of another process; models are sent and returned as bytes.

    The model is pickled here and not by joblib. joblib would turn its large arrays into
    read-only memory maps, and such a model cannot be trained further. If the model cannot be
    unpickled, the job is fitted from scratch; if the new one cannot be pickled, so is the next
    level. ``lost`` says why.
    """
    lost = None
    if isinstance(job.model, bytes):
        try:
            job = job._replace(model=pickle.loads(job.model))
        except Exception as error:  # noqa: BLE001 - the class of the model may raise anything
            job, lost = job._replace(model=None), f"{type(error).__name__}: {error}"
    result = evaluate(task, job)
    if result.model is not None:
        try:
            result = result._replace(model=cloudpickle.dumps(result.model))
        except Exception as error:  # noqa: BLE001 - as above
            outcome = replace(result.outcome, levels=())
            return Result(outcome, stop=result.stop, lost=f"{type(error).__name__}: {error}")
    return result._replace(lost=lost or result.lost)
