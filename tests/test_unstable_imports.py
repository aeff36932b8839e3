"""Private names of joblib do what they are used for; scikit-learn's own tests show its names."""

from __future__ import annotations

from queue import SimpleQueue
from typing import Any

import pytest
from joblib import parallel_config

from sklearn_halving import _unstable_joblib as joblib_names


@pytest.mark.parametrize(
    ("pre_dispatch", "expected"),
    [("all", None), ("2*n_jobs", 6), ("n_jobs", 3), ("n_jobs // 2", 1), (7, 7), (0, 1), ("0", 1)],
)
def test_pre_dispatch_is_read_as_joblib_reads_it(
    pre_dispatch: int | str, expected: int | None
) -> None:
    assert joblib_names.evaluated_pre_dispatch(pre_dispatch, 3) == expected


# ---------------------------------------------------------------------------- the session


def double(value: int) -> int:
    return 2 * value


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_session_submits_and_says_when_it_is_done(backend: str) -> None:
    done: SimpleQueue[Any] = SimpleQueue()
    with parallel_config(backend), joblib_names.JoblibSession(2) as session:
        assert session.can_submit
        assert session.n_workers == 2
        assert session.shares_memory == session.uses_threads == (backend == "threading")
        for i in range(10):
            session.submit(double, [i], done.put)
        results = {session.result(done.get(timeout=60)) for _ in range(10)}
    assert results == {2 * i for i in range(10)}
