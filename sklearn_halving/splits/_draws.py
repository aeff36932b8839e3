"""Stratified random splits and partitions of rows or whole groups.

All of them are systematic samples: units are sorted by stratum, in random order within strata,
and taken at even distances. Every unit is equally likely to be taken, and the number of units
from a stratum is its expected value, rounded up or down at random. Rounding to the nearest
integer, as in `StratifiedShuffleSplit`, would never test a class with few rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.intp]

N_TRIES = 16
"""Number of random draws of whole groups; the best balanced one is used."""


def draw_rows(
    strata: Rows, n_train: int, n_test: int, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Draw disjoint training and test units.

    Every stratum has a training unit if ``n_train`` is large enough.

    Parameters
    ----------
    strata : int array of shape (n,)
        Stratum of each unit, from 0; all zero if the draw is not stratified.
    n_train, n_test : int
        Number of units on each side; at most n in total.

    Returns
    -------
    train, test : int arrays of shape (n_train,) and (n_test,)
        Unit numbers in increasing order.
    """
    n_strata = int(strata.max()) + 1
    of_each = n_strata <= n_train
    units = _sorted_by_stratum(strata, n_strata, rng)
    is_rest = _drawn(strata[units], len(units) - n_test, of_each, rng)
    test, rest = units[~is_rest], units[is_rest]
    train = rest[_drawn(strata[rest], n_train, of_each, rng)]
    return np.sort(train), np.sort(test)


def draw_groups(
    groups: Rows, classes: Rows, n_train: int, n_test: int, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Draw the rows of training and test groups, in numbers proportional to the requested rows.

    Parameters
    ----------
    groups, classes : int array of shape (n_rows,)
        The group and the class of each row, from 0.
    n_train, n_test : int
        Requested rows on each side. If they add up to all rows, all groups are used.

    Returns
    -------
    train, test : int arrays
        Row numbers in increasing order.
    """
    table = class_table(groups, classes)
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
    train, test = min(tries, key=misfit)
    return np.flatnonzero(np.isin(groups, train)), np.flatnonzero(np.isin(groups, test))


def deal_groups(groups: Rows, classes: Rows, n_folds: int, rng: np.random.Generator) -> Rows:
    """Return a fold for each row, such that groups stay together and classes are balanced.

    ``groups`` and ``classes`` are as in `draw_groups`.
    """
    table = class_table(groups, classes)
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

    return min((dealt() for _ in range(N_TRIES)), key=misfit)[groups]


def class_table(group_codes: Rows, class_codes: Rows) -> npt.NDArray[np.int64]:
    """Return the number of rows of each class in each group, shape (n_groups, n_classes)."""
    shape = int(group_codes.max()) + 1, int(class_codes.max()) + 1
    cells = np.bincount(group_codes * shape[1] + class_codes, minlength=shape[0] * shape[1])
    return cells.reshape(shape).astype(np.int64, copy=False)


def _main_class(table: npt.NDArray[np.int64]) -> Rows:
    """Return the class that is most overrepresented in each group.

    Groups with a rare class form one stratum, even if few of their rows belong to it.
    """
    beside_share = table / table.sum(axis=1, keepdims=True) / table.sum(axis=0)
    return np.unique(beside_share.argmax(axis=1), return_inverse=True)[1]


def _sorted_by_stratum(strata: Rows, n_strata: int, rng: np.random.Generator) -> Rows:
    """Return the units by stratum, with strata and units within strata in random order."""
    units = np.argsort(rng.permutation(len(strata)))
    stratum = rng.permutation(n_strata)[strata]
    return units[np.argsort(stratum[units], kind="stable")]


def _drawn(
    sorted_strata: Rows, n_drawn: int, of_each: bool, rng: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Take ``n_drawn`` units; if ``of_each``, at least one from every stratum.

    Strata that expect less than one unit get one first. From the others, units are taken at even
    distances from a random start, in exact integers: from any m consecutive units, this takes
    m times their share, rounded up or down.
    """
    n = len(sorted_strata)
    taken = np.zeros(n, dtype=bool)
    if of_each and n_drawn < n:
        first = np.flatnonzero(np.diff(sorted_strata, prepend=-1))
        sizes = np.diff(first, append=n)
        n_before = -1
        while (n_taken := int(np.count_nonzero(taken))) > n_before:
            n_before = n_taken
            taken[first[sizes * (n_drawn - n_taken) < n - n_taken]] = True
    free = np.flatnonzero(~taken)
    n_left = n_drawn - (n - len(free))
    marks = (np.arange(len(free) + 1) * n_left + rng.integers(len(free))) // len(free)
    taken[free[marks[1:] != marks[:-1]]] = True
    return taken
