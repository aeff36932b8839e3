"""Peak memory of a search on dense data, beside GridSearchCV on the same folds.

    python examples/benchmarks/memory.py [--quick] [--only NAME] [--output FILE.md]

X has 1,000,000 x 20 numbers in single precision (76 MiB). Every search runs in a process of its
own, with an estimator that does nothing. The figures are the largest resident memory during the
search on top of that before it, divided by the size of X. They include the rows of all folds and
the copies of the training and test rows of one fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from multiprocessing import get_context
from typing import Any

import numpy as np
from _common import CLAIM_COLUMNS, Report, claim, one_thread, parse_options
from _compare_memory import high_water, reset_high_water
from _doubles import DoNothing
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_halving import (
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)

GRID = {"value": list(range(8))}
BY_LEVEL = {"resource": "level", "max_resources": 1, "brackets": "all"}
OPTIONS: dict[str, Any] = {"random_state": 0, "cv": KFold(5)}
SEARCHES: dict[str, Callable[[], Any]] = {
    "GridSearchCV": lambda: GridSearchCV(DoNothing(), GRID, cv=KFold(5)),
    "HyperbandSearchCV, one rung": lambda: HyperbandSearchCV(
        DoNothing(), GRID, **BY_LEVEL, **OPTIONS
    ),
    "HyperbandSearchCV, rows as the resource": lambda: HyperbandSearchCV(
        DoNothing(), GRID, **OPTIONS
    ),
    "VarianceHalvingSearchCV": lambda: VarianceHalvingSearchCV(
        DoNothing(), GRID, n_fits=60, **OPTIONS
    ),
    "successive rejects": lambda: BanditSearchCV(
        DoNothing(), GRID, policy="successive_rejects", n_fits=60, **OPTIONS
    ),
    "BayesGapSearchCV": lambda: BayesGapSearchCV(DoNothing(), GRID, n_fits=60, **OPTIONS),
}


def peak_over_data(name: str, n_rows: int) -> float:
    """Search in this process; return the largest additional memory over the size of X."""
    search = SEARCHES[name]()
    small = np.random.default_rng(0).random((100, 20), dtype=np.float32)
    search.fit(small, small[:, 0])  # imports what the search imports
    X = np.random.default_rng(0).random((n_rows, 20), dtype=np.float32)
    y = np.zeros(n_rows)
    reset_high_water()
    before = high_water()
    search.fit(X, y)
    return (high_water() - before) * 2**20 / X.nbytes


def memory_rows(n_rows: int, only: str) -> Iterator[list[Any]]:
    """Yield the peaks of all searches, with that of GridSearchCV as the target."""
    target = None
    for name in SEARCHES:
        if only in name or target is None:
            with get_context("spawn").Pool(1) as pool:
                peak = pool.apply(peak_over_data, (name, n_rows))
            yield claim(f"{name}: additional memory / size of X", [peak], target)
            target = target or f"<= {peak:.3g}"


def main() -> None:
    """Print the table."""
    options = parse_options(__doc__, seeds=1)
    report = Report("Memory", options)
    n_rows = 200_000 if options.quick else 1_000_000
    with one_thread():
        report.table("Peak memory", CLAIM_COLUMNS, memory_rows(n_rows, options.only))
    report.save()


if __name__ == "__main__":
    main()
