"""Candidates as points, what a prior makes of them, and candidates spread evenly."""

from __future__ import annotations

import itertools
import math
import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bernoulli, loguniform, norm, randint, uniform
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import ParameterGrid
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, LinearSVR

from sklearn_halving.policies import KernelFamily
from sklearn_halving.search import candidate_covariance, candidate_features
from sklearn_halving.search.candidate_model._features import (
    draw_evenly,
    is_geometric,
    make_features,
)
from sklearn_halving.search.candidate_model._prior import make_prior

HALF = pytest.approx(0.5)
each_kernel = pytest.mark.parametrize("kernel", ["squared_exponential", "matern"])
without_numbers = pytest.mark.filterwarnings("ignore:No numeric parameter varies")


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


def prior_of(space, kernel="squared_exponential"):
    spaces = space if isinstance(space, list) else [space]
    return matrix_of(make_prior(kernel, list(ParameterGrid(spaces)), spaces))


# ---------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 3, 5, 7, 9, 11, 13, 15], np.linspace(0, 1, 8)),
        ([2, 6, 10, 14], [0, 1 / 3, 2 / 3, 1]),
        ([15, 1, 8], [1, 0, 0.5]),
        ([0.5, 0.1], [1, 0]),  # two numbers say nothing of a scale
        ([1, 10, 100, 1000], [0, 1 / 3, 2 / 3, 1]),
        ([0.025, 0.05, 0.1, 0.2], [0, 1 / 3, 2 / 3, 1]),
        (np.logspace(-5, 3, 9), np.linspace(0, 1, 9)),
        ([1, 2, 5, 10], np.log10([1, 2, 5, 10])),
        ([0, 1, 10, 100], [0, 0.01, 0.1, 1]),  # 0 has no logarithm
        ([-1e308, 0, 1e308], [0, 0.5, 1]),
        (np.array([1, 2, 3], dtype=np.int8), [0, 0.5, 1]),
        ([np.float32(0), 1, np.int64(2)], [0, 0.5, 1]),
    ],
)
def test_lists_of_numbers(values, expected):
    np.testing.assert_allclose(column(values), expected, rtol=1e-6, atol=1e-12)


def test_the_grid_of_the_lasso_is_logarithmic():
    # section 6.2: ratios of 5 and 2 in turn
    alpha = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5]
    expected = np.log(np.array(alpha) / 0.0001) / np.log(5000)
    np.testing.assert_allclose(column(alpha), expected)


@given(st.floats(1e-6, 1e6), st.floats(1.01, 100), st.integers(3, 12))
def test_constant_ratios_are_geometric_and_constant_steps_are_not(first, ratio, n):
    assert is_geometric(first * ratio ** np.arange(n))
    assert not is_geometric(first + ratio * np.arange(n))


def test_distributions_are_scaled_by_their_quantiles():
    spaces = [{"a": uniform(2, 8), "b": loguniform(1e-4, 1), "c": norm(), "d": randint(1, 6)}]
    candidates = [
        {"a": 2.0, "b": 1e-4, "c": 0.0, "d": 1},
        {"a": 4.0, "b": 1e-3, "c": -10.0, "d": 2},
        {"a": 10.0, "b": 1.0, "c": 10.0, "d": 5},
    ]
    expected = [[0, 0, 0.5, 0], [0.25, 0.25, 0, 0.25], [1, 1, 1, 1]]
    np.testing.assert_allclose(make_features(candidates, spaces).matrix, expected, atol=1e-12)


class Fair:
    """A distribution of which no more is known than that it can be drawn from."""

    def rvs(self, random_state=None):
        return random_state.choice([1.0, 10.0, 100.0])


def test_a_distribution_without_quantiles_is_scaled_by_what_was_drawn():
    found = make_features([{"a": 1.0}, {"a": 10.0}, {"a": 100.0}], [{"a": Fair()}])
    np.testing.assert_allclose(found.matrix[:, 0], [0, 0.5, 1])


def test_what_does_not_vary_has_no_column():
    found = features({"a": [3], "b": [1, 2], "c": ["x"], "d": [None]})
    assert found.names == ("b",)
    assert found.matrix.shape == (2, 1)
    assert features({"a": [3]}).matrix.shape == (1, 0)
    assert prior_of({"a": [3]}) == [[1.0]]


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


def test_equal_categories_are_one():
    space = [{"a": [PCA(2), "b", None]}, {"a": [PCA(2), "c"]}]
    candidates = [{"a": PCA(2)}, {"a": "b"}, {"a": PCA(2)}, {"a": None}, {"a": "c"}]
    found = make_features(candidates, space)
    np.testing.assert_array_equal(found.matrix[0], found.matrix[2])
    assert found.branch.tolist() == [0, 0, 0, 0, 1]


@pytest.mark.parametrize("values", [[1, 1.0], [1, 1.0, "sqrt"]])
def test_a_whole_number_and_an_equal_share_are_categories(values):
    """max_features=1 is one column, 1.0 is all of them."""
    assert distances({"a": values})[0, 1] == HALF
    assert features({"a": [1, np.int64(1)]}).matrix.shape[1] == 0


def test_none_among_numbers_is_a_category_of_its_own():
    between = distances({"max_depth": [2, 4, 6, None]})
    np.testing.assert_allclose(between[:3, :3], [[0, 0.5, 1], [0.5, 0, 0.5], [1, 0.5, 0]])
    # from 2 and from 6 alike; from 4 as between two categories
    np.testing.assert_allclose(between[3], [0.5**0.5, 0.5, 0.5**0.5, 0])


def test_numbers_among_categories():
    between = distances({"max_features": ["sqrt", "log2", 0.5, 1.0]})
    assert between[0, 1] == HALF
    assert between[2, 3] == pytest.approx(1)
    assert between[0, 2] == between[1, 3] == pytest.approx(0.5**0.5)


def test_true_is_not_one():
    assert distances({"a": [True, 1]})[0, 1] == HALF


def test_a_value_without_features_is_named_with_its_candidate():
    generators = [[0, 1], [(n for n in range(2))]]
    space = {"a": generators, "b": [1, 2]}
    with pytest.raises(
        ValueError,
        match=r"got a=\[<generator.* in candidate 2\. Use another value, or pass the covar",
    ):
        features(space)


# --------------------------------------------------------------------------------- branches


PAPER = [
    {"model": [Lasso()], "model__alpha": [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5]},
    {
        "model": [RandomForestRegressor()],
        "model__n_estimators": [1, 10, 100, 1000],
        "model__min_samples_split": [2, 3, 5, 7],
        "model__min_samples_leaf": [2, 6, 10, 14],
    },
    {
        "model": [LinearSVR()],
        "model__C": [0.001, 0.01, 0.1, 1],
        "model__epsilon": [0.0001, 0.001, 0.01, 0.1],
    },
    {
        "model": [SVR()],
        "model__C": [0.001, 0.01, 0.1, 1],
        "model__epsilon": [0.0001, 0.001, 0.01, 0.1],
        "model__gamma": [0.025, 0.05, 0.1, 0.2],
    },
    {"model": [KNeighborsRegressor()], "model__n_neighbors": [1, 3, 5, 7, 9, 11, 13, 15]},
]


def test_the_candidates_of_section_6_2():
    found, covariance = features(PAPER), prior_of(PAPER)
    assert np.bincount(found.branch).tolist() == [8, 64, 16, 64, 8]
    same = found.branch[:, np.newaxis] == found.branch
    np.testing.assert_array_equal(covariance > 0, same)
    np.testing.assert_allclose(covariance.diagonal(), 1)
    np.linalg.cholesky(covariance + 1e-9 * np.eye(160))
    # from corner to corner exp(-4), with one parameter as with three
    for branch in range(5):
        block = covariance[np.ix_(found.branch == branch, found.branch == branch)]
        assert block.min() == pytest.approx(np.exp(-4))
    # a parameter of two branches has one length scale
    assert len(found.names) == 8


def test_dicts_with_the_same_names_are_told_apart_by_their_values():
    space = [{"kernel": ["rbf"], "C": [1, 2]}, {"kernel": ["linear"], "C": [1, 2, 3]}]
    assert features(space).branch.tolist() == [0, 0, 1, 1, 1]
    spaces = [{"C": uniform(0, 1)}, {"C": uniform(1, 1)}]
    found = make_features([{"C": c} for c in (0.5, 1.5, 1.0, 1.75)], spaces)
    assert found.branch.tolist() == [0, 1, 0, 1]
    # Each is scaled for itself; the column is one.
    np.testing.assert_allclose(found.matrix, [[0.5], [0.5], [1], [0.75]])


def test_who_lacks_a_parameter_is_in_the_middle_of_those_that_have_it():
    space = [{"a": [0, 1, 5]}, {"a": [1, 2], "b": ["x", "y"]}, {"b": ["x", "z"]}]
    matrix = features(space).matrix
    np.testing.assert_allclose(matrix[:, 0], [0, 0.2, 1, 0, 0, 1, 1, 3.2 / 7, 3.2 / 7])
    assert matrix.shape == (9, 4)  # the dicts share the columns of x, y and z
    one_hot = 0.5 / np.sqrt(2)
    np.testing.assert_allclose(matrix[:3, 1:], [[one_hot / 2, one_hot / 3, one_hot / 6]] * 3)
    np.testing.assert_allclose(matrix[3:, 1], np.array([1, 0, 1, 0, 1, 0]) * one_hot)
    np.testing.assert_allclose(matrix[3:, 2], np.array([0, 1, 0, 1, 0, 0]) * one_hot)
    np.testing.assert_allclose(matrix[3:, 3], np.array([0, 0, 0, 0, 0, 1]) * one_hot)


@without_numbers
def test_equal_values_of_two_dicts_are_alike():
    values = ["x", "y", (1, 2), (2, 1)]
    spaces = [{"a": [1], "s": values}, {"b": [1], "s": values[::-1]}]
    candidates = list(ParameterGrid(spaces))
    covariance = matrix_of(make_prior("squared_exponential", candidates, spaces, 1.0))
    is_equal = np.array([[p["s"] == q["s"] for p in candidates] for q in candidates])
    # a and b do not vary; two categories are half a range apart, with exp(-4) for all of it
    np.testing.assert_allclose(covariance, np.where(is_equal, 1, np.exp(-1)))
    spaces = [{"a": [1, 2], "s": ["x", "y"]}, {"b": [1, 2], "s": ["x", "y"]}]
    candidates = list(ParameterGrid(spaces))
    covariance = matrix_of(make_prior("squared_exponential", candidates, spaces, 1.0))
    is_equal = np.array([[p["s"] == q["s"] for p in candidates] for q in candidates])
    across = np.array([["a" in p and "b" in q for p in candidates] for q in candidates])
    assert covariance[across & is_equal].min() > 1.5 * covariance[across & ~is_equal].max()


def test_numbers_mixed_with_none_are_alike_in_two_dicts():
    space = [{"a": [1], "d": [2, 4, None]}, {"b": [1], "d": [2, 8]}, {"c": [1], "d": [None, "x"]}]
    between = distances(space)
    # of the first dict 2, 4 and None, of the second 2 and 8, each scaled for itself, None and x
    to_number = 0.5**0.5
    expected = [
        [0, 1, to_number, 0, 1, to_number, to_number],
        [1, 0, to_number, 1, 0, to_number, to_number],
        [to_number, to_number, 0, to_number, to_number, 0, 0.5],
    ]
    np.testing.assert_allclose(between[:3], expected, atol=1e-12)


def test_what_varies_between_dicts_only_has_no_column():
    space = [{"kernel": ["rbf"], "C": [1, 2]}, {"kernel": ["linear"], "C": [1, 2]}]
    assert features(space).names == ("C",)
    some = [*space, {"kernel": ["poly", "sigmoid"], "C": [1, 2]}]
    found = features(some)
    assert found.names == ("C", "kernel")
    assert found.matrix.shape == (8, 5)


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


@without_numbers
def test_predictors_of_one_grid_are_branches_and_transformers_are_not():
    space = {"scale": [StandardScaler(), "passthrough"], "model": [Ridge(), Ridge(2), Lasso()]}
    found, covariance = features(space), prior_of(space)
    candidates = list(ParameterGrid(space))
    for one, other in itertools.product(range(6), repeat=2):
        alike = type(candidates[one]["model"]) is type(candidates[other]["model"])
        assert (found.branch[one] == found.branch[other]) == alike
        assert (covariance[one, other] > 0) == alike


# ---------------------------------------------------------------------------------- kernels


def test_built_in_kernels():
    space = {"a": [0, 1, 2, 3, 4]}
    steps = np.arange(5) / 4 * np.sqrt(8)
    np.testing.assert_allclose(prior_of(space)[0], np.exp(-0.5 * steps**2))
    root = np.sqrt(5) * steps
    expected = (1 + root + root**2 / 3) * np.exp(-root)
    np.testing.assert_allclose(prior_of(space, "matern")[0], expected)


@each_kernel
def test_a_length_scale_stretches_its_parameter_only(kernel):
    spaces = [{"a": [0, 1, 2], "b": [0, 1, 2]}, {"a": [0, 1, 2]}]
    candidates = list(ParameterGrid(spaces))
    family = make_prior(kernel, candidates, spaces)
    start = np.log(family.lengths)
    before, after = (matrix_of(family.at(start + by)) for by in (0.0, np.array([0.0, 1.0])))
    moved = np.array([[p["a"] == q["a"] for p in candidates] for q in candidates])
    same = np.array([[len(p) == len(q) == 2 for p in candidates] for q in candidates])
    differs = np.array([[p.get("b") != q.get("b") for p in candidates] for q in candidates])
    assert (after[moved & same & differs] > before[moved & same & differs]).all()
    np.testing.assert_allclose(after[~(same & differs)], before[~(same & differs)])
    arms = np.array([7, 2, 10])
    np.testing.assert_allclose(family.among(start, arms), before[np.ix_(arms, arms)])


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


def test_the_covariance_is_that_of_the_search():
    given = candidate_covariance(list(ParameterGrid(PAPER)), PAPER)
    np.testing.assert_array_equal(matrix_of(given), prior_of(PAPER))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"kernel": "cubic"},
            "kernel must be one of 'squared_exponential', .*got 'cubic'",
        ),
        ({"kernel": None}, "kernel must be one of .*got None"),
        ({"branch_correlation": 1.1}, "branch_correlation must be from 0 to 1, got 1.1"),
        ({"branch_correlation": -0.1}, "branch_correlation must be from 0 to 1, got -0.1"),
        ({"branch_correlation": np.nan}, "branch_correlation must be from 0 to 1, got nan"),
    ],
)
def test_what_is_no_covariance(params, message):
    space = {"a": [1, 2, 3]}
    with pytest.raises(ValueError, match=message):
        candidate_covariance(list(ParameterGrid(space)), space, **params)


def test_memory_is_in_proportion_to_the_number_of_candidates():
    space = {"a": np.logspace(-3, 3, 50), "b": range(20), "c": np.linspace(0, 1, 20)}
    candidates = list(ParameterGrid(space))
    tracemalloc.start()
    prior = make_prior("squared_exponential", candidates, [space])
    column = prior.at(np.log(prior.lengths)).column(1234)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert column.shape == (20_000,)
    assert column[1234] == column.max() == pytest.approx(1)
    assert column.min() >= 0
    assert peak < 1000 * len(candidates)  # bytes; a matrix would need 160,000 for each


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


def test_every_dict_gets_its_share():
    spaces = [{"a": uniform()}, {"b": uniform()}, {"c": norm()}]
    drawn = draw_evenly(spaces, 8, np.random.RandomState(0))
    assert sorted(sum(name in c for c in drawn) for name in "abc") == [2, 3, 3]


@pytest.mark.parametrize(
    "spaces",
    [[{"a": Fair(), "b": uniform()}], [{"a": bernoulli(0.5)}], [{"a": uniform()}, {"a": [1, 2]}]],
)
def test_not_every_space_has_quantiles_without_repetition(spaces):
    assert draw_evenly(spaces, 4, np.random.RandomState(0)) is None


def test_quantiles_of_a_distribution_of_the_users_own_are_asked_one_by_one() -> None:
    class Square:
        def rvs(self, random_state: np.random.RandomState) -> float:
            return self.ppf(random_state.uniform())

        def ppf(self, place: float) -> float:
            return math.sqrt(place)  # refuses arrays

    drawn = draw_evenly([{"a": Square()}], 9, np.random.RandomState(0))
    assert drawn is not None
    assert len({params["a"] for params in drawn}) == 9
