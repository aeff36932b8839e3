"""Base class of policies, and checks of parameters that several policies have.

`_protocol.Policy` has the methods of a policy; `_simple_policy.SimplePolicy` needs only two.
"""

from __future__ import annotations

from math import inf, nan
from typing import Annotated, Any, ClassVar

import numpy as np

from sklearn_halving._checks import (
    CheckedFields,
    Rule,
    between,
    check_not_negative,
    check_whole,
    refuse_unless,
)
from sklearn_halving.policies._arrays import BoolArray, FloatArray, Seed
from sklearn_halving.policies._plan import Plan, open_plan
from sklearn_halving.policies._protocol import PlaysLevels, Policy
from sklearn_halving.policies._types import Problem


def plays_levels(policy: object) -> bool:
    """Return whether a policy may pull below the largest level."""
    return isinstance(policy, PlaysLevels) and policy.plays_levels


class BasePolicy(CheckedFields):
    """Base class of policies, whose plan is a single round without a maximum.

    To write your own policy, inherit from this class and write `start`. A class that has the
    methods of `Policy`, but does not inherit from this class, is as good. If your policy is a
    dataclass, fields with a ``Literal`` type are validated.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from sklearn_halving.policies import BasePolicy, Problem, open_plan
    >>> @dataclass(frozen=True)
    ... class MyPolicy(BasePolicy):
    ...     n_pulls: int
    ...     def plan(self, problem):
    ...         return open_plan(problem, self.n_pulls, window=2)
    >>> plan = MyPolicy(n_pulls=40).plan(Problem(n_arms=8))
    >>> plan.n_pulls(max_repetitions=None), plan.window
    (40, 2)
    """

    order_free: ClassVar[bool] = False

    def plan(self, problem: Problem) -> Plan:
        """Return the planned rounds."""
        return open_plan(problem)


def require_policy(given: Any) -> Policy:
    """Return the policy; raise TypeError if it is a class, or if a method is missing."""
    is_class = isinstance(given, type)
    required = [name for name in ("order_free", *vars(Policy)) if not name.startswith("_")]
    missing = [name for name in required if not hasattr(given, name)]
    if is_class or missing:
        what = f"the class {given.__name__}" if is_class else f"{given!r}, without {missing[0]}"
        raise TypeError(f"policy must be an object with the methods of Policy, got {what}.")
    policy: Policy = given
    return policy


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


def known_range(policy: Any, problem: Problem) -> RewardRange | None:
    """Return the range of rewards of a policy, or else that of the problem.

    It is None for a policy without the field ``reward_range``, which needs no range.
    """
    if "reward_range" not in vars(policy):
        return None
    own: RewardRange | None = policy.reward_range
    return problem.reward_range if own is None else own


def reward_width(policy: Any, problem: Problem) -> float:
    """Return ``high - low``, or raise if there is no range; 1 if the policy needs none.

    Confidence intervals are multiplied by this width. This is equivalent to scaling all rewards
    to [0, 1], but leaves the rewards unchanged, so that equal means remain equal.
    """
    if "reward_range" not in vars(policy):
        return 1.0
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


def generator_of(seed: Seed) -> np.random.Generator:
    """Return the generator of a game."""
    return np.random.default_rng(seed or np.random.SeedSequence())
