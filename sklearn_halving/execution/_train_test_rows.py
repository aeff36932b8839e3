"""Train and test rows of each repetition. They are the same for all arms and in all workers.

The public cross-validators are in `sklearn_halving.splits`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sklearn_halving.resources._training_size import (
    class_codes,
    rows_needed,
    subset_order,
    training_rows,
)

Rows = npt.NDArray[np.intp]

HELD_OUT_FRACTION = 0.1
"""The default of ``validation_fraction`` in scikit-learn."""


@dataclass(frozen=True)
class Fold:
    """The rows of one split.

    Arrays may have 32-bit integers, which take half the memory. Methods return numbers of NumPy's
    index type.
    """

    train: Rows
    test: Rows
    """Row numbers, in the splitter's order."""
    order: Rows | None = None
    """Positions in ``train`` by priority: a training subset of n rows consists of the first n.
    None if the resource is not the number of rows."""
    full_level: int | None = None
    """The level at which all rows are used: the size of the smallest training fold. Larger folds
    use more rows at every level, so that a level is the same fraction of each fold. If None, a
    level is a number of rows."""

    def train_rows(self, level: int) -> Rows:
        """Return the training rows at a level; all rows if they are not the resource."""
        if self.order is None:
            return self.train.astype(np.intp, copy=False)
        n_rows = level
        if self.full_level is not None:
            # Because of rounding down, folds whose sizes differ by a row or two have the same
            # number of rows below the full level. `max` is needed because a later split of a
            # stream may be smaller.
            share = min(level, self.full_level) * len(self.train) // self.full_level
            n_rows = max(level, share)
        return training_rows(self.train, self.order, n_rows).astype(np.intp, copy=False)

    def test_rows(self) -> Rows:
        """Return the test rows."""
        return self.test.astype(np.intp, copy=False)

    def widened(self) -> Fold:
        """Return the fold with arrays of NumPy's index type."""
        order = None if self.order is None else self.order.astype(np.intp)
        return Fold(self.train.astype(np.intp), self.test_rows(), order, self.full_level)


class Folds(Protocol):
    """The folds of all repetitions."""

    def fold(self, repetition: int) -> Fold:
        """Return the fold of a repetition; the result is the same at every call."""

    def number(self, repetition: int) -> int:
        """Return the number that the split of a repetition has in the results."""


@dataclass(frozen=True)
class SubsetOrders:
    """Ranks the rows of each training fold, so that training subsets are nested."""

    target: Rows | None
    """The class of each row of the data, if every subset must contain all classes."""
    groups: np.ndarray | None
    """Group labels of all rows, if groups must stay together."""
    goes_forward: bool
    """Whether the rows are ordered by time."""
    min_per_class: int
    """Number of rows of each class in the smallest subset."""
    seed: np.random.SeedSequence
    """Seeds the orders."""

    def order(self, repetition: int, train: Rows) -> Rows:
        """Return positions in ``train`` by priority; the result is the same at every call."""
        spawn_key = (*self.seed.spawn_key, repetition)
        rng = np.random.default_rng(np.random.SeedSequence(self.seed.entropy, spawn_key=spawn_key))
        return subset_order(
            len(train),
            rng,
            y=None if self.target is None else self.target[train],
            groups=None if self.groups is None else self.groups[train],
            keep_order=self.goes_forward,
            min_per_class=self.min_per_class,
        )

    def n_needed(self, order: Rows, train: Rows) -> int:
        """Return the size of the smallest subset that contains enough rows of every class."""
        if self.target is None:
            return 1
        return rows_needed(order, self.target[train], self.min_per_class)


@dataclass(frozen=True)
class HeldOutRows:
    """Holds out a tenth of the training rows for the early stopping of boosters.

    The rows are stratified by class, or whole groups, or the most recent rows if the splitter
    goes forward in time. They are the same for all arms.
    """

    orders: SubsetOrders
    """Ranks the rows; the first ones are held out."""

    def cut(self, repetition: int, rows: Rows) -> tuple[Rows, Rows]:
        """Return the rows to train on, and those that are held out."""
        order = self.orders.order(repetition, rows)
        n_held_out = max(1, round(HELD_OUT_FRACTION * len(rows)))
        target = None if self.orders.target is None else self.orders.target[rows]
        is_held_out = np.zeros(len(rows), dtype=bool)
        if self.orders.groups is None:
            is_held_out[order[:n_held_out]] = True
        else:
            groups = class_codes(self.orders.groups[rows])
            for group in dict.fromkeys(groups[order].tolist()):
                wanted = is_held_out | (groups == group)
                if is_held_out.sum() < n_held_out and _is_enough(target, ~wanted):
                    is_held_out = wanted
        if target is not None:  # a booster cannot evaluate a class that it does not know
            is_held_out &= np.isin(target, target[~is_held_out])
        return rows[~is_held_out], rows[is_held_out]


def _is_enough(target: Rows | None, kept: npt.NDArray[np.bool_]) -> bool:
    """Return whether rows are left to train on, with all classes."""
    n_classes = 1 if target is None else len(np.unique(target))
    return bool(kept.any()) and (target is None or len(np.unique(target[kept])) == n_classes)


@dataclass(frozen=True)
class ListedFolds:
    """A fixed number of folds, and the number that each has in a scikit-learn splitter."""

    folds: tuple[Fold, ...]
    numbers: tuple[int, ...]

    def fold(self, repetition: int) -> Fold:
        """Return the fold of a repetition."""
        return self.folds[repetition]

    def number(self, repetition: int) -> int:
        """Return the number of the split in the splitter."""
        return self.numbers[repetition]

    def __len__(self) -> int:
        return len(self.folds)


class Stream(Protocol):
    """An unlimited number of splits, which are the same at every call and in every process."""

    def split(self, repetition: int) -> tuple[Rows, Rows]:
        """Return train and test rows."""


@dataclass(frozen=True)
class StreamedFolds:
    """An unlimited number of folds. Each worker computes the folds that it needs."""

    stream: Stream
    """The splits."""
    orders: SubsetOrders | None = None
    """The orders of the nested subsets, if the resource is the number of rows."""
    full_level: int | None = None
    """As for `Fold`."""

    def fold(self, repetition: int) -> Fold:
        """Return the fold of a repetition."""
        train, test = self.stream.split(repetition)
        order = None if self.orders is None else self.orders.order(repetition, train)
        return Fold(train, test, order, self.full_level)

    def number(self, repetition: int) -> int:
        """Return the repetition, which is the number of its split."""
        return repetition
