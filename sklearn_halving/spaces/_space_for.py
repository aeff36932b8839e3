"""The search space of an estimator, also inside a pipeline."""

from __future__ import annotations

from typing import Any

from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

from sklearn_halving._unstable_imports import num_samples
from sklearn_halving.spaces._tables import FAMILIES, Family, loguniform_int

OF_CLASS = {name: family for family in FAMILIES for name in family.classes}
ROWS_PER_NEIGHBOUR = 10
"""The data have at least this many rows for each neighbour: fits with part of them need some."""


def space_for(estimator: Any, X: Any = None, y: Any = None) -> dict[str, Any]:
    """Return a good search space for an estimator, to print, change and pass to any search.

    Parameters
    ----------
    estimator : estimator object
        An estimator of one of the families on the page about search spaces, a `Pipeline` that ends
        with one, or a `TransformedTargetRegressor` of one. Steps before the last are left alone.
    X, y : array-like, default=None
        The data. If X is given, the bounds of ``n_neighbors`` suit its number of rows.

    Returns
    -------
    space : dict
        Parameter names, and lists or frozen SciPy distributions.

    Raises
    ------
    ValueError
        If the class of the estimator is not known.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> from sklearn_halving.spaces import space_for
    >>> sorted(space_for(make_pipeline(StandardScaler(), SVC())))
    ['svc__C', 'svc__gamma']
    """
    prefix, free, family = _found(estimator)
    space = {name: family.space[name] for name in free}
    if "n_neighbors" in space and X is not None:
        most = min(50, max(1, num_samples(X) // ROWS_PER_NEIGHBOUR))
        space["n_neighbors"] = loguniform_int(1, most)
    return {prefix + name: values for name, values in space.items()}


def _found(estimator: Any) -> tuple[str, list[str], Family]:
    """Return the prefix of the parameters, those that can be tuned with the others, the family."""
    prefix = ""
    while isinstance(estimator, (Pipeline, TransformedTargetRegressor)):
        if isinstance(estimator, Pipeline):
            name, estimator = estimator.steps[-1]
        else:
            name, estimator = "regressor", estimator.regressor
        prefix += f"{name}__"
    kind = type(estimator)
    name = f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
    if name not in OF_CLASS:
        known = ", ".join(sorted(full.partition(".")[2] for full in OF_CLASS))
        raise ValueError(
            f"There is no ready search space for {kind.__name__}; there is one for {known}. Write "
            "a dict of parameter names and lists or distributions, such as "
            "{'C': loguniform(0.1, 100)}."
        )
    family, own = OF_CLASS[name], estimator.get_params()
    fixed = {"gamma"} if own.get("kernel") == "linear" else set()
    if own.get("oob_score") or own.get("max_samples"):
        fixed.add("bootstrap")
    return prefix, [name for name in family.space if name not in fixed], family
