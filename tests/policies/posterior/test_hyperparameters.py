"""Marginal likelihood: against the density it is, and against data of known origin."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn_halving.policies.posterior._hyperparameters import (
    ArmRewards,
    Hyperparameters,
    RewardSums,
    fit_hyperparameters,
    likelihood_of,
)

from games import play_in_flight
from sklearn_halving.policies import BayesGap, KernelFamily, Problem, Pull, Pulls


def kernel(log_lengths: np.ndarray, arms: np.ndarray) -> np.ndarray:
    x = arms / 100
    return np.exp(-0.5 * ((x[:, np.newaxis] - x) / np.exp(log_lengths[0])) ** 2)


class Family(KernelFamily):
    """Arms without features, whose covariance is a function of their numbers."""

    def __init__(self, among, length_bounds=(1e-2, 1e2)) -> None:
        super().__init__(among, np.zeros((1, 1)), np.ones(1), length_bounds)

    def among(self, log_lengths: np.ndarray, arms: np.ndarray) -> np.ndarray:
        return self.kernel(log_lengths, arms)


def log_likelihood(told: ArmRewards, parameters: Hyperparameters) -> float:
    sums = RewardSums.of(told)
    return likelihood_of(sums, kernel(parameters.log_lengths, sums.arms), parameters).value


def draw(seed: int, true: Hyperparameters, n_pulls: int, scale: float = 3.0) -> ArmRewards:
    rng = np.random.default_rng(seed)
    values, vectors = np.linalg.eigh(kernel(true.log_lengths, np.arange(101)))
    mean = vectors @ (np.sqrt(np.maximum(values, 0)) * rng.normal(size=101))
    splits = np.sqrt(true.split_variance) * rng.normal(size=n_pulls)
    arm, split = rng.integers(101, size=n_pulls), rng.integers(n_pulls // 4, size=n_pulls)
    noise = np.sqrt(true.noise_variance) * rng.normal(size=n_pulls)
    return ArmRewards(arm, split, 7 + scale * (mean[arm] + splits[split] + noise))


def test_differences_are_those_of_the_density_of_contrasts() -> None:
    """Restricted likelihood is the density of all that the level does not move."""
    told = draw(0, Hyperparameters(np.log([0.2]), 0.1, 0.2), 12)
    contrasts = np.linalg.svd(np.ones((1, 12)))[2][1:]
    ours, theirs = [], []
    for parameters in (
        Hyperparameters(np.log([0.1]), 0.3, 0.4),
        Hyperparameters(np.log([0.5]), 0.02, 0.01),
    ):
        covariance = kernel(parameters.log_lengths, told.arm) + 0.0
        covariance += parameters.split_variance * (told.split[:, np.newaxis] == told.split)
        covariance += parameters.noise_variance * np.eye(12)
        inside = contrasts @ covariance @ contrasts.T
        values = contrasts @ told.rewards
        scale = values @ np.linalg.solve(inside, values) / 11
        theirs.append(multivariate_normal(np.zeros(11), scale * inside).logpdf(values))
        ours.append(log_likelihood(told, parameters))
    np.testing.assert_allclose(ours[1] - ours[0], theirs[1] - theirs[0], rtol=1e-6)


@pytest.mark.parametrize("split_variance", [0.3, 0.0])
def test_gradient_is_that_of_the_likelihood(split_variance) -> None:
    told = draw(3, Hyperparameters(np.log([0.2]), 0.1, 0.2), 80)
    at = Hyperparameters(np.log([0.15]), 0.2, split_variance)
    sums = RewardSums.of(told)
    found = likelihood_of(sums, kernel(at.log_lengths, sums.arms), at)
    by_lengths = Family(kernel).gradient(at.log_lengths, sums.arms, found.arm_weights)
    vector = at.to_vector()
    analytic = np.concatenate([by_lengths, found.by_variances])[: len(vector)]
    numeric = [
        (
            log_likelihood(told, at.from_vector(vector + step))
            - log_likelihood(told, at.from_vector(vector - step))
        )
        / 2e-5
        for step in 1e-5 * np.eye(len(vector))
    ]
    np.testing.assert_allclose(analytic, numeric, rtol=1e-5, atol=1e-6)


def test_finds_what_the_data_were_made_with() -> None:
    true = Hyperparameters(np.log([0.1]), 0.05, 0.2)
    guess = Hyperparameters(np.log([0.4]), 0.5, 0.05)
    found = [
        fit_hyperparameters(Family(kernel), draw(seed, true, 120), guess) for seed in range(10)
    ]
    vectors = np.array([parameters.to_vector() for parameters in found])
    assert np.abs(np.median(vectors, axis=0) - true.to_vector()).max() < 0.5
    assert np.abs(guess.to_vector() - true.to_vector()).min() > 1.3


def test_few_or_equal_rewards_leave_the_guess() -> None:
    told, guess = draw(2, Hyperparameters(np.log([0.1]), 0.05), 60), Hyperparameters(np.zeros(1))
    few = ArmRewards(*(column[:3] for column in told))
    assert fit_hyperparameters(Family(kernel), few, guess) is guess
    assert fit_hyperparameters(Family(kernel), told._replace(rewards=np.ones(60)), guess) is guess


def test_hyperparameters_stay_where_the_posterior_is_safe() -> None:
    """Rewards without noise, and rewards that are nothing else."""
    x = np.arange(40)
    exact = ArmRewards(x, np.zeros(40, dtype=int), x / 40)
    noisy = exact._replace(rewards=np.random.default_rng(0).normal(size=40))
    for told in (exact, noisy):
        found = fit_hyperparameters(
            Family(kernel, (0.05, 2.0)), told, Hyperparameters(np.zeros(1))
        )
        assert 0.05 - 1e-9 <= np.exp(found.log_lengths[0]) <= 2.0 + 1e-9
        assert 1e-4 - 1e-9 <= found.noise_variance <= 1e2 + 1e-6
        assert found.split_variance == 0


# ------------------------------------------------------------------ a family, in a search


def distance_kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * ((a[:, np.newaxis] - b) ** 2).sum(axis=2))


def test_length_and_noise_are_found_on_the_way() -> None:
    """A guess ten times too long makes arms copies of each other; the rewards say otherwise."""
    x = np.linspace(0, 1, 80)[:, np.newaxis]
    table = np.sin(25 * x) + x + 0.05 * np.random.default_rng(0).normal(size=(80, 60))
    family = KernelFamily(distance_kernel, x, np.array([0.8]))
    fixed = BayesGap(60, family.at(np.log([0.8])), 0.5)
    policy = BayesGap(60, family, 0.5)
    deviations = {}
    for name, each in (("fixed", fixed), ("fitted", policy)):
        _, state = play_in_flight(each, table)
        deviations[name] = np.abs(each.belief(state).mean - table.mean(axis=1)).mean()
        if name == "fitted":
            assert state.posterior.noise_variance < 0.1
            assert (table.mean(axis=1).max() - table.mean(axis=1)[policy.recommend(state)]) < 0.1
    assert deviations["fitted"] < 0.5 * deviations["fixed"]


def told_in_order(policy: BayesGap, order: list[int]):
    """Return the state after a reward of each arm. None is so low that it would be raised."""
    state, rewards = policy.start(Problem(30)), np.sin(np.arange(30))
    for arm in order:
        pull = Pulls.of(Pull(arm, 1, arm // 7))
        policy.tell(state, pull, rewards[[arm]])
    return state


def test_a_refit_is_the_posterior_of_the_prior_that_it_found() -> None:
    """Further rewards update both alike."""
    x = np.linspace(0, 1, 30)[:, np.newaxis]
    policy = BayesGap(20, KernelFamily(distance_kernel, x, np.array([0.2])), 0.1, 0.1)
    for order in ([3, 8, 12, 20, 29], [3, 8, 12, 20, 29, 5, 6]):
        state = told_in_order(policy, order)
        found = state.posterior
        assert found.noise_variance != 0.1
        given = found.features.covariance, found.noise_variance, found.split_variance
        fixed = BayesGap(20, *given)
        expected = fixed.belief(told_in_order(fixed, order))[:2]
        for values, wanted in zip(policy.belief(state)[:2], expected, strict=True):
            np.testing.assert_allclose(values, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("lengths", "bounds", "message"),
    [
        ([1.0], (0.1, 10), "2 numbers"),
        ([1.0, 20.0], (0.1, 10), "from 0.1 to 10"),
        ([1, 1], (0, 1), "above 0"),
    ],
)
def test_lengths_that_fit_no_features_are_refused(lengths, bounds, message) -> None:
    with pytest.raises(ValueError, match=message):
        KernelFamily(distance_kernel, np.zeros((3, 2)), np.array(lengths), bounds)
