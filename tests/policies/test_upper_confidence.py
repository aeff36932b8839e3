"""Upper confidence bounds and EXP3: with a confidence, by hand, and their guarantees."""

from __future__ import annotations

import math
from itertools import count
from typing import Any

import numpy as np
import pytest

from games import bernoulli, play
from sklearn_halving.policies import (
    EXP3,
    LUCB,
    MOSS,
    UCB1,
    UCBE,
    UCBV,
    AdaptiveUCBE,
    LilUCB,
    Problem,
    Pull,
)
from sklearn_halving.policies._upper_confidence import confidence_of_a_bound

UNIT = (0.0, 1.0)


def test_no_exploration_stays_with_the_first_best() -> None:
    game = play(UCBE(10, 0.0, UNIT), np.repeat([[0.4], [0.6], [0.6]], 10, axis=1))
    assert game.arms == [0, 1, 2] + [1] * 7


def test_pulls_in_flight_spread_over_the_arms() -> None:
    """Asked eight times without an answer, it does not pull the same arm eight times."""
    game = UCBE(100, 2.0, UNIT).start(Problem(4))
    first = [pull for _ in range(4) for pull in game.ask(5)]
    assert [pull.arm for pull in first] == [0, 1, 2, 3]
    assert not game.ask(5)  # an arm without a reward has no index
    for pull in first:
        game.tell(pull, 0.5)
    asked = [pull for _ in range(8) for pull in game.ask(5)]
    assert sorted(asked) == [Pull(arm, 1, split) for arm in range(4) for split in (1, 2)]


# --------------------------------------------------------------------------- simulation


def regret_per_pull(policy: Any, means: np.ndarray, seed: int) -> float:
    counts = bernoulli(policy, means.tolist(), 10, seed).counts
    return float((counts @ (means.max() - means)).sum() / counts.sum())


@pytest.mark.parametrize("make", [UCB1, UCBV, MOSS])
def test_regret_per_pull_falls(make: Any) -> None:
    means = np.array([0.5, 0.6, 0.9, 0.4, 0.7])
    short = regret_per_pull(make(100, reward_range=UNIT), means, seed=0)
    long = regret_per_pull(make(2000, reward_range=UNIT), means, seed=1)
    assert long < 0.5 * short


def test_adaptive_ucb_e_finds_the_best_arm_more_often_than_ucb1() -> None:
    """One arm better than 9 others, as in experiment 1 of Audibert and Bubeck (2010)."""
    means = np.r_[0.55, np.full(9, 0.4)]
    adaptive, ucb1 = (
        (bernoulli(make(500, reward_range=UNIT), means.tolist(), 60, seed).best != 0).mean()
        for make, seed in ((AdaptiveUCBE, 4), (UCB1, 5))
    )
    assert adaptive < ucb1
    assert adaptive < 0.2


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


@pytest.mark.parametrize("n_arms", [2, 3, 7, 13])
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_lucb_does_what_a_plain_loop_does(n_arms: int, epsilon: float) -> None:
    rng = np.random.default_rng(n_arms)
    means = np.where(np.arange(n_arms) == 1, 0.9, rng.uniform(0.1, 0.4, n_arms))
    rewards = np.clip(rng.normal(means[:, np.newaxis], 0.2, (n_arms, 3000)), 0, 1)
    policy = LUCB(0.1, epsilon, reward_range=UNIT)
    game = play(policy, rewards)
    assert game[:2] == plain_lucb(rewards, 0.1, epsilon)
    assert game.game.is_confident()


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
    assert game.game.is_confident()


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
    games = bernoulli(policy, [0.3, 0.8, 0.4, 0.2], 15, seed=1)
    assert (games.best != 1).mean() <= 0.2
    assert all(game.is_confident() for game in games.games)
    counts = games.counts.mean(axis=0)
    assert counts[2] > counts[0] > counts[3]  # the closer to the best, the more pulls


@pytest.mark.parametrize("make", [LUCB, LilUCB])
def test_where_the_cap_or_the_splits_end_it_there_is_no_confidence(make: type) -> None:
    rewards = np.repeat([[0.5], [0.6], [0.5]], 60, axis=1)
    policy = make(max_pulls=50, reward_range=UNIT)
    capped = play(policy, rewards)
    assert len(capped.arms) == 50
    assert not capped.game.is_confident()
    policy = make(reward_range=UNIT)
    exhausted = play(policy, rewards, max_repetitions=20)
    assert np.bincount(exhausted.arms).tolist() == [20, 20, 20]
    assert not exhausted.game.is_confident()
    assert capped.best == exhausted.best == 1


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
    assert game.game.memory.log_weight == pytest.approx(log_weight)
    assert not game.game.memory.in_flight


def test_a_failed_pull_leaves_the_probabilities_of_the_others() -> None:
    """Four arms with p = 1/4 each: a reward of 1 multiplies the weight by exp(gamma)."""
    policy = EXP3(100, 0.2, UNIT)
    game = policy.start(Problem(4), seed=np.random.SeedSequence(3))
    first, second, third = (game.ask(1)[0] for _ in range(3))
    game.tell(second, np.nan)
    game.tell(third, 0.0)
    game.tell(first, 1.0)
    assert game.memory.log_weight[first.arm] == pytest.approx(0.2)


def test_the_regret_is_below_the_bound_and_falls() -> None:
    means = np.array([0.5, 0.6, 0.9, 0.4])
    regret = {}
    for n_pulls in (100, 1600):
        counts = bernoulli(EXP3(n_pulls, reward_range=UNIT), means.tolist(), 10, seed=4).counts
        regret[n_pulls] = float((counts * (means.max() - means)).sum(axis=1).mean())
        assert regret[n_pulls] < 2.63 * math.sqrt(n_pulls * 4 * math.log(4))
    assert regret[1600] / 1600 < 0.6 * regret[100] / 100


def test_it_changes_its_mind_when_rewards_change() -> None:
    """Arm 0 is good for 60 pulls and never again; arm 1 is fair for ever."""
    rewards = np.full((2, 4000), 0.5)
    rewards[0, :60], rewards[0, 60:] = 1.0, 0.0
    assert np.bincount(play(EXP3(3000, reward_range=UNIT), rewards).arms)[1] > 2000
