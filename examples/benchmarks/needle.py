"""How often a search misses the needle, where one candidate in sixty is good.

    python examples/benchmarks/needle.py [--quick] [--seeds N] [--output FILE.md]

Candidates whose learning curves are known by construction: the score of a candidate is its
quality, less what is missing at little resource, plus noise that is larger there. One in
sixty has quality 1, the others at most 0.9. Three kinds of needle: seen at any resource,
hidden among the middling candidates below a ninth of the resource, and a late one that is
among the worst fifth there (a small learning rate, a large model on few rows). Thousands of
searches run in lockstep by the policies alone. The cost is in fits with all of the resource,
everything fitted from scratch; random search with as many is beside it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from _common import Report, parse_options

from sklearn_halving.policies import Hyperband
from sklearn_halving.policies._types import Problem, Schedule

SHARE = 1 / 60
NOISE = 0.02
"""Standard deviation of a score with all of the resource; 0.18 with 1 / 81 of it."""
HIDDEN_BELOW = 1 / 9
KINDS = {"seen at once": None, "hidden below 1/9": 0.5, "late, bad below 1/9": 0.2}
"""Where the needle stands among the others as long as it is hidden, as a quantile."""

POLICIES: dict[str, Hyperband] = {
    "defaults": Hyperband(),
    "n_loops=2": Hyperband(n_loops=2),
    "n_loops=3": Hyperband(n_loops=3),
    "most_exploratory": Hyperband(brackets="most_exploratory"),
    "most_exploratory, n_loops=2": Hyperband(brackets="most_exploratory", n_loops=2),
    "most_exploratory, n_loops=4": Hyperband(brackets="most_exploratory", n_loops=4),
    "brackets=[4, 3], n_loops=2": Hyperband(brackets=(4, 3), n_loops=2),
    "brackets=[4, 3, 2], n_loops=2": Hyperband(brackets=(4, 3, 2), n_loops=2),
    "brackets=[2], n_loops=4": Hyperband(brackets=(2,), n_loops=4),
    "factor=4": Hyperband(factor=4, max_eliminations=4),
    "factor=4, most_exploratory": Hyperband(
        factor=4, max_eliminations=4, brackets="most_exploratory"
    ),
}


def full_fits(schedule: Schedule, largest: int) -> float:
    """Return what a schedule costs, in fits with all of the resource."""
    units = sum(r.n_arms * r.level for bracket in schedule.brackets for r in bracket.rungs)
    return units / largest


def scores(
    quality: Any, is_needle: Any, fraction: Any, hidden_at: float | None, rng: Any
) -> np.ndarray:
    """Return scores at a fraction of the resource; all arrays have one shape."""
    visible = quality
    if hidden_at is not None:
        disguise = 0.9 * hidden_at
        visible = np.where(is_needle & (fraction < HIDDEN_BELOW), disguise, quality)
    missing = 0.3 * (1 - fraction)
    return visible - missing + rng.normal(size=quality.shape) * NOISE / np.sqrt(fraction)


def play(policy: Hyperband, hidden_at: float | None, n_searches: int) -> tuple[float, float]:
    """Return the share of searches that chose no needle, and that drew none at all."""
    rng = np.random.default_rng(0)
    largest = round(float(policy.factor) ** 4)
    n_arms = policy.schedule(1, largest).n_arms
    quality = rng.uniform(0, 0.9, size=(n_searches, n_arms))
    is_needle = rng.uniform(size=quality.shape) < SHARE
    quality[is_needle] = 1.0
    problem = Problem(n_arms=n_arms, min_level=1, max_level=largest, max_repetitions=1)
    state = policy.start(problem, batch_shape=(n_searches,))
    while not policy.is_finished(state):
        pulls = policy.ask(state, n_arms)
        of_pulls = [np.take_along_axis(a, pulls.arm, axis=-1) for a in (quality, is_needle)]
        policy.tell(state, pulls, scores(*of_pulls, pulls.level / largest, hidden_at, rng))
    chosen = policy.recommend(state)
    is_found = np.take_along_axis(is_needle, chosen[:, np.newaxis], axis=-1)
    return float(1 - is_found.mean()), float(1 - is_needle.any(axis=-1).mean())


def rows(options: argparse.Namespace) -> Iterator[list[Any]]:
    """Yield one line for each way to search."""
    n_searches = 500 if options.quick else 2000 * options.seeds
    for name, policy in POLICIES.items():
        largest = round(float(policy.factor) ** 4)
        schedule = policy.schedule(1, largest)
        cost = full_fits(schedule, largest)
        played = [play(policy, hidden_at, n_searches) for hidden_at in KINDS.values()]
        missed = [f"{of_kind:.0%}" for of_kind, _ in played]
        random = (1 - SHARE) ** cost
        none_drawn = f"{played[0][1]:.0%}"
        yield [name, schedule.n_arms, round(cost, 1), none_drawn, *missed, f"{random:.0%}"]


def main() -> None:
    """Print one table."""
    options = parse_options(__doc__, seeds=5)
    report = Report("Needles: one candidate in sixty is good", options)
    started = time.perf_counter()
    kinds = " | ".join(f"missed: {kind}" for kind in KINDS)
    report.table(
        "Share of searches that miss",
        f"HyperbandSearchCV with | candidates | cost, full fits | no needle drawn | {kinds} "
        "| random search at that cost",
        rows(options),
    )
    report.write(f"Took {time.perf_counter() - started:.0f} s.")
    report.save()


if __name__ == "__main__":
    main()
