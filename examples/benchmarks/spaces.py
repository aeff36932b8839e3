"""What a ready search space gains over the estimator's own parameters, and over usual grids.

On each table, candidates are compared by cross-validation with three folds, and the winner is
scored on rows that no search has seen. Small tables have at most 1,200 training rows, large ones
2,500. Boosting is not tried with more than seven classes, which takes long. Standard errors are
over tables. Fits are recorded, so that an interrupted run goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _common import DATA, Cache, Report, one_thread, parse_options
from _tables import TableTask, table_task
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, ParameterSampler, cross_val_score

from sklearn_halving.spaces import space_for

NEW = (
    *("authorship", "colic", "cpu.small", "halloffame", "house8L", "letter", "mushroom"),
    *("optdigits", "pbcseq", "socmob", "soybean", "space_ga"),
)
KNOWN = (
    *("anneal", "bike", "car", "cmc", "concrete", "cylinder.bands", "delta.ailerons", "diabetes"),
    *("energy", "segment", "tic-tac-toe", "vehicle"),
)
"""Tables on which the spaces were not chosen, and others, of which more rows are used."""
LARGE = (
    *("cpu.small", "house8L", "letter", "mushroom", "optdigits", "bike", "delta.ailerons"),
    *("page.blocks", "parkinsons", "pol", "puma32H", "cpu.act"),
)
MANY_CLASSES = ("letter", "optdigits", "soybean")
FAMILIES = ("boosting", "svm", "neighbours", "linear", "forest", "neural network")
OF_KNOWN = ("boosting", "svm", "forest", "neural network")
OF_LARGE = ("boosting", "forest")
"""Families on the tables that are known, and on large ones."""
CHEAP = ("svm", "neighbours", "linear")
"""Families of which 25 candidates are drawn."""
GRIDS: dict[str, dict[str, list[Any]]] = {
    "boosting": {
        "learning_rate": [0.01, 0.1, 0.2],
        "max_iter": [50, 100, 200],
        "max_depth": [3, 5, 7],
    },
    "svm": {"C": [0.1, 1, 10, 100], "gamma": [1, 0.1, 0.01, 0.001]},
    "neighbours": {"n_neighbors": [3, 5, 7, 9, 11], "weights": ["uniform", "distance"]},
    "forest": {
        "max_depth": [None, 5, 10],
        "max_features": ["sqrt", "log2"],
        "min_samples_leaf": [1, 2, 4],
        "min_samples_split": [2, 5, 10],
    },
    "neural network": {
        "hidden_layer_sizes": [(50, 50, 50), (50, 100, 50), (100,)],
        "activation": ["tanh", "relu"],
        "solver": ["sgd", "adam"],
        "alpha": [0.0001, 0.05],
        "learning_rate": ["constant", "adaptive"],
    },
}
"""Grids as in tutorials, of which twelve candidates are drawn."""
N_FOLDS = 3
WAYS = ("5 drawn", "12 drawn", "25 drawn", "grid of 12")
Found = tuple[float, float]
"""The mean score of the folds, and the score on the test rows."""


def candidates_of(task: TableTask, family: str, n_drawn: int) -> dict[str, list[dict[str, Any]]]:
    """Return the candidates of each way, with full names of parameters."""
    drawn = list(
        ParameterSampler(space_for(task.pipeline, task.X, task.y), n_drawn, random_state=7)
    )
    ways = {f"{n} drawn": drawn[:n] for n in (5, 12, 25) if n <= n_drawn}
    if family in GRIDS:
        grid = {task.prefix + name: values for name, values in GRIDS[family].items()}
        n_grid = min(12, len(ParameterGrid(grid)))
        ways["grid of 12"] = list(ParameterSampler(grid, n_grid, random_state=7))
    return ways


def evaluated(
    cache: Cache, name: str, task: TableTask, seed: int, params: dict[str, Any]
) -> Found:
    """Return the scores of a candidate, which are recorded."""
    key = repr(sorted(params.items()))
    if (name, seed, key) not in cache.lines:
        model = clone(task.pipeline).set_params(**params)
        scores = cross_val_score(model, task.X, task.y, cv=task.folds(N_FOLDS, seed))
        test = model.fit(task.X, task.y).score(task.X_test, task.y_test)
        cache.add(name, seed, key, {"score": float(scores.mean()), "test": float(test)})
    line = cache.lines[name, seed, key]
    return line["score"], line["test"]


def gains_on(
    cache: Cache, family: str, table: str, n_rows: int, n_seeds: int, *, is_quick: bool
) -> dict[str, float]:
    """Return the points that each way gains over the estimator's own parameters on a table."""
    gains = [
        gains_of_seed(cache, family, table, n_rows, seed, is_quick) for seed in range(n_seeds)
    ]
    return {way: float(np.mean([gain[way] for gain in gains])) for way in gains[0]}


def gains_of_seed(
    cache: Cache, family: str, table: str, n_rows: int, seed: int, is_quick: bool
) -> dict[str, float]:
    """Return the points that each way gains with one seed."""
    task = table_task(table, family, n_rows, seed)
    name, n_drawn = f"{family} {table} {n_rows}", 25 if family in CHEAP else 12
    own = evaluated(cache, name, task, seed, {})[1]
    gains = {"own": 100 * own}
    for way, candidates in candidates_of(task, family, 5 if is_quick else n_drawn).items():
        found = [evaluated(cache, name, task, seed, params) for params in candidates]
        gains[way] = 100 * (max(found, key=lambda pair: pair[0])[1] - own)
    if "12 drawn" in gains and "grid of 12" in gains:
        gains["12 drawn - grid"] = gains["12 drawn"] - gains["grid of 12"]
    return gains


def is_tried(family: str, table: str) -> bool:
    """Return whether a family is tried on a table."""
    is_slow = family == "boosting" and table in MANY_CLASSES
    return not is_slow and (family in OF_KNOWN or table in NEW)


def rows_of(of_family: dict[str, list[dict[str, float]]]) -> Iterator[Sequence[Any]]:
    """Yield a row for each family."""
    for family, gains in of_family.items():
        row: list[Any] = [family, len(gains), float(np.mean([g["own"] for g in gains]))]
        for way in (*WAYS, "12 drawn - grid"):
            values = np.array([g[way] for g in gains if way in g])
            if len(values) < 2:
                row.append("-")
                continue
            error = values.std(ddof=1) / len(values) ** 0.5
            row.append(f"{values.mean():+.2f} ({error:.2f})")
        yield row


def main() -> None:
    options = parse_options(__doc__, seeds=1, texts={"families": "names, with commas"})
    report = Report("Ready search spaces", options)
    if not (DATA / "tables").exists():
        print(f"No tables in {DATA}: nothing to do. Set SKLEARN_HALVING_DATA.")
        return
    folder = Path.home() / ".cache" / "sklearn_halving"
    folder.mkdir(parents=True, exist_ok=True)
    cache = Cache(folder / "spaces.jsonl")
    columns = " | ".join(["family", "tables", "own score", *WAYS, "12 drawn - grid"])
    small = [(table, 600) for table in NEW] + [(table, 1200) for table in KNOWN]
    large = [(table, 2500) for table in LARGE]
    for title, tables, families in (("small", small, FAMILIES), ("large", large, OF_LARGE)):
        if options.only not in title:
            continue
        chosen = [f for f in families if f in (options.families or f).split(",")]
        if options.quick:
            tables, chosen = tables[:2], [f for f in chosen if f == "svm"]
        with one_thread():
            gains = {
                family: [
                    gains_on(cache, family, table, n, options.seeds, is_quick=options.quick)
                    for table, n in tables
                    if is_tried(family, table)
                ]
                for family in chosen
            }
        name = f"Points over the estimator's own parameters, {title} tables"
        report.table(name, columns, rows_of(gains), f"spaces_{title}.csv")


if __name__ == "__main__":
    main()
