"""Checks of parameter names that the resources share."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Real

from sklearn_halving._typing import Estimator


def check_not_searched(parameter: str, searched: frozenset[str]) -> None:
    """Raise a ValueError if the resource is also a searched parameter."""
    if parameter in searched:
        raise ValueError(
            f"Cannot use parameter {parameter!r} as the resource since it is part of the searched "
            f"parameters {sorted(searched)}. Remove it from the search space."
        )


def check_parameter(parameter: str, estimator: Estimator, searched: frozenset[str]) -> None:
    """Raise a ValueError if the estimator has no such parameter.

    Nothing can be checked if candidates replace the object that the parameter belongs to.
    """
    valid = estimator.get_params()
    if parameter in valid or is_replaced(parameter, searched):
        return
    raise ValueError(
        f"resource={parameter!r} must be a parameter of {type(estimator).__name__}."
        f"{suggestion(parameter, valid)} Its parameters are {sorted(valid)}."
    )


def leaf_of(parameter: str) -> str:
    """Return the name of a parameter within the object that it belongs to."""
    return parameter.rpartition("__")[2]


def is_replaced(parameter: str, searched: frozenset[str]) -> bool:
    """Return whether candidates replace the object that the parameter belongs to."""
    path = parameter.split("__")
    return any("__".join(path[:depth]) in searched for depth in range(1, len(path)))


def number_of(value: object) -> float | None:
    """Return the value of a parameter if it is a number, else None."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    return value  # type: ignore[return-value]  # an int stays an int


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the known names closest to ``name``, or an empty string."""
    close = get_close_matches(name, list(known), n=3)
    return f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
