"""The scores of the 160 regressors of Hoffman et al. (2014), section 6.2, on wine quality.

6,497 rows of 11 numbers, by RMSE on splits of 10 % for training and 10 % for testing. Different:
``n_estimators`` is 1, 3, 10, 30 and not 1, 10, 100, 1000 (a thousand trees cost more than all the
rest), and those are the first trees of one forest; ``min_samples_split=1``, which scikit-learn
refuses, is 2; columns are standardised. Forests for which ``min_samples_leaf`` makes
``min_samples_split`` superfluous are the same model, and are fitted once.
"""

from __future__ import annotations

import sys
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, LinearSVR

from sklearn_halving.splits import RepeatedLearningTesting

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from _common import DATA

TREES = 1, 3, 10, 30
N_SPLITS = 200


def recorded(cache: Path) -> np.ndarray:
    """Return the scores, shape (160, 200), from the cache or made now and kept there."""
    path = cache / f"wine-quality-sklearn{sklearn.__version__}.npy"
    if not path.exists():
        print("Recording wine quality ...", flush=True)
        data = load_wine_quality()
        if data is None:
            raise FileNotFoundError(f"The files of the wines must be in {DATA}, and are not.")
        X, y = data
        cv = RepeatedLearningTesting(
            N_SPLITS, train_size=0.1, test_size=0.1, stratify=False, random_state=1
        )
        with warnings.catch_warnings(), sklearn.config_context(assume_finite=True):
            warnings.simplefilter("ignore")
            columns = [
                wine_scores(X[train], y[train], X[test], y[test], j)
                for j, (train, test) in enumerate(cv.split(X))
            ]
        cache.mkdir(parents=True, exist_ok=True)
        np.save(path, np.array(columns).T)
    return np.load(path)


def load_wine_quality() -> tuple[np.ndarray, np.ndarray] | None:
    """Return the red and white wines and their marks, or None if the files are not there."""
    paths = [DATA / f"winequality-{colour}.csv" for colour in ("red", "white")]
    if not all(path.exists() for path in paths):
        return None
    table = np.concatenate([np.genfromtxt(path, delimiter=",") for path in paths])
    table = table[~np.isnan(table).any(axis=1)]  # a line with the names, if there is one
    return table[:, :-1], table[:, -1]


def wine_scores(X: Any, y: Any, X_test: Any, y_test: Any, seed: int) -> list[float]:
    """Return minus the RMSE of each of the 160 on one split."""
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    grid = 1e-3, 1e-2, 1e-1, 1.0
    alphas = 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.5
    predictions = [Lasso(alpha).fit(X, y).predict(X_test) for alpha in alphas]
    predictions += _forest_predictions(X, y, X_test, seed)
    predictions += [
        LinearSVR(C=C, epsilon=epsilon / 10, random_state=seed).fit(X, y).predict(X_test)
        for C, epsilon in product(grid, grid)
    ]
    squares, squares_test = (euclidean_distances(Z, X, squared=True) for Z in (X, X_test))
    for gamma in (0.025, 0.05, 0.1, 0.2):
        kernel, kernel_test = np.exp(-gamma * squares), np.exp(-gamma * squares_test)
        machines = [
            SVR(kernel="precomputed", C=C, epsilon=epsilon / 10)
            for C, epsilon in product(grid, grid)
        ]
        predictions += [machine.fit(kernel, y).predict(kernel_test) for machine in machines]
    predictions += [KNeighborsRegressor(n).fit(X, y).predict(X_test) for n in range(1, 17, 2)]
    return [-float(np.sqrt(np.mean((one - y_test) ** 2))) for one in predictions]


def _forest_predictions(X: Any, y: Any, X_test: Any, seed: int) -> list[np.ndarray]:
    """Return what 64 forests predict: six are grown, and a smaller one is its first trees."""
    made: dict[tuple[int, int], list[np.ndarray]] = {}
    predictions = []
    for leaf, least in product((2, 6, 10, 14), (1, 3, 5, 7)):
        # With fewer than twice a leaf's rows no split leaves enough on both sides.
        key = leaf, max(least, 2 * leaf)
        if key not in made:
            forest = RandomForestRegressor(
                TREES[-1], min_samples_leaf=leaf, min_samples_split=key[1], random_state=seed
            ).fit(X, y)
            rows = X_test.astype(np.float32)
            of_trees = np.array([tree.tree_.predict(rows)[:, 0] for tree in forest.estimators_])
            made[key] = [of_trees[:n].mean(axis=0) for n in TREES]
        predictions += made[key]
    return predictions
