"""What every sampler must do, whichever it is; they are found by walking the package."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any

import numpy as np
import pytest
from scipy.stats import loguniform, norm, randint, uniform
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import sklearn_halving.samplers
from sklearn_halving.samplers import Sampler, Space, Told
from sklearn_halving.testing import check_sampler


def all_samplers() -> list[Any]:
    """Return one of each class in the package that has the methods of a sampler."""
    package = sklearn_halving.samplers
    classes = {
        value
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        for _, value in inspect.getmembers(importlib.import_module(info.name), inspect.isclass)
        if value.__module__ == info.name and hasattr(value, "propose") and value is not Sampler
    }
    return [value() for value in sorted(classes, key=lambda value: value.__name__)]


SAMPLERS = all_samplers()
TREE, LINEAR = DecisionTreeClassifier(), LogisticRegression()


class OnlyRvs:
    def rvs(self, random_state: np.random.RandomState) -> float:
        return round(float(random_state.uniform(5, 6)), 3)


SPACES: dict[str, Any] = {
    "numbers": {"a": loguniform(1e-3, 1e3), "b": uniform(-1, 2), "c": norm(0, 1)},
    "whole": {"a": randint(1, 40), "b": loguniform(1, 10), "c": [1, 2, 4, 8, 16]},
    "mixed": {"a": [None, "x", 3], "b": uniform(0, 1), "c": OnlyRvs(), "d": [True, False]},
    "estimators": {"clf": [TREE, LINEAR], "a": uniform(0, 1), "fixed": ["only"]},
    "conditions": [
        {"kind": ["rbf"], "C": loguniform(0.1, 10), "gamma": loguniform(1e-3, 1)},
        {"kind": ["linear"], "C": loguniform(0.1, 10)},
        {"kind": ["poly"], "C": loguniform(0.1, 10), "degree": randint(2, 5)},
    ],
    "grid": {"a": [1, 2, 3, 4], "b": ["u", "v", "w"], "c": [0.1, 1, 10]},
    "list of grids": [{"a": [1, 2, 3]}, {"b": [4, 5], "c": ["x", "y"]}],
}


def is_in_space(params: dict[str, Any], given: Any) -> bool:
    """Return whether candidate and values fit, without the package's own point of view."""
    for one in given if isinstance(given, list) else [given]:
        if one.keys() == params.keys() and all(
            value.pdf(params[name]) > 0
            if hasattr(value, "pdf")
            else value.pmf(params[name]) > 0
            if hasattr(value, "pmf")
            else 5 <= params[name] <= 6
            if isinstance(value, OnlyRvs)
            else any(params[name] is other for other in value)
            for name, value in one.items()
        ):
            return True
    return False


def score(params: dict[str, Any]) -> float:
    return -sum(abs(float(value) - 1) for value in params.values() if isinstance(value, float))


def play(sampler: Any, given: Any, n: int = 30, seed: int = 0) -> list[dict[str, Any]]:
    """Return the candidates of a search in batches of 5, each told before the next is made."""
    told, rng = Told(Space.of(given)), np.random.default_rng(seed)
    while len(told.candidates) < n:
        for params in sampler.propose(told, 5, rng):
            told.add(params)
            told.tell(len(told.candidates) - 1, 1, score(params))
    return told.candidates


@pytest.fixture(params=SAMPLERS, ids=lambda sampler: type(sampler).__name__)
def sampler(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=SPACES, ids=str)
def given(request: pytest.FixtureRequest) -> Any:
    return SPACES[request.param]


def test_all_were_found() -> None:
    names = {"RandomSampler", "GaussianProcessSampler"}
    assert names <= {type(sampler).__name__ for sampler in SAMPLERS}


def test_stays_in_the_space_and_depends_on_the_seed(sampler: Any, given: Any) -> None:
    candidates, again, others = (play(sampler, given, seed=seed) for seed in (1, 1, 2))
    assert all(is_in_space(params, given) for params in candidates)
    assert candidates == again != others


def test_conforms(sampler: Any, given: Any) -> None:
    check_sampler(sampler, given)


def test_no_candidate_twice(sampler: Any, given: Any) -> None:
    space = Space.of(given)
    n = 40 if space.size is None else space.size // 5 * 5
    candidates = play(sampler, given, n)
    assert len({space.key(params) for params in candidates}) == n


def test_uses_a_grid_up_before_it_repeats(sampler: Any) -> None:
    given = SPACES["list of grids"]  # of 7 candidates
    candidates = play(sampler, given, 15)
    space = Space.of(given)
    assert len({space.key(params) for params in candidates[:7]}) == 7
    assert len(candidates) == 15
