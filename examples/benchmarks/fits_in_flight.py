"""What it costs a search to choose several fits before the first of them has a score.

A grid of 136 models of four families, and 40 fits. The regret is the mean score of the best model
minus that of the choice, both on 25 splits that the search does not use. A family is wrong if it
is not that of the best model.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from _common import DATA, Report, one_thread, parse_options
from _tables import table_task
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid, ShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from sklearn_halving import AdaptiveSearchCV, BayesGapSearchCV

TABLES = ("vehicle", "segment", "car", "cmc", "tic-tac-toe")
GRID: list[dict[str, Any]] = [
    {"model": [SVC()], "model__C": np.logspace(-2, 3, 8), "model__gamma": np.logspace(-4, 0, 6)},
    {
        "model": [KNeighborsClassifier()],
        "model__n_neighbors": [1, 2, 3, 5, 8, 12, 18, 27, 40],
        "model__weights": ["uniform", "distance"],
        "model__p": [1, 2],
    },
    {
        "model": [DecisionTreeClassifier(random_state=0)],
        "model__max_depth": [2, 3, 4, 6, 8, 12, 20, None],
        "model__min_samples_leaf": [1, 2, 4, 8, 16],
    },
    {"model": [LogisticRegression(max_iter=200)], "model__C": np.logspace(-3, 3, 12)},
]
PIPELINE = Pipeline([("scale", StandardScaler()), ("model", SVC())])
N_FITS, N_ROWS = 40, 500
WINDOWS: dict[Any, tuple[int, int, int]] = {
    BayesGapSearchCV: (1, 2, 5),  # the last is the default for 40 fits
    AdaptiveSearchCV: (1, 4, 8),  # the first
}


def data_sets() -> Iterator[tuple[str, Any, Any]]:
    """Yield names, X and y."""
    yield "wine", *load_wine(return_X_y=True)
    yield "breast cancer", *load_breast_cancer(return_X_y=True)
    for name in TABLES if (DATA / "tables").exists() else ():
        task = table_task(name, "svm", N_ROWS, 0)
        yield name, task.pipeline[0].fit_transform(task.X), task.y


def row_of(search: Any, name: str, X: Any, y: Any, n_seeds: int, n_splits: int) -> list[Any]:
    """Return the regrets with each number in flight on a data set."""
    candidates = list(ParameterGrid(GRID))
    index = {repr(sorted(params.items())): arm for arm, params in enumerate(candidates)}
    splits = ShuffleSplit(n_splits, test_size=0.2, random_state=7)
    truth = np.array(
        [
            cross_val_score(clone(PIPELINE).set_params(**params), X, y, cv=splits).mean()
            for params in clone(candidates, safe=False)
        ]
    )
    family = [type(params["model"]).__name__ for params in candidates]
    options = {"n_fits": N_FITS, "refit": False, "initial_candidates": []}
    chosen: dict[int, list[int]] = {window: [] for window in WINDOWS[search]}
    for window, arms in chosen.items():
        for seed in range(500, 500 + n_seeds):
            one = search(PIPELINE, GRID, fits_in_flight=window, random_state=seed, **options)
            arms.append(index[repr(sorted(one.fit(X, y).best_params_.items()))])
    regret = {window: truth.max() - truth[arms] for window, arms in chosen.items()}
    right = family[int(truth.argmax())]
    n_wrong = [sum(family[arm] != right for arm in arms) for arms in chosen.values()]
    more = regret[WINDOWS[search][-1]] - regret[1]
    difference = f"{more.mean():+.4f} ({more.std() / n_seeds**0.5:.4f})"
    regrets = [f"{of_window.mean():.4f}" for of_window in regret.values()]
    return [name, *regrets, difference, ", ".join(map(str, n_wrong))]


def main() -> None:
    options = parse_options(__doc__, seeds=40)
    report = Report("Fits in flight", options)
    n_splits = 2 if options.quick else 25
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = list(data_sets())[: 1 if options.quick else None]
        for search, windows in WINDOWS.items():
            in_flight = " | ".join(f"{window} in flight" for window in windows)
            columns = f"data set | {in_flight} | {windows[-1]} minus 1 | wrong family"
            rows = (row_of(search, *data, options.seeds, n_splits) for data in chosen)
            report.table(f"Regret, {search.__name__}, {N_FITS} fits", columns, rows)


if __name__ == "__main__":
    main()
