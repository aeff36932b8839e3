"""A bracket promotes by the rule that it is given, full or gradual."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_halving.policies import FiniteHorizonHalving, Problem
from sklearn_halving.policies._successive_halving import promotion_keys
from sklearn_halving.policies.bases._bracket_play import BracketPlay

(NINE,) = FiniteHorizonHalving(9, 27).plan(Problem(max_level=9)).brackets
"""Rungs of 9, 3 and 1 arms at the levels 1, 3 and 9."""


def cautious_keys(arms, means, rewards):
    """Rank arms by a lower confidence bound."""
    return promotion_keys(arms, means - rewards.std(axis=1), rewards)


def play(rule, rewards, *, is_gradual):
    """Return the arms that reach each level, one pull at a time; ``rewards`` are by arm, split."""
    arms, alive = range(10, 19), np.ones(19, dtype=bool)
    bracket = BracketPlay(NINE, arms, rewards.shape[1], rule, alive, is_gradual)
    reached = {}
    while not bracket.is_finished:
        (pull,) = bracket.ask(1)
        assert alive[pull.arm]
        reached.setdefault(pull.level, set()).add(pull.arm - 10)
        bracket.tell(pull, rewards[pull.arm - 10, pull.repetition])
    assert alive.tolist() == [True] * 10 + [False] * 9, "arms of other brackets stay alive"
    return reached


@pytest.mark.parametrize("is_gradual", [False, True])
def test_another_rule_of_promotion_changes_who_goes_on(is_gradual):
    mean = np.array([9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0])
    spread = np.where(mean > 6, 6.0, 0.0)  # the best three are unsteady
    rewards = np.stack([mean - spread, mean + spread], axis=1)
    by_mean = play(promotion_keys, rewards, is_gradual=is_gradual)
    cautious = play(cautious_keys, rewards, is_gradual=is_gradual)
    assert by_mean[9] == {0}
    assert cautious[9] == {6}
    if not is_gradual:
        assert by_mean[3] == {0, 2, 4}
        assert cautious[3] == {6, 7, 8}


def test_a_rung_is_asked_split_by_split_and_gradually_arm_by_arm():
    alive = np.ones(9, dtype=bool)
    full = BracketPlay(NINE, range(9), 2, promotion_keys, alive)
    gradual = BracketPlay(NINE, range(9), 2, promotion_keys, alive, is_gradual=True)
    by_split = [(pull.repetition, pull.arm) for pull in full.ask(100)]
    by_arm = [(pull.arm, pull.repetition) for _ in range(18) for pull in gradual.ask(100)]
    assert by_split == [(split, arm) for split in range(2) for arm in range(9)]
    assert by_arm == [(arm, split) for arm in range(9) for split in range(2)]
