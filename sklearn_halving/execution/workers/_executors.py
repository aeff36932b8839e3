"""Executors, which run pulls in this process or with joblib's active backend.

Both executors have the methods ``submit`` and ``wait_any``, and the property ``room``, the
number of further jobs that can be used now. The code that runs in a worker is in `_worker`.

joblib's backends do not report that the scheduler of a cluster is gone: the tasks that were sent
to it just never return. `ClusterWatch` finds out.
"""

from __future__ import annotations

import socket
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from queue import Empty, SimpleQueue
from typing import Any, Literal

import numpy as np

from sklearn_halving._unstable_joblib import (
    JoblibSession,
    LostWorkerError,
    evaluated_pre_dispatch,
    start_on_loop,
)
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.execution._prices import Prices
from sklearn_halving.execution._threads import FIT_THREADS, fit_threads
from sklearn_halving.execution._types import NO_LIMITS, EvaluationTask, Job, PullLimits, Result
from sklearn_halving.execution.workers import _limits, _worker

CHUNK_SECONDS = 0.1
"""Target duration of a chunk. Shorter pulls are sent together to reduce the overhead."""
MAX_CHUNK = 200
SERIAL_WINDOW = 64
"""Number of pulls that are requested together in serial runs, because a request takes time."""
MAX_LOSSES = 3
"""After this many losses of workers of a cluster, all pulls are guarded, because starting new
workers takes seconds. On this machine, one loss is enough: it is hardly anybody else's fault."""
LARGE_CHUNK = 2**17
"""Chunks with more bytes than this, because of their models, bypass the scheduler of Dask."""
MAX_IN_VAIN = 5
"""Maximum number of losses of workers in a row without any pull that returns."""

ANSWER_SECONDS = 5.0
"""Longest wait for an answer of the scheduler of Dask."""
SILENT_SECONDS = 300.0
"""After this time without a fit that returns from a cluster, a warning says so."""
ENDED_BY_RAY = (
    "Ray ends this process within a minute, unless RAY_gcs_rpc_server_reconnect_timeout_s "
    "was set before ray.init"
)
CONNECT_SECONDS = 1.0
"""Longest wait for a connection with the head of Ray."""


@contextmanager
def open_executor(
    task: EvaluationTask,
    n_jobs: int | None,
    pre_dispatch: int | str,
    limits: PullLimits = NO_LIMITS,
    prices: Prices | None = None,
) -> Iterator[Executor]:
    """Open joblib's active backend; with a single worker, pulls run in this process.

    Pulls that have limits run in a process that their worker, or this process, may kill; see
    `_limits`. So do those in this process that may not end in time, by their prices.

    Raises
    ------
    ValueError
        If the platform does not support a limit.
    """
    _limits.check_limits(limits)
    # Threads that change the warning filters at the same time may leave them changed.
    with warnings.catch_warnings(), JoblibSession(n_jobs) as session:
        n_threads = session.threads_of_fit(FIT_THREADS.get())
        task = replace(task, n_threads=n_threads)
        guard = _limits.Guard(task, prices or Prices())
        executor: Executor = SerialExecutor(guard)
        if session.can_submit:
            in_flight = evaluated_pre_dispatch(pre_dispatch, session.n_workers)
            executor = JoblibExecutor(guard, session, in_flight, limits)
        elif limits != NO_LIMITS:
            executor = JoblibExecutor(guard, session, 1, limits)
        # Threads of this process cannot limit BLAS, which has one limit for all of them.
        with fit_threads(n_threads if session.uses_threads else None):
            try:
                yield executor
            finally:
                executor.close()


class SerialExecutor:
    """Runs one job at each `wait_any`, in this process."""

    uses_threads = False
    can_abandon = False
    """Whether running fits can be given up, which threads cannot."""

    def __init__(self, guard: _limits.Guard) -> None:
        self.guard = guard
        self._queue: deque[Job] = deque()

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

    def abandon(self) -> list[Result]:
        """Do nothing: a fit in this process cannot be given up."""
        return []

    def wait_any(self, timeout: float | None = None) -> list[Result]:
        """Run the oldest job, if there is one; ``timeout`` is ignored."""
        return [self.guard.evaluate(self._queue.popleft())] if self._queue else []

    def close(self) -> None:
        """Kill the process of a guarded fit."""
        self.guard.close()


@dataclass
class ChunkQueue:
    """Jobs that wait for a worker.

    Parameters
    ----------
    max_chunks : int
        Maximum number of chunks that are sent at a time.
    waiting : deque[Job]
        Jobs in the order of submission.
    suspects : deque[Job]
        Jobs that were lost because their worker died. One of them may have killed it, so they
        are sent first and one at a time.
    """

    max_chunks: int
    waiting: deque[Job] = field(default_factory=deque)
    suspects: deque[Job] = field(default_factory=deque)
    _n_held: Counter[int] = field(default_factory=Counter)
    _last_level: int | None = None
    _seconds: dict[int, float] = field(default_factory=dict)

    @property
    def room(self) -> int:
        """Number of further jobs that can be used now; at most one chunk."""
        # At most one chunk: the next pulls may take much longer, and should not be requested
        # long before they can run.
        held = sum(n / self._chunk_size(level) for level, n in self._n_held.items())
        size = 1 if self._last_level is None else self._chunk_size(self._last_level)
        return ceil(min(1.0, self.max_chunks - held) * size) if held < self.max_chunks else 0

    def put(self, job: Job) -> None:
        """Add a job."""
        self.waiting.append(job)
        self._n_held[job.pull.level] += 1
        self._last_level = job.pull.level

    def release(self, chunk: list[Job], results: list[Result]) -> None:
        """Make room after the jobs of a chunk have returned, and learn from their times."""
        self._n_held.subtract(job.pull.level for job in chunk)
        for outcome in (result.outcome for result in results):
            seconds, level = outcome.seconds, outcome.pull.level
            # The estimate is the maximum, with a slow decay. If it were too small, a long chunk
            # would keep one worker busy while the others are idle.
            self._seconds[level] = max(seconds, 0.9 * self._seconds.get(level, 0.0))

    def next_chunk(self, *, guards_all: bool = False) -> tuple[list[Job], bool]:
        """Remove a chunk from the queue; return it and whether it is guarded.

        A guarded job is alone. Another chunk takes about `CHUNK_SECONDS`, and leaves enough jobs
        for the other workers.
        """
        if self.suspects or guards_all:
            return [(self.suspects or self.waiting).popleft()], True
        fair_share = ceil(len(self.waiting) / self.max_chunks)
        # Less than a tenth of a chunk is not shared, because sending it takes longer.
        fair_share = max(fair_share, self._chunk_size(self.waiting[0].pull.level) // 10)
        chunk, filled = [self.waiting.popleft()], 0.0
        while self.waiting and len(chunk) < fair_share:
            filled += 1 / self._chunk_size(chunk[-1].pull.level)
            # Jobs of another level may take much longer than the previous ones.
            if filled + 1 / self._chunk_size(self.waiting[0].pull.level) > 1:
                break
            chunk.append(self.waiting.popleft())
        return chunk, False

    def __len__(self) -> int:
        return len(self.waiting) + len(self.suspects)

    def _chunk_size(self, level: int) -> int:
        """Return the number of pulls of a level that take `CHUNK_SECONDS`; 1 if unknown."""
        seconds = self._seconds.get(level, CHUNK_SECONDS)
        return int(np.clip(CHUNK_SECONDS / max(seconds, 1e-9), 1, MAX_CHUNK))


class ClusterWatch:
    """Tells whether the cluster of a session is gone, or returns nothing any more.

    Only the clusters of Dask and Ray can be lost. The workers of other backends belong to this
    process, which starts new ones.
    """

    def __init__(self, session: JoblibSession) -> None:
        self.head = self.ray_head = ""
        self._client: Any = session.client if session.library == "dask" else None
        if session.library == "dask":
            scheduler = getattr(self._client, "scheduler", None)
            self.head = f"Dask scheduler at {getattr(scheduler, 'address', 'an unknown address')}"
        elif session.library == "ray":
            import ray

            self.ray_head = str(ray.get_runtime_context().gcs_address)
            self.head = f"head of Ray at {self.ray_head}"
            if _refuses(self.ray_head):  # behind a proxy, for example
                self.ray_head = ""
        self._silent_since = time.monotonic()
        self._has_warned = False

    def cause_of_loss(self, *, waits: bool = False) -> str | None:
        """Return why the cluster is gone; None if it is not, or if it may come back."""
        if self._client is not None:
            # Dask connects anew for half a minute, and then closes the client.
            while waits and self._client.status == "connecting":
                time.sleep(0.1)
            if self._client.status in ("closing", "closed"):
                return f"The {self.head} is gone, or its client was closed"
        is_gone = self.ray_head and _refuses(self.ray_head)
        return f"The {self.head} is gone, and {ENDED_BY_RAY}" if is_gone else None

    def has_workers(self, question: Literal["ncores", "ncores_running"]) -> bool:
        """Ask the scheduler of Dask whether it has workers, or any that are not paused.

        Without an answer, there are none. The head of Ray is not asked: a function of Ray that
        waits for a lost head ends this process.
        """
        if self._client is None:
            return not self.is_silent()
        with suppress(Exception):  # it is closed, connects anew, or does not answer
            answer = start_on_loop(self._client, getattr(self._client.scheduler, question)())
            return bool(answer.result(ANSWER_SECONDS))
        return False

    def note_progress(self) -> None:
        """Note that a fit has returned, or that a wait begins."""
        self._silent_since = time.monotonic()

    def is_silent(self) -> bool:
        """Return whether a cluster has returned no fit for a long time; warn the first time."""
        if not self.head or time.monotonic() - self._silent_since <= SILENT_SECONDS:
            return False
        if not self._has_warned:
            self._has_warned = True
            warn_user(
                f"The {self.head} has returned no fit for {SILENT_SECONDS:g} seconds. If it does "
                "not answer any more, press Ctrl-C twice: finished fits are kept, and with a "
                "checkpoint, fit goes on from there."
                + (f" If the head is gone, {ENDED_BY_RAY}." if self.ray_head else "")
            )
        return True


def _refuses(address: str) -> bool:
    """Return whether nothing listens at an address. A machine that is silent does not refuse."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except ConnectionRefusedError:
        return True
    except (OSError, ValueError):
        return False
    return False


class JoblibExecutor:
    """Sends jobs to joblib's workers and collects the results. Short jobs are sent in chunks.

    The task is pickled once. Workers in other processes receive it as arrays of bytes, which
    joblib memory-maps if they are large. They keep the unpickled task, so that X and y are not
    sent with every pull.

    If workers die, the pulls that they had not returned are sent to new workers, and each of
    them is guarded. If a pull kills its process again, other pulls are not affected.

    If the cluster itself is gone, `wait_any` raises a ConnectionError.
    """

    def __init__(
        self,
        guard: _limits.Guard,
        session: JoblibSession,
        max_chunks: int | None,
        limits: PullLimits = NO_LIMITS,
    ) -> None:
        self.uses_threads = session.uses_threads and session.can_submit
        self.can_abandon = not session.shares_memory
        self._task = guard.task
        self._session = session
        self._limits = limits
        self.guard = guard
        self._token = guard.token
        self._shared: list[object] = []  # the task, once the workers have it
        self._queue = ChunkQueue(max_chunks or 10 * session.n_workers)
        self._sent: dict[int, list[Job]] = {}  # chunks that have not returned, in order
        self._began: dict[int, float] = {}  # when they were sent
        self._n_sent = 0
        self._returned: SimpleQueue[tuple[int, object]] = SimpleQueue()  # filled by threads
        self._awaited: set[int] | None = None  # after a stop, the chunks that have started
        self._loss: LostWorkerError | None = None
        self._n_losses = self._n_in_vain = 0
        self._watch = ClusterWatch(session)
        self._error: Exception | None = None

    @property
    def room(self) -> int:
        """Number of further jobs that can be used now; at most one chunk."""
        return self._queue.room

    def submit(self, job: Job) -> None:
        """Add a job to the queue. The next `wait_any` sends it."""
        self._queue.put(job)

    def stop(self) -> None:
        """Send no further job, and wait only for the chunks that workers have started."""
        self._queue.suspects.clear()
        self._queue.waiting.clear()
        if self._awaited is None:
            keys = list(self._sent)  # workers start them in the order of sending
            self._awaited = set(keys[: self._session.n_workers])
            self._watch.note_progress()
            if self._session.shares_memory:
                for key in keys[self._session.n_workers :]:
                    self._sent[key].clear()  # a thread that starts it finds nothing to do

    def abandon(self) -> list[Result]:
        """Abandon the running fits; return them."""
        running = [
            (job, self._began[key])
            for key in self._awaited or ()
            for job in self._sent.get(key, ())
        ]
        self._awaited = set()
        self._must_wait()
        return [_limits.abandoned(self._task, job, began) for job, began in running]

    def wait_any(self, timeout: float | None = None) -> list[Result]:
        """Send the jobs that wait, wait for at least one result, and return all results.

        The list is empty after ``timeout`` seconds, or if no job is running after `stop`. An
        exception in a worker is raised after all other results have been returned.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        results = self._receive_returned()
        while True:
            if self._loss is not None:
                results += self._recover(self._loss)
            if results and not self._session.takes_single_tasks:
                return results  # before others run, which takes long
            is_open = self._error is None and self._awaited is None
            if is_open and (self._shared or self._watch.has_workers("ncores_running")):
                self._send()
            if self._loss is not None:
                continue
            if results:
                return results
            if self._error is not None:
                raise self._error
            left = _limits.POLL_SECONDS if deadline is None else deadline - time.monotonic()
            if left <= 0 or not self._must_wait():
                return []
            results = self._receive_next(min(left, _limits.POLL_SECONDS))

    def close(self) -> None:
        """Kill the processes of fits. Those of other workers exit by themselves."""
        _limits.PROCESSES.close(self._token)

    def _must_wait(self) -> bool:
        """Return whether to wait for chunks; after `stop`, end the workers if none is running."""
        if self._awaited is None:
            return bool(self._sent) or len(self._queue) > 0  # for a cluster without workers
        # A search that waits for nothing but running fits does not wait for new workers.
        is_running = not self._awaited.isdisjoint(self._sent) and not self._is_lost()
        if is_running and self._watch.has_workers("ncores"):
            return True
        if self._sent:
            self._sent.clear()
            self._session.abort()
        return False

    def _send(self) -> None:
        """Send chunks. Jobs that may have killed a worker are sent first."""
        most = MAX_LOSSES if self._watch.head else 1
        guards_all = self._n_losses >= most or self._limits != NO_LIMITS
        while len(self._sent) < self._queue.max_chunks and len(self._queue):
            chunk, is_guarded = self._queue.next_chunk(guards_all=guards_all)
            key, self._n_sent = self._n_sent, self._n_sent + 1
            self._sent[key], self._began[key] = chunk, time.time()
            try:
                function, arguments = self._call(chunk, is_guarded=is_guarded)
                self._session.submit(function, arguments, partial(self._put, key))
            except LostWorkerError as loss:
                self._queue.suspects.extend(self._sent.pop(key))
                self._loss = loss
                break
        self._session.flush()

    def _put(self, key: int, handle: object) -> None:
        self._returned.put((key, handle))

    def _call(
        self, chunk: list[Job], *, is_guarded: bool
    ) -> tuple[Callable[..., _worker.Done], list[object]]:
        """Return the function and the arguments for evaluating a chunk in a worker."""
        if self._session.shares_memory and not is_guarded:
            return _worker.evaluate_jobs, [self._task, self.guard.evaluate, chunk]
        if not self._shared:
            self._shared = _worker.shared_arrays(_worker.packed(self._task), self._session)
        guard = _limits.guarded_job if self._session.shares_memory else _limits.guarded_chunk
        function = partial(guard, self._limits) if is_guarded else _worker.evaluate_chunk
        content = _worker.packed_chunk(self._task, chunk)
        if self._session.library == "dask" and len(content) > LARGE_CHUNK:
            # Its scheduler keeps the arguments of a call, but sends an array to the worker alone.
            content = np.frombuffer(content, dtype=np.uint8)
        return function, [content, self._token, *self._shared]

    def _receive_returned(self) -> list[Result]:
        results: list[Result] = []
        while not self._returned.empty():
            results += self._receive(*self._returned.get())
        return results

    def _receive_next(self, seconds: float) -> list[Result]:
        try:
            first = self._returned.get(timeout=seconds)
        except Empty:
            if self._session.has_lost_workers():
                error = ChildProcessError("A process of the pool ended.")
                self._loss = LostWorkerError(error, is_broken=True)
            if not self._is_lost():
                self._watch.is_silent()
            return []
        return self._receive(*first) + self._receive_returned()

    def _is_lost(self, *, waits: bool = False) -> bool:
        """Return whether the cluster is gone; if so, `wait_any` raises an error that says why."""
        cause = self._watch.cause_of_loss(waits=waits)
        if cause is None or self._error is not None:
            return cause is not None
        self._sent.clear()
        self._session.abandon()
        if self._awaited is None:  # a search that has stopped ends with its results anyway
            self._error = ConnectionError(
                f"{cause}. Running fits are lost; those that returned before are "
                "kept in cv_results_, history_ and best_*. Connect to a running cluster, or "
                "call fit outside of parallel_config to use this machine."
            )
        return True

    def _receive(self, key: int, handle: object) -> list[Result]:
        chunk = self._sent.pop(key, None)
        if chunk is None:  # the chunk belonged to workers that were given up
            return []
        self._watch.note_progress()
        try:
            done: _worker.Done = self._session.result(handle)
        except LostWorkerError as loss:
            self._queue.suspects.extend(chunk)
            self._loss = loss
            return []
        except Exception as error:  # noqa: BLE001 - `wait_any` raises it later
            done = [error]
        self._n_in_vain = 0
        results = [one for one in done if isinstance(one, Result)]
        self._queue.release(chunk, results)
        self._error = self._error or next((e for e in done if isinstance(e, Exception)), None)
        return results

    def _recover(self, loss: LostWorkerError) -> list[Result]:
        """Reopen the backend if it is broken, and queue the jobs that did not return."""
        self._loss = None
        results: list[Result] = []
        if self._is_lost(waits=True):
            return results
        self._n_losses += 1
        self._n_in_vain += 1
        if self._n_in_vain > MAX_IN_VAIN:
            raise RuntimeError(
                f"The workers were lost {self._n_in_vain} times in a row without a finished fit "
                f"in between ({loss}). Often the system is out of memory: use a smaller n_jobs."
            ) from loss.error
        if loss.is_broken:
            self._session.reopen()
            results = self._receive_returned()
            self._queue.suspects.extend(job for chunk in self._sent.values() for job in chunk)
            self._sent.clear()
        self._shared = []
        return results


Executor = SerialExecutor | JoblibExecutor
"""What the pull loop uses to run pulls."""
