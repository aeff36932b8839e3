"""The lines of a journal: plain JSON with a checksum. Nothing in them is trusted."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
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
_CHECKSUM = re.compile(rb',"crc":"([0-9a-f]{8})"\}')
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_CHECKSUM_BYTES = len(',"crc":"00000000"}')
WAY_OUT = "Give checkpoint another path."
NEW_PATH = "Give checkpoint another path, or delete the file if it is not needed."
REPAIR = "Remove that line to repeat its pull, or give checkpoint another path."
_NON_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}

Plain = str | int | float | bool | None
Values = dict[str, Any]
"""The values of a line, as JSON gives them."""


class JournalError(ValueError):
    """A file cannot be used as the journal of this search."""


class DamageError(Exception):
    """A line differs from what was written."""


@dataclass(frozen=True)
class Record:
    """A finished pull.

    Parameters
    ----------
    outcome : Outcome
        Its scores, times and errors.
    levels : tuple of int
        The levels to which the model was trained, if it can be trained further; else empty.
    model : str or None, default=None
        Digest of the file of that model, if it was saved.
    """

    outcome: Outcome
    levels: tuple[int, ...] = ()
    model: str | None = None


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
    random_state : str or None, default=None
        State of the generator from which candidates and splits were drawn, if the random state
        of the search is not a number.
    """

    fields: dict[str, Plain]
    versions: dict[str, str]
    n_candidates: int
    candidates: str
    random_state: str | None = None


@dataclass
class Content:
    """The content of a journal."""

    sessions: list[Session] = field(default_factory=list)
    records: dict[Pull, Record] = field(default_factory=dict)


def session_line(session: Session, *, is_first: bool) -> bytes:
    """Return the line of a session. The first one is the header of the file."""
    content: dict[str, object] = (
        {"journal": "sklearn_halving", "format": FORMAT} if is_first else {}
    )
    fields = {name: _number(value) for name, value in session.fields.items()}
    content["session"] = asdict(session) | {"fields": fields}
    return _line(content)


def record_line(record: Record) -> bytes:
    """Return the line of a pull."""
    outcome = record.outcome
    content: dict[str, object] = {
        "pull": list(map(int, outcome.pull)),
        "test": _scores(outcome.test_scores),
        "train": None if outcome.train_scores is None else _scores(outcome.train_scores),
        "started": float(outcome.started),
        "fit_seconds": float(outcome.fit_seconds),
        "score_seconds": float(outcome.score_seconds),
        "n_train": int(outcome.n_train),
        "n_test": int(outcome.n_test),
        "previous_level": int(outcome.previous_level),
        "error": outcome.error,
    }
    if outcome.score_error is not None:
        content["score_error"] = outcome.score_error
    if outcome.n_rounds is not None:
        content["n_rounds"] = outcome.n_rounds
    if record.levels:
        content["levels"] = [int(level) for level in record.levels]
    if record.model is not None:
        content["model"] = record.model
    return _line(content)


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
        try:
            values = _checked(line[:-1])
            if damaged:
                raise JournalError(f"line {damaged} is damaged: its checksum is wrong. {REPAIR}")
            _add(values, content)
        except DamageError:
            damaged = damaged or number
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            if isinstance(error, JournalError):
                raise
            problem = f"line {number} has an impossible value: {error!r}. {REPAIR}"
            raise JournalError(problem) from error
        else:
            end += len(line)
    return content, end, damaged


def _may_be_header(line: bytes) -> bool:
    """Return whether a first line is the header of a journal, complete or cut short.

    A header that is cut short must still have its first bytes: a file with ``{`` or zeros may be
    something else, which must not be overwritten.
    """
    return line.startswith(MAGIC) and (not line.endswith(b"\n") or _is_whole(line[:-1]))


def _add(values: Values, content: Content) -> None:
    """Add the values of a line to the content."""
    if not content.sessions:
        if values["format"] != FORMAT:
            raise JournalError(
                f"it has format {values['format']!r}, but this version of sklearn_halving reads "
                f"only format {FORMAT}. {WAY_OUT}"
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


def _line(content: dict[str, object]) -> bytes:
    body = _ENCODER.encode(content)[:-1].encode("ascii")
    return b'%b,"crc":"%08x"}\n' % (body, crc32(body))


def _is_whole(line: bytes) -> bool:
    """Return whether a line ends in its checksum."""
    match = _CHECKSUM.fullmatch(line, max(0, len(line) - _CHECKSUM_BYTES))
    return match is not None and int(match[1], 16) == crc32(line[:-_CHECKSUM_BYTES])


def _checked(line: bytes) -> Values:
    """Return the values of a line, if its checksum is right."""
    if not _is_whole(line):
        raise DamageError
    try:
        values = json.loads(line)
    except RecursionError as error:
        raise ValueError("too many brackets") from error
    if not isinstance(values, dict):
        raise TypeError("not a JSON object")
    return values


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


def _read_number(value: object) -> float:
    if isinstance(value, str):
        return _NON_FINITE[value]
    number: float = _typed(value, int, float)
    return number


def _typed(value: object, *types: type) -> Any:
    """Return the value if it has one of the types. True and False are not numbers."""
    if type(value) not in types:
        raise TypeError(f"{value!r} is not of type {types[0].__name__}")
    return value


def _read_scores(value: object) -> Scores:
    if isinstance(value, dict):
        return {name: _read_number(score) for name, score in value.items()}
    return _read_number(value)


def _count(value: object, least: int = 0) -> int:
    count: int = _typed(value, int)
    if not least <= count <= MAX_COUNT:
        raise TypeError(f"{value} is not from {least} to {MAX_COUNT}")
    return count


def _seconds(value: object) -> float:
    return float(_typed(value, float, int))


def _optional_text(value: object) -> str | None:
    return None if value is None else str(_typed(value, str))


def _session(values: Values) -> Session:
    return Session(
        {name: _plain(value) for name, value in values["fields"].items()},
        {name: str(_typed(version, str)) for name, version in values["versions"].items()},
        _count(values["n_candidates"]),
        str(_typed(values["candidates"], str)),
        _optional_text(values["random_state"]),
    )


def _plain(value: object) -> Plain:
    if value is None:
        return None
    plain: Plain = _typed(value, str, int, float, bool)
    return plain


def _record(values: Values) -> Record:
    arm, level, repetition = values["pull"]
    outcome = Outcome(
        Pull(_count(arm), _count(level, 1), _count(repetition)),
        _read_scores(values["test"]),
        None if values["train"] is None else _read_scores(values["train"]),
        _seconds(values["started"]),
        fit_seconds=_seconds(values["fit_seconds"]),
        score_seconds=_seconds(values["score_seconds"]),
        n_train=_count(values["n_train"]),
        n_test=_count(values["n_test"]),
        previous_level=_count(values["previous_level"]),
        error=_optional_text(values["error"]),
        score_error=_optional_text(values.get("score_error")),
        n_rounds=_count(values["n_rounds"], 1) if "n_rounds" in values else None,
    )
    levels = tuple(_count(number, 1) for number in values.get("levels", ()))
    return Record(outcome, levels, _optional_text(values.get("model")))
