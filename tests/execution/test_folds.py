"""Rows of a fold at a level: the same share of each fold, nested, all of them at the top."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import uniform
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit

from sklearn_halving import HyperbandSearchCV
from sklearn_halving.execution._types import Fold

VALUES = {"constant": uniform(0, 1)}


def fold_of(n_rows, full_level, seed=0):
    rng = np.random.default_rng(seed)
    train = rng.permutation(n_rows) + 1000
    return Fold(train, np.array([0]), rng.permutation(n_rows), full_level)


@given(n_rows=st.integers(1, 60), larger=st.integers(0, 300), seed=st.integers(0, 99))
def test_subsets_of_a_larger_fold(n_rows, larger, seed):
    """Never fewer rows than the level says, never more than its share, each in the next."""
    n_train = n_rows + larger
    fold = fold_of(n_train, n_rows, seed)
    subsets = [fold.train_rows(level) for level in range(n_rows + 1)]
    for level, rows in enumerate(subsets):
        share = level * n_train / n_rows
        assert max(level, share - 1) <= len(rows) <= share
    for smaller, more in pairwise(subsets):
        assert set(smaller) < set(more)
    assert subsets[n_rows] is fold.train
    assert fold.train_rows(n_rows + 1) is fold.train


GROUPS = np.repeat([0, 1, 2, 3], [300, 60, 30, 30])  # one of them has most of the rows


@pytest.mark.parametrize(
    ("cv", "n_train"),
    [
        (TimeSeriesSplit(5), [70, 140, 210, 280, 350]),
        (GroupKFold(4), [120, 360, 390, 390]),
        (KFold(11), [381] * 2 + [382] * 9),
    ],
    ids=["time series", "one large group", "a row more or less"],
)
def test_a_search_gives_each_fold_the_same_share(cv, n_train):
    X, y = np.zeros((420, 1)), np.random.default_rng(0).random(420)
    search = HyperbandSearchCV(
        DummyRegressor(strategy="constant"),
        VALUES,
        brackets="all",
        n_candidates=17,
        min_resources=min(n_train) // 9,
        cv=cv,
        random_state=0,
    )
    search.fit(X, y, **({"groups": GROUPS} if isinstance(cv, GroupKFold) else {}))
    history = search.history_
    top = history["n_resources"] == min(n_train)
    assert (history["n_resources"].nunique(), history["n_resources"].max()) == (3, min(n_train))
    of_split = np.array(n_train)[history["split"]]
    assert (history["n_train"][top] == of_split[top]).all()
    share = history["n_resources"] * of_split / min(n_train)
    assert (history["n_train"] == np.floor(share)).all()
    assert search.n_resources_spent_ == history["n_train"].sum()
