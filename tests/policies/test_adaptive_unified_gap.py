"""UGap that estimates the hardness: against a plain loop, and what it is better at."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games import play
from sklearn_halving.policies import AdaptiveUGapEb

UNIT = (0.0, 1.0)


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


def plain_loop(rewards: np.ndarray, most: int, epsilon: float, bounds: str):
    """Return the arms pulled, the one of the best mean, and the bounds of the leaders' regret."""
    n_first = 2 if bounds == "bernstein" else 1
    seen = [list(map(float, row[:n_first])) for row in rewards]
    arms = [*range(len(rewards))] * n_first
    rounds = []
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
        rounds.append(of_arm[leader])
        arms.append(arm)
        seen[arm].append(float(rewards[arm, len(seen[arm])]))
    return arms, int(np.argmax([np.mean(s) for s in seen])), rounds


@pytest.mark.parametrize("bounds", ["hoeffding", "bernstein"])
@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**16), n_arms=st.integers(2, 5), epsilon=st.sampled_from([0.0, 0.1, 0.5])
)
def test_it_is_ugap_with_an_estimated_exploration(bounds, seed, n_arms, epsilon) -> None:
    rng = np.random.default_rng(seed)
    rewards = np.clip(rng.normal(rng.random((n_arms, 1)), 0.2, (n_arms, 50)), 0, 1)
    policy = AdaptiveUGapEb(50, epsilon, bounds, UNIT)
    arms, best, rounds = plain_loop(rewards, 50, epsilon, bounds)
    game = play(policy, rewards)
    assert game[:2] == (arms, best)
    np.testing.assert_allclose(policy.regret_bounds(game.state), rounds, rtol=1e-9)
