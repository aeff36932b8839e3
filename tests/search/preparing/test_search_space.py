"""Which places of a grid the brackets get."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import ParameterGrid

from sklearn_halving.search.preparing._search_space import SearchSpace, _draw_indices


@given(
    size=st.integers(1, 30),
    n_of_bracket=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    seed=st.integers(0, 99),
)
def test_no_place_twice_in_a_bracket_nor_again_before_all_were_used(size, n_of_bracket, seed):
    drawn = _draw_indices(size, n_of_bracket, np.random.RandomState(seed))
    count = np.zeros(size, dtype=int)
    for n in n_of_bracket:
        bracket, drawn = drawn[: min(n, size)], drawn[min(n, size) :]
        assert len(set(bracket)) == len(bracket) == min(n, size)
        np.add.at(count, bracket, 1)
        assert count.max() <= 1 or count.min() >= 1
        if n >= size:
            assert bracket == list(range(size)), "in its own order"
    assert drawn == []


def test_parameters_are_in_the_order_of_a_grid():
    grid = {"b": [1, 2], "a": [3, 4], "c": [5]}
    drawn = SearchSpace(grid).draw([4], np.random.RandomState(0))
    assert [list(params.items()) for params in drawn] == [
        list(params.items()) for params in ParameterGrid(grid)
    ]
