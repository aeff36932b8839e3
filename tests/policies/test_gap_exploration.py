"""GapE and UGap: against plain loops, their guarantees, and what they are better at."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games import bernoulli, play
from sklearn_halving.policies import AdaptiveGapEV, AdaptiveUGapEb, GapE, GapEV, UGapEb, UGapEc

UNIT = (0.0, 1.0)


def plain_unified_gap(policy: Any, rewards: np.ndarray, most: int) -> tuple[list[int], int]:
    """Play Fig. 1 of Gabillon et al. (2012) with m = 1; rewards in [0, 1]."""
    n_arms, fixed = len(rewards), isinstance(policy, UGapEb)
    n_first = 2 if policy.bounds == "bernstein" else 1
    seen = [list(row[:n_first]) for row in rewards]
    arms = [*range(n_arms)] * n_first
    rounds = []
    while len(arms) < most or not fixed:
        x = policy.a if fixed else math.log(4 * n_arms * len(arms) ** 3 / policy.delta) / 2
        if policy.bounds == "bernstein":
            x = x if fixed else 2 * x
            beta = [
                math.sqrt(2 * x * np.var(s, ddof=1) / len(s)) + 7 * x / (3 * (len(s) - 1))
                for s in seen
            ]
        else:
            beta = [math.sqrt(x / len(s)) for s in seen]
        mean = [float(np.mean(s)) for s in seen]
        upper = [m + b for m, b in zip(mean, beta, strict=True)]
        bound = [
            max(u for j, u in enumerate(upper) if j != i) - (mean[i] - beta[i])
            for i in range(n_arms)
        ]
        leader = min(range(n_arms), key=lambda i: (round(bound[i], 9), i))
        rounds.append((bound[leader], leader))
        if not fixed and bound[leader] < policy.epsilon:
            return arms, leader
        others = [i for i in range(n_arms) if i != leader]
        rival = max(others, key=lambda i: (round(upper[i], 9), -i))
        arm = max(leader, rival, key=lambda i: (round(beta[i], 9), -i))
        arms.append(arm)
        seen[arm].append(float(rewards[arm, len(seen[arm])]))
    return arms, min(rounds, key=lambda one: round(one[0], 9))[1]


@pytest.mark.parametrize("bounds", ["hoeffding", "bernstein"])
@settings(max_examples=20)
@given(seed=st.integers(0, 2**16), n_arms=st.integers(2, 5))
def test_with_a_budget_it_does_what_the_figure_says(bounds: str, seed: int, n_arms: int) -> None:
    rng = np.random.default_rng(seed)
    rewards = np.clip(rng.normal(rng.random((n_arms, 1)), 0.2, (n_arms, 70)), 0, 1)
    policy = UGapEb(70, 0.3, bounds, UNIT)
    assert play(policy, rewards)[:2] == plain_unified_gap(policy, rewards, 70)


@pytest.mark.parametrize("bounds", ["hoeffding", "bernstein"])
@pytest.mark.parametrize("seed", range(3))
def test_with_a_confidence_it_does_what_the_figure_says(bounds: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rewards = np.clip(rng.normal([[0.9], [0.3], [0.1]], 0.1, (3, 3000)), 0, 1)
    policy = UGapEc(0.1, 0.1, bounds, reward_range=UNIT)
    game = play(policy, rewards)
    assert game[:2] == plain_unified_gap(policy, rewards, 0)
    assert policy.is_confident(game.state)


@pytest.mark.parametrize("bounds", ["hoeffding", "bernstein"])
def test_the_regret_is_below_epsilon_as_promised(bounds: str) -> None:
    games = bernoulli(UGapEc(0.3, 0.2, bounds, reward_range=UNIT), [0.2, 0.7, 0.5], 100, seed=1)
    assert (games.best == 0).mean() <= 0.2
    policy = UGapEc(0.3, 0.2, bounds, reward_range=UNIT)
    assert policy.is_confident(games.state).all()


def exploration(seen: list[list[float]], most: int, epsilon: float, bounds: str) -> float:
    """Return (n - K) / (4 H), in plain loops; rewards in [0, 1]."""
    means = [float(np.mean(s)) for s in seen]
    radii = [math.sqrt(1 / (2 * len(s))) for s in seen]
    hardness = 0.0
    for i, s in enumerate(seen):
        rival = max(m + r for j, (m, r) in enumerate(zip(means, radii, strict=True)) if j != i)
        g = max((abs(rival - (means[i] - radii[i])) + epsilon) / 2, epsilon)
        if bounds == "bernstein":
            sd = max(np.std(s, ddof=1) - math.sqrt(2 / (len(s) - 1)), 0)
            hardness += ((sd + math.sqrt(sd**2 + 16 * g / 3)) / g) ** 2
        else:
            hardness += 1 / g**2
    n_first = 2 if bounds == "bernstein" else 1
    return (most - n_first * len(seen)) / (4 * hardness)


def plain_adaptive_unified_gap(rewards: np.ndarray, most: int, epsilon: float, bounds: str):
    """Return the arms pulled, and the one of the best mean."""
    n_first = 2 if bounds == "bernstein" else 1
    seen = [list(map(float, row[:n_first])) for row in rewards]
    arms = [*range(len(rewards))] * n_first
    while len(arms) < most:
        x = exploration(seen, most, epsilon, bounds)
        widths = [
            math.sqrt(2 * x * np.var(s, ddof=1) / len(s)) + 7 * x / (3 * (len(s) - 1))
            if bounds == "bernstein"
            else math.sqrt(x / len(s))
            for s in seen
        ]
        upper = [np.mean(s) + w for s, w in zip(seen, widths, strict=True)]
        lower = [np.mean(s) - w for s, w in zip(seen, widths, strict=True)]
        of_arm = [max(np.delete(upper, i)) - lower[i] for i in range(len(seen))]
        leader = min(range(len(seen)), key=lambda i: (round(of_arm[i], 9), i))
        others = [i for i in range(len(seen)) if i != leader]
        rival = max(others, key=lambda i: (round(upper[i], 9), -i))
        arm = max(sorted([leader, rival]), key=lambda i: (round(widths[i], 9), -i))
        arms.append(arm)
        seen[arm].append(float(rewards[arm, len(seen[arm])]))
    return arms, int(np.argmax([np.mean(s) for s in seen]))


@pytest.mark.parametrize("bounds", ["hoeffding", "bernstein"])
@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**16), n_arms=st.integers(2, 5), epsilon=st.sampled_from([0.0, 0.1, 0.5])
)
def test_it_is_ugap_with_an_estimated_exploration(bounds, seed, n_arms, epsilon) -> None:
    rng = np.random.default_rng(seed)
    rewards = np.clip(rng.normal(rng.random((n_arms, 1)), 0.2, (n_arms, 50)), 0, 1)
    policy = AdaptiveUGapEb(50, epsilon, bounds, UNIT)
    expected = plain_adaptive_unified_gap(rewards, 50, epsilon, bounds)
    assert play(policy, rewards)[:2] == expected


def plain_gap(policy: Any, rewards: np.ndarray) -> list[int]:
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
    assert game.arms == plain_gap(policy, rewards)
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
