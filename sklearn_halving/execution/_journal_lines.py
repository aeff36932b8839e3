"""The lines of a journal: plain JSON with a checksum. Nothing in them is trusted.

The checksum of a line continues that of the first line, the header. Lines of another search,
which has another header, are therefore found out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any
from zlib import crc32

from sklearn_halving.execution._types import Outcome, Scores
from sklearn_halving.policies._types import Pull

FORMAT = 1
"""Number of the format. Journals with another number are refused."""
MAGIC = b'{"journal":"sklearn_halving",'
"""The first bytes of every journal."""
MAX_COUNT = 2**62
_N_END = len(',"crc":"00000000"}\n')
IMPOSSIBLE = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""What reading a line may raise if its content is not what a search writes."""
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
NEW_PATH = "Give checkpoint another path, or delete the file if it is not needed."
REPAIR = "Remove that line to repeat its pull, or give checkpoint another path."
_NON_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}

Plain = str | int | float | bool | None
Values = dict[str, Any]
"""The values of a line, as JSON gives them."""
Convert = Callable[[Any], object]
"""Writes or reads a value."""


class JournalError(ValueError):
    """A file cannot be used as the journal of this search."""


@dataclass(frozen=True)
class Record:
    """A finished pull.

    Parameters
    ----------
    outcome : Outcome
        Its scores, times and errors.
    levels : tuple of int
        The levels to which the model was trained, if it can be trained further; else empty.
    """

    outcome: Outcome
    levels: tuple[int, ...] = ()


@dataclass(frozen=True)
class Session:
    """The description that a search writes when it begins. It must be the same at a resume.

    Parameters
    ----------
    fields : dict of str to plain value
        Settings that must not change: numbers, short texts or digests.
    versions : dict of str to str
        Packages and their versions.
    n_candidates : int
        Number of candidates.
    candidates : str
        Their digest.
    seed : int or None, default=None
        The number that was drawn as the random state of the search, if the user gave none.
    """

    fields: dict[str, Plain]
    versions: dict[str, str]
    n_candidates: int
    candidates: str
    seed: int | None = None


@dataclass
class Content:
    """The content of a journal."""

    sessions: list[Session] = field(default_factory=list)
    records: dict[Pull, Record] = field(default_factory=dict)
    header: int = 0
    """The checksum of the first line."""


def session_line(session: Session, header: int | None = None) -> bytes:
    """Return the line of a session; without the checksum of a header, it is the header."""
    content: dict[str, object] = (
        {"journal": "sklearn_halving", "format": FORMAT} if header is None else {}
    )
    fields = {name: _number(value) for name, value in session.fields.items()}
    content["session"] = asdict(session) | {"fields": fields}
    return _line(content, header or 0)


def record_line(record: Record, header: int) -> bytes:
    """Return the line of a pull. Values that are None are left out."""
    content: dict[str, object] = {
        name: write(value)
        for name, (attribute, write, _) in COLUMNS.items()
        if (value := getattr(record.outcome, attribute)) is not None
    }
    if record.levels:
        content["levels"] = list(map(int, record.levels))
    return _line(content, header)


def checksum_of(line: bytes) -> int:
    """Return the checksum at the end of a line."""
    return int(line[-11:-3], 16)


def read_lines(lines: Iterable[bytes]) -> tuple[Content, int, int]:
    """Read a journal.

    Parameters
    ----------
    lines : iterable of bytes
        The lines with their end-of-line bytes.

    Returns
    -------
    content : Content
        The sessions and the pulls.
    end : int
        Number of bytes that were read. Bytes after them are incomplete or damaged.
    damaged : int
        Number of the first damaged line that is complete, 0 if there is none.

    Raises
    ------
    JournalError
        If it is not a journal, or if lines other than the last ones are damaged.
    """
    content, end, damaged = Content(), 0, 0
    for number, line in enumerate(lines, 1):
        if number == 1 and not _may_be_header(line):
            problem = "its first line is damaged or not that of a journal. "
            raise JournalError(problem + NEW_PATH)
        if not line.endswith(b"\n"):
            break
        if not _is_whole(line, content.header):
            damaged = damaged or number
            continue
        if damaged:
            problem = f"line {damaged} is damaged or from another journal: its checksum is wrong. "
            raise JournalError(problem + REPAIR)
        try:
            _add(json.loads(line), content)
        except JournalError:
            raise
        except IMPOSSIBLE as error:
            problem = f"line {number} has an impossible value: {error!r}. {REPAIR}"
            raise JournalError(problem) from error
        end += len(line)
        content.header = content.header or checksum_of(line)
    return content, end, damaged


def _may_be_header(line: bytes) -> bool:
    """Return whether a first line is the header of a journal, complete or cut short.

    A header that is cut short must still have its first bytes: a file with ``{`` or zeros may be
    something else, which must not be overwritten.
    """
    return line.startswith(MAGIC) and (not line.endswith(b"\n") or _is_whole(line, 0))


def _add(values: Values, content: Content) -> None:
    """Add the values of a line to the content."""
    if not content.sessions:
        if values["format"] != FORMAT:
            raise JournalError(
                f"it has format {values['format']!r}, but this version of sklearn_halving reads "
                f"only format {FORMAT}. Give checkpoint another path."
            )
        content.sessions.append(_session(values["session"]))
    elif "journal" in values:
        raise ValueError("a header in the middle of the file")
    elif "session" in values:
        content.sessions.append(_session(values["session"]))
    else:
        record = _record(values)
        if record.outcome.pull in content.records:
            raise ValueError(f"{record.outcome.pull} appears a second time")
        content.records[record.outcome.pull] = record


def _line(content: dict[str, object], header: int) -> bytes:
    body = _ENCODER.encode(content)[:-1].encode("ascii")
    return body + _ending(body, header)


def _is_whole(line: bytes, header: int) -> bool:
    """Return whether a line ends in its checksum."""
    return line.endswith(_ending(line[:-_N_END], header))


def _ending(body: bytes, header: int) -> bytes:
    return b',"crc":"%08x"}\n' % crc32(body, header)


def _session(values: Values) -> Session:
    return Session(
        {name: _plain(value) for name, value in values["fields"].items()},
        {name: _text(version) for name, version in values["versions"].items()},
        _count(values["n_candidates"]),
        _text(values["candidates"]),
        None if values["seed"] is None else _count(values["seed"]),
    )


def _record(values: Values) -> Record:
    known: Values = {"train_scores": None}
    known |= {
        attribute: read(values[name])
        for name, (attribute, _, read) in COLUMNS.items()
        if name in values
    }
    levels = tuple(_positive(level) for level in values.get("levels", ()))
    return Record(Outcome(**known), levels)


def _scores(scores: Scores) -> Plain | dict[str, Plain]:
    if not isinstance(scores, dict):
        return _score(scores)
    for name in scores:
        if not isinstance(name, str):
            raise TypeError(
                f"Names of metrics must be strings if a checkpoint is written, got {name!r}. "
                "Rename the metric, or search without a checkpoint."
            )
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


def _typed(value: object, *types: type) -> Any:
    """Return the value if it has one of the types. True and False are not numbers."""
    if type(value) not in types:
        raise TypeError(f"{value!r} is not of type {types[0].__name__}")
    return value


def _read_number(value: object) -> float:
    number: float = _NON_FINITE[value] if isinstance(value, str) else _typed(value, int, float)
    return number


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


def _plain(value: object) -> Plain:
    plain: Plain = _typed(value, str, int, float, bool, type(None))
    return plain


def _read_clock(value: Any) -> tuple[float, int]:
    left, n_workers = value
    return float(_typed(left, int, float)), _positive(n_workers)


COLUMNS: dict[str, tuple[str, Convert, Convert]] = {
    "pull": ("pull", lambda pull: list(map(int, pull)), _read_pull),
    "test": ("test_scores", _scores, _read_scores),
    "train": ("train_scores", _scores, _read_scores),
    "started": ("started", float, _seconds),
    "fit_seconds": ("fit_seconds", float, _seconds),
    "score_seconds": ("score_seconds", float, _seconds),
    "n_train": ("n_train", int, _count),
    "n_test": ("n_test", int, _count),
    "previous_level": ("previous_level", int, _count),
    "error": ("error", str, _text),
    "score_error": ("score_error", str, _text),
    "n_rounds": ("n_rounds", int, _positive),
    "clock": ("clock", list, _read_clock),
}
"""By the name in the file: the attribute of an outcome, and how it is written and read."""
