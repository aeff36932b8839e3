"""Asynchronous halving: promotions, the virtual clock and the reserved budget."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
import pytest

from sklearn_halving.policies import AsynchronousHalving, Problem, Pull, Pulls


def play(
    policy: AsynchronousHalving, problem: Problem, reward: Callable[[Pull], float]
) -> tuple[list[Pull], int]:
    """Play with as many workers as the policy has, telling as it says."""
    state, open_pulls, played = policy.start(problem), [], []
    while not policy.is_finished(state):
        asked = list(policy.ask(state, policy.pulls_in_flight).each())
        if asked:
            open_pulls += asked
            played += asked
            continue
        first = policy.first_to_tell(state)
        assert first is not None
        open_pulls.remove(first)
        policy.tell(state, Pulls.of(first), np.array([reward(first)]))
    return played, int(policy.recommend(state))


def asha(n_arms: int, factor: int, levels: list[int], n_workers: int, limit: np.ndarray) -> list:
    """Play Algorithm 2 of Li et al. (2020) in plain loops, a job takes as long as its level."""
    rungs: list[dict[int, float]] = [{} for _ in levels]
    promoted: list[set[int]] = [set() for _ in levels]
    jobs, running, clock, n_started = [], [], 0.0, 0
    while True:
        while len(running) < n_workers:
            job = None
            for k in reversed(range(len(levels) - 1)):
                best = sorted(rungs[k], key=lambda a: -rungs[k][a])[: len(rungs[k]) // factor]
                new = [arm for arm in best if arm not in promoted[k]]
                if new:
                    promoted[k].add(new[0])
                    job = (new[0], k + 1)
                    break
            if job is None:
                if n_started == n_arms:
                    return jobs
                job, n_started = (n_started, 0), n_started + 1
            jobs.append((job[0], levels[job[1]]))
            heapq.heappush(running, (clock + levels[job[1]], len(jobs), job))
        clock, _, (arm, k) = heapq.heappop(running)
        rungs[k][arm] = float(limit[arm])


@pytest.mark.parametrize("n_workers", [1, 4, 9])
def test_promotes_as_the_paper_does_until_the_arms_are_used_up(n_workers: int) -> None:
    limit = np.random.default_rng(n_workers).random(60)
    policy = AsynchronousHalving(10_000, pulls_in_flight=n_workers)
    played, _ = play(policy, Problem(60, 1, 27), lambda pull: float(limit[pull.arm]))
    expected = asha(60, 3, [1, 3, 9, 27], n_workers, limit)
    assert [(pull.arm, pull.level) for pull in played[: len(expected)]] == expected


def test_a_budget_that_cannot_reach_the_top_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^n_pulls=3 is too small.* works is 4"):
        AsynchronousHalving(3).start(Problem(9, 1, 27))


def test_early_rungs_are_on_fewer_splits_and_the_top_on_all() -> None:
    policy = AsynchronousHalving(100, early_repetitions=2)
    played, best = play(policy, Problem(12, 1, 9, 5), lambda pull: float(pull.arm))
    n_splits = {(p.arm, p.level): 0 for p in played}
    for pull in played:
        n_splits[pull.arm, pull.level] += 1
    assert {n for (_, level), n in n_splits.items() if level < 9} == {2}
    assert {n for (_, level), n in n_splits.items() if level == 9} == {5}
    assert n_splits[best, 9] == 5


@pytest.mark.parametrize("n_workers", [1, 4])
def test_another_arm_reaches_the_top_if_the_first_ones_fail_there(n_workers: int) -> None:
    def reward(pull: Pull) -> float:
        return float("nan") if pull.level == 9 and pull.arm < 2 else -float(pull.arm)

    policy = AsynchronousHalving(15, pulls_in_flight=n_workers)
    played, best = play(policy, Problem(9, 1, 9), reward)
    assert len(played) <= 15
    assert {pull.arm for pull in played if pull.level == 9} == {0, 1, 2}
    assert best == 2
