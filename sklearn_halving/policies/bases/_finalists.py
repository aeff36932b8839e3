"""The best arm of earlier brackets, against which the arms of a last rung race on one split."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from scipy.special import ndtr, stdtrit

from sklearn_halving.policies._arrays import BoolArray, FloatArray

Z = 1.0
"""Number of standard errors by which a dropped arm is behind."""
MAX_FINALISTS = 100
"""Number of latest finalists from which the noise is estimated."""
MIN_SPLITS = 3
"""With fewer splits there is no race: the noise would be known too badly."""


@dataclass(frozen=True)
class Incumbent:
    """The best arm of earlier brackets."""

    rewards: FloatArray
    """Its rewards. Shape ``(n_repetitions,)``."""
    tolerance: float
    """The largest difference on one split with which another arm is not behind."""

    def is_ahead_of(self, rewards: FloatArray, repetition: int) -> BoolArray:
        """Return which rewards on a split are behind by more than the noise, or NaN."""
        is_close: BoolArray = self.rewards[repetition] - rewards <= self.tolerance
        return ~is_close

    def corrected(self, rewards: FloatArray, repetition: int) -> FloatArray:
        """Return estimates of the means of arms from their rewards on one split."""
        return self.rewards.mean() + rewards - self.rewards[repetition]


def noise_tolerance(table: FloatArray) -> float | None:
    """Return `Z` standard errors of a difference on one split, None if nothing is known.

    Parameters
    ----------
    table : ndarray of shape (n_arms, n_repetitions)
        Finite rewards. Equal arms count once, as they say nothing about the noise. The noise is
        what the effects of the arms and of the splits do not explain. The quantile of Student's
        distribution takes into account that few arms tell little about it.
    """
    table = np.unique(table, axis=0)
    n_free = (len(table) - 1) * (table.shape[1] - 1)
    if n_free < 1:
        return None
    means = table.mean(axis=1, keepdims=True)
    residuals = table - means - table.mean(axis=0) + table.mean()
    variance = (residuals**2).sum() / n_free
    return float(stdtrit(n_free, ndtr(Z)) * np.sqrt(2 * variance))


@dataclass
class Finalists:
    """The arms with a reward on each split, added in the order of their brackets."""

    incumbents: list[Incumbent | None] = field(default_factory=lambda: [None])
    """The incumbent after the first 0, 1, 2, ... brackets."""
    _best: FloatArray | None = None
    _latest: deque[FloatArray] = field(default_factory=partial(deque, maxlen=MAX_FINALISTS))

    def add(self, rewards: FloatArray) -> None:
        """Add the arms of the last rung of a bracket, shape (n_arms, n_repetitions)."""
        for row in rewards[np.isfinite(rewards).all(axis=1)]:
            self._latest.append(row)
            if self._best is None or row.mean() > self._best.mean():
                self._best = row
        incumbent = None
        if self._best is not None:
            tolerance = noise_tolerance(np.array(self._latest))
            incumbent = None if tolerance is None else Incumbent(self._best, tolerance)
        self.incumbents.append(incumbent)
