"""Sizes of the two sides of a split, in rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

DEFAULT_TEST_SIZE = 0.2


def side_sizes(n_rows: int, train_size: Any, test_size: Any) -> tuple[int, int]:
    """Return the numbers of training and of test rows, rounded as scikit-learn does.

    Parameters
    ----------
    n_rows : int
        Rows of the data.
    train_size, test_size : float, int or None
        A fraction of the rows, a number of rows, or None for what the other one leaves; if
        both are None, a fifth of the rows is for testing.
    """
    if train_size is None and test_size is None:
        test_size = DEFAULT_TEST_SIZE
    n_test = _n_rows("test_size", test_size, n_rows, math.ceil)
    n_train = _n_rows("train_size", train_size, n_rows, math.floor)
    n_test = n_rows - n_train if n_test is None and n_train is not None else n_test
    n_train = n_rows - n_test if n_train is None and n_test is not None else n_train
    n_train, n_test = n_train or 0, n_test or 0
    if n_train + n_test > n_rows:
        raise ValueError(
            "train_size and test_size must not add up to more than all rows; got "
            f"train_size={train_size!r} and test_size={test_size!r}, which are {n_train} and "
            f"{n_test} of {n_rows} rows. Make one of them smaller, or None."
        )
    for name, side, n_side in (("train_size", "training", n_train), ("test_size", "test", n_test)):
        if n_side < 1:
            raise ValueError(
                f"{name} must leave at least one row in the {side} set; got "
                f"train_size={train_size!r} and test_size={test_size!r}, which are {n_train} "
                f"and {n_test} of {n_rows} rows. Give sizes that leave a row on either side; "
                "that takes at least 2 rows."
            )
    return n_train, n_test


def _n_rows(name: str, size: Any, n_rows: int, rounded: Callable[[float], int]) -> int | None:
    """Return a size as a number of rows; None if it is what the other one leaves."""
    if size is None:
        return None
    if not isinstance(size, bool | np.bool_):
        if isinstance(size, Integral) and int(size) > 0:
            return int(size)
        if isinstance(size, Real) and 0 < float(size) < 1:
            return rounded(float(size) * n_rows)
    raise ValueError(
        f"{name} must be a fraction between 0 and 1, a positive number of rows, or None for "
        f"what the other side leaves; got {size!r}. Use 0.2 for a fifth of the rows."
    )
