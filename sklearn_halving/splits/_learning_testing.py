"""Repeated learning-testing: an endless stream of splits, and a cross-validator made of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_array, column_or_1d, indexable
from sklearn.utils.multiclass import type_of_target

from sklearn_halving.splits._draws import class_table, draw_groups, draw_rows
from sklearn_halving.splits._seeds import seed_of_repetition, seed_of_stream
from sklearn_halving.splits._sizes import side_sizes
from sklearn_halving.splits._stream import Rows, Split, SplitStream


class RepeatedLearningTesting(BaseCrossValidator):  # type: ignore[misc]
    """Random training and test sets, the first ``n_splits`` of an endless stream.

    Split j is always the same one, however many splits are asked for: with 20 splits instead
    of 10, the first 10 stay. `stream` gives the stream itself.

    Training and test set do not overlap and need not add up to all rows: with 10 % and 10 %,
    as in [2]_, the training sets of different splits hardly overlap either, so that their
    scores are nearly independent.

    Parameters
    ----------
    n_splits : int, default=10
        Number of splits that `split` gives.
    train_size : float, int or None, default=None
        Fraction of the rows, or number of rows, to train on; None for all that are not tested.
    test_size : float, int or None, default=0.2
        Fraction of the rows, or number of rows, to test on; None for all that are not trained
        on, or a fifth of the rows if ``train_size`` is None too.
    stratify : bool or "auto", default="auto"
        Whether both sets have the classes of ``y`` in like shares. "auto": if ``y`` is binary
        or multiclass with no more classes than either set has rows. True: with fewer training
        rows than classes there is an error, with rare classes a warning.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same splits at each call.

    See Also
    --------
    sklearn.model_selection.StratifiedShuffleSplit : Its splits depend on those before.
    split_stream : Other cross-validators as streams.

    Notes
    -----
    The test set of n rows has the share ``n / n_samples`` of each class, rounded up or down at
    random; so has the training set of the rows that are left. A class has at least one row in
    each training set, so a class with a single row is never tested.

    With ``groups``, each group is on one side as a whole. The number of groups on each side is
    in proportion to its rows, and the sizes in rows are approximate: of 16 draws, the one
    whose numbers of rows, and of rows of each class, are nearest to what is asked for is
    taken. Groups of very different sizes, or few of them, leave a larger difference.

    References
    ----------
    .. [1] P. Burman (1989). A comparative study of ordinary cross-validation, v-fold
       cross-validation and the repeated learning-testing methods. Biometrika 76, 503-514.
    .. [2] M. Hoffman, B. Shahriari and N. de Freitas (2014). On correlation and budget
       constraints in model-based bandit optimization with application to automatic machine
       learning. AISTATS, section 6.2.

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

    # Read by scikit-learn's metadata routing, by this name: groups are used if given.
    __metadata_request__split: ClassVar = {"groups": True}

    def __init__(
        self,
        n_splits: int = 10,
        *,
        train_size: float | None = None,
        test_size: float | None = 0.2,
        stratify: bool | str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_splits = n_splits
        self.train_size = train_size
        self.test_size = test_size
        self.stratify = stratify
        self.random_state = random_state

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Generate the first ``n_splits`` training and test sets.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The data; only the number of rows matters.
        y : array-like of shape (n_samples,) or None, default=None
            The target, for stratification.
        groups : array-like of shape (n_samples,) or None, default=None
            Group labels: rows of a group stay together.

        Yields
        ------
        train, test : ndarray of int
            Row numbers, increasing.
        """
        n_splits = self.get_n_splits()
        stream = self.stream(X, y, groups)
        for repetition in range(n_splits):
            yield stream.split(repetition)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X, y, groups : object
            Ignored.
        """
        if not isinstance(self.n_splits, Integral) or self.n_splits < 1:
            raise ValueError(
                f"n_splits must be a positive integer; got {self.n_splits!r}. "
                "Use `stream` for as many splits as needed."
            )
        return int(self.n_splits)

    def stream(self, X: Any, y: Any = None, groups: Any = None) -> SplitStream:
        """Return the endless stream of training and test sets.

        Parameters
        ----------
        X, y, groups : object
            As for `split`.

        Returns
        -------
        stream : SplitStream
            Its ``split(j)`` is the j-th that `split` yields, if ``random_state`` is an int.
        """
        X, y, groups = indexable(X, y, groups)
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        n_train, n_test = side_sizes(n_rows, self.train_size, self.test_size)
        strata = np.zeros(n_rows, dtype=np.intp)
        classes = self._classes(y, n_train, n_test)
        if classes is not None:
            strata = np.unique(classes, return_inverse=True)[1]
        seed = seed_of_stream(self.random_state)
        if groups is None:
            return SplitStream(LearningTesting(n_train, n_test, seed, strata))
        codes = group_codes(groups, at_least=2)
        table = class_table(codes, strata)
        return SplitStream(GroupLearningTesting(n_train, n_test, seed, codes, table))

    def _classes(self, y: Any, n_train: int, n_test: int) -> npt.NDArray[Any] | None:
        """Return y where splits are stratified by it, else None."""
        is_auto = isinstance(self.stratify, str) and self.stratify == "auto"
        if not (is_auto or isinstance(self.stratify, bool)):
            raise ValueError(
                f"stratify must be True, False or 'auto'; got {self.stratify!r}. "
                "Classes are taken from y."
            )
        if not self.stratify:
            return None
        if not has_classes(y):
            if is_auto:
                return None
            kind = "no y" if y is None else f"a y of type {type_of_target(y)!r}"
            raise ValueError(
                f"stratify=True needs a binary or multiclass y; got {kind}. "
                "Use stratify=False or 'auto'."
            )
        classes = column_or_1d(y)
        counts = np.unique(classes, return_counts=True)[1]
        if is_auto and len(counts) > min(n_train, n_test):
            return None
        _check_classes(counts, n_train, n_test)
        return np.asarray(classes)


@dataclass(frozen=True)
class _DrawnSplits:
    """Draws splits one by one, each from a seed of its own.

    Parameters
    ----------
    n_train, n_test : int
        Rows wanted on each side.
    seed : SeedSequence
        The seed of the stream.
    """

    n_train: int
    n_test: int
    seed: np.random.SeedSequence
    block_length = 1

    def block(self, index: int) -> Sequence[Split]:
        """Return one split."""
        return [self._draw(np.random.default_rng(seed_of_repetition(self.seed, index)))]

    def _draw(self, rng: np.random.Generator) -> Split:
        raise NotImplementedError


@dataclass(frozen=True)
class LearningTesting(_DrawnSplits):
    """Draws rows, stratified.

    Parameters
    ----------
    n_train, n_test, seed
        As for `_DrawnSplits`.
    strata : int array of shape (n_rows,)
        The class of each row.
    """

    strata: Rows

    def _draw(self, rng: np.random.Generator) -> Split:
        return draw_rows(self.strata, self.n_train, self.n_test, rng)


@dataclass(frozen=True)
class GroupLearningTesting(_DrawnSplits):
    """Draws whole groups, as nearly stratified as they allow.

    Parameters
    ----------
    n_train, n_test, seed
        As for `_DrawnSplits`.
    group_codes : int array of shape (n_rows,)
        The group of each row.
    table : int array of shape (n_groups, n_classes)
        Rows of each class in each group.
    """

    group_codes: Rows
    table: npt.NDArray[np.int64]

    def _draw(self, rng: np.random.Generator) -> Split:
        side = np.zeros(len(self.table), dtype=np.int8)
        train, test = draw_groups(self.table, self.n_train, self.n_test, rng)
        side[train], side[test] = 1, 2
        side_of_row = side[self.group_codes]
        return np.flatnonzero(side_of_row == 1), np.flatnonzero(side_of_row == 2)


def has_classes(y: Any) -> bool:
    """Return whether y is binary or multiclass."""
    if y is None:
        return False
    with warnings.catch_warnings():  # many distinct values: it may be a regression target
        warnings.simplefilter("ignore")
        try:
            return type_of_target(y) in ("binary", "multiclass")
        except (TypeError, ValueError):  # missing values, or values without an order
            return False


def group_codes(groups: Any, at_least: int) -> Rows:
    """Return the groups numbered from 0."""
    labels = column_or_1d(check_array(groups, input_name="groups", ensure_2d=False, dtype=None))
    names, codes = np.unique(labels, return_inverse=True)
    if len(names) < at_least:
        raise ValueError(
            f"groups must hold at least {at_least} groups, one for each side of a split; got "
            f"{len(names)}. Leave groups out to split rows."
        )
    return codes


def _check_classes(counts: Rows, n_train: int, n_test: int) -> None:
    """Refuse training sets that cannot hold every class; warn of classes hardly tested."""
    if len(counts) > n_train:
        raise ValueError(
            "train_size must leave a training row for each class; got "
            f"{n_train} training rows for {len(counts)} classes. Use a larger train_size, or "
            "stratify=False."
        )
    if len(counts) > n_test:
        warnings.warn(
            f"The test sets of {n_test} rows cannot hold all {len(counts)} classes of y. "
            "A larger test_size would.",
            UserWarning,
            stacklevel=4,
        )
    elif counts.min() < 2:
        warnings.warn(
            "The least populated class in y has only 1 member: it is in every training set "
            "and never tested.",
            UserWarning,
            stacklevel=4,
        )
