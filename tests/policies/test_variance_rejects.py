"""Variance-based rejects: who gets the pulls, who is rejected, and what it is worth."""

from __future__ import annotations

import numpy as np

from games import mistakes_of, play
from sklearn_halving.policies import SuccessiveRejects, VarianceRejects
from sklearn_halving.policies._successive_rejects import phases
from sklearn_halving.simulation import GaussianArms


def test_phases_have_the_pulls_of_successive_rejects() -> None:
    rng = np.random.default_rng(0)
    rewards = rng.normal(size=(6, 400))
    game = play(VarianceRejects(300), rewards)
    plan = phases(6, 300)
    assert len(game.arms) == sum(
        phase.n_each * width for phase, width in zip(plan, range(6, 1, -1), strict=True)
    )
    assert game.arms[: 6 * plan[0].n_each] == np.repeat(range(6), plan[0].n_each).tolist()


def test_pulls_follow_the_variances() -> None:
    rng = np.random.default_rng(1)
    rewards = rng.normal([[0.0], [0.0], [0.0]], [[3.0], [3.0], [0.3]], (3, 2000))
    rewards[0] -= 1.0
    counts = np.bincount(play(VarianceRejects(1500), rewards).arms)
    plain = np.bincount(play(SuccessiveRejects(1500), rewards).arms)
    assert counts[1] > 1.3 * plain[1]
    assert counts[2] < plain[2]


def test_it_makes_fewer_mistakes_where_variances_differ() -> None:
    """Every second arm is noisy."""
    arms = GaussianArms(np.linspace(0.5, 0.0, 8), np.where(np.arange(8) % 2 == 0, 1.0, 0.1))
    plain = mistakes_of(SuccessiveRejects(1200), arms, 200)
    assert mistakes_of(VarianceRejects(1200), arms, 200) < 0.8 * plain
