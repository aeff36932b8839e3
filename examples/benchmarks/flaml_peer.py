"""The ready space of LightGBM against FLAML, on 4,000 training rows and more.

Both search for 20 and 60 seconds with one thread and five folds, on numbers: texts are
encoded. Run it where a core is free, because other work takes from the seconds. The choices are
scored on rows that no search has seen. Points are 100 x accuracy or R2, over LightGBM with its
default parameters. Standard errors are over tables. The tables of `DEVELOPMENT` do not count in
the means: ranges may be chosen on them. Runs are recorded in
~/.cache/sklearn_halving/flaml_peer.jsonl, so that an interrupted run goes on: remove the file when
the code has changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _common import DATA, Cache, Report, one_thread, parse_options
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from sklearn_halving import AdaptiveSearchCV

BUDGETS, FOLDS, SHARE, MOST_ROWS = (20, 60), 5, 0.75, 15_000
DEVELOPMENT = ("bike", "optdigits", "parkinsons", "pol", "puma32H")
HELD_OUT = (
    *("cpu.act", "delta.ailerons", "fried", "house8L", "mushroom", "page.blocks"),
    *("mv", "2dplanes", "letter", "cpu.small"),
)
Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Rows to train on and to test on, and their targets."""


def rows_of(table: str, seed: int) -> tuple[Rows, Any]:
    """Return the rows of a table, and LightGBM with its default parameters."""
    frame = pd.read_csv(DATA / "tables" / f"{table}.csv.gz")
    X, y = frame.iloc[:, :-1].copy(), frame.iloc[:, -1]
    for column in X.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in X.dtypes]]:
        X[column] = pd.factorize(X[column], sort=True)[0]
    has_classes = not (pd.api.types.is_numeric_dtype(y) and y.nunique() > 20)
    target = pd.factorize(y)[0] if has_classes else ((y - y.mean()) / y.std()).to_numpy()
    X, X_test, y, y_test = train_test_split(
        X.to_numpy(np.float64), target, train_size=SHARE, random_state=seed
    )
    model = LGBMClassifier if has_classes else LGBMRegressor
    rows = X[:MOST_ROWS], y[:MOST_ROWS], X_test, y_test
    return rows, model(n_jobs=1, random_state=0, verbose=-1)


def ours(model: Any, X: np.ndarray, y: np.ndarray, seconds: float, seed: int) -> Any:
    """Return the search of this library."""
    kind = StratifiedKFold if isinstance(model, LGBMClassifier) else KFold
    cv = kind(FOLDS, shuffle=True, random_state=seed)
    search = AdaptiveSearchCV(model, "auto", time_budget=seconds, cv=cv, random_state=seed)
    return search.fit(X, y)


def flaml_search(model: Any, X: np.ndarray, y: np.ndarray, seconds: float, seed: int) -> Any:
    """Return FLAML's search."""
    from flaml import AutoML

    has_classes = isinstance(model, LGBMClassifier)
    search = AutoML()
    search.fit(
        X,
        y,
        task="classification" if has_classes else "regression",
        metric="accuracy" if has_classes else "r2",
        estimator_list=["lgbm"],
        eval_method="cv",
        n_splits=FOLDS,
        time_budget=seconds,
        n_jobs=1,
        seed=seed,
        verbose=0,
    )
    return search


SEARCHES: dict[str, Callable[..., Any]] = {
    "ready": ours,
    "FLAML": flaml_search,
}


def points(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return accuracy or R2, in points."""
    found = np.ravel(model.predict(X))
    if y.dtype.kind == "i":
        return 100 * float(np.mean(found == y))
    return 100 * float(1 - np.mean((found - y) ** 2) / np.var(y))


def played(cache: Cache, name: str, table: str, budget: int, seed: int) -> tuple[float, float]:
    """Return the points of a search over the defaults, and its seconds, which are recorded."""
    task = f"{table} {budget}"
    if (task, seed, name) not in cache.lines:
        (X, y, X_test, y_test), model = rows_of(table, seed)
        began = time.perf_counter()
        found = SEARCHES[name](model, X, y, budget, seed)
        seconds = time.perf_counter() - began
        gain = points(found, X_test, y_test) - points(model.fit(X, y), X_test, y_test)
        cache.add(task, seed, name, {"gain": gain, "seconds": seconds})
    line = cache.lines[task, seed, name]
    return line["gain"], line["seconds"]


def table_rows(
    cache: Cache, tables: tuple[str, ...], budget: int, n_seeds: int
) -> Iterator[list[Any]]:
    """Yield for each table what each search gains, differences to FLAML, and seconds; the mean."""
    found = []
    for place, table in enumerate(tables):
        plays = []
        for seed in range(n_seeds):
            order = list(SEARCHES)[:: 1 if (place + seed) % 2 else -1]
            by_name = {name: played(cache, name, table, budget, seed) for name in order}
            plays.append([by_name[name] for name in SEARCHES])
        gains, seconds = np.mean(plays, axis=0).T
        row = [*gains, *(gains[:-1] - gains[-1]), *seconds]
        yield [table, *row]
        if table in HELD_OUT:
            found.append(row)
    if len(found) > 1:
        values, n = np.array(found), len(SEARCHES)
        means, errors = values.mean(axis=0), values.std(axis=0, ddof=1) / len(values) ** 0.5
        ahead = [f"{means[i]:+.2f} ({errors[i]:.2f})" for i in range(n, 2 * n - 1)]
        yield ["mean of those held out", *means[:n], *ahead, *means[2 * n - 1 :]]


def main() -> None:
    texts = {"tables": "names, with commas", "budgets": "seconds, with commas"}
    options = parse_options(__doc__, seeds=2, texts=texts)
    report = Report("Spaces of LightGBM and FLAML", options)
    if not (DATA / "tables").exists():
        print(f"No tables in {DATA}: nothing to do. Set SKLEARN_HALVING_DATA.")
        return
    try:
        import flaml.automl  # noqa: F401 - here, so that its seconds are not of the search
    except ImportError:
        print("The peer is FLAML: pip install flaml")
        return
    folder = Path.home() / ".cache" / "sklearn_halving"
    folder.mkdir(parents=True, exist_ok=True)
    tables, budgets = (*DEVELOPMENT, *HELD_OUT), BUDGETS
    if options.quick:
        tables, budgets = DEVELOPMENT[2:3], (3,)
    tables = tuple(options.tables.split(",")) if options.tables else tables
    budgets = tuple(map(int, options.budgets.split(","))) if options.budgets else budgets
    names = list(SEARCHES)
    ahead, seconds = [f"{n} - FLAML" for n in names[:-1]], [f"seconds of {n}" for n in names]
    columns = " | ".join(["table", *names, *ahead, *seconds])
    with one_thread():
        for budget in budgets:
            rows = table_rows(Cache(folder / "flaml_peer.jsonl"), tables, budget, options.seeds)
            report.table(f"{budget} seconds", columns, rows, f"flaml_peer_{budget}.csv")


if __name__ == "__main__":
    main()
