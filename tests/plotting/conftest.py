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
    bayes_gap,
    fails_below_zero,
    fitted,
    hyperband,
    noisy_score,
    score_of_split,
    two_metrics,
    variance_halving,
)
from sklearn_halving import AdaptiveSearchCV, BanditSearchCV
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
    """Candidates arrive during the search."""
    space, params = {"quality": uniform(0, 1)}, {"n_fits": 20, "cv": 3, "random_state": 0}
    return fitted(AdaptiveSearchCV(Known(), space, scoring=noisy_score, **params))


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
    return bayes_gap(np.linspace(0, 1, 200), n_fits=12)


@pytest.fixture(scope="session")
def metrics() -> Any:
    return hyperband(scoring=two_metrics, refit="loss")


@pytest.fixture(scope="session")
def failing() -> Any:
    """Candidates 0 and 1 have no score."""
    return variance_halving([-1, -2, 0.3, 0.4, 0.5], scoring=fails_below_zero)


@pytest.fixture(scope="session")
def failing_rungs() -> Any:
    """Some candidates of the first rungs have no score."""
    return hyperband({"quality": uniform(-0.4, 1)}, scoring=fails_below_zero)
