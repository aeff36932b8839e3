"""BayesGap with a model that is not that of the arms: never worse than pulling all evenly."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_halving.policies import BayesGap, KernelFamily, Problem, Pulls

N_ARMS, N_PROBLEMS, LENGTH, NOISE = 60, 120, 0.1, 0.25


def line(length: float) -> np.ndarray:
    x = np.linspace(0, 1, N_ARMS)
    return np.exp(-(((x[:, np.newaxis] - x) / length) ** 2))


def squared_exponential(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * ((a[:, np.newaxis] - b) ** 2).sum(axis=-1))


def regret(policy: BayesGap, evenly: bool = False) -> float:
    """Return the mean simple regret over problems drawn from the true prior."""
    rng = np.random.default_rng(0)
    values, vectors = np.linalg.eigh(line(LENGTH))
    factor = vectors * np.sqrt(np.maximum(values, 0))
    means = rng.standard_normal((N_PROBLEMS, N_ARMS)) @ factor.T
    state = policy.start(Problem(N_ARMS), batch_shape=(N_PROBLEMS,))
    for t in range(policy.n_pulls):
        if t % N_ARMS == 0:
            order = np.argsort(rng.random(means.shape), axis=1)
        arm = order[:, [t % N_ARMS]]
        pulls = Pulls(arm, np.ones_like(arm), np.full_like(arm, t // N_ARMS))
        if not evenly:
            pulls = policy.ask(state, 1)
        noise = np.sqrt(NOISE) * rng.standard_normal(arm.shape)
        policy.tell(state, pulls, np.take_along_axis(means, pulls.arm, axis=1) + noise)
    chosen = policy.recommend(state)[:, np.newaxis]
    return float((means.max(axis=1) - np.take_along_axis(means, chosen, axis=1)[:, 0]).mean())


@pytest.mark.parametrize(
    ("length", "noise", "standardize"),
    [(1, 1, True), (1 / 3, 1, False), (3, 1, False), (1, 1 / 9, False), (1, 9, False)],
    ids=["scale unknown", "short", "long", "quiet", "loud"],
)
@pytest.mark.parametrize("n_pulls", [20, 80])
def test_it_is_not_worse_than_pulling_all_evenly(n_pulls, length, noise, standardize) -> None:
    policy = BayesGap(n_pulls, line(LENGTH * length), NOISE * noise, standardize=standardize)
    assert regret(policy) < 0.9 * regret(policy, evenly=True)


def test_a_few_hopeless_arms_do_not_set_the_scale() -> None:
    """Six arms of sixty, anywhere among the others, are far below them."""
    x = np.linspace(0, 1, N_ARMS)
    kernel = KernelFamily(squared_exponential, x[:, np.newaxis], np.array([0.3]))
    regrets = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        means = np.sin(6 * x + seed)
        means[rng.permutation(N_ARMS)[:6]] = -40.0
        policy = BayesGap(20, kernel)
        state = policy.start(Problem(N_ARMS))
        while not policy.is_finished(state):
            pulls = policy.ask(state, 1)
            policy.tell(state, pulls, means[pulls.arm] + 0.1 * rng.standard_normal(1))
        regrets.append(means.max() - means[int(policy.recommend(state))])
    # 0.68 where -40 is taken at its word; the other arms are 0.9 below the best on average.
    assert np.mean(regrets) < 0.4
