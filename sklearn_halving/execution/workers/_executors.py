"""Executors, which run pulls in this process or with joblib's active backend.

Both executors have the methods ``submit`` and ``wait_any``, and the property ``room``, the
number of further jobs that can be used now. The code that runs in a worker is in `_worker`.
"""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from queue import Empty
from typing import Protocol

from sklearn_halving._unstable_joblib import JoblibSession, LostWorkerError, evaluated_pre_dispatch
from sklearn_halving.execution._types import NO_LIMITS, EvaluationTask, Job, Landing, PullLimits
from sklearn_halving.execution.workers._chunk_queue import ChunkQueue, ChunksUnderWay
from sklearn_halving.execution.workers._companion import POLL_SECONDS
from sklearn_halving.execution.workers._guard import (
    COMPANIONS,
    casualty_landing,
    check_limits,
    guarded_chunk,
    guarded_jobs,
)
from sklearn_halving.execution.workers._lost_backend import BackendWatch, LostBackendError
from sklearn_halving.execution.workers._task_transfer import SharedTask, candidates_of, packed
from sklearn_halving.execution.workers._worker import (
    ChunkResult,
    Failure,
    evaluate_chunk,
    evaluate_jobs,
    evaluate_with_model,
)

SERIAL_WINDOW = 64
"""Number of pulls that are requested together in serial runs, because a request takes time."""
MAX_LOSSES = 3
"""After this many losses of workers, all pulls run in companions, because starting new workers
takes seconds."""
MAX_IN_VAIN = 5
"""Maximum number of losses of workers in a row without any pull that returns."""


class Executor(Protocol):
    """The interface that the pull loop uses to run pulls."""

    @property
    def uses_threads(self) -> bool:
        """Whether jobs run in other threads of this process."""

    @property
    def room(self) -> int:
        """Number of further jobs that can be used now."""

    def submit(self, job: Job) -> None:
        """Add a job to the queue."""

    def wait_any(self, timeout: float | None = None) -> Sequence[Landing]:
        """Return the landings; none after ``timeout`` seconds or if no job is left."""

    def stop(self) -> None:
        """Start no further job. Only jobs that are running will return."""


@contextmanager
def open_executor(
    task: EvaluationTask,
    n_jobs: int | None,
    pre_dispatch: int | str,
    limits: PullLimits = NO_LIMITS,
) -> Iterator[Executor]:
    """Open joblib's active backend; with a single worker, pulls run in this process.

    Pulls that have limits run in a companion of their worker; see `_companion`.

    Raises
    ------
    ValueError
        If the platform does not support a limit.
    """
    check_limits(limits)
    # Threads that change the warning filters at the same time may leave them changed.
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
    """Runs one job at each `wait_any`: in this process or, with limits, in a companion."""

    uses_threads = False

    def __init__(self, task: EvaluationTask, limits: PullLimits = NO_LIMITS) -> None:
        self._task = task
        self._limits = limits
        self._queue: deque[Job] = deque()
        self._packed = None if limits == NO_LIMITS else packed(task)

    @property
    def room(self) -> int:
        """Number of further jobs that can be used now; 0 until the queue is empty."""
        return 0 if self._queue else SERIAL_WINDOW

    def submit(self, job: Job) -> None:
        """Add a job to the queue."""
        self._queue.append(job)

    def stop(self) -> None:
        """Remove the jobs that wait. No job is running between two calls of `wait_any`."""
        self._queue.clear()

    def wait_any(self, timeout: float | None = None) -> list[Landing]:
        """Run the oldest job, if there is one; ``timeout`` is ignored."""
        if not self._queue:
            return []
        job = self._queue.popleft()
        if self._packed is None:
            return [evaluate_with_model(self._task, job)]
        candidates = candidates_of(self._task, [job])
        result = guarded_jobs(self._limits, [job], candidates, *self._packed)
        if result.failure is not None:
            raise result.failure.exception()
        casualties = [casualty_landing(self._task, self._limits, c) for c in result.casualties]
        return result.landings + casualties

    def close(self) -> None:
        """Kill the companion."""
        if self._packed is not None:
            COMPANIONS.close(self._packed[0])


@dataclass
class Losses:
    """Counts how often workers were lost."""

    pending: LostWorkerError | None = None
    """A loss from which the executor has not yet recovered."""
    n: int = 0
    """Number of losses."""
    n_in_vain: int = 0
    """Number of losses since a chunk last returned."""

    def note(self, loss: LostWorkerError) -> None:
        """Count a loss; raise after too many losses in a row."""
        self.n += 1
        self.n_in_vain += 1
        if self.n_in_vain > MAX_IN_VAIN:
            raise RuntimeError(
                f"The workers were lost {self.n_in_vain} times in a row, without a finished fit "
                f"in between. Last cause: {loss}. Find out what ends them. Often it is the "
                "system, because it is out of memory, or the cluster."
            ) from loss.error


class JoblibExecutor:
    """Sends jobs to joblib's workers and collects the landings. Short jobs are sent in chunks.

    The task is pickled once. Workers in other processes receive it as arrays of bytes, which
    joblib memory-maps if they are large. They keep the unpickled task, so that X and y are not
    sent with every pull.

    If workers die, the pulls that they had not returned are sent to new workers, and each of
    them runs in a companion. If a pull kills its process again, only its companion dies, and
    other pulls are not affected.

    If the cluster itself is gone, `wait_any` raises a `LostBackendError`.
    """

    def __init__(
        self,
        task: EvaluationTask,
        session: JoblibSession,
        max_chunks: int | None,
        limits: PullLimits = NO_LIMITS,
    ) -> None:
        self.uses_threads = session.uses_threads
        self._task = task
        self._session = session
        self._limits = limits
        self._shared = SharedTask(task, session)
        self._queue = ChunkQueue(max_chunks or 10 * session.n_workers)
        self._under_way = ChunksUnderWay()
        self._losses = Losses()
        self._watch = BackendWatch(session)
        self._error: Exception | None = None
        self._is_stopped = False

    @property
    def room(self) -> int:
        """Number of further jobs that can be used now; at most one chunk."""
        return self._queue.room

    def submit(self, job: Job) -> None:
        """Add a job to the queue. The next `wait_any` sends it."""
        self._queue.put(job)

    def stop(self) -> None:
        """Send no further job, and tell the workers not to start the jobs they have received."""
        self._is_stopped = True
        self._queue.take_all()
        self._shared.stop(self._under_way.first_pulls(self._session.n_workers))

    def wait_any(self, timeout: float | None = None) -> list[Landing]:
        """Send the jobs that wait, wait for at least one landing, and return all landings.

        The list is empty after ``timeout`` seconds, or if no job is running after `stop`. An
        exception in a worker is raised after all other results have been returned.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        landings = self._receive_done()
        while True:
            if self._losses.pending is not None:
                landings += self._recover(self._losses.pending)
            if not (self._error or self._is_stopped) and self._can_send():
                self._send()
            if self._losses.pending is not None:
                continue
            if landings:
                return landings
            if self._error is not None:
                raise self._error
            left = POLL_SECONDS if deadline is None else deadline - time.monotonic()
            if left <= 0 or not self._must_wait():
                return []
            landings = self._receive_next(min(left, POLL_SECONDS)) + self._receive_done()

    def close(self) -> None:
        """Kill the companions of this process. Those of other workers exit by themselves."""
        for token in self._shared.tokens:
            COMPANIONS.close(token)
        self._shared.close()

    def _must_wait(self) -> bool:
        """Return whether to wait for chunks; after `stop`, end the workers if none is running.

        Workers on this machine return the jobs that they have finished, so that no finished
        fit is lost. Other workers are aborted, together with the chunks that have not started.
        """
        under_way = self._under_way
        if not self._is_stopped:
            return bool(under_way.chunks) or len(self._queue) > 0  # for a cluster without workers
        can_stop = self._shared.can_stop_workers
        has_running = can_stop or under_way.await_only(self._session.n_workers)
        if under_way.chunks and has_running and not self._watch.runs_nothing():
            return True
        if under_way.chunks or can_stop:
            under_way.chunks.clear()
            self._session.abort()
        return False

    def _can_send(self) -> bool:
        """Return whether there are workers that can be given the task, or that have it."""
        return self._shared.is_shared or self._watch.has_workers()

    def _send(self) -> None:
        """Send chunks. Jobs that may have killed a worker are sent first."""
        while len(self._under_way.chunks) < self._queue.max_chunks and len(self._queue):
            chunk, is_suspect = self._queue.next_chunk()
            is_guarded = is_suspect or self._losses.n >= MAX_LOSSES or self._limits != NO_LIMITS
            function: Callable[..., object] = evaluate_jobs
            arguments: list[object] = [self._task, chunk]
            done = self._under_way.add(chunk)
            try:
                if is_guarded or not self._session.shares_memory:
                    function = evaluate_chunk
                    if is_guarded:
                        function = partial(guarded_chunk, self._limits)
                    function, arguments = self._shared.call(function, chunk)
                self._session.submit(function, arguments, done)
            except LostWorkerError as loss:
                self._queue.suspects.extend(self._under_way.take_back())
                self._losses.pending = loss
                break
        self._session.flush()

    def _receive_done(self) -> list[Landing]:
        landings: list[Landing] = []
        while not self._under_way.done.empty():
            landings += self._receive(*self._under_way.done.get())
        return landings

    def _receive_next(self, seconds: float) -> list[Landing]:
        try:
            return self._receive(*self._under_way.done.get(timeout=max(0.0, seconds)))
        except Empty:
            if self._session.has_lost_workers():
                error = ChildProcessError("A process of the pool ended.")
                self._losses.pending = LostWorkerError(error, is_broken=True)
            self._note_lost_backend(self._watch.cause_of_loss())
            return []

    def _note_lost_backend(self, cause: str | None) -> bool:
        """Make `wait_any` raise if there is a cause of loss; return whether there is one."""
        if cause is not None:
            self._under_way.take_all_back()
            self._session.abandon()
            if not self._is_stopped:  # a search that has stopped ends with its results anyway
                self._error = self._error or LostBackendError(cause)
        return cause is not None

    def _receive(self, key: int, handle: object) -> list[Landing]:
        chunk = self._under_way.chunks.pop(key, None)
        if chunk is None:  # the chunk belonged to workers that were given up
            return []
        try:
            result: ChunkResult = self._session.result(handle)
        except LostWorkerError as loss:
            self._queue.suspects.extend(chunk)
            self._losses.pending = loss
            return []
        except Exception as error:  # noqa: BLE001 - `wait_any` raises it later
            result = ChunkResult([], Failure(error))
        self._losses.n_in_vain = 0
        self._queue.release(chunk)
        for landing in result.landings:
            self._queue.note(landing.outcome)
        landings, failure = list(result.landings), result.failure
        try:
            landings += [casualty_landing(self._task, self._limits, c) for c in result.casualties]
        except (TimeoutError, ChildProcessError) as error:
            failure = failure or Failure(error)
        if failure is not None and self._error is None:
            self._error = failure.exception()
        return landings

    def _recover(self, loss: LostWorkerError) -> list[Landing]:
        """Reopen the backend if it is broken, and queue the jobs that did not return."""
        self._losses.pending = None
        landings: list[Landing] = []
        if self._note_lost_backend(self._watch.settle()):
            return landings
        self._losses.note(loss)
        if loss.is_broken:
            self._session.reopen()
            landings = self._receive_done()
            self._queue.suspects.extend(self._under_way.take_all_back())
        self._shared.forget()
        return landings
