"""Rungs that had fewer candidates than planned or ended, and candidates that diverge."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDRegressor
from sklearn.model_selection import KFold

from search.common import Known, data, numbered
from sklearn_halving import HyperbandSearchCV, VarianceHalvingSearchCV

NARROWED = "fewer candidates than planned"


def run(first_known, n_rows_known=0, **params):
    """Search nine values; smaller ones, and any on fewer rows, have no score.

    Return the search, and what was said.
    """

    def score(estimator, X, y):
        is_known = estimator.value >= first_known and estimator.n_rows_ >= n_rows_known
        return estimator.value if is_known else np.nan

    search = HyperbandSearchCV(
        Known(), {"value": list(range(9))}, scoring=score, cv=KFold(2), min_resources=6,
        random_state=0, **{"brackets": "most_exploratory", **params},
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(*numbered(108))
    return search, [str(warning.message) for warning in caught]


def widths(search):
    return np.bincount(search.cv_results_["iter"]).tolist()


def test_a_narrow_rung_is_told_with_bracket_resource_and_numbers():
    search, messages = run(first_known=7)
    assert widths(search) == [9, 2, 1]
    (message,) = [text for text in messages if NARROWED in text]
    assert message.splitlines()[1:] == [
        "bracket s=2 at n_resources=6: 2 of 9 candidates have a mean score, 3 were to be kept"
    ]
    assert not any("was stopped" in text for text in messages)
    assert search.best_params_ == {"value": 8}


def test_one_warning_tells_of_all_narrow_rungs():
    search, messages = run(first_known=7, n_loops=2)
    (message,) = [text for text in messages if NARROWED in text]
    assert message.count("2 of 9 candidates") == 2
    assert search.n_fits_ == 2 * 2 * (9 + 2 + 1)


@pytest.mark.parametrize("first_known", [0, 4, 6])
def test_rungs_that_are_full_are_not_told(first_known):
    search, messages = run(first_known)
    assert widths(search) == [9, 3, 1]
    assert not any(NARROWED in text or "was stopped" in text for text in messages)


def test_a_bracket_that_ends_is_told_once_and_not_as_a_narrow_one():
    search, messages = run(first_known=0, n_rows_known=18, brackets="all")
    (message,) = [text for text in messages if "was stopped" in text]
    assert "Bracket s=2" in message
    assert "n_resources=6 are NaN" in message
    assert not any(NARROWED in text for text in messages)
    results = search.cv_results_
    assert results["iter"][results["bracket"] == 2].max() == 0
    assert results["iter"][results["bracket"] == 1].max() == 1


def test_models_that_diverge_do_not_decide():
    """Half of the rates are so high that the scores go down to -1e21."""
    X, y = load_diabetes(return_X_y=True)
    grid = {"eta0": np.logspace(-4, 2, 20), "alpha": [1e-4, 1e-2]}
    model = SGDRegressor(max_iter=20, tol=None)
    search = VarianceHalvingSearchCV(model, grid, n_pulls=120, scoring="r2", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        search.fit(X, y)
    own = search.history_.groupby("candidate").test_score
    best = search.best_index_
    assert own.mean().min() < -1e15
    assert search.best_score_ == pytest.approx(own.mean()[best], abs=0.1)
    assert search.best_score_ > 0.4


class StaysHere(RandomForestClassifier):
    """Cannot leave its process once it is fitted."""

    def fit(self, X, y):
        self.open_ = (number for number in range(3))
        return super().fit(X, y)


def test_models_that_cannot_be_sent_between_processes_are_told_of():
    options = {"resource": "n_estimators", "cv": 2, "max_candidates": 3, "random_state": 0}
    search = HyperbandSearchCV(
        StaysHere(n_estimators=9), {"max_depth": [1, 2, 3]}, brackets="all", **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.fit(*data())
    assert (search.history_["continued_from"] > 0).any()
    with pytest.warns(UserWarning, match=r"not be trained further.* \(TypeError: .*generator"):
        search.set_params(n_jobs=2).fit(*data())
    assert (search.history_["continued_from"] == 0).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_without_any_score_a_warning_says_what_failed_first():
    X, y = data(60)
    lone = np.where(np.arange(60) == 7, "alone", np.where(y == 1, "yes", "no"))
    search = HyperbandSearchCV(LogisticRegression(), {"C": [0.1, 1, 10]}, random_state=0)
    search.set_params(scoring="f1", cv=KFold(3))
    with pytest.warns(UserWarning, match=r"(\d+) of \1 scores failed, the first with .*pos_label"):
        search.fit(X, lone)


@pytest.mark.parametrize(
    ("score", "complaint"),
    [
        (0.5 + 1j, r"can be compared, got \(0.5\+1j\)"),
        (np.complex128(1j), "can be compared, got 1j"),
        ({"real": 0.5, "complex": 1j}, "can be compared, got 1j"),
        ({}, "got an empty dict"),
    ],
)
def test_a_score_that_is_no_real_number_ends_the_search_at_its_first_fit(score, complaint):
    calls = []

    def score_of(estimator, X, y):
        calls.append(score)
        return score

    search = HyperbandSearchCV(
        Known(), {"value": list(range(9))}, scoring=score_of, cv=KFold(2), refit=False,
        random_state=0,
    )  # fmt: skip
    with pytest.raises(ValueError, match=f"scoring must return .*{complaint}"):
        search.fit(*numbered(108))
    assert len(calls) == 1
