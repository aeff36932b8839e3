"""The code that runs in a companion: it receives a task and runs pulls one at a time."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from joblib import parallel_config

from sklearn_halving._unstable_joblib import cloudpickle
from sklearn_halving.execution._types import PullLimits
from sklearn_halving.execution.workers._task_transfer import unpack
from sklearn_halving.execution.workers._worker import ChunkResult, evaluate_chunk

if TYPE_CHECKING:
    PipeEnd = Connection[object, object]

IDLE_SECONDS = 10.0
"""An idle companion exits after this time. Its worker may continue to run."""
GRACE_SECONDS = 10.0
"""If its worker has died, a pull exits this long after its time limit."""
MAX_ALARM_SECONDS = 1e8
"""More than three years. Longer limits are ignored: `signal.setitimer` may reject them."""
LOADED, BEGUN = b"loaded", b"begun"


class Request(NamedTuple):
    """A pull to run: a job and its candidate as bytes, and its limits."""

    token: str
    job: bytes
    candidates: bytes
    limits: PullLimits


class MappedFile(NamedTuple):
    """Bytes that are already in a file, so that they are mapped instead of sent."""

    path: str
    offset: int
    size: int

    def array(self) -> np.ndarray:
        """Return the mapped bytes."""
        return np.memmap(self.path, np.uint8, "r", self.offset, (self.size,))


def serve(pipe: PipeEnd) -> None:
    """Receive a task and run requests, until no more arrive."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the search decides whether to stop
    token, sent = pickle.loads(pipe.recv_bytes())
    arrays = [array.array() if isinstance(array, MappedFile) else array for array in sent]
    unpack(token, arrays)  # before the time of the first pull starts
    try:
        pipe.send_bytes(LOADED)
    except OSError:
        return  # the worker died while the task was loaded
    _run_requests(pipe, token, arrays)


def _run_requests(pipe: PipeEnd, token: str, arrays: list[object]) -> None:
    requests: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_read, args=(pipe, requests), daemon=True).start()
    while True:
        try:
            content = requests.get(timeout=IDLE_SECONDS)
        except Empty:
            return
        pipe.send_bytes(BEGUN)
        request: Request = pickle.loads(content)
        jobs = [pickle.loads(request.job)]
        limits = request.limits
        # An estimator with n_jobs uses threads, because they end with this process.
        with parallel_config("threading"), _alarm(limits.seconds), memory_limit(limits.memory):
            result = evaluate_chunk(jobs, request.candidates, token, *arrays)
        sys.stdout.flush()
        pipe.send_bytes(_dumped(result))


def _read(pipe: PipeEnd, requests: SimpleQueue[bytes]) -> None:
    """Receive requests. If the worker is gone, end the process, even during a pull."""
    try:
        while True:
            requests.put(pipe.recv_bytes())
    except (EOFError, OSError):
        os._exit(1)


def _dumped(result: ChunkResult) -> bytes:
    """Return a result as bytes. An exception that cannot be pickled is replaced by its repr."""
    failure = result.failure
    try:
        content: bytes = cloudpickle.dumps(result)
        if failure is not None:
            pickle.loads(cloudpickle.dumps(failure))
    except Exception:
        if failure is None:
            raise
        failure = failure._replace(error=RuntimeError(repr(failure.error)))
        content = cloudpickle.dumps(result._replace(failure=failure))
    return content


@contextmanager
def _alarm(seconds: float | None) -> Iterator[None]:
    """Let the system end this process if the pull hangs and the worker is gone."""
    if seconds is None or seconds > MAX_ALARM_SECONDS or not hasattr(signal, "setitimer"):
        yield
        return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds + GRACE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@contextmanager
def memory_limit(n_bytes: int | None) -> Iterator[None]:
    """Limit the address space of this process to its present size plus ``n_bytes``."""
    if n_bytes is None or sys.platform != "linux":
        yield
        return
    import resource

    n_pages = int(Path("/proc/self/statm").read_text().split()[0])
    n_used = n_pages * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limits = [n_used + n_bytes, *(n for n in (soft, hard) if n != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
