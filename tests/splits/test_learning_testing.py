"""`RepeatedLearningTesting`: sizes, strata, groups, seeds, and its use in scikit-learn."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn import config_context
from sklearn.datasets import load_diabetes, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from sklearn_halving.splits import RepeatedLearningTesting, corrected_variance_of_mean

X_WINE, Y_WINE = load_wine(return_X_y=True)


def rows_like(n):
    return np.zeros((n, 1))


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def counts(codes, rows, n_classes):
    return np.bincount(codes[rows], minlength=n_classes)


@st.composite
def sizes(draw, max_rows=60):
    n = draw(st.integers(2, max_rows))
    n_test = draw(st.integers(1, n - 1))
    return n, draw(st.integers(1, n - n_test)), n_test


@st.composite
def targets(draw):
    """Class sizes, and sizes of the sides that have room for a training row of each class."""
    sizes = draw(st.lists(st.integers(1, 30), min_size=2, max_size=6))
    n = sum(sizes)
    assume(n > len(sizes))
    n_test = draw(st.integers(1, n - len(sizes)))
    n_train = draw(st.integers(len(sizes), n - n_test))
    return np.repeat(np.arange(len(sizes)), sizes), n_train, n_test


seeds = st.integers(0, 2**32 - 1)
repetitions = st.integers(0, 10**6)


# ---------------------------------------------------------------------------- properties


@given(sizes(), seeds, repetitions)
def test_sides_are_disjoint_and_of_the_sizes_asked_for(sizes, seed, repetition):
    n, n_train, n_test = sizes
    cv = RepeatedLearningTesting(train_size=n_train, test_size=n_test, random_state=seed)
    train, test = cv.stream(rows_like(n)).split(repetition)
    assert (len(train), len(test)) == (n_train, n_test)
    assert len(np.union1d(train, test)) == n_train + n_test
    assert np.all(np.diff(train) > 0)
    assert np.all(np.diff(test) > 0)
    assert min(train[0], test[0]) >= 0
    assert max(train[-1], test[-1]) < n


def stratified_split(target, seed, repetition):
    y, n_train, n_test = target
    sizes = {"train_size": n_train, "test_size": n_test}
    cv = RepeatedLearningTesting(**sizes, stratify=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return cv.stream(y, y).split(repetition)


@given(targets(), seeds, repetitions)
def test_every_class_has_a_training_row(target, seed, repetition):
    y, n_train, n_test = target
    train, test = stratified_split(target, seed, repetition)
    assert set(y[train]) == set(y)
    assert (len(train), len(test)) == (n_train, n_test)
    assert not set(train) & set(test)


@given(targets(), seeds, repetitions)
def test_class_shares_are_within_one_row(target, seed, repetition):
    y, n_train, n_test = target
    n, n_classes = len(y), int(y.max()) + 1
    of_class = np.bincount(y)
    assume(np.all(of_class * (n - n_test) >= n))  # no class is kept out of the test set
    train, test = stratified_split(target, seed, repetition)
    in_test = counts(y, test, n_classes)
    assert np.all(np.abs(in_test - of_class * n_test / n) < 1)
    left = of_class - in_test
    share = left * n_train / (n - n_test)
    assume(np.all(share >= 1))  # no class gets a training row beyond its share
    assert np.all(np.abs(counts(y, train, n_classes) - share) < 1)


@given(
    st.lists(st.integers(1, 12), min_size=2, max_size=15),
    st.floats(0.05, 0.6),
    st.booleans(),
    seeds,
    repetitions,
)
def test_groups_are_on_one_side(group_sizes, test_size, with_classes, seed, repetition):
    groups = np.repeat(np.arange(len(group_sizes)), group_sizes)
    assume(len(groups) > 3)
    y = np.arange(len(groups)) % 2 if with_classes else None
    cv = RepeatedLearningTesting(test_size=test_size, random_state=seed)
    train, test = cv.stream(groups, y, groups).split(repetition)
    assert not set(groups[train]) & set(groups[test])
    assert len(train) > 0
    assert len(test) > 0
    assert len(train) + len(test) == len(groups)


@given(seeds, st.permutations(range(8)))
def test_a_split_depends_on_its_repetition_alone(seed, order):
    X, y = rows_like(30), np.arange(30) % 3
    cv = RepeatedLearningTesting(8, random_state=seed)
    in_order = list(cv.split(X, y))
    stream = cv.stream(X, y)
    for repetition in order:
        assert same(stream.split(repetition), in_order[repetition])
    fewer = RepeatedLearningTesting(3, random_state=seed).split(X, y)
    assert all(same(one, other) for one, other in zip(fewer, in_order, strict=False))


# ------------------------------------------------------------------------- random_state


def test_an_int_gives_the_same_splits_at_each_call_and_none_does_not():
    X = rows_like(50)

    def twice(random_state):
        cv = RepeatedLearningTesting(1, random_state=random_state)
        return next(cv.split(X)), next(cv.split(X))

    assert same(*twice(3))
    assert same(*twice(np.int64(3)))
    assert not same(*twice(None))
    assert not same(*twice(np.random.RandomState(3)))
    assert same(twice(np.random.RandomState(3))[1], twice(np.random.RandomState(3))[1])
    assert not same(twice(3)[0], twice(4)[0])
    with pytest.raises(ValueError, match="cannot be used to seed"):
        twice("3")


def test_the_splits_of_a_seed_are_these_for_good():
    cv = RepeatedLearningTesting(2, random_state=0)
    y = np.arange(10) % 2
    assert [test.tolist() for _, test in cv.split(y, y)] == [[1, 2], [4, 5]]


# ------------------------------------------------------------------------------- sizes


@pytest.mark.parametrize(
    ("train_size", "test_size", "expected"),
    [
        (None, 0.2, (80, 21)),
        (0.1, 0.1, (10, 11)),
        (0.3, None, (30, 71)),
        (None, None, (80, 21)),
        (7, 3, (7, 3)),
        (None, 1, (100, 1)),
        (np.int64(5), np.float32(0.5), (5, 51)),
        (0.5, 7, (50, 7)),
    ],
)
def test_sizes(train_size, test_size, expected):
    cv = RepeatedLearningTesting(1, train_size=train_size, test_size=test_size, random_state=0)
    ((train, test),) = cv.split(rows_like(101))
    assert (len(train), len(test)) == expected


@pytest.mark.parametrize(
    ("n", "sizes", "message"),
    [
        (10, {"test_size": 0.0}, "test_size=0.0 should be either positive and smaller"),
        (10, {"test_size": True}, "Invalid value for test_size: True"),
        (10, {"train_size": float("nan")}, "cannot convert float NaN"),
        (5, {"train_size": 0.1}, "train_size=0.1, the resulting train set will be empty"),
        (10, {"train_size": 0.9, "test_size": 0.2}, "The sum of test_size and train_size"),
        (10, {"train_size": 8, "test_size": 3}, "The sum of train_size and test_size"),
        (1, {}, "n_samples=1, .* the resulting train set will be empty"),
    ],
)
def test_bad_sizes(n, sizes, message):
    with pytest.raises(ValueError, match=message):
        next(RepeatedLearningTesting(**sizes).split(rows_like(n)))


# ------------------------------------------------------------------------------ strata


def test_auto_leaves_regression_targets_alone():
    X, y = load_diabetes(return_X_y=True)  # whole numbers: "multiclass" to type_of_target
    auto, never = (
        RepeatedLearningTesting(3, stratify=stratify, random_state=0)
        for stratify in ("auto", False)
    )
    assert all(map(same, auto.split(X, y), never.split(X, y)))
    distinct = np.arange(442)
    assert all(map(same, auto.split(X, distinct), never.split(X, distinct)))
    for odd in ([np.nan, *range(441)], [None, "a"] * 221, np.array(["a", 1] * 221, dtype=object)):
        assert all(map(same, auto.split(X, odd), never.split(X, odd)))
    two_outputs = np.column_stack([y, y])
    assert all(map(same, auto.split(X, two_outputs), never.split(X, two_outputs)))


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({"stratify": True}, None, "needs a binary or multiclass y; got no y"),
        ({"stratify": True}, np.linspace(0, 1, 20), "got a y of type 'continuous'"),
        ({"stratify": np.arange(20) % 2}, None, "stratify must be True, False or 'auto'"),
        ({"stratify": 1}, None, "stratify must be True, False or 'auto'"),
        (
            {"stratify": True, "train_size": 3},
            np.arange(20) % 5,
            "train_size must allow at least one training row per class; got 3 training rows for 5",
        ),
    ],
)
def test_bad_strata(params, y, message):
    with pytest.raises(ValueError, match=message):
        RepeatedLearningTesting(**params).stream(rows_like(20), y)


def test_rare_classes_are_warned_of():
    y = np.array([0] * 10 + [1] * 9 + [2])
    with pytest.warns(UserWarning, match=r"only 1 member\. It is in every training set"):
        splits = list(RepeatedLearningTesting(20, stratify=True, random_state=0).split(y, y))
    assert all(19 in train for train, _ in splits)
    with pytest.warns(UserWarning, match="Test sets of 2 rows cannot contain all 3 classes"):
        RepeatedLearningTesting(test_size=2, stratify=True).stream(y, y)


# ------------------------------------------------------------------------------ groups


@pytest.mark.parametrize("as_type", [list, np.array, pd.Series])
def test_kinds_of_groups(as_type):
    groups = as_type([f"patient {i // 3}" for i in range(30)])
    cv = RepeatedLearningTesting(5, random_state=0)
    assert all(len(test) == 6 for _, test in cv.split(rows_like(30), None, groups))


def test_bad_groups():
    cv = RepeatedLearningTesting()
    with pytest.raises(ValueError, match=r"groups must contain at least 2 groups.*got 1"):
        cv.stream(rows_like(4), None, [0, 0, 0, 0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        cv.stream(rows_like(4), None, [0, 1, 0])


# ---------------------------------------------------------------------- in scikit-learn


def test_cross_val_score_and_nested_searches():
    cv = RepeatedLearningTesting(4, random_state=0)
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3]}, cv=cv)
    scores = cross_val_score(search, X_WINE, Y_WINE, cv=cv)
    assert np.array_equal(scores, cross_val_score(search, X_WINE, Y_WINE, cv=cv))
    search.fit(X_WINE, Y_WINE)
    assert search.n_splits_ == 4
    by_hand = cross_val_score(search.best_estimator_, X_WINE, Y_WINE, cv=cv)
    assert search.best_score_ == pytest.approx(by_hand.mean())


class GroupsSeen(GaussianNB):
    """Fails where a group of the training rows, the first column, is scored on."""

    def fit(self, X, y):
        self.groups_ = set(X[:, 0])
        return super().fit(X, y)

    def score(self, X, y):
        # On all training rows, or on none of their groups.
        assert self.groups_ == set(X[:, 0]) or not self.groups_ & set(X[:, 0])
        return super().score(X, y)


def test_groups_are_routed_through_nested_searches():
    groups, y = np.repeat(np.arange(30), 4), np.random.default_rng(0).integers(0, 2, 120)
    X = np.column_stack([groups, np.random.default_rng(1).normal(size=(120, 2))])
    cv = RepeatedLearningTesting(3, random_state=0)
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            GroupsSeen(), {"var_smoothing": [1e-9, 1e-3]}, cv=cv, error_score="raise"
        )
        search.fit(X, y, groups=groups)
        result = cross_validate(
            search, X, y, cv=cv, params={"groups": groups}, error_score="raise"
        )
        assert len(result["test_score"]) == 3
        cross_val_score(LogisticRegression(), X, y, cv=cv)  # groups may be left out


@given(
    hnp.arrays(
        float,
        hnp.array_shapes(min_dims=1, max_dims=3, max_side=5),
        elements=st.one_of(st.floats(-1e3, 1e3), st.just(np.nan)),
    ),
    st.integers(1, 1000),
    st.integers(1, 1000),
)
def test_formula(scores, n_train, n_test):
    variance = corrected_variance_of_mean(scores, n_train, n_test)
    assert variance.shape == scores.shape[:-1]
    for index in np.ndindex(variance.shape):
        known = scores[index][~np.isnan(scores[index])]
        if len(known) < 2:
            assert np.isnan(variance[index])
        else:
            expected = (1 / len(known) + n_test / n_train) * known.var(ddof=1)
            assert variance[index] == pytest.approx(expected, abs=1e-9)


def test_sizes_broadcast_over_rows():
    scores = np.array([[0.0, 1.0], [0.0, 1.0]])
    variance = corrected_variance_of_mean(scores, n_train=[10, 20], n_test=10)
    assert variance.tolist() == [0.75, 0.5]


def test_infinite_scores_and_no_scores():
    assert np.isnan(corrected_variance_of_mean([np.inf, 1.0, 2.0], 8, 2))
    assert np.isnan(corrected_variance_of_mean([], 8, 2))


@pytest.mark.parametrize("sizes", [(0, 5), (5, 0), (-1, 5), (np.nan, 5), ([5, 0], 5)])
def test_bad_numbers_of_rows(sizes):
    with pytest.raises(ValueError, match=r"n_t.* must be a positive number of rows, got"):
        corrected_variance_of_mean([1.0, 2.0], *sizes)


def test_a_single_number_is_no_row_of_scores():
    with pytest.raises(ValueError, match="must have a last axis over splits"):
        corrected_variance_of_mean(1.0, 8, 2)


def test_nearer_to_the_variance_over_data_sets_than_the_naive_one():
    # The model is the mean of the training rows, the score its squared error on the test rows.
    n_sets, n_rows, n_splits = 400, 100, 20
    data = np.random.default_rng(0).normal(size=(n_sets, n_rows))
    scores = np.empty((n_sets, n_splits))
    for i, rows in enumerate(data):
        stream = RepeatedLearningTesting(random_state=i).stream(rows)
        for j in range(n_splits):
            train, test = stream.split(j)
            scores[i, j] = -np.mean((rows[test] - rows[train].mean()) ** 2)
    true = scores.mean(axis=1).var(ddof=1)
    naive = scores.var(axis=1, ddof=1).mean() / n_splits
    corrected = corrected_variance_of_mean(scores, 80, 20).mean()
    assert naive < true / 3
    assert 0.7 * true < corrected < 1.7 * true
