"""The rule of gap-based exploration: one round, its bounds, one problem as many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_halving.policies import BayesGap, FactorCovariance, Problem, Pulls
from sklearn_halving.policies.bases._gap_rule import Exploration, first_largest
from sklearn_halving.policies.posterior._arm_covariance import DenseCovariance, effective_n_arms


def correlated_arms() -> np.ndarray:
    x = np.random.default_rng(0).random(12)
    return np.exp(-0.5 * ((x[:, np.newaxis] - x) / 0.4) ** 2)


def test_rounding_breaks_no_ties() -> None:
    assert first_largest(np.array([[0.3, 0.1 + 0.2, 0.2]]))[0] == 0
    assert first_largest(np.array([[-np.inf, -np.inf]]))[0] == 0


def test_copies_of_arms_change_the_printed_beta_and_not_the_effective() -> None:
    prior = correlated_arms()
    mean, deviation = np.random.default_rng(0).normal(size=(1, 12)), np.ones((1, 12))
    betas = {}
    for n_copies in (1, 5):
        copied = np.kron(prior, np.ones((n_copies, n_copies)))
        means, deviations = (np.repeat(a, n_copies, axis=1) for a in (mean, deviation))
        for rule in ("printed", "effective"):
            n_counted = len(copied)
            if rule == "effective":
                n_counted = effective_n_arms(DenseCovariance(copied))
            exploration = Exploration.of(rule, np.diag(copied), n_counted, 100, 0.25)
            alive = np.ones_like(means, dtype=bool)
            # An epsilon, so that the leader's copies do not change its distance to the second.
            betas[rule, n_copies] = exploration.beta(means, deviations, alive, np.full(1, 9.0))
    np.testing.assert_allclose(betas["effective", 1], betas["effective", 5], rtol=1e-9)
    assert betas["printed", 5] < 0.7 * betas["printed", 1]


def test_the_effective_number_of_a_factor_is_that_of_its_matrix() -> None:
    factor = np.random.default_rng(0).normal(size=(50, 4))
    assert effective_n_arms(FactorCovariance(factor)) == pytest.approx(
        effective_n_arms(DenseCovariance(factor @ factor.T))
    )


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
