"""Parameter checks of policies and simulations. Error messages suggest valid values."""

from __future__ import annotations

from math import isfinite
from numbers import Integral
from typing import get_args

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray

RewardRange = tuple[float, float]


def refuse_unless(holds: bool, name: str, rule: str, got: object, advice: str = "") -> None:
    """Raise unless a parameter satisfies its rule. A text ``got`` is shown without quotes."""
    if not holds:
        text = got if isinstance(got, str) else repr(got)
        raise ValueError(f"{name} must {rule}, got {text}. {advice}".rstrip())


def check_whole(name: str, value: object, advice: str) -> None:
    """Raise unless the value is a whole number."""
    # Comparisons with NaN are always False, and loops up to NaN or infinity may never end.
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    refuse_unless(is_whole, name, "be a whole number", repr(value), advice)


def check_count(name: str, value: float, advice: str = "Use 1 or more.") -> None:
    """Raise unless the value is a whole number of at least 1."""
    check_whole(name, value, advice)
    refuse_unless(value >= 1, name, "be at least 1", value, advice)


def check_budget(name: str, value: float, least: int, why: str) -> None:
    """Raise if a number of pulls is not a whole number, or smaller than the minimum."""
    check_whole(name, value, f"Use {least} or more, as an int.")
    if value < least:
        raise ValueError(
            f"{name}={value} is too small {why}. The least budget that works is {least}."
        )


def check_choice(name: str, value: object, choices: object, advice: str = "") -> None:
    """Raise unless the value is one of a ``Literal`` type."""
    allowed = get_args(choices)
    rule = f"be one of {', '.join(map(repr, allowed))}"
    refuse_unless(value in allowed, name, rule, repr(value), advice)


def check_between(name: str, value: float, low: float, high: float, advice: str) -> None:
    """Raise unless ``low < value < high``."""
    rule = f"be larger than {low:g} and smaller than {high:g}"
    refuse_unless(low < value < high, name, rule, value, advice)


def check_not_negative(name: str, value: float, advice: str) -> None:
    """Raise unless the value is a finite number of at least 0."""
    holds = isfinite(value) and value >= 0
    refuse_unless(holds, name, "be finite and at least 0", value, advice)


def check_positive(name: str, value: float, advice: str) -> None:
    """Raise unless the value is a finite number larger than 0."""
    holds = isfinite(value) and value > 0
    refuse_unless(holds, name, "be finite and larger than 0", value, advice)


def check_confidence(delta: float) -> None:
    """Raise unless delta is strictly between 0 and 1."""
    advice = "It is the accepted probability of a wrong answer, such as 0.05."
    check_between("delta", delta, 0, 1, advice)


def check_exploration(a: float) -> None:
    """Raise unless the exploration parameter is a finite number of at least 0."""
    check_not_negative("a", a, "Large values spread the pulls evenly, 0 does not explore.")


def check_tolerance(epsilon: float) -> None:
    """Raise unless the tolerated regret is a finite number of at least 0."""
    check_not_negative("epsilon", epsilon, "It is a difference of rewards, such as 0.01.")


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
    refuse_unless(
        isfinite(low) and isfinite(high) and low < high,
        "reward_range",
        "be two finite numbers, the smaller first",
        reward_range,
        f"{name} needs the range of the rewards, for example (0, 1) for accuracy.",
    )
    return float(high) - float(low)


def is_outside(reward_range: RewardRange | None, rewards: FloatArray) -> BoolArray:
    """Return which rewards are outside of the range; none if there is no range."""
    low, high = reward_range or (-np.inf, np.inf)
    return (rewards < low) | (rewards > high)
