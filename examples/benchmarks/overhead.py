"""What the search itself costs: an estimator that does nothing, beside GridSearchCV.

    python examples/benchmarks/overhead.py [--quick] [--seeds N] [--output FILE.md]

CPU time at n_jobs=1 per fit, how it grows with the number of fits, pulls asked one by one
against one batch, wall time and bytes sent at n_jobs=2, and the import of the package.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from _common import (
    CLAIM_COLUMNS,
    Report,
    claim,
    cpu_seconds,
    one_thread,
    paired_ratios,
    parse_options,
    wall_seconds,
)
from _doubles import AskedAndToldOneByOne, AskedOneByOne, DoNothing, Noisy, NothingToTell
from joblib.externals.loky.backend import queues
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_halving import (
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)
from sklearn_halving.execution.workers import _chunk_queue, _executors

N_SPLITS = 5
X, Y = np.random.default_rng(0).random((1000, 20)), np.zeros(1000)
FOUR_SCORERS = {f"scorer_{i}": DoNothing.score for i in range(4)}


def bare_loop(n_fits: int) -> int:
    """Clone, fit and score; what no search can do without."""
    splits = list(KFold(N_SPLITS).split(X))
    for value in range(n_fits // N_SPLITS):
        for train, test in splits:
            model = clone(DoNothing()).set_params(value=value)
            model.fit(X[train], Y[train]).score(X[test], Y[test])
    return n_fits


def grid_search(n_fits: int, n_jobs: int = 1, **options: Any) -> None:
    """Search that many fits exhaustively."""
    grid = {"value": list(range(n_fits // N_SPLITS))}
    options = {"cv": KFold(N_SPLITS), "refit": False, "n_jobs": n_jobs, **options}
    GridSearchCV(DoNothing(), grid, **options).fit(X, Y)


def one_rung(n_fits: int, n_jobs: int = 1, kind: type = HyperbandSearchCV, **options: Any) -> int:
    """Run the same fits as `grid_search`, on the same rows, by our engine."""
    grid = {"value": list(range(n_fits // N_SPLITS))}
    options = {"cv": KFold(N_SPLITS), "refit": False, "n_jobs": n_jobs, **options}
    options |= {"resource": "level", "max_resources": 1, "brackets": "all"}
    search = kind(DoNothing(), grid, random_state=0, **options)
    search.fit(X, Y)
    if search.n_fits_ != n_fits:
        raise RuntimeError(f"{search.n_fits_} fits, not {n_fits}")
    return n_fits


def brackets(n_fits: int) -> int:
    """Run the five brackets of Hyperband with R = 81 several times; return the number of fits."""
    n_done = 0
    while n_done < n_fits:
        grid = {"value": np.arange(400)}
        options = {"resource": "level", "max_resources": 81, "brackets": "all", "cv": KFold(3)}
        search = HyperbandSearchCV(DoNothing(), grid, refit=False, random_state=0, **options)
        n_done += search.fit(X, Y).n_fits_
    return n_done


def variance_halving(n_fits: int, **options: Any) -> int:
    """Run VarianceHalvingSearchCV with 64 candidates."""
    grid = {"value": np.arange(64)}
    search = VarianceHalvingSearchCV(DoNothing(), grid, n_fits=n_fits, random_state=0, **options)
    return search.fit(X, Y).n_fits_


def successive_rejects(n_fits: int) -> int:
    """Run successive rejects with 64 candidates."""
    grid, policy = {"value": np.arange(64)}, "successive_rejects"
    search = BanditSearchCV(DoNothing(), grid, policy=policy, n_fits=n_fits, random_state=0)
    return search.fit(X, Y).n_fits_


def bayes_gap(n_fits: int, estimator: Any = None) -> int:
    """Run BayesGapSearchCV with 100 candidates and 500 pulls, several times."""
    n_done = 0
    while n_done < n_fits:
        grid = {"value": np.linspace(0, 1, 100)}
        search = BayesGapSearchCV(estimator or Noisy(), grid, n_fits=500, random_state=0)
        n_done += search.fit(X, Y).n_fits_
    return n_done


def equal_scores(n_fits: int) -> int:
    """Run BayesGapSearchCV on candidates of which none is better."""
    return bayes_gap(n_fits, NothingToTell())


def serial_rows(n_fits: int, repeats: int) -> Iterator[list[Any]]:
    """Yield CPU time a fit at n_jobs=1 over that of GridSearchCV with the same scorers."""
    four: dict[str, Any] = {"scoring": FOUR_SCORERS, "refit": False}
    runs: tuple[tuple[str, Callable[[int], int], str | None, dict[str, Any]], ...] = (
        ("HyperbandSearchCV, one rung", one_rung, "<= 0.28", {}),
        ("HyperbandSearchCV, five brackets", brackets, "<= 0.32", {}),
        ("VarianceHalvingSearchCV", variance_halving, "<= 0.32", {}),
        ("successive rejects", successive_rejects, "<= 0.3", {}),
        ("BayesGapSearchCV, equal scores", equal_scores, "<= 0.6", {}),
        ("BayesGapSearchCV, scores that differ", bayes_gap, "<= 0.8", {}),
        ("HyperbandSearchCV, four scorers", partial(one_rung, **four), "<= 0.3", four),
        (
            "VarianceHalvingSearchCV, four scorers",
            partial(variance_halving, **{**four, "refit": "scorer_0"}),
            "<= 0.35",
            four,
        ),
        ("bare clone-fit-score loop", bare_loop, None, {}),
    )
    for name, run, target, options in runs:
        ratios, ours, theirs = paired_ratios(
            lambda run=run: cpu_seconds_each(lambda: run(n_fits)),
            lambda options=options: cpu_seconds(lambda: grid_search(n_fits, **options)) / n_fits,
            repeats,
        )
        each = f"{1e6 * min(ours):.0f} / {1e6 * min(theirs):.0f} µs"
        yield claim(f"CPU a fit, {name} / GridSearchCV ({each})", ratios, target)


def cpu_seconds_each(function: Callable[[], int]) -> float:
    """Return the CPU time of a call over the number that it returns."""
    start = time.process_time()
    n_done = function()
    return (time.process_time() - start) / n_done


def growth_rows(sizes: tuple[int, int], repeats: int) -> Iterator[list[Any]]:
    """Yield CPU time per fit of many fits over that of few, and of asking one by one."""
    few, many = sizes

    def per_fit(n_fits: int) -> float:
        times = max(1, many // n_fits // 5)
        return cpu_seconds(lambda: [one_rung(n_fits) for _ in range(times)]) / n_fits / times

    ratios, _, _ = paired_ratios(lambda: per_fit(many), lambda: per_fit(few), repeats)
    yield claim(f"CPU per fit, {many:,} fits / {few:,} fits", ratios, "<= 1.1")
    n_fits = many // 2

    def in_one_batch() -> None:
        with patch.object(_executors, "SERIAL_WINDOW", n_fits):
            one_rung(n_fits)

    for name, kind in (("asked", AskedOneByOne), ("asked and told", AskedAndToldOneByOne)):
        ratios, ours, theirs = paired_ratios(
            lambda kind=kind: cpu_seconds(lambda: one_rung(n_fits, kind=kind)) / n_fits,
            lambda: cpu_seconds(in_one_batch) / n_fits,
            repeats,
        )
        each = f"{1e6 * np.median(ours):.0f} / {1e6 * np.median(theirs):.0f} µs"
        what = f"CPU, {n_fits:,} pulls {name} one by one / in one batch ({each})"
        yield claim(what, ratios, "<= 1.1")


def parallel_rows(n_fits: int, repeats: int) -> Iterator[list[Any]]:
    """Yield wall time with two workers over that of GridSearchCV, the workers running."""
    one_rung(n_fits, n_jobs=2)
    grid_search(100, n_jobs=2)
    ratios, ours, theirs = paired_ratios(
        lambda: wall_seconds(lambda: one_rung(n_fits, n_jobs=2)),
        lambda: wall_seconds(lambda: grid_search(n_fits, n_jobs=2)),
        repeats,
    )
    seconds = f"{np.median(ours):.3f} / {np.median(theirs):.3f} s"
    yield claim(
        f"wall, n_jobs=2, {n_fits:,} fits, ours / GridSearchCV ({seconds})", ratios, "<= 0.15"
    )


def bytes_sent(function: Callable[[], Any]) -> float:
    """Return how many bytes a call sends to joblib's processes (loky)."""
    sizes = []
    dumps = queues.dumps

    def counted(*args: Any, **kwargs: Any) -> Any:
        message = dumps(*args, **kwargs)
        sizes.append(len(message))
        return message

    with patch.object(queues, "dumps", counted):
        function()
    return sum(sizes)


def message_rows(sizes: tuple[int, int]) -> Iterator[list[Any]]:
    """Yield what is sent to two workers, at few and at many pulls."""
    few, many = sizes
    theirs = bytes_sent(lambda: grid_search(few, n_jobs=2)) / few
    yield claim(f"bytes sent a fit by GridSearchCV, {few:,} fits", [theirs])
    for name, max_chunk in (("in chunks", _chunk_queue.MAX_CHUNK), ("one pull a message", 1)):
        with patch.object(_chunk_queue, "MAX_CHUNK", max_chunk):
            ours = [bytes_sent(lambda n=n: one_rung(n, n_jobs=2)) / n for n in sizes]
        amounts = " / ".join(f"{n_bytes:,.0f}" for n_bytes in ours[::-1])
        what = f"bytes sent a pull {name}, {many:,} pulls / {few:,} pulls ({amounts})"
        yield claim(what, [ours[1] / ours[0]], "<= 1.1")


def import_seconds(names: str) -> tuple[float, float]:
    """Return the CPU time, in a fresh interpreter, of importing what we stand on, then us."""
    code = (
        "from time import process_time as now; a = now(); import sklearn.model_selection; "
        f"b = now(); from sklearn_halving import {names}; print(b - a, now() - b)"
    )
    # Byte code may be written: that of an installed package is.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    theirs, ours = map(float, done.stdout.split())
    return theirs, ours


def import_rows(repeats: int) -> Iterator[list[Any]]:
    """Yield the import of the package over that of what it stands on.

    Both are taken in the same interpreter, one after the other: separate ones differ by 20 %.
    """
    for names, what in (("HyperbandSearchCV", "one search"), ("*", "everything")):
        import_seconds(names)
        pairs = [import_seconds(names) for _ in range(repeats)]
        theirs, ours = (1000 * np.median(column) for column in zip(*pairs, strict=True))
        yield claim(
            f"import CPU, {what} of sklearn_halving / sklearn.model_selection "
            f"({theirs:.0f} + {ours:.0f} ms)",
            [(theirs + ours) / theirs for theirs, ours in pairs],
            "<= 1.05",
        )


def main() -> None:
    """Measure everything, and print one table."""
    options = parse_options(__doc__, seeds=7)
    report = Report("Overhead", options)
    started = time.perf_counter()
    n_fits, sizes = (200, (100, 1000)) if options.quick else (1000, (100, 10_000))

    def rows() -> Iterator[list[Any]]:
        yield from serial_rows(n_fits, options.seeds)
        yield from growth_rows(sizes, options.seeds)
        yield from parallel_rows(n_fits, options.seeds)
        yield from message_rows((1000, 2000 if options.quick else 10_000))
        yield from import_rows(3 if options.quick else 5 * options.seeds)

    with one_thread():
        report.table("An estimator that does nothing", CLAIM_COLUMNS, rows())
    report.write(f"Took {time.perf_counter() - started:.0f} s.")
    report.save()


if __name__ == "__main__":
    main()
