"""The tables of `compare.py`: mean regret at some moments, and overtuning.

Regret is given on a scale of its own for each task and seed: 0 is the best test score that any
search, or random candidate, had there at any moment; 1 is the median test score of 20 random
candidates. A search that has no candidate to return yet has regret 1, as if one had been taken
at random. Regrets are cut off at 2, so that one model that diverged does not decide a mean.

A search overtunes if the test score of its last incumbent is below that of an earlier one
(Schneider, Bischl and Feurer, AutoML 2025, arXiv 2506.19540). Severe overtuning loses more than
everything that was gained since the first incumbent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from _common import Report, interval
from _compare_searches import OURS, RANDOM, SKLEARN, TIMES
from _compare_tasks import LONG

LARGEST = 2.0
MOMENTS = {"T/10": 0.1, "T/5": 0.2, "T/2": 0.5, "T": 1.0}
Line = dict[str, Any]


def write_report(lines: list[Line], options: Any) -> None:
    """Print the tables of the usual tasks, and those of long fits."""
    report = Report("All searches and their peers", options)
    usual = [line for line in lines if not line["task"].endswith(LONG)]
    long = [line for line in lines if line["task"].endswith(LONG)]
    if usual:
        write_tasks(report, usual, "real_tasks.csv")
        write_overtuning(report, usual)
    if long:
        write_tasks(report, long, "long_fits.csv")


def by_task(lines: list[Line]) -> dict[tuple[str, int], dict[str, Line]]:
    """Return the lines of each task and seed, by search, if its random search is there."""
    found: dict[tuple[str, int], dict[str, Line]] = {}
    for line in lines:
        found.setdefault((line["task"], line["seed"]), {})[line["search"]] = line
    return {key: own for key, own in found.items() if RANDOM in own}


def regrets(own: dict[str, Line]) -> Iterator[tuple[str, list[float]]]:
    """Yield the regrets of each search on one task and seed, at `TIMES`."""
    drawn = [x if np.isfinite(x) else -np.inf for x in own["reference"]["scores"]]
    ran = {name: line["by_time"] for name, line in own.items() if name != "reference"}
    known = [x for scores in (*ran.values(), drawn) for x in scores if x is not None]
    known = [x for x in known if np.isfinite(x)]
    best, middle = max(known), max(float(np.median(drawn)), min(known))
    if best > middle:
        for name, scores in ran.items():
            values = [middle if x is None else x if np.isfinite(x) else -np.inf for x in scores]
            yield name, [min((best - x) / (best - middle), LARGEST) for x in values]


def write_tasks(report: Report, lines: list[Line], file: str) -> None:
    """Say what was run, and print mean regrets over tasks, those of a task over its seeds."""
    found: dict[str, dict[str, list[list[float]]]] = {}
    limits = []
    for (task, _), own in by_task(lines).items():
        limits.append(own[RANDOM]["seconds"])
        for name, values in regrets(own):
            found.setdefault(name, {}).setdefault(task, []).append(values)
    report.write(
        f"{len(limits)} tasks and seeds; T, the time that RandomizedSearchCV took, was "
        f"{np.median(limits):.1f} s in the median.",
        "",
    )
    rows = []
    for name in sorted(found, key=lambda name: (name not in OURS, name not in SKLEARN)):
        means = np.array([np.mean(seeds, axis=0) for seeds in found[name].values()])
        cells = []
        for share in MOMENTS.values():
            values = means[:, TIMES.index(share)]
            low, high = interval(values)
            cells.append(f"{values.mean():.2f} ({low:.2f} to {high:.2f})")
        rows.append([name, *cells])
    report.table("Mean normalized regret", " | ".join(["search", *MOMENTS]), rows, file)


def write_overtuning(report: Report, lines: list[Line]) -> None:
    """Print how often each search overtuned until T."""
    by_search: dict[str, list[list[float]]] = {}
    for line in lines:
        if line["search"] != "reference":
            known = [x for x in line["by_time"][: TIMES.index(1.0) + 1] if x is not None]
            known = [x for x in known if np.isfinite(x)]
            if known:
                by_search.setdefault(line["search"], []).append(known)
    columns = (
        "search | searches | overtuned, % | worse than the first incumbent, % "
        "| mean loss, % of the gain, if overtuned"
    )
    rows = [[name, len(runs), *_shares(runs)] for name, runs in by_search.items()]
    report.table("Overtuning until T", columns, rows, "overtuning.csv")


def _shares(runs: list[list[float]]) -> list[str]:
    """Return the shares of searches that overtuned and that overtuned severely, and the loss."""
    loss = np.array([max(scores) - scores[-1] for scores in runs])
    gain = np.array([max(scores) - scores[0] for scores in runs])
    is_over = loss > 1e-12
    cells = [
        f"{100 * part.mean():.0f} ({100 * part.std() / np.sqrt(len(part)):.0f})"
        for part in (is_over, loss > gain + 1e-12)
    ]
    counts = is_over & (gain > 0)
    ratio = np.minimum(loss[counts] / gain[counts], 1)
    return [*cells, f"{100 * ratio.mean():.0f}" if len(ratio) else "-"]
