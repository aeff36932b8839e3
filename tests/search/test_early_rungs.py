"""Rungs below the largest level are evaluated on as few splits as tell enough."""

from __future__ import annotations

import numpy as np
from scipy.stats import uniform
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit

from search.common import Known, data
from sklearn_halving import HyperbandSearchCV

VALUES = {"value": uniform(0, 1)}


def search(**params):
    return HyperbandSearchCV(Known(), VALUES, random_state=0, **params)


def splits_of_rungs(fitted):
    """Return the splits of the early rungs, and those of the last ones, as lists."""
    history = fitted.history_
    is_last = history["n_resources"] == history["n_resources"].max()
    return [sorted(history["split"][rows].unique().tolist()) for rows in (~is_last, is_last)]


def test_as_few_splits_as_have_a_hundred_test_rows_are_used():
    for n_rows, n_splits in ((90, 5), (170, 3), (255, 2), (500, 1), (2000, 1)):
        early, _ = splits_of_rungs(
            search(cv=5, n_candidates=17, min_resources=20).fit(*data(n_rows))
        )
        assert len(early) == n_splits, n_rows


def test_a_grid_has_two_early_splits_for_any_number_of_test_rows():
    for n_rows in (170, 12_000):
        plan = HyperbandSearchCV(Known(), {"value": [*range(16)]}).plan(*data(n_rows))
        assert plan["n_fits"][0] == 2 * plan["n_candidates"][0] == 32


def test_as_many_splits_as_have_ten_rows_of_the_rarest_class_are_used():
    X, y = make_classification(1000, weights=[0.98], flip_y=0, random_state=0)
    assert np.bincount(y).tolist() == [980, 20]  # four in each fold
    early, _ = splits_of_rungs(search(cv=5, n_candidates=17).fit(X, y))
    assert early == [0, 1, 2]


def test_if_rows_are_ordered_early_rungs_use_the_latest_split():
    early, last = splits_of_rungs(search(cv=TimeSeriesSplit(4), n_candidates=17).fit(*data(800)))
    assert early == [3]
    assert last == [0, 1, 2, 3]


def test_with_groups_early_rungs_use_the_splits_that_are_most_like_all_rows():
    X, y = data(1000)
    groups = np.repeat(range(4), 250)
    y[groups == 0], y[groups == 1] = 0, 1
    cv = GroupKFold(4)
    unlike = {i for i, (_, test) in enumerate(cv.split(X, y, groups)) if len(set(y[test])) == 1}
    early, last = splits_of_rungs(search(cv=cv, n_candidates=17).fit(X, y, groups=groups))
    assert last == [0, 1, 2, 3]
    assert len(unlike) == 2
    assert 1 <= len(early) <= 2
    assert not unlike & set(early)


def test_a_target_that_only_the_estimator_understands():
    """Such as a list of sequences, of which scikit-learn cannot say what it is."""

    class OfSequences(ClassifierMixin, BaseEstimator):
        def __init__(self, value=0.5, size=9):
            self.value = value
            self.size = size

        def fit(self, X, y):
            self.is_fitted_ = True
            return self

        def score(self, X, y):
            return self.value

    y = [["a", "b"][: 1 + row % 2] for row in range(300)]
    fitted = HyperbandSearchCV(
        OfSequences(), VALUES, resource="size", cv=KFold(3), random_state=0
    ).fit(np.zeros((300, 1)), y)
    early, last = splits_of_rungs(fitted)
    assert early == last == [0, 1, 2]
