"""Races: against plain loops, their guarantee, and the epsilon that must not add up."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games import bernoulli, play
from sklearn_halving.policies import BernsteinRace, HoeffdingRace, Problem

UNIT = (0.0, 1.0)
RACES = [HoeffdingRace, BernsteinRace]


def plain_race(policy: Any, rewards: np.ndarray) -> tuple[list[int], list[int]]:
    """Play Fig. 16.3 or 16.4 -> (number of pulls of each arm, arms that are left)."""
    arms, counts, x = list(range(len(rewards))), [0] * len(rewards), 0.0
    x = math.log(policy.n_rounds * len(rewards) / policy.delta)
    for t in range(1, policy.n_rounds + 1):
        if len(arms) < 2:
            break
        for arm in arms:
            counts[arm] += 1
        mean = {arm: rewards[arm, :t].mean() for arm in arms}
        if isinstance(policy, HoeffdingRace):
            limit = max(mean.values()) - math.sqrt(2 * x / t)
            arms = [arm for arm in arms if mean[arm] > limit]
        else:
            root = {arm: math.sqrt(2 * rewards[arm, :t].var() * x / t) for arm in arms}
            limit = max(mean[arm] - root[arm] for arm in arms)
            arms = [arm for arm in arms if mean[arm] + root[arm] + 6 * x / t > limit]
    return counts, arms


@pytest.mark.parametrize("make", RACES)
@settings(max_examples=20)
@given(seed=st.integers(0, 2**16), n_arms=st.integers(2, 5))
def test_does_what_the_figure_says(make: Any, seed: int, n_arms: int) -> None:
    rng = np.random.default_rng(seed)
    rewards = np.clip(rng.normal(rng.random((n_arms, 1)), 0.1, (n_arms, 150)), 0, 1)
    policy = make(150, 0.1, reward_range=UNIT)
    game = play(policy, rewards)
    counts, left = plain_race(policy, rewards)
    assert np.bincount(game.arms, minlength=n_arms).tolist() == counts
    assert np.flatnonzero(policy.is_alive(game.state)).tolist() == left
    assert policy.is_confident(game.state) == (len(left) == 1)


@pytest.mark.parametrize("make", RACES)
def test_the_best_arm_stays_as_often_as_promised(make: Any) -> None:
    """Much narrower intervals would fail this: the best does not stay for lack of a race."""
    policy = make(400, 0.1, reward_range=UNIT)
    games = bernoulli(policy, [0.5, 0.65, 0.2, 0.6], 400, seed=1)
    stays = policy.is_alive(games.state)[:, 1]
    assert stays.mean() >= 0.9
    assert (games.counts < 400).any(axis=1).mean() > 0.9  # arms do drop out
    narrow = make(400, 0.1, reward_range=(0, 1e-3))
    state = bernoulli(narrow, [0.5, 0.65, 0.2, 0.6], 400, seed=1).state
    assert narrow.is_alive(state)[:, 1].mean() < 0.9


def test_bernstein_wins_where_variances_are_low_and_loses_where_they_are_not() -> None:
    rng = np.random.default_rng(2)
    quiet = np.clip(rng.normal([[0.5], [0.6]], 0.01, (2, 2000)), 0, 1)
    loud = (rng.random((2, 2000)) < [[0.3], [0.7]]).astype(float)
    n_pulls = {
        (make, name): len(play(make(2000, 0.05, reward_range=UNIT), rewards).arms)
        for make in RACES
        for name, rewards in (("quiet", quiet), ("loud", loud))
    }
    assert n_pulls[BernsteinRace, "quiet"] < 0.5 * n_pulls[HoeffdingRace, "quiet"]
    assert n_pulls[BernsteinRace, "loud"] > n_pulls[HoeffdingRace, "loud"]


@pytest.mark.parametrize("make", RACES)
def test_with_an_epsilon_equal_arms_are_not_compared_without_end(make: Any) -> None:
    rewards = np.random.default_rng(3).random((3, 4000)) * 0.2 + 0.4
    policy = make(4000, 0.05, 0.1, UNIT)
    game = play(policy, rewards)
    assert policy.is_confident(game.state)
    assert len(game.arms) < 3 * 4000
    assert game.best == int(np.flatnonzero(policy.is_alive(game.state))[0])
    assert len(play(make(4000, 0.05, 0.0, UNIT), rewards).arms) > len(game.arms)


def test_bad_parameters() -> None:
    with pytest.raises(ValueError, match="n_rounds must be at least 1, got 0"):
        HoeffdingRace(0)
    with pytest.raises(ValueError, match="delta must be larger than 0 and smaller than 1, got 2"):
        BernsteinRace(10, 2)
    with pytest.raises(ValueError, match="HoeffdingRace needs rewards of a known range"):
        HoeffdingRace(10).start(Problem(3))
