"""Index policies with several pulls in flight, driven as a search drives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sklearn_halving import policies
from sklearn_halving.policies import Problem, Pull

UNIT = (0.0, 1.0)
POLICIES = [
    policies.UCBE(90, 2.0, UNIT),
    policies.AdaptiveUCBE(90, reward_range=UNIT),
    policies.UCB1(90, reward_range=UNIT),
    policies.UCBV(90, reward_range=UNIT),
    policies.MOSS(90, UNIT),
    policies.EXP3(90, reward_range=UNIT),
    policies.GapE(90, 1.0, UNIT),
    policies.GapEV(90, 0.3, UNIT),
    policies.AdaptiveGapEV(90, reward_range=UNIT),
    policies.UGapEb(90, 1.0, reward_range=UNIT),
    policies.UGapEb(90, 1.0, "bernstein", UNIT),
    policies.UGapEc(0.0, max_pulls=90, reward_range=UNIT),
    policies.LUCB(max_pulls=90, reward_range=UNIT),
    policies.LilUCB(max_pulls=90, reward_range=UNIT),
]


def search(
    policy: Any, rewards: np.ndarray, window: int, max_repetitions: int | None = None
) -> tuple[list[Pull], int]:
    """Keep ``window`` pulls in flight and tell the oldest, one at a time."""
    problem = Problem(len(rewards), 1, 1, max_repetitions)
    game = policy.start(problem, seed=np.random.SeedSequence(0))
    pulls: list[Pull] = []
    in_flight: list[Pull] = []
    while not game.is_finished:
        while len(in_flight) < window:
            asked = list(game.ask(window - len(in_flight)))
            if not asked:
                break
            pulls += asked
            in_flight += asked
        assert in_flight, "not finished, but nothing to wait for"
        told = in_flight.pop(0)
        game.tell(told, rewards[told.arm, told.repetition])
    return pulls, game.recommend()


@pytest.mark.walk
@pytest.mark.parametrize("window", [2, 8, 50])
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_pulls_in_flight_are_different_and_keep_to_the_budget(policy: Any, window: int) -> None:
    rng = np.random.default_rng(window)
    rewards = np.clip(rng.normal([[0.2], [0.8], [0.5], [0.4], [0.3]], 0.15, (5, 90)), 0, 1)
    pulls, best = search(policy, rewards, window)
    assert len(pulls) == len(set(pulls)) == 90
    assert best == 1
    for arm in range(5):
        repetitions = [pull.repetition for pull in pulls if pull.arm == arm]
        assert repetitions == list(range(len(repetitions))), "splits in order, none left out"


def test_the_first_arm_told_does_not_get_all_pulls_in_flight() -> None:
    """It is the only one with an index, and so would look like the one that is pulled most."""
    rewards = np.repeat([[0.1], [0.9], [0.1]], 200, axis=1)
    pulls, best = search(policies.LilUCB(max_pulls=90, reward_range=UNIT), rewards, window=50)
    assert best == 1
    assert [pull.arm for pull in pulls[:6]] != [0, 1, 2, 0, 0, 0]
