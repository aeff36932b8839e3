"""Who goes on to the next rung: only arms with a mean, also where there is room for more."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_halving.policies import NO_ARM, Hyperband, Problem, Pulls
from sklearn_halving.policies._successive_halving import promotion_keys

NAN = math.nan
NINE = Hyperband(brackets="most_exploratory")  # with levels 1 to 9: rungs of 9, 3 and 1 arms


def nine(n_splits: int = 1) -> Problem:
    return Problem(9, 1, 9, n_splits)


def tell_rung(policy: Any, state: Any, reward_of_arm: np.ndarray) -> Pulls:
    """Ask for a rung of one bracket and tell it; return the pulls."""
    pulls = policy.ask(state, 1000)
    rewards = np.take_along_axis(reward_of_arm, pulls.arm, axis=-1)
    policy.tell(state, pulls, np.where(pulls.arm == NO_ARM, NAN, rewards))
    return pulls


# ------------------------------------------------------------------------------- by hand


def test_problems_of_a_batch_may_differ() -> None:
    """There are as many columns as the problem with the most pulls needs, padded elsewhere."""
    state = NINE.start(nine(n_splits=2), batch_shape=(4,))
    rewards = np.full((4, 9), NAN)
    rewards[0, [4, 7]] = 0.5, 0.6
    rewards[1, 8] = 0.1
    rewards[3] = np.arange(9)
    tell_rung(NINE, state, rewards)
    second = tell_rung(NINE, state, rewards)
    assert second.arm.tolist() == [
        [4, 7, 4, 7, NO_ARM, NO_ARM],
        [8, 8, NO_ARM, NO_ARM, NO_ARM, NO_ARM],
        [0, 1, 2, 0, 1, 2],  # all failed, so that the rung decides nothing
        [6, 7, 8, 6, 7, 8],
    ]
    assert second.repetition[0, :4].tolist() == [0, 0, 1, 1]
    assert tell_rung(NINE, state, rewards).arm.tolist() == [[7, 7], [8, 8], [0, 0], [8, 8]]
    assert NINE.is_finished(state)
    assert NINE.recommend(state).tolist() == [7, 8, NO_ARM, 8]


def test_a_rung_in_which_every_arm_failed_decides_nothing() -> None:
    """The first arms go on, up to the number of the next rung."""
    state = NINE.start(nine())
    tell_rung(NINE, state, np.full(9, NAN))
    assert tell_rung(NINE, state, np.arange(9.0)).arm.tolist() == [0, 1, 2]
    assert tell_rung(NINE, state, np.arange(9.0)).arm.tolist() == [2]
    assert NINE.recommend(state) == 2


def test_a_split_on_which_every_arm_failed_says_nothing() -> None:
    state = NINE.start(nine(n_splits=3))
    pulls = NINE.ask(state, 1000)
    NINE.tell(state, pulls, np.where(pulls.repetition == 1, NAN, pulls.arm.astype(float)))
    assert set(NINE.ask(state, 1000).arm.tolist()) == {6, 7, 8}


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
        keys = promotion_keys(arms, rewards.mean(axis=1), rewards, tie_break)
        ranked = [
            (-means[arm - 3], means.index(means[arm - 3]) != arm - 3, ties[arm], arm)
            for arm in arms
        ]
        by_index = [(loss, arm) for loss, _, _, arm in ranked]
        expected = [arm for *_, arm in sorted(ranked if tie_break else by_index)]
        assert [arm for *_, arm in sorted(keys)] == expected


# ---------------------------------------------------------- whole searches with many NaN

POLICIES = [
    (policy, Problem(policy.plan(Problem(max_level=R)).n_arms, 1, R, n_splits))
    for policy, R, n_splits in [(Hyperband(), 27, 2), (Hyperband(factor=2), 16, 1)]
]


def table_of(seed: int, nan_share: float, problem: Problem) -> np.ndarray:
    """Return rewards of shape (n_arms, max_level + 1, n_splits)."""
    rng = np.random.default_rng(seed)
    shape = problem.n_arms, problem.max_level + 1, problem.max_repetitions
    return np.where(rng.random(shape) < nan_share, NAN, rng.integers(4, size=shape) / 4.0)


def play(policy: Any, problem: Problem, table: np.ndarray, size: int) -> tuple[set, int]:
    state, done = policy.start(problem), []
    while not policy.is_finished(state):
        pulls = policy.ask(state, size)
        done += pulls.each()
        policy.tell(state, pulls, table[pulls.arm, pulls.level, pulls.repetition])
    return set(done), int(policy.recommend(state))


@pytest.mark.parametrize(("policy", "problem"), POLICIES)
@given(seed=st.integers(0, 2**16), nan_share=st.sampled_from([0.3, 0.6, 0.9]))
@settings(max_examples=15)
def test_rungs_are_as_wide_as_planned_or_as_there_are_means(
    policy: Any, problem: Problem, seed: int, nan_share: float
) -> None:
    table = table_of(seed, nan_share, problem)
    arms = defaultdict(set)
    pulled, _ = play(policy, problem, table, 1000)
    plan = policy.plan(problem)
    for arm, level, _ in pulled:
        arms[plan.bracket_of_arm(arm), level].add(arm)
    for place, bracket in enumerate(plan.brackets):
        known = {*plan.arms(place)}
        for rung in bracket.rounds:
            here = arms[place, rung.level]
            assert here <= known
            assert len(here) == min(rung.n_arms, len(known))
            rewards = table[sorted(here), rung.level]
            works = ~np.isnan(rewards).all(axis=0)
            means = rewards[:, works if works.any() else slice(None)].mean(axis=-1)
            means_of = dict(zip(sorted(here), means.tolist(), strict=True))
            known = {arm for arm in here if not math.isnan(means_of[arm])} or here


# ------------------------------------------------------------------------ order of play


def labels_as_begun(policy: Hyperband, max_level: int) -> list[tuple[int, int]]:
    """Play rung by rung; return loop and label of the brackets as their first arms are asked."""
    plan = policy.plan(Problem(max_level=max_level))
    state = policy.start(Problem(plan.n_arms, 1, max_level, 2))
    begun: dict[tuple[int, int], None] = {}
    while not policy.is_finished(state):
        pulls = tell_rung(policy, state, np.arange(plan.n_arms) * 1.0)
        for index in map(plan.bracket_of_arm, pulls.arm.tolist()):
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
