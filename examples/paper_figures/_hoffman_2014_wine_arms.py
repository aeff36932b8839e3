"""The arms of Figures 3 and 4 of Hoffman et al. (2014): recorded scores, prior, search space."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from _hoffman_2014_wine_scores import TREES, load_wine_quality, recorded, wine_scores

from sklearn_halving import RepeatedLearningTesting

_C, _EPSILON = (1e-3, 1e-2, 1e-1, 1.0), (1e-4, 1e-3, 1e-2, 1e-1)
# In the order of the rows of the recorded table.
FAMILIES: dict[str, dict[str, tuple[float, ...]]] = {
    "Lasso": {"alpha": (1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.5)},
    "forest": {
        "min_samples_leaf": (2, 6, 10, 14),
        "min_samples_split": (1, 3, 5, 7),
        "n_estimators": TREES,
    },
    "linear SVM": {"C": _C, "epsilon": _EPSILON},
    "RBF SVM": {"gamma": (0.025, 0.05, 0.1, 0.2), "C": _C, "epsilon": _EPSILON},
    "k-NN": {"n_neighbors": tuple(range(1, 17, 2))},
}
ARMS = [
    {"family": family, **dict(zip(grid, values, strict=True))}
    for family, grid in FAMILIES.items()
    for values in product(*grid.values())
]
ROW = {tuple(sorted(arm.items())): row for row, arm in enumerate(ARMS)}
LOGARITHMIC = {"alpha", "C", "epsilon", "gamma", "n_estimators"}


class ReplayedRegressor(BaseEstimator):
    """Looks its score up; a sample is the number of a split."""

    def __init__(
        self,
        table: Any = None,
        *,
        family: str | None = None,
        alpha: float | None = None,
        min_samples_leaf: int | None = None,
        min_samples_split: int | None = None,
        n_estimators: int | None = None,
        C: float | None = None,
        epsilon: float | None = None,
        gamma: float | None = None,
        n_neighbors: int | None = None,
    ) -> None:
        self.table = table
        self.family = family
        self.alpha = alpha
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.n_estimators = n_estimators
        self.C = C
        self.epsilon = epsilon
        self.gamma = gamma
        self.n_neighbors = n_neighbors

    def fit(self, X: Any, y: Any = None) -> ReplayedRegressor:
        """Find the row of the table."""
        given = {k: v for k, v in self.get_params().items() if v is not None and k != "table"}
        self.row_ = ROW[tuple(sorted(given.items()))]
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the RMSE that was recorded."""
        return float(self.table.scores[self.row_, int(X[0, 0])])


@dataclass(frozen=True)
class Table:
    """Minus the RMSE of each arm on each split, shape (160, n_splits)."""

    scores: np.ndarray

    def __deepcopy__(self, memo: Any) -> Table:
        """Return itself: clones of an estimator share it."""
        return self

    @property
    def rmse(self) -> np.ndarray:
        """What a recommendation is judged by."""
        return -self.scores.mean(axis=1)


def paper_covariance() -> np.ndarray:
    """Return the prior of section 6.2, shape (160, 160), of rank 160 or less."""
    blocks = []
    for grid in FAMILIES.values():
        axes = [np.log(v) if k in LOGARITHMIC else np.array(v, float) for k, v in grid.items()]
        axes = [(axis - axis[0]) / (axis[-1] - axis[0]) for axis in axes]
        points = np.array(list(product(*axes)))
        squares = ((points[:, np.newaxis] - points) ** 2).sum(axis=2)
        blocks.append(np.exp(-squares))
    covariance, first = np.zeros((len(ARMS), len(ARMS))), 0
    for block in blocks:
        last = first + len(block)
        covariance[first:last, first:last], first = block, last
    return covariance


def search_space(rng: np.random.Generator | None) -> list[dict[str, list[Any]]]:
    """Return a dict for each method, with the methods and all values in a random order."""
    dicts: list[dict[str, list[Any]]] = [
        {"family": [name], **{key: list(values) for key, values in grid.items()}}
        for name, grid in FAMILIES.items()
    ]
    if rng is None:
        return dicts
    for space in dicts:
        for values in space.values():
            values[:] = [values[i] for i in rng.permutation(len(values))]
    return [dicts[i] for i in rng.permutation(len(dicts))]


def load_table(options: argparse.Namespace) -> Table | None:
    """Return the recorded scores, of few small splits if ``options.quick``; None without data."""
    data = load_wine_quality()
    if data is None:
        print(
            "No wine quality: winequality-red.csv and winequality-white.csv of the UCI "
            "repository belong in the folder that SKLEARN_HALVING_DATA names."
        )
        return None
    X, y = data
    size, n_splits = (0.04, 3) if options.quick else (0.1, 200)
    cv = RepeatedLearningTesting(
        n_splits, train_size=size, test_size=size, stratify=False, random_state=1
    )
    splits = list(cv.split(X))  # those of `recorded`
    if options.quick:
        columns = [wine_scores(X[a], y[a], X[b], y[b], j) for j, (a, b) in enumerate(splits)]
        table = np.array(columns).T
    else:
        table = recorded(options.cache)
    if not options.liblinear:
        rows = [arm["family"] == "linear SVM" for arm in ARMS]
        table[rows] = linear_svm_scores(X, y, splits, options)
    return Table(table)


def linear_svm_scores(X: Any, y: Any, splits: Any, options: argparse.Namespace) -> np.ndarray:
    """Return minus the RMSE of the 16 linear SVMs on all splits, from the cache or made now."""
    path = options.cache / f"wine-linear-svm-{len(splits)}-sklearn{sklearn.__version__}.npy"
    if not options.quick and path.exists():
        return np.load(path)
    print("Recording linear SVMs ...", flush=True)
    columns = []
    for train, test in splits:
        scaler = StandardScaler().fit(X[train])
        train_rows, test_rows = scaler.transform(X[train]), scaler.transform(X[test])
        kernel, kernel_test = train_rows @ train_rows.T, test_rows @ train_rows.T
        column = []
        for C, epsilon in product(_C, _EPSILON):
            machine = SVR(kernel="precomputed", C=C, epsilon=epsilon).fit(kernel, y[train])
            column.append(-np.sqrt(np.mean((machine.predict(kernel_test) - y[test]) ** 2)))
        columns.append(column)
    if not options.quick:
        np.save(path, np.array(columns).T)
    return np.array(columns).T
