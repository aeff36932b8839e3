"""What searches cost beside their fits: time and memory, as tables of `compare.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import Report
from _compare_statistics import Results


def write_overhead(report: Report, found: Results) -> None:
    """Print what a search takes beside fits and their scoring."""
    rows = []
    for name in found.searches:
        place = found.of(name)
        milliseconds = 1e3 * found.overhead[place]
        milliseconds = milliseconds[~np.isnan(milliseconds)]
        fits = found.n_fits[place]
        if len(milliseconds):
            n_fits = f"{np.nanmedian(fits):.0f}"
            rows.append([name, np.median(milliseconds), milliseconds.max(), n_fits])
    columns = "search | ms a fit beside the fit: median | largest | fits, median"
    report.table("Overhead", columns, rows)


def write_memory(report: Report, lines: Sequence[dict[str, Any]]) -> None:
    """Print the memory that was measured, if it was."""
    tasks = list(dict.fromkeys(line["task"] for line in lines))
    rows: dict[str, dict[str, str]] = {}
    for line in lines:
        text = f"{line['after'] - line['before']:.0f} ({line['after']:.0f})"
        rows.setdefault(line["search"], {})[line["task"]] = text
    if rows:
        report.table(
            "Peak memory in MiB on top of imports and data (and of the whole process)",
            " | ".join(["search", *tasks]),
            [[name, *(row.get(task, "-") for task in tasks)] for name, row in rows.items()],
        )
