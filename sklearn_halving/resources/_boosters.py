"""LightGBM, XGBoost and CatBoost: trees that are added, and early stopping on held-out rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any, Literal

from sklearn.base import clone

from sklearn_halving._typing import Estimator, Params
from sklearn_halving.resources._resource import (
    SplitData,
    class_names,
    fit,
    last_step,
    prefix_of_last_step,
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


def add_trees(step: Any, data: SplitData, parameter: str, level: int, more: int) -> Estimator:
    """Return a boosted model with ``more`` trees, and its parameter set to ``level``."""
    library = boosting_library(step)
    start = {"xgb_model": step.get_booster()} if library == "xgboost" else {"init_model": step}
    longer = clone(step).set_params(**{parameter: more})
    fit(longer, data._replace(params=data.params | start))
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


class EvaluatedBooster:
    """A booster whose ``fit`` gets an evaluation set; in all else, it is the booster itself.

    In a pipeline, it takes the place of the last step: only when that is fitted are the earlier
    steps ready to transform the rows.
    """

    def __init__(self, step: Any, pipeline: Estimator, held_out: SplitData) -> None:
        self.step = step
        self._pipeline = pipeline
        self._held_out = held_out

    def __getattr__(self, name: str) -> Any:
        return getattr(self.step, name)

    def fit(self, X: object, y: object, **params: object) -> EvaluatedBooster:
        """Fit the booster; parameters of the user win over the evaluation set."""
        held_out = self._held_out
        rows = to_last_step(self._pipeline, held_out._replace(y=None, params={}), first=False)[1].X
        weights = [v for k, v in held_out.params.items() if k.endswith("sample_weight")]
        evaluation = _evaluation_params(self.step, rows, held_out.y, *weights[:1])
        self.step.fit(X, y, **{**evaluation, **params})
        return self


def _evaluation_params(step: Any, X: object, y: object, weight: object = None) -> Params:
    """Return the parameters of ``fit`` that give a booster an evaluation set."""
    library = boosting_library(step)
    evaluation: Params = {"eval_set": [(X, y)]}
    if library == "lightgbm" and "eval_X" in signature(step.fit).parameters:
        evaluation = {"eval_X": (X,), "eval_y": (y,)}  # since LightGBM 4.7
    if library == "xgboost":
        evaluation["verbose"] = False  # it prints a line for every round by default
    if weight is not None and library == "catboost":
        from catboost import Pool

        columns = step.get_params().get("cat_features")
        evaluation["eval_set"] = Pool(X, y, weight=weight, cat_features=columns)
    elif weight is not None:
        name = "eval_sample_weight" if library == "lightgbm" else "sample_weight_eval_set"
        evaluation[name] = [weight]
    return evaluation


@contextmanager
def evaluated_on(held_out: SplitData, estimator: Estimator) -> Iterator[Estimator]:
    """Yield the estimator with a booster that is evaluated on held-out rows."""
    step, path = last_step(estimator), prefix_of_last_step(estimator).removesuffix("__")
    booster = EvaluatedBooster(step, estimator, held_out)
    try:
        yield estimator.set_params(**{path: booster}) if path else booster
    finally:
        if path:
            estimator.set_params(**{path: step})


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
