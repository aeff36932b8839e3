"""Repetition -> train and test rows. Every arm's pull on repetition j uses the same split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sklearn_halving.resources._training_size import training_rows

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Fold:
    """One split.

    Parameters
    ----------
    train, test : ndarray of int
        Row numbers, in the splitter's order.
    order : ndarray of int or None
        Places in ``train`` by priority: a training subset of n rows is the first n. None
        where the resource is not the number of rows.
    full_level : int or None
        The level that stands for all rows: the size of the smallest training fold, where
        folds differ by a row.
    """

    train: Rows
    test: Rows
    order: Rows | None = None
    full_level: int | None = None

    def train_rows(self, level: int) -> Rows:
        """Return the training rows at a level; all of them if rows are not the resource."""
        if self.order is None or (self.full_level is not None and level >= self.full_level):
            return self.train
        rows: Rows = training_rows(self.train, self.order, level)
        return rows


class Splits(Protocol):
    """Train and test rows for each repetition."""

    def fold(self, repetition: int) -> Fold:
        """Return the split of a repetition; the same one at every call."""


@dataclass(frozen=True)
class FixedSplits:
    """A finite number of splits, those that a scikit-learn splitter gave."""

    folds: tuple[Fold, ...]

    def fold(self, repetition: int) -> Fold:
        """Return the split of a repetition."""
        return self.folds[repetition]

    def __len__(self) -> int:
        return len(self.folds)


def row_numbers(selection: Any) -> Rows:
    """Return what a splitter yielded, row numbers or a boolean mask, as row numbers."""
    rows = np.asarray(selection)
    if rows.dtype == bool:
        return np.flatnonzero(rows)
    return rows.astype(np.intp, copy=False)
