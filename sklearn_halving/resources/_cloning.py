"""Clones and parameters of estimators, as by scikit-learn's own methods, but faster.

scikit-learn's ``get_params`` inspects the signature in every call, and ``set_params`` and
``clone`` call it, which is noticeable for fits of a millisecond. The functions here inspect it
once for each class that inherits these methods from BaseEstimator. Methods that a class defines
itself are called as usual.
"""

from __future__ import annotations

from collections.abc import KeysView
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator, clone

from sklearn_halving._typing import Estimator, Params
from sklearn_halving._unstable_imports import has_common_names

_IMMUTABLE = (int, float, str, bool, type(None), np.generic)
_NAMES: WeakKeyDictionary[type, tuple[object, KeysView[str]]] = WeakKeyDictionary()
"""The constructor of each class, which may be replaced, and the names of its parameters."""


def own_params(step: Estimator) -> Params:
    """Return the same as ``step.get_params(deep=False)``."""
    if not _inherits(step, "get_params"):
        return step.get_params(deep=False)
    return {name: getattr(step, name) for name in _own_names(step)}


def all_params(estimator: Estimator) -> Params:
    """Return the same as ``estimator.get_params(deep=True)``."""
    if not _inherits(estimator, "get_params"):
        return estimator.get_params(deep=True)
    params = {name: getattr(estimator, name) for name in _own_names(estimator)}
    for name, value in list(params.items()):
        if hasattr(value, "get_params") and not isinstance(value, type):
            params.update({f"{name}__{key}": v for key, v in value.get_params().items()})
    return params


def set_params(estimator: Estimator, params: Params) -> None:
    """Do the same as ``estimator.set_params(**params)``."""
    if not params:
        return
    is_known = _inherits(estimator, "get_params", "set_params")
    if not is_known or not params.keys() <= _own_names(estimator):
        estimator.set_params(**params)
        return
    for name, value in params.items():
        setattr(estimator, name, value)


def cloned(estimator: Estimator) -> Estimator:
    """Return the same as ``clone(estimator)``."""
    is_known = _inherits(estimator, "get_params", "__sklearn_clone__")
    # Other attributes may be settings that a clone keeps, such as those of metadata routing.
    if not is_known or vars(estimator).keys() != _own_names(estimator):
        return clone(estimator)
    params = {name: cloned_value(getattr(estimator, name)) for name in _own_names(estimator)}
    copied = type(estimator)(**params)
    if any(getattr(copied, name) is not value for name, value in params.items()):
        clone(estimator)  # raises scikit-learn's own error
    return copied


def cloned_value(value: object) -> object:
    """Return the same as ``clone(value, safe=False)``."""
    return value if isinstance(value, _IMMUTABLE) else clone(value, safe=False)


def _inherits(estimator: Estimator, *methods: str) -> bool:
    """Return whether methods are those of scikit-learn's base class, and so are the names.

    Estimators with names of their own may have other parameters in every instance.
    """
    cls = type(estimator)
    for method in methods:
        if getattr(cls, method, None) is not getattr(BaseEstimator, method):
            return False
    return has_common_names(cls, BaseEstimator)


def _own_names(estimator: Estimator) -> KeysView[str]:
    """Return the names of the parameters of a class that inherits ``get_params``."""
    cls = type(estimator)
    constructor, names = _NAMES.get(cls, (None, {}.keys()))
    if constructor is not cls.__init__:
        names = dict.fromkeys(estimator.get_params(deep=False)).keys()
        _NAMES[cls] = cls.__init__, names
    return names
