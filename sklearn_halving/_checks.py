"""Checks of parameters, for all folders. Error messages suggest valid values.

The type of a field is also the rule by which it is validated, such as ``Count | None`` or a
``Literal``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from functools import cache, partial
from math import inf, nan
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

LARGEST_WHOLE = 10**15
"""Whole numbers up to here are exact as floats, and their sums fit into 64 bits."""


def refuse_unless(holds: bool, name: str, rule: str, got: object, advice: str = "") -> None:
    """Raise unless a parameter satisfies its rule. A text ``got`` is shown without quotes."""
    if not holds:
        text = got if isinstance(got, str) else repr(got)
        raise ValueError(f"{name} must {rule}, got {text}. {advice}".rstrip())


def check_whole(name: str, value: object, advice: str) -> None:
    """Raise unless the value is a whole number of a size that can be counted."""
    # Comparisons with NaN are always False, and loops up to NaN or infinity may never end.
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    refuse_unless(is_whole, name, "be a whole number", repr(value), advice)
    holds = abs(_number(value)) <= LARGEST_WHOLE
    refuse_unless(holds, name, f"be at most {LARGEST_WHOLE}", repr(value))


def check_count(name: str, value: object, advice: str = "", *, least: int = 1) -> None:
    """Raise unless the value is a whole number of at least ``least``."""
    check_whole(name, value, advice or f"Use {least} or more.")
    refuse_unless(_number(value) >= least, name, f"be at least {least}", repr(value), advice)


def check_choice(name: str, value: object, advice: str = "", *, choices: Any) -> None:
    """Raise unless the value is one of a ``Literal`` type or of a list."""
    allowed = get_args(choices) or choices
    rule = f"be one of {', '.join(map(repr, allowed))}"
    refuse_unless(value in allowed, name, rule, repr(value), advice)


def check_between(name: str, value: object, advice: str, *, low: float, high: float) -> None:
    """Raise unless ``low < value < high``."""
    rule = f"be larger than {low:g} and smaller than {high:g}"
    if high == inf:
        rule = f"be finite and larger than {low:g}"
    refuse_unless(low < _number(value) < high, name, rule, repr(value), advice)


def check_not_negative(name: str, value: object, advice: str) -> None:
    """Raise unless the value is a finite number of at least 0."""
    holds = 0 <= _number(value) < inf
    refuse_unless(holds, name, "be finite and at least 0", repr(value), advice)


def check_share(name: str, value: object, advice: str) -> None:
    """Raise unless the value is larger than 0 and at most 1."""
    holds = 0 < _number(value) <= 1
    refuse_unless(holds, name, "be larger than 0 and at most 1", repr(value), advice)


def _number(value: object) -> float:
    """Return a number as a float, and NaN for anything else, which satisfies no rule."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return nan
    try:
        return float(value)
    except OverflowError:
        return inf


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


def at_least(least: int) -> Rule:
    """Return the rule that the value is a whole number of at least ``least``."""
    return Rule(partial(check_count, least=least))


Count = Annotated[int, Rule(check_count)]
CountOrZero = Annotated[int, at_least(0)]
Positive = Annotated[float, between(0, inf)]
NotNegative = Annotated[float, Rule(check_not_negative)]
Share = Annotated[float, Rule(check_share)]


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
    """Return the name, the rule and whether None is valid of each field that has a rule."""
    try:
        hints = get_type_hints(cls, include_extras=True)
    except Exception:  # noqa: BLE001 - a class of a user may have any types, even invalid ones
        return []
    found = []
    for field in fields(cls):
        rule, may_be_none = _rule_of(hints[field.name])
        if rule is not None:
            advice = rule.advice or _default_of(field)
            found.append((field.name, rule._replace(advice=advice), may_be_none))
    return found


def _rule_of(hint: Any) -> tuple[Rule | None, bool]:
    """Return the rule of a type, and whether None is valid."""
    origin, options = get_origin(hint), get_args(hint)
    if origin is Annotated:
        rules = [one for one in hint.__metadata__ if isinstance(one, Rule)]
        inner, may_be_none = _rule_of(hint.__origin__)
        return (rules[-1] if rules else inner), may_be_none
    if origin is Literal:
        return Rule(partial(check_choice, choices=hint)), None in options
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
