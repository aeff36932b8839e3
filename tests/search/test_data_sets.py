"""Real data, end to end: what the search finds is near to what an exhaustive search finds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_halving import HyperbandSearchCV


@pytest.mark.parametrize("resource", ["n_samples", "n_components"])
def test_numbers_and_names(resource):
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X["sex"] = np.where(X["sex"] == 1, "a", "b")
    X.loc[::7, "bmi"] = np.nan
    features = make_pipeline(
        SimpleImputer(), StandardScaler(), RBFSampler(gamma=0.05, random_state=0)
    )
    names = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=10)
    columns = make_column_transformer(
        (features, make_column_selector(dtype_include="number")),
        (names, make_column_selector(dtype_exclude="number")),
    )
    path = "columntransformer__pipeline__rbfsampler__n_components"
    params = {"resource": path, "max_resources": 81} if resource == "n_components" else {}
    search = HyperbandSearchCV(
        make_pipeline(columns, Ridge()), {"ridge__alpha": np.logspace(-3, 3, 25)}, cv=2,
        random_state=0, **params,
    ).fit(X, y)  # fmt: skip
    grid = {"ridge__alpha": np.logspace(-3, 3, 7)}
    exhaustive = GridSearchCV(search.best_estimator_, grid, cv=2)
    assert search.best_score_ > exhaustive.fit(X, y).best_score_ - 0.02
