"""How exactly a time budget is kept: random set-ups, time of ``fit`` divided by the budget.

Each set-up is drawn at random: a model and its space, 200 to 20,000 rows, 2, 5 or 15 seconds, and
workers. Left out and counted are those whose own model alone takes more than the budget: its fit
on one split and the refit. A search that takes five times its budget is ended.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from _common import Report, parse_options
from joblib import parallel_config
from lightgbm import LGBMClassifier, LGBMRegressor
from scipy.stats import loguniform, randint, uniform
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

from sklearn_halving import AdaptiveSearchCV
from sklearn_halving.spaces import space_for

BUDGETS, SHARES = (2, 5, 15), (0.25, 0.55, 0.2)
LONGEST = 5
"""A search is ended after this many budgets."""
SPARE = 20
"""Seconds to import the packages and make the data."""
WIDE = {"C": loguniform(1e-2, 1e6), "gamma": loguniform(1e-5, 10)}
MODELS: dict[str, tuple[Callable[[], Any], Any]] = {
    "SVC": (SVC, WIDE),
    "SVC, three kernels": (SVC, WIDE | {"kernel": ["rbf", "poly", "linear"]}),
    "SVR": (SVR, WIDE | {"epsilon": loguniform(1e-3, 1)}),
    "linear SVC": (LinearSVC, {"C": loguniform(1e-3, 1e6)}),
    "KNN": (KNeighborsClassifier, "auto"),
    "KNN, dict": (KNeighborsClassifier, {"n_neighbors": randint(1, 60)}),
    "MLP": (MLPClassifier, "auto"),
    "forest": (RandomForestClassifier, "auto"),
    "boosting, 500 trees": (
        partial(GradientBoostingClassifier, n_estimators=500),
        {"learning_rate": loguniform(0.01, 1), "max_depth": [2, 3, 5], "subsample": uniform(0, 1)},
    ),
    "histograms": (HistGradientBoostingClassifier, "auto"),
    "LightGBM": (partial(LGBMClassifier, verbose=-1), "auto"),
    "LightGBM, regression": (partial(LGBMRegressor, verbose=-1), "auto"),
    "several models": (SVC, "models"),
}


class Used(NamedTuple):
    """What a search took, and what the own model takes at least."""

    setup: str
    budget: float
    ratio: float
    own: float
    n_fits: int


def search_of(seed: int) -> tuple[str, float, AdaptiveSearchCV, tuple[Any, Any], str | None]:
    """Return the name of a set-up, its budget, search, data and backend."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(list(MODELS)))
    model, space = MODELS[name]
    n_rows, n_columns = int(200 * 100 ** rng.random()), int(rng.integers(5, 31))
    budget, estimator = float(rng.choice(BUDGETS, p=SHARES)), model()
    n_jobs, backend = (
        rng.choice(np.array([None, 1, 2], object)),
        str(rng.choice(["loky", "threading"])),
    )
    n_informative = max(3, n_columns // 3)
    if is_classifier(estimator):
        X, y = make_classification(
            n_rows, n_columns, n_informative=n_informative, flip_y=0.1, random_state=seed
        )
    else:
        X, y = make_regression(n_rows, n_columns, n_informative=n_informative, random_state=seed)
        y = y / y.std()
    X = X * np.logspace(0, rng.choice([0, 1]), n_columns)
    if rng.random() < 0.5 or space == "models":
        estimator = make_pipeline(StandardScaler(), estimator)
        if isinstance(space, dict):
            step = estimator.steps[-1][0]
            space = {f"{step}__{key}": values for key, values in space.items()}
    if space == "models":
        space = space_for(estimator, X, y, models=[SVC(), KNeighborsClassifier()])
    search = AdaptiveSearchCV(
        estimator, space, time_budget=budget, n_jobs=n_jobs, random_state=seed
    )
    text = f"{seed}: {name}, {n_rows:,} x {n_columns}, {budget:g} s, n_jobs={n_jobs}"
    return f"{text}, {backend}" if n_jobs == 2 else text, budget, search, (X, y), backend


def own_seconds(seed: int) -> float:
    """Return the time of a fit of the own model on one split, and of the refit."""
    warnings.simplefilter("ignore")
    _, _, search, (X, y), _ = search_of(seed)
    train = np.arange(len(y)) % 5 > 0
    start = time.monotonic()
    model = clone(search.estimator).fit(X[train], y[train])
    fitted = time.monotonic()
    model.score(X[~train], y[~train])
    return time.monotonic() - start + (fitted - start) * 5 / 4


def play(seed: int) -> tuple[float, int]:
    """Return the time of a search, and its number of fits."""
    warnings.simplefilter("ignore")
    *_, search, data, backend = search_of(seed)
    start = time.monotonic()
    with parallel_config(backend):
        search.fit(*data)
    return time.monotonic() - start, search.n_fits_


class Process:
    """A process for calls that may have to be ended."""

    def __init__(self) -> None:
        self._pool = ProcessPoolExecutor(1, get_context("spawn"))

    def call(self, function: Callable[[int], Any], seed: int, seconds: float) -> Any:
        """Return the result; None if the call was ended."""
        try:
            return self._pool.submit(function, seed).result(seconds + SPARE)
        except TimeoutError:
            for process in list(self._pool._processes.values()):
                process.kill()
            self._pool.shutdown(wait=False)
            self._pool = ProcessPoolExecutor(1, get_context("spawn"))
            return None


def played(seeds: range) -> list[Used]:
    """Return what each search took. Without a search, the ratio is NaN."""
    found: list[Used] = []
    process = Process()
    for seed in seeds:
        name, budget, *_ = search_of(seed)
        own = process.call(own_seconds, seed, budget)
        seconds, n_fits = np.nan, 0
        if own is not None and own <= budget:
            done = process.call(play, seed, LONGEST * budget)
            seconds, n_fits = (np.inf, 0) if done is None else done
        found.append(Used(name, budget, seconds / budget, own or np.nan, n_fits))
        print(found[-1], file=sys.stderr, flush=True)
    return found


def main() -> None:
    options = parse_options(__doc__, seeds=200, quick_seeds=4)
    report = Report("Time budgets", options)
    found = played(range(options.seeds))
    kept = [used for used in found if not np.isnan(used.ratio)]
    rows = []
    for budget in BUDGETS:
        of_budget = [used for used in found if used.budget == budget]
        ratios = [used.ratio for used in kept if used.budget == budget]
        if ratios:
            quantiles = [float(np.quantile(ratios, q, method="higher")) for q in (0.5, 0.95, 1)]
            rows.append([f"{budget} s", len(ratios), len(of_budget) - len(ratios), *quantiles])
    columns = "budget | searches | left out | median | 95 % | worst"
    report.table("Time of `fit` / budget", columns, rows, "time_budgets.csv")
    worst = sorted((used for used in kept if used.budget >= 5), key=lambda used: -used.ratio)[:10]
    rows = [[used.setup, used.ratio, used.own, used.n_fits] for used in worst]
    columns = "set-up | time of fit / budget | own model, s | fits"
    report.table("The worst ten of 5 s and more", columns, rows, "time_budgets_worst.csv")


if __name__ == "__main__":
    main()
