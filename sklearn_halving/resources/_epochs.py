"""Epochs of ``partial_fit`` without what scikit-learn does again in every call of it.

The functions put something in the place of a private method of one estimator, for the time of
a call. Should scikit-learn rename the methods, both do nothing, and every epoch is a call as
any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sklearn_halving._unstable_imports import NETWORK_VALIDATION, SGD_EPOCHS


def epochs_at_once(estimator: Any, n_epochs: int, partial_fit: Callable[[], None]) -> int:
    """Run epochs of scikit-learn's SGD family in one call of ``partial_fit``.

    ``partial_fit`` hands ``max_iter=1`` to a private method that takes any number, and would
    stop before it where ``tol`` says so: that is None meanwhile. ``fit`` can run several
    epochs too, but begins the learning rate anew.

    Parameters
    ----------
    estimator : estimator
        What is trained.
    n_epochs : int
        How many epochs to run.
    partial_fit : callable
        Calls ``estimator.partial_fit`` once.

    Returns
    -------
    n_done : int
        The epochs that were run: ``n_epochs``, 1 if the call did not go as expected, and 0,
        without any call, for an estimator of another kind.
    """
    if not _is_defined_in("sklearn.linear_model", estimator, "partial_fit", SGD_EPOCHS):
        return 0
    one_epoch, tol = getattr(estimator, SGD_EPOCHS), estimator.tol
    n_done = 1

    def several_epochs(*args: Any, **kwargs: Any) -> Any:
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
def validated_once(estimator: Any) -> Iterator[None]:
    """Let scikit-learn's neural networks validate and encode the same data but once.

    For calls of ``partial_fit`` with equal data, which otherwise spend more time on that than
    on training.
    """
    if not _is_defined_in("sklearn.neural_network", estimator, "partial_fit", NETWORK_VALIDATION):
        yield
        return
    validate = getattr(estimator, NETWORK_VALIDATION)
    validated: list[Any] = []

    def validate_once(*args: Any, **kwargs: Any) -> Any:
        if not validated:
            validated.append(validate(*args, **kwargs))
        return validated[0]

    setattr(estimator, NETWORK_VALIDATION, validate_once)
    try:
        yield
    finally:
        delattr(estimator, NETWORK_VALIDATION)


def _is_defined_in(package: str, estimator: Any, *methods: str) -> bool:
    """Return whether the methods are those of the package, and none is a subclass's own."""
    found = [getattr(type(estimator), method, None) for method in methods]
    return all(getattr(method, "__module__", "").startswith(f"{package}.") for method in found)
