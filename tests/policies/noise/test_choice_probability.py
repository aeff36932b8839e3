"""How sure a choice is: closed forms and Monte Carlo."""

from __future__ import annotations

from math import inf, nan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from sklearn_halving.policies.noise._noise_estimates import (
    fit_additive_model,
    is_clear,
    noise_of_arms,
    probability_of_best,
    standard_errors,
)

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
    own = fit_additive_model(table, ~np.isnan(table)).squares
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
