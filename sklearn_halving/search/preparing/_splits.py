"""The splits of a search: from a splitter, or an unlimited stream."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import type_of_target

from sklearn_halving._unstable_imports import num_samples
from sklearn_halving.execution._types import (
    Fold,
    Folds,
    ListedFolds,
    Rows,
    StreamedFolds,
    SubsetOrders,
)
from sklearn_halving.policies._arrays import FloatArray
from sklearn_halving.resources import Resource
from sklearn_halving.resources._boosters import BOOSTING_NAMES
from sklearn_halving.resources._training_size import class_codes
from sklearn_halving.search._parameters import Inputs, SharedParameters
from sklearn_halving.splits import split_stream
from sklearn_halving.splits._stream import listed_splits

MIN_PER_CLASS = 6
"""Minimum number of rows of each class and label in a training subset. Five-fold cross-validation
inside a model needs five, and the five nearest neighbors of SMOTE need six."""
WITH_CLASSES = {"binary", "multiclass", "multilabel-indicator", "multiclass-multioutput"}
"""The types of targets that have classes."""
N_LOOKED_AT = 10
"""Number of splits of a stream that are checked before the first fit."""
TELLING_ROWS = 100
"""Minimum number of test rows for a first evaluation of a candidate. With 100 rows, the standard
error of an accuracy is at most 0.05, which is small compared with the differences among the
candidates of a first rung. `ROWS_OF_CLASS` is the minimum for each class."""
ROWS_OF_CLASS = 10
"""Minimum number of rows of each class in such a test, and per class, on average, in all rungs.
With fewer, a stratified tenth, for early stopping, would have fewer rows than classes."""
TELLING_ERRORS = 4
FLOOR_ROWS, DEEP_ROWS = 50, 200
"""Minimum number of rows for the rung directly below the largest level, and for those below."""


@dataclass(frozen=True)
class EarlyRungs:
    """Properties of the data and its splits that limit the early rungs.

    Parameters
    ----------
    n_telling : int or None
        Number of splits that are enough for a first evaluation of a candidate: the smallest
        number such that the test folds of the first splits contain `TELLING_ROWS` rows and
        `ROWS_OF_CLASS` of each class, and are like all rows. None if it was not computed.
    has_like_folds : bool
        Whether the first two test folds are like all rows, see `_is_like_all`.
    """

    n_telling: int | None = None
    has_like_folds: bool = True
    # Number of columns of X and of classes of y; 0 if there are none or it is not known.
    n_columns: int = 0
    n_classes: int = 0

    @classmethod
    def of(cls, data: _Data, pairs: Pairs) -> EarlyRungs:
        """Return the properties of some data and their splits."""
        tests, classes = [test for _, test in pairs], data.class_of_row
        if not data.is_known:
            return cls(len(tests), has_like_folds=False)
        shape: tuple[int, ...] = getattr(data.X, "shape", ())
        n_columns = int(shape[-1]) if len(shape) == 2 else 0
        n_classes = 0 if classes is None else int(classes.max()) + 1
        target = _numeric_target(data.y) if classes is None else None
        # If splits depend neither on groups nor on the order of the rows, the target of the first
        # test folds should be distributed as in all rows.
        are_drawn = data.groups is None and not _goes_forward(pairs)

        def is_like_all(rows: Rows) -> bool:
            return not are_drawn or _is_like_all(classes, target, rows)

        def is_telling(n_splits: int) -> bool:
            rows, n_least = np.concatenate(tests[:n_splits]), ROWS_OF_CLASS
            if classes is not None:
                n_least = int(np.bincount(classes[rows], minlength=n_classes).min())
            is_enough = len(rows) >= TELLING_ROWS and n_least >= ROWS_OF_CLASS
            return is_enough and is_like_all(rows)

        n_telling = next(filter(is_telling, range(1, len(tests))), len(tests))
        has_like_folds = is_like_all(np.concatenate(tests[:2]))
        return cls(n_telling, has_like_folds, n_columns, n_classes)

    def row_floors(self, n_train: int) -> tuple[int, int]:
        """Return the minimum number of rows for the rung below the largest level, and below that.

        If the training fold has more rows than columns, a subset needs at least one row for each
        column: models rank differently if there are too few rows to determine their
        coefficients.
        """
        n_columns = self.n_columns if self.n_columns < n_train else 0
        first = max(FLOOR_ROWS, ROWS_OF_CLASS * self.n_classes, n_columns)
        return first, max(first, DEEP_ROWS)


@dataclass(frozen=True)
class SearchSplits:
    """The splits of a search, and what is known about them before the first fit.

    Parameters
    ----------
    folds : Folds
        The rows of each repetition.
    n_repetitions : int or None
        Number of splits; None if it is unlimited.
    n_rows_needed : int
        Number of rows that a subset needs to contain enough of every class.
    early : EarlyRungs
        What the early rungs need.
    held_out : SubsetOrders or None
        Holds out training rows for the early stopping of boosters.
    """

    folds: Folds
    n_repetitions: int | None
    # Number of rows of the smallest training fold, of the smallest test fold, and of the data.
    n_train: int
    n_test: int
    n_rows: int
    n_rows_needed: int = 1
    early: EarlyRungs = field(default_factory=EarlyRungs)
    held_out: SubsetOrders | None = None

    @property
    def overlap(self) -> float:
        """Size of a test set divided by the number of all other rows."""
        return self.n_test / max(1, self.n_rows - self.n_test)

    @property
    def refit_cost(self) -> float:
        """Time of the refit on all rows, in full fits on the first split."""
        return self.n_rows / len(self.folds.fold(0).train)


Pairs = Sequence[tuple[Rows, Rows]]
"""Train and test rows of splits."""


def search_splits(
    search: SharedParameters, inputs: Inputs, resource: Resource, *, is_stream: bool
) -> SearchSplits:
    """Return the splits of the splitter, as in GridSearchCV, or a stream of splits.

    A stream is unlimited if the splitter can be reshuffled. Its first splits stand for all.
    """
    data, stream = _Data.of(search, inputs), None
    if is_stream:
        stream = split_stream(
            search.cv,
            inputs.X,
            inputs.y,
            classifier=data.classifies,
            random_state=inputs.seeds.root,
            **inputs.split_params,
        )
        pairs = [stream.split(number) for number in range(stream.n_repetitions or N_LOOKED_AT)]
    else:
        splitter = check_cv(search.cv, inputs.y, classifier=data.classifies)
        pairs = listed_splits(splitter, inputs.X, inputs.y, inputs.split_params)
    n_train, n_test = _smallest(pairs)
    orders = data.subset_orders(pairs, inputs.seeds.root) if resource.subsamples_rows else None
    folds: Folds
    if stream is not None:
        folds = StreamedFolds(stream, orders, None if orders is None else n_train)
    else:
        numbers = _order_of(data, pairs)
        pairs = [pairs[number] for number in numbers]
        listed = (
            Fold(train, test) if orders is None else orders.fold(repetition, train, test, n_train)
            for repetition, (train, test) in enumerate(pairs)
        )
        folds = ListedFolds(tuple(listed), numbers)
    return SearchSplits(
        folds,
        len(pairs) if stream is None else stream.n_repetitions,
        n_train,
        n_test,
        num_samples(inputs.X),
        max(folds.fold(number).n_needed for number in range(len(pairs))),
        EarlyRungs.of(data, pairs) if stream is None else EarlyRungs(),
        _held_out(data, pairs, inputs.seeds.held_out),
    )


@dataclass(frozen=True)
class _Data:
    """What the splits depend on.

    Parameters
    ----------
    classes : ndarray of int or None
        The classes of each row, one column for each output, of which every subset must contain
        some; None if there are no classes.
    is_known : bool
        Whether scikit-learn knows this type of target; if not, the estimator may.
    """

    X: object
    y: object
    groups: Rows | None
    classifies: bool
    classes: Rows | None
    is_known: bool

    @classmethod
    def of(cls, search: SharedParameters, inputs: Inputs) -> _Data:
        """Return what the splits of a search depend on; raise if the data have no rows."""
        if num_samples(inputs.X) == 0:
            raise ValueError("Found array with 0 sample(s): X is empty; there is nothing to fit.")
        classifies, groups = is_classifier(search.estimator), inputs.split_params.get("groups")
        groups = None if groups is None else np.asarray(groups)
        y: Any = inputs.y
        classes, is_known = None, True
        names = (y.dtype.names or ()) if isinstance(y, np.ndarray) else ()
        if events := [y[name] for name in names if y[name].dtype.kind == "b"]:
            classes = class_codes(np.column_stack(events))
        elif y is not None and classifies:
            try:
                classes = class_codes(y) if type_of_target(y) in WITH_CLASSES else None
            except ValueError:
                is_known = False
        return cls(inputs.X, y, groups, classifies, classes, is_known)

    @property
    def class_of_row(self) -> Rows | None:
        """The class of each row if there is one output, else None."""
        return None if self.classes is None or self.classes.shape[1] > 1 else self.classes[:, 0]

    def subset_orders(self, pairs: Pairs, seed: np.random.SeedSequence) -> SubsetOrders:
        """Return the order of the rows in the subsets of training folds."""
        if not self.is_known:
            type_of_target(self.y)  # raises
        forward = _goes_forward(pairs)
        return SubsetOrders(self.classes, self.groups, forward, MIN_PER_CLASS, seed)


def _order_of(data: _Data, pairs: Pairs) -> tuple[int, ...]:
    """Return the splits in the order in which a candidate is fitted on them.

    If the rows are ordered, the latest split comes first. With groups, the split comes first
    whose test rows are the most like all rows in number and target.
    """
    if _goes_forward(pairs):
        return tuple(reversed(range(len(pairs))))
    if data.groups is None:
        return tuple(range(len(pairs)))
    sizes = np.array([len(test) for _, test in pairs], dtype=np.float64)
    distance = np.abs(sizes / sizes.mean() - 1)
    classes = data.class_of_row
    target = _numeric_target(data.y if classes is None else classes)
    if target is not None:
        distance += [abs(float(target[test].mean())) for _, test in pairs]
    return tuple(np.argsort(distance, kind="stable").tolist())


def _smallest(pairs: Pairs) -> tuple[int, int]:
    """Return the numbers of rows of the smallest folds; raise if one has no rows."""
    sizes = [(len(train), len(test)) for train, test in pairs]
    for place, (n_train, n_test) in enumerate(sizes):
        if n_train == 0 or n_test == 0:
            raise ValueError(
                f"Split {place} of cv has {n_train} training and {n_test} test rows; both "
                "must have at least one. Use fewer splits, or another cv."
            )
    return min(n_train for n_train, _ in sizes), min(n_test for _, n_test in sizes)


def _held_out(data: _Data, pairs: Pairs, seed: np.random.SeedSequence) -> SubsetOrders | None:
    """Return how rows are held out for early stopping; None if it is not needed.

    It is also None if scikit-learn does not know this type of target.
    """
    if BOOSTING_NAMES.keys().isdisjoint(sys.modules) or not data.is_known:
        return None
    return replace(data.subset_orders(pairs, seed), min_per_class=0)


def _goes_forward(pairs: Pairs) -> bool:
    """Return whether the test rows of every split follow its training rows, as in time series.

    A single split is not enough to decide: it may be a hold-out set at the end of the data.
    """
    return len(pairs) > 1 and all(train.max() < test.min() for train, test in pairs)


def _is_like_all(classes: Rows | None, target: FloatArray | None, rows: Rows) -> bool:
    """Return whether the target has the same distribution on some rows as on all of them.

    The mean of a numeric target, or the proportion of each class, must be within
    `TELLING_ERRORS` standard errors of its value on all rows. This detects sorted rows.
    """
    bound = TELLING_ERRORS / np.sqrt(len(rows))
    if target is not None:  # standardized
        return bool(abs(target[rows].mean()) <= bound)
    if classes is None:
        return True
    counts = np.bincount(classes)
    shares = counts / len(classes)
    distance = np.abs(np.bincount(classes[rows], minlength=len(counts)) / len(rows) - shares)
    return bool((distance <= bound * np.sqrt(shares * (1 - shares))).all())


def _numeric_target(y: object) -> FloatArray | None:
    """Return the standardized target if it is a single numeric column, else None."""
    try:
        target = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if target.ndim != 1 or not np.isfinite(target).all():
        return None
    deviation = float(target.std())
    return (target - target.mean()) / deviation if deviation > 0 else None
