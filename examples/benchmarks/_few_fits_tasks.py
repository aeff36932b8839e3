"""What `few_fits.py` searches: models with fits of milliseconds, on parts of real data.

A space maps names to distributions of SciPy or lists, which `_peer_spaces.py` translates for
other libraries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from _recorded_tasks import load_mammography, load_wine_quality
from scipy.stats import loguniform, randint, uniform
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

N_TESTED = 1000
"""Rows at most on which a model is tested when its true score is measured."""


class Task(NamedTuple):
    """A data set, a model and what is searched.

    Parameters
    ----------
    load : callable
        Returns X and y; None if the files are not there.
    n_rows : int
        What a search gets; true scores are measured on what is left.
    """

    load: Callable[[], tuple[Any, Any] | None]
    n_rows: int
    model: Any
    space: dict[str, Any]
    scoring: str


def scaled(**steps: Any) -> Pipeline:
    """Return a pipeline that standardises columns first."""
    return Pipeline([("scale", StandardScaler()), *steps.items()])


def load_diabetes_standardised() -> tuple[Any, Any]:
    """Return the progress of the disease in standard deviations."""
    X, y = load_diabetes(return_X_y=True)
    return X, (y - y.mean()) / y.std()


TASKS = {
    "digits, SVC": Task(
        lambda: load_digits(return_X_y=True),
        500,
        scaled(svc=SVC()),
        {"svc__C": loguniform(1e-2, 1e3), "svc__gamma": loguniform(1e-5, 1)},
        "accuracy",
    ),
    "diabetes, SVR": Task(
        load_diabetes_standardised,
        442,
        scaled(svr=SVR()),
        {
            "svr__C": loguniform(1e-2, 1e3),
            "svr__epsilon": loguniform(1e-3, 1),
            "svr__gamma": loguniform(1e-4, 1),
        },
        "r2",
    ),
    "breast cancer, logistic": Task(
        lambda: load_breast_cancer(return_X_y=True),
        400,
        scaled(select=SelectKBest(), logistic=LogisticRegression(max_iter=200)),
        {
            "select__k": randint(1, 31),
            "logistic__C": loguniform(1e-4, 1e3),
            "logistic__class_weight": [None, "balanced"],
        },
        "neg_log_loss",
    ),
    "mammography, forest": Task(
        load_mammography,
        500,
        RandomForestClassifier(15, random_state=0),
        {
            "max_depth": randint(1, 20),
            "min_samples_leaf": randint(1, 40),
            "max_features": uniform(0.1, 0.9),
        },
        "average_precision",
    ),
    "wine quality, k-NN": Task(
        load_wine_quality,
        800,
        scaled(knn=KNeighborsRegressor()),
        {
            "knn__n_neighbors": randint(1, 101),
            "knn__weights": ["uniform", "distance"],
            "knn__metric": ["euclidean", "manhattan", "chebyshev"],
        },
        "r2",
    ),
    "wine quality, boosting": Task(
        load_wine_quality,
        400,
        HistGradientBoostingRegressor(max_iter=20, max_bins=63, random_state=0),
        {
            "learning_rate": loguniform(0.01, 1),
            "max_leaf_nodes": randint(2, 17),
            "min_samples_leaf": randint(1, 60),
            "l2_regularization": loguniform(1e-3, 1e3),
        },
        "r2",
    ),
}
QUICK_NAMES = ("diabetes, SVR",)


def rows_of(task: Task, n_all: int, seed: int) -> np.ndarray:
    """Return the rows that the searches of a seed get."""
    return np.random.default_rng([seed, n_all]).permutation(n_all)[: task.n_rows]
