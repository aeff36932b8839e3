"""The number of rows as the resource: nested subsets of each training fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_halving._checks import CheckedFields
from sklearn_halving._typing import Estimator
from sklearn_halving.resources._resource import LevelRange, Rescale, Resource

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class TrainingSize(CheckedFields, Resource):
    """Train on more and more rows of the training fold.

    A level is a number of rows. The caller draws the rows (see `subset_order` and
    `training_rows`). A model is always fitted from scratch; otherwise it would see the first
    rows more often than the later ones.

    Parameters
    ----------
    rescale : dict of str to {"inverse", "proportional"} or callable, default=None
        Parameters that depend on the number of rows, and how. The value of a candidate is meant
        for the largest level. At other levels it is multiplied by ``max_amount / amount``
        (``"inverse"``) or by ``amount / max_amount`` (``"proportional"``), or replaced by the
        result of a callable ``(value, amount, max_amount)``. A parameter of whole numbers is
        rounded to a whole number of at least 1.

    Notes
    -----
    Li et al. (2018), appendix A.4, divide the cost C by the number of samples, because the
    squared errors are summed rather than averaged, and the regularization lambda by the number
    of random features. Both are ``"inverse"``. With samples as the resource, the reciprocal of
    C, such as ``alpha`` of ``Ridge`` and ``KernelRidge``, is ``"proportional"``. If the loss is
    averaged, as in ``SGDClassifier`` and ``Lasso``, ``alpha`` needs no rule. Features that are
    normalized by their number, as in ``RBFSampler`` and ``Nystroem``, need no rule either.

    References
    ----------
    Li, Jamieson, DeSalvo, Rostamizadeh and Talwalkar. Hyperband: a novel bandit-based approach
    to hyperparameter optimization. JMLR 18, 2018.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> from sklearn_halving.resources import TrainingSize
    >>> TrainingSize().level_range(DummyRegressor(), n_train=100, n_rows_needed=6)
    (6, 100)
    >>> from sklearn.svm import SVC
    >>> TrainingSize(rescale={"C": "inverse"}).rescaled(SVC(C=2.0), level=100, max_level=1000)
    {'C': 20.0}
    """

    rescale: Rescale | None = None

    name = "n_samples"
    units = "training rows"
    subsamples_rows = True

    def level_range(self, estimator: Estimator, n_train: int, n_rows_needed: int) -> LevelRange:
        """Return the rows that every class needs (at least one), and all rows of the fold."""
        return min(max(1, n_rows_needed), n_train), n_train


@dataclass(frozen=True)
class WholeFit(Resource):
    """Fit the unmodified estimator on all rows of the training fold. There is one level.

    This is what ``resource=None`` means in the searches that do not need a resource.

    Examples
    --------
    >>> from sklearn_halving.resources import WholeFit
    >>> WholeFit().level_range(None, 100, 1)
    (1, 1)
    """

    name = "whole_fit"

    def level_range(self, estimator: Estimator, n_train: int, n_rows_needed: int) -> LevelRange:
        """Return 1 and 1: there is one level."""
        return 1, 1


def subset_order(
    n_rows: int,
    rng: np.random.Generator,
    *,
    y: object = None,
    groups: object = None,
    keep_order: bool = False,
    min_per_class: int = 6,
) -> Rows:
    """Order the rows of a training fold; the first ``level`` rows are its subset.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    rng : numpy.random.Generator
        Source of the random order.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs), default=None
        Classes, or labels. The subset starts with the rows that each class of each output
        needs. With one output, the other rows preserve the proportions of the classes.
    groups : array-like of shape (n_rows,), default=None
        Group labels. Rows of a group are adjacent, so a subset splits at most one group.
    keep_order : bool, default=False
        Rows are ordered in time: take the most recent rows that each class needs, and then the
        most recent of all. Groups and proportions do not count.
    min_per_class : int, default=6
        Number of rows that a subset needs of each class, or all rows of a smaller class.

    Returns
    -------
    order : int array of shape (n_rows,)
        Positions in the fold, each once.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.resources import subset_order
    >>> y = ["a"] * 8 + ["b"] * 4
    >>> order = subset_order(12, np.random.default_rng(0), y=y, min_per_class=1)
    >>> [int(sum(i < 8 for i in order[:level])) for level in (2, 3, 6, 9, 12)]
    [1, 2, 4, 6, 8]
    """
    classes = class_codes(np.zeros(n_rows) if y is None else y)
    group = class_codes(np.zeros(n_rows) if groups is None or keep_order else groups)[:, 0]
    place = np.arange(n_rows)[::-1] if keep_order else np.argsort(rng.permutation(n_rows))
    rank, size = _places_in_strata(group[:, None] * (classes.max(initial=0) + 1) + classes, place)
    first = rank.min(axis=1)
    if keep_order or classes.shape[1] > 1:
        rank, size = _places_in_strata(group[:, None], place)
    # The i-th row of a stratum of n rows has the key (i + 1/2) / n. Every prefix of the sorted
    # keys thus contains a similar share of each stratum.
    spread = (rank[:, 0] + 0.5) / size[:, 0]
    within = np.where(first < min_per_class, first - min_per_class, spread)
    return np.lexsort((place, within, _rank_groups(group, classes, rng, min_per_class)[group]))


def rows_needed(order: Rows, y: object, min_per_class: int) -> int:
    """Return the smallest level whose subset contains enough rows of each class of each output.

    Enough means ``min_per_class`` rows, or all rows of a class that has fewer.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.resources import rows_needed
    >>> rows_needed(np.array([3, 0, 1, 2]), ["a", "a", "a", "b"], min_per_class=2)
    3
    """
    place, _ = _places_in_strata(class_codes(y)[order], np.arange(len(order)))
    return int(np.flatnonzero((place < min_per_class).any(axis=1)).max(initial=-1)) + 1


def training_rows(train: Rows, order: Rows, level: int) -> Rows:
    """Return the rows of a fold at a level, in the order of the splitter.

    Parameters
    ----------
    train : int array of shape (n,)
        Row numbers of the fold, in the order of the splitter.
    order : int array of shape (n,)
        The order that `subset_order` returned for them.
    level : int
        Number of rows. If it is the size of the fold, ``train`` is returned.

    Returns
    -------
    rows : int array of shape (level,)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.resources import training_rows
    >>> training_rows(np.array([10, 11, 12, 13]), np.array([2, 0, 3, 1]), 2)
    array([10, 12])
    """
    return train if level >= len(order) else train[np.sort(order[:level])]


def class_codes(y: object) -> Rows:
    """Return integer codes of the classes, shape (n_rows, n_outputs); no two outputs share one."""
    values = y.to_numpy() if hasattr(y, "to_numpy") else y
    values = values.toarray() if hasattr(values, "toarray") else np.asarray(values)
    columns = [_codes_of_column(column) for column in np.atleast_2d(values.T)]
    n_classes = [int(column.max(initial=-1)) + 1 for column in columns]
    return np.column_stack(columns) + np.cumsum([0, *n_classes[:-1]])


def _codes_of_column(values: NDArray[Any]) -> Rows:
    try:
        return np.unique(values, return_inverse=True)[1].astype(np.intp, copy=False)
    except TypeError:  # values that cannot be sorted: mixed types, or missing values of pandas
        seen: dict[str, int] = {}
        return np.array([seen.setdefault(repr(value), len(seen)) for value in values], np.intp)


def _rank_groups(group: Rows, classes: Rows, rng: np.random.Generator, min_per_class: int) -> Rows:
    """Return the rank of each group: random, but groups that a class needs come first."""
    shuffled = rng.permutation(int(group.max(initial=-1)) + 1)
    # A class needs the groups of its first rows, in the random order of the groups.
    place, _ = _places_in_strata(classes, shuffled[group])
    is_needed = np.zeros(len(shuffled), dtype=bool)
    is_needed[group[(place < min_per_class).any(axis=1)]] = True
    return np.argsort(np.lexsort((shuffled, ~is_needed)))


def _places_in_strata(strata: Rows, order: Rows) -> tuple[Rows, Rows]:
    """Return the place of each row in its strata, by ``order``, and their sizes.

    There may be several columns of strata, which have no stratum in common.
    """
    flat = strata.ravel()
    by_stratum = np.lexsort((np.repeat(order, strata.shape[1]), flat))
    starts = np.flatnonzero(np.diff(flat[by_stratum], prepend=-1))
    sizes = np.diff(starts, append=len(flat))
    place, size = np.empty_like(strata), np.empty_like(strata)
    place.flat[by_stratum] = np.arange(len(flat)) - np.repeat(starts, sizes)
    size.flat[by_stratum] = np.repeat(sizes, sizes)
    return place, size
