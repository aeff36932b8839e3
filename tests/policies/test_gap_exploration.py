"""GapE and UGap: against plain loops, their guarantees, and what they are better at."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from games import bernoulli, play
from sklearn_halving.policies import (
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


def plain_unified_gap(policy: UGapEc, rewards: np.ndarray) -> tuple[list[int], int]:
    """Play Fig. 1 of Gabillon et al. (2012) with m = 1 to its end -> (arms, the answer)."""
    n_arms, bounds = len(rewards), policy.bounds
    n_first = 2 if bounds == "bernstein" else 1
    seen = [list(map(float, row[:n_first])) for row in rewards]
    arms = [*range(n_arms)] * n_first
    while True:
        x = math.log(4 * n_arms * len(arms) ** 3 / policy.delta)
        beta = widths_of(bounds, x if bounds == "bernstein" else x / 2, seen)
        mean = [float(np.mean(s)) for s in seen]
        upper = [m + b for m, b in zip(mean, beta, strict=True)]
        bound = [max(np.delete(upper, i)) - (mean[i] - beta[i]) for i in range(n_arms)]
        leader = min(range(n_arms), key=lambda i: (round(bound[i], 9), i))
        if bound[leader] < policy.epsilon:
            return arms, leader
        others = [i for i in range(n_arms) if i != leader]
        rival = max(others, key=lambda i: (round(upper[i], 9), -i))
        arm = max(sorted([leader, rival]), key=lambda i: (round(beta[i], 9), -i))
        arms.append(arm)
        seen[arm].append(float(rewards[arm, len(seen[arm])]))


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
    assert game[:2] == plain_unified_gap(policy, rewards)
    assert game.game.is_confident()


@pytest.mark.parametrize("bounds", ["hoeffding", "bernstein"])
def test_the_regret_is_below_epsilon_as_promised(bounds: str) -> None:
    games = bernoulli(UGapEc(0.3, 0.2, bounds, reward_range=UNIT), [0.2, 0.7, 0.5], 12, seed=1)
    assert (games.best == 0).mean() <= 0.2
    assert all(game.is_confident() for game in games.games)


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
