"""Random splits and partitions, stratified, of rows or of whole groups.

All are systematic samples: the units are sorted by stratum, in random order within strata,
and taken at even distances. So each unit is as likely to be taken as any other, and the number
taken from a stratum is its expected number, rounded up or down at random. Rounding to the
nearest, as `StratifiedShuffleSplit` does, would never test a class that has few rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sklearn_halving.splits._stream import Rows

N_TRIES = 16
"""Random drawings of whole groups, of which the one with the best balance is taken."""


def draw_rows(
    strata: Rows, n_train: int, n_test: int, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Draw training and test units without overlap.

    Every stratum has a unit for training, provided that ``n_train`` suffices for that.

    Parameters
    ----------
    strata : int array of shape (n,)
        The stratum of each unit, from 0; all zero for a draw without strata.
    n_train, n_test : int
        Units of either side; together at most n.

    Returns
    -------
    train, test : int arrays of shape (n_train,) and (n_test,)
        Unit numbers, increasing.
    """
    n_strata = int(strata.max()) + 1
    of_each = n_strata <= n_train
    units = _sorted_by_stratum(strata, n_strata, rng)
    is_rest = _drawn(strata[units], len(units) - n_test, of_each, rng)
    test, rest = units[~is_rest], units[is_rest]
    train = rest[_drawn(strata[rest], n_train, of_each, rng)]
    return np.sort(train), np.sort(test)


def draw_groups(
    table: npt.NDArray[np.int64], n_train: int, n_test: int, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Draw groups for training and for testing, their numbers in proportion to the rows wanted.

    Parameters
    ----------
    table : int array of shape (n_groups, n_classes)
        Rows of each class in each group.
    n_train, n_test : int
        Rows wanted on either side. If they are all rows, all groups are used.

    Returns
    -------
    train, test : int arrays
        Group numbers, increasing.
    """
    n_groups, n_rows = len(table), int(table.sum())
    test_groups = min(max(round(n_test * n_groups / n_rows), 1), n_groups - 1)
    rest = n_groups - test_groups
    train_groups = min(max(round(n_train * n_groups / n_rows), 1), rest)
    if n_train + n_test == n_rows:
        train_groups = rest
    strata, shares = _main_class(table), table.sum(axis=0) / n_rows
    wanted = np.array([n_train * shares, n_test * shares])

    def misfit(sides: tuple[Rows, Rows]) -> float:
        counts = np.array([table[side].sum(axis=0) for side in sides])
        difference = np.abs(counts - wanted).sum(axis=1) / wanted.sum(axis=1)
        return float(difference.sum() + 2 * np.count_nonzero(counts[0] == 0))

    tries = [draw_rows(strata, train_groups, test_groups, rng) for _ in range(N_TRIES)]
    return min(tries, key=misfit)


def deal_groups(table: npt.NDArray[np.int64], n_folds: int, rng: np.random.Generator) -> Rows:
    """Return a fold for each group, each fold with a like share of the rows of each class.

    ``table`` is what `draw_groups` takes.
    """
    strata = _main_class(table)
    wanted = table.sum(axis=0) / n_folds

    def dealt() -> Rows:
        folds = np.empty(len(table), dtype=np.intp)
        units = _sorted_by_stratum(strata, int(strata.max()) + 1, rng)
        folds[units] = (np.arange(len(table)) + rng.integers(n_folds)) % n_folds
        return folds

    def misfit(folds: Rows) -> float:
        counts = np.array([table[folds == fold].sum(axis=0) for fold in range(n_folds)])
        return float((np.abs(counts - wanted) / wanted).sum())

    return min((dealt() for _ in range(N_TRIES)), key=misfit)


def class_table(group_codes: Rows, class_codes: Rows) -> npt.NDArray[np.int64]:
    """Return the number of rows of each class in each group, shape (n_groups, n_classes)."""
    shape = int(group_codes.max()) + 1, int(class_codes.max()) + 1
    cells = np.bincount(group_codes * shape[1] + class_codes, minlength=shape[0] * shape[1])
    return cells.reshape(shape).astype(np.int64, copy=False)


def _main_class(table: npt.NDArray[np.int64]) -> Rows:
    """Return the class that each group has most of, beside its share of all rows.

    Groups with a rare class are one stratum, however few of their rows are of that class.
    """
    beside_share = table / table.sum(axis=1, keepdims=True) / table.sum(axis=0)
    return np.unique(beside_share.argmax(axis=1), return_inverse=True)[1]


def _sorted_by_stratum(strata: Rows, n_strata: int, rng: np.random.Generator) -> Rows:
    """Return the units stratum by stratum; strata, and units within them, in random order."""
    return np.lexsort((rng.permutation(len(strata)), rng.permutation(n_strata)[strata]))


def _drawn(
    sorted_strata: Rows, n_drawn: int, of_each: bool, rng: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Take ``n_drawn`` units; ``of_each``: one of each stratum at least, if that many are taken.

    Strata that expect less than one unit get one first, the others share what remains.
    """
    taken = np.zeros(len(sorted_strata), dtype=bool)
    if of_each:
        first = np.flatnonzero(np.diff(sorted_strata, prepend=-1))
        sizes = np.diff(first, append=len(sorted_strata))
        n_before = -1
        while (n_taken := int(taken.sum())) > n_before:
            n_before = n_taken
            expects_less = sizes * (n_drawn - n_taken) < len(taken) - n_taken
            taken[first[expects_less]] = True
    free = np.flatnonzero(~taken)
    taken[free[_systematic(len(free), n_drawn - int(taken.sum()), rng)]] = True
    return taken


def _systematic(n: int, n_drawn: int, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Take ``n_drawn`` of n units at even distances from a random start, in exact integers.

    Of any m units in a row it takes m * n_drawn / n, rounded up or down.
    """
    if n == 0:
        return np.zeros(0, dtype=bool)
    marks = (np.arange(n + 1) * n_drawn + rng.integers(n)) // n
    return np.diff(marks).astype(bool)
