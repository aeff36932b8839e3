"""Epochs of ``partial_fit`` without what scikit-learn does again in every call of it.

The functions put something in the place of a private method of one estimator, for the time of
a call: ``_partial_fit`` of the SGD family and ``_validate_input`` of the neural networks.
Should scikit-learn rename them, both do nothing, and every epoch is a call as any other. They
can go when ``partial_fit`` takes a number of epochs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


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
    if not _is_defined_in("sklearn.linear_model", estimator, "partial_fit", "_partial_fit"):
        return 0
    one_epoch, tol = estimator._partial_fit, estimator.tol
    n_done = 1

    def several_epochs(*args: Any, **kwargs: Any) -> Any:
        nonlocal n_done
        if kwargs.get("max_iter") == 1:
            kwargs["max_iter"] = n_done = n_epochs
        return one_epoch(*args, **kwargs)

    estimator._partial_fit, estimator.tol = several_epochs, None
    try:
        partial_fit()
    finally:
        del estimator._partial_fit
        estimator.tol = tol
    return n_done


@contextmanager
def validated_once(estimator: Any) -> Iterator[None]:
    """Let scikit-learn's neural networks validate and encode the same data but once.

    For calls of ``partial_fit`` with equal data, which otherwise spend more time on that than
    on training.
    """
    if not _is_defined_in("sklearn.neural_network", estimator, "partial_fit", "_validate_input"):
        yield
        return
    validate = estimator._validate_input
    validated: list[Any] = []

    def validate_once(*args: Any, **kwargs: Any) -> Any:
        if not validated:
            validated.append(validate(*args, **kwargs))
        return validated[0]

    estimator._validate_input = validate_once
    try:
        yield
    finally:
        del estimator._validate_input


def _is_defined_in(package: str, estimator: Any, *methods: str) -> bool:
    """Return whether the methods are those of the package, and none is a subclass's own."""
    found = [getattr(type(estimator), method, None) for method in methods]
    return all(getattr(method, "__module__", "").startswith(f"{package}.") for method in found)
