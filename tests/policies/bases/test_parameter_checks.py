"""The fields of policies are validated, also in classes of users with any types."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, is_dataclass, replace
from math import inf
from typing import Annotated, Any, Literal, get_type_hints

import pytest

from sklearn_halving import policies, simulation
from sklearn_halving._checks import CheckedFields, rules_of
from sklearn_halving.policies import Hyperband, Problem, UniformAllocation

UNIT = (0.0, 1.0)
WITHOUT_RULES = {
    *("AnytimeSuccessiveRejects", "AsynchronousBrackets", "BernoulliArms", "DoublingHalving"),
    *("InfiniteHyperband", "SuccessiveRejects", "UniformAllocation"),
}
"""Their parameters depend on the problem, or are validated in other ways."""
BUILT_IN = [
    cls
    for package in (policies, simulation)
    for cls in (getattr(package, name) for name in package.__all__)
    if inspect.isclass(cls) and issubclass(cls, CheckedFields) and is_dataclass(cls)
]


@pytest.mark.parametrize("cls", BUILT_IN)
def test_each_field_with_a_rule_refuses_what_breaks_it(cls):
    rules = rules_of(cls)
    assert bool(rules) == (cls.__name__ not in WITHOUT_RULES)
    for name, rule, _ in rules:
        for bad in (object(), "no value", float("nan")):
            with pytest.raises((ValueError, TypeError), match=rf"^{name} must .*, got "):
                rule.check(name, bad, rule.advice)
    get_type_hints(cls)  # an error would switch off the checks


@dataclass(frozen=True)
class Described(UniformAllocation):
    n: Annotated[int, "number of arms"] = 2
    mode: Annotated[Literal["fast", "slow"], "speed"] = "fast"
    width: Literal["auto"] | float = 1.0


def test_other_metadata_are_no_rules():
    assert Described(9, n=-1, mode="slow").n == -1
    assert Described(9, width=2.0).width == 2.0
    with pytest.raises(ValueError, match="mode must be one of 'fast', 'slow', got 'x'"):
        Described(9, mode="x")


@dataclass(frozen=True)
class OtherChoices(Hyperband):
    select: Literal["mine"] = "mine"  # type: ignore[assignment]


def test_a_new_rule_replaces_the_inherited_one():
    OtherChoices(3)
    with pytest.raises(ValueError, match="select must be one of 'mine', got 'all_rungs'"):
        OtherChoices(3, select="all_rungs")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: policies.SuccessiveElimination(c=inf),
            "c must be finite and larger than 4, got inf. Use 5, the default.",
        ),
        (
            lambda: policies.AdaptiveGapEV(9, eta=-1),
            "at least 0, got -1. Use 0.888889, the default.",
        ),
        (lambda: policies.BayesGap(9, beta="x"), "Use 'effective', the default."),
        (
            lambda: policies.VarianceHalving(10**30),
            f"n_pulls must be at most {10**15}, got {10**30}.",
        ),
        (lambda: UniformAllocation(10**30).start(Problem(2)), f"at most {10**15}, got {10**30}."),
        (lambda: policies.VarianceHalving(9, tolerance="a"), "got 'a'. Use None, the default."),
        (lambda: policies.VarianceHalving(0), "n_pulls must be at least 1, got 0."),
    ],
)
def test_messages_end_with_what_works(make: Any, message: str):
    with pytest.raises(ValueError, match="must") as error:
        make()
    assert str(error.value).endswith(message)


NEED_A_RANGE = {
    (50,): "AdaptiveGapEV AdaptiveUCBE AdaptiveUGapEb EXP3 HoeffdingRace MOSS UCB1 UCBV",
    (50, 0.5): "BernsteinRace GapE GapEV UCBE UGapEb",
    (0.5,): "BernsteinStopping MedianElimination UGapEc",
    (): "LUCB LilUCB SuccessiveElimination",
}
"""The arguments of a policy, and the classes that take them."""


@pytest.mark.parametrize(
    ("name", "arguments"),
    [(name, given) for given, names in NEED_A_RANGE.items() for name in names.split()],
)
def test_without_a_range_of_rewards_it_says_what_to_give(name, arguments):
    message = " needs rewards of a known range, got reward_range=None. Give reward_range="
    with pytest.raises(ValueError, match=name + message):
        getattr(policies, name)(*arguments).start(Problem(3))


@pytest.mark.parametrize(
    ("policy", "n_arms", "least"),
    [
        (policies.UCBE(3, 1.0, UNIT), 4, 4),
        (policies.GapEV(9, 1.0, UNIT), 5, 10),
        (policies.AdaptiveGapEV(9, reward_range=UNIT), 5, 10),
        (policies.UGapEc(0.1, max_pulls=2, reward_range=UNIT), 3, 3),
        (policies.SuccessiveElimination(max_pulls=2, reward_range=UNIT), 3, 3),
        (policies.SuccessiveRejects(10), 10, 11),
        (policies.AnytimeSuccessiveRejects(10), 10, 16),
        (policies.VarianceRejects(5), 5, 6),
        (policies.DoublingHalving(63), 16, 64),
        (UniformAllocation(3), 4, 4),
        (policies.VarianceHalving(383, "pooled"), 64, 384),
        (policies.VarianceHalving(63), 64, 64),
    ],
    ids=lambda value: type(value).__name__,
)
def test_too_small_a_budget_names_the_least_that_works(policy, n_arms, least):
    with pytest.raises(
        ValueError, match=rf"(n_pulls|max_pulls|budget)=\d+ is too small .* {least}\."
    ):
        policy.start(Problem(n_arms, 1, 100))
    name = next(name for name in ("n_pulls", "max_pulls", "budget") if hasattr(policy, name))
    replace(policy, **{name: least}).start(Problem(n_arms, 1, 100))
