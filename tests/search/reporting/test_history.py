"""`history_` has all that a search did: promotions can be rebuilt from it alone."""

from __future__ import annotations

import time
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import SVC

from search.common import SEARCHES, Known, data, numbered, small
from sklearn_halving import HyperbandSearchCV, VarianceHalvingSearchCV

pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.FitFailedWarning"
)
SPACE = {"value": [0.1, 0.2, 0.5, 0.7]}


def refuse_large(estimator, X, y):
    if estimator.value > 0.6:
        raise RuntimeError("values above 0.6 have no score")
    return estimator.value


# ------------------------------------------------------------------------- promotions


def rebuilt(history: pd.DataFrame) -> dict[tuple[int, int, int], list[int]]:
    """Return who should be on each rung: the best of the rung before, as many as went on."""
    means = history.groupby(["loop", "bracket", "rung", "candidate"])["test_score"].agg(
        lambda scores: scores.mean(skipna=False)
    )
    expected = {}
    for key in {index[:3] for index in means.index}:
        loop, bracket, rung = key
        if rung == 0:
            continue
        before, now = means.loc[(loop, bracket, rung - 1)], means.loc[key]
        # If none has a score, they go on in the order of their numbers.
        known = before.dropna() if before.notna().any() else before.fillna(0)
        ordered = sorted(known.items(), key=lambda pair: (-pair[1], pair[0]))
        expected[key] = sorted(candidate for candidate, _ in ordered[: len(now)])
    return expected


class Among:
    """A distribution of few values, so that there are ties."""

    def __init__(self, values):
        self.values = values

    def rvs(self, random_state=None):
        return self.values[random_state.randint(len(self.values))]


@settings(max_examples=12, deadline=None)
@given(
    values=st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4, np.nan]), min_size=1, max_size=9),
    nan_below=st.sampled_from([0, 30, 80]),
    n_loops=st.integers(1, 2),
    seed=st.integers(0, 3),
)
def test_promotions_of_hyperband(values, nan_below, n_loops, seed):
    """Ties, values without a score, and those without one on few rows."""
    search = HyperbandSearchCV(
        Known(nan_below=nan_below), {"value": Among(values)}, cv=KFold(2), min_resources=12,
        n_candidates=17, n_loops=n_loops, random_state=seed, refit=False,
    )  # fmt: skip
    with suppress(ValueError):  # where nobody has a score
        search.fit(*numbered(216))
    history, table = search.history_, search.cv_results_
    own = pd.DataFrame(table).assign(loop=table.get("loop", 0))
    in_table = own.groupby(["loop", "bracket", "iter"])["candidate"].apply(sorted).to_dict()
    for place, expected in rebuilt(history).items():
        assert in_table[place] == expected
    n_rungs = history.groupby(["loop", "bracket"])["rung"].nunique().tolist()
    assert len(rebuilt(history)) == sum(n_rungs) - len(n_rungs)


# -------------------------------------------------------------------------- outcomes


@pytest.mark.parametrize("search_class", [HyperbandSearchCV])
def test_times_are_those_of_the_fits(search_class):
    before = time.time()
    history = small(search_class, SVC(), {"C": [0.1, 1, 10]}).fit(*data()).history_
    assert history["started"].min() == 0
    assert (history["ended"] <= time.time() - before + 0.01).all()
    lasted = history["ended"] - history["started"]
    np.testing.assert_allclose(lasted, history["fit_time"] + history["score_time"], atol=1e-5)
    # Without workers one fit follows the other; the two clocks may differ a little.
    assert (history["started"][1:].to_numpy() >= history["ended"][:-1].to_numpy() - 1e-3).all()
    assert (history["outcome"] == "ok").all()
    assert history["error"].isna().all()


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
