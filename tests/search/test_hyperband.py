"""HyperbandSearchCV: what was planned is done, on the rows that were meant, without waste."""

from __future__ import annotations

import re
import warnings
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, loguniform, poisson, randint, uniform
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    ParameterSampler,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from search.common import FITS, Known, Recording, data, numbered
from sklearn_halving import BanditSearchCV, HyperbandSearchCV
from sklearn_halving.policies import Hyperband
from sklearn_halving.resources import ParameterValue, Resource, TrainingSize

VALUES = {"value": uniform(0, 1)}
RATES_OF_C = {"C": loguniform(1e-3, 1e3)}


def done(search):
    """Return what was done, in the form of the plan."""
    history = search.history_
    places = history.groupby(["loop", "bracket", "rung"], sort=False)
    rows = [
        (bracket, rung, group["candidate"].nunique(), group["n_resources"].iloc[0], len(group))
        for (_, bracket, rung), group in sorted(
            places, key=lambda item: (item[0][0], -item[0][1], item[0][2])
        )
    ]
    return pd.DataFrame(rows, columns=["bracket", "rung", "n_candidates", "n_resources", "n_fits"])


# --------------------------------------------------------------------------------- plan and fact


@settings(max_examples=60)
@given(
    n_rows=st.integers(12, 300),
    factor=st.sampled_from([2, 2.5, 3, 4, 7]),
    brackets=st.sampled_from(["all", "most_exploratory", [0], [1], [1, 0], [2, 0], [3]]),
    n_loops=st.integers(1, 3),
    n_candidates=st.sampled_from([None, 1, 4, 20]),
    min_resources=st.sampled_from(["auto", 4, 10, 30]),
    max_resources=st.sampled_from(["auto", 4, 25, 100]),
    space=st.sampled_from([VALUES, {"value": [0.1, 0.5, 0.3]}, {"value": randint(0, 9)}]),
)
def test_what_is_planned_is_done_or_refused_before_any_fit(n_rows, space, **params):
    X, y = numbered(n_rows)
    search = HyperbandSearchCV(Recording(), space, cv=KFold(2), random_state=0, **params)
    FITS.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        plan, refusal = plan_or_refusal(search, X, y)
        assert len(FITS) == 0
        if plan is not None:
            check_plan(plan, search.fit(X, y))
            return
        with pytest.raises(ValueError, match=re.escape(refusal)):
            search.fit(X, y)
    assert len(FITS) == 0


def plan_or_refusal(search, X, y):
    try:
        return search.plan(X, y), None
    except ValueError as error:
        return None, str(error)


def check_plan(plan, search):
    costs, fact = plan[["full_fits", "of_grid_search"]], done(search)
    columns = ["bracket", "rung", "n_candidates", "n_resources"]
    pd.testing.assert_frame_equal(fact[columns], plan[columns], check_dtype=False)
    # Candidates of a sampler may be dropped after one of the two splits of the last rung.
    is_grid = isinstance(search.param_distributions["value"], list)
    is_last = plan["n_resources"] == plan["n_resources"].max()
    may_drop = is_last & (not is_grid)
    assert (fact["n_fits"] == plan["n_fits"])[~may_drop].all()
    assert fact["n_fits"].between(plan["n_candidates"], plan["n_fits"]).all()
    assert plan.attrs["at_most"] or fact["n_fits"].sum() == plan["n_fits"].sum()
    amount = plan["n_fits"] * plan["n_resources"] / plan["n_resources"].max()
    assert costs["full_fits"].tolist() == pytest.approx(amount.tolist(), abs=0.005 + 1e-9)
    results = search.cv_results_
    assert len(results["params"]) == plan["n_candidates"].sum()
    assert results["bracket"].tolist() == np.repeat(plan["bracket"], plan["n_candidates"]).tolist()
    assert results["iter"].tolist() == np.repeat(plan["rung"], plan["n_candidates"]).tolist()
    assert len(FITS) == search.n_fits_ + 1 == fact["n_fits"].sum() + 1
    assert not np.isnan(results["split0_test_score"][search.best_index_])
    assert not np.isnan(results["split1_test_score"][search.best_index_])
    history = search.history_
    full = history["n_resources"] == history["n_resources"].max()
    assert (history["n_train"] == history["n_resources"])[~full].all()
    # Folds may differ by a row, and the last rung has all rows of each.
    spent = (fact["n_fits"] * fact["n_resources"]).sum()
    assert search.n_resources_spent_ == history["n_train"].sum()
    assert spent <= search.n_resources_spent_ <= spent + full.sum()
    for _, row in plan.groupby("bracket"):
        assert row["n_resources"].iloc[-1] == plan["n_resources"].max()


@pytest.mark.parametrize("cv", [KFold(2), StratifiedKFold(3), TimeSeriesSplit(3)])
def test_planning_draws_nothing(cv):
    X, y = numbered(100)
    rng = np.random.RandomState(0)
    search = HyperbandSearchCV(Known(), VALUES, brackets="all", cv=cv, random_state=rng)
    before = rng.get_state()[1].tolist(), rng.get_state()[2]
    search.plan(X, y)
    assert (rng.get_state()[1].tolist(), rng.get_state()[2]) == before


def test_1050_rows_160_candidates_factor_2_end_at_all_rows():
    X, y = numbered(1050)
    cv = [(np.arange(1050), np.arange(50))]
    space = {"value": np.linspace(0, 1, 160)}
    search = HyperbandSearchCV(
        Known(), space, factor=2, brackets="most_exploratory", min_resources=8, cv=cv
    )
    left_out = "32 of the 160 candidates of the grid are left out: the search starts 128 of them"
    with pytest.warns(UserWarning, match=left_out):
        plan = search.plan(X, y)
    assert plan["n_resources"].iloc[-1] == 1050
    assert plan["n_candidates"].iloc[0] == 128
    with pytest.warns(UserWarning, match=left_out):
        search.fit(X, y)
    assert search.cv_results_["n_resources"].max() == 1050


def test_the_bracket_that_the_paper_prints():
    X, y = numbered(162)
    policy = Hyperband(schedule_rule="table_1")
    search = BanditSearchCV(Known(), VALUES, policy=policy, resource=Units(81), cv=2)
    first = search.plan(X, y).query("rung == 0")
    assert first["n_candidates"].tolist() == [81, 27, 9, 6, 5]
    assert first["n_resources"].tolist() == [1, 3, 9, 27, 81]


# ------------------------------------------------------------------------------------- row subsets


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_subsets_are_nested_hold_every_class_and_end_at_the_whole_fold(n_classes):
    X, _ = numbered(210)
    y = np.where(np.arange(210) < 180, 0, np.arange(210) % n_classes)
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    folds = [train for train, _ in cv.split(X, y)]
    FITS.clear()
    search = HyperbandSearchCV(Recording(), VALUES, cv=cv, random_state=0)
    search.fit(X, y)
    assert len({len(rows) for rows in FITS.rows}) >= 3
    for fold in folds:
        inside = {tuple(rows) for rows in FITS.rows[:-1] if set(rows) <= set(fold)}
        chain = sorted(inside, key=len)
        for smaller, larger in pairwise(chain):
            assert set(smaller) < set(larger)
        for rows in chain:
            counts = np.bincount(y[list(rows)], minlength=n_classes)
            assert (counts >= np.minimum(2, np.bincount(y[fold], minlength=n_classes))).all()
        assert chain[-1] == tuple(fold)  # not shuffled, not one row less
    np.testing.assert_array_equal(FITS.rows[-1], np.arange(210))


def test_all_candidates_of_a_rung_see_the_same_rows():
    X, y = numbered(120)
    FITS.clear()
    HyperbandSearchCV(Recording(), VALUES, brackets="all", cv=KFold(3), random_state=0).fit(X, y)
    by_size = {}
    for rows in FITS.rows[:-1]:
        by_size.setdefault(len(rows), set()).add(tuple(rows))
    assert {len(subsets) for subsets in by_size.values()} == {3}


def test_test_folds_are_never_cut():
    X, y = numbered(120)
    search = HyperbandSearchCV(Known(), VALUES, brackets="all", cv=KFold(3), random_state=0).fit(
        X, y
    )
    assert set(search.history_["n_test"]) == {40}


def test_tiny_data_have_one_rung_and_say_so():
    X, y = numbered(6)
    search = HyperbandSearchCV(Known(), VALUES, cv=KFold(2), random_state=0)
    with pytest.warns(UserWarning, match="are therefore fitted on all rows"):
        search.fit(X, y)
    assert set(search.cv_results_["n_resources"]) == {3}
    assert len(search.cv_results_["params"]) == 40


@pytest.mark.parametrize("space", [{"value": [0.1, 0.2, 0.3]}, {"value": randint(0, 3)}])
def test_with_one_rung_a_small_space_is_tried_whole(space):
    X, y = numbered(6)
    search = HyperbandSearchCV(Known(), space, brackets="all", cv=KFold(2), random_state=0)
    with pytest.warns(UserWarning, match="are therefore fitted on all rows"):
        search.fit(X, y)
    assert len(search.cv_results_["params"]) == 3


@pytest.mark.parametrize("params", [{"brackets": "all"}, {"n_candidates": 40}])
def test_a_huge_grid_is_not_listed(params):
    X, y = data(300)
    names = ("alpha", "l1_ratio", "eta0")
    grid = {name: [*np.linspace(0.01, 0.99, 1000), 0.01] for name in names}
    search = HyperbandSearchCV(SGDClassifier(), grid, cv=3, random_state=0, **params)
    with pytest.warns(UserWarning, match="of the 1000000000 candidates of the grid are left out"):
        plan = search.plan(X, y)
    assert plan["n_candidates"].max() <= 40


# --------------------------------------------------------------------------------------- bad input

FOREST = RandomForestClassifier(n_estimators=27)
TREES = {"resource": "n_estimators"}
EPOCHS, RATES = {"resource": "max_iter"}, {"alpha": uniform()}
BAD_INPUT = {
    "searched resource": (FOREST, {"n_estimators": [1, 2]}, TREES, "part of the searched"),
    "unknown resource": (FOREST, {"max_depth": [1]}, {"resource": "n_estimator"}, "Did you mean"),
    "unknown parameter": (Recording(), {"valeu": [1, 2]}, {}, "Invalid parameter 'valeu'"),
    "unknown in one of two": (
        Recording(), [{"value": [1, 2, 3]}, {"valeu": [1, 2, 3]}], {}, "Invalid parameter 'valeu'"
    ),
    "max below min": (Recording(), VALUES, {"min_resources": 40, "max_resources": 20}, "at most"),
    "max above all": (Recording(), VALUES, {"max_resources": 10_000}, "more than the 60 rows"),
    "max infinite": (Recording(), VALUES, {"max_resources": np.inf}, "range"),
    "max overflows": (SGDClassifier(), RATES, {"max_resources": 1e300, **EPOCHS}, "at most 1e.12"),
    "max beyond int64": (SGDClassifier(), RATES, {"max_resources": 2**63, **EPOCHS}, "at most 1e"),
    "max beyond float": (SGDClassifier(), RATES, {"max_resources": 10**400, **EPOCHS}, "at most"),
    "max below classes": (Recording(), VALUES, {"max_resources": 2}, "at least 4 rows"),
    "min below classes": (Recording(), VALUES, {"min_resources": 2}, "at least 4 rows"),
    "min below one": (FOREST, VALUES, {"min_resources": 0.1, **TREES}, "least 1"),
    "max unknown": (SGDClassifier(), {"alpha": [1]}, {"resource": "partial_fit"}, "max_resources"),
    "factor 1": (Recording(), VALUES, {"factor": 1}, "at least 2"),
    "factor 0": (Recording(), VALUES, {"factor": 0}, "at least 2"),
    "factor nan": (Recording(), VALUES, {"factor": np.nan}, "at least 2"),
    "factor infinite": (Recording(), VALUES, {"factor": np.inf}, "finite"),
    "factor 1e5": (SGDClassifier(), RATES, {"factor": 1e5}, "one would start 100000"),
    "factor 1e6": (SGDClassifier(), RATES, {"factor": 1e6}, "one would start 1000000"),
    "factor text": (Recording(), VALUES, {"factor": "3"}, "'factor' parameter"),
    "bracket too high": (Recording(), VALUES, {"brackets": [9]}, "0 <= s <= "),
    "bracket below 0": (Recording(), VALUES, {"brackets": [-1]}, "0 <= s <= "),
    "bracket twice": (Recording(), VALUES, {"brackets": [1, 1]}, "different"),
    "bracket a half": (Recording(), VALUES, {"brackets": [0.5]}, "whole numbers"),
    "no bracket": (Recording(), VALUES, {"brackets": []}, "whole numbers"),
    "brackets text": (Recording(), VALUES, {"brackets": "some"}, "'brackets' parameter"),
    "no loop": (Recording(), VALUES, {"n_loops": 0}, "'n_loops' parameter"),
    "no candidate": (Recording(), VALUES, {"n_candidates": 0}, "'n_candidates' parameter"),
    "too few candidates": (
        Recording(), VALUES, {"n_candidates": 8, "brackets": [2]}, "Use n_candidates=9 or more"
    ),
    "empty list": (Recording(), {"value": []}, {}, "non-empty"),
    "empty list among others": (Recording(), {"value": uniform(), "other": []}, {}, "non-empty"),
    "no rvs": (Recording(), {"value": 3}, {}, "(?s)(iterable|list|rvs|sequence)"),
    "a string": (Recording(), {"value": "abc"}, {}, "needs to be a list"),
    "no dict": (Recording(), ["value"], {}, "dict"),
    "no candidates": (Recording(), [], {}, "must hold candidates"),
    "groups missing": (Recording(), VALUES, {"cv": GroupKFold(3)}, "groups"),
    "rescale unknown": (
        Recording(), VALUES, {"resource": TrainingSize(rescale={"valeu": "inverse"})},
        "Did you mean 'value'",
    ),
    "rescale no number": (
        Recording(), {"value": [1, 2, 3, "big"]},
        {"resource": TrainingSize(rescale={"value": "inverse"})}, "'big'",
    ),
    "scoring": (Recording(), VALUES, {"scoring": "acuracy"}, "scoring"),
    "refit": (Recording(), VALUES, {"scoring": ["accuracy"], "refit": "f1"}, "refit"),
    "random_state": (Recording(), VALUES, {"random_state": "x"}, "random_state"),
    "error_score": (Recording(), VALUES, {"error_score": "rise"}, "error_score"),
}  # fmt: skip


@pytest.mark.parametrize(("factor", "n_fits"), [(10, None), (11, 164), (1000, 1009)])
def test_a_large_factor_is_warned_of_with_the_number_of_fits(factor, n_fits):
    X, y = data(300)
    search = HyperbandSearchCV(
        SGDClassifier(), RATES, brackets="all", factor=factor, cv=3, random_state=0
    )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        plan = search.plan(X, y)
    messages = [str(warning.message) for warning in said]
    if n_fits is None:
        assert messages == []
    else:
        assert plan["n_fits"].sum() == n_fits
        assert len(messages) == 1
        assert f"Up to {n_fits} fits" in messages[0]
        assert "Usual values are 2 to 5" in messages[0]


@pytest.mark.filterwarnings("ignore:The grid has")
@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_refused_before_any_fit(case, tmp_path):
    estimator, space, params, message = BAD_INPUT[case]
    X, y = numbered(120)
    options = {"brackets": "all", "cv": KFold(2), "random_state": 0, **params}
    search = HyperbandSearchCV(estimator, space, **options)
    FITS.clear()
    with pytest.raises((ValueError, TypeError), match=message):
        search.fit(X, y)
    assert len(FITS) == 0
    assert not hasattr(search, "cv_results_")


def test_one_class_that_no_subset_can_hold_twice():
    X, _ = numbered(120)
    y = np.arange(120) // 60  # KFold without shuffling: one class in the first half
    search = HyperbandSearchCV(Recording(), VALUES, min_resources=1, cv=KFold(2), random_state=0)
    FITS.clear()
    with pytest.raises(ValueError, match="to contain every class"):
        search.fit(X, y)
    assert len(FITS) == 0


# -------------------------------------------------------------------------------------- candidates


@pytest.mark.parametrize(
    "space",
    [
        {"value": randint(0, 30)},
        {"value": binom(20, 0.5), "other": [1, 2, 3, 4]},
        {"value": poisson(4), "other": [1, 2, 3, 4, 5, 6, 7, 8, 9]},
        {"value": np.arange(30)},
        [{"value": randint(0, 15)}, {"other": randint(0, 15)}],
    ],
    ids=["randint", "binom", "poisson", "grid", "list of dicts"],
)
@pytest.mark.filterwarnings("ignore:13 of the 30 candidates of the grid are left out")
def test_candidates_are_drawn_without_replacement(space):
    X, y = numbered(120)
    search = HyperbandSearchCV(
        Known2(), space, brackets="all", n_candidates=17, cv=KFold(2), random_state=0
    )
    results = search.fit(X, y).cv_results_
    first = results["iter"] == 0
    drawn = [str(results["params"][row]) for row in np.flatnonzero(first)]
    assert len(drawn) == 9 + 5 + 3
    assert len(set(drawn)) == len(drawn)


class Known2(Known):
    def __init__(self, value=0.5, other=None):
        super().__init__(value)
        self.other = other


@pytest.mark.parametrize("space", [{"value": [1, 2, 3, 4]}, {"value": randint(1, 5)}])
def test_a_small_space_is_used_whole_and_said_to_be_small(space):
    X, y = numbered(120)
    search = HyperbandSearchCV(Known(), space, brackets="all", cv=KFold(2), random_state=0)
    with pytest.warns(UserWarning, match="4 candidates, fewer than the brackets") as caught:
        search.fit(X, y)
    assert len(caught) == 1
    assert "starts all of them, with 26 fits in total." in str(caught[0].message)
    assert search.n_fits_ <= 26
    results = search.cv_results_
    widest = (results["bracket"] == results["bracket"].max()) & (results["iter"] == 0)
    assert [results["params"][row]["value"] for row in np.flatnonzero(widest)] == [1, 2, 3, 4]
    for bracket in set(results["bracket"]):
        rows = np.flatnonzero((results["bracket"] == bracket) & (results["iter"] == 0))
        values = [results["params"][row]["value"] for row in rows]
        assert len(set(values)) == len(values)
    assert search.best_params_ == {"value": 4}


def test_a_distribution_that_runs_dry_is_said_to():
    class Rare:
        def rvs(self, random_state=None):
            return random_state.randint(3)

    X, y = numbered(120)
    search = HyperbandSearchCV(
        Known(), {"value": Rare()}, brackets="all", n_candidates=17, sampler="random", cv=KFold(2)
    )
    with pytest.warns(UserWarning, match="have only 3 different candidates, but 17"):
        search.fit(X, y)


def test_the_candidates_are_those_of_randomized_search():
    X, y = numbered(120)
    search = HyperbandSearchCV(
        Known(),
        VALUES,
        brackets="all",
        n_candidates=17,
        sampler="random",
        cv=KFold(2),
        random_state=3,
    )
    results = search.fit(X, y).cv_results_
    first = np.flatnonzero(results["iter"] == 0)
    drawn = [results["params"][row] for row in first]
    assert drawn == list(ParameterSampler(VALUES, n_iter=17, random_state=3))


# -------------------------------------------------------------------------------------- the choice


class Crossing(Known):
    """Small values are good at little data, large values at much."""

    def score(self, X, y=None):
        return self.value if self.n_rows_ > 30 else 10 - self.value


@pytest.mark.parametrize("select", ["default", "max_resources", "all_rungs"])
def test_where_the_best_is_looked_for(select):
    X, y = numbered(120)
    options = {"resource": "n_samples", "min_resources": 7, "cv": KFold(2), "random_state": 0}
    if select == "default":
        search = HyperbandSearchCV(Crossing(), VALUES, brackets="all", **options)
    else:
        search = BanditSearchCV(Crossing(), VALUES, policy=Hyperband(select=select), **options)
    search.fit(X, y)
    results = search.cv_results_
    assert results["rank_test_score"][search.best_index_] == 1
    assert (results["n_resources"][search.best_index_] == 60) == (select != "all_rungs")
    assert search.best_score_ == results["mean_test_score"][search.best_index_]
    assert search.best_estimator_.n_rows_ == 120
    if select == "all_rungs":
        assert search.best_score_ == results["mean_test_score"].max()
    else:
        assert search.best_score_ == results["mean_test_score"][results["n_resources"] == 60].max()


def test_each_rung_keeps_the_best_of_its_own_bracket():
    X, y = numbered(240)
    search = HyperbandSearchCV(Known(), VALUES, cv=KFold(2), random_state=0).fit(X, y)
    table = pd.DataFrame(search.cv_results_)
    for _, bracket in table.groupby("bracket"):
        for rung in range(bracket["iter"].max()):
            here, above = (bracket[bracket["iter"] == i] for i in (rung, rung + 1))
            best = here.nlargest(len(above), "mean_test_score")
            assert set(above["candidate"]) == set(best["candidate"])
    owner = table.groupby("candidate")["bracket"].nunique()
    assert (owner == 1).all()


def test_loops_draw_new_candidates():
    X, y = numbered(120)
    search = HyperbandSearchCV(
        Known(), VALUES, brackets="all", n_loops=2, n_candidates=5, cv=KFold(2), random_state=0
    ).fit(X, y)
    table = pd.DataFrame(search.cv_results_)
    assert set(table["loop"]) == {0, 1}
    values = [set(group["param_value"]) for _, group in table.groupby("loop")]
    assert not values[0] & values[1]


# -------------------------------------------------------------------------------------- rescaling


def test_rescaled_parameters_are_used_in_each_rung_and_in_the_refit_and_shown():
    X, y = numbered(120)
    FITS.clear()
    search = HyperbandSearchCV(
        Recording(),
        VALUES,
        brackets="all",
        resource=TrainingSize(rescale={"value": "inverse"}),
        cv=KFold(2),
        random_state=0,
    ).fit(X, y)
    results = search.cv_results_
    drawn = np.array([params["value"] for params in results["params"]])
    np.testing.assert_array_equal(results["param_value"], drawn)
    expected = drawn * 60 / results["n_resources"]
    np.testing.assert_allclose(results["rescaled_value"].astype(float), expected)
    used = {(len(rows), p["value"]) for rows, p in zip(FITS.rows, FITS.params, strict=True)}
    shown = set(zip(results["n_resources"].tolist(), results["rescaled_value"], strict=True))
    refit = (120, search.best_params_["value"] * 60 / 120)
    assert used == shown | {refit}
    assert search.best_estimator_.value == refit[1]


def test_rescaling_a_parameter_that_is_not_searched():
    X, y = numbered(120)
    rule = {"other": lambda value, amount, max_amount: round(value * amount / max_amount)}
    search = HyperbandSearchCV(
        Known2(other=60),
        VALUES,
        brackets="all",
        resource=TrainingSize(rescale=rule),
        cv=KFold(2),
        random_state=0,
    ).fit(X, y)
    assert "param_other" not in search.cv_results_
    np.testing.assert_array_equal(
        search.cv_results_["rescaled_other"], search.cv_results_["n_resources"]
    )
    plain = HyperbandSearchCV(Known2(), VALUES, brackets="all", cv=KFold(2), random_state=0).fit(
        X, y
    )
    assert not any(key.startswith("rescaled") for key in plain.cv_results_)


def test_rescaling_with_a_number_of_features():
    X, y = data(60)
    pipeline = make_pipeline(RBFSampler(), LogisticRegression())
    search = HyperbandSearchCV(
        pipeline,
        {"logisticregression__C": loguniform(0.1, 10)},
        resource=ParameterValue(
            "rbfsampler__n_components", rescale={"logisticregression__C": "inverse"}
        ),
        max_resources=27,
        min_resources=3,
        cv=2,
        random_state=0,
    ).fit(X, y)
    results = search.cv_results_
    np.testing.assert_array_equal(
        results["param_rbfsampler__n_components"], results["n_resources"]
    )
    ratio = results["rescaled_logisticregression__C"] / results["param_logisticregression__C"]
    np.testing.assert_allclose(ratio.astype(float), 27 / results["n_resources"])
    features, classifier = search.best_estimator_
    assert search.best_params_["logisticregression__C"] == classifier.C
    assert features.n_components == 27


# ------------------------------------------------------------------------------- continued models


class Units(Resource):
    """A resource that trains unit by unit, or refits."""

    name = "units"
    subsamples_rows = False

    def __init__(self, largest, continues=True):
        self.largest = largest
        self.continues = continues

    def level_range(self, estimator, n_train, n_rows_needed):
        return 1, self.largest

    def can_continue(self, estimator):
        return self.continues

    def train(self, estimator, X, y, level, previous_level, fit_params):
        return estimator.train(X, y, level, previous_level)


class Remembering(ClassifierMixin, BaseEstimator):
    """Knows which candidate and rows it was trained with, and refuses any other."""

    n_units: ClassVar[list[int]] = []

    def __init__(self, value=0.5):
        self.value = value

    def fit(self, X, y):
        return self.train(X, y, 1, 0)

    def train(self, X, y, level, previous_level):
        identity = (self.value, X[:, 0].tolist())
        if previous_level:
            assert self.identity_ == identity
            assert self.level_ == previous_level
        else:
            assert not hasattr(self, "identity_")
            self.classes_ = np.unique(y)
        self.identity_ = identity
        self.level_ = level
        self.n_units.append(level - previous_level)
        return self

    def predict(self, X):
        return np.zeros(len(X), int)

    def score(self, X, y=None):
        assert not set(X[:, 0]) & set(self.identity_[1])
        return self.value


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize(("continues", "units"), [(True, 297), (False, 405)])
def test_continued_models_are_trained_on_what_is_missing(continues, units, n_jobs):
    X, y = numbered(90)
    Remembering.n_units.clear()
    search = HyperbandSearchCV(
        Remembering(),
        VALUES,
        resource=Units(81, continues),
        brackets=[4],
        cv=KFold(3),
        random_state=0,
        error_score="raise",
        n_jobs=n_jobs,
    ).fit(X, y)
    assert search.n_resources_spent_ == 3 * units
    continued = search.history_["continued_from"]
    assert (continued.max() == 27) if continues else (continued == 0).all()
    if n_jobs is None:
        assert sum(Remembering.n_units) == 3 * units + 81


def test_all_brackets_together_continue_their_own_models():
    X, y = numbered(90)
    search = HyperbandSearchCV(
        Remembering(), VALUES, resource=Units(27), cv=KFold(3), random_state=0, error_score="raise"
    ).fit(X, y)
    assert search.best_estimator_.level_ == 27
    assert search.best_estimator_.identity_[1] == X[:, 0].tolist()


def test_a_grown_forest_predicts_as_one_fitted_at_once():
    X, y = data(120)
    forest = RandomForestClassifier(random_state=0)
    grow = {**TREES, "max_resources": 9, "cv": KFold(2), "random_state": 0}
    search = HyperbandSearchCV(forest, {"max_depth": randint(1, 99)}, brackets=[1], **grow)
    results = search.fit(X, y).cv_results_
    assert (search.history_["continued_from"] == 3).any()
    for row in np.flatnonzero(results["n_resources"] == 9):
        cold = RandomForestClassifier(random_state=0, **results["params"][row])
        train, test = next(KFold(2).split(X))
        score = cold.fit(X[train], y[train]).score(X[test], y[test])
        assert score == results["split0_test_score"][row]


def test_interrupted_the_results_so_far_are_there():
    class Interrupts(Known):
        def fit(self, X, y=None):
            FITS.rows.append(None)
            if len(FITS) > 20:
                raise KeyboardInterrupt
            return super().fit(X, y)

    X, y = numbered(120)
    FITS.clear()
    search = HyperbandSearchCV(Interrupts(), VALUES, brackets="all", cv=KFold(2), random_state=0)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert search.n_fits_ == 20
    assert not hasattr(search, "best_estimator_")


def test_without_classes_the_smallest_rung_has_ten_rows_if_there_are_enough():
    for n_rows, smallest in ((1000, 19), (800, 15), (24, 4), (6, 1)):
        X, y = np.arange(float(n_rows)).reshape(-1, 1), np.arange(float(n_rows))
        search = HyperbandSearchCV(
            Ridge(), {"alpha": loguniform(0.1, 2)}, brackets="all", cv=2, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert search.plan(X, y)["n_resources"].min() == smallest


# ----------------------------------------------------------------------- small tables, by default


def table(n_rows, n_columns=26, n_classes=2):
    X = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    return X, np.arange(n_rows) % n_classes


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_classes", "levels", "widths"),
    [
        (300, 26, 2, [80, 240], [19, 13]),
        (500, 26, 2, [50, 133, 400], [25, 13, 9]),
        (500, 64, 20, [133, 400], [19, 13]),  # five rows of each class
        (1000, 140, 2, [267, 800], [19, 13]),  # as many rows as columns
        (1000, 2000, 2, [89, 267, 800], [25, 13, 9]),  # no rung has so many rows
        (5000, 26, 2, [50, 148, 444, 1333, 4000], [81, 34, 15, 8, 5]),
    ],
)
def test_rungs_of_distributions_have_enough_rows(n_rows, n_columns, n_classes, levels, widths):
    search = HyperbandSearchCV(LogisticRegression(), RATES_OF_C, random_state=0)
    plan = search.plan(*table(n_rows, n_columns, n_classes))
    assert sorted(set(plan["n_resources"])) == levels
    assert plan.loc[plan["rung"] == 0, "n_candidates"].tolist() == widths


@pytest.mark.filterwarnings("ignore:Models are fitted from scratch in every rung")
def test_named_brackets_and_a_given_minimum_are_obeyed():
    X, y = table(500)
    for params, least in (
        ({"brackets": "all"}, 5),
        ({"brackets": [4]}, 5),
        ({"brackets": "most_exploratory"}, 5),
        ({"min_resources": 20}, 44),
        ({"resource": "max_iter"}, 1),
    ):
        search = HyperbandSearchCV(LogisticRegression(), RATES_OF_C, random_state=0, **params)
        assert search.plan(X, y)["n_resources"].min() == least, params


@pytest.mark.parametrize(
    ("n_rows", "n_candidates", "widths"),
    [
        (300, 100, [19, 13]),
        (300, 32, [19, 13]),
        (300, 20, [12, 8]),
        (300, 15, [9, 6]),
        (500, 17, [9, 5, 3]),
        (5000, 200, [81, 34, 15, 8, 5]),
        (5000, 143, [81, 34, 15, 8, 5]),
        (5000, 28, [15, 8, 5]),
        (5000, 17, [9, 5, 3]),
    ],
)
def test_n_candidates_reduces_the_candidates_of_small_tables(n_rows, n_candidates, widths):
    search = HyperbandSearchCV(
        LogisticRegression(), RATES_OF_C, n_candidates=n_candidates, random_state=0
    )
    plan = search.plan(*table(n_rows))
    assert plan.loc[plan["rung"] == 0, "n_candidates"].tolist() == widths


@pytest.mark.parametrize("brackets", ["auto", "all", "most_exploratory", [1]])
@pytest.mark.parametrize("n_rows", [300, 500, 5000])
def test_a_loop_has_at_most_n_candidates_and_more_of_them_are_never_fewer(n_rows, brackets):
    X, y = table(n_rows)
    search = HyperbandSearchCV(LogisticRegression(), RATES_OF_C, brackets=brackets, random_state=0)
    n_started = []
    for n_candidates in (4, 8, 9, 17, 26, 50, 100, 10_000):
        plan = search.set_params(n_candidates=n_candidates).plan(X, y)
        n_started.append(plan.loc[plan["rung"] == 0, "n_candidates"].sum())
        assert n_started[-1] <= n_candidates
    assert n_started == sorted(n_started)
    plan = search.set_params(n_candidates=None).plan(X, y)
    assert n_started[-1] == plan.loc[plan["rung"] == 0, "n_candidates"].sum()


@pytest.mark.parametrize(
    ("model", "space"),
    [
        (KNeighborsClassifier(), {"n_neighbors": randint(1, 31), "p": uniform(1, 3)}),
        (
            make_pipeline(StandardScaler(), PCA(), SVC()),
            {"pca__n_components": randint(2, 31), "svc__C": loguniform(1e-2, 1e2)},
        ),
    ],
)
def test_neighbours_and_components_do_not_fail_on_a_small_table(model, space):
    X, y = load_breast_cancer(return_X_y=True)
    search = HyperbandSearchCV(model, space, random_state=0).fit(X[:500], y[:500])
    assert set(search.history_["outcome"]) == {"ok"}


def test_with_one_level_candidates_race_and_cost_as_much_as_the_brackets_of_large_data():
    search = HyperbandSearchCV(LogisticRegression(), RATES_OF_C, random_state=0)
    with pytest.warns(UserWarning, match=r"has 80 rows, .* at least 50. All candidates are"):
        plan = search.plan(*table(100))
    assert plan["n_candidates"].tolist() == [40, 14]
    assert plan["n_fits"].tolist() == [80, 42]
