"""The protocol of an environment: everything that `simulate` needs from it."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from sklearn_halving.policies import Pulls
from sklearn_halving.policies._arrays import FloatArray, IntArray
from sklearn_halving.simulation._randomness import Randomness


class Arms(Protocol):
    """The drawn arms of many problems: their values and the rewards of pulls.

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
        """Value of each arm, larger is better, shape ``(n_problems, n_arms)``."""

    @property
    def best_value(self) -> FloatArray:
        """Value from which regret is measured, shape ``(n_problems,)``."""

    @property
    def candidate(self) -> IntArray | None:
        """Candidate number of each arm, shape ``(n_problems, n_arms)``; None: the arm itself."""

    def rewards(self, problem: IntArray, pulls: Pulls) -> FloatArray:
        """Return the rewards of pulls, larger is better; all arrays of shape ``(n_pulls,)``."""


@runtime_checkable
class Environment(Protocol):
    """A distribution of problems: a frozen dataclass of parameters.

    Examples
    --------
    >>> from sklearn_halving.simulation import Environment, GaussianArms
    >>> environment = GaussianArms([0.0, 0.5, 1.0], sds=2.0)
    >>> isinstance(environment, Environment), environment.n_arms, environment.max_level
    (True, 3, 1)
    """

    @property
    def n_arms(self) -> int | None:
        """Number of arms of each problem; None: as many as the schedule of the policy."""

    @property
    def min_level(self) -> int:
        """The smallest level of a pull."""

    @property
    def max_level(self) -> int:
        """The largest level of a pull."""

    @property
    def max_repetitions(self) -> int | None:
        """Number of splits on which an arm can be pulled at one level; None: unlimited."""

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """The smallest and the largest possible reward; None: unbounded."""

    def draw(self, randomness: Randomness, n_arms: int) -> Arms:
        """Return the arms of ``randomness.n_problems`` problems."""
