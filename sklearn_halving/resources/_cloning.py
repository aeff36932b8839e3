"""Clones and parameters of estimators, as by scikit-learn's own methods, but faster.

scikit-learn's ``get_params`` inspects the signature in every call, and ``set_params`` and
``clone`` call it, which is noticeable for fits of a millisecond. The functions here need it only
for estimators with parts, such as pipelines, or with methods of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from sklearn_halving._typing import Estimator, Params

_IMMUTABLE = (int, float, str, bool, type(None), np.generic)
_METHODS = ("get_params", "set_params", "__sklearn_clone__", "__getstate__", "__setattr__")
_USUAL_METHODS = [(name, getattr(BaseEstimator, name)) for name in _METHODS]


def all_params(estimator: Estimator) -> Params:
    """Return the same as ``estimator.get_params(deep=True)`` of an unfitted estimator."""
    return vars(estimator) if _is_simple(estimator) else estimator.get_params()


def set_params(estimator: Estimator, params: Params) -> None:
    """Do the same as ``estimator.set_params(**params)``."""
    if _is_simple(estimator) and params.keys() <= vars(estimator).keys():
        vars(estimator).update(params)
    elif params:  # a fitted model of CatBoost refuses even none
        estimator.set_params(**params)


def cloned(value: Any) -> Any:
    """Return the same as ``clone(value, safe=False)`` of an unfitted estimator or parameter."""
    if isinstance(value, _IMMUTABLE):
        return value
    if not _is_simple(value):
        return clone(value, safe=False)
    cls: Any = type(value)
    copied = cls.__new__(cls)
    vars(copied).update(vars(value))
    return copied


def _is_simple(estimator: object) -> bool:
    """Return whether an estimator is nothing but immutable parameters, kept as usual."""
    cls = type(estimator)
    for name, usual in _USUAL_METHODS:
        if getattr(cls, name, None) is not usual:
            return False
    for name, value in vars(estimator).items():
        # Parameters that are properties, and what is fitted, have underscores.
        if not isinstance(value, _IMMUTABLE) or "_" in (name[0], name[-1]):
            return False
    return True
