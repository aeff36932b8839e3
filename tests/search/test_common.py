"""What every search shares with GridSearchCV: its API, its attributes, its answer to failures."""

from __future__ import annotations

import pickle
import warnings
from inspect import signature
from typing import ClassVar

import joblib
import numpy as np
import pytest
from joblib import parallel_backend
from scipy.stats import randint as uniform_int
from scipy.stats import rv_discrete
from sklearn import config_context
from sklearn.base import clone, is_regressor
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.metrics import accuracy_score, make_scorer, recall_score
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
    Known,
    Recording,
    data,
    numbered,
    small,
    with_list,
)
from sklearn_halving import (
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)
from sklearn_halving.policies import Hyperband


def expected_failed_checks(search):
    """Return what fails of GridSearchCV too, by scikit-learn's own list."""
    failed = {"check_requires_y_none": "the estimator inside says what it needs in its own words"}
    if is_regressor(search):
        failed["check_supervised_y_2d"] = "a regressor inside takes a y of two dimensions"
    return failed


SPACE = {"max_depth": [1, 2, 3, 5]}
KNOWN = {"value": [0.1, 0.2, 0.3, 0.4]}

parametrize_searches = pytest.mark.parametrize("search_class", SEARCHES)
parametrize_with_rungs = pytest.mark.parametrize("search_class", WITH_RUNGS)


CHECKED = [
    (Ridge(), {"alpha": [0.1, 1.0, 2.0, 3.0]}),
    (LogisticRegression(), {"C": [0.1, 1.0, 2.0, 3.0]}),
    (make_pipeline(PCA(), Ridge()), {"ridge__alpha": [0.1, 1.0, 2.0, 3.0]}),
]


def scikit_learn_checks(*, first):
    """Parametrise with the checks of three searches, each with one estimator, or all others."""
    searches = [
        small(search_class, estimator, space, cv=2, error_score="raise")
        for i, search_class in enumerate(SEARCHES)
        for j, (estimator, space) in enumerate(CHECKED)
        if (i == j) == first
    ]
    for search in searches:
        if type(search) in WITH_RUNGS:
            search.set_params(min_resources="auto")  # the data have as few as 10 rows
    return with_list(
        parametrize_with_checks(searches, expected_failed_checks=expected_failed_checks)
    )


@pytest.mark.filterwarnings("default")  # scikit-learn's checks warn themselves
@scikit_learn_checks(first=True)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.full
@pytest.mark.filterwarnings("default")
@scikit_learn_checks(first=False)
def test_scikit_learn_checks_with_other_estimators(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("check", [check_dtype_object, check_fit2d_1sample])
@pytest.mark.parametrize("search_class", [*SEARCHES, GridSearchCV])
def test_checks_in_which_fits_fail_pass_with_the_default_parameters(search_class, check):
    """By default, failed fits do not end the search with their own error."""
    check(search_class.__name__, search_class(LogisticRegression(), {"C": [0.1, 1.0]}))


@parametrize_searches
def test_the_error_says_that_all_fits_failed_with_a_type_error(search_class):
    X, y = data()
    search = small(search_class, LogisticRegression(), {"C": [0.1, 1.0, 2.0, 3.0]})
    for error in (TypeError, ValueError):  # GridSearchCV raises the latter
        with pytest.raises(error, match=r"All the \d+ fits failed[^$]*not 'dict'"):
            search.fit([[{"a": 1}] * 5] * len(X), y)


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
def test_constructor_arguments_are_stored_untouched(search_class):
    given = {
        name: object()
        for name, parameter in signature(search_class).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    search = search_class(**given)
    for name, value in given.items():
        assert getattr(search, name) is value
    assert set(search.get_params(deep=False)) == set(given)


@parametrize_searches
def test_has_the_parameters_of_grid_search_with_the_same_defaults(search_class):
    ours = signature(search_class).parameters
    for name, parameter in signature(GridSearchCV).parameters.items():
        if name not in ("estimator", "param_grid"):
            assert repr(ours[name].default) == repr(parameter.default), name
            assert ours[name].kind is parameter.kind


@parametrize_searches
def test_clone_set_params_and_pickle(search_class):
    X, y = data()
    search = small(search_class, DecisionTreeClassifier(random_state=0), SPACE)
    copy = clone(search).set_params(estimator__min_samples_leaf=2, n_jobs=None)
    assert copy.estimator.min_samples_leaf == 2
    assert search.estimator.min_samples_leaf == 1
    search.fit(X, y)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    assert result(again) == result(search)
    assert not hasattr(clone(search), "best_estimator_")


@pytest.mark.filterwarnings("ignore:No numeric parameter varies")
@parametrize_searches
def test_fit_does_not_change_the_estimator_or_the_candidates(search_class):
    X, y = data()
    tree = DecisionTreeClassifier(random_state=0)
    candidates = [SVC(C=c) for c in (0.1, 1.0, 10.0, 100.0)]
    pipeline = Pipeline([("clf", tree)])
    small(search_class, pipeline, {"clf": candidates}).fit(X, y)
    for estimator in [tree, *candidates]:
        assert not hasattr(estimator, "classes_")
    assert pipeline.named_steps["clf"] is tree


@parametrize_searches
def test_refitting_forgets_the_first_fit(search_class):
    X, y = data()
    search = small(search_class, DecisionTreeClassifier(random_state=0), SPACE)
    first = result(search.fit(X, y))
    search.fit(X[:, :3], y)
    assert search.n_features_in_ == 3
    assert result(search.fit(X, y)) == first


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
    X, y = data()
    with parallel_backend(backend, n_jobs=2):
        search = forest_search(search_class).fit(X, y)
    assert result(search) == forest_results[search_class]


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_result_does_not_depend_on_n_jobs(search_class, n_jobs, forest_results):
    X, y = data()
    search = forest_search(search_class, n_jobs=n_jobs).fit(X, y)
    assert result(search) == forest_results[search_class]


@parametrize_searches
def test_another_seed_gives_another_result(search_class, forest_results):
    X, y = data()
    search = forest_search(search_class, random_state=1).fit(X, y)
    assert result(search) != forest_results[search_class]


@parametrize_searches
def test_a_random_state_instance_goes_on(search_class):
    X, y = data()
    rng = np.random.RandomState(0)
    searches = [forest_search(search_class, random_state=rng).fit(X, y) for _ in range(2)]
    assert result(searches[0]) != result(searches[1])


# ------------------------------------------------------------------------------------- failures


@parametrize_searches
def test_a_failing_fit_counts_and_is_named(search_class):
    X, y = data()
    space = [{"fails": [True], "value": [0.9]}, {"value": [0.1, 0.2, 0.3]}]
    search = small(search_class, Known(), space, random_state=2)
    with pytest.warns() as caught:
        search.fit(X, y)
    (failed,) = [w for w in caught if w.category is FitFailedWarning]
    text = str(failed.message)
    assert "fits failed out of a total of" in text
    assert "ArithmeticError: told to fail" in text
    assert "'fails': True" in text
    assert "'value': 0.9" in text
    assert search.best_score_ < 0.9
    scores = search.cv_results_["mean_test_score"]
    failing = np.array(["fails" in params for params in search.cv_results_["params"]])
    assert np.isnan(scores[failing]).all()
    last = len(scores) - failing.sum() + 1
    assert set(search.cv_results_["rank_test_score"][failing]) == {last}


@parametrize_searches
def test_a_failing_fit_scores_the_number_given(search_class):
    X, y = data()
    space = [{"fails": [True], "value": [0.9]}, {"value": [0.1, 0.2, 0.3]}]
    search = small(search_class, Known(), space, error_score=-1, random_state=2)
    with pytest.warns(FitFailedWarning, match=r"will be set to -1\."):
        search.fit(X, y)
    failing = ["fails" in params for params in search.cv_results_["params"]]
    assert search.cv_results_["mean_test_score"][failing] == pytest.approx(-1)


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_error_score_raise_raises_what_was_raised(search_class, n_jobs):
    X, y = data()
    search = small(search_class, Known(fails=True), KNOWN, error_score="raise", n_jobs=n_jobs)
    with pytest.raises(ArithmeticError, match="told to fail"):
        search.fit(X, y)


@parametrize_searches
@pytest.mark.parametrize("error_score", [np.nan, 0.0])
def test_if_all_fits_fail_it_says_so(search_class, error_score):
    X, y = data()
    search = small(search_class, Known(fails=True), KNOWN, error_score=error_score)
    with pytest.raises(ValueError, match=r"All the \d+ fits failed\.\n(.|\n)*told to fail"):
        search.fit(X, y)
    assert not hasattr(search, "best_estimator_")


@parametrize_with_rungs
def test_a_rung_without_any_number_stops_its_bracket(search_class):
    X, y = data()
    search = small(search_class, Known(nan_below=40), KNOWN)
    with pytest.warns() as caught:
        search.fit(X, y)
    stopped = [str(w.message) for w in caught if "was stopped" in str(w.message)]
    assert len(stopped) == 1
    assert "s=1" in stopped[0]
    results = search.cv_results_
    small_rung = np.isnan(results["mean_test_score"])
    assert small_rung.any()
    # nobody was chosen among candidates of which nothing is known
    assert not set(results["candidate"][small_rung]) & set(results["candidate"][~small_rung])
    assert not np.isnan(search.best_score_)
    assert results["rank_test_score"][search.best_index_] == 1


@parametrize_searches
@pytest.mark.filterwarnings("ignore:One or more", "ignore:Bracket")
@pytest.mark.parametrize("refit", [True, False])
def test_if_all_scores_are_nan_the_first_candidate_is_chosen_as_in_grid_search(
    search_class, refit
):
    X, y = data()
    search = small(search_class, Known(nan_below=1000), KNOWN, refit=refit)
    with pytest.warns(UserWarning, match="Every mean score is NaN, so the first candidate is"):
        search.fit(X, y)
    results = search.cv_results_
    amounts = np.asarray(results.get("n_resources", np.ones(len(results["params"]))))
    assert search.best_index_ == np.flatnonzero(amounts == amounts.max())[0]
    assert search.best_params_ == results["params"][search.best_index_]
    assert np.isnan(search.best_score_)
    assert results["rank_test_score"][search.best_index_] == 1
    assert hasattr(search, "best_estimator_") == refit
    if refit:
        assert search.best_estimator_.value == search.best_params_["value"]
        assert len(search.predict(X)) == len(X)
    for name in ("best_probability_", "best_regret_", "best_corrected_score_"):
        assert np.isnan(getattr(search, name, np.nan))
    assert "rank 1 of" in search.summary()
    assert ": no score in" in search.summary()


@parametrize_searches
@pytest.mark.filterwarnings("ignore:One or more", "ignore:Bracket")
def test_if_the_metric_of_refit_is_always_nan_the_first_candidate_is_chosen(search_class):
    nothing = make_scorer(lambda y_true, y_pred: np.nan)
    search = small(search_class, Known(), KNOWN, refit="nothing")
    search.set_params(scoring={"accuracy": "accuracy", "nothing": nothing})
    with pytest.warns(UserWarning, match="of nothing is NaN, .*: the scorer returns NaN for"):
        search.fit(*data())
    assert np.isnan(search.best_score_)
    assert not np.isnan(search.cv_results_["mean_test_accuracy"][search.best_index_])


@pytest.mark.filterwarnings("ignore:One or more", "ignore:Bracket")
def test_no_candidate_is_chosen_if_none_has_a_score_with_the_largest_resource():
    def score(estimator, X, y):
        return np.nan if estimator.n_rows_ >= 40 else estimator.value

    search = small(HyperbandSearchCV, Known(), KNOWN, scoring=score)
    with pytest.raises(ValueError, match=r"with the largest resource, so none .*all_rungs"):
        search.fit(*data())
    assert np.isfinite(search.cv_results_["mean_test_score"]).any()
    among_all = BanditSearchCV(
        Known(),
        KNOWN,
        policy=Hyperband(select="all_rungs"),
        resource="n_samples",
        min_resources=10,
        scoring=score,
        cv=3,
        random_state=0,
    )
    assert among_all.fit(*data()).best_score_ > 0


@parametrize_searches
@pytest.mark.parametrize("refit", [True, False])
def test_if_every_fit_fails_the_error_is_that_of_grid_search(search_class, refit):
    search = small(search_class, Known(fails=True), KNOWN, refit=refit)
    with pytest.raises(ValueError, match=r"All the \d+ fits failed.\nIt is very likely"):
        search.fit(*data())


@parametrize_searches
def test_none_is_a_value_of_a_parameter(search_class):
    X, y = data()
    space = {"max_depth": [None, 2], "min_samples_leaf": [1, 5]}
    search = small(search_class, DecisionTreeClassifier(random_state=0), space).fit(X, y)
    column = search.cv_results_["param_max_depth"]
    assert [p["max_depth"] for p in search.cv_results_["params"]] == column.tolist()
    assert None in column.tolist()


@parametrize_searches
def test_our_warnings_point_at_this_file_and_come_once(search_class):
    X, y = data()
    space = [{"fails": [True], "value": [0.9]}, {"value": [0.1, 0.2, 0.3]}]
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


def two_numbers(estimator, X, y):
    accuracy = accuracy_score(y, estimator.predict(X))
    return {"accuracy": accuracy, "error": 1 - accuracy}


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize(
    "scoring",
    [
        ["accuracy", "f1"],
        {"accuracy": "accuracy", "f1": make_scorer(accuracy_score)},
        two_numbers,
    ],
    ids=["list", "dict", "callable"],
)
def test_several_metrics(search_class, scoring):
    X, y = data()
    tree = DecisionTreeClassifier(random_state=0)
    search = small(search_class, tree, SPACE, scoring=scoring, refit="accuracy")
    search.fit(X, y)
    assert search.multimetric_
    plain = small(search_class, tree, SPACE, scoring="accuracy").fit(X, y)
    assert search.best_params_ == plain.best_params_
    assert search.best_score_ == plain.best_score_
    assert search.score(X, y) == pytest.approx(plain.score(X, y))
    for name in ("accuracy", "f1", "error"):
        known = f"mean_test_{name}" in search.cv_results_
        assert known == (f"rank_test_{name}" in search.cv_results_)


def one_number_in_a_dict(estimator, X, y):
    return {"value": estimator.value}


@parametrize_searches
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning", "ignore:One or more")
def test_a_failed_fit_before_all_others_under_a_callable_that_returns_a_dict(search_class):
    space = [{"fails": [True], "value": [0.9]}, {"value": [0.1, 0.2, 0.3]}]
    search = small(search_class, Known(), space, scoring=one_number_in_a_dict, refit="value")
    assert search.fit(*data()).best_params_ == {"value": 0.3}


@parametrize_searches
def test_a_fit_that_breaks_off_leaves_nothing_of_the_one_before(search_class):
    search = small(search_class, Known(), KNOWN).fit(*data())
    search.set_params(estimator__fails=True, error_score="raise")
    with pytest.raises(ArithmeticError):
        search.fit(*data())
    for name in ("cv_results_", "best_estimator_", "best_score_", "history_"):
        assert not hasattr(search, name), name


@parametrize_searches
def test_several_metrics_without_refit_have_no_best(search_class):
    X, y = data()
    search = small(
        search_class, DecisionTreeClassifier(), SPACE, scoring=["accuracy", "f1"], refit=False
    ).fit(X, y)
    for name in ("best_index_", "best_params_", "best_score_", "best_estimator_"):
        assert not hasattr(search, name)
    assert not hasattr(search, "predict")
    with pytest.raises(AttributeError) as missing:
        search.predict(X)
    assert "refit=False" in str(missing.value.__cause__)


@parametrize_searches
@pytest.mark.parametrize("refit", [True, "recall_of_nothing"])
def test_several_metrics_need_the_name_of_one(search_class, refit):
    X, y = numbered(60)
    search = small(search_class, Recording(), KNOWN, scoring=["accuracy", "f1"], refit=refit)
    FITS.clear()
    with pytest.raises(ValueError, match="refit must be set to a scorer key"):
        search.fit(X, y)
    assert len(FITS) == 0


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
def test_refit_false(search_class):
    X, y = data()
    search = small(search_class, Known(), KNOWN, refit=False).fit(X, y)
    best = np.nanmax(search.cv_results_["mean_test_score"])
    assert search.best_score_ == best == pytest.approx(search.best_params_["value"])
    for name in ("best_estimator_", "refit_time_", "classes_", "n_features_in_"):
        assert not hasattr(search, name)


@parametrize_searches
def test_a_callable_refit_is_obeyed(search_class):
    X, y = data()
    refit = lambda results: results["mean_test_score"].argmin()  # noqa: E731
    search = small(search_class, Known(), KNOWN, refit=refit).fit(X, y)
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    usual = clone(search).set_params(refit=True).fit(X, y)
    assert search.best_params_["value"] < usual.best_params_["value"]
    assert search.best_estimator_.value == search.best_params_["value"]
    assert search.best_estimator_.n_rows_ == len(X)
    assert not hasattr(search, "best_score_")
    for bad, error in ((lambda results: "1", TypeError), (lambda results: 99, IndexError)):
        with pytest.raises(error, match="best_index_"):
            clone(search).set_params(refit=bad).fit(X, y)


@parametrize_searches
def test_train_scores(search_class):
    X, y = data()
    tree = DecisionTreeClassifier(random_state=0)
    search = small(search_class, tree, {"max_depth": [20, 30, 40, 50]}, return_train_score=True)
    search.fit(X, y)
    assert (search.cv_results_["mean_train_score"] == 1).all()
    assert (search.cv_results_["std_train_score"] == 0).all()
    assert (search.cv_results_["mean_test_score"] < 1).any()


@parametrize_searches
def test_attributes_are_those_of_grid_search(search_class):
    X, y = data()
    tree = DecisionTreeClassifier(random_state=0)
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


@parametrize_searches
def test_not_fitted(search_class):
    with pytest.raises(NotFittedError):
        small(search_class, DecisionTreeClassifier(), SPACE).predict([[1]])


# ------------------------------------------------------------------------ weights, groups, routing


@parametrize_searches
def test_weights_are_cut_to_the_rows_in_use(search_class):
    X, y = numbered(60)
    FITS.clear()
    search = small(search_class, Recording(), KNOWN)
    search.fit(X, y, sample_weight=np.arange(60.0), scalar=7)
    assert len(FITS) > 10
    for rows, params in zip(FITS.rows, FITS.params, strict=True):
        np.testing.assert_array_equal(params["sample_weight"], rows)
        assert params["scalar"] == 7


@parametrize_searches
def test_groups_reach_the_splitter(search_class):
    X, y = numbered(60)
    groups = np.repeat(np.arange(10), 6)
    search = small(search_class, Recording(), KNOWN, cv=GroupKFold(5))
    FITS.clear()
    search.fit(X, y, groups=groups)
    tested = [set(range(60)) - set(rows) for rows in FITS.rows[:-1] if len(rows) == 48]
    assert tested
    for rows in tested:  # whole groups, two in each fold
        assert len({groups[row] for row in rows}) == 2


@parametrize_searches
def test_missing_groups_are_the_splitters_error(search_class):
    X, y = numbered(60)
    FITS.clear()
    search = small(search_class, Recording(), KNOWN, cv=GroupKFold(5))
    with pytest.raises(ValueError, match="'groups' parameter should not be None"):
        search.fit(X, y)
    assert len(FITS) == 0


@parametrize_with_rungs
def test_subsets_keep_groups_together(search_class):
    X, y = numbered(120)
    groups = np.repeat(np.arange(30), 4)
    FITS.clear()
    small(search_class, Recording(), KNOWN, cv=GroupKFold(3)).fit(X, y, groups=groups)
    n_small = 0
    for rows in FITS.rows:
        sizes = np.bincount(groups[rows], minlength=30)
        assert ((sizes > 0) & (sizes < 4)).sum() <= 1  # the last group may be cut
        n_small += len(rows) < 80
    assert n_small == 9


@parametrize_searches
def test_metadata_routing(search_class):
    X, y = data()
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    groups = np.arange(len(y)) % 6
    with config_context(enable_metadata_routing=True):
        estimator = LogisticRegression().set_fit_request(sample_weight=True)
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=False)
        space = {"C": [0.1, 1.0, 2.0, 3.0]}
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


@parametrize_searches
def test_weights_reach_the_scorer_as_in_grid_search(search_class):
    X, y = data()
    weights = np.arange(len(y)) % 3 + 0.5
    with config_context(enable_metadata_routing=True):
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        estimator = SGDClassifier(random_state=0).set_fit_request(sample_weight=False)
        space = {"alpha": [1e-4, 1e-3, 1e-2, 1e-1]}
        cv = KFold(3)
        search = small(search_class, estimator, space, scoring=scorer, cv=cv)
        search.fit(X, y, sample_weight=weights)
        reference = GridSearchCV(estimator, space, scoring=scorer, cv=cv)
        reference.fit(X, y, sample_weight=weights)
    table, expected = search.cv_results_, reference.cv_results_
    row_of = {params["alpha"]: row for row, params in enumerate(expected["params"])}
    level = table.get("n_resources", np.ones(len(table["params"])))
    for row in np.flatnonzero(level == level.max()):
        same = row_of[table["params"][row]["alpha"]]
        for key in (f"split{split}_test_score" for split in range(3)):
            assert table[key][row] == expected[key][same] or np.isnan(table[key][row])
    assert not np.isnan(table["split0_test_score"]).all()


# ------------------------------------------------------------------ inside and around other things


@parametrize_searches
def test_nested_cross_validation(search_class):
    X, y = data()
    search = small(search_class, DecisionTreeClassifier(random_state=0), SPACE)
    scores = cross_val_score(search, X, y, cv=3)
    assert scores.shape == (3,)
    np.testing.assert_array_equal(scores, cross_val_score(search, X, y, cv=3, n_jobs=2))


@parametrize_searches
def test_inside_and_around_a_pipeline(search_class):
    X, y = data()
    inside = make_pipeline(
        StandardScaler(), small(search_class, SVC(), {"C": [0.1, 1.0, 10.0, 100.0]})
    ).fit(X, y)
    assert inside.score(X, y) > 0.5
    around = small(
        search_class,
        make_pipeline(StandardScaler(), SVC(), memory=joblib.Memory(location=None)),
        [{"svc__C": [0.1, 1.0]}, {"standardscaler": ["passthrough"], "svc__C": [1.0, 10.0]}],
    ).fit(X, y)
    best = around.best_estimator_[-1]
    assert around.best_params_["svc__C"] == best.C
    mask = np.ma.getmaskarray(around.cv_results_["param_standardscaler"])
    assert mask.tolist() == ["standardscaler" not in p for p in around.cv_results_["params"]]


@parametrize_searches
def test_candidates_that_are_estimators(search_class):
    X, y = data()
    space = [
        {"clf": [SVC(random_state=0), RandomForestClassifier(n_estimators=3, random_state=0)]},
        {"clf": [SVC()], "clf__C": [0.1, 10.0]},
    ]
    search = small(search_class, Pipeline([("clf", SVC())]), space).fit(X, y)
    assert type(search.best_estimator_["clf"]) is type(search.best_params_["clf"])
    assert search.best_estimator_["clf"] is not search.best_params_["clf"]


@parametrize_searches
def test_html_and_text(search_class):
    search = small(search_class, make_pipeline(StandardScaler(), SVC()), {"svc__C": [1, 2, 3, 4]})
    for html in (search._repr_html_(), search.fit(*data())._repr_html_()):
        assert search_class.__name__ in html
        assert "StandardScaler" in html
    assert repr(search).startswith(search_class.__name__)


@parametrize_searches
def test_set_output(search_class):
    X, _ = data()
    # GridSearchCV has no set_output either: what is set inside holds in all clones.
    inside = make_pipeline(StandardScaler(), PCA()).set_output(transform="pandas")
    search = small(search_class, inside, {"pca__n_components": [1, 2, 3, 4]}).fit(X)
    n_components = search.best_params_["pca__n_components"]
    assert list(search.transform(X).columns) == [f"pca{i}" for i in range(n_components)]
    with config_context(transform_output="polars"):
        search = small(search_class, PCA(), {"n_components": [1, 2, 3, 4]}).fit(X)
        assert type(search.transform(X)).__module__.startswith("polars")


def printed(search, capsys, n_jobs):
    with parallel_backend("threading", n_jobs=n_jobs):
        clone(search).fit(*data())
    return capsys.readouterr().out.splitlines()


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_verbose_output(search_class, capsys, n_jobs):
    search = small(search_class, Known(), KNOWN)
    assert printed(search, capsys, n_jobs) == []
    first, n_fits, mark, n_of_split_0 = {
        HyperbandSearchCV: (
            "Fitting 5 candidates in 2 brackets on up to 3 splits, totalling 18 fits",
            18,
            "[CV 1/3] END",
            6,
        ),
        VarianceHalvingSearchCV: (
            "Fitting 4 candidates, totalling at most 20 fits",
            20,
            "[CV 1] END",
            4,
        ),
        BanditSearchCV: (
            "Fitting 4 candidates, totalling at most 20 fits",
            19,
            "[CV 1] END",
            4,
        ),
        BayesGapSearchCV: (
            "Fitting 4 candidates, totalling at most 20 fits",
            20,
            "[CV 1] END",
            4,
        ),
    }[search_class]
    progress = printed(search.set_params(verbose=1), capsys, n_jobs)  # see test_progress.py
    assert progress[0] == first
    assert progress[-1].startswith(f"Done: {n_fits} fits in 0:0")
    assert not any("[CV" in line for line in progress)
    lines = printed(search.set_params(verbose=2), capsys, n_jobs)
    fits = [line.partition(" total time")[0] for line in lines if line.startswith("[CV")]
    # Candidate, resource and split identify a fit. One candidate is in both of the brackets.
    assert len(fits) == n_fits
    n_twice = 3 if search_class is HyperbandSearchCV else 0
    assert len({line.replace(".", "") for line in fits}) >= n_fits - n_twice
    lines = printed(search.set_params(verbose=3, return_train_score=True), capsys, n_jobs)
    assert len(lines) == len(progress) + n_fits
    assert sum(mark in line and "score=(train=0." in line for line in lines) == n_of_split_0
    of_fits = [line for line in lines if line.startswith("[CV")]
    assert len(of_fits) == n_fits
    assert all("value=0." in line and "total time=" in line for line in of_fits)
    lines = printed(search.set_params(verbose=10), capsys, n_jobs)
    assert sum("START" in line for line in lines) == n_fits


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


def depth_and_recall(estimator, X, y):
    depth = estimator.get_depth()
    return {"shallow": -depth, "recall": recall_score(y, estimator.predict(X))}


def test_refit_names_the_metric_of_a_callable_that_returns_several():
    X, y = make_classification(300, weights=[0.7], flip_y=0.2, random_state=0)
    grid = {"max_depth": [1, 2, 3, 4, 5, 6, 8, 10, 12]}
    tree = DecisionTreeClassifier(random_state=0)
    search = HyperbandSearchCV(
        tree, grid, scoring=depth_and_recall, refit="recall", random_state=0
    )
    search.fit(X, y)
    assert search.cv_results_["rank_test_recall"][search.best_index_] == 1


def test_plan_leaves_the_splits_and_candidates_of_fit_alone():
    X, y = make_classification(120, random_state=0)
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


def test_values_of_a_discrete_distribution_need_not_be_whole_numbers():
    C = rv_discrete(values=([0.1, 0.5, 1.0], [0.3, 0.3, 0.4]))
    X, y = make_classification(120, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = HyperbandSearchCV(LogisticRegression(), {"C": C}, random_state=0).fit(X, y)
    assert set(search.cv_results_["param_C"]) == {0.1, 0.5, 1.0}
