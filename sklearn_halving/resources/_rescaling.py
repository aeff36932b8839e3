"""Parameters of candidates that depend on the amount of resource."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from numbers import Integral
from typing import Annotated, Any

from sklearn_halving._checks import Rule, refuse_unless
from sklearn_halving._typing import Estimator, Params
from sklearn_halving.resources._parameters import is_replaced, number_of, suggestion


def _check_rules(name: str, rules: object, advice: str) -> None:
    is_dict = isinstance(rules, Mapping)
    refuse_unless(is_dict, name, "be a dict of parameter names and rules", repr(rules), advice)
    for parameter, rule in rules.items() if isinstance(rules, Mapping) else ():
        refuse_unless(
            callable(rule) or rule in ("inverse", "proportional"),
            f"{name}[{parameter!r}]",
            "be 'inverse', 'proportional' or a callable",
            repr(rule),
            "A callable takes (value, amount, max_amount).",
        )


Rescale = Annotated[
    Mapping[str, str | Callable[[Any, float, float], Any]],
    Rule(_check_rules, "An example is {'C': 'inverse'}."),
]
"""Parameter names and the rules that adjust their values to the amount of resource."""


def check_rescaled_names(rescale: Rescale, estimator: Estimator, searched: frozenset[str]) -> None:
    """Raise a ValueError if neither the estimator nor the candidates have a parameter."""
    known = set(estimator.get_params()) | searched
    for name in rescale:
        refuse_unless(
            name in known or is_replaced(name, searched),
            f"rescale[{name!r}]",
            f"name a parameter of {type(estimator).__name__} or of the search",
            repr(name),
            f"{suggestion(name, known)} Known names are {sorted(known)}.".lstrip(),
        )


def rescaled_params(
    rescale: Rescale, estimator: Estimator, amount: float, max_amount: float
) -> Params:
    """Return the rescaled parameters of an unfitted candidate; at ``max_amount``, its own values.

    A parameter that the candidate does not have belongs to others and is left out.
    """
    own = estimator.get_params()
    rescaled = {name: own[name] for name in rescale if name in own}
    if amount == max_amount:
        return rescaled
    for name, value in rescaled.items():
        rule = rescale[name]
        if callable(rule):
            rescaled[name] = rule(value, amount, max_amount)
        else:
            owner, _, parameter = name.rpartition("__")
            is_whole = _is_whole(value, own.get(owner, estimator), parameter)
            scaled = _scaled(name, rule, value, amount, max_amount)
            rescaled[name] = max(round(scaled), min(value, 1)) if is_whole else scaled
    return rescaled


def _is_whole(value: object, owner: object, parameter: str) -> bool:
    """Return whether only whole numbers are valid; a float may be given as 1 instead of 1.0."""
    default = signature(type(owner)).parameters.get(parameter)
    may_be_float = default is not None and isinstance(default.default, float)
    return isinstance(number_of(value), Integral) and not may_be_float


def _scaled(name: str, rule: str, value: object, amount: float, max_amount: float) -> float:
    number = number_of(value)
    if number is None:
        raise ValueError(
            f"rescale[{name!r}]={rule!r} needs a numeric {name}, got {value!r}. Use a callable."
        )
    return number * max_amount / amount if rule == "inverse" else number * amount / max_amount
