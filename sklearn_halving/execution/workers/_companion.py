"""Companions: processes in which a worker runs pulls that it may have to kill.

A process cannot stop its own fit if the fit hangs in compiled code, and it cannot survive if
the system kills it. A companion is a separate process, so that the worker survives both. It is
started by the process that evaluates the chunk: a worker of a pool or of a cluster, or the
process of the search. Limits therefore work in the same way with every backend, and other
pulls are not affected. The code that runs in a companion is in `_companion_process`.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from sklearn_halving._unstable_joblib import cloudpickle
from sklearn_halving.execution.workers._companion_process import MappedFile, Request
from sklearn_halving.execution.workers._worker import ChunkResult

POLL_SECONDS = 1.0
"""Longest single wait. On Windows, a wait without a timeout cannot be interrupted."""

START = """
import sys
from multiprocessing import connection
make = getattr(connection, "Connection", None) or connection.PipeConnection
pipe = make(int(sys.argv[1]))
sys.path[:] = pipe.recv()
from sklearn_halving.execution.workers._companion_process import serve
serve(pipe)
"""


class EndedError(Exception):
    """The process of a pull ended before it returned a result.

    Parameters
    ----------
    has_begun : bool
        Whether the pull had started.
    exit_code : int
        As `subprocess.Popen.returncode`.
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
        Identifier of the task.
    arrays : sequence of array
        The task, as returned by `packed`.
    """

    def __init__(self, token: str, arrays: Sequence[Any]) -> None:
        self.token = token
        self._process, self._pipe = _started()
        try:
            self._pipe.send(sys.path)
            self._pipe.send_bytes(cloudpickle.dumps([token, [_sent(a) for a in arrays]]))
            _receive(self._pipe, None)
        except (EOFError, OSError):
            raise EndedError(False, self.kill(POLL_SECONDS)) from None
        except BaseException:
            self.kill()
            raise

    @property
    def is_running(self) -> bool:
        """Whether the process is alive."""
        return self._process.poll() is None

    def run(self, request: Request) -> ChunkResult | None:
        """Run a pull and return its result; None if it timed out and was killed."""
        has_begun = False
        try:
            self._pipe.send_bytes(pickle.dumps(request))
            _receive(self._pipe, None)
            has_begun = True
            answer = _receive(self._pipe, request.limits.seconds)
        except (EOFError, OSError):
            raise EndedError(has_begun, self.kill(POLL_SECONDS)) from None
        except BaseException:
            self.kill()
            raise
        if answer is None:
            self.kill()
            return None
        result: ChunkResult = pickle.loads(answer)
        return result

    def kill(self, seconds: float = 0.0) -> int:
        """Kill the companion unless it ends within ``seconds``; return its exit code."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.stop()
            code = self._process.wait()
        self._pipe.close()
        return int(code)

    def stop(self) -> None:
        """Kill the companion, even during a pull: `run` then raises EndedError."""
        self._process.kill()


def _receive(pipe: Connection, seconds: float | None) -> bytes | None:
    """Return the next message; None if none arrives within ``seconds``."""
    deadline = None if seconds is None else time.monotonic() + seconds
    while True:
        left = POLL_SECONDS if deadline is None else deadline - time.monotonic()
        if pipe.poll(max(0.0, min(left, POLL_SECONDS))):
            message: bytes = pipe.recv_bytes()
            return message
        if left <= 0:
            return None


def _started() -> tuple[subprocess.Popen[bytes], Connection]:
    """Start the process; return it and this end of the pipe to it.

    `multiprocessing.Process` is not used, for two reasons: workers that are daemons must not
    start one, and it could import the user's script again.
    """
    ours, theirs = Pipe()
    handle = theirs.fileno()
    options: dict[str, Any] = {}
    if sys.platform == "win32":
        os.set_handle_inheritable(handle, True)
        options["startupinfo"] = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [handle]})
    else:
        options["pass_fds"] = [handle]
    command = [sys.executable, "-c", START, str(handle)]
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
    finally:
        theirs.close()
    return process, ours


def _sent(array: Any) -> Any:
    """Return an array as it is sent: its position in a file if it is mapped, else the array."""
    # On Windows, a file that is mapped cannot be removed. The bytes are copied instead.
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
