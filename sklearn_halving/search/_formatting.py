"""Numbers, times, scores and parameters as text, for the summary, progress and messages."""

from __future__ import annotations

import re
from numbers import Integral, Real

import numpy as np

from sklearn_halving._typing import Params

MAX_VALUE = 60
"""Maximum length of the value of a parameter."""


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


def number_text(number: float) -> str:
    """Return an amount: integers with commas, other numbers with four significant digits."""
    return f"{int(number):,}" if number == int(number) else f"{number:.4g}"


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


def clock_text(seconds: float) -> str:
    """Return a time as ``m:ss``, or ``h:mm:ss`` from one hour."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def value_text(value: object) -> str:
    """Return the value of a parameter in one line."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return f"{float(value):.6g}"
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return shortened(without_addresses(text), MAX_VALUE)


def without_addresses(text: str) -> str:
    """Return the text without memory addresses, which differ between processes.

    A function is replaced by its name, and an object with the default `repr` by the name of its
    class, such as ``<Scorer>``.
    """
    text = re.sub(r"<function (\S+) at 0x[0-9a-fA-F]+>", r"\1", text)
    text = re.sub(r"<(?:[\w<>]+\.)*(\w+) object at 0x[0-9a-fA-F]+>", r"<\1>", text)
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def short_names(params: Params) -> Params:
    """Return parameters with the last part of their names, unless two parameters share it."""
    short = {name.rpartition("__")[2]: value for name, value in params.items()}
    return short if len(short) == len(params) else params


def budget_text(budget: float | str | None) -> str:
    """Return the time budget as users write it, for messages; empty if there is none."""
    unit = "" if isinstance(budget, str) else " (seconds)"
    return "" if budget is None else f"time_budget={budget!r}{unit}"
