"""HyperbandSearchCV: what was planned is done, on the rows that were meant, without waste."""

from __future__ import annotations

import re
import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, loguniform, poisson, randint, uniform
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import KFold, ParameterSampler

from search.common import FITS, Known, Recording, data, numbered
from sklearn_halving import HyperbandSearchCV
from sklearn_halving.resources import TrainingSize

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
    min_resources=st.sampled_from([None, 4, 12, 30]),
    max_resources=st.sampled_from([None, 12, 25, 100]),
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
    costs, fact = plan["full_fits"], done(search)
    columns = ["bracket", "rung", "n_candidates", "n_resources"]
    pd.testing.assert_frame_equal(fact[columns], plan[columns], check_dtype=False)
    assert fact["n_fits"].tolist() == plan["n_fits"].tolist()
    assert not plan["at_most"].any()
    amount = plan["n_fits"] * plan["n_resources"] / plan["n_resources"].max()
    assert costs.tolist() == pytest.approx(amount.tolist(), abs=0.005 + 1e-9)
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


# --------------------------------------------------------------------------------------- bad input

TREES = {"resource": "n_estimators"}
EPOCHS, RATES = {"resource": "max_iter"}, {"alpha": uniform()}
BAD_INPUT = {
    "max below min": (Recording(), VALUES, {"min_resources": 40, "max_resources": 20}, "at most"),
    "max above all": (Recording(), VALUES, {"max_resources": 10_000}, "more than the 120 rows"),
    "max beyond float": (SGDClassifier(), RATES, {"max_resources": 10**400, **EPOCHS}, "at most"),
    "min below classes": (Recording(), VALUES, {"min_resources": 2}, "at least 12, .* class"),
    "max unknown": (SGDClassifier(), {"alpha": [1]}, {"resource": "fit_time"}, "max_resources"),
    "factor 1": (Recording(), VALUES, {"factor": 1}, r"range \[2.0, inf\)"),
    "factor 1e5": (SGDClassifier(), RATES, {"factor": 1e5}, "would start 100002"),
    "bracket too high": (Recording(), VALUES, {"brackets": [9]}, "whole numbers from 0 to "),
    "too few candidates": (
        Recording(), VALUES, {"n_candidates": 2, "brackets": [1]}, "_candidates must be at least 3"
    ),
    "no candidates": (Recording(), [], {}, "must hold candidates"),
    "rescale unknown": (
        Recording(), VALUES, {"resource": TrainingSize(rescale={"valeu": "inverse"})},
        "Did you mean 'value'",
    ),
    "rescale no number": (
        Recording(), {"value": [1, 2, 3, "big"]},
        {"resource": TrainingSize(rescale={"value": "inverse"})}, "'big'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_refused_before_any_fit(case, tmp_path):
    estimator, space, params, message = BAD_INPUT[case]
    options = {"brackets": "all", "cv": KFold(2), "random_state": 0, **params}
    search = HyperbandSearchCV(estimator, space, **options)
    FITS.clear()
    with pytest.raises((ValueError, TypeError), match=message):
        search.fit(*numbered(240))
    assert len(FITS) == 0
    assert not hasattr(search, "cv_results_")


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
def test_candidates_are_drawn_without_replacement(space):
    search = HyperbandSearchCV(
        Known2(), space, brackets="all", n_candidates=19, min_resources=12, cv=KFold(2),
        random_state=0,
    )  # fmt: skip
    results = search.fit(*numbered(120)).cv_results_
    first = results["iter"] == 0
    drawn = [str(results["params"][row]) for row in np.flatnonzero(first)]
    assert len(drawn) == 19
    assert len(set(drawn)) == len(drawn)


class Known2(Known):
    def __init__(self, value=0.5, other=None):
        super().__init__(value)
        self.other = other


def test_the_candidates_are_those_of_randomized_search():
    search = HyperbandSearchCV(
        Known(),
        VALUES,
        brackets="all",
        n_candidates=17,
        min_resources=12,
        cv=KFold(2),
        random_state=3,
    )
    results = search.fit(*numbered(120)).cv_results_
    first = np.flatnonzero(results["iter"] == 0)
    drawn = [results["params"][row] for row in first]
    assert drawn == list(ParameterSampler(VALUES, n_iter=17, random_state=3))


# -------------------------------------------------------------------------------------- rescaling


def test_rescaled_parameters_are_used_in_each_rung_and_in_the_refit_and_shown():
    FITS.clear()
    search = HyperbandSearchCV(
        Recording(),
        VALUES,
        brackets="all",
        resource=TrainingSize(rescale={"value": "inverse"}),
        min_resources=12,
        cv=KFold(2),
        random_state=0,
    ).fit(*numbered(120))
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


# ------------------------------------------------------------------------------- continued models


def test_a_grown_forest_predicts_as_one_fitted_at_once():
    X, y = data(120)
    forest = RandomForestClassifier(random_state=0)
    grow = {**TREES, "max_resources": 9, "cv": KFold(2), "random_state": 0}
    search = HyperbandSearchCV(forest, {"max_depth": randint(1, 99)}, brackets=[1], **grow)
    results = search.fit(X, y).cv_results_
    history = search.history_
    assert (history["continued_from"] == 3).any()
    n_trained = (history["n_resources"] - history["continued_from"]).sum()
    assert search.n_resources_spent_ == n_trained < history["n_resources"].sum()
    for row in np.flatnonzero(results["n_resources"] == 9):
        cold = RandomForestClassifier(random_state=0, **results["params"][row])
        train, test = next(KFold(2).split(X))
        score = cold.fit(X[train], y[train]).score(X[test], y[test])
        assert score == results["split0_test_score"][row]


# ----------------------------------------------------------------------- small tables, by default


def table(n_rows, n_columns=26, n_classes=2):
    X = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    return X, np.arange(n_rows) % n_classes


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_classes", "levels", "widths"),
    [
        (300, 26, 2, [80, 240], [3, 2]),
        (500, 26, 2, [50, 133, 400], [9, 5, 3]),
        (500, 64, 20, [200, 400], [3, 2]),  # ten rows of each class
        (1000, 140, 2, [267, 800], [3, 2]),  # as many rows as columns
        (1000, 2000, 2, [89, 267, 800], [9, 5, 3]),  # no rung has so many rows
        (5000, 26, 2, [50, 148, 444, 1333, 4000], [81, 34, 15, 8, 5]),
    ],
)
def test_rungs_of_distributions_have_enough_rows(n_rows, n_columns, n_classes, levels, widths):
    search = HyperbandSearchCV(LogisticRegression(), RATES_OF_C, random_state=0)
    plan = search.plan(*table(n_rows, n_columns, n_classes))
    assert sorted(set(plan["n_resources"])) == levels
    assert plan.loc[plan["rung"] == 0, "n_candidates"].tolist() == widths


def test_with_one_level_there_are_as_many_candidates_as_in_randomized_search():
    search = HyperbandSearchCV(LogisticRegression(), RATES_OF_C, random_state=0)
    with pytest.warns(UserWarning, match=r"has 80 rows. .* the 50 that a rung needs"):
        plan = search.plan(*table(100))
    assert plan["n_candidates"].tolist() == [10]
    assert plan["n_fits"].tolist() == [50]


# ------------------------------------------------------------------------------------------- loops


def loops_of(n_loops, **params):
    options = {"n_candidates": 9, "cv": 3, "random_state": 0, "refit": False, "brackets": "all"}
    options["min_resources"] = 12
    return HyperbandSearchCV(Known(), VALUES, n_loops=n_loops, **options, **params)


def test_the_number_of_loops_does_not_change_the_first_ones():
    def rows(n_loops, n_first):
        table = pd.DataFrame(loops_of(n_loops).fit(*numbered(60)).cv_results_)
        names = ["bracket", "iter", "n_resources", "param_value", "mean_test_score"]
        table["loop"] = table.get("loop", 0)
        return table.loc[table["loop"] < n_first, ["loop", *names]].reset_index(drop=True)

    pd.testing.assert_frame_equal(rows(4, 2), rows(2, 2))
    pd.testing.assert_frame_equal(rows(2, 1), rows(1, 1))
    assert not set.intersection(*rows(4, 4).groupby("loop")["param_value"].agg(set))


def test_the_plan_of_loops_without_limit_is_that_of_the_first():
    endless, once = (
        loops_of(n_loops, time_budget="1h").plan(*numbered(60)) for n_loops in (None, 1)
    )
    assert (endless.pop("at_most").any(), once.pop("at_most").all()) == (False, True)
    pd.testing.assert_frame_equal(endless, once)


@pytest.mark.parametrize(("n_loops", "is_refused"), [(2, False), (3, True)])
def test_loops_that_need_more_candidates_than_there_are_are_refused(n_loops, is_refused):
    search = loops_of(n_loops).set_params(param_distributions={"value": randint(0, 20)})
    with (
        pytest.raises(ValueError, match="n_loops=3 must be None or 1 for a space of 20")
        if is_refused
        else nullcontext()
    ):
        assert search.plan(*numbered(60))["loop"].max() == 1
