"""Tells arms that fail from splits on which nothing works."""

from __future__ import annotations

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray

N_DOUBTS = 2
"""A split is suspected to be broken if so many pulls failed there and none succeeded."""


class BrokenSplits:
    """The pulls that failed on splits on which no arm has a reward so far.

    As long as this is so, they say nothing about their arms. Each problem of the batch has its own
    splits. Arrays have one entry for each pull.
    """

    def __init__(self, n_problems: int) -> None:
        self.works = np.zeros((n_problems, 0), dtype=bool)
        """Whether an arm has a reward on a split, shape (n_problems, n_splits)."""
        self.doubtful = np.zeros((3, 0), dtype=np.int64)
        """Problems, arms and splits of the failed pulls."""

    def take_in(
        self, problem: IntArray, arm: IntArray, split: IntArray, rewards: FloatArray
    ) -> IntArray:
        """Record pulls, and return problems, arms and splits of pulls for which arms failed."""
        n_more = max(0, int(split.max(initial=-1)) + 1 - self.works.shape[1])
        self.works = np.pad(self.works, ((0, 0), (0, n_more)))
        is_lost = np.isnan(rewards)
        self.works[problem[~is_lost], split[~is_lost]] = True
        lost = np.stack([problem, arm, split])[:, is_lost]
        doubtful = np.concatenate([self.doubtful, lost], axis=1)
        is_at_fault = self.works[doubtful[0], doubtful[2]]
        self.doubtful = doubtful[:, ~is_at_fault]
        return doubtful[:, is_at_fault]

    def suspects(self) -> BoolArray:
        """Return which splits may be broken, shape (n_problems, n_splits)."""
        n_doubts = np.zeros(self.works.shape, dtype=np.int64)
        np.add.at(n_doubts, (self.doubtful[0], self.doubtful[2]), 1)
        return n_doubts >= N_DOUBTS
