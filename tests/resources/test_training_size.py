from __future__ import annotations

from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pandas as pd
from hypothesis import given
from scipy.sparse import csc_matrix, csr_array

from sklearn_halving.resources import rows_needed, subset_order, training_rows

labels = st.lists(st.integers(0, 4), min_size=1, max_size=60)
seeds = st.integers(0, 2**32 - 1)


def order_of(y, groups=None, *, seed=0, stratify=True, **kwargs):
    rng, y_of_order = np.random.default_rng(seed), y if stratify else None
    return subset_order(len(y), rng, y=y_of_order, groups=groups, **kwargs)


def counts_of(y, order, level):
    return {c: sum(y[i] == c for i in order[:level]) for c in set(y)}


@given(y=labels, seed=seeds)
def test_subsets_are_proportional(y, seed):
    """With no row forced, a class is never more than one row from its share."""
    order = order_of(y, seed=seed, min_per_class=0)
    sizes = counts_of(y, order, len(y))
    for level in range(len(y) + 1):
        for c, held in counts_of(y, order, level).items():
            assert abs(held - level * sizes[c] / len(y)) <= 1 + len(sizes) / 2


@given(
    columns=st.integers(1, 4),
    n_rows=st.integers(1, 60),
    seed=seeds,
    min_per_class=st.integers(1, 6),
    grouped=st.booleans(),
    keep_order=st.booleans(),
)
def test_rows_needed_is_the_first_level_that_suffices(
    columns, n_rows, seed, min_per_class, grouped, keep_order
):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, (n_rows, columns)) * (rng.random((n_rows, columns)) < 0.3)
    groups = rng.integers(0, 9, n_rows) if grouped else None
    given_y = y if columns > 1 else y[:, 0].tolist()
    order = subset_order(
        n_rows, rng, y=given_y, groups=groups, keep_order=keep_order, min_per_class=min_per_class
    )
    assert sorted(order) == list(range(n_rows))
    needed = rows_needed(order, given_y, min_per_class)

    def suffices(level):
        return all(
            (y[order[:level], j] == c).sum() >= min(min_per_class, (y[:, j] == c).sum())
            for j in range(columns)
            for c in np.unique(y[:, j])
        )

    assert suffices(needed)
    assert not suffices(needed - 1)
    most = min_per_class * sum(len(np.unique(column)) for column in y.T)
    if keep_order or not grouped:
        assert needed <= most
    if keep_order:  # those that are not needed are the most recent
        assert (np.diff(order[most:]) < 0).all()


@given(y=labels, seed=seeds, stratify=st.booleans(), data=st.data())
def test_subsets_cut_at_most_one_group(y, seed, stratify, data):
    groups = data.draw(st.lists(st.integers(0, 9), min_size=len(y), max_size=len(y)))
    order = order_of(y, groups, seed=seed, stratify=stratify)
    in_order = [groups[i] for i in order]
    changes = sum(a != b for a, b in pairwise(in_order))
    assert changes == len(set(groups)) - 1


@given(columns=st.integers(1, 3), n_rows=st.integers(1, 60), seed=seeds)
def test_groups_come_first_only_if_a_class_needs_them(columns, n_rows, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, (n_rows, columns)) * (rng.random((n_rows, columns)) < 0.3)
    groups = rng.integers(0, 10, n_rows)
    order = subset_order(n_rows, rng, y=y, groups=groups, min_per_class=2)
    wanted = {(j, c): min(2, (y[:, j] == c).sum()) for j in range(columns) for c in set(y[:, j])}
    held = dict.fromkeys(wanted, 0)
    for group in dict.fromkeys(groups[order]):
        brings = [(j, c) for row in y[groups == group] for j, c in enumerate(row)]
        short = {key for key in wanted if held[key] < wanted[key]}
        assert not short or short & set(brings)
        for key in brings:
            held[key] += 1


def test_training_rows_are_those_that_rank_first():
    order = np.array([2, 0, 1])
    np.testing.assert_array_equal(training_rows(np.array([7, 9, 8]), order, 1), [8])
    np.testing.assert_array_equal(training_rows(np.array([7, 9, 8]), order, 2), [7, 8])


def test_rows_in_order_of_time_keep_the_most_recent():
    order = subset_order(6, np.random.default_rng(0), keep_order=True)
    train = np.arange(10, 16)
    np.testing.assert_array_equal(training_rows(train, order, 2), [14, 15])
    np.testing.assert_array_equal(training_rows(train, order, 5), [11, 12, 13, 14, 15])


def test_equal_labels_of_any_type_give_equal_orders():
    codes = np.array([0, 1, 1, 0, 2, 1] * 5)
    names = np.array(["a", "b", "c"])[codes]
    expected = order_of(codes)
    for y in (
        names,
        names.astype(object),
        list(names),
        pd.Series(names, dtype="string"),
        pd.Series(names, dtype="category"),
        pd.Series(codes, dtype="Int64"),
        pd.DataFrame({"y": codes}),
        [["a", 0, 2.5][code] for code in codes],
    ):
        np.testing.assert_array_equal(order_of(y), expected)


def test_equal_labels_of_several_outputs_give_equal_orders():
    codes = np.random.default_rng(0).integers(0, 2, (30, 3))
    expected = subset_order(30, np.random.default_rng(0), y=codes)
    names = np.array(["a", "b"])[codes]
    for y in (names, codes.tolist(), pd.DataFrame(names), csr_array(codes), csc_matrix(codes)):
        np.testing.assert_array_equal(subset_order(30, np.random.default_rng(0), y=y), expected)


def test_missing_labels_are_a_class_of_their_own():
    y = pd.Series([1, None, 2] * 4, dtype="Int64")
    assert rows_needed(order_of(y), y, 2) == 6


def test_rows_needed_of_no_rows():
    assert rows_needed(np.array([], dtype=int), [], 2) == 0
