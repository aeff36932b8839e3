"""Warnings that point at the line of the user."""

from __future__ import annotations

import contextlib
import inspect
import os
import warnings
from pathlib import Path

import joblib
import sklearn

from sklearn_halving._formatting import printable

NOT_OF_THE_USER = (
    *(str(Path(module.__file__).parent) + os.sep for module in (sklearn, joblib)),
    str(Path(__file__).parent) + os.sep,
    contextlib.__file__,  # a context manager that is a generator is entered there
)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside of this library, scikit-learn and joblib.

    A fixed ``stacklevel`` would be wrong: there is a decorator of scikit-learn between `fit` and
    its caller, and a pipeline or a nested cross-validation adds more frames.
    """
    level = 1
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(NOT_OF_THE_USER):
        frame = frame.f_back
        level += 1
    warnings.warn(printable(message), category, stacklevel=level)
