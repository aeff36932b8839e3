"""What it costs that promotions do not depend on the order in which fits end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sklearn_halving.policies import (
    AsynchronousBrackets,
    AsynchronousHalving,
    Hyperband,
    Problem,
    Pull,
)
from sklearn_halving.policies._asynchronous_brackets import AsynchronousBracket, AsynchronousGame
from sklearn_halving.simulation import (
    ClockResult,
    LearningCurves,
    PullDurations,
    Workers,
    simulate_workers,
)


def standard_error(values: np.ndarray) -> float:
    """Return the standard error of the mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


class BracketByArrival(AsynchronousBracket):
    """Counts the arms of a rung in the order in which their results arrive."""

    def tell(self, pull: Pull, reward: float) -> None:
        place = self._state.bracket.rung_of(pull.level, pull.repetition)
        rung = self.rungs[place]
        rung.arms.remove(pull.arm)
        rung.arms.insert(rung.n_judged, pull.arm)
        super().tell(pull, reward)


class GameByArrival(AsynchronousGame):
    """Plays brackets whose promotions depend on the order of arrival."""

    def _start(self, place: int) -> AsynchronousBracket:
        return BracketByArrival(self.play.brackets[place], self.problem.tie_break)


@dataclass(frozen=True)
class BracketsByArrival(AsynchronousBrackets):
    """Asynchronous brackets whose promotions depend on the order of arrival."""

    def _new_game(self, problem: Problem, rng: np.random.Generator) -> AsynchronousGame:
        by_level = self.brackets.describe(problem).ranks_by_level
        return GameByArrival(self.brackets, *self.brackets.start(problem), by_level)


def order_rows(
    curves: LearningCurves, durations: PullDurations, n_workers: Sequence[int], n_problems: int
) -> Iterator[list[Any]]:
    """Yield what the order of entry, and the virtual clock, cost beside the order of arrival."""
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
