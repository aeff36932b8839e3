"""What an environment is: all that `simulate` asks of it."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from sklearn_halving.policies._types import FloatArray, IntArray
from sklearn_halving.simulation._randomness import Randomness


class Arms(Protocol):
    """The arms of many problems, drawn: what they are worth and what a pull of them gives."""

    @property
    def values(self) -> FloatArray:
        """What each arm is worth, larger is better, shape ``(n_problems, n_arms)``."""

    @property
    def best_value(self) -> FloatArray:
        """What regret is measured from, shape ``(n_problems,)``."""

    @property
    def candidate(self) -> IntArray | None:
        """The candidate that each arm is, shape ``(n_problems, n_arms)``; None: arm i is i."""

    def rewards(
        self, problem: IntArray, arm: IntArray, level: IntArray, repetition: IntArray
    ) -> FloatArray:
        """Return the rewards of pulls, larger is better; all arrays of shape ``(n_pulls,)``."""


@runtime_checkable
class Environment(Protocol):
    """What problems are drawn from: a frozen dataclass of parameters."""

    @property
    def n_arms(self) -> int | None:
        """Number of arms of each problem; None: as many as the policy's schedule has."""

    @property
    def min_level(self) -> int:
        """The smallest level of a pull."""

    @property
    def max_level(self) -> int:
        """The largest level of a pull."""

    @property
    def max_repetitions(self) -> int | None:
        """Number of splits on which an arm can be pulled at one level; None: no end of them."""

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """The smallest and largest reward that is possible; None: no such numbers."""

    def draw(self, randomness: Randomness, n_arms: int) -> Arms:
        """Return the arms of ``randomness.n_problems`` problems."""
