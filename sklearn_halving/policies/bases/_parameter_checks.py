"""Parameter checks of policies and simulations. Error messages suggest valid values.

The type of a field is also the rule by which it is validated, such as ``Count | None`` or a
``Literal``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import MISSING, Field, fields
from functools import cache, partial
from math import inf, isfinite
from numbers import Integral
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

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


def check_count(name: str, value: float, advice: str = "") -> None:
    """Raise unless the value is a whole number of at least 1."""
    check_whole(name, value, advice or "Use 1 or more.")
    refuse_unless(value >= 1, name, "be at least 1", value, advice)


def check_count_or_zero(name: str, value: float, advice: str) -> None:
    """Raise unless the value is a whole number of at least 0."""
    check_whole(name, value, advice)
    refuse_unless(value >= 0, name, "be at least 0", value, advice)


def check_budget(name: str, value: float, least: int, why: str) -> None:
    """Raise if a number of pulls is not a whole number, or smaller than the minimum."""
    check_whole(name, value, f"Use {least} or more, as an int.")
    if value < least:
        raise ValueError(
            f"{name}={value} is too small {why}. The least budget that works is {least}."
        )


def check_choice(name: str, value: object, advice: str, *, choices: object) -> None:
    """Raise unless the value is one of a ``Literal`` type."""
    allowed = get_args(choices)
    rule = f"be one of {', '.join(map(repr, allowed))}"
    refuse_unless(value in allowed, name, rule, repr(value), advice)


def check_between(name: str, value: float, advice: str, *, low: float, high: float) -> None:
    """Raise unless ``low < value < high``."""
    rule = f"be larger than {low:g} and smaller than {high:g}"
    if high == inf:
        rule = f"be finite and larger than {low:g}"
    refuse_unless(low < value < high, name, rule, value, advice)


def check_not_negative(name: str, value: float, advice: str) -> None:
    """Raise unless the value is a finite number of at least 0."""
    holds = isfinite(value) and value >= 0
    refuse_unless(holds, name, "be finite and at least 0", value, advice)


def check_positive(name: str, value: float, advice: str) -> None:
    """Raise unless the value is a finite number larger than 0."""
    holds = isfinite(value) and value > 0
    refuse_unless(holds, name, "be finite and larger than 0", value, advice)


class Rule(NamedTuple):
    """The rule of a field: a check, and advice if it fails.

    The check is called with the name, the value and the advice, which is by default to use the
    default of the field.
    """

    check: Callable[[str, Any, str], None]
    advice: str = ""


def between(low: float, high: float, advice: str = "") -> Rule:
    """Return the rule ``low < value < high``."""
    return Rule(partial(check_between, low=low, high=high), advice)


def one_of(choices: object, advice: str = "") -> Rule:
    """Return the rule that the value is one of a ``Literal`` type."""
    return Rule(partial(check_choice, choices=choices), advice)


Count = Annotated[int, Rule(check_count)]
CountOrZero = Annotated[int, Rule(check_count_or_zero)]
Positive = Annotated[float, Rule(check_positive)]
NotNegative = Annotated[float, Rule(check_not_negative)]
Confidence = Annotated[
    float, between(0, 1, "It is the accepted probability of a wrong answer, such as 0.05.")
]
Exploration = Annotated[
    float,
    Rule(check_not_negative, "Large values spread the pulls evenly, 0 does not explore."),
]
Tolerance = Annotated[
    float, Rule(check_not_negative, "It is a difference of rewards, such as 0.01.")
]


class CheckedFields:
    """Base of dataclasses whose fields are validated when an object is created."""

    def __post_init__(self) -> None:
        """Raise unless every field satisfies its type."""
        own: Any = type(self)
        for name, rule, may_be_none in rules_of(own):
            value = getattr(self, name)
            if value is not None or not may_be_none:
                rule.check(name, value, rule.advice)


@cache
def rules_of(cls: Any) -> list[tuple[str, Rule, bool]]:
    """Return the name, the rule and whether None is valid of each field that has a rule.

    A field that is declared again without a rule keeps the rule of the base class.
    """
    rules: dict[str, Rule] = {}
    may_be_none: dict[str, bool] = {}
    for base in reversed(cls.__mro__):
        for name, hint in _own_hints(base).items():
            rule, may_be_none[name] = _rule_of(hint)
            if rule is not None:
                rules[name] = rule
    found = []
    for field in fields(cls):
        if field.name in rules:
            rule = rules[field.name]
            advice = rule.advice or _default_of(field)
            found.append((field.name, rule._replace(advice=advice), may_be_none[field.name]))
    return found


def _own_hints(cls: type) -> dict[str, Any]:
    """Return the types of the fields that the class itself declares."""
    try:
        return inspect.get_annotations(cls, eval_str=True)
    except Exception:  # noqa: BLE001 - a class of a user may have any types, even invalid ones
        return {}


def _rule_of(hint: Any) -> tuple[Rule | None, bool]:
    """Return the rule of a type, and whether None is valid."""
    origin, options = get_origin(hint), get_args(hint)
    if origin is Annotated:
        rules = [one for one in hint.__metadata__ if isinstance(one, Rule)]
        inner, may_be_none = _rule_of(hint.__origin__)
        return (rules[-1] if rules else inner), may_be_none
    if origin is Literal:
        return one_of(hint), None in options
    if origin in (Union, UnionType):
        others = [one for one in options if one is not NoneType]
        rule = _rule_of(others[0])[0] if len(others) == 1 else None
        return rule, NoneType in options
    return None, False


def _default_of(field: Field[Any]) -> str:
    """Return the advice to use the default, or no advice if there is none."""
    default = field.default
    if default is MISSING:
        return ""
    return f"Use {f'{default:g}' if isinstance(default, float) else repr(default)}, the default."


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
    holds = False
    with suppress(TypeError, ValueError):  # raised unless it is a pair of numbers
        low, high = reward_range
        holds = -inf < low < high < inf
    refuse_unless(
        holds,
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
