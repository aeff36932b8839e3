"""Elimination until one arm is left: against plain loops, by hand, and the guarantees."""

from __future__ import annotations

import math

import numpy as np
import pytest

from games import bernoulli, play
from sklearn_halving.policies import (
    ExponentialGapElimination,
    MedianElimination,
    Problem,
    SuccessiveElimination,
)

UNIT = (0.0, 1.0)


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
    games = bernoulli(policy, [0.2, 0.4, 0.9, 0.3], 200, seed=1)
    assert (games.best == 2).mean() >= 0.9
    assert policy.is_confident(games.state).all()


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
    assert policy.is_confident(games.state).all()


def test_a_phase_that_does_not_fit_is_not_begun() -> None:
    policy = MedianElimination(0.8, 0.1, 3 * 410 + 2 * 852 - 1, UNIT)
    rewards = np.repeat([[0.5], [0.1], [0.4]], 2000, axis=1)
    game = play(policy, rewards)
    assert np.bincount(game.arms).tolist() == [410, 410, 410]
    assert game.best == 0
    assert not policy.is_confident(game.state)
    with pytest.raises(ValueError, match=r"max_pulls=1229 is too small .* works is 1230"):
        MedianElimination(0.8, 0.1, 1229, UNIT).start(Problem(3))


def test_bad_parameters() -> None:
    with pytest.raises(ValueError, match=r"for fewer than 1262 splits, got 0\.8 and 100"):
        MedianElimination(0.8, 0.1, reward_range=UNIT).start(Problem(3, max_repetitions=100))
    with pytest.raises(ValueError, match="max_pulls=2 is too small"):
        SuccessiveElimination(max_pulls=2, reward_range=UNIT).start(Problem(3))


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
        assert policy.is_confident(game.state)


def test_exponential_gap_elimination_keeps_its_promise() -> None:
    policy = ExponentialGapElimination(0.3, 1.0, 400_000, UNIT)
    games = bernoulli(policy, [0.3, 0.7, 0.1], 20, seed=3)
    assert (games.best == 1).mean() >= 0.7
    assert policy.is_confident(games.state).all()


def test_exponential_gap_elimination_ends_with_its_pulls() -> None:
    """The pulls of round 1 fit, those of the median elimination do not."""
    policy = ExponentialGapElimination(0.1, max_pulls=100_000, reward_range=UNIT)
    game = play(policy, np.repeat([[0.5], [0.6]], 2000, axis=1))
    assert np.bincount(game.arms).tolist() == [885, 885]
    assert game.best == 1
    assert not policy.is_confident(game.state)
    with pytest.raises(ValueError, match=r"max_pulls=1769 is too small .* works is 1770"):
        ExponentialGapElimination(0.1, max_pulls=1769, reward_range=UNIT).start(Problem(2))
    with pytest.raises(ValueError, match=r"initial_epsilon must be larger for fewer than 885 spl"):
        ExponentialGapElimination(0.1, reward_range=UNIT).start(Problem(2, max_repetitions=800))
