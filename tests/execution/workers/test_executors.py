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
from sklearn_halving._unstable_joblib import JoblibSession
from sklearn_halving.execution._types import EvaluationTask, Job, Outcome
from sklearn_halving.execution.workers import _worker
from sklearn_halving.execution.workers._executors import (
    CHUNK_SECONDS,
    MAX_CHUNK,
    JoblibExecutor,
    SerialExecutor,
    open_executor,
)
from sklearn_halving.policies import Pull


class WatchedSession(JoblibSession):
    """A real session that notes what passes through it."""

    def __init__(self, n_jobs: int) -> None:
        super().__init__(n_jobs)
        self.chunks: list[list[Job]] = []
        self.outcomes: list[Outcome] = []

    def submit(self, function: Any, arguments: list[Any], done: Any) -> None:
        self.chunks.append(next((list(a) for a in arguments[:2] if isinstance(a, list)), []))
        super().submit(function, arguments, done)


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


def test_the_task_is_pickled_once() -> None:
    CountsPickles.n_pickled = 0
    task = make_task(CountsPickles(), np.zeros(40))
    pull_all(task, [Pull(arm, 1, 0) for arm in range(40)], backend="loky")
    assert CountsPickles.n_pickled == 1
    CountsPickles.n_pickled = 0
    pull_all(task, [Pull(arm, 1, 0) for arm in range(40)], backend="threading")
    assert CountsPickles.n_pickled == 0, "threads share it as it is"


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
    assert X.nbytes > _worker.MAPPED_BYTES
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
