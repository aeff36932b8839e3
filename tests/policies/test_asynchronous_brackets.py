"""Asynchronous brackets: who is promoted, when, and on which rewards it depends."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_halving.policies import (
    AsynchronousBrackets,
    FiniteHorizonHalving,
    Problem,
    Pull,
    Pulls,
    SuccessiveRejects,
)

WIDE = AsynchronousBrackets(FiniteHorizonHalving(9, 27))
"""One bracket of 9, 3 and 1 arms at the levels 1, 3 and 9."""


def tell(policy: AsynchronousBrackets, state: object, pull: Pull, reward: float) -> None:
    policy.tell(state, Pulls.of(pull), np.array([reward]))


def asked(policy: AsynchronousBrackets, state: object, n: int) -> list[Pull]:
    return [pull for _ in range(n) for pull in policy.ask(state, 1).each()]


def test_the_best_of_three_goes_on_before_the_rung_is_complete() -> None:
    state = WIDE.start(Problem(9, 1, 9))
    for pull, reward in zip(asked(WIDE, state, 3), (1.0, 3.0, 2.0), strict=True):
        tell(WIDE, state, pull, reward)
    assert asked(WIDE, state, 1) == [Pull(1, 3, 0)]
    for pull in asked(WIDE, state, 3):
        tell(WIDE, state, pull, 0.0)
    assert asked(WIDE, state, 1) == [Pull(2, 3, 0)], "the best that is left of the first six"


def test_what_plans_no_brackets_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^brackets must be a policy that plans brackets"):
        AsynchronousBrackets(SuccessiveRejects(10))  # type: ignore[arg-type]
