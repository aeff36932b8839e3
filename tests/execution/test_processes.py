"""Searches with processes that are killed, interrupted, or nested in one another."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError
from sklearn.model_selection import cross_val_score

from doubles import Fatal, Known, ParallelInside, make_task
from sklearn_halving import HyperbandSearchCV
from sklearn_halving.execution._executors import open_executor
from sklearn_halving.execution._types import Job
from sklearn_halving.policies import Pull

ROOT = Path(__file__).parents[2]
X = np.random.default_rng(0).random((90, 2))
y = np.arange(90) % 2
QUALITIES = {"quality": np.random.default_rng(1).permutation(60).tolist()}


def search_of(estimator: Known, **options: object) -> HyperbandSearchCV:
    return HyperbandSearchCV(
        estimator, QUALITIES, max_resources=36, min_resources=4, cv=3, random_state=0, **options
    )


@pytest.mark.parametrize(("outer", "inner"), [(2, 2), (2, None), (None, 2)])
def test_search_inside_parallel_cross_validation(outer: int | None, inner: int | None) -> None:
    expected = cross_val_score(search_of(Known()), X, y, cv=3)
    scores = cross_val_score(search_of(Known(), n_jobs=inner), X, y, cv=3, n_jobs=outer)
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_parallel_estimator_inside_parallel_search(backend: str) -> None:
    expected = search_of(Known()).fit(X, y)
    with parallel_config(backend):
        search = search_of(ParallelInside(), n_jobs=2, error_score="raise").fit(X, y)
    assert search.best_params_ == expected.best_params_
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )


def test_a_killed_worker_is_a_clear_error_and_the_next_search_works() -> None:
    task = make_task(Fatal(), [1.0, 2.0, -1.0, 3.0])

    def pull_until_something_happens() -> None:
        with parallel_config("loky"), open_executor(task, 2, "2*n_jobs") as executor:
            for arm in range(4):
                executor.submit(Job(Pull(arm, 1, 0)))
            while True:
                executor.wait_any()

    with pytest.raises(TerminatedWorkerError, match="SIGKILL"):
        pull_until_something_happens()
    with parallel_config("loky"):
        assert search_of(Known(), n_jobs=2).fit(X, y).best_params_["quality"] >= 50


INTERRUPTED = """
import os, signal, sys, threading, time
from joblib.externals.loky import reusable_executor
from joblib import parallel_config
from doubles import Known
from sklearn_halving import HyperbandSearchCV
import numpy as np

backend, mark = sys.argv[1:]
N_BEFORE = 7

def marked_score(estimator, X, y):
    with open(mark, "a") as file:
        file.write("x")
    return estimator.score(X, y)

def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False

if __name__ == "__main__":
    open(mark, "w").close()
    workers = []
    def interrupt():
        while os.path.getsize(mark) < N_BEFORE:
            time.sleep(0.01)
        if backend == "loky":
            workers.extend(reusable_executor._executor._processes)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt, daemon=True).start()
    # 0.3 s a fit: a chunk is one fit, and all of the search would take a minute
    search = HyperbandSearchCV(
        Known(seconds=0.3), {"quality": list(range(60))}, max_resources=36, min_resources=4,
        cv=3, n_jobs=2, scoring=marked_score,
    )
    try:
        with parallel_config(backend):
            search.fit(np.zeros((90, 2)), np.arange(90) % 2)
    except KeyboardInterrupt:
        print("interrupted")
    n_scored = os.path.getsize(mark)
    print("stopped", n_scored < N_BEFORE + 10)
    print("results", 0 < len(search.cv_results_["params"]) <= n_scored)
    deadline = time.monotonic() + 20
    while any(map(is_running, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    print("running", sum(map(is_running, workers)))
    print("workers", len(workers))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_an_interrupt_stops_the_workers_and_keeps_what_there_is(
    tmp_path: Path, backend: str
) -> None:
    folder = tmp_path / "joblib"
    folder.mkdir()
    done = run_script(tmp_path, INTERRUPTED, backend, str(tmp_path / "mark"), temp_folder=folder)
    assert done.stdout.splitlines() == [
        "interrupted",
        "stopped True",
        "results True",
        "running 0",
        f"workers {2 if backend == 'loky' else 0}",
    ], done.stdout + done.stderr
    assert left_in(folder) == []


FAILING = """
import sys
import numpy as np
from doubles import Known, fails_for_negative_quality
from sklearn_halving import HyperbandSearchCV
if __name__ == "__main__":
    qualities = [*range(40), -1, *range(41, 60)]
    search = HyperbandSearchCV(
        Known(), {"quality": qualities}, min_resources=100, cv=3, n_jobs=2, random_state=0,
        scoring=fails_for_negative_quality, error_score="raise",
    )
    try:
        search.fit(np.zeros((3000, 100)), np.arange(3000) % 2)
    except ZeroDivisionError as error:
        print("raised", error)
"""


def test_an_exception_leaves_no_files(tmp_path: Path) -> None:
    folder = tmp_path / "joblib"
    folder.mkdir()
    done = run_script(tmp_path, FAILING, temp_folder=folder)
    assert "raised the scorer fails" in done.stdout, done.stdout + done.stderr
    assert left_in(folder) == []


def run_script(
    tmp_path: Path, code: str, *arguments: str, temp_folder: Path
) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(code))
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "JOBLIB_TEMP_FOLDER": str(temp_folder)}
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=environment,
    )


def left_in(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file()]
