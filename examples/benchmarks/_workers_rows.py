"""Rows of two tables of `workers.py`: other orders of promotions, and searches without levels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from _simulated_workers import ClockResult, PullDurations, Workers, simulate_workers

from sklearn_halving.policies import (
    AsynchronousBrackets,
    AsynchronousHalving,
    BayesGap,
    Hyperband,
    Policy,
    Problem,
    Pull,
    SuccessiveRejects,
    UGapEb,
    UniformAllocation,
    VarianceHalving,
)
from sklearn_halving.policies._successive_halving import BracketsGame
from sklearn_halving.policies.bases._base_policy import default_window
from sklearn_halving.simulation import GaussianProcessArms, LearningCurves

N_ARMS, N_PULLS = 64, 320
NOISE = 0.3
"""Standard deviation of the noise; that of the arms is 1."""


def standard_error(values: np.ndarray) -> float:
    """Return the standard error of the mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


class GameByArrival(BracketsGame):
    """Judges the arms of a rung in the order in which their results arrive."""

    def tell(self, pull: Pull, reward: float) -> None:
        group = self.brackets[int(self._bracket_of_arm[pull.arm])]._group_of[pull.arm]
        group.rung.groups.remove(group)
        group.rung.groups.appendleft(group)
        super().tell(pull, reward)


@dataclass(frozen=True)
class BracketsByArrival(AsynchronousBrackets):
    """Asynchronous brackets whose promotions depend on the order of arrival."""

    def _new_game(self, problem: Problem, rng: np.random.Generator) -> BracketsGame:
        game = GameByArrival(self.brackets, problem)
        game.is_gradual = True
        return game


def order_rows(
    curves: LearningCurves, durations: PullDurations, n_workers: Sequence[int], n_problems: int
) -> Iterator[list[Any]]:
    """Yield rows that compare orders of entry and virtual clocks with orders of arrival."""
    n_loops = 4
    brackets = Hyperband(n_loops=n_loops)
    schedule = brackets.schedule(1, curves.max_level)
    for n in n_workers:
        workers = Workers(n, durations)
        kinds: dict[str, ClockResult] = {
            "brackets, synchronous": simulate_workers(brackets, curves, workers, n_problems),
            "brackets, order of entry": simulate_workers(
                AsynchronousBrackets(brackets), curves, workers, n_problems
            ),
            "brackets, order of arrival": simulate_workers(
                BracketsByArrival(brackets), curves, workers, n_problems
            ),
        }
        asha = AsynchronousHalving(schedule.n_pulls, pulls_in_flight=n)
        arms = replace(curves, n_arms=schedule.n_arms)
        for name, by_arrival in (("virtual clock", False), ("order of arrival", True)):
            kinds[f"ASHA, {name}"] = simulate_workers(
                asha, arms, workers, n_problems, by_arrival=by_arrival
            )
        for name, found in kinds.items():
            first = found.seconds_to(0.05)
            first = np.where(np.isfinite(first), first, found.seconds)
            yield [
                n,
                name,
                f"{found.regret.mean():.4f} ± {standard_error(found.regret):.4f}",
                f"{found.seconds.mean():.0f} ± {standard_error(found.seconds):.0f}",
                f"{found.idle_share.value:.3f} ± {found.idle_share.standard_error:.3f}",
                f"{first.mean():.0f} ± {standard_error(first):.0f}",
            ]


def covariance() -> np.ndarray:
    """Return the covariance of similar candidates on a line."""
    place = np.arange(N_ARMS) / 6
    return np.exp(-((place[:, np.newaxis] - place) ** 2) / 2)


def searches() -> dict[str, Policy]:
    """Return the policies of the searches, with their default numbers of pulls in flight."""
    window = default_window(N_PULLS)
    return {
        "VarianceHalvingSearchCV": VarianceHalving(N_PULLS, common_splits=False),
        "BayesGapSearchCV": BayesGap(N_PULLS, covariance(), NOISE**2, pulls_in_flight=window),
        "successive rejects": SuccessiveRejects(N_PULLS),
        "UGap": UGapEb(N_PULLS, 10.0, reward_range=(-4.0, 4.0)),
        "uniform (grid search)": UniformAllocation(N_PULLS),
    }


def rows_without_levels(
    n_workers: Sequence[int], n_problems: int, speedup: Callable[..., tuple[float, float, float]]
) -> Iterator[list[Any]]:
    """Yield a row for each search and number of workers."""
    world = GaussianProcessArms(covariance(), noise_sd=NOISE)
    even = PullDurations(candidate_sd=0.5)
    slow = PullDurations(candidate_sd=0.5, straggler_share=0.02)
    for name, policy in searches().items():
        alone = simulate_workers(policy, world, Workers(1, slow), n_problems)
        for n in n_workers:
            found = simulate_workers(policy, world, Workers(n, slow), n_problems)
            steady = simulate_workers(policy, world, Workers(n, even), n_problems)
            idle = found.idle_share
            ratio, error, _ = speedup(found, alone)
            yield [
                f"{n:,}",
                name,
                f"{idle.value:.3f} ± {idle.standard_error:.3f}",
                f"{ratio:.1f} ± {error:.1f}",
                f"{alone.seconds.mean() / found.seconds.mean():.1f}",
                f"{idle.value - steady.idle_share.value:.3f}",
            ]
