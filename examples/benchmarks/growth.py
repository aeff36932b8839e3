"""How the cost of a pull grows with the number of pulls, for fits that cost nothing.

    python examples/benchmarks/growth.py [--quick] [--seeds N] [--output FILE.md]

CPU time per pull of whole searches at n_jobs=1, refit included, beside the same search with fewer
pulls. BayesGapSearchCV also estimates length scales and noise, in refits that become rarer. With
10,000 candidates that differ in four parameters it fits hundreds of them, and its model has as
many variables. The last tables have the cost of a new split, and of the end of `fit`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from _common import CLAIM_COLUMNS, Report, claim, cpu_seconds, one_thread, parse_options
from _doubles import Noisy
from scipy.stats import uniform

from sklearn_halving import (
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)
from sklearn_halving.splits import split_stream

N_CANDIDATES = 64


def data() -> tuple[np.ndarray, np.ndarray]:
    """Return rows that tell splits apart."""
    return np.random.default_rng(0).random((100, 2)), np.zeros(100)


MOST_GROWTH = 1.2
"""Target for the cost of a pull, as a multiple of that in the shortest search."""


def hyperband(n_fits: int) -> Any:
    """Play loops of HyperbandSearchCV over rows, with its defaults for distributions."""
    search = HyperbandSearchCV(Noisy(), {"value": uniform(0, 1)}, random_state=0)
    X, y = np.random.default_rng(0).random((1_000, 2)), np.zeros(1_000)
    n_each = int(search.plan(X, y)["n_fits"].sum())
    return search.set_params(n_loops=max(1, round(n_fits / n_each))).fit(X, y)


def variance_halving(n_fits: int) -> Any:
    """Play VarianceHalvingSearchCV with 64 candidates."""
    grid = {"value": np.linspace(0, 1, N_CANDIDATES)}
    return VarianceHalvingSearchCV(Noisy(), grid, n_fits=n_fits, random_state=0).fit(*data())


def successive_rejects(n_fits: int) -> Any:
    """Play successive rejects with 64 candidates."""
    grid = {"value": np.linspace(0, 1, N_CANDIDATES)}
    search = BanditSearchCV(
        Noisy(), grid, policy="successive_rejects", n_fits=n_fits, random_state=0
    )
    return search.fit(*data())


def bayes_gap(n_fits: int) -> Any:
    """Play BayesGapSearchCV with its defaults."""
    grid = {"value": np.linspace(0, 1, 100)}
    return BayesGapSearchCV(Noisy(), grid, n_fits=n_fits, random_state=0).fit(*data())


def bayes_gap_of_many(n_fits: int) -> Any:
    """Play BayesGapSearchCV with 10,000 candidates in four dimensions."""
    space = {name: uniform(0, 1) for name in ("value", "a", "b", "c")}
    search = BayesGapSearchCV(Noisy(), space, n_candidates=10_000, n_fits=n_fits, random_state=0)
    return search.fit(*data())


def pull_rows(
    name: str, run: Callable[[int], Any], sizes: tuple[int, ...], repeats: int
) -> Iterator[list[Any]]:
    """Yield CPU time per pull for each number of pulls, and over that of the fewest."""
    first = 0.0
    for size in sizes:
        made: list[int] = []
        seconds = np.median(
            [
                cpu_seconds(lambda n=size, made=made: made.append(run(n).n_fits_))
                for _ in range(repeats)
            ]
        )
        each = seconds / made[-1]
        first = first or each
        verdict = ["", ""]
        if size > sizes[0]:
            verdict = [f"<= {MOST_GROWTH}", "yes" if each / first <= MOST_GROWTH else "**no**"]
        yield [name, f"{made[-1]:,}", seconds, 1e6 * each, each / first, *verdict]


def split_rows(sizes: tuple[int, ...]) -> Iterator[list[Any]]:
    """Yield CPU time per new split of an endless stream."""
    for n_splits in sizes:
        stream = split_stream(None, *data(), random_state=0)

        def draw(stream: Any = stream, n_splits: int = n_splits) -> None:
            for repetition in range(n_splits):
                stream.split(repetition)

        yield [f"{n_splits:,}", 1e6 * cpu_seconds(draw) / n_splits]


class Clocked(Noisy):
    """An estimator whose class notes the CPU time at which the last score was computed."""

    last_score: ClassVar[float] = 0.0

    def score(self, X: Any, y: Any = None) -> float:
        """Return a score."""
        score = super().score(X, y)
        Clocked.last_score = time.process_time()
        return score


def end_rows(n_candidates: int, repeats: int) -> Iterator[list[Any]]:
    """Yield the CPU time between the last score and the end of `fit`."""
    space = {name: uniform(0, 1) for name in ("value", "a", "b", "c")}
    seconds = []
    for _ in range(repeats):
        search = BayesGapSearchCV(
            Clocked(), space, n_candidates=n_candidates, n_fits=100, random_state=0, refit=False
        )
        search.fit(*data())
        seconds.append(time.process_time() - Clocked.last_score)
    what = f"end of BayesGapSearchCV after 100 pulls, {n_candidates:,} candidates: s"
    yield claim(what, seconds, "<= 0.2")


def main() -> None:
    """Print the tables."""
    options = parse_options(__doc__, seeds=1)
    report = Report("How the cost of a pull grows", options)
    many = (200, 400) if options.quick else (1_000, 10_000, 50_000)
    model = (40, 80) if options.quick else (1_000, 2_560, 5_000)
    searches = (
        ("HyperbandSearchCV, brackets over rows", hyperband, many),
        ("VarianceHalvingSearchCV, 64 candidates", variance_halving, many),
        ("successive rejects, 64 candidates", successive_rejects, many),
        ("BayesGapSearchCV, 100 candidates", bayes_gap, model),
        ("BayesGapSearchCV, 10,000 candidates", bayes_gap_of_many, model),
    )
    with one_thread():
        rows = (row for search in searches for row in pull_rows(*search, options.seeds))
        columns = "search | pulls | s | µs a pull | against the fewest | target | reached"
        report.table("Whole searches", columns, rows)
        report.table("New splits of a stream", "splits | µs a split", split_rows(many))
        n_candidates = 200 if options.quick else 5_000
        report.table("After the last pull", CLAIM_COLUMNS, end_rows(n_candidates, 3))
    report.save()


if __name__ == "__main__":
    main()
