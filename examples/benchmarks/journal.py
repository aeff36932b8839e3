"""What a journal costs while a search runs, and how long it takes to read it again.

    python examples/benchmarks/journal.py [--quick] [--seeds N] [--output FILE.md]

Two searches with and without a journal take turns; their fits take 5 ms each. Then a search of
10,000 fits that are all in its journal is fitted again.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _common import CLAIM_COLUMNS, Report, claim, one_thread, parse_options
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold

from sklearn_halving import HyperbandSearchCV

FIT_SECONDS = 0.005
N_SPLITS = 5
X, Y = np.random.default_rng(0).random((1000, 20)), np.arange(1000) % 2


class Busy(BaseEstimator):
    """Computes for so many seconds: sleep would hide what runs beside it."""

    def __init__(self, value: int = 0, level: int = 1, seconds: float = FIT_SECONDS) -> None:
        self.value = value
        self.level = level
        self.seconds = seconds

    def fit(self, X: Any, y: Any) -> Busy:
        """Be busy."""
        end = time.perf_counter() + self.seconds
        while time.perf_counter() < end:
            pass
        return self

    def score(self, X: Any, y: Any) -> float:
        """Return a number that tells the candidates apart."""
        return float(self.value)


def search(n_fits: int, seconds: float, path: Path | None = None) -> HyperbandSearchCV:
    """Return a search of one rung."""
    grid = {"value": list(range(n_fits // N_SPLITS))}
    options = {"resource": "level", "max_resources": 1, "brackets": "all", "cv": KFold(N_SPLITS)}
    estimator = Busy(seconds=seconds)
    options |= {"refit": False, "random_state": 0, "checkpoint": path}
    return HyperbandSearchCV(estimator, grid, **options)


def wall_seconds(one: HyperbandSearchCV) -> float:
    """Return how long a fit of the search takes."""
    started = time.perf_counter()
    one.fit(X, Y)
    return time.perf_counter() - started


def rows(n_fits: int, n_resumed: int, repeats: int) -> Iterator[list[Any]]:
    """Yield a row for each claim."""
    shares, added, resumes, sizes = [], [], [], []
    for repeat in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            plain = search(n_fits, FIT_SECONDS)
            kept = search(n_fits, FIT_SECONDS, Path(folder, "a"))
            pair = [kept, plain] if repeat % 2 else [plain, kept]
            seconds = {id(one): wall_seconds(one) for one in pair}
            shares.append(100 * (seconds[id(kept)] / seconds[id(plain)] - 1))
            path = Path(folder, "b")
            idle = wall_seconds(search(n_resumed, 0.0))
            added.append((wall_seconds(search(n_resumed, 0.0, path)) - idle) / n_resumed)
            sizes.append(path.stat().st_size / n_resumed)
            resumes.append(wall_seconds(search(n_resumed, 0.0, path)))
    name = f"wall time more with a journal, %, {n_fits:,} fits of 5 ms"
    yield claim(name, shares, "<= 2")
    microseconds = [1e6 * seconds for seconds in added]
    yield claim("wall time more with a journal, µs, of a fit that takes no time", microseconds)
    yield claim("the same, % of 5 ms", [100 * s / FIT_SECONDS for s in added], "<= 2")
    yield claim(f"resume of {n_resumed:,} finished fits, s", resumes, "<= 2")
    yield claim("bytes of the journal a fit", sizes)


def main() -> None:
    """Measure, and print one table."""
    options = parse_options(__doc__)
    report = Report("The journal", options)
    n_fits, n_resumed = (100, 1000) if options.quick else (1000, 10_000)
    with one_thread():
        measured = rows(n_fits, n_resumed, 2 if options.quick else options.seeds)
        report.table("What a journal costs", CLAIM_COLUMNS, measured)
    report.save()


if __name__ == "__main__":
    main()
