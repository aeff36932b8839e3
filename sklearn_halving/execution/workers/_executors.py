"""Where pulls run: in this process, or through joblib's active backend.

Both have ``submit(job)``, ``wait_any() -> landings``, and ``room``, the number of further
jobs that would be put to use now.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import ceil
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import numpy as np

from sklearn_halving._unstable_joblib import JoblibSession, LostWorkerError, evaluated_pre_dispatch
from sklearn_halving.execution._types import (
    NO_LIMITS,
    EvaluationTask,
    Job,
    Landing,
    PullLimits,
)
from sklearn_halving.execution.workers._chunks import (
    ChunkResult,
    Failure,
    candidates_of,
    evaluate_chunk,
    evaluate_jobs,
    evaluate_with_model,
    packed,
)
from sklearn_halving.execution.workers._clusters import models_apart, shared_arrays, with_models
from sklearn_halving.execution.workers._companion import POLL_SECONDS
from sklearn_halving.execution.workers._guard import (
    COMPANIONS,
    casualty_landing,
    check_limits,
    guarded_chunk,
    guarded_jobs,
)
from sklearn_halving.execution.workers._lost_workers import Losses

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

    def wait_any(self, timeout: float | None = None) -> Sequence[Landing]:
        """Return what has come back: none after ``timeout`` seconds, or once all is done."""

    def stop(self) -> None:
        """Begin no further job: of those submitted, only what is under way will come back."""


@contextmanager
def open_executor(
    task: EvaluationTask,
    n_jobs: int | None,
    pre_dispatch: int | str,
    limits: PullLimits = NO_LIMITS,
) -> Iterator[Executor]:
    """Open joblib's active backend, and run the pulls there or, with one worker, here.

    Where a pull has limits it runs in a process beside its worker; see `_companion`.

    Raises
    ------
    ValueError
        If the platform has no such limit.
    """
    check_limits(limits)
    # Threads that silence a warning at the same time put each other's filters back.
    with warnings.catch_warnings(), JoblibSession(n_jobs) as session:
        executor: SerialExecutor | JoblibExecutor
        if session.can_submit:
            in_flight = evaluated_pre_dispatch(pre_dispatch, session.n_workers)
            executor = JoblibExecutor(task, session, in_flight, limits)
        else:
            executor = SerialExecutor(task, limits)
        try:
            yield executor
        finally:
            executor.close()


class SerialExecutor:
    """Run the jobs one at each `wait_any`: in this process or, with limits, beside it."""

    def __init__(self, task: EvaluationTask, limits: PullLimits = NO_LIMITS) -> None:
        self._task = task
        self._limits = limits
        self._queue: deque[Job] = deque()
        self._packed = None if limits == NO_LIMITS else packed(task)

    @property
    def room(self) -> int:
        """A window of jobs once all have run."""
        return 0 if self._queue else SERIAL_WINDOW

    def submit(self, job: Job) -> None:
        """Take a job."""
        self._queue.append(job)

    def stop(self) -> None:
        """Forget what waits: nothing is under way between two calls of `wait_any`."""
        self._queue.clear()

    def wait_any(self, timeout: float | None = None) -> list[Landing]:
        """Run the oldest job, if there is one; that takes the time it takes."""
        if not self._queue:
            return []
        job = self._queue.popleft()
        if self._packed is None:
            return [evaluate_with_model(self._task, job)]
        candidates = candidates_of(self._task, [job])
        result = guarded_jobs(self._limits, [job], candidates, *self._packed)
        if result.failure is not None:
            raise result.failure.exception()
        landings = list(result.landings)
        return landings + [
            casualty_landing(self._task, self._limits, c) for c in result.casualties
        ]

    def close(self) -> None:
        """End the process beside this one."""
        if self._packed is not None:
            COMPANIONS.close(self._packed[0])


class JoblibExecutor:
    """Send the jobs to joblib's workers, short ones in chunks, and take what comes back.

    The task is pickled once. Workers in other processes get it as arrays of bytes, which
    joblib memory-maps when they are large, and keep what they unpickled: X and y are not
    sent with every pull.

    When workers die, what they had not returned is sent to new ones: each pull in a
    companion of its worker, so that the one that did it, if it does it again, is known and
    harms no other.
    """

    def __init__(
        self,
        task: EvaluationTask,
        session: JoblibSession,
        max_chunks: int | None,
        limits: PullLimits = NO_LIMITS,
    ) -> None:
        self._session = session
        self._max_chunks = max_chunks or 10 * session.n_workers
        self._task = task
        self._limits = limits
        self._packed: list[Any] | None = None
        self._tokens: list[str] = []
        self._waiting: deque[Job] = deque()
        self._suspects: deque[Job] = deque()
        self._chunks: dict[int, list[Job]] = {}
        self._n_held: Counter[int] = Counter()
        self._last_level: int | None = None
        self._done: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        self._seconds: dict[int, float] = {}
        self._n_sent = 0
        self._losses = Losses()
        self._error: Exception | None = None
        self._is_stopped = False
        self._awaited: set[int] | None = None

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

    def stop(self) -> None:
        """Send nothing more."""
        self._is_stopped = True
        self._waiting.clear()

    def wait_any(self, timeout: float | None = None) -> list[Landing]:
        """Send what is waiting, and return all that has come back, at least one landing.

        None if ``timeout`` seconds pass first, or if after `stop` nothing is under way. What
        a chunk raised is raised once all that came back besides has been returned.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        landings = self._receive_done()
        while True:
            if self._losses.pending is not None:
                landings += self._recover(self._losses.pending)
            if self._error is None and not self._is_stopped:
                self._send()
            if self._losses.pending is not None:
                continue
            if landings:
                return landings
            if self._error is not None:
                raise self._error
            left = POLL_SECONDS if deadline is None else deadline - time.monotonic()
            if left <= 0 or not self._is_under_way():
                return []
            landings = self._receive_next(min(left, POLL_SECONDS)) + self._receive_done()

    def _is_under_way(self) -> bool:
        """Return whether to wait for a chunk; after `stop`, for one that a worker has begun."""
        if self._is_stopped and self._awaited is None:  # they begin in the order of sending
            keys = list(self._chunks)
            self._awaited = set(keys[: self._session.n_workers])
            for key in keys[self._session.n_workers :]:
                self._chunks[key].clear()  # a thread that comes to it finds nothing to do
        if self._awaited is not None and self._chunks and self._awaited.isdisjoint(self._chunks):
            self._chunks.clear()
            self._session.abort()
        return bool(self._chunks)

    def close(self) -> None:
        """End the processes beside threads of this one; others end by themselves."""
        for token in self._tokens:
            COMPANIONS.close(token)

    def _receive_done(self) -> list[Landing]:
        landings: list[Landing] = []
        while not self._done.empty():
            landings += self._receive(*self._done.get())
        return landings

    def _receive_next(self, seconds: float) -> list[Landing]:
        try:
            return self._receive(*self._done.get(timeout=max(0.0, seconds)))
        except Empty:
            if self._session.has_lost_workers():
                error = ChildProcessError("A process of the pool ended.")
                self._losses.pending = LostWorkerError(error, is_broken=True)
            return []

    def _send(self) -> None:
        """Send chunks, those first that may have killed a worker."""
        while len(self._chunks) < self._max_chunks and self._losses.pending is None:
            if self._suspects:
                chunk, is_guarded = [self._suspects.popleft()], True
            elif self._waiting:
                chunk, is_guarded = self._next_chunk(), self._losses.are_many
            else:
                break
            self._send_chunk(chunk, is_guarded or self._limits != NO_LIMITS)
        self._session.flush()

    def _send_chunk(self, chunk: list[Job], is_guarded: bool) -> None:
        key = self._n_sent
        self._n_sent += 1
        self._chunks[key] = chunk
        function: Any = evaluate_jobs
        arguments: list[Any] = [self._task, chunk]
        if is_guarded or not self._session.shares_memory:
            if self._packed is None:
                token, *arrays = packed(self._task)
                self._packed = [token, *shared_arrays(arrays, self._session)]
                self._tokens.append(token)
            function = partial(guarded_chunk, self._limits) if is_guarded else evaluate_chunk
            jobs, models = models_apart(chunk, self._session.library)
            if models:
                function = partial(with_models, function, len(models))
            arguments = [jobs, candidates_of(self._task, chunk), *self._packed, *models]
        try:
            self._session.submit(function, arguments, partial(self._on_done, key))
        except LostWorkerError as loss:
            self._losses.pending = loss

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
        chunk = self._chunks.pop(key, None)
        if chunk is None:  # of workers that were given up
            return []
        try:
            result: ChunkResult = self._session.result(handle)
        except LostWorkerError as loss:
            self._suspects.extend(chunk)
            self._losses.pending = loss
            return []
        except Exception as error:  # noqa: BLE001 - raised by `wait_any`, in its turn
            result = ChunkResult([], Failure(error))
        for job in chunk:
            self._n_held[job.pull.level] -= 1
        landings = list(result.landings)
        for landing in landings:
            outcome = landing.outcome
            seconds = outcome.fit_seconds + outcome.score_seconds
            level = outcome.pull.level
            # The longest is remembered, with a slow decay: a chunk that turns out long
            # keeps one worker busy while the others stand idle.
            self._seconds[level] = max(seconds, 0.9 * self._seconds.get(level, 0.0))
        failure = result.failure
        try:
            landings += [casualty_landing(self._task, self._limits, c) for c in result.casualties]
        except (TimeoutError, ChildProcessError) as error:
            failure = failure or Failure(error)
        if failure is not None and self._error is None:
            self._error = failure.exception()
        self._losses.n_in_vain = 0
        return landings

    def _recover(self, loss: LostWorkerError) -> list[Landing]:
        """Open the backend anew if it is broken, and line up what has not come back."""
        self._losses.note(loss)
        landings: list[Landing] = []
        if loss.is_broken:
            self._session.reopen()
            landings = self._receive_done()
            for chunk in self._chunks.values():
                self._suspects.extend(chunk)
            self._chunks.clear()
        self._packed = None  # joblib's files went with the workers, as did what Dask had sent
        self._losses.pending = None
        return landings

    def _chunk_size(self, level: int) -> int:
        """Return how many pulls of a level fill `CHUNK_SECONDS`; one where none is known."""
        seconds = self._seconds.get(level, CHUNK_SECONDS)
        return int(np.clip(CHUNK_SECONDS / max(seconds, 1e-9), 1, MAX_CHUNK))
