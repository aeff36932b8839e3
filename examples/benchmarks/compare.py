"""All searches against all peers: ten real data sets, four families of models, equal wall time.

    python examples/benchmarks/compare.py [--quick] [--seeds N] [--only TEXT] [--search TEXT]
        [--long | --thrice | --samplers] [--cache FILE.jsonl] [--output FILE.md]
        [--images FOLDER] [--memory]

On each task RandomizedSearchCV tries 40 candidates on five folds. The time that takes, T, is
what every other search gets. Looked at is what a search would return if it were stopped, at
moments from T/100 to 1.1 T: the candidate is fitted on the whole training part with all of the
resource, and tested on rows that no search has seen. Everything runs in one process and one
thread, without refits; what the library of a search imports is imported before.

Results go to a file line by line. What is in it is not run again: a run that was broken off
goes on, and peers can be added. The report is made from all that the file has. ``--long`` runs
six searches on eight other tasks with fits of a third of a second, ``--thrice`` the same six on
eight of the tasks for three times as long. ``--samplers`` runs eight searches on all tasks, three
of them with other samplers.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import numpy as np
from _common import RESULT_KEYS, Cache, one_thread
from _compare_data import DATA_SETS, Rows
from _compare_long_tasks import SIX_SEARCHES, long_tasks, thrice_tasks
from _compare_memory import measure_memory, print_peak
from _compare_report import write_report
from _compare_searches import FIT_SHARES, HYPERBAND, OURS, OVER_ROWS, RANDOM, SKLEARN, TIMES, Run
from _compare_tasks import Task, all_tasks, quick_tasks
from _compare_types import Incumbent, Params, Search, SearchRun
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import ParameterSampler

N_REFERENCE = 20
"""Random candidates whose median test score is the other end of the scale."""
WITH_SAMPLERS = (
    'VarianceHalvingSearchCV, "gaussian_process"',
    'BayesGapSearchCV, "gaussian_process"',
)
"""Searches with another sampler; the others have their defaults."""
COMPARED_WITH_SAMPLERS = (
    *("HyperbandSearchCV", "VarianceHalvingSearchCV", "BayesGapSearchCV"),
    *("RandomizedSearchCV", "OptunaSearchCV"),
    *WITH_SAMPLERS,
)
LEFT_OUT = "SMAC3, multi-fidelity"
"""SMAC3's other way takes as long again; its Hyperband is what is asked for."""


def searches() -> dict[str, Run]:
    """Return all that is compared: ours, scikit-learn's, and the peers that are installed."""
    found: dict[str, Run] = {**SKLEARN, **OURS}
    try:
        from _peers import PEERS
    except ImportError as error:
        print(f"No peers: {error}.", flush=True)
        return found
    return found | PEERS


class Tester:
    """Test scores of parameters on the rows that no search has seen, each measured once."""

    def __init__(self, task: Search, rows: Rows) -> None:
        self._task, self._rows = task, rows
        self._known: dict[str, float] = {}

    def score(self, params: Params) -> float:
        """Return the test score; NaN where the model cannot be fitted."""
        key = repr(sorted(params.items()))
        if key not in self._known:
            model, rows = clone(self._task.estimator).set_params(**params), self._rows
            try:
                model.fit(rows.X, rows.y)
                value = get_scorer(self._task.scoring)(model, rows.X_test, rows.y_test)
            except ValueError:
                value = np.nan
            self._known[key] = float(value)
        return self._known[key]


def in_force(incumbents: list[Incumbent], seconds: float) -> Incumbent | None:
    """Return what a search would have returned at a moment."""
    earlier = [one for one in incumbents if one.seconds <= seconds]
    return max(earlier, key=lambda one: one.seconds) if earlier else None


def in_force_after(incumbents: list[Incumbent], n_fits: int) -> Incumbent | None:
    """Return what a search would have returned after so many fits."""
    earlier = [one for one in incumbents if one.n_fits <= n_fits]
    return max(earlier, key=lambda one: (one.n_fits, one.seconds)) if earlier else None


def line_of(run: SearchRun, limit: float, task: Search, tester: Tester) -> dict[str, Any]:
    """Return what the report needs of one search."""

    def scored(one: Incumbent | None) -> float | None:
        if one is None:
            return None
        params = {k: v for k, v in one.params.items() if k != task.resource}
        return tester.score(params)

    budget = task.n_iter * len(task.cv)
    own = run.incumbents
    return {
        "limit": limit,
        "seconds": run.seconds,
        "n_fits": run.n_fits,
        "fit_seconds": run.fit_seconds,
        "by_time": [scored(in_force(own, share * limit * (1 + 1e-9))) for share in TIMES],
        "by_fits": [scored(in_force_after(own, round(s * budget))) for s in FIT_SHARES],
        "final": scored(own[-1] if own else None),
        "chosen": repr(own[-1].params) if own else "",
        "choices": {rule: tester.score(params) for rule, params in run.choices.items()},
        "claims": run.claims,
    }


def run_task(
    task: Task, data: tuple[Any, Any], seed: int, found: dict[str, Run], cache: Cache
) -> None:
    """Run what is missing of a task and a seed; RandomizedSearchCV first, for its time."""
    missing = [name for name in found if (task.name, seed, name) not in cache.lines]
    if not missing:
        return
    search, rows = task.make(data, seed)
    tester = Tester(search, rows)
    if (task.name, seed, "reference") not in cache.lines:
        drawn = ParameterSampler(
            search.distributions, N_REFERENCE, random_state=_draw(task, seed, "")
        )
        scores = [tester.score(params) for params in drawn]
        about = {"n_train": len(rows.y), "n_test": len(rows.y_test), "scoring": search.scoring}
        cache.add(task.name, seed, "reference", {"scores": scores, **about})
    if RANDOM in missing:
        run = found[RANDOM](search, 0.0, _draw(task, seed, RANDOM))
        cache.add(task.name, seed, RANDOM, line_of(run, run.seconds, search, tester))
    limit = cache.lines[task.name, seed, RANDOM]["seconds"]
    shown = [f"{task.name}, seed {seed}: T = {limit:.1f} s"]
    for name in missing:
        twin = cache.lines.get((task.name, seed, HYPERBAND))
        if name == OVER_ROWS and search.resource == "n_samples" and twin is not None:
            cache.add(
                task.name, seed, name, {k: v for k, v in twin.items() if k not in RESULT_KEYS}
            )
        elif name != RANDOM:
            try:
                run = found[name](search, limit, _draw(task, seed, name)) or SearchRun([], 0.0, 0)
            except Exception as error:
                if name in OURS:  # the benchmark has to be mended
                    raise
                shown.append(f"{name} FAILED: {type(error).__name__}: {str(error)[:200]}")
                continue
            cache.add(task.name, seed, name, line_of(run, limit, search, tester))
            shown.append(f"{name} {run.seconds / limit:.2f}")
    print("; ".join(shown), flush=True)


def _draw(task: Task, seed: int, search: str) -> int:
    """Return a ``random_state``: no two searches, and no two tasks, with the same candidates."""
    return crc32(f"{task.name}, {seed}, {search}".encode())


def warm_up(found: dict[str, Run]) -> None:
    """Let every search import what it needs."""
    for task in quick_tasks():
        search, _ = task.make(DATA_SETS[task.data].load(), 0)
        for name, run in found.items():
            try:
                run(search, 0.3, 0)
            except Exception as error:  # noqa: BLE001 - said once more where it counts
                print(f"{name} on {task.name}: {type(error).__name__}: {error}", flush=True)


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="two tiny tasks, one seed")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--long", action="store_true", help="eight tasks with long fits")
    which.add_argument("--thrice", action="store_true", help="eight tasks, three times as long")
    which.add_argument("--samplers", action="store_true", help="eight searches")
    parser.add_argument("--seeds", type=int, default=None, help="repetitions (3)")
    parser.add_argument("--first-seed", type=int, default=0, help="number of the first one")
    parser.add_argument("--only", default="", help="leave out tasks without this in the name")
    parser.add_argument("--search", default="", help="leave out searches without this")
    parser.add_argument("--without", default=LEFT_OUT, help=f"search to leave out ({LEFT_OUT})")
    parser.add_argument("--cache", type=Path, help="file of results, gone on with if it is there")
    parser.add_argument("--output", type=Path, help="Markdown file for the report")
    parser.add_argument("--images", type=Path, help="folder for the plots")
    parser.add_argument("--memory", action="store_true", help="measure peak memory as well")
    parser.add_argument("--peak-of", default="", help=argparse.SUPPRESS)
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    options = parser.parse_args()
    options.seeds = options.seeds or (1 if options.quick else 3)
    return options


def tasks_of(options: argparse.Namespace) -> list[Task]:
    """Return the tasks that the options name."""
    if options.quick:
        return quick_tasks()
    if options.long:
        return long_tasks()
    return thrice_tasks() if options.thrice else all_tasks()


def searches_of(options: argparse.Namespace) -> dict[str, Run]:
    """Return the searches that the options name."""
    found = searches()
    wanted = found.keys() - set(WITH_SAMPLERS)
    if options.long or options.thrice:
        wanted = set(SIX_SEARCHES)
    elif options.samplers:
        wanted = set(COMPARED_WITH_SAMPLERS)
    wanted.discard(options.without)
    return {name: run for name, run in found.items() if options.search in name and name in wanted}


def run_all(options: argparse.Namespace, cache: Cache) -> None:
    """Run all tasks with the first seed, then with the next: to stop early leaves a table."""
    found = searches_of(options)
    if not options.quick:
        warm_up(found)
    tasks = tasks_of(options)
    loaded: dict[str, tuple[Any, Any]] = {}
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for task in tasks:
            if options.only in task.name:
                if task.data not in loaded:
                    loaded[task.data] = DATA_SETS[task.data].load()
                run_task(task, loaded[task.data], seed, found, cache)


def named(options: argparse.Namespace) -> Iterator[tuple[Task, str]]:
    """Yield the tasks and searches whose memory is measured."""
    for task in quick_tasks()[:1] if options.quick else all_tasks():
        if options.quick or task.name in ("MNIST, svm", "phoneme, boosting"):
            for name in searches():
                if options.search in name:
                    yield task, name


def main() -> None:
    """Run what is missing, and write the report."""
    options = parse()
    with one_thread(), warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        if options.peak_of:
            tasks = {task.name: task for task in (*quick_tasks(), *all_tasks())}
            print_peak(tasks[options.only], searches()[options.peak_of])
            return
        cache = Cache(options.cache or Path(folder) / "results.jsonl")
        started = time.perf_counter()
        if not options.report_only:
            run_all(options, cache)
            if options.memory:
                for task, name in named(options):
                    if (task.name, -1, name) not in cache.lines:
                        cache.add(task.name, -1, name, measure_memory(task.name, name))
        write_report(list(cache.lines.values()), options)
        print(f"Took {time.perf_counter() - started:.0f} s.")


if __name__ == "__main__":
    main()
