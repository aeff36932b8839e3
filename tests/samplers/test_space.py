"""Parameters to points of the cube and back, for every kind of parameter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import (
    binom,
    expon,
    geom,
    loguniform,
    norm,
    poisson,
    randint,
    rv_discrete,
    uniform,
)
from sklearn.svm import SVC

from sklearn_halving.samplers import GaussianProcessSampler, RandomSampler, Space, Told

CONTINUOUS = {
    "uniform": uniform(-3, 5),
    "loguniform": loguniform(1e-4, 1e2),
    "shifted loguniform": loguniform(1, 100, loc=3),
    "norm": norm(2, 3),
    "expon": expon(scale=0.1),
}
DISCRETE = {
    "randint": randint(3, 9),
    "many": randint(0, 10**7),
    "binom": binom(5, 0.3),
    "poisson": poisson(4),
    "geom": geom(0.2),
    "halves": rv_discrete(values=([0.5, 1.5, 4.0], [0.2, 0.5, 0.3]))(),
    "listed": rv_discrete(values=([0.5, 1.5, 2.0, 4.0], [0.2, 0.5, 0.0, 0.3])),
}


@pytest.mark.parametrize("name", CONTINUOUS)
@given(x=st.floats(0.001, 0.999))
@settings(max_examples=30, deadline=None)
def test_a_coordinate_is_the_distribution_function(name: str, x: float) -> None:
    distribution = CONTINUOUS[name]
    space = Space.of({"a": distribution})
    params = space.params_at(np.array([x]))
    assert params["a"] == pytest.approx(distribution.ppf(x), rel=1e-9)
    assert space.point_of(params) == pytest.approx(x, abs=1e-9)


@pytest.mark.parametrize("name", DISCRETE)
def test_a_discrete_value_has_a_cell_as_wide_as_its_probability(name: str) -> None:
    distribution = DISCRETE[name]
    space = Space.of({"a": distribution})
    for value in distribution.rvs(size=20, random_state=0).tolist():
        point = space.point_of({"a": value})
        assert point is not None
        expected = distribution.cdf(value) - distribution.pmf(value) / 2
        assert point[0] == pytest.approx(expected, abs=1e-9)
        assert space.params_at(point)["a"] == value


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([10, 0.1, 1], [0.1, 1, 10]),
        ([10**20, 0.1, np.float32(3)], [0.1, 3, 10**20]),
        ([np.inf, 3, -np.inf], [np.inf, 3, -np.inf]),
        (["b", "c", "a"], ["b", "c", "a"]),
        ([None, 3, 1], [None, 3, 1]),
    ],
)
def test_numbers_are_in_order_and_other_values_as_given(values: Any, expected: Any) -> None:
    space = Space.of({"a": values})
    at = [space.params_at(np.array([x]))["a"] for x in (0.1, 0.5, 0.9)]
    assert at == expected
    assert space.dimensions[0].is_ordered == (expected[0] == 0.1)


def test_estimators_and_arrays_are_themselves() -> None:
    values = [SVC(), SVC(C=2), np.arange(3), np.arange(4)]
    space = Space.of({"a": [SVC(), np.arange(3), *values]})  # equal values count once
    assert space.size == 4
    for value in values:
        point = space.point_of({"a": value})
        assert point is not None
        assert space.params_at(point)["a"] is value


def test_dicts_share_the_axes_of_equal_values() -> None:
    space = Space.of(
        [
            {"kind": ["rbf"], "C": loguniform(1, 10), "gamma": uniform(0, 1)},
            {"kind": ["linear"], "C": loguniform(1, 10)},
            {"kind": ["sigmoid"], "C": loguniform(1, 100)},
        ]
    )
    names = [dimension.name for dimension in space.dimensions]
    assert sorted(names[1:]) == ["C", "C", "gamma", "kind", "kind", "kind"]
    rbf = space.point_of({"kind": "rbf", "C": 3.0, "gamma": 0.2})
    linear = space.point_of({"kind": "linear", "C": 3.0})
    assert rbf is not None
    assert linear is not None
    shared = names.index("C")
    assert rbf[shared] == linear[shared]
    assert linear[names.index("gamma")] == 0.5


def test_a_grid_of_a_billion_costs_nothing() -> None:
    space = Space.of({"a": range(10**8, 0, -1), "b": list(range(10))})
    assert space.size == 10**9
    for whole in (1, np.int64(1)):
        assert space.params_at(space.point_of({"a": whole, "b": 3})) == {"a": 1, "b": 3}
    for outside in (0, 1.0, True, "1"):
        assert space.point_of({"a": outside, "b": 3}) is None
    told = Told(space)
    for params in RandomSampler().propose(told, 20, np.random.default_rng(0)):
        told.add(params)
    assert len(told.keys) == 20


class Coin:
    """A distribution of two values that is known by its draws only, and counts them."""

    n_draws = 0

    def rvs(self, random_state: np.random.RandomState | None = None) -> int:
        self.n_draws += 1
        return int(np.random.default_rng(self.n_draws).integers(2))


def test_a_space_with_few_values_and_no_known_end_repeats_in_the_end() -> None:
    told = Told(Space.of({"a": Coin()}))
    drawn = RandomSampler().propose(told, 4, np.random.default_rng(0))
    assert sorted(params["a"] for params in drawn[:2]) == [0, 1]
    assert len(drawn) == 4


def test_no_dict_is_refused() -> None:
    with pytest.raises(ValueError, match="must hold candidates"):
        Space.of([])


@pytest.mark.parametrize(
    ("sampler_class", "wrong"),
    [
        (GaussianProcessSampler, {"n_pool": 10**30}),
        (GaussianProcessSampler, {"share_random": 0}),
        (GaussianProcessSampler, {"min_told": 1}),
        (GaussianProcessSampler, {"n_pool": 10.5}),
    ],
)
def test_refuses_parameters(sampler_class: Any, wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be .*, got "):
        sampler_class(**wrong)


def test_a_listed_distribution_is_a_finite_space() -> None:
    space = Space.of({"a": DISCRETE["listed"]})
    assert space.size == 3
    assert {space.candidate(i)["a"] for i in range(3)} == {0.5, 1.5, 4}


@pytest.mark.parametrize("sampler_class", [RandomSampler, GaussianProcessSampler])
def test_a_space_that_is_used_up_is_searched_once_for_a_batch(sampler_class: Any) -> None:
    coin = Coin()
    candidates = sampler_class().propose(
        Told(Space.of({"a": coin})), 100, np.random.default_rng(0)
    )
    assert sorted({params["a"] for params in candidates}) == [0, 1]
    assert coin.n_draws < 3000  # one search takes 1,000 draws
