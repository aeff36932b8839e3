"""What a stream of splits is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Rows: TypeAlias = npt.NDArray[np.intp]
Split: TypeAlias = tuple[Rows, Rows]

MAX_KEPT_ROWS = 10_000_000
"""Row numbers that a stream keeps at most (80 MB), the newest block of splits aside."""


class SplitSource(Protocol):
    """Makes splits by the block, a k-fold partition at a time; a pure function of the index.

    Examples
    --------
    >>> from sklearn.model_selection import KFold
    >>> from sklearn_halving.splits import SplitStream
    >>> class ShuffledFolds:
    ...     block_length = 5
    ...     def block(self, index):
    ...         return list(KFold(5, shuffle=True, random_state=index).split(range(20)))
    >>> stream = SplitStream(ShuffledFolds())
    >>> train, test = stream.split(12)  # the third fold of block 2
    >>> len(train), len(test)
    (16, 4)
    """

    @property
    def block_length(self) -> int:
        """The number of splits of a block."""

    def block(self, index: int) -> Sequence[Split]:
        """Return the splits of a block: the same at every call."""


@dataclass(frozen=True)
class FixedSplits:
    """The splits that a splitter gave when it was asked for them: a single block."""

    splits: tuple[Split, ...]

    @property
    def block_length(self) -> int:
        """The number of splits."""
        return len(self.splits)

    def block(self, index: int) -> Sequence[Split]:
        """Return all splits."""
        return self.splits


@dataclass(frozen=True)
class SplitStream:
    """Train and test rows for each repetition 0, 1, 2, ...

    The split of a repetition does not depend on how many are asked for, nor on the order.
    Splits are made when they are asked for, and the last ones are kept. A stream may be used
    from several threads; pickling leaves the kept splits out.

    Parameters
    ----------
    source : SplitSource
        Makes the splits.
    n_repetitions : int or None, default=None
        The number of splits there are; None if there is no end.

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
    """

    source: SplitSource
    n_repetitions: int | None = None
    # Never changed in place but replaced, so that threads at worst make a block twice.
    _kept: dict[int, Sequence[Split]] = field(default_factory=dict, repr=False, compare=False)

    def split(self, repetition: int) -> Split:
        """Return the training and the test rows of a repetition.

        Parameters
        ----------
        repetition : int
            Counted from 0.

        Returns
        -------
        train, test : ndarray of int
            Row numbers; copies, which may be changed.
        """
        index, position = divmod(self._checked(repetition), self.source.block_length)
        splits = self._kept.get(index)
        if splits is None:
            splits = self.source.block(index)
            self._keep(index, splits)
        train, test = splits[position]
        return train.copy(), test.copy()

    def _checked(self, repetition: int) -> int:
        if not isinstance(repetition, Integral):
            raise TypeError(
                f"repetition must be an integer; got {repetition!r}. Repetitions are counted "
                "from 0."
            )
        if repetition < 0:
            raise IndexError(
                f"repetition must not be negative; got {repetition}. Repetitions are counted "
                "from 0."
            )
        if self.n_repetitions is not None and repetition >= self.n_repetitions:
            raise IndexError(
                f"repetition must be below {self.n_repetitions}, the number of splits that cv "
                f"gave; got {repetition}. Ask for fewer repetitions, or use a cv that can be "
                "reshuffled, such as RepeatedLearningTesting."
            )
        return int(repetition)

    def _keep(self, index: int, splits: Sequence[Split]) -> None:
        kept = {**self._kept, index: splits}
        n_rows = sum(len(train) + len(test) for train, test in splits)
        n_blocks = max(1, MAX_KEPT_ROWS // max(1, n_rows))
        object.__setattr__(self, "_kept", dict(list(kept.items())[-n_blocks:]))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
