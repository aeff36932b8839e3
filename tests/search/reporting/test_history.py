"""`history_` has all that a search did: promotions can be rebuilt from it alone."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from search.common import SEARCHES, Known, data, small
from sklearn_halving import HyperbandSearchCV, VarianceHalvingSearchCV

pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.FitFailedWarning"
)
SPACE = {"value": [0.1, 0.2, 0.5, 0.7]}


def refuse_large(estimator, X, y):
    if estimator.value > 0.6:
        raise RuntimeError("values above 0.6 have no score")
    return estimator.value


# -------------------------------------------------------------------------- outcomes


def test_times_are_those_of_the_fits():
    before = time.time()
    history = small(HyperbandSearchCV, SVC(), {"C": [0.1, 1, 10]}).fit(*data()).history_
    assert history["started"].min() == 0
    assert (history["ended"] <= time.time() - before + 0.01).all()
    lasted = history["ended"] - history["started"]
    np.testing.assert_allclose(lasted, history["fit_time"] + history["score_time"], atol=1e-5)
    # Without workers one fit follows the other; the two clocks may differ a little.
    assert (history["started"][1:].to_numpy() >= history["ended"][:-1].to_numpy() - 1e-3).all()
    assert (history["outcome"] == "ok").all()
    assert history["error"].isna().all()


@pytest.mark.walk
@pytest.mark.parametrize("search_class", SEARCHES)
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_scorer_that_raises_is_told_with_its_error(search_class, n_jobs):
    search = small(search_class, Known(), SPACE, scoring=refuse_large, n_jobs=n_jobs)
    history = search.fit(*data()).history_
    params = dict(zip(search.cv_results_["candidate"], search.cv_results_["params"], strict=True))
    is_bad = history["candidate"].map(lambda arm: params[arm]["value"] > 0.6)
    assert is_bad.any()
    assert history["failed"].tolist() == is_bad.tolist()
    assert history["outcome"].tolist() == np.where(is_bad, "scorer_failed", "ok").tolist()
    assert history["error"][is_bad].str.contains("values above 0.6 have no score").all()
    assert history["error"][~is_bad].isna().all()
    assert history["test_score"][is_bad].isna().all()
    assert search.best_params_ == {"value": 0.5}


def test_one_of_several_scorers_raises():
    """The others keep their scores, as in GridSearchCV."""
    scoring = {"good": lambda estimator, X, y: estimator.value, "bad": refuse_large}
    options = {"scoring": scoring, "refit": "good", "error_score": -1, "cv": 3}
    grid = GridSearchCV(Known(), SPACE, **options).fit(*data())
    search = VarianceHalvingSearchCV(Known(), SPACE, random_state=0, **options).fit(*data())
    history = search.history_
    is_bad = history["candidate"] == 3
    assert history["failed"].tolist() == is_bad.tolist()
    assert set(history["test_bad"][is_bad]) == {-1}
    assert set(history["test_good"][is_bad]) == {0.7}
    for name in ("mean_test_good", "mean_test_bad"):
        np.testing.assert_allclose(search.cv_results_[name], grid.cv_results_[name])
