"""What a companion does: it takes a task, and runs the pulls it is given."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from traceback import print_exc
from typing import Any, NamedTuple

import numpy as np
from joblib import parallel_config

from sklearn_halving._unstable_joblib import cloudpickle
from sklearn_halving.execution._types import PullLimits
from sklearn_halving.execution.workers._task_transfer import unpack
from sklearn_halving.execution.workers._worker import ChunkResult, evaluate_chunk

IDLE_SECONDS = 10.0
"""A companion that is asked for nothing ends after this long: its worker may live on."""
GRACE_SECONDS = 10.0
"""A pull that nobody ends, since its worker is gone, ends itself this long after its time."""
LOADED, BEGUN = b"loaded", b"begun"


class Request(NamedTuple):
    """A pull to run: a job and its candidate as bytes, and what it may use."""

    token: str
    job: bytes
    candidates: bytes
    limits: PullLimits


class MappedFile(NamedTuple):
    """Bytes that lie in a file already, and are mapped rather than sent."""

    path: str
    offset: int
    size: int

    def array(self) -> Any:
        """Return the bytes, mapped."""
        return np.memmap(self.path, np.uint8, "r", self.offset, (self.size,))


def serve(control: Any, *, forks: bool) -> None:
    """Run what is asked for, here or in copies of this process, until nothing is."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whether to stop is for the search to say
    token, sent = pickle.loads(control.recv_bytes())
    arrays = [array.array() if isinstance(array, MappedFile) else array for array in sent]
    unpack(token, arrays)  # on no pull's time
    control.send_bytes(LOADED)
    if forks:
        _serve_in_copies(control, token, arrays)
    else:
        _run_requests(control, token, arrays)


def _serve_in_copies(control: Any, token: str, arrays: list[Any]) -> None:
    """Copy this process when asked to, and report how the copy ended.

    This process has no threads and runs no fit, so there is nothing that a copy could break.
    """
    try:
        while control.poll(IDLE_SECONDS):
            handle = recv_handle(control)
            with warnings.catch_warnings():
                # Python 3.12 warns of threads; those of BLAS libraries are made for this.
                warnings.simplefilter("ignore")
                pid = os.fork()
            if pid == 0:
                control.close()
                np.random.seed()  # noqa: NPY002 - else it would be the same in every copy
                _run_to_the_end(Connection(handle), token, arrays)
            os.close(handle)
            control.send_bytes(str(pid).encode())
            _, status = os.waitpid(pid, 0)
            control.send_bytes(str(os.waitstatus_to_exitcode(status)).encode())
    except (EOFError, OSError):
        os._exit(1)


def _run_to_the_end(pipe: Any, token: str, arrays: list[Any]) -> None:
    code = 1
    try:
        _run_requests(pipe, token, arrays)
        code = 0
    except BaseException:  # noqa: BLE001 - what follows in the stack is not for a copy
        print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def _run_requests(pipe: Any, token: str, arrays: list[Any]) -> None:
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
        # Threads, if the estimator wants to be parallel: they end with this process.
        with parallel_config("threading"), _alarm(limits.seconds), memory_limit(limits.memory):
            result = evaluate_chunk(jobs, request.candidates, token, *arrays)
        sys.stdout.flush()
        pipe.send_bytes(_dumped(result))


def _read(pipe: Any, requests: SimpleQueue[bytes]) -> None:
    """Take requests; end the process, also amid a pull, when the worker is gone."""
    try:
        while True:
            requests.put(pipe.recv_bytes())
    except (EOFError, OSError):
        os._exit(1)


def _dumped(result: ChunkResult) -> bytes:
    """Return a result as bytes; an exception that does not survive that, in words."""
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
    """Have the system end this process if the pull hangs and the worker is gone."""
    if seconds is None or not hasattr(signal, "setitimer"):
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
    """Let this process take so many bytes of address space on top of what it has now."""
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
