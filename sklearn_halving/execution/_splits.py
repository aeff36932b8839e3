"""Repetition -> train and test rows. Every arm's pull on repetition j uses the same split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sklearn_halving.resources._training_size import rows_needed, subset_order, training_rows

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
        The level that stands for all rows: the size of the smallest training fold. A larger
        fold has more rows at every level, so that a level is the same share of each fold.
        None: a level is a number of rows.
    """

    train: Rows
    test: Rows
    order: Rows | None = None
    full_level: int | None = None

    def train_rows(self, level: int) -> Rows:
        """Return the training rows at a level; all of them if rows are not the resource."""
        if self.order is None:
            return self.train
        n_rows = level
        if self.full_level is not None:
            # Rounded down: of folds that differ by a row or two each has exactly `level` rows,
            # up to the full level. And no fewer: a later split of a stream may be smaller.
            share = min(level, self.full_level) * len(self.train) // self.full_level
            n_rows = max(level, share)
        return training_rows(self.train, self.order, n_rows)


class Splits(Protocol):
    """Train and test rows for each repetition."""

    def fold(self, repetition: int) -> Fold:
        """Return the split of a repetition; the same one at every call."""


@dataclass(frozen=True)
class SubsetOrders:
    """Ranks the rows of each training fold, for nested subsets of it.

    Parameters
    ----------
    target : ndarray of int or None
        The class of each row of the data, if subsets are to hold all classes.
    groups : ndarray or None
        Group labels of all rows, if groups are to stay together.
    goes_forward : bool
        Whether rows are in order of time.
    min_per_class : int
        Rows that a subset needs of each class.
    seed : numpy.random.SeedSequence
        Where the orders come from.
    """

    target: Rows | None
    groups: npt.NDArray[Any] | None
    goes_forward: bool
    min_per_class: int
    seed: np.random.SeedSequence

    def order(self, repetition: int, train: Rows) -> Rows:
        """Return places in ``train`` by priority; the same ones at every call."""
        spawn_key = (*self.seed.spawn_key, repetition)
        rng = np.random.default_rng(np.random.SeedSequence(self.seed.entropy, spawn_key=spawn_key))
        return subset_order(
            None if self.target is None else self.target[train],
            None if self.groups is None else self.groups[train],
            rng,
            stratify=self.target is not None,
            keep_order=self.goes_forward,
            min_per_class=self.min_per_class,
            n_rows=len(train),
        )

    def n_needed(self, order: Rows, train: Rows) -> int:
        """Return how many rows of the order hold enough of every class."""
        if self.target is None:
            return 1
        return rows_needed(order, self.target[train], self.min_per_class)


@dataclass(frozen=True)
class FixedSplits:
    """A finite number of splits, those that a scikit-learn splitter gave."""

    folds: tuple[Fold, ...]

    def fold(self, repetition: int) -> Fold:
        """Return the split of a repetition."""
        return self.folds[repetition]

    def __len__(self) -> int:
        return len(self.folds)


class Stream(Protocol):
    """Makes the split of any repetition, the same one at every call and in every process."""

    def split(self, repetition: int) -> tuple[Rows, Rows]:
        """Return train and test rows."""


@dataclass(frozen=True)
class StreamedSplits:
    """Splits without end: workers make those that they need.

    Parameters
    ----------
    stream : Stream
        Makes them.
    orders : SubsetOrders or None, default=None
        Makes nested subsets, where the resource is the number of rows.
    full_level : int or None, default=None
        As for `Fold`.
    """

    stream: Stream
    orders: SubsetOrders | None = None
    full_level: int | None = None

    def fold(self, repetition: int) -> Fold:
        """Return the split of a repetition."""
        train, test = self.stream.split(repetition)
        if self.orders is None:
            return Fold(train, test)
        return Fold(train, test, self.orders.order(repetition, train), self.full_level)


def row_numbers(selection: Any) -> Rows:
    """Return what a splitter yielded, row numbers or a boolean mask, as row numbers."""
    rows = np.asarray(selection)
    if rows.dtype == bool:
        return np.flatnonzero(rows)
    return rows.astype(np.intp, copy=False)
