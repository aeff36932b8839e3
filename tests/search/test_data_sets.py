"""Real data, end to end: what the search finds is near to what an exhaustive search finds."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_halving import HyperbandSearchCV

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture(scope="module")
def folder() -> Path:
    folder = Path(os.environ.get("SKLEARN_HALVING_DATA", BESIDE))
    if not folder.is_dir():
        # The machines of GitHub cannot have the data; elsewhere, CI must run every test.
        in_ci = os.environ.get("CI") and not os.environ.get("GITHUB_ACTIONS")
        assert not in_ci, f"no data in {folder}: set SKLEARN_HALVING_DATA"
        pytest.skip(f"no data in {folder}")
    return folder


def mixed_types(numeric_step):
    numbers = make_pipeline(SimpleImputer(), numeric_step)
    # pandas' missing strings are no category of their own in all releases
    fill = SimpleImputer(strategy="constant", fill_value="missing")
    names = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=10)
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (make_pipeline(fill, names), make_column_selector(dtype_exclude="number")),
    )


@pytest.mark.parametrize("resource", ["n_samples", "n_components"])
def test_wine(folder, resource):
    columns = [f"c{i}" for i in range(12)]
    wines = [
        pd.read_csv(folder / f"winequality-{kind}.csv", names=columns).assign(kind=kind)
        for kind in ("red", "white")
    ]
    frame = pd.concat(wines, ignore_index=True).sample(1000, random_state=0)
    X, y = frame.drop(columns="c11"), frame["c11"]
    features = make_pipeline(StandardScaler(), RBFSampler(gamma=0.05, random_state=0))
    path = "columntransformer__pipeline-1__pipeline__rbfsampler__n_components"
    pipeline = make_pipeline(mixed_types(features), Ridge())
    params = {"resource": path, "max_resources": 81} if resource == "n_components" else {}
    search = HyperbandSearchCV(
        pipeline, {"ridge__alpha": np.logspace(-3, 3, 25)}, cv=2, random_state=0, **params
    ).fit(X, y)
    grid = {"ridge__alpha": np.logspace(-3, 3, 7)}
    exhaustive = GridSearchCV(search.best_estimator_, grid, cv=2)
    assert search.best_score_ > exhaustive.fit(X, y).best_score_ - 0.02
