"""Types of what users pass in: scikit-learn and SciPy have none of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

Params = dict[str, Any]
"""Names and values of the parameters of a candidate, or of a method."""
CvResults = dict[str, Any]
"""The columns of ``cv_results_``: arrays, but for ``params``, which is a list of `Params`."""
ParamDistributions = Mapping[str, Any] | Sequence[Mapping[str, Any]] | str
"""A search space: parameter names to lists of values or distributions, or several of those."""
RandomState = int | np.random.RandomState
FilePath = str | PathLike[str]


@runtime_checkable
class Parameterized(Protocol):
    """An object with parameters: an estimator, or a part of one such as a kernel."""

    def get_params(self, deep: bool = True) -> Params:
        """Return the parameters, with parameters of parts as ``part__name`` if ``deep``."""


class Estimator(Parameterized, Protocol):
    """What a search needs of an estimator, whatever data it is fitted on."""

    @property
    def fit(self) -> Callable[..., Any]:
        """Fit to the given data."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters."""


class CallbackContext(Protocol):
    """A task of scikit-learn's callbacks (1.9 or later)."""

    def subcontext(self, **options: object) -> CallbackContext:
        """Return the context of a part of this task."""

    def call_on_fit_task_begin(self, *, estimator: object, **data: object) -> object:
        """Inform the callbacks that the task begins."""

    def call_on_fit_task_end(self, *, estimator: object, **data: object) -> bool:
        """Inform the callbacks that the task has ended; return whether one requests a stop."""


class Splitter(Protocol):
    """A cross-validation splitter."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any]:
        """Generate pairs of training and test rows."""

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits."""


Scorer = Callable[..., Any]
"""Called with a fitted estimator, X and y; returns a score, or a dict of scores."""
Scoring = str | Scorer | Iterable[str] | Mapping[str, str | Scorer]
Refit = bool | str | Callable[[dict[str, Any]], int]
CrossValidation = int | Splitter | Iterable[Any]
