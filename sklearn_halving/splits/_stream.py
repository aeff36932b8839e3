"""Streams of train/test splits, and their seeds.

The repetition is part of the seed, so splits do not depend on their order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from sklearn_halving._checks import check_count
from sklearn_halving._typing import RandomState

RandomSource = RandomState | np.random.SeedSequence | None
Rows: TypeAlias = npt.NDArray[np.intp]
Split: TypeAlias = tuple[Rows, Rows]

MAX_KEPT_ROWS = 5_000_000
"""Largest number of row numbers that a stream keeps (20 MB), if more than one block."""


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
    >>> stream.n_repetitions is None
    True
    >>> train, test = stream.split(1000)
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
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

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
            splits = self.make_block(index)
            with self._lock:
                self._kept[index] = splits
        train, test = splits[position]
        return train.astype(np.intp), test.astype(np.intp)

    def _make_room(self) -> None:
        """Drop the oldest blocks if there is no room for one more of about the same size."""
        with self._lock:
            newest = self._kept.get(next(reversed(self._kept), -1), ())
            n_rows = sum(len(train) + len(test) for train, test in newest)
            while self._kept and n_rows * (len(self._kept) + 1) > MAX_KEPT_ROWS:
                del self._kept[next(iter(self._kept))]

    def __getstate__(self) -> dict[str, object]:
        return vars(self) | {"_kept": {}, "_lock": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state, _lock=threading.Lock())
