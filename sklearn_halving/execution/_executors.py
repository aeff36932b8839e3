"""Where pulls run: in this process, or through joblib's active backend.

Both have ``submit(job)``, ``wait_any() -> landings``, and ``room``, the number of further
jobs that would be put to use now.
"""

from __future__ import annotations

import pickle
import uuid
import warnings
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import ceil
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn import config_context

from sklearn_halving._unstable_imports import (
    JoblibSession,
    cloudpickle,
    evaluated_pre_dispatch,
)
from sklearn_halving.execution._evaluation import evaluate
from sklearn_halving.execution._types import EvaluationTask, Job, Landing

CHUNK_SECONDS = 0.1
"""Pulls that are shorter than this are sent together, so that sending does not dominate."""
MAX_CHUNK = 200
SERIAL_WINDOW = 64
"""Pulls asked for at once where they run one after the other: asking has a price too."""


class Executor(Protocol):
    """What the pull loop needs of the place where pulls run."""

    @property
    def room(self) -> int:
        """Number of further jobs that can be put to use now."""

    def submit(self, job: Job) -> None:
        """Take a job."""

    def wait_any(self) -> Sequence[Landing]:
        """Return what has come back since, at least one landing."""


@contextmanager
def open_executor(
    task: EvaluationTask, n_jobs: int | None, pre_dispatch: int | str
) -> Iterator[Executor]:
    """Open joblib's active backend, and run the pulls there or, with one worker, here."""
    with JoblibSession(n_jobs) as session:
        if session.can_submit:
            in_flight = evaluated_pre_dispatch(pre_dispatch, session.n_workers)
            yield JoblibExecutor(task, session, in_flight)
        else:
            yield SerialExecutor(task)


class SerialExecutor:
    """Run the jobs in this process, one at each `wait_any`."""

    def __init__(self, task: EvaluationTask) -> None:
        self._task = task
        self._queue: deque[Job] = deque()

    @property
    def room(self) -> int:
        """A window of jobs once all have run."""
        return 0 if self._queue else SERIAL_WINDOW

    def submit(self, job: Job) -> None:
        """Take a job."""
        self._queue.append(job)

    def wait_any(self) -> list[Landing]:
        """Run the oldest job."""
        return [evaluate(self._task, self._queue.popleft())]


class JoblibExecutor:
    """Send the jobs to joblib's workers, short ones in chunks, and take what comes back.

    The task is pickled once. Workers in other processes get it as one array of bytes,
    which joblib memory-maps when it is large, and keep what they unpickled: X and y are
    not sent with every pull.
    """

    def __init__(
        self, task: EvaluationTask, session: JoblibSession, max_chunks: int | None
    ) -> None:
        self._session = session
        self._max_chunks = max_chunks or 10 * session.n_workers
        self._packed = _Shared(task) if session.shares_memory else _Packed.of(task)
        self._waiting: deque[Job] = deque()
        self._chunks: dict[int, list[Job]] = {}
        self._done: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        self._seconds: dict[int, float] = {}
        self._n_sent = 0

    @property
    def room(self) -> int:
        """As many jobs as keep every worker busy while one more chunk waits for it."""
        n_held = len(self._waiting) + sum(len(chunk) for chunk in self._chunks.values())
        return max(0, self._max_chunks * self._chunk_size(None) - n_held)

    def submit(self, job: Job) -> None:
        """Take a job; it leaves with the next `wait_any`."""
        self._waiting.append(job)

    def wait_any(self) -> list[Landing]:
        """Send what is waiting, and return all that has come back, at least one chunk."""
        self._send()
        landings = self._receive(*self._done.get())
        while not self._done.empty():
            landings += self._receive(*self._done.get())
        return landings

    def _send(self) -> None:
        while self._waiting and len(self._chunks) < self._max_chunks:
            size = self._chunk_size(self._waiting[0].pull.level)
            fair_share = ceil(len(self._waiting) / self._max_chunks)
            size = max(1, min(size, fair_share, len(self._waiting)))
            chunk = [self._waiting.popleft() for _ in range(size)]
            key = self._n_sent
            self._n_sent += 1
            self._chunks[key] = chunk
            self._session.submit(
                _evaluate_chunk,
                [*self._packed.arguments(), self._packed.pack_jobs(chunk)],
                partial(self._on_done, key),
            )

    def _on_done(self, key: int, handle: Any) -> None:
        """Note that a chunk is done; called from a thread of joblib's."""
        self._done.put((key, handle))

    def _receive(self, key: int, handle: Any) -> list[Landing]:
        del self._chunks[key]
        landings = self._packed.unpack_landings(self._session.result(handle))
        for landing in landings:
            outcome = landing.outcome
            seconds = outcome.fit_seconds + outcome.score_seconds
            level = outcome.pull.level
            # The longest is remembered, with a slow decay: a chunk that turns out long
            # keeps one worker busy while the others stand idle.
            self._seconds[level] = max(seconds, 0.9 * self._seconds.get(level, 0.0))
        return landings

    def _chunk_size(self, level: int | None) -> int:
        """Return how many pulls of a level fill `CHUNK_SECONDS`; one where none is known."""
        if level is None:
            seconds = min(self._seconds.values(), default=CHUNK_SECONDS)
        else:
            seconds = self._seconds.get(level, CHUNK_SECONDS)
        return int(np.clip(CHUNK_SECONDS / max(seconds, 1e-9), 1, MAX_CHUNK))


class _Shared:
    """How a task and its jobs reach threads of this process: as they are."""

    def __init__(self, task: EvaluationTask) -> None:
        self._task = task

    def arguments(self) -> list[Any]:
        return [None, self._task]

    def pack_jobs(self, jobs: list[Job]) -> list[Job]:
        return jobs

    def unpack_landings(self, landings: list[Landing]) -> list[Landing]:
        return landings


class _Packed:
    """How a task and its jobs reach other processes: pickled, the task only once."""

    def __init__(self, token: str, buffer: npt.NDArray[np.uint8]) -> None:
        self._token = token
        self._buffer = buffer

    @classmethod
    def of(cls, task: EvaluationTask) -> _Packed:
        return cls(uuid.uuid4().hex, np.frombuffer(cloudpickle.dumps(task), dtype=np.uint8))

    def arguments(self) -> list[Any]:
        return [self._token, self._buffer]

    def pack_jobs(self, jobs: list[Job]) -> list[Job]:
        # The models are bytes already, as the worker that made them packed them: joblib
        # would turn their large arrays into read-only maps, which cannot be trained on.
        return jobs

    def unpack_landings(self, landings: list[Landing]) -> list[Landing]:
        return landings


_task_of_token: OrderedDict[str, EvaluationTask] = OrderedDict()
_MAX_TASKS = 2


def _unpacked_task(token: str, buffer: npt.NDArray[np.uint8]) -> EvaluationTask:
    """Return the task, unpickled once a process; the latest two are kept."""
    task = _task_of_token.pop(token, None)
    if task is None:
        task = pickle.loads(memoryview(buffer))  # made by this very search
    _task_of_token[token] = task
    while len(_task_of_token) > _MAX_TASKS:
        _task_of_token.popitem(last=False)
    return task


def _evaluate_chunk(token: str | None, task: Any, jobs: list[Job]) -> list[Landing]:
    """Evaluate some jobs in a worker, under the configuration of the calling process."""
    is_remote = token is not None
    if token is not None:
        task = _unpacked_task(token, task)
    landings = []
    with config_context(**task.config), warnings.catch_warnings():
        for job in jobs:
            if is_remote and job.model is not None:
                job = job._replace(model=pickle.loads(job.model))
            landing = evaluate(task, job)
            if is_remote and landing.model is not None:
                landing = landing._replace(model=cloudpickle.dumps(landing.model))
            landings.append(landing)
    return landings
