"""Races, eliminations and stopping: against plain loops, by hand, and their guarantees."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games import bernoulli, play
from sklearn_halving.policies import (
    BernsteinRace,
    BernsteinStopping,
    ExponentialGapElimination,
    HoeffdingRace,
    MedianElimination,
    Problem,
    SuccessiveElimination,
)

UNIT = (0.0, 1.0)


def plain_loop(rewards: np.ndarray, epsilon: float, error: str) -> tuple[int, float]:
    """Play Fig. 16.5 for one mean -> (number of pulls, estimate); delta = 0.05."""
    grid = [20]
    while grid[-1] < len(rewards):
        grid.append(math.ceil(grid[-1] * 11 / 10))
    c = 3 / (0.05 * 20**0.1 * (1 - 1.1**-0.1))
    lower, upper = 0.0, math.inf
    for t in range(20, len(rewards)):
        k = max(k for k, t_k in enumerate(grid) if t_k <= t)
        length = grid[k + 1] / t**2 * math.log(c * grid[k] ** 0.1)
        mean = rewards[:t].mean()
        c_t = math.sqrt(2 * length * rewards[:t].var()) + 3 * length
        lower, upper = max(lower, abs(mean) - c_t), min(upper, abs(mean) + c_t)
        if error == "additive" and c_t <= epsilon:
            return t, mean
        if error == "multiplicative" and not (1 + epsilon) * lower < (1 - epsilon) * upper:
            return t, math.copysign(((1 + epsilon) * lower + (1 - epsilon) * upper) / 2, mean)
    raise AssertionError("too few rewards for the test")


@pytest.mark.parametrize("error", ["additive", "multiplicative"])
@pytest.mark.parametrize("seed", range(4))
def test_stops_as_the_figure_says(error: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rewards = np.clip(rng.normal(0.4, 0.1, (1, 6000)), 0, 1)
    policy = BernsteinStopping(0.15, error, reward_range=UNIT)
    game = play(policy, rewards)
    n_pulls, estimate = plain_loop(rewards[0], 0.15, error)
    assert len(game.arms) == n_pulls > 20
    assert game.game.estimate()[0] == pytest.approx(estimate)
    assert game.game.is_confident()


@pytest.mark.parametrize(("error", "allowed"), [("additive", 0.2), ("multiplicative", 0.2 * 0.6)])
def test_the_error_is_as_promised(error: str, allowed: float) -> None:
    policy = BernsteinStopping(0.2, error, delta=0.1, reward_range=UNIT)
    games = bernoulli(policy, [0.6], 12, seed=1).games
    far = np.array([abs(game.estimate()[0] - 0.6) > allowed for game in games])
    assert far.mean() <= 0.1
    assert all(game.is_confident() for game in games)


def test_a_mean_of_zero_needs_the_cap() -> None:
    policy = BernsteinStopping(0.2, "multiplicative", max_pulls=700, reward_range=(-1.0, 1.0))
    game = play(policy, np.zeros((2, 701)))
    assert len(game.arms) == 700
    assert not game.game.is_confident()
    assert game.game.estimate().tolist() == [0.0, 0.0]


def test_bad_parameters_of_stopping() -> None:
    with pytest.raises(ValueError, match="epsilon must be larger than 0 and smaller than 1"):
        BernsteinStopping(1.0, "multiplicative")


@pytest.mark.parametrize("seed", range(5))
def test_successive_elimination_does_what_a_plain_loop_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rewards = np.clip(rng.normal([[0.1], [0.9], [0.5], [0.2]], 0.2, (4, 3000)), 0, 1)
    arms, counts, t = [0, 1, 2, 3], [0] * 4, 0
    while len(arms) > 1:
        t += 1
        for arm in arms:
            counts[arm] += 1
        radius = math.sqrt(math.log(5 * 4 * t**2 / 0.1) / t)
        mean = {arm: rewards[arm, :t].mean() for arm in arms}
        arms = [arm for arm in arms if max(mean.values()) - mean[arm] < 2 * radius]
    game = play(SuccessiveElimination(0.1, reward_range=UNIT), rewards)
    assert np.bincount(game.arms).tolist() == counts
    assert [game.best] == arms


def test_successive_elimination_keeps_its_promise() -> None:
    policy = SuccessiveElimination(0.1, reward_range=UNIT)
    games = bernoulli(policy, [0.2, 0.4, 0.9, 0.3], 20, seed=1)
    assert (games.best == 2).mean() >= 0.9
    assert all(game.is_confident() for game in games.games)


def test_median_elimination_by_hand() -> None:
    """Epsilon 0.8, delta 0.1: e = 0.2, d = 0.05 give ceil(100 log 60) = 410 pulls each.

    Then e = 0.15, d = 0.025: ceil(4 / 0.0225 log 120) = 852; then e = 0.1125, d = 0.0125:
    ceil(4 / 0.01265625 log 240) = 1733. Of five arms three stay, then two, then one.
    """
    rewards = np.repeat([[0.1], [0.5], [0.9], [0.3], [0.7]], 3000, axis=1)
    game = play(MedianElimination(0.8, 0.1, reward_range=UNIT), rewards)
    third = 410 + 852 + 1733
    assert np.bincount(game.arms).tolist() == [410, 410 + 852, third, 410, third]
    assert game.best == 2


def test_equal_arms_do_not_stay_for_ever() -> None:
    """As printed, only arms below the median go: of equal ones none would."""
    game = play(MedianElimination(2.0, 0.5, reward_range=UNIT), np.ones((6, 2000)))
    assert game.best == 0


def test_median_elimination_keeps_its_promise() -> None:
    policy = MedianElimination(0.8, 0.3, reward_range=UNIT)
    means = np.array([0.05, 0.1, 0.9, 0.5])
    games = bernoulli(policy, means.tolist(), 30, seed=2)
    assert (means[games.best] > 0.1).mean() >= 0.7
    assert all(game.is_confident() for game in games.games)


def test_a_phase_that_does_not_fit_is_not_begun() -> None:
    policy = MedianElimination(0.8, 0.1, 3 * 410 + 2 * 852 - 1, UNIT)
    rewards = np.repeat([[0.5], [0.1], [0.4]], 2000, axis=1)
    game = play(policy, rewards)
    assert np.bincount(game.arms).tolist() == [410, 410, 410]
    assert game.best == 0
    assert not game.game.is_confident()
    with pytest.raises(ValueError, match=r"max_pulls=1229 is too small .* works is 1230"):
        MedianElimination(0.8, 0.1, 1229, UNIT).start(Problem(3))


def test_bad_parameters_of_eliminations() -> None:
    with pytest.raises(ValueError, match=r"for fewer than 1262 splits, got 0\.8 and 100"):
        MedianElimination(0.8, 0.1, reward_range=UNIT).start(Problem(3, max_repetitions=100))


def test_exponential_gap_elimination_by_hand() -> None:
    """Delta 0.1: e = 1/8, d = 0.002, so each arm is pulled ceil(128 log 1000) = 885 times.

    Median elimination with 1/16 and 0.002: ceil(16384 log 3000) = 131177 times, and for the better
    two ceil(16384 / 0.5625 log 6000) = 253392. Both other arms are more than 1/8 below the winner.
    """
    rewards = np.repeat([[0.6], [0.9], [0.1]], 400_000, axis=1)
    first, second = 885 + 131177, 253392
    for scale in (1, 10):
        policy = ExponentialGapElimination(0.1, reward_range=(0, scale))
        game = play(policy, scale * rewards)
        assert np.bincount(game.arms).tolist() == [first + second, first + second, first]
        assert game.best == 1
        assert game.game.is_confident()


def test_exponential_gap_elimination_keeps_its_promise() -> None:
    policy = ExponentialGapElimination(0.3, 1.0, 400_000, UNIT)
    games = bernoulli(policy, [0.3, 0.7, 0.1], 20, seed=3)
    assert (games.best == 1).mean() >= 0.7
    assert all(game.is_confident() for game in games.games)


def test_exponential_gap_elimination_ends_with_its_pulls() -> None:
    """The pulls of round 1 fit, those of the median elimination do not."""
    policy = ExponentialGapElimination(0.1, max_pulls=100_000, reward_range=UNIT)
    game = play(policy, np.repeat([[0.5], [0.6]], 2000, axis=1))
    assert np.bincount(game.arms).tolist() == [885, 885]
    assert game.best == 1
    assert not game.game.is_confident()
    with pytest.raises(ValueError, match=r"max_pulls=1769 is too small .* works is 1770"):
        ExponentialGapElimination(0.1, max_pulls=1769, reward_range=UNIT).start(Problem(2))
    with pytest.raises(ValueError, match=r"initial_epsilon must be larger for fewer than 885 spl"):
        ExponentialGapElimination(0.1, reward_range=UNIT).start(Problem(2, max_repetitions=800))


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
    assert np.flatnonzero(~game.game.out()).tolist() == left
    assert game.game.is_confident() == (len(left) == 1)


@pytest.mark.parametrize("make", RACES)
def test_the_best_arm_stays_as_often_as_promised(make: Any) -> None:
    """Much narrower intervals would fail this: the best does not stay for lack of a race."""
    policy = make(400, 0.1, reward_range=UNIT)
    games = bernoulli(policy, [0.5, 0.65, 0.2, 0.6], 15, seed=1)
    assert np.mean([not game.out()[1] for game in games.games]) >= 0.9
    assert (games.counts < 400).any(axis=1).mean() > 0.9  # arms do drop out
    narrow = make(400, 0.1, reward_range=(0, 1e-3))
    games = bernoulli(narrow, [0.5, 0.65, 0.2, 0.6], 15, seed=1)
    assert np.mean([not game.out()[1] for game in games.games]) < 0.9


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
    assert game.game.is_confident()
    assert len(game.arms) < 3 * 4000
    assert game.best == int(np.flatnonzero(~game.game.out())[0])
    assert len(play(make(4000, 0.05, 0.0, UNIT), rewards).arms) > len(game.arms)
