"""Numbers, times and parameters as `summary` and the HTML of a search write them."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

MAX_VALUE = 60
"""Characters of the value of one parameter."""

STOPPED_BY = {
    "policy": "finished as planned",
    "time_budget": "stopped by time_budget",
    "interrupt": "stopped by Ctrl-C",
    "callback": "stopped by a callback",
    "error": "broken off by an exception",
}
"""``stopped_by_`` in words."""


def shortened(text: str, length: int) -> str:
    """Return the text in one line, with its middle left out where it is too long."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    head = (length - 3) // 2
    return f"{text[:head]}...{text[len(text) - (length - 3 - head) :]}"


def number_text(number: float) -> str:
    """Return an amount: whole numbers with commas, others with four digits that count."""
    return f"{int(number):,}" if number == int(number) else f"{number:.4g}"


def score_text(score: float) -> str:
    """Return a score with four digits that count."""
    return f"{score:.4g}"


def seconds_text(seconds: float) -> str:
    """Return a time with as many digits as a reader needs."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes, seconds = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes} min {seconds} s"
    return f"{minutes // 60} h {minutes % 60} min"


def value_text(value: Any) -> str:
    """Return the value of a parameter in one line."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return f"{float(value):.6g}"
    return shortened(repr(value.item() if isinstance(value, np.generic) else value), MAX_VALUE)


def param_texts(params: dict[str, Any]) -> list[tuple[str, str]]:
    """Return names and values of parameters, those of parts after what they are parts of."""
    return [(name, value_text(value)) for name, value in params.items()]


def params_text(params: dict[str, Any]) -> str:
    """Return parameters as they would be given to a call; a sentence where there are none."""
    return ", ".join(f"{name}={value}" for name, value in param_texts(params)) or "no parameters"


def short_names(params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters under the last part of their names, where no two share it."""
    short = {name.rpartition("__")[2]: value for name, value in params.items()}
    return short if len(short) == len(params) else params


def counted(number: int, thing: str) -> str:
    """Return a number with its noun, such as "1 fit" and "2 fits"."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def listed(texts: Iterable[str]) -> str:
    """Return texts with commas in between."""
    return ", ".join(texts)
