"""The Gaussian process sampler: its model against scikit-learn's, and what it proposes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import loguniform, norm, randint, uniform
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from sklearn_halving.samplers import GaussianProcessSampler, RandomSampler, Space, Told
from sklearn_halving.samplers._gaussian_process import (
    Pool,
    Process,
    compressed,
    fit_hyperparameters,
    log_improvement,
)


def data(n: int = 20, n_axes: int = 3, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    columns = rng.random((n, n_axes))
    return columns, np.sin(5 * columns).sum(axis=1) + 0.1 * rng.standard_normal(n)


def fitted(columns: Any, values: Any) -> Process:
    of_column = np.arange(columns.shape[1])
    logs = fit_hyperparameters(columns, of_column, values)
    return Process(logs, columns, of_column, values)


def peer(process: Process) -> GaussianProcessRegressor:
    """Return scikit-learn's regressor with the hyperparameters of a process."""
    kernel = ConstantKernel(process.signal) * Matern(process.scales, nu=2.5)
    noise = WhiteKernel(process.least_noise)
    return GaussianProcessRegressor(kernel + noise, optimizer=None)


def pool_of(process: Process, points: Any) -> Pool:
    return Pool(process, points, points)


def test_posterior_is_that_of_scikit_learn() -> None:
    columns, values = data()
    process = fitted(columns, values)
    new = np.random.default_rng(1).random((50, 3))
    pool = pool_of(process, new)
    mean, deviation = peer(process).fit(columns, values).predict(new, return_std=True)
    np.testing.assert_allclose(pool.mean, mean, atol=1e-6)
    np.testing.assert_allclose(pool.factor.variance, deviation**2 - process.least_noise, atol=1e-6)


def test_length_scales_tell_what_matters() -> None:
    columns, _ = data(40, 2)
    process = fitted(columns, np.sin(6 * columns[:, 0]))
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
    values = compressed(np.array(scores))
    order = np.argsort(scores, kind="stable")
    assert np.all(np.diff(values[order]) >= 0)
    scaled = compressed(scale * np.array(scores) + 1)
    np.testing.assert_allclose(scaled, values, atol=1e-4)


def best_of_30(sampler: Any, seed: int) -> float:
    """Return the least loss in four dimensions, of which one is logarithmic and one discrete."""
    distributions = uniform(0, 1), loguniform(0.01, 1), randint(0, 20), uniform(0, 1)
    told = Told(Space.of(dict(zip("abcd", distributions, strict=True))))
    rng, best = np.random.default_rng(seed), np.inf
    for arm in range(30):
        [params] = sampler.propose(told, 1, rng)
        near = [params["a"] - 0.3, np.log10(params["b"]) / 2 + 0.4, params["c"] / 20 - 0.7]
        loss = float(np.sum(np.square([*near, params["d"] - 0.9])))
        told.add(params)
        told.tell(arm, 1, -loss)
        best = min(best, loss)
    return best


def test_finds_a_peak_faster_than_chance() -> None:
    gaps = [
        (best_of_30(GaussianProcessSampler(), seed), best_of_30(RandomSampler(), seed))
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


def test_regions_in_which_fits_fail_are_avoided() -> None:
    told, rng = Told(Space.of({"a": uniform(0, 1), "b": uniform(0, 1)})), np.random.default_rng(0)
    for _ in range(10):
        for params in GaussianProcessSampler(share_random=1e-9).propose(told, 5, rng):
            told.add(params)
            has_failed = params["a"] > 0.5
            score = np.nan if has_failed else -((params["a"] - 0.4) ** 2)
            told.tell(len(told.candidates) - 1, 1, score)
    assert np.mean([params["a"] > 0.5 for params in told.candidates[20:]]) < 0.2


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
    np.testing.assert_allclose(compressed(with_copies)[:20], compressed(scores))
