"""A pivoted Cholesky factor of the prior covariance, with rows for the pulled arms only."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sklearn_halving.policies._types import FloatArray
from sklearn_halving.policies.posterior._arm_covariance import ArmCovariance

RANK_TOLERANCE = 1e-10
"""Unexplained variance, relative to the largest variance, below which an arm needs no feature."""

NUGGET = 1e-11
"""Variance that is added to the diagonal for pulled arms, relative to the largest variance. For
some orders of pulls, the factor of a nearly singular covariance would be inaccurate without it."""


@dataclass
class PriorFeatures:
    """Features f of all arms with ``G = sum f f'`` for the arms that have been pulled.

    They depend only on the prior, so that all problems of a batch share them.

    Parameters
    ----------
    covariance : ArmCovariance
    """

    covariance: ArmCovariance
    n_rows: int = field(init=False, default=0)
    unexplained: FloatArray = field(init=False)
    """Prior variance that the features so far do not explain, shape ``(n_arms,)``."""
    _buffer: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        """Start without features."""
        self.unexplained = np.array(self.covariance.diagonal, dtype=np.float64)
        self._buffer = np.zeros((0, len(self.unexplained)))
        self._largest = float(self.unexplained.max())

    @property
    def rows(self) -> FloatArray:
        """The features, shape ``(n_rows, n_arms)``; a view."""
        return self._buffer[: self.n_rows]

    def cover(self, arm: int) -> bool:
        """Add a feature if the arm is not fully explained. Return whether one was added."""
        left = float(self.unexplained[arm])
        if left == 0:
            return False
        n, nugget = self.n_rows, NUGGET * self._largest
        row = self.covariance.column(arm) - self._buffer[:n, arm] @ self._buffer[:n]
        row[arm] += nugget
        row /= np.sqrt(left + nugget)
        self._make_room()
        self._buffer[n] = row
        self.n_rows += 1
        row *= row
        self.unexplained -= row
        self.unexplained[arm] = 0.0
        self._check(arm)
        self.unexplained[self.unexplained <= RANK_TOLERANCE * self._largest] = 0.0
        return True

    def cover_all(self, max_rows: int) -> None:
        """Add features until all arms are explained, starting with the least explained arm."""
        while self.n_rows < max_rows and self.cover(int(self.unexplained.argmax())):
            pass

    def _check(self, arm: int) -> None:
        worst = int(self.unexplained.argmin())
        if self.unexplained[worst] < -1e-6 * self._largest:
            raise ValueError(
                "covariance must be positive semi-definite; arms "
                f"{arm} and {worst} are more alike than their variances allow, by "
                f"{-self.unexplained[worst]:.3g}. Use another kernel, or add to its diagonal."
            )

    def _make_room(self) -> None:
        n_max, n_arms = self._buffer.shape
        if self.n_rows == n_max:
            # Memory pages are only allocated when they are written.
            larger = np.zeros((min(n_arms, max(16, 2 * n_max)), n_arms))
            larger[:n_max] = self._buffer
            self._buffer = larger
