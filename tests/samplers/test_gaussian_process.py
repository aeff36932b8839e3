"""The Gaussian process sampler: its model against scikit-learn's, and what it proposes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import check_grad
from scipy.stats import norm, uniform
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from sklearn_halving.samplers import GaussianProcessSampler, RandomSampler, Space, Told
from sklearn_halving.samplers._gaussian_process import Axes, Pool, compressed, log_improvement
from sklearn_halving.samplers._matern_process import (
    Process,
    fit_hyperparameters,
    negative_log_posterior,
)


def data(n: int = 20, n_axes: int = 3, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    columns = rng.random((n, n_axes))
    return columns, np.sin(5 * columns).sum(axis=1) + 0.1 * rng.standard_normal(n)


KNOWN = np.random.default_rng(2).random(20)
"""Known noise variances of the values of `data`."""


def fitted(columns: Any, values: Any, known: Any) -> Process:
    of_column = np.arange(columns.shape[1])
    logs = fit_hyperparameters(columns, of_column, values, known)
    return Process.of(logs, columns, of_column, values, known)


def peer(process: Process, alpha: Any) -> GaussianProcessRegressor:
    """Return scikit-learn's regressor with the hyperparameters of a process."""
    kernel = ConstantKernel(process.signal) * Matern(process.scales, nu=2.5)
    noise = WhiteKernel(process.least_noise)
    return GaussianProcessRegressor(kernel + noise, optimizer=None, alpha=alpha)


def pool_of(process: Process, points: Any, split_noise: float = 0.0) -> Pool:
    return Pool.of(process, points, points, split_noise)


@pytest.mark.parametrize("seed", range(3))
def test_gradient_is_that_of_the_density(seed: int) -> None:
    columns, values = data(12, 2, seed)
    squares = np.array([np.subtract.outer(x, x).ravel() ** 2 for x in columns.T])
    args = (
        squares,
        values,
        KNOWN[:12],
        np.array([-0.7, -0.7, 0.0, -6.0]),
        np.array([1.0, 1.0, 1.0, 2.0]),
    )
    logs = np.random.default_rng(seed).normal([-0.5, -0.5, 0, -3], 0.5)
    error = check_grad(
        lambda x: negative_log_posterior(x, *args)[0],
        lambda x: negative_log_posterior(x, *args)[1],
        logs,
    )
    assert error < 1e-4 * (1 + np.abs(negative_log_posterior(logs, *args)[1]).max())


@pytest.mark.parametrize("known", [0 * KNOWN, KNOWN])
def test_posterior_is_that_of_scikit_learn(known: Any) -> None:
    columns, values = data()
    process = fitted(columns, values, known)
    new = np.random.default_rng(1).random((50, 3))
    pool = pool_of(process, new)
    mean, deviation = peer(process, known).fit(columns, values).predict(new, return_std=True)
    np.testing.assert_allclose(pool.mean, mean, atol=1e-6)
    np.testing.assert_allclose(pool.variance, deviation**2 - process.least_noise, atol=1e-6)


def test_pending_points_have_their_predicted_scores() -> None:
    """Scikit-learn's regressor gets them as data."""
    columns, values = data()
    process = fitted(columns, values, KNOWN)
    new = np.random.default_rng(1).random((50, 3))
    believed = pool_of(process, new[:2]).mean
    both = np.vstack([columns, new[:2]])
    model = peer(process, np.append(KNOWN, [0, 0])).fit(both, np.append(values, believed))
    mean, deviation = model.predict(new, return_std=True)
    pool = pool_of(process.believing(new[:2]), new)
    np.testing.assert_allclose(pool.mean, mean, atol=1e-6)
    np.testing.assert_allclose(pool.variance, deviation**2 - process.least_noise, atol=1e-6)


def test_a_chosen_point_is_pending_for_the_next_choice() -> None:
    columns, values = data()
    process = fitted(columns, values, KNOWN)
    new = np.random.default_rng(1).random((50, 3))
    pool = pool_of(process, new)
    chosen = next(pool.ranked())
    order = list(pool.ranked())
    believing = pool_of(process.believing(new[[chosen]]), new)
    others = np.arange(50) != chosen
    assert chosen not in order
    assert pool.best == pytest.approx(believing.best)
    np.testing.assert_allclose(pool.variance[others], believing.variance[others], atol=1e-6)
    assert [place for place in believing.ranked() if place != chosen] == order


def test_with_noise_the_improvement_is_less_where_the_score_is_known() -> None:
    """Augmented expected improvement: another fit near the best would teach little."""
    columns, values = data()
    process = fitted(columns, values, KNOWN)
    new = np.random.default_rng(1).random((50, 3))
    plain, augmented = pool_of(process, new), pool_of(process, new, 0.5)
    factor = np.exp(augmented.gains() - plain.gains())
    np.testing.assert_allclose(factor, 1 - np.sqrt(0.5 / (plain.variance + 0.5)), atol=1e-5)


def test_the_search_for_the_largest_expected_improvement_is_better_than_random_points() -> None:
    space = Space.of({name: uniform(0, 1) for name in "abcdef"})
    told, rng = Told(space), np.random.default_rng(0)
    for arm in range(40):
        told.add(space.draw(rng))
        told.tell(arm, 1, -sum((x - 0.3) ** 2 for x in told.candidates[arm].values()))
    pool = GaussianProcessSampler()._pool(told, rng)
    assert pool is not None
    points = rng.random((20_000, 6))
    assert pool.gains().max() > pool_of(pool.process, points).gains().max()


def test_length_scales_tell_what_matters() -> None:
    columns, _ = data(40, 2)
    process = fitted(columns, np.sin(6 * columns[:, 0]), np.zeros(40))
    assert process.scales[1] > 3 * process.scales[0]


@given(st.floats(-30, 30))
def test_expected_improvement(z: float) -> None:
    log_value = float(log_improvement(np.array([z]))[0])
    if z > -5:
        assert np.exp(log_value) == pytest.approx(norm.pdf(z) + z * norm.cdf(z), rel=1e-6)
    else:  # between the bounds of the Mills ratio, pdf / z**2 * (1 - 3 / z**2) and pdf / z**2
        upper = norm.logpdf(z) - 2 * np.log(-z)
        assert upper + np.log1p(-3 / z**2) <= log_value + 1e-6
        assert log_value <= upper + 1e-6


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=30), st.floats(0.01, 100))
@example([0, 0, -1], 2.0)
def test_compressed_scores_keep_their_order_and_ignore_the_scale(
    scores: list[int], scale: float
) -> None:
    values, _ = compressed(np.array(scores), np.zeros(len(scores)))
    order = np.argsort(scores, kind="stable")
    assert np.all(np.diff(values[order]) >= 0)
    scaled, _ = compressed(scale * np.array(scores) + 1, np.zeros(len(scores)))
    np.testing.assert_allclose(scaled, values, atol=1e-4)


def test_points_of_the_pool_are_points_of_the_space() -> None:
    given = [
        {"kind": ["a"], "x": uniform(0, 1), "list": [1, 2, 4]},
        {"kind": ["b"], "word": ["u", "v", "w"], "y": uniform(0, 1)},
    ]
    space, rng = Space.of(given), np.random.default_rng(0)
    axes = Axes.of(space)
    points = axes.random(200, rng)
    points = np.concatenate([points, axes.steps(points[:5], 200, (0.05, 0.2), rng)])
    for point in points:
        np.testing.assert_allclose(space.point_of(space.params_at(point)), point, atol=1e-9)


def peak(params: dict[str, float]) -> float:
    return -sum((value - 0.3 - 0.1 * i) ** 2 for i, value in enumerate(params.values()))


def best_of_30(sampler: Any, seed: int) -> float:
    told = Told(Space.of({name: uniform(0, 1) for name in "abcd"}))
    rng = np.random.default_rng(seed)
    for arm in range(30):
        [params] = sampler.propose(told, 1, rng)
        told.add(params)
        told.tell(arm, 1, peak(params))
    return max(map(peak, told.candidates))


def test_finds_a_peak_faster_than_chance() -> None:
    gaps = [
        (-best_of_30(GaussianProcessSampler(), seed), -best_of_30(RandomSampler(), seed))
        for seed in range(3)
    ]
    own, other = np.median(gaps, axis=0)
    assert own < 0.1 * other


def told_of_two_peaks() -> Told:
    told = Told(Space.of({"x": uniform(0, 1)}))
    for arm in range(8):
        x = (arm + 0.5) / 8
        told.add({"x": x})
        told.tell(arm, 1, -(min(abs(x - 0.25), abs(x - 0.75)) ** 2))
    return told


def test_candidates_without_a_score_are_not_proposed_again_nearby() -> None:
    """Of two equal peaks, the second proposal tries the other one."""
    told = told_of_two_peaks()
    sampler = GaussianProcessSampler(share_random=1e-9)
    [first] = sampler.propose(told, 1, np.random.default_rng(0))
    told.add(first)
    assert told.without_score() == [8]
    [second] = sampler.propose(told, 1, np.random.default_rng(0))
    assert sorted([first["x"], second["x"]]) == pytest.approx([0.25, 0.75], abs=0.1)
    told.tell(8, 1, 0.0)
    assert told.without_score() == []


def test_candidates_of_one_batch_differ_in_the_same_way() -> None:
    told = told_of_two_peaks()
    made = GaussianProcessSampler(share_random=1e-9).propose(told, 2, np.random.default_rng(0))
    assert sorted(params["x"] for params in made) == pytest.approx([0.25, 0.75], abs=0.1)


@pytest.mark.parametrize("scale", [1e-200, 1e200, 1e307])
def test_scores_may_be_tiny_or_huge(scale: float) -> None:
    scores = np.random.default_rng(0).normal(size=20)
    values, _ = compressed(scores, KNOWN)
    np.testing.assert_allclose(compressed(scale * scores, 0 * KNOWN)[0], values)


def test_the_variance_of_a_compressed_score_is_less_below_the_median() -> None:
    scores = np.random.default_rng(0).normal(size=20)
    for scale in (1e-3, 1.0, 1e6):
        values, variances = compressed(scale * scores, np.full(20, (1e-6 * scale) ** 2))
        nearby, _ = compressed(scale * (scores + 1e-6 * np.eye(20)[3]), KNOWN)
        assert variances[3] == pytest.approx((nearby[3] - values[3]) ** 2, rel=0.2)
        assert np.all(variances[values >= 0] >= variances.max() * (1 - 1e-9))


def test_regions_in_which_fits_fail_are_avoided() -> None:
    told, rng = Told(Space.of({"a": uniform(0, 1), "b": uniform(0, 1)})), np.random.default_rng(0)
    for _ in range(10):
        for params in GaussianProcessSampler(share_random=1e-9).propose(told, 5, rng):
            told.add(params)
            has_failed = params["a"] > 0.5
            score = np.nan if has_failed else -((params["a"] - 0.4) ** 2)
            told.tell(len(told.candidates) - 1, 1, score)
    assert np.mean([params["a"] > 0.5 for params in told.candidates[20:]]) < 0.2


def test_a_level_with_too_few_scores_is_left_out() -> None:
    """At the largest level, 8 candidates were fitted, and one of them failed."""
    told = told_of_two_peaks()
    for arm in range(8):
        told.tell(arm, 3, np.nan if arm == 2 else float(arm))
    sampler = GaussianProcessSampler(share_random=1e-9, min_told=8)
    [first] = sampler.propose(told, 1, np.random.default_rng(0))
    assert min(abs(first["x"] - 0.25), abs(first["x"] - 0.75)) < 0.1
    told.tell(2, 3, 2.0)
    [first] = sampler.propose(told, 1, np.random.default_rng(0))
    assert first["x"] > 0.9


def test_equal_scores_teach_nothing() -> None:
    told = Told(Space.of({"x": uniform(0, 1)}))
    for arm in range(20):
        told.add({"x": arm / 20})
        told.tell(arm, 1, 0.5)
    made = GaussianProcessSampler().propose(told, 200, np.random.default_rng(0))
    assert np.histogram([params["x"] for params in made], 4, (0, 1))[0].min() > 30


def test_equal_scores_count_once_in_the_scale() -> None:
    """Half of all candidates give the same model: the scale is that of the others."""
    scores = np.random.default_rng(0).normal(size=20)
    with_copies = np.append(scores, np.full(20, scores[3]))
    values, _ = compressed(with_copies, np.zeros(40))
    np.testing.assert_allclose(values[:20], compressed(scores, KNOWN)[0])
