"""Arms that are behind the best one on one split are not pulled on the others."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_halving.policies import Hyperband, Problem, Pulls
from sklearn_halving.policies.bases._last_rung_race import Incumbent

N_SPLITS = 5
OPTIONS = {"n_loops": 8, "max_eliminations": 2, "early_repetitions": 1, "brackets_in_play": 2}


def played(races, *, noise=0.02, seed=0, batch=10**6, shuffled=False):
    """Return the policy's state, the true means of the arms and the pulls at the largest level."""
    policy = Hyperband(3, races=races, **OPTIONS)
    n_arms = policy.schedule(1, 9).n_arms
    rng = np.random.default_rng(seed)
    means, splits = rng.uniform(size=n_arms), rng.normal(0, 0.1, N_SPLITS)
    table = means[:, np.newaxis] + splits + noise * rng.standard_normal((n_arms, N_SPLITS))
    state = policy.start(Problem(n_arms, 1, 9, N_SPLITS))
    at_top = []
    while not policy.is_finished(state):
        pulls = policy.ask(state, batch)
        at_top += [(int(a), int(r)) for a, lev, r in zip(*pulls, strict=True) if lev == 9]
        order = rng.permutation(len(pulls)) if shuffled else np.arange(len(pulls))
        told = Pulls(*(column[order] for column in pulls))
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


def test_dropped_arms_are_reported_with_a_corrected_mean():
    policy, state, means, at_top = played(True, noise=0.0)
    n_pulls = np.bincount([arm for arm, _ in at_top])
    last = max(range(len(state[1].position)), key=state[1].position.get)
    rungs = [rung for rung in policy.rungs_before(state, last) if rung.level == 9]
    arms, known = (np.concatenate([r[i] for r in rungs]) for i in (0, 2))
    effect = known - means[arms]  # the mean effect of the splits, the same for all arms
    assert (n_pulls[arms] == 1).any()
    np.testing.assert_allclose(effect, effect[0], atol=1e-12)


@pytest.mark.parametrize("batch", [1, 3, 10**6])
def test_the_order_of_the_rewards_does_not_matter(batch):
    first, second = played(True), played(True, batch=batch, shuffled=True)
    assert sorted(first[3]) == sorted(second[3])
    assert first[0].recommend(first[1]) == second[0].recommend(second[1])


def test_refuses_a_batch_of_problems():
    policy = Hyperband(3, races=True, **OPTIONS)
    problem = Problem(policy.schedule(1, 9).n_arms, 1, 9, N_SPLITS)
    with pytest.raises(ValueError, match="batch_shape"):
        policy.start(problem, batch_shape=(2,))


def test_two_arms_with_all_rewards_are_needed():
    assert Incumbent.of([]) is None
    assert Incumbent.of([np.array([[1.0, 2.0], [np.nan, 3.0]])]) is None
    incumbent = Incumbent.of([np.array([[1.0, 2.0]]), np.array([[2.0, 3.0]])])
    np.testing.assert_array_equal(incumbent.rewards, [2.0, 3.0])
    assert incumbent.deviation == 0
    behind = incumbent.is_ahead_of(np.array([2.5, 3.0, 3.5, np.nan]), 1)
    assert behind.tolist() == [True, False, False, True]
