"""Overtuning in `compare.py`: does a search end on a candidate worse than one it had before?

A search overtunes if the test score of its last incumbent is below that of an earlier one
(Schneider, Bischl and Feurer, AutoML 2025, arXiv 2506.19540). Severe overtuning loses more than
everything that was gained since the first incumbent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _common import Report
from _compare_choices import CHOSEN
from _compare_searches import AGAIN, OURS, SKLEARN, TIMES


def write_overtuning(report: Report, lines: list[dict[str, Any]]) -> None:
    """Print how often each search overtuned until T, and what other choices change."""
    by_search: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        if line["search"] != "reference" and line["seed"] >= 0:
            by_search.setdefault(line["search"], []).append(line)
    names = dict.fromkeys((*OURS, *SKLEARN, *by_search))
    names = [one for one in names if one in by_search and one != AGAIN]
    rows = [[name, *_shares(by_search[name])] for name in names]
    columns = (
        "search | searches | overtuned, % | worse than the first incumbent, % "
        "| mean loss, % of the gain, if overtuned"
    )
    report.table("Overtuning until T", columns, rows)
    for name in names:
        _write_choices(report, name, by_search[name])


def _shares(lines: list[dict[str, Any]]) -> list[str]:
    """Return the shares of searches that overtuned and that overtuned severely."""
    lost, gained = [], []
    for line in lines:
        known = [x for x in line["by_time"][: TIMES.index(1.0) + 1] if x is not None]
        known = [x for x in known if np.isfinite(x)]
        if known:
            lost.append(max(known) - known[-1])
            gained.append(max(known) - known[0])
    loss, gain = np.array(lost), np.array(gained)
    is_over, is_severe = loss > 1e-12, loss > gain + 1e-12
    cells = [
        f"{100 * part.mean():.0f} ({100 * _error(part):.0f})" for part in (is_over, is_severe)
    ]
    ratio = np.minimum(loss[is_over & (gain > 0)] / gain[is_over & (gain > 0)], 1)
    return [str(len(loss)), *cells, f"{100 * ratio.mean():.0f}" if len(ratio) else "-"]


def _error(values: Any) -> float:
    return float(np.std(values) / np.sqrt(len(values)))


def _write_choices(report: Report, name: str, lines: list[dict[str, Any]]) -> None:
    """Print test scores of other choices, and what reported scores exceed them by."""
    lines = [line for line in lines if len(line.get("choices", {})) > 1]
    if not lines:
        return
    base = np.array([line["choices"][CHOSEN] for line in lines])
    rows = []
    for rule in lines[0]["choices"]:
        gain = 100 * (np.array([line["choices"][rule] for line in lines]) - base)
        won, lost = int((gain > 1e-9).sum()), int((gain < -1e-9).sum())
        rows.append([rule, f"{np.nanmean(gain):+.2f} ({_error(gain):.2f})", str(won), str(lost)])
    columns = "choice | test score minus that of the choice, points | better | worse"
    report.table(f"Other choices among the fits of {name}", columns, rows)
    rows = []
    for claim in lines[0]["claims"]:
        excess = 100 * (np.array([line["claims"][claim] for line in lines]) - base)
        rows.append([claim, f"{np.nanmean(excess):+.2f} ({_error(excess):.2f})"])
    columns = "reported score | mean excess over the test score, points"
    report.table(f"Reported scores of {name}", columns, rows)
