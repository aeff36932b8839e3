"""A search whose process is killed again and again, and what it ends with.

    python examples/benchmarks/crash.py [--quick] [--seeds N] [--output FILE.md] [--only loky]

The process of a search is ended by SIGKILL at a random moment after its first new fit has
begun, and a new process goes on from the journal, until the search is over; then the next
search begins, until there were 100 kills for each backend. Each fit writes a line when it
begins. Not on Windows, which has no SIGKILL.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from _common import Report, parse_options
from _crashing import SEARCHES, X, Y, make_search, run_until_killed

BACKENDS = ("sequential", "threading", "loky")
PRELOADED = ["sklearn_halving", "sklearn.base", "scipy.stats", "joblib"]
"""What a new process has imported already: it is forked from one that has."""
MAX_SECONDS = 0.4
"""A search of all fits takes about as long."""


@dataclass
class Tally:
    """What was seen with one backend."""

    n_kills: int = 0
    n_searches: int = 0
    n_differing: int = 0
    n_run_again: int = 0
    n_fits: int = 0
    repeated: list[int] = field(default_factory=list)


def table_of(search: Any) -> str:
    """Return the results, to the last bit, without times."""
    results = {k: v for k, v in search.cv_results_.items() if not k.endswith("_time")}
    lists = {k: np.ma.getdata(v).tolist() for k, v in results.items() if k != "params"}
    return str((lists, search.best_params_, search.n_fits_))


def lines_of(path: Path) -> list[bytes]:
    """Return the whole lines of a file."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [line for line in lines if line.endswith(b"\n")]


def pulls_in(folder: Path) -> list[tuple[int, ...]]:
    """Return the pulls in the journal."""
    return [tuple(json.loads(line)["pull"]) for line in lines_of(folder / "journal")[1:]]


def play(name: str, backend: str, n_kills: int, rng: random.Random, tally: Tally) -> None:
    """Kill one search until it is over, or there were enough kills; compare what it found."""
    context = multiprocessing.get_context("forkserver")
    with tempfile.TemporaryDirectory() as top:
        whole, broken = Path(top, "whole"), Path(top, "broken")
        whole.mkdir()
        broken.mkdir()
        unbroken = make_search(name, whole).fit(X, Y)
        fit_of = dict(zip(pulls_in(whole), lines_of(whole / "log"), strict=True))
        while tally.n_kills < n_kills:
            done, n_begun = pulls_in(broken), len(lines_of(broken / "log"))
            seconds = rng.uniform(0, MAX_SECONDS)
            process = context.Process(
                target=run_until_killed, args=(name, broken, backend, seconds)
            )
            process.start()
            process.join()
            if process.exitcode == 0:
                break
            if process.exitcode != -signal.SIGKILL:
                raise RuntimeError(f"the search ended with {process.exitcode}")
            if backend == "loky":
                time.sleep(0.3)  # its workers may be at a last fit
            tally.n_kills += 1
            new = set(lines_of(broken / "log")[n_begun:])
            tally.n_run_again += len(new & {fit_of[pull] for pull in done})
            begun = Counter(lines_of(broken / "log")[n_begun:])
            journaled = {fit_of[pull] for pull in pulls_in(broken)}
            tally.repeated.append(sum(n for fit, n in begun.items() if fit not in journaled))
        n_begun, done = len(lines_of(broken / "log")), pulls_in(broken)
        resumed = make_search(name, broken).fit(X, Y)
        new = set(lines_of(broken / "log")[n_begun:])
        tally.n_run_again += len(new & {fit_of[pull] for pull in done})
        tally.n_differing += table_of(resumed) != table_of(unbroken)
        tally.n_searches += 1
        tally.n_fits += unbroken.n_fits_


def rows(n_kills: int, only: str) -> Iterator[list[Any]]:
    """Yield a row for each backend."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(PRELOADED)
    for backend in BACKENDS:
        if only not in backend:
            continue
        rng, tally, names = random.Random(0), Tally(), list(SEARCHES)
        while tally.n_kills < n_kills:
            play(names[tally.n_searches % len(names)], backend, n_kills, rng, tally)
        yield [
            backend,
            tally.n_kills,
            tally.n_searches,
            tally.n_fits,
            tally.n_differing,
            tally.n_run_again,
            max(tally.repeated),
            f"{np.mean(tally.repeated):.1f}",
        ]


def main() -> None:
    """Kill, resume, and print one table."""
    options = parse_options(__doc__, seeds=1)
    report = Report("Searches that are killed", options)
    started = time.perf_counter()
    columns = (
        "backend | kills | searches | fits | searches that ended otherwise than unbroken ones | "
        "fits of the journal done again | most fits lost at a kill | on average"
    )
    n_kills = 4 if options.quick else 100
    report.table("SIGKILL at random moments", columns, rows(n_kills, options.only))
    report.write(
        "What is lost at a kill are the fits under way: one at a time in a process of its own; "
        "with workers, those of the chunks that were sent and had not come back.",
        "",
        f"Took {time.perf_counter() - started:.0f} s.",
    )
    report.save()


if __name__ == "__main__":
    main()
