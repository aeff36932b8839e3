"""The Gaussian process: against the numbers of a dense solve, and on data of known origin."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad
from scipy.stats import multivariate_normal

from games import play_in_flight
from sklearn_halving._gaussian_process import (
    ArmPosterior,
    ArmPrior,
    Features,
    KernelFamily,
    RewardSums,
    fit_to_rewards,
    negative_log_likelihood,
    restricted_likelihood,
)
from sklearn_halving.policies import BayesGap, Problem, Pull

# ---------------------------------------------------------------------------- the posterior


def squared_exponential(points: np.ndarray, length: float = 0.3) -> np.ndarray:
    squared = ((points[:, np.newaxis] - points) ** 2).sum(axis=-1)
    return np.exp(-squared / (2 * length**2))


class Told(NamedTuple):
    """Pulls and their rewards."""

    arm: np.ndarray
    split: np.ndarray
    rewards: np.ndarray


def pulls_of(seed: int, n_arms: int = 30, n_pulls: int = 45) -> Told:
    rng = np.random.default_rng(seed)
    arm, split = rng.integers(n_arms, size=n_pulls), rng.integers(12, size=n_pulls)
    return Told(arm, split, rng.normal(3, 1, n_pulls))


def posterior_of(prior: np.ndarray, told: Told, noise: float, between: float) -> ArmPosterior:
    posterior = ArmPosterior(Features(ArmPrior.of(prior, len(prior))), noise, between)
    for arm, split, reward in zip(*(column.tolist() for column in told), strict=True):
        posterior.update(arm, split, reward)
    return posterior


def covariance_of(prior: np.ndarray, told: Told, noise: float, between: float) -> np.ndarray:
    """Return the covariance of the rewards, by the definition of the model."""
    same = told.split[:, np.newaxis] == told.split
    return prior[np.ix_(told.arm, told.arm)] + between * same + noise * np.eye(len(told.arm))


@given(
    seed=st.integers(0, 2**16),
    length=st.sampled_from([1e-3, 0.05, 0.3, 5.0]),
    between=st.sampled_from([0.0, 0.05, 2.0]),
)
@settings(max_examples=30)
def test_is_the_dense_posterior(seed: int, length: float, between: float) -> None:
    """From independent arms to arms of which four explain the rest."""
    told, noise = pulls_of(seed), 0.2
    prior = 1.7 * squared_exponential(np.random.default_rng(seed).random((30, 2)), length)
    posterior = posterior_of(prior, told, noise, between)
    inverse = np.linalg.inv(covariance_of(prior, told, noise, between))
    across, ones = prior[:, told.arm], np.ones(len(told.arm))
    close = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(posterior.answers[0], across @ inverse @ told.rewards, **close)
    np.testing.assert_allclose(posterior.answers[1], across @ inverse @ ones, **close)
    variance = (prior - across @ inverse @ across.T).diagonal()
    np.testing.assert_allclose(posterior.variance, variance, **close)
    offset = ones @ inverse @ told.rewards / (ones @ inverse @ ones)
    left = told.rewards - offset
    scale = np.sqrt(left @ inverse @ left / (len(left) - 1))
    np.testing.assert_allclose(posterior.offset_and_scale(), [offset, scale], rtol=1e-5)


def test_samples_have_the_covariance_of_the_posterior() -> None:
    told = pulls_of(3, 6, 8)
    prior = squared_exponential(np.random.default_rng(3).random((6, 2)))
    posterior = posterior_of(prior, told, 0.2, 0.5)
    posterior.features.cover_all(10**6)
    rng = np.random.default_rng(1)
    draws = np.array([posterior.sample(rng) for _ in range(20_000)])
    across = prior[:, told.arm]
    expected = prior - across @ np.linalg.solve(covariance_of(prior, told, 0.2, 0.5), across.T)
    spread = np.sqrt(expected.diagonal())
    error = np.abs(np.cov(draws.T) - expected) / np.outer(spread, spread)
    assert error.max() < 5 * np.sqrt(2 / 20_000)


def test_a_pull_under_way_moves_no_mean_and_shrinks_variances_as_if_it_were_back() -> None:
    prior = squared_exponential(np.random.default_rng(0).random((30, 2)))
    posterior = posterior_of(prior, pulls_of(0), 0.2, 0.3)
    ahead, before = posterior.copy(), posterior.copy()
    ahead.update(4, 20, None)
    posterior.update(4, 20, 9.0)
    np.testing.assert_array_equal(ahead.answers, before.answers)
    np.testing.assert_array_equal(ahead.variance, posterior.variance)
    assert (ahead.variance <= before.variance).all()
    assert np.abs(posterior.answers - before.answers).max() > 0.1


@pytest.mark.parametrize("length", [0.05, 0.2, 5.0])
def test_neighbours_one_after_the_other_do_not_spoil_the_factor(length: float) -> None:
    """The order in which a Cholesky factor of a smooth kernel without a nugget breaks down."""
    prior = squared_exponential(np.linspace(0, 1, 300)[:, np.newaxis], length)
    features = Features(ArmPrior.of(prior, 300))
    for arm in range(300):
        features.cover(arm)
    np.testing.assert_allclose(features.rows.T @ features.rows, prior, atol=1e-9)


# ----------------------------------------------------------------------- prior covariances


def test_a_family_and_its_matrix_are_the_same_prior() -> None:
    points = np.random.default_rng(0).random((300, 3))
    family = KernelFamily(distance_kernel, points, np.ones(3))
    prior = family.at(np.log([0.5, 1.0, 2.0]))
    dense = ArmPrior.of(family.among(np.log([0.5, 1.0, 2.0]), np.arange(300)), 300)
    np.testing.assert_allclose(prior.variance, dense.variance)
    np.testing.assert_allclose(prior.column(7), dense.column(7))
    # From 256 of 300 columns, for a kernel.
    np.testing.assert_allclose(prior.effective_n_arms(), dense.effective_n_arms(), rtol=0.05)


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        (np.eye(3), r"shape \(4, 4\)"),
        (np.diag([1.0, 1.0, np.nan, 1.0]), "finite"),
        (np.eye(4) + np.diag([0.1] * 3, 1), "symmetric"),
        (np.eye(4) - 0.5 * (np.ones((4, 4)) - np.eye(4)), "the eigenvalue -0.5"),
        (np.zeros((4, 4)), "not all 0"),
    ],
)
def test_a_covariance_that_is_none_is_refused(covariance: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ArmPrior.of(covariance, 4)


def test_a_kernel_that_is_no_covariance_is_noticed_when_columns_show_it() -> None:
    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return 1 + np.abs(a - b[:, 0])

    features = Features(
        KernelFamily(kernel, np.arange(4.0)[:, np.newaxis], np.ones(1)).at(np.zeros(1))
    )
    with pytest.raises(ValueError, match=r"positive semi-definite.* arms 0 and 3"):
        features.cover(0)


def test_a_kernel_of_pairs_is_refused() -> None:
    """It takes two sets of points, and does not pair the points with one other."""
    family = KernelFamily(lambda a, b: (a * b).sum(axis=1), np.ones((4, 2)), np.ones(2))
    with pytest.raises(ValueError, match=r"here \(1, 4\), got \(4,\)"):
        family.at(np.zeros(2)).column(0)


# -------------------------------------------------------------- likelihood, of a sampler


@pytest.mark.parametrize("seed", range(3))
def test_likelihood_with_a_signal_is_the_density(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns, logs = rng.random((12, 2)), rng.normal([-0.5, -0.5, 0, -3], 0.5)
    values = np.sin(5 * columns).sum(axis=1)
    squares = np.array([np.subtract.outer(x, x).ravel() ** 2 for x in columns.T])
    scaled = columns / np.exp(logs[:2])
    r = np.sqrt(5) * np.linalg.norm(scaled[:, np.newaxis] - scaled, axis=2)
    signal, noise = np.exp(logs[2:])
    covariance = signal * (1 + r + r**2 / 3) * np.exp(-r) + (noise + 1e-6 * signal) * np.eye(12)
    value, gradient = negative_log_likelihood(logs, squares, values)
    constant = 6 * np.log(2 * np.pi)
    density = multivariate_normal(np.zeros(12), covariance).logpdf(values)
    assert value + constant == pytest.approx(-density, rel=1e-6)
    error = check_grad(
        lambda x: negative_log_likelihood(x, squares, values)[0],
        lambda x: negative_log_likelihood(x, squares, values)[1],
        logs,
    )
    assert error < 1e-4 * (1 + np.abs(gradient).max())


# ---------------------------------------------------------- restricted likelihood, of arms


def at(length: float, noise: float, split_variance: float = 0.0) -> np.ndarray:
    """Return the logarithms of hyperparameters."""
    return np.log([length, noise, *([split_variance] if split_variance else [])])


class Line(KernelFamily):
    """101 arms on a line."""

    def __init__(self, bounds: tuple[float, float] = (1e-2, 1e2)) -> None:
        points = np.arange(101)[:, np.newaxis] / 100
        super().__init__(distance_kernel, points, np.ones(1), bounds)


def restricted(told: Told, logs: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the restricted likelihood and its gradient."""
    sums = RewardSums(*told)
    prior = Line().among(logs[:1], sums.arms)
    variances = [*np.exp(logs[1:]), 0.0][:2]
    value, weights, by_variances = restricted_likelihood(sums, prior, *variances)
    by_lengths = Line().gradient(logs[:1], sums.arms, weights)
    return value, np.append(by_lengths, by_variances)[: len(logs)]


def draw(seed: int, true: np.ndarray, n_pulls: int, scale: float = 3.0) -> Told:
    rng = np.random.default_rng(seed)
    noise, split_variance = [*np.exp(true[1:]), 0.0][:2]
    values, vectors = np.linalg.eigh(Line().among(true[:1], np.arange(101)))
    mean = vectors @ (np.sqrt(np.maximum(values, 0)) * rng.normal(size=101))
    splits = np.sqrt(split_variance) * rng.normal(size=n_pulls)
    arm, split = rng.integers(101, size=n_pulls), rng.integers(n_pulls // 4, size=n_pulls)
    noises = np.sqrt(noise) * rng.normal(size=n_pulls)
    return Told(arm, split, 7 + scale * (mean[arm] + splits[split] + noises))


def test_differences_are_those_of_the_density_of_contrasts() -> None:
    """Restricted likelihood is the density of all that the level does not move."""
    told = draw(0, at(0.2, 0.1, 0.2), 12)
    contrasts = np.linalg.svd(np.ones((1, 12)))[2][1:]
    ours, theirs = [], []
    for length, noise, between in ((0.1, 0.3, 0.4), (0.5, 0.02, 0.01)):
        prior = squared_exponential(np.arange(101)[:, np.newaxis] / 100, length)
        inside = contrasts @ covariance_of(prior, told, noise, between) @ contrasts.T
        values = contrasts @ told.rewards
        scale = values @ np.linalg.solve(inside, values) / 11
        theirs.append(multivariate_normal(np.zeros(11), scale * inside).logpdf(values))
        ours.append(restricted(told, at(length, noise, between))[0])
    np.testing.assert_allclose(ours[1] - ours[0], theirs[1] - theirs[0], rtol=1e-6)


@pytest.mark.parametrize("split_variance", [0.3, 0.0])
def test_gradient_is_that_of_the_likelihood(split_variance: float) -> None:
    told, logs = draw(3, at(0.2, 0.1, 0.2), 80), at(0.15, 0.2, split_variance)
    numeric = [
        (restricted(told, logs + step)[0] - restricted(told, logs - step)[0]) / 2e-5
        for step in 1e-5 * np.eye(len(logs))
    ]
    np.testing.assert_allclose(restricted(told, logs)[1], numeric, rtol=1e-5, atol=1e-6)


def test_finds_what_the_data_were_made_with() -> None:
    true, guess = at(0.1, 0.05, 0.2), at(0.4, 0.5, 0.05)
    found = [fit_to_rewards(Line(), *draw(seed, true, 120), guess) for seed in range(10)]
    assert np.abs(np.median(found, axis=0) - true).max() < 0.5
    assert np.abs(guess - true).min() > 1.3


def test_few_or_equal_rewards_leave_the_guess() -> None:
    told, guess = draw(2, at(0.1, 0.05), 60), at(1.0, 0.25)
    few = Told(*(column[:3] for column in told))
    assert fit_to_rewards(Line(), *few, guess) is guess
    assert fit_to_rewards(Line(), *told._replace(rewards=np.ones(60)), guess) is guess


def test_hyperparameters_stay_where_the_posterior_is_safe() -> None:
    """Rewards without noise, and rewards that are nothing else."""
    x = np.arange(40)
    exact = Told(x, np.zeros(40, dtype=int), x / 40)
    noisy = exact._replace(rewards=np.random.default_rng(0).normal(size=40))
    for told in (exact, noisy):
        length, noise = np.exp(fit_to_rewards(Line((0.05, 2.0)), *told, at(1.0, 0.25)))
        assert 0.05 - 1e-9 <= length <= 2.0 + 1e-9
        assert 1e-4 - 1e-9 <= noise <= 1e2 + 1e-6


# ------------------------------------------------------------------ a family, in a search


def distance_kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * ((a[:, np.newaxis] - b) ** 2).sum(axis=2))


def test_length_and_noise_are_found_on_the_way() -> None:
    """A guess ten times too long makes arms copies of each other; the rewards say otherwise."""
    x = np.linspace(0, 1, 80)[:, np.newaxis]
    table = np.sin(25 * x) + x + 0.05 * np.random.default_rng(0).normal(size=(80, 60))
    family = KernelFamily(distance_kernel, x, np.array([0.8]))
    fixed = BayesGap(60, family.among(np.log([0.8]), np.arange(80)), 0.5)
    policy = BayesGap(60, family, 0.5)
    deviations = {}
    for name, each in (("fixed", fixed), ("fitted", policy)):
        _, game = play_in_flight(each, table)
        deviations[name] = np.abs(game.belief().mean - table.mean(axis=1)).mean()
        if name == "fitted":
            assert game.model.posterior.noise_variance < 0.1
            assert (table.mean(axis=1).max() - table.mean(axis=1)[game.recommend()]) < 0.1
    assert deviations["fitted"] < 0.5 * deviations["fixed"]


def told_in_order(policy: BayesGap, order: list[int]):
    """Return the game after a reward of each arm. None is so low that it would be raised."""
    game, rewards = policy.start(Problem(30)), np.sin(np.arange(30))
    for arm in order:
        game.tell(Pull(arm, 1, arm // 7), float(rewards[arm]))
    return game


def test_a_refit_is_the_posterior_of_the_prior_that_it_found() -> None:
    """Further rewards update both alike."""
    x = np.linspace(0, 1, 30)[:, np.newaxis]
    policy = BayesGap(20, KernelFamily(distance_kernel, x, np.array([0.2])), 0.1, 0.1)
    for order in ([3, 8, 12, 20, 29], [3, 8, 12, 20, 29, 5, 6]):
        game = told_in_order(policy, order)
        found = game.model.posterior
        assert found.noise_variance != 0.1
        prior = np.array([found.features.prior.column(arm) for arm in range(30)])
        fixed = BayesGap(20, prior, found.noise_variance, found.split_variance)
        expected = told_in_order(fixed, order).belief()[:2]
        for values, wanted in zip(game.belief()[:2], expected, strict=True):
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
