"""Candidates as points, what a prior makes of them, and candidates spread evenly."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.stats import bernoulli, loguniform, poisson, randint, uniform
from sklearn.decomposition import PCA
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import ParameterGrid
from sklearn.preprocessing import StandardScaler

from sklearn_halving.search import candidate_features
from sklearn_halving.search._candidate_prior import draw_evenly, make_prior

each_kernel = pytest.mark.parametrize("kernel", ["squared_exponential", "matern"])


def features(space):
    return candidate_features(list(ParameterGrid(space)), space)


def covariance(space, candidates=None, kernel="squared_exponential"):
    family = make_prior(
        kernel, list(ParameterGrid(space)) if candidates is None else candidates, space
    )
    return family.among(np.log(family.lengths), np.arange(len(family.points)))


# --------------------------------------------------------------------------------- features


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 10, 100, 1000], [1, 3, 5, 7]),
        ([15, 1, 8, 10], [7, 1, 3, 5]),
        (np.logspace(-5, 3, 4), [1, 3, 5, 7]),
        (range(7, -1, -2), [7, 5, 3, 1]),
        ([np.float32(0), 1, np.int64(2), 1e308], [1, 3, 5, 7]),
    ],
)
def test_numbers_are_ranks(values, expected):
    np.testing.assert_allclose(features({"a": values})[:, 0], np.array(expected) / 8)


@pytest.mark.parametrize(
    "given",
    [[1, 10, 100], range(1, 101), loguniform(1, 100), uniform(1, 99), randint(1, 101), poisson(9)],
)
def test_initial_numbers_outside_of_the_range_are_at_its_ends(given):
    low, middle, high = candidate_features([{"a": a} for a in (-5, 10, 1e4)], {"a": given})[:, 0]
    assert low == 0 < middle < high == 1


def test_a_number_between_those_of_a_list_is_between_their_points():
    assert candidate_features([{"a": 2.5}], {"a": [1, 2, 3, 4]}) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "values",
    [
        ["relu", "tanh", "logistic"],
        [True, False],
        [None, "balanced"],
        [(50,), (50, 50), (100, 100)],
        [np.array([1.0, 2.0]), np.array([1.0, 3.0])],
        [StandardScaler(), PCA(2), PCA(3), "passthrough"],
        [lambda x: x, lambda x: -x],
        [float("nan"), float("inf"), None],
        ["1", "2", "True"],
    ],
    ids=lambda values: re.sub(" at 0x[0-9a-f]+", "", str(values)),
)
def test_two_categories_are_a_range_apart(values):
    matrix = features({"a": values})
    between = np.linalg.norm(matrix[:, np.newaxis] - matrix, axis=2)
    np.testing.assert_allclose(between, 1 - np.eye(len(values)), atol=1e-12)


def test_points_begin_with_the_dicts():
    points = features([{"a": [0, 1]}, {"b": [0.0, 5.0]}])
    half = 0.5**0.5
    expected = [
        [half, 0, 0.25, 0.5],
        [half, 0, 0.75, 0.5],
        [0, half, 0.5, 0.25],
        [0, half, 0.5, 0.75],
    ]
    np.testing.assert_allclose(points, expected)


# ------------------------------------------------------------------------------- covariances


@each_kernel
def test_what_is_independent(kernel):
    space = [
        {"a": [0, 1, 2]},
        {"a": [1, 2, 3], "c": ["x", "y"]},
        {"m": [Ridge(), Ridge(2), Lasso()]},
    ]
    found = covariance(space, kernel=kernel)
    group = np.repeat([0, 1, 2, 3], [3, 6, 2, 1])
    assert ((found > 0) == (group[:, np.newaxis] == group)).all()
    assert np.linalg.eigvalsh(found)[0] > -1e-9


def test_a_value_that_the_space_does_not_have_is_independent_of_all():
    candidates = [{"gamma": value} for value in (0.1, 0.3, 0.9, "scale")]
    found = covariance({"gamma": uniform(0, 1)}, candidates)
    assert found[0, 1] > 0.1
    assert found[3].tolist() == [0, 0, 0, 1]


class Fair:
    """A distribution of which no more is known than that it can be drawn from."""

    def rvs(self, random_state=None):
        return random_state.choice([1.0, 10.0, 100.0])


def test_numbers_of_a_distribution_without_quantiles_are_ranks():
    near, far = covariance({"a": Fair()}, [{"a": 1.0}, {"a": 10.0}, {"a": 100.0}])[0, 1:]
    assert 0 < far < near < 1


@each_kernel
def test_opposite_corners_have_the_same_correlation_in_any_space(kernel):
    spaces = {n: {name: [0, 1, 2] for name in "abcd"[:n]} for n in (1, 2, 4)}
    corners = [covariance(space, kernel=kernel)[0, -1] for space in spaces.values()]
    np.testing.assert_allclose(corners, corners[0])


# ------------------------------------------------------------------------------ even draws


def test_candidates_are_spread_evenly():
    one = {"a": uniform(0, 1), "b": loguniform(1e-3, 1e3), "c": randint(0, 4), "d": ["x", "y"]}
    drawn = draw_evenly([one, {"a": uniform(0, 1)}], 128, np.random.RandomState(0))
    assert len({str(c) for c in drawn}) == 128
    assert sum("b" in c for c in drawn) == 64
    drawn = [c for c in drawn if "b" in c]
    counts = np.histogram([c["a"] for c in drawn], 8, (0, 1))[0]
    assert np.ptp(counts) <= 6  # of independent draws it would be about 8
    assert abs(np.mean(np.log10([c["b"] for c in drawn]))) < 0.3
    assert np.bincount([c["c"] for c in drawn]).min() >= 12
    assert {type(c["c"]) for c in drawn} == {int}
    assert 28 <= sum(c["d"] == "x" for c in drawn) <= 36


@pytest.mark.parametrize(
    "spaces",
    [[{"a": Fair(), "b": uniform()}], [{"a": bernoulli(0.5)}], [{"a": uniform()}, {"a": [1, 2]}]],
)
def test_not_every_space_has_quantiles_without_repetition(spaces):
    assert draw_evenly(spaces, 4, np.random.RandomState(0)) is None
