"""Parameters of boosting libraries that have several names."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

NAMES: dict[str, tuple[tuple[str, ...], ...]] = {
    "catboost": (
        ("learning_rate", "eta"),
        ("iterations", "n_estimators", "num_boost_round", "num_trees"),
        ("depth", "max_depth"),
        ("l2_leaf_reg", "reg_lambda"),
        ("rsm", "colsample_bylevel"),
        ("border_count", "max_bin"),
        ("max_leaves", "num_leaves"),
        ("min_data_in_leaf", "min_child_samples"),
    ),
    "lightgbm": (
        ("learning_rate", "shrinkage_rate", "eta"),
        (
            *("num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees", "num_round"),
            *("num_rounds", "nrounds", "num_boost_round", "max_iter", "n_estimators"),
        ),
        ("num_leaves", "num_leaf", "max_leaves", "max_leaf", "max_leaf_nodes"),
        (
            *("min_data_in_leaf", "min_data", "min_samples_leaf", "min_child_samples"),
            "min_data_per_leaf",
        ),
        ("lambda_l2", "lambda", "reg_lambda", "l2_regularization"),
        ("lambda_l1", "reg_alpha", "l1_regularization"),
        ("feature_fraction", "sub_feature", "colsample_bytree"),
        ("bagging_fraction", "sub_row", "bagging", "subsample"),
        ("bagging_freq", "subsample_freq"),
    ),
    "xgboost": (
        ("learning_rate", "eta"),
        ("reg_lambda", "lambda"),
        ("reg_alpha", "alpha"),
        ("min_split_loss", "gamma"),
    ),
}
"""The names of each parameter. If several are set, the first counts; CatBoost raises an error."""


def _names_of(estimator: Any, name: str) -> tuple[str, tuple[str, ...], set[str]]:
    """Return the library, all names of a parameter, and the names that are set."""
    library = type(estimator).__module__.partition(".")[0]
    names = next((n for n in NAMES.get(library, ()) if name in n), (name,))
    own = estimator.get_params() if len(names) > 1 else {}
    return library, names, {n for n in names if own.get(n) is not None}


def name_in_use(estimator: Any, name: str) -> str:
    """Return the name under which an estimator has a parameter."""
    _, names, given = _names_of(estimator, name)
    return next((n for n in names if n in given), name)


def rival_of(estimator: Any, name: str, searched: Collection[str]) -> str | None:
    """Return another name of a searched parameter that counts in its place, or makes fits fail."""
    library, names, given = _names_of(estimator, name)
    rivals = names if library == "catboost" else names[: names.index(name)]
    return next((n for n in rivals if n != name and (n in given or n in searched)), None)
