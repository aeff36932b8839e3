"""The race in the last rung: an arm that is behind the best one on one split is dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray

Z = 1.0
"""Number of standard errors by which a dropped arm is behind."""


@dataclass(frozen=True)
class Incumbent:
    """The best arm of earlier brackets.

    Parameters
    ----------
    rewards : ndarray of shape (n_repetitions,)
        Its rewards.
    deviation : float
        Standard deviation of a single reward around the effects of its arm and of its split.
    """

    rewards: FloatArray
    deviation: float

    @classmethod
    def of(cls, tables: Sequence[FloatArray]) -> Incumbent | None:
        """Return the best arm, given rewards of shape (n_arms, n_repetitions) in each table.

        It is None if fewer than two arms have a reward on each split.
        """
        table = np.concatenate([*tables, np.empty((0, tables[0].shape[1]))]) if tables else None
        if table is None or len(table := table[~np.isnan(table).any(axis=1)]) < 2:
            return None
        means = table.mean(axis=1)
        residuals = table - means[:, np.newaxis] - table.mean(axis=0) + table.mean()
        n_free = (len(table) - 1) * (table.shape[1] - 1)
        deviation = np.sqrt((residuals**2).sum() / n_free)
        return cls(table[means.argmax()], float(deviation))

    def is_ahead_of(self, rewards: FloatArray, repetition: int) -> BoolArray:
        """Return which rewards on a split are behind by more than the noise, or NaN."""
        lead = self.rewards[repetition] - rewards
        is_close: BoolArray = lead <= Z * np.sqrt(2) * self.deviation
        return ~is_close

    def corrected(self, rewards: FloatArray, repetition: int) -> FloatArray:
        """Return estimates of the means of arms from their rewards on one split."""
        estimates: FloatArray = self.rewards.mean() + rewards - self.rewards[repetition]
        return estimates
