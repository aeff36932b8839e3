"""Base class of index policies that stop at a given confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Seed
from sklearn_halving.policies._types import NO_ARM, Pulls
from sklearn_halving.policies.bases._base_policy import ConfidentPolicy
from sklearn_halving.policies.bases._index_policy import IndexPolicy, IndexState
from sklearn_halving.policies.bases._parameter_checks import (
    RewardRange,
    is_outside,
    width_of_range,
)


@dataclass
class Caution:
    """Memory of a policy with a guarantee."""

    is_outside: BoolArray
    """Whether a reward was outside of the range for which the guarantee holds.
    Shape ``(n_problems,)``."""
    queued: IntArray
    """The arm to pull next, independent of its index; ``NO_ARM`` if there is none.
    Shape ``(n_problems,)``."""
    comparison: Any = None
    """The comparison of the arms after the last reward."""
    radii: FloatArray | None = None
    """Half the width of the interval of an arm with 0, 1, ... pulls, if only that matters."""


class FixedConfidencePolicy(ConfidentPolicy, IndexPolicy):
    """Base class of index policies with a stopping rule."""

    reward_range: RewardRange | None
    max_pulls: int | None

    def _width(self) -> float:
        return width_of_range(self, self.reward_range)

    def _most_pulls(self) -> int | None:
        return self.max_pulls

    def _first_memory(self, state: IndexState, seed: Seed) -> Caution:
        return Caution(np.zeros(len(state.rows), dtype=bool), np.full(len(state.rows), NO_ARM))

    def _learn(self, state: IndexState, row: IntArray, pulled: Pulls, rewards: FloatArray) -> None:
        state.memory.is_outside[row] |= is_outside(self.reward_range, rewards)

    def is_confident(self, state: Any) -> BoolArray:
        """Return whether the stopping rule ended the search, so that the guarantee holds.

        The shape is ``batch``. False if the search is not finished, if it ended because of
        ``max_pulls`` or because no splits were left, or if a reward was outside of
        ``reward_range``.
        """
        confident: BoolArray = state.is_decided & ~state.memory.is_outside
        return confident.reshape(state.batch_shape)
