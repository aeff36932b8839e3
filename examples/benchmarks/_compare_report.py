"""The tables of `compare.py`, in Markdown, below what a page already says by hand."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from _common import Report
from _compare_costs import write_memory, write_overhead
from _compare_names import LEGEND, shortened, versions
from _compare_overtuning import write_overtuning
from _compare_partial import write_partial
from _compare_searches import AGAIN, FIT_SHARES, GRID, OURS, RANDOM, SKLEARN, TIMES
from _compare_statistics import (
    Array,
    Results,
    goal_of_grid,
    goal_of_random,
    interval,
    mean_time_to,
    ranks,
    read,
    time_to,
)
from _compare_tasks import LONG, THRICE

MOMENTS = (0.1, 0.2, 0.5, 1.0)
TOLERANCES = (0.0, 0.01, 0.05)
MARKER = "<!-- Below this line everything is written by examples/benchmarks/compare.py. -->"
SHARE_NAMES = {0.05: "T/20", 0.1: "T/10", 0.2: "T/5", 0.5: "T/2", 1.0: "T"}


def write_report(lines: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """Print all tables, and write them below the marker of the page that was asked for."""
    output, options.output = options.output, None
    report = Report("All searches and their peers", options)
    long, thrice = ([x for x in lines if x["task"].endswith(end)] for end in (LONG, THRICE))
    usual = [line for line in lines if not line["task"].endswith((LONG, THRICE))]
    found = read(usual)
    if found.tasks:
        write_usual(report, found, usual)
    elif not (long or thrice):
        raise SystemExit("There is no result to report.")
    if long:
        write_others(report, read(long), "long fits")
    if thrice:
        write_others(report, read(thrice), "three times the time")
    if options.images is not None and found.tasks:
        from _compare_plots import save_plots

        save_plots(found, options.images)
    if output is not None:
        _save_below_marker(report, output)


def write_usual(report: Report, found: Results, lines: list[dict[str, Any]]) -> None:
    """Print the tables of the 40 tasks."""
    for write in (
        *(write_setting, write_targets, write_regret, write_ranks, write_pairs),
        *(write_times, write_grid_times, write_fits, write_partial, write_overhead),
        write_scores,
    ):
        write(report, found)
    write_overtuning(report, lines)
    write_memory(report, [line for line in lines if line["seed"] < 0])


def _save_below_marker(report: Report, output: Path) -> None:
    before = ""
    if output.exists():
        before, marker, _ = output.read_text(encoding="utf-8").partition(MARKER)
        if not marker:
            raise SystemExit(f"{output} has no line {MARKER!r}: it would be overwritten.")
    # The page has a title of its own, and says which commands it took.
    text = "\n".join(report.lines[4:])
    output.write_text(f"{before}{MARKER}\n\n{text}\n", encoding="utf-8")


def write_others(report: Report, found: Results, label: str) -> None:
    """Print the same of a few other tasks."""
    report.write(f"## {label.capitalize()}", "")
    write_setting(report, found)
    found.label = f", {label}"
    write_regret(report, found)
    _write_times(report, found, goal_of_random(found), "RandomizedSearchCV at T")
    write_scores(report, found)


def everywhere(found: Results) -> list[str]:
    """Return the searches that were run on more than half of the tasks."""
    known = ~np.isnan(found.mean_regret()[..., 0])
    return [one for one, row in zip(found.searches, known, strict=True) if row.mean() > 0.5]


def complete(found: Results) -> list[str]:
    """Return the searches, ours first, then scikit-learn's, then the others."""
    names = [one for one in everywhere(found) if one != AGAIN]
    own = [one for one in OURS if one in names]
    theirs = [one for one in names if one in SKLEARN]
    return own + theirs + [one for one in names if one not in own + theirs]


def write_setting(report: Report, found: Results) -> None:
    """Say what was run."""
    of_random = found.of(RANDOM)
    limits = found.limit[of_random]
    n_runs = int((~np.isnan(found.limit)).sum())
    full = int((~np.isnan(limits)).all(axis=0).sum())
    report.write(
        f"{len(found.tasks)} tasks, {len(found.seeds)} seeds ({full} of them on every task), "
        f"{n_runs} searches. T, the time that RandomizedSearchCV took, was "
        f"{np.nanmedian(limits):.1f} s in the median ({np.nanmin(limits):.1f} to "
        f"{np.nanmax(limits):.1f} s); a fit and its scoring took "
        f"{1e3 * np.nanmedian(limits / found.n_fits[of_random]):.0f} ms in the median. "
        f"Peers: {versions()}.",
        "",
    )


def write_targets(report: Report, found: Results) -> None:
    """Hold every search of ours against what it was to reach."""
    goal, rows = goal_of_random(found), []
    names = complete(found)
    peers = [one for one in names if one not in OURS]
    control = [one for one in found.searches if one == AGAIN]
    for name in [*names, *control]:
        cells: list[Any] = []
        for tolerance in (0.0, 0.01):
            shares = time_to(found, name, goal, tolerance)
            shares = shares[~np.isnan(shares)]
            n_late = int((shares > 1.1).sum())
            cells += [_share(np.median(shares)), f"{n_late} of {len(shares)}"]
        rows.append([name, *cells, *_rank_cells(found, name, peers)])
    report.table(
        "Against the targets",
        "search | median time to RandomizedSearchCV's quality | tasks later than 1.1 T or never "
        "| median with 1 % tolerance | later than 1.1 T "
        "| median rank at T/5 | T/2 | T | best peer's at T/5 | T/2 | T",
        rows,
    )
    report.write(
        "Each search is ranked among the peers only, without the other searches of this package.",
        "",
    )


def _rank_cells(found: Results, name: str, peers: list[str]) -> list[str]:
    """Return median ranks of a search among the peers, and of the best peer beside it."""
    own, best = [], []
    names = list(dict.fromkeys([name, *peers]))
    for share in (0.2, 0.5, 1.0):
        medians = dict(zip(names, _nanmedian(ranks(found, names, share)), strict=True))
        own.append(f"{medians[name]:.1f}")
        best.append(f"{min(medians[one] for one in peers if one != name):.1f}")
    return own + best


def _nanmedian(values: Array) -> Array:
    return np.array([np.median(row[~np.isnan(row)]) for row in values])


def _share(value: float) -> str:
    return "never" if np.isinf(value) else f"{value:.2f} T"


def write_regret(report: Report, found: Results) -> None:
    """Print the mean regret at some moments."""
    means = found.mean_regret()
    rows = []
    for name in complete(found):
        cells = [_with_interval(means[found.of(name), :, TIMES.index(m)]) for m in MOMENTS]
        rows.append([name, *cells])
    columns = " | ".join(["search", *(SHARE_NAMES[m] for m in MOMENTS)])
    title = f"Mean normalized regret{found.label}: 0 best, 1 a random candidate"
    report.table(title, columns, rows)


def _with_interval(values: Array, statistic: Any = np.mean, digits: int = 2) -> str:
    values = values[~np.isnan(values)]
    low, high = interval(values, statistic)
    return f"{statistic(values):.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def write_ranks(report: Report, found: Results) -> None:
    """Print mean and median ranks."""
    names = complete(found)
    for statistic, title in ((np.mean, "Mean"), (np.median, "Median")):
        tables = [ranks(found, names, moment) for moment in MOMENTS]
        rows = [
            [name, *(_with_interval(one[i], statistic, digits=1) for one in tables)]
            for i, name in enumerate(names)
        ]
        columns = " | ".join(["search", *(SHARE_NAMES[m] for m in MOMENTS)])
        report.table(f"{title} rank among {len(names)} at equal wall time", columns, rows)


def write_pairs(report: Report, found: Results) -> None:
    """Print each search of ours against each peer, task by task."""
    names, means = complete(found), found.mean_regret()
    own = [one for one in names if one in OURS]
    rows = []
    for peer in [one for one in found.searches if one not in OURS]:
        cells = []
        for name in own:
            shares = []
            for moment in (0.2, 1.0):
                at = TIMES.index(moment)
                extra = means[found.of(peer), :, at] - means[found.of(name), :, at]
                extra = extra[~np.isnan(extra)]
                won, lost = int((extra > 1e-9).sum()), int((extra < -1e-9).sum())
                shares.append(f"{won}-{len(extra) - won - lost}-{lost}")
            cells.append("; ".join(shares))
        rows.append([peer, *cells])
    columns = " | ".join(["tasks won-equal-lost against, at T/5; at T", *own])
    report.table("Task by task", columns, rows)


def write_times(report: Report, found: Results) -> None:
    """Print when each task had the quality of RandomizedSearchCV, ours in full."""
    _write_times(report, found, goal_of_random(found), "RandomizedSearchCV at T")


def write_grid_times(report: Report, found: Results) -> None:
    """The same for GridSearchCV over the whole grid, by its own time."""
    if GRID not in found.searches:
        return
    goal = goal_of_grid(found)
    title = "GridSearchCV over its whole grid"
    _write_summary(report, found, goal, title)
    ratio = found.seconds[found.of(GRID)] / found.limit[found.of(GRID)]
    report.write(f"The whole grid took {np.nanmedian(ratio):.2f} T in the median.", "")


def _write_summary(report: Report, found: Results, goal: Array, title: str) -> None:
    rows = []
    for name in [*complete(found), *(one for one in found.searches if one == AGAIN)]:
        cells = []
        for tolerance in TOLERANCES:
            shares = time_to(found, name, goal, tolerance)
            shares = shares[~np.isnan(shares)]
            never = int(np.isinf(shares).sum())
            cells += [_share(np.median(shares)), str(never)]
        lasting = time_to(found, name, goal, 0.01, for_good=True)
        cells.append(_share(np.median(lasting[~np.isnan(lasting)])))
        cells.append(_share(mean_time_to(found, name, goal)))
        rows.append([name, *cells])
    columns = (
        "search | median, no tolerance | tasks never | median, 1 % | never | median, 5 % | never "
        "| median, 1 %, and from then on | the mean over all tasks"
    )
    report.table(f"Time to the test quality of {title}{found.label}", columns, rows)
    report.write(
        "The first columns are computed for each task, where test scores are noisy: a search may "
        "reach the goal by chance, as RandomizedSearchCV itself does. The last column is less "
        "noisy: it is the time at which the mean regret over all tasks reaches that of the goal.",
        "",
    )


def _write_times(report: Report, found: Results, goal: Array, title: str) -> None:
    _write_summary(report, found, goal, title)
    own = [one for one in complete(found) if one in OURS]
    columns = [time_to(found, name, goal, tolerance) for tolerance in (0, 0.01) for name in own]
    rows = [
        [task, *("-" if np.isnan(c[t]) else _share(c[t]) for c in columns)]
        for t, task in enumerate(found.tasks)
    ]
    heads = [
        f"{shortened(name)}{', 1 %' if tolerance else ''}"
        for tolerance in (0, 0.01)
        for name in own
    ]
    title = f"The same, task by task: {title}{found.label}"
    report.table(title, " | ".join(["task", *heads]), rows)


def write_fits(report: Report, found: Results) -> None:
    """Print the mean regret after so many fits, however small they were."""
    means = found.mean_regret(found.by_fits)
    rows = [
        [name, *(_with_interval(means[found.of(name), :, i]) for i in range(len(FIT_SHARES)))]
        for name in complete(found)
    ]
    heads = [f"{100 * share:.0f} %" for share in FIT_SHARES]
    columns = " | ".join(["search; fits, of those of RandomizedSearchCV", *heads])
    report.table("Mean normalized regret against fits", columns, rows)


def write_scores(report: Report, found: Results) -> None:
    """Print the test score of every search on every task."""
    names = [one for one in complete(found) if one in OURS]
    names += [one for one in found.searches if one not in OURS]
    rows = []
    for task in found.tasks:
        about = found.about[task]
        cells = []
        for name in names:
            scores = np.array(found.scores.get((name, task), []))
            known = len(scores) and not np.isnan(scores).all()
            cells.append(f"{np.nanmean(scores):.4f}" if known else "-")
        ends = f"{np.mean(about['best']):.4f} | {np.mean(about['median']):.4f}".split(" | ")
        size = f"{about['n_train']} + {about['n_test']}"
        rows.append([task, about["scoring"], size, *ends, *cells])
    columns = "task | score | rows, training + test | best seen | median random candidate"
    title = f"Test scores at T, means over seeds{found.label}"
    report.table(title, " | ".join([columns, *map(shortened, names)]), rows)
    report.write(LEGEND + ".", "")
