"""The posterior over arms, against the same numbers from one dense solve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_halving.policies import FactorCovariance, KernelCovariance
from sklearn_halving.policies._types import NO_ARM
from sklearn_halving.policies.posterior._arm_posterior import (
    ArmPosterior,
    DenseCovariance,
    PriorFeatures,
    as_arm_covariance,
)


def squared_exponential(points: np.ndarray, length: float = 0.3) -> np.ndarray:
    squared = ((points[:, np.newaxis] - points) ** 2).sum(axis=-1)
    return np.exp(-squared / (2 * length**2))


@dataclass
class Dense:
    """The textbook's answer, for pulls in one problem."""

    mean: np.ndarray
    mean_of_ones: np.ndarray
    covariance: np.ndarray
    offset: float
    scale: float

    @classmethod
    def of(cls, prior, arm, split, rewards, noise, between_splits) -> Dense:
        same = split[:, np.newaxis] == split
        of_rewards = prior[np.ix_(arm, arm)] + between_splits * same + noise * np.eye(len(arm))
        gain = np.linalg.solve(of_rewards, prior[arm]).T
        ones = np.ones(len(arm))
        weights = np.linalg.solve(of_rewards, ones)
        offset = weights @ rewards / weights.sum()
        left = rewards - offset
        scale = np.sqrt(left @ np.linalg.solve(of_rewards, left) / max(len(arm) - 1, 1))
        covariance = prior - gain @ prior[arm]
        return cls(gain @ rewards, gain @ ones, covariance, offset, scale)


@dataclass
class Played:
    """A posterior of several problems, and what it was told."""

    posterior: ArmPosterior
    prior: np.ndarray
    arm: np.ndarray
    split: np.ndarray
    rewards: np.ndarray

    def dense(self, problem: int) -> Dense:
        is_pull = self.arm[:, problem] != NO_ARM
        columns = (a[is_pull, problem] for a in (self.arm, self.split, self.rewards))
        posterior = self.posterior
        return Dense.of(self.prior, *columns, posterior.noise_variance, posterior.split_variance)


def play(seed, length, between_splits, n_arms=30, n_problems=2, n_pulls=45, noise=0.2) -> Played:
    rng = np.random.default_rng(seed)
    prior = 1.7 * squared_exponential(rng.random((n_arms, 2)), length)
    features = PriorFeatures(DenseCovariance(prior))
    posterior = ArmPosterior(features, n_problems, noise, between_splits)
    shape = n_pulls, n_problems
    arm = np.where(rng.random(shape) < 0.05, NO_ARM, rng.integers(n_arms, size=shape))
    split, rewards = rng.integers(12, size=shape), rng.normal(3, 1, shape)
    for pull in zip(arm, split, rewards, strict=True):
        posterior.update(*pull)
    return Played(posterior, prior, arm, split, rewards)


@pytest.mark.parametrize("n_problems", [1, 2])
@given(
    seed=st.integers(0, 2**16),
    length=st.sampled_from([1e-3, 0.05, 0.3, 5.0]),
    between_splits=st.sampled_from([0.0, 0.05, 2.0]),
)
@settings(max_examples=20)
def test_is_the_dense_posterior(n_problems, seed, length, between_splits) -> None:
    """From independent arms to arms of which four explain the rest; padding is skipped."""
    played = play(seed, length, between_splits, n_problems=n_problems)
    offset, scale = played.posterior.offset_and_scale()
    for i in range(n_problems):
        dense = played.dense(i)
        close = {"rtol": 1e-5, "atol": 1e-5}
        np.testing.assert_allclose(played.posterior.answers[i, 0], dense.mean, **close)
        np.testing.assert_allclose(played.posterior.answers[i, 1], dense.mean_of_ones, **close)
        variance = dense.covariance.diagonal()
        np.testing.assert_allclose(played.posterior.variance[i], variance, **close)
        np.testing.assert_allclose([offset[i], scale[i]], [dense.offset, dense.scale], rtol=1e-5)


def test_samples_have_the_covariance_of_the_posterior() -> None:
    played = play(3, 0.3, 0.5, n_arms=6, n_problems=1, n_pulls=8)
    played.posterior.features.cover_all(10**6)
    rng = np.random.default_rng(1)
    draws = np.array([played.posterior.sample(rng)[0] for _ in range(20_000)])
    expected = played.dense(0).covariance
    spread = np.sqrt(expected.diagonal())
    error = np.abs(np.cov(draws.T) - expected) / np.outer(spread, spread)
    assert error.max() < 5 * np.sqrt(2 / 20_000)


def test_a_pull_under_way_moves_no_mean_and_shrinks_variances_as_if_it_were_back() -> None:
    played = play(0, 0.3, 0.3)
    ahead, before = played.posterior.copy(), played.posterior.copy()
    arm, split = np.array([4, 7]), np.array([20, 0])
    ahead.update(arm, split, None)
    played.posterior.update(arm, split, np.array([9.0, -9.0]))
    np.testing.assert_array_equal(ahead.answers, before.answers)
    np.testing.assert_array_equal(ahead.variance, played.posterior.variance)
    assert (ahead.variance <= before.variance).all()
    assert np.abs(played.posterior.answers - before.answers).max() > 0.1


@pytest.mark.parametrize("length", [0.05, 0.2, 5.0])
def test_neighbours_one_after_the_other_do_not_spoil_the_factor(length) -> None:
    """The order in which a Cholesky factor of a smooth kernel without a nugget breaks down."""
    prior = squared_exponential(np.linspace(0, 1, 300)[:, np.newaxis], length)
    features = PriorFeatures(DenseCovariance(prior))
    for arm in range(300):
        features.cover(arm)
    np.testing.assert_allclose(features.rows.T @ features.rows, prior, atol=1e-9)


# ----------------------------------------------------------------------- prior covariances


def test_all_ways_to_give_a_covariance_agree() -> None:
    rng = np.random.default_rng(0)
    points = rng.random((300, 3))

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a @ b.T

    dense = DenseCovariance(points @ points.T)
    diagonal = (points**2).sum(axis=1)
    for other in (FactorCovariance(points), KernelCovariance(kernel, points, diagonal)):
        np.testing.assert_allclose(other.diagonal, dense.diagonal)
        np.testing.assert_allclose(other.column(7), dense.column(7))
        # From 256 of 300 columns, for a kernel.
        np.testing.assert_allclose(other.squared_norm(), dense.squared_norm(), rtol=0.05)


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        (np.eye(3), r"shape \(4, 4\)"),
        (np.diag([1.0, 1.0, np.nan, 1.0]), "finite"),
        (np.eye(4) + np.diag([0.1] * 3, 1), "symmetric"),
        (np.eye(4) - 0.5 * (np.ones((4, 4)) - np.eye(4)), "the eigenvalue -0.5"),
        (np.zeros((4, 4)), "not all 0"),
        (FactorCovariance(np.ones((5, 2))), "the 4 arms, got 5 rows"),
    ],
)
def test_a_covariance_that_is_none_is_refused(covariance, message) -> None:
    with pytest.raises(ValueError, match=message):
        as_arm_covariance(covariance, 4)


def test_a_kernel_that_is_no_covariance_is_noticed_when_columns_show_it() -> None:
    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return 1 + np.abs(a - b[:, 0])

    points = np.arange(4.0)[:, np.newaxis]
    features = PriorFeatures(KernelCovariance(kernel, points, np.ones(4)))
    with pytest.raises(ValueError, match=r"positive semi-definite.* arms 0 and 3"):
        features.cover(0)


def test_a_kernel_of_pairs_is_refused() -> None:
    """It takes two sets of points, and does not pair the points with one other."""
    covariance = KernelCovariance(lambda a, b: (a * b).sum(axis=1), np.ones((4, 2)), np.ones(4))
    with pytest.raises(ValueError, match=r"here \(1, 4\), got \(4,\)"):
        covariance.column(0)
