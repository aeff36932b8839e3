"""Geometric empirical Bernstein stopping: a plain loop, its guarantee, and the printed trap."""

from __future__ import annotations

import math

import numpy as np
import pytest

from games import bernoulli, play
from sklearn_halving.policies import BernsteinStopping

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
def test_does_what_the_figure_says(error: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rewards = np.clip(rng.normal(0.4, 0.1, (1, 6000)), 0, 1)
    policy = BernsteinStopping(0.15, error, reward_range=UNIT)
    game = play(policy, rewards)
    n_pulls, estimate = plain_loop(rewards[0], 0.15, error)
    assert len(game.arms) == n_pulls > 20
    assert policy.estimate(game.state)[0] == pytest.approx(estimate)
    assert policy.is_confident(game.state)


@pytest.mark.parametrize(("error", "allowed"), [("additive", 0.2), ("multiplicative", 0.2 * 0.6)])
def test_the_error_is_as_promised(error: str, allowed: float) -> None:
    policy = BernsteinStopping(0.2, error, delta=0.1, reward_range=UNIT)
    state = bernoulli(policy, [0.6], 300, seed=1).state
    far = np.abs(policy.estimate(state)[:, 0] - 0.6) > allowed
    assert far.mean() <= 0.1
    assert policy.is_confident(state).all()


def test_a_mean_of_zero_needs_the_cap() -> None:
    policy = BernsteinStopping(0.2, "multiplicative", max_pulls=700, reward_range=(-1.0, 1.0))
    game = play(policy, np.zeros((2, 701)))
    assert len(game.arms) == 700
    assert not policy.is_confident(game.state)
    assert policy.estimate(game.state).tolist() == [0.0, 0.0]


def test_bad_parameters() -> None:
    with pytest.raises(ValueError, match="epsilon must be larger than 0 and smaller than 1"):
        BernsteinStopping(1.0, "multiplicative")
    with pytest.raises(ValueError, match="t1 must be finite and larger than 1, got 1"):
        BernsteinStopping(0.1, t1=1)
