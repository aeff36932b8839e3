"""Where pulls run: in this process, or through joblib's active backend.

Both have ``submit(job)``, ``wait_any() -> landings``, and ``room``, the number of further
jobs that would be put to use now.
"""

from __future__ import annotations

import warnings
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import ceil
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import numpy as np

from sklearn_halving._unstable_imports import JoblibSession, evaluated_pre_dispatch
from sklearn_halving.execution._chunks import Failure, candidates_of, evaluate_chunk, packed
from sklearn_halving.execution._evaluation import evaluate
from sklearn_halving.execution._types import EvaluationTask, Job, Landing

CHUNK_SECONDS = 0.1
"""Pulls that are shorter than this are sent together, so that sending does not dominate."""
MAX_CHUNK = 200
POLL_SECONDS = 1.0
"""How long to wait at a stretch: on Windows a wait without end cannot be interrupted."""
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
    # Threads that silence a warning at the same time put each other's filters back.
    with warnings.catch_warnings(), JoblibSession(n_jobs) as session:
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
        self._task = task
        self._packed = None if session.shares_memory else packed(task)
        self._waiting: deque[Job] = deque()
        self._chunks: dict[int, list[Job]] = {}
        self._n_held: Counter[int] = Counter()
        self._last_level: int | None = None
        self._done: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        self._seconds: dict[int, float] = {}
        self._n_sent = 0
        self._error: Exception | None = None

    @property
    def room(self) -> int:
        """A chunk of what was submitted last, unless there are chunks enough already."""
        # No more than one: what comes next may be much longer, and should not be asked for
        # long before it can run.
        held = sum(n / self._chunk_size(level) for level, n in self._n_held.items())
        size = 1 if self._last_level is None else self._chunk_size(self._last_level)
        return ceil(min(1.0, self._max_chunks - held) * size) if held < self._max_chunks else 0

    def submit(self, job: Job) -> None:
        """Take a job; it leaves with the next `wait_any`."""
        self._waiting.append(job)
        self._n_held[job.pull.level] += 1
        self._last_level = job.pull.level

    def wait_any(self) -> list[Landing]:
        """Send what is waiting, and return all that has come back, at least one chunk.

        What a chunk raised is raised once all that came back besides has been returned.
        """
        landings = self._receive_done()
        if self._error is None:
            self._send()
            if not landings:
                landings = self._receive(*self._next_done()) + self._receive_done()
        if self._error is not None and not landings:
            raise self._error
        return landings

    def _receive_done(self) -> list[Landing]:
        landings: list[Landing] = []
        while not self._done.empty():
            landings += self._receive(*self._done.get())
        return landings

    def _next_done(self) -> tuple[int, Any]:
        while True:
            try:
                return self._done.get(timeout=POLL_SECONDS)
            except Empty:
                continue

    def _send(self) -> None:
        while self._waiting and len(self._chunks) < self._max_chunks:
            chunk = self._next_chunk()
            key = self._n_sent
            self._n_sent += 1
            self._chunks[key] = chunk
            self._session.submit(
                evaluate_chunk,
                self._arguments(chunk),
                partial(self._on_done, key),
            )

    def _arguments(self, chunk: list[Job]) -> list[Any]:
        if self._packed is None:
            return [None, self._task, chunk]
        return [*self._packed, chunk, candidates_of(self._task, chunk)]

    def _on_done(self, key: int, handle: Any) -> None:
        """Note that a chunk is done; called from a thread of joblib's."""
        self._done.put((key, handle))

    def _next_chunk(self) -> list[Job]:
        """Return jobs for about `CHUNK_SECONDS`, and no more than leaves some for others."""
        fair_share = ceil(len(self._waiting) / self._max_chunks)
        # A tenth of a chunk is not worth sharing: sending takes longer.
        fair_share = max(fair_share, self._chunk_size(self._waiting[0].pull.level) // 10)
        chunk, filled = [self._waiting.popleft()], 0.0
        while self._waiting and len(chunk) < fair_share:
            filled += 1 / self._chunk_size(chunk[-1].pull.level)
            # Jobs of another level may be much longer than those before them.
            if filled + 1 / self._chunk_size(self._waiting[0].pull.level) > 1:
                break
            chunk.append(self._waiting.popleft())
        return chunk

    def _receive(self, key: int, handle: Any) -> list[Landing]:
        for job in self._chunks.pop(key):
            self._n_held[job.pull.level] -= 1
        try:
            landings, failure = self._session.result(handle)
        except Exception as error:  # noqa: BLE001 - raised by `wait_any`, in its turn
            landings, failure = [], Failure(error)
        if failure is not None and self._error is None:
            self._error = failure.exception()
        for landing in landings:
            outcome = landing.outcome
            seconds = outcome.fit_seconds + outcome.score_seconds
            level = outcome.pull.level
            # The longest is remembered, with a slow decay: a chunk that turns out long
            # keeps one worker busy while the others stand idle.
            self._seconds[level] = max(seconds, 0.9 * self._seconds.get(level, 0.0))
        return list(landings)

    def _chunk_size(self, level: int) -> int:
        """Return how many pulls of a level fill `CHUNK_SECONDS`; one where none is known."""
        seconds = self._seconds.get(level, CHUNK_SECONDS)
        return int(np.clip(CHUNK_SECONDS / max(seconds, 1e-9), 1, MAX_CHUNK))
