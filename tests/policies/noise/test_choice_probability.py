"""How sure a choice is: closed forms, Monte Carlo, and bias in simulation."""

from __future__ import annotations

from math import inf, nan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from sklearn_halving.policies.noise._choice_probability import (
    corrected_mean,
    expected_regret,
    is_clear,
    probability_of_best,
)
from sklearn_halving.policies.noise._noise_estimates import (
    ArmEstimates,
    estimate_from_table,
    standard_errors,
    tail_factor,
)

means = st.floats(-50, 50)
errors = st.one_of(st.floats(1e-6, 30), st.just(0.0))
arms = st.lists(st.tuples(means, errors), min_size=1, max_size=12)


def split(pairs: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    mean, error = np.array(pairs, dtype=float).T
    return mean, error


# --------------------------------------------------------------------- probability and regret


@given(arms)
@settings(deadline=None)
def test_probabilities_sum_to_one(pairs: list[tuple[float, float]]) -> None:
    probability = probability_of_best(*split(pairs))
    assert probability.sum() == pytest.approx(1, abs=1e-12)
    assert (probability >= 0).all()


@given(mean=st.tuples(means, means), error=st.tuples(st.floats(1e-6, 30), errors))
@settings(deadline=None)
def test_two_arms_in_closed_form(mean: tuple[float, float], error: tuple[float, float]) -> None:
    spread = np.hypot(*error)
    gap = mean[0] - mean[1]
    expected = norm.cdf(gap / spread)
    assert probability_of_best(mean, error) == pytest.approx([expected, 1 - expected], abs=1e-9)
    # E[max(0, mu_1 - mu_0)] of a normal difference.
    regret = spread * norm.pdf(gap / spread) - gap * norm.cdf(-gap / spread)
    assert expected_regret(mean, error, 0) == pytest.approx(regret, abs=1e-9 * (1 + spread))


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
    regret = draws.max(axis=1) - draws[:, 1]
    assert abs(expected_regret(mean, error, 1) - regret.mean()) <= 4 * regret.std() / sqrt(n_draws)


@given(pairs=arms, a=st.sampled_from([1e-9, 0.3, 1e6]), b=st.sampled_from([-1e3, 0.0, 7.0]))
@settings(deadline=None)
def test_scale_is_irrelevant(pairs: list[tuple[float, float]], a: float, b: float) -> None:
    mean, error = np.round(split(pairs), 3)
    got = probability_of_best(a * (mean + b), a * error)
    assert got == pytest.approx(probability_of_best(mean, error), abs=1e-6)
    regret = expected_regret(a * (mean + b), a * error, 0)
    assert regret == pytest.approx(a * expected_regret(mean, error, 0), abs=1e-9 * a * 1e3)


def test_ten_thousand_equal_arms_share_alike() -> None:
    n_arms = 10_000
    probability = probability_of_best(np.zeros(n_arms), np.ones(n_arms))
    assert probability == pytest.approx(np.full(n_arms, 1 / n_arms), rel=1e-9)
    # The expected largest of so many standard normals, by direct integration.
    x = np.linspace(-10, 10, 200_001)
    largest = float(np.trapezoid(np.where(x > 0, 1, 0) - norm.cdf(x) ** n_arms, x))
    regret = expected_regret(np.zeros(n_arms), np.ones(n_arms), 3)
    assert regret == pytest.approx(largest, abs=1e-4)


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
        ([0, 7], [1, inf], [0.5, 0.5]),
        ([0, 7, 1], [1, inf, inf], [0.25, 0.375, 0.375]),
        ([0, 7], [inf, inf], [0.5, 0.5]),
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


@pytest.mark.parametrize(
    ("mean", "error", "expected"),
    [
        ([1, 3], [0, 0], 2),
        ([1], [5], 0),
        ([1, nan], [1, 1], 0),
        ([nan, 1], [1, 1], nan),
        ([inf, 1], [1, 1], 0),
        ([1, inf], [1, 1], inf),
        ([1, 2], [1, inf], inf),
        ([-inf, 2], [1, 1], inf),
        ([-inf, -inf], [1, 1], 0),
        ([2, -inf], [1, 1], 0),
    ],
)
def test_edges_of_the_regret(mean: list[float], error: list[float], expected: float) -> None:
    got = expected_regret(mean, error, 0)
    assert got == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("function", [probability_of_best, lambda m, s: corrected_mean(m, s, 0)])
def test_bad_input(function: object) -> None:
    with pytest.raises(ValueError, match="of the same length, got the shapes"):
        function([1, 2], [1])  # type: ignore[operator]
    with pytest.raises(ValueError, match="standard_error must not be negative"):
        function([1, 2], [1, -1])  # type: ignore[operator]


# ----------------------------------------------------------------------------- corrected mean


@given(arms, st.integers(0, 11))
@settings(deadline=None)
def test_a_correction_never_raises_a_mean(pairs: list[tuple[float, float]], arm: int) -> None:
    mean, error = split(pairs)
    arm %= len(mean)
    corrected = corrected_mean(mean, error, arm)
    assert min(mean) - 1e-9 <= corrected <= mean[arm]
    if error[arm] == 0 or len(mean) == 1:
        assert corrected == mean[arm]


@given(
    pairs=st.lists(st.tuples(means, st.floats(0.1, 9)), min_size=2, max_size=9),
    a=st.sampled_from([1e-6, 0.3, 1e6]),
    b=st.sampled_from([-30.0, 7.0]),
)
@settings(deadline=None, max_examples=50)
def test_a_correction_scales(pairs: list[tuple[float, float]], a: float, b: float) -> None:
    mean, error = np.round(split(pairs), 2)
    arm = int(mean.argmax())
    got = corrected_mean(a * (mean + b), a * error, arm)
    assert got / a - b == pytest.approx(corrected_mean(mean, error, arm), abs=0.05)


@pytest.mark.parametrize(
    ("mean", "error", "expected"),
    [
        ([5, 1], [0, 1], 5),
        ([inf, 1], [1, 1], inf),
        ([nan, 1], [1, 1], nan),
        ([5, 1], [inf, 1], nan),
        ([5, nan], [1, 1], 5),
        ([5, -inf], [1, 1], 5),
        ([5], [1], 5),
    ],
)
def test_edges_of_the_correction(mean: list[float], error: list[float], expected: float) -> None:
    assert corrected_mean(mean, error, 0) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("n_arms", [5, 20, 160])
@pytest.mark.parametrize("kind", ["equal", "few good"])
def test_bias_is_a_quarter_of_the_naive_one(n_arms: int, kind: str) -> None:
    rng = np.random.default_rng(n_arms)
    n_runs, n_good = 400, max(2, n_arms // 16)
    truth = np.zeros((n_runs, n_arms))
    if kind == "few good":
        truth -= rng.uniform(5, 15, truth.shape)
        truth[:, :n_good] = -rng.uniform(0, 0.5, (n_runs, n_good))
    error = rng.choice([0.5, 1.0, 1.5], truth.shape)
    mean = truth + error * rng.normal(size=truth.shape)
    winner = mean.argmax(axis=1)
    row = np.arange(n_runs)
    got = [corrected_mean(m, s, w) for m, s, w in zip(mean, error, winner, strict=True)]
    naive = (mean[row, winner] - truth[row, winner]) / error[row, winner]
    corrected = (np.array(got) - truth[row, winner]) / error[row, winner]
    assert naive.mean() > 5 * naive.std() / sqrt(n_runs), "there is a bias to be corrected"
    allowed = naive.mean() / 4 + 3 * corrected.std() / sqrt(n_runs)
    assert abs(corrected.mean()) <= allowed
    assert (corrected**2).mean() <= (naive**2).mean()


def test_a_clear_winner_is_hardly_corrected_among_many() -> None:
    """Scores well apart are not pulled together: most of a lead of 50 errors is left."""
    mean = np.linspace(0, 500, 41)
    assert 499 < corrected_mean(mean, np.ones(41), 40) <= 500


# ------------------------------------------------------------------------ estimates, stopping


def test_standard_errors_with_overlap_are_those_of_nadeau_and_bengio() -> None:
    got = standard_errors(np.array([4, 100]), np.array([1.0, 4.0]), overlap=0.25)
    assert got == pytest.approx([sqrt(0.5), sqrt(0.26 * 4)])
    with pytest.raises(ValueError, match="overlap must be finite and at least 0, got -1"):
        standard_errors(np.array([4]), np.array([1.0]), -1)


def test_the_effect_of_splits_is_taken_off() -> None:
    """Two arms with the same noise: the one without the hard splits is not favoured."""
    rng = np.random.default_rng(0)
    noise = 0.01 * rng.normal(size=(3, 40))
    table = np.array([[1.0], [0.9], [0.8]]) + rng.normal(size=40) + noise
    table[1, 20:] = np.nan
    got = estimate_from_table(table)
    assert isinstance(got, ArmEstimates)
    assert got.n_pulls.tolist() == [40, 20, 40]
    assert got.mean[0] - got.mean[1] == pytest.approx(0.1, abs=0.015)
    assert np.sqrt(got.noise_variance) == pytest.approx(0.01, rel=0.4)


def test_variances_are_shrunk_towards_the_pooled_one() -> None:
    rng = np.random.default_rng(1)
    table = rng.normal(size=(4, 9)) * np.array([[0.1], [0.1], [3.0], [3.0]])
    own, some, all_ = (estimate_from_table(table, x).noise_variance for x in (0.0, 3.0, 1e9))
    assert all_ == pytest.approx(np.full(4, all_[0]), rel=1e-6)
    assert own.min() < all_[0] < own.max()
    assert (abs(some - all_) < abs(own - all_)).all()


def test_arms_without_a_reward_have_no_estimate() -> None:
    table = np.array([[1.0, 2.0, 3.0], [nan, nan, nan], [1.5, 2.5, 3.0]])
    got = estimate_from_table(table)
    assert np.isnan(got.mean).tolist() == [False, True, False]
    assert np.isnan(got.noise_variance).tolist() == [False, True, False]
    assert got.n_pulls.tolist() == [3, 0, 3]
    alone = estimate_from_table(table[[0, 2]])
    assert got.mean[[0, 2]] == pytest.approx(alone.mean)


def test_an_infinite_reward_makes_an_infinite_mean() -> None:
    got = estimate_from_table(np.array([[1.0, 2.0], [-inf, 1.0], [3.0, 4.0]]))
    assert got.mean == pytest.approx([1.5, -inf, 3.5])


def test_bad_tables() -> None:
    with pytest.raises(ValueError, match="table must have a row for each arm"):
        estimate_from_table(np.zeros(3))
    with pytest.raises(ValueError, match="shrinkage must be finite and at least 0"):
        estimate_from_table(np.zeros((2, 3)), shrinkage=-1)


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


def test_tails_are_those_of_student_and_become_normal() -> None:
    factor = tail_factor(np.array([0.0, 1.0, 3.0, 10.0, 1e9, np.inf]), 10**9)
    assert (np.diff(factor) <= 0).all()
    assert factor[2] == pytest.approx(2.447 / 1.960, abs=1e-3)  # quantiles with 6 degrees
    assert factor[-1] == pytest.approx(1, abs=1e-5)


def test_errors_are_wider_with_few_arms_because_the_leader_is_selected() -> None:
    factor = [float(tail_factor(np.array(np.inf), n)) for n in (2, 4, 64)]
    assert factor == pytest.approx([5 / 4, 7 / 6, 67 / 66], abs=1e-5)
    of_problems = tail_factor(np.zeros((2, 3)), np.array([[2], [64]]))
    assert (of_problems[0] > of_problems[1]).all()
