"""Shares of a stage's pulls where arms can be used up."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_halving.policies.bases._greedy_allocation import greedy_counts


@given(
    st.lists(st.floats(1e-40, 1.0), min_size=2, max_size=6),
    st.integers(1, 6),
    st.integers(1, 40),
)
def test_what_is_left_over_goes_to_arms_of_hardly_any_weight(weights, limit, budget):
    # the arms of large weight reach the limit first; the others then share the rest
    n_arms = len(weights)
    counts = greedy_counts(
        np.array([weights]), np.zeros((1, n_arms), dtype=np.int64), np.array([budget]), limit
    )
    assert counts.max() <= limit
    assert counts.sum() == min(budget, n_arms * limit)
