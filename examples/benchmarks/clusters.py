"""A search on Dask beside one on loky: wall time, and how many bytes are sent.

    python examples/benchmarks/clusters.py [--quick] [--seeds N] [--output FILE.md]

Two worker processes each, started before the clock. The fits sleep, so that two cores are
enough for client, scheduler and workers; the data are larger than any of these keeps in a
cache. Bytes are those that pass through Dask's connections in all four processes, each message
counted where it is sent.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from _common import CLAIM_COLUMNS, Report, claim, paired_ratios, parse_options
from distributed import Client, LocalCluster
from joblib import parallel_config
from sklearn.base import BaseEstimator

from sklearn_halving import HyperbandSearchCV

N_WORKERS = 2


class Sleeper(BaseEstimator):
    """An estimator that sleeps, however many units it is given."""

    def __init__(self, quality: int = 0, n_units: int = 1, seconds: float = 0.05) -> None:
        self.quality = quality
        self.n_units = n_units
        self.seconds = seconds

    def fit(self, X: Any, y: Any = None) -> Sleeper:
        """Sleep."""
        time.sleep(self.seconds)
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Return a number that depends on the rows: equal only if the same ones arrived."""
        return self.quality + float(X[:, 0].mean())


def make_search(n_jobs: int, seconds: float, n_brackets: int) -> HyperbandSearchCV:
    """Return a search of 81 and fewer candidates a bracket."""
    return HyperbandSearchCV(
        Sleeper(seconds=seconds),
        {"quality": list(range(10_000))},
        resource="n_units",
        max_resources=27,
        min_resources=1,
        brackets=list(range(3, 3 - n_brackets, -1)),
        cv=5,
        n_jobs=n_jobs,
        refit=False,
        random_state=0,
    )


def count_bytes() -> None:
    """Count from now on what this process sends."""
    from distributed.comm.tcp import TCP

    if hasattr(TCP, "n_sent"):
        return
    TCP.n_sent = 0
    write = TCP.write

    async def counted(self: Any, *args: Any, **options: Any) -> int:
        n_bytes: int = await write(self, *args, **options)
        TCP.n_sent += n_bytes
        return n_bytes

    TCP.write = counted


def bytes_sent() -> int:
    """Return how many bytes this process has sent."""
    from distributed.comm.tcp import TCP

    return int(TCP.n_sent)


class Measured:
    """Fits searches, and keeps the wall time and the results of each."""

    def __init__(self, client: Client, X: np.ndarray, seconds: float, n_brackets: int) -> None:
        self.client = client
        self.X = X
        self.seconds = seconds
        self.n_brackets = n_brackets
        self.scores: list[np.ndarray] = []
        self.megabytes: list[float] = []
        self.n_fits = 0

    def all_bytes(self) -> int:
        """Return how many bytes client, scheduler and workers have sent."""
        return bytes_sent() + sum(self.client.run(bytes_sent).values())

    def wall(self, backend: str) -> float:
        """Return the wall time of a search."""
        search = make_search(N_WORKERS, self.seconds, self.n_brackets)
        before = self.all_bytes()
        with parallel_config(backend):
            start = time.perf_counter()
            search.fit(self.X)
            wall = time.perf_counter() - start
        if backend == "dask":
            self.megabytes.append((self.all_bytes() - before) / 1e6)
        self.scores.append(search.cv_results_["mean_test_score"])
        self.n_fits = search.n_fits_
        return wall


def main() -> None:
    """Measure both in turn."""
    options = parse_options(__doc__, seeds=5)
    report = Report("Clusters", options)
    n_rows, seconds, n_brackets = (5_000, 0.005, 1) if options.quick else (62_500, 0.05, 3)
    X = np.random.default_rng(0).random((n_rows, 100))
    with (
        LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        count_bytes()
        client.run(count_bytes)
        measured = Measured(client, X, seconds, n_brackets)
        for backend in ("loky", "dask"):  # imports, and workers that start
            measured.wall(backend)
        measured.megabytes.clear()
        ratios, of_dask, of_loky = paired_ratios(
            lambda: measured.wall("dask"), lambda: measured.wall("loky"), options.seeds
        )
    if not all(np.array_equal(scores, measured.scores[0]) for scores in measured.scores):
        raise RuntimeError("Dask and loky gave different scores.")
    size = X.nbytes / 1e6
    what = f"{measured.n_fits} fits of {1000 * seconds:.0f} ms, {size:.0f} MB"
    rows = [
        claim(f"wall, {what}, Dask / loky", ratios, "<= 1.25"),
        claim("wall, loky, s", of_loky),
        claim("wall, Dask, s", of_dask),
        claim("sent by Dask, MB", measured.megabytes),
        claim("sent by Dask / size of the data", [m / size for m in measured.megabytes]),
    ]
    report.table("Two worker processes", CLAIM_COLUMNS, rows)
    report.write("All scores were the same.")
    report.save()


if __name__ == "__main__":
    main()
