"""The search space of an estimator, also inside a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

from sklearn_halving._checks import refuse_unless
from sklearn_halving._unstable_imports import num_samples
from sklearn_halving.spaces._aliases import name_in_use
from sklearn_halving.spaces._tables import N_MANY, SPACES, WITH_MANY_ROWS, loguniform_int

ROWS_PER_NEIGHBOUR = 10
"""Minimum number of rows for each neighbour, so that fits on part of the rows work, too."""


@overload
def space_for(
    estimator: Any, X: Any = None, y: Any = None, *, models: None = None
) -> dict[str, Any]: ...
@overload
def space_for(
    estimator: Any, X: Any = None, y: Any = None, *, models: Sequence[Any]
) -> list[dict[str, Any]]: ...
def space_for(
    estimator: Any, X: Any = None, y: Any = None, *, models: Sequence[Any] | None = None
) -> dict[str, Any] | list[dict[str, Any]]:
    """Return a good search space for an estimator, to print, change and pass to any search.

    Parameters
    ----------
    estimator : estimator object
        An estimator of one of the families on the page about search spaces, a `Pipeline` that ends
        with one, or a `TransformedTargetRegressor` of one. Earlier steps keep their parameters.
    X, y : array-like, default=None
        The data. If X is given, the bounds of ``n_neighbors`` suit its number of rows, and
        boosting may have more and larger trees from 4,000 rows on.
    models : list of estimator objects or None, default=None
        Models to try as the last step of a `Pipeline`, each with its own parameters. None tries
        the last step that the pipeline has.

    Returns
    -------
    space : dict, or list of dict
        Parameter names, and lists or frozen SciPy distributions. With ``models``, one dict for
        each of them.

    Raises
    ------
    ValueError
        If the class of the estimator or of a model is not known, or if the estimator has no step
        for the ``models``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline, Pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> from sklearn_halving.spaces import space_for
    >>> sorted(space_for(make_pipeline(StandardScaler(), SVC())))
    ['svc__C', 'svc__gamma']
    >>> pipe = Pipeline([("scale", StandardScaler()), ("model", SVC())])
    >>> [sorted(one) for one in space_for(pipe, models=[SVC(), LogisticRegression()])]
    [['model', 'model__C', 'model__gamma'], ['model', 'model__C']]
    """
    prefix = ""
    while isinstance(estimator, (Pipeline, TransformedTargetRegressor)):
        if isinstance(estimator, Pipeline):
            name, estimator = estimator.steps[-1]
        else:
            name, estimator = "regressor", estimator.regressor
        prefix += f"{name}__"
    if models is None:
        return {prefix + name: values for name, values in _space_of(estimator, X).items()}
    if not prefix:
        raise ValueError(
            f"models need a Pipeline, whose last step they replace, got {estimator!r}. Use "
            f"Pipeline([('model', {estimator!r})])."
        )
    is_list = isinstance(models, list | tuple) and all(
        hasattr(model, "fit") and not isinstance(model, type) for model in models
    )
    rule = "be a list of estimators"
    refuse_unless(is_list and len(models) > 0, "models", rule, repr(models), "[SVC()] is one.")
    step = prefix.removesuffix("__")
    return [
        {step: [model]}
        | {prefix + name: values for name, values in space_for(model, X, y).items()}
        for model in models
    ]


def _space_of(estimator: Any, X: Any) -> dict[str, Any]:
    """Return the space of an estimator, without what its other parameters rule out."""
    kind = type(estimator)
    name = f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
    if name not in SPACES:
        raise ValueError(_refusal(estimator))
    ranges = SPACES[name]
    depends = X is not None and not ranges.keys().isdisjoint(("learning_rate", "n_neighbors"))
    n_rows = num_samples(X) if depends else 0
    if "learning_rate" in ranges and n_rows >= N_MANY:
        ranges = {each: WITH_MANY_ROWS.get(each, ranges[each]) for each in ranges}
    own = estimator.get_params()
    without_effect = {
        "gamma": own.get("kernel") not in ("rbf", "poly", "sigmoid"),
        "p": own.get("metric") != "minkowski",
        "learning_rate_init": own.get("solver") == "lbfgs",
        "max_iter": own.get("early_stopping") is True,
        "bootstrap": bool(own.get("oob_score") or own.get("max_samples")),
    }
    space = {
        name_in_use(estimator, name): values
        for name, values in ranges.items()
        if not without_effect.get(name)
    }
    if "n_neighbors" in space and X is not None:
        most = min(50, max(1, n_rows // ROWS_PER_NEIGHBOUR))
        space["n_neighbors"] = loguniform_int(1, most)
    return space


def _refusal(estimator: Any) -> str:
    """Return why there is no space for an estimator, and what to do."""
    inner = getattr(estimator, "estimator", None)
    is_object = hasattr(estimator, "get_params") and not isinstance(estimator, type)
    name = type(estimator).__name__ if is_object else repr(estimator)
    refused = f"There is no ready search space for {name}"
    if is_object and hasattr(inner, "fit"):
        return f"{refused}; search over the estimator in it, with space_for({inner!r})."
    known = ", ".join(sorted(full.partition(".")[2] for full in SPACES))
    return (
        f"{refused}; there is one for instances of {known}. Write a dict of parameter names and "
        "lists or distributions, such as {'C': loguniform(0.1, 100)}."
    )
