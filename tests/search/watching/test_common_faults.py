"""Data and fit parameters that no candidate accepts are found after a few fits."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from search.common import SEARCHES, small
from sklearn_halving import HyperbandSearchCV

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
y = (X[:, 0] + 0.3 * rng.normal(size=120) > 0).astype(int)
WITH_NAN = X.copy()
WITH_NAN[::3, 2] = np.nan
SPACE = {"C": loguniform(1e-3, 1e3)}
IN_PIPELINE = {"svc__C": loguniform(1e-3, 1e3)}
SVM = make_pipeline(StandardScaler(), SVC())


class Picky(ClassifierMixin, BaseEstimator):
    """Fails for most of its numbers, with the same words each time."""

    def __init__(self, rate=1.0):
        self.rate = rate

    def fit(self, X, y):
        if self.rate > 0.1:
            raise ValueError("the fit diverged")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0).astype(int)]


@pytest.mark.walk
@pytest.mark.parametrize("search_class", SEARCHES)
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    ("estimator", "space", "data", "fit_params", "cause"),
    [
        (SVC(), SPACE, WITH_NAN, {}, "Input X contains NaN"),
        (SVM, IN_PIPELINE, WITH_NAN, {}, "Input X contains NaN"),
        (SVC(), SPACE, X, {"weight": np.ones(120)}, "unexpected keyword argument 'weight'"),
        (SVM, IN_PIPELINE, X, {"sample_weight": np.ones(120)}, "does not accept the sample_w"),
        (SVM, IN_PIPELINE, X, {"svm__sample_weight": np.ones(120)}, "KeyError: 'svm'"),
        (SVM, IN_PIPELINE, X, {"svc__weight": np.ones(120)}, "unexpected keyword .* 'weight'"),
    ],
)
def test_one_fit_is_enough(search_class, n_jobs, estimator, space, data, fit_params, cause):
    search = small(search_class, estimator, space, cv=3)
    with warnings.catch_warnings(), parallel_config("threading", n_jobs=n_jobs):
        warnings.simplefilter("ignore")
        expected = rf"All the 1 fits failed\.\n(.|\n)*does not depend on the(.|\n)*{cause}"
        with pytest.raises(ValueError, match=expected):
            search.fit(data, y, **fit_params)
    if n_jobs == 1:
        assert search.n_fits_ == 1


@pytest.mark.filterwarnings("ignore:Models are fitted from scratch")
def test_infinite_values():
    search = HyperbandSearchCV(SVC(), SPACE, resource="max_iter", max_resources=9)
    with pytest.raises(ValueError, match=r"All the 1 fits failed(.|\n)*Input X contains infinity"):
        search.fit(np.where(X > 2, np.inf, X), y)


def n_fits_and_failures(estimator, space, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = HyperbandSearchCV(estimator, space, cv=3, random_state=0, brackets="all")
        search.fit(data, y)
    return search.n_fits_, int(search.history_["failed"].sum())


@pytest.mark.parametrize(
    ("estimator", "space"),
    [
        # Another kind of candidate may accept what the first one refuses.
        (Pipeline([("clf", SVC())]), {"clf": [SVC(), SVC(C=2), HistGradientBoostingClassifier()]}),
        # A number of an earlier step may remove the column.
        (
            make_pipeline(VarianceThreshold(), LogisticRegression()),
            {"variancethreshold__threshold": [0.0, 0.1, 0.2, 1.1]},
        ),
        # The error looks the same for all, but depends on a number.
        (Picky(), {"rate": [9, 8, 7, 6, 5, 4, 3, 2, 1, 0.05]}),
    ],
    ids=["kinds", "earlier step", "equal errors"],
)
def test_a_failing_fit_costs_its_pull_and_not_the_search(estimator, space):
    data = X if isinstance(estimator, Picky) else WITH_NAN * [1, 1, 0.5]
    if not isinstance(estimator, Picky):
        data[:, :2] *= 2
    n_fits, n_failed = n_fits_and_failures(estimator, space, data)
    assert 0 < n_failed < n_fits


def test_every_kind_must_fail():
    space = {"kernel": ["linear", "rbf"], "C": [0.1, 1.0, 10.0, 100.0]}
    search = HyperbandSearchCV(SVC(), space, cv=3, random_state=0)
    with pytest.raises(ValueError, match=r"All the \d fits failed(.|\n)*Input X contains NaN"):
        search.fit(WITH_NAN, y)
    kernels = [search.cv_results_["param_kernel"][row] for row in range(search.n_fits_)]
    assert set(kernels) == {"linear", "rbf"}
    assert search.n_fits_ < search.plan(WITH_NAN, y)["n_fits"].iloc[0]


def test_a_fault_in_some_splits_does_not_end_a_search_with_a_score_for_failed_fits():
    data = X.copy()
    data[0, 0] = np.nan
    splits = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(1, 60))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = HyperbandSearchCV(
            LogisticRegression(), {"C": [0.1, 1.0, 10.0]}, cv=splits, error_score=0.0, refit=False
        ).fit(data, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


class SlowIfFinite(LogisticRegression):
    """Refuses missing values at once, and takes some time for other data."""

    def fit(self, X, y):
        super().fit(X, y)
        time.sleep(0.2)
        return self


@pytest.mark.parametrize("n_jobs", [1, 4])
@pytest.mark.parametrize("is_fault_first", [True, False])
def test_the_first_requested_fit_decides_for_any_number_of_workers(n_jobs, is_fault_first):
    data = X.copy()
    data[0, 0] = np.nan
    splits = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(1, 60))]
    search = HyperbandSearchCV(
        SlowIfFinite(),
        {"C": [0.1, 1.0, 10.0]},
        cv=splits if is_fault_first else splits[::-1],
        refit=False,
        n_jobs=n_jobs,
    )
    with warnings.catch_warnings(), parallel_config("threading"):
        warnings.simplefilter("ignore")
        if is_fault_first:
            with pytest.raises(ValueError, match="does not depend on the candidate"):
                search.fit(data, y)
        else:
            search.fit(data, y)
            assert search.n_fits_ > 2
