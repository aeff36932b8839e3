"""What the tests of all searches share: the searches, and estimators to search."""

from __future__ import annotations

import _thread

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification

from sklearn_halving import (
    AdaptiveSearchCV,
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)

SEARCHES = [
    *(AdaptiveSearchCV, HyperbandSearchCV, VarianceHalvingSearchCV, BayesGapSearchCV),
    BanditSearchCV,
]
parametrize_searches = pytest.mark.parametrize("search_class", SEARCHES)
WITH_RUNGS = [HyperbandSearchCV]
"""Searches whose candidates are fitted on more and more of a resource."""

# Searches of five candidates on few rows, small enough to try every behaviour.
SMALL = {
    AdaptiveSearchCV: {"n_fits": 15, "cv": 3, "random_state": 0},
    HyperbandSearchCV: {"brackets": "all", "min_resources": 12, "cv": 3, "random_state": 0},
    VarianceHalvingSearchCV: {"cv": 3, "random_state": 0},
    BanditSearchCV: {"policy": "successive_rejects", "cv": 3, "random_state": 0},
    BayesGapSearchCV: {"cv": 3, "random_state": 0},
}


def small(search_class, estimator, space, **params):
    """Return a small search.

    Hyperband: 3 + 2 candidates on 2 rungs, as 36 to 107 training rows are divided by 3 only once
    with at least 12 rows; 12 fits with 3 splits. Variance halving: 25 fits.
    """
    return search_class(estimator, space, **{**SMALL[search_class], **params})


def with_list(parametrize: pytest.MarkDecorator) -> pytest.MarkDecorator:
    """Return ``parametrize`` with a list in place of a generator, which pytest 10 refuses."""
    names, values = parametrize.args
    return pytest.mark.parametrize(names, list(values), **parametrize.kwargs)


def data(n_rows=60, n_classes=2, **params):
    return make_classification(
        n_rows,
        n_features=5,
        n_informative=4,
        n_redundant=0,
        n_classes=n_classes,
        random_state=0,
        **params,
    )


class Constant(ClassifierMixin, BaseEstimator):
    """Predicts the first class. What it scores is up to its subclasses."""

    def fit(self, X, y=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class Known(Constant):
    """Scores its parameter ``value`` on any data. It can also fail, or score NaN."""

    def __init__(self, value=0.5, fails=False, nan_below=0):
        self.value = value
        self.fails = fails
        self.nan_below = nan_below

    def fit(self, X, y=None, sample_weight=None):
        if self.fails:
            raise ArithmeticError("told to fail")
        self.n_rows_ = len(X)
        return super().fit(X, y)

    def score(self, X, y=None):
        return np.nan if self.n_rows_ < self.nan_below else self.value


class Noisy(Constant):
    """Scores its value, plus what the test rows are worth, plus noise of its own."""

    def __init__(self, value=0.0, split_sd=0.0, noise_sd=0.0):
        self.value = value
        self.split_sd = split_sd
        self.noise_sd = noise_sd

    def score(self, X, y=None):
        rows = [int(row) for row in X[:, 0]]
        of_split = np.random.default_rng(rows).normal()
        own = np.random.default_rng([*rows, int(1e6 * self.value)]).normal()
        return self.value + self.split_sd * of_split + self.noise_sd * own


class Interrupting(Known):
    """Sends Ctrl-C to the search in its third fit."""

    n_fits = 0

    def fit(self, X, y=None):
        Interrupting.n_fits += 1
        if Interrupting.n_fits == 3:
            _thread.interrupt_main()
        return super().fit(X, y)


def interrupted(search_class, space, estimator=None, **params):
    """Return a small search that Ctrl-C stopped at its third fit."""
    Interrupting.n_fits = 0
    search = small(search_class, estimator or Interrupting(), space, **params)
    with pytest.raises(KeyboardInterrupt):
        search.fit(*data())
    return search


class Fits:
    """Records the rows and parameters of all fits of this process."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.rows: list[np.ndarray] = []
        self.params: list[dict] = []

    def __len__(self):
        return len(self.rows)


FITS = Fits()


class Recording(Constant):
    """Records its rows in `FITS`: the first column of X is the row number."""

    def __init__(self, value=0.5, other=None):
        self.value = value
        self.other = other

    def fit(self, X, y=None, **params):
        FITS.rows.append(np.asarray(X)[:, 0].astype(int))
        FITS.params.append({"value": self.value, **params})
        return super().fit(X, y)

    def score(self, X, y=None, sample_weight=None):
        return self.value


def numbered(n_rows):
    """Return X whose first column is the row number, and y with two classes."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(n_rows), rng.normal(size=(n_rows, 2))])
    return X, np.arange(n_rows) % 2
