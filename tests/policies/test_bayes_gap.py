"""BayesGap against plain loops and dense algebra, its traps, and pulls in flight."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from games import play_in_flight
from sklearn_halving._gaussian_process import ArmPrior
from sklearn_halving.policies import NO_ARM, BayesGap, KernelFamily, Problem, Pull
from sklearn_halving.policies.bases._gap_rule import AdaptiveBeta

ACQUISITIONS = ("bayesgap", "thompson", "bayes_ucb", "gp_ucb", "ei", "pi")


def smooth(x: np.ndarray, length: float = 0.2) -> np.ndarray:
    return np.exp(-0.5 * ((x[:, np.newaxis] - x) / length) ** 2)


def smooth_prior(seed: int = 0, n_arms: int = 12) -> np.ndarray:
    return smooth(np.random.default_rng(seed).random(n_arms), 0.4)


def rewards_of(seed: int, n_arms: int, n_repetitions: int = 200) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_arms, 1)) + 0.3 * rng.normal(size=(n_arms, n_repetitions))


# ------------------------------------------------------------ the algorithm, in plain loops


def printed_algorithm(table, prior, noise, n_pulls, n_counted, epsilon=0.0, betas=(0.0, np.inf)):
    """Play Algorithm 1 with eq. (9), one arm at a time and one dense solve a round."""
    n_arms = len(table)
    weight = n_counted / n_arms
    kappa = weight * sum(1 / prior[k, k] for k in range(n_arms))
    arms: list[int] = []
    rewards: list[float] = []
    bounds: list[float] = []
    leaders: list[int] = []
    mean, deviation = np.zeros(n_arms), np.sqrt(prior.diagonal())
    for _ in range(n_pulls):
        hardness = 0.0
        for k in range(n_arms):
            rest = [mean[j] + 3 * deviation[j] for j in range(n_arms) if j != k]
            gap = max(rest) - (mean[k] - 3 * deviation[k])
            least = max(epsilon, math.sqrt(noise / n_pulls))
            hardness += max((abs(gap) + epsilon) / 2, least) ** -2
        information = max(n_pulls - n_counted, 0) / noise + kappa
        beta = np.clip(math.sqrt(information / (4 * weight * hardness)), *betas)
        upper, lower = mean + beta * deviation, mean - beta * deviation
        gaps = [max(np.delete(upper, k)) - lower[k] for k in range(n_arms)]
        leader = int(np.argmin(np.round(gaps, 9)))
        rivals = np.where(np.arange(n_arms) == leader, -np.inf, np.round(upper, 9))
        pair = sorted([leader, int(np.argmax(rivals))])
        arm = pair[int(np.argmax(np.round(deviation[pair], 9)))]
        leaders.append(leader)
        bounds.append(gaps[leader])
        rewards.append(table[arm, arms.count(arm)])
        arms.append(arm)
        inverse = np.linalg.inv(prior[np.ix_(arms, arms)] + noise * np.eye(len(arms)))
        mean = prior[:, arms] @ inverse @ np.array(rewards)
        explained = prior[:, arms] @ inverse @ prior[arms]
        deviation = np.sqrt((prior - explained).diagonal())
    return arms, bounds, leaders, int(np.argmax(np.round(mean, 9)))


@pytest.mark.parametrize("beta", ["printed", "effective"])
@given(seed=st.integers(0, 2**16), epsilon=st.sampled_from([0.0, 0.2]))
@settings(max_examples=10)
def test_plays_the_algorithm(beta: str, seed: int, epsilon: float) -> None:
    # Of full rank: parts of a prior below RANK_TOLERANCE are left out, which is not in the paper.
    prior = smooth_prior(seed) + 1e-6 * np.eye(12)
    table, noise, n_pulls = rewards_of(seed, 12), 0.1, 25
    policy = BayesGap(n_pulls, prior, noise, beta=beta, epsilon=epsilon, standardize=False)
    arms, game = play_in_flight(policy, table)
    n_counted, betas = 12.0, (0.0, np.inf)
    if beta == "effective":
        n_counted = prior.trace() ** 2 / (prior**2).sum()
        counts = n_counted * n_pulls, n_counted * n_pulls / 0.05
        betas = tuple(math.sqrt(2 * math.log(count)) for count in counts)
    expected, bounds, _, best = printed_algorithm(
        table, prior, noise, n_pulls, n_counted, epsilon, betas
    )
    assert arms == expected
    np.testing.assert_allclose(game.belief().regret_bounds, bounds, rtol=1e-6, atol=1e-7)
    mean = game.belief().mean  # ties within a thousandth of a deviation go to arms with rewards
    assert mean[game.recommend()] == pytest.approx(mean[best], abs=1e-3)


def test_the_papers_recommendation_is_the_leader_of_the_round_with_the_least_bound() -> None:
    prior, table = smooth_prior(3), rewards_of(3, 12)
    policy = BayesGap(
        20, prior, 0.1, beta="printed", recommendation="smallest_bound", standardize=False
    )
    _, game = play_in_flight(policy, table)
    _, bounds, leaders, _ = printed_algorithm(table, prior, 0.1, 20, 12.0)
    assert game.recommend() == leaders[int(np.argmin(bounds))]


def dense_posterior(prior, noise, tau, told, in_flight):
    """Return means given the rewards, and deviations given also that pulls are in flight."""
    pulls = [pull for pull, _ in told] + in_flight
    arms, splits = (np.array([pull[i] for pull in pulls], dtype=int) for i in (0, 1))
    seen = prior[np.ix_(arms, arms)] + tau * np.equal.outer(splits, splits)
    seen = seen + noise * np.eye(len(pulls))
    explained = prior[:, arms] @ np.linalg.solve(seen, prior[arms]) if pulls else 0 * prior
    n = len(told)
    y = np.array([reward for _, reward in told])
    mean = prior[:, arms[:n]] @ np.linalg.solve(seen[:n, :n], y) if n else np.zeros(len(prior))
    return mean, np.sqrt((prior - explained).diagonal())


def plain_score(rule: str, mean: np.ndarray, sd: np.ndarray, pulled: list[int], t: int) -> Any:
    """Return what the paper's rivals maximize, for one arm after the other."""
    best = max(mean[pulled]) if pulled else max(mean)
    if rule == "bayes_ucb":
        return [m + norm.ppf(1 - 1 / (t + 1)) * s for m, s in zip(mean, sd, strict=True)]
    if rule == "gp_ucb":
        width = math.sqrt(2 * math.log(len(mean) * t**2 * math.pi**2 / (6 * 0.1)))
        return [m + width * s for m, s in zip(mean, sd, strict=True)]
    if rule == "pi":
        return [(m - best - 0.1 * max(sd)) / s for m, s in zip(mean, sd, strict=True)]
    z = [(m - best) / s for m, s in zip(mean, sd, strict=True)]
    return [s * (a * norm.cdf(a) + norm.pdf(a)) for a, s in zip(z, sd, strict=True)]


@pytest.mark.parametrize("tau", [0.0, 0.5])
@pytest.mark.parametrize("window", [1, 3])
@pytest.mark.parametrize("rule", ["bayesgap", "bayes_ucb", "gp_ucb", "ei", "pi"])
def test_plays_by_a_dense_posterior_with_splits_and_pulls_in_flight(rule, window, tau) -> None:
    """Bounds of 1.5 deviations; the arms of more than one pull in flight have no mean for them."""
    for n_arms in range(2, 14):
        prior = smooth_prior(n_arms, n_arms) + 0.1 * np.eye(n_arms)
        table, noise, n_pulls = rewards_of(n_arms, n_arms), 0.1, 15
        told: list[Any] = []
        in_flight: list[tuple[int, int]] = []
        expected: list[int] = []
        while len(told) < n_pulls:
            while len(in_flight) < window and len(expected) < n_pulls:
                mean, sd = dense_posterior(prior, noise, tau, told, in_flight)
                upper, lower = mean + 1.5 * sd, mean - 1.5 * sd
                if rule == "bayesgap":
                    gaps = [max(np.delete(upper, k)) - lower[k] for k in range(n_arms)]
                    leader = int(np.argmin(np.round(gaps, 8)))
                    rivals = np.where(np.arange(n_arms) == leader, -np.inf, np.round(upper, 8))
                    pair = sorted([leader, int(np.argmax(rivals))])
                    arm = pair[int(np.argmax(np.round(sd[pair], 8)))]
                else:
                    pulled = sorted({arm for (arm, _), _ in told})
                    score = plain_score(rule, mean, sd, pulled, len(expected) + 1)
                    arm = int(np.argmax(np.round(score, 8)))
                in_flight.append((arm, expected.count(arm)))
                expected.append(arm)
            pull = in_flight.pop(0)
            told.append((pull, table[pull]))
        policy = BayesGap(
            n_pulls, prior, noise, tau, rule, 1.5, standardize=False, pulls_in_flight=window
        )
        game = policy.start(Problem(n_arms))
        arms: list[int] = []
        untold: list[Pull] = []
        while not game.is_finished:
            asked = game.ask(window - len(untold))
            untold += asked
            arms += [pull.arm for pull in asked]
            told_now = untold.pop(0)
            game.tell(told_now, float(table[told_now.arm, told_now.repetition]))
        assert arms == expected
        mean, sd = dense_posterior(prior, noise, tau, told, [])
        np.testing.assert_allclose(game.belief().mean, mean, atol=1e-8)
        np.testing.assert_allclose(game.belief().deviation, sd, atol=1e-8)
        assert game.recommend() == int(np.argmax(np.round(mean, 8)))


# ------------------------------------------------------------------------ the traps of beta


def test_more_arms_than_pulls_and_arms_known_from_the_start() -> None:
    """T - K below 0, gaps of 0 and features of length 0 make no beta that is no number."""
    prior = smooth_prior()
    prior[3], prior[:, 3] = 0.0, 0.0
    n_effective = ArmPrior.of(prior, 12).effective_n_arms()
    for rule, n_counted in (("printed", 12), ("effective", n_effective)):
        exploration = AdaptiveBeta(rule, np.diag(prior), n_counted, 2, 0.1)
        flat = np.zeros(12)
        beta = exploration.beta(flat, flat, flat == 0, 0.0)
        assert 0 < beta < np.inf
        policy = BayesGap(5, prior, 0.1, beta=rule, standardize=False)
        arms, game = play_in_flight(policy, rewards_of(0, 12))
        assert len(arms) == 5
        assert 3 not in arms
        assert np.isfinite(game.belief().regret_bounds).all()


# ------------------------------------------------------------------------- confirmation


@pytest.mark.walk
@pytest.mark.parametrize("acquisition", ACQUISITIONS)
@pytest.mark.parametrize("recommendation", ["largest_mean", "smallest_bound"])
@pytest.mark.parametrize("n_pulls", [1, 2, 3, 7, 20])
def test_a_confirmed_arm_was_pulled(acquisition: str, recommendation: str, n_pulls: int) -> None:
    options = {"acquisition": acquisition, "recommendation": recommendation}
    for seed in range(3):
        prior, table = smooth_prior(seed, 40), rewards_of(seed, 40)
        arms, game = play_in_flight(BayesGap(n_pulls, prior, 0.1, **options, confirm=True), table)
        assert len(arms) == n_pulls
        assert game.recommend() in arms


def test_only_the_last_fifth_of_the_pulls_confirms() -> None:
    table, prior = rewards_of(0, 40), smooth_prior(0, 40)
    arms, _ = play_in_flight(BayesGap(30, prior, 0.1), table)
    policy = BayesGap(30, prior, 0.1, confirm=True)
    confirming, game = play_in_flight(policy, table)
    assert confirming[:24] == arms[:24]
    assert confirming != arms
    mean, deviation = game.belief()[:2]
    best, counts = game.recommend(), np.bincount(confirming, minlength=40)
    assert counts[best] == counts[mean + deviation >= mean[best]].max()


# ------------------------------------------------------------------------------ all rules


@pytest.mark.parametrize("acquisition", ACQUISITIONS)
def test_finds_the_best_arm_with_fewer_pulls_than_arms(acquisition: str) -> None:
    x = np.linspace(0, 1, 60)
    rng = np.random.default_rng(0)
    table = (1 - (x - 0.6) ** 2)[:, np.newaxis] + 0.01 * rng.normal(size=(60, 40))
    policy = BayesGap(30, smooth(x), 1e-3, acquisition=acquisition)
    arms, game = play_in_flight(policy, table)
    assert len(arms) == 30
    assert (0.6 - x[game.recommend()]) ** 2 < 0.01


@pytest.mark.parametrize("acquisition", ACQUISITIONS)
@given(seed=st.integers(0, 2**16), a=st.sampled_from([0.5, 1e-3, 1e8]), b=st.integers(-99, 99))
@settings(max_examples=5)
def test_level_and_scale_are_estimated(acquisition: str, seed: int, a: float, b: int) -> None:
    """And so do not matter; posterior and bounds are in the units of the rewards."""
    policy = BayesGap(20, smooth_prior(), 0.1, acquisition=acquisition)
    table = rewards_of(seed, 12)
    plain, moved = play_in_flight(policy, table), play_in_flight(policy, a * table + b)
    assert plain[0] == moved[0]
    (mean, deviation), (moved_mean, moved_deviation) = (
        game.belief()[:2] for _, game in (plain, moved)
    )
    np.testing.assert_allclose(moved_mean, a * mean + b, rtol=1e-6, atol=1e-6 * a)
    np.testing.assert_allclose(moved_deviation, a * deviation, rtol=1e-6)
    bounds, moved_bounds = (game.belief().regret_bounds for _, game in (plain, moved))
    assert len(bounds) == (20 if acquisition == "bayesgap" else 0)
    np.testing.assert_allclose(moved_bounds, a * bounds, rtol=1e-5)


def test_shared_splits_are_seen_through() -> None:
    """Splits ten times as far apart as the arms: pairs tell the arms apart, means do not."""
    rng = np.random.default_rng(0)
    hits = {0.0: 0, 25.0: 0}
    for _ in range(40):
        table = rng.normal(0, 5, 60) + np.arange(4)[:, np.newaxis] * 0.5
        table += 0.2 * rng.normal(size=table.shape)
        for between_splits in hits:
            noise = 0.04 if between_splits else 25.04
            policy = BayesGap(10, np.eye(4), noise, between_splits, standardize=False)
            hits[between_splits] += play_in_flight(policy, table)[1].recommend() == 3
    assert hits[25.0] >= hits[0.0] + 8


# ------------------------------------------------------------------------- pulls in flight


def test_pulls_in_flight_are_not_repeated_where_one_is_enough() -> None:
    """With hardly any noise an arm under way is as good as known."""
    policy = BayesGap(6, np.eye(6), 1e-6, pulls_in_flight=6)
    assert sorted(pull.arm for pull in policy.start(Problem(6)).ask(6)) == list(range(6))


# ------------------------------------------------------------------------- failed pulls


def tell_one(game: Any, arm: int, reward: float, repetition: int = 0) -> None:
    game.tell(Pull(arm, 1, repetition), reward)


@pytest.mark.parametrize("n_pulls_open", [1, 3])
def test_a_failed_pull_is_one_more_reward_as_low_as_the_lowest(n_pulls_open: int) -> None:
    """Before there is any it shrinks variances alone; then all are told."""
    policy = BayesGap(12, smooth_prior(), 0.1, split_variance=0.1, pulls_in_flight=n_pulls_open)
    failing, plain = policy.start(Problem(12)), policy.start(Problem(12))
    tell_one(failing, 3, np.nan)
    assert not failing.out()[3], "the split may be to blame"
    assert failing._posterior_ahead().variance[3] < 0.5
    assert (failing.belief().mean == 0).all()
    for arm, reward in ((5, 0.7), (1, 0.2), (8, np.nan), (2, 0.4)):
        tell_one(failing, arm, reward)
    for arm, reward in ((5, 0.7), (3, 0.7), (1, 0.2), (8, 0.2), (2, 0.4)):
        tell_one(plain, arm, reward)
    for values, expected in zip(failing.belief()[:2], plain.belief()[:2], strict=True):
        np.testing.assert_allclose(values, expected, atol=1e-9)
    assert np.flatnonzero(failing.out()).tolist() == [3, 8]


def test_an_infinite_reward_teaches_no_more_than_the_lowest_and_plus_infinity_nothing() -> None:
    policy = BayesGap(12, smooth_prior(), 0.1)
    states = [policy.start(Problem(12)) for _ in range(3)]
    for game, reward in zip(states, (np.nan, -np.inf, np.inf), strict=True):
        tell_one(game, 0, 0.1)
        tell_one(game, 1, 0.9)
        before = game.belief().mean
        tell_one(game, 2, reward)
        assert (game.belief().mean == before).all() == (reward == np.inf)
    np.testing.assert_array_equal(states[0].belief()[:2], states[1].belief()[:2])


@pytest.mark.parametrize("acquisition", ["bayesgap", "gp_ucb", "ei"])
@pytest.mark.parametrize(("n_failing", "most"), [(30, 4), (50, 16)])
def test_a_region_where_all_fails_is_left(acquisition: str, n_failing: int, most: int) -> None:
    """The best arms are next to it; without a lesson nearly all pulls would go into it."""
    x = np.linspace(0, 1, 60)
    table = np.tile(x[::-1, np.newaxis], 25)
    table[:n_failing] = np.nan
    policy = BayesGap(25, smooth(x), 1e-2, acquisition=acquisition)
    arms, game = play_in_flight(policy, table)
    assert sum(arm < n_failing for arm in arms) <= most
    assert n_failing <= game.recommend() <= n_failing + 8


def test_if_all_pulls_fail_they_are_spread_and_nothing_is_recommended() -> None:
    x = np.linspace(0, 1, 40)
    policy = BayesGap(6, smooth(x), 1e-2)
    arms, game = play_in_flight(policy, np.full((40, 10), np.nan))
    assert np.diff(sorted(arms)).min() >= 4
    assert game.recommend() == NO_ARM


# --------------------------------------------------------------------------- bad input


def test_a_prior_mean_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="one for each of the 4 arms"):
        BayesGap(5, prior_mean=[0.0, 1.0]).start(Problem(4))


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
    regrets = []
    for mean in means:
        game = policy.start(Problem(N_ARMS))
        for t in range(policy.n_pulls):
            if t % N_ARMS == 0:
                order = rng.permutation(N_ARMS)
            pull = Pull(int(order[t % N_ARMS]), 1, t // N_ARMS) if evenly else game.ask(1)[0]
            game.tell(pull, mean[pull.arm] + np.sqrt(NOISE) * rng.standard_normal())
        regrets.append(mean.max() - mean[game.recommend()])
    return float(np.mean(regrets))


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
        game = policy.start(Problem(N_ARMS))
        while not game.is_finished:
            [pull] = game.ask(1)
            game.tell(pull, means[pull.arm] + 0.1 * rng.standard_normal())
        regrets.append(means.max() - means[game.recommend()])
    # 0.68 where -40 is taken at its word; the other arms are 0.9 below the best on average.
    assert np.mean(regrets) < 0.4
