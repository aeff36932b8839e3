"""Parameter checks that several policies share. Error messages suggest valid values."""

from __future__ import annotations

from math import isfinite
from numbers import Integral
from typing import Any, get_args

RewardRange = tuple[float, float]


def check_whole(name: str, value: Any, advice: str) -> None:
    """Raise unless the value is a whole number."""
    # Comparisons with NaN are always False, and loops up to NaN or infinity may never end.
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number, got {value!r}. {advice}")


def check_count(name: str, value: Any, advice: str = "Use 1 or more.") -> None:
    """Raise unless the value is a whole number of at least 1."""
    check_whole(name, value, advice)
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value!r}. {advice}")


def check_budget(name: str, value: Any, least: int, why: str) -> None:
    """Raise if a number of pulls is not a whole number, or smaller than the minimum."""
    check_whole(name, value, f"Use {least} or more, as an int.")
    if value < least:
        raise ValueError(
            f"{name}={value} is too small {why}. The least budget that works is {least}."
        )


def check_choice(name: str, value: object, choices: Any, advice: str = "") -> None:
    """Raise unless the value is one of a ``Literal`` type."""
    allowed = get_args(choices)
    if value not in allowed:
        listed = ", ".join(map(repr, allowed))
        raise ValueError(f"{name} must be one of {listed}, got {value!r}. {advice}".rstrip())


def check_between(name: str, value: float, low: float, high: float, advice: str) -> None:
    """Raise unless ``low < value < high``."""
    if not low < value < high:
        raise ValueError(
            f"{name} must be larger than {low:g} and smaller than {high:g}, got {value!r}. "
            f"{advice}"
        )


def check_not_negative(name: str, value: float, advice: str) -> None:
    """Raise unless the value is a finite number of at least 0."""
    if not (isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be finite and at least 0, got {value!r}. {advice}")


def check_confidence(delta: float) -> None:
    """Raise unless delta is strictly between 0 and 1."""
    check_between(
        "delta", delta, 0, 1, "It is the chance of a wrong answer that is accepted, such as 0.05."
    )


def width_of_range(policy: object, reward_range: RewardRange | None) -> float:
    """Return ``high - low``, or raise if the range is missing or invalid.

    Confidence intervals are multiplied by this width. This is equivalent to scaling all rewards
    to [0, 1], but leaves the rewards unchanged, so that equal means remain equal.
    """
    name = type(policy).__name__
    if reward_range is None:
        raise ValueError(
            f"{name} needs rewards of a known range, got reward_range=None. Give "
            "reward_range=(low, high), for example (0, 1) for accuracy; or use a policy that "
            "needs no range, such as SuccessiveRejects."
        )
    low, high = reward_range
    if not (isfinite(low) and isfinite(high) and low < high):
        raise ValueError(
            f"reward_range must be two finite numbers, the smaller first, got {reward_range!r}. "
            f"{name} needs the range that rewards can have, for example (0, 1) for accuracy."
        )
    return float(high) - float(low)
