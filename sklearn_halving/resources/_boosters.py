"""LightGBM, XGBoost and CatBoost: trees that are added, and early stopping on held-out rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any, Literal

from sklearn.base import clone

from sklearn_halving._typing import Estimator, Params
from sklearn_halving.resources._fitting import (
    TrainingData,
    class_names,
    fit,
    last_step,
    to_last_step,
)

Library = Literal["lightgbm", "xgboost", "catboost"]

# All names of the number of trees. get_params does not list them all: CatBoost, for example,
# returns only parameters that were set.
BOOSTING_NAMES: dict[Library, frozenset[str]] = {
    "lightgbm": frozenset(
        {"n_estimators", "num_boost_round", "num_iterations", "num_iteration", "n_iter"}
        | {"num_tree", "num_trees", "num_round", "num_rounds", "nrounds", "max_iter"}
    ),
    "xgboost": frozenset({"n_estimators"}),
    "catboost": frozenset({"iterations", "num_boost_round", "n_estimators", "num_trees"}),
}

EARLY_STOPPING_NAMES: dict[Library, frozenset[str]] = {
    "lightgbm": frozenset(
        {"early_stopping_rounds", "early_stopping_round", "early_stopping", "n_iter_no_change"}
    ),
    "xgboost": frozenset({"early_stopping_rounds"}),
    "catboost": frozenset({"early_stopping_rounds", "od_type", "od_wait", "od_pval"}),
}
"""Parameters that ask for early stopping."""

_CALLBACKS = ("EarlyStopping", "_EarlyStoppingCallback")


def boosting_library(estimator: object) -> Library | None:
    """Return the boosting library of the estimator, without importing any."""
    packages = {cls.__module__.partition(".")[0] for cls in type(estimator).__mro__}
    return next((library for library in BOOSTING_NAMES if library in packages), None)


def adds_trees_exactly(step: Any, parameter: str, library: Library) -> bool:
    """Return whether a model to which trees are added is equal to a single long fit."""
    params = step.get_params()
    # With early stopping, the number of trees differs from the level.
    stops_early = any(params.get(name) is not None for name in EARLY_STOPPING_NAMES[library])
    if parameter not in BOOSTING_NAMES[library] or stops_early:
        return False
    if library == "lightgbm":
        return bool(params.get("boosting", params.get("boosting_type", "gbdt")) == "gbdt")
    if library == "xgboost":
        is_forest = bool({"XGBRFClassifier", "XGBRFRegressor"} & class_names(step))
        return params.get("booster") in (None, "gbtree") and not is_forest
    is_encoded = any(params.get(name) for name in ("cat_features", "text_features"))
    # CatBoost's automatic learning rate depends on the requested number of iterations
    has_rate = any(params.get(name) is not None for name in ("learning_rate", "eta"))
    return has_rate and not is_encoded


def add_trees(step: Any, data: TrainingData, parameter: str, level: int, more: int) -> Estimator:
    """Return a boosted model with ``more`` trees, and its parameter set to ``level``."""
    library = boosting_library(step)
    start = {"xgb_model": step.get_booster()} if library == "xgboost" else {"init_model": step}
    longer = clone(step).set_params(**{parameter: more})
    fit(longer, data._replace(fit_params=data.fit_params | start))
    if library == "lightgbm":
        longer.set_params(**{parameter: level})
    elif library == "xgboost":
        # set_params would also pass all parameters to the fitted booster
        setattr(longer, parameter, level)
    return longer  # a fitted model of CatBoost refuses set_params


def stops_early(estimator: Estimator, fit_params: Params) -> bool:
    """Return whether a booster asks for early stopping and the user gives no evaluation set."""
    step: Any = last_step(estimator)
    library = boosting_library(step)
    if library is None or type(step).__name__.endswith("Ranker"):
        return False
    given = {name.rpartition("__")[2]: value for name, value in fit_params.items()}
    if given.keys() & {"eval_set", "eval_X"}:
        return False
    params = step.get_params()
    callbacks = [*(given.get("callbacks") or ()), *(params.get("callbacks") or ())]
    is_asked = any((params | given).get(name) for name in EARLY_STOPPING_NAMES[library])
    return is_asked or any(type(callback).__name__ in _CALLBACKS for callback in callbacks)


@contextmanager
def evaluated_on(estimator: Estimator, X: object, y: object, weight: object) -> Iterator[None]:
    """Pass an evaluation set to the ``fit`` of a booster.

    In a pipeline, the fitted earlier steps transform the rows first. They are fitted when the
    ``fit`` of the last step is called, so this method is replaced in the meantime.
    """
    step: Any = last_step(estimator)
    library, own_fit = boosting_library(step), step.fit

    def fit(X_train: object, y_train: object, **params: object) -> object:
        X_held_out = to_last_step(estimator, TrainingData(X, None, {}), first=False)[1].X
        evaluation: Params = {"eval_set": [(X_held_out, y)]}
        if library == "lightgbm" and "eval_X" in signature(own_fit).parameters:
            evaluation = {"eval_X": (X_held_out,), "eval_y": (y,)}  # since LightGBM 4.7
        if library == "xgboost":
            evaluation["verbose"] = False  # it prints a line for every round by default
        if weight is not None and library == "catboost":
            from catboost import Pool

            columns = step.get_params().get("cat_features")
            evaluation["eval_set"] = Pool(X_held_out, y, weight=weight, cat_features=columns)
        elif weight is not None:
            name = "eval_sample_weight" if library == "lightgbm" else "sample_weight_eval_set"
            evaluation[name] = [weight]
        return own_fit(X_train, y_train, **{**evaluation, **params})

    step.fit = fit
    try:
        yield
    finally:
        del step.fit


def rounds_found(estimator: Estimator) -> int | None:
    """Return the number of boosting rounds that early stopping has chosen."""
    step: Any = last_step(estimator)
    if boosting_library(step) == "lightgbm":
        return getattr(step, "best_iteration_", None) or None
    # Some kinds of boosters cannot stop early, and have no best iteration.
    is_catboost = hasattr(step, "get_best_iteration")
    best = step.get_best_iteration() if is_catboost else getattr(step, "best_iteration", None)
    return None if best is None else best + 1


def fix_rounds(estimator: Estimator, n_rounds: int, fit_params: Params) -> Params:
    """Set the number of rounds of a booster and turn early stopping off.

    Returns
    -------
    fit_params : dict
        The fit parameters without those for early stopping.
    """
    step: Any = last_step(estimator)
    library = boosting_library(step)
    if library is None:
        return fit_params
    params = step.get_params()
    names = {name for name in BOOSTING_NAMES[library] if params.get(name) is not None}
    default = "iterations" if library == "catboost" else "n_estimators"
    fixed: Params = dict.fromkeys(names or {default}, n_rounds)
    # CatBoost refuses None for the others, which have no effect without an evaluation set.
    unset = EARLY_STOPPING_NAMES[library] - {"od_type", "od_pval"}
    fixed |= {name: None for name in unset if params.get(name) is not None}
    if params.get("use_best_model"):
        fixed["use_best_model"] = False
    if params.get("callbacks"):
        fixed["callbacks"] = _without_early_stopping(params["callbacks"]) or None
    step.set_params(**fixed)
    return {
        name: _without_early_stopping(value) if name.endswith("callbacks") and value else value
        for name, value in fit_params.items()
        if name.rpartition("__")[2] not in EARLY_STOPPING_NAMES[library]
    }


def _without_early_stopping(callbacks: Iterable[object]) -> list[object]:
    return [callback for callback in callbacks if type(callback).__name__ not in _CALLBACKS]
