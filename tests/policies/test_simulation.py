"""Policies against noisy arms: adapting must pay, or something is turned round."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_halving.policies import (
    FiniteHorizonHalving,
    Hyperband,
    Problem,
    SuccessiveHalving,
    UniformAllocation,
)
from sklearn_halving.simulation import GaussianArms, simulate


def regret(policy: Any, n_arms: int, max_level: int) -> float:
    """Return how far the recommended arm is below the best, on average over problems.

    The noise of a reward falls with the level like that of a mean of so many.
    """
    arms = GaussianArms(np.zeros(n_arms), mean_sd=0.5, max_level=max_level)
    return simulate(policy, arms, 100).simple_regret.value


def test_halving_beats_uniform_allocation_at_equal_budget() -> None:
    budget = 81 * 8
    uniform = regret(UniformAllocation(budget), 81, 1)
    assert regret(SuccessiveHalving(n_arms=81, budget=budget), 81, budget) < 0.7 * uniform
    assert regret(FiniteHorizonHalving(n_arms=81, budget=budget), 81, 81) < 0.9 * uniform


def test_hyperband_beats_random_search_at_equal_budget() -> None:
    """Random search trains as many arms to the end as the same units allow."""
    policy = Hyperband(factor=3)
    plan = policy.plan(Problem(max_level=81))
    units = sum(rung.n_arms * rung.level for b in plan.brackets for rung in b.rounds)
    n_random = units // 81

    def best_of(n_arms: int) -> float:
        return float(np.random.default_rng(0).normal(0, 0.5, (10_000, n_arms)).max(axis=1).mean())

    found = best_of(plan.n_arms) - regret(policy, plan.n_arms, 81)
    assert found > best_of(n_random) - regret(UniformAllocation(n_random), n_random, 81) + 0.1
