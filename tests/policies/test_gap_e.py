"""GapE, GapE-V and A-GapE-V: against plain loops, and in simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games import play
from sklearn_halving.policies import AdaptiveGapEV, AdaptiveUGapEb, GapE, GapEV

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


@pytest.mark.parametrize(
    "make",
    [
        lambda r: GapE(80, 0.7, r),
        lambda r: GapEV(80, 0.2, r),
        lambda r: AdaptiveUGapEb(80, reward_range=r),
    ],
)
def test_another_range_is_another_unit(make: Any) -> None:
    rewards = np.random.default_rng(1).random((5, 80))
    assert play(make((-30.0, 10.0)), rewards * 40 - 30).arms == play(make(UNIT), rewards).arms


def test_a_noisy_arm_gets_more_pulls_of_gape_v() -> None:
    rng = np.random.default_rng(2)
    rewards = np.clip(rng.normal(0.5, [[0.3], [0.01], [0.3], [0.01]], (4, 400)), 0, 1)
    counts = np.bincount(play(GapEV(400, 2.0, UNIT), rewards).arms)
    assert min(counts[0], counts[2]) > 1.4 * max(counts[1], counts[3])
