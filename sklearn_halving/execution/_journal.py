"""The journal of a search: one line for each finished pull, written before the pull counts.

A journal is plain data. Reading it never runs code, no matter who wrote the file.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from weakref import WeakSet

from sklearn_halving._user_warnings import warn_user
from sklearn_halving.execution._journal_lines import (
    Content,
    JournalError,
    Record,
    Session,
    checksum_of,
    read_lines,
    record_line,
    session_line,
)
from sklearn_halving.policies._types import Pull

__all__ = ["Journal", "JournalError", "Record", "Session"]

SYNC_SECONDS = 5.0
"""A power cut can lose the work of this many seconds; a process that dies loses nothing."""
LOCKED_BYTE = 2**40
"""The byte that is locked on Windows: beyond the end of a journal, which stays readable."""


class Journal:
    """A journal that is open for one writer.

    Parameters
    ----------
    path : str or path-like
        The file. It is created if it does not exist.

    Attributes
    ----------
    sessions : list of Session
        The searches that wrote to this file; empty if it is new.
    records : dict of Pull to Record
        The finished pulls.

    Raises
    ------
    JournalError
        If another search writes to the file, if it is not a regular file, or if its content is
        not a journal. An incomplete line or lines with a wrong checksum at the end of the file,
        as a crash leaves them, are cut off.
    OSError
        If the file cannot be opened, for example because its folder does not exist.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        try:
            _check_regular(self.path)
            self._fd = os.open(self.path, flags, 0o666)
        except OSError as error:
            error.add_note(
                "checkpoint must be a file in a folder that exists and can be written to."
            )
            raise
        self._last_sync = time.monotonic()
        self._is_at_path = True
        _open_journals.add(self)
        try:
            _lock(self._fd, self.path)
            content = self._read()
        except BaseException:
            self.close()
            raise
        self.sessions: list[Session] = content.sessions
        self.records: dict[Pull, Record] = content.records
        self._header = content.header

    def begin(self, session: Session) -> None:
        """Write the description of a search that begins or resumes."""
        line = session_line(session, self._header if self.sessions else None)
        if not self.sessions:
            self._header = checksum_of(line)
        self._write(line)
        self._sync()
        self.sessions.append(session)

    def append(self, record: Record) -> None:
        """Write a finished pull."""
        self._write(record_line(record, self._header))
        self.records[record.outcome.pull] = record
        if time.monotonic() - self._last_sync > SYNC_SECONDS:
            self._sync()

    def close(self) -> None:
        """Close and unlock the file."""
        fd, self._fd = self._fd, -1
        _open_journals.discard(self)
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        if self._fd >= 0 and self.sessions:
            self._sync()
        self.close()

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:  # a full disk may take a part; the next call raises
            rest = rest[os.write(self._fd, rest) :]

    def _sync(self) -> None:
        os.fsync(self._fd)
        self._last_sync = time.monotonic()
        if self._is_at_path and not self._is_found():
            self._is_at_path = False
            warn_user(
                f"The journal {self.path} was deleted, moved or replaced during the search, which "
                "goes on. A journal that was moved still gets all fits. Without it, the search "
                "cannot be resumed."
            )

    def _is_found(self) -> bool:
        """Return whether the path still leads to the file that is open."""
        try:
            return os.path.samestat(os.fstat(self._fd), self.path.stat())
        except OSError:
            return False

    def _read(self) -> Content:
        """Read the file and cut off incomplete lines at its end."""
        with os.fdopen(os.dup(self._fd), "rb") as file:
            file.seek(0)
            try:
                content, end, damaged = read_lines(file)
            except JournalError as error:
                raise JournalError(
                    f"checkpoint={str(self.path)!r} cannot be used: {error} The file was left as "
                    "it is."
                ) from error
        self._cut(end, damaged)
        return content

    def _cut(self, end: int, damaged: int) -> None:
        size = os.fstat(self._fd).st_size
        if size == end:
            return
        if damaged:
            warn_user(
                f"The journal {self.path} was damaged from line {damaged} to its end, as by a "
                f"power cut, or had lines of another journal there. {size - end} bytes were cut "
                "off, and their pulls are done again."
            )
        os.ftruncate(self._fd, end)


_open_journals: WeakSet[Journal] = WeakSet()


def _close_in_child() -> None:
    """Close the journals of the parent: a file is locked until all its copies are closed."""
    for journal in list(_open_journals):
        journal.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def _check_regular(path: Path) -> None:
    """Raise for devices, pipes and folders, because opening or reading one may never end."""
    if path.exists() and not path.is_file():
        kind = "folder" if path.is_dir() else "device, pipe or socket"
        raise JournalError(
            f"checkpoint must be the path of a regular file, or of a new one; got {str(path)!r}, "
            f"which is a {kind}. Give checkpoint another path."
        )


def _lock(fd: int, path: Path) -> None:
    """Lock the file against other writers; the system unlocks it when the process ends."""
    busy = JournalError(
        f"{path} must be the journal of one search at a time, but another search is writing to "
        "it, here or in another process. Wait for it, or give checkpoint another path."
    )
    try:
        _lock_file(fd)
    except (BlockingIOError, PermissionError) as error:
        raise busy from error
    except OSError as error:
        warn_user(
            f"{path} is on a file system that cannot lock files ({error}). Make sure that no "
            "other search writes to it."
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
