"""Clusters that are killed, frozen or closed during a search, and loky without its thread."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from joblib.externals.loky import reusable_executor

from doubles import Known
from scripts import ROOT
from search.resuming import fits_in
from sklearn_halving import HyperbandSearchCV
from sklearn_halving.execution.workers import _executors

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="kills processes by signal"),
]
X = np.random.default_rng(0).random((270, 2))
y = np.arange(270) % 2
MOST_SECONDS = 60.0
"""Longest time until the loss of a backend is noticed."""
ENVIRONMENT = os.environ | {
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests"), *filter(None, sys.path)]),
    "RAY_AUTH_MODE": "disabled",  # else Ray writes a file to the home folder
    "RAY_worker_niceness": "0",  # else its workers hardly run beside other tests
}


def search_in(folder: Path, **options: Any) -> HyperbandSearchCV:
    """Return a search of 12 candidates whose fits take 0.1 s, with a checkpoint."""
    search = HyperbandSearchCV(
        Known(seconds=0.1),
        {"quality": list(range(12))},
        brackets="all",
        min_resources=12,
        max_resources=108,
        cv=3,
        random_state=0,
        checkpoint=folder / "journal",
    )
    return search.set_params(**options)


def n_done(folder: Path) -> int:
    """Return the number of fits in the checkpoint."""
    return len(fits_in(folder / "journal"))


@contextmanager
def after_five_fits(folder: Path, event: Callable[[], Any]) -> Iterator[list[float]]:
    """Call a function after five fits; the list then holds the time when it was called."""
    times: list[float] = []
    is_over = threading.Event()

    def wait() -> None:
        while n_done(folder) < 5 and not is_over.is_set():
            time.sleep(0.01)
        times.append(time.monotonic())
        event()

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield times
    finally:
        is_over.set()
        thread.join()


def press_ctrl_c_twice() -> None:
    """Press Ctrl-C twice, with a pause that is shorter than a fit."""
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)


def check_ends_with_results(
    folder: Path, event: Callable[[], Any], words: str, time_budget: float | None = None
) -> None:
    """Check that the search raises in time, keeps what it has, and goes on in this process."""
    search = search_in(folder, n_jobs=2, time_budget=time_budget)
    with after_five_fits(folder, event) as times:
        with pytest.raises(ConnectionError, match=words) as info:
            search.fit(X, y)
        assert time.monotonic() - times[0] < MOST_SECONDS
    assert info.value.__notes__ == ["Call fit again to go on. Finished fits are not made again."]
    assert search.stopped_by_ == "error"
    assert search.n_fits_ == len(search.history_) == n_done(folder) >= 5
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    assert not hasattr(search, "best_estimator_")
    n_before = search.n_fits_
    check_goes_on(search, folder, n_before)


def check_goes_on(
    search: HyperbandSearchCV, folder: Path, n_before: int, backend: str = "threading"
) -> None:
    """Check that the resumed search repeats no fit and finds what an unbroken one finds."""
    search.set_params(time_budget=None, n_jobs=16)
    with parallel_config(backend):
        search.fit(X, y)
    expected = search_in(folder, estimator__seconds=0.0, checkpoint=None)
    with parallel_config("sequential"):
        expected.fit(X, y)
    assert n_before < search.n_fits_ == expected.n_fits_ == n_done(folder)
    assert search.best_params_ == expected.best_params_
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )


def check_time_budget_holds(folder: Path, freeze: Callable[[], Any], head: str) -> None:
    """Check that a search on a cluster that does not answer says so, and ends in time."""
    search = search_in(folder, n_jobs=2, time_budget=15.0, estimator__seconds=1.0, refit=False)
    began = time.monotonic()
    with (
        after_five_fits(folder, freeze),
        pytest.warns(UserWarning, match="The time_budget was enough to fit 0 candidates in full"),
        pytest.warns(UserWarning, match=f"{head} .* has returned no fit for 2 seconds"),
    ):
        search.fit(X, y)
    assert time.monotonic() - began < 15.0 + MOST_SECONDS
    assert search.stopped_by_ == "time_budget"
    check_goes_on(search, folder, search.n_fits_)


# ---------------------------------------------------------------------------------- Dask


class DaskProcesses:
    """A scheduler and two workers, each a process started by Dask's command, and a client."""

    def __init__(self, folder: Path) -> None:
        from distributed import Client

        file = folder / "scheduler.json"
        common = ["--scheduler-file", str(file), "--no-dashboard"]
        self.scheduler = start(
            ["dask", "scheduler", "--host", "127.0.0.1", "--port", "0", *common]
        )
        worker = ["dask", "worker", "--nthreads", "1", "--no-nanny", *common]
        self.workers = [start(worker) for _ in range(2)]
        deadline = time.monotonic() + 60
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.client = Client(scheduler_file=str(file))
        self.client.wait_for_workers(2, timeout=60)

    def close(self) -> None:
        """End all processes."""
        for process in (self.scheduler, *self.workers):
            process.kill()
            process.wait()
        self.client.close(timeout=1)


def start(module: list[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a module of Python in a process of its own."""
    command = [sys.executable, "-m", *module]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env=ENVIRONMENT, **quiet, **options)


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[DaskProcesses]:
    processes = DaskProcesses(tmp_path)
    try:
        with parallel_config("dask"):
            yield processes
    finally:
        processes.close()


class TestDask:
    """A cluster of processes."""

    @pytest.mark.full
    @pytest.mark.parametrize("time_budget", [None, 600.0])
    def test_a_killed_scheduler_ends_the_search(
        self, dask: DaskProcesses, tmp_path: Path, time_budget: float | None
    ) -> None:
        words = "Dask scheduler at tcp.* is gone"
        check_ends_with_results(tmp_path, dask.scheduler.kill, words, time_budget)

    def test_a_closed_client_ends_the_search(self, dask: DaskProcesses, tmp_path: Path) -> None:
        check_ends_with_results(
            tmp_path, dask.client.close, "Dask scheduler at .* its client was closed"
        )

    @pytest.mark.full
    def test_a_second_ctrl_c_keeps_the_results(self, dask: DaskProcesses, tmp_path: Path) -> None:
        search = search_in(tmp_path, estimator__seconds=1.0)
        with after_five_fits(tmp_path, press_ctrl_c_twice) as times:
            with pytest.raises(KeyboardInterrupt):
                search.fit(X, y)
            assert time.monotonic() - times[0] < MOST_SECONDS
        assert search.stopped_by_ == "interrupt"
        assert search.n_fits_ == len(search.history_) == n_done(tmp_path) >= 5
        assert search.best_params_ == search.cv_results_["params"][search.best_index_]
        check_goes_on(search, tmp_path, search.n_fits_)

    @pytest.mark.full
    def test_a_frozen_scheduler_is_noticed_and_a_time_budget_holds(
        self, dask: DaskProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_executors, "SILENT_SECONDS", 2.0)
        freeze = partial(dask.scheduler.send_signal, signal.SIGSTOP)
        check_time_budget_holds(tmp_path, freeze, "Dask scheduler at")


# ----------------------------------------------------------------------------------- Ray


@pytest.fixture
def ray_head() -> Iterator[int]:
    """Start a head of Ray by its command, and connect to it; yield the process group."""
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        yield from started_head(Path(folder))


def started_head(folder: Path) -> Iterator[int]:
    from joblib.pool import PicklingPool

    bases, at_sigterm = PicklingPool.__bases__, signal.getsignal(signal.SIGTERM)
    import ray
    from ray.util.joblib import register_ray

    options = "--head --port 0 --num-cpus 2 --include-dashboard false --block"
    # Later heads would be taken for this one if it wrote its address to the common folder.
    module = ["ray.scripts.scripts", "start", *options.split(), "--temp-dir", str(folder)]
    head = start([*module, "--object-store-memory", str(2**27)], start_new_session=True)
    address = folder / "ray_current_cluster"
    deadline = time.monotonic() + 60
    try:
        while not address.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        ray.init(address=address.read_text(encoding="ascii"), log_to_driver=False)
        register_ray()
        with parallel_config("ray"):
            yield head.pid
        ray.shutdown()
    finally:
        kill_group(head.pid)
        head.wait()
        signal.signal(signal.SIGTERM, at_sigterm)
        PicklingPool.__bases__ = bases  # Ray's backend changes what "multiprocessing" is made of


def kill_group(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def run_in_own_process(request: pytest.FixtureRequest, ended: Path, **environment: str) -> int:
    """Run a test in a process of its own, which writes a file when it has passed."""
    command = [sys.executable, "-m", "pytest", "--cases=all", request.node.nodeid]
    variables = os.environ | {"OWN_PROCESS": str(ended)} | environment
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert ended.exists(), done
    return done.returncode


class TestRay:
    """A head of Ray that is killed or frozen."""

    @pytest.mark.full
    def test_a_killed_head_ends_the_search(
        self, request: pytest.FixtureRequest, tmp_path: Path
    ) -> None:
        """Ray ends the process after the time that is set, here sooner than by default."""
        name = "RAY_gcs_rpc_server_reconnect_timeout_s"
        if "OWN_PROCESS" not in os.environ:
            assert run_in_own_process(request, tmp_path / "ended", **{name: "8"}) == 1
            return
        head = request.getfixturevalue("ray_head")
        words = f"head of Ray at .* is gone, and Ray ends this process .* {name}"
        check_ends_with_results(tmp_path, lambda: kill_group(head), words)
        Path(os.environ["OWN_PROCESS"]).write_text("ended", encoding="ascii")
        time.sleep(MOST_SECONDS)  # not reached: Ray ends this process

    @pytest.mark.full
    def test_a_frozen_head_is_noticed_and_a_time_budget_holds(
        self, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """All processes of its machine are frozen, also the workers."""
        if "OWN_PROCESS" not in os.environ:  # Ray may end this process a minute later
            run_in_own_process(request, tmp_path / "ended")
            return
        import psutil

        monkeypatch.setattr(_executors, "SILENT_SECONDS", 2.0)
        processes = [psutil.Process(request.getfixturevalue("ray_head"))]

        def freeze() -> None:
            processes.extend(processes[0].children(recursive=True))
            for process in processes:
                process.suspend()

        try:
            check_time_budget_holds(tmp_path, freeze, "head of Ray at")
        finally:
            for process in processes:
                process.resume()
        Path(os.environ["OWN_PROCESS"]).write_text("ended", encoding="ascii")


# ---------------------------------------------------------------------------------- loky


def end_thread_of_loky() -> None:
    """Raise an exception in the thread of loky that receives results."""
    thread = reusable_executor._executor._executor_manager_thread
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    raise_in(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_loky_gets_new_workers_if_its_thread_ends(tmp_path: Path) -> None:
    search = search_in(tmp_path, n_jobs=2, error_score="raise")
    with parallel_config("loky"), after_five_fits(tmp_path, end_thread_of_loky):
        search.fit(X, y)
    assert search.stopped_by_ == "policy"
    assert set(search.history_["outcome"]) == {"ok"}
    expected = search_in(tmp_path, estimator__seconds=0.0, checkpoint=None).fit(X, y)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )
