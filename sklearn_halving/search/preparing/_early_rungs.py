"""What early rungs need: enough splits to judge a candidate, and enough rows of each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklearn_halving.execution._train_test_rows import Rows
from sklearn_halving.policies._arrays import FloatArray

TELLING_ROWS = 100
"""Minimum number of test rows for a first evaluation of a candidate. With 100 rows, the standard
error of an accuracy is at most 0.05, which is small compared with the differences among the
candidates of a first rung. `TELLING_PER_CLASS` is the minimum for each class."""
TELLING_PER_CLASS = 10
TELLING_ERRORS = 4
EARLY_SPLITS = 2
"""Number of splits of the early rungs. A single split was worse on recorded learning curves,
except if test folds have `MANY_TEST_ROWS` rows."""
MANY_TEST_ROWS = 2000
FLOOR_ROWS, FLOOR_ROWS_OF_CLASS = 50, 5
"""Minimum numbers of rows for the rung directly below the largest level."""
DEEP_ROWS, DEEP_ROWS_OF_CLASS = 200, 10
"""Minimum numbers of rows for all rungs below that one."""


@dataclass(frozen=True)
class EarlyRungs:
    """Properties of the data and its splits that limit the early rungs."""

    n_telling: int | None = None
    """Number of splits that are enough for a first evaluation of a candidate: the smallest number
    such that the test folds of the first splits contain `TELLING_ROWS` rows and
    `TELLING_PER_CLASS` of each class. None if it was not computed."""
    has_like_folds: bool = True
    """Whether the target of the first two test folds is distributed as that of all rows."""
    n_columns: int = 0
    n_classes: int = 0
    """Number of columns of X and of classes of y; 0 if there are none or it is not known."""

    @classmethod
    def of(
        cls,
        X: object,
        y: object,
        classes: Rows | None,
        tests: Sequence[Rows],
        *,
        is_special: bool,
    ) -> EarlyRungs:
        """Return the properties of some data.

        Parameters
        ----------
        X, y : array-like
            The data.
        classes : ndarray of int or None
            The target as class indices; None if it has no classes.
        tests : sequence of ndarray of int
            The test rows of each split.
        is_special : bool
            Whether all splits are needed: because of groups, the order of rows, or a type of
            target that is not known.
        """
        shape: tuple[int, ...] = getattr(X, "shape", ())
        n_columns = int(shape[-1]) if len(shape) == 2 else 0
        if is_special:
            return cls(len(tests), has_like_folds=False, n_columns=n_columns)
        n_classes = 0 if classes is None else int(classes.max()) + 1
        target = _numeric_target(y) if classes is None else None
        n_telling = _n_telling_splits(classes, n_classes, target, tests)
        return cls(n_telling, _has_like_folds(classes, target, tests), n_columns, n_classes)

    def row_floors(self, n_train: int) -> tuple[int, int]:
        """Return the minimum number of rows for the rung below the largest level, and below that.

        A subset needs some rows of each class. If the training fold has more rows than columns, a
        subset also needs as many rows as there are columns: models rank differently if there are
        too few rows to determine their coefficients.
        """
        n_columns = self.n_columns if self.n_columns < n_train else 0
        first = max(FLOOR_ROWS, FLOOR_ROWS_OF_CLASS * self.n_classes, n_columns)
        return first, max(first, DEEP_ROWS, DEEP_ROWS_OF_CLASS * self.n_classes)

    def splits_of_grid(self, n_splits: int, n_test: int) -> tuple[int, int]:
        """Return the numbers of splits of the early rungs of a grid, and of its race."""
        n_race = EARLY_SPLITS if self.has_like_folds else n_splits
        has_large_tests = self.has_like_folds and n_test >= MANY_TEST_ROWS
        return 1 if has_large_tests else n_race, n_race


def _has_like_folds(
    classes: Rows | None, target: FloatArray | None, tests: Sequence[Rows]
) -> bool:
    """Return whether the first two test folds have the same target distribution as all rows.

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


def _n_telling_splits(
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
