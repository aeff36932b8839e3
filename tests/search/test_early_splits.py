"""Rungs below the largest level are evaluated on as few splits as tell enough."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import loguniform, uniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit

from search.common import Known, data
from sklearn_halving import BanditSearchCV, HyperbandSearchCV
from sklearn_halving.policies import Hyperband

VALUES = {"value": uniform(0, 1)}
SPACE = {"C": loguniform(1e-4, 1e2)}
DIGITS = load_digits(return_X_y=True)


def search(**params):
    return HyperbandSearchCV(Known(), VALUES, random_state=0, **{"brackets": "all", **params})


def splits_of_rungs(fitted):
    """Return the splits of the early rungs, and those of the last ones, as lists."""
    history = fitted.history_
    is_last = history["n_resources"] == history["n_resources"].max()
    return [sorted(history["split"][rows].unique().tolist()) for rows in (~is_last, is_last)]


@settings(max_examples=40)
@given(
    early_splits=st.sampled_from(["auto", "all", 1, 2, 4, 9]),
    cv=st.sampled_from([2, 3, 5]),
    n_rows=st.integers(40, 400),
    factor=st.sampled_from([2, 3, 4]),
)
def test_what_was_planned_is_done(early_splits, cv, n_rows, factor):
    X, y = data(n_rows)
    fitted = search(early_splits=early_splits, cv=cv, factor=factor, n_candidates=17)
    plan = fitted.plan(X, y)
    fitted.fit(X, y)
    assert fitted.n_fits_ <= plan["n_fits"].sum()
    early, last = splits_of_rungs(fitted)
    assert last == list(range(cv))
    n_early = {"all": cv, "auto": len(early)}.get(early_splits, early_splits)
    assert early == list(range(min(n_early, cv)))
    done = fitted.history_.groupby(["bracket", "rung"]).size()
    largest = plan["n_resources"].max()
    for row in plan.itertuples():
        if row.n_resources < largest:
            assert done[row.bracket, row.rung] == row.n_fits
        else:  # candidates may be dropped after one split
            assert row.n_candidates <= done[row.bracket, row.rung] <= row.n_fits


def test_auto_takes_as_few_splits_as_have_a_hundred_test_rows():
    for n_rows, n_splits in ((90, 5), (170, 3), (255, 2), (500, 1), (2000, 1)):
        early, _ = splits_of_rungs(search(cv=5, n_candidates=17).fit(*data(n_rows)))
        assert len(early) == n_splits, n_rows


def test_auto_takes_as_many_splits_as_have_ten_rows_of_the_rarest_class():
    X, y = make_classification(1000, weights=[0.98], flip_y=0, random_state=0)
    assert np.bincount(y).tolist() == [980, 20]  # four in each fold
    early, _ = splits_of_rungs(search(cv=5, n_candidates=17).fit(X, y))
    assert early == [0, 1, 2]


def test_if_rows_are_ordered_early_rungs_use_the_latest_split():
    early, last = splits_of_rungs(search(cv=TimeSeriesSplit(4), n_candidates=17).fit(*data(800)))
    assert early == [3]
    assert last == [0, 1, 2, 3]


def test_with_groups_early_rungs_use_the_splits_that_are_most_like_all_rows():
    X, y = data(1000)
    groups = np.repeat(range(4), 250)
    y[groups == 0], y[groups == 1] = 0, 1
    cv = GroupKFold(4)
    unlike = {i for i, (_, test) in enumerate(cv.split(X, y, groups)) if len(set(y[test])) == 1}
    early, last = splits_of_rungs(search(cv=cv, n_candidates=17).fit(X, y, groups=groups))
    assert last == [0, 1, 2, 3]
    assert len(unlike) == 2
    assert 1 <= len(early) <= 2
    assert not unlike & set(early)


def test_a_policy_object_takes_all_splits_unless_it_says_how_many():
    """Early rungs may win, and means over one split and over all would be compared."""
    brackets = Hyperband(max_candidates=9, select="all_rungs")
    for policy, expected in (
        (brackets, [0, 1, 2]),
        (replace(brackets, early_repetitions=2), [0, 1]),
    ):
        any_rung = BanditSearchCV(
            Known(), VALUES, policy=policy, resource="n_samples", min_resources=10, cv=3
        )
        early, last = splits_of_rungs(any_rung.fit(*data(600)))
        assert (early, last) == (expected, [0, 1, 2])


def test_a_target_that_only_the_estimator_understands():
    """Such as a list of sequences, of which scikit-learn cannot say what it is."""

    class OfSequences(ClassifierMixin, BaseEstimator):
        def __init__(self, value=0.5, size=9):
            self.value = value
            self.size = size

        def fit(self, X, y):
            self.is_fitted_ = True
            return self

        def score(self, X, y):
            return self.value

    y = [["a", "b"][: 1 + row % 2] for row in range(300)]
    fitted = HyperbandSearchCV(
        OfSequences(), VALUES, resource="size", cv=KFold(3), random_state=0
    ).fit(np.zeros((300, 1)), y)
    early, last = splits_of_rungs(fitted)
    assert early == last == [0, 1, 2]


def test_columns_of_splits_that_a_rung_does_not_have_are_nan():
    fitted = HyperbandSearchCV(
        LogisticRegression(), SPACE, cv=5, n_candidates=17, random_state=0, early_splits=2
    ).fit(*data(300))
    results = fitted.cv_results_
    scores = np.column_stack([results[f"split{i}_test_score"] for i in range(5)])
    is_last = results["n_resources"] == results["n_resources"].max()
    assert np.isnan(scores[~is_last, 2:]).all()
    assert not np.isnan(scores[is_last]).any()
    assert results["mean_test_score"][~is_last] == pytest.approx(scores[~is_last, :2].mean(axis=1))
    assert results["mean_test_score"][is_last] == pytest.approx(scores[is_last].mean(axis=1))
    assert results["std_test_score"][~is_last] == pytest.approx(scores[~is_last, :2].std(axis=1))
    assert is_last[fitted.best_index_]


def test_candidates_go_on_by_the_scores_of_the_splits_of_their_rung():
    fitted = HyperbandSearchCV(
        LogisticRegression(), SPACE, brackets="most_exploratory", random_state=0, early_splits=1
    ).fit(*data(600))
    results, history = fitted.cv_results_, fitted.history_
    for rung in range(history["rung"].max()):
        here, above = (results["candidate"][results["iter"] == rung + i] for i in (0, 1))
        means = results["mean_test_score"][results["iter"] == rung]
        best = here[np.argsort(-means, kind="stable")[: len(above)]]
        assert sorted(best) == sorted(above)


@pytest.mark.filterwarnings("ignore:6 of the 9 candidates of the grid are left out")
def test_the_last_rung_is_the_same_for_any_early_splits():
    """Its fits on splits that the early rungs did not have are no different for that."""
    forest = RandomForestClassifier(n_estimators=9)
    space = {"max_depth": [1, 2, 3], "min_samples_leaf": [1, 5, 20]}
    scores = {}
    for early_splits in ("all", 1):
        fitted = HyperbandSearchCV(
            forest, space, resource="n_estimators", brackets=[1], min_resources=3, cv=3,
            random_state=0, early_splits=early_splits,
        ).fit(*data(200))  # fmt: skip
        history = fitted.history_
        last = history[history["n_resources"] == 9]
        keys = last[["candidate", "split"]].itertuples(index=False, name=None)
        scores[early_splits] = dict(zip(keys, last["test_score"], strict=True))
    both = scores["all"].keys() & scores[1].keys()
    assert both
    assert all(scores["all"][key] == scores[1][key] for key in both)


def test_same_result_for_any_number_of_jobs_and_after_a_resume(tmp_path):
    one = HyperbandSearchCV(
        LogisticRegression(max_iter=50), SPACE, n_candidates=17, random_state=0
    ).fit(*data(400))
    assert len(splits_of_rungs(one)[0]) < 5
    two = clone(one).set_params(n_jobs=2).fit(*data(400))
    journal = tmp_path / "search.jsonl"
    clone(one).set_params(checkpoint=journal).fit(*data(400))
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[: len(lines) // 2]))
    resumed = clone(one).set_params(checkpoint=journal).fit(*data(400))
    for other in (two, resumed):
        for key in one.cv_results_:
            if "test_score" in key:
                np.testing.assert_array_equal(one.cv_results_[key], other.cv_results_[key])
        assert one.best_params_ == other.best_params_


def test_regressors_need_no_classes():
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = np.random.default_rng(1).permutation(300.0 * np.arange(300))
    fitted = HyperbandSearchCV(Ridge(), {"alpha": loguniform(1e-3, 1e3)}, cv=KFold(3)).fit(X, y)
    assert splits_of_rungs(fitted) == [[0], [0, 1, 2]]


@pytest.mark.parametrize("early_splits", [0, -1, 1.5, "some", None])
def test_wrong_values_are_refused(early_splits):
    with pytest.raises(ValueError, match="early_splits"):
        search(early_splits=early_splits).fit(*data())


def test_it_costs_a_fifth_where_one_split_is_enough():
    X, y = DIGITS
    fits = {
        early: search(early_splits=early).plan(X, y).query("n_resources < 1437")["n_fits"].sum()
        for early in ("all", "auto")
    }
    assert fits["all"] == 5 * fits["auto"]


@pytest.mark.parametrize(("is_sorted", "n_splits"), [(True, 5), (False, 1)])
def test_a_fold_that_is_not_like_the_others_is_not_enough(is_sorted, n_splits):
    """The folds of a regressor are not shuffled by default, and rows may be sorted."""
    y = np.random.default_rng(0).normal(size=800)
    y = np.sort(y) if is_sorted else y
    search = HyperbandSearchCV(Ridge(), {"alpha": loguniform(1e-3, 1e3)}, random_state=0)
    early, _ = splits_of_rungs(search.fit(y[:, np.newaxis], y))
    assert len(early) == n_splits
