"""How busy the workers are: all searches, and brackets at once beside one after the other.

    python examples/benchmarks/utilisation.py [--quick] [--seeds N] [--output FILE.md]

The estimator sleeps, in proportion to the resource and with a heavy tail (a Pareto number
with mean 1), so that two cores are enough to play eight workers. The peer is a search per
bracket, in turn, each with the candidates that the bracket has in the search of all: the same
pulls of the same lengths, and the decisions are compared. Idle is what is left of workers x
wall time of the pulls. The other searches have 160 fits of equal mean length.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from _common import CLAIM_COLUMNS, Report, claim, parse_options
from joblib import parallel_config
from scipy.stats import randint
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold

from sklearn_halving import (
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)
from sklearn_halving.policies import AdaptiveUGapEb

MAX_RESOURCES = 81
X = np.arange(10.0).reshape(-1, 1)


class Sleeper(BaseEstimator):
    """An estimator that sleeps: for longer with more units, and sometimes for very long.

    Parameters
    ----------
    candidate : int
        Decides, with the units and the rows, how long a fit takes and how well it scores.
    n_units : int
        The resource.
    unit : float
        Seconds per unit, on average.
    shape : float
        Of the Pareto distribution; the smaller, the heavier its tail.
    seed : int
        Of times and scores.
    """

    def __init__(
        self,
        candidate: int = 0,
        n_units: int = 1,
        unit: float = 0.001,
        shape: float = 2.5,
        seed: int = 0,
    ) -> None:
        self.candidate = candidate
        self.n_units = n_units
        self.unit = unit
        self.shape = shape
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> Sleeper:
        """Sleep."""
        seconds, self.score_ = self.drawn(self.candidate, self.n_units, X)
        time.sleep(seconds)
        return self

    def drawn(self, candidate: int, n_units: int, X: Any) -> tuple[float, float]:
        """Return how long a fit takes and how well it scores."""
        rng = np.random.default_rng([self.seed, candidate, n_units, int(X.sum())])
        slowness = (rng.pareto(self.shape) + 1) * (self.shape - 1) / self.shape
        return self.unit * n_units * slowness, rng.random()

    def score(self, X: Any, y: Any = None) -> float:
        """Return the score that was drawn in `fit`."""
        return self.score_


class Run(NamedTuple):
    """What one way of searching took."""

    wall: float
    busy: float
    pulls: set[tuple[Any, ...]]


def search(estimator: Sleeper, candidates: Any, n_workers: int, n_splits: int, **kw: Any):
    """Return a fitted search over the candidates, and the seconds that its pulls took."""
    fitted = HyperbandSearchCV(
        estimator,
        {"candidate": candidates},
        resource="n_units",
        max_resources=MAX_RESOURCES,
        min_resources=1,
        cv=KFold(n_splits),
        n_jobs=n_workers,
        random_state=0,
        refit=False,
        **kw,
    )
    with parallel_config("threading"):
        fitted.fit(X)
    return fitted, fitted.history_


def seconds_of(history: pd.DataFrame) -> tuple[float, float]:
    """Return the wall time from the first to the last pull, and the time of all pulls."""
    each = history["fit_time"] + history["score_time"]
    return float((history["started"] + each).max() - history["started"].min()), float(each.sum())


def decided(fitted: HyperbandSearchCV) -> set[tuple[Any, ...]]:
    """Return which candidate was trained how far, in which bracket."""
    results = fitted.cv_results_
    values = [params["candidate"] for params in results["params"]]
    columns = (results["bracket"], values, results["n_resources"])
    return {tuple(map(int, row)) for row in zip(*columns, strict=True)}


def at_once_and_in_turn(estimator: Sleeper, n_workers: int, n_splits: int) -> tuple[Run, Run]:
    """Run all brackets at once, then the same brackets one after the other."""
    fitted, history = search(estimator, list(range(10_000)), n_workers, n_splits, brackets="all")
    at_once = Run(*seconds_of(history), decided(fitted))
    wall, busy, pulls = 0.0, 0.0, set()
    for s in sorted(set(history["bracket"]), reverse=True):
        of_bracket = sorted(
            {
                (int(arm), params["candidate"])
                for arm, bracket, params in zip(
                    fitted.cv_results_["candidate"],
                    fitted.cv_results_["bracket"],
                    fitted.cv_results_["params"],
                    strict=True,
                )
                if bracket == s
            }
        )
        candidates = [value for _, value in of_bracket]
        one, its_history = search(estimator, candidates, n_workers, n_splits, brackets=[int(s)])
        of_one = seconds_of(its_history)
        wall, busy = wall + of_one[0], busy + of_one[1]
        pulls |= decided(one)
    return at_once, Run(wall, busy, pulls)


def rows(n_workers: int, n_splits: int, shape: float, unit: float, seeds: int) -> Iterator[Any]:
    """Yield idle shares and the ratio of wall times for a number of workers."""
    idle: dict[str, list[float]] = {"at once": [], "in turn": []}
    ratios = []
    for seed in range(seeds):
        runs = at_once_and_in_turn(Sleeper(unit=unit, shape=shape, seed=seed), n_workers, n_splits)
        if runs[0].pulls != runs[1].pulls:
            raise RuntimeError("Brackets decided otherwise at once than in turn.")
        for name, run in zip(idle, runs, strict=True):
            idle[name].append(1 - run.busy / (n_workers * run.wall))
        # The sleeps are the same, but not to the millisecond on a busy machine.
        ratios.append(runs[0].wall / runs[0].busy / (runs[1].wall / runs[1].busy))
    targets = {2: ("<= 0.02", "<= 0.94"), 8: ("<= 0.12", "<= 0.72")}
    where = f"{n_workers} workers, {n_splits} splits, Pareto {shape}"
    yield claim(f"idle, {where}, in turn", idle["in turn"])
    yield claim(f"idle, {where}, at once", idle["at once"], targets[n_workers][0])
    yield claim(f"wall, {where}, at once / in turn", ratios, targets[n_workers][1])


def sampler_rows(unit: float, seeds: int) -> Iterator[Any]:
    """Yield idle shares of Hyperband over a distribution, with two samplers."""
    for sampler, target in (("gaussian_process", "<= 0.15"), ("random", "<= 0.12")):
        for n_loops in (1, 3):
            idle = []
            for seed in range(seeds):
                sleeper = Sleeper(unit=unit, seed=seed)
                options = {"sampler": sampler, "n_loops": n_loops}
                _, history = search(sleeper, randint(0, 10**6), 8, 5, **options)
                wall, busy = seconds_of(history)
                idle.append(1 - busy / (8 * wall))
            yield claim(f"idle, 8 workers, {sampler}, {n_loops} loops", idle, target)


def adaptive_searches(sleeper: Sleeper) -> dict[str, Any]:
    """Return the searches without rungs, by name."""
    few, many = ({"candidate": list(range(n))} for n in (32, 200))
    options = {"n_fits": 160, "random_state": 0, "refit": False}
    ugap = AdaptiveUGapEb(160, reward_range=(0, 1))
    return {
        "VarianceHalvingSearchCV": VarianceHalvingSearchCV(sleeper, few, **options),
        "successive rejects": BanditSearchCV(sleeper, few, policy="successive_rejects", **options),
        "UGap": BanditSearchCV(sleeper, few, policy=ugap, random_state=0, refit=False),
        "BayesGapSearchCV": BayesGapSearchCV(sleeper, many, **options),
        "BayesGapSearchCV, fits_in_flight=8": BayesGapSearchCV(
            sleeper, many, fits_in_flight=8, **options
        ),
    }


TARGETS = {"VarianceHalvingSearchCV": 0.15, "successive rejects": 0.15}
"""Largest idle share of eight workers, if it is not 0.2."""


def adaptive_rows(unit: float, seeds: int) -> Iterator[Any]:
    """Yield idle shares of the searches without rungs."""
    names = list(adaptive_searches(Sleeper()))
    for n_workers in (2, 8):
        for name in names:
            idle = []
            for seed in range(seeds):
                fitted = adaptive_searches(Sleeper(unit=unit, seed=seed))[name]
                with parallel_config("threading", n_jobs=n_workers):
                    fitted.fit(X)
                wall, busy = seconds_of(fitted.history_)
                idle.append(1 - busy / (n_workers * wall))
            target = f"<= {TARGETS.get(name, 0.2)}" if n_workers == 8 else None
            yield claim(f"idle, {n_workers} workers, {name}", idle, target)


def main() -> None:
    """Measure two and eight workers, at two weights of the tail."""
    options = parse_options(__doc__, seeds=3)
    report = Report("Utilisation", options)
    started = time.perf_counter()
    unit = 0.001 if options.quick else 0.005
    cases = [(5, 2.5)] if options.quick else [(5, 2.5), (3, 3.0)]

    def all_rows() -> Iterator[Any]:
        for n_splits, shape in cases:
            for n_workers in (2, 8):
                yield from rows(n_workers, n_splits, shape, unit, options.seeds)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        idle_rows = adaptive_rows(10 * unit, options.seeds)
        report.table("Searches without rungs, 160 fits, Pareto 2.5", CLAIM_COLUMNS, idle_rows)
        report.table("Hyperband, R = 81, factor 3, five brackets", CLAIM_COLUMNS, all_rows())
        sampled = sampler_rows(unit, options.seeds)
        report.table("Hyperband over a distribution", CLAIM_COLUMNS, sampled)
    report.write(
        "Every pull was the same at once and in turn. Where workers idle 5 % in turn, no order "
        "of pulls gets below 0.95x the wall time. What a pull takes besides fit and score "
        f"counts as idle. Took {time.perf_counter() - started:.0f} s."
    )
    report.save()


if __name__ == "__main__":
    main()
