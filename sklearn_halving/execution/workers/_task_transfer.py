"""Sending a task to the workers: its data are sent once, and each call refers to them."""

from __future__ import annotations

import pickle
import sys
import tempfile
import uuid
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from sklearn_halving._typing import Params
from sklearn_halving._unstable_joblib import JoblibSession, LostWorkerError, cloudpickle
from sklearn_halving.execution._types import EvaluationTask, Job
from sklearn_halving.policies._types import Pull

MAPPED_BYTES = 2**20
"""joblib writes arrays larger than this to disk once, and workers map the file into memory."""
MAX_SENT_BYTES = 2**17
"""A task larger than this is not sent with every chunk."""
LARGE_MODEL = 2**17
"""Models with more bytes than this are sent to a Dask worker without the scheduler."""
WAIT_SECONDS = 2.0
"""Dask waits this long for a worker that can be sent data, if the last one has just died."""
MAX_UNPACKED = 2
"""Maximum number of unpickled tasks that a worker keeps."""


class SharedTask:
    """A task that is shared with the workers of a session at the first call.

    Parameters
    ----------
    task : EvaluationTask
        The task.
    session : JoblibSession
        The workers.
    """

    def __init__(self, task: EvaluationTask, session: JoblibSession) -> None:
        self._task = task
        self._session = session
        self._packed: list[object] = []
        self.tokens: list[str] = []

    def call(
        self, function: Callable[..., object], jobs: list[Job]
    ) -> tuple[Callable[..., object], list[object]]:
        """Return the function and the arguments for evaluating the jobs in a worker."""
        if not self._packed:
            token, *arrays = packed(self._task)
            self._packed = [token, *shared_arrays(arrays, self._session)]
            self.tokens.append(token)
        arguments = [candidates_of(self._task, jobs), *self._packed]
        if self._session.library == "dask":
            jobs, models = models_apart(jobs)
            return partial(with_models, function), [jobs, *arguments, *models]
        return function, [jobs, *arguments]

    @property
    def is_shared(self) -> bool:
        """Whether the task has been shared."""
        return bool(self._packed)

    def forget(self) -> None:
        """Share the task again at the next call, because the workers that had it are lost."""
        self._packed = []

    @property
    def can_stop_workers(self) -> bool:
        """Whether `stop` reaches the workers: they are other processes of this machine."""
        return self._session.library == "joblib" and not self._session.shares_memory

    def stop(self, under_way: Sequence[Pull]) -> None:
        """Tell the workers of this machine to start no further job, except those under way."""
        lines = "\n".join(map(_line_of, under_way))
        for token in self.tokens:
            written = stop_file(token).with_suffix(".part")
            with suppress(OSError):  # without the file, the workers finish their chunks
                written.write_text(lines, encoding="ascii")
                written.replace(stop_file(token))

    def close(self) -> None:
        """Remove the files that `stop` created."""
        for token in self.tokens:
            with suppress(OSError):
                stop_file(token).unlink(missing_ok=True)


def stop_file(token: str) -> Path:
    """Return the file that stops the jobs of a task, on the same machine."""
    return Path(tempfile.gettempdir()) / f"sklearn_halving_{token}.stop"


def is_stopped(token: str, pull: Pull) -> bool:
    """Return whether a job must not start, because the search has stopped."""
    try:
        lines = stop_file(token).read_text(encoding="ascii").splitlines()
    except OSError:
        return False
    return _line_of(pull) not in lines


def _line_of(pull: Pull) -> str:
    return " ".join(map(str, pull))


def packed(task: EvaluationTask) -> tuple[str, *tuple[np.ndarray, ...]]:
    """Return a token and the task as arrays of bytes, followed by the large arrays of the data.

    Large arrays in X, y and the parameters, including those inside a DataFrame or a sparse
    matrix, are separate, so that joblib maps them into memory. If they were part of the bytes,
    every worker would copy them. The candidates are not included: `candidates_of` returns
    those that a chunk needs.
    """
    _take_script_along()
    task = replace(task, candidates=())
    large: list[np.ndarray] = []
    data = cloudpickle.dumps(
        [_plain(value) for value in (task.X, task.y, task.fit_params, task.score_params)],
        buffer_callback=partial(_is_small, large),
    )
    rest = replace(task, X=None, y=None, fit_params={}, score_params={}) if large else task
    content = cloudpickle.dumps((rest, list(warnings.filters)))
    arrays = [_sent(content), _sent(data), *large] if large else [_sent(content)]
    return uuid.uuid4().hex, *arrays


def _take_script_along() -> None:
    """Pickle the definitions of the user's script by value in a child of multiprocessing.

    Such a child imports the script under another name, and workers cannot import that name.
    """
    script = sys.modules.get("__main__")
    if script is not None and script.__name__ == "__mp_main__":
        cloudpickle.register_pickle_by_value(script)


def candidates_of(task: EvaluationTask, jobs: list[Job]) -> bytes:
    """Return the pickled parameters of the candidates of the jobs."""
    params = {job.pull.arm: task.candidates[job.pull.arm] for job in jobs}
    # Pickled here, because not every backend can pickle definitions of a user's script.
    content: bytes = cloudpickle.dumps(Candidates(params, len(task.candidates)))
    return content


@dataclass(frozen=True)
class Candidates:
    """A substitute for the list of all candidates that holds only some of them."""

    params_of_arm: dict[int, Params]
    n_all: int

    def __getitem__(self, arm: int) -> Params:
        return self.params_of_arm[arm]

    def __len__(self) -> int:
        return self.n_all


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


def _sent(content: bytes) -> np.ndarray:
    """Return bytes as an array; if it is large, it is padded so that joblib maps it."""
    if len(content) > MAX_SENT_BYTES:  # pickle ignores the padding
        content = content.ljust(MAPPED_BYTES + 1)
    return np.frombuffer(content, dtype=np.uint8)


_unpacked: OrderedDict[str, tuple[EvaluationTask, list[object]]] = OrderedDict()
_unpacked_lock = Lock()  # a worker of a cluster may have several threads


def unpack(token: str, arrays: Sequence[object]) -> tuple[EvaluationTask, list[object]]:
    """Return the task and the warning filters; each process unpickles them once."""
    content, *rest = map(local_array, arrays)
    with _unpacked_lock:
        if token not in _unpacked:
            _unpacked[token] = pickle.loads(memoryview(content))  # pickled by this search
        _unpacked.move_to_end(token)
        while len(_unpacked) > MAX_UNPACKED:
            _unpacked.popitem(last=False)
        task, filters = _unpacked[token]
    if rest:
        # Memory maps are not kept, so that joblib can remove a file that is no longer used.
        data, *large = rest
        values = pickle.loads(memoryview(data), buffers=[memoryview(array) for array in large])
        X, y, fit_params, score_params = values
        task = replace(task, X=X, y=y, fit_params=fit_params, score_params=score_params)
    return task, filters


@dataclass(frozen=True)
class RayArray:
    """An array in Ray's object store, where the processes of a machine share one copy."""

    reference: object

    def get(self) -> object:
        """Return the array."""
        import ray

        return ray.get(self.reference)


def local_array(array: object) -> Any:
    """Return an array; a `RayArray` is fetched from Ray's object store."""
    return array.get() if isinstance(array, RayArray) else array


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

        return [RayArray(ray.put(array)) for array in arrays]
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


def models_apart(jobs: list[Job]) -> tuple[list[Job], list[np.ndarray | None]]:
    """Return the jobs without their large models, and for each job its model as an array, or None.

    Dask's scheduler keeps the arguments of a call in memory. An array that is a separate
    argument is sent directly to the worker.
    """
    models = [
        np.frombuffer(job.model, dtype=np.uint8)
        if isinstance(job.model, bytes) and len(job.model) > LARGE_MODEL
        else None
        for job in jobs
    ]
    lean = [
        job if model is None else job._replace(model=None)
        for job, model in zip(jobs, models, strict=True)
    ]
    return lean, models


def with_models(function: Callable[..., object], jobs: list[Job], *arguments: Any) -> object:
    """Put the models, which are the last arguments, back into the jobs, and call a function."""
    models = arguments[len(arguments) - len(jobs) :]
    jobs = [
        job if model is None else job._replace(model=model.tobytes())
        for job, model in zip(jobs, models, strict=True)
    ]
    return function(jobs, *arguments[: len(arguments) - len(jobs)])
