"""Ctrl-C: once to stop when the pulls under way are done, twice to stop at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

MESSAGE = b"\nStopping when the fits under way are done; Ctrl-C again stops at once.\n"
STDERR = 2


class Interrupt:
    """Takes the first Ctrl-C as a wish, and lets the second one through.

    Only in the main thread, which alone may handle signals, and only where Ctrl-C would raise
    KeyboardInterrupt: a handler of the user's own, or that of a search around this one, stays.
    """

    def __init__(self) -> None:
        self.is_requested = False
        self._former: Any = None

    def __enter__(self) -> Interrupt:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._former = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._restore()

    def _restore(self) -> None:
        if self._former is not None:
            signal.signal(signal.SIGINT, self._former)
            self._former = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.is_requested:
            self._restore()
            raise KeyboardInterrupt
        self.is_requested = True
        with suppress(OSError):  # not by sys.stderr, which may be in the middle of a line
            os.write(STDERR, MESSAGE)


def leave_interrupts_to_the_search() -> None:
    """Ignore Ctrl-C in a worker: a terminal sends it to all processes, busy or idle.

    For as long as the worker lives: one that is interrupted while it waits takes the pool down.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and multiprocessing.current_process().name != "MainProcess":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
