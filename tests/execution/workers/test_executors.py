"""What is sent to workers: how much of it, in which portions, and what is left behind."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from joblib.externals.loky import get_reusable_executor
from sklearn import config_context

from doubles import CountsPickles, Known, ReportsItsSurroundings, first_feature, make_task
from sklearn_halving._unstable_joblib import JoblibSession, cloudpickle
from sklearn_halving.execution._types import EvaluationTask, Job, Outcome
from sklearn_halving.execution.workers import _task_transfer
from sklearn_halving.execution.workers._chunk_queue import CHUNK_SECONDS, MAX_CHUNK
from sklearn_halving.execution.workers._executors import (
    JoblibExecutor,
    SerialExecutor,
    open_executor,
)
from sklearn_halving.execution.workers._worker import evaluate_chunk
from sklearn_halving.policies import Pull


class WatchedSession(JoblibSession):
    """A real session that notes what passes through it."""

    def __init__(self, n_jobs: int) -> None:
        super().__init__(n_jobs)
        self.chunks: list[list[Job]] = []
        self.outcomes: list[Outcome] = []

    def submit(self, function: Any, arguments: list[Any], done: Any) -> None:
        self.chunks.append(next(list(a) for a in arguments[:2] if isinstance(a, list)))
        super().submit(function, arguments, done)


def sent_bytes(value: Any) -> int:
    """Return what joblib pickles: all but the arrays that it maps."""
    if isinstance(value, np.ndarray) and value.nbytes > _task_transfer.MAPPED_BYTES:
        return 200  # about what the name of a file takes
    if type(value) in (list, tuple):
        return sum(map(sent_bytes, value))
    return len(cloudpickle.dumps(value))


def pull_all(
    task: EvaluationTask,
    pulls: list[Pull],
    *,
    backend: str = "threading",
    n_jobs: int = 2,
    max_chunks: int = 4,
) -> WatchedSession:
    """Submit as the loop does: as many as there is room for."""
    with parallel_config(backend), WatchedSession(n_jobs) as session:
        executor = JoblibExecutor(task, session, max_chunks)
        waiting = list(pulls)
        while len(session.outcomes) < len(pulls):
            while waiting and executor.room > 0:
                n = executor.room
                for pull in waiting[:n]:
                    executor.submit(Job(pull))
                del waiting[:n]
            session.outcomes += [landing.outcome for landing in executor.wait_any()]
    return session


def test_short_pulls_travel_together() -> None:
    pulls = [Pull(arm, 1, 0) for arm in range(2000)]
    session = pull_all(make_task(Known(), np.zeros(2000)), pulls)
    sizes = [len(chunk) for chunk in session.chunks]
    assert sizes[0] == 1, "nothing is known of the first pull"
    assert max(sizes) > 20
    assert max(sizes) <= MAX_CHUNK
    assert len(sizes) < 200
    assert sorted(job.pull for chunk in session.chunks for job in chunk) == pulls


def test_long_pulls_travel_alone() -> None:
    task = make_task(Known(seconds=1.2 * CHUNK_SECONDS), np.zeros(8))
    session = pull_all(task, [Pull(arm, 1, 0) for arm in range(8)])
    assert [len(chunk) for chunk in session.chunks] == [1] * 8


def test_a_long_pull_is_not_sent_behind_another() -> None:
    """Level 1 is known to be short, level 60 to be long, and they wait in one line."""
    task = make_task(Known(seconds=CHUNK_SECONDS / 50), np.zeros(400), max_level=60)
    first = [Pull(0, 1, 0), Pull(0, 60, 0)]
    mixed = [Pull(arm, 60 if arm % 10 == 0 else 1, 1) for arm in range(1, 120)]
    session = pull_all(task, [*first, *mixed])
    for chunk in session.chunks:
        levels = [job.pull.level for job in chunk]
        assert 60 not in levels or len(levels) == 1
    assert max(map(len, session.chunks)) > 1


def test_short_pulls_at_the_front_do_not_make_room_for_long_ones() -> None:
    """What is asked for early waits in line, and the policy could have thought better of it."""
    task = make_task(Known(seconds=CHUNK_SECONDS / 20), np.zeros(600), max_level=40)
    with parallel_config("threading"), WatchedSession(2) as session:
        executor = JoblibExecutor(task, session, 4)
        for level in (1, 40):  # so that the time of both is known
            executor.submit(Job(Pull(0, level, 0)))
            executor.wait_any()
        assert executor.room == 1, "the last was long"
        executor.submit(Job(Pull(1, 1, 0)))
        assert executor.room > 1, "the last was short"
        for arm in range(2, 6):
            executor.submit(Job(Pull(arm, 40, 0)))
        assert executor.room == 0, "four long pulls are all that four chunks take"
        n_landed = 0
        while n_landed < 5:
            n_landed += len(executor.wait_any())


def test_no_worker_waits_while_there_is_work() -> None:
    """Two threads, 24 pulls of 30 ms: both are at work nearly all the time."""
    task = make_task(Known(seconds=0.03), np.zeros(24))
    outcomes = pull_all(task, [Pull(arm, 1, 0) for arm in range(24)]).outcomes
    began = min(outcome.started for outcome in outcomes)
    ended = max(outcome.started + outcome.fit_seconds for outcome in outcomes)
    # Of the time of the fits as measured: on a busy machine, they take longer.
    assert sum(outcome.fit_seconds for outcome in outcomes) > 1.2 * (ended - began)


@pytest.mark.parametrize("max_chunks", [1, 2, 7])
def test_no_more_chunks_are_under_way_than_pre_dispatch_says(max_chunks: int) -> None:
    task = make_task(Known(seconds=0.001), np.zeros(60))
    with parallel_config("threading"), WatchedSession(3) as session:
        executor = JoblibExecutor(task, session, max_chunks)
        for arm in range(60):
            executor.submit(Job(Pull(arm, 1, 0)))
        n_landed = 0
        while n_landed < 60:
            executor._send()
            assert len(executor._under_way.chunks) <= max_chunks
            n_landed += len(executor.wait_any())


def test_the_task_is_pickled_once() -> None:
    CountsPickles.n_pickled = 0
    task = make_task(CountsPickles(), np.zeros(40))
    pull_all(task, [Pull(arm, 1, 0) for arm in range(40)], backend="loky")
    assert CountsPickles.n_pickled == 1
    CountsPickles.n_pickled = 0
    pull_all(task, [Pull(arm, 1, 0) for arm in range(40)], backend="threading")
    assert CountsPickles.n_pickled == 0, "threads share it as it is"


@pytest.mark.parametrize("seconds", [0.0, CHUNK_SECONDS])
def test_what_is_sent_for_a_pull_does_not_grow_with_their_number(seconds: float) -> None:
    """Neither short pulls, in chunks, nor long ones, each in a message of its own."""
    n_pulls, of_task, of_pull = 10, [], []
    for n_arms in (100, 10_000, 100_000):
        task = make_task(Known(seconds=seconds), np.zeros(n_arms))
        session = pull_all(task, [Pull(arm, 1, 0) for arm in range(n_arms - n_pulls, n_arms)])
        of_task.append(sent_bytes(_task_transfer.packed(task)))
        each = [[jobs, _task_transfer.candidates_of(task, jobs)] for jobs in session.chunks]
        of_pull.append(max(sent_bytes(sent) / len(sent[0]) for sent in each))
    assert max(of_task) == of_task[0]
    assert max(of_pull) < 1.1 * of_pull[0]
    assert of_pull[0] < 1000


@pytest.mark.parametrize("n_rows", [100, 10_000, 100_000])
def test_what_grows_with_the_data_is_mapped_once_it_is_large(n_rows: int) -> None:
    task = make_task(Known(), np.zeros(3), n_rows=n_rows, n_features=20)
    assert sent_bytes(_task_transfer.packed(task)) < 3 * _task_transfer.MAX_SENT_BYTES


def test_serial_runs_one_at_a_time_and_asks_for_a_window() -> None:
    executor = SerialExecutor(make_task(Known(), np.zeros(3)))
    assert executor.room > 1
    for arm in range(3):
        executor.submit(Job(Pull(arm, 1, 0)))
    assert executor.room == 0
    arms = [landing.outcome.pull.arm for _ in range(3) for landing in executor.wait_any()]
    assert arms == [0, 1, 2]
    assert executor.room > 1


def test_one_worker_needs_no_pool() -> None:
    with open_executor(make_task(Known(), [0.0]), None, "2*n_jobs") as executor:
        assert isinstance(executor, SerialExecutor)
    with open_executor(make_task(Known(), [0.0]), 2, "2*n_jobs") as executor:
        assert isinstance(executor, JoblibExecutor)


# ------------------------------------------------------ surroundings, and what stays behind


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_configuration_and_warning_filters_reach_workers(backend: str) -> None:
    # The filter "error" is that of pytest's configuration; see filterwarnings there.
    for assume_finite in (True, False):
        with config_context(assume_finite=assume_finite):
            task = make_task(ReportsItsSurroundings(), np.zeros(4))
            scores = set()
            with parallel_config(backend), open_executor(task, 2, "all") as executor:
                for arm in range(4):
                    executor.submit(Job(Pull(arm, 1, 0)))
                landings: list[Any] = []
                while len(landings) < 4:
                    landings += executor.wait_any()
                scores = {landing.outcome.test_scores for landing in landings}
        assert scores == {10.0 + assume_finite}


@pytest.mark.parametrize(
    ("order", "is_memmap"),
    [("C", False), pytest.param("F", False, marks=pytest.mark.full), ("C", True)],
)
def test_large_data_are_mapped_and_nothing_is_left(
    tmp_path: Path, order: str, is_memmap: bool
) -> None:
    task = make_task(Known(), np.zeros(8), n_rows=2000, n_features=100, scorer=first_feature)
    X = np.asarray(task.X, order=order)
    if is_memmap:
        mapped = np.memmap(tmp_path / "X.dat", dtype=X.dtype, mode="w+", shape=X.shape)
        mapped[:] = X
        X = mapped
    assert X.nbytes > _task_transfer.MAPPED_BYTES
    task = replace(task, X=X)
    pulls = [Pull(arm, 1, arm % 2) for arm in range(8)]
    expected = scores_of(SerialExecutor(task), pulls)
    folder = tmp_path / "joblib"
    folder.mkdir()
    get_reusable_executor().shutdown()  # workers that run already have their own folder
    with (
        parallel_config("loky", temp_folder=str(folder)),
        open_executor(task, 2, "2*n_jobs") as executor,
    ):
        assert scores_of(executor, pulls) == expected
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert len(files) == (0 if is_memmap else 1), "written once, not once a pull"
    deadline = time.monotonic() + 20  # a process of joblib removes the files, soon after
    while time.monotonic() < deadline and any(path.is_file() for path in folder.rglob("*")):
        time.sleep(0.02)
    assert not any(path.is_file() for path in folder.rglob("*"))


def scores_of(executor: Any, pulls: list[Pull]) -> dict[Pull, Any]:
    for pull in pulls:
        executor.submit(Job(pull))
    scores: dict[Pull, Any] = {}
    while len(scores) < len(pulls):
        for landing in executor.wait_any():
            scores[landing.outcome.pull] = landing.outcome.test_scores
    return scores


def test_workers_stop_between_the_jobs_of_a_chunk_and_nothing_is_left() -> None:
    """A fit that has begun comes back; one that has not is not begun after a stop."""
    task = make_task(Known(), [0.1])
    token, *arrays = _task_transfer.packed(task)
    jobs = [Job(Pull(0, task.max_level, repetition)) for repetition in range(2)]
    arguments = jobs, _task_transfer.candidates_of(task, jobs), token, *arrays
    with parallel_config("loky"), JoblibSession(2) as session:
        shared = _task_transfer.SharedTask(task, session)
        shared.tokens.append(token)
        assert shared.can_stop_workers
        assert len(evaluate_chunk(*arguments).landings) == 2
        shared.stop([])
        assert not evaluate_chunk(*arguments).landings
        shared.stop([jobs[0].pull])
        assert [landing.outcome.pull for landing in evaluate_chunk(*arguments).landings] == [
            jobs[0].pull
        ]
        shared.close()
        assert len(evaluate_chunk(*arguments).landings) == 2
        assert not _task_transfer.stop_file(token).exists()
