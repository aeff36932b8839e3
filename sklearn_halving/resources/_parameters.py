"""Checks of parameter names that the resources share, with messages that help."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Real
from typing import Any


def check_not_searched(parameter: str, searched: frozenset[str]) -> None:
    """Raise a ValueError if the resource is a parameter that is searched over too."""
    if parameter in searched:
        raise ValueError(
            f"The resource must not be part of the searched parameters too, and {parameter!r} is "
            f"one of {sorted(searched)}. Leave it out there, or let another resource grow."
        )


def check_parameter(parameter: str, estimator: Any, searched: frozenset[str]) -> None:
    """Raise a ValueError if the estimator has no such parameter.

    Where candidates replace the part that the parameter belongs to, nothing can be said.
    """
    valid = estimator.get_params()
    if parameter in valid or is_replaced(parameter, searched):
        return
    raise ValueError(
        f"resource={parameter!r} must name a parameter of {type(estimator).__name__}, which has "
        f"{sorted(valid)}.{suggestion(parameter, valid)}"
    )


def is_replaced(parameter: str, searched: frozenset[str]) -> bool:
    """Return whether candidates replace the object that the parameter belongs to."""
    path = parameter.split("__")
    return any("__".join(path[:depth]) in searched for depth in range(1, len(path)))


def number_of(value: Any) -> float | None:
    """Return a parameter's value if it is a number, None if it is anything else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    number: float = value  # type: ignore[assignment]  # an int stays an int
    return number


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a sentence that names what ``name`` may have been meant to be, if anything."""
    close = get_close_matches(name, list(known), n=3)
    return f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
