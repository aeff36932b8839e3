"""One problem is played by other code than many: the same arms, bounds and posterior."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_halving.policies import BayesGap, Problem, Pulls


def prior_of(seed: int, n_arms: int, length: float) -> np.ndarray:
    x = np.random.default_rng(seed).random(n_arms)
    return np.exp(-0.5 * ((x[:, np.newaxis] - x) / length) ** 2)


def play(
    policy: BayesGap,
    problem: Problem,
    table: np.ndarray,
    n_copies: int | None,
    ties: int | None = None,
) -> Any:
    """Play one problem, or so many copies of it at a time; return arms and the state."""
    shape = () if n_copies is None else (n_copies,)
    state = policy.start(problem, batch_shape=shape)
    if ties is not None:
        state.break_ties(np.random.SeedSequence(ties))
    untold: list[Pulls] = []
    arms = []
    while not policy.is_finished(state):
        asked = policy.ask(state, 9)
        untold += [Pulls(*(c[..., [i]] for c in asked)) for i in range(len(asked))]
        pulls = untold.pop(0)
        arms.append(pulls.arm.ravel())
        policy.tell(state, pulls, table[pulls.arm, pulls.repetition])
    return np.array(arms), state


@given(
    seed=st.integers(0, 2**16),
    length=st.sampled_from([1e-3, 0.03, 0.1]),
    n_arms=st.sampled_from([2, 3, 15]),
    share_that_fails=st.sampled_from([0.0, 0.3]),
    max_repetitions=st.sampled_from([None, 3]),
    ties=st.sampled_from([None, 1]),
    options=st.fixed_dictionaries(
        {
            "beta": st.sampled_from(["effective", "printed", 1.5]),
            "epsilon": st.sampled_from([0.0, 0.3]),
            "split_variance": st.sampled_from([0.0, 0.2]),
            "standardize": st.booleans(),
            "pulls_in_flight": st.sampled_from([1, 3]),
            "recommendation": st.sampled_from(["largest_mean", "smallest_bound"]),
        }
    ),
)
@settings(max_examples=30)
def test_one_problem_is_played_as_many_are(
    seed, length, n_arms, share_that_fails, max_repetitions, ties, options
) -> None:
    rng = np.random.default_rng(seed)
    table = 5 + rng.normal(size=(n_arms, 1)) + 0.5 * rng.normal(size=(n_arms, 40))
    table[rng.random(n_arms) < share_that_fails] = np.nan
    policy = BayesGap(30, prior_of(seed, n_arms, length), 0.2, **options)
    problem = Problem(n_arms, max_repetitions=max_repetitions)
    one, state = play(policy, problem, table, None, ties)
    two, states = play(policy, problem, table, 2, ties)
    np.testing.assert_array_equal(np.repeat(one, 2, axis=1), two)
    bounds = policy.regret_bounds(state)
    np.testing.assert_allclose(bounds, policy.regret_bounds(states)[0], rtol=1e-4, atol=1e-6)
    for ours, theirs in zip(policy.posterior(state), policy.posterior(states), strict=True):
        np.testing.assert_allclose(ours, theirs[1], rtol=1e-4, atol=1e-4)
    assert policy.recommend(state) == policy.recommend(states)[0]


@pytest.mark.parametrize("how", [copy.deepcopy, lambda state: pickle.loads(pickle.dumps(state))])
def test_a_copied_state_goes_on_by_itself(how) -> None:
    """What shares memory in the original does so in the copy, and with the copy alone."""
    table = np.random.default_rng(0).normal(size=(12, 40))
    policy = BayesGap(30, prior_of(0, 12, 0.2), 0.2, split_variance=0.1)
    problem = Problem(12)
    expected, _ = play(policy, problem, table, None)
    state = policy.start(problem)
    arms = []
    for _ in range(30):
        original = state
        state = how(state)
        pulls = policy.ask(state, 1)
        policy.tell(state, pulls, table[pulls.arm, pulls.repetition])
        policy.tell(original, policy.ask(original, 1), np.array([99.0]))
        arms.append(pulls.arm)
    np.testing.assert_array_equal(np.array(arms), expected)


def test_broken_ties_are_of_any_arm() -> None:
    """Before the first reward all arms of a line are equal, and so are those on its end."""
    policy = BayesGap(5, prior_of(0, 40, 0.1), 0.2)
    firsts = set()
    for seed in range(8):
        arms, _ = play(policy, Problem(40), np.zeros((40, 40)), None, seed)
        firsts.add(int(arms[0, 0]))
    assert len(firsts) > 4
    arms, _ = play(policy, Problem(40), np.zeros((40, 40)), None)
    assert arms[0, 0] == 0
