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
from _doubles import AskedAndToldOneByOne, AskedOneByOne, DoNothing
from joblib.externals.loky.backend import queues
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_halving import HyperbandSearchCV
from sklearn_halving.execution.workers import _chunk_queue, _executors

N_SPLITS = 5
X, Y = np.zeros((100, 2)), np.zeros(100)


def bare_loop(n_fits: int) -> None:
    """Clone, fit and score; what no search can do without."""
    splits = list(KFold(N_SPLITS).split(X))
    for value in range(n_fits // N_SPLITS):
        for train, test in splits:
            model = clone(DoNothing()).set_params(value=value)
            model.fit(X[train], Y[train]).score(X[test], Y[test])


def grid_search(n_fits: int, n_jobs: int = 1) -> None:
    """Search that many fits exhaustively."""
    grid = {"value": list(range(n_fits // N_SPLITS))}
    GridSearchCV(DoNothing(), grid, cv=KFold(N_SPLITS), refit=False, n_jobs=n_jobs).fit(X, Y)


def one_rung(n_fits: int, n_jobs: int = 1, kind: type = HyperbandSearchCV) -> None:
    """Run the same fits as `grid_search`, on the same rows, by our engine."""
    grid = {"value": list(range(n_fits // N_SPLITS))}
    options = {"resource": "level", "max_resources": 1, "brackets": "all"}
    search = kind(DoNothing(), grid, n_jobs=n_jobs, cv=KFold(N_SPLITS), refit=False, **options)
    search.fit(X, Y)
    if search.n_fits_ != n_fits:
        raise RuntimeError(f"{search.n_fits_} fits, not {n_fits}")


def brackets(n_fits: int) -> int:
    """Run Hyperband with R = 81 (206 pulls a loop) for about that many fits; return how many."""
    n_loops = max(1, round(n_fits / (206 * N_SPLITS)))
    grid = {"value": np.arange(400 * n_loops)}
    options = {"resource": "level", "max_resources": 81, "brackets": "all", "n_loops": n_loops}
    search = HyperbandSearchCV(DoNothing(), grid, cv=KFold(N_SPLITS), refit=False, **options)
    return search.fit(X, Y).n_fits_


def serial_rows(n_fits: int, repeats: int) -> Iterator[list[Any]]:
    """Yield CPU time a fit at n_jobs=1 over that of GridSearchCV."""
    for name, run, n_own, target in (
        ("HyperbandSearchCV, one rung", one_rung, n_fits, "<= 0.3"),
        ("HyperbandSearchCV, five brackets", brackets, brackets(n_fits), "<= 0.3"),
        ("bare clone-fit-score loop", bare_loop, n_fits, None),
    ):
        ratios, ours, theirs = paired_ratios(
            lambda run=run, n_own=n_own: cpu_seconds(lambda: run(n_fits)) / n_own,
            lambda: cpu_seconds(lambda: grid_search(n_fits)) / n_fits,
            repeats,
        )
        each = f"{1e6 * np.median(ours):.0f} / {1e6 * np.median(theirs):.0f} µs"
        yield claim(f"CPU a fit, {name} / GridSearchCV ({each})", ratios, target)


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
