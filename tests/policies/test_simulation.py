"""Policies against noisy arms: adapting must pay, or something is turned round."""

from __future__ import annotations

import numpy as np

from sklearn_halving.policies import FiniteHorizonHalving, Hyperband, Problem, SuccessiveHalving

N_PROBLEMS = 400


def noisy(
    rng: np.random.Generator, means: np.ndarray, arm: np.ndarray, level: np.ndarray
) -> np.ndarray:
    """Return rewards whose noise falls with the level like that of a mean of so many."""
    noise = rng.normal(size=arm.shape) / np.sqrt(level)
    return np.take_along_axis(means, arm, axis=1) + noise


def regret(policy: object, n_arms: int, max_level: int, means: np.ndarray, seed: int) -> float:
    """Return how far the recommended arm is below the best, on average over problems."""
    rng = np.random.default_rng(seed)
    state = policy.start(Problem(n_arms, 1, max_level), batch_shape=(len(means),))
    while not policy.is_finished(state):
        pulls = policy.ask(state, 10**6)
        policy.tell(state, pulls, noisy(rng, means, pulls.arm, pulls.level))
    chosen = policy.recommend(state)[:, np.newaxis]
    return float((means.max(axis=1) - np.take_along_axis(means, chosen, axis=1)[:, 0]).mean())


def uniform_regret(means: np.ndarray, level: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    arm = np.broadcast_to(np.arange(means.shape[1]), means.shape)
    chosen = noisy(rng, means, arm, np.full(means.shape, level)).argmax(axis=1)[:, np.newaxis]
    return float((means.max(axis=1) - np.take_along_axis(means, chosen, axis=1)[:, 0]).mean())


def test_halving_beats_uniform_allocation_at_equal_budget() -> None:
    means = np.random.default_rng(0).normal(size=(N_PROBLEMS, 81)) / 2
    budget = 81 * 8
    uniform = uniform_regret(means, budget // 81, seed=1)
    halving = SuccessiveHalving(n_arms=81, budget=budget)
    horizon = FiniteHorizonHalving(n_arms=81, budget=budget, factor=3)
    assert regret(halving, 81, budget, means, seed=2) < 0.7 * uniform
    assert regret(horizon, 81, 81, means, seed=3) < 0.9 * uniform


def test_hyperband_beats_random_search_at_equal_budget() -> None:
    """Random search trains as many arms to the end as the same units allow."""
    policy = Hyperband(factor=3)
    plan = policy.plan(Problem(max_level=81))
    units = sum(rung.n_arms * rung.level for b in plan.brackets for rung in b.rounds)
    means = np.random.default_rng(4).normal(size=(N_PROBLEMS, plan.n_arms)) / 2
    found = regret(policy, plan.n_arms, 81, means, seed=5)
    best_found = means.max(axis=1).mean() - found
    rng = np.random.default_rng(6)
    n_random = units // 81
    few = means[:, :n_random]
    last = few + rng.normal(size=few.shape) / 9
    best_random = np.take_along_axis(few, last.argmax(axis=1)[:, np.newaxis], axis=1).mean()
    assert best_found > best_random + 0.1
