"""Every private name that the package uses is there, and does what it is used for."""

from __future__ import annotations

from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.svm import SVC

from sklearn_halving import _unstable_imports as unstable
from sklearn_halving import _unstable_joblib as joblib_names


def test_safe_split_cuts_both_sides_of_a_precomputed_kernel() -> None:
    kernel = np.arange(25.0).reshape(5, 5)
    train, test = np.array([0, 2, 4]), np.array([1, 3])
    X, y = unstable.safe_split(SVC(kernel="precomputed"), kernel, np.arange(5), test, train)
    np.testing.assert_array_equal(X, kernel[np.ix_(test, train)])
    np.testing.assert_array_equal(y, test)
    X, y = unstable.safe_split(SVC(), [[1], [2], [3]], None, [2, 0])
    assert X == [[3], [1]]
    assert y is None


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


# ------------------------------------------------------------------------------ callbacks
