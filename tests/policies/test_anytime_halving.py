"""Halving by doubling and with an infinite horizon: schedules, kept progress, and time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_halving.policies import (
    NO_ARM,
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
    (bracket,) = policy.schedule(1, 1000).brackets
    assert [rung.n_arms for rung in bracket.rungs] == [16, 8, 4, 2]
    assert [rung.level for rung in bracket.rungs] == [15, 31, 62, 125]
    added = SuccessiveHalving(16, 1000).schedule(1, 1000).brackets[0].rungs
    assert [rung.level for rung in added] == np.cumsum([15, 31, 62, 125]).tolist()


@given(n_arms=st.integers(2, 200), extra=st.integers(0, 5000))
def test_levels_grow_and_training_from_scratch_fits(n_arms: int, extra: int) -> None:
    budget = n_arms * (n_arms - 1).bit_length() + extra
    (bracket,) = InfiniteHorizonHalving(n_arms, budget).schedule(1, 1).brackets
    levels = [rung.level for rung in bracket.rungs]
    assert levels == sorted(set(levels))
    assert sum(rung.n_arms * rung.level for rung in bracket.rungs) <= budget


def test_too_small_a_budget_names_the_least() -> None:
    with pytest.raises(ValueError, match="The least budget that works is 64"):
        InfiniteHorizonHalving(16, 63)
    with pytest.raises(ValueError, match=r"budget=63 is too small .* works is 64"):
        DoublingHalving(63).start(Problem(16, 1, 100))
    with pytest.raises(ValueError, match="n_arms must be at least 1, got 0"):
        InfiniteHorizonHalving(0, 63)


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


def test_the_answer_is_that_of_the_last_complete_run() -> None:
    """Two units more allow the next run to begin, not to end: the answer is still arm 3."""

    def reward(pull: Pull) -> float:
        return {0: 0.0, 1: 0.5, 2: 0.0, 3: 0.6}[pull.arm] + (pull.arm == 0) * (pull.level > 3)

    problem = Problem(4, 1, 100, 1)
    assert play(DoublingHalving(20), reward, problem)[1] == 3
    longer, best = play(DoublingHalving(22), reward, problem)
    assert longer[-1][0].level == 4
    assert best == 3
    assert play(DoublingHalving(60), reward, problem)[1] == 0


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


def test_progress_is_kept() -> None:
    """No arm is ever trained from a level back to a lower one."""
    rungs, _ = play(DoublingHalving(5000), lambda pull: -pull.arm, Problem(10, 1, 10**6, 1))
    for arm in range(10):
        levels = [pull.level for rung in rungs for pull in rung if pull.arm == arm]
        assert levels == sorted(set(levels))


def test_it_ends_when_all_arms_stand_at_the_largest_level() -> None:
    rungs, best = play(DoublingHalving(10**6), lambda pull: pull.arm, Problem(5, 1, 30, 1))
    assert units(chain.from_iterable(rungs)) == 5 * 30
    assert best == 4


def test_the_best_limit_is_found_whatever_the_start() -> None:
    """Curves cross: what is best at the first levels is the worst in the end."""

    def reward(pull: Pull) -> float:
        return pull.arm / 8 - pull.arm**2 / pull.level

    problem = Problem(8, 1, 10**6, 1)
    assert play(DoublingHalving(26), reward, problem)[1] == 0
    assert play(DoublingHalving(10**5), reward, problem)[1] == 7


def test_an_arm_that_fails_later_is_out_for_good() -> None:
    def reward(pull: Pull) -> float:
        return np.nan if pull.arm == 2 and pull.level > 2 else pull.arm / 4

    problem = Problem(3, 1, 100, 1)
    rungs, best = play(DoublingHalving(90), reward, problem)
    assert best == 1
    assert sum(pull.arm == 2 and pull.level > 2 for rung in rungs for pull in rung) == 1
    assert play(DoublingHalving(90), lambda pull: np.nan, problem)[1] == NO_ARM


def test_infinite_rewards_at_different_levels_are_no_failure() -> None:
    """Their sum is not a number, but rewards at different levels are not added."""
    policy = DoublingHalving(90)
    state = policy.start(Problem(3, 1, 100, 1))
    while not policy.is_finished(state):
        assert policy.is_alive(state).sum() == 3
        pulls = policy.ask(state, 100)
        first = np.where(pulls.arm == 0, np.inf, 0.5)
        policy.tell(state, pulls, np.where(pulls.level > 2, -first, first))
        if pulls.level[0] > 10:
            break


def test_doubling_starts_where_every_arm_reaches_the_smallest_level() -> None:
    """4 arms, 2 rounds: 4 * 2 * 5 = 40; of 4, 8, 16, ... the first as large is 64: 8 each."""
    policy = DoublingHalving(600)
    state = policy.start(Problem(4, min_level=5, max_level=1000))
    assert policy.ask(state, 100).level.tolist() == [8, 8, 8, 8]
    state = policy.start(Problem(1, min_level=5, max_level=1000))
    assert policy.ask(state, 100).level.tolist() == [5]
