"""Resolve the name of a resource."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real

from sklearn_halving._checks import refuse_unless
from sklearn_halving._typing import Estimator
from sklearn_halving.resources._epochs_and_time import FitTime, PartialFit
from sklearn_halving.resources._fitting import listed, suggestion
from sklearn_halving.resources._of_parameter import Iterations, ParameterValue, is_iteration_name
from sklearn_halving.resources._training_size import TrainingSize
from sklearn_halving.resources._types import Resource

_BY_NAME = {"n_samples": TrainingSize, "partial_fit": PartialFit, "fit_time": FitTime}


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
    if isinstance(resource, Resource) and not isinstance(resource, type):
        _check_answers(resource)
        return resource
    known = estimator.get_params()
    if isinstance(resource, str):
        if resource in _BY_NAME:
            return _BY_NAME[resource]()
        iterations = Iterations(resource)
        # A candidate may replace the step. Only `check` knows the searched parameters.
        is_known = resource in known or resource.rpartition("__")[0] in known
        if iterations.can_continue(estimator) or (is_known and is_iteration_name(resource)):
            return iterations
        if is_known:
            return ParameterValue(resource).for_estimator(estimator)
    raise ValueError(
        "resource must be 'n_samples', 'partial_fit', 'fit_time', a parameter of "
        f"{type(estimator).__name__}, or a Resource object; got {resource!r}."
        f"{suggestion(str(resource), [*_BY_NAME, *known])} Parameters are {listed(known)}."
    )


def _check_answers(resource: Resource) -> None:
    """Raise before any fit if a resource of the user returns what cannot be used."""
    amount = resource.to_amount(1)
    is_number, owner = isinstance(amount, Real) and math.isfinite(amount), type(resource).__name__
    refuse_unless(is_number, f"to_amount(1) of {owner}", "be a finite number", repr(amount))
    for name, answer, kind in (
        ("name", resource.name, str),
        ("to_level", resource.to_level(amount), Integral),
        ("params_at(1)", resource.params_at(1), Mapping),
        ("for_target(None)", resource.for_target(None), Resource),
    ):
        rule = f"be of type {kind.__name__}"
        refuse_unless(isinstance(answer, kind), f"{name} of {owner}", rule, repr(answer))


def units_of(resource: object) -> str:
    """Return what a resource, or one with this name, counts: its ``units``, or else its name."""
    known = _BY_NAME.get(resource, resource) if isinstance(resource, str) else resource
    return str(getattr(known, "units", getattr(known, "name", resource)))
