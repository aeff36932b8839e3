"""What displays share in drawing: the palette, axes, legends, and text that is short enough."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sklearn_halving._formatting import number_text, short_texts
from sklearn_halving._typing import Params
from sklearn_halving.samplers._space import is_finite_number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

CANDIDATES, WINNER, OWN = "#4a90d0", "#ee7b12", "#22a884"
"""The palette. It means the same in all displays, and can be read on white and on black."""
FULL: Params = {"color": CANDIDATES, "linewidths": 0, "alpha": 0.85}
PARTIAL: Params = {"edgecolors": CANDIDATES, "facecolors": "none", "linewidths": 1.1, "alpha": 0.8}
AT_EDGE = 0.02
"""Where points below the axis are drawn, as a fraction of its height."""
MAX_CATEGORIES = 6
"""Number of values up to which numbers among words are categories."""
WIDTH, HEIGHT = 7.2, 4.05
"""Inches of a figure. On a slide, its 10-point font appears as 18 points."""


def evenly(number: int, most: int) -> np.ndarray:
    """Return the places of up to ``most`` of a number of items, evenly spread."""
    return np.unique(np.linspace(0, number - 1, most).round().astype(int))


def set_values(axis: Axis, values: Sequence[object]) -> np.ndarray:
    """Scale an axis for the values of a parameter, and return their positions.

    A few words among many numbers, such as "scale", get separate places behind the numbers. So
    does 0, before a logarithmic scale.
    """
    numbers = np.array([float(value) if is_finite_number(value) else np.nan for value in values])
    if suits_log(np.unique(numbers[(numbers != 0) & ~np.isnan(numbers)])):
        numbers[numbers == 0] = np.nan
    texts = np.array(short_texts(values), dtype=object)
    is_word = np.isnan(numbers)
    known, words = np.unique(numbers[~is_word]), sorted(set(texts[is_word]))
    if words and len(known) <= MAX_CATEGORIES:
        number_of = dict(zip(texts[~is_word], numbers[~is_word], strict=True))
        categories = [*sorted(number_of, key=number_of.__getitem__), *words]
        set_categories(axis, categories)
        return np.array([categories.index(text) for text in texts], dtype=float)
    set_numbers(axis, known)
    if words:
        low, high = known[[0, -1]]
        axis.set_major_formatter(lambda v, place: number_text(v) if low <= v <= high else "")
        even = np.log(known) if suits_log(known) else known
        step, is_zero = 0.25 * np.ptp(even), np.array(words) == "0"
        places = np.where(is_zero, even[0] - step, even[-1] + step * np.cumsum(~is_zero))
        places = np.exp(places) if suits_log(known) else places
        axis.set_ticks(places, words, minor=True)
        numbers[is_word] = [places[words.index(text)] for text in texts[is_word]]
    return numbers


def set_categories(axis: Axis, names: list[str]) -> None:
    """Label an axis with the names of categories, rotated if they would overlap."""
    places = evenly(len(names), 24)
    is_x = axis is axis.axes.xaxis
    style: Params = {}
    if is_x and len(names) * max(map(len, names)) > 30:
        style = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
    axis.set_ticks(places, [names[place] for place in places], **style)
    (axis.axes.set_xlim if is_x else axis.axes.set_ylim)(-0.6, len(names) - 0.4)


def set_numbers(axis: Axis, values: np.ndarray) -> None:
    """Scale an axis for these numbers, logarithmically if they are more evenly spaced then."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    if suits_log(values):
        is_x = axis is axis.axes.xaxis
        (axis.axes.set_xscale if is_x else axis.axes.set_yscale)("log")
        span = float(values[-1] / values[0])
        subs = (1, 2, 5) if span < 30 else (1, 3) if span < 300 else (1,)
        axis.set_major_locator(LogLocator(base=10, subs=subs, numticks=4))
        axis.set_minor_locator(NullLocator())
    else:
        is_whole = bool((values == values.round()).all())
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=is_whole))
    axis.set_major_formatter(number_text)


def suits_log(values: np.ndarray) -> bool:
    """Return whether sorted numbers are positive, and suit a logarithmic scale better.

    Their median is closer to the middle then, or they span powers of ten without the lowest tenth.
    """
    if len(values) < 3 or values[0] <= 0 or values[-1] < 20 * values[0]:
        return False
    scales = np.log(values), values
    log, linear = (abs((np.median(v) - v[0]) / (v[-1] - v[0]) - 0.5) for v in scales)
    return bool(log < linear or values[-1] > 100 * np.quantile(values, 0.1))


def set_amounts(ax: Axes, amounts: np.ndarray) -> None:
    """Label the x axis at amounts of resource, on a logarithmic scale."""
    amounts = np.unique(amounts)
    ax.set_xscale("log")
    shown = amounts[evenly(len(amounts), 5)]
    ax.set_xticks(shown, [number_text(amount) for amount in shown])
    ax.minorticks_off()
    ax.set_xmargin(0.12)


def limits(scores: np.ndarray, *keep: float) -> tuple[float, float]:
    """Return the limits of an axis of scores.

    A few bad scores would compress all others into one line, so the lower limit leaves them out.
    The better 60 % and the scores to ``keep`` are always shown.
    """
    known = scores[np.isfinite(scores)]
    if not len(known):
        return 0.0, 1.0
    top, worst = float(np.nanmax([known.max(), *keep])), float(known.min())
    low = float(np.nanmin([np.quantile(known, 0.4), *keep]))
    span = top - (worst if worst >= low - 0.5 * (top - low) else low) or abs(top) or 1.0
    return top - 1.1 * span, top + 0.08 * span


def clip_below(ax: Axes, x: np.ndarray, scores: np.ndarray, of_axis: tuple[float, float]) -> None:
    """Set the limits of the y axis, and mark what is below it at the edge."""
    ax.set_ylim(*of_axis)
    ax.locator_params(axis="y", nbins=5)
    below = x[scores < of_axis[0]]
    if len(below):
        style: Params = {"transform": ax.get_xaxis_transform(), "clip_on": False, "zorder": 4}
        at_edge = np.full(len(below), AT_EDGE)
        ax.scatter(below, at_edge, 28, marker="v", label="below the axis", **FULL, **style)


def draw_points(ax: Axes, x: np.ndarray, table: pd.DataFrame, *labels: str) -> None:
    """Draw filled points at the scores of a table, and hollow ones at those that are partial."""
    score, is_partial = table["score"].to_numpy(), table["is_partial"].to_numpy()
    for rows, label, style in zip((~is_partial, is_partial), labels, (FULL, PARTIAL), strict=True):
        if rows.any():
            ax.scatter(x[rows], score[rows], 30, label=label, **style)


Marked = tuple[np.ndarray, str, str]
"""Rows of a table, with their name in legends and their color."""


def marked(table: pd.DataFrame) -> tuple[Marked, Marked]:
    """Return the row of the unmodified estimator, unless it wins, and the row of the winner."""
    best, own = table["best"].to_numpy(), table["own"].to_numpy()
    name = "winner: your model" if (best & own).any() else "winner"
    return (own & ~best, "your model", OWN), (best, name, WINNER)


def draw_marked(ax: Axes, x: np.ndarray, y: np.ndarray, table: pd.DataFrame) -> None:
    """Draw a diamond at the unmodified estimator, and a star at the winner."""
    marks = ("D", 70), ("*", 260)
    for (rows, label, color), (marker, size) in zip(marked(table), marks, strict=True):
        if rows.any():
            style: Params = {"edgecolors": ax.get_facecolor(), "zorder": 5, "label": label}
            ax.scatter(x[rows], y[rows], size, color=color, marker=marker, **style)


def title(ax: Axes, text: str, *drawn: Axes, side: Literal["left", "right"] = "left") -> None:
    """Write a title above the axes, and below it a legend of what was drawn."""
    handles: dict[str, Any] = {}
    for one in drawn or (ax,):
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if handles:
        style: Params = {"ncols": 5, "columnspacing": 1.1, "handletextpad": 0.3, "frameon": False}
        style |= {"loc": f"lower {side}", "handlelength": 1.5, "borderaxespad": 0.2}
        place = (float(side == "right"), 1.0)
        ax.legend(list(handles.values()), list(handles), bbox_to_anchor=place, **style)
    ax.set_title(text, loc=side, fontsize="large", pad=28 if handles else 8)
