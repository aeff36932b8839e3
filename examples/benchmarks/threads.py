"""Fits in a time budget with one worker, which uses all cores, and with two, which share them.

    python examples/benchmarks/threads.py [--quick] [--seeds N] [--csv]

The environment allows every process all cores. The boosters have their default number of threads,
the forest has ``n_jobs=-1``. The fits of all seeds are added up. The time includes that in which
workers start. On a busy machine, one worker suffers more: OpenMP's threads wait for each other.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from typing import Any

from _common import Report, parse_options
from _data_sets import adult, divide
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from scipy.stats import loguniform
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from sklearn_halving import AdaptiveSearchCV

RATES = loguniform(0.01, 0.3)


def kinds(size: int) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return models of ``size`` trees, or a tenth as many epochs, and what is searched."""
    boosters = {
        "LightGBM": LGBMClassifier(n_estimators=size, verbose=-1),
        "XGBoost, n_jobs=-1": XGBClassifier(n_estimators=size, n_jobs=-1),
        "CatBoost": CatBoostClassifier(iterations=size, verbose=False, allow_writing_files=False),
        "histogram boosting": HistGradientBoostingClassifier(max_iter=size),
    }
    forest = RandomForestClassifier(size, n_jobs=-1)
    return {
        **{name: (model, {"learning_rate": RATES}) for name, model in boosters.items()},
        "random forest, n_jobs=-1": (forest, {"max_features": RATES}),
        "MLP": (MLPClassifier(max_iter=max(1, size // 10)), {"learning_rate_init": RATES}),
    }


def run(
    model: Any, space: dict[str, Any], rows: Any, n_jobs: int, budget: float, seed: int
) -> tuple[int, float]:
    """Search; return the number of fits, and the seconds."""
    search = AdaptiveSearchCV(
        make_pipeline(StandardScaler(), model),
        {f"{type(model).__name__.lower()}__{name}": values for name, values in space.items()},
        time_budget=budget,
        n_jobs=n_jobs,
        scoring="roc_auc",
        min_resources=len(rows.y) * 4 // 5,  # of five folds: all fits are full ones
        refit=False,
        random_state=seed,
    )
    start = time.perf_counter()
    search.fit(rows.X, rows.y)
    return search.n_fits_, time.perf_counter() - start


def rows_of(options: Any) -> Iterator[list[Any]]:
    """Yield the sums of the fits, and the longest searches in parts of the budget."""
    n_rows, size, budget = (500, 5, 0.5) if options.quick else (12_000, 100, 20.0)
    data = adult()
    for kind, (model, space) in kinds(size).items():
        if options.only not in kind:
            continue
        found: dict[int, list[tuple[int, float]]] = {1: [], 2: []}
        for seed in range(options.seeds):
            rows = divide(data, n_rows, seed, is_regression=False)
            for n_jobs in sorted(found, reverse=bool(seed % 2)):
                found[n_jobs].append(run(model, space, rows, n_jobs, budget, seed))
        n_one, n_two = (sum(n for n, _ in runs) for runs in found.values())
        longest = (max(seconds for _, seconds in runs) / budget for runs in found.values())
        yield [kind, n_one, n_two, n_two / n_one, *longest]


def main() -> None:
    """Count, and print the table."""
    options = parse_options(__doc__, seeds=3)
    report = Report("Threads and workers", options)
    os.environ["OMP_NUM_THREADS"] = str(os.cpu_count())  # for the workers, which start later
    columns = "model | fits, one worker | two workers | ratio | time / budget, one | two"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report.table("Fits in the same time", columns, rows_of(options), "threads.csv")


if __name__ == "__main__":
    main()
