"""Candidates and values as text short enough for an axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real

import numpy as np

from sklearn_halving._typing import Parameterized, Params

MAX_VALUE = 24
"""Characters of one value."""
MAX_DISTINCT_VALUE = 60
"""Characters of one value, if values would otherwise look the same."""
NAME_LENGTHS = (12, 8, 6)
"""Characters of the name of a parameter. Longer labels get shorter names."""
MAX_CANDIDATE = 48
"""Characters of a candidate."""


def shortened(text: str, length: int) -> str:
    """Return the text without its middle if it is too long, because names differ at the ends."""
    if len(text) <= length:
        return text
    head = (length - 1) // 2
    return f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"


def value_text(value: object) -> str:
    """Return a value of a parameter as a reader would write it."""
    if isinstance(value, bool | np.bool_) or value is None:
        return str(value)
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return f"{float(value):.3g}"
    # An estimator with default parameters is shown as its class.
    return " ".join(str(value).split()).removesuffix("()")


def value_texts(values: Sequence[object]) -> list[str]:
    """Return values of one parameter as short text that tells them apart.

    An estimator is shown as its class. If there are several of a class, the parameters in which
    they differ are added.
    """
    full = [value_text(value) for value in values]
    distinct = dict(zip(full, values, strict=True))
    by_class: dict[str, dict[str, Parameterized]] = {}
    for text, value in distinct.items():
        if isinstance(value, Parameterized) and not isinstance(value, type):
            by_class.setdefault(type(value).__name__, {})[text] = value
    short = {text: text for text in distinct}
    for name, members in by_class.items():
        short |= dict(zip(members, _estimator_texts(name, [*members.values()]), strict=True))
    for length in range(MAX_VALUE, MAX_DISTINCT_VALUE + 1, 6):
        cut = {t: one if one in by_class else shortened(one, length) for t, one in short.items()}
        if len(set(cut.values())) == len(set(short.values())):
            break
    return [cut[text] for text in full]


def _estimator_texts(name: str, estimators: list[Parameterized]) -> list[str]:
    """Return the class with the parameters in which estimators of this class differ."""
    texts = [
        {k: value_text(v) for k, v in one.get_params(deep=False).items()} for one in estimators
    ]
    differ = [key for key in texts[0] if len({one.get(key) for one in texts}) > 1]
    if not differ:
        return [name] * len(texts)
    parts = [", ".join(f"{key}={one[key]}" for key in differ if key in one) for one in texts]
    return [f"{name}({part})" for part in parts]


def short_names(names: Iterable[str], separator: str = "__") -> dict[str, str]:
    """Return for each parameter the shortest end of its name that no other has."""
    parts = {name: name.split(separator) for name in names}
    short = {}
    for name, own in parts.items():
        for n_parts in range(1, len(own) + 1):
            end = own[-n_parts:]
            if sum(other[-n_parts:] == end for other in parts.values()) == 1:
                break
        short[name] = separator.join(end)
    return short


def _end_of(name: str, end: str, length: int) -> str:
    """Return the end of a name after an ellipsis, or the name without its middle if shorter."""
    if len(end) + 1 >= len(name):
        return shortened(name, length)
    return f"…{end[max(0, len(end) + 1 - length) :]}"


def _ways_to_shorten(names: list[str]) -> list[dict[str, str]]:
    """Return names of parameters for labels, in several ways, the most legible first."""
    whole = short_names(names)
    ends = short_names(whole.values(), "_")
    ways = [whole]
    ways += [
        {name: _end_of(one, ends[one], length) for name, one in whole.items()}
        for length in NAME_LENGTHS
    ]
    # Two parameters must not get the same name.
    return [way for way in ways if len(set(way.values())) == len(names)]


def candidate_labels(numbers: Sequence[int], params: Sequence[Params]) -> list[str]:
    """Return the number of each candidate and the values in which it differs from others.

    If this is too long, first the names of parameters are shortened, and then the last parameters
    are left out. Values are not shortened.

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
    for short in _ways_to_shorten(differ):
        labels = [", ".join(f"{short[n]}={one[n]}" for n in differ if n in one) for one in texts]
        if max(map(len, labels), default=0) <= MAX_CANDIDATE:
            break
    else:  # the last parts are left out; a category, such as a kernel, says more than a number
        by_kind = sorted(differ, key=lambda name: _is_numeric(name, params))
        labels = [_joined([f"{short[n]}={one[n]}" for n in by_kind if n in one]) for one in texts]
    return [f"{label}  #{number}" for number, label in zip(numbers, labels, strict=True)]


def _is_numeric(name: str, params: Sequence[Params]) -> bool:
    """Return whether all values of a parameter are numbers."""
    return all(isinstance(one[name], Real) for one in params if name in one)


def _joined(parts: list[str]) -> str:
    """Return the parts that fit, and an ellipsis if some do not."""
    text = ", ".join(parts)
    for n_kept in range(len(parts) - 1, 0, -1):
        if len(text) <= MAX_CANDIDATE:
            break
        text = ", ".join([*parts[:n_kept], "…"])
    return text
