"""The table of `compare.py` for searches that can be run on some of the tasks only."""

from __future__ import annotations

import numpy as np
from _common import Report
from _compare_searches import AGAIN, HYPERBAND, RANDOM, TIMES
from _compare_statistics import Results


def write_partial(report: Report, found: Results) -> None:
    """Print the mean regret of such searches beside two others, on the same tasks."""
    means = found.mean_regret()
    shares = (0.1, 0.2, 0.5, 1.0)
    for name in found.searches:
        is_run = ~np.isnan(means[found.of(name), :, 0])
        if name == AGAIN or not 0 < is_run.mean() <= 0.5:
            continue
        rows = []
        for one in (name, HYPERBAND, RANDOM):
            values = means[found.of(one)][is_run]
            rows.append([one, *(f"{np.nanmean(values[:, TIMES.index(s)]):.2f}" for s in shares)])
        title = f"Mean normalized regret on the {int(is_run.sum())} tasks that {name} can do"
        report.table(title, "search | T/10 | T/5 | T/2 | T", rows)
