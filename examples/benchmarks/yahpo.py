"""Searches on surrogates of real runs that others made: how good is the choice after so many fits?

    python examples/benchmarks/yahpo.py [--quick] [--seeds N] [--noise] [--only TEXT]
        [--cache FILE.jsonl] [--output FILE.md]

YAHPO Gym (Pfisterer et al. 2022) predicts the accuracy of neural networks (lcbench), trees
(rbv2_rpart) and xgboost (rbv2_xgboost) for any parameters and any share of the epochs or rows.
Estimators whose score asks it go through the public API of each search. Data sets are those of
the published suite that the three surrogates have, and two others with an even number of each;
parameters of searches were never looked at on these. Four on which small levels are known to
mislead have a table of their own. The data are read from ../shared/data/yahpo, or from the folder
yahpo in SKLEARN_HALVING_DATA; needs the extra bench.

The regret of a choice is 0 for the best of 20,000 random candidates (or of all that any search
tried, if that is better) and 1 for their median, by the surrogate's full accuracy. A full fit
costs 1, a fit on a share of the resource that share. Searches that can be stopped at any time are
run once, and looked at on the way; the others are run anew for each budget. TPE is Optuna's, with
``multivariate=True`` and ``group=True``. Optuna's GPSampler, which needs torch, ends at 100 fits.
SMAC3 has full fits alone, or Hyperband's levels. Peers that are not installed are left out.

With ``--noise`` there are five splits, scores have the noise of splits, budgets are five times as
many fits on single splits, and regrets are those of the true accuracy. All searches but Hyperband
and the race fit each candidate on all five; Hyperband has one split in early rungs.

The whole takes an hour or two with one seed. Results go to the file of ``--cache`` line by line:
what it has is not run again, and the report is made from all of it. ``--only`` takes parts whose
name has the text, such as "lcbench 167168, noise: Optuna TPE"; names of data sets come first.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _common import DATA, Cache, Report, one_thread, parse_options
from _compare_statistics import interval
from _yahpo_peers import PEERS
from _yahpo_searches import BUDGETS, SEARCHES, Params, Task
from _yahpo_surrogates import NUMBERS, Scenario, scenario_at
from scipy.stats import rankdata
from sklearn.model_selection import ParameterSampler

SUITE = {
    "lcbench": ["167168", "189873", "189906"],
    "rbv2_rpart": ["14", "40499"],
    "rbv2_xgboost": ["12", "1501", "16", "40499"],
}
MISLEADING = {"lcbench": ["189866"], "rbv2_rpart": ["1050", "4134"], "rbv2_xgboost": ["1050"]}
N_EVEN = 2
"""Other data sets of each surrogate, spread over those with an even number."""
N_REFERENCE = 20_000
QUICK_BUDGETS = (10, 20)
TPE = "Optuna TPE"
Array = np.ndarray
Table = dict[str, dict[str, Array]]
"""By search and data set: regrets of shape (n_seeds, n_budgets), NaN where there is none."""


def data_sets(scenario: Scenario, quick: bool) -> list[str]:
    """Return those of the suite, and a few others with an even number."""
    suite, misleading = SUITE[scenario.name], MISLEADING[scenario.name]
    if quick:
        return suite[:1]
    even = [name for name in scenario.data_sets if int(name) % 2 == 0]
    others = [name for name in even if name not in (*suite, *misleading)]
    return suite + others[:: max(1, len(others) // 5)][:N_EVEN]


@lru_cache(maxsize=1)
def random_candidates(scenario: Scenario) -> list[Params]:
    """Return those whose best and median are the ends of the scale."""
    return list(ParameterSampler(scenario.space, N_REFERENCE, random_state=0))


def run_missing(task: Task, label: str, options: Any, cache: Cache) -> None:
    """Run what the file of results does not have: accuracies of choices at each budget."""
    for name, run in (SEARCHES | PEERS).items():
        for seed in range(options.seeds):
            if options.only not in f"{label}: {name}" or (label, seed, name) in cache.lines:
                continue
            if (label, 0, "reference") not in cache.lines:
                drawn = task.quality(random_candidates(task.scenario))
                ends = [float(end) for end in (drawn.max(), np.median(drawn), drawn.min())]
                cache.add(label, 0, "reference", {"quality": ends})
            *_, worst = cache.lines[label, 0, "reference"]["quality"]
            start = time.perf_counter()
            chosen = run(task, seed)
            seconds = time.perf_counter() - start
            found = [float(task.quality([one])[0]) if one else worst for one in chosen]
            cache.add(label, seed, name, {"quality": found, "seconds": seconds})


def table_of(cache: Cache, labels: list[str], n_budgets: int) -> Table:
    """Return the regrets of all searches on some data sets, from the file of results."""
    table: Table = {name: {} for name in (*SEARCHES, *PEERS)}
    for label in labels:
        own = [line for (task, *_), line in cache.lines.items() if task == label]
        best = max(max(line["quality"]) for line in own)
        _, median, _ = cache.lines[label, 0, "reference"]["quality"]
        for name, of_task in table.items():
            lines = [line["quality"] for line in own if line["search"] == name]
            padded = [of_seed + [np.nan] * (n_budgets - len(of_seed)) for of_seed in lines]
            if padded:
                of_task[label] = (best - np.array(padded)) / (best - median)
    return {name: of_task for name, of_task in table.items() if of_task}


def means(table: Table, name: str, labels: Iterable[str]) -> Array:
    """Return means over seeds, of shape (n_data_sets, n_budgets)."""
    return np.array([table[name][label].mean(axis=0) for label in labels])


def write_tables(report: Report, title: str, table: Table, columns: str) -> None:
    """Write regrets, ranks, and wins over TPE; the best at 100 full fits comes first."""
    labels = max(table.values(), key=len)
    n_labels = len(labels)
    mean = {name: means(table, name, of_task) for name, of_task in table.items()}
    ordered = sorted(mean.items(), key=lambda item: item[1].mean(axis=0)[:3][-1])
    complete = [name for name, of_task in ordered if len(of_task) == n_labels]
    title = f"{title}, {n_labels} data sets"
    rows = [
        [name + ("" if name in complete else f" ({len(of_task)} data sets)"), *errors(of_task)]
        for name, of_task in ordered
    ]
    report.table(f"{title}: mean normalised regret (standard error)", columns, rows)
    ranked = zip(complete, mean_ranks(table, complete, labels), strict=True)
    rows = [[name, *intervals(of_search)] for name, of_search in ranked]
    report.table(f"{title}: mean rank (95 % interval over data sets)", columns, rows)
    if TPE in table:
        rows = [[name, *wins(table, name, TPE)] for name, _ in ordered if name != TPE]
        report.table(f"{title}: number on which it is better / worse than TPE", columns, rows)


def errors(mean: Array) -> list[str]:
    """Return means over data sets with their standard errors, by budget."""
    error = mean.std(axis=0, ddof=1) / np.sqrt(len(mean)) if len(mean) > 1 else 0 * mean[0]
    pairs = zip(mean.mean(axis=0), error, strict=True)
    return ["" if np.isnan(of) else f"{of:.3f} ({width:.3f})" for of, width in pairs]


def mean_ranks(table: Table, names: list[str], labels: Iterable[str]) -> Array:
    """Return ranks, 1 is best, means over seeds, of shape (n_names, n_budgets, n_data_sets)."""
    found = []
    for label in labels:
        n_seeds = min(len(table[name][label]) for name in names)
        regrets = np.array([table[name][label][:n_seeds] for name in names]).round(9)
        found.append(rankdata(regrets, axis=0, nan_policy="omit").mean(axis=1))
    return np.stack(found, axis=-1)


def intervals(ranks: Array) -> list[str]:
    """Return means over data sets with their intervals, by budget."""
    cells = []
    for of_budget in ranks:
        low, high = interval(of_budget)
        between = "" if np.isnan(low) else f" ({low:.1f} to {high:.1f})"
        cells.append("" if np.isnan(of_budget).any() else f"{of_budget.mean():.1f}{between}")
    return cells


def wins(table: Table, name: str, peer: str) -> Iterator[str]:
    """Yield on how many data sets a search is better and worse than the peer, by budget."""
    labels = [label for label in table[name] if label in table[peer]]
    difference = means(table, name, labels) - means(table, peer, labels)
    for of_budget in difference.T:
        counts = f"{(of_budget < -1e-4).sum()} / {(of_budget > 1e-4).sum()}"
        yield "" if np.isnan(of_budget).any() else counts


def run_all(report: Report, options: Any, cache: Cache) -> dict[str, list[str]]:
    """Run what is missing, and return the names of data sets by the title of their tables."""
    found: dict[str, list[str]] = {}
    marks = [mark for mark in ("noise", "quick") if getattr(options, mark)]
    fits = QUICK_BUDGETS if options.quick else BUDGETS
    for folder in ["rbv2_rpart"] if options.quick else sorted(NUMBERS):
        scenario = scenario_at(str(DATA / "yahpo" / folder))
        apart = [] if options.quick else MISLEADING[folder]
        for name in data_sets(scenario, options.quick) + apart:
            label = ", ".join([f"{folder} {name}", *marks])
            task = Task(scenario, name, noise=1 if options.noise else None, fits=fits)
            run_missing(task, label, options, cache)
            if (label, 0, "reference") in cache.lines:
                in_suite = ["Published suite"] if name in SUITE[folder] else []
                usual = [*in_suite, "Suite and others"]
                for title in ["Where small levels mislead"] if name in apart else usual:
                    found.setdefault(title, []).append(label)
                report.write(f"{label} is done")
    report.write("")
    return found


def main() -> None:
    options = parse_options(
        __doc__,
        seeds=3,
        files={"cache": "file of results, gone on with if it is there"},
        noise="scores with the noise of five splits",
    )
    if not (DATA / "yahpo").is_dir():
        print(f"No surrogates in {DATA / 'yahpo'}: nothing to do. Set SKLEARN_HALVING_DATA.")
        return
    report = Report("Surrogates of YAHPO Gym", options)
    fits = QUICK_BUDGETS if options.quick else BUDGETS
    scale = 5 if options.noise else 1
    columns = " | ".join(["search", *(f"{budget * scale} fits" for budget in fits)])
    seconds: dict[str, dict[str, float]] = {}
    with TemporaryDirectory() as folder:
        cache = Cache(options.cache or Path(folder) / "results.jsonl")
        for title, labels in run_all(report, options, cache).items():
            write_tables(report, title, table_of(cache, labels, len(fits)), columns)
            for (label, _, name), line in cache.lines.items():
                if label in labels and name != "reference":
                    seconds.setdefault(name, {})[label] = line["seconds"]
    rows = [[name, f"{np.mean([*taken.values()]):.1f}"] for name, taken in seconds.items()]
    report.table("Seconds for all budgets of one data set", "search | seconds", rows)
    report.save()


if __name__ == "__main__":
    with one_thread():
        main()
