"""Columns of the table of results."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from sklearn_halving import BanditSearchCV, VarianceHalvingSearchCV

X, y = load_iris(return_X_y=True)
GRID = {"n_neighbors": [1, 5]}


def split_columns(search: VarianceHalvingSearchCV | BanditSearchCV) -> list[str]:
    return [name for name in search.cv_results_ if name.startswith("split")]


@pytest.mark.parametrize(
    "search",
    [
        VarianceHalvingSearchCV(
            KNeighborsClassifier(), GRID, n_fits=240, return_train_score=True, random_state=0
        ),
        BanditSearchCV(KNeighborsClassifier(), GRID, policy="uniform", n_fits=240, random_state=0),
    ],
    ids=["variance_halving", "uniform"],
)
def test_very_many_splits_have_no_columns_of_their_own(search) -> None:
    search.fit(X, y)
    assert search.n_splits_ > 100
    assert split_columns(search) == []
    results, history = search.cv_results_, search.history_
    of_candidate = history.groupby("candidate")["test_score"]
    assert results["n_fits"].tolist() == of_candidate.size().tolist()
    np.testing.assert_allclose(results["std_test_score"], of_candidate.std(ddof=0))
    assert np.isfinite(results["mean_test_score"]).all()


def test_splits_that_cv_fixes_always_have_columns() -> None:
    cv = list(RepeatedStratifiedKFold(n_splits=2, n_repeats=51, random_state=0).split(X, y))
    search = BanditSearchCV(
        KNeighborsClassifier(), GRID, policy="uniform", n_fits=204, cv=cv, random_state=0
    ).fit(X, y)
    assert len(split_columns(search)) == 102
