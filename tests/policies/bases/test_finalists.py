"""Arms that are behind the best one on one split are not pulled on the others."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_halving.policies import Hyperband, Problem, Pulls
from sklearn_halving.policies.bases._bracket_play import Finalists

N_SPLITS = 5
OPTIONS = {"n_loops": 8, "max_eliminations": 2, "early_repetitions": 1, "brackets_in_play": 3}


def played(races, *, noise=0.02, seed=0, batch=10**6, shuffled=False):
    """Return the policy's state, the true means of the arms and the pulls at the largest level."""
    policy = Hyperband(3, races=races, **OPTIONS)
    n_arms = policy.schedule(1, 9).n_arms
    rng = np.random.default_rng(seed)
    means, splits = rng.uniform(size=n_arms), rng.normal(0, 0.1, N_SPLITS)
    table = means[:, np.newaxis] + splits + noise * rng.standard_normal((n_arms, N_SPLITS))
    state = policy.start(Problem(n_arms, 1, 9, N_SPLITS))
    at_top, in_flight = [], []
    while not policy.is_finished(state):
        pulls = policy.ask(state, batch)
        asked = list(zip(*(column.tolist() for column in pulls), strict=True))
        at_top += [(arm, repetition) for arm, level, repetition in asked if level == 9]
        in_flight += asked
        if shuffled:
            rng.shuffle(in_flight)
        n_told = rng.integers(1, len(in_flight) + 1) if shuffled else len(in_flight)
        told = Pulls(*np.array(in_flight[:n_told]).T)
        in_flight = in_flight[n_told:]
        policy.tell(state, told, table[told.arm, told.repetition])
    return policy, state, means, at_top


@pytest.mark.parametrize("seed", range(5))
def test_fewer_pulls_and_a_winner_that_is_as_good(seed):
    full, races = played(False, seed=seed), played(True, seed=seed)
    assert len(races[3]) < 0.75 * len(full[3])
    best = [means[policy.recommend(state)] for policy, state, means, _ in (full, races)]
    assert best[1] >= best[0] - 0.05


def test_an_arm_has_one_pull_or_all_and_the_winner_has_all():
    policy, state, _, at_top = played(True)
    assert len(set(at_top)) == len(at_top)
    counts = np.bincount([arm for arm, _ in at_top])
    assert set(counts[counts > 0]) == {1, N_SPLITS}
    assert counts[policy.recommend(state)] == N_SPLITS


def incumbent_of(*tables):
    finalists = Finalists()
    for table in tables:
        finalists.add(np.array(table))
    return finalists.incumbents[-1]


def test_two_different_arms_with_all_rewards_are_needed():
    assert incumbent_of() is None
    assert incumbent_of([[1.0, 2.0, 3.0], [np.nan, 3.0, 3.0]]) is None
    assert incumbent_of([[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0]]) is None  # says nothing about noise
    incumbent = incumbent_of([[1.0, 2.0, 3.0]], [[2.0, 3.0, 4.5]])
    np.testing.assert_array_equal(incumbent.rewards, [2.0, 3.0, 4.5])
    edge = 3.0 - incumbent.tolerance
    behind = incumbent.is_ahead_of(
        np.array([edge - 0.01, edge + 0.01, np.nan, -np.inf, np.inf]), 1
    )
    assert behind.tolist() == [True, False, True, True, False]


def test_equal_finalists_and_infinite_rewards_drop_no_better_arm():
    finalists = [[0.8] * 5, [0.8] * 5, [0.8] * 5], [[0.7, -np.inf, 0.7, 0.7, 0.7]]
    assert incumbent_of(*finalists) is None
    incumbent = incumbent_of(*finalists, [[0.75, 0.7, 0.8, 0.7, 0.75]])
    assert np.isfinite(incumbent.tolerance)
    assert not incumbent.is_ahead_of(np.array([0.99]), 1)[0]


def test_an_incumbent_is_that_of_the_brackets_before():
    finalists = Finalists()
    for mean in (0.5, 0.7, 0.6):
        finalists.add(mean + np.array([[0.0, 0.01, 0.02], [-0.1, -0.1, -0.09]]))
    means = [one.rewards.mean() for one in finalists.incumbents[1:]]
    np.testing.assert_allclose(means, [0.51, 0.71, 0.71])


def test_no_race_on_two_splits():
    policy = Hyperband(3, races=True, **OPTIONS)
    n_arms = policy.schedule(1, 9).n_arms
    state, n_pulls = policy.start(Problem(n_arms, 1, 9, 2)), 0
    while not policy.is_finished(state):
        pulls = policy.ask(state, 10**6)
        n_pulls += len(pulls)
        policy.tell(state, pulls, np.random.default_rng(n_pulls).uniform(size=len(pulls)))
    assert n_pulls == policy.schedule(1, 9).n_pulls_on(2)
