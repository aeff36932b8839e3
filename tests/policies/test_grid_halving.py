"""One bracket that starts every arm and never makes more pulls than a grid search."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_halving.policies import GridHalving, Problem, Round

PLANS = st.builds(
    GridHalving,
    n_arms=st.integers(1, 200),
    n_repetitions=st.integers(1, 12),
    factor=st.sampled_from([2, 2.5, 3, 4]),
    early_repetitions=st.integers(1, 4),
    first_floor=st.sampled_from([1, 50]),
    deep_floor=st.sampled_from([1, 200]),
)


def rungs_of(policy: GridHalving, min_level: int, max_level: int) -> tuple[Round, ...]:
    (bracket,) = policy.plan(Problem(1, min_level, max_level)).brackets
    return bracket.rounds


@given(PLANS, st.integers(1, 20), st.integers(0, 3000))
def test_never_more_pulls_than_all_arms_on_all_splits(policy, min_level, above):
    plan = policy.plan(Problem(1, min_level, min_level + above))
    assert plan.n_pulls(policy.n_repetitions) <= policy.n_arms * policy.n_repetitions


@given(PLANS, st.integers(1, 20), st.integers(0, 3000))
def test_every_arm_starts_and_three_are_compared_on_all_splits(policy, min_level, above):
    first, *_, last = 2 * rungs_of(policy, min_level, min_level + above)
    assert first.n_arms == policy.n_arms
    assert last.n_arms >= max(1, min(3, policy.n_arms - 1))
    assert last.level == min_level + above
    assert last.n_repetitions is None


@given(PLANS, st.integers(1, 20), st.integers(0, 3000))
def test_rungs_are_above_the_floors_and_increase(policy, min_level, above):
    rungs = rungs_of(policy, min_level, min_level + above)
    levels = sorted({rung.level for rung in rungs})
    assert [rung.level for rung in rungs] == sorted(rung.level for rung in rungs)
    assert all(level >= policy.deep_floor for level in levels[:-2])
    assert all(level >= max(min_level, policy.first_floor) for level in levels[:-1])
    # Two rungs share a level only where the second goes on with the splits of the first.
    for before, rung in pairwise(rungs):
        assert rung.first_repetition == (before.n_repetitions if rung.level == before.level else 0)


@pytest.mark.parametrize("n_arms", [1, 2])
def test_one_or_two_arms_are_a_grid_search(n_arms):
    assert rungs_of(GridHalving(n_arms, 5), 1, 1000) == (Round(n_arms, 1000),)


def test_what_cannot_be_halved_races_on_splits():
    race = (Round(6, 40, 2), Round(3, 40, first_repetition=2))
    assert rungs_of(GridHalving(6, 5, first_floor=50, deep_floor=200), 4, 40) == race
    assert rungs_of(GridHalving(3, 5), 1, 1000) == (
        Round(3, 1000, 2),
        Round(2, 1000, first_repetition=2),
    )


def test_a_problem_with_another_number_of_splits_is_refused():
    with pytest.raises(ValueError, match="n_repetitions must be the number of splits, 3, got 5"):
        GridHalving(6, 5).start(Problem(6, 1, 100, 3))
