"""Memory, files and processes: as many for a thousand candidates as for a hundred."""

from __future__ import annotations

import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from doubles import Known
from scripts import run_script
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
    task = make_task(Faulty(faults=dict.fromkeys(range(4), "hang")), np.arange(4.0))
    counts = [n_open()]
    with open_executor(task, None, "2*n_jobs", PullLimits(seconds=0.02)) as executor:
        for arm in range(4):
            executor.submit(Job(Pull(arm, 1, 0)))
            (landing,) = executor.wait_any()
            assert "TimeoutError" in str(landing.outcome.error)
            counts.append(n_open())
    print(*counts, n_open())
"""


@pytest.mark.full
@on_linux
def test_pulls_that_are_ended_leave_no_open_files(tmp_path: Path) -> None:
    """Counted in a process of its own: fixtures of other tests open and close files too."""
    done = run_script(tmp_path, OPEN_FILES, temp_folder=tmp_path)
    assert done.returncode == 0, done.stderr
    before, *during, after = map(int, done.stdout.split())
    assert len(during) == 4
    # The pipe to the process of the fit, and then nothing.
    assert max(during) <= before + 1
    assert after <= before
