"""Faster epochs of ``partial_fit`` for scikit-learn's own estimators.

The functions temporarily replace a private method of one estimator. If scikit-learn renames the
methods, both functions do nothing, and every epoch is an ordinary call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sklearn_halving._typing import Estimator
from sklearn_halving._unstable_imports import NETWORK_VALIDATION, SGD_EPOCHS


def epochs_at_once(estimator: Any, n_epochs: int, partial_fit: Callable[[], None]) -> int:
    """Run epochs of scikit-learn's SGD family in one call of ``partial_fit``.

    ``partial_fit`` passes ``max_iter=1`` to a private method that accepts any number. ``tol`` is
    None in the meantime, so that the call does not stop early. ``fit`` could run several epochs
    too, but would restart the learning rate schedule.

    Parameters
    ----------
    estimator : estimator
        The estimator to train.
    n_epochs : int
        Number of epochs to run.
    partial_fit : callable
        Calls ``estimator.partial_fit`` once.

    Returns
    -------
    n_done : int
        Number of epochs that were run: ``n_epochs``; 1 if the private method was not called as
        expected; 0, without any call, for other estimators.
    """
    if not _is_defined_in("sklearn.linear_model", estimator, "partial_fit", SGD_EPOCHS):
        return 0
    one_epoch, tol = getattr(estimator, SGD_EPOCHS), estimator.tol
    n_done = 1

    def several_epochs(*args: object, **kwargs: object) -> object:
        nonlocal n_done
        if kwargs.get("max_iter") == 1:
            kwargs["max_iter"] = n_done = n_epochs
        return one_epoch(*args, **kwargs)

    setattr(estimator, SGD_EPOCHS, several_epochs)
    estimator.tol = None
    try:
        partial_fit()
    finally:
        delattr(estimator, SGD_EPOCHS)
        estimator.tol = tol
    return n_done


@contextmanager
def validated_once(estimator: Estimator) -> Iterator[None]:
    """Let scikit-learn's neural networks validate and encode the same data only once.

    Repeated calls of ``partial_fit`` with the same data otherwise spend more time on validation
    than on training.
    """
    if not _is_defined_in("sklearn.neural_network", estimator, "partial_fit", NETWORK_VALIDATION):
        yield
        return
    validate = getattr(estimator, NETWORK_VALIDATION)
    validated: list[object] = []

    def validate_once(*args: object, **kwargs: object) -> object:
        if not validated:
            validated.append(validate(*args, **kwargs))
        return validated[0]

    setattr(estimator, NETWORK_VALIDATION, validate_once)
    try:
        yield
    finally:
        delattr(estimator, NETWORK_VALIDATION)


def _is_defined_in(package: str, estimator: Estimator, *methods: str) -> bool:
    """Return whether all methods are the package's own, none overridden in a subclass."""
    found = [getattr(type(estimator), method, None) for method in methods]
    return all(getattr(method, "__module__", "").startswith(f"{package}.") for method in found)
