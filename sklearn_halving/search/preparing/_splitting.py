"""The splits of a search: those of a splitter, or an unlimited stream of splits."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import type_of_target

from sklearn_halving._unstable_imports import BaseSearchCV, num_samples
from sklearn_halving.execution._train_test_rows import (
    Fold,
    Folds,
    HeldOutRows,
    ListedFolds,
    Rows,
    StreamedFolds,
    SubsetOrders,
)
from sklearn_halving.resources import Resource
from sklearn_halving.resources._continuation import BOOSTING_NAMES
from sklearn_halving.resources._training_size import class_codes
from sklearn_halving.search.preparing._early_rungs import EarlyRungs
from sklearn_halving.search.preparing._inputs import FitInputs
from sklearn_halving.splits import SplitStream, split_stream
from sklearn_halving.splits._split_stream import Reshuffles, check_groups, listed_splits
from sklearn_halving.splits._stream import narrow

HELD_OUT = 2**31 - 3
"""Used in the seed of the rows that are held out for early stopping."""
MIN_PER_CLASS = 2
"""Minimum number of rows of each class in the smallest training subset."""
N_LOOKED_AT = 10
"""Number of splits of a stream that are checked before the first fit."""


@dataclass(frozen=True)
class SearchSplits:
    """The splits of a search, and what is known about them before the first fit."""

    folds: Folds
    """The rows of each repetition."""
    n_repetitions: int | None
    """Number of splits; None if it is unlimited."""
    n_train: int
    n_test: int
    n_rows: int
    """Number of rows of the smallest training fold, of the smallest test fold, and of the data."""
    n_rows_needed: int = 1
    """Number of rows that a subset needs to contain every class."""
    early: EarlyRungs = field(default_factory=EarlyRungs)
    """What the early rungs need."""
    n_named: int = 5
    """Number of splits that ``cv`` stands for, such as 5 for ``cv=5``."""
    held_out: HeldOutRows | None = None
    """Holds out training rows for the early stopping of boosters."""


class Pairs(Protocol):
    """Train and test rows of splits."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[Rows, Rows]]: ...


@dataclass(frozen=True)
class _FirstSplits:
    """The first splits of a stream. They are requested when they are used, and not kept."""

    stream: SplitStream
    n_splits: int

    def __len__(self) -> int:
        return self.n_splits

    def __iter__(self) -> Iterator[tuple[Rows, Rows]]:
        return map(self.stream.split, range(self.n_splits))


def fixed_splits(
    search: BaseSearchCV, inputs: FitInputs, resource: Resource, seed: np.random.SeedSequence
) -> SearchSplits:
    """Return the splits of the splitter, as in GridSearchCV."""
    _check_rows(inputs)
    pairs = _ask_splitter(search, inputs)
    orders = _subset_orders(search, inputs, pairs, seed) if resource.subsamples_rows else None
    n_train, n_test = _smallest(pairs)
    folds = tuple(
        Fold(train, test)
        if orders is None
        else Fold(train, test, narrow(orders.order(repetition, train)), n_train)
        for repetition, (train, test) in enumerate(pairs)
    )
    return SearchSplits(
        ListedFolds(folds),
        len(pairs),
        n_train,
        n_test,
        num_samples(inputs.X),
        1 if orders is None else _needed(orders, folds),
        _early_rungs(search, inputs, pairs),
        held_out=_held_out(search, inputs, pairs, seed),
    )


def streamed_splits(
    search: BaseSearchCV, inputs: FitInputs, resource: Resource, seed: np.random.SeedSequence
) -> SearchSplits:
    """Return the splits as a stream, which is unlimited if the splitter can be reshuffled."""
    _check_rows(inputs)
    stream = split_stream(
        search.cv,
        inputs.X,
        inputs.y,
        classifier=is_classifier(search.estimator),
        random_state=seed,
        **inputs.split_params,
    )
    n_known = stream.n_repetitions
    pairs = _FirstSplits(stream, N_LOOKED_AT if n_known is None else n_known)
    _check_sides(pairs)
    n_named = SearchSplits.n_named if n_known is None else n_known
    if isinstance(stream.make_block, Reshuffles):
        n_named = max(1, stream.make_block.n_own) * stream.block_length
    orders = _subset_orders(search, inputs, pairs, seed) if resource.subsamples_rows else None
    n_train, n_test = _smallest(pairs)
    folds = StreamedFolds(stream, orders, None if orders is None else n_train)
    return SearchSplits(
        folds,
        n_known,
        n_train,
        n_test,
        num_samples(inputs.X),
        1 if orders is None else _needed(orders, map(folds.fold, range(len(pairs)))),
        n_named=n_named,
        held_out=_held_out(search, inputs, pairs, seed),
    )


def _early_rungs(search: BaseSearchCV, inputs: FitInputs, pairs: Pairs) -> EarlyRungs:
    is_special = inputs.split_params.get("groups") is not None or _goes_forward(pairs)
    try:
        classes = _class_target(search, inputs)
    except ValueError:  # scikit-learn does not know this type of target, but the estimator may
        is_special, classes = True, None
    tests = [test for _, test in pairs]
    return EarlyRungs.of(inputs.X, inputs.y, classes, tests, is_special=is_special)


def _smallest(pairs: Pairs) -> tuple[int, int]:
    sizes = [(len(train), len(test)) for train, test in pairs]
    return min(n_train for n_train, _ in sizes), min(n_test for _, n_test in sizes)


def _subset_orders(
    search: BaseSearchCV,
    inputs: FitInputs,
    pairs: Pairs,
    seed: np.random.SeedSequence,
) -> SubsetOrders:
    groups = inputs.split_params.get("groups")
    return SubsetOrders(
        _class_target(search, inputs),
        None if groups is None else np.asarray(groups),
        _goes_forward(pairs),
        MIN_PER_CLASS,
        seed,
    )


def _held_out(
    search: BaseSearchCV,
    inputs: FitInputs,
    pairs: Pairs,
    seed: np.random.SeedSequence,
) -> HeldOutRows | None:
    """Return how rows are held out for early stopping; None if it is not needed.

    It is also None if scikit-learn does not know this type of target.
    """
    if BOOSTING_NAMES.keys().isdisjoint(sys.modules):  # no such estimator can exist
        return None
    own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, HELD_OUT))
    try:
        orders = _subset_orders(search, inputs, pairs, own)
    except ValueError:
        return None
    return HeldOutRows(replace(orders, min_per_class=0))


def _needed(orders: SubsetOrders, folds: Iterable[Fold]) -> int:
    return max(orders.n_needed(f.order, f.train) for f in folds if f.order is not None)


def _goes_forward(pairs: Pairs) -> bool:
    """Return whether the test rows of every split follow its training rows, as in time series.

    A single split is not enough to decide: it may be a hold-out set at the end of the data.
    """
    return len(pairs) > 1 and all(train.max() < test.min() for train, test in pairs)


def _class_target(search: BaseSearchCV, inputs: FitInputs) -> Rows | None:
    """Return y as class indices if subsets must contain every class, else None."""
    if inputs.y is None or not is_classifier(search.estimator):
        return None
    if type_of_target(inputs.y) not in ("binary", "multiclass"):
        return None
    return class_codes(np.asarray(inputs.y).ravel())


def _ask_splitter(search: BaseSearchCV, inputs: FitInputs) -> list[tuple[Rows, Rows]]:
    """Return the splits of the splitter. It is called only once in each `fit`."""
    splitter = check_cv(search.cv, inputs.y, classifier=is_classifier(search.estimator))
    check_groups(splitter, inputs.split_params)
    pairs = listed_splits(splitter, inputs.X, inputs.y, inputs.split_params)
    _check_sides(pairs)
    return pairs


def _check_rows(inputs: FitInputs) -> None:
    """Raise if the data have no rows."""
    if num_samples(inputs.X) == 0:
        raise ValueError("Found array with 0 sample(s): X is empty, and there is nothing to fit.")


def _check_sides(pairs: Iterable[tuple[Rows, Rows]]) -> None:
    """Raise if a split has no training rows or no test rows."""
    for place, (train, test) in enumerate(pairs):
        if len(train) == 0 or len(test) == 0:
            raise ValueError(
                f"Split {place} of cv has {len(train)} training and {len(test)} test rows; both "
                "must have at least one. Use fewer splits, or another cv."
            )
