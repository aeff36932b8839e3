"""The rule of gap-based exploration: one round, its bounds."""

from __future__ import annotations

import numpy as np

from games import play_in_flight
from sklearn_halving._gaussian_process import ArmPrior
from sklearn_halving.policies import BayesGap, Problem
from sklearn_halving.policies.bases._gap_rule import AdaptiveBeta


def correlated_arms() -> np.ndarray:
    x = np.random.default_rng(0).random(12)
    return np.exp(-0.5 * ((x[:, np.newaxis] - x) / 0.4) ** 2)


def test_copies_of_arms_change_the_printed_beta_and_not_the_effective() -> None:
    prior = correlated_arms()
    mean, deviation = np.random.default_rng(0).normal(size=12), np.ones(12)
    betas = {}
    for n_copies in (1, 5):
        copied = np.kron(prior, np.ones((n_copies, n_copies)))
        means, deviations = (np.repeat(a, n_copies) for a in (mean, deviation))
        for rule in ("printed", "effective"):
            n_counted = len(copied)
            if rule == "effective":
                n_counted = ArmPrior.of(copied, n_counted).effective_n_arms()
            exploration = AdaptiveBeta(rule, np.diag(copied), n_counted, 100, 0.25)
            alive = np.ones_like(means, dtype=bool)
            # An epsilon, so that the leader's copies do not change its distance to the second.
            betas[rule, n_copies] = exploration.beta(means, deviations, alive, 9.0)
    np.testing.assert_allclose(betas["effective", 1], betas["effective", 5], rtol=1e-9)
    assert betas["printed", 5] < 0.7 * betas["printed", 1]


def test_broken_ties_are_of_any_arm() -> None:
    """Before the first reward all arms of a line are equal."""
    x = np.random.default_rng(0).random(40)
    prior = np.exp(-0.5 * ((x[:, np.newaxis] - x) / 0.1) ** 2)
    policy = BayesGap(5, prior, 0.2, breaks_ties=True)
    firsts = set()
    for seed in range(8):
        game = policy.start(Problem(40), seed=np.random.SeedSequence(seed))
        firsts.add(game.ask(9)[0].arm)
    assert len(firsts) > 4
    policy = BayesGap(5, prior, 0.2)
    assert policy.start(Problem(40)).ask(9)[0].arm == 0


def test_a_number_is_beta_itself() -> None:
    """All arms are alike at first, with bounds that are 1.5 standard deviations away."""
    policy = BayesGap(5, np.eye(4), 0.2, beta=1.5, standardize=False, pulls_in_flight=2)
    _, game = play_in_flight(policy, np.zeros((4, 40)))
    assert game.belief().regret_bounds[0] == 3.0
