"""The race against the incumbent: who is pulled, who is dropped, and who wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sklearn_halving.policies import IncumbentRace, Problem, Pull, Pulls, UniformAllocation
from sklearn_halving.policies._incumbent_contest import Contest, RaceRules
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
def test_the_winner_has_all_splits(n_in_flight: int) -> None:
    policy = IncumbentRace(120, pulls_in_flight=n_in_flight)
    for seed in range(20):
        means = np.random.default_rng(seed).normal(size=30)
        pulls, best = play(policy, 30, lambda p, m=means: m[p.arm] + noise(p), seed=seed)
        assert len(pulls) <= 120
        splits = {pull.repetition for pull in pulls if pull.arm == best}
        assert splits == set(range(10))


def test_a_poor_arm_costs_few_pulls() -> None:
    """Once the size of the noise is known: half of all arms are poor by three times that."""
    means = np.where(np.arange(60) % 2, -6.0, 0.0)
    pulls, best = play(IncumbentRace(400), 60, lambda pull: means[pull.arm] + noise(pull))
    n_pulls = Counter(pull.arm for pull in pulls)
    assert np.mean([n_pulls[arm] for arm in range(11, 60, 2)]) < 1.5
    assert means[best] == 0


def test_newcomers_do_not_all_begin_on_the_same_split() -> None:
    pulls, _ = play(IncumbentRace(300), 100, lambda pull: -float(pull.arm) + noise(pull))
    first: dict[int, int] = {}
    for pull in pulls:
        first.setdefault(pull.arm, pull.repetition)
    assert len(set(first.values())) > 5


def test_newcomers_are_pulled_where_the_incumbent_was() -> None:
    told: set[int] = set()
    pulls, _ = play(IncumbentRace(100), 50, lambda pull: -float(pull.arm), n_splits=5)
    for pull in pulls:
        if pull.arm == 0:
            told.add(pull.repetition)
        else:
            assert pull.repetition in told


@pytest.mark.parametrize("n_in_flight", [1, 4])
def test_a_better_arm_takes_over_after_few_pulls(n_in_flight: int) -> None:
    """The incumbent waits with its last splits: a good arm has to lead on all that it has."""
    policy = IncumbentRace(100, pulls_in_flight=n_in_flight)
    for seed in range(20):
        pulls, best = play(policy, 50, lambda p: (p.arm == 1) + noise(p, 0.05), seed=seed)
        assert best == 1
        of_incumbent = [place for place, pull in enumerate(pulls) if pull.arm == 0]
        assert of_incumbent[-1] < 15  # it is not pulled after it has lost its place


def test_the_incumbent_gets_its_last_splits_slowly() -> None:
    pulls, _ = play(IncumbentRace(100), 50, lambda pull: -float(pull.arm))
    arms_before: list[int] = []
    for place, pull in enumerate(pulls):
        if pull.arm == 0:
            arms_before.append(len({earlier.arm for earlier in pulls[:place]} - {0}))
    assert arms_before == [0, 0, 0, 0, 1, 6, 11, 16, 21, 26]


def test_splits_that_are_hard_for_all_do_not_matter() -> None:
    """The effect of a split is a hundred times the difference of the arms."""
    effect = 100 * np.random.default_rng(0).standard_normal(10)
    quality = np.random.default_rng(1).permutation(20) / 20
    _, best = play(
        IncumbentRace(200),
        20,
        lambda pull: effect[pull.repetition] + quality[pull.arm] + noise(pull, 0.01),
    )
    assert quality[best] == quality.max()


def test_a_lead_on_few_splits_is_not_enough() -> None:
    """With one split for each, the winner would be who is lucky on that one."""
    pulls, best = play(
        IncumbentRace(500, min_splits=3), 40, lambda pull: noise(pull) - 1.5 * (pull.arm > 0)
    )
    assert best == 0
    assert Counter(pull.arm for pull in pulls)[0] == 10


def test_after_an_incumbent_that_fails_the_race_goes_on() -> None:
    def reward(pull: Pull) -> float:
        return np.nan if pull in {Pull(0, 1, 2), Pull(3, 1, 1)} else float(pull.arm == 4)

    _, best = play(IncumbentRace(100), 8, reward)
    assert best == 4


@pytest.mark.parametrize("n_rivals", [3, 2000])
def test_many_arms_may_be_dropped_at_once(n_rivals: int) -> None:
    """All rivals have rewards from before the race, and are far behind."""
    rng = np.random.default_rng(0)
    contest = Contest(RaceRules(10), 1, 50, rng, list(range(1, n_rivals + 1)), incumbent=0)
    contest.rewards = {arm: {0: -100.0 - arm, 1: -100.0 - arm} for arm in range(1, n_rivals + 1)}
    contest.rewards[0] = dict(enumerate(rng.normal(size=10)))
    contest.tell(Pull(0, 1, 9), 0.0)
    while not contest.is_finished:
        for pull in contest.ask():
            contest.tell(pull, -100.0)
    assert contest.best() == 0
    assert contest.dropped == set(range(1, n_rivals + 1))


def test_an_incumbent_with_more_rewards_than_splits_is_not_pulled_again() -> None:
    """Arm 2 is dropped with a pull in flight, when arm 1 becomes the incumbent on 6 splits."""
    contest = Contest(RaceRules(4), 1, 50, np.random.default_rng(0), [1, 2], incumbent=0)
    contest.rewards[0] = dict.fromkeys(range(6), 0.0)
    (of_one,), (of_two,) = contest.ask(), contest.ask()
    contest.rewards[2] = {split: 0.5 for split in range(6) if split != of_two.repetition}
    left = [of_one]
    while left:
        (pull,) = left
        assert pull.arm == 1
        contest.tell(pull, 5.0 + 0.1 * pull.repetition)
        left = contest.ask()
    assert contest.incumbent == 1
    assert contest.dropped == {0, 2}
    contest.tell(of_two, 0.0)
    assert contest.is_finished


def test_two_seeds_race_on_other_splits() -> None:
    games = [
        play(IncumbentRace(60), 20, lambda pull: -float(pull.arm), seed=seed)[0] for seed in (1, 2)
    ]
    assert games[0] != games[1]


def test_finds_better_arms_than_equal_shares() -> None:
    """Forty arms, 120 pulls: three for each, where the race drops most after one or two."""
    arms = GaussianArms(means=np.zeros(40), mean_sd=1.0, sds=1.0)
    race = simulate(IncumbentRace(120), arms, n_problems=200).simple_regret
    uniform = simulate(UniformAllocation(120), arms, n_problems=200).simple_regret
    error = np.hypot(race.standard_error, uniform.standard_error)
    assert race.value < uniform.value - 2 * error


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_pulls": 0}, "n_pulls must be at least 1"),
        ({"n_splits": 0}, "n_splits must be at least 1"),
        ({"min_splits": 0}, "min_splits must be at least 1"),
        ({"z": -1.0}, "z must be finite"),
        ({"pulls_in_flight": 0}, "pulls_in_flight must be at least 1"),
    ],
)
def test_refuses_parameters(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        IncumbentRace(**{"n_pulls": 10, **wrong})
