"""Hyperband in rounds of growing budget: schedules by hand, budgets, and whose answer counts."""

from __future__ import annotations

import numpy as np

from sklearn_halving.policies import GrowingHyperband, InfiniteHyperband, Problem


def play(policy: object, max_level: int, reward: object) -> int:
    plan = policy.plan(Problem(max_level=max_level))
    state = policy.start(Problem(plan.n_arms, 1, max_level))
    while not policy.is_finished(state):
        pulls = policy.ask(state, 10**6)
        loops = [plan.brackets[plan.bracket_of_arm(pull.arm)].loop for pull in pulls.each()]
        told = [reward(pull, loop) for pull, loop in zip(pulls.each(), loops, strict=True)]
        policy.tell(state, pulls, np.array(told))
    return int(policy.recommend(state))


def test_rounds_of_fig_9_by_hand() -> None:
    """k = 6: l = 1, 2, 3, 4 since 2^2 >= 4, not 5; l = 3 gives 64 / (8 * 3) = 2, 5, 10 units."""
    brackets = InfiniteHyperband(10**4).plan(Problem(max_level=10**4)).brackets
    last = [b for b in brackets if b.loop == 6]
    assert [[(rung.n_arms, rung.level) for rung in b.rounds] for b in last] == [
        [(2, 32)],
        [(4, 8), (2, 16)],
        [(8, 2), (4, 5), (2, 10)],
        [(16, 1), (8, 2), (4, 4), (2, 8)],
    ]
    # The output stands at floor(2^(k - 1) / l).
    assert [b.rounds[-1].level for b in last] == [32 // n for n in (1, 2, 3, 4)]


def test_the_answer_is_of_the_last_round() -> None:
    """Arms of earlier rounds look better, at their lower levels, and do not win."""
    policy = InfiniteHyperband(200)
    plan = policy.plan(Problem(max_level=200))
    last = plan.brackets[-1].loop
    best = play(policy, 200, lambda pull, loop: -loop - pull.arm / 1000)
    assert plan.brackets[plan.bracket_of_arm(best)].loop == last
    assert best == sum(b.n_arms for b in plan.brackets if b.loop < last)


def test_rounds_of_fig_10_by_hand() -> None:
    """R = 9, eta = 3, k = 7: n = floor(128 * 9 / 27), floor(128 * 3 / 18), floor(128 / 9)."""
    brackets = GrowingHyperband(10**4).plan(Problem(max_level=9)).brackets
    assert [[(rung.n_arms, rung.level) for rung in b.rounds] for b in brackets if b.loop == 7] == [
        [(42, 1), (14, 3), (4, 9)],
        [(21, 3), (7, 9)],
        [(14, 9)],
    ]
