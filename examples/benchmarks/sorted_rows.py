"""AdaptiveSearchCV against random search where one fold says little: on sorted rows.

The rows of six real tables are sorted by the target or by the column with the strongest
correlation, and `KFold(5)` does not shuffle them, so the folds prefer different candidates. Both
searches make the same number of fits. A choice is scored by the mean of its five folds, as in
GridSearchCV. The table also says in which share of the runs the winner has all five splits, and in
which share `best_score_` and the gain in the summary are those of `cross_val_score`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from _common import DATA, Report, one_thread, parse_options
from scipy.stats import loguniform, randint
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, ParameterSampler, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from sklearn_halving import AdaptiveSearchCV

TABLES = {
    "energy": "target",
    "house8L": "column",
    "space_ga": "target",
    "cpu.act": "column",
    "puma32H": "target",
    "parkinsons": "column",
}
"""Tables on which no rule was chosen, and by what their rows are sorted."""
N_ROWS, BUDGETS, CV = 400, (50, 100, 200), KFold(5)
SHARES = ("complete", "true score", "true gain")
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "ridge": (Ridge(1000.0), {"alpha": loguniform(1e-3, 1e5)}),
    "neighbours": (
        KNeighborsRegressor(),
        {"n_neighbors": randint(1, 100), "weights": ["uniform", "distance"], "p": [1, 2]},
    ),
    "svm": (
        SVR(),
        {"C": loguniform(0.01, 100), "gamma": loguniform(1e-4, 1), "epsilon": loguniform(1e-3, 1)},
    ),
    "boosting": (
        HistGradientBoostingRegressor(max_iter=15, early_stopping=False, random_state=0),
        {
            "learning_rate": loguniform(0.01, 0.6),
            "max_leaf_nodes": randint(3, 32),
            "min_samples_leaf": randint(2, 60),
        },
    ),
}


def rows_of(table: str, order: str) -> tuple[np.ndarray, np.ndarray]:
    """Return 400 rows of the numeric columns of a table, sorted, and their standardized target."""
    frame = pd.read_csv(DATA / "tables" / f"{table}.csv.gz").select_dtypes("number").dropna()
    values = frame.sample(N_ROWS, random_state=0).to_numpy(float)
    X, y = StandardScaler().fit_transform(values[:, :-1]), values[:, -1]
    y = (y - y.mean()) / y.std()
    by = y if order == "target" else X[:, np.abs(X.T @ y).argmax()]
    places = np.argsort(by, kind="stable")
    return X[places], y[places]


class Task:
    """A model on a sorted table, with the mean of five folds of each candidate."""

    def __init__(self, table: str, model: str) -> None:
        self.X, self.y = rows_of(table, TABLES[table])
        estimator, space = MODELS[model]
        self.model, prefix = make_pipeline(StandardScaler(), estimator), type(estimator).__name__
        self.space = {f"{prefix.lower()}__{name}": values for name, values in space.items()}
        self._known: dict[str, float] = {}

    def score(self, params: dict[str, Any]) -> float:
        """Return the mean of the five folds."""
        if (key := repr(sorted(params.items()))) not in self._known:
            model = clone(self.model).set_params(**params)
            self._known[key] = float(np.mean(cross_val_score(model, self.X, self.y, cv=CV)))
        return self._known[key]

    def run(self, n_fits: int, seed: int) -> dict[str, float]:
        """Return what both searches chose, and whether what ours says is true."""
        search = AdaptiveSearchCV(
            self.model, self.space, n_fits=n_fits, cv=CV, random_state=seed, refit=False
        ).fit(self.X, self.y)
        ours, gain = self.score(search.best_params_), search.summary().gained.gain
        drawn = ParameterSampler(self.space, n_fits // 5, random_state=seed)
        return {
            "gain": ours - max(map(self.score, drawn)),
            "complete": search.cv_results_["n_fits"][search.best_index_] == 5,
            "true score": np.isclose(search.best_score_, ours),
            "true gain": gain is not None and np.isclose(gain, ours - self.score({})),
        }


def rows(budgets: tuple[int, ...], tables: list[str], n_seeds: int) -> Iterator[list[Any]]:
    """Yield a row for each model and budget, with means over tables."""
    for model in MODELS:
        tasks = {table: Task(table, model) for table in tables}
        for n_fits in budgets:
            runs = pd.DataFrame(
                task.run(n_fits, seed) | {"table": table}
                for table, task in tasks.items()
                for seed in range(n_seeds)
            )
            by_table = runs.groupby("table")["gain"]
            behind = by_table.mean() < -2 * by_table.sem().fillna(np.inf) - 1e-6
            means = by_table.mean()
            shares = [f"{100 * runs[name].mean():.0f} %" for name in SHARES]
            yield [
                *(model, n_fits, f"{means.mean():+.3f} ({means.sem():.3f})", int(behind.sum())),
                *shares,
            ]


def main() -> None:
    options = parse_options(__doc__, seeds=10)
    report = Report("Sorted rows", options)
    if not (DATA / "tables").exists():
        print(f"No tables in {DATA}: nothing to do. Set SKLEARN_HALVING_DATA.")
        return
    budgets, tables = (BUDGETS[:1], [*TABLES][:2]) if options.quick else (BUDGETS, [*TABLES])
    columns = "model | fits | adaptive - random | tables behind by two errors | complete winners"
    columns += " | true best_score_ | true gain"
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report.table(
            "Mean of five folds", columns, rows(budgets, tables, options.seeds), "sorted_rows.csv"
        )


if __name__ == "__main__":
    main()
