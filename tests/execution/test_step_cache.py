"""Steps of a pipeline that do not differ are fitted once for each split and level."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, f_classif, mutual_info_classif
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, StandardScaler

from search.resuming import table
from sklearn_halving import HyperbandSearchCV
from sklearn_halving.execution._step_cache import StepCache


class Uncached(Pipeline):
    """A pipeline whose steps are not cached, because its class is not known."""


X, y = make_classification(240, 12, random_state=0)
GRID = {"logisticregression__C": [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0]}
FITS: list[int] = []
"""The number of rows of each fit of a scaler of scikit-learn, in this process."""


@pytest.fixture(autouse=True)
def _count(monkeypatch):
    """Count the fits of `MaxAbsScaler` and `MinMaxScaler`."""
    for scaler in (MaxAbsScaler, MinMaxScaler):
        monkeypatch.setattr(scaler, "fit", counted(scaler.fit))


def counted(fit):
    def fit_and_count(self, X, y=None):
        FITS.append(len(X))
        return fit(self, X, y)

    return fit_and_count


class Own(TransformerMixin, BaseEstimator):
    """A transformer of the user, which may draw random numbers."""

    def fit(self, X, y=None, sample_weight=None):
        FITS.append(len(X))
        self.mean_ = np.average(X, axis=0, weights=sample_weight)
        return self

    def transform(self, X):
        return X - self.mean_


class InPlace(ClassifierMixin, BaseEstimator):
    """Scribbles over its input, as estimators with ``copy=False`` may do."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        X *= self.factor
        self.mean_ = X.mean()
        X[:] = np.nan
        return self

    def predict(self, X):
        return self.classes_[(X.mean(axis=1) > self.mean_).astype(int)]


def searched(pipeline, grid, search_class=HyperbandSearchCV, fit_params=None, **params):
    FITS.clear()
    params = {"random_state": 0, "cv": 3, **params}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return search_class(pipeline, grid, **params).fit(X.copy(), y, **(fit_params or {}))


def uncached(pipeline):
    return Uncached(pipeline.steps)


def test_a_step_that_never_changes_is_fitted_once_for_each_split_and_level():
    pipeline = make_pipeline(MaxAbsScaler(), LogisticRegression())
    off = searched(uncached(pipeline), GRID)
    assert len(FITS) == off.n_fits_ + 1  # the refit
    on = searched(pipeline, GRID)
    n_different = len(on.history_[["split", "n_train"]].drop_duplicates())
    assert n_different < on.n_fits_
    assert len(FITS) == n_different + 1
    assert table(on) == table(off)
    assert on.best_estimator_.memory is None


@pytest.mark.walk
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("backend", ["loky", "threading"])
@pytest.mark.parametrize(
    ("pipeline", "grid"),
    [
        (make_pipeline(StandardScaler(), PCA(), LogisticRegression()), GRID),
        (
            make_pipeline(StandardScaler(), PCA(), SelectKBest(f_classif), LogisticRegression()),
            {**GRID, "pca__n_components": [6, 8], "selectkbest__k": [2, 4]},
        ),
        (make_pipeline(StandardScaler(copy=False), InPlace()), {"inplace__factor": [1, 2, 3, 4]}),
        (
            make_pipeline(
                make_column_transformer((SimpleImputer(), [0, 1]), remainder=StandardScaler()),
                SGDClassifier(),
            ),
            {"sgdclassifier__alpha": [1e-5, 1e-4, 1e-3, 1e-2, 1e-1]},
        ),
    ],
    ids=["last step", "all steps", "in place", "columns"],
)
def test_results_are_the_same_to_the_last_bit(pipeline, grid, backend, n_jobs):
    off = searched(uncached(pipeline), grid)
    with parallel_config(backend, n_jobs=n_jobs):
        on = searched(pipeline, grid, return_train_score=True)
    scores = "mean_test_score"
    assert on.cv_results_[scores].tolist() == off.cv_results_[scores].tolist()
    assert on.best_params_ == off.best_params_
    assert (
        on.best_estimator_.predict(X.copy()).tolist()
        == off.best_estimator_.predict(X.copy()).tolist()
    )


def test_models_that_continue_have_cached_steps_too():
    pipeline = make_pipeline(MaxAbsScaler(), SGDClassifier(random_state=0))
    grid = {"sgdclassifier__alpha": np.logspace(-5, -1, 8).tolist()}
    options = {"resource": "partial_fit", "max_resources": 8}
    off = searched(uncached(pipeline), grid, **options)
    on = searched(pipeline, grid, **options)
    assert len(FITS) == on.n_splits_ + 1
    assert table(on) == table(off)


@pytest.mark.parametrize("why", ["own class", "fit parameters", "own memory", "verbose"])
def test_other_pipelines_are_fitted_as_usual(why, tmp_path, capsys):
    pipeline = make_pipeline(Own(), LogisticRegression())
    fit_params = {}
    if why == "fit parameters":
        pipeline = make_pipeline(StandardScaler(), MaxAbsScaler(), LogisticRegression())
        fit_params = {"standardscaler__sample_weight": np.ones(len(y))}
    elif why == "own memory":
        pipeline.set_params(memory=str(tmp_path / "cache"))
    elif why == "verbose":
        pipeline.set_params(verbose=True)
    search = searched(pipeline, GRID, fit_params=fit_params)
    if why == "own memory":
        assert any((tmp_path / "cache").rglob("output.pkl"))
        assert search.best_estimator_.memory == str(tmp_path / "cache")
    else:
        assert len(FITS) == search.n_fits_ + 1


@pytest.mark.parametrize(
    ("step", "is_cached"),
    [
        (StandardScaler(), True),
        (StandardScaler(copy=False), False),  # changes the array that it is given
        (PCA(random_state=3), True),
        (PCA(), False),  # its random state is not set
        (SelectKBest(f_classif), True),
        (SelectKBest(mutual_info_classif), False),  # draws random numbers
        (FunctionTransformer(np.log1p), True),
        (FunctionTransformer(np.random.permutation), False),
        (FunctionTransformer(eval("lambda x: x", {})), False),  # of no module
        (make_column_transformer((Own(), [0])), False),
        (Own(), False),
    ],
)
def test_automatically_only_what_is_certain_to_be_deterministic(step, is_cached):
    cache, steps, positive = StepCache(), [], abs(X)
    for _ in range(2):
        pipeline = make_pipeline(step, LogisticRegression())
        with cache.memory_of(pipeline, (0, len(y)), positive):
            steps.append(pipeline.fit(positive, y).steps[0][1])
        assert pipeline.memory is None
    assert (steps[0] is steps[1]) == is_cached


def test_the_cache_is_bounded_and_stays_in_its_process():
    big = X.nbytes
    for max_bytes, expected in ((3 * big, True), (big // 2, False)):
        cache, steps = StepCache(max_bytes=max_bytes), []
        for split in (0, 1, 2, 3, 3):
            pipeline = make_pipeline(StandardScaler(), LogisticRegression())
            with cache.memory_of(pipeline, (split,), X):
                steps.append(pipeline.fit(X, y)[0])
        assert (steps[-1] is steps[-2]) == expected
        assert len(pickle.dumps(cache)) < 1000


def test_a_clone_that_is_fitted_on_other_rows_has_steps_of_its_own():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    with StepCache().memory_of(pipeline, (0,), X):
        pipeline.fit(X, y)
        half = clone(pipeline).fit(X[:120], y[:120])
    assert half[0].n_samples_seen_ == 120
