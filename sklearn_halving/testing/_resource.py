"""A resource trains an estimator from level to level."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from sklearn_halving._typing import Estimator
from sklearn_halving.resources import Resource, resolve_resource
from sklearn_halving.testing._require import require

Y = np.arange(120) % 2
X = np.random.default_rng(0).normal(size=(120, 6)) + Y[:, np.newaxis]
X.flags.writeable = Y.flags.writeable = False  # training must not change the data


def check_resource(resource: Resource, estimator: Estimator, *, exact: bool = True) -> None:
    """Train an estimator from level to level, and check what a resource promises.

    It finds, among others, amounts that do not lead back to their levels, changed parameters, and
    training in steps that does not lead to the model of a single fit.

    Parameters
    ----------
    resource : Resource
        The resource.
    estimator : estimator object
        An estimator that suits it, with a fixed ``random_state``. It is trained on 120 rows of six
        numbers and the classes 0 and 1.
    exact : bool, default=True
        Whether training can be repeated. False for levels that depend on the clock.

    Raises
    ------
    AssertionError
        If the resource breaks a rule.
    ValueError
        If the resource does not suit the estimator, or an answer has the wrong type.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn_halving.resources import Iterations
    >>> from sklearn_halving.testing import check_resource
    >>> check_resource(Iterations("n_estimators"), RandomForestClassifier(9, random_state=0))
    """
    is_resource = not isinstance(resource, type) and isinstance(resource, Resource)
    require(is_resource, resource, "must be an object with the members of Resource.")
    before = str(estimator.get_params())
    resource.check(estimator, frozenset())
    low, high = resource.level_range(estimator, len(Y), 4)
    climbs = resource.can_continue(estimator)
    require(str(estimator.get_params()) == before, resource, "changes the estimator.")
    is_range = {type(low), type(high)} == {int} and 1 <= low <= (high or low)
    rule = "Return whole numbers from 1; high is 0 if the user must set it."
    require(is_range, resource, f"has the level range {low!r}, {high!r}. {rule}")
    high = high or 9 * low
    levels = sorted({low, round((low * high) ** 0.5), high})
    amounts = [resource.to_amount(level) for level in levels]
    grows = all(low < high for low, high in pairwise([0, *amounts]))
    is_inverse = grows and [resource.to_level(amount) for amount in amounts] == levels
    otherwise = f"has the amounts {amounts} for the levels {levels}. Let amounts grow with levels,"
    require(is_inverse, resource, f"{otherwise} and to_level lead back to them.")
    resolve_resource(resource, estimator)  # as a search does before its first fit
    first = _trained(resource, estimator, [high])
    again = _trained(resource, estimator, levels if climbs else [high])
    otherwise = f"trains another model through the levels {levels} than at once. Train only what "
    otherwise += "is missing, or let can_continue be False; use exact=False if it takes a clock."
    is_same = not exact or np.allclose(first, again, atol=1e-3)
    require(is_same, resource, otherwise)


def _trained(resource: Resource, estimator: Estimator, levels: list[int]) -> Any:
    """Return the outputs of a model that is trained to one level after the other."""
    model, previous = clone(estimator), 0
    for level in levels:
        rows = slice(level if resource.subsamples_rows else None)
        model = resource.train(model, X[rows], Y[rows], level, previous, {})
        expected = clone(estimator).set_params(**resource.params_at(level))
        is_as_said = previous > 0 or str(clone(model).get_params()) == str(expected.get_params())
        otherwise = f"changes parameters of the estimator that params_at({level}) does not have."
        require(is_as_said, resource, otherwise)
        previous = level
    output = getattr(model, "predict_proba", getattr(model, "decision_function", model.predict))
    return np.asarray(output(X))
