"""A store of finished fits, in memory or in a journal: a file with one line for each fit.

A line is written before its fit counts. A journal is plain data: JSON with a checksum in each
line. Reading it never runs code, and nothing in it is trusted, no matter who wrote the file. The
checksum of a line continues that of the first line, the header. Lines of another journal, which
has another header, are therefore found out.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from operator import index
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakSet
from zlib import crc32

from sklearn_halving._user_warnings import warn_user
from sklearn_halving.execution._types import Outcome, Scores
from sklearn_halving.policies._types import Pull

SYNC_SECONDS = 5.0
"""A power cut can lose the work of this many seconds; a process that dies loses nothing."""
LOCKED_BYTE = 2**40
"""The byte that is locked on Windows: beyond the end of a journal, which stays readable."""


FORMAT = 3
"""Number of the format. Journals with another number are refused."""
MAGIC = b'{"journal":"sklearn_halving",'
"""The first bytes of every journal."""
MAX_COUNT = 2**62
_N_END = len(',"crc":"00000000"}\n')
IMPOSSIBLE = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""What reading a line may raise if its content is not what a search writes."""
# Numbers that JSON does not know are whole numbers of NumPy.
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=index)
NEW_PATH = "Give checkpoint another path, or delete the file if it is not needed."
REPAIR = "Remove that line to repeat its fit, or give checkpoint another path."
_NON_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}

Plain = str | int | float | bool | None
Values = dict[str, Any]
"""The values of a line, as JSON gives them."""


class JournalError(ValueError):
    """A file cannot be used as the ``checkpoint`` of this search. The message says why.

    Examples
    --------
    >>> from tempfile import NamedTemporaryFile
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn_halving import AdaptiveSearchCV
    >>> from sklearn_halving.search import JournalError
    >>> with NamedTemporaryFile("w") as file:
    ...     print("something else", file=file, flush=True)
    ...     search = AdaptiveSearchCV(Ridge(), {"alpha": [1, 10]}, checkpoint=file.name)
    ...     try:
    ...         search.fit([[1], [2], [3], [4]] * 5, [1, 2, 3, 4] * 5)
    ...     except JournalError as error:
    ...         print(error)
    checkpoint='...' cannot be used, and is left as it is: ...
    """


@dataclass(frozen=True)
class Session:
    """The description that a search writes when it begins.

    Parameters
    ----------
    fields : dict of str to plain value
        What decides all scores, such as the data: numbers, short texts or digests. It must be the
        same in each session.
    seed : int
        The seed of the search.
    versions : dict of str to str
        Packages and their versions.
    """

    fields: dict[str, Plain]
    seed: int
    versions: dict[str, str] = field(default_factory=dict)


class FitKey(NamedTuple):
    """What decides the score of a fit within a store: digests of its candidate and of the rest."""

    candidate: str
    fit: str


@dataclass(eq=False)
class FitStore:
    """Finished fits by what decides their scores, in the order in which they returned.

    Parameters
    ----------
    sessions : list of Session
        The searches that used the store; empty if it is new.
    outcomes : dict of FitKey to Outcome
        The fits. The arm and the repetition of their pulls are those of the search that made them.
    params : dict of str to dict
        The parameters of each candidate, by its digest, as JSON can hold them.
    """

    sessions: list[Session] = field(default_factory=list)
    outcomes: dict[FitKey, Outcome] = field(default_factory=dict)
    params: dict[str, Values] = field(default_factory=dict)

    def begin(self, session: Session) -> None:
        """Note that a search begins or resumes."""
        self.sessions.append(session)

    def append(self, key: FitKey, params: Values, outcome: Outcome) -> None:
        """Add a fit, or replace an earlier one that was made again."""
        self.params[key.candidate] = params
        self.outcomes[key] = outcome


class Journal(FitStore):
    """A store in a file that is open for one writer.

    Parameters
    ----------
    path : str or path-like
        The file. It is created if it does not exist.

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
            # Opening or reading a device, a pipe or a folder may never end.
            if self.path.exists() and not self.path.is_file():
                rule = "checkpoint must be the path of a regular file, or of a new one"
                raise JournalError(f"{rule}; got {str(self.path)!r}.")
            self._fd = os.open(self.path, flags, 0o666)
        except (OSError, ValueError) as error:  # the latter for a zero in the name
            error.add_note("checkpoint must be a file in a folder that can be written to.")
            raise
        self._last_sync = time.monotonic()
        self._is_at_path = True
        _open_journals.add(self)
        try:
            _lock(self._fd, self.path)
            store, self._header = self._read()
        except BaseException:
            self.close()
            raise
        super().__init__(store.sessions, store.outcomes, store.params)

    def begin(self, session: Session) -> None:
        """Write the description of a search that begins or resumes."""
        line = session_line(session, self._header)
        self._header = self._header or checksum_of(line)
        self._write(line)
        self._sync()
        super().begin(session)

    def append(self, key: FitKey, params: Values, outcome: Outcome) -> None:
        """Write a finished fit."""
        self._write(outcome_line(key, params, outcome, self._header))
        super().append(key, params, outcome)
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
        try:
            while rest:  # a full disk may take a part; the next call raises
                rest = rest[os.write(self._fd, rest) :]
        except OSError as error:
            error.add_note(
                f"checkpoint={str(self.path)!r} cannot be written to. It keeps the fits so far: "
                "make room for it, and call fit again."
            )
            raise
        self._size += len(line)

    def _sync(self) -> None:
        os.fsync(self._fd)
        self._last_sync = time.monotonic()
        if self._is_at_path:
            try:
                found = os.fstat(self._fd)
                is_whole = found.st_size >= self._size
                self._is_at_path = is_whole and os.path.samestat(found, self.path.stat())
            except OSError:
                self._is_at_path = False
            if not self._is_at_path:
                warn_user(
                    f"The journal {self.path} was deleted, moved, cut or replaced during the "
                    "search, which goes on. Without its journal, it cannot be resumed."
                )

    def _read(self) -> tuple[FitStore, int]:
        """Read the file and cut off incomplete or damaged lines at its end."""
        with os.fdopen(os.dup(self._fd), "rb") as file:
            file.seek(0)
            try:
                store, header, end, damaged = read_lines(file)
            except JournalError as error:
                problem = f"checkpoint={str(self.path)!r} cannot be used, and is left as it is"
                raise JournalError(f"{problem}: {error}") from error
        n_cut = os.fstat(self._fd).st_size - end
        if damaged:
            warn_user(
                f"The journal {self.path} was damaged from line {damaged} to its end, as by a "
                f"power cut, or had lines of another journal there. {n_cut} bytes are cut off."
            )
        if n_cut:
            os.ftruncate(self._fd, end)
        self._size = end
        return store, header


_open_journals: WeakSet[Journal] = WeakSet()


def _close_in_child() -> None:
    """Close the journals of the parent: a file is locked until all its copies are closed."""
    for journal in list(_open_journals):
        journal.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def _lock(fd: int, path: Path) -> None:
    """Lock the file against other writers; the system unlocks it when the process ends."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(fd, LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
            os.lseek(fd, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        raise JournalError(
            f"{path} must be the journal of one search at a time, but another search writes to "
            "it, here or in another process. Wait for it, or give checkpoint another path."
        ) from error
    except OSError as error:
        warn_user(
            f"{path} is on a file system that cannot lock files ({error}). Make sure that no "
            "other search writes to it."
        )


def session_line(session: Session, header: int) -> bytes:
    """Return the line of a session; if the checksum of the header is 0, it is the header."""
    content: Values = {} if header else {"journal": "sklearn_halving", "format": FORMAT}
    fields = {name: _number(value) for name, value in session.fields.items()}
    content["session"] = asdict(session) | {"fields": fields}
    return _line(content, header)


def outcome_line(key: FitKey, params: Values, outcome: Outcome, header: int) -> bytes:
    """Return the line of a fit. Values that are None or empty are left out."""
    content: Values = {"candidate": key.candidate, "fit": key.fit, "params": params}
    for name in READERS:
        value = getattr(outcome, name)
        if value not in (None, ()):
            content[name] = _scores(value) if name.endswith("scores") else value
    return _line(content, header)


def checksum_of(line: bytes) -> int:
    """Return the checksum at the end of a line."""
    return int(line[-11:-3], 16)


def read_lines(lines: Iterable[bytes]) -> tuple[FitStore, int, int, int]:
    """Read a journal.

    Parameters
    ----------
    lines : iterable of bytes
        The lines with their end-of-line bytes.

    Returns
    -------
    store : FitStore
        The sessions and the fits.
    header : int
        The checksum of the first line.
    end : int
        Number of bytes that were read. Bytes after them are incomplete or damaged.
    damaged : int
        Number of the first damaged line that is complete, 0 if there is none.

    Raises
    ------
    JournalError
        If it is not a journal, or if lines other than the last ones are damaged.
    """
    store, header, end, damaged = FitStore(), 0, 0, 0
    for number, line in enumerate(lines, 1):
        # A header that is cut short must still have its first bytes: a file with ``{`` or zeros
        # may be something else, which must not be overwritten.
        is_torn = not line.endswith(b"\n")
        if number == 1 and not (line.startswith(MAGIC) and (is_torn or _is_whole(line, 0))):
            raise JournalError(f"its first line is damaged or not that of a journal. {NEW_PATH}")
        if is_torn:
            break
        if not _is_whole(line, header):
            damaged = damaged or number
            continue
        if damaged:
            raise JournalError(f"line {damaged} is damaged or from another journal. {REPAIR}")
        try:
            _add(json.loads(line), store)
        except JournalError:
            raise
        except IMPOSSIBLE as error:
            problem = f"line {number} has an impossible value: {error!r}. {REPAIR}"
            raise JournalError(problem) from error
        end += len(line)
        header = header or checksum_of(line)
    return store, header, end, damaged


def _add(values: Values, store: FitStore) -> None:
    """Add the values of a line to a store."""
    if not store.sessions:
        if values["format"] != FORMAT:
            problem = f"it has format {values['format']!r}, and only format {FORMAT} can be read."
            raise JournalError(f"{problem} {NEW_PATH}")
        store.sessions.append(_session(values["session"]))
    elif "journal" in values:
        raise ValueError("a header in the middle of the file")
    elif "session" in values:
        store.sessions.append(_session(values["session"]))
    else:
        key, params = FitKey(_text(values["candidate"]), _text(values["fit"])), values["params"]
        store.append(key, {_text(n): _param(v) for n, v in params.items()}, _outcome(values))


def _line(content: Values, header: int) -> bytes:
    body = _ENCODER.encode(content)[:-1].encode("ascii")
    return body + _ending(body, header)


def _is_whole(line: bytes, header: int) -> bool:
    """Return whether a line ends in its checksum."""
    return line.endswith(_ending(line[:-_N_END], header))


def _ending(body: bytes, header: int) -> bytes:
    return b',"crc":"%08x"}\n' % crc32(body, header)


def _session(values: Values) -> Session:
    return Session(
        {n: _typed(v, str, int, float, bool, type(None)) for n, v in values["fields"].items()},
        _count(values["seed"]),
        {name: _text(version) for name, version in values["versions"].items()},
    )


def _outcome(values: Values) -> Outcome:
    known = {name: read(values[name]) for name, read in READERS.items() if name in values}
    return Outcome(**{"train_scores": None} | known)


def _scores(scores: Scores) -> Plain | dict[str, Plain]:
    if not isinstance(scores, dict):
        return _score(scores)
    if not all(isinstance(name, str) for name in scores):
        raise TypeError(f"Names of metrics must be strings for a checkpoint, got {list(scores)}.")
    return {name: _score(score) for name, score in scores.items()}


def _score(score: float) -> Plain:
    """Return a score as a number, because True and False are refused when read."""
    return _number(score if type(score) is int else float(score))


def _number(value: Plain) -> Plain:
    """Return a value for strict JSON that `_read_number` can restore."""
    if value is None or isinstance(value, str | bool | int):
        return value
    value = float(value)
    return value if math.isfinite(value) else str(value)


def _param(value: object) -> Plain | dict[str, str]:
    """Return a plain parameter, or the digest of another one."""
    if isinstance(value, dict):
        return {"digest": _text(value["digest"])}
    plain: Plain = _typed(value, str, int, float, bool, type(None))
    return plain


def _typed(value: object, *types: type) -> Any:
    """Return the value if it has one of the types. True and False are not numbers."""
    if type(value) not in types:
        raise TypeError(f"{value!r} is not of type {types[0].__name__}")
    return value


def _read_number(value: object) -> float:
    return _NON_FINITE[value] if isinstance(value, str) else _typed(value, int, float)


def _read_scores(value: object) -> Scores:
    if isinstance(value, dict):
        return {name: _read_number(score) for name, score in value.items()}
    return _read_number(value)


def _read_pull(value: Iterable[object]) -> Pull:
    arm, level, repetition = value
    return Pull(_count(arm), _positive(level), _count(repetition))


def _count(value: object, least: int = 0) -> int:
    count: int = _typed(value, int)
    if not least <= count <= MAX_COUNT:
        raise TypeError(f"{value} is not from {least} to {MAX_COUNT}")
    return count


def _positive(value: object) -> int:
    return _count(value, 1)


def _seconds(value: object) -> float:
    return float(_typed(value, float, int))


def _text(value: object) -> str:
    return str(_typed(value, str))


def _read_levels(values: Iterable[object]) -> tuple[int, ...]:
    return tuple(map(_positive, values))


READERS: dict[str, Callable[[Any], Any]] = {
    "pull": _read_pull,
    "test_scores": _read_scores,
    "train_scores": _read_scores,
    "started": _seconds,
    "fit_seconds": _seconds,
    "score_seconds": _seconds,
    "n_train": _count,
    "n_test": _count,
    "previous_level": _count,
    "error": _text,
    "score_error": _text,
    "n_rounds": _positive,
    "limit": _seconds,
    "levels": _read_levels,
}
"""How the values of an outcome are read."""
