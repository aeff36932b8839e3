"""The journal of a search: one line for each pull that is done, on disk before it counts.

It is data. Reading one runs nothing that is in it, whoever wrote it.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any
from weakref import WeakSet

from sklearn_halving.execution._journal_lines import (
    Content,
    JournalError,
    Record,
    Session,
    read_lines,
    record_line,
    session_line,
)
from sklearn_halving.policies._types import Pull

__all__ = ["Journal", "JournalError", "Record", "Session"]

SYNC_SECONDS = 5.0
"""How much of the latest work a power cut may cost; a process that dies loses nothing."""
LOCKED_BYTE = 2**40
"""Where Windows locks: beyond the end of every journal, so that it can still be read."""


class Journal:
    """A journal, open for one writer.

    Parameters
    ----------
    path : str or path-like
        The file; made if there is none.

    Raises
    ------
    JournalError
        If another search writes to the file, or it is not a whole journal. What a crash left
        at the end of the file, half a line or lines whose checksum is wrong, is cut off.
    OSError
        If the file cannot be opened, such as a folder, or in a folder that does not exist.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        try:
            self._fd = os.open(self.path, flags, 0o666)
        except OSError as error:
            error.add_note(
                "checkpoint must be a file, in a folder that exists and can be written."
            )
            raise
        self._last_sync = time.monotonic()
        _open_journals.add(self)
        try:
            _lock(self._fd, self.path)
            self._content = self._read()
        except BaseException:
            self.close()
            raise

    @property
    def sessions(self) -> list[Session]:
        """What the searches that wrote here said of themselves; none in a new file."""
        return self._content.sessions

    @property
    def records(self) -> Mapping[Pull, Record]:
        """The pulls that are done."""
        return self._content.records

    def begin(self, session: Session) -> None:
        """Write what this search says of itself."""
        self._write(session_line(session, is_first=not self.sessions))
        self._sync()
        self.sessions.append(session)

    def append(self, record: Record) -> None:
        """Write a pull."""
        self._write(record_line(record))
        self._content.records[record.outcome.pull] = record
        if time.monotonic() - self._last_sync > SYNC_SECONDS:
            self._sync()

    def close(self) -> None:
        """Close the file, and leave it to others."""
        fd, self._fd = self._fd, -1
        _open_journals.discard(self)
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._fd >= 0 and self.sessions:
            self._sync()
        self.close()

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:  # a full disk takes a part of it; the next attempt says so
            rest = rest[os.write(self._fd, rest) :]

    def _sync(self) -> None:
        os.fsync(self._fd)
        self._last_sync = time.monotonic()

    def _read(self) -> Content:
        """Read the file, and cut off what is torn at its end."""
        with os.fdopen(os.dup(self._fd), "rb") as file:
            file.seek(0)
            try:
                content, end, damaged = read_lines(file)
            except JournalError as error:
                raise JournalError(
                    f"The journal {self.path} cannot be used: {error} The file was left as it is."
                ) from error
        self._cut(end, damaged)
        return content

    def _cut(self, end: int, damaged: int) -> None:
        size = os.fstat(self._fd).st_size
        if size == end:
            return
        if damaged:
            warnings.warn(
                f"The journal {self.path} was damaged from line {damaged} to its end, as a power "
                f"cut may leave it: {size - end} bytes were cut off, and their pulls are done "
                "again.",
                UserWarning,
                stacklevel=2,
            )
        os.ftruncate(self._fd, end)


_open_journals: WeakSet[Journal] = WeakSet()


def _close_in_child() -> None:
    """Close the journals of the parent: a lock lasts until every copy of the file is closed."""
    for journal in list(_open_journals):
        journal.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def _lock(fd: int, path: Path) -> None:
    """Lock the file against other writers; the system unlocks it when the process ends."""
    busy = JournalError(
        f"{path} must be the journal of one search at a time; got another that is writing to it, "
        "here or in another process. Wait for it, or give checkpoint another path."
    )
    try:
        _lock_file(fd)
    except (BlockingIOError, PermissionError) as error:
        raise busy from error
    except OSError as error:
        warnings.warn(
            f"{path} is on a file system that cannot lock files ({error}): nothing keeps a second "
            "search from writing to it.",
            UserWarning,
            stacklevel=2,
        )


def _lock_file(fd: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        os.lseek(fd, LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        os.lseek(fd, 0, os.SEEK_SET)
    else:
        import fcntl

        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def model_folder(path: Any) -> Path:
    """Return where the models that belong to a journal are kept."""
    return Path(f"{os.fspath(path)}.models").absolute()
