"""Convert the ``cv`` parameter of scikit-learn to a stream of splits."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import (
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
from sklearn.utils import column_or_1d

from sklearn_halving._checks import refuse_unless
from sklearn_halving._typing import Params, Splitter
from sklearn_halving._unstable_imports import num_samples
from sklearn_halving.splits._draws import Rows, deal_groups
from sklearn_halving.splits._stream import (
    RandomSource,
    RepeatedLearningTesting,
    Split,
    SplitStream,
    group_codes,
    has_classes,
    narrow,
    seed_of_repetition,
    seed_of_stream,
)

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
    belong to the last row, since they may split in their own way.

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
        Seed of the reshuffles, if ``cv`` has no ``random_state`` of its own.
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
    >>> stream.n_repetitions is None
    True
    >>> split_stream(TimeSeriesSplit(4), X).n_repetitions
    4
    """
    if cv is None:
        cv = RepeatedLearningTesting(stratify=bool(classifier) and has_classes(y))
    cv = check_cv(cv, y, classifier=classifier)
    check_groups(cv, split_params)
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
    """Block m holds the splits of the m-th reshuffle."""

    own: Splitter
    """The splitter of the user."""
    n_own: int
    """Number of blocks of its own splits; 0 if they differ between calls."""
    shuffled: Any
    """A splitter of one block, which is copied and given a ``random_state``."""
    seed: np.random.SeedSequence
    """The seed of the stream."""
    # The data.
    X: object
    y: object
    params: Params
    """Parameters of ``split``."""
    block_length: int
    """The number of splits of a block."""

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


def check_groups(cv: object, params: Params) -> None:
    """Raise if a splitter of scikit-learn needs groups and there are none."""
    if isinstance(cv, NEED_GROUPS) and params.get("groups") is None:
        raise ValueError(
            f"The 'groups' parameter should not be None. {type(cv).__name__} needs a group "
            "label for each row. Pass groups to fit, or use a cv without groups."
        )


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
