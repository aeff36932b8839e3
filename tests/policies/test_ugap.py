"""UGap with a budget and with a confidence: against a plain loop, and its guarantee."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games import bernoulli, play
from sklearn_halving.policies import UGapEb, UGapEc

UNIT = (0.0, 1.0)


def plain_loop(policy: Any, rewards: np.ndarray, most: int) -> tuple[list[int], int]:
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
    assert play(policy, rewards)[:2] == plain_loop(policy, rewards, 70)


@pytest.mark.parametrize("bounds", ["hoeffding", "bernstein"])
@pytest.mark.parametrize("seed", range(3))
def test_with_a_confidence_it_does_what_the_figure_says(bounds: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rewards = np.clip(rng.normal([[0.9], [0.3], [0.1]], 0.1, (3, 3000)), 0, 1)
    policy = UGapEc(0.1, 0.1, bounds, reward_range=UNIT)
    game = play(policy, rewards)
    assert game[:2] == plain_loop(policy, rewards, 0)
    assert policy.is_confident(game.state)


@pytest.mark.parametrize("bounds", ["hoeffding", "bernstein"])
def test_the_regret_is_below_epsilon_as_promised(bounds: str) -> None:
    games = bernoulli(UGapEc(0.3, 0.2, bounds, reward_range=UNIT), [0.2, 0.7, 0.5], 100, seed=1)
    assert (games.best == 0).mean() <= 0.2
    policy = UGapEc(0.3, 0.2, bounds, reward_range=UNIT)
    assert policy.is_confident(games.state).all()
