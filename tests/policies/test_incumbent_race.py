"""The race without end: who is pulled, on which splits, and who wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from sklearn_halving.policies import IncumbentRace, Problem, Pull, Pulls, UniformAllocation
from sklearn_halving.policies._incumbent_race import N_FIRST, first_of_equal, scale_of
from sklearn_halving.simulation import GaussianArms, simulate


def play(
    policy: IncumbentRace,
    n_arms: int,
    reward: Callable[[Pull], float],
    *,
    n_splits: int | None = None,
    seed: int = 0,
) -> tuple[list[Pull], int]:
    """Play with as many pulls under way as the policy allows, told oldest first."""
    problem = Problem(n_arms, max_repetitions=n_splits)
    state = policy.start(problem, seed=np.random.SeedSequence(seed))
    pulls: list[Pull] = []
    untold: list[Pull] = []
    while not policy.is_finished(state):
        while asked := list(policy.ask(state, 10).each()):
            pulls += asked
            untold += asked
        oldest = untold.pop(0)
        policy.tell(state, Pulls.of(oldest), np.array([reward(oldest)]))
    return pulls, int(policy.recommend(state))


def noise(pull: Pull, sd: float = 1.0) -> float:
    return sd * float(np.random.default_rng([1, *pull]).standard_normal())


@pytest.mark.parametrize("n_in_flight", [1, 4, 8])
def test_the_winner_has_half_of_the_most_splits(n_in_flight: int) -> None:
    policy = IncumbentRace(120, pulls_in_flight=n_in_flight)
    for seed in range(20):
        means = np.random.default_rng(seed).normal(size=60)
        pulls, best = play(policy, 60, lambda p, m=means: m[p.arm] + noise(p), seed=seed)
        n_pulls = Counter(pull.arm for pull in pulls)
        assert 2 * n_pulls[best] >= max(n_pulls.values()) >= 6


def test_there_is_no_horizon() -> None:
    """A longer race begins as a shorter one."""
    short, long = (
        play(IncumbentRace(n), 100, lambda pull: -abs(pull.arm - 40.0) + noise(pull, 5.0))[0]
        for n in (60, 120)
    )
    assert long[:60] == short


def test_a_quarter_of_the_pulls_is_of_new_arms_even_if_all_are_equally_good() -> None:
    pulls, _ = play(IncumbentRace(400), 400, noise)
    assert 90 <= len({pull.arm for pull in pulls}) <= 200


def test_a_poor_arm_costs_few_pulls() -> None:
    """Once the size of the noise is known: half of all arms are poor by three times that."""
    means = np.where(np.arange(200) % 2, -6.0, 0.0)
    pulls, best = play(IncumbentRace(400), 200, lambda pull: means[pull.arm] + noise(pull))
    n_pulls = Counter(pull.arm for pull in pulls)
    assert np.mean([n for arm, n in n_pulls.items() if arm % 2]) < 1.5
    assert means[best] == 0


def test_arms_are_compared_on_the_splits_of_the_leader() -> None:
    """After the first arms, a new arm is pulled on any split of the leader, not on the first."""
    pulls, best = play(IncumbentRace(300), 100, lambda p: float(p.arm == 5) + noise(p, 0.1))
    first_split = {pull.arm: pull.repetition for pull in reversed(pulls)}
    of_new = [split for arm, split in first_split.items() if arm >= N_FIRST]
    assert best == 5
    assert len(set(of_new)) > 3
    assert set(of_new) <= {pull.repetition for pull in pulls if pull.arm == best}


def test_splits_that_are_hard_for_all_do_not_matter() -> None:
    """The effect of a split is a hundred times the difference of the arms."""
    effect = 100 * np.random.default_rng(0).standard_normal(25)
    quality = np.random.default_rng(1).permutation(20) / 20
    _, best = play(
        IncumbentRace(200),
        20,
        lambda pull: effect[pull.repetition] + quality[pull.arm] + noise(pull, 0.01),
    )
    assert quality[best] == quality.max()


def test_arms_that_fail_are_out_and_the_race_goes_on() -> None:
    def reward(pull: Pull) -> float:
        has_failed = pull.arm < 10 or (pull.arm == 11 and pull.repetition == 2)
        return np.nan if has_failed else -abs(pull.arm - 14.0) + 100.0 * (pull.arm == 11)

    pulls, best = play(IncumbentRace(100), 20, reward)
    assert best == 14
    assert max(Counter(pull.arm for pull in pulls if pull.arm < 10).values()) == 1


def test_with_a_single_split_every_pull_is_of_a_new_arm() -> None:
    pulls, best = play(IncumbentRace(30), 50, lambda p: -abs(p.arm - 20.0), n_splits=1)
    assert [pull.arm for pull in pulls] == list(range(30))
    assert best == 20


@pytest.mark.parametrize(("n_known", "n_in_flight"), [(0, 4), (8, 1), (30, 1), (31, 2), (64, 4)])
def test_a_new_arm_waits_until_most_arms_have_a_reward(n_known: int, n_in_flight: int) -> None:
    policy = IncumbentRace(100)
    state = policy.start(Problem(100, max_repetitions=1), seed=np.random.SeedSequence(0))
    for _ in range(n_known):
        policy.tell(state, policy.ask(state, 1), np.zeros(1))
    asked = [policy.ask(state, 4).arm.size for _ in range(6)]
    assert sum(asked) == n_in_flight


def test_a_sampler_is_told_means_without_the_effects_of_splits_and_their_variances() -> None:
    policy = IncumbentRace(200)
    state = policy.start(Problem(50), seed=np.random.SeedSequence(0))
    while not policy.is_finished(state):
        pulls = policy.ask(state, 4)
        rewards = [10.0 * p.repetition + p.arm / 20 + noise(p, 0.1) for p in pulls.each()]
        policy.tell(state, pulls, np.array(rewards))
    [rung] = policy.rungs_before(state, 0)
    np.testing.assert_allclose(rung.means - rung.means[0], rung.arms / 20, atol=0.5)
    assert rung.variances is not None
    assert rung.variances.max() == pytest.approx(0.01, rel=0.5)


def test_equal_arms_count_once() -> None:
    """Fifty arms that give the same model as the first must not make the noise look small."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(12, 1)) + rng.normal(size=(12, 6))
    table[rng.random(table.shape) < 0.3] = np.nan
    copies = np.where(rng.random((50, 6)) < 0.5, table[0], np.nan)
    np.testing.assert_allclose(scale_of(np.vstack([table, copies])), scale_of(table))
    assert len(first_of_equal(np.vstack([table, copies]))) == 12


def test_equal_arms_leave_the_noise_of_the_others() -> None:
    """Nine out of ten arms are the same model: without the rule all seems to be certain."""

    def reward(pull: Pull) -> float:
        if pull.arm % 10:
            return noise(Pull(1000, 1, pull.repetition))
        return 0.5 * (pull.arm == 40) + noise(pull)

    wins = [play(IncumbentRace(400), 60, reward, seed=seed)[1] for seed in range(5)]
    policy = IncumbentRace(400)
    state = policy.start(Problem(60), seed=np.random.SeedSequence(0))
    while not policy.is_finished(state):
        pulls = policy.ask(state, 1)
        policy.tell(state, pulls, np.array([reward(pull) for pull in pulls.each()]))
    assert state.games[0].belief.noise == pytest.approx(1.0, rel=0.5)  # type: ignore[attr-defined]
    assert wins.count(40) >= 3


def test_finds_better_arms_than_equal_shares() -> None:
    """Forty arms, 120 pulls: three for each, where poor arms get only one or two in a race."""
    arms = GaussianArms(means=np.zeros(40), mean_sd=1.0, sds=1.0)
    race = simulate(IncumbentRace(120), arms, n_problems=50).simple_regret
    uniform = simulate(UniformAllocation(120), arms, n_problems=200).simple_regret
    error = np.hypot(race.standard_error, uniform.standard_error)
    assert race.value < uniform.value - 2 * error
