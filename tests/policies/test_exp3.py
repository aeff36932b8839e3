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


def test_first_draws_are_even_and_later_ones_follow_the_weights() -> None:
    policy = EXP3(2000, 0.1, UNIT)
    state = policy.start(Problem(3), batch_shape=(4000,), seed=np.random.SeedSequence(1))
    first = policy.ask(state, 1)
    shares = np.bincount(first.arm[:, 0], minlength=3) / 4000
    assert np.abs(shares - 1 / 3).max() < 0.04
    policy.tell(state, first, np.zeros((4000, 1)))
    state.memory.log_weight[:] = np.log([1.0, 2.0, 5.0])
    later = np.bincount(policy.ask(state, 1).arm[:, 0], minlength=3) / 4000
    expected = 0.9 * np.array([1, 2, 5]) / 8 + 0.1 / 3
    assert np.abs(later - expected).max() < 0.04


def test_pulls_told_out_of_step_keep_their_probabilities() -> None:
    policy = EXP3(100, 0.5, UNIT)
    state = policy.start(Problem(3), seed=np.random.SeedSequence(2))
    asked = [policy.ask(state, 1) for _ in range(6)]
    probabilities = [share[0] for _, _, share in state.memory.in_flight]
    expected = np.zeros(3)
    for pulls, p in zip(asked, probabilities, strict=True):
        policy.tell(state, pulls, np.array([0.5]))
        expected[pulls.arm[0]] += 0.5 * 0.5 / (p * 3)
    assert state.memory.log_weight[0] == pytest.approx(expected)


def test_the_seed_decides_and_nothing_else() -> None:
    rewards = np.random.default_rng(3).random((4, 200))

    def arms(seed: int) -> list[int]:
        policy = EXP3(100, reward_range=UNIT)
        state = policy.start(Problem(4), seed=np.random.SeedSequence(seed))
        pulled = []
        while not policy.is_finished(state):
            pulls = policy.ask(state, 1)
            pulled += pulls.arm.tolist()
            policy.tell(state, pulls, rewards[pulls.arm, pulls.repetition])
        return pulled

    assert arms(1) == arms(1) != arms(2)


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
