"""`corrected_variance_of_mean` against its formula, with gaps, and on recorded scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sklearn_halving.splits import RepeatedLearningTesting, corrected_variance_of_mean


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
def test_bad_sizes(sizes):
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
