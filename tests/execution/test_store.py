"""The store: what is written comes back, and what is damaged or foreign is refused."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.resuming import query
from sklearn_halving.execution._store import CheckpointError, FitKey, FitStore, SearchRecord
from sklearn_halving.execution._types import Outcome
from sklearn_halving.policies import Pull

RECORD = SearchRecord({"X": "ab" * 16, "y": "cd"}, 5, "SVC()", {"C": "1"}, {"numpy": "2"})
PARAMS = {"C": 0.1, "kernel": "rbf", "model": {"digest": "ef" * 16}, "depth": None, "p": True}


def outcome(arm=0, test=0.5, train=None, error=None, levels=(), limit=None):
    return Outcome(
        Pull(arm, 3, 1),
        test,
        train,
        started=1.7e9 + 1 / 3,
        fit_seconds=0.1 + 0.2,
        score_seconds=5e-324,
        n_train=10,
        n_test=5,
        error=error,
        levels=levels,
        limit=limit,
    )


def key_of(arm):
    return FitKey(f"{arm:032x}", "fit")


def written(path, *outcomes, record=RECORD):
    with FitStore(path) as store:
        store.begin(record)
        for each in outcomes:
            store.append(key_of(each.pull.arm), PARAMS, each)
    return path


def reread(path, record=RECORD):
    with FitStore(path) as store:
        store.begin(record)
        assert all(params == PARAMS for params in store.params.values())
        return store.outcomes


scores = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.integers(-(2**62), 2**62))
texts = st.text(st.characters(codec=None))  # lone surrogates too: tracebacks may hold anything


@settings(deadline=None, max_examples=50)
@given(
    test=st.one_of(scores, st.dictionaries(texts, scores, max_size=3)),
    train=st.one_of(st.none(), scores, st.dictionaries(texts, scores, max_size=3)),
    error=st.one_of(st.none(), texts),
    levels=st.lists(st.integers(1, 10**6), max_size=3).map(tuple),
)
def test_every_outcome_comes_back_as_it_was(tmp_path_factory, test, train, error, levels):
    path = tmp_path_factory.mktemp("store") / "a name \u00e9"
    given = outcome(2, test, train, error, levels)
    # repr tells NaN from other numbers, integers from floats, and -0.0 from 0.0
    assert repr(reread(written(path, given))) == repr({key_of(2): given})
    query(path, "SELECT * FROM scores")
    assert list(path.parent.iterdir()) == [path]


def test_searches_are_apart(tmp_path):
    path = written(tmp_path / "j", *map(outcome, range(3)))
    other = RECORD._replace(seed=6)
    written(path, outcome(1, 0.7), record=other)
    assert len(reread(path)) == 3
    assert [each.test_scores for each in reread(path, other).values()] == [0.7]
    with FitStore(path) as store:
        assert store.searches() == [RECORD, other]


def test_a_fit_that_was_made_again_keeps_its_place(tmp_path):
    timeout = outcome(2, 0.0, error="TimeoutError: x", limit=1.0)
    path = written(tmp_path / "j", outcome(1, 0.1), timeout, outcome(3), outcome(2, 0.9), timeout)
    assert [each.test_scores for each in reread(path).values()] == [0.1, 0.9, 0.5]


def test_metrics_whose_names_are_no_strings_are_refused(tmp_path):
    with pytest.raises(TypeError, match="Names of metrics must be strings"):
        written(tmp_path / "j", outcome(0, {1: 0.5}))


def test_a_trigger_a_view_another_database_and_other_files_are_refused(tmp_path):
    foreign = [
        "CREATE TRIGGER t AFTER INSERT ON fits BEGIN DELETE FROM fits; END",
        "CREATE VIEW mine AS SELECT 1",
        "DROP VIEW scores",
        "CREATE INDEX own ON fits (params)",
        "PRAGMA user_version = 7",
        "PRAGMA application_id = 7",
    ]
    for number, statement in enumerate(foreign):
        query(written(tmp_path / f"{number}", outcome()), statement)
    query(tmp_path / "another", "CREATE TABLE searches (id INTEGER PRIMARY KEY)")
    for number, content in enumerate(
        [b"a,b\n1,2\n", b'{"journal":"sklearn_halving"}\n', b"\0" * 4096]
    ):
        (tmp_path / f"text{number}").write_bytes(content)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for path in [*tmp_path.iterdir(), Path("/dev/zero"), tmp_path / "no folder" / "j"]:
        before = path.read_bytes() if path.is_file() else None
        with pytest.raises(CheckpointError, match=f"checkpoint='{path}' cannot .* another path"):
            FitStore(path)
        assert before is None or path.read_bytes() == before, "left as it is"


def test_a_file_of_another_format_is_refused_with_both_numbers(tmp_path):
    path = written(tmp_path / "j", outcome())
    query(path, "PRAGMA user_version = 7")
    with pytest.raises(
        CheckpointError, match=r"it has format 7, and this version reads format 1\."
    ):
        FitStore(path)


EDITS = [
    "UPDATE fits SET outcome = replace(outcome, '0.5', '0.6')",
    "UPDATE fits SET candidate = 'x' WHERE search = 1",
    "UPDATE fits SET params = '{}'",
    "UPDATE fits SET checksum = 'x'",
    "UPDATE fits SET outcome = x'00'",
    "UPDATE fits SET search = 1, fit = 'x' WHERE search = 2",
    "UPDATE searches SET seed = 9 WHERE id = 1",
    "UPDATE searches SET fields = '[]' WHERE id = 1",
    "UPDATE searches SET versions = '[1]'",
    "UPDATE searches SET details = '[]'",
]


@pytest.mark.parametrize("edit", EDITS)
def test_rows_that_were_edited_are_refused(tmp_path, edit):
    path = written(tmp_path / "j", outcome(1))
    written(path, outcome(1, 0.9), record=RECORD._replace(seed=6))
    query(path, edit)
    with FitStore(path) as store:
        with pytest.raises(CheckpointError, match=f"checkpoint='{path}' cannot be used"):
            store.searches() and store.begin(RECORD)
        assert not store.outcomes or edit.startswith("UPDATE fits")


def test_damaged_files_give_true_fits_or_an_error_that_names_them(tmp_path):
    path = written(tmp_path / "j", *map(outcome, range(40)))
    content, true = path.read_bytes(), reread(path)
    rng, n_errors, n_read = random.Random(0), 0, 0
    for _ in range(200):
        data = bytearray(content)
        place, kind = rng.randrange(len(data)), rng.randrange(3)
        if kind == 0:
            data[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[place:]
        else:
            a, b = (4096 * rng.randrange(len(data) // 4096) for _ in range(2))
            data[a : a + 4096], data[b : b + 4096] = data[b : b + 4096], data[a : a + 4096]
        path.write_bytes(data)
        try:
            read = reread(path)
        except CheckpointError as error:
            n_errors += str(path) in str(error)
            continue
        n_read += 1
        assert all(repr(true[key]) == repr(each) for key, each in read.items())
    assert n_errors + n_read == 200
    assert n_read in range(20, 180)


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be moved")
def test_a_file_that_is_gone_from_its_place_is_noticed_at_the_end(tmp_path):
    path = tmp_path / "j"
    store = FitStore(path)
    store.begin(RECORD)
    store.append(key_of(0), PARAMS, outcome(0))
    path.rename(tmp_path / "k")
    store.append(key_of(1), PARAMS, outcome(1))
    with pytest.warns(UserWarning, match=f"{path} was deleted, moved or replaced"):
        store.__exit__()
    assert len(reread(tmp_path / "k")) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of the size of files")
def test_a_full_disk_names_the_checkpoint_and_keeps_its_fits(tmp_path):
    import resource

    path = written(tmp_path / "j", outcome(0))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with FitStore(path) as store:
            store.begin(RECORD)
            resource.setrlimit(resource.RLIMIT_FSIZE, (20, before[1]))
            with pytest.raises(CheckpointError, match=f"{path}' cannot be written to"):
                store.append(key_of(1), PARAMS, outcome(1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert list(reread(path)) == [key_of(0)]


def test_a_file_that_another_program_locks_is_an_error(tmp_path, monkeypatch):
    path = written(tmp_path / "j")
    monkeypatch.setattr("sklearn_halving.execution._store.PATIENCE", 0.2)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(CheckpointError, match="locked"):
            FitStore(path)
