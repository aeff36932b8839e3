"""Numbers, times, scores and parameters as text, for tables, messages and plots."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np

from sklearn_halving._content_hash import value_digest
from sklearn_halving._typing import Params

if TYPE_CHECKING:
    import pandas as pd

MAX_SHORT = 24
"""Maximum length of a value of a parameter in a table."""
SHORTEST = 9
"""Length to which names and values of parameters may be cut if there are many."""

CHAINED = r"\n\n(?:The above exception was the direct|During handling of the above) .+:\n\n"
"""What stands between the tracebacks of an error and of those that it followed."""
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that steer a terminal, and halves of characters, which cannot be written."""


def counted(number: int, thing: str) -> str:
    """Return a number with its noun, such as "1 fit" and "2 fits"."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def shortened(text: str, length: int) -> str:
    """Return the text in one line, without its middle if it is too long."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    head = (length - 3) // 2
    return f"{text[:head]}...{text[len(text) - (length - 3 - head) :]}"


def number_text(number: float, place: object = None) -> str:
    """Return an amount as a reader would write it, also on an axis: 19,540 and 0.001."""
    if number == round(number) and abs(number) < 1e6:
        return f"{number:,.0f}"
    return f"{number:.4g}".replace("e-0", "e-").replace("e+0", "e")


def score_text(score: float) -> str:
    """Return a score with four significant digits."""
    return "no score" if np.isnan(score) else f"{score:.4g}"


def seconds_text(seconds: float) -> str:
    """Return a time in units that suit its length."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes, seconds = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes} min {seconds} s"
    return f"{minutes // 60} h {minutes % 60} min"


def printable(text: str) -> str:
    """Return the text with codes for characters that steer a terminal or cannot be written."""
    return UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def object_text(value: object) -> str:
    """Return any object as text without addresses, also one whose ``repr`` raises an error."""
    try:
        text = str(value)
    except Exception:  # noqa: BLE001 - of a user
        text = reprlib.repr(value)
    return without_addresses(text)


def without_addresses(text: str) -> str:
    """Return the text of objects without memory addresses, which differ between processes.

    A function is replaced by its name, and an object with the default `repr` by the name of its
    class, such as ``<Scorer>``. Numbers of NumPy look like numbers of Python.
    """
    text = re.sub(r"\bnp\.(?:\w*\d+|str_|longdouble)\(([^()]*)\)", r"\1", text)
    text = re.sub(r"\bnp\.(True|False)_", r"\1", text)
    text = re.sub(r"<function (\S+) at 0x[0-9a-fA-F]+>", r"\1", text)
    text = re.sub(r"<(?:[\w<>]+\.)*(\w+) object at 0x[0-9a-fA-F]+>", r"<\1>", text)
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def differing_names(params: Sequence[Params]) -> dict[str, str]:
    """Return the parameters in which candidates differ, with the last parts of their names.

    If two of these are the same, they are the whole names.
    """
    names = dict.fromkeys(name for each in params for name in each)
    own = [n for n in names if len({value_digest(each.get(n, ...)) for each in params}) > 1]
    short = {name: name.rpartition("__")[2] for name in own}
    return short if len(set(short.values())) == len(own) else {name: name for name in own}


def short_texts(values: Sequence[object]) -> list[str]:
    """Return values of a parameter in a few characters, models and functions by their names.

    If words would look the same, all of them are longer.
    """
    texts = list(map(_short_text, values))
    whole = list(map(object_text, values))
    words = [place for place, value in enumerate(values) if not isinstance(value, Real)]
    if len({texts[place] for place in words}) < len({whole[place] for place in words}):
        for place in words:
            texts[place] = shortened(whole[place], 40)
    return texts


def _short_text(value: object) -> str:
    if isinstance(value, Real) and not isinstance(value, Integral):
        return f"{float(value):.4g}".replace("e-0", "e-").replace("e+0", "e")
    if hasattr(value, "get_params"):
        return type(value).__name__
    return shortened(str(getattr(value, "__name__", "")) or object_text(value), MAX_SHORT)


def parameter_columns(board: pd.DataFrame, room: float) -> dict[str, list[str]]:
    """Return the parameters of rows of a leaderboard as text; empty where one is missing.

    If the columns with two spaces behind each need more characters than there is ``room``, the
    longest names and values are cut, and then the last columns are left out.
    """
    columns = dict[str, list[str]]()
    for name, values in board.loc[:, "status":"params"].iloc[:, 1:-1].items():
        is_missing = [isinstance(value, float) and np.isnan(value) for value in values]
        texts = iter(short_texts(values[~np.array(is_missing)].tolist()))
        column = ["" if missing else next(texts) for missing in is_missing]
        columns |= {str(name): column} if any(column) else {}
    widths = [max(map(len, (name, *column))) for name, column in columns.items()]
    most = max(widths, default=0)
    while most > SHORTEST and sum(min(width, most) + 2 for width in widths) > room:
        most -= 1
    ends = np.cumsum([min(width, most) + 2 for width in widths])
    kept = list(columns)[: int((ends <= room).sum())]
    return {_cut(name, most): [_cut(text, most) for text in columns[name]] for name in kept}


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}."


def aligned(columns: dict[str, list[str]]) -> list[str]:
    """Return a line with the names of columns, and one for each row."""
    lines = [[name, *texts] for name, texts in columns.items()]
    padded = [[text.ljust(max(map(len, line)) + 2) for text in line] for line in lines]
    return ["".join(row) for row in zip(*padded, strict=True)]


def budget_text(budget: float | str | None) -> str:
    """Return the time budget as users write it, for messages; empty if there is none."""
    unit = "" if isinstance(budget, str) else " (seconds)"
    return "" if budget is None else f"time_budget={budget!r}{unit}"


def raised(error: str) -> str:
    """Return type and message of the error that a traceback is of, without a full stop."""
    last = re.split(CHAINED, error.strip())[-1].split("\n")
    if last[0].lstrip().startswith("+ Exception Group"):
        last = [line.lstrip()[2:] for line in last]
    is_traceback = "Traceback (most recent call last):" in last[0]
    lines = last[1:] if is_traceback else last
    first = next((n for n, line in enumerate(lines) if not line.startswith(" ")), 0)
    return "\n".join(lines[first:]).rstrip(".")
