"""All searches against all peers: ten real data sets, four families of models, equal wall time.

    python examples/benchmarks/compare.py [--quick] [--seeds N] [--only TEXT] [--search TEXT]
        [--long] [--cache FILE.jsonl] [--csv]

On each task RandomizedSearchCV tries 40 candidates on five folds. The time that takes, T, is
what every other search gets. Looked at is what a search would return if it were stopped, at
moments from T/100 to 1.1 T: the candidate is fitted on the whole training part with all of the
resource, and tested on rows that no search has seen. Everything runs in one process and one
thread, without refits; what the library of a search imports is imported before.

Results go to a file line by line. What is in it is not run again: a run that was broken off
goes on, and peers can be added. The report is made from all that the file has. ``--long`` runs
six searches on eight other tasks with fits of a third of a second.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import numpy as np
from _common import Cache, one_thread, parse_options
from _compare_data import DATA_SETS, Rows
from _compare_long_tasks import SIX_SEARCHES, long_tasks
from _compare_report import write_report
from _compare_searches import OURS, RANDOM, SKLEARN, TIMES, Run
from _compare_tasks import Task, all_tasks, quick_tasks
from _compare_types import Incumbent, Params, Search, SearchRun
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import ParameterSampler

N_REFERENCE = 20
"""Random candidates whose median test score is the other end of the scale."""


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


def line_of(run: SearchRun, limit: float, task: Search, tester: Tester) -> dict[str, Any]:
    """Return what the report needs of one search."""

    def scored(one: Incumbent | None) -> float | None:
        if one is None:
            return None
        params = {k: v for k, v in one.params.items() if k != task.resource}
        return tester.score(params)

    own = run.incumbents
    return {
        "limit": limit,
        "seconds": run.seconds,
        "n_fits": run.n_fits,
        "by_time": [scored(in_force(own, share * limit * (1 + 1e-9))) for share in TIMES],
        "chosen": repr(own[-1].params) if own else "",
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
        if name != RANDOM:
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


def run_all(options: Any, cache: Cache) -> None:
    """Run all tasks with the first seed, then with the next: to stop early leaves a table."""
    found = {name: run for name, run in searches().items() if options.search in name}
    if options.long:
        found = {name: run for name, run in found.items() if name in SIX_SEARCHES}
    if not options.quick:
        warm_up(found)
    tasks = quick_tasks() if options.quick else long_tasks() if options.long else all_tasks()
    loaded: dict[str, tuple[Any, Any]] = {}
    for seed in range(3, 3 + options.seeds):  # nothing was tuned on these
        for task in tasks:
            if options.only in task.name:
                if task.data not in loaded:
                    loaded[task.data] = DATA_SETS[task.data].load()
                run_task(task, loaded[task.data], seed, found, cache)


def main() -> None:
    """Run what is missing, and write the report."""
    options = parse_options(
        __doc__,
        seeds=2,
        files={"cache": "file of results, gone on with if it is there"},
        texts={"search": "leave out searches without this"},
        long="eight tasks with long fits",
    )
    with one_thread(), warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        cache = Cache(options.cache or Path(folder) / "results.jsonl")
        run_all(options, cache)
        write_report(list(cache.lines.values()), options)


if __name__ == "__main__":
    main()
