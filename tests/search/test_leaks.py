"""Two leaks that users of other libraries found: none of our searches has them.

With shuffled splits that are drawn again at each step, a model that continues training is scored
on rows on which it was trained (optuna-integration, issue 317). A second ``fit`` that continues
the first one mixes the scores of two data sets (issue 118).
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.tree import DecisionTreeClassifier

from search.common import SEARCHES, Constant, data, numbered, small
from sklearn_halving import AdaptiveSearchCV, HyperbandSearchCV


class Remembering(Constant):
    """Scores how many of the test rows it was trained on, in any step, as a negative number."""

    def __init__(self, value=0.0, max_iter=1, warm_start=False):
        self.value = value
        self.max_iter = max_iter
        self.warm_start = warm_start

    def partial_fit(self, X, y, classes=None):
        self.classes_ = np.unique(y) if classes is None else classes
        self.seen_ = getattr(self, "seen_", set()) | set(X[:, 0].tolist())
        self.n_steps_ = getattr(self, "n_steps_", 0) + 1
        return self

    def fit(self, X, y):
        if not self.warm_start:
            self.__dict__.pop("seen_", None)
        self.n_iter_ = self.max_iter
        return self.partial_fit(X, y)

    def score(self, X, y):
        return -float(len(self.seen_ & set(X[:, 0].tolist())))


@pytest.mark.walk
@pytest.mark.parametrize("resource", ["partial_fit", "max_iter", "n_samples"])
@pytest.mark.parametrize("cv", [KFold(5, shuffle=True), ShuffleSplit(5), None])
@pytest.mark.parametrize(
    ("search_class", "params"),
    [
        (HyperbandSearchCV, {"brackets": "all"}),
        (AdaptiveSearchCV, {"n_fits": None}),
    ],
)
@pytest.mark.parametrize("random_state", [0, None])
def test_no_model_is_scored_on_rows_that_it_was_trained_on(
    search_class, params, cv, resource, random_state
):
    search = small(
        search_class,
        Remembering(),
        {"value": [float(i) for i in range(12)]},
        **{**params, "cv": cv, "resource": resource, "random_state": random_state},
        max_resources=36,
    ).fit(*numbered(60))
    assert search.history_["test_score"].eq(0).all()
    if resource != "n_samples":
        assert search.history_["continued_from"].gt(0).any()


@pytest.mark.parametrize("search_class", SEARCHES)
def test_a_second_fit_starts_afresh(search_class):
    tree, space = DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3, 5]}
    search = small(search_class, tree, space, cv=KFold(3, shuffle=True, random_state=0))
    fresh = clone(search)
    X, y = data()
    search.fit(-X[::-1], y).fit(X, y)
    fresh.fit(X, y)
    assert search.n_fits_ == fresh.n_fits_ == len(search.history_)
    assert search.best_score_ == fresh.best_score_
    columns = ["candidate", "split", "test_score"]
    assert search.history_[columns].equals(fresh.history_[columns])
