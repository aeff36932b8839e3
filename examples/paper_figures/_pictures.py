"""Pictures of the paper figures, saved to the folder pictures, which git ignores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

IMAGES = Path(__file__).resolve().parent / "pictures"
Line = tuple[Any, Any, Any]
"""Values of x, means, and standard errors."""


@dataclass(frozen=True)
class Panel:
    """One panel of a picture.

    Parameters
    ----------
    title, x_label, y_label : str
    lines : dict of str to tuple of three array-likes
        By name, the values of x, means and standard errors.
    log : str, default="x"
        Axes with a log scale: "", "x", "y" or "xy".
    """

    title: str
    x_label: str
    y_label: str
    lines: dict[str, Line]
    log: str = "x"


def save_lines(name: str, panels: list[Panel], height: float = 3) -> None:
    """Draw means with one standard error to each side, panels from left to right."""
    plt = _pyplot()
    fig, axes = plt.subplots(1, len(panels), figsize=(9, height), layout="constrained")
    for axis, panel in zip(np.atleast_1d(axes), panels, strict=True):
        for label, (x, mean, error) in panel.lines.items():
            axis.errorbar(x, mean, error, marker="o", markersize=3, capsize=2, label=label)
        axis.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
        axis.set(xscale="log" if "x" in panel.log else "linear")
        axis.set(yscale="log" if "y" in panel.log else "linear")
        axis.xaxis.set_minor_formatter("")
    np.atleast_1d(axes)[-1].legend(fontsize="small")
    _save(fig, name)


def save_bars(name: str, y_label: str, groups: list[str], bars: dict[str, Line]) -> None:
    """Draw bars side by side in groups; x is ignored, and NaN leaves a bar out."""
    fig, axis = _pyplot().subplots(figsize=(9, 3), layout="constrained")
    width, places = 0.8 / len(bars), np.arange(len(groups))
    for i, (label, (_, mean, error)) in enumerate(bars.items()):
        x = places + (i - (len(bars) - 1) / 2) * width
        axis.bar(x, mean, width, yerr=error, capsize=2, label=label)
    axis.set(ylabel=y_label)
    axis.set_xticks(places, groups, fontsize="small")
    axis.legend(fontsize="small")
    _save(fig, name)


def _pyplot() -> Any:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def _save(fig: Any, name: str) -> None:
    IMAGES.mkdir(exist_ok=True)
    fig.savefig(IMAGES / name, dpi=90)
    _pyplot().close(fig)
    print(f"\nDrawn: {IMAGES / name}")
