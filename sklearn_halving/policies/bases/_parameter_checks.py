"""Parameter checks of policies: budgets, confidences, and the range of rewards."""

from __future__ import annotations

from math import inf, nan
from typing import Annotated, Protocol

import numpy as np

from sklearn_halving._checks import Rule, between, check_not_negative, check_whole, refuse_unless
from sklearn_halving.policies._arrays import BoolArray, FloatArray
from sklearn_halving.policies._types import Problem


def check_budget(name: str, value: float, least: int, why: str) -> None:
    """Raise if a number of pulls is not a whole number, or smaller than the minimum."""
    check_whole(name, value, f"Use {least} or more, as an int.")
    if value < least:
        reason = f"is too small {why}. The least budget that works is {least}."
        raise ValueError(f"{name}={value} {reason}")


def check_range(name: str, value: object, advice: str) -> None:
    """Raise unless the value is a pair of finite numbers, the smaller first."""
    try:
        low, high = map(float, value)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        low = high = nan
    holds = -inf < low < high < inf
    refuse_unless(holds, name, "be two finite numbers, the smaller first", repr(value), advice)


Confidence = Annotated[float, between(0, 1, "It is the accepted probability of a wrong answer.")]
Exploration = Annotated[float, Rule(check_not_negative, "0 does not explore.")]
RewardRange = Annotated[tuple[float, float], Rule(check_range, "For accuracy, it is (0, 1).")]
Tolerance = Annotated[float, Rule(check_not_negative, "It is a difference of rewards.")]


class Ranged(Protocol):
    """A policy with a range of rewards."""

    @property
    def reward_range(self) -> RewardRange | None:
        """Smallest and largest possible reward; None for those of the problem."""


def known_range(policy: Ranged, problem: Problem) -> RewardRange | None:
    """Return the range of rewards of a policy, or else that of the problem."""
    return problem.reward_range if policy.reward_range is None else policy.reward_range


def reward_width(policy: Ranged, problem: Problem) -> float:
    """Return ``high - low``, or raise if there is no range.

    Confidence intervals are multiplied by this width. This is equivalent to scaling all rewards
    to [0, 1], but leaves the rewards unchanged, so that equal means remain equal.
    """
    reward_range = known_range(policy, problem)
    if reward_range is None:
        raise ValueError(
            f"{type(policy).__name__} needs rewards of a known range, got reward_range=None. Give "
            "reward_range=(low, high), for example (0, 1) for accuracy."
        )
    # Again, for policies with a __post_init__ of their own.
    check_range("reward_range", reward_range, "It is the range of the rewards, such as (0, 1).")
    low, high = reward_range
    return float(high) - float(low)


def is_outside(reward_range: RewardRange | None, rewards: FloatArray) -> BoolArray:
    """Return which rewards are outside of the range; none if there is no range."""
    low, high = reward_range or (-np.inf, np.inf)
    return (rewards < low) | (rewards > high)
