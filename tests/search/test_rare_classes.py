"""Rows of rare classes: no fit of an early rung fails because they are missing."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit

from sklearn_halving import AdaptiveSearchCV, HyperbandSearchCV

NEEDED = 6


# ------------------------------------------------------------------- the rows of every fit

SEEN: list[tuple[np.ndarray, np.ndarray]] = []


class Classifier(ClassifierMixin, BaseEstimator):
    """Notes the numbers of the rows that it is fitted on, and of the test rows."""

    def __init__(self, value=0.5):
        self.value = value

    def fit(self, X, y):
        self.rows_ = X[:, 0]
        return self

    def score(self, X, y):
        SEEN.append((self.rows_, X[:, 0]))
        return self.value


class Survival(Classifier):
    """The same, but not a classifier."""

    def __sklearn_tags__(self):
        return BaseEstimator.__sklearn_tags__(self)


def with_events(y):
    survival = np.zeros(len(y), dtype=[("event", bool), ("time", float), ("seen", bool)])
    survival["event"], survival["seen"] = y[:, 0] == 0, y[:, 1] == 0
    return survival


TARGETS = {
    "classes": (Classifier, lambda y: y[:, 0], [0]),
    "names": (Classifier, lambda y: np.array(["a", "b", "c"], object)[y[:, 0]], [0]),
    "outputs": (Classifier, lambda y: y, [0, 1, 2]),
    "labels": (Classifier, lambda y: (y == 0).astype(int), [0, 1, 2]),
    "sparse labels": (Classifier, lambda y: csr_array((y == 0).astype(int)), [0, 1, 2]),
    "events": (Survival, with_events, [0, 1]),
}


@pytest.mark.parametrize("name", TARGETS)
@given(
    search_class=st.sampled_from([AdaptiveSearchCV, HyperbandSearchCV]),
    shares=st.lists(st.sampled_from([0.0, 0.005, 0.02, 0.1, 0.5]), min_size=3, max_size=3),
    n_rows=st.integers(40, 700),
    cv=st.sampled_from([KFold(3), GroupKFold(3), TimeSeriesSplit(3)]),
    sorts=st.booleans(),
    seed=st.integers(0, 99),
)
def test_every_fit_has_rows_of_every_class(name, search_class, shares, n_rows, cv, sorts, seed):
    rng = np.random.default_rng(seed)
    outputs = np.where(rng.random((n_rows, 3)) < shares, rng.integers(0, 2, (n_rows, 3)), 2)
    if sorts:  # a rare class occurs in the far past only, or in few groups
        outputs = outputs[np.argsort(outputs[:, 0], kind="stable")]
    estimator_class, target, columns = TARGETS[name]
    options = {} if search_class is AdaptiveSearchCV else {"brackets": "all"}
    values = {"value": np.linspace(0, 1, 17).tolist()}
    search = search_class(estimator_class(), values, cv=cv, random_state=0, refit=False, **options)
    SEEN.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        own = {"groups": np.arange(n_rows) // 7} if isinstance(cv, GroupKFold) else {}
        search.fit(np.arange(n_rows)[:, None], target(outputs), **own)
    history = search.history_
    classes = outputs if name in ("classes", "names", "outputs") else outputs == 0
    for _, fits in history.groupby("split"):
        subsets = sorted((SEEN[fit][0] for fit in fits.index), key=len)
        for smaller, larger in pairwise(subsets):
            assert set(smaller) <= set(larger)
        test = SEEN[fits.index[0]][1]
        last = test.min() if isinstance(cv, TimeSeriesSplit) else n_rows
        train = np.setdiff1d(np.arange(last), test)
        for rows in subsets:
            for column in classes[:, columns].T:
                for label in np.unique(column[train]):
                    n_all = (column[train] == label).sum()
                    assert (column[rows] == label).sum() >= min(NEEDED, n_all)
