"""A process beside a worker, in which its pulls run: it can be ended, the worker lives on.

A fit that hangs in compiled code, or that the system kills, cannot be stopped or survived
inside its own process. A companion is started by whatever runs the chunk, be it a worker of
a pool or of a cluster, a thread, or the process of the search itself; so limits mean the same
under every backend, and no other pull is disturbed. What it does is in `_companion_process`.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.reduction import send_handle
from typing import Any

import numpy as np

from sklearn_halving._unstable_joblib import cloudpickle
from sklearn_halving.execution.workers._companion_process import MappedFile, Request
from sklearn_halving.execution.workers._worker import ChunkResult

FORKS = sys.platform == "linux"
"""Whether a companion runs its pulls in copies of itself: a new copy takes milliseconds, a new
process seconds, for its imports. Elsewhere a copy of a process is not safe or does not exist."""
POLL_SECONDS = 1.0
"""How long to wait at a stretch: on Windows a wait without end cannot be interrupted."""

START = """
import sys
from multiprocessing import connection
make = getattr(connection, "Connection", None) or connection.PipeConnection
pipe = make(int(sys.argv[1]))
sys.path[:] = pipe.recv()
from sklearn_halving.execution.workers._companion_process import serve
serve(pipe, forks=sys.argv[2] == "True")
"""


class EndedError(Exception):
    """The process of a pull ended.

    Parameters
    ----------
    has_begun : bool
        Whether the pull had.
    exit_code : int
        As in `subprocess.Popen.returncode`.
    """

    def __init__(self, has_begun: bool, exit_code: int) -> None:
        super().__init__(has_begun, exit_code)
        self.has_begun = has_begun
        self.exit_code = exit_code


class Companion:
    """A process that runs one pull at a time.

    Parameters
    ----------
    token : str
        Names the task.
    arrays : sequence of array
        The task, as `packed` made it.
    forks : bool, default=FORKS
        Whether it runs pulls in copies of itself.
    """

    def __init__(self, token: str, arrays: Sequence[Any], *, forks: bool = FORKS) -> None:
        self.token = token
        self._forks = forks
        self._process, self._control = _started(forks)
        self._pipe: Any = None if forks else self._control
        self._pid = 0
        try:
            self._control.send(sys.path)
            self._control.send_bytes(cloudpickle.dumps([token, [_sent(a) for a in arrays]]))
            _receive(self._control, None)
        except (EOFError, OSError):
            raise EndedError(False, self.kill(POLL_SECONDS)) from None
        except BaseException:
            self.kill()
            raise

    @property
    def is_running(self) -> bool:
        """Whether it can be given a pull."""
        return self._process.poll() is None

    def run(self, request: Request) -> ChunkResult | None:
        """Run a pull; return what it gave, or None if its time ran out and it was ended."""
        has_begun = False
        try:
            if self._pipe is None:
                self._fork()
            self._pipe.send_bytes(pickle.dumps(request))
            _receive(self._pipe, None)
            has_begun = True
            answer = _receive(self._pipe, request.limits.seconds)
        except (EOFError, OSError):
            raise EndedError(has_begun, self._end_pull(POLL_SECONDS)) from None
        except BaseException:
            self.kill()
            raise
        if answer is None:
            self._end_pull()
            return None
        result: ChunkResult = pickle.loads(answer)
        return result

    def _fork(self) -> None:
        """Have the process copy itself, and open a pipe to the copy."""
        self._pipe, theirs = Pipe()
        try:
            send_handle(self._control, theirs.fileno(), self._process.pid)
        finally:
            theirs.close()
        self._pid = int(_receive(self._control, None) or 0)

    def _end_pull(self, seconds: float = 0.0) -> int:
        """End the process of the pull, if it does not end by itself; return its exit code."""
        if not self._forks or not self._pid:
            return self.kill(seconds)
        try:
            # Where it ended by itself, its end is reported already, or will be in a moment.
            if not self._control.poll(seconds):
                with suppress(ProcessLookupError):
                    os.kill(self._pid, signal.SIGKILL)
            code = int(_receive(self._control, None) or 0)
        except (EOFError, OSError):
            return self.kill(POLL_SECONDS)
        self._pipe.close()
        self._pipe, self._pid = None, 0
        return code

    def kill(self, seconds: float = 0.0) -> int:
        """End all of it, if it has not ended by itself by then; return its exit code."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.stop()
            code = self._process.wait()
        for pipe in (self._control, self._pipe):
            if pipe is not None:
                pipe.close()
        return int(code)

    def stop(self) -> None:
        """End it amid a pull; whoever waits for that will notice."""
        self._process.kill()
        if self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)


def _receive(pipe: Any, seconds: float | None) -> bytes | None:
    """Return the next message; None if there is none for so many seconds."""
    deadline = None if seconds is None else time.monotonic() + seconds
    while True:
        left = POLL_SECONDS if deadline is None else deadline - time.monotonic()
        if pipe.poll(max(0.0, min(left, POLL_SECONDS))):
            message: bytes = pipe.recv_bytes()
            return message
        if left <= 0:
            return None


def _started(forks: bool) -> tuple[subprocess.Popen[bytes], Any]:
    """Start the process; return it and this end of the pipe to it.

    Not one of multiprocessing's: workers that are daemons may have none of those, and the
    user's script is not to be imported once more.
    """
    ours, theirs = Pipe()
    handle = theirs.fileno()
    options: dict[str, Any] = {}
    if sys.platform == "win32":
        os.set_handle_inheritable(handle, True)
        options["startupinfo"] = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [handle]})
    else:
        options["pass_fds"] = [handle]
    command = [sys.executable, "-c", START, str(handle), str(forks)]
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
    finally:
        theirs.close()
    return process, ours


def _sent(array: Any) -> Any:
    """Return what stands for an array: where its bytes lie if in a file, else the array."""
    # Windows removes no file that is mapped: there the bytes are copied.
    if sys.platform == "win32" or not isinstance(array, np.ndarray):
        return array
    base: Any = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    is_file = isinstance(base, np.memmap) and isinstance(base.filename, (str, os.PathLike))
    if not is_file or array.dtype != np.uint8 or not array.flags.c_contiguous:
        return array
    start = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return MappedFile(os.fspath(base.filename), int(base.offset + start), array.nbytes)
