"""What the search itself costs: an estimator that does nothing, beside GridSearchCV.

    python examples/benchmarks/overhead.py [--quick] [--seeds N] [--csv]

CPU time of a fit at n_jobs=1, divided by that of a fit of GridSearchCV.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from _common import Report, cpu_seconds, one_thread, paired_ratios, parse_options, spread
from scipy.stats import uniform
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_halving import (
    AdaptiveSearchCV,
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)

N_SPLITS = 5
X, Y = np.random.default_rng(0).random((1000, 20)), np.zeros(1000)


class DoNothing(BaseEstimator):
    """An estimator that costs nothing but what a search does with it."""

    def __init__(
        self, value: float = 0, level: int = 1, alpha: float = 1.0, solver: str = "auto"
    ) -> None:
        self.value = value
        self.level = level
        self.alpha = alpha
        self.solver = solver

    def fit(self, X: Any, y: Any) -> DoNothing:
        """Do nothing."""
        return self

    def score(self, X: Any, y: Any) -> float:
        """Return a number that tells the candidates apart."""
        return self.value


class Noisy(DoNothing):
    """An estimator whose scores differ from split to split."""

    def __init__(self, value: float = 0, a: float = 0, b: float = 0, c: float = 0) -> None:
        self.value = value
        self.a = a
        self.b = b
        self.c = c

    def fit(self, X: Any, y: Any) -> Noisy:
        """Remember which rows there are: the noise of the split."""
        self.noise_ = float(X[:, 0].sum())
        return self

    def score(self, X: Any, y: Any) -> float:
        """Return the value with noise that the split and the candidate decide."""
        a, b, c = self.a, self.b, self.c
        mean = np.sin(9 * self.value) * (1 - a**2) * (1 - b**2) + 0.2 * c
        return float(mean + 0.1 * np.sin(1e4 * (self.value + 3 * a + 7 * b + self.noise_)))


def bare_loop(n_fits: int) -> int:
    """Clone, fit and score; what no search can do without."""
    splits = list(KFold(N_SPLITS).split(X))
    for value in range(n_fits // N_SPLITS):
        for train, test in splits:
            model = clone(DoNothing()).set_params(value=value)
            model.fit(X[train], Y[train]).score(X[test], Y[test])
    return n_fits


def grid_search(n_fits: int) -> None:
    """Search that many fits exhaustively."""
    grid = {"value": list(range(n_fits // N_SPLITS))}
    GridSearchCV(DoNothing(), grid, cv=KFold(N_SPLITS), refit=False).fit(X, Y)


def one_rung(n_fits: int) -> int:
    """Run the same fits as `grid_search`, on the same rows, by our engine."""
    grid = {"value": list(range(n_fits // N_SPLITS))}
    options = {"resource": "level", "max_resources": 1, "brackets": [0], "cv": KFold(N_SPLITS)}
    search = HyperbandSearchCV(DoNothing(), grid, refit=False, random_state=0, **options)
    search.fit(X, Y)
    if search.n_fits_ != n_fits:
        raise RuntimeError(f"{search.n_fits_} fits, not {n_fits}")
    return n_fits


def brackets(n_fits: int) -> int:
    """Run the five brackets of Hyperband with R = 81 several times; return the number of fits."""
    n_done = 0
    while n_done < n_fits:
        grid = {"value": np.arange(400)}
        options = {"resource": "level", "max_resources": 81, "brackets": "all", "cv": KFold(3)}
        search = HyperbandSearchCV(DoNothing(), grid, refit=False, random_state=0, **options)
        n_done += search.fit(X, Y).n_fits_
    return n_done


def adaptive(n_fits: int) -> int:
    """Run AdaptiveSearchCV with 100 fits of new candidates, several times."""
    n_done = 0
    while n_done < n_fits:
        space = {"value": uniform()}
        search = AdaptiveSearchCV(Noisy(), space, n_fits=100, random_state=0)
        n_done += search.fit(X, Y).n_fits_
    return n_done


def variance_halving(n_fits: int) -> int:
    """Run VarianceHalvingSearchCV with 64 candidates."""
    grid = {"value": np.arange(64)}
    search = VarianceHalvingSearchCV(DoNothing(), grid, n_fits=n_fits, random_state=0)
    return search.fit(X, Y).n_fits_


def successive_rejects(n_fits: int) -> int:
    """Run successive rejects with 64 candidates."""
    grid, policy = {"value": np.arange(64)}, "successive_rejects"
    search = BanditSearchCV(DoNothing(), grid, policy=policy, n_fits=n_fits, random_state=0)
    return search.fit(X, Y).n_fits_


def bayes_gap(n_fits: int) -> int:
    """Run BayesGapSearchCV with 100 candidates and 500 pulls, several times."""
    n_done = 0
    while n_done < n_fits:
        grid = {"value": np.linspace(0, 1, 100)}
        search = BayesGapSearchCV(Noisy(), grid, n_fits=500, random_state=0)
        n_done += search.fit(X, Y).n_fits_
    return n_done


def serial_rows(n_fits: int, repeats: int) -> Iterator[list[Any]]:
    """Yield CPU time a fit at n_jobs=1 over that of GridSearchCV."""
    runs: dict[str, Callable[[int], int]] = {
        "HyperbandSearchCV, one rung": one_rung,
        "HyperbandSearchCV, five brackets": brackets,
        "AdaptiveSearchCV, 100 fits": adaptive,
        "VarianceHalvingSearchCV": variance_halving,
        "BanditSearchCV, successive rejects": successive_rejects,
        "BayesGapSearchCV": bayes_gap,
        "a bare loop of clone, fit and score": bare_loop,
    }
    for name, run in runs.items():
        ratios, _, _ = paired_ratios(
            lambda run=run: cpu_seconds_each(lambda: run(n_fits)),
            lambda: cpu_seconds(lambda: grid_search(n_fits)) / n_fits,
            repeats,
        )
        yield [name, *spread(ratios)]


def cpu_seconds_each(function: Callable[[], int]) -> float:
    """Return the CPU time of a call over the number that it returns."""
    start = time.process_time()
    n_done = function()
    return (time.process_time() - start) / n_done


def main() -> None:
    """Measure everything, and print one table."""
    options = parse_options(__doc__, seeds=7)
    report = Report("Overhead", options)
    columns = "search | min | median | max"
    with one_thread():
        rows = serial_rows(200 if options.quick else 1000, options.seeds)
        report.table("CPU of a fit / GridSearchCV", columns, rows, "overhead.csv")


if __name__ == "__main__":
    main()
