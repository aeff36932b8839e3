"""The splits of a search: those of a splitter, or an unlimited stream of splits."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.multiclass import type_of_target

from sklearn_halving._typing import Params
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
from sklearn_halving.policies._arrays import FloatArray
from sklearn_halving.resources import Resource
from sklearn_halving.resources._continuation import BOOSTING_NAMES
from sklearn_halving.resources._training_size import class_codes
from sklearn_halving.search.preparing._inputs import (
    FitInputs,
    ask_splitter,
    check_rows,
    check_sides,
)
from sklearn_halving.splits import SplitStream, split_stream
from sklearn_halving.splits._split_stream import Reshuffles
from sklearn_halving.splits._stream import narrow

HELD_OUT = 2**31 - 3
"""Used in the seed of the rows that are held out for early stopping."""
MIN_PER_CLASS = 2
"""Minimum number of rows of each class in the smallest training subset."""
TELLING_ROWS = 100
"""Minimum number of test rows for a first evaluation of a candidate. With 100 rows, the standard
error of an accuracy is at most 0.05, which is small compared with the differences among the
candidates of a first rung. `TELLING_PER_CLASS` is the minimum for each class."""
TELLING_PER_CLASS = 10
TELLING_ERRORS = 4
N_LOOKED_AT = 10
"""Number of splits of a stream that are checked before the first fit."""


@dataclass(frozen=True)
class SearchSplits:
    """The splits of a search, and what is known about them before the first fit.

    Parameters
    ----------
    folds : Folds
        The rows of each repetition.
    n_repetitions : int or None
        Number of splits; None if it is unlimited.
    n_train, n_test, n_rows : int
        Number of rows of the smallest training fold, of the smallest test fold, and of the data.
    n_rows_needed : int
        Number of rows that a subset needs to contain every class.
    n_telling : int or None
        Number of splits that are enough for a first evaluation of a candidate, see
        `n_telling_splits`; None if it was not computed.
    has_like_folds : bool
        Whether the first two splits are similar to the whole data, see `has_like_folds`.
    n_named : int
        Number of splits that ``cv`` stands for, such as 5 for ``cv=5``.
    n_columns, n_classes : int
        Number of columns of X and of classes of y; 0 if there are none or it is not known.
    held_out : HeldOutRows or None
        Holds out training rows for the early stopping of boosters.
    """

    folds: Folds
    n_repetitions: int | None
    n_train: int
    n_test: int
    n_rows: int
    n_rows_needed: int = 1
    n_telling: int | None = None
    has_like_folds: bool = True
    n_named: int = 5
    n_columns: int = 0
    n_classes: int = 0
    held_out: HeldOutRows | None = None


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
    check_rows(inputs)
    pairs = ask_splitter(search, inputs)
    sizes = (*_smallest(pairs), num_samples(inputs.X))
    known = _facts(search, inputs, pairs) | {"held_out": _held_out(search, inputs, pairs, seed)}
    if not resource.subsamples_rows:
        folds = tuple(Fold(train, test) for train, test in pairs)
        return SearchSplits(ListedFolds(folds), len(pairs), *sizes, **known)
    orders = _subset_orders(search, inputs, pairs, seed)
    folds = tuple(
        Fold(train, test, narrow(orders.order(repetition, train)), sizes[0])
        for repetition, (train, test) in enumerate(pairs)
    )
    return SearchSplits(ListedFolds(folds), len(pairs), *sizes, _needed(orders, folds), **known)


def streamed_splits(
    search: BaseSearchCV, inputs: FitInputs, resource: Resource, seed: np.random.SeedSequence
) -> SearchSplits:
    """Return the splits as a stream, which is unlimited if the splitter can be reshuffled."""
    check_rows(inputs)
    stream = split_stream(
        search.cv,
        inputs.X,
        inputs.y,
        classifier=is_classifier(search.estimator),
        random_state=seed,
        split_params=inputs.split_params,
    )
    n_known = stream.n_repetitions
    pairs = _FirstSplits(stream, N_LOOKED_AT if n_known is None else n_known)
    check_sides(pairs)
    sizes = (*_smallest(pairs), num_samples(inputs.X))
    n_named = SearchSplits.n_named if n_known is None else n_known
    if isinstance(stream.source, Reshuffles):
        n_named = max(1, stream.source.n_own) * stream.source.block_length
    more: Params = {"n_named": n_named, "held_out": _held_out(search, inputs, pairs, seed)}
    if not resource.subsamples_rows:
        return SearchSplits(StreamedFolds(stream), n_known, *sizes, **more)
    orders = _subset_orders(search, inputs, pairs, seed)
    splits = StreamedFolds(stream, orders, sizes[0])
    n_needed = _needed(orders, map(splits.fold, range(len(pairs))))
    return SearchSplits(splits, n_known, *sizes, n_needed, **more)


def _facts(search: BaseSearchCV, inputs: FitInputs, pairs: Pairs) -> Params:
    """Return the properties that determine the early rungs, as arguments of `SearchSplits`."""
    shape: tuple[int, ...] = getattr(inputs.X, "shape", ())
    n_columns = int(shape[-1]) if len(shape) == 2 else 0
    is_special = inputs.split_params.get("groups") is not None or _goes_forward(pairs)
    try:
        classes = _class_target(search, inputs)
    except ValueError:  # scikit-learn does not know this type of target, but the estimator may
        is_special, classes = True, None
    if is_special:
        return {"n_telling": len(pairs), "has_like_folds": False, "n_columns": n_columns}
    n_classes = 0 if classes is None else int(classes.max()) + 1
    target = _numeric_target(inputs) if classes is None else None
    tests = [test for _, test in pairs]
    return {
        "n_telling": n_telling_splits(classes, n_classes, target, tests),
        "has_like_folds": has_like_folds(classes, target, tests),
        "n_columns": n_columns,
        "n_classes": n_classes,
    }


def has_like_folds(classes: Rows | None, target: FloatArray | None, tests: Sequence[Rows]) -> bool:
    """Return whether the target of the first two test folds is distributed as that of all rows.

    The mean of a numeric target, or the proportion of each class, must be within
    `TELLING_ERRORS` standard errors of its value on all rows. This detects sorted rows.
    """
    first = np.concatenate(tests[:2])
    bound = TELLING_ERRORS / np.sqrt(len(first))
    if target is not None:  # standardized
        return bool(abs(target[first].mean()) <= bound)
    if classes is None:
        return True
    counts = np.bincount(classes)
    shares = counts / len(classes)
    distance = np.abs(np.bincount(classes[first], minlength=len(counts)) / len(first) - shares)
    return bool((distance <= bound * np.sqrt(shares * (1 - shares))).all())


def n_telling_splits(
    classes: Rows | None, n_classes: int, target: FloatArray | None, tests: Sequence[Rows]
) -> int:
    """Return the number of splits that are enough for a first evaluation of a candidate.

    It is the smallest number such that the test folds of the first splits contain `TELLING_ROWS`
    rows and `TELLING_PER_CLASS` of each class. For a numeric target, its mean on these rows must
    also be within `TELLING_ERRORS` standard errors of its mean on all rows, because rows may be
    sorted.
    """
    n_rows, of_class, total = 0, np.zeros(n_classes, dtype=np.int64), 0.0
    for n_splits, test in enumerate(tests, start=1):
        n_rows += len(test)
        if classes is not None:
            of_class += np.bincount(classes[test], minlength=n_classes)
        if target is not None:
            total += float(target[test].sum())
            if abs(total / n_rows) > TELLING_ERRORS / np.sqrt(n_rows):
                continue
        if n_rows >= TELLING_ROWS and (of_class >= TELLING_PER_CLASS).all():
            return n_splits
    return len(tests)


def _numeric_target(inputs: FitInputs) -> FloatArray | None:
    """Return the standardized target if it is a single numeric column, else None."""
    try:
        target = np.asarray(inputs.y, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if target.ndim != 1 or not np.isfinite(target).all():
        return None
    deviation = float(target.std())
    return (target - target.mean()) / deviation if deviation > 0 else None


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
