"""The additive model against least squares, and the probability of the best against draws."""

from __future__ import annotations

from math import inf, nan, sqrt
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from sklearn_halving.policies.noise._additive_model import fit_additive_model, fit_table
from sklearn_halving.policies.noise._noise_estimates import (
    is_clear,
    noise_of_arms,
    probability_of_best,
    standard_errors,
)


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
    fit = fit_table(np.where(observed, rewards, nan))
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
    rewards[~observed] = nan
    alone, together = fit_table(rewards), fit_table(np.concatenate([wild, rewards]))
    np.testing.assert_allclose(together.mean[n_wild:], alone.mean, rtol=1e-6, atol=1e-6)
    assert (together.mean[:n_wild] < alone.mean.min()).all()


means = st.floats(-50, 50)
errors = st.one_of(st.floats(1e-6, 30), st.just(0.0))


# ------------------------------------------------------------------------------- probability


@given(mean=st.tuples(means, means), error=st.tuples(st.floats(1e-6, 30), errors))
@settings(deadline=None)
def test_two_arms_in_closed_form(mean: tuple[float, float], error: tuple[float, float]) -> None:
    spread = np.hypot(*error)
    gap = mean[0] - mean[1]
    expected = norm.cdf(gap / spread)
    assert probability_of_best(mean, error) == pytest.approx([expected, 1 - expected], abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_is_what_sampling_gives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_arms, n_draws = int(rng.integers(3, 9)), 200_000
    mean, error = rng.normal(size=n_arms), 10 ** rng.uniform(-2, 0.5, n_arms)
    error[0] = 0.0
    draws = mean + error * rng.normal(size=(n_draws, n_arms))
    share = np.bincount(draws.argmax(axis=1), minlength=n_arms) / n_draws
    probability = probability_of_best(mean, error)
    sem = np.sqrt(np.maximum(probability * (1 - probability), 1 / n_draws) / n_draws)
    assert (abs(share - probability) <= 4 * sem).all()


@pytest.mark.parametrize(
    ("mean", "error", "expected"),
    [
        ([1, 2, 3], [0, 0, 0], [0, 0, 1]),
        ([3, 2, 3], [0, 1e-5, 0], [0.5, 0, 0.5]),
        ([1, nan], [1, 1], [1, 0]),
        ([1, 5], [1, nan], [1, 0]),
        ([nan, nan], [1, 1], [nan, nan]),
        ([inf, 1, inf], [1, 1, 0], [0.5, 0, 0.5]),
        ([-inf, 1], [1, 1], [0, 1]),
        ([-inf, -inf], [1, 1], [0.5, 0.5]),
        ([4], [2], [1]),
        ([0, 1e-300], [1e-310, 1e-310], [0, 1]),
        ([1e6, 1e6 + 1], [1e-9, 1e-9], [0, 1]),
    ],
)
def test_edges_of_the_probability(
    mean: list[float], error: list[float], expected: list[float]
) -> None:
    got = probability_of_best(mean, error)
    assert got == pytest.approx(expected, abs=1e-12, nan_ok=True)


# ------------------------------------------------------------------------ estimates, stopping


def test_standard_errors_with_overlap_are_those_of_nadeau_and_bengio() -> None:
    got = standard_errors(np.array([4, 100]), np.array([1.0, 4.0]), overlap=0.25)
    assert got == pytest.approx([sqrt(0.5), sqrt(0.26 * 4)])


def test_variances_are_shrunk_towards_the_pooled_one() -> None:
    rng = np.random.default_rng(1)
    table = rng.normal(size=(4, 9)) * np.array([[0.1], [0.1], [3.0], [3.0]])
    own = fit_table(table).squares
    own /= own.mean()
    some = noise_of_arms(table)[0]
    assert (abs(some / some.mean() - 1) < abs(own - 1)).all()


@pytest.mark.parametrize(
    ("mean", "p", "tolerance", "expected"),
    [
        ([1.0, 0.0], 0.95, None, True),  # gap of 1 / (0.4 sqrt 2) = 1.77 errors: 0.961
        ([1.0, 0.0], 0.97, None, False),
        ([1.0, 0.9], 0.95, None, False),
        ([1.0, 0.9], None, 0.84, True),  # -0.1 + 1.645 * 0.4 sqrt 2 = 0.8305
        ([1.0, 0.9], None, 0.82, False),
        ([1.0, 0.9], 0.95, 0.84, True),  # either rule is enough
        ([1.0, nan], None, 0.0, True),
        ([1.0, 0.0], None, None, False),
    ],
)
def test_when_it_is_clear(
    mean: list[float], p: float | None, tolerance: float | None, expected: bool
) -> None:
    assert is_clear(np.array(mean), np.full(2, 0.4), 0, p, tolerance) is expected


def test_many_arms_of_which_few_have_many_pulls_take_no_time() -> None:
    """With an equation for each split, half a minute; arms on the same splits count as one."""
    rng = np.random.default_rng(0)
    n_pulls = np.r_[np.full(9, 3000), np.full(29, 40), np.ones(20_000, dtype=int)]
    arm = np.repeat(np.arange(len(n_pulls)), n_pulls)
    split = np.concatenate([np.arange(n) for n in n_pulls])
    began = process_time()
    fit = fit_additive_model(arm, split, arm % 7 + rng.normal(0, 0.1, len(arm)), len(n_pulls))
    assert process_time() - began < 2
    assert fit.mean[:9] == pytest.approx(np.arange(9) % 7, abs=0.01)
