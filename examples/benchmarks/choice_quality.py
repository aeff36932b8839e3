"""How good the choice is, on real scores, against the number of fits.

    python examples/benchmarks/choice_quality.py [--quick] [--replays N] [--only TEXT]
        [--cache FOLDER] [--output FILE.md]

Searches are replayed on recorded tables of scores (see `_recorded.py`; made at the first run,
in about a quarter of an hour, and kept in ``--cache``). In each replay the splits are drawn
anew from those of the table, with replacement, and the candidates come in a random order.
K is the number of candidates.

A candidate's true score is its mean over all that was recorded. The standard error that counts
as "as good as the best" is a user's: the best candidate's standard deviation over five folds
divided by the root of 5. The regret is how far the true score of the choice is below the best;
it is given in units of that standard error, so that data sets can be averaged. Behind each
figure, in brackets, is its own standard error over replays (for GridSearchCV and
RandomizedSearchCV over partitions, for HalvingGridSearchCV over seeds).
"""

from __future__ import annotations

import time

import numpy as np
from _common import CLAIM_COLUMNS, RECORDED, Report, claim, one_thread, parse_options
from _recorded import Recorded, recorded
from _recorded_tasks import NAMES, QUICK_NAMES, WINE_QUALITY, load_wine_quality
from _replays import (
    GRID,
    LONGER,
    WAYS,
    Curves,
    Quality,
    all_curves,
    needed,
    others,
    standard_error,
)


def write_task(report: Report, task: Recorded, curves: Curves, found: dict[str, Quality]) -> None:
    """Print how often each way chose well, and its mean regret."""
    columns = " | ".join(["way", *(f"{m:.3g} K" for m in LONGER), "elsewhere"])
    report.write(
        f"{task.name}: {task.n_candidates} candidates, {task.metric}, {task.splits.shape[1]} "
        f"splits, {task.folds.shape[1]} partitions; best true score {task.truth.max():.4f}, "
        f"standard error {task.standard_error:.4f}, "
        f"{(task.truth >= task.truth.max() - task.standard_error).sum()} candidates within it; "
        f"recorded in {task.seconds:.0f} s of CPU.",
        "",
    )
    for title, show in (("within one standard error", _within), ("mean regret", _regret)):
        rows = [
            [name, *(show(curve.get(m)) for m in LONGER), ""] for name, curve in curves.items()
        ]
        for name, one in found.items():
            cells = [show(one) if one.multiple == m else "" for m in LONGER]
            rest = "" if one.multiple in LONGER else f"{one.multiple:.2f} K: {show(one)}"
            rows.append([name, *cells, rest])
        report.table(f"{task.name}: {title}", columns, rows)


def _within(one: Quality | None) -> str:
    return "" if one is None else f"{one.within.mean():.3f} ({standard_error(one.within):.3f})"


def _regret(one: Quality | None) -> str:
    return "" if one is None else f"{one.mean_regret:.4f} ({one.error:.4f})"


def write_claims(report: Report, curves: dict[str, Curves], grids: dict[str, Quality]) -> None:
    """Print how many fits GridSearchCV's quality takes, and what common splits save."""
    rows = []
    for name in ("likelihood", "likelihood, folds of cv=5", "pooled", "uniform in stages"):
        for task, grid in grids.items():
            if curve := curves[task].get(name):
                spread = np.array([1, 0, -1]) * grid.error
                values = [needed(curve, goal) for goal in grid.mean_regret + spread]
                by_misses = needed(curve, grid.misses, "misses")
                row = claim(f"{name}, {task}", np.nan_to_num(values, nan=np.inf), "<= 1.67")
                rows.append([*row, by_misses])
    report.write(
        "Multiple of K with which the mean regret is GridSearchCV(cv=5)'s (5 K): at its mean, "
        "and one standard error above and below; then with which as many choices are within one "
        "standard error of the best. The target is a third of 5 K.",
        "",
    )
    columns = f"{CLAIM_COLUMNS} | by share within"
    report.table("Fits for the quality of GridSearchCV", columns, rows)
    rows = []
    pairs = (
        ("likelihood", "likelihood, own splits"),
        ("likelihood", "likelihood, common splits as if independent"),
        ("all alike", "all alike, own splits"),
    )
    for fast, slow in pairs:
        for m in (1, 2, 3, 5, 10):
            ratios = [
                needed(of_task[slow], of_task[fast][m].mean_regret) / m
                for of_task in curves.values()
            ]
            cells = ["beyond" if np.isnan(ratio) else f"{ratio:.1f}" for ratio in ratios]
            rows.append([f"{slow} / {fast} at {m} K", *cells])
    columns = " | ".join(["fits for the same mean regret", *curves])
    report.table("What common splits save", columns, rows)


def write_summary(report: Report, which: str, curves: dict[str, Curves]) -> None:
    """Print regrets averaged over some data sets."""
    rows = []
    for name in WAYS:
        cells = []
        for m in LONGER:
            of_tasks = [c[name][m] for c in curves.values() if m in c.get(name, {})]
            is_whole = len(of_tasks) == len(curves)
            regret = np.mean([one.mean_regret for one in of_tasks]) if is_whole else 0
            error = np.sqrt(sum(one.error**2 for one in of_tasks)) / len(curves)
            cells.append(f"{regret:.4f} ({error:.4f})" if is_whole else "")
        rows.append([name, *cells])
    columns = " | ".join(["way", *(f"{m:.3g} K" for m in LONGER)])
    report.table(f"Mean regret, average of {which}", columns, rows)


def main() -> None:
    """Print a table for each data set, then what follows from them."""
    options = parse_options(
        __doc__,
        seeds=500,
        quick_seeds=100,
        name="replays",
        files={"cache": "folder of the tables"},
    )
    report = Report("Quality of choice", options)
    report.write((__doc__ or "").partition("K is the number")[2].partition("\n\n")[2])
    started = time.perf_counter()
    curves, grids = {}, {}
    with one_thread():
        for name in QUICK_NAMES if options.quick else NAMES:
            if options.only not in name:
                continue
            if name == WINE_QUALITY and load_wine_quality() is None:
                report.write("No wine quality: its files are not in SKLEARN_HALVING_DATA.", "")
                continue
            task = recorded(name, options.cache or RECORDED, quick=options.quick)
            found = others(task)
            curves[name], grids[name] = all_curves(task, options.replays), found[GRID]
            write_task(report, task, curves[name], found)
    if curves:
        write_summary(report, "all data sets", curves)
        with_folds = {k: v for k, v in curves.items() if k != WINE_QUALITY}
        if 0 < len(with_folds) < len(curves):
            write_summary(report, "the classification sets", with_folds)
        write_claims(report, curves, grids)
    report.write(f"Took {time.perf_counter() - started:.0f} s.")
    report.save()


if __name__ == "__main__":
    main()
