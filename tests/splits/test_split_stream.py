"""`split_stream`: whatever GridSearchCV accepts as ``cv``, and `SplitStream` itself."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    LeavePGroupsOut,
    PredefinedSplit,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)

from sklearn_halving.splits import RepeatedLearningTesting, SplitStream, split_stream

N = 48
X = np.arange(N, dtype=float)[:, np.newaxis]
Y = (np.arange(N) // 5) % 3
GROUPS = np.arange(N) // 4

CONSTANT = [
    KFold(4),
    KFold(4, shuffle=True, random_state=3),
    StratifiedKFold(4),
    StratifiedKFold(4, shuffle=True, random_state=3),
    GroupKFold(4),
    GroupKFold(4, shuffle=True, random_state=3),
    StratifiedGroupKFold(4),
    StratifiedGroupKFold(4, shuffle=True, random_state=3),
    RepeatedKFold(n_splits=4, n_repeats=3, random_state=3),
    RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=3),
    ShuffleSplit(24, random_state=3),
    ShuffleSplit(7, random_state=3),
    StratifiedShuffleSplit(12, random_state=3, train_size=0.3, test_size=0.3),
    GroupShuffleSplit(12, random_state=3),
]
RANDOM = [
    KFold(4, shuffle=True),
    StratifiedKFold(4, shuffle=True),
    GroupKFold(4, shuffle=True),
    StratifiedGroupKFold(4, shuffle=True),
    RepeatedKFold(n_splits=4, n_repeats=3),
    RepeatedStratifiedKFold(n_splits=4, n_repeats=3),
    ShuffleSplit(12),
    StratifiedShuffleSplit(12),
    GroupShuffleSplit(12),
]
FINITE = [
    TimeSeriesSplit(4),
    PredefinedSplit(np.arange(N) % 4),
    LeaveOneOut(),
    LeaveOneGroupOut(),
    LeavePGroupsOut(2),
]


def needs_groups(cv):
    return "Group" in type(cv).__name__


def stream_of(cv, **params):
    params.setdefault("random_state", 0)
    return split_stream(cv, X, Y, groups=GROUPS if needs_groups(cv) else None, **params)


def own_splits(cv):
    return list(cv.split(X, Y, GROUPS if needs_groups(cv) else None))


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def all_same(splits, others):
    return len(splits) == len(others) and all(map(same, splits, others))


def first(stream, n):
    return [stream.split(repetition) for repetition in range(n)]


# --------------------------------------------------------------------- endless streams


@pytest.mark.parametrize("cv", CONSTANT, ids=repr)
def test_constant_splitters_give_their_own_splits_first(cv):
    stream = stream_of(cv)
    own = own_splits(cv)
    assert stream.n_repetitions is None
    assert all_same(first(stream, len(own)), own)


@pytest.mark.parametrize("cv", CONSTANT + RANDOM, ids=repr)
def test_reshuffles_are_new_and_of_the_same_kind(cv):
    stream = stream_of(cv)
    n = cv.get_n_splits()
    later = first(stream, 6 * n)
    distinct = {test.tobytes() for _, test in later}
    assert len(distinct) > 0.6 * len(later)  # of 12 groups, few can be drawn in many ways
    for train, test in later:
        assert not set(train) & set(test)
        if needs_groups(cv):
            assert not set(GROUPS[train]) & set(GROUPS[test])
        elif "Stratified" in type(cv).__name__:
            assert np.all(np.abs(np.bincount(Y[test]) - np.bincount(Y) * len(test) / N) <= 1)


@pytest.mark.parametrize(
    "cv", [cv for cv in CONSTANT + RANDOM if "KFold" in type(cv).__name__], ids=repr
)
def test_k_repetitions_are_a_partition(cv):
    stream = stream_of(cv)
    for block in (0, 1, 5, 1000):
        tests = [stream.split(4 * block + fold)[1] for fold in range(4)]
        assert np.array_equal(np.sort(np.concatenate(tests)), np.arange(N))


def test_random_state_of_cv_comes_before_that_of_the_search():
    fixed, free = KFold(4, shuffle=True, random_state=3), KFold(4, shuffle=True)
    assert same(stream_of(fixed).split(9), stream_of(fixed, random_state=1).split(9))
    assert not same(stream_of(free).split(9), stream_of(free, random_state=1).split(9))
    assert not same(
        stream_of(free, random_state=None).split(0), stream_of(free, random_state=None).split(0)
    )
    seed = np.random.SeedSequence(5, spawn_key=(1,))
    assert same(
        stream_of(free, random_state=seed).split(9), stream_of(free, random_state=seed).split(9)
    )
    rng = KFold(4, shuffle=True, random_state=np.random.RandomState(0))
    stream = stream_of(rng)
    assert same(stream.split(9), stream.split(9))
    assert not same(stream.split(9), stream_of(rng).split(9))


def test_stratified_group_k_fold_is_reshuffled_for_uneven_groups():
    # scikit-learn's own shuffle gives one and the same partition for these groups.
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), rng.integers(20, 400, 20))
    y = rng.integers(0, 5, len(groups))
    stream = split_stream(StratifiedGroupKFold(5), groups, y, groups=groups, random_state=0)
    tests = [test for _, test in first(stream, 100)]
    assert len({test.tobytes() for test in tests}) > 90
    assert all(0.05 * len(y) < len(test) < 0.45 * len(y) for test in tests)
    shares = np.array([np.bincount(y[test], minlength=5) / len(test) for test in tests])
    assert np.abs(shares - np.bincount(y) / len(y)).max() < 0.05


# ---------------------------------------------------------------------- None and numbers


def test_none_is_learning_testing_with_a_fifth_for_testing():
    stratified = split_stream(None, X, Y, classifier=True, random_state=0)
    expected = RepeatedLearningTesting(stratify=True, random_state=0).stream(X, Y)
    plain = split_stream(None, X, Y, classifier=False, random_state=0)
    assert stratified.n_repetitions is None
    for repetition in (0, 1, 77):
        assert same(stratified.split(repetition), expected.split(repetition))
        assert len(stratified.split(repetition)[1]) == len(plain.split(repetition)[1]) == 10
    assert not same(stratified.split(0), plain.split(0))
    continuous = split_stream(None, X, np.linspace(0, 1, N), classifier=True, random_state=0)
    assert same(continuous.split(0), plain.split(0))
    assert same(split_stream(None, X, random_state=0).split(0), plain.split(0))


def test_none_with_groups_keeps_them_together():
    stream = split_stream(None, X, Y, classifier=True, random_state=0, groups=GROUPS)
    for train, test in first(stream, 20):
        assert not set(GROUPS[train]) & set(GROUPS[test])


def test_int_is_k_fold_or_stratified_k_fold():
    stratified = split_stream(4, X, Y, classifier=True, random_state=0)
    assert all_same(first(stratified, 4), own_splits(StratifiedKFold(4)))
    assert all_same(first(split_stream(4, X, Y, random_state=0), 4), own_splits(KFold(4)))


# ------------------------------------------------------------------------ finite streams


@pytest.mark.parametrize("cv", FINITE, ids=repr)
def test_splitters_that_cannot_be_reshuffled(cv):
    stream = stream_of(cv)
    own = own_splits(cv)
    assert stream.n_repetitions == len(own)
    assert all_same(first(stream, len(own)), own)
    with pytest.raises(IndexError, match=f"must be below {len(own)}.*got {len(own)}. Use fewer"):
        stream.split(len(own))


class Purged(KFold):
    """A user's splitter with its own idea of a training set; counts how often it is asked."""

    n_asked = 0

    def split(self, X, y=None, groups=None):
        self.n_asked += 1
        for train, test in super().split(X, y, groups):
            yield train[1:], test


def test_subclasses_are_finite_and_asked_once():
    cv = Purged(4)
    stream = stream_of(cv)
    first(stream, 4)
    assert (stream.n_repetitions, cv.n_asked) == (4, 1)


def test_iterables_of_row_numbers_or_masks():
    mask = np.arange(N) < 10
    given_splits = [
        ([0, 1], [2]),
        (~mask, mask),
        (np.array([5, 3]), np.array([4], dtype=np.uint8)),
    ]
    for cv in (given_splits, iter(given_splits), tuple(given_splits)):
        stream = split_stream(cv, X, Y)
        splits = first(stream, 3)
        assert [len(train) for train, _ in splits] == [2, 38, 2]
        assert splits[1][1].tolist() == list(range(10))
        assert splits[2][0].tolist() == [5, 3]
        assert all(rows.dtype == np.intp for split in splits for rows in split)


def test_metadata_reaches_the_splitter():
    class ByTime:
        def split(self, X, y=None, groups=None, time=None):
            yield np.flatnonzero(time < 10), np.flatnonzero(time >= 10)

        def get_n_splits(self, X=None, y=None, groups=None, time=None):
            return 1

    stream = split_stream(ByTime(), X, Y, time=np.arange(N))
    assert stream.split(0)[1].tolist() == list(range(10, N))


@pytest.mark.parametrize("cv", [KFold(100), StratifiedKFold(100), GroupKFold(13)], ids=repr)
def test_what_scikit_learn_refuses_is_refused_at_once(cv):
    with pytest.raises(ValueError, match="n_splits=1"):
        stream_of(cv)


def test_groups_that_are_ignored_are_warned_of_once():
    with pytest.warns(UserWarning, match="groups parameter is ignored by KFold") as caught:
        first(split_stream(KFold(4), X, Y, groups=GROUPS, random_state=0), 40)
    assert len(caught) == 1


# ----------------------------------------------------------------------- the stream itself


@pytest.mark.parametrize("repetition", [1.0, "1", None])
def test_repetitions_are_integers(repetition):
    with pytest.raises(ValueError, match="repetition must be a whole number"):
        stream_of(KFold(4)).split(repetition)


@pytest.mark.parametrize(
    "rows", [["r0", "r1"], [N, N + 1], [-N - 1], [0.5, 1.0], [[0], [1]], [True] * (N + 1), None]
)
def test_labels_in_place_of_positions_are_refused(rows):
    for split in ((rows, [2, 3]), ([2, 3], rows)):
        with pytest.raises(ValueError, match=r"cv must yield positions .* to 47, or a mask of 48"):
            split_stream([split], X, Y)


def test_rows_may_be_changed():
    stream = stream_of(KFold(4))
    stream.split(0)[0][:] = 0
    assert same(stream.split(0), own_splits(KFold(4))[0])


@pytest.mark.parametrize("cv", CONSTANT + FINITE + [None], ids=repr)
def test_streams_can_be_pickled(cv):
    stream = stream_of(cv)
    first(stream, 3)
    copy = pickle.loads(pickle.dumps(stream))
    assert isinstance(copy, SplitStream)
    assert same(copy.split(2), stream.split(2))
    assert copy.n_repetitions == stream.n_repetitions


def test_streams_can_be_shared_by_threads():
    stream = stream_of(RepeatedKFold(n_splits=4, n_repeats=3, random_state=0))
    expected = first(stream_of(RepeatedKFold(n_splits=4, n_repeats=3, random_state=0)), 60)
    asked = np.random.default_rng(0).integers(0, 60, 400)
    with ThreadPoolExecutor(4) as pool:
        splits = list(pool.map(stream.split, asked))
    assert all(same(split, expected[j]) for split, j in zip(splits, asked, strict=True))
