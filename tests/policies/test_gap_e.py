"""GapE, GapE-V and A-GapE-V: against plain loops, and in simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games import bernoulli, play
from sklearn_halving.policies import AdaptiveGapEV, GapE, GapEV, Problem, UniformAllocation

UNIT = (0.0, 1.0)


def plain_loop(policy: Any, rewards: np.ndarray) -> list[int]:
    """Play the indices of Gabillon et al. (2011) one pull at a time; rewards in [0, 1]."""
    n_arms, n, n_first = len(rewards), policy.n_pulls, policy.n_first
    seen: list[list[float]] = [[] for _ in range(n_arms)]
    arms = []
    for _ in range(n):
        few = [(len(s), arm) for arm, s in enumerate(seen) if len(s) < n_first]
        if few:
            arm = min(few)[1]
        else:
            mean = [float(np.mean(s)) for s in seen]
            gap = [
                abs(max(m for j, m in enumerate(mean) if j != i) - mean[i]) for i in range(n_arms)
            ]
            radius = radii(policy, seen, gap, n)
            index = [round(r - g, 12) for r, g in zip(radius, gap, strict=True)]
            arm = max(range(n_arms), key=lambda i: (index[i], -i))
        seen[arm].append(float(rewards[arm, len(seen[arm])]))
        arms.append(arm)
    return arms


def radii(policy: Any, seen: list[list[float]], gap: list[float], n: int) -> list[float]:
    counts = [len(s) for s in seen]
    if isinstance(policy, GapE):
        return [math.sqrt(policy.a / c) for c in counts]
    variance = [float(np.var(s, ddof=1)) for s in seen]
    if isinstance(policy, GapEV):
        a = policy.a
    else:
        large = [g + math.sqrt(1 / (2 * c)) for g, c in zip(gap, counts, strict=True)]
        small = [
            max(math.sqrt(v) - math.sqrt(2 / (c - 1)), 0)
            for v, c in zip(variance, counts, strict=True)
        ]
        hardness = sum(
            ((s + math.sqrt(s**2 + 16 / 3 * g)) / g) ** 2
            for s, g in zip(small, large, strict=True)
        )
        a = policy.eta * (n - 2 * len(seen)) / hardness
    return [
        math.sqrt(2 * a * v / c) + 7 * a / (3 * (c - 1))
        for v, c in zip(variance, counts, strict=True)
    ]


POLICIES = [GapE(80, 0.7, UNIT), GapEV(80, 0.2, UNIT), AdaptiveGapEV(80, reward_range=UNIT)]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**16), n_arms=st.integers(2, 6))
def test_pulls_what_a_plain_loop_pulls(policy: Any, seed: int, n_arms: int) -> None:
    rng = np.random.default_rng(seed)
    rewards = np.clip(rng.normal(rng.random((n_arms, 1)), 0.2, (n_arms, 80)), 0, 1)
    game = play(policy, rewards)
    assert game.arms == plain_loop(policy, rewards)
    counts = np.bincount(game.arms)
    assert game.best == np.argmax([r[:c].mean() for r, c in zip(rewards, counts, strict=True)])


@pytest.mark.parametrize("make", [lambda r: GapE(80, 0.7, r), lambda r: GapEV(80, 0.2, r)])
def test_another_range_is_another_unit(make: Any) -> None:
    rewards = np.random.default_rng(1).random((5, 80))
    assert play(make((-30.0, 10.0)), rewards * 40 - 30).arms == play(make(UNIT), rewards).arms


def test_a_noisy_arm_gets_more_pulls_of_gape_v() -> None:
    rng = np.random.default_rng(2)
    rewards = np.clip(rng.normal(0.5, [[0.3], [0.01], [0.3], [0.01]], (4, 400)), 0, 1)
    counts = np.bincount(play(GapEV(400, 2.0, UNIT), rewards).arms)
    assert min(counts[0], counts[2]) > 1.4 * max(counts[1], counts[3])


def test_close_arms_get_more_pulls_than_with_uniform_allocation() -> None:
    means = [0.5, 0.42, 0.1, 0.1, 0.1, 0.1]
    gape = bernoulli(GapE(600, 4.0, UNIT), means, 400, seed=3)
    uniform = bernoulli(UniformAllocation(600), means, 400, seed=4)
    assert gape.counts[:, :2].mean() > 1.5 * 100
    assert (gape.best != 0).mean() < 0.7 * (uniform.best != 0).mean()


@pytest.mark.parametrize("policy", [GapEV(9, 1.0, UNIT), AdaptiveGapEV(9, reward_range=UNIT)])
def test_every_arm_needs_two_pulls(policy: Any) -> None:
    with pytest.raises(ValueError, match=r"n_pulls=9 is too small .* 2 times. .* works is 10"):
        policy.start(Problem(5))


@pytest.mark.parametrize("policy", [GapE(9, 1.0), GapEV(9, 1.0), AdaptiveGapEV(9)])
def test_without_a_range_it_says_what_to_give(policy: Any) -> None:
    with pytest.raises(ValueError, match=r"reward_range=None. Give reward_range=\(low, high\)"):
        policy.start(Problem(3))


def test_gape_by_hand() -> None:
    """Means 0.1, 0.6, 0.7: gaps 0.6, 0.1, 0.1. a = 0.35 adds 0.5916 / sqrt(N).

    One pull each: -0.6 + 0.5916 = -0.0084, and twice -0.1 + 0.5916. Arms 1 and 2 take turns while
    theirs is larger: 0.5916 / sqrt(41) - 0.1 = -0.0076 is, with 42 pulls -0.0087 is not.
    """
    rewards = np.repeat([[0.1], [0.6], [0.7]], 80, axis=1)
    assert play(GapE(86, 0.35, UNIT), rewards).arms == [0, *[1, 2] * 42, 0]


@pytest.mark.parametrize(("a", "sixth"), [(0.01, 1), (0.001, 0)])
def test_gape_v_by_hand(a: float, sixth: int) -> None:
    """Rewards 0.4, 0.6, 0.5 (variance 0.02, then 0.01) against a constant 0.9; equal gaps.

    After two pulls each the radii are sqrt(0.02 a) + 7 a / 3 and 7 a / 3: the first is larger.
    After its third pull sqrt(0.02 a / 3) + 7 a / 6 against 7 a / 3: 0.0198 < 0.0233 for a = 0.01,
    and 0.0037 > 0.0023 for a = 0.001.
    """
    rewards = np.array([[0.4, 0.6, 0.5, 0.5], [0.9, 0.9, 0.9, 0.9]])
    assert play(GapEV(6, a, UNIT), rewards).arms == [0, 1, 0, 1, 0, sixth]


def test_the_exploration_of_a_gape_v_by_hand() -> None:
    """Two arms, two pulls each, gap 0.4: the gap's upper bound is 0.4 + sqrt(1 / 4) = 0.9.

    The lower bounds of the deviations are 0, as sqrt(0.02) < sqrt(2): H is twice
    (sqrt(16 / 3 * 0.9) / 0.9)^2 = 5.9259, that is 11.8519, and a = 8 / 9 (84 - 4) / 11.8519 = 6.
    Radii: sqrt(2 * 6 * 0.02 / 2) + 7 * 6 / 3 = 14.3464, and 14. The gap of 0.4 is subtracted.
    """
    policy = AdaptiveGapEV(84, reward_range=UNIT)
    state = policy.start(Problem(2))
    for rewards in ([0.4, 0.9], [0.6, 0.9]):
        for reward in rewards:
            pulls = policy.ask(state, 1)
            policy.tell(state, pulls, np.array([reward]))
    np.testing.assert_allclose(policy._index(state), [[13.9464, 13.6]], atol=1e-4)
