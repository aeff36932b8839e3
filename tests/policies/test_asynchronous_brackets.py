"""Asynchronous brackets: who is promoted, when, and on which rewards it depends."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_halving.policies import (
    AsynchronousBrackets,
    FiniteHorizonHalving,
    Hyperband,
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


def test_a_place_is_not_given_away_before_the_arms_in_front_are_known() -> None:
    state = WIDE.start(Problem(9, 1, 9))
    slow, *others = asked(WIDE, state, 9)
    for pull in others:
        tell(WIDE, state, pull, float(pull.arm))
    assert asked(WIDE, state, 1) == []
    tell(WIDE, state, slow, 9.0)
    assert [pull.arm for pull in asked(WIDE, state, 3)] == [0, 5, 8]


@pytest.mark.parametrize("n_workers", [1, 3, 20, 500])
def test_the_pulls_do_not_depend_on_the_number_of_workers_and_their_order(n_workers: int) -> None:
    policy = AsynchronousBrackets(Hyperband(n_loops=2))
    n_arms = policy.plan(Problem(max_level=27)).n_arms
    limit, rng = np.random.default_rng(0).random(n_arms), np.random.default_rng(n_workers)

    def play(n: int) -> tuple[set[Pull], int]:
        state, played = policy.start(Problem(n_arms, 1, 27)), set()
        in_flight: list[Pull] = []
        while not policy.is_finished(state):
            in_flight += asked(policy, state, n - len(in_flight))
            pull = in_flight.pop(rng.integers(len(in_flight)))
            played.add(pull)
            tell(policy, state, pull, limit[pull.arm] - pull.arm % 7 / pull.level)
        return played, int(policy.recommend(state))

    assert play(n_workers) == play(1)


def test_what_plans_no_brackets_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^brackets must be a policy that plans brackets"):
        AsynchronousBrackets(SuccessiveRejects(10))  # type: ignore[arg-type]
