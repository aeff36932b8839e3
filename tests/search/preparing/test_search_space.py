"""Which places of a grid the brackets get, and grids that are too large to be listed."""

from __future__ import annotations

import re
import tracemalloc
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import loguniform, randint, uniform
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from search.common import SEARCHES, data, small
from sklearn_halving import AdaptiveSearchCV, HyperbandSearchCV
from sklearn_halving.search.preparing._space import SearchSpace

# --------------------------------------------------------------------------- huge grids

HUGE = {name: np.linspace(0.01, 0.99, 1000) for name in ("alpha", "l1_ratio", "eta0")}
"""10^9 candidates: a list of them would not fit in memory."""
MOST_BYTES = 20 * 2**20


@contextmanager
def little_memory():
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("search_class", SEARCHES)
@pytest.mark.parametrize("method", ["fit", "plan"])
def test_a_huge_grid_that_would_be_tried_whole_is_refused_at_once(search_class, method):
    search = search_class(SGDClassifier(), HUGE, cv=3, random_state=0)
    with little_memory(), pytest.raises(ValueError, match=r"1000000000 candidates.*n_candidates"):
        getattr(search, method)(*data(300))


@pytest.mark.walk
@pytest.mark.parametrize("search_class", SEARCHES)
@pytest.mark.parametrize(
    "space",
    [HUGE, [HUGE, HUGE], [{"alpha": range(1, 10**7)}, {"alpha": range(10**7, 1, -1)}]],
    ids=["one", "two with the same names", "ranges"],
)
def test_some_candidates_of_a_huge_grid_are_drawn_without_listing_it(search_class, space):
    params = {} if search_class is HyperbandSearchCV else {"n_fits": 60}
    search = search_class(SGDClassifier(), space, n_candidates=9, cv=3, random_state=0, **params)
    with little_memory():
        search.fit(*data(300))
    assert len({str(params) for params in search.cv_results_["params"]}) == 9


def test_more_candidates_than_an_index_can_count_are_unlimited():
    assert SearchSpace({name: randint(1, 9999) for name in "abcdefgh"}).size is None


FOREST = make_pipeline(RandomForestClassifier(2))


@pytest.mark.parametrize(
    ("values", "right"),
    [
        ((1e-3, 1, "log-uniform"), "scipy.stats.loguniform(0.001, 1)"),
        (SimpleNamespace(low=2, high=5), "scipy.stats.uniform(2, 3)"),
        (loguniform(2, 64), "sklearn_halving.spaces.loguniform_int(2, 64)"),
        (uniform(2, 8), "scipy.stats.randint(2, 11)"),
    ],
)
@pytest.mark.parametrize("search_class", SEARCHES)
def test_a_range_in_the_wrong_form_gets_the_right_one(search_class, values, right):
    space = {"randomforestclassifier__max_depth": values}
    with pytest.raises(ValueError, match=re.escape(f"Use {right}.")):
        small(search_class, FOREST, space).fit(*data())


@pytest.mark.filterwarnings("error")
def test_a_tuple_that_looks_like_a_range_is_hinted():
    def plan(values):
        return AdaptiveSearchCV(SGDClassifier(), {"alpha": values}).plan(*data())

    with pytest.raises(
        UserWarning, match=r"two values. Use scipy.stats.uniform\(0.5, 1.5\), or a list"
    ):
        plan((0.5, 2.0))
    for values in ([0.5, 2.0], (1e-5, 1e-6), (1, 10), (0.5, 1.0, 2.0), (False, True)):
        plan(values)


def test_a_number_that_may_be_a_share_can_be_continuous():
    space = {"randomforestclassifier__min_samples_leaf": uniform(0.01, 0.2)}
    assert len(small(HyperbandSearchCV, FOREST, space).plan(*data()))


@pytest.mark.parametrize("search_class", SEARCHES)
def test_a_text_that_is_no_metric_is_refused_as_refit(search_class):
    with pytest.raises(ValueError, match="refit='one_standard_error' must be True, False or a"):
        small(search_class, FOREST, {}, refit="one_standard_error").fit(*data())


def test_a_distribution_without_its_parameters_is_named():
    search = AdaptiveSearchCV(SVC(), {"C": loguniform}, n_fits=10)
    with pytest.raises(ValueError, match=r"distribution of C .* scipy.stats.loguniform\(a, b\)"):
        search.fit(*data())
    small(AdaptiveSearchCV, SVC(), {"C": uniform}, initial_candidates=[]).fit(*data())


def test_a_class_is_no_estimator():
    with pytest.raises(TypeError, match=r"an instance, SVC\(\), not the class SVC"):
        AdaptiveSearchCV(SVC, "auto").fit(*data())


def test_a_distribution_with_invalid_bounds_is_named():
    search = HyperbandSearchCV(SGDClassifier(), {"alpha": loguniform(0, 1)})
    with pytest.raises(ValueError, match="distribution of alpha has invalid bounds"):
        search.fit(*data())
