"""Search spaces as data.

Ranges that are called measured were chosen on 23 public tables with 163 to 600 training rows, and
checked on 26 others. The ranges with many rows were chosen with LightGBM on 5 tables with 4,000 to
12,000 training rows, and checked on 10 others. The ranges of SVC, SVR, LogisticRegression, Ridge,
KNeighbors and MLP are for scaled columns. SVR, ElasticNet and MLP also expect a target with
variance 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import loguniform, rv_discrete, uniform


class _LogUniformInt(rv_discrete):  # type: ignore[misc]  # SciPy has no types
    """Whole numbers from ``low`` to ``high``, evenly spread in their logarithm."""

    def _argcheck(self, low: Any, high: Any) -> Any:
        return (low >= 1) & (high >= low) & (low == np.floor(low)) & (high == np.floor(high))

    def _get_support(self, low: Any, high: Any) -> Any:
        return low, high

    def _pmf(self, k: Any, low: Any, high: Any) -> Any:
        return np.log1p(1 / np.asarray(k, dtype=float)) / np.log((high + 1) / low)

    def _cdf(self, k: Any, low: Any, high: Any) -> Any:
        return np.log((np.floor(k) + 1) / low) / np.log((high + 1) / low)

    def _ppf(self, q: Any, low: Any, high: Any) -> Any:
        bound = low * ((high + 1) / low) ** np.asarray(q, dtype=float)
        # Rounding must not lift an exact bound to the next number.
        return np.clip(np.ceil(bound * (1 - 1e-12)) - 1, low, high)


_DISTRIBUTION = _LogUniformInt(name="loguniform_int")


def loguniform_int(low: int, high: int) -> Any:
    """Return a distribution of whole numbers that are evenly spread in their logarithm.

    Parameters
    ----------
    low, high : int
        Smallest and largest value, both included; at least 1.

    Returns
    -------
    distribution : frozen SciPy distribution
        With the methods ``rvs``, ``ppf``, ``cdf`` and ``pmf``.

    Raises
    ------
    ValueError
        Unless ``1 <= low <= high``, both whole numbers.

    Examples
    --------
    >>> from sklearn_halving.spaces import loguniform_int
    >>> depth = loguniform_int(1, 64)
    >>> [int(depth.ppf(share)) for share in (0.1, 0.25, 0.5, 0.75, 1)]
    [1, 2, 8, 22, 64]
    """
    if not (low == int(low) and high == int(high) and 1 <= low <= high):
        raise ValueError(
            f"loguniform_int needs whole numbers with 1 <= low <= high, got {low!r} and {high!r}."
        )
    return _DISTRIBUTION(low, high)


def both(name: str, space: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the space of the classifier and the regressor with this name."""
    return {f"{name}{kind}": space for kind in ("Classifier", "Regressor")}


HIST = {
    "learning_rate": loguniform(0.02, 0.3),
    "max_iter": [50, 100, 200],
    "max_leaf_nodes": loguniform_int(3, 63),
    "min_samples_leaf": loguniform_int(2, 60),
    "l2_regularization": loguniform(1e-3, 1e2),
    "max_features": uniform(0.3, 0.7),
}
LIGHT_NAMES = (
    *("learning_rate", "n_estimators", "num_leaves", "min_child_samples", "reg_lambda"),
    "colsample_bytree",
)
LIGHT = dict(zip(LIGHT_NAMES, HIST.values(), strict=True))
N_MANY = 4_000
"""With this many rows, boosting has the following ranges."""
WITH_MANY_ROWS = {
    "learning_rate": loguniform(0.01, 0.5),
    **dict.fromkeys(("n_estimators", "max_iter", "iterations"), loguniform_int(50, 1000)),
    **dict.fromkeys(("num_leaves", "max_leaf_nodes"), loguniform_int(3, 255)),
    **dict.fromkeys(("min_child_samples", "min_samples_leaf"), loguniform_int(2, 120)),
}
SVM = {"C": loguniform(0.1, 1e3), "gamma": loguniform(1e-4, 1)}
TREES = {"max_features": uniform(0.05, 0.95), "min_samples_leaf": loguniform_int(1, 16)}
LINEAR = {"alpha": loguniform(1e-6, 1e-1), "l1_ratio": uniform(0, 1)}

SPACES: dict[str, dict[str, Any]] = {
    # Measured.
    **both("sklearn.HistGradientBoosting", HIST),
    # Derived from HistGradientBoosting, and checked on 10 of those tables.
    **both("lightgbm.LGBM", LIGHT),
    # Adapted from HistGradientBoosting; not benchmarked.
    **both(
        "xgboost.XGB",
        {
            "learning_rate": loguniform(0.02, 0.3),
            "n_estimators": [50, 100, 200],
            "max_depth": loguniform_int(2, 10),
            "min_child_weight": loguniform(0.1, 60),
            "reg_lambda": loguniform(1e-3, 1e2),
            "subsample": uniform(0.5, 0.5),
            "colsample_bytree": uniform(0.3, 0.7),
        },
    ),
    # Adapted from HistGradientBoosting; not benchmarked.
    **both(
        "catboost.CatBoost",
        {
            "learning_rate": loguniform(0.02, 0.3),
            "iterations": [50, 100, 200],
            "depth": loguniform_int(2, 10),
            "l2_leaf_reg": loguniform(0.1, 1e2),
        },
    ),
    # Measured; extra trees as random forests without bootstrap, not measured.
    **both("sklearn.RandomForest", TREES | {"bootstrap": [True, False]}),
    **both("sklearn.ExtraTrees", TREES),
    # Measured; LogisticRegression without a gain in accuracy, Ridge without one in R2.
    "sklearn.SVC": SVM,
    "sklearn.SVR": SVM | {"epsilon": loguniform(1e-3, 0.5)},
    "sklearn.LogisticRegression": {"C": loguniform(1e-4, 1e3)},
    "sklearn.Ridge": {"alpha": loguniform(1e-3, 1e4)},
    # Not measured.
    "sklearn.ElasticNet": {"alpha": loguniform(1e-4, 1e1), "l1_ratio": uniform(0.05, 0.95)},
    # The range of alpha of scikit-learn's user guide; not measured.
    **both("sklearn.SGD", LINEAR | {"penalty": ["l2", "elasticnet"]}),
    # Measured.
    **both(
        "sklearn.KNeighbors",
        {
            "n_neighbors": loguniform_int(1, 50),
            "weights": ["uniform", "distance"],
            "p": [1, 2],
        },
    ),
    **both(
        "sklearn.MLP",
        {
            "hidden_layer_sizes": [(32,), (64,), (128,), (64, 64), (100,)],
            "alpha": loguniform(1e-6, 3),
            "learning_rate_init": loguniform(5e-4, 3e-2),
            "activation": ["relu", "tanh"],
        },
    ),
}
"""The space of each class, by its top-level package and name."""
