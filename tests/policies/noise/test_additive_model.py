"""Arm means on common splits: numbers by hand, and what the model is worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_halving.policies.noise._noise_estimates import fit_additive_model


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
