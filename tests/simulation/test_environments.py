"""What environments draw, against what they say they draw from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

from sklearn_halving.policies import Pulls
from sklearn_halving.simulation import (
    BernoulliArms,
    Environment,
    GaussianArms,
    GaussianProcessArms,
    LearningCurves,
    PowerEnvelope,
    Randomness,
    RecordedScores,
)

KERNEL = np.array([[1.0, 0.8, 0.1], [0.8, 1.0, 0.3], [0.1, 0.3, 0.5]])
SCORES = np.array([[0.1, 0.2, 0.3], [0.5, 0.6, 0.1]])
ALL = [
    GaussianArms([0.0, 1.0], mean_sd=0.1),
    BernoulliArms([0.2, 0.9]),
    GaussianProcessArms(KERNEL),
    LearningCurves([0.1, 0.2]),
    RecordedScores(SCORES, shuffle=True),
]


def draw(environment: Any, n_problems: int, n_arms: int | None = None) -> Any:
    randomness = Randomness.of(np.random.SeedSequence(0), n_problems)
    return environment.draw(randomness, n_arms or environment.n_arms)


def rewards(arms: Any, arm: int, n: int, level: int = 1) -> np.ndarray:
    """Return rewards of n repetitions of an arm of the first problem."""
    zero = np.zeros(n, dtype=int)
    return arms.rewards(zero, Pulls(zero + arm, zero + level, np.arange(n)))


@pytest.mark.parametrize("environment", ALL, ids=lambda one: type(one).__name__)
def test_keeps_what_the_protocol_says(environment: Any) -> None:
    assert isinstance(environment, Environment)
    arms = draw(environment, 4)
    assert arms.values.shape == (4, environment.n_arms)
    assert arms.best_value.shape == (4,)
    assert (arms.best_value >= arms.values.max(axis=1)).all()
    pulls = Pulls(np.array([1, 0, 1]), np.array([1, 1, 1]), np.array([0, 1, 0]))
    got = arms.rewards(np.array([3, 0, 3]), pulls)
    assert got.shape == (3,)
    assert got[0] == got[2], "the same pull, another reward"


def test_gaussian_rewards() -> None:
    arms = draw(GaussianArms([0.5, -2.0], sds=[0.1, 3.0]), 1)
    for arm, mean, sd in ((0, 0.5, 0.1), (1, -2.0, 3.0)):
        assert kstest((rewards(arms, arm, 20_000) - mean) / sd, "norm").pvalue > 1e-4


def test_a_level_is_a_number_of_draws() -> None:
    arms = draw(GaussianArms([1.0], sds=2.0, max_level=100), 1)
    values = rewards(arms, 0, 20_000, level=25)
    assert kstest((values - 1) / (2 / 5), "norm").pvalue > 1e-4


def test_bernoulli_rewards() -> None:
    arms = draw(BernoulliArms([0.2, 1.0, 0.0]), 1)
    values = rewards(arms, 0, 20_000)
    assert set(values.tolist()) == {0.0, 1.0}
    assert abs(values.mean() - 0.2) < 5 * np.sqrt(0.16 / 20_000)
    assert rewards(arms, 1, 100).min() == 1
    assert rewards(arms, 2, 100).max() == 0


def test_gaussian_process_means_have_the_covariance() -> None:
    n = 20_000
    arms = draw(GaussianProcessArms(KERNEL, prior_mean=[0.0, 5.0, -1.0]), n)
    assert np.abs(np.cov(arms.values.T) - KERNEL).max() < 6 * np.sqrt(2 / n)
    assert np.abs(arms.values.mean(axis=0) - [0, 5, -1]).max() < 6 / np.sqrt(n)


@pytest.mark.parametrize("deviation", ["random", "adversarial", "above"])
def test_curves_stay_in_their_envelope_and_end_at_their_limit(deviation: str) -> None:
    gamma = PowerEnvelope(alpha=2, scale=0.5)
    limits = np.array([0.4, 0.1, 0.3])
    arms = draw(LearningCurves(limits, gamma, deviation), 50)
    problem = np.repeat(np.arange(50), 3)
    arm, zero = np.tile(np.arange(3), 50), np.zeros(150, dtype=int)
    for level in (1, 10, 10**6):
        away = -arms.rewards(problem, Pulls(arm, zero + level, zero)) - limits[arm]
        assert (np.abs(away) <= gamma(level) * (1 + 1e-9)).all()
        expected = {
            "random": None,
            "adversarial": np.where(arm == 1, 1.0, -1.0),
            "above": np.ones(150),
        }[deviation]
        if expected is None:
            assert away.min() < -0.8 * gamma(level)
            assert away.max() > 0.8 * gamma(level)
        else:
            assert away == pytest.approx(expected * gamma(level), abs=1e-12)


def test_limits_that_are_drawn_without_an_optimum_are_judged_by_the_best_drawn() -> None:
    arms = draw(LearningCurves(lambda u: 1 + u, n_arms=5), 20)
    assert arms.best_value.tolist() == arms.values.max(axis=1).tolist()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianArms([]), "means must be a list of finite numbers"),
        (lambda: GaussianArms([0.0, np.nan]), "means must be a list of finite numbers"),
        (lambda: GaussianArms([0.0, 1.0], sds=-1), "sds must be at least 0, got -1"),
        (lambda: GaussianArms([0.0, 1.0], sds=[1, 2, 3]), "each of 2 arms"),
        (lambda: GaussianArms([0.0], variance_factors=(2, 1)), "the smaller first"),
        (lambda: GaussianArms([0.0], variance_factors=(1, 1, 2)), "the smaller first"),
        (lambda: BernoulliArms([0.5, 1.5]), "probabilities must be between 0 and 1"),
        (lambda: GaussianProcessArms([[1.0, 2.0], [0.0, 1.0]]), "covariance must be symmetric"),
        (lambda: GaussianProcessArms([[1.0, 2.0], [2.0, 1.0]]), "positive semi-definite"),
        (lambda: LearningCurves([0.1], envelope=2.0), "envelope must be a function"),
        (lambda: LearningCurves([0.1], n_arms=3), "the number of limits, 1, got 3"),
        (lambda: RecordedScores([0.1, 0.2]), "scores must have the axes"),
        (lambda: RecordedScores(SCORES[..., None], [0]), "levels must be 1 different"),
        (lambda: RecordedScores([[np.nan], [1.0]]), "a number for every candidate, got none for"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
