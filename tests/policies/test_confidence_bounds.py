"""LUCB and lil'UCB: against plain loops, and their guarantees."""

from __future__ import annotations

import math
from itertools import count

import numpy as np
import pytest

from games import bernoulli, play
from sklearn_halving.policies import LUCB, LilUCB
from sklearn_halving.policies._upper_confidence import confidence_of_a_bound

UNIT = (0.0, 1.0)


def plain_lucb(rewards: np.ndarray, delta: float, epsilon: float) -> tuple[list[int], int]:
    n_arms = len(rewards)
    seen, arms = [[row[0]] for row in rewards], list(range(n_arms))
    for t in count(1):
        x = math.log(1.25 * n_arms * t**4 / delta)
        beta = [math.sqrt(x / (2 * len(s))) for s in seen]
        mean = [float(np.mean(s)) for s in seen]
        leader = max(range(n_arms), key=lambda i: (mean[i], -i))
        others = [i for i in range(n_arms) if i != leader]
        rival = max(others, key=lambda i: (round(mean[i] + beta[i], 12), -i))
        if mean[rival] + beta[rival] < mean[leader] - beta[leader] + epsilon:
            return arms, leader
        for arm in (leader, rival):
            arms.append(arm)
            seen[arm].append(rewards[arm, len(seen[arm])])
    raise AssertionError


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_lucb_does_what_a_plain_loop_does(seed: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    rewards = np.clip(rng.normal([[0.2], [0.9], [0.4], [0.1]], 0.2, (4, 3000)), 0, 1)
    policy = LUCB(0.1, epsilon, reward_range=UNIT)
    game = play(policy, rewards)
    assert game[:2] == plain_lucb(rewards, 0.1, epsilon)
    assert policy.is_confident(game.state)


def plain_lil(rewards: np.ndarray, nu: float, heuristic: bool) -> tuple[list[int], int]:
    """Play Fig. 1 of Jamieson et al. (2014), sigma = 1/2."""
    n_arms = len(rewards)
    n_first, eps, beta, lambda_, d = 1, 0.01, 1.0, 9.0, confidence_of_a_bound(nu, 0.01)
    if heuristic:
        n_first, eps, beta, lambda_, d = 2, 0.0, 0.5, 1 + 10 / n_arms, nu / 5
    seen = [list(row[:n_first]) for row in rewards]
    arms = [*range(n_arms)] * n_first
    while True:
        counts = [len(s) for s in seen]
        if any(c >= 1 + lambda_ * (sum(counts) - c) for c in counts):
            return arms, int(np.argmax(counts))
        index = [
            np.mean(s)
            + (1 + beta)
            * (1 + math.sqrt(eps))
            * math.sqrt(0.5 * (1 + eps) * math.log(math.log((1 + eps) * c) / d) / c)
            for s, c in zip(seen, counts, strict=True)
        ]
        arm = max(range(n_arms), key=lambda i: (round(index[i], 12), -i))
        arms.append(arm)
        seen[arm].append(rewards[arm, len(seen[arm])])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("variant", ["theory", "heuristic"])
def test_lil_ucb_does_what_a_plain_loop_does(seed: int, variant: str) -> None:
    rng = np.random.default_rng(seed)
    rewards = np.clip(rng.normal([[0.0], [0.95], [0.1]], 0.05, (3, 9000)), 0, 1)
    policy = LilUCB(0.2, variant, reward_range=UNIT)
    game = play(policy, rewards)
    assert game[:2] == plain_lil(rewards, 0.2, variant == "heuristic")
    assert policy.is_confident(game.state)


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.5])
def test_the_confidence_of_a_bound_solves_theorem_2(delta: float) -> None:
    c = 2.01 / 0.01 * (1 / math.log(1.01)) ** 1.01
    d = confidence_of_a_bound(delta, 0.01)
    wrong = 4 * math.sqrt(c * d) + 4 * c * d
    assert wrong < delta if delta == 0.5 else wrong == pytest.approx(delta)
    assert d < math.log(1.01) / (math.e * c)  # what the theorem asks for


@pytest.mark.parametrize(
    "policy", [LUCB(0.2, reward_range=UNIT), LilUCB(0.2, "heuristic", reward_range=UNIT)]
)
def test_the_best_arm_is_found_as_promised(policy: LUCB | LilUCB) -> None:
    games = bernoulli(policy, [0.3, 0.8, 0.4, 0.2], 100, seed=1)
    assert (games.best != 1).mean() <= 0.2
    assert policy.is_confident(games.state).all()
    counts = games.counts.mean(axis=0)
    assert counts[2] > counts[0] > counts[3]  # the closer to the best, the more pulls


@pytest.mark.parametrize("make", [LUCB, LilUCB])
def test_where_the_cap_or_the_splits_end_it_there_is_no_confidence(make: type) -> None:
    rewards = np.repeat([[0.5], [0.6], [0.5]], 60, axis=1)
    policy = make(max_pulls=50, reward_range=UNIT)
    capped = play(policy, rewards)
    assert len(capped.arms) == 50
    assert not policy.is_confident(capped.state)
    policy = make(reward_range=UNIT)
    exhausted = play(policy, rewards, max_repetitions=20)
    assert np.bincount(exhausted.arms).tolist() == [20, 20, 20]
    assert not policy.is_confident(exhausted.state)
    assert capped.best == exhausted.best == 1
