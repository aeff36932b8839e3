"""Arm means on common splits: numbers by hand, and what the model is worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_halving.policies.noise._additive_model import fit_additive_model


def test_equal_splits_give_plain_means_and_two_way_residuals() -> None:
    rng = np.random.default_rng(0)
    rewards = rng.normal(size=(4, 6))
    residual = rewards - rewards.mean(1, keepdims=True) - rewards.mean(0) + rewards.mean()
    rewards += 1e3 * rng.normal(size=6)  # random effects that are so large are nearly fixed
    fit = fit_additive_model(rewards, np.ones((4, 6), bool))
    np.testing.assert_allclose(fit.mean, rewards.mean(axis=1), atol=1e-6)
    np.testing.assert_allclose(fit.freedom, 5 * 3 / 4)
    np.testing.assert_allclose(fit.squares, (residual**2).sum(axis=1), rtol=1e-3)


@pytest.mark.parametrize("shape", [(3, 8), (8, 3)], ids=["arms solved", "splits solved"])
def test_large_effects_are_those_of_least_squares(shape: tuple[int, int]) -> None:
    n_arms, n_splits = shape
    rng = np.random.default_rng(1)
    observed = rng.random(shape) < 0.7
    observed[0] = observed[:, 0] = True
    rewards = rng.normal(5, 1, shape) + 1e3 * rng.normal(size=n_splits)
    rewards = np.where(observed, rewards, np.nan)
    arm, split = np.nonzero(observed)
    design = np.zeros((len(arm), n_arms + n_splits))
    design[np.arange(len(arm)), arm] = design[np.arange(len(arm)), n_arms + split] = 1
    expected = np.linalg.lstsq(design, rewards[observed], rcond=None)[0][:n_arms]
    fit = fit_additive_model(rewards, observed)
    np.testing.assert_allclose(np.diff(fit.mean), np.diff(expected), atol=2e-3)


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
