"""Halving by doubling and with an infinite horizon: schedules, kept progress, and time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_halving.policies import (
    DoublingHalving,
    InfiniteHorizonHalving,
    Problem,
    Pull,
    SuccessiveHalving,
)


def play(policy: DoublingHalving, reward: object, problem: Problem) -> tuple:
    """Play one problem -> (one list of pulls for each rung, answer)."""
    state = policy.start(problem)
    rungs = []
    while not policy.is_finished(state):
        pulls = policy.ask(state, 10**6)
        rungs.append(list(pulls.each()))
        policy.tell(state, pulls, np.array([reward(pull) for pull in rungs[-1]]))
    return rungs, int(policy.recommend(state))


def units(pulls: Iterable[Pull]) -> int:
    """Return the units that pulls cost, each unit of an arm counted once."""
    highest: dict[int, int] = {}
    for pull in pulls:
        highest[pull.arm] = max(pull.level, highest.get(pull.arm, 0))
    return sum(highest.values())


def test_the_printed_schedule() -> None:
    """16 arms, 1000 units: 15, 31, 62, 125."""
    policy = InfiniteHorizonHalving(16, 1000)
    (bracket,) = policy.plan(Problem(max_level=1000)).brackets
    assert [rung.n_arms for rung in bracket.rounds] == [16, 8, 4, 2]
    assert [rung.level for rung in bracket.rounds] == [15, 31, 62, 125]
    added = SuccessiveHalving(16, 1000).plan(Problem(max_level=1000)).brackets[0].rounds
    assert [rung.level for rung in added] == np.cumsum([15, 31, 62, 125]).tolist()


def test_doubling_by_hand() -> None:
    """4 arms: runs of 8, 16, 32 units, with levels (1, 3), (2, 6), (4, 12).

    Arms 1 and 3 stand at 3 after the first run, and so are compared by that at level 2; arm 0
    wins at its first comparison at level 2 against what arm 1 had at level 3.
    """
    table = {
        (0, 1): 0.1, (1, 1): 0.5, (2, 1): 0.2, (3, 1): 0.6,
        (1, 3): 0.4, (3, 3): 0.7,
        (0, 2): 0.5, (2, 2): 0.1,
        (0, 6): 0.9, (3, 6): 0.8,
    }  # fmt: skip
    policy, problem = DoublingHalving(19), Problem(4, 1, 100, 1)
    rungs, best = play(policy, lambda pull: table[pull[:2]], problem)
    assert [[pull[:2] for pull in rung] for rung in rungs] == [
        [(0, 1), (1, 1), (2, 1), (3, 1)],
        [(1, 3), (3, 3)],
        [(0, 2), (2, 2)],
        [(0, 6), (3, 6)],
    ]
    assert best == 0


curves = st.integers(0, 2**16).map(
    lambda seed: lambda pull: float(np.random.default_rng([seed, *pull]).random())
)


@settings(max_examples=30)
@given(reward=curves, n_arms=st.integers(2, 20), budget=st.integers(200, 900))
def test_what_it_does_does_not_depend_on_when_it_stops(
    reward: object, n_arms: int, budget: int
) -> None:
    problem = Problem(n_arms, 1, 10**6, 1)
    short, _ = play(DoublingHalving(budget), reward, problem)
    long, _ = play(DoublingHalving(3 * budget), reward, problem)
    assert short == long[: len(short)]
    spent = units(chain.from_iterable(short))
    assert budget / 4 < spent <= budget


def test_it_ends_when_all_arms_stand_at_the_largest_level() -> None:
    rungs, best = play(DoublingHalving(10**6), lambda pull: pull.arm, Problem(5, 1, 30, 1))
    assert units(chain.from_iterable(rungs)) == 5 * 30
    assert best == 4
