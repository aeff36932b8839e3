"""EXP3: its probabilities, its weights against a plain loop, and its regret."""

from __future__ import annotations

import math

import numpy as np
import pytest

from games import bernoulli, play
from sklearn_halving.policies import EXP3, Problem

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


def test_the_default_gamma_is_that_of_the_bound() -> None:
    assert EXP3(1000)._gamma(5) == math.sqrt(5 * math.log(5) / ((math.e - 1) * 1000))
    assert EXP3(2)._gamma(5) == 1.0


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


def test_bad_parameters() -> None:
    with pytest.raises(ValueError, match="gamma must be larger than 0 and at most 1, got 0"):
        EXP3(10, 0)
    with pytest.raises(ValueError, match="EXP3 needs rewards of a known range"):
        EXP3(10).start(Problem(3))
