"""What index policies share that stop when they are sure enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_halving.policies._types import NO_ARM, BoolArray, FloatArray, IntArray, Pulls
from sklearn_halving.policies.bases._base_policy import ConfidentPolicy
from sklearn_halving.policies.bases._index_policy import IndexPolicy, IndexState
from sklearn_halving.policies.bases._parameter_checks import RewardRange, width_of_range


@dataclass
class Caution:
    """What a policy with a guarantee remembers.

    Parameters
    ----------
    is_outside : ndarray of bool of shape (n_problems,)
        Where a reward was not in the range on which the guarantee rests.
    queued : ndarray of int of shape (n_problems,)
        The arm that is to be pulled next, whatever its index; ``NO_ARM`` if there is none.
    comparison : object
        What was found when the last reward was told.
    """

    is_outside: BoolArray
    queued: IntArray
    comparison: Any = None


class FixedConfidencePolicy(ConfidentPolicy, IndexPolicy):
    """An index policy with its own test of when to stop."""

    reward_range: RewardRange | None
    max_pulls: int | None

    def _width(self) -> float:
        return width_of_range(self, self.reward_range)

    def _most_pulls(self) -> int | None:
        return self.max_pulls

    def _first_memory(self, state: IndexState, seed: np.random.SeedSequence | None) -> Caution:
        return Caution(np.zeros(len(state.rows), dtype=bool), np.full(len(state.rows), NO_ARM))

    def _learn(self, state: IndexState, row: IntArray, pulled: Pulls, rewards: FloatArray) -> None:
        low, high = self.reward_range or (-np.inf, np.inf)
        state.memory.is_outside[row] |= (rewards < low) | (rewards > high)

    def is_confident(self, state: Any) -> BoolArray:
        """Return where the search ended by its own test, so that the guarantee holds.

        False where it goes on, where ``max_pulls`` or the splits ended it, and where a reward was
        outside of ``reward_range``; shape ``batch``.
        """
        confident: BoolArray = state.is_decided & ~state.memory.is_outside
        return confident.reshape(state.batch_shape)
