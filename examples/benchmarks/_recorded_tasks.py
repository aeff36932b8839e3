"""What is recorded for `choice_quality.py`: data sets, and the candidates of each.

- Wine quality, red and white (6,497 rows, 11 numbers): the 160 regressors of Hoffman et al.
  (2014), section 6.2, by RMSE on splits of 10 % for training and 10 % for testing. What differs:
  ``n_estimators`` is 1, 3, 10, 30 and not 1, 10, 100, 1000 (a thousand trees cost more than all
  the rest), and those are the first trees of one forest; ``min_samples_split=1``, which
  scikit-learn refuses, is 2; columns are standardised. Forests for which ``min_samples_leaf``
  makes ``min_samples_split`` superfluous are the same model, and are fitted once.
- Classification sets of 178 to 400 rows, 101 models of eight families on standardised
  columns, with the folds and the splits (80 % and 20 %) that searches would use.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from _common import DATA, load_phoneme
from _compare_data import mammography
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVR
from sklearn.tree import DecisionTreeClassifier

TREES = 1, 3, 10, 30


class ClassificationTask(NamedTuple):
    """A data set with two or more classes, and how models are scored on it."""

    load: Callable[[], tuple[Any, Any]]
    metric: str
    n_rows: int


def load_mammography() -> tuple[Any, Any]:
    """Return 260 calcifications and four times as many of the 10,923 other spots."""
    X, y = mammography()
    rows = np.concatenate([np.flatnonzero(y == 1), np.flatnonzero(y == 0)[: 4 * y.sum()]])
    return X[rows], y[rows]


CLASSIFICATION = {
    "wine cultivars": ClassificationTask(lambda: load_wine(return_X_y=True), "accuracy", 178),
    "phoneme": ClassificationTask(load_phoneme, "roc_auc", 400),
    "digits": ClassificationTask(lambda: load_digits(return_X_y=True), "accuracy", 300),
    "mammography": ClassificationTask(load_mammography, "roc_auc", 400),
    "breast cancer": ClassificationTask(
        lambda: load_breast_cancer(return_X_y=True), "accuracy", 300
    ),
}
WINE_QUALITY = "wine quality"
QUICK_NAMES = ("wine cultivars",)
NAMES = (*[name for name in CLASSIFICATION if name not in QUICK_NAMES], WINE_QUALITY)


def classifiers() -> list[BaseEstimator]:
    """Return the candidates of the classification sets."""
    models: list[BaseEstimator] = [
        SVC(C=C, gamma=gamma)
        for C, gamma in product((0.1, 0.3, 1, 3, 10, 100), (0.001, 0.01, 0.03, 0.1, 0.3))
    ]
    models += [
        SVC(kernel="poly", degree=degree, coef0=1, C=C)
        for degree, C in product((2, 3), (0.01, 0.1, 1, 10))
    ]
    models += [
        KNeighborsClassifier(n, weights=weights, p=p)
        for n, weights, p in product((1, 2, 3, 5, 7, 10, 15, 25), ("uniform", "distance"), (1, 2))
    ]
    models += [
        DecisionTreeClassifier(max_depth=depth, min_samples_leaf=leaf)
        for depth, leaf in product((2, 4, 8, None), (1, 4, 16))
    ]
    models += [LogisticRegression(C=C, max_iter=200) for C in (0.003, 0.01, 0.1, 1, 10, 100)]
    models += [GaussianNB(var_smoothing=v) for v in (1e-9, 1e-3, 1e-2, 1e-1, 1)]
    models += [
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage=s) for s in (1e-3, 0.03, 0.1, 0.5)
    ]
    models += [
        forest(n_estimators=10, min_samples_leaf=leaf)
        for forest in (RandomForestClassifier, ExtraTreesClassifier)
        for leaf in (1, 3)
    ]
    return models


def accuracy(model: Any, X: Any, y: Any) -> float:
    """Return the share of right predictions."""
    return float((model.predict(X) == y).mean())


def roc_auc(model: Any, X: Any, y: Any) -> float:
    """Return the area under the ROC curve from ranks, as roc_auc_score does from the curve."""
    if hasattr(model, "decision_function"):
        outputs = model.decision_function(X)
    else:
        outputs = model.predict_proba(X)[:, 1]
    n_positive = int((y == 1).sum())
    rank_sum = rankdata(outputs)[y == 1].sum() - n_positive * (n_positive + 1) / 2
    return float(rank_sum / (n_positive * (len(y) - n_positive)))


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
