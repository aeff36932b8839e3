"""Random numbers that are a function of the problem and of their purpose.

Nothing is drawn sequentially: the noise of a pull depends only on the pull. Two policies therefore
get the same rewards for the same pulls, and neither the order of pulls nor the number of problems
played at a time matters. `Environment` and `Arms` are the protocols of what draws with them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from sklearn_halving.policies import Pulls
from sklearn_halving.policies._arrays import FloatArray, IntArray

KeyArray = npt.NDArray[np.uint64]

# One arbitrary odd number per position. Only the weighted sum of the counters is scrambled, and
# sums of small multiples of these numbers do not collide.
_WEIGHTS = tuple(
    np.uint64(weight | 1)
    for weight in np.random.SeedSequence(20151105).generate_state(6, np.uint64).tolist()
)


@dataclass(frozen=True, eq=False)
class Randomness:
    """Uniform and normal numbers, each identified by a problem and up to six integers.

    The same identifier gives the same number, and different identifiers give independent numbers:
    SplitMix64 of a weighted sum of the identifier.

    Parameters
    ----------
    keys : ndarray of uint64 of shape (n_problems,)
        One key for each problem.

    References
    ----------
    Steele, Lea and Flood. Fast splittable pseudorandom number generators. OOPSLA 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.simulation import Randomness
    >>> randomness = Randomness.of(np.random.SeedSequence(0), n_problems=2)
    >>> numbers = randomness.uniform([0, 0, 1, 0], 7, [1, 2, 1, 1])
    >>> bool(numbers[0] == numbers[3]), len(set(numbers))
    (True, 3)
    """

    keys: KeyArray

    @classmethod
    def of(cls, seed: np.random.SeedSequence, n_problems: int, first: int = 0) -> Randomness:
        """Return the randomness of problems ``first, first + 1, ...`` of a seed."""
        base = seed.generate_state(1, np.uint64)
        index = np.arange(first, first + n_problems).astype(np.uint64)
        return cls(_scramble(base + index * _WEIGHTS[0]))

    @property
    def n_problems(self) -> int:
        """Number of problems."""
        return len(self.keys)

    def uniform(self, problem: npt.ArrayLike, *name: npt.ArrayLike) -> FloatArray:
        """Return numbers between 0 and 1, both excluded.

        Parameters
        ----------
        problem : array-like of int
            Index of the problem.
        *name : array-like of int
            Nonnegative integers that identify the number. They are broadcast with ``problem`` to
            at least one axis.
        """
        # At least one axis, because NumPy warns of overflow of scalars, which is intended here.
        bits = self.keys[np.atleast_1d(problem)]
        for i, place in enumerate(name):
            bits = bits + np.atleast_1d(place).astype(np.uint64) * _WEIGHTS[i]  # modulo 2^64
        numbers = (_scramble(bits) >> np.uint64(11)).astype(
            np.float64
        )  # a float has 53 bits of 64
        numbers += 0.5
        numbers *= 2.0**-53
        return numbers

    def normal(self, problem: npt.ArrayLike, *name: npt.ArrayLike) -> FloatArray:
        """Return standard normal numbers, identified as in `uniform`."""
        return ndtri(self.uniform(problem, *name))

    def of_each_arm(self, kind: Callable[..., FloatArray], n_arms: int, *name: int) -> FloatArray:
        """Return one number for each arm of each problem, shape ``(n_problems, n_arms)``.

        Parameters
        ----------
        kind : callable
            `uniform` or `normal` of this object.
        n_arms : int
        *name : int
            Identifies the purpose of the numbers.
        """
        problem = np.arange(self.n_problems)[:, np.newaxis]
        return kind(problem, np.arange(n_arms), *name)


def _scramble(bits: KeyArray) -> KeyArray:
    """Return scrambled bits, each depending on all input bits, for arrays of at least one axis."""
    bits = bits ^ (bits >> np.uint64(30))
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return bits


def running_mean_noise(randomness: Randomness, problem: IntArray, pulls: Pulls) -> FloatArray:
    """Return the mean of the first ``level`` standard normal draws of each (arm, repetition).

    Means at several levels belong to one sequence of draws, which is never stored. The sum of the
    first draws is a Brownian motion, refined to the requested level by bisection (Lévy's
    construction).
    """
    level, name = pulls.level, (problem, pulls.arm, pulls.repetition)
    # The sums at powers of two do not depend on the requested levels, so that all calls agree:
    # start at 1 and double, then bisect.
    low, low_sum = np.zeros_like(level), np.zeros(len(level))
    high, high_sum = np.ones_like(level), randomness.normal(*name, 1, 0)
    for k in range(int(level.max(initial=1) - 1).bit_length()):
        step = randomness.normal(*name, 1, k + 1) * np.sqrt(2.0**k)
        up = level > high
        low[up], low_sum[up] = high[up], high_sum[up]
        high[up], high_sum[up] = 2 * high[up], high_sum[up] + step[up]
    while (is_open := (level != high) & (level != low)).any():
        middle = (low + high) // 2
        bridge = randomness.normal(*name, 2, low, high) * np.sqrt((high - low) / 4)
        middle_sum = (low_sum + high_sum) / 2 + bridge
        up, down = is_open & (level >= middle), is_open & (level < middle)
        low[up], low_sum[up] = middle[up], middle_sum[up]
        high[down], high_sum[down] = middle[down], middle_sum[down]
    return np.where(level == low, low_sum, high_sum) / level


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
        """Number of arms of each problem; None: the number that the policy plans."""

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
