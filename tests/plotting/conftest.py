"""Searches that are fitted once, and figures that are closed after each test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from scipy.stats import uniform

from doubles import Known
from plotting.searches import (
    X,
    Y,
    adaptive_search,
    bayes_gap,
    fails_below_zero,
    hyperband,
    noisy_score,
    score_of_split,
    two_metrics,
    variance_halving,
)
from sklearn_halving import BanditSearchCV
from sklearn_halving.policies import UCB1


@pytest.fixture(autouse=True)
def pyplot() -> Iterator[Any]:
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.fixture(scope="session")
def rungs() -> Any:
    return hyperband()


@pytest.fixture(scope="session")
def grid() -> Any:
    """Some candidates are dropped after two splits, on which they score more than the winner."""
    own = {"n_candidates": None, "brackets": None, "min_resources": None, "cv": 5}
    space = {"quality": np.linspace(0, 1, 16).tolist()}
    search = hyperband(space, scoring=score_of_split, **own)
    assert search.cv_results_["mean_test_score"].max() > search.best_score_
    return search


@pytest.fixture(scope="session")
def adaptive() -> Any:
    """Candidates arrive during the search, and the first one is the estimator as it is."""
    space = {"quality": uniform(0.2, 0.8), "n_steps": [1, 2, 3]}
    return adaptive_search(space, estimator=Known(quality=0.3))


@pytest.fixture(scope="session")
def halving() -> Any:
    return variance_halving()


@pytest.fixture(scope="session")
def gap() -> Any:
    return bayes_gap()


@pytest.fixture(scope="session")
def ucb() -> Any:
    """Neither brackets nor stages."""
    policy = UCB1(n_pulls=12, reward_range=(0, 1))
    params = {"policy": policy, "scoring": noisy_score}
    return BanditSearchCV(Known(), {"quality": [0.1, 0.5, 0.9]}, **params).fit(X, Y)


@pytest.fixture(scope="session")
def single() -> Any:
    return variance_halving([0.5])


@pytest.fixture(scope="session")
def hundreds() -> Any:
    return bayes_gap(np.linspace(0, 1, 200), n_fits=40)


@pytest.fixture(scope="session")
def metrics() -> Any:
    space = {"quality": uniform(0, 1), "n_steps": [1, 2, 3]}
    return hyperband(space, scoring=two_metrics, refit="loss")


@pytest.fixture(scope="session")
def failing() -> Any:
    """Candidates 0 and 1 have no score."""
    return variance_halving([-1, -2, 0.3, 0.4, 0.5], scoring=fails_below_zero)


@pytest.fixture(scope="session")
def failing_rungs() -> Any:
    """Some candidates of the first rungs have no score."""
    return hyperband({"quality": uniform(-0.4, 1)}, scoring=fails_below_zero)


@pytest.fixture(scope="session")
def families() -> Any:
    """Candidates of two dicts that share no parameter."""
    return variance_halving([{"quality": [0.1, 0.2]}, {"n_steps": [2, 3, 4], "ballast": [0, 1]}])
