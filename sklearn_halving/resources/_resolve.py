"""Resolve the name of a resource."""

from __future__ import annotations

from collections.abc import Callable

from sklearn_halving._typing import Estimator
from sklearn_halving.resources._continuation import is_iteration_name
from sklearn_halving.resources._fit_time import FitTime
from sklearn_halving.resources._iterations import Iterations
from sklearn_halving.resources._parameter_value import ParameterValue
from sklearn_halving.resources._parameters import suggestion
from sklearn_halving.resources._partial_fit import PartialFit
from sklearn_halving.resources._training_size import TrainingSize
from sklearn_halving.resources._types import Resource

_BY_NAME: dict[str, Callable[[], Resource]] = {
    "n_samples": TrainingSize,
    "partial_fit": PartialFit,
    "fit_time": FitTime,
}


def resolve_resource(resource: object, estimator: Estimator) -> Resource:
    """Return the resource for a name.

    Parameters
    ----------
    resource : str or Resource
        ``"n_samples"``, ``"partial_fit"``, ``"fit_time"``, the name of an estimator parameter,
        or a resource object, which is returned as it is (with a unit if it needs one).
    estimator : estimator
        The estimator that the resource is for.

    Returns
    -------
    resource : Resource
        For an estimator parameter, `Iterations` if training can continue with it or if its name
        is that of a number of iterations; otherwise `ParameterValue`.

    Examples
    --------
    >>> from sklearn.ensemble import BaggingClassifier
    >>> from sklearn_halving.resources import resolve_resource
    >>> resolve_resource("n_estimators", BaggingClassifier())
    Iterations(parameter='n_estimators', continuation='auto', rescale=None)
    >>> resolve_resource("max_samples", BaggingClassifier(max_samples=0.5))
    ParameterValue(parameter='max_samples', unit=0.001, rescale=None)
    """
    if isinstance(resource, ParameterValue):
        return resource.for_estimator(estimator)
    if isinstance(resource, str):
        if resource in _BY_NAME:
            return _BY_NAME[resource]()
        iterations = Iterations(resource)
        if is_iteration_name(resource) or iterations.can_continue(estimator):
            if _may_exist(resource, estimator, iterations):
                return iterations
        elif _may_exist(resource, estimator, iterations):
            return ParameterValue(resource).for_estimator(estimator)
    elif isinstance(resource, Resource) and not isinstance(resource, type):
        return resource
    known = [*_BY_NAME, *estimator.get_params()]
    close = suggestion(resource, known) if isinstance(resource, str) else ""
    raise ValueError(
        "resource must be 'n_samples', 'partial_fit', 'fit_time', a parameter of "
        f"{type(estimator).__name__}, or a Resource object; got {resource!r}.{close} Parameters "
        f"are {sorted(estimator.get_params())}."
    )


def _may_exist(parameter: str, estimator: Estimator, iterations: Iterations) -> bool:
    """Return whether the estimator has the parameter, or a candidate may have it."""
    params = estimator.get_params()
    # A candidate may replace the step. Only `check` knows the searched parameters.
    return (
        parameter in params
        or parameter.rpartition("__")[0] in params
        or iterations.can_continue(estimator)
    )
