"""Policies on simulated workers: times known by hand, and nothing lost or done twice.

The figures of the page on clusters rest on `examples/benchmarks/_simulated_workers.py`.
"""

from __future__ import annotations

import importlib
import sys
from math import inf
from typing import Any

import numpy as np
import pytest

from scripts import ROOT
from sklearn_halving.policies import (
    AdaptiveUGapEb,
    AsynchronousBrackets,
    AsynchronousHalving,
    Hyperband,
    IncumbentRace,
    Pulls,
    SuccessiveHalving,
)
from sklearn_halving.simulation import GaussianArms, LearningCurves, PowerLimits, Randomness

sys.path.append(str(ROOT / "examples" / "benchmarks"))
script = importlib.import_module("_simulated_workers")
PullDurations, Workers = script.PullDurations, script.Workers
simulate_workers = script.simulate_workers

CURVES = LearningCurves(PowerLimits(), max_level=27)
RANDOM = PullDurations(candidate_sd=0.5, straggler_share=0.1)
POLICIES = [Hyperband(), AsynchronousBrackets(Hyperband(n_loops=2))]


def assert_same(first: Any, second: Any) -> None:
    for name in ("seconds", "busy_seconds", "lost_seconds", "n_pulls", "regret"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_a_rung_of_five_on_two_workers_by_hand() -> None:
    """Five pulls of 2 s end after 6 s and two of 7 s after 13 s: 24 of 26 s are busy."""
    curves = LearningCurves([0.5, 0.4, 0.3, 0.2, 0.1], deviation="above", max_level=100)
    policy = SuccessiveHalving(5, 30)
    rungs = policy.schedule(1, 100).brackets[0].rungs
    assert [(rung.n_arms, rung.level) for rung in rungs] == [(5, 2), (2, 7)]
    result = simulate_workers(policy, curves, Workers(2), n_problems=1)
    assert result.seconds.tolist() == [6 + 7]
    assert result.busy_seconds.tolist() == [5 * 2 + 2 * 7]
    assert result.idle_share.value == pytest.approx(1 - 24 / 26)
    assert result.traces[0].tolist() == [[13.0, 0.0]]


@pytest.mark.parametrize("policy", POLICIES, ids=["synchronous", "asynchronous"])
def test_one_worker_takes_the_sum_of_the_durations(policy) -> None:
    n_units = sum(r.n_arms * r.level for b in policy.schedule(1, 27).brackets for r in b.rungs)
    result = simulate_workers(policy, CURVES, Workers(1, PullDurations(2.0, overhead=1.0)), 2)
    assert (result.n_pulls == policy.schedule(1, 27).n_pulls).all()
    assert (result.seconds == result.n_pulls + 2.0 * n_units).all()
    assert result.idle_share == (0.0, 0.0)


@pytest.mark.parametrize("policy", POLICIES, ids=["synchronous", "asynchronous"])
@pytest.mark.parametrize("n_workers", [1, 3, 40])
def test_work_and_choice_do_not_depend_on_the_number_of_workers(policy, n_workers) -> None:
    one = simulate_workers(policy, CURVES, Workers(1, RANDOM), 3)
    many = simulate_workers(policy, CURVES, Workers(n_workers, RANDOM), 3)
    np.testing.assert_allclose(many.busy_seconds, one.seconds)
    np.testing.assert_array_equal(many.regret, one.regret)
    assert (many.seconds <= one.seconds * (1 + 1e-12)).all()
    assert (many.seconds >= one.seconds / n_workers * (1 - 1e-12)).all()


def test_the_same_seed_gives_the_same_result() -> None:
    workers = Workers(4, RANDOM, mean_lifetime=60.0, absence=5.0)
    results = [simulate_workers(Hyperband(), CURVES, workers, 3, seed) for seed in (1, 1, 2)]
    assert_same(results[0], results[1])
    assert (results[0].seconds != results[2].seconds).all()


def test_workers_that_die_cost_time_and_no_pull() -> None:
    steady = simulate_workers(Hyperband(), CURVES, Workers(4, RANDOM), 4)
    dying = simulate_workers(
        Hyperband(), CURVES, Workers(4, RANDOM, mean_lifetime=100.0, absence=20.0), 4
    )
    np.testing.assert_allclose(dying.busy_seconds, steady.busy_seconds)
    np.testing.assert_array_equal(dying.regret, steady.regret)
    assert (dying.lost_seconds > 0).all()
    assert (dying.absent_seconds > 0).all()
    assert dying.seconds.mean() > steady.seconds.mean()
    spent = dying.busy_seconds + dying.lost_seconds + dying.absent_seconds
    assert (spent <= 4 * dying.seconds + 1e-9).all()


def test_idle_workers_are_absent_for_the_expected_time() -> None:
    """100 workers live for 100 s on average, and two pulls of 20 s need two of them."""
    curves = LearningCurves([0.5, 0.4], deviation="above", max_level=100)

    def seconds(randomness: Randomness, problem: int, pulls: Pulls) -> np.ndarray:
        return np.full(len(pulls.arm), 20.0)

    workers = Workers(100, seconds, mean_lifetime=100.0, absence=1000.0)
    result = simulate_workers(SuccessiveHalving(2, 20), curves, workers, 200)
    steady = result.lost_seconds == 0
    ends = result.seconds[steady]
    expected = 98 * (ends - 100 * (1 - np.exp(-ends / 100)))
    assert steady.sum() > 100
    np.testing.assert_allclose(result.absent_seconds[steady].mean(), expected.mean(), rtol=0.1)


def test_a_time_budget_ends_all_pulls() -> None:
    whole = simulate_workers(Hyperband(), CURVES, Workers(4), 1)
    half = float(whole.seconds[0]) / 2
    cut = simulate_workers(Hyperband(), CURVES, Workers(4), 1, time_budget=half)
    assert cut.seconds.tolist() == [half]
    assert cut.n_pulls[0] < whole.n_pulls[0]
    assert cut.busy_seconds[0] + cut.lost_seconds[0] <= 4 * half


def test_the_window_of_a_policy_keeps_other_workers_idle() -> None:
    policy = IncumbentRace(200, pulls_in_flight=2)
    arms = GaussianArms(np.arange(9.0))
    two, ten = (simulate_workers(policy, arms, Workers(n), 2) for n in (2, 10))
    np.testing.assert_array_equal(two.seconds, ten.seconds)
    assert ten.idle_share.value > 0.8


def test_a_policy_without_a_window_has_that_of_a_search() -> None:
    policy, arms = AdaptiveUGapEb(160, reward_range=(-5, 5)), GaussianArms(np.arange(9.0))
    idle = [simulate_workers(policy, arms, Workers(n), 2).idle_share.value for n in (20, 40)]
    assert idle[0] < 0.4
    assert idle[1] > 0.5  # at most 20 pulls are in flight


def test_rewards_by_arrival_change_the_decisions() -> None:
    policy = AsynchronousHalving(200, pulls_in_flight=8)
    arms = LearningCurves(PowerLimits(), n_arms=100, max_level=27)
    workers = Workers(8, RANDOM)
    own, arrival = (
        simulate_workers(policy, arms, workers, 5, by_arrival=flag) for flag in (False, True)
    )
    assert (own.busy_seconds != arrival.busy_seconds).any()
    assert arrival.idle_share.value < own.idle_share.value


def test_the_time_to_a_regret_is_that_of_its_first_choice() -> None:
    result = simulate_workers(Hyperband(), CURVES, Workers(3), 5)
    reached = result.seconds_to(result.regret)
    assert (reached <= result.seconds).all()
    for trace, seconds in zip(result.traces, reached, strict=True):
        assert seconds in trace[:, 0]
    assert (result.seconds_to(-1.0) == inf).all()
