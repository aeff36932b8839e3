"""Every kind of data, splitter and estimator that GridSearchCV takes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    StratifiedGroupKFold,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from search.common import FITS, SEARCHES, WITH_RUNGS, Known, Recording, data, numbered, small
from sklearn_halving import HyperbandSearchCV

parametrize_searches = pytest.mark.parametrize("search_class", SEARCHES)
parametrize_with_rungs = pytest.mark.parametrize("search_class", WITH_RUNGS)
TREE = {"max_depth": [1, 2, 3, 4, 5]}
ROWS = {
    "list": lambda X: X.tolist(),
    "pandas shuffled": lambda X: pd.DataFrame(X, columns=list("abcde"), index=np.arange(60)[::-1]),
    "nullable": lambda X: pd.DataFrame(X, columns=list("abcde")).convert_dtypes(),
    "polars": lambda X: pl.DataFrame(X, schema=list("abcde")),
    "csr_matrix": csr_matrix,
    "csr_array": csr_array,
}
TARGETS = {
    "list": lambda y: y.tolist(),
    "strings": lambda y: np.array(["no", "yes"], dtype=object)[y],
    "Series": lambda y: pd.Series(y, index=np.arange(len(y)) + 7),
    "categorical": lambda y: pd.Series(np.array(["no", "yes"])[y], dtype="category"),
    "Int64": lambda y: pd.Series(y, dtype="Int64"),
    "polars": pl.Series,
}
KNOWN = {"value": [0.1, 0.2, 0.3, 0.4, 0.5]}


def tree():
    return DecisionTreeClassifier(max_depth=3, random_state=0)


def scores_like_grid_search(search, X, y=None, **params):
    """Fit both, and compare every score of ours that is of a whole training fold."""
    search.fit(X, y, **params)
    cv = search.cv
    reference = GridSearchCV(
        search.estimator, search.param_distributions, cv=cv, scoring=search.scoring
    ).fit(X, y, **params)
    for name in ("feature_names_in_", "n_features_in_", "classes_"):
        ours, theirs = (getattr(s, name, None) for s in (search, reference))
        np.testing.assert_array_equal(ours, theirs)
    table = reference.cv_results_
    row_of = {str(params): row for row, params in enumerate(table["params"])}
    ours = search.cv_results_
    level = ours.get("n_resources", np.ones(len(ours["params"])))
    n_compared = 0
    for row in np.flatnonzero(level == level.max()):
        for key in (f"split{split}_test_score" for split in range(reference.n_splits_)):
            if not np.isnan(ours[key][row]):
                expected = table[key][row_of[str(ours["params"][row])]]
                assert ours[key][row] == pytest.approx(expected, abs=1e-12)
                n_compared += 1
    assert n_compared >= 6
    return search


# ---------------------------------------------------------------------------------- containers


def plain(X):
    return X


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("target", TARGETS)
def test_containers(search_class, rows, target):
    X, y = data()
    X, y = ROWS[rows](X), TARGETS[target](y)
    search = scores_like_grid_search(small(search_class, tree(), TREE), X, y)
    assert search.predict(X).shape == (60,)


class Strict(Known):
    """Refuses everything that is not what the user gave."""

    def fit(self, X, y=None):
        assert type(X) is pl.DataFrame
        return super().fit(X, y)


@parametrize_searches
def test_data_reach_the_estimator_unconverted(search_class):
    X, y = data()
    search = small(search_class, Strict(), KNOWN, error_score="raise")
    assert search.fit(pl.DataFrame(X), y).best_estimator_.n_rows_ == 60


# ------------------------------------------------------------------------------------ splitters


class AskedOnce(KFold):
    """Counts how often it is asked, and refuses to be asked twice."""

    n_asked = 0

    def split(self, X, y=None, groups=None):
        self.n_asked += 1
        assert self.n_asked == 1
        return super().split(X, y, groups)


def pairs_of(X):
    return list(KFold(3).split(X))


def masks_of(X):
    for train, test in KFold(3).split(X):
        yield np.isin(np.arange(60), train), np.isin(np.arange(60), test)


SPLITTERS = {
    "list": pairs_of,
    "generator": lambda X: (pair for pair in pairs_of(X)),
    "lists of int": lambda X: [(a.tolist(), b.tolist()) for a, b in pairs_of(X)],
    "masks": masks_of,
    "asked once": lambda X: AskedOnce(3),
    "predefined": lambda X: PredefinedSplit(np.repeat([0, 1, 2], 20)),
}


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("splitter", SPLITTERS)
def test_splitters_are_asked_once_and_give_the_same(search_class, splitter):
    X, y = data()
    search = small(search_class, tree(), TREE, cv=SPLITTERS[splitter](X)).fit(X, y)
    plain = small(search_class, tree(), TREE, cv=pairs_of(X)).fit(X, y)
    for key, column in plain.cv_results_.items():
        if "_time" not in key:
            np.testing.assert_array_equal(search.cv_results_[key], column)


@parametrize_with_rungs
def test_time_series_keep_the_most_recent_rows(search_class):
    FITS.clear()
    search = small(search_class, Recording(), KNOWN, cv=TimeSeriesSplit(3, test_size=20))
    search.fit(*numbered(120))
    ends = {59, 79, 99}
    n_small = 0
    for rows in FITS.rows[:-1]:
        np.testing.assert_array_equal(rows, np.arange(rows[0], rows[-1] + 1))
        assert rows[-1] in ends
        n_small += rows[0] > 0
    assert n_small > 0
    np.testing.assert_array_equal(FITS.rows[-1], np.arange(120))


@parametrize_searches
@pytest.mark.parametrize("X", [[], np.empty((0, 3)), pd.DataFrame({"a": []})])
def test_no_rows(search_class, X):
    with pytest.raises(ValueError, match="0 sample"):
        small(search_class, tree(), TREE).fit(X, [])


# ------------------------------------------------------------------------- what is wrong, and why

PIPELINE = make_pipeline(StandardScaler(), SVC())
WRONG_NAMES = {
    "a letter": (SVC(), "gama", "gamma"),
    "a capital": (PIPELINE, "svc__c", "svc__C"),
    "another step": (PIPELINE, "svm__C", "svc__C"),
    "no step": (PIPELINE, "C", "svc__C"),
    "a step too many": (SVC(), "estimator__C", "C"),
}


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("case", WRONG_NAMES)
def test_a_wrong_name_gets_the_nearest_right_one_first(search_class, case):
    estimator, wrong, right = WRONG_NAMES[case]
    search = small(search_class, estimator, {wrong: [0.1, 1, 10, 100]})
    words = rf"Invalid parameter '{wrong}' for .*Did you mean '{right}'\? Valid parameters are: \["
    with pytest.raises(ValueError, match=words):
        search.fit(*data())


def test_a_used_up_generator_says_what_to_do():
    X, y = data()
    search = small(HyperbandSearchCV, SVC(), {"C": [0.1, 1, 10, 100]}, cv=KFold(3).split(X))
    search.fit(X, y)
    with pytest.raises(ValueError, match="used only once: pass a list of its splits"):
        search.fit(X, y)


@parametrize_searches
@pytest.mark.parametrize("cv", [GroupKFold(3), StratifiedGroupKFold(3), LeaveOneGroupOut()])
def test_missing_groups_say_what_to_do(search_class, cv):
    with pytest.raises(ValueError, match=r"'groups' parameter should not be None.*Pass groups to"):
        small(search_class, SVC(), {"C": [0.1, 1, 10, 100]}, cv=cv).fit(*data())


@pytest.mark.parametrize("scoring", ["accurracy", ["f1", "accurracy"], {"mine": "accurracy"}])
def test_a_misspelled_scorer_gets_a_guess(scoring):
    search = small(HyperbandSearchCV, SVC(), {"C": [1, 10, 100]}, scoring=scoring, refit=False)
    for call in (search.fit, search.plan):
        with pytest.raises(ValueError, match=r"got 'accurracy'\. Did you mean 'accuracy'"):
            call(*data())


def test_a_wrong_name_does_not_get_all_others():
    estimator = make_pipeline(StandardScaler(), SVC())
    with pytest.raises(ValueError, match=r"Did you mean 'svc__C'\?.*\] and \d+ more") as error:
        small(HyperbandSearchCV, estimator, {"C": [1, 10, 100]}).fit(*data())
    assert str(error.value).count("', '") == 9
