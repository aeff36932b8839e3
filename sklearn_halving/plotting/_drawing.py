"""What all displays draw alike: axes, colours, marks of what an axis leaves out."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from sklearn_halving.plotting._labels import shortened

OTHERS = "#4477aa"
WINNER = "#d55e00"
PALE = "#c8d5e3"
GREY = "0.45"
MAX_LABELS = 30
"""Candidates whose names are written on an axis; more would not be legible."""
ROUND_STEPS = (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
"""Between numbers on an axis of candidates."""


def import_pyplot(display: str) -> ModuleType:
    """Return ``matplotlib.pyplot``.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{display}.plot draws with matplotlib, which cannot be imported ({error}). Install "
            "it with `pip install sklearn-halving[plot]`."
        ) from error
    pyplot: ModuleType = plt
    return pyplot


def axes_for(display: str, ax: Any, width: float = 6.4, height: float = 4.0) -> Any:
    """Return the axes given, else those of a new figure of this size in inches."""
    plt = import_pyplot(display)
    if ax is not None:
        return ax
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def height_of(n_rows: int) -> float:
    """Return the height in inches of a figure with a row for each candidate."""
    return 1.2 + 0.26 * max(n_rows, 4) if n_rows <= MAX_LABELS else 5.0


def label_candidates(ax: Any, labels: list[str]) -> None:
    """Give each candidate a row, best on top; with its name where there is room."""
    n_rows = len(labels)
    margin = max(0.6, 0.02 * n_rows)
    ax.set_ylim(n_rows - 1 + margin, -margin)
    if n_rows <= MAX_LABELS:
        ax.set_yticks(range(n_rows), labels, fontsize="small")
    else:
        step = next(s for s in ROUND_STEPS if n_rows <= 8 * s or s == ROUND_STEPS[-1])
        places = [1, *range(step, n_rows + 1, step)]
        ax.set_yticks([place - 1 for place in places], places)
        ax.set_ylabel(f"{n_rows} candidates, best first")


def legend_beside(ax: Any, **params: Any) -> None:
    """Put the legend beside the axes: data are everywhere in them."""
    ax.legend(
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        fontsize="small",
        title_fontsize="small",
        **params,
    )


def score_range(scores: np.ndarray) -> tuple[float, float] | None:
    """Return where to cut an axis of scores; None where nothing needs to be cut.

    Scores have no lower end: one candidate that diverged would press all others into one
    line. The better three quarters are always within the range.

    Parameters
    ----------
    scores : ndarray
        All scores; NaN is left out.
    """
    known = scores[~np.isnan(scores)]
    if len(known) < 4:
        return None
    top, quarter = float(known.max()), float(np.quantile(known, 0.25))
    # At least a share of the score itself: accuracies from 0 to 1 are never cut.
    spread = max(top - quarter, 0.05 * max(abs(top), abs(quarter))) or 1.0
    inside = known[known >= top - 20 * spread]
    if len(inside) == len(known):
        return None
    margin = 0.05 * max(top - float(inside.min()), spread)
    return float(inside.min()) - margin, top + margin


def note(ax: Any, *texts: str) -> None:
    """Say above the axes what they leave out."""
    text = "; ".join(text for text in texts if text)
    if text:
        ax.set_title(text, loc="right", fontsize="small", color=GREY)


def count_of(number: int, one: str, many: str) -> str:
    """Return a number with its noun; nothing for 0."""
    return "" if number == 0 else f"{number} {one if number == 1 else many}"


def wrapped(label: str, length: int = 28) -> str:
    """Return a label of a y axis in two lines where one could be longer than the axis."""
    if len(label) <= length:
        return label
    head, _, name = label.rpartition(" ")
    return "\n".join(part for part in (head, shortened(name, 40)) if part)


def set_log_ticks(ax: Any, values: np.ndarray) -> None:
    """Make the x axis logarithmic, with so many numbers on it as do not run into each other."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_minor_formatter(NullFormatter())
    span = float(values.max() / values.min())
    if span < 300:  # powers of ten alone would be one or two
        steps = (1, 2, 5) if span < 30 else (1, 3)
        ax.xaxis.set_major_locator(LogLocator(base=10, subs=steps))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:.4g}"))


def set_log_levels(ax: Any, levels: np.ndarray) -> None:
    """Put levels of a resource on the x axis: evenly spaced if they grow by factors."""
    levels = np.unique(levels)
    if len(levels) > 1 and levels[0] > 0 and levels[-1] / levels[0] >= 4:
        ax.set_xscale("log")
        ax.minorticks_off()
    if len(levels) <= 8:
        ax.set_xticks(levels, [f"{level:.4g}" for level in levels], fontsize="small")
    if len(levels) == 1:
        ax.set_xlim(0.5 * levels[0], 1.5 * levels[0])
