"""One round of gap-based exploration, and how wide its bounds are."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_halving.policies import FactorCovariance
from sklearn_halving.policies.bases._gap_index import Exploration, choose_by_gap, first_largest
from sklearn_halving.policies.posterior._arm_covariance import DenseCovariance, effective_n_arms


def correlated_arms() -> np.ndarray:
    x = np.random.default_rng(0).random(12)
    return np.exp(-0.5 * ((x[:, np.newaxis] - x) / 0.4) ** 2)


def test_one_round_by_hand() -> None:
    """Upper bounds 3, 4, 2.5, lower 1, 0, 1.5: gaps 3, 3, 2.5, so that J = 2 and j = 1."""
    mean, width = np.array([[2.0, 2.0, 2.0]]), np.array([[1.0, 2.0, 0.5]])
    every = np.ones((1, 3), dtype=bool)
    choice = choose_by_gap(mean, width, every, every)
    assert (choice.leader[0], choice.arm[0], choice.bound[0]) == (2, 1, 2.5)
    without_the_wide_one = np.array([[True, False, True]])
    choice = choose_by_gap(mean, width, without_the_wide_one, without_the_wide_one)
    assert (choice.leader[0], choice.arm[0], choice.bound[0]) == (0, 0, 1.5)


def test_an_arm_that_has_had_all_its_pulls_is_compared_but_not_pulled() -> None:
    mean, width = np.array([[2.0, 2.0, 2.0]]), np.array([[1.0, 2.0, 0.5]])
    every, may_pull = np.ones((1, 3), dtype=bool), np.array([[True, False, False]])
    choice = choose_by_gap(mean, width, every, may_pull)
    assert (choice.leader[0], choice.arm[0], choice.bound[0]) == (2, 0, 2.5)


def test_rounding_breaks_no_ties() -> None:
    assert first_largest(np.array([[0.3, 0.1 + 0.2, 0.2]]))[0] == 0
    assert first_largest(np.array([[-np.inf, -np.inf]]))[0] == 0


def test_copies_of_arms_change_the_printed_beta_and_not_the_effective() -> None:
    prior = correlated_arms()
    mean, deviation = np.random.default_rng(0).normal(size=(1, 12)), np.ones((1, 12))
    betas = {}
    for n_copies in (1, 5):
        copied = np.kron(prior, np.ones((n_copies, n_copies)))
        means, deviations = (np.repeat(a, n_copies, axis=1) for a in (mean, deviation))
        for rule in ("printed", "effective"):
            exploration = Exploration.of(rule, DenseCovariance(copied), 100, 0.25)
            alive = np.ones_like(means, dtype=bool)
            # An epsilon, so that the leader's copies do not change its distance to the second.
            betas[rule, n_copies] = exploration.beta(means, deviations, alive, np.full(1, 9.0))
    np.testing.assert_allclose(betas["effective", 1], betas["effective", 5], rtol=1e-9)
    assert betas["printed", 5] < 0.7 * betas["printed", 1]


def test_the_effective_number_of_a_factor_is_that_of_its_matrix() -> None:
    factor = np.random.default_rng(0).normal(size=(50, 4))
    assert effective_n_arms(FactorCovariance(factor)) == pytest.approx(
        effective_n_arms(DenseCovariance(factor @ factor.T))
    )
