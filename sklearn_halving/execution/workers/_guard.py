"""Guarded pulls, which run in companions of their worker.

Pulls are guarded if they have limits, or if they may have killed a worker before.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

from sklearn_halving._unstable_joblib import cloudpickle
from sklearn_halving.execution._evaluation import failed_landing
from sklearn_halving.execution._messages import pull_text
from sklearn_halving.execution._types import EvaluationTask, Job, Landing, PullLimits
from sklearn_halving.execution.workers._companion import Companion, EndedError
from sklearn_halving.execution.workers._companion_process import Request
from sklearn_halving.execution.workers._interrupt import leave_interrupts_to_the_search
from sklearn_halving.execution.workers._task_transfer import is_stopped, local_array
from sklearn_halving.execution.workers._worker import Casualty, ChunkResult

MAX_DEATHS = 3
"""A pull counts as failed after its process has died this many times."""
MAX_STARTS = 3
"""Maximum number of attempts to start a process that ends before its first pull."""


def check_limits(limits: PullLimits) -> None:
    """Raise if there is a memory limit and this platform does not support it."""
    if limits.memory is not None and sys.platform != "linux":
        raise ValueError(
            "memory_limit must be None on this platform: only Linux lets a process limit the "
            f"memory that it takes, and this is {sys.platform!r}. Got {limits.memory} bytes. "
            "Leave it out, or run the workers in containers with a limit of their own."
        )


@dataclass
class Companions:
    """The companions of this process: idle ones, and busy ones that run a pull.

    ``closed`` holds the tokens of the searches that have ended.
    """

    idle: list[Companion] = field(default_factory=list)
    busy: list[Companion] = field(default_factory=list)
    closed: set[str] = field(default_factory=set)
    lock: Lock = field(default_factory=Lock)

    def take(self, token: str, arrays: Sequence[object]) -> Companion:
        """Return an idle companion that has the task, or start a new one."""
        with self.lock:
            self.idle = [companion for companion in self.idle if companion.is_running]
            for companion in self.idle:
                if companion.token == token:
                    self.idle.remove(companion)
                    self.busy.append(companion)
                    return companion
        companion = Companion(token, [local_array(array) for array in arrays])
        with self.lock:
            self.busy.append(companion)
        return companion

    def put_back(self, companion: Companion) -> None:
        """Keep a companion for the next pull if it is alive and its search has not ended."""
        with self.lock:
            self.busy.remove(companion)
            if companion.token in self.closed:
                companion.kill()
            elif companion.is_running:
                self.idle.append(companion)

    def close(self, token: str) -> None:
        """Kill the companions of a search."""
        with self.lock:
            self.closed.add(token)
            for companion in self.busy:
                if companion.token == token:
                    companion.stop()
            for companion in self.idle:
                if companion.token == token:
                    companion.kill()
            self.idle = [companion for companion in self.idle if companion.token != token]


COMPANIONS = Companions()


def guarded_chunk(
    limits: PullLimits, jobs: list[Job], candidates: bytes, token: str, *arrays: object
) -> ChunkResult:
    """Evaluate jobs in a companion of a worker process; see `guarded_jobs`."""
    leave_interrupts_to_the_search()
    return guarded_jobs(limits, jobs, candidates, token, *arrays)


def guarded_jobs(
    limits: PullLimits, jobs: list[Job], candidates: bytes, token: str, *arrays: object
) -> ChunkResult:
    """Evaluate jobs in a companion of this process, up to the first exception.

    A pull that exceeds its time limit is killed and becomes a casualty. A pull whose process
    died is retried: the system may have killed the process because another one used too much
    memory. After `MAX_DEATHS` deaths, the pull becomes a casualty.
    """
    landings: list[Landing] = []
    casualties: list[Casualty] = []
    for job in jobs:
        if is_stopped(token, job.pull):
            break
        request = Request(token, cloudpickle.dumps(job), candidates, limits)
        result = _survived(job, request, arrays)
        if isinstance(result, Casualty):
            casualties.append(result)
            continue
        landings += result.landings
        if result.failure is not None:
            return ChunkResult(landings, result.failure, tuple(casualties))
    return ChunkResult(landings, None, tuple(casualties))


def _survived(job: Job, request: Request, arrays: Sequence[object]) -> ChunkResult | Casualty:
    """Run a pull, and retry it if its process dies, until the limit of deaths is reached."""
    n_deaths = n_starts = 0
    while True:
        companion, exit_code = None, None
        try:
            companion = COMPANIONS.take(request.token, arrays)
            started, clock = time.time(), time.perf_counter()
            result = companion.run(request)
        except EndedError as ended:
            if request.token in COMPANIONS.closed:
                raise RuntimeError("The search that this pull is part of has ended.") from None
            n_deaths += ended.has_begun
            n_starts += not ended.has_begun  # it may have been idle for too long
            if n_starts == MAX_STARTS:
                raise RuntimeError(
                    "A process for fits with fit_timeout or memory_limit, or after one that "
                    f"killed its worker, ended {MAX_STARTS} times before it began one "
                    f"({_exit_text(ended.exit_code)}). Its output on stderr shows the reason. "
                    "Often a module of the estimator cannot be imported, or the system is out of "
                    "memory."
                ) from None
            if n_deaths < MAX_DEATHS:
                continue
            result, exit_code = None, ended.exit_code
        finally:
            if companion is not None:
                COMPANIONS.put_back(companion)
        if result is not None:
            return result
        lean = job._replace(model=None, context=None)
        return Casualty(lean, started, time.perf_counter() - clock, exit_code)


def casualty_landing(task: EvaluationTask, limits: PullLimits, casualty: Casualty) -> Landing:
    """Return the landing of a casualty: a failed fit, or raise if ``error_score="raise"``."""
    error: Exception
    if casualty.exit_code is None:
        error = TimeoutError(
            f"The fit took longer than fit_timeout={limits.seconds} seconds, and its process "
            "was ended. A larger fit_timeout gives it more time."
        )
    else:
        error = ChildProcessError(
            f"The fit ended the process in which it ran, {MAX_DEATHS} times in a row "
            f"({_exit_text(casualty.exit_code)}). The system kills a process when memory runs "
            "out; fewer workers or smaller models need less."
        )
    if task.error_score == "raise":
        error.add_note(f"The fit was that of candidate {pull_text(task, casualty.job.pull)}.")
        raise error
    text = f"{type(error).__name__}: {error}\n"
    return failed_landing(task, casualty.job, text, casualty.started, casualty.seconds)


def _exit_text(exit_code: int) -> str:
    if exit_code >= 0:
        return f"exit code {exit_code}"
    try:
        return f"signal {-exit_code}, {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"signal {-exit_code}"
