"""From one worker to 1,024: idle time and time to quality, by simulation, checked by real runs.

    python examples/benchmarks/workers.py [--quick] [--seeds N] [--only PART] [--output FILE.md]

Parts: "real" (simulated and real times of fits that sleep), "table" (HyperbandSearchCV by number
of workers), "others" (searches whose fits all have the same size), "budget" (loops until the time
is up), "deaths" and "order" (what it costs that promotions do not depend on the order in which
fits end). --plot FILE.png draws the table.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from _common import Report, parse_options
from _simulated_workers import ClockResult, PullDurations, Workers, simulate_workers
from _workers_rows import order_rows, rows_without_levels, standard_error
from joblib import parallel_config
from sklearn.model_selection import KFold
from utilisation import Sleeper, X, seconds_of

from sklearn_halving import BanditSearchCV
from sklearn_halving.policies import AsynchronousBrackets, Hyperband, Policy, Pulls
from sklearn_halving.simulation import LearningCurves, PowerLimits, Randomness

R = 81
SPREAD = PullDurations(candidate_sd=0.5)
DURATIONS = replace(SPREAD, straggler_share=0.02, straggler_factor=5.0)
"""Seconds: a full fit takes 81 on average, candidates differ, and one fit of 50 takes 5 times as
long."""


def envelope(level: np.ndarray) -> np.ndarray:
    """Return how far a loss may be from that at the largest level."""
    return 0.5 * (np.asarray(level) ** -0.5 - R**-0.5)


CURVES = LearningCurves(PowerLimits(beta=1.0), envelope, max_level=R)


# ------------------------------------------------------------------------------- real runs


@dataclass(frozen=True)
class SleepingArms:
    """The candidates of a fitted search as arms that score and take what their estimator says.

    Parameters
    ----------
    sleeper : Sleeper
    numbers : list of int
        The candidate of each arm.
    folds : list of ndarray
        Training rows of each split.
    """

    sleeper: Sleeper
    numbers: list[int]
    folds: list[np.ndarray]
    min_level: int = 1
    max_level: int = R // 3
    reward_range: None = None
    candidate: None = None

    @property
    def n_arms(self) -> int:
        return len(self.numbers)

    @property
    def max_repetitions(self) -> int:
        return len(self.folds)

    @property
    def values(self) -> np.ndarray:
        return np.zeros((1, self.n_arms))

    @property
    def best_value(self) -> np.ndarray:
        return np.zeros(1)

    def draw(self, randomness: Randomness, n_arms: int) -> SleepingArms:
        return self

    def rewards(self, problem: Any, pulls: Pulls) -> np.ndarray:
        return self._drawn(pulls)[:, 1]

    def seconds(self, randomness: Randomness, problem: int, pulls: Pulls) -> np.ndarray:
        return self._drawn(pulls)[:, 0]

    def _drawn(self, pulls: Pulls) -> np.ndarray:
        rows = [
            self.sleeper.drawn(self.numbers[pull.arm], pull.level, X[self.folds[pull.repetition]])
            for pull in pulls.each()
        ]
        return np.array(rows).reshape(-1, 2)


def real_and_simulated(n_workers: int, promotion: str, unit: float, seed: int) -> float:
    """Return the simulated time of a search as a multiple of its real time."""
    sleeper, cv = Sleeper(unit=unit, seed=seed), KFold(3)
    brackets = Hyperband()
    policy = brackets if promotion == "synchronous" else AsynchronousBrackets(brackets)
    search = BanditSearchCV(
        sleeper,
        {"candidate": list(range(10_000))},
        policy=policy,
        resource="n_units",
        max_resources=SleepingArms.max_level,
        min_resources=1,
        cv=cv,
        n_jobs=n_workers,
        random_state=0,
        refit=False,
    )
    with parallel_config("threading"):
        search.fit(X)
    results = search.cv_results_
    of_arm = {
        int(arm): params["candidate"]
        for arm, params in zip(results["candidate"], results["params"], strict=True)
    }
    arms = SleepingArms(sleeper, [of_arm[arm] for arm in sorted(of_arm)], _folds(cv))
    found = simulate_workers(policy, arms, Workers(n_workers, arms.seconds), n_problems=1)
    if int(found.n_pulls[0]) != search.n_fits_:
        raise RuntimeError("The simulation made other pulls than the search.")
    return float(found.seconds[0]) / seconds_of(search.history_)[0]


def _folds(cv: KFold) -> list[np.ndarray]:
    return [train for train, _ in cv.split(X)]


def real_rows(quick: bool, seeds: int) -> Iterator[list[Any]]:
    """Yield a row for each number of workers."""
    for n_workers in (2, 8):
        for promotion in ("synchronous", "asynchronous"):
            unit = 0.005 if quick else 0.05
            ratios = [real_and_simulated(n_workers, promotion, unit, s) for s in range(seeds)]
            worst = max(abs(ratio - 1) for ratio in ratios)
            reached = "yes" if worst <= 0.05 else "**no**"
            yield [f"{n_workers} workers, {promotion}", min(ratios), max(ratios), reached]


# ------------------------------------------------------------------------------- the table


ALL, ASYNCHRONOUS = "all loops at once", "all loops at once, asynchronous"
SEARCHES: dict[str, Callable[[int], Policy]] = {
    "one bracket after the other": lambda n: Hyperband(n_loops=n, brackets_in_play=1),
    "three brackets at a time": lambda n: Hyperband(n_loops=n, brackets_in_play=3),
    ALL: lambda n: Hyperband(n_loops=n),
    ASYNCHRONOUS: lambda n: AsynchronousBrackets(Hyperband(n_loops=n)),
}
"""With the default sampler, three brackets run at a time."""


@dataclass(frozen=True)
class Sizes:
    """How much is simulated."""

    n_problems: int = 6
    n_problems_of_order: int = 40
    few_loops: int = 16
    many_loops: int = 64
    n_workers: tuple[int, ...] = (1, 8, 32, 128, 1024)


@cache
def played(name: str, n_workers: int, n_loops: int, sizes: Sizes, *, slow: bool) -> ClockResult:
    """Return a search; ``slow`` says whether there are stragglers."""
    workers = Workers(n_workers, DURATIONS if slow else SPREAD)
    return simulate_workers(SEARCHES[name](n_loops), CURVES, workers, sizes.n_problems)


def speedup(found: ClockResult, alone: ClockResult) -> tuple[float, float, float]:
    """Return by how much sooner the final quality of one worker is reached.

    The ratio of the mean times, its standard error by the jackknife over problems, and the share
    of problems in which the quality is reached at all. Where it is not, the time is that of the
    end, which is too short.
    """
    ours = found.seconds_to(alone.regret)
    is_reached = np.isfinite(ours)
    ours = np.where(is_reached, ours, found.seconds)
    theirs, n = alone.seconds_to(alone.regret), len(ours)
    ratios = [np.delete(theirs, i).mean() / np.delete(ours, i).mean() for i in range(n)]
    error = np.sqrt((n - 1) * np.var(ratios))
    return theirs.mean() / ours.mean(), float(error), float(is_reached.mean())


def table_rows(sizes: Sizes) -> Iterator[list[Any]]:
    """Yield a row for each search and number of workers."""
    for n_workers in sizes.n_workers:
        for name in SEARCHES if n_workers > 1 else [ALL]:
            row: list[Any] = [f"{n_workers:,}", name]
            # With more loops than the one worker has, since other candidates may be promoted.
            longest = played(name, n_workers, sizes.many_loops, sizes, slow=True)
            for n_loops in (sizes.few_loops, sizes.many_loops):
                found = played(name, n_workers, n_loops, sizes, slow=True)
                alone = played(ALL, 1, n_loops, sizes, slow=True)
                ratio, error, share = speedup(longest, alone)
                idle = found.idle_share
                row.append(f"{idle.value:.3f} ± {idle.standard_error:.3f}")
                row.append(f"{ratio:.1f} ± {error:.1f}" + (f" ({share:.0%})" if share < 1 else ""))
            steady = played(name, n_workers, sizes.few_loops, sizes, slow=False)
            slow = played(name, n_workers, sizes.few_loops, sizes, slow=True)
            row.append(f"{slow.idle_share.value - steady.idle_share.value:.3f}")
            yield row


TABLE_COLUMNS = (
    "workers | search | idle, 16 loops | speed-up | idle, 64 loops | speed-up | "
    "idle by stragglers, 16 loops"
)


OTHER_COLUMNS = (
    "workers | search | idle | speed-up to the same quality | speed-up to the end | "
    "idle by stragglers"
)


def draw(sizes: Sizes, path: Path) -> None:
    """Draw idle shares and speed-ups against the number of workers."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    counts = [n for n in sizes.n_workers if n > 1]
    figure, (left, right) = plt.subplots(ncols=2, figsize=(10, 4.4), layout="constrained")
    for name in SEARCHES:
        found = [played(name, n, sizes.many_loops, sizes, slow=True) for n in counts]
        alone = played(ALL, 1, sizes.many_loops, sizes, slow=True)
        left.errorbar(
            counts,
            [one.idle_share.value for one in found],
            [one.idle_share.standard_error for one in found],
            marker="o",
            label=name,
        )
        ratios = [speedup(one, alone) for one in found]
        right.errorbar(counts, [r[0] for r in ratios], [r[1] for r in ratios], marker="o")
    right.plot(counts, counts, color="0.6", linestyle=":", label="as many as workers")
    left.set(xscale="log", xlabel="workers", ylabel="idle share", ylim=(0, 1))
    right.set(xscale="log", yscale="log", xlabel="workers", ylabel="speed-up to the same quality")
    for axes in (left, right):
        axes.set_xticks(counts, [f"{n:,}" for n in counts])
        axes.minorticks_off()
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


# -------------------------------------------------------------------------- deaths and budgets


def death_rows(sizes: Sizes) -> Iterator[list[Any]]:
    """Yield what dying workers cost at 128 workers."""
    for lifetime in (np.inf, 3600.0, 600.0):
        for name in (ALL, ASYNCHRONOUS):
            workers = Workers(128, DURATIONS, mean_lifetime=lifetime, absence=60.0)
            n_problems = sizes.n_problems
            policy = SEARCHES[name](sizes.many_loops)
            found = simulate_workers(policy, CURVES, workers, n_problems)
            lost = found.lost_seconds / (found.busy_seconds + found.lost_seconds)
            yield [
                lifetime,
                name,
                f"{found.seconds.mean():.0f} ± {standard_error(found.seconds):.0f}",
                f"{found.idle_share.value:.3f}",
                f"{lost.mean():.3f}",
            ]


def budget_rows(sizes: Sizes) -> Iterator[list[Any]]:
    """Yield what a search does that plays loops until the time is up (n_loops="auto")."""
    for n_workers in (32, 128):
        for name in (ALL, ASYNCHRONOUS):
            policy = SEARCHES[name](128 if sizes.many_loops > 2 else 2)
            workers = Workers(n_workers, DURATIONS)
            found = simulate_workers(policy, CURVES, workers, 3, time_budget=1800.0)
            lost = found.lost_seconds / (found.busy_seconds + found.lost_seconds)
            yield [n_workers, name, f"{found.idle_share.value:.3f}", f"{lost.mean():.3f}"]


def main() -> None:
    """Run the parts that were asked for."""
    plot = None
    if "--plot" in sys.argv:
        place = sys.argv.index("--plot")
        plot = Path(sys.argv[place + 1])
        del sys.argv[place : place + 2]
    options = parse_options(__doc__, seeds=3)
    report, started = Report("Workers", options), time.perf_counter()
    sizes = Sizes(2, 4, 1, 2, (1, 8, 32)) if options.quick else Sizes()
    parts: dict[str, tuple[str, str, Callable[[], Iterator[list[Any]]]]] = {
        "real": (
            "Simulated time / real time of fits that sleep",
            "search | min | max | within 5 %",
            lambda: real_rows(options.quick, options.seeds),
        ),
        "table": ("Searches by number of workers", TABLE_COLUMNS, lambda: table_rows(sizes)),
        "others": (
            "Searches whose fits have the same size",
            OTHER_COLUMNS,
            lambda: rows_without_levels(sizes.n_workers, sizes.n_problems_of_order, speedup),
        ),
        "deaths": (
            "Workers that die, 128 workers",
            "mean lifetime, s | search | seconds | idle | lost work",
            lambda: death_rows(sizes),
        ),
        "budget": (
            "Loops until a time budget of 30 minutes",
            "workers | search | idle | work on fits that the end cuts off",
            lambda: budget_rows(sizes),
        ),
        "order": (
            "Order of entry, virtual clock and order of arrival",
            "workers | promotions | regret | seconds | idle | seconds to regret 0.05",
            lambda: order_rows(CURVES, DURATIONS, sizes.n_workers[1:4], sizes.n_problems_of_order),
        ),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (title, columns, rows) in parts.items():
            if options.only in name:
                report.table(title, columns, rows())
    if plot is not None:
        draw(sizes, plot)
    report.write(f"Took {time.perf_counter() - started:.0f} s.")
    report.save()


if __name__ == "__main__":
    main()
