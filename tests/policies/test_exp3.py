"""EXP3: its probabilities, its weights against a plain loop, and its regret."""

from __future__ import annotations

import math

import numpy as np
import pytest

from games import bernoulli, play
from sklearn_halving.policies import EXP3

UNIT = (0.0, 1.0)


def test_weights_are_those_of_a_plain_loop() -> None:
    """The draws are the policy's own; what they do to the weights is worked out here."""
    rewards = np.random.default_rng(0).random((4, 300))
    policy = EXP3(300, 0.2, UNIT)
    game = play(policy, rewards)
    log_weight, n_pulls = np.zeros(4), [0] * 4
    for arm in game.arms:
        weight = np.exp(log_weight - log_weight.max())
        p = 0.8 * weight[arm] / weight.sum() + 0.2 / 4
        log_weight[arm] += 0.2 * rewards[arm, n_pulls[arm]] / (p * 4)
        n_pulls[arm] += 1
    assert game.state.memory.log_weight[0] == pytest.approx(log_weight)
    assert not game.state.memory.in_flight


def test_the_regret_is_below_the_bound_and_falls() -> None:
    means = np.array([0.5, 0.6, 0.9, 0.4])
    regret = {}
    for n_pulls in (100, 1600):
        counts = bernoulli(EXP3(n_pulls, reward_range=UNIT), means.tolist(), 100, seed=4).counts
        regret[n_pulls] = float((counts * (means.max() - means)).sum(axis=1).mean())
        assert regret[n_pulls] < 2.63 * math.sqrt(n_pulls * 4 * math.log(4))
    assert regret[1600] / 1600 < 0.6 * regret[100] / 100


def test_it_changes_its_mind_when_rewards_change() -> None:
    """Arm 0 is good for 60 pulls and never again; arm 1 is fair for ever."""
    rewards = np.full((2, 4000), 0.5)
    rewards[0, :60], rewards[0, 60:] = 1.0, 0.0
    assert np.bincount(play(EXP3(3000, reward_range=UNIT), rewards).arms)[1] > 2000
