"""Searches with processes that are killed, interrupted, or nested in one another."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.model_selection import cross_val_score

from doubles import Known, ParallelInside
from scripts import left_in, run_script
from sklearn_halving import HyperbandSearchCV

X = np.random.default_rng(0).random((270, 2))
y = np.arange(270) % 2
QUALITIES = {"quality": np.random.default_rng(1).permutation(60).tolist()}


def search_of(estimator: Known, **options: object) -> HyperbandSearchCV:
    return HyperbandSearchCV(
        estimator, QUALITIES, max_resources=108, min_resources=12, cv=3, random_state=0, **options
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


INTERRUPTED = """
import multiprocessing, os, signal, sys, threading, time
from joblib.externals.loky import reusable_executor
from joblib import parallel_config
from doubles import Known
from sklearn_halving import HyperbandSearchCV
import numpy as np

backend, n_interrupts, mark = sys.argv[1:]
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

def run_search():
    workers = []
    def interrupt():
        while os.path.getsize(mark) < N_BEFORE:
            time.sleep(0.01)
        if backend == "loky":
            workers.extend(reusable_executor._executor._processes)
        for _ in range(int(n_interrupts)):
            os.killpg(0, signal.SIGINT)  # as a terminal does: workers get it too
            time.sleep(0.1)
    threading.Thread(target=interrupt, daemon=True).start()
    # 0.3 s a fit: a chunk is one fit, and all of the search would take a minute
    search = HyperbandSearchCV(
        Known(seconds=0.3), {"quality": list(range(60))}, max_resources=108, min_resources=12,
        cv=3, n_jobs=2, scoring=marked_score, fit_timeout=600 if backend == "sequential" else None,
    )
    try:
        with parallel_config(backend):
            search.fit(np.zeros((270, 2)), np.arange(270) % 2)
    except KeyboardInterrupt:
        print("interrupted")
    n_scored = os.path.getsize(mark)
    print("stopped", n_scored < N_BEFORE + 10)
    print("results", 0 < len(search.cv_results_["params"]) <= n_scored)
    print("as before", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
    deadline = time.monotonic() + 20
    while any(map(is_running, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    print("running", sum(map(is_running, workers)))

if __name__ == "__main__":
    os.setpgid(0, 0)
    open(mark, "w").close()
    if backend == "sequential":  # in a child, which is the process of the search and no worker
        child = multiprocessing.get_context("spawn").Process(target=run_search)
        child.start()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        child.join()
    else:
        run_search()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize(
    ("backend", "n_interrupts"),
    [
        ("loky", 2),
        pytest.param("loky", 1, marks=pytest.mark.full),
        pytest.param("threading", 1, marks=pytest.mark.full),
        pytest.param("sequential", 1, marks=pytest.mark.full),
    ],
)
def test_an_interrupt_stops_the_search_and_keeps_what_there_is(
    tmp_path: Path, backend: str, n_interrupts: int
) -> None:
    """Fits that were sent but not begun go with the workers that have them."""
    folder = tmp_path / "joblib"
    folder.mkdir()
    arguments = [backend, str(n_interrupts), str(tmp_path / "mark")]
    done = run_script(tmp_path, INTERRUPTED, *arguments, temp_folder=folder)
    assert done.stdout.splitlines() == [
        "interrupted",
        "stopped True",
        "results True",
        "as before True",
        "running 0",
    ], done.stdout + done.stderr
    assert "Press Ctrl-C again to stop immediately" in done.stderr
    assert "Traceback" not in done.stderr
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
