"""A store of finished fits: an SQLite database for any number of searches.

A fit is written before it counts. A database is plain data: reading it never runs code, and
nothing in it is trusted, no matter who wrote the file. SQLite takes care of the rest: processes
that write at the same time, those that die meanwhile, and full disks.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Self
from zlib import crc32

from sklearn_halving._formatting import raised
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.execution._types import Outcome, Scores
from sklearn_halving.policies._types import Pull

APPLICATION = 0x736B6C68
"""The number by which a file is told from other databases."""
FORMAT = 1
PATIENCE = 60.0
"""Seconds to wait for another search that writes to the file."""
MAX_COUNT = 2**62
SCHEMA = (
    """CREATE TABLE searches (id INTEGER PRIMARY KEY, fields TEXT NOT NULL, seed INTEGER NOT NULL,
    estimator TEXT NOT NULL, details TEXT NOT NULL, versions TEXT NOT NULL,
    checksum INTEGER NOT NULL, UNIQUE (fields, seed))""",
    """CREATE TABLE fits (search INTEGER NOT NULL REFERENCES searches, candidate TEXT NOT NULL,
    fit TEXT NOT NULL, params TEXT NOT NULL, outcome TEXT NOT NULL, error TEXT NOT NULL,
    checksum INTEGER NOT NULL, PRIMARY KEY (search, candidate, fit))""",
    """CREATE VIEW scores AS SELECT search,
    datetime(json_extract(outcome, '$.started'), 'unixepoch') AS started, estimator, candidate,
    params, json_extract(outcome, '$.n_train') AS n_train,
    CASE json_type(outcome, '$.test_scores') WHEN 'object'
        THEN json_extract(outcome, '$.test_scores')
        ELSE json_object('score', json_extract(outcome, '$.test_scores')) END AS scores,
    json_extract(outcome, '$.fit_seconds') + json_extract(outcome, '$.score_seconds') AS seconds,
    nullif(error, '') AS error FROM fits JOIN searches ON searches.id = search""",
)
APPEND = """INSERT INTO fits VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (search, candidate, fit)
DO UPDATE SET params = excluded.params, outcome = excluded.outcome, error = excluded.error,
checksum = excluded.checksum WHERE ? OR json_extract(outcome, '$.limit') IS NOT NULL"""
"""A limit of time ends no fit that another search has made without one meanwhile."""
DAMAGED = (sqlite3.Error, LookupError, TypeError, ValueError, AttributeError, RecursionError)
"""What reading a file may raise if its content is not what a search writes."""
NEW_PATH = "Give checkpoint another path, or delete the file if it is not needed."
JSON = json.JSONDecoder()
NON_FINITE = ("nan", "inf", "-inf")

Values = dict[str, Any]
"""Values as JSON gives them."""


class CheckpointError(ValueError):
    """A file cannot be used as a ``checkpoint``. The message says why.

    Examples
    --------
    >>> from tempfile import NamedTemporaryFile
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn_halving import AdaptiveSearchCV
    >>> from sklearn_halving.search import CheckpointError
    >>> with NamedTemporaryFile("w") as file:
    ...     print("something else", file=file, flush=True)
    ...     search = AdaptiveSearchCV(Ridge(), {"alpha": [1, 10]}, checkpoint=file.name)
    ...     try:
    ...         search.fit([[1], [2], [3], [4]] * 5, [1, 2, 3, 4] * 5)
    ...     except CheckpointError as error:
    ...         print(error)
    checkpoint='...' cannot be used: file is not a database. ...
    """


class FitKey(NamedTuple):
    """What decides a score within a search: digests of the candidate and of the rest."""

    candidate: str
    fit: str


class SearchRecord(NamedTuple):
    """What a store knows of a search.

    Parameters
    ----------
    fields : dict of str to str
        Digests of what decides all scores, such as the data.
    seed : int
        The seed of the search.
    estimator : str
        The estimator as text.
    details : dict of str to str
        The parts of the fields, to name what differs from another search.
    versions : dict of str to str
        Packages and their versions.
    """

    fields: dict[str, str]
    seed: int
    estimator: str = ""
    details: dict[str, str] = {}  # noqa: RUF012 - it is not changed
    versions: dict[str, str] = {}  # noqa: RUF012


class FitStore:
    """The fits of searches, in memory or in a file.

    Parameters
    ----------
    path : str, path-like or None, default=None
        The file, which is created if it does not exist. If None, the fits are kept in memory, and
        are pickled with the store.

    Attributes
    ----------
    outcomes : dict of FitKey to Outcome
        The fits of the search that began last, in the order in which they returned. The arm and
        the repetition of their pulls belong to the search that made them.
    params : dict of str to dict
        The parameters of each candidate, by its digest, as JSON can hold them.

    Raises
    ------
    CheckpointError
        If the file cannot be opened or written to, or if it is something else, or damaged.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path).absolute()
        self.outcomes: dict[FitKey, Outcome] = {}
        self.params: dict[str, Values] = {}
        try:
            # Opening a device, a pipe or a folder may never end.
            if self.path is not None and self.path.exists() and not self.path.is_file():
                raise ValueError("it is not a regular file")
            self._connection = sqlite3.connect(
                ":memory:" if self.path is None else self.path,
                PATIENCE,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                self._open()
                self._file = None if self.path is None else self.path.stat()
            except BaseException:
                self._connection.close()
                raise
        except (*DAMAGED, OSError) as error:
            self._refuse(error)

    def _open(self) -> None:
        run = self._connection.execute
        run("PRAGMA trusted_schema = OFF")
        run("PRAGMA cell_size_check = ON")  # with the checksums, in place of reading all of it
        if not self._is_new():
            self._check()
        end = time.monotonic() + PATIENCE
        while self.path is not None:  # SQLite does not wait when it changes this
            try:
                run("PRAGMA journal_mode = WAL")  # or another mode, where the disk cannot do this
                break
            except sqlite3.OperationalError as error:
                is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not is_busy or time.monotonic() > end:
                    raise
            time.sleep(0.01)
        run("PRAGMA synchronous = NORMAL")
        run("BEGIN IMMEDIATE")
        if self._is_new():
            for statement in SCHEMA:
                run(statement)
            run(f"PRAGMA application_id = {APPLICATION}")
            run(f"PRAGMA user_version = {FORMAT}")
        run("COMMIT")
        self._check()

    def _is_new(self) -> bool:
        is_empty = not self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        return is_empty and self._numbers() == [0, 0]

    def _numbers(self) -> list[int]:
        names = "application_id", "user_version"
        return [self._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names]

    def _check(self) -> None:
        """Raise if it is another database, or damaged."""
        run = self._connection.execute
        found = run("SELECT sql FROM sqlite_master WHERE sql NOT NULL ORDER BY rowid").fetchall()
        if self._numbers() != [APPLICATION, FORMAT] or found != [(sql,) for sql in SCHEMA]:
            raise ValueError("it is another database, or was made by another version")

    def seed(self, fields: dict[str, str]) -> int | None:
        """Return the seed of the latest search with these fields; None if there is none."""
        return next((r.seed for _, r in reversed(self.searches()) if r.fields == fields), None)

    def searches(self) -> list[tuple[int, SearchRecord]]:
        """Return all searches with their numbers, the latest last."""
        columns = "id, fields, seed, estimator, details, versions, checksum"
        found = []
        try:
            rows = self._connection.execute(f"SELECT {columns} FROM searches ORDER BY id")
            for number, *row, checksum in rows:
                if checksum != _checksum(*row):
                    raise ValueError("a search in it is damaged")
                fields, seed, estimator, details, versions = row
                texts = [json.loads(text) for text in (fields, details, versions)]
                names = [name for each in texts for pair in each.items() for name in pair]
                if not all(isinstance(name, str) for name in names):
                    raise TypeError("a search in it has impossible values")
                record = SearchRecord(texts[0], _count(seed), estimator, *texts[1:])
                found.append((number, record))
        except DAMAGED as error:
            self._refuse(error)
        return found

    def begin(self, record: SearchRecord) -> None:
        """Read the fits of a search, to which new ones are added."""
        fields, details, versions = map(_text, (record.fields, record.details, record.versions))
        row = fields, record.seed, record.estimator, details, versions
        self.outcomes, self.params, self._head = {}, {}, f"{fields} {record.seed}"
        run = self._connection.execute
        try:
            run(
                "INSERT INTO searches VALUES (NULL, ?, ?, ?, ?, ?, ?) ON CONFLICT (fields, seed) "
                "DO UPDATE SET estimator = excluded.estimator, details = excluded.details, "
                "versions = excluded.versions, checksum = excluded.checksum",
                (*row, _checksum(*row)),
            )
            question = "SELECT id FROM searches WHERE fields = ? AND seed = ?"
            self._search = run(question, row[:2]).fetchone()[0]
            columns = "candidate, fit, params, outcome, error, checksum"
            question = f"SELECT {columns} FROM fits WHERE search = ? ORDER BY rowid"
            for *texts, checksum in run(question, [self._search]):
                if checksum != _checksum(self._head, *texts):
                    raise ValueError("a fit in it is damaged")
                candidate, fit, params, outcome, _ = texts
                self.params[candidate] = _params(_values(params))
                self.outcomes[FitKey(candidate, fit)] = _outcome(_values(outcome))
        except DAMAGED as error:
            self._refuse(error)

    def append(self, key: FitKey, params: Values, outcome: Outcome) -> None:
        """Write a finished fit. It replaces an earlier one if that was made again."""
        values = {name: getattr(outcome, name) for name in Outcome.__slots__}
        for side in ("test_scores", "train_scores"):
            values[side] = _scores(values[side])
        error = raised(outcome.error or outcome.score_error or "").encode("utf-8", "replace")
        row = *key, _text(params), _text(values), error.decode()
        try:
            self._connection.execute(
                APPEND, (self._search, *row, _checksum(self._head, *row), outcome.limit is None)
            )
        except sqlite3.Error as problem:
            raise CheckpointError(
                f"checkpoint={str(self.path)!r} cannot be written to: {problem}. It keeps the "
                "fits so far: make room for it, and call fit again."
            ) from problem
        self.params[key.candidate] = params
        self.outcomes[key] = outcome

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.path is None:
            return
        with suppress(sqlite3.Error):  # into a file that was moved, SQLite would not do it itself
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()
        is_there = False
        with suppress(OSError):
            is_there = self._file is None or os.path.samestat(self._file, self.path.stat())
        if not is_there:
            warn_user(
                f"The checkpoint {self.path} was deleted, moved or replaced during the search. "
                "Without it, the search cannot be resumed."
            )

    def __getstate__(self) -> dict[str, object]:
        """Return the content of a store in memory."""
        run = self._connection.execute
        return {name: run(f"SELECT * FROM {name}").fetchall() for name in ("searches", "fits")}

    def __setstate__(self, state: dict[str, list[tuple[object, ...]]]) -> None:
        """Fill a store in memory."""
        self.__init__()  # type: ignore[misc]
        for name, rows in state.items():
            for row in rows:
                places = ", ".join("?" * len(row))
                self._connection.execute(f"INSERT INTO {name} VALUES ({places})", row)

    def _refuse(self, error: BaseException) -> NoReturn:
        if isinstance(error, CheckpointError):
            raise error
        problem = str(error).rstrip(".") or type(error).__name__
        if isinstance(error, OSError | sqlite3.OperationalError):
            problem += ". It must be a file in a folder that can be written to"
        message = f"checkpoint={str(self.path)!r} cannot be used: {problem}. {NEW_PATH}"
        raise CheckpointError(message) from error


def _text(values: object) -> str:
    # Numbers that JSON does not know are whole numbers of NumPy.
    return json.dumps(values, separators=(",", ":"), allow_nan=False, default=int)


def _values(text: str) -> Values:
    # In half the time of `json.loads`, which also looks for blanks.
    values, end = JSON.raw_decode(text)
    if end != len(text):
        raise ValueError("a fit in it has more than one value")
    return values


def _checksum(*values: str | int) -> int:
    return crc32("\0".join(map(str, values)).encode())


def _scores(scores: Scores | None) -> Any:
    if isinstance(scores, dict):
        if not all(isinstance(name, str) for name in scores):
            problem = f"Names of metrics must be strings for a checkpoint, got {list(scores)}."
            raise TypeError(problem)
        return {name: _scores(score) for name, score in scores.items()}
    if scores is None or type(scores) is int:
        return scores
    number = float(scores)
    return number if math.isfinite(number) else str(number)


def _read_scores(value: object) -> Any:
    if isinstance(value, dict):
        return {name: _read_scores(score) for name, score in value.items()}
    if value in NON_FINITE or type(value) in (int, float):
        return float(value) if isinstance(value, str) else value
    raise TypeError(f"{value!r} is not a score")


def _count(value: object, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= MAX_COUNT:
        raise TypeError(f"{value!r} is not a whole number from {least} to {MAX_COUNT}")
    return value


def _params(values: Values) -> Values:
    for value in values.values():
        plain = value["digest"] if isinstance(value, dict) else value
        if plain is not None and not isinstance(plain, (str, int, float)):
            raise TypeError(f"{value!r} is not the value of a parameter")
    return values


def _outcome(values: Values) -> Outcome:
    arm, level, repetition = map(_count, values["pull"])
    values["pull"] = Pull(arm, _count(level, 1), repetition)
    values["levels"] = tuple(_count(level, 1) for level in values["levels"])
    values["test_scores"] = _read_scores(values["test_scores"])
    if values["train_scores"] is not None:
        values["train_scores"] = _read_scores(values["train_scores"])
    for name in ("n_train", "n_test", "previous_level"):
        _count(values[name])
    if values["n_rounds"] is not None:
        _count(values["n_rounds"], 1)
    for name in ("started", "fit_seconds", "score_seconds"):
        values[name] += 0.0
        if type(values[name]) is not float:
            raise TypeError(f"{name} is not a number")
    if values["limit"] is not None and type(values["limit"]) not in (int, float):
        raise TypeError("limit is not a number")
    for name in ("error", "score_error"):
        if values[name] is not None and type(values[name]) is not str:
            raise TypeError("an error is not a text")
    return Outcome(**values)
