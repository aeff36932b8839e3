"""What every search shares with GridSearchCV: its API, its attributes, its answer to failures."""

from __future__ import annotations

import threading
import warnings
from functools import partial
from inspect import signature
from typing import ClassVar

import numpy as np
import pytest
from joblib import parallel_backend
from scipy.stats import randint as uniform_int
from scipy.stats import uniform
from sklearn import config_context
from sklearn.base import clone, is_regressor
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import (
    check_dtype_object,
    check_fit2d_1sample,
    parametrize_with_checks,
)

from search.common import (
    FITS,
    SEARCHES,
    WITH_RUNGS,
    Constant,
    Known,
    Noisy,
    Recording,
    data,
    numbered,
    small,
    with_list,
)
from sklearn_halving import AdaptiveSearchCV, BanditSearchCV, HyperbandSearchCV
from sklearn_halving.policies import Hyperband


def expected_failed_checks(search):
    """Return what fails of GridSearchCV too, by scikit-learn's own list."""
    failed = {"check_requires_y_none": "the estimator inside says what it needs in its own words"}
    if is_regressor(search):
        failed["check_supervised_y_2d"] = "a regressor inside takes a y of two dimensions"
    return failed


SPACE = {"max_depth": [1, 2, 3, 4, 5]}
KNOWN = {"value": [0.1, 0.2, 0.3, 0.4, 0.5]}

parametrize_searches = pytest.mark.parametrize("search_class", SEARCHES)
parametrize_with_rungs = pytest.mark.parametrize("search_class", WITH_RUNGS)


CHECKED = [
    (Ridge(), {"alpha": [0.1, 1.0, 2.0, 3.0, 4.0]}),
    (LogisticRegression(), {"C": [0.1, 1.0, 2.0, 3.0, 4.0]}),
    (make_pipeline(PCA(), Ridge()), {"ridge__alpha": [0.1, 1.0, 2.0, 3.0, 4.0]}),
]


def scikit_learn_checks():
    """Parametrise with the checks of all searches. By default, each runs with one of them."""
    searches = [
        small(search_class, *CHECKED[i % len(CHECKED)], cv=2, error_score="raise")
        for i, search_class in enumerate(SEARCHES)
    ]
    for search in searches:
        if type(search) in WITH_RUNGS:
            search.set_params(min_resources=None)  # the data have as few as 10 rows
    checks = with_list(
        parametrize_with_checks(searches, expected_failed_checks=expected_failed_checks)
    )
    for i, case in enumerate(cases := checks.args[1]):
        search, check = getattr(case, "values", case)
        if len(check.func.__name__) % len(SEARCHES) != SEARCHES.index(type(search)):
            marks = [*getattr(case, "marks", []), pytest.mark.full]
            cases[i] = pytest.param(search, check, marks=marks)
    return checks


@pytest.mark.filterwarnings("default")  # scikit-learn's checks warn themselves
@scikit_learn_checks()
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("check", [check_dtype_object, check_fit2d_1sample])
@pytest.mark.parametrize("search_class", [*SEARCHES, GridSearchCV])
def test_checks_in_which_fits_fail_pass_with_the_default_parameters(search_class, check):
    """By default, failed fits do not end the search with their own error."""
    check(search_class.__name__, search_class(LogisticRegression(), {"C": [0.1, 1.0]}))


def result(search):
    """Return all that two equal searches have in common."""
    table = {
        key: np.ma.getdata(column).tolist() if key != "params" else column
        for key, column in search.cv_results_.items()
        if not key.endswith("_time")
    }
    return str(table), search.best_params_, search.best_score_


# ---------------------------------------------------------------------------- the estimator API


@parametrize_searches
def test_has_the_parameters_of_grid_search_with_the_same_defaults(search_class):
    ours = signature(search_class).parameters
    for name, parameter in signature(GridSearchCV).parameters.items():
        if name not in ("estimator", "param_grid"):
            assert repr(ours[name].default) == repr(parameter.default), name
            assert ours[name].kind is parameter.kind


@pytest.mark.filterwarnings("ignore:No numeric parameter varies")
@parametrize_searches
def test_fit_does_not_change_the_estimator_or_the_candidates(search_class):
    tree = DecisionTreeClassifier(random_state=0)
    candidates = [SVC(C=c) for c in (0.1, 1.0, 10.0, 100.0)]
    pipeline = Pipeline([("clf", tree)])
    small(search_class, pipeline, {"clf": candidates}).fit(*data())
    for estimator in [tree, *candidates]:
        assert not hasattr(estimator, "classes_")
    assert pipeline.named_steps["clf"] is tree


# ------------------------------------------------------------------------------- reproducibility


@pytest.fixture(scope="module")
def forest_results():
    """Return the serial result of each search, for an estimator that draws random numbers."""
    X, y = data()
    return {cls: result(forest_search(cls).fit(X, y)) for cls in SEARCHES}


def forest_search(search_class, **params):
    forest = RandomForestClassifier(n_estimators=3)
    return small(search_class, forest, SPACE, return_train_score=True, **params)


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_result_does_not_depend_on_the_workers(search_class, backend, forest_results):
    with parallel_backend(backend, n_jobs=2):
        search = forest_search(search_class).fit(*data())
    assert result(search) == forest_results[search_class]


# ------------------------------------------------------------------------------------- failures


@parametrize_searches
def test_a_failing_fit_counts_and_is_named(search_class):
    space = [{"fails": [True], "value": [0.9]}, {"value": [0.1, 0.2, 0.3, 0.4]}]
    search = small(search_class, Known(), space, random_state=2)
    with pytest.warns() as caught:
        search.fit(*data())
    (failed,) = [w for w in caught if w.category is FitFailedWarning]
    text = str(failed.message)
    assert "fits failed out of a total of" in text
    assert "ArithmeticError: told to fail" in text
    assert "'fails': True" in text
    assert "'value': 0.9" in text
    assert search.best_score_ < 0.9
    scores = search.cv_results_["mean_test_score"]
    failing = np.array([params.get("fails", False) for params in search.cv_results_["params"]])
    assert np.isnan(scores[failing]).all()
    last = len(scores) - failing.sum() + 1
    assert set(search.cv_results_["rank_test_score"][failing]) == {last}


@parametrize_searches
@pytest.mark.filterwarnings("ignore:One or more")
@pytest.mark.parametrize("refit", [True, False])
def test_if_all_scores_are_nan_the_first_candidate_is_chosen_as_in_grid_search(
    search_class, refit
):
    X, y = data()
    # BayesGapSearchCV fits only some of them.
    space = {"value": list(range(30))} if "kernel" in signature(search_class).parameters else KNOWN
    search = small(search_class, Known(nan_below=1000), space, refit=refit)
    with pytest.warns(UserWarning, match="Every mean score is NaN, so the first candidate is"):
        search.fit(X, y)
    results = search.cv_results_
    amounts = results["n_resources"] if "n_resources" in results else results["n_fits"] > 0
    assert search.best_index_ == np.flatnonzero(amounts == amounts.max())[0]
    assert search.best_params_ == results["params"][search.best_index_]
    assert np.isnan(search.best_score_)
    assert results["rank_test_score"][search.best_index_] == 1
    assert hasattr(search, "best_estimator_") == refit
    if refit:
        assert search.best_estimator_.value == search.best_params_["value"]
        assert len(search.predict(X)) == len(X)
    assert np.isnan(getattr(search, "best_probability_", np.nan))
    assert "  best       no candidate has a score" in str(search.summary())


@pytest.mark.filterwarnings("ignore:One or more")
def test_no_candidate_is_chosen_if_none_has_a_score_with_the_largest_resource():
    def score(estimator, X, y):
        return np.nan if estimator.n_rows_ >= 40 else estimator.value

    search = small(HyperbandSearchCV, Known(), KNOWN, scoring=score)
    with pytest.raises(ValueError, match=r"score with the largest resource; .*all_rungs"):
        search.fit(*data())
    assert np.isfinite(search.cv_results_["mean_test_score"]).any()
    among_all = BanditSearchCV(
        Known(),
        KNOWN,
        policy=Hyperband(select="all_rungs"),
        resource="n_samples",
        min_resources=12,
        scoring=score,
        cv=3,
        random_state=0,
    )
    assert among_all.fit(*data()).best_score_ > 0


@parametrize_searches
def test_our_warnings_point_at_this_file_and_come_once(search_class):
    X, y = data()
    space = [{"fails": [True], "value": [0.9]}, {"value": [0.1, 0.2, 0.3, 0.4]}]
    search = small(search_class, Known(), space, random_state=2)
    for call in (
        lambda: search.fit(X, y),
        lambda: cross_val_score(search, X, y, cv=2),
        lambda: make_pipeline(StandardScaler(), search).fit(X, y),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert caught
        assert {w.filename for w in caught} == {__file__}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y)
    assert sorted(w.category.__name__ for w in caught) == ["FitFailedWarning", "UserWarning"]


# ------------------------------------------------------------------------------- scores and refit


@parametrize_searches
def test_a_fit_that_breaks_off_leaves_nothing_of_the_one_before(search_class):
    search = small(search_class, Known(), KNOWN).fit(*data())
    search.set_params(estimator__fails=True, error_score="raise")
    with pytest.raises(ArithmeticError):
        search.fit(*data())
    for name in ("cv_results_", "best_estimator_", "best_score_", "history_"):
        assert not hasattr(search, name), name


@parametrize_searches
def test_the_metric_of_refit_steers(search_class):
    X, y = data()
    scoring = {"good": "accuracy", "bad": make_scorer(accuracy_score, greater_is_better=False)}
    tree = DecisionTreeClassifier(random_state=0)
    good, bad = (
        small(search_class, tree, SPACE, scoring=scoring, refit=name).fit(X, y) for name in scoring
    )
    tables = [search.cv_results_ for search in (good, bad)]
    if search_class in WITH_RUNGS:
        kept = [table["candidate"][table["iter"] == 1].tolist() for table in tables]
    else:
        kept = [table["n_fits"].tolist() for table in tables]
    assert kept[0] != kept[1]


@parametrize_searches
def test_attributes_are_those_of_grid_search(search_class):
    X, y = data()
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)  # in the grid
    search = small(search_class, tree, SPACE).fit(X, y)
    reference = GridSearchCV(tree, SPACE, cv=3).fit(X, y)
    fitted = {n for n in dir(reference) if n.endswith("_") and not n.startswith("_")}
    assert fitted - {n for n in dir(search) if n.endswith("_")} == set()
    assert set(reference.cv_results_) <= set(search.cv_results_)
    for key, column in reference.cv_results_.items():
        assert type(column) is type(search.cv_results_[key]), key
        assert getattr(column, "dtype", None) == getattr(search.cv_results_[key], "dtype", None)
    assert search.n_splits_ >= 3
    assert search.refit_time_ > 0
    assert search.multimetric_ is False
    np.testing.assert_array_equal(search.classes_, [0, 1])
    for name in ("predict", "predict_proba"):
        ours = getattr(search, name)(X)
        np.testing.assert_array_equal(ours, getattr(search.best_estimator_, name)(X))
    assert not hasattr(search, "decision_function")


# ------------------------------------------------------------------------ weights, groups, routing


@parametrize_searches
def test_weights_are_cut_to_the_rows_in_use(search_class):
    FITS.clear()
    search = small(search_class, Recording(), KNOWN)
    search.fit(*numbered(60), sample_weight=np.arange(60.0), scalar=7)
    assert len(FITS) > 10
    for rows, params in zip(FITS.rows, FITS.params, strict=True):
        np.testing.assert_array_equal(params["sample_weight"], rows)
        assert params["scalar"] == 7


@parametrize_with_rungs
def test_subsets_keep_groups_together(search_class):
    groups = np.repeat(np.arange(30), 4)
    FITS.clear()
    small(search_class, Recording(), KNOWN, cv=GroupKFold(3)).fit(*numbered(120), groups=groups)
    n_small = 0
    for rows in FITS.rows:
        sizes = np.bincount(groups[rows], minlength=30)
        assert ((sizes > 0) & (sizes < 4)).sum() <= 1  # the last group may be cut
        n_small += len(rows) < 80
    assert n_small > 0


@parametrize_searches
def test_metadata_routing(search_class):
    X, y = data(240)
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    groups = np.arange(len(y)) % 6
    with config_context(enable_metadata_routing=True):
        estimator = LogisticRegression().set_fit_request(sample_weight=True)
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=False)
        space = {"C": [0.1, 1.0, 2.0, 3.0, 4.0]}
        search = small(search_class, estimator, space, scoring=scorer, cv=GroupKFold(3))
        routed = search.fit(X, y, sample_weight=weights, groups=groups)
        assert routed.n_splits_ >= 3
        expected = clone(routed.best_estimator_).fit(X, y, sample_weight=weights)
        np.testing.assert_array_equal(expected.coef_, routed.best_estimator_.coef_)
        refused = clone(search).set_params(estimator=LogisticRegression())
        with pytest.raises(ValueError, match="sample_weight"):
            refused.fit(X, y, sample_weight=weights, groups=groups)
        weighted = cross_val_score(search, X, y, cv=2, params={"groups": groups})
        assert np.isfinite(weighted).all()


# ------------------------------------------------------------------ inside and around other things


class Seeded(Known):
    """Keeps the random states that it was fitted with."""

    seen: ClassVar[list] = []

    def __init__(self, value=0.5, random_state=None):
        super().__init__(value)
        self.random_state = random_state

    def fit(self, X, y=None):
        self.seen.append(self.random_state)
        return super().fit(X, y)


@parametrize_searches
def test_each_candidate_and_split_has_its_own_random_numbers(search_class):
    X, y = data()
    Seeded.seen.clear()
    search = small(search_class, Seeded(), KNOWN).fit(X, y)
    pulls = set(zip(search.history_["candidate"], search.history_["split"], strict=True))
    assert None not in Seeded.seen
    assert len(set(Seeded.seen)) == len(pulls) + 1  # and the refit
    for random_state in (7, None):
        Seeded.seen.clear()
        search.set_params(estimator__random_state=random_state, random_state=random_state)
        search.fit(X, y)
        assert set(Seeded.seen) == {random_state}


def test_plan_leaves_the_splits_and_candidates_of_fit_alone():
    X, y = make_classification(240, random_state=0)
    scores = []
    for plans in (False, True):
        cv = KFold(3, shuffle=True, random_state=np.random.RandomState(0))
        search = HyperbandSearchCV(
            DecisionTreeClassifier(random_state=0),
            {"max_depth": uniform_int(1, 1000)},
            brackets="all",
            cv=cv,
            random_state=np.random.RandomState(1),
        )
        if plans:
            search.plan(X, y)
        scores.append(search.fit(X, y).cv_results_["mean_test_score"])
    np.testing.assert_array_equal(*scores)
    with pytest.raises(ValueError, match="exhaust the iterator"):
        search.set_params(cv=KFold(3).split(X)).plan(X, y)


@parametrize_searches
def test_searches_that_share_a_generator_draw_different_candidates(search_class):
    X, y = make_classification(120, random_state=0)
    search = small(search_class, LogisticRegression(), {"C": uniform(0.1, 10)}, cv=2)
    search.set_params(random_state=np.random.RandomState(0))
    drawn = [search.fit(X, y).cv_results_["param_C"].tolist() for _ in range(2)]
    assert {*drawn[0]} & {*drawn[1]} <= {1.0}  # the estimator as it is


def test_a_plan_does_not_copy_what_cannot_be_copied():
    X, y = make_classification(60, random_state=0)
    holds_lock = partial(locked_score, threading.Lock())
    search = HyperbandSearchCV(SVC(), {"C": [1, 2]}, scoring=holds_lock, min_resources=20)
    assert len(search.plan(X, y))


def locked_score(lock, estimator, X, y):
    with lock:
        return estimator.score(X, y)


@parametrize_searches
def test_a_measured_plan_has_seconds_and_leaves_fit_alone(search_class):
    def search():
        noisy, space = Noisy(0.5, 0.1, 0.1), {"value": uniform(0, 1)}
        return small(search_class, noisy, space)

    plain, measured = search(), search()
    plan = measured.plan(*numbered(60), measure=True)
    cost = plan.get("full_fits", plan["n_fits"])
    np.testing.assert_allclose(
        plan["seconds"] / plan["seconds"].sum(), cost / cost.sum(), rtol=0.02
    )
    assert measured.plan(*numbered(60)).equals(plan.drop(columns="seconds"))
    histories = [each.fit(*numbered(60)).history_ for each in (plain, measured)]
    columns = ["candidate", "split", "test_score"]
    assert histories[0][columns].equals(histories[1][columns])


def test_a_measured_plan_holds_no_more_fits_than_there_are():
    search = AdaptiveSearchCV(Known(), {"value": [0.1, 0.2]}, cv=3, time_budget=60)
    plan = search.plan(*numbered(60), measure=True)
    assert plan["n_fits"].sum() == 9  # with the estimator as it is
    with pytest.raises(ValueError, match="measure must be a bool, got 'yes'"):
        search.plan(*numbered(60), measure="yes")


def test_a_plan_whose_measured_fit_fails_has_its_error():
    search = AdaptiveSearchCV(Known(fails=True), {"value": [0.1, 0.2]})
    with pytest.raises(ValueError, match=r"was to be measured failed:\n.*[\s\S]*told to fail"):
        search.plan(*numbered(60), measure=True)


class Equal(Constant):
    """All candidates score the same on a split; the score differs from split to split."""

    def __init__(self, value=0, other=0):
        self.value = value
        self.other = other


@pytest.mark.parametrize("seed", [None, 0, 46])
@parametrize_searches
def test_the_first_of_equal_candidates_wins_as_in_grid_search(search_class, seed):
    X, y = make_classification(600, 10, n_informative=5, random_state=0)
    grid = {"value": [3, 1, 2, 0, 7, 5], "other": [2, 1, 0]}
    search = search_class(Equal(), grid, random_state=seed).fit(X, y)
    assert search.cv_results_["candidate"][search.best_index_] == 0
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1
