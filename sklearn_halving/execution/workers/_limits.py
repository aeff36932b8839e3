"""Guarded pulls, which run in a process that their worker has started and may kill.

Pulls are guarded if they have limits, or if they may have killed a worker before. A process
cannot stop its own fit if the fit hangs in compiled code, and it cannot survive if the system
kills it. The process is started by the one that evaluates the chunk: a worker of a pool or of a
cluster, or the process of the search. Limits therefore work in the same way with every backend,
and other pulls are not affected.
"""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryFile
from threading import Lock, Thread
from typing import IO, Any
from uuid import uuid4

import numpy as np
from joblib import parallel_config

from sklearn_halving._checks import refuse_unless
from sklearn_halving._unstable_joblib import cloudpickle
from sklearn_halving.execution._evaluation import evaluate, failed_result
from sklearn_halving.execution._prices import Prices
from sklearn_halving.execution._types import EvaluationTask, Job, PullLimits, Result
from sklearn_halving.execution.workers._worker import (
    MAPPED_BYTES,
    Chunk,
    Done,
    evaluate_chunk,
    leave_interrupts_to_the_search,
    local_array,
    packed,
    packed_chunk,
    unpack,
)

START_SECONDS = 3.0
"""Without this much time for it, no process is started to guard a fit against a late end."""
MAX_DEATHS = 3
"""A pull counts as failed after the system has killed its process this many times, and the search
ends if the process cannot be started as often. A pull that crashes counts as failed at once."""
KILLED = (-9, -15)
"""Exit codes of processes that another one has killed; on Windows, there are none."""
POLL_SECONDS = 1.0
"""Longest single wait. On Windows, a wait without a timeout cannot be interrupted."""

IDLE_SECONDS = 10.0
"""An idle process exits after this time. Its worker may continue to run."""
BEGUN = b"begun"

START = """
import sys
from multiprocessing import connection
make = getattr(connection, "Connection", None) or connection.PipeConnection
pipe = make(int(sys.argv[1]))
sys.path[:] = pipe.recv()
task = pipe.recv_bytes()
from sklearn_halving.execution.workers._limits import serve
serve(pipe, task)
"""
"""The task is received before the imports: until then, a large one keeps its sender waiting."""


def check_limits(limits: PullLimits) -> None:
    """Raise if there is a memory limit and this platform does not support it."""
    can_limit = limits.memory is None or sys.platform == "linux"
    rule = "be None on this platform: only Linux lets a process limit its memory"
    refuse_unless(can_limit, "memory_limit", rule, limits.memory)


@dataclass(eq=False)
class AbandonedFit(TimeoutError):  # noqa: N818 - it is no failure
    """A fit was ended because the search has no time for it.

    Parameters
    ----------
    seconds : float
        The time of the fit, without the start of its process.
    """

    seconds: float


NO_TIME = f"{AbandonedFit.__name__}: The search has no time for this fit.\n"


@dataclass(eq=False)
class EndedError(Exception):
    """The process of a pull ended before it returned a result.

    Parameters
    ----------
    has_begun : bool
        Whether the pull had started.
    exit_code : int
        As `subprocess.Popen.returncode`.
    """

    has_begun: bool
    exit_code: int


class FitProcess:
    """A process that runs one pull at a time.

    Parameters
    ----------
    token : str
        Identifier of the task.
    arrays : sequence of array
        The task, as returned by `packed`.
    """

    def __init__(self, token: str, arrays: Sequence[object]) -> None:
        self.token = token
        self.is_busy = True
        with ExitStack() as files:
            handles: list[int] = []
            sent = [_sent(local_array(array), files, handles) for array in arrays]
            self._unsent = [pickle.dumps(sys.path), cloudpickle.dumps([token, sent])]
            self._process, self._pipe = _started(handles)

    @property
    def is_running(self) -> bool:
        """Whether the process is alive."""
        return self._process.poll() is None

    def run(self, request: bytes, limits: PullLimits) -> Done:
        """Run a pull and return its result; raise a TimeoutError if it was killed for its time.

        It is an AbandonedFit if the time of the search is up.
        """
        has_begun = False
        try:
            for message in (*self._unsent, request):
                self._pipe.send_bytes(message)
            self._unsent = []
            of_fit = inf if limits.seconds is None else limits.seconds
            answer, of_budget = _receive(self._pipe, limits.of_start), 0.0
            if answer is not None:
                has_begun, of_budget = True, limits.of_budget
                answer = _receive(self._pipe, min(of_fit, of_budget))
        except (EOFError, OSError):
            raise EndedError(has_begun, self.kill(POLL_SECONDS)) from None
        except BaseException:
            self.kill()
            raise
        if answer is None:
            self.kill()
            if not has_begun or of_budget < of_fit:
                raise AbandonedFit(of_budget)
            raise TimeoutError(f"The fit took longer than fit_timeout={of_fit} seconds.")
        return pickle.loads(answer)

    def kill(self, seconds: float = 0.0) -> int:
        """Kill the process unless it ends within ``seconds``; return its exit code."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.stop()
            code = self._process.wait()
        self._pipe.close()
        return int(code)

    def stop(self) -> None:
        """Kill the process, even during a pull: `run` then raises EndedError."""
        self._process.kill()


def _receive(pipe: Connection, seconds: float) -> bytes | None:
    """Return the next message; None if none arrives within ``seconds``.

    Waits are counted and not the time by the clock, which goes on while this process is stopped.
    """
    while not pipe.poll(max(0.0, min(seconds, POLL_SECONDS))):
        seconds -= POLL_SECONDS
        if seconds <= 0:
            return None
    return pipe.recv_bytes()


def _started(handles: list[int]) -> tuple[subprocess.Popen[bytes], Connection]:
    """Start the process, which gets open files; return it and this end of the pipe to it.

    `multiprocessing.Process` is not used, for two reasons: workers that are daemons must not
    start one, and it could import the user's script again.
    """
    ours, theirs = Pipe()
    handle = theirs.fileno()
    options: dict[str, Any] = {"pass_fds": [handle, *handles]}
    if sys.platform == "win32":
        os.set_handle_inheritable(handle, True)
        info = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [handle]})
        options = {"startupinfo": info}
    command = [sys.executable, "-c", START, str(handle)]
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
    finally:
        theirs.close()
    return process, ours


def _sent(array: Any, files: ExitStack, handles: list[int]) -> Any:
    """Return an array as it is sent: if it is large or mapped from a file, a function to map it.

    A large one is written to an open file without a name, which is gone with its processes.
    """
    # On Windows, a file that is mapped cannot be removed. The bytes are copied instead.
    if sys.platform == "win32" or not isinstance(array, np.ndarray):
        return array
    base: Any = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    if not isinstance(base, np.memmap) or base.filename is None or not array.flags.c_contiguous:
        if array.nbytes <= MAPPED_BYTES:
            return array
        file: IO[bytes] = files.enter_context(TemporaryFile())  # noqa: SIM115 - closed by `files`
        file.write(np.ascontiguousarray(array).data)
        file.flush()
        handles.append(file.fileno())
        return partial(_mapped, file.fileno(), array.nbytes)
    start = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    shape = (array.nbytes,)
    return partial(np.memmap, os.fspath(base.filename), np.uint8, "r", base.offset + start, shape)


def _mapped(handle: int, n_bytes: int) -> np.ndarray:
    return np.frombuffer(mmap.mmap(handle, n_bytes, access=mmap.ACCESS_READ), np.uint8)


@dataclass
class FitProcesses:
    """The processes that this one has started; ``closed`` are the tokens of ended searches."""

    processes: list[FitProcess] = field(default_factory=list)
    closed: set[str] = field(default_factory=set)
    lock: Lock = field(default_factory=Lock)

    def take(self, token: str, arrays: Sequence[object]) -> FitProcess:
        """Return an idle process that has the task, or start a new one."""
        with self.lock:
            self.processes = [process for process in self.processes if process.is_running]
            for process in self.processes:
                if process.token == token and not process.is_busy:
                    process.is_busy = True
                    return process
            self.processes.append(FitProcess(token, arrays))
            return self.processes[-1]

    def prepare(self, token: str, arrays: Sequence[object]) -> None:
        """Start a process for a later pull."""
        self.put_back(self.take(token, arrays))

    def has(self, token: str) -> bool:
        """Return whether there is a process that has a task."""
        return any(one.token == token and one.is_running for one in self.processes)

    def put_back(self, process: FitProcess) -> None:
        """Keep a process for the next pull if its search has not ended."""
        with self.lock:
            process.is_busy = False
            if process.token in self.closed:
                process.kill()

    def close(self, token: str) -> None:
        """Kill the processes of a search."""
        with self.lock:
            self.closed.add(token)
            for process in self.processes:
                if process.token == token:
                    process.stop()
                    if not process.is_busy:
                        process.kill()
            self.processes = [process for process in self.processes if process.token != token]


PROCESSES = FitProcesses()


def guarded_chunk(limits: PullLimits, chunk: Chunk, token: str, *arrays: object) -> Done:
    """Evaluate a job for a worker process; see `guarded_job`."""
    leave_interrupts_to_the_search()
    return guarded_job(limits, chunk, token, *arrays)


def guarded_job(limits: PullLimits, chunk: Chunk, token: str, *arrays: object) -> Done:
    """Evaluate a chunk of one job in a process that may be killed.

    A pull that exceeds its time limit is killed and counts as failed.
    """
    started, clock = time.time(), time.perf_counter()
    try:
        return _evaluated(limits, chunk, token, arrays)
    except (TimeoutError, ChildProcessError) as error:
        (job,), candidates = pickle.loads(memoryview(chunk))
        task = replace(unpack(token, arrays)[0], candidates=candidates)
        return [_ended(task, job, error, started, time.perf_counter() - clock)]


def _evaluated(limits: PullLimits, chunk: Chunk, token: str, arrays: Sequence[object]) -> Done:
    """Return the results of the process of a fit; raise the error that ended it.

    A pull whose process died is retried if it was killed, perhaps because another one used too
    much memory. After `MAX_DEATHS` deaths, or one by a signal such as SIGSEGV, the pull counts as
    failed.
    """
    request = pickle.dumps((chunk, limits))
    n_deaths = n_starts = 0
    while True:
        process = PROCESSES.take(token, arrays)
        try:
            return process.run(request, limits)
        except EndedError as ended:
            if token in PROCESSES.closed:
                raise RuntimeError("The search that this pull is part of has ended.") from None
            n_deaths += ended.has_begun
            n_starts += not ended.has_begun  # it may have been idle for too long
            if n_starts == MAX_DEATHS:
                raise RuntimeError(
                    f"The process of a fit ended {MAX_DEATHS} times before it began "
                    f"({_exit_text(ended.exit_code)}); see its output on stderr. Often a module "
                    "of the estimator cannot be imported, or the system is out of memory."
                ) from None
            if n_deaths < MAX_DEATHS and (ended.exit_code in KILLED or not ended.has_begun):
                continue
            why = f"The fit ended the process in which it ran ({_exit_text(ended.exit_code)})"
            if ended.exit_code in KILLED:
                why += f", {MAX_DEATHS} times in a row, perhaps because memory ran out"
            raise ChildProcessError(f"{why}.") from None
        finally:
            PROCESSES.put_back(process)


def _ended(
    task: EvaluationTask, job: Job, error: Exception, started: float, seconds: float
) -> Result | Exception:
    """Return the result of a fit that was ended, or its error, if errors are raised."""
    if task.error_score == "raise":
        arm, level, repetition = job.pull
        where = (
            f"n_resources={task.resource.to_amount(level)}, split {task.splits.number(repetition)}"
        )
        error.add_note(
            f"The fit was that of candidate {arm} at {where}: {task.candidates[arm].params}."
        )
        return error
    text = f"{type(error).__name__}: {error}\n"
    return failed_result(task, job._replace(model=None), text, started, seconds)


def abandoned(task: EvaluationTask, job: Job, began: float) -> Result:
    """Return the result of a fit that was abandoned at the deadline."""
    job = job._replace(model=None)
    return failed_result(task, job, NO_TIME, began, time.time() - began)


@dataclass
class Guard:
    """Evaluates jobs in this process, or in one that may be ended if they may not end in time.

    Parameters
    ----------
    task : EvaluationTask
        The task.
    token : str
        Identifier of the task.
    prices : Prices
        Tells the limits of a job; None if it needs no guard.
    """

    task: EvaluationTask
    prices: Prices
    token: str = field(default_factory=lambda: uuid4().hex)
    _arrays: list[np.ndarray] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def evaluate(self, job: Job) -> Result:
        """Return the result of a job."""
        limits = self.prices.limits(job.pull, self.task.candidates[job.pull.arm].params)
        if limits is None:
            return evaluate(self.task, job)
        started, clock = time.time(), time.perf_counter()
        has_time = limits.ends - time.monotonic() > START_SECONDS
        if not has_time and not PROCESSES.has(self.token):
            return failed_result(self.task, job, NO_TIME, started, 0.0)
        try:
            (result,) = self._evaluated(limits, job)
        except AbandonedFit as error:
            result = failed_result(self.task, job, NO_TIME, started, error.seconds)
        except (TimeoutError, ChildProcessError) as error:
            result = _ended(self.task, job, error, started, time.perf_counter() - clock)
        if isinstance(result, Exception):
            raise result
        if isinstance(result.model, bytes):
            return result._replace(model=pickle.loads(result.model))
        return result

    def _evaluated(self, limits: PullLimits, job: Job) -> Done:
        with self._lock:  # jobs in several threads
            self._arrays = self._arrays or packed(self.task)
        try:
            return _evaluated(limits, packed_chunk(self.task, [job]), self.token, self._arrays)
        except AbandonedFit:
            if limits.ends - time.monotonic() > START_SECONDS:
                PROCESSES.prepare(self.token, self._arrays)
            raise

    def close(self) -> None:
        """Kill the process."""
        PROCESSES.close(self.token)


def _exit_text(exit_code: int) -> str:
    with suppress(ValueError):
        return f"signal {-exit_code}, {signal.Signals(-exit_code).name}"
    return f"exit code {exit_code}"


# ---- The code that runs in the process of a fit.


def serve(pipe: Connection, task: bytes) -> None:
    """Run chunks of one job of a task, until no more arrive."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the search decides whether to stop
    requests: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_read, args=(pipe, requests), daemon=True).start()
    token, arrays = pickle.loads(task)
    unpack(token, arrays)  # before the time of the first pull starts
    while True:
        try:
            chunk, limits = pickle.loads(requests.get(timeout=IDLE_SECONDS))
        except Empty:
            return
        pipe.send_bytes(BEGUN)
        # An estimator with n_jobs uses threads, because they end with this process.
        with parallel_config("threading"), memory_limit(limits.memory):
            result = evaluate_chunk(chunk, token, *arrays)
        sys.stdout.flush()
        pipe.send_bytes(cloudpickle.dumps(result))


def _read(pipe: Connection, requests: SimpleQueue[bytes]) -> None:
    """Receive requests. If the worker is gone, end the process, even during a pull."""
    try:
        while True:
            requests.put(pipe.recv_bytes())
    except (EOFError, OSError):
        os._exit(1)


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
