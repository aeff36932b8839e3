"""Warnings that point at the line of the user."""

from __future__ import annotations

import inspect
import os
import warnings
from pathlib import Path

import joblib
import sklearn

LIBRARIES = tuple(
    str(folder) + os.sep
    for folder in (
        Path(__file__).parents[1],
        Path(sklearn.__file__).parent,
        Path(joblib.__file__).parent,
    )
)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside of this library, scikit-learn and joblib.

    A fixed ``stacklevel`` would be wrong: there is a decorator of scikit-learn between `fit` and
    its caller, and a pipeline or a nested cross-validation adds more frames.
    """
    level = 1
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(LIBRARIES):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=max(1, level))
