"""What displays share in drawing: axes, colours, legends, notes, and text that is short enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Real
from textwrap import shorten
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from sklearn_halving._typing import Params

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

MAX_VALUE = 24
"""Characters of one value."""
MAX_DISTINCT_VALUE = 60
"""Characters of one value, if values would otherwise look the same."""
MAX_CANDIDATE = 48
"""Characters of a candidate."""
MAX_LABEL = 28
"""Characters of a line of a y label."""


def shortened(text: str, length: int) -> str:
    """Return the text without its middle if it is too long, because names differ at the ends."""
    if len(text) <= length:
        return text
    head = (length - 1) // 2
    return f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"


def is_number(value: object) -> TypeGuard[Real]:
    """Return whether a value is a number."""
    return isinstance(value, Real) and not isinstance(value, bool)


def value_text(value: object) -> str:
    """Return a value of a parameter as a reader would write it."""
    if is_number(value):
        return str(int(value)) if isinstance(value, Integral) else f"{float(value):.3g}"
    # An estimator with default parameters is shown as its class.
    return " ".join(str(value).split()).removesuffix("()")


def value_texts(values: Sequence[object]) -> list[str]:
    """Return values of one parameter as text, as short as it can be to tell them apart."""
    full = [value_text(value) for value in values]
    for length in range(MAX_VALUE, MAX_DISTINCT_VALUE + 1, 6):
        cut = [shortened(text, length) for text in full]
        if len(set(cut)) == len(set(full)):
            break
    return cut


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return for each parameter the shortest end of its name that no other has."""
    parts = {name: name.split("__") for name in names}
    short = {}
    for name, own in parts.items():
        for n_parts in range(1, len(own) + 1):
            end = own[-n_parts:]
            if sum(other[-n_parts:] == end for other in parts.values()) == 1:
                break
        short[name] = "__".join(end)
    return short


def candidate_labels(numbers: Sequence[int], params: Sequence[Params]) -> list[str]:
    """Return the number of each candidate and the values in which it differs from others.

    If this is too long, the last parameters are left out.

    Parameters
    ----------
    numbers : sequence of int
        Their numbers in ``cv_results_["candidate"]``.
    params : sequence of dict
        Their parameters.
    """
    names = list(dict.fromkeys(name for one in params for name in one))
    texts: list[dict[str, str]] = [{} for _ in params]
    for name in names:
        places = [place for place, one in enumerate(params) if name in one]
        values = value_texts([params[place][name] for place in places])
        for place, value in zip(places, values, strict=True):
            texts[place][name] = value
    differ = [n for n in names if len({one.get(n) for one in texts}) > 1] or names
    short = short_names(differ)
    labels = [", ".join(f"{short[n]}={one[n]}" for n in differ if n in one) for one in texts]
    labels = [shorten(label, MAX_CANDIDATE, placeholder=" …") for label in labels]
    return [f"{label}  #{number}" for number, label in zip(numbers, labels, strict=True)]


OTHERS = "#4477aa"
WINNER = "#d55e00"
PALE = "#c8d5e3"
GREY = "0.45"
FEWER_SPLITS = "fewer splits"
"""What a hollow marker stands for: a mean over fewer splits than others with the same resource."""
MAX_LABELS = 30
"""Largest number of candidates whose names are written on an axis."""
MAX_CATEGORIES = 40
"""Largest number of categories of which each has a label."""


def evenly(number: int, most: int) -> np.ndarray:
    """Return the places of up to ``most`` of a number of items, evenly spread."""
    return np.unique(np.linspace(0, number - 1, most).round().astype(int))


def height_of(n_rows: int) -> float:
    """Return the height in inches of a figure with a row for each candidate."""
    return 1.2 + 0.26 * max(n_rows, 4) if n_rows <= MAX_LABELS else 5.0


def label_candidates(ax: Axes, labels: list[str]) -> None:
    """Give each candidate a row, best first, labelled with its name if there is room."""
    n_rows = len(labels)
    margin = max(0.6, 0.02 * n_rows)
    ax.set_ylim(n_rows - 1 + margin, -margin)
    if n_rows <= MAX_LABELS:
        ax.set_yticks(range(n_rows), labels, fontsize="small")
    else:
        places = evenly(n_rows, 9)
        ax.set_yticks(places, places + 1)
        ax.set_ylabel(f"{n_rows} candidates, best first")


def legend_beside(ax: Axes, **params: object) -> None:
    """Put the legend beside the axes, where it hides no data."""
    style: Params = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "fontsize": "small"}
    ax.legend(title_fontsize="small", **style, **params)


def score_range(scores: np.ndarray) -> tuple[float, float] | None:
    """Return the limits of an axis of scores; None if no clipping is needed.

    Scores can be arbitrarily low: a single diverging candidate would compress all others into
    one line. The best three quarters of the scores are always within the limits.

    Parameters
    ----------
    scores : ndarray
        All scores; NaN is ignored.
    """
    known = scores[~np.isnan(scores)]
    if len(known) < 4:
        return None
    top, quarter = float(known.max()), float(np.quantile(known, 0.25))
    # At least the score itself, so that accuracies are never clipped.
    spread = max(top - quarter, abs(top) / 6, abs(quarter) / 6) or 1.0
    inside = known[known >= top - 6 * spread]
    if len(inside) == len(known):
        return None
    margin = 0.05 * max(top - float(inside.min()), spread)
    return float(inside.min()) - margin, top + margin


def clip(set_limits: Callable[[float, float], object], scores: np.ndarray) -> int:
    """Leave scores that are far too low out of an axis, and return how many these are."""
    limits = score_range(scores)
    if limits is None:
        return 0
    set_limits(*limits)
    return int((scores < limits[0]).sum())


def draw_winner(ax: Axes, x: np.ndarray, y: np.ndarray) -> None:
    """Draw a star where the winner is, if there is one."""
    style: Params = {"color": WINNER, "marker": "*", "edgecolors": "white", "zorder": 3}
    ax.scatter(x, y, 220, label="winner" if len(x) else None, **style)


def note(ax: Axes, *texts: str) -> None:
    """Write a note above the axes, such as on what they leave out."""
    text = "; ".join(text for text in texts if text)
    if text:
        ax.set_title(text, loc="right", fontsize="small", color=GREY)


def count_of(number: int, noun: str, rest: str = "") -> str:
    """Return a number with its noun and what is said of it; an empty string for 0."""
    return f"{number} {noun}{'' if number == 1 else 's'} {rest}".rstrip() if number else ""


def wrapped(label: str) -> str:
    """Return a y label, in two lines if one could be longer than the axis."""
    if len(label) <= MAX_LABEL:
        return label
    head, _, name = label.rpartition(" ")
    return "\n".join(part for part in (head, shortened(name, 40)) if part)


def label_numbers(axis: Axis, values: np.ndarray, *, is_log: bool) -> None:
    """Make an axis of numbers logarithmic, or put ticks of whole numbers at whole numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    if not is_log:
        if (values == values.round()).all():
            axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))
        return
    set_scale = axis.axes.set_xscale if axis is axis.axes.xaxis else axis.axes.set_yscale
    set_scale("log")
    axis.set_minor_formatter(NullFormatter())  # labels of minor ticks would overlap
    span = float(values.max() / values.min())
    if span < 300:  # powers of ten alone would give one or two ticks
        steps = (1, 2, 5) if span < 30 else (1, 3)
        axis.set_major_locator(LogLocator(base=10, subs=steps))
        axis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:.4g}"))


def label_categories(axis: Axis, names: Sequence[str]) -> None:
    """Label an axis with the names of categories, rotated if they would overlap."""
    places = evenly(len(names), MAX_CATEGORIES)
    is_long = max(map(len, names), default=0) * len(names) > 60
    style: Params = {}
    if is_long and axis is axis.axes.xaxis:
        style = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    axis.set_ticks(places, [names[place] for place in places], fontsize="small", **style)


def set_log_levels(ax: Axes, levels: np.ndarray) -> None:
    """Show amounts of resource on the x axis, logarithmically if they grow by factors."""
    levels = np.unique(levels)
    if len(levels) > 1 and levels[0] > 0 and levels[-1] / levels[0] >= 4:
        ax.set_xscale("log")
        ax.minorticks_off()
    if len(levels) <= 8:
        ax.set_xticks(levels, [f"{level:.4g}" for level in levels], fontsize="small")
    if len(levels) == 1:
        ax.set_xlim(0.5 * levels[0], 1.5 * levels[0])
