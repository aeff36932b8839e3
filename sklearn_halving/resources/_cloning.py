"""Clones and parameters of estimators, as by scikit-learn's own methods, but faster.

scikit-learn's ``get_params`` inspects the signature in every call, and ``set_params`` and
``clone`` call it, which is noticeable for fits of a millisecond. The functions here need it only
for estimators with parts, such as pipelines, or with methods of their own.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from sklearn.base import BaseEstimator, clone

from sklearn_halving._typing import Estimator, Params

_IMMUTABLE = (int, float, str, bool, type(None), np.generic)


def all_params(estimator: Estimator) -> Params:
    """Return the same as ``estimator.get_params(deep=True)`` of an unfitted estimator."""
    return vars(estimator) if _is_simple(estimator) else estimator.get_params()


def set_params(estimator: Estimator, params: Params) -> None:
    """Do the same as ``estimator.set_params(**params)``."""
    if not params:  # a fitted model of CatBoost refuses even none
        return
    if _is_simple(estimator) and params.keys() <= vars(estimator).keys():
        vars(estimator).update(params)
    else:
        estimator.set_params(**params)


def cloned(estimator: Estimator) -> Estimator:
    """Return the same as ``clone(estimator)`` of an unfitted estimator."""
    return copy(estimator) if _is_simple(estimator) else clone(estimator)


def cloned_value(value: object) -> object:
    """Return the same as ``clone(value, safe=False)``."""
    return value if isinstance(value, _IMMUTABLE) else clone(value, safe=False)


def _is_simple(estimator: Estimator) -> bool:
    """Return whether an estimator is nothing but immutable parameters, kept as usual."""
    cls = type(estimator)
    for method in ("get_params", "set_params", "__sklearn_clone__", "__getstate__", "__setattr__"):
        if getattr(cls, method, None) is not getattr(BaseEstimator, method):
            return False
    # Parameters that are properties, and what is fitted, have underscores.
    return all(
        isinstance(value, _IMMUTABLE) and not name.startswith("_") and not name.endswith("_")
        for name, value in vars(estimator).items()
    )
