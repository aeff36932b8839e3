"""A cache of fitted pipeline steps: steps that do not differ are fitted once for a split.

It is the ``memory`` of a pipeline during a fit, so that the pipeline itself decides when a step
is fitted. Unlike ``joblib.Memory``, it stays in memory, and neither hashes nor writes the data.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from inspect import isfunction, signature
from threading import Lock
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from sklearn_halving._content_hash import content_hash
from sklearn_halving._typing import Estimator

MAX_BYTES = 2**27
"""Maximum size of the cache in each process."""

Key = tuple[Any, ...]
_PLAIN = (int, float, complex, str, bytes, type(None), np.generic, np.ufunc, slice, range)


Output = Any
"""The output of a step that is cached: an array, or a matrix in the format CSR or CSC."""
FitTransform = Callable[..., tuple[Output, Estimator]]
"""Fits a step; returns its output and the fitted step."""


class StepCache:
    """Fitted steps and their outputs; the least recently used ones are dropped first.

    Each process has its own cache: a pickled cache arrives empty.

    Parameters
    ----------
    max_bytes : int
        Maximum size of the cache.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self._entries: OrderedDict[Key, tuple[Output, Estimator, int]] = OrderedDict()
        self._n_bytes = 0
        self._lock = Lock()

    def __reduce__(self) -> tuple[object, ...]:
        return StepCache, (self.max_bytes,)

    @contextmanager
    def memory_of(self, estimator: Any, rows: Key, X: object) -> Iterator[None]:
        """Cache the steps of a pipeline while it is fitted on ``X``, the rows with this key.

        Other estimators, and pipelines with a memory of their own or with ``verbose``, are
        fitted as usual.
        """
        if type(estimator) is not Pipeline or estimator.memory is not None or estimator.verbose:
            yield
            return
        estimator.memory = _Memory(self, rows, X)  # of our own clone; set_params costs .3 ms
        try:
            yield
        finally:
            estimator.memory = None

    def get(self, key: Key) -> tuple[Output, Estimator] | None:
        """Return the output of a step and the fitted step, if they are in the cache."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            output, step, _ = self._entries[key]
        return _copied(output), step  # a later step may change its input in place

    def put(self, key: Key, output: Output, step: Estimator) -> None:
        """Add the output of a step and the fitted step, if they are of a kind that is cached."""
        try:
            size = _bytes_of(output)
            size += len(pickle.dumps(step)) if size <= self.max_bytes else 0
            if size > self.max_bytes:
                return
            output = _copied(output)
        except Exception:  # noqa: BLE001 - such a step is fitted as usual
            return
        with self._lock:
            if key not in self._entries:
                self._entries[key] = (output, step, size)
                self._n_bytes += size
            while self._n_bytes > self.max_bytes:
                self._n_bytes -= self._entries.popitem(last=False)[1][2]


class _Memory:
    """The memory of a pipeline during one fit."""

    def __init__(self, steps: StepCache, rows: Key, X: object) -> None:
        self._steps = steps
        self._rows = rows
        self._X = X
        self._key: Key | None = rows

    def cache(self, function: Callable[..., Any], **_: object) -> Callable[..., Any]:
        """Return the function that fits a step, with a cache. Called once for each fit."""
        self._key = self._rows
        return partial(self._fit_transform, function)

    def _fit_transform(
        self, function: FitTransform, step: Estimator, X: object, y: object, **options: Any
    ) -> tuple[Output, Estimator]:
        # The input of a step is the output of all steps before it. That of the first one tells
        # whether it is the pipeline itself, and not a clone on other rows.
        if self._key == self._rows and X is not self._X:
            self._key = None
        params: dict[str, object] = options.get("params") or {}  # for the ``fit`` of the step
        has_params = options.get("weight") is not None or any(params.values())
        digest = None if has_params else _digest(step)
        self._key = None if self._key is None or digest is None else (*self._key, digest)
        if self._key is None:
            return function(step, X, y, **options)
        found = self._steps.get(self._key)
        if found is None:
            found = function(step, X, y, **options)
            self._steps.put(self._key, *found)
        return found


def _digest(step: Estimator) -> str | None:
    """Return the identity of a step that certainly gives the same output; None for any other."""
    with suppress(Exception):  # a step that cannot be examined is fitted as usual
        return content_hash(step) if _is_deterministic(step) else None
    return None


def _is_deterministic(value: Any) -> bool:
    """Return whether a step, or a value of its parameters, certainly gives the same output.

    Only classes and functions of scikit-learn are known to, if their random states are set.
    """
    if isinstance(value, _PLAIN):
        return True
    if isinstance(value, list | tuple | set | frozenset | dict):
        parts = value.values() if isinstance(value, dict) else value
        return all(map(_is_deterministic, parts))
    if isinstance(value, np.ndarray):
        return not value.dtype.hasobject
    if isinstance(value, type):
        return value.__module__ in ("builtins", "numpy")
    known_as = value if isfunction(value) else type(value)
    if not known_as.__module__.startswith("sklearn."):
        return False
    if isfunction(value):  # mutual_info_classif, for example, draws random numbers
        return "random_state" not in signature(value).parameters
    has_params = hasattr(value, "get_params")
    params = value.get_params(deep=False) if has_params else getattr(value, "__dict__", {})
    is_seeded = params.get("random_state", 0) is not None
    keeps_input = params.get("copy", True) is not False
    return is_seeded and keeps_input and _is_deterministic(params)


def _bytes_of(output: Output) -> int:
    """Return the size of an output; raise a TypeError if outputs of this kind are not cached."""
    if isinstance(output, np.ndarray):
        # A subclass may keep more than its values.
        is_plain = type(output) is np.ndarray and not output.dtype.hasobject
        if not is_plain or not (output.flags.c_contiguous or output.flags.f_contiguous):
            raise TypeError("a copy may differ in its layout, and results in the last digits")
        return output.nbytes
    return int(output.data.nbytes + output.indices.nbytes + output.indptr.nbytes)  # CSR or CSC


def _copied(output: Output) -> Output:
    """Return a copy with the same layout, so that results are the same to the last bit."""
    return output.copy(order="K") if isinstance(output, np.ndarray) else output.copy()
