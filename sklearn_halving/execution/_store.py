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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple, Self, get_type_hints
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
BEGIN = """INSERT INTO searches VALUES (NULL, ?, ?, ?, ?, ?, ?) ON CONFLICT (fields, seed)
DO UPDATE SET estimator = excluded.estimator, details = excluded.details,
versions = excluded.versions, checksum = excluded.checksum"""
READ = """SELECT candidate, fit, params, outcome, error, checksum FROM fits WHERE search = ?
ORDER BY rowid"""
APPEND = """INSERT INTO fits VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (search, candidate, fit)
DO UPDATE SET params = excluded.params, outcome = excluded.outcome, error = excluded.error,
checksum = excluded.checksum WHERE ? OR json_extract(outcome, '$.limit') IS NOT NULL"""
"""A limit of time ends no fit that another search has made without one meanwhile."""
DAMAGED = (sqlite3.Error, LookupError, TypeError, ValueError, AttributeError, RecursionError)
"""What reading a file may raise if its content is not what a search writes."""
SIDES = {"test_scores", "train_scores"}
TYPES = get_type_hints(Outcome) | dict.fromkeys(("pull", "levels", *SIDES), object)
DEFAULTS = {each.name: each.default for each in fields(Outcome)} | {"train_scores": None}
NEW_PATH = "Give checkpoint another path, or delete the file if it is not needed."
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
        with self._refusing():
            # Opening a device, a pipe or a folder may never end.
            if self.path is not None and self.path.exists() and not self.path.is_file():
                raise ValueError("it is not a regular file")
            place = ":memory:" if self.path is None else self.path
            self._connection = sqlite3.connect(
                place, PATIENCE, isolation_level=None, check_same_thread=False
            )
            try:
                self._open()
                self._file = self.path and self.path.stat()
            except BaseException:
                self._connection.close()
                raise

    def _open(self) -> None:
        run = self._connection.execute
        run("PRAGMA trusted_schema = OFF")
        run("PRAGMA cell_size_check = ON")  # with the checksums, in place of reading all of it
        run("BEGIN IMMEDIATE")
        if self._content() == [0, 0]:
            for statement in SCHEMA:
                run(statement)
            run(f"PRAGMA application_id = {APPLICATION}")
            run(f"PRAGMA user_version = {FORMAT}")
        application, number, *schema = self._content()
        if application == APPLICATION and number != FORMAT:
            raise ValueError(f"it has format {number}, and this version reads format {FORMAT}")
        if [application, *schema] != [APPLICATION, *SCHEMA]:
            raise ValueError("it is another database, or was changed by another program")
        run("COMMIT")
        with suppress(sqlite3.OperationalError):  # another search does it, or the disk cannot
            run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")

    def _content(self) -> list[object]:
        """Return what tells a store from other databases."""
        schema = "SELECT sql FROM sqlite_master WHERE sql NOT NULL ORDER BY rowid"
        questions = "PRAGMA application_id", "PRAGMA user_version", schema
        return [row[0] for each in questions for row in self._connection.execute(each)]

    def searches(self) -> list[SearchRecord]:
        """Return all searches, the latest last."""
        columns = "fields, seed, estimator, details, versions, checksum"
        found = []
        with self._refusing():
            rows = self._connection.execute(f"SELECT {columns} FROM searches ORDER BY id")
            for *row, checksum in rows:
                if checksum != _checksum(*row):
                    raise ValueError("a search in it is damaged")
                texts = [json.loads(row[place]) for place in (0, 3, 4)]
                values = [value for each in texts for value in each.values()]
                if type(row[1]) is not int or not all(isinstance(each, str) for each in values):
                    raise TypeError("a search in it has impossible values")
                found.append(SearchRecord(texts[0], row[1], row[2], *texts[1:]))
        return found

    def begin(self, record: SearchRecord) -> None:
        """Read the fits of a search, to which new ones are added."""
        fields, details, versions = map(_text, (record.fields, record.details, record.versions))
        row = fields, record.seed, record.estimator, details, versions
        self.outcomes, self.params = {}, {}
        self._start = _checksum(fields, record.seed)
        run = self._connection.execute
        with self._refusing():
            run(BEGIN, (*row, _checksum(*row)))
            question = "SELECT id FROM searches WHERE fields = ? AND seed = ?"
            self._search = run(question, row[:2]).fetchone()[0]
            rows = run(READ, [self._search]).fetchall()
            if any(checksum != _checksum(*row, start=self._start) for *row, checksum in rows):
                raise ValueError("a fit in it is damaged")
            params, outcomes = _parsed(rows, 2), _parsed(rows, 3, _outcome)
            if not all(isinstance(each, dict) for each in params):
                raise TypeError("parameters in it are impossible")
            self.params = {row[0]: each for row, each in zip(rows, params, strict=True)}
            keys = [FitKey(*row[:2]) for row in rows]
            self.outcomes = dict(zip(keys, outcomes, strict=True))

    def append(self, key: FitKey, params: Values, outcome: Outcome) -> None:
        """Write a finished fit. It replaces an earlier one if that was made again."""
        values = {name: getattr(outcome, name) for name in DEFAULTS}
        values |= {side: _scores(values[side]) for side in SIDES}
        values = {name: value for name, value in values.items() if value != DEFAULTS[name]}
        error = raised(outcome.problem or "").encode("utf-8", "replace")
        row = *key, _text(params), _text(values), error.decode()
        checksum = _checksum(*row, start=self._start)
        try:
            self._connection.execute(APPEND, (self._search, *row, checksum, outcome.limit is None))
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
        with suppress(OSError):
            if self._file and os.path.samestat(self._file, self.path.stat()):
                return
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
            places = ", ".join("?" * 7)
            self._connection.executemany(f"INSERT INTO {name} VALUES ({places})", rows)

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Name the file if it cannot be used."""
        try:
            yield
        except (*DAMAGED, OSError) as error:
            problem = str(error).rstrip(".") or type(error).__name__
            if isinstance(error, OSError | sqlite3.OperationalError):
                problem += ". It must be a file in a folder that can be written to"
            message = f"checkpoint={str(self.path)!r} cannot be used: {problem}. {NEW_PATH}"
            raise CheckpointError(message) from error


def _text(values: object) -> str:
    # Numbers that JSON does not know are whole numbers of NumPy.
    return json.dumps(values, separators=(",", ":"), allow_nan=False, default=int)


def _checksum(*values: str | int, start: int = 0) -> int:
    return crc32("\0".join(map(str, values)).encode(), start)


def _scores(scores: Scores | None) -> Any:
    if isinstance(scores, dict):
        if not all(isinstance(name, str) for name in scores):
            problem = f"Names of metrics must be strings for fits to be kept, got {list(scores)}."
            raise TypeError(problem)
        return {name: _scores(score) for name, score in scores.items()}
    if scores is None or type(scores) is int:
        return scores
    number = float(scores)
    return number if math.isfinite(number) else str(number)


def _read_score(value: Any) -> Any:
    if not isinstance(value, dict | int | float) and value not in NON_FINITE:
        raise TypeError(f"{value!r} is not a score")
    return float(value) if isinstance(value, str) else value


def _parsed(rows: Any, column: int, read: Callable[[Values], object] | None = None) -> list[Any]:
    """Return the values in a column, read all at once: much faster than one by one."""
    text = ",".join(row[column] for row in rows)
    values: list[Any] = json.loads(f"[{text}]", object_hook=read)
    return values


def _outcome(values: Values) -> object:
    if not isinstance(values.get("pull"), list):  # the scores of several metrics
        return {name: _read_score(score) for name, score in values.items()}
    values["pull"] = Pull(*values["pull"])
    values["levels"] = tuple(values.get("levels", ()))
    for number in values["pull"] + values["levels"]:
        if not isinstance(number, int):
            raise TypeError(f"{number!r} is not a whole number")
    for side in SIDES & values.keys():
        values[side] = _read_score(values[side])
    for name, value in values.items():
        if not isinstance(value, TYPES[name]):
            raise TypeError(f"{name} cannot be {value!r}")
    values.setdefault("train_scores", None)
    return Outcome(**values)
