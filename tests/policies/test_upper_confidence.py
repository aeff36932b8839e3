"""Upper confidence bounds: against plain loops, by hand, and in simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_halving.policies import MOSS, UCB1, UCBE, UCBV, AdaptiveUCBE, Problem, Pulls

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


def play(policy: Any, rewards: np.ndarray, max_repetitions: int | None = None) -> tuple:
    """Play one problem on a table of shape (n_arms, n_repetitions)."""
    state = policy.start(Problem(len(rewards), 1, 1, max_repetitions))
    arms = []
    while not policy.is_finished(state):
        pulls = policy.ask(state, 1)
        arms += pulls.arm.tolist()
        policy.tell(state, pulls, rewards[pulls.arm, pulls.repetition])
    return arms, int(policy.recommend(state))


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
    assert play(make(60, UNIT), rewards) == plain_loop(index, rewards, 60)


@pytest.mark.parametrize(("make", "index"), CASES)
def test_without_a_range_it_says_what_to_give(make: Any, index: Index) -> None:
    with pytest.raises(ValueError, match=r"reward_range=None. Give reward_range=\(low, high\)"):
        make(50, None).start(Problem(3))


@pytest.mark.parametrize("n_pulls", [None, 2.5, math.nan])
def test_the_budget_must_be_a_whole_number(n_pulls: Any) -> None:
    with pytest.raises(ValueError, match="n_pulls must be a whole number, got"):
        UCB1(n_pulls, reward_range=UNIT).start(Problem(3))


def test_no_exploration_stays_with_the_first_best() -> None:
    arms, _ = play(UCBE(10, 0.0, UNIT), np.repeat([[0.4], [0.6], [0.6]], 10, axis=1))
    assert arms == [0, 1, 2] + [1] * 7


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
    assert play(AdaptiveUCBE(150, c, UNIT), rewards)[0] == plain_adaptive(rewards, 150, c)


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


@pytest.mark.parametrize("options", [{"a": -1.0}, {"a": math.nan}])
def test_bad_exploration_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="a must be finite and at least 0, got"):
        UCBE(10, **options)


def test_too_small_a_budget_names_the_least() -> None:
    with pytest.raises(ValueError, match=r"n_pulls=3 is too small .* works is 4"):
        UCBE(3, 1.0, UNIT).start(Problem(4))


# --------------------------------------------------------------------------- simulation


def simulate(policy: Any, means: np.ndarray, n_problems: int, seed: int) -> tuple:
    """Bernoulli arms -> (regret per pull, share of wrong choices)."""
    rng = np.random.default_rng(seed)
    state = policy.start(Problem(len(means)), batch_shape=(n_problems,))
    regret = n_pulls = 0.0
    while not policy.is_finished(state):
        pulls: Pulls = policy.ask(state, 10**6)
        policy.tell(state, pulls, (rng.random(pulls.arm.shape) < means[pulls.arm]).astype(float))
        regret += float((means.max() - means[pulls.arm]).sum())
        n_pulls += pulls.arm.size
    return regret / n_pulls, float((policy.recommend(state) != means.argmax()).mean())


@pytest.mark.parametrize("make", [UCB1, UCBV, MOSS])
def test_regret_per_pull_falls(make: Any) -> None:
    means = np.array([0.5, 0.6, 0.9, 0.4, 0.7])
    short, _ = simulate(make(100, reward_range=UNIT), means, 200, seed=0)
    long, _ = simulate(make(2000, reward_range=UNIT), means, 200, seed=1)
    assert long < 0.5 * short


def test_adaptive_ucb_e_finds_the_best_arm_more_often_than_ucb1() -> None:
    """One arm a little better than 19 others: experiment 1 of Audibert and Bubeck (2010)."""
    means = np.r_[0.5, np.full(19, 0.4)]
    _, adaptive = simulate(AdaptiveUCBE(2000, reward_range=UNIT), means, 400, seed=4)
    _, ucb1 = simulate(UCB1(2000, reward_range=UNIT), means, 400, seed=5)
    assert adaptive < ucb1
    assert adaptive < 0.35
