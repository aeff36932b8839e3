"""What is sent to workers: how much of it, in which portions, and what is left behind."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from joblib.externals.loky import get_reusable_executor
from sklearn import config_context

from doubles import CountsPickles, Known, ReportsItsSurroundings, first_feature, make_task
from execution.running import outcomes_of, scores_of, serial_scores
from sklearn_halving.execution._types import Job, Outcome, Result
from sklearn_halving.execution.workers import _worker
from sklearn_halving.execution.workers._executors import CHUNK_SECONDS, MAX_CHUNK, ChunkQueue
from sklearn_halving.policies import Pull


def queue_of(seconds: dict[int, float]) -> ChunkQueue:
    """Return a queue that knows how long the pulls of some levels take."""
    queue = ChunkQueue(max_chunks=4)
    for level, of_level in seconds.items():
        outcome = Outcome(Pull(0, level, 0), 0.0, None, 0.0, of_level, 0.0, 1, 1)
        queue.release([], [Result(outcome)])
    return queue


def chunks_of(queue: ChunkQueue, levels: list[int]) -> list[list[int]]:
    """Return the levels of the jobs in each chunk."""
    for arm, level in enumerate(levels):
        queue.put(Job(Pull(arm, level, 1)))
    chunks = []
    while len(queue):
        chunks.append([job.pull.level for job in queue.next_chunk()[0]])
    return chunks


def test_short_pulls_travel_together_and_long_or_unknown_ones_alone() -> None:
    short, long = CHUNK_SECONDS / 50, 1.2 * CHUNK_SECONDS
    assert chunks_of(queue_of({}), [1] * 8) == [[1]] * 8
    assert chunks_of(queue_of({1: long}), [1] * 8) == [[1]] * 8
    sizes = [len(chunk) for chunk in chunks_of(queue_of({1: 1e-6}), [1] * 2000)]
    assert MAX_CHUNK // 2 < max(sizes) <= MAX_CHUNK
    assert sum(sizes) == 2000
    mixed = chunks_of(queue_of({1: short, 60: long}), [1, 1, 1, 1, 1, 60, 1, 1, 1, 1, 60] * 20)
    assert all(60 not in chunk or len(chunk) == 1 for chunk in mixed)
    assert max(map(len, mixed)) > 1


def test_the_task_is_pickled_once() -> None:
    CountsPickles.n_pickled = 0
    task = make_task(CountsPickles(), np.zeros(40))
    for backend, n_pickled in (("threading", 0), ("loky", 1)):
        with parallel_config(backend):
            outcomes_of(task)
        assert CountsPickles.n_pickled == n_pickled


# ------------------------------------------------------ surroundings, and what stays behind


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_configuration_and_warning_filters_reach_workers(backend: str) -> None:
    # The filter "error" is that of pytest's configuration; see filterwarnings there.
    for assume_finite in (True, False):
        with config_context(assume_finite=assume_finite):
            task = make_task(ReportsItsSurroundings(), np.zeros(4))
            with parallel_config(backend):
                assert set(scores_of(task)) == {10.0 + assume_finite}


@pytest.mark.parametrize(
    ("order", "is_memmap"),
    [
        ("C", False),
        pytest.param("F", False, marks=pytest.mark.full),
        pytest.param("C", True, marks=pytest.mark.full),
    ],
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
    folder = tmp_path / "joblib"
    folder.mkdir()
    get_reusable_executor().shutdown()  # workers that run already have their own folder
    counts: set[int] = set()

    def count_files(_: int) -> None:
        counts.add(sum(path.is_file() for path in folder.rglob("*")))

    with parallel_config("loky", temp_folder=str(folder)):
        assert scores_of(task, after=count_files) == serial_scores(task)
    assert counts == {0 if is_memmap else 1}, "written once, not once a pull"
    deadline = time.monotonic() + 20  # a process of joblib removes the files, soon after
    while time.monotonic() < deadline and any(path.is_file() for path in folder.rglob("*")):
        time.sleep(0.02)
    assert not any(path.is_file() for path in folder.rglob("*"))
