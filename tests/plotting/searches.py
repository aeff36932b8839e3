"""Small real searches of estimators whose score is known, and the rows they differ in."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.stats import uniform
from sklearn.pipeline import Pipeline

from doubles import Known
from sklearn_halving import (
    AdaptiveSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)

X = np.random.default_rng(0).normal(size=(180, 2))
Y = np.arange(180) % 2
SIX = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


def noisy_score(estimator: Any, X: Any, y: Any) -> float:
    """Return the quality, and a little that differs from split to split."""
    quality = estimator[-1].quality if isinstance(estimator, Pipeline) else estimator.quality
    return quality + 0.01 * float(X[:, 0].mean())


def score_of_split(estimator: Any, X: Any, y: Any) -> float:
    """Return a score that depends more on the split than on the quality."""
    return 0.3 * estimator.quality + float(X[:, 0].mean())


def two_metrics(estimator: Any, X: Any, y: Any) -> dict[str, float]:
    score = noisy_score(estimator, X, y)
    return {"gain": score, "loss": -score}


def fails_below_zero(estimator: Any, X: Any, y: Any) -> float:
    if estimator.quality < 0:
        raise ValueError("negative")
    return noisy_score(estimator, X, y)


def fitted(search: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that are meant to fail
        return search.fit(X, Y)


def adaptive_search(space: Any, estimator: Any = None, **params: Any) -> Any:
    settings = {"scoring": noisy_score, "n_fits": 20, "cv": 3, "random_state": 0}
    return fitted(AdaptiveSearchCV(estimator or Known(), space, **(settings | params)))


def hyperband(space: Any = None, estimator: Any = None, **params: Any) -> Any:
    """Fit three brackets of 9, 5 and 3 candidates."""
    settings = {"scoring": noisy_score, "cv": 3, "n_candidates": 17, "random_state": 0}
    settings |= {"brackets": "all", "min_resources": 12}
    space = {"quality": uniform(0, 1)} if space is None else space
    return fitted(HyperbandSearchCV(estimator or Known(), space, **(settings | params)))


def variance_halving(space: Any = SIX, estimator: Any = None, **params: Any) -> Any:
    settings = {"scoring": noisy_score, "random_state": 0}
    if not isinstance(space, dict) and not isinstance(space[0], dict):
        space = {"quality": list(space)}
    search = VarianceHalvingSearchCV(estimator or Known(), space, **(settings | params))
    return fitted(search)


def bayes_gap(values: Any = SIX, **params: Any) -> Any:
    settings = {"scoring": noisy_score, "random_state": 0, "n_fits": 10}
    return fitted(BayesGapSearchCV(Known(), {"quality": list(values)}, **(settings | params)))
