"""Candidates as points, what a prior makes of them, and candidates spread evenly."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bernoulli, loguniform, poisson, randint, uniform
from sklearn.decomposition import PCA
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import ParameterGrid
from sklearn.preprocessing import StandardScaler

from sklearn_halving.policies import KernelFamily
from sklearn_halving.search import candidate_features
from sklearn_halving.search._candidate_model import draw_evenly, make_features, make_prior

each_kernel = pytest.mark.parametrize("kernel", ["squared_exponential", "matern"])


def features(space):
    spaces = space if isinstance(space, list) else [space]
    return make_features(list(ParameterGrid(spaces)), spaces)


def column(values):
    """Return the one column of a parameter with these values."""
    matrix = features({"a": values}).matrix
    assert matrix.shape[1] == 1
    return matrix[:, 0]


def distances(space):
    matrix = features(space).matrix
    return np.linalg.norm(matrix[:, np.newaxis] - matrix, axis=2)


def matrix_of(prior):
    """Return all covariances, by the columns that a policy asks for."""
    if isinstance(prior, KernelFamily):
        prior = prior.at(np.log(prior.lengths))
    return np.column_stack([prior.column(arm) for arm in range(len(prior.diagonal))])


# ---------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 3, 5, 7, 9, 11, 13, 15], np.linspace(0, 1, 8)),
        ([2, 6, 10, 14], [0, 1 / 3, 2 / 3, 1]),
        ([15, 1, 8], [1, 0, 0.5]),
        ([0.5, 0.1], [1, 0]),
        ([1, 10, 100, 1000], [0, 1 / 3, 2 / 3, 1]),
        ([0.025, 0.05, 0.1, 0.2], [0, 1 / 3, 2 / 3, 1]),
        (np.logspace(-5, 3, 9), np.linspace(0, 1, 9)),
        ([1, 2, 5, 10], np.linspace(0, 1, 4)),
        ([0, 1, 10, 100], np.linspace(0, 1, 4)),
        ([-1e308, 0, 1e308], [0, 0.5, 1]),
        (np.array([1, 2, 3], dtype=np.int8), [0, 0.5, 1]),
        ([np.float32(0), 1, np.int64(2)], [0, 0.5, 1]),
    ],
)
def test_lists_of_numbers(values, expected):
    np.testing.assert_allclose(column(values), expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    "given", [[1, 10, 100], loguniform(1, 100), uniform(1, 99), randint(1, 101), poisson(10)]
)
def test_initial_numbers_outside_of_the_range_are_at_its_ends(given):
    low, middle, high = candidate_features([{"a": a} for a in (-5, 10, 1e4)], {"a": given})[:, 0]
    assert low == 0 < middle < high == 1


class Fair:
    """A distribution of which no more is known than that it can be drawn from."""

    def rvs(self, random_state=None):
        return random_state.choice([1.0, 10.0, 100.0])


# ------------------------------------------------------------------------------- categories


@pytest.mark.parametrize(
    "values",
    [
        ["relu", "tanh", "logistic"],
        [True, False],
        [np.True_, False],
        [None, "balanced"],
        [(50,), (50, 50), (100, 100)],
        [[1, 2], [2, 1]],
        [np.array([1.0, 2.0]), np.array([1.0, 3.0])],
        [StandardScaler(), PCA(2), "passthrough"],
        [PCA(2), PCA(3)],
        [np.mean, np.median],
        [lambda x: x, lambda x: -x],
        [float("nan"), float("inf"), None],
        ["1", "2", "True"],
    ],
    ids=lambda values: re.sub(" at 0x[0-9a-f]+", "", str(values)),
)
def test_two_categories_are_half_a_range_apart(values):
    between = distances({"a": values})
    np.testing.assert_allclose(between, 0.5 * (1 - np.eye(len(values))), atol=1e-12)


# --------------------------------------------------------------------------------- branches


@each_kernel
@given(share=st.floats(0, 1))
def test_branches_are_as_alike_as_they_may_be(kernel, share):
    space = [{"a": [0, 1, 2]}, {"a": [1, 2, 3], "c": ["x", "y"]}, {"m": [Ridge(), Lasso()]}]
    candidates = list(ParameterGrid(space))
    branch = features(space).branch
    is_same = branch[:, np.newaxis] == branch
    apart, found, together = (
        matrix_of(make_prior(kernel, candidates, space, value)) for value in (0.0, share, 1.0)
    )
    assert (apart[~is_same] == 0).all()
    assert (together[~is_same] > 0).all()
    np.testing.assert_allclose(found, np.where(is_same, apart, share * together))
    assert np.linalg.eigvalsh(found)[0] > -1e-9
    family, some = make_prior(kernel, candidates, space, share), np.array([0, 4, 9])
    among = family.among(np.log(family.lengths), some)
    np.testing.assert_allclose(among, found[np.ix_(some, some)])


# ---------------------------------------------------------------------------------- kernels


@each_kernel
def test_derivatives_by_length_scales(kernel):
    spaces = [{"a": [0, 1, 2], "b": ["x", "y", "z"]}, {"a": [0, 1, 2]}]
    candidates = list(ParameterGrid(spaces))
    family = make_prior(kernel, candidates, spaces, 0.3)
    lengths, arms = np.log([0.4, 0.7]), np.array([0, 3, 5, 8, 10, 11])
    weights = np.random.default_rng(0).normal(size=(6, 6))
    weights += weights.T
    expected = KernelFamily.gradient(family, lengths, arms, weights)
    np.testing.assert_allclose(family.gradient(lengths, arms, weights), expected, rtol=1e-6)


def test_points_for_a_covariance_of_ones_own_end_with_the_branches():
    spaces = [{"a": [0, 1, 2]}, {"b": [0.0, 5.0]}]
    points = candidate_features(list(ParameterGrid(spaces)), spaces)
    expected = [[0, 0.5, 1, 0], [0.5, 0.5, 1, 0], [1, 0.5, 1, 0], [0.5, 0, 0, 1], [0.5, 1, 0, 1]]
    np.testing.assert_allclose(points, expected)
    alone = candidate_features(list(ParameterGrid(spaces[0])), spaces[0])
    np.testing.assert_allclose(alone, [[0], [0.5], [1]])


# ------------------------------------------------------------------------------ even draws


def test_candidates_are_spread_evenly():
    spaces = [
        {"a": uniform(0, 1), "b": loguniform(1e-3, 1e3), "c": randint(0, 4), "d": ["x", "y"]}
    ]
    drawn = draw_evenly(spaces, 64, np.random.RandomState(0))
    assert len({str(c) for c in drawn}) == 64
    counts = np.histogram([c["a"] for c in drawn], 8, (0, 1))[0]
    assert np.ptp(counts) <= 4  # of independent draws it would be about 8
    logs = np.log10([c["b"] for c in drawn])
    assert abs(np.mean(logs)) < 0.3
    assert np.bincount([c["c"] for c in drawn]).min() >= 14
    assert {type(c["c"]) for c in drawn} == {int}
    assert 28 <= sum(c["d"] == "x" for c in drawn) <= 36
    again = draw_evenly(spaces, 64, np.random.RandomState(0))
    other = draw_evenly(spaces, 64, np.random.RandomState(1))
    assert drawn == again != other


@pytest.mark.parametrize(
    "spaces",
    [[{"a": Fair(), "b": uniform()}], [{"a": bernoulli(0.5)}], [{"a": uniform()}, {"a": [1, 2]}]],
)
def test_not_every_space_has_quantiles_without_repetition(spaces):
    assert draw_evenly(spaces, 4, np.random.RandomState(0)) is None
