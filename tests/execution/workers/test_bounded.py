"""Memory, files and processes: as many for a thousand candidates as for a hundred."""

from __future__ import annotations

import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from doubles import Known
from scripts import left_in, run_script
from sklearn_halving import HyperbandSearchCV

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
X = np.random.default_rng(0).random((20_000, 50))
y = np.arange(len(X)) % 2


def peak_of_fit(n_candidates: int) -> tuple[int, int]:
    """Return the peak of memory in a fit, in bytes, and the number of pulls."""
    search = HyperbandSearchCV(
        Known(),
        {"quality": list(range(n_candidates))},
        n_candidates=n_candidates,
        brackets="most_exploratory",
        max_resources=n_candidates,
        min_resources=1,
        resource="n_steps",
        cv=2,
        refit=False,
        random_state=0,
    )
    tracemalloc.start()
    try:
        search.fit(X, y)
        return tracemalloc.get_traced_memory()[1], search.n_fits_
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_candidates_but_for_their_results() -> None:
    peak_of_fit(27)  # imports
    few, n_few = peak_of_fit(27)
    many, n_many = peak_of_fit(243)
    assert n_many > 8 * n_few
    assert few > X.nbytes / 2, "the rows of a split"
    assert many - few < 10_000 * (n_many - n_few), "kilobytes for a pull, not megabytes"


OPEN_FILES = """
from pathlib import Path
import numpy as np
from doubles import Faulty, make_task
from sklearn_halving.execution._types import Job, PullLimits
from sklearn_halving.execution.workers._executors import open_executor
from sklearn_halving.policies import Pull

def n_open():
    return len(list(Path("/proc/self/fd").iterdir()))

if __name__ == "__main__":
    task = make_task(Faulty(faults=dict.fromkeys(range(20), "hang")), np.arange(20.0))
    counts = [n_open()]
    with open_executor(task, None, "2*n_jobs", PullLimits(seconds=0.02)) as executor:
        for arm in range(20):
            executor.submit(Job(Pull(arm, 1, 0)))
            (landing,) = executor.wait_any()
            assert "TimeoutError" in str(landing.outcome.error)
            counts.append(n_open())
    print(*counts, n_open())
"""


@on_linux
def test_pulls_that_are_ended_leave_no_open_files(tmp_path: Path) -> None:
    """Counted in a process of its own: fixtures of other tests open and close files too."""
    done = run_script(tmp_path, OPEN_FILES, temp_folder=tmp_path)
    assert done.returncode == 0, done.stderr
    before, *during, after = map(int, done.stdout.split())
    assert len(during) == 20
    # The pipe to the companion, whether or not the first pull took that with it, and then nothing.
    assert max(during) <= before + 1
    assert after <= before


SEARCH = """
import os, sys, warnings
from pathlib import Path
import numpy as np
from doubles import Faulty
from sklearn_halving import HyperbandSearchCV

n_candidates, fault, timeout, folder = sys.argv[1:]
n_candidates = int(n_candidates)

def watched_score(estimator, X, y):
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    os.write(1, b"files %d\\n" % len(files))  # at once: another worker writes too
    return estimator.score(X, y)

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    qualities = [float(i) for i in range(n_candidates)]
    faults = {5.0: fault} if fault else None
    HyperbandSearchCV(
        Faulty(faults=faults), {"quality": qualities}, scoring=watched_score, cv=3, n_jobs=2,
        resource="n_steps", min_resources=1, max_resources=n_candidates, random_state=0,
        brackets="most_exploratory", fit_timeout=float(timeout) or None,
    ).fit(np.zeros((3000, 100)), np.arange(3000) % 2)
    print("done")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_candidates", "fault", "timeout"),
    [
        (27, "", 0),
        pytest.param(243, "", 0, marks=pytest.mark.full),
        (27, "kill", 0),
        pytest.param(27, "hang", 3, marks=pytest.mark.full),
    ],
)
def test_data_are_mapped_once_and_no_file_is_left(
    tmp_path: Path, n_candidates: int, fault: str, timeout: int
) -> None:
    folder = tmp_path / "joblib"
    folder.mkdir()
    arguments = [str(n_candidates), fault, str(timeout), str(folder)]
    done = run_script(tmp_path, SEARCH, *arguments, temp_folder=folder)
    lines = done.stdout.splitlines()
    assert "done" in lines, done.stdout + done.stderr
    assert "leaked" not in done.stderr
    counts = {int(line.split()[1]) for line in lines if line.startswith("files")}
    assert counts <= {1}, "X is in one file, whatever the number of candidates"
    assert counts
    assert left_in(folder) == []
