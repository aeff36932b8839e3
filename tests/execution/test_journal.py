"""The journal: what is written comes back, what is torn is cut, what is false is refused."""

from __future__ import annotations

import io
import math
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts import ROOT
from sklearn_halving.execution import _journal
from sklearn_halving.execution._journal import (
    FitKey,
    Journal,
    JournalError,
    Session,
    checksum_of,
    read_lines,
)
from sklearn_halving.execution._types import Outcome
from sklearn_halving.policies import Pull

FIELDS = {"error_score": 3, "X": "ab" * 16, "scoring": None}
SESSION = Session(FIELDS, 5, {"numpy": "2"})
PARAMS = {"C": 0.1, "kernel": "rbf", "model": {"digest": "ef" * 16}, "depth": None, "p": True}


def record(arm=0, test=0.5, train=None, error=None, levels=()):
    return Outcome(
        Pull(arm, 3, 1),
        test,
        train,
        started=1.7e9 + 1 / 3,
        fit_seconds=0.1 + 0.2,
        score_seconds=5e-324,
        n_train=10,
        n_test=5,
        previous_level=1,
        error=error,
        levels=levels,
    )


def append(journal, outcome):
    key = FitKey(f"{outcome.pull.arm:032x}", f"{outcome.pull.repetition:032x}")
    journal.append(key, PARAMS, outcome)


def written(path, *records, session=SESSION):
    with Journal(path) as journal:
        journal.begin(session)
        for one in records:
            append(journal, one)
    return path


def reread(path):
    """Return the sessions, and the outcomes by their pulls."""
    with Journal(path) as journal:
        assert all(params == PARAMS for params in journal.params.values())
        outcomes = {outcome.pull: outcome for outcome in journal.outcomes.values()}
        assert len(outcomes) == len(journal.outcomes)
        return list(journal.sessions), outcomes


# ------------------------------------------------------------------------ there and back

finite_or_not = st.floats(allow_nan=True, allow_infinity=True)
scores = st.one_of(finite_or_not, st.integers(-(2**62), 2**62))
texts = st.text(st.characters(codec=None))  # lone surrogates too: tracebacks may hold anything


@settings(deadline=None, max_examples=100)
@given(
    test=st.one_of(scores, st.dictionaries(texts, scores, max_size=3)),
    train=st.one_of(st.none(), scores, st.dictionaries(texts, scores, max_size=3)),
    error=st.one_of(st.none(), texts),
    levels=st.lists(st.integers(1, 10**6), max_size=3).map(tuple),
)
def test_every_outcome_comes_back_as_it_was(tmp_path_factory, test, train, error, levels):
    path = tmp_path_factory.mktemp("journal") / "j"
    given = record(2, test, train, error, levels)
    sessions, records = reread(written(path, given))
    assert sessions == [SESSION]
    # repr tells NaN from other numbers, integers from floats, and -0.0 from 0.0
    assert repr(records) == repr({given.pull: given})


def test_metrics_whose_names_are_no_strings_are_refused(tmp_path):
    with pytest.raises(TypeError, match="Names of metrics must be strings"):
        written(tmp_path / "j", record(0, {1: 0.5}))


# -------------------------------------------------------------------------- torn and cut


def test_cut_at_any_byte_it_opens_with_what_is_whole_and_goes_on(tmp_path):
    whole = written(tmp_path / "whole", *map(record, range(5))).read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    cuts = {*range(0, len(whole), 37), *range(ends[-2] - 2, len(whole) + 1, 5), *ends}
    for cut in sorted(cuts | {end - 1 for end in ends}):
        path = tmp_path / "cut"
        path.write_bytes(whole[:cut])
        n_whole = sum(end <= cut for end in ends)
        with Journal(path) as journal:
            assert len(journal.sessions) == min(1, n_whole)
            assert len(journal.outcomes) == max(0, n_whole - 1)
            if not journal.sessions:
                journal.begin(SESSION)
            for arm in range(len(journal.outcomes), 5):
                append(journal, record(arm))
        assert path.read_bytes() == whole, "nothing of the torn line is left"


@pytest.mark.parametrize("tail", [b"\0" * 4096, b"\0" * 100 + b"\n", b"garbage\nmore\n{", b"\n\n"])
def test_a_damaged_tail_is_cut(tmp_path, tail):
    path = written(tmp_path / "j", record(0))
    whole = path.read_bytes()
    path.write_bytes(whole + tail)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert len(reread(path)[1]) == 1
    assert path.read_bytes() == whole
    assert len(said) == (b"\n" in tail)
    if said:
        assert "damaged from line 3" in str(said[0].message)


def test_damage_in_the_middle_is_an_error_that_names_the_line(tmp_path):
    path = written(tmp_path / "j", *map(record, range(4)))
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"0.5", b"0.6")
    path.write_bytes(b"".join(lines))
    with pytest.raises(JournalError, match="line 3 is damaged"):
        reread(path)
    assert path.read_bytes() == b"".join(lines), "left as it is"
    del lines[2]  # the way out that the message names
    path.write_bytes(b"".join(lines))
    assert len(reread(path)[1]) == 3


@pytest.mark.parametrize(
    "content", [b"a,b\n1,2\n", b"\x89PNG\r\n", b'{"journal":"other"}\n', b"\n", b"{", b"\0" * 4096]
)
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path, content):
    (tmp_path / "j").write_bytes(content)
    with pytest.raises(JournalError, match="left as it is"):
        reread(tmp_path / "j")
    assert (tmp_path / "j").read_bytes() == content


@pytest.mark.skipif(sys.platform == "win32", reason="has other names for devices")
@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "link to a device"])
def test_what_is_no_regular_file_is_refused_unread(tmp_path, kind):
    path = tmp_path / "j"
    if kind == "device":
        path = Path("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(JournalError, match="must be the path of a regular file") as info:
        Journal(path)
    assert str(path) in str(info.value)


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 999, "no folder/j"])
def test_an_impossible_name_is_said_to_be_that_of_the_checkpoint(tmp_path, name):
    with pytest.raises((ValueError, OSError)) as info:
        Journal(tmp_path / name)
    assert info.value.__notes__ == [
        "checkpoint must be a file in a folder that can be written to."
    ]


# ------------------------------------------------------------------- files from strangers


def signed(body: bytes, header: int = 0) -> bytes:
    """Return a line whose checksum is right, as somebody would write who means harm."""
    return body + b',"crc":"%08x"}\n' % crc32(body, header)


def add_signed(path: Path, text: str) -> None:
    """Add such a line to a journal."""
    content = path.read_bytes()
    path.write_bytes(
        content + signed(text.encode(), checksum_of(content.splitlines(keepends=True)[0]))
    )


PULL = '"test_scores":1,"started":0,"fit_seconds":0,"score_seconds":0,"n_train":1,"n_test":1'
KEY = '"candidate":"a","fit":"b","params":{"C":1}'
WHOLE = f'{KEY},"pull":[0,1,0],{PULL},"previous_level":0,"error":"E"'
FORGED = [
    '{"pull":[0,1,0]',
    '{"pull":[0,1]',
    "1",
    '{"session":{"fields":[],"versions":{},"seed":1}',
    '{"session":{"fields":{"a":[]},"versions":{},"seed":1}',
    '{"session":{"fields":{},"versions":{},"seed":null}',
    '{"journal":"sklearn_halving","format":3,"session":{}',
    "{" + WHOLE.replace('"a"', "1"),
    "{" + WHOLE.replace('"fit":"b",', ""),
    "{" + WHOLE.replace('{"C":1}', '{"C":[1]}'),
    "{" + WHOLE.replace('{"C":1}', '{"C":{"digest":1}}'),
    "{" + WHOLE.replace('{"C":1}', "[]"),
    "{" + WHOLE.replace("[0,1,0]", "[-1,1,0]"),
    "{" + WHOLE.replace("[0,1,0]", "[0,0,0]"),
    "{" + WHOLE.replace("[0,1,0]", "[true,1,0]"),
    "{" + WHOLE.replace("[0,1,0]", f"[{10**30},1,0]"),
    "{" + WHOLE.replace('"test_scores":1', '"test_scores":"cos\\nsystem"'),
    "{" + WHOLE.replace('"test_scores":1', '"test_scores":[1]'),
    "{" + WHOLE.replace('"test_scores":1', f'"test_scores":{"9" * 5000}'),
    "{" + WHOLE.replace('"started":0', f'"started":{10**400}'),
    "{" + WHOLE.replace('"error":"E"', '"error":{"a":1}'),
    "{" + WHOLE.replace('"n_test":1,', ""),
    "{" + WHOLE + ',"levels":3',
    "{" + WHOLE + ',"levels":[0]',
    "{" + WHOLE + ',"n_rounds":0',
    "{" + WHOLE + ',"limit":"1"',
    '{"a":' + "[" * 100_000 + "]" * 100_000,
]


@pytest.mark.parametrize("line", FORGED, ids=range(len(FORGED)))
def test_forged_lines_are_one_clear_error(tmp_path, line):
    path = written(tmp_path / "j", record(1))
    add_signed(path, line)
    with pytest.raises(JournalError, match=r"line 3 has an impossible value: .* another path"):
        reread(path)


def test_of_a_fit_that_was_made_again_the_last_line_counts(tmp_path):
    path = written(tmp_path / "j", record(1, 0.1), record(2), record(1, 0.3))
    assert [one.test_scores for one in reread(path)[1].values()] == [0.3, 0.5]


def test_another_format_is_an_error_that_says_so(tmp_path):
    path = written(tmp_path / "j")
    body = path.read_bytes().rpartition(b',"crc"')[0].replace(b'"format":3', b'"format":2')
    path.write_bytes(signed(body))
    with pytest.raises(JournalError, match="format 2"):
        reread(path)


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Return the content with one to four bytes, pieces or lines changed."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        place, size = rng.randrange(len(data) + 1), rng.choice([1, 1, 3, 40])
        kind = rng.randrange(5)
        if kind == 0:
            data[place : place + size] = rng.randbytes(size)
        elif kind == 1:
            del data[place : place + size]
        elif kind == 2:
            data[place:place] = rng.choice([b"\n", b"{", b"NaN", b'"', b"[", b"-1", b"9" * 30])
        elif kind == 3:
            lines = bytes(data).splitlines(keepends=True)
            rng.shuffle(lines)
            data = bytearray(b"".join(lines))
        else:
            data[place:place] = data[place : place + size]
    return bytes(data)


@pytest.mark.parametrize("is_signed", [False, True], ids=["checksums_wrong", "checksums_right"])
def test_mutated_journals_give_documented_errors_or_true_lines(tmp_path, is_signed):
    """With the checksums made right again the mutations reach what is behind them.

    What reads them is `read_lines`; `Journal` only cuts the file where that says.
    """
    path = written(tmp_path / "j", *map(record, range(3)), record(3, {"a": math.nan}, error="x"))
    content, true = path.read_bytes(), reread(path)[1]
    rng, n_errors, n_read = random.Random(0), 0, 0
    for _ in range(5000):
        changed = mutated(content, rng)
        if is_signed:
            bodies = [line.rpartition(b',"crc"')[0] or line for line in changed.splitlines()]
            changed, header = b"", 0
            for body in bodies:
                changed += signed(body, header)
                header = header or checksum_of(changed)
        try:
            read, _, end, _ = read_lines(io.BytesIO(changed))
        except JournalError:
            n_errors += 1
            continue
        n_read += 1
        again, _, whole_end, damaged = read_lines(io.BytesIO(changed[:end]))
        assert (repr(again), whole_end, damaged) == (repr(read), end, 0)
        if not is_signed:
            assert all(repr(true[one.pull]) == repr(one) for one in read.outcomes.values())
    assert n_errors > 500
    assert n_read > 50


# ------------------------------------------------------------------------- another journal

OTHER_SEED = Session(FIELDS, 6)


def test_a_line_of_another_search_is_not_taken(tmp_path):
    """Its pull has the same name, and was made with other candidates."""
    path = written(tmp_path / "j", record(0), record(1), record(2))
    mine = path.read_bytes().splitlines(keepends=True)
    other = written(tmp_path / "k", record(1, 0.9), session=OTHER_SEED).read_bytes()
    path.write_bytes(b"".join([*mine[:2], other.splitlines(keepends=True)[1], *mine[3:]]))
    with pytest.raises(JournalError, match="line 3 is damaged or from another journal"):
        reread(path)
    path.write_bytes(b"".join(mine[:2]) + other)
    with pytest.warns(UserWarning, match="or had lines of another journal there"):
        _, records = reread(path)
    assert [pull.arm for pull in records] == [0]


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be moved")
@pytest.mark.parametrize("event", ["deleted", "replaced", "moved", "cut"])
def test_a_journal_that_is_gone_from_its_place_is_noticed_once(tmp_path, event, monkeypatch):
    path = tmp_path / "j"
    monkeypatch.setattr(_journal, "SYNC_SECONDS", 0.0)
    with Journal(path) as journal:
        journal.begin(SESSION)
        append(journal, record(0))
        if event == "moved":
            path.rename(tmp_path / "k")
        elif event == "cut":
            os.truncate(path, 10)
        else:
            path.unlink()
        if event == "replaced":
            path.write_bytes(b"")
        with pytest.warns(UserWarning, match=f"{path} was deleted, moved, cut or replaced"):
            append(journal, record(1))
        append(journal, record(2))  # another warning would be an error
    if event == "moved":
        assert len(reread(tmp_path / "k")[1]) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of the size of files")
def test_a_full_disk_names_the_checkpoint_and_keeps_its_fits(tmp_path):
    import resource

    path = written(tmp_path / "j", record(0))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with Journal(path) as journal:
            resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, before[1]))
            with pytest.raises(OSError, match="File too large") as info:
                append(journal, record(1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert f"checkpoint='{path}' cannot be written to" in info.value.__notes__[0]
    assert [pull.arm for pull in reread(path)[1]] == [0]


# ------------------------------------------------------------------------------ one writer


OTHER = """
import sys, time
from sklearn_halving.execution._journal import Journal
journal = Journal(sys.argv[1])
print("open", flush=True)
time.sleep(600)
"""


def test_a_second_process_gets_an_error_until_the_first_is_killed(tmp_path):
    command = [sys.executable, "-c", OTHER, str(tmp_path / "j")]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    other = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(JournalError, match="another process"):
            Journal(tmp_path / "j")
    finally:
        other.kill()
        other.communicate()
    reread(tmp_path / "j")


def _wait_for(connection):
    connection.send("forked")
    connection.recv()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_worker_does_not_keep_the_lock_of_its_parent(tmp_path):
    """Workers may outlive a search that was killed."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    with Journal(tmp_path / "j"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of fork with threads
            worker = context.Process(target=_wait_for, args=(theirs,))
            worker.start()
        ours.recv()
    try:
        reread(tmp_path / "j")
    finally:
        ours.send(None)
        worker.join()
