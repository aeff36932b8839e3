"""A real cluster of each kind, started once for all tests that need it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from scripts import ROOT


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
def ray_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Two worker processes, and a small object store."""
    from joblib.pool import PicklingPool

    bases = PicklingPool.__bases__
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # else a file in the home folder
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
    PicklingPool.__bases__ = bases  # Ray's backend changes what "multiprocessing" is made of
