"""Searches on surrogates of real runs that others made: how good is the choice after so many fits?

    python examples/benchmarks/yahpo.py [--quick] [--seeds N] [--noise] [--only TEXT]
        [--cache FILE.jsonl] [--csv]

YAHPO Gym (Pfisterer et al. 2022) predicts the accuracy of neural networks (lcbench), trees
(rbv2_rpart) and xgboost (rbv2_xgboost) for any parameters and any share of the epochs or rows.
The score of an estimator here is such a prediction, so that each search runs through its public
API. The data sets are the nine of the published suite that the three surrogates contain, and two
others with an even number for each surrogate. No search was tuned on these. Four data sets on
which small levels are known to mislead have tables of their own. The data are read from
../shared/data/yahpo, or from the folder yahpo in SKLEARN_HALVING_DATA. Needs the extra bench.

The regret of a choice is 0 for the best of 20,000 random candidates (or of all that any search
chose, if that is better) and 1 for their median, by the accuracy of full fits. A full fit costs 1,
a fit on a share of the resource that share. Searches that can be stopped at any time are run once,
and their choice is read off at each budget. The others are run anew for each budget. TPE is
Optuna's, with ``multivariate=True`` and ``group=True``.

With ``--noise`` there are five splits and each score has an error. Budgets are then five times as
many fits on single splits, and regrets are those of the true accuracy. Optuna,
RandomizedSearchCV and HalvingRandomSearchCV fit each candidate on all five splits.
VarianceHalvingSearchCV runs only with noise, because it decides how many splits a candidate needs.

One seed takes a few minutes without noise and about half an hour with it. Results are added to the
file of ``--cache`` line by line. What it contains is not run again, and the report is made from
all of it. ``--only`` runs those searches whose name contains the text, such as "lcbench 167168,
noise: Optuna TPE". A text that no name contains makes the report alone.
"""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _common import DATA, Cache, Report, interval, one_thread, parse_options
from _yahpo_peers import PEERS
from _yahpo_searches import BUDGETS, FOR_NOISE, SEARCHES, Params, Task
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
FILES = {
    "Published suite, 9 data sets, 3 seeds": "surrogates.csv",
    "Where small levels mislead, 4 data sets, 3 seeds": "surrogates_misleading.csv",
}
"""By title: files of the tables on the page of evidence."""
Array = np.ndarray
Labels = dict[str, list[str]]
"""By title of tables: names of data sets."""
ALL = SEARCHES | PEERS
Table = dict[str, Array]
"""By search: regrets of shape (n_data_sets, n_seeds, n_budgets), NaN where it was not run."""


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
    for name, run in ALL.items():
        for seed in range(options.seeds):
            if options.only not in f"{label}: {name}" or (label, seed, name) in cache.lines:
                continue
            if task.n_splits == 1 and name in FOR_NOISE:
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
    n_seeds = 1 + max(seed for label, seed, _ in cache.lines if label in labels)
    table = {name: np.full((len(labels), n_seeds, n_budgets), np.nan) for name in ALL}
    for i, label in enumerate(labels):
        own = {key: line["quality"] for key, line in cache.lines.items() if key[0] == label}
        best = max(map(max, own.values()))
        _, median, _ = own[label, 0, "reference"]
        for (_, seed, name), found in own.items():
            if name in table:
                regrets = (best - np.array(found)) / (best - median)
                table[name][i, seed, : len(found)] = regrets
    return {name: regrets for name, regrets in table.items() if was_run(regrets).any()}


def was_run(regrets: Array) -> Array:
    """Return whether there is a result, of shape (n_data_sets, n_seeds)."""
    known: Array = np.isfinite(regrets[..., 0])
    return known


def parts_of(table: Table) -> list[tuple[Array, int]]:
    """Return which data sets, and how many seeds, some search was run on; the largest part first.

    A search that was run on fewer than the others is compared with them on its part.
    """
    parts = {}
    for regrets in table.values():
        known = was_run(regrets)
        on = known.any(axis=1)
        n_seeds = int(known[on].sum(axis=1).min())
        parts[on.tobytes(), n_seeds] = (on, n_seeds)
    return sorted(parts.values(), key=lambda part: -part[0].sum() * part[1])


def write_tables(report: Report, cache: Cache, found: Labels, budgets: list[int]) -> None:
    """Write the tables of each list of data sets, those of a part only once."""
    written = set()
    for title, labels in found.items():
        table = table_of(cache, labels, len(budgets))
        for on, n_seeds in parts_of(table):
            names = tuple(np.array(labels)[on])
            if (names, n_seeds) in written:
                continue
            written.add((names, n_seeds))
            part = {name: regrets[on, :n_seeds] for name, regrets in table.items()}
            part = {name: regrets for name, regrets in part.items() if was_run(regrets).all()}
            seeds = "one seed" if n_seeds == 1 else f"{n_seeds} seeds"
            compare(report, f"{title}, {len(names)} data sets, {seeds}", part, budgets)


def compare(report: Report, title: str, table: Table, budgets: list[int]) -> None:
    """Write regrets and ranks, the best at the third budget first, and differences to TPE."""
    third = min(2, len(budgets) - 1)
    means = {name: regrets.mean(axis=1) for name, regrets in table.items()}
    order = sorted(means, key=lambda name: means[name].mean(axis=0)[third])
    ranks = dict(zip(order, mean_ranks([table[name][..., third] for name in order]), strict=True))
    fits = [f"{budget:,} fits" for budget in budgets]
    columns = " | ".join(["search", *fits, f"rank at {budgets[third]:,}"])
    rows = [[name, *map(with_error, means[name].T), with_interval(ranks[name])] for name in order]
    name = f"{title}: mean normalized regret (standard error), rank"
    report.table(name, columns, rows, FILES.get(title, ""))
    if TPE in table:
        others = [name for name in order if name != TPE]
        rows = [[name, *map(against, (means[name] - means[TPE]).T)] for name in others]
        title = f"{title}: minus TPE (standard error), on how many better / worse"
        report.table(title, " | ".join(["search", *fits]), rows)


def mean_ranks(regrets: list[Array]) -> Array:
    """Return ranks, 1 is best, means over seeds, of shape (n_searches, n_data_sets)."""
    ranks: Array = rankdata(np.array(regrets).round(9), axis=0, nan_policy="omit").mean(axis=-1)
    return ranks


def with_error(values: Array) -> str:
    """Return a mean over data sets with its standard error, nothing where it was not run."""
    if np.isnan(values).any():
        return ""
    if len(values) == 1:
        return f"{values[0]:.3f}"
    return f"{values.mean():.3f} ({values.std(ddof=1) / np.sqrt(len(values)):.3f})"


def with_interval(ranks: Array) -> str:
    """Return a mean over data sets with its interval."""
    low, high = interval(ranks)
    return f"{ranks.mean():.1f}" + ("" if np.isnan(low) else f" ({low:.1f} to {high:.1f})")


def against(difference: Array) -> str:
    """Return a mean difference, and on how many data sets it is below and above zero."""
    if np.isnan(difference).any():
        return ""
    counts = f"{(difference < -1e-4).sum()} / {(difference > 1e-4).sum()}"
    return f"{with_error(difference)}, {counts}"


def write_seconds(report: Report, cache: Cache, labels: set[str]) -> None:
    """Write how long the searches took, the surrogates included."""
    seconds: dict[str, list[float]] = {}
    for (label, _, name), line in cache.lines.items():
        if label in labels and name in ALL:
            seconds.setdefault(name, []).append(line["seconds"])
    rows = [[name, f"{np.mean(taken):.1f}"] for name, taken in seconds.items()]
    report.table("Seconds for all budgets of one data set", "search | seconds", rows)


def run_all(report: Report, options: Any, cache: Cache) -> Labels:
    """Run what is missing, and return the data sets of each table."""
    found: Labels = {}
    noise = ", noise" if options.noise else ""
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
                in_suite = [f"Published suite{noise}"] if name in SUITE[folder] else []
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
    with TemporaryDirectory() as folder:
        cache = Cache(options.cache or Path(folder) / "results.jsonl")
        found = run_all(report, options, cache)
    write_tables(report, cache, found, [budget * scale for budget in fits])
    write_seconds(report, cache, {label for labels in found.values() for label in labels})


if __name__ == "__main__":
    with one_thread():
        main()
