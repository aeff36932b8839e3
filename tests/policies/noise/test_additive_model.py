"""Arm means on common splits: numbers by hand, and what the model is worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_halving.policies.noise._additive_model import fit_additive_model


def by_generalized_least_squares(
    rewards: np.ndarray, observed: np.ndarray, freedom: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and sum of squares of each arm, by the dense formulas of the mixed model.

    The noise is what least squares leaves. The variance of the splits is what it lacks to the
    variance within the arms. Rewards are centred, as the effects of the splits have mean 0.
    """
    arm, split = np.nonzero(observed)
    of_arm, of_split = np.eye(len(rewards))[arm], np.eye(rewards.shape[1])[split]
    y = rewards[observed]
    design = np.hstack([of_arm, of_split])
    noise = ((y - design @ np.linalg.lstsq(design, y)[0]) ** 2).sum() / freedom
    plain = np.linalg.lstsq(of_arm, y)[0]
    within = ((y - of_arm @ plain) ** 2).sum() / (len(y) - len(rewards))
    ratio = max(within - noise, 0) / noise
    covariance = np.eye(len(y)) + ratio * of_split @ of_split.T
    weighted = np.linalg.solve(covariance, of_arm)
    mean = np.linalg.solve(weighted.T @ of_arm, weighted.T @ y)
    effect = ratio * of_split.T @ np.linalg.solve(covariance, y - of_arm @ mean)
    squares = (y - of_arm @ mean - of_split @ effect) ** 2
    return mean, np.bincount(arm, squares)


@pytest.mark.parametrize("size", [0.0, 2.0, 30.0])
@pytest.mark.parametrize("shape", [(4, 6), (3, 8), (8, 3)])
@pytest.mark.parametrize("share", [1.0, 0.7])
def test_the_mixed_model_by_dense_formulas(
    shape: tuple[int, int], share: float, size: float
) -> None:
    rng = np.random.default_rng(1)
    observed = rng.random(shape) < share
    observed[0] = observed[:, 0] = True
    rewards = rng.normal(5, 1, shape) + size * rng.normal(size=shape[1])
    fit = fit_additive_model(rewards, observed)
    mean, squares = by_generalized_least_squares(rewards, observed, fit.freedom.sum())
    np.testing.assert_allclose(fit.mean, mean, rtol=1e-5)
    np.testing.assert_allclose(fit.squares, squares, rtol=1e-5)
    if share == 1:
        np.testing.assert_allclose(fit.mean, rewards.mean(axis=1))
        np.testing.assert_allclose(fit.freedom, (shape[0] - 1) * (shape[1] - 1) / shape[0])


def test_without_noise_nothing_is_left() -> None:
    arm, split = np.array([0.0, 1.0, 3.0]), np.array([5.0, -2.0, 0.0, 1.0, 4.0])
    rewards = arm[:, np.newaxis] + split
    observed = np.arange(5) < np.array([5, 3, 2])[:, np.newaxis]
    fit = fit_additive_model(rewards, observed)
    np.testing.assert_allclose(np.diff(fit.mean), [1, 2], atol=1e-5)
    np.testing.assert_allclose(fit.squares, 0, atol=1e-9)


def test_splits_that_do_not_matter_leave_plain_means() -> None:
    rng = np.random.default_rng(2)
    rewards = rng.normal(size=(200, 10, 30))
    observed = np.arange(30) < np.linspace(4, 30, 10).astype(int)[:, np.newaxis]
    observed = np.broadcast_to(observed, rewards.shape)
    plain = np.where(observed, rewards, 0).sum(axis=2) / observed.sum(axis=2)
    random = fit_additive_model(rewards, observed).mean
    assert np.abs(random - plain).mean() < 0.02  # with least squares, it would be .08


def test_an_arm_without_rewards_has_no_mean() -> None:
    observed = np.array([[True, True], [False, False]])
    fit = fit_additive_model(np.array([[1.0, 2.0], [np.nan, np.nan]]), observed)
    assert fit.mean[0] == pytest.approx(1.5)
    assert np.isnan(fit.mean[1])


@given(seed=st.integers(0, 2**16), a=st.sampled_from([1e-3, 7.0]), b=st.sampled_from([-1e3, 50.0]))
@settings(max_examples=20, deadline=None)
def test_scale_and_batch(seed: int, a: float, b: float) -> None:
    rng = np.random.default_rng(seed)
    rewards = rng.normal(size=(2, 3, 5, 7)) + rng.normal(size=(2, 3, 1, 7))
    observed = np.arange(7) < rng.integers(1, 8, (2, 3, 5, 1))
    fit = fit_additive_model(rewards, observed)
    scaled = fit_additive_model(a * rewards + b, observed)
    np.testing.assert_allclose(scaled.mean, a * fit.mean + b, rtol=1e-6, atol=a * 1e-4)
    alone = fit_additive_model(rewards[1, 2], observed[1, 2])
    for whole, part in zip(fit, alone, strict=True):
        np.testing.assert_allclose(whole[1, 2], part, rtol=1e-9, atol=1e-12)


@given(
    seed=st.integers(0, 2**16),
    n_wild=st.integers(1, 12),
    size=st.sampled_from([1e6, 1e12, 1e21]),
)
@settings(max_examples=25)
def test_models_that_diverged_do_not_drown_the_others(seed, n_wild, size) -> None:
    """The other arms get what they would get without them, on splits that differ much."""
    rng = np.random.default_rng(seed)
    rewards = rng.normal(size=(8, 1)) + 3 * rng.normal(size=6) + 0.1 * rng.normal(size=(8, 6))
    observed = np.arange(6) < rng.integers(1, 7, size=(8, 1))
    # from 1e4 upwards, each on its own scale
    wild = -(size ** rng.uniform(0.8, 1, (n_wild, 1))) * rng.uniform(0.5, 1, (n_wild, 6))
    alone = fit_additive_model(rewards, observed)
    together = fit_additive_model(
        np.concatenate([wild, rewards]),
        np.concatenate([np.ones((n_wild, 6), dtype=bool), observed]),
    )
    np.testing.assert_allclose(together.mean[n_wild:], alone.mean, rtol=1e-6, atol=1e-6)
    assert (together.mean[:n_wild] < alone.mean.min()).all()
