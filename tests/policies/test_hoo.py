"""HOO: bounds by hand, both variants against a plain recursion, and regret that falls."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_halving.policies import HOO, NO_ARM, Problem

UNIT = (0.0, 1.0)


def play(policy: HOO, f: Callable[[np.ndarray, int], float], most: int | None = None) -> Any:
    """Return the points in the order of the pulls, and the game."""
    game = policy.start(Problem(policy.n_points, 1, 1, most))
    points = []
    while not game.is_finished:
        [pull] = game.ask(100)
        point = game.points[pull.arm]
        points.append(tuple(point.tolist()))
        game.tell(pull, f(point, pull.repetition))
    return points, game


class Cell:
    """A cell of the plain recursion: an interval along each axis."""

    def __init__(self, low: list[float], high: list[float], depth: int) -> None:
        self.low, self.high, self.depth = low, high, depth
        self.rewards: list[float] = []
        self.halves: list[Cell | None] = [None, None]

    def half(self, side: int) -> Cell:
        low, high, axis = list(self.low), list(self.high), self.depth % len(self.low)
        middle = (low[axis] + high[axis]) / 2
        (high if side == 0 else low)[axis] = middle
        return Cell(low, high, self.depth + 1)

    def bound(self, log_n: float, nu1: float, rho: float) -> float:
        upper = np.mean(self.rewards) + math.sqrt(2 * log_n / len(self.rewards))
        upper += nu1 * rho**self.depth
        of_halves = [math.inf if h is None else h.bound(log_n, nu1, rho) for h in self.halves]
        return min(upper, max(of_halves)) if self.depth < self.max_depth else upper

    max_depth: float = math.inf


def plain_hoo(policy: HOO, n_dimensions: int, f: Callable[[np.ndarray, int], float]) -> list:
    """Play algorithm 16.1 of Audibert et al. (2011): every bound anew in every round."""
    rho = 2 ** (-1 / n_dimensions) if policy.rho is None else policy.rho
    is_basic, n = policy.variant == "basic", policy.n_pulls
    Cell.max_depth = math.inf if is_basic else policy.max_depth
    root = Cell([0.0] * n_dimensions, [1.0] * n_dimensions, 0)
    points = []
    for t in range(n):
        log_n = math.log(max(t, 1) if is_basic else n)
        way = [root]
        while way[-1] is root or way[-1].rewards:
            cell = way[-1]
            if cell.depth == Cell.max_depth:
                break
            b = [math.inf if h is None else h.bound(log_n, policy.nu1, rho) for h in cell.halves]
            side = 0 if b[0] >= b[1] - 1e-12 else 1
            if cell.halves[side] is None:
                cell.halves[side] = cell.half(side)
            way.append(cell.halves[side])
        point = (np.array(way[-1].low) + np.array(way[-1].high)) / 2
        points.append(tuple(point.tolist()))
        reward = f(point, t)
        for cell in way:
            cell.rewards.append(reward)
    return points


@pytest.mark.parametrize("variant", ["truncated", "basic"])
@settings(max_examples=15)
@given(seed=st.integers(0, 2**16), d=st.integers(1, 3), nu1=st.sampled_from([0.5, 1.0, 4.0]))
def test_pulls_what_a_plain_recursion_pulls(variant: str, seed: int, d: int, nu1: float) -> None:
    noise = np.random.default_rng(seed).random(60)

    def f(point: np.ndarray, t: int) -> float:
        return float(0.7 * (1 - np.abs(point - 0.3).max()) + 0.3 * noise[t])

    policy = HOO(60, d, nu1, variant=variant, reward_range=UNIT)
    assert play(policy, f)[0] == plain_hoo(policy, d, f)


def regret_per_round(policy: HOO, n_problems: int) -> tuple[float, float]:
    """Return the mean regret of a round and that of the choice: 1 - |x - 0.3|, coin flips."""
    rng, of_rounds, of_choice = np.random.default_rng(0), 0.0, 0.0
    for _ in range(n_problems):
        game = policy.start(Problem(policy.n_points))
        while not game.is_finished:
            [pull] = game.ask(1)
            f = 1 - abs(game.points[pull.arm, 0] - 0.3)
            of_rounds += float(1 - f) / policy.n_pulls / n_problems
            game.tell(pull, float(rng.random() < f))
        of_choice += float(abs(game.points[game.recommend(), 0] - 0.3)) / n_problems
    return of_rounds, of_choice


def test_the_regret_of_a_round_and_of_the_choice_fall_with_n() -> None:
    regrets = [regret_per_round(HOO(n, reward_range=UNIT), 4) for n in (50, 300, 1200)]
    of_rounds, of_choice = zip(*regrets, strict=True)
    assert of_rounds[1] < 0.9 * of_rounds[0]
    assert of_rounds[2] < 0.9 * of_rounds[1]
    assert of_rounds[2] < 0.6 * 0.29  # that of points at random is 0.29
    assert of_choice[2] < 0.5 * of_choice[0]


def test_splits_take_turns_and_a_point_that_has_had_all_is_not_pulled_again() -> None:
    """Two points with three splits: six pulls in all, though there is a budget for 9."""
    policy = HOO(9, nu1=0.4, rho=0.5, reward_range=UNIT)
    assert policy.n_points == 2
    game = policy.start(Problem(2, 1, 1, 3))
    seen = []
    while not game.is_finished:
        [pull] = game.ask(1)
        seen.append((pull.arm, pull.repetition))
        game.tell(pull, 0.5)
    assert sorted(seen) == [(arm, split) for arm in (0, 1) for split in range(3)]
    assert [split for _, split in seen[:2]] == [0, 1]


def test_points_that_fail_are_not_chosen() -> None:
    """All of the upper half, where the rewards would be, fails."""
    policy = HOO(60, reward_range=UNIT)
    _, game = play(policy, lambda p, t: math.nan if p[0] > 0.5 else p[0])
    x = game.points[:, 0]
    assert x[game.recommend()] < 0.5
    assert sorted(game.out()) == np.flatnonzero(x > 0.5).tolist()
    _, game = play(policy, lambda p, t: math.nan)
    assert game.recommend() == NO_ARM


def test_pulls_in_flight_go_to_different_cells() -> None:
    policy = HOO(50, reward_range=UNIT)
    game = policy.start(Problem(policy.n_points))
    asked = [pull for _ in range(6) for pull in game.ask(8)]
    x = game.points[[pull.arm for pull in asked], 0]
    assert sorted(x.tolist()) == [0.125, 0.25, 0.375, 0.625, 0.75, 0.875]
    for pull in asked:
        game.tell(pull, 1.0)
    assert not game.is_finished
