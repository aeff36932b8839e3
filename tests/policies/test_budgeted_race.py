"""The race of new arms: on a virtual clock, and within a budget of pulls."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest

from sklearn_halving.policies import BudgetedRace, Problem, Pull, UniformAllocation
from sklearn_halving.policies.noise._standings import Standings
from sklearn_halving.simulation import GaussianArms, simulate

TOP, LOW = 90, 10
SPLITS = (0, 1, 2, 3, 4)


@dataclass
class Play:
    """What happened on the virtual clock."""

    pulls: list[Pull] = field(default_factory=list)
    seconds: float = 0.0
    idle: float = 0.0
    arm: int = -1
    log: list[tuple[Pull, float, float]] = field(default_factory=list)

    def at(self, level):
        return [pull for pull in self.pulls if pull.level == level]


def timed(n_workers, refit_cost):
    return BudgetedRace(screening_level=LOW, pulls_in_flight=n_workers, refit_cost=refit_cost)


def play(budget, *, share=0.05, seconds=None, reward=None, n_workers=1, n_arms=5000, noise=0.01):
    """Play with full pulls of a second, or 0.7 on further splits; screening takes ``share``."""
    quality = np.random.default_rng(0).random(n_arms)
    policy = timed(n_workers, 1.25)
    game = policy.start(Problem(n_arms, LOW, TOP, len(SPLITS)))

    def seconds_of(pull):
        if seconds is not None:
            return seconds(pull)
        return 1.0 - 0.3 * (pull.repetition > 0) if pull.level == TOP else share

    def reward_of(pull):
        if reward is not None:
            return reward(pull)
        own = np.random.default_rng([0, *pull])
        return quality[pull.arm] + noise * own.standard_normal()

    found, running, now = Play(), [], 0.0
    while not game.is_finished:
        for pull in game.ask(n_workers - len(running)):
            found.pulls.append(pull)
            heapq.heappush(running, (now + seconds_of(pull), len(found.pulls), pull))
        before, n_running = now, len(running)
        now, _, pull = heapq.heappop(running)
        found.idle += (n_workers - n_running) * (now - before)
        found.log.append((pull, seconds_of(pull), budget - now))
        game.record_time(pull, seconds_of(pull), budget - now, n_workers)
        game.tell(pull, reward_of(pull))
    found.arm, found.seconds = game.recommend(), now
    found.ended_by, found.rounds = game.ended_by(), list(game.scores())
    found.regret = float(quality.max() - quality[found.arm])
    return found


@pytest.mark.parametrize("n_workers", [1, 2, 4])
@pytest.mark.parametrize("share", [0.05, 0.2, 0.6])
@pytest.mark.parametrize("budget", [3, 10, 40])
def test_the_budget_is_used_with_the_refit_and_not_exceeded(budget, share, n_workers):
    found = play(float(budget), share=share, n_workers=n_workers)
    assert found.seconds + 1.25 <= budget + 1e-9
    assert found.seconds + 1.25 >= 0.9 * budget - (1.0 if budget <= 10 else 0)


def test_a_time_without_end_is_no_error_with_a_baseline():
    policy = BudgetedRace(baseline=0)
    game = policy.start(Problem(12, LOW, TOP, len(SPLITS)))
    while not game.is_finished:
        (pull,) = game.ask(1)
        game.record_time(pull, 1.0, np.inf, 1)
        game.tell(pull, float(pull.arm))
    assert game.recommend() == 11


def test_the_first_pull_is_a_full_one_and_is_the_answer_if_there_is_no_time():
    found = play(1.0)
    assert (found.pulls, found.arm) == ([Pull(0, TOP, 0)], 0)


def test_screening_is_used_where_it_is_cheap():
    assert len(play(30.0, share=0.05).at(LOW)) > 9
    assert len(play(30.0, share=0.6).at(LOW)) == 1  # that of the first arm, to know its cost


@pytest.mark.parametrize("budget", [30.0, 300.0])
def test_only_the_first_arms_are_screened_and_one_of_nine_of_them_is_pulled_in_full(budget):
    found = play(budget, share=0.05)
    screened = [pull.arm for pull in found.at(LOW)]
    assert screened == list(range(19))
    promoted = {pull.arm for pull in found.at(TOP)[:3]}
    assert len(promoted) == 3
    assert promoted <= set(screened)
    assert [rung.level for rung in found.rounds] == [TOP]  # the sampler forgets small levels


def test_an_arm_that_would_not_end_is_not_started_where_prices_are_far_apart():
    """Every third arm takes as long as the whole budget, and is the better for it."""

    def seconds(pull):
        return (40.0 if pull.arm % 3 == 1 else 0.2) * (pull.level / TOP) ** 2

    found = play(20.0, seconds=seconds, reward=lambda p: float(p.arm % 3 == 1) + p.arm / 1e4)
    assert found.seconds <= 20.0
    assert all(pull.arm % 3 != 1 for pull in found.at(TOP))
    assert len(found.at(TOP)) > 20


@pytest.mark.parametrize("n_workers", [1, 2])
def test_only_the_first_of_poor_first_arms_is_pulled_in_full(n_workers):
    found = play(10.0, n_workers=n_workers, reward=lambda p: (p.arm > 4) + p.arm / 1e4)
    assert {pull.arm for pull in found.at(TOP) if pull.arm < 5} == {0}
    assert {0, 1, 2, 3, 4} <= {pull.arm for pull in found.at(LOW)}


@pytest.mark.parametrize(("n_workers", "best"), [(2, 1), (4, 1), (8, 1), (8, 100)])
def test_an_arm_far_ahead_is_found_if_screening_is_not_cheap(n_workers, best):
    """Also if it is screened before that is known, or comes late, when others have more splits."""
    options = {"share": 0.8, "n_workers": n_workers}
    assert play(40.0, **options, reward=lambda p: (p.arm == best) + p.arm / 1e4).arm == best


@pytest.mark.parametrize("n_workers", [2, 4])
def test_workers_do_not_wait(n_workers):
    found = play(30.0, n_workers=n_workers)
    assert found.idle < 2 * n_workers  # only before the end, when nothing more would fit in


def on_with(game, known, reward, left):
    """Play on with known pulls for some seconds; return the pulls and the seconds left."""
    seconds = np.array([pull.level / TOP for pull in known])
    rewards = np.array([reward(pull) for pull in known])
    game.tell_known(known, rewards, seconds)
    game.record_time(None, 0.0, left, 1)
    pulls = []
    while not game.is_finished:
        pulls += game.ask(1)
        left -= pulls[-1].level / TOP
        game.record_time(pulls[-1], pulls[-1].level / TOP, left, 1)
        game.tell(pulls[-1], reward(pulls[-1]))
    assert len({*pulls, *known}) == len(pulls) + len(known), "no pull is asked for again"
    return pulls, left


def test_what_is_known_of_the_first_arms_costs_nothing():
    policy, quality = timed(1, 0.0), np.random.default_rng(0).random(500)
    game = policy.start(Problem(500, LOW, TOP, 5))
    known = [Pull(arm, TOP, split) for arm in (0, 1, 3) for split in range(2)]
    known += [Pull(arm, LOW, 0) for arm in (1, 2)]
    pulls, left = on_with(game, known, lambda pull: quality[pull.arm], 20.0)
    assert 0 <= left < 1
    assert quality[game.recommend()] >= quality[[0, 1, 3]].max()
    assert {pull.arm for pull in known + pulls} >= set(range(10)), "no arm is left out"


@pytest.mark.parametrize("seed", range(40))
def test_any_known_pulls_are_taken_and_none_is_asked_for_again(seed):
    """Also if arms failed, or if all failed on a split."""
    rng = np.random.default_rng(seed)
    n_arms, n_splits, low = int(rng.integers(2, 15)), int(rng.integers(1, 5)), LOW * (seed % 2)
    policy = BudgetedRace(screening_level=low or None, baseline=0 if seed % 3 else None)
    game = policy.start(Problem(n_arms, low or TOP, TOP, n_splits))
    broken, share = rng.random(n_splits) < 0.3, rng.choice([0, 0.2, 0.7])

    def reward(pull):
        fails = rng.random() < share or (broken[pull.repetition] and pull.level == TOP)
        return np.nan if fails else rng.normal(pull.arm)

    known = [Pull(0, TOP, 0)] + [
        pull
        for arm in range(n_arms)
        for pull in [*([Pull(arm, low, 0)] if low else []), Pull(arm, TOP, n_splits - 1)]
        if rng.random() < 0.5 and pull != (0, TOP, 0)
    ]
    on_with(game, known, reward, 5.0)


def test_noisy_arms_are_confirmed_on_further_splits_and_clear_ones_are_not():
    noisy, clear = (play(60.0, share=0.6, noise=noise) for noise in (0.3, 1e-4))
    n_again = [len(found.pulls) - len({p.arm for p in found.pulls}) for found in (noisy, clear)]
    assert n_again[0] > n_again[1]


def test_all_of_a_small_space_is_pulled_in_full_and_then_the_play_ends():
    found = play(1000.0, n_arms=12)
    assert {pull.arm for pull in found.at(TOP)} == set(range(12))
    assert found.seconds < 12 + 12 + 12 * 4
    assert found.regret == 0
    assert found.ended_by == ("all candidates were tried",)


def test_the_play_ends_if_more_arms_gain_nothing():
    found = play(1e6, share=0.9, reward=lambda pull: 0.5)
    assert found.ended_by == ("hundreds of candidates without a gain",)
    assert found.seconds < 1000


def test_failed_arms_are_passed_over_and_a_play_that_only_fails_ends():
    for lost in (np.nan, -np.inf):
        found = play(30.0, reward=lambda p, lost=lost: lost if p.arm % 2 == 0 else float(p.arm))
        assert found.arm % 2 == 1
        # Samplers know how to treat infinite scores, but huge ones would hide all differences.
        assert all((rung.means[np.isfinite(rung.means)] > 0).all() for rung in found.rounds)
    found = play(30.0, reward=lambda pull: np.nan)
    assert (found.arm, len(found.pulls)) == (-1, 30)
    assert found.ended_by == ("all of the first fits failed",)


def test_equal_arms_count_once():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(10, 1)) + 0.5 * rng.normal(size=(10, 5))
    copies = np.repeat(table[:1], 30, axis=0)
    copies[10:, 2:], copies[20:, 1:] = np.nan, np.nan
    twice = np.concatenate([table, copies])
    alone, with_copies = (Standings.of(np.arange(len(t)), t, 5) for t in (table, twice))
    assert with_copies.noise == pytest.approx(alone.noise)
    assert with_copies.mean[:10] == pytest.approx(alone.mean)


def test_split_effects_do_not_decide():
    # The second arm was only pulled on the first split, which is an easy one. The last diverged.
    table = np.array([[7, 3, 3], [8.8, np.nan, np.nan], [9, 5, 5], [9.5, -1e30, np.nan]])
    standings = Standings.of(np.arange(4), table, 3)
    assert standings.leader == 2
    assert standings.adjusted[1] < standings.adjusted[2]


def test_an_arm_that_fails_at_the_small_level_keeps_its_full_pull():
    found = play(30.0, reward=lambda p: np.nan if p.level == LOW else float(p.arm % 7))
    assert (len(found.at(LOW)), found.arm % 7) == (1, 6)
    found = play(30.0, reward=lambda p: np.nan if p.arm == 0 and p.level == LOW else -p.arm)
    assert found.arm == 0


def test_screening_ends_if_it_fails_for_all_arms_but_the_first():
    found = play(30.0, reward=lambda p: np.nan if p.arm and p.level == LOW else float(p.arm % 7))
    assert len(found.at(LOW)) < 25
    assert len({pull.arm for pull in found.at(TOP)}) > 10


def test_a_first_arm_that_was_not_screened_is_not_left_for_worse_ones():
    found = play(2.3, n_workers=2, share=0.3, reward=lambda p: float(p.arm == 0))
    assert len(found.at(LOW)) > 2
    assert found.arm == 0


@pytest.mark.parametrize(("n_pulls", "n_least"), [(20, 3), (39, 3), (40, 5), (200, 5)])
def test_the_winner_has_all_splits_and_the_baseline_enough_to_compare(n_pulls, n_least):
    for seed in range(4):
        means = np.random.default_rng(seed).normal(size=n_pulls)
        policy = BudgetedRace(n_pulls, baseline=0)
        pulls, best = play_pulls(policy, n_pulls, lambda p, m=means: m[p.arm] + noise(p, 0.3))
        splits = {arm: {p.repetition for p in pulls if p.arm == arm} for arm in (0, best)}
        assert splits[best] == set(range(5))
        assert len(splits[0]) >= n_least


def test_finalists_are_completed_for_a_choice_of_the_user():
    for n_pulls, n_finalists in [(19, 0), (20, 1), (40, 3), (100, 3)]:
        policy = BudgetedRace(n_pulls, baseline=0, n_finalists=3)
        pulls, _ = play_pulls(policy, n_pulls, lambda p: p.arm + noise(p, 9.0))
        assert sum(n == 5 for n in Counter(p.arm for p in pulls).values()) >= n_finalists


def test_loops_of_new_arms_are_compared_on_different_splits():
    policy = BudgetedRace(100, baseline=0)
    pulls, _ = play_pulls(policy, 100, lambda p: p.arm + noise(p, 9.0))
    first = {p.arm: p.repetition for p in reversed(pulls)}
    n_new = Counter(first[arm] for arm in first if arm)
    assert set(n_new) == set(range(5))
    assert max(n_new.values()) <= 3 * min(n_new.values())


def test_one_split_that_orders_the_arms_the_other_way_does_not_decide():
    # On the first split, with which each search begins, the worst arms look best.
    sign = [1, -1, -1, -1, -1]
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(60)

        def reward(pull, order=order):
            return sign[pull.repetition] * order[pull.arm] / 60

        _, best = play_pulls(BudgetedRace(60, baseline=0), 60, reward)
        assert order[best] < 30


def test_equal_arms_fall_to_the_first_also_within_rounding():
    table = np.full((4, 3), 0.1) + np.array([[0], [0], [1e-17], [-1e-3]])
    table[0] = [0.1 + 1e-16, 0.1, 0.1 - 1e-16]
    assert Standings.of(np.arange(4), table, 3).leader == 0


def play_pulls(policy, n_arms, reward, n_splits=5):
    """Play with as many pulls in flight as the policy allows, told oldest first."""
    game = policy.start(Problem(n_arms, max_repetitions=n_splits))
    pulls, untold = [], []
    while not game.is_finished:
        asked = list(game.ask(10))
        pulls, untold = pulls + asked, untold + asked
        oldest = untold.pop(0)
        game.tell(oldest, reward(oldest))
    return pulls, game.recommend()


def noise(pull, sd=1.0):
    return sd * float(np.random.default_rng([1, *pull]).standard_normal())


@pytest.mark.parametrize("n_in_flight", [1, 4, 8])
def test_all_of_a_budget_of_pulls_is_used_and_the_winner_has_half_of_the_most_splits(n_in_flight):
    for seed in range(4):
        means = np.random.default_rng(seed).normal(size=60)
        policy = BudgetedRace(60, pulls_in_flight=n_in_flight)
        pulls, best = play_pulls(policy, 60, lambda p, m=means: m[p.arm] + noise(p, 0.5))
        n_pulls = Counter(pull.arm for pull in pulls)
        assert len(set(pulls)) == 60
        assert 2 * n_pulls[best] >= max(n_pulls.values())


def test_a_budget_that_covers_all_arms_ends_with_all_of_them_on_all_splits():
    for n_pulls in (30, 45):
        pulls, _ = play_pulls(BudgetedRace(n_pulls), 6, lambda p: float(p.arm == 2) + noise(p))
        assert sorted(set(pulls)) == [
            Pull(arm, 1, split) for arm in range(6) for split in range(5)
        ]


@pytest.mark.parametrize("sd", [0.0, 1.0])
@pytest.mark.parametrize("n_in_flight", [1, 3])
@pytest.mark.parametrize(
    ("n_pulls", "n_arms", "is_exact"),
    [(4, 4, True), (10, 40, True), (60, 60, True), (20, 4, True), (30, 4, True), (12, 4, False)],
)
def test_the_number_of_pulls_is_the_one_of_the_plan(n_pulls, n_arms, is_exact, n_in_flight, sd):
    policy = BudgetedRace(n_pulls, pulls_in_flight=n_in_flight)
    planned = policy.plan(Problem(n_arms, max_repetitions=5))
    pulls, _ = play_pulls(policy, n_arms, lambda p: float(p.arm) + noise(p, sd))
    assert planned.is_exact == is_exact
    assert len(pulls) <= planned.max_pulls
    assert len(pulls) == planned.max_pulls or not is_exact


def test_splits_that_are_hard_for_all_do_not_matter():
    effect = 100 * np.random.default_rng(0).standard_normal(5)
    quality = np.random.default_rng(1).permutation(20) / 20
    reward = lambda p: effect[p.repetition] + quality[p.arm] + noise(p, 0.01)  # noqa: E731
    assert quality[play_pulls(BudgetedRace(60), 20, reward)[1]] == quality.max()


@pytest.mark.parametrize("n_in_flight", [1, 3])
@pytest.mark.parametrize("broken", [0, 1, 3])
def test_a_split_on_which_every_arm_fails_costs_a_few_pulls(n_in_flight, broken):
    policy = BudgetedRace(60, pulls_in_flight=n_in_flight)
    pulls, best = play_pulls(
        policy, 20, lambda p: np.nan if p.repetition == broken else -abs(p.arm - 7.0)
    )
    assert best == 7
    assert sum(pull.repetition == broken for pull in pulls) <= 5 + n_in_flight


def test_arms_that_fail_are_out_also_if_they_come_first():
    def reward(pull):
        return np.nan if pull.arm < 6 else -abs(pull.arm - 14.0) + 0.001 * pull.repetition

    pulls, best = play_pulls(BudgetedRace(60), 20, reward)
    assert best == 14
    assert max(Counter(pull.arm for pull in pulls if pull.arm < 6).values()) <= 2


def test_finds_better_arms_than_equal_shares():
    """Forty arms, 120 pulls: three for each, where poor arms get only one or two in a race."""
    arms = GaussianArms(means=np.zeros(40), mean_sd=1.0, sds=1.0)
    race = simulate(BudgetedRace(120), arms, n_problems=25).simple_regret
    uniform = simulate(UniformAllocation(120), arms, n_problems=200).simple_regret
    error = np.hypot(race.standard_error, uniform.standard_error)
    assert race.value < uniform.value - 2 * error


def test_an_answer_at_any_time_is_not_the_baseline_only_because_it_has_more_splits():
    policy = BudgetedRace(100, baseline=0)
    game = policy.start(Problem(100, max_repetitions=5))
    for n_told in range(20):
        [pull] = game.ask(1)
        game.tell(pull, float(pull.arm > 0) + noise(pull, 0.01))
        assert game.recommend() > 0 or n_told < 5
