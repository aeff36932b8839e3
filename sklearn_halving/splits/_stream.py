"""Streams of train/test splits, repeated learning-testing, and the variance of a mean.

The repetition is part of the seed, so splits do not depend on their order.

Random splits and partitions of rows or groups are systematic samples: units are sorted by
stratum, in random order within strata, and taken at even distances. Every unit is equally likely
to be taken, and the number of units from a stratum is its expected value, rounded up or down at
random. Rounding to the nearest integer, as in `StratifiedShuffleSplit`, would never test a class
with few rows.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import (
    BaseCrossValidator,
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeavePGroupsOut,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
)
from sklearn.utils import check_array, check_random_state, column_or_1d, indexable
from sklearn.utils.multiclass import type_of_target

from sklearn_halving._checks import check_count, refuse_unless
from sklearn_halving._typing import CvResults, Params, RandomState, Splitter
from sklearn_halving._unstable_imports import num_samples
from sklearn_halving._user_warnings import warn_user

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


RandomSource = RandomState | np.random.SeedSequence | None
Split = tuple[Rows, Rows]

MAX_KEPT_ROWS = 15_000_000
"""Largest number of row numbers that a stream keeps (60 MB), if more than one block."""


def seed_of_stream(random_state: RandomSource) -> np.random.SeedSequence:
    """Return the seed of a stream.

    Parameters
    ----------
    random_state : int, RandomState instance, SeedSequence or None
        An int or a SeedSequence is used as it is. From a RandomState (NumPy's global one for
        None) a new seed is drawn in every call.
    """
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    rng = check_random_state(random_state)  # raises scikit-learn's error for invalid values
    if isinstance(random_state, Integral):
        return np.random.SeedSequence(int(random_state))
    return np.random.SeedSequence(rng.randint(2**32, size=4, dtype=np.uint32).tolist())


def seed_of_repetition(seed: np.random.SeedSequence, repetition: int) -> np.random.SeedSequence:
    """Return the seed of one repetition."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, repetition))


def narrow(rows: Rows) -> Rows:
    """Return row numbers as 32-bit integers, half the memory, if they are not too large."""
    return rows.astype(np.int32, copy=False) if rows.max(initial=0) < 2**31 else rows


@dataclass(frozen=True)
class SplitStream:
    """Train and test rows for each repetition 0, 1, 2, ...

    The split of a repetition depends neither on the number of requested splits nor on their
    order. Splits are made on request, and recent ones are cached. A stream is thread-safe. A
    pickle does not contain the cache.

    Parameters
    ----------
    make_block : callable
        Called with the index of a block, from 0; returns its splits, such as the folds of a
        partition. It must return the same splits in every call.
    block_length : int, default=1
        The number of splits in a block.
    n_repetitions : int or None, default=None
        The number of splits; None if there is no limit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.splits import RepeatedLearningTesting
    >>> X = np.zeros((10, 1))
    >>> stream = RepeatedLearningTesting(test_size=3, random_state=0).stream(X)
    >>> train, test = stream.split(1000)  # there is no last one
    >>> len(train), len(test)
    (7, 3)

    Folds of a partition that is shuffled again and again:

    >>> from sklearn.model_selection import KFold
    >>> from sklearn_halving.splits import SplitStream
    >>> def shuffled_folds(index):
    ...     return list(KFold(5, shuffle=True, random_state=index).split(range(20)))
    >>> stream = SplitStream(shuffled_folds, block_length=5)
    >>> train, test = stream.split(12)  # the third fold of block 2
    >>> len(train), len(test)
    (16, 4)
    """

    make_block: Callable[[int], Sequence[Split]]
    block_length: int = 1
    n_repetitions: int | None = None
    _kept: dict[int, Sequence[Split]] = field(default_factory=dict, repr=False, compare=False)

    def split(self, repetition: int) -> Split:
        """Return the training and the test rows of a repetition.

        Parameters
        ----------
        repetition : int
            Number of the repetition, counted from 0.

        Returns
        -------
        train, test : ndarray of int
            Row numbers. They are copies and may be modified.
        """
        check_count("repetition", repetition, "It is counted from 0.", least=0)
        if self.n_repetitions is not None and repetition >= self.n_repetitions:
            raise IndexError(
                f"repetition must be below {self.n_repetitions}, the number of splits of cv; "
                f"got {repetition}. Use fewer repetitions, or a cv that can be reshuffled, such "
                "as RepeatedLearningTesting."
            )
        index, position = divmod(int(repetition), self.block_length)
        splits = self._kept.get(index)
        if splits is None:
            self._make_room()
            splits = self._kept[index] = self.make_block(index)
        train, test = splits[position]
        return train.astype(np.intp), test.astype(np.intp)

    def _make_room(self) -> None:
        """Drop the oldest blocks if there is no room for one more of about the same size."""
        kept = list(self._kept.items())  # other threads may change the dict meanwhile
        n_rows = sum(len(train) + len(test) for _, block in kept[-1:] for train, test in block)
        for place, (index, _) in enumerate(kept):
            if n_rows * (len(kept) - place + 1) > MAX_KEPT_ROWS:
                self._kept.pop(index, None)

    def __getstate__(self) -> dict[str, object]:
        return vars(self) | {"_kept": {}}


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
        stream = self.stream(X, y, groups)
        for repetition in range(self.get_n_splits()):
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
        is_default = self.train_size is None and self.test_size is None
        test_size = 0.2 if is_default else self.test_size
        sizes = ShuffleSplit(1, train_size=self.train_size, test_size=test_size, random_state=0)
        n_train, n_test = map(len, next(sizes.split(data)))
        strata = self._strata(y, num_samples(data), n_train, n_test)
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
        if not self.stratify or (is_auto and not has_classes(y)):
            return one_stratum
        if not has_classes(y):
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


def split_scores(results: CvResults, side: str) -> NDArray[np.float64]:
    """Return the scores of each split in ``cv_results_``, shape (n_candidates, n_splits)."""
    columns: list[NDArray[np.float64]] = []
    while (key := f"split{len(columns)}_{side}") in results:
        columns.append(results[key])
    return np.column_stack(columns)


def corrected_variance_of_mean(
    scores: ArrayLike, n_train: ArrayLike, n_test: ArrayLike
) -> NDArray[np.float64]:
    """Estimate the variance of a mean score over learning-testing splits.

    Scores of different splits are correlated because their training sets share rows, so
    ``s**2 / J`` underestimates the variance of the mean. The corrected resampled variance is
    ``(1 / J + n_test / n_train) * s**2``, where ``s**2`` is the sample variance of the J scores.
    Its square root is the standard error of the mean.

    Parameters
    ----------
    scores : array-like of shape (..., J)
        One score per split. NaN marks a split without a score, which is ignored.
    n_train, n_test : array-like of shape (...)
        Number of rows of a training set and a test set; broadcast against ``scores[..., 0]``.

    Returns
    -------
    variance : ndarray of shape (...)
        In squared units of the score; NaN if there are fewer than two scores.

    References
    ----------
    C. Nadeau and Y. Bengio (2003). Inference for the generalization error. Machine Learning
    52, 239-281, section 4 (corrected resampled t-test).

    Examples
    --------
    >>> from sklearn_halving.splits import corrected_variance_of_mean
    >>> scores = [[0.5, 0.7, 0.9], [0.5, 0.7, float("nan")]]
    >>> corrected_variance_of_mean(scores, n_train=80, n_test=20).round(4)
    array([0.0233, 0.015 ])
    """
    values = np.asarray(scores, dtype=np.float64)
    train = np.asarray(n_train, dtype=np.float64)
    test = np.asarray(n_test, dtype=np.float64)
    for name, given, size in (("n_train", n_train, train), ("n_test", n_test, test)):
        refuse_unless(bool(np.all(size > 0)), name, "be a positive number of rows", repr(given))
    refuse_unless(values.ndim > 0, "scores", "have a last axis over splits", repr(scores))
    is_known = ~np.isnan(values)
    n_scores = is_known.sum(axis=-1)
    with np.errstate(invalid="ignore"):  # infinite scores have variance NaN
        mean = np.where(is_known, values, 0.0).sum(axis=-1) / np.maximum(n_scores, 1)
        squares = np.where(is_known, values - mean[..., np.newaxis], 0.0) ** 2
        sample_variance = squares.sum(axis=-1) / np.maximum(n_scores - 1, 1)
    shares = 1.0 / np.maximum(n_scores, 1) + test / train
    return np.where(n_scores >= 2, shares * sample_variance, np.nan)


# Exact types: reshuffling would ignore the `split` method of a subclass.
K_FOLDS = (KFold, StratifiedKFold, GroupKFold, StratifiedGroupKFold)
REPEATED = {RepeatedKFold: KFold, RepeatedStratifiedKFold: StratifiedKFold}
SHUFFLE_SPLITS = (ShuffleSplit, StratifiedShuffleSplit, GroupShuffleSplit)
MAX_BLOCK_LENGTH = 10
"""Largest number of ShuffleSplit splits that are made together."""
NEED_GROUPS = (
    GroupKFold,
    StratifiedGroupKFold,
    GroupShuffleSplit,
    LeaveOneGroupOut,
    LeavePGroupsOut,
)


def split_stream(
    cv: Any,
    X: object,
    y: object = None,
    *,
    classifier: bool = False,
    random_state: RandomSource = None,
    **split_params: object,
) -> SplitStream:
    """Return a stream of splits for anything that GridSearchCV accepts as ``cv``.

    =======================  ==============================================================
    ``cv``                   stream
    =======================  ==============================================================
    None                     endless: `RepeatedLearningTesting` with 20 % test rows
    int, k-fold splitter     endless: repetition j is fold ``j % k`` of reshuffle ``j // k``
    repeated k-fold          the same, beyond its own repeats
    ShuffleSplit family      endless: drawn again with other seeds
    with method ``stream``   the stream that it returns
    others, iterables        finite: its splits, requested once
    =======================  ==============================================================

    K-fold splitters are KFold, StratifiedKFold, GroupKFold and StratifiedGroupKFold. Subclasses
    belong to the last row, since they may split in another way.

    If a splitter returns the same splits in every call (not shuffled, or with an integer
    ``random_state``), the stream starts with exactly these splits.

    Parameters
    ----------
    cv : int, splitter, iterable of (train, test), or None
        The ``cv`` parameter. An iterable yields row numbers or boolean masks.
    X : array-like of shape (n_samples, ...)
        The data.
    y : array-like or None, default=None
        The target.
    classifier : bool, default=False
        Whether the estimator is a classifier, for which None and an int mean stratified splits.
    random_state : int, RandomState instance, SeedSequence or None, default=None
        Seed of the reshuffles, if the ``random_state`` of ``cv`` is None.
    **split_params
        Parameters of ``cv.split``, such as ``groups``.

    Returns
    -------
    stream : SplitStream
        The splits. Its ``n_repetitions`` is None if the stream is endless.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import TimeSeriesSplit
    >>> from sklearn_halving.splits import split_stream
    >>> X = np.zeros((6, 1))
    >>> stream = split_stream(3, X, random_state=0)
    >>> [stream.split(j)[1].tolist() for j in range(3)]  # the folds of KFold(3)
    [[0, 1], [2, 3], [4, 5]]
    >>> print(stream.n_repetitions)  # endless
    None
    >>> split_stream(TimeSeriesSplit(4), X).n_repetitions
    4
    """
    if cv is None:
        cv = RepeatedLearningTesting(stratify=bool(classifier) and has_classes(y))
    cv = check_cv(cv, y, classifier=classifier)
    if isinstance(cv, RepeatedLearningTesting) and cv.random_state is None:
        cv = copy.copy(cv)
        cv.random_state = random_state
    if hasattr(cv, "stream"):
        return cv.stream(X, y, **split_params)
    reshuffles = _reshuffles(cv, X, y, split_params, random_state)
    if reshuffles is None:
        splits = listed_splits(cv, X, y, split_params)
        return SplitStream([splits].__getitem__, len(splits), len(splits))  # a single block
    stream = SplitStream(reshuffles, reshuffles.block_length)
    stream.split(0)  # invalid splitters raise scikit-learn's own error here
    return stream


@dataclass(frozen=True)
class Reshuffles:
    """Block m holds the splits of the m-th reshuffle.

    Parameters
    ----------
    own : Splitter
        The splitter of the user.
    n_own : int
        Number of blocks of its own splits; 0 if they differ between calls.
    shuffled : Any
        A splitter of one block, which is copied and given a ``random_state``.
    seed : numpy.random.SeedSequence
        The seed of the stream.
    params : Params
        Parameters of ``split``.
    block_length : int
        The number of splits of a block.
    """

    own: Splitter
    n_own: int
    shuffled: Any
    seed: np.random.SeedSequence
    # The data.
    X: object
    y: object
    params: Params
    block_length: int

    def __call__(self, index: int) -> Sequence[Split]:
        """Return the splits of a reshuffle."""
        if index < self.n_own:
            start = index * self.block_length
            splits = self.own.split(self.X, self.y, **self.params)
            return _as_rows(islice(splits, start, start + self.block_length), self.X)
        seed = seed_of_repetition(self.seed, index)
        if type(self.shuffled) is StratifiedGroupKFold and index > 0:
            # It assigns groups in the order of their size, for any seed. If group sizes differ,
            # all its reshuffles would be the same partition.
            groups = group_codes(self.params["groups"], at_least=self.block_length)
            classes = np.unique(column_or_1d(self.y), return_inverse=True)[1]
            folds = deal_groups(groups, classes, self.block_length, np.random.default_rng(seed))
            return _as_rows(((folds != f, folds == f) for f in range(self.block_length)), self.X)
        splitter = copy.copy(self.shuffled)
        splitter.random_state = int(seed.generate_state(1)[0])
        # Splitters that ignore groups warn in every call; once is enough.
        params = self.params if index == 0 or isinstance(splitter, NEED_GROUPS) else {}
        return _as_rows(splitter.split(self.X, self.y, **params), self.X)


def _reshuffles(
    cv: Any, X: object, y: object, params: Params, random_state: RandomSource
) -> Reshuffles | None:
    """Return the reshuffles of a splitter, or None if it cannot be reshuffled."""
    if type(cv) in REPEATED:
        n_blocks = cv.n_repeats
        length = cv.get_n_splits(X, y) // n_blocks
        shuffled = REPEATED[type(cv)](length, shuffle=True)
    elif type(cv) in K_FOLDS:
        n_blocks, length = 1, cv.n_splits
        shuffled = copy.copy(cv)
        shuffled.shuffle = True
    elif type(cv) in SHUFFLE_SPLITS and cv.n_splits > 0:
        length = max(d for d in range(1, MAX_BLOCK_LENGTH + 1) if cv.n_splits % d == 0)
        n_blocks = cv.n_splits // length
        shuffled = copy.copy(cv)
        shuffled.n_splits = length
    else:
        return None
    seed = seed_of_stream(random_state if cv.random_state is None else cv.random_state)
    is_constant = isinstance(cv.random_state, Integral) or not getattr(cv, "shuffle", True)
    return Reshuffles(cv, n_blocks if is_constant else 0, shuffled, seed, X, y, params, length)


def listed_splits(cv: Splitter, X: object, y: object, params: Params) -> list[Split]:
    """Return all splits of a splitter, which is called only once."""
    n_splits = cv.get_n_splits(X, y, **params)
    splits = _as_rows(cv.split(X, y, **params), X)
    if not splits:
        raise ValueError(
            "No fits were performed. Was the CV iterator empty? Were there no candidates? "
            "A generator can be used only once: pass a list of its splits."
        )
    if len(splits) != n_splits:
        raise ValueError(
            "cv.split and cv.get_n_splits return inconsistent results. "
            f"Expected {n_splits} splits, got {len(splits)}"
        )
    return splits


def _as_rows(splits: Iterable[tuple[object, object]], X: object) -> list[Split]:
    """Return the splits as row numbers; a splitter may yield row numbers or boolean masks."""
    n_rows = num_samples(X)
    return [(row_numbers(train, n_rows), row_numbers(test, n_rows)) for train, test in splits]


def row_numbers(selection: object, n_rows: int) -> Rows:
    """Convert the output of a splitter, row numbers or a boolean mask, to row numbers."""
    rows = np.asarray(selection)
    if rows.dtype == bool and rows.shape == (n_rows,):
        rows = np.flatnonzero(rows)
    is_whole = rows.ndim == 1 and (rows.dtype.kind in "iu" or not rows.size)  # [] has floats
    is_known = is_whole and bool(((rows >= -n_rows) & (rows < n_rows)).all())
    rule = f"yield positions of rows, from 0 to {n_rows - 1}, or a mask of {n_rows} rows"
    advice = "index.get_indexer(labels) turns labels of a DataFrame's index into positions."
    refuse_unless(is_known, "cv", rule, f"{rows.ravel()[:3]} and so on", advice)
    return narrow(rows.astype(np.intp, copy=False))
