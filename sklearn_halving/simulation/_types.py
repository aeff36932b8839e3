"""What an environment is: all that `simulate` asks of it."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from sklearn_halving.policies._types import FloatArray, IntArray
from sklearn_halving.simulation._randomness import Randomness


class Arms(Protocol):
    """The arms of many problems, drawn: what they are worth and what a pull of them gives.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.simulation import BernoulliArms, Randomness
    >>> environment = BernoulliArms([0.2, 0.9])
    >>> randomness = Randomness.of(np.random.SeedSequence(0), n_problems=3)
    >>> arms = environment.draw(randomness, n_arms=2)
    >>> arms.values.shape, arms.best_value
    ((3, 2), array([0.9, 0.9, 0.9]))
    """

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
    """What problems are drawn from: a frozen dataclass of parameters.

    Examples
    --------
    >>> from sklearn_halving.simulation import Environment, GaussianArms
    >>> environment = GaussianArms([0.0, 0.5, 1.0], sds=2.0)
    >>> isinstance(environment, Environment), environment.n_arms, environment.max_level
    (True, 3, 1)
    """

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
