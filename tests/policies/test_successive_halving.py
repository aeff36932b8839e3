"""Successive halving: who goes on to the next rung, in a grid, by doubling, without barriers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_halving.policies import (
    NO_ARM,
    AsynchronousBrackets,
    DoublingHalving,
    FiniteHorizonHalving,
    GridHalving,
    Hyperband,
    InfiniteHorizonHalving,
    Problem,
    Pull,
    Round,
    SuccessiveHalving,
    SuccessiveRejects,
)
from sklearn_halving.policies._successive_halving import promotion_keys

NAN = math.nan
NINE = Hyperband(brackets="most_exploratory")  # with levels 1 to 9: rungs of 9, 3 and 1 arms


def tell_rung(game: Any, reward_of_arm: np.ndarray) -> list[int]:
    """Ask for a rung of one bracket and tell it; return the arms of the pulls."""
    pulls = game.ask(1000)
    for pull in pulls:
        game.tell(pull, float(reward_of_arm[pull.arm]))
    return [pull.arm for pull in pulls]


# ------------------------------------------------------------------------------- by hand


@pytest.mark.parametrize(
    ("rewards", "rungs", "best"),
    [
        ({4: 0.5, 7: 0.6}, [[4, 7, 4, 7], [7, 7]], 7),
        ({8: 0.1}, [[8, 8], [8, 8]], 8),
        ({}, [[0, 1, 2, 0, 1, 2], [0, 0]], NO_ARM),  # a rung in which all fail decides nothing
        (dict(enumerate(range(9))), [[6, 7, 8, 6, 7, 8], [8, 8]], 8),
    ],
)
def test_rungs_after_failures(rewards: dict[int, float], rungs: Any, best: int) -> None:
    game = NINE.start(Problem(9, 1, 9, 2))
    table = np.array([rewards.get(arm, NAN) for arm in range(9)])
    tell_rung(game, table)
    assert [tell_rung(game, table) for _ in rungs] == rungs
    assert game.is_finished
    assert game.recommend() == best


# ----------------------------------------------------------------------- rule of promotion


@given(
    means=st.lists(st.sampled_from([-math.inf, 0.0, 1.0, 2.0, math.inf]), max_size=8),
    seed=st.integers(0, 99),
)
def test_larger_means_first_then_the_first_of_equal_arms_then_the_tie_break(
    means: list[float], seed: int
) -> None:
    arms = list(range(3, 3 + len(means)))
    rewards = np.array(means).reshape(-1, 1)
    ties = np.random.default_rng(seed).integers(3, size=3 + len(means)).tolist()
    for tie_break in (None, ties):
        keys = promotion_keys(arms, rewards.mean(axis=1), tie_break)
        ranked = [
            (-means[arm - 3], means.index(means[arm - 3]) != arm - 3, ties[arm], arm)
            for arm in arms
        ]
        by_index = [(loss, arm) for loss, _, _, arm in ranked]
        expected = [arm for *_, arm in sorted(ranked if tie_break else by_index)]
        assert [arm for *_, arm in sorted(keys)] == expected


# ---------------------------------------------------------- whole searches with many NaN


# ------------------------------------------------------------------------ order of play


def labels_as_begun(policy: Hyperband, max_level: int) -> list[tuple[int, int]]:
    """Play rung by rung; return loop and label of the brackets as their first arms are asked."""
    plan = policy.plan(Problem(max_level=max_level))
    game = policy.start(Problem(plan.n_arms, 1, max_level, 2))
    begun: dict[tuple[int, int], None] = {}
    while not game.is_finished:
        arms = tell_rung(game, np.arange(plan.n_arms))
        for index in map(plan.bracket_of_arm, arms):
            begun[plan.brackets[index].loop, plan.brackets[index].label] = None
    return list(begun)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [2, 4, 3, 1, 0]),
        ({"max_eliminations": 3}, [2, 3, 1, 0]),
        ({"brackets": (4, 3, 0)}, [3, 4, 0]),
        ({"brackets": "most_exploratory"}, [4]),
    ],
)
def test_the_middle_bracket_is_begun_first_and_then_the_widest(
    options: dict[str, Any], expected: list[int]
) -> None:
    assert labels_as_begun(Hyperband(**options), 81) == [(0, label) for label in expected]


def test_one_loop_is_begun_after_the_other() -> None:
    assert labels_as_begun(Hyperband(n_loops=2), 9) == [
        (loop, label) for loop in (0, 1) for label in (1, 2, 0)
    ]


PLANS = st.builds(
    GridHalving,
    n_arms=st.integers(1, 200),
    factor=st.sampled_from([2, 2.5, 3, 4]),
    early_repetitions=st.integers(1, 4),
    first_floor=st.sampled_from([1, 50]),
    deep_floor=st.sampled_from([1, 200]),
)


PROBLEMS = st.builds(
    lambda min_level, above, n_splits: Problem(1, min_level, min_level + above, n_splits),
    st.integers(1, 20),
    st.integers(0, 3000),
    st.integers(1, 12),
)


def rungs_of(policy: GridHalving, problem: Problem) -> tuple[Round, ...]:
    (bracket,) = policy.plan(problem).brackets
    return bracket.rounds


@given(PLANS, PROBLEMS)
def test_never_more_pulls_than_all_arms_on_all_splits(policy, problem):
    n_splits = problem.max_repetitions
    assert policy.plan(problem).n_pulls(n_splits) <= policy.n_arms * n_splits


@given(PLANS, PROBLEMS)
def test_every_arm_starts_and_three_are_compared_on_all_splits(policy, problem):
    first, *_, last = 2 * rungs_of(policy, problem)
    assert first.n_arms == policy.n_arms
    assert last.n_arms >= max(1, min(3, policy.n_arms - 1))
    assert last.level == problem.max_level
    assert last.n_repetitions is None


@given(PLANS, PROBLEMS)
def test_rungs_are_above_the_floors_and_increase(policy, problem):
    rungs = rungs_of(policy, problem)
    levels = sorted({rung.level for rung in rungs})
    assert [rung.level for rung in rungs] == sorted(rung.level for rung in rungs)
    assert all(level >= policy.deep_floor for level in levels[:-2])
    assert all(level >= max(problem.min_level, policy.first_floor) for level in levels[:-1])
    # Two rungs share a level only where the second goes on with the splits of the first.
    for before, rung in pairwise(rungs):
        assert rung.first_repetition == (before.n_repetitions if rung.level == before.level else 0)


@pytest.mark.parametrize("n_arms", [1, 2])
def test_one_or_two_arms_are_a_grid_search(n_arms):
    assert rungs_of(GridHalving(n_arms), Problem(1, 1, 1000, 5)) == (Round(n_arms, 1000),)


def test_what_cannot_be_halved_races_on_splits():
    race = (Round(6, 40, 2), Round(3, 40, first_repetition=2))
    assert rungs_of(GridHalving(6, first_floor=50, deep_floor=200), Problem(1, 4, 40, 5)) == race
    assert rungs_of(GridHalving(3), Problem(1, 1, 1000, 5)) == (
        Round(3, 1000, 2),
        Round(2, 1000, first_repetition=2),
    )


def play(policy: DoublingHalving, reward: object, problem: Problem) -> tuple:
    """Play one problem -> (one list of pulls for each rung, answer)."""
    game = policy.start(problem)
    rungs = []
    while not game.is_finished:
        rungs.append(list(game.ask(10**6)))
        for pull in rungs[-1]:
            game.tell(pull, reward(pull))
    return rungs, game.recommend()


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


WIDE = AsynchronousBrackets(FiniteHorizonHalving(9, 27))
"""One bracket of 9, 3 and 1 arms at the levels 1, 3 and 9."""


def asked(game: Any, n: int) -> list[Pull]:
    return [pull for _ in range(n) for pull in game.ask(1)]


def test_the_best_of_three_goes_on_before_the_rung_is_complete() -> None:
    game = WIDE.start(Problem(9, 1, 9))
    for pull, reward in zip(asked(game, 3), (1.0, 3.0, 2.0), strict=True):
        game.tell(pull, reward)
    assert asked(game, 1) == [Pull(1, 3, 0)]
    for pull in asked(game, 3):
        game.tell(pull, 0.0)
    assert asked(game, 1) == [Pull(2, 3, 0)], "the best that is left of the first six"


def test_what_plans_no_brackets_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^brackets must be a policy that plans brackets"):
        AsynchronousBrackets(SuccessiveRejects(10))  # type: ignore[arg-type]
