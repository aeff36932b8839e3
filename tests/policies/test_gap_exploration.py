"""GapE and UGap: against plain loops, their guarantees, and what they are better at."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games import bernoulli, play
from sklearn_halving.policies import (
    AdaptiveGapEV,
    AdaptiveUGapEb,
    GapE,
    GapEV,
    Problem,
    Pull,
    UGapEb,
    UGapEc,
)

UNIT = (0.0, 1.0)


Samples = list[list[float]]


def widths_of(bounds: str, x: float, seen: Samples) -> list[float]:
    """Return the half-widths of the confidence intervals; rewards in [0, 1]."""
    if bounds == "hoeffding":
        return [math.sqrt(x / len(s)) for s in seen]
    return [
        math.sqrt(2 * x * np.var(s, ddof=1) / len(s)) + 7 * x / (3 * (len(s) - 1)) for s in seen
    ]


def small_deviation(s: list[float]) -> float:
    """Return a lower bound of the standard deviation."""
    return max(np.std(s, ddof=1) - math.sqrt(2 / (len(s) - 1)), 0)


def plain_unified_gap(policy: Any, rewards: np.ndarray) -> tuple[list[int], int, list[float]]:
    """Play Fig. 1 of Gabillon et al. (2012) with m = 1 -> (arms, the answer, bounds of rounds)."""
    n_arms, bounds = len(rewards), policy.bounds
    n_first = 2 if bounds == "bernstein" else 1
    seen = [list(map(float, row[:n_first])) for row in rewards]
    arms = [*range(n_arms)] * n_first
    rounds = []
    while isinstance(policy, UGapEc) or len(arms) < policy.n_pulls:
        if isinstance(policy, UGapEc):
            x = math.log(4 * n_arms * len(arms) ** 3 / policy.delta)
            x = x if bounds == "bernstein" else x / 2
        else:
            x = policy.a if isinstance(policy, UGapEb) else exploration(policy, seen)
        beta = widths_of(bounds, x, seen)
        mean = [float(np.mean(s)) for s in seen]
        upper = [m + b for m, b in zip(mean, beta, strict=True)]
        bound = [max(np.delete(upper, i)) - (mean[i] - beta[i]) for i in range(n_arms)]
        leader = min(range(n_arms), key=lambda i: (round(bound[i], 9), i))
        rounds.append((bound[leader], leader))
        if isinstance(policy, UGapEc) and bound[leader] < policy.epsilon:
            break
        others = [i for i in range(n_arms) if i != leader]
        rival = max(others, key=lambda i: (round(upper[i], 9), -i))
        arm = max(sorted([leader, rival]), key=lambda i: (round(beta[i], 9), -i))
        arms.append(arm)
        seen[arm].append(float(rewards[arm, len(seen[arm])]))
    best = leader
    if isinstance(policy, UGapEb):
        best = min(rounds, key=lambda one: round(one[0], 9))[1]
    elif isinstance(policy, AdaptiveUGapEb):
        best = int(np.argmax([np.mean(s) for s in seen]))
    return arms, best, [least for least, _ in rounds]


def exploration(policy: AdaptiveUGapEb, seen: Samples) -> float:
    """Return (n - K) / (4 H), in plain loops; rewards in [0, 1]."""
    means, radii = [float(np.mean(s)) for s in seen], widths_of("hoeffding", 0.5, seen)
    hardness = 0.0
    for i, s in enumerate(seen):
        rival = max(m + r for j, (m, r) in enumerate(zip(means, radii, strict=True)) if j != i)
        g = max((abs(rival - (means[i] - radii[i])) + policy.epsilon) / 2, policy.epsilon)
        if policy.bounds == "bernstein":
            sd = small_deviation(s)
            hardness += ((sd + math.sqrt(sd**2 + 16 * g / 3)) / g) ** 2
        else:
            hardness += 1 / g**2
    n_first = 2 if policy.bounds == "bernstein" else 1
    return (policy.n_pulls - n_first * len(seen)) / (4 * hardness)


@pytest.mark.parametrize("bounds", ["hoeffding", "bernstein"])
@settings(max_examples=20)
@given(seed=st.integers(0, 2**16), n_arms=st.integers(2, 5))
def test_with_a_budget_it_does_what_the_figure_says(bounds: str, seed: int, n_arms: int) -> None:
    rng = np.random.default_rng(seed)
    rewards = np.clip(rng.normal(rng.random((n_arms, 1)), 0.2, (n_arms, 70)), 0, 1)
    policy = UGapEb(70, 0.3, bounds, UNIT)
    assert play(policy, rewards)[:2] == plain_unified_gap(policy, rewards)[:2]


@pytest.mark.parametrize("n_splits", [None, 7])
def test_a_request_without_a_pull_does_not_change_the_answer(n_splits: int | None) -> None:
    for seed in range(40):
        rewards = np.clip(np.random.default_rng(seed).normal(0.5, 0.3, (5, 40)), 0, 1)
        policy, answers = UGapEb(40, 0.3, reward_range=UNIT), []
        game = policy.start(Problem(5, max_repetitions=n_splits))
        open_pulls: list[Pull] = []
        while not game.is_finished:
            while asked := list(game.ask(1)):
                open_pulls += asked
                answers = [game.recommend()]
                if len(open_pulls) == 4:
                    break
            assert game.recommend() == (answers or [-1])[0]
            told, answers = open_pulls.pop(0), []
            reward = rewards[told.arm, told.repetition]
            game.tell(told, reward)
            answers = [game.recommend()]


@pytest.mark.parametrize("bounds", ["hoeffding", "bernstein"])
@pytest.mark.parametrize("seed", range(3))
def test_with_a_confidence_it_does_what_the_figure_says(bounds: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rewards = np.clip(rng.normal([[0.9], [0.3], [0.1]], 0.1, (3, 3000)), 0, 1)
    policy = UGapEc(0.1, 0.1, bounds, reward_range=UNIT)
    game = play(policy, rewards)
    assert game[:2] == plain_unified_gap(policy, rewards)[:2]
    assert game.game.is_confident()


@pytest.mark.parametrize("bounds", ["hoeffding", "bernstein"])
def test_the_regret_is_below_epsilon_as_promised(bounds: str) -> None:
    games = bernoulli(UGapEc(0.3, 0.2, bounds, reward_range=UNIT), [0.2, 0.7, 0.5], 100, seed=1)
    assert (games.best == 0).mean() <= 0.2
    assert all(game.is_confident() for game in games.games)


@pytest.mark.parametrize("bounds", ["hoeffding", "bernstein"])
@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**16), n_arms=st.integers(2, 5), epsilon=st.sampled_from([0.0, 0.1, 0.5])
)
def test_it_is_ugap_with_an_estimated_exploration(bounds, seed, n_arms, epsilon) -> None:
    rng = np.random.default_rng(seed)
    rewards = np.clip(rng.normal(rng.random((n_arms, 1)), 0.2, (n_arms, 50)), 0, 1)
    policy = AdaptiveUGapEb(50, epsilon, bounds, UNIT)
    *expected, _ = plain_unified_gap(policy, rewards)
    assert [*play(policy, rewards)[:2]] == expected


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


def radii(policy: Any, seen: Samples, gap: list[float], n: int) -> list[float]:
    if isinstance(policy, GapE):
        return widths_of("hoeffding", policy.a, seen)
    if isinstance(policy, GapEV):
        return widths_of("bernstein", policy.a, seen)
    large = [g + w for g, w in zip(gap, widths_of("hoeffding", 0.5, seen), strict=True)]
    small = map(small_deviation, seen)
    hardness = sum(
        ((s + math.sqrt(s**2 + 16 / 3 * g)) / g) ** 2 for s, g in zip(small, large, strict=True)
    )
    return widths_of("bernstein", policy.eta * (n - 2 * len(seen)) / hardness, seen)


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
