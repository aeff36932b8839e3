"""How training of a fitted estimator continues: which way, and how."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sklearn_halving._typing import Estimator, Params
from sklearn_halving.resources._cloning import set_params
from sklearn_halving.resources._fitting import TrainingData, class_names, fit
from sklearn_halving.resources._parameters import leaf_of

Library = Literal["lightgbm", "xgboost", "catboost"]
Way = Literal["total", "remaining", "refit"] | Library

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

_HISTOGRAM_BOOSTING = {"HistGradientBoostingClassifier", "HistGradientBoostingRegressor"}
_GRADIENT_BOOSTING = {"GradientBoostingClassifier", "GradientBoostingRegressor"}
_BAGGING = {"BaggingClassifier", "BaggingRegressor"}
_NEURAL_NETWORK = {"MLPClassifier", "MLPRegressor"}
_EPOCHS = _NEURAL_NETWORK | {
    "SGDClassifier",
    "SGDRegressor",
    "SGDOneClassSVM",
    "Perceptron",
    "PassiveAggressiveClassifier",
    "PassiveAggressiveRegressor",
}
_UNITS_ASKED = "_halving_units_asked"


EARLY_STOPPING_NAMES: dict[Library, frozenset[str]] = {
    "lightgbm": frozenset(
        {"early_stopping_rounds", "early_stopping_round", "early_stopping", "n_iter_no_change"}
    ),
    "xgboost": frozenset({"early_stopping_rounds"}),
    "catboost": frozenset({"early_stopping_rounds", "od_type", "od_wait", "od_pval"}),
}
"""Parameters that ask for early stopping."""


def boosting_library(estimator: object) -> Library | None:
    """Return the boosting library of the estimator, without importing any."""
    packages = {cls.__module__.partition(".")[0] for cls in type(estimator).__mro__}
    return next((library for library in BOOSTING_NAMES if library in packages), None)


def way_to_continue(step: Any, parameter: str) -> Way:
    """Return how training of ``step`` continues when its own ``parameter`` grows."""
    library = boosting_library(step)
    if library is not None:
        return _way_of_boosting(step, parameter, library)
    if not hasattr(step, "warm_start") or not hasattr(step, parameter):
        return "refit"
    names = class_names(step)
    if parameter == "n_estimators":
        return "total" if _extends_exactly(names, step) else "refit"
    if parameter == "max_iter" and names & _HISTOGRAM_BOOSTING:
        return "total"
    if parameter == "max_iter" and names & _EPOCHS:
        is_batch_solver = names & _NEURAL_NETWORK and step.solver == "lbfgs"
        return "refit" if is_batch_solver else "remaining"
    if _has_word(parameter, ("iter", "epoch")) and not _is_from_scikit_learn(step):
        return "remaining"
    # Other solvers of scikit-learn start from the earlier solution but restart their state.
    return "refit"


def is_number_of_rounds(parameter: str) -> bool:
    """Return whether the name of a parameter is that of a number of boosting rounds."""
    return any(leaf_of(parameter) in names for names in BOOSTING_NAMES.values())


def is_iteration_name(parameter: str) -> bool:
    """Return whether the name of a parameter is that of a number of iterations."""
    is_some_count = _has_word(leaf_of(parameter), ("iter", "epoch", "round"))
    return is_some_count or is_number_of_rounds(parameter)


def _has_word(parameter: str, starts: tuple[str, ...]) -> bool:
    # Whole words only: n_iter_no_change, criterion and max_iter_predict do not count.
    words = parameter.split("_")
    is_other = words[-1] in ("change", "predict")
    return not is_other and any(word.startswith(starts) for word in words)


def fit_first(
    step: Estimator, whole: Estimator, data: TrainingData, parameter: str, level: int, way: Way
) -> Estimator:
    """Fit ``whole``, whose last step is ``step``, so that training can continue later."""
    set_params(step, {parameter: level})
    with _warm_start(step, parameter, level, way):
        return fit(whole, data)


def train_on(
    step: Estimator,
    data: TrainingData,
    parameter: str,
    level: int,
    previous_level: int,
    way: Way,
) -> Estimator:
    """Train a fitted ``step`` from ``previous_level`` to ``level`` and return the model."""
    more = level - previous_level
    if way in ("lightgbm", "xgboost", "catboost"):
        return _add_trees(step, data, parameter, level, more)
    set_params(step, {parameter: level})
    if has_stopped(step, way, previous_level):
        return step
    with _warm_start(step, parameter, more, way):
        return fit(step, data)


def _add_trees(step: Any, data: TrainingData, parameter: str, level: int, more: int) -> Estimator:
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


def has_stopped(step: Any, way: Way, level: int) -> bool:
    """Return whether a model at ``level`` stopped early, so that more iterations change nothing.

    A fit from scratch with more iterations would stop at the same place. A continued fit would
    restart the count of iterations without improvement.
    """
    names = class_names(step)
    if way == "remaining" and names & _EPOCHS:
        return bool(step.n_iter_ < getattr(step, _UNITS_ASKED, level))
    if names & _HISTOGRAM_BOOSTING and step.do_early_stopping_:
        return bool(step.n_iter_ < level) or _had_no_improvement(step)
    return False


@contextmanager
def _warm_start(step: Estimator, parameter: str, more: int, way: Way) -> Iterator[None]:
    """Set the parameters for a fit that runs ``more`` iterations, and restore them afterwards."""
    temporary: Params = {"warm_start": True} if way in ("total", "remaining") else {}
    if way == "remaining":
        temporary[parameter] = more
        setattr(step, _UNITS_ASKED, more)
    before = {name: getattr(step, name) for name in temporary}
    try:
        set_params(step, temporary)
        yield
    finally:
        set_params(step, before)


@contextmanager
def expected_warnings() -> Iterator[None]:
    """Ignore warnings that are expected when training stops at a level and continues."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message=r"class_weight presets .* warm_start")
        yield


def _way_of_boosting(step: Estimator, parameter: str, library: Library) -> Way:
    params = step.get_params()
    # With early stopping, the number of trees differs from the level.
    stops_early = any(params.get(name) is not None for name in EARLY_STOPPING_NAMES[library])
    if parameter not in BOOSTING_NAMES[library] or stops_early:
        return "refit"
    if library == "lightgbm":
        is_exact = params.get("boosting", params.get("boosting_type", "gbdt")) == "gbdt"
    elif library == "xgboost":
        is_forest = bool({"XGBRFClassifier", "XGBRFRegressor"} & class_names(step))
        is_exact = params.get("booster") in (None, "gbtree") and not is_forest
    else:
        is_encoded = any(params.get(name) for name in ("cat_features", "text_features"))
        # CatBoost's automatic learning rate depends on the requested number of iterations
        has_rate = any(params.get(name) is not None for name in ("learning_rate", "eta"))
        is_exact = has_rate and not is_encoded
    return library if is_exact else "refit"


def _extends_exactly(names: frozenset[str], step: Any) -> bool:
    if names & _GRADIENT_BOOSTING:
        # warm_start discards the losses that early stopping compares
        return step.n_iter_no_change is None
    # scikit-learn raises an error for this with warm_start
    return not (names & _BAGGING and step.oob_score)


def _is_from_scikit_learn(step: Estimator) -> bool:
    modules = [cls.__module__ for cls in type(step).__mro__]
    shared = ("sklearn.base", "sklearn.utils")
    return any(m.startswith("sklearn.") and not m.startswith(shared) for m in modules)


def _had_no_improvement(step: Any) -> bool:
    """Apply the stopping rule of HistGradientBoosting to the recorded scores."""
    scores = step.train_score_ if step.validation_fraction is None else step.validation_score_
    patience = step.n_iter_no_change
    if len(scores) <= patience:
        return False
    reference, *recent = scores[-patience - 1 :]
    return all(score <= reference + step.tol for score in recent)
