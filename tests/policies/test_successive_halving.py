"""Who goes on to the next rung: only arms with a mean, also where there is room for more."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
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
