"""Upper confidence bounds: against plain loops, by hand, and in simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games import bernoulli, play
from sklearn_halving.policies import MOSS, UCB1, UCBE, UCBV, AdaptiveUCBE, Problem

UNIT = (0.0, 1.0)
Index = Callable[[list[float], int, int, int], float]
"""Rewards of an arm, time t (from 1), n, K -> index, all with rewards in [0, 1]."""


def ucb_e(seen: list[float], t: int, n: int, n_arms: int) -> float:
    return np.mean(seen) + math.sqrt(2.5 / len(seen))


def ucb_1(seen: list[float], t: int, n: int, n_arms: int) -> float:
    return np.mean(seen) + math.sqrt(2 * math.log(t) / len(seen))


def ucb_v(seen: list[float], t: int, n: int, n_arms: int) -> float:
    x = 1.2 * math.log(t) / len(seen)
    return np.mean(seen) + math.sqrt(2 * np.var(seen) * x) + 3 * x


def moss(seen: list[float], t: int, n: int, n_arms: int) -> float:
    return np.mean(seen) + math.sqrt(max(math.log(n / (n_arms * len(seen))), 0) / len(seen))


CASES = [
    pytest.param(lambda n, r: UCBE(n, 2.5, r), ucb_e, id="UCB-E"),
    pytest.param(lambda n, r: UCB1(n, reward_range=r), ucb_1, id="UCB1"),
    pytest.param(lambda n, r: UCBV(n, reward_range=r), ucb_v, id="UCB-V"),
    pytest.param(MOSS, moss, id="MOSS"),
]


def plain_loop(index: Index, rewards: np.ndarray, n_pulls: int) -> tuple[list[int], int]:
    n_arms = len(rewards)
    seen: list[list[float]] = [[] for _ in range(n_arms)]
    arms = []
    for t in range(1, n_pulls + 1):
        values = [index(s, t, n_pulls, n_arms) if s else math.inf for s in seen]
        arm = max(range(n_arms), key=lambda a: (round(values[a], 12), -a))
        seen[arm].append(rewards[arm, len(seen[arm])])
        arms.append(arm)
    return arms, int(np.argmax([np.mean(s) for s in seen]))


@pytest.mark.parametrize(("make", "index"), CASES)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**16), n_arms=st.integers(2, 6))
def test_pulls_what_a_plain_loop_pulls(make: Any, index: Index, seed: int, n_arms: int) -> None:
    rng = np.random.default_rng(seed)
    rewards = np.clip(rng.normal(rng.random((n_arms, 1)), 0.2, (n_arms, 60)), 0, 1)
    assert play(make(60, UNIT), rewards)[:2] == plain_loop(index, rewards, 60)


def test_no_exploration_stays_with_the_first_best() -> None:
    game = play(UCBE(10, 0.0, UNIT), np.repeat([[0.4], [0.6], [0.6]], 10, axis=1))
    assert game.arms == [0, 1, 2] + [1] * 7


def plain_adaptive(rewards: np.ndarray, n: int, c: float) -> list[int]:
    """Play Fig. 16.2 as printed; rewards in [0, 1]."""
    n_arms = len(rewards)
    log_bar = 0.5 + sum(1 / i for i in range(2, n_arms + 1))
    n_k = [math.ceil((n - n_arms) / (log_bar * (n_arms + 1 - k)) - 1e-9) for k in range(1, n_arms)]
    ends = [0]
    ends += [sum(n_k[: k - 1]) + (n_arms - k + 1) * n_k[k - 1] for k in range(1, n_arms)]
    seen: list[list[float]] = [[] for _ in range(n_arms)]
    arms, hardness = [], float(n_arms)
    for t in range(1, n + 1):
        k = max(k for k in range(n_arms) if ends[k] < t)
        if k and t == ends[k] + 1:
            means = [np.mean(s) for s in seen]
            gaps = sorted(max(means) - m for m in means)
            hardness = max(i / gaps[i - 1] ** 2 for i in range(n_arms - k + 1, n_arms + 1))
        a = c * n / hardness
        values = [np.mean(s) + math.sqrt(a / len(s)) if s else math.inf for s in seen]
        arm = max(range(n_arms), key=lambda a: (round(values[a], 12), -a))
        seen[arm].append(rewards[arm, len(seen[arm])])
        arms.append(arm)
    return arms


@settings(max_examples=25)
@given(seed=st.integers(0, 2**16), n_arms=st.integers(2, 6), c=st.sampled_from([0.1, 1.0]))
def test_adaptive_ucb_e_does_what_the_figure_says(seed: int, n_arms: int, c: float) -> None:
    rng = np.random.default_rng(seed)
    rewards = np.clip(rng.normal(rng.random((n_arms, 1)), 0.2, (n_arms, 150)), 0, 1)
    assert play(AdaptiveUCBE(150, c, UNIT), rewards).arms == plain_adaptive(rewards, 150, c)


def test_pulls_in_flight_spread_over_the_arms() -> None:
    """Asked eight times without an answer, it does not pull the same arm eight times."""
    policy = UCBE(100, 2.0, UNIT)
    state = policy.start(Problem(4))
    first = [policy.ask(state, 5) for _ in range(4)]
    assert [int(p.arm[0]) for p in first] == [0, 1, 2, 3]
    assert not len(policy.ask(state, 5))  # an arm without a reward has no index
    for pulls in first:
        policy.tell(state, pulls, np.array([0.5]))
    asked = [policy.ask(state, 5) for _ in range(8)]
    assert np.bincount([int(p.arm[0]) for p in asked]).tolist() == [2, 2, 2, 2]
    assert {(int(p.arm[0]), int(p.repetition[0])) for p in asked} == {
        (arm, repetition) for arm in range(4) for repetition in (1, 2)
    }


# --------------------------------------------------------------------------- simulation


def regret_per_pull(policy: Any, means: np.ndarray, seed: int) -> float:
    counts = bernoulli(policy, means.tolist(), 200, seed).counts
    return float((counts @ (means.max() - means)).sum() / counts.sum())


@pytest.mark.parametrize("make", [UCB1, UCBV, MOSS])
def test_regret_per_pull_falls(make: Any) -> None:
    means = np.array([0.5, 0.6, 0.9, 0.4, 0.7])
    short = regret_per_pull(make(100, reward_range=UNIT), means, seed=0)
    long = regret_per_pull(make(2000, reward_range=UNIT), means, seed=1)
    assert long < 0.5 * short


def test_adaptive_ucb_e_finds_the_best_arm_more_often_than_ucb1() -> None:
    """One arm a little better than 19 others: experiment 1 of Audibert and Bubeck (2010)."""
    means = np.r_[0.5, np.full(19, 0.4)]
    adaptive, ucb1 = (
        (bernoulli(make(2000, reward_range=UNIT), means.tolist(), 400, seed).best != 0).mean()
        for make, seed in ((AdaptiveUCBE, 4), (UCB1, 5))
    )
    assert adaptive < ucb1
    assert adaptive < 0.35
