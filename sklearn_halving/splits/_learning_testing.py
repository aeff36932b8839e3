"""Repeated learning-testing: an endless stream of splits, and its cross-validator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar

import numpy as np
from sklearn.model_selection import BaseCrossValidator, ShuffleSplit
from sklearn.utils import check_array, column_or_1d, indexable
from sklearn.utils.multiclass import type_of_target

from sklearn_halving._checks import check_count
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.splits._draws import draw_groups, draw_rows
from sklearn_halving.splits._stream import (
    RandomSource,
    Rows,
    Split,
    SplitStream,
    narrow,
    seed_of_repetition,
    seed_of_stream,
)


class RepeatedLearningTesting(BaseCrossValidator):  # type: ignore[misc]
    """Random training and test sets, the first ``n_splits`` of an endless stream.

    Split j does not depend on the number of splits: with 20 splits instead of 10, the first 10
    remain the same. `stream` returns the stream itself.

    Training and test sets do not overlap, and they need not cover all rows. With 10 % of the
    rows in each, as in [2]_, the training sets of different splits share few rows, so that
    scores are nearly independent.

    Parameters
    ----------
    n_splits : int, default=10
        Number of splits that `split` yields.
    train_size : float, int or None, default=None
        Fraction or number of training rows. None takes all rows outside the test set.
    test_size : float, int or None, default=0.2
        Fraction or number of test rows. None takes all rows outside the training set, or 20 %
        of the rows if ``train_size`` is None too.
    stratify : bool or "auto", default="auto"
        Whether both sets preserve the class proportions of ``y``. "auto" stratifies if ``y`` is
        binary or multiclass and neither set has fewer rows than there are classes. True raises
        an error if there are fewer training rows than classes, and warns of rare classes.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same splits in every call.

    See Also
    --------
    sklearn.model_selection.StratifiedShuffleSplit : Random splits of scikit-learn.
    split_stream : Other cross-validators as streams.

    Notes
    -----
    A test set of n rows contains a fraction ``n / n_samples`` of each class, rounded up or down
    at random. The training set is drawn from the remaining rows in the same way. Every class has
    at least one row in each training set, so a class with a single row is never tested.

    With ``groups``, every group is entirely on one side. The number of groups on each side is
    proportional to its number of rows, and the sizes in rows are approximate: of 16 random
    draws, the one that best matches the requested numbers of rows in total and per class is
    used. With few groups, or groups of very different sizes, the match is less close.

    References
    ----------
    .. [1] P. Burman (1989). A comparative study of ordinary cross-validation, v-fold
       cross-validation and the repeated learning-testing methods. Biometrika 76, 503-514.
       https://doi.org/10.1093/biomet/76.3.503
    .. [2] M. Hoffman, B. Shahriari and N. de Freitas (2014). On correlation and budget
       constraints in model-based bandit optimization with application to automatic machine
       learning. AISTATS, section 6.2. https://arxiv.org/abs/1303.6746

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_halving.splits import RepeatedLearningTesting
    >>> X, y = load_wine(return_X_y=True)
    >>> cv = RepeatedLearningTesting(5, train_size=0.1, test_size=0.1, random_state=0)
    >>> [(len(train), len(test)) for train, test in cv.split(X, y)]
    [(17, 18), (17, 18), (17, 18), (17, 18), (17, 18)]
    >>> cross_val_score(GaussianNB(), X, y, cv=cv).shape
    (5,)
    """

    # scikit-learn's metadata routing reads this attribute: groups are used if given.
    __metadata_request__split: ClassVar = {"groups": True}

    def __init__(
        self,
        n_splits: int = 10,
        *,
        train_size: float | None = None,
        test_size: float | None = 0.2,
        stratify: bool | str = "auto",
        random_state: RandomSource = None,
    ) -> None:
        self.n_splits = n_splits
        self.train_size = train_size
        self.test_size = test_size
        self.stratify = stratify
        self.random_state = random_state

    def split(self, X: object, y: object = None, groups: object = None) -> Iterator[Split]:
        """Generate the first ``n_splits`` training and test sets.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The data. Only the number of rows is used.
        y : array-like of shape (n_samples,) or None, default=None
            The target, for stratification.
        groups : array-like of shape (n_samples,) or None, default=None
            Group labels. Rows of a group stay together.

        Yields
        ------
        train, test : ndarray of int
            Row numbers in increasing order.
        """
        n_splits = self.get_n_splits()
        stream = self.stream(X, y, groups)
        for repetition in range(n_splits):
            yield stream.split(repetition)

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X, y, groups : object
            Ignored.
        """
        check_count("n_splits", self.n_splits, "`stream` returns an endless stream.")
        return int(self.n_splits)

    def stream(self, X: object, y: object = None, groups: object = None) -> SplitStream:
        """Return the endless stream of training and test sets.

        Parameters
        ----------
        X, y, groups : object
            As for `split`.

        Returns
        -------
        stream : SplitStream
            If ``random_state`` is an int, ``stream.split(j)`` is the j-th split of `split`.
        """
        data, y, groups = indexable(X, y, groups)
        n_rows = data.shape[0] if hasattr(data, "shape") else len(data)
        n_train, n_test = side_sizes(n_rows, self.train_size, self.test_size)
        strata = self._strata(y, n_rows, n_train, n_test)
        if groups is None:
            draw = partial(draw_rows, strata, n_train, n_test)
        else:
            draw = partial(draw_groups, group_codes(groups, at_least=2), strata, n_train, n_test)
        return SplitStream(partial(_drawn_split, draw, seed_of_stream(self.random_state)))

    def _strata(self, y: object, n_rows: int, n_train: int, n_test: int) -> Rows:
        """Return the stratum of each row: its class, or 0 if splits are not stratified."""
        one_stratum = np.zeros(n_rows, dtype=np.intp)
        is_auto = isinstance(self.stratify, str) and self.stratify == "auto"
        if not (is_auto or isinstance(self.stratify, bool)):
            raise ValueError(f"stratify must be True, False or 'auto'; got {self.stratify!r}.")
        if not self.stratify:
            return one_stratum
        if not has_classes(y):
            if is_auto:
                return one_stratum
            kind = "no y" if y is None else f"a y of type {type_of_target(y)!r}"
            raise ValueError(
                f"stratify=True needs a binary or multiclass y; got {kind}. "
                "Use stratify=False or 'auto'."
            )
        _, strata, counts = np.unique(column_or_1d(y), return_inverse=True, return_counts=True)
        if is_auto and len(counts) > min(n_train, n_test):
            return one_stratum
        _check_classes(counts, n_train, n_test)
        return strata


def _drawn_split(
    draw: Callable[[np.random.Generator], Split], seed: np.random.SeedSequence, index: int
) -> Sequence[Split]:
    """Draw one split with its own seed."""
    train, test = draw(np.random.default_rng(seed_of_repetition(seed, index)))
    return [(narrow(train), narrow(test))]


def has_classes(y: object) -> bool:
    """Return whether y is binary or multiclass."""
    if y is None:
        return False
    with warnings.catch_warnings():  # a warning on many distinct values
        warnings.simplefilter("ignore")
        try:
            return type_of_target(y) in ("binary", "multiclass")
        except (TypeError, ValueError):  # missing values, or values that cannot be sorted
            return False


def group_codes(groups: object, at_least: int) -> Rows:
    """Return integer codes of the groups, from 0."""
    labels = column_or_1d(check_array(groups, input_name="groups", ensure_2d=False, dtype=None))
    names, codes = np.unique(labels, return_inverse=True)
    if len(names) < at_least:
        raise ValueError(
            f"groups must contain at least {at_least} groups, one for each side of a split; got "
            f"{len(names)}. Without groups, rows are split."
        )
    return codes


def _check_classes(counts: Rows, n_train: int, n_test: int) -> None:
    """Raise an error if a training set cannot contain every class; warn of rare classes."""
    if len(counts) > n_train:
        raise ValueError(
            "train_size must allow at least one training row per class; got "
            f"{n_train} training rows for {len(counts)} classes. Use a larger train_size, or "
            "stratify=False."
        )
    if len(counts) > n_test:
        warn_user(
            f"Test sets of {n_test} rows cannot contain all {len(counts)} classes of y. "
            "Use a larger test_size."
        )
    elif counts.min() < 2:
        warn_user(
            "The least populated class in y has only 1 member. It is in every training set and "
            "never tested."
        )


def side_sizes(n_rows: int, train_size: float | None, test_size: float | None) -> tuple[int, int]:
    """Return the numbers of training and test rows, those of scikit-learn's ShuffleSplit.

    Parameters
    ----------
    n_rows : int
        Rows of the data.
    train_size, test_size : float, int or None
        A fraction of the rows, a number of rows, or None for the complement of the other. If
        both are None, 20 % of the rows are test rows.
    """
    if train_size is None and test_size is None:
        test_size = 0.2
    splitter = ShuffleSplit(1, train_size=train_size, test_size=test_size, random_state=0)
    ((train, test),) = splitter.split(range(n_rows))
    return len(train), len(test)
