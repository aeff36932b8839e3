"""The same search on Dask, on Ray, and on backends that take their tasks in batches."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from joblib.parallel import ThreadingBackend
from scipy.stats import uniform
from sklearn.model_selection import cross_validate

from doubles import (
    CountsThreads,
    Known,
    Steps,
    fails_for_negative_quality,
    first_feature,
    make_task,
    threads_of,
)
from execution.running import check_faults, outcomes_of, scores_of, serial_scores
from scripts import ROOT, run_script
from sklearn_halving import HyperbandSearchCV
from sklearn_halving._unstable_joblib import JoblibSession
from sklearn_halving.execution._types import PullLimits
from sklearn_halving.execution.workers._executors import ClusterWatch

X = np.random.default_rng(0).random((270, 2))
y = np.arange(270) % 2
QUALITIES = {"quality": uniform(0, 40)}
BALLAST = 50_000
"""Floats in a model: enough for it to be sent apart from the job."""


class Batches(ThreadingBackend):
    """Takes its tasks together, and does not say when one is done."""

    supports_retrieve_callback = False
    supports_sharedmem = False


def search_of(**options: Any) -> HyperbandSearchCV:
    return HyperbandSearchCV(
        Known(), QUALITIES, max_resources=108, min_resources=12, cv=3, random_state=0, **options
    )


RESOURCES = {
    "rows": {},
    "steps, whose models travel": {
        "estimator": Known(ballast=BALLAST),
        "resource": Steps(),
        "max_resources": 9,
        "min_resources": 1,
    },
}
each_resource = pytest.mark.parametrize("options", RESOURCES.values(), ids=RESOURCES)


def check_same_as_serial(backend: Any, options: dict[str, Any]) -> None:
    expected = search_of().set_params(**options).fit(X, y)
    with parallel_config(backend):
        search = search_of(n_jobs=2, error_score="raise").set_params(**options).fit(X, y)
    assert search.best_params_ == expected.best_params_
    for key, column in expected.cv_results_.items():
        if "time" not in key:
            np.testing.assert_array_equal(search.cv_results_[key], column)
    continued = [f.history_["continued_from"].to_numpy().sum() for f in (search, expected)]
    assert continued[0] == continued[1]
    assert (continued[0] > 0) == bool(options)


def check_one_core_for_each_fit() -> None:
    """Clusters promise one core to each task."""
    options = {"scoring": threads_of, "refit": "score", "error_score": "raise"}
    search = search_of(n_jobs=2, **options).set_params(estimator=CountsThreads()).fit(X, y)
    for name in ("param", "fit", "scoring"):
        assert set(search.history_[f"test_{name}"]) == {1}
    assert search.best_estimator_.n_jobs == -1


# --------------------------------------------------------------------- batches, threads


@each_resource
def test_a_backend_that_takes_batches_gives_the_same(options: dict[str, Any]) -> None:
    check_same_as_serial(Batches(), options)


# ---------------------------------------------------------------------------------- Dask


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="kills workers by signal")


@pytest.fixture(scope="class")
def dask_client() -> Iterator[Any]:
    """Two worker processes with one thread each."""
    import dask
    from distributed import Client, LocalCluster

    # Else a worker that is killed twice, some time apart, may not be started anew.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@on_linux
@pytest.mark.slow
class TestDask:
    """Two worker processes."""

    @pytest.fixture(autouse=True)
    def cluster(self, dask_client: Any) -> Iterator[None]:
        self.client = dask_client
        with parallel_config("dask"):
            yield
        dask_client.wait_for_workers(2, timeout=60)

    @each_resource
    def test_gives_the_same(self, options: dict[str, Any]) -> None:
        check_same_as_serial("dask", options)

    def test_a_fit_has_one_core(self) -> None:
        check_one_core_for_each_fit()

    def test_data_are_not_sent_with_every_pull(self) -> None:
        """Dask warns of arguments of more than 10 MB, and warnings are errors here."""
        task = make_task(
            Known(), np.zeros(20), n_rows=20_000, n_features=100, scorer=first_feature
        )
        assert scores_of(task) == serial_scores(task)

    def test_a_killed_worker_costs_nothing_also_with_the_data_it_held(self) -> None:
        task = make_task(
            Known(seconds=0.02), np.zeros(40), n_rows=5000, n_features=100, scorer=first_feature
        )
        pids = list(self.client.run(os.getpid).values())

        def kill(n_found: int) -> None:
            if n_found > 5 and pids:
                os.kill(pids.pop(), signal.SIGKILL)
                pids.clear()

        assert scores_of(task, after=kill) == serial_scores(task)

    @pytest.mark.full
    def test_what_kills_its_worker_fails_alone(self) -> None:
        check_faults({8.0: "kill"}, {8.0: "SIGKILL"})

    def test_an_exception_takes_what_waits_off_the_cluster(self) -> None:
        task = make_task(
            Known(seconds=0.3),
            [1.0, 2.0, -1.0, *range(40)],
            scorer=fails_for_negative_quality,
            error_score="raise",
        )
        with pytest.raises(ZeroDivisionError, match="the scorer fails"):
            outcomes_of(task)
        deadline = time.monotonic() + 20
        while any(self.client.processing().values()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(self.client.processing().values())

    @pytest.mark.full
    def test_what_hangs_is_ended(self) -> None:
        check_faults({8.0: "hang in C"}, {8.0: "TimeoutError"}, 2, PullLimits(seconds=2.0))


IN_THREADS = {"n_workers": 1, "processes": False, "memory_limit": 0, "dashboard_address": ":0"}
"""There is no limit of memory, because its monitor would let a paused worker go on."""


@pytest.mark.slow
def test_searches_inside_of_tasks_give_up_their_places_while_they_wait() -> None:
    """Otherwise, two searches that hold both places of a cluster never get their fits."""
    from distributed import Client

    scores: list[list[float]] = []
    search = search_of().set_params(max_resources=60)
    expected = cross_validate(search, X, y, cv=2)["test_score"].tolist()

    def run() -> None:
        with parallel_config("dask"):
            scores.append(cross_validate(search, X, y, cv=2)["test_score"].tolist())

    with Client(**IN_THREADS, threads_per_worker=2):
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(30)
        assert scores == [expected]


@contextmanager
def session_in_threads() -> Iterator[tuple[Any, Any, JoblibSession]]:
    """Open a session on a cluster in this process; yield both, with the client between them."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(**IN_THREADS) as cluster,
        Client(cluster) as client,
        parallel_config("dask"),
        JoblibSession(2) as session,
    ):
        yield cluster, client, session


def test_data_are_not_sent_to_workers_that_are_paused() -> None:
    """Workers with little memory left are not lost, and accept data later."""
    from distributed.core import Status

    with session_in_threads() as (cluster, _, session):
        assert session.uses_threads  # those of the worker, which is not a process of its own
        (worker,) = cluster.workers.values()
        watch = ClusterWatch(session)
        worker.loop.add_callback(setattr, worker, "status", Status.paused)
        wait_until(lambda: not watch.has_workers("ncores_running"))
        worker.loop.add_callback(setattr, worker, "status", Status.running)
        wait_until(lambda: watch.has_workers("ncores_running"))


def test_a_closed_client_has_no_workers() -> None:
    with session_in_threads() as (_, client, session):
        watch = ClusterWatch(session)
        client.close()
        assert not watch.has_workers("ncores_running")


def test_an_asynchronous_client_is_refused() -> None:
    from dask.distributed import Client, LocalCluster

    async def fit() -> None:
        async with (
            LocalCluster(asynchronous=True, **IN_THREADS) as cluster,
            Client(cluster, asynchronous=True),
        ):
            with (
                parallel_config("dask"),
                pytest.raises(ValueError, match="must have asynchronous=False"),
            ):
                search_of().fit(X, y)

    asyncio.run(fit())


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# ----------------------------------------------------------------------------------- Ray


@pytest.fixture(scope="class")
def ray_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Two worker processes, and a small object store."""
    from joblib.pool import PicklingPool

    bases, at_sigterm = PicklingPool.__bases__, signal.getsignal(signal.SIGTERM)
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # else a file in the home folder
    # By default its workers have a low priority, and hardly run beside other tests.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112  (Ray reads this spelling)
    import ray
    from ray.util.joblib import register_ray

    path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), *filter(None, sys.path)])
    for n_left in (2, 1, 0):
        try:
            ray.init(
                num_cpus=2,
                include_dashboard=False,
                object_store_memory=100 * 2**20,
                log_to_driver=False,
                runtime_env={"env_vars": {"PYTHONPATH": path}},
            )
            break
        except Exception as error:
            # It gives its processes 30 seconds to start, which a busy machine may exceed.
            if n_left == 0 or "timed out during startup" not in str(error):
                raise
            ray.shutdown()
    register_ray()
    yield
    ray.shutdown()
    # A pool that forks may hang with Ray's handler: a signal that comes early is lost.
    signal.signal(signal.SIGTERM, at_sigterm)
    PicklingPool.__bases__ = bases  # Ray's backend changes what "multiprocessing" is made of


BEFORE = """
from scipy.stats import loguniform
from sklearn.datasets import load_iris
from sklearn.svm import SVC
from sklearn_halving import HyperbandSearchCV

X, y = load_iris(return_X_y=True)
search = HyperbandSearchCV(SVC(), {"C": loguniform(1e-2, 1e3)}, n_candidates=17, random_state=0)
"""
AFTER = """
on_ray = search.best_params_
print("same" if search.set_params(n_jobs=None).fit(X, y).best_params_ == on_ray else on_ray)
"""


@on_linux
@pytest.mark.slow
@pytest.mark.usefixtures("ray_cluster")
class TestRay:
    """Two worker processes."""

    @pytest.fixture(autouse=True)
    def backend(self) -> Iterator[None]:
        with parallel_config("ray"):
            yield

    @pytest.mark.parametrize(
        "options",
        [
            pytest.param(RESOURCES["rows"], marks=pytest.mark.full),
            RESOURCES["steps, whose models travel"],
        ],
    )
    def test_gives_the_same(self, options: dict[str, Any]) -> None:
        check_same_as_serial("ray", options)

    def test_a_fit_has_one_core(self) -> None:
        check_one_core_for_each_fit()

    @pytest.mark.full
    def test_the_block_on_the_page_of_clusters_runs(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import ray

        # "auto" takes any cluster of the machine, also one of another run of these tests.
        monkeypatch.setenv("RAY_ADDRESS", ray.get_runtime_context().gcs_address)
        text = (ROOT / "docs" / "clusters.md").read_text(encoding="utf-8")
        blocks = re.findall(r"<!-- run by: \S+ -->\n```python\n(.*?)```", text, flags=re.DOTALL)
        assert len(blocks) == 1
        for _ in range(3):
            done = run_script(tmp_path, BEFORE + blocks[0] + AFTER, temp_folder=tmp_path)
            # On a busy machine, Ray may end the process of a script without a word.
            if done.stdout or "Traceback" in done.stderr:
                break
        # Ray may print after the script, and end its process with a status of its own.
        assert "same" in done.stdout.splitlines(), f"{done}"
