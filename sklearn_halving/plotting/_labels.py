"""Candidates and values as text short enough for an axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

MAX_VALUE = 24
"""Characters of one value."""
MAX_NAME = 12
"""Characters of the name of a parameter: the values are what candidates differ in."""
MAX_CANDIDATE = 48
"""Characters of a candidate."""


def shortened(text: str, length: int) -> str:
    """Return the text with its middle left out where it is too long: ends tell names apart."""
    if len(text) <= length:
        return text
    head = (length - 1) // 2
    return f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"


def value_text(value: Any) -> str:
    """Return a value of a parameter as a reader would write it."""
    if isinstance(value, bool | np.bool_) or value is None:
        return str(value)
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return f"{float(value):.3g}"
    # An estimator without parameters of its own is as good as its class.
    return " ".join(str(value).split()).removesuffix("()")


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


def candidate_labels(numbers: Sequence[int], params: Sequence[dict[str, Any]]) -> list[str]:
    """Return the number of each candidate and the values in which it differs from others.

    Parameters
    ----------
    numbers : sequence of int
        Their numbers in ``cv_results_["candidate"]``.
    params : sequence of dict
        Their parameters.
    """
    texts = [
        {name: shortened(value_text(value), MAX_VALUE) for name, value in one.items()}
        for one in params
    ]
    names = list(dict.fromkeys(name for one in texts for name in one))
    differ = [n for n in names if len({one.get(n) for one in texts}) > 1] or names
    short = {name: shortened(end, MAX_NAME) for name, end in short_names(differ).items()}
    labels = []
    for number, one in zip(numbers, texts, strict=True):
        values = ", ".join(
            f"{shortened(short[name], MAX_NAME)}={one[name]}" for name in differ if name in one
        )
        labels.append(f"{shortened(values, MAX_CANDIDATE)}  #{number}")
    return labels
