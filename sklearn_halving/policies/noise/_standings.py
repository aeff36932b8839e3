"""What rewards on few splits say about many arms: posterior means, a leader and its rivals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._types import NO_ARM, Pull
from sklearn_halving.policies.noise._additive_model import WILD, fit_table
from sklearn_halving.policies.noise._noise_estimates import LARGEST

PRIOR_FREEDOM, PRIOR_NOISE = 1, 0.1
"""Prior of the noise of a split: a tenth of the variance of the arms, worth one degree of freedom.
"""
LEAST_PROBABILITY = 0.03
"""An arm that is better than the leader with a smaller probability is not pulled again."""
LEAST_SPREAD = 0.1
"""Least variance of the arms, as a part of the variance of their scores."""


N_DIGITS = 12
"""Means that differ only in later digits are equal."""


def has_enough_splits(n_splits: IntArray, n_all: int, is_baseline: BoolArray) -> BoolArray:
    """Return which arms can be the best: those on all splits, or on half of the most splits.

    The splits of the baseline say nothing about the others, as it has them from the start.
    """
    is_complete, of_others = n_splits >= n_all, n_splits[~is_baseline]
    if (of_others >= n_all).any():
        return is_complete
    return is_baseline | (2 * n_splits >= of_others.max(initial=0))


@dataclass(frozen=True)
class Standings:
    """What the rewards at the largest level say about the arms.

    Parameters
    ----------
    arms : ndarray of int of shape (n_arms,)
    n_splits : ndarray of int of shape (n_arms,)
    adjusted : ndarray of shape (n_arms,)
        Means without the effects of the splits; infinite if a reward was clipped.
    mean, variance : ndarray of shape (n_arms,)
        The posterior means, which are shrunk towards the median, and their variances.
    noise : float
        Variance of a reward around the mean of its arm.
    spread : float
        Variance of the arms.
    n_all : int
        Number of splits of a complete arm.
    baseline : int or None
        An arm that has its splits from the start.
    """

    arms: IntArray
    n_splits: IntArray
    adjusted: FloatArray
    mean: FloatArray
    variance: FloatArray
    noise: float
    spread: float
    n_all: int
    baseline: int | None = None

    @classmethod
    def of(
        cls, arms: IntArray, table: FloatArray, n_all: int, baseline: int | None = None
    ) -> Standings:
        """Return the standings after rewards of shape (n_arms, n_splits)."""
        if not len(arms):
            none = np.zeros(0)
            return cls(arms, arms, none, none, none, 0.0, 0.0, n_all, baseline)
        known, table = ~np.isnan(table), np.clip(table, -LARGEST, LARGEST)
        n_splits = known.sum(axis=1)
        usual = max(abs(np.nanmax(table)), abs(np.nanmedian(table)))
        # A fit that diverged counts for its arm, but says nothing about its split.
        is_regular = ~(table < -WILD * usual).any(axis=1)
        effects, squares, freedom = _split_effects(table[(n_splits > 1) & is_regular])
        values = np.where(known, table - effects, 0.0)
        adjusted = values.sum(axis=1) / n_splits
        different = _different(table)
        centre = float(np.median(adjusted[different]))
        better = different[adjusted[different] >= centre]
        spread = float(((adjusted[better] - centre) ** 2).mean())
        noise = (squares + PRIOR_FREEDOM * PRIOR_NOISE * spread) / (freedom + PRIOR_FREEDOM)
        of_arms = max(
            spread - noise * float((1 / n_splits[better]).mean()), LEAST_SPREAD * spread, 1e-30
        )
        weight = of_arms / (of_arms + noise / n_splits)
        mean = centre + weight * (adjusted - centre)
        adjusted[np.abs(adjusted) * 2 * table.shape[1] > LARGEST] *= np.inf  # clipped on a split
        variance = weight * noise / n_splits
        return cls(arms, n_splits, adjusted, mean, variance, noise, of_arms, n_all, baseline)

    @cached_property
    def leader(self) -> int:
        """The best arm of those with enough splits."""
        enough = has_enough_splits(self.n_splits, self.n_all, self.arms == self.baseline)
        return next((int(self.arms[row]) for row in self.order if enough[row]), NO_ARM)

    @cached_property
    def order(self) -> IntArray:
        """The rows from the largest to the smallest mean; of equal arms, the first one first."""
        mean = self.mean if len(self.mean) else np.zeros(1)
        scale = max(abs(mean.max()), abs(np.median(mean))) or 1.0  # whatever diverged
        order: IntArray = np.argsort(-np.round(self.mean / scale, N_DIGITS), kind="stable")
        return order

    @property
    def n_needed(self) -> float:
        """Number of splits on which the noise of a mean is as small as the spread of the arms."""
        return max(1.0, min(self.noise / (self.spread or 1.0), self.n_all))

    def n_asked(self, in_flight: Iterable[Pull]) -> IntArray:
        """Return the number of splits of each arm, with those in flight."""
        n_open = Counter(pull.arm for pull in in_flight)
        return self.n_splits + np.array([n_open[arm] for arm in self.arms.tolist()], np.int64)

    def next_to_confirm(self, most: int, in_flight: Iterable[Pull]) -> int:
        """Return the arm that is pulled on a further split; ``NO_ARM`` if none is in doubt.

        It is the closest rival of the arm with the largest mean, or this arm if it has no more
        splits than that, or too few to be the leader.
        """
        n_asked = self.n_asked(in_flight)
        first = int(self.mean.argmax())
        gap = self.mean - self.mean[first]
        better = ndtr(gap / np.sqrt(self.variance + self.variance[first] + 1e-300))
        may_win = (better >= LEAST_PROBABILITY) & (n_asked < most)
        may_win[first] = False
        if not may_win.any():
            enough = has_enough_splits(n_asked, self.n_all, self.arms == self.baseline)
            return NO_ARM if enough[first] else int(self.arms[first])
        rival = int(np.where(may_win, better / np.sqrt(n_asked), -1.0).argmax())
        leads = n_asked[first] <= n_asked[rival] and n_asked[first] < most
        return int(self.arms[first if leads else rival])


def _split_effects(table: FloatArray) -> tuple[FloatArray, float, float]:
    """Return the effects of splits, the sum of squared residuals and its degrees of freedom."""
    n_splits, table = table.shape[1], table[_different(table)]
    known = ~np.isnan(table)
    if not known.any():
        return np.zeros(n_splits), 0.0, 0.0
    fit = fit_table(table)
    residual = np.where(known, table - fit.mean[:, np.newaxis], 0.0)
    effects: FloatArray = residual.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return effects, float(fit.squares.sum()), float(fit.freedom.sum())


def _different(table: FloatArray) -> IntArray:
    """Return the rows without copies, whose scores are all scores of a row with more."""
    known = ~np.isnan(table)
    n_splits, is_copy = known.sum(axis=1), np.full(len(table), True)
    for scores, is_known in zip(table.T, known.T, strict=True):
        order = np.lexsort((-n_splits, scores))
        is_first = np.append(True, np.diff(scores[order]) != 0)[: len(order)]
        is_copy[order] &= ~(is_first & is_known[order])
    different: IntArray = np.flatnonzero(~is_copy)
    return different
