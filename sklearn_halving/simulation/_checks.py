"""Checks of parameters that several environments share."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_halving.policies._types import FloatArray


def refuse_unless(holds: bool, name: str, rule: str, got: Any, advice: str) -> None:
    """Raise a ValueError if a parameter does not satisfy its rule."""
    if not holds:
        text = got if isinstance(got, str) else repr(got)
        raise ValueError(f"{name} must {rule}, got {text}. {advice}")


def check_at_least_one(name: str, value: Any) -> None:
    """Raise a ValueError if the value is not an integer of at least 1."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    refuse_unless(
        is_whole and value >= 1, name, "be a whole number of at least 1", value, "Use 1 or more."
    )


def as_vector(name: str, value: Any, n_arms: int | None = None) -> FloatArray:
    """Return finite numbers of shape ``(n_arms,)``, or a single number for all arms."""
    vector = np.asarray(value, dtype=np.float64)
    if n_arms is None:
        rule = "be a list of finite numbers, one for each arm"
        is_shape = vector.ndim == 1 and len(vector) > 0
    else:
        rule = f"be one finite number, or a list of one for each of {n_arms} arms"
        is_shape = vector.shape in ((), (n_arms,))
    good = is_shape and bool(np.isfinite(vector).all())
    refuse_unless(good, name, rule, value, "Give as many numbers as there are arms.")
    return vector
