"""A split on which no candidate can be fitted or scored: the others decide."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import uniform
from sklearn.model_selection import PredefinedSplit

from search.common import SEARCHES, Constant, Known, numbered, small
from sklearn_halving import AdaptiveSearchCV, HyperbandSearchCV

X, Y = numbered(300)


class Picky(Constant):
    """Cannot be trained without a fifth of the rows, or be scored on it."""

    def __init__(self, value=0.5, needs=None, scores_not=None):
        self.value = value
        self.needs = needs
        self.scores_not = scores_not

    def fit(self, X, y):
        if self.needs is not None and self.needs not in X[:, 0] // 60:
            raise ArithmeticError("rows are missing")
        return super().fit(X, y)

    def score(self, X, y):
        return np.nan if self.scores_not in X[:, 0] // 60 else self.value


@pytest.mark.parametrize("number", [0, 1, 4])
@pytest.mark.parametrize("way", ["needs", "scores_not"])
@pytest.mark.parametrize("search_class", SEARCHES)
def test_candidates_are_compared_on_the_splits_that_work(search_class, way, number):
    space = {"value": [0.1, 0.2, 0.9, 0.3, 0.4, 0.6, 0.7]}
    folds = PredefinedSplit(np.arange(300) // 60)
    own = {AdaptiveSearchCV: {"n_fits": 32}, HyperbandSearchCV: {"min_resources": 80}}
    own = own.get(search_class, {})
    search = small(search_class, Picky(**{way: number}), space, cv=folds, **own)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, Y)
    assert search.best_params_ == {"value": 0.9}
    assert search.best_score_ == pytest.approx(0.9)
    said = [str(w.message) for w in caught if "no candidate could be" in str(w.message)]
    if search.history_.query(f"split == {number}")["candidate"].nunique() > 1:
        assert said[0].startswith(f"Split {number}: ")
        assert ("ArithmeticError: rows are missing" in said[0]) == (way == "needs")
    assert search.history_.query(f"split != {number}")["test_score"].notna().all()


def warning_of(search, X=X, y=Y):
    """Return the warning of splits that do not work; empty if there is none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y)
    return "".join(str(w.message) for w in caught if "no candidate could be" in str(w.message))


def test_rungs_that_a_broken_split_leaves_without_scores_are_named():
    space, folds = {"value": uniform()}, PredefinedSplit(np.arange(600) // 120)
    search = HyperbandSearchCV(Picky(needs=0), space, min_resources=160, cv=folds, random_state=0)
    said = warning_of(search, *numbered(600))  # with 120 test rows, rungs are on one split
    assert "other splits. With n_samples=160, there are none" in said


def test_a_split_is_not_blamed_for_candidates_that_fail_everywhere():
    bad = [{"value": value, "fails": True} for value in (0.1, 0.2, 0.3)]
    space = {"value": uniform(), "fails": [False]}
    given = {"n_fits": 20, "initial_candidates": bad, "random_state": 0}
    search = AdaptiveSearchCV(Known(fails=True), space, **given)
    assert warning_of(search) == ""
    assert search.history_.query("split == 0")["test_score"].isna().all()
    assert search.best_params_["value"] > 0.5
