"""Boosting libraries that stop early get an evaluation set from the training rows."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import make_classification
from sklearn.model_selection import GroupKFold, TimeSeriesSplit
from sklearn.pipeline import make_pipeline

from resources.boosting import boosting, count_trees
from search.resuming import cut_after
from sklearn_halving import HyperbandSearchCV

X, Y = make_classification(300, 8, flip_y=0.2, random_state=0)
X = np.column_stack([X, np.arange(300)])  # the number of the row
N_ROUNDS = 80
FIT_AND_EVALUATE = ("fit", "transform")
TRANSFORMED: list[tuple[str, list[int]]] = []


class Noting(TransformerMixin, BaseEstimator):
    """Notes the numbers of the rows that it sees, and removes the column with them."""

    def fit(self, X, y=None):
        return self

    def fit_transform(self, X, y=None):
        TRANSFORMED.append(("fit", X[:, -1].astype(int).tolist()))
        return X[:, :-1]

    def transform(self, X):
        TRANSFORMED.append(("transform", X[:, -1].astype(int).tolist()))
        return X[:, :-1]


def stopping(library, **params):
    own = {"n_estimators": N_ROUNDS, "learning_rate": 0.4, "early_stopping_rounds": 3}
    return boosting(library, **own | params)


def depths(step=""):
    return {f"{step}max_depth": [2, 3, 4]}


def searched(estimator, space, fit_params=None, y=Y, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        search = HyperbandSearchCV(estimator, space, random_state=0, **{"cv": 3, **params})
        return search.fit(X, y, **(fit_params or {}))


@pytest.mark.parametrize("resource", ["n_samples", "n_estimators"])
def test_a_search_with_early_stopping_and_its_refit(library, resource):
    search = searched(stopping(library), depths(), resource=resource)
    assert not search.history_["failed"].any()
    best = search.best_estimator_
    assert 1 <= count_trees(best) < N_ROUNDS
    # Early stopping is off, so another fit with as many rounds is the same model.
    params = search.best_params_ | {"n_estimators": count_trees(best)}
    same = stopping(library, early_stopping_rounds=None, **params)
    assert np.allclose(same.fit(X, Y).predict_proba(X), best.predict_proba(X))


def test_the_evaluation_set_is_cut_from_the_training_rows_and_transformed(library):
    TRANSFORMED.clear()
    pipeline = make_pipeline(Noting(), stopping(library))
    step = pipeline.steps[-1][0] + "__"
    weights = {f"{step}sample_weight": np.linspace(1, 2, 300)}
    search = searched(pipeline, depths(step), weights, brackets="all", cv=3)
    assert not search.history_["failed"].any()
    pairs = [(a[1], b[1]) for a, b in pairwise(TRANSFORMED) if (a[0], b[0]) == FIT_AND_EVALUATE]
    assert len(pairs) >= search.n_fits_
    assert all(not set(train) & set(held_out) for train, held_out in pairs)
    fitted = [len(rows) for kind, rows in TRANSFORMED if kind == "fit"]
    assert max(fitted[:-1]) == 180
    assert fitted[-1] == 300  # the refit has all rows


def held_out_rows(library, **params):
    """Return pairs of training rows and rows for early stopping."""
    TRANSFORMED.clear()
    pipeline = make_pipeline(Noting(), stopping(library))
    searched(pipeline, depths(pipeline.steps[-1][0] + "__"), refit=False, **params)
    return [(np.array(a[1]), np.array(b[1])) for a, b in pairwise(TRANSFORMED) if a[0] == "fit"]


def test_groups_stay_together(need):
    groups = np.arange(300) % 25
    pairs = held_out_rows(need("lightgbm"), cv=GroupKFold(3), fit_params={"groups": groups})
    for train, held_out in pairs:
        if len(train) > 150:  # smaller subsets may divide one group
            assert not set(groups[train]) & set(groups[held_out])
            assert 0.1 <= len(held_out) / (len(train) + len(held_out)) < 0.2


def test_time_goes_forward(need):
    for train, held_out in held_out_rows(need("lightgbm"), cv=TimeSeriesSplit(3)):
        assert train.max() < held_out.min()
        assert len(held_out) == round(0.1 * (len(train) + len(held_out)))


@pytest.mark.parametrize("cv", [3, GroupKFold(3), TimeSeriesSplit(3)])
def test_a_row_that_alone_has_a_label_is_trained_on(cv, need):
    rows = np.arange(290, 10, -20)
    labels = (np.arange(300)[:, None] == rows).astype(int)
    groups = {"groups": np.arange(300) // 3} if isinstance(cv, GroupKFold) else {}
    pairs = held_out_rows(need("xgboost"), cv=cv, y=labels, fit_params=groups)
    assert all(len(held_out) > 0 for _, held_out in pairs)
    assert not set(rows) & {row for _, held_out in pairs for row in held_out}


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_an_evaluation_set_of_the_user_is_left_alone(need):
    lightgbm = need("lightgbm")
    fit_params = {"eval_set": [(X[:40], Y[:40])]}
    search = searched(stopping(lightgbm), depths(), fit_params, refit=False)
    assert not search.history_["failed"].any()
    assert all(outcome.n_rounds is None for outcome in search._results.fits.outcomes)


def test_callbacks_ask_for_early_stopping_too(need):
    lightgbm = need("lightgbm")
    fit_params = {"callbacks": [lightgbm.early_stopping(3, verbose=False)]}
    estimator = stopping(lightgbm).set_params(early_stopping_rounds=None)
    search = searched(estimator, depths(), fit_params)
    assert count_trees(search.best_estimator_) == search.best_estimator_.n_estimators < N_ROUNDS


def test_the_answer_does_not_depend_on_n_jobs_or_a_resume(need, tmp_path):
    estimator = stopping(need("lightgbm"))
    first = searched(estimator, depths(), checkpoint=tmp_path / "j")
    for n_left in (first.n_fits_, 3):
        cut_after(tmp_path / "j", n_left)
        again = searched(estimator, depths(), checkpoint=tmp_path / "j", n_jobs=2)
        assert again.best_estimator_.n_estimators == first.best_estimator_.n_estimators
        scores = "mean_test_score"
        assert again.cv_results_[scores].tolist() == first.cv_results_[scores].tolist()
