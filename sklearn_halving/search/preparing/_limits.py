"""Times and amounts of memory as text, such as ``"30min"`` and ``"1GB"``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, overload

import pandas as pd

from sklearn_halving.execution._types import PullLimits

if TYPE_CHECKING:
    from sklearn_halving.search._shared_parameters import SharedParameters

_MEMORY = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgt]?)(i?)b\s*", re.IGNORECASE)


@overload
def read_seconds(name: str, value: float | str) -> float: ...
@overload
def read_seconds(name: str, value: float | str | None) -> float | None: ...
def read_seconds(name: str, value: float | str | None) -> float | None:
    """Return a time in seconds; numbers and None are returned unchanged.

    Text is parsed by `pandas.Timedelta`, but needs a unit: pandas takes a number alone for
    nanoseconds.
    """
    if not isinstance(value, str):
        return value
    try:
        # The last character of a time such as 00:30:00 is not a unit.
        has_unit = value.strip()[-1:].isalpha() or ":" in value
        seconds = pd.Timedelta(value).total_seconds() if has_unit else 0.0
    except ValueError:
        seconds = 0.0
    if not seconds > 0:  # NaT is not either
        raise ValueError(
            f"{name} must be a positive time: a number of seconds, or text with a unit, such as "
            f"'90s', '30min', '1.5h' or '2 days'; got {value!r}."
        )
    return seconds


def read_bytes(name: str, value: int | str | None) -> int | None:
    """Return an amount of memory in bytes; numbers and None are returned unchanged."""
    if not isinstance(value, str):
        return value
    found = _MEMORY.fullmatch(value)
    n_bytes = 0
    if found:
        base = 1024 if found[3] else 1000
        n_bytes = round(float(found[1]) * base ** " kmgt".index(found[2].lower() or " "))
    if n_bytes < 1 or (found and found[3] and not found[2]):  # "5iB"
        raise ValueError(
            f"{name} must be a positive amount of memory: a number of bytes, or text with a unit, "
            "such as '500MB', '1.5GB' (1.5e9 bytes) or '2GiB' (2 * 2**30 bytes); got "
            f"{value!r}."
        )
    return n_bytes


def limits_of(search: SharedParameters) -> tuple[float, PullLimits]:
    """Return the seconds that a search may take, and the limits of a pull."""
    budget = read_seconds("time_budget", search.time_budget)
    seconds = read_seconds("pull_timeout", search.pull_timeout)
    memory = read_bytes("memory_limit", search.memory_limit)
    return budget or float("inf"), PullLimits(seconds, memory)


def budget_text(search: SharedParameters) -> str:
    """Return the time budget as users write it, for messages."""
    budget = search.time_budget
    unit = "" if isinstance(budget, str) else " (seconds)"
    return f"time_budget={budget!r}{unit}"
