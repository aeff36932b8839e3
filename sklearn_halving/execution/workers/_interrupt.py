"""Ctrl-C: the first one lets the running pulls finish, the second one stops at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

MESSAGE = b"\nStopping after the running fits. Press Ctrl-C again to stop immediately.\n"
STDERR = 2


class Interrupt:
    """Sets ``is_requested`` at the first Ctrl-C and raises KeyboardInterrupt at the second.

    The handler is installed only in the main thread, because other threads cannot handle signals,
    and only if Ctrl-C would raise KeyboardInterrupt. A handler that was set by the user or by an
    outer search is kept.
    """

    def __init__(self) -> None:
        self.is_requested = False
        self._former: Callable[[int, FrameType | None], object] | int | None = None

    def __enter__(self) -> Interrupt:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._former = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *error: object) -> None:
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
        with suppress(OSError):  # sys.stderr may be in use when the signal arrives
            os.write(STDERR, MESSAGE)


def leave_interrupts_to_the_search() -> None:
    """Ignore Ctrl-C in a worker, because a terminal sends it to all processes.

    It is ignored until the worker exits. An interrupted idle worker would break the whole pool.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and multiprocessing.current_process().name != "MainProcess":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
