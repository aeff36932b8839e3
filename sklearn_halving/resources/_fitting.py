"""How resources check and fit an estimator, alone or as the last step of a pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Real
from typing import Any, NamedTuple

from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import process_routing

from sklearn_halving._typing import Estimator, Params

MOST_NAMES = 10
"""Number of names that a message lists."""

# fit_transform of these returns other values for the training rows than transform does (such as
# out-of-fold predictions). Training of a later step cannot continue on the output of transform.
_CROSS_FITTED = {
    *("TargetEncoder", "StackingClassifier", "StackingRegressor"),
    *("LeaveOneOutEncoder", "CatBoostEncoder"),
}


def check_not_searched(parameter: str, searched: frozenset[str]) -> None:
    """Raise a ValueError if the resource is also a searched parameter."""
    if parameter in searched:
        raise ValueError(
            f"Cannot use parameter {parameter!r} as the resource since it is part of the searched "
            f"parameters {sorted(searched)}. Remove it from the search space."
        )


def check_parameter(parameter: str, estimator: Estimator, searched: frozenset[str]) -> None:
    """Raise a ValueError if the estimator has no such parameter.

    Nothing can be checked if candidates replace the object that the parameter belongs to.
    """
    valid = estimator.get_params()
    if parameter not in valid and not is_replaced(parameter, searched):
        raise ValueError(
            f"resource={parameter!r} must be a parameter of {type(estimator).__name__}."
            f"{suggestion(parameter, valid)} Its parameters are {listed(valid)}."
        )


def leaf_of(parameter: str) -> str:
    """Return the name of a parameter within the object that it belongs to."""
    return parameter.rpartition("__")[2]


def is_replaced(parameter: str, searched: frozenset[str]) -> bool:
    """Return whether candidates replace the object that the parameter belongs to."""
    path = parameter.split("__")
    return any("__".join(path[:depth]) in searched for depth in range(1, len(path)))


def number_of(value: object) -> float | None:
    """Return the value of a parameter if it is a number, else None."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return value if is_number else None  # type: ignore[return-value]  # an int stays an int


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the known names closest to ``name``, or an empty string."""
    known = list(known)
    prefixed = [one for one in known if one.endswith(f"__{name}")]
    close = prefixed[:3] or get_close_matches(name, known, n=3)
    return f" Did you mean {' or '.join(map(repr, close))}?" if close else ""


def listed(names: Iterable[str]) -> str:
    """Return the names as a list that a message can show, with at most ten of them."""
    names = sorted(names)
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{names[:MOST_NAMES]}{more}"


class SplitData(NamedTuple):
    """The rows of one side of a split, their targets, and the parameters to fit or score with."""

    X: object
    y: object
    params: Params

    @property
    def arrays(self) -> tuple[object, ...]:
        """What a fit or a scorer gets first, as in scikit-learn without ``y`` if it is None."""
        return (self.X,) if self.y is None else (self.X, self.y)


def fit(estimator: Estimator, data: SplitData) -> Estimator:
    """Fit, and return the estimator."""
    estimator.fit(*data.arrays, **data.params)
    return estimator


def refit(estimator: Estimator, params: Params, data: SplitData, *, is_fitted: bool) -> Estimator:
    """Fit from scratch with some parameters. A fitted model remains as it is."""
    fresh = clone(estimator) if is_fitted else estimator
    if params:
        fresh.set_params(**params)
    return fit(fresh, data)


def class_names(estimator: object) -> frozenset[str]:
    """Return the names of the estimator's class and of all its base classes."""
    return frozenset(cls.__name__ for cls in type(estimator).__mro__)


def last_step(estimator: Estimator) -> Estimator:
    """Return the last step of a pipeline, also of nested ones, or the estimator itself."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def prefix_of_last_step(estimator: Estimator) -> str:
    """Return what precedes the names of parameters of the last step, such as ``"clf__"``."""
    prefix = ""
    while isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    return prefix


def owner_of(estimator: Estimator, parameter: str) -> Estimator | None:
    """Return the last step if ``parameter`` is one of its own, else None."""
    if parameter != prefix_of_last_step(estimator) + leaf_of(parameter):
        return None
    step = last_step(estimator)
    return None if isinstance(step, type) or not hasattr(step, "set_params") else step


def keeps_training_rows(estimator: Estimator) -> bool:
    """Return whether ``transform`` of the earlier steps reproduces the training rows.

    Training of the last step can then continue without refitting the earlier steps.
    """
    while isinstance(estimator, Pipeline):
        if getattr(estimator, "transform_input", None) is not None:
            return False  # steps pass more than X to each other
        for _, step in estimator.steps[:-1]:
            nested = step.get_params().values() if hasattr(step, "get_params") else ()
            for part in (step, *nested):
                if hasattr(part, "fit_resample") or class_names(part) & _CROSS_FITTED:
                    return False
        estimator = estimator.steps[-1][1]
    return True


def to_last_step(estimator: Estimator, data: SplitData, *, first: bool) -> tuple[Any, SplitData]:
    """Pass the data through the earlier steps, fitting them at the first level.

    Returns
    -------
    step, step_data
        The last step, and its training data.
    """
    X, y, fit_params = data
    while isinstance(estimator, Pipeline):
        head = estimator[:-1]
        step_params = _params_of_last(estimator, fit_params)
        if len(head.steps) > 0:
            if first:
                params = _params_of_head(head, "fit_transform", fit_params)
                # The memory of a pipeline is for all steps but the last one.
                head.steps.append((estimator.steps[-1][0], "passthrough"))
                X = head.fit_transform(X, y, **params)
                estimator.steps[:-1] = head.steps[:-1]  # a pipeline with a memory fits copies
            else:
                X = _transformed(head, X, _params_of_head(head, "transform", fit_params))
        estimator, fit_params = estimator.steps[-1][1], step_params
    return estimator, SplitData(X, y, fit_params)


def _transformed(head: Pipeline, X: object, params: Params) -> object:
    """Transform with the earlier steps, as ``predict`` of the whole pipeline does."""
    if params:
        return head.transform(X, **params)
    # head.transform refuses a last step without fitted attributes, and predict does not
    for _, step in head.steps:
        if step is not None and step != "passthrough":
            X = step.transform(X)
    return X


def _params_of_last(pipeline: Pipeline, fit_params: Params) -> Params:
    name = pipeline.steps[-1][0]
    if get_config()["enable_metadata_routing"]:
        return dict(process_routing(pipeline, "fit", **fit_params)[name]["fit"])
    start = f"{name}__"
    return {key[len(start) :]: v for key, v in fit_params.items() if key.startswith(start)}


def _params_of_head(head: Pipeline, method: str, fit_params: Params) -> Params:
    if get_config()["enable_metadata_routing"]:
        wanted = head.get_metadata_routing().consumes(method, fit_params)
        return {key: fit_params[key] for key in wanted}
    if method == "transform":
        return {}
    names = {name for name, _ in head.steps}
    return {key: v for key, v in fit_params.items() if key.partition("__")[0] in names}
