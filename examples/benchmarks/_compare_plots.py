"""The plots of `compare.py`: regret over time and over fits, ranks, and time to quality."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt
from _compare_report import complete
from _compare_searches import FIT_SHARES, OURS, TIMES
from _compare_statistics import Results, goal_of_random, interval, ranks, time_to

WIDTH = 8.5
OUR_COLOURS = ("#c1272d", "#e8862e", "#0072b2", "#2f9e62", "#7b3fa0")
PEER_COLOURS = (
    *("#222222", "#888888", "#5b3a1e", "#b08d57", "#1fb5c9", "#e377c2", "#bcbd22"),
    *("#4d648d", "#9aa7b8"),
)


def save_plots(found: Results, folder: Path) -> None:
    """Write one file for each plot."""
    folder.mkdir(parents=True, exist_ok=True)
    styles = _styles(complete(found))
    for name, draw in (
        ("benchmark_regret_time.png", draw_regret_over_time),
        ("benchmark_regret_fits.png", draw_regret_over_fits),
        ("benchmark_ranks.png", draw_ranks),
        ("benchmark_time_to_quality.png", draw_time_to_quality),
    ):
        figure = draw(found, styles)
        figure.savefig(folder / name, dpi=110)
        plt.close(figure)


def _styles(names: list[str]) -> dict[str, dict[str, Any]]:
    own = [one for one in names if one in OURS]
    peers = [one for one in names if one not in OURS]
    styles: dict[str, dict[str, Any]] = {}
    for name, colour in zip(own, OUR_COLOURS, strict=False):
        styles[name] = {"color": colour, "linewidth": 2.4}
    for i, name in enumerate(peers):
        colour = PEER_COLOURS[i % len(PEER_COLOURS)]
        styles[name] = {"color": colour, "linewidth": 1.4, "linestyle": "--"}
    return styles


def draw_regret_over_time(found: Results, styles: dict[str, Any]) -> Any:
    """Draw the mean normalized regret against t / T."""
    means = found.mean_regret()
    figure, axes = plt.subplots(figsize=(WIDTH, 5), layout="constrained")
    for name, style in styles.items():
        curve = _mean_of_tasks(means[found.of(name)])
        axes.plot(TIMES, curve, label=name, **style)
        if name in list(styles)[:1]:
            rows = means[found.of(name)]
            ends = np.array([interval(rows[:, i]) for i in range(len(TIMES))])
            axes.fill_between(TIMES, *ends.T, color=style["color"], alpha=0.15, linewidth=0)
    axes.set(xscale="log", xlabel="wall time, shares of T", ylabel="mean normalized regret")
    axes.set_xticks([0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1])
    axes.set_xticklabels(["T/100", "T/50", "T/20", "T/10", "T/5", "T/2", "T"])
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    return figure


def draw_regret_over_fits(found: Results, styles: dict[str, Any]) -> Any:
    """Draw the mean normalized regret against the number of fits."""
    means = found.mean_regret(found.by_fits)
    figure, axes = plt.subplots(figsize=(WIDTH, 4.5), layout="constrained")
    for name, style in styles.items():
        axes.plot(FIT_SHARES, _mean_of_tasks(means[found.of(name)]), label=name, **style)
    axes.set(
        xscale="log",
        xlabel="fits, small ones counted as whole ones, shares of those of RandomizedSearchCV",
        ylabel="mean normalized regret",
    )
    axes.set_xticks(FIT_SHARES)
    axes.set_xticklabels([f"{100 * share:.0f} %" for share in FIT_SHARES])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    return figure


def draw_ranks(found: Results, styles: dict[str, Any]) -> Any:
    """Draw mean ranks with their intervals, at three moments."""
    names = list(styles)
    figure, panels = plt.subplots(
        1, 3, figsize=(WIDTH, 0.32 * len(names) + 1.2), sharey=True, layout="constrained"
    )
    for axes, (share, title) in zip(panels, ((0.2, "T/5"), (0.5, "T/2"), (1.0, "T")), strict=True):
        for i, (name, row) in enumerate(zip(names, ranks(found, names, share), strict=True)):
            known, colour = row[~np.isnan(row)], styles[name]["color"]
            axes.plot(interval(known), [i, i], color=colour, linewidth=2)
            axes.plot(known.mean(), i, "o", color=colour)
        axes.set(title=title, xlabel="mean rank")
        axes.grid(alpha=0.3, axis="x")
    panels[0].set_yticks(range(len(names)), names, fontsize=8)
    panels[0].invert_yaxis()
    return figure


def draw_time_to_quality(found: Results, styles: dict[str, Any]) -> Any:
    """Draw the share of tasks that have the quality of RandomizedSearchCV by a moment."""
    goal = goal_of_random(found)
    figure, panels = plt.subplots(
        1, 2, figsize=(WIDTH, 4.6), sharey=True, sharex=True, layout="constrained"
    )
    for axes, tolerance, title in zip(
        panels, (0.0, 0.01), ("at least as good", "within 1 % of the scale"), strict=True
    ):
        for name, style in styles.items():
            shares = time_to(found, name, goal, tolerance)
            shares = shares[~np.isnan(shares)]
            reached = [np.mean(shares <= t) for t in TIMES]
            label = name if axes is panels[0] else None
            axes.step(TIMES, reached, where="post", label=label, **style)
        axes.axvline(0.2, color="black", linewidth=0.8, linestyle=":")
        axes.set(xscale="log", title=title, xlabel="wall time, shares of T", ylim=(0, 1))
        axes.set_xticks([0.01, 0.1, 0.2, 1])
        axes.set_xticklabels(["T/100", "T/10", "T/5", "T"])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("share of tasks with the test quality of\nRandomizedSearchCV at T")
    figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure


def _mean_of_tasks(values: np.ndarray) -> np.ndarray:
    return values[~np.isnan(values).any(axis=1)].mean(axis=0)
