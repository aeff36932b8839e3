"""Random numbers that are a function of the problem and of their purpose.

Nothing is drawn sequentially: the noise of a pull depends only on the pull. Two policies therefore
get the same rewards for the same pulls, and neither the order of pulls nor the number of problems
played at a time matters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from sklearn_halving.policies._arrays import FloatArray, IntArray

KeyArray = npt.NDArray[np.uint64]

# One arbitrary odd number per position. Only the weighted sum of the counters is scrambled, and
# sums of small multiples of these numbers do not collide.
_WEIGHTS = tuple(
    np.uint64(weight | 1)
    for weight in np.random.SeedSequence(20151105).generate_state(6, np.uint64).tolist()
)
_MULTIPLIERS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_UNUSED_BITS = np.uint64(11)  # a float has 53 of 64


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
        if len(name) > len(_WEIGHTS):
            raise ValueError(
                f"A number is named by at most {len(_WEIGHTS)} whole numbers, got {len(name)}. "
                "Combine some of them into one."
            )
        # At least one axis, because NumPy warns of overflow of scalars, which is intended here.
        bits = self.keys[np.atleast_1d(problem)]
        for weight, place in zip(_WEIGHTS, name, strict=False):
            bits = bits + _product(place, weight)
        bits = _scramble(bits)
        bits >>= _UNUSED_BITS
        numbers = bits.astype(np.float64)
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


def _product(place: npt.ArrayLike, weight: np.uint64) -> KeyArray | np.uint64:
    """Return ``place * weight``, modulo 2^64."""
    if isinstance(place, int):
        return np.uint64(place * int(weight) % 2**64)
    return np.atleast_1d(place).astype(np.uint64) * weight


def _scramble(bits: KeyArray) -> KeyArray:
    """Return scrambled bits, each depending on all input bits, for arrays of at least one axis."""
    first, second = _MULTIPLIERS
    shift_1, shift_2, shift_3 = _SHIFTS
    bits = bits ^ (bits >> shift_1)
    bits *= first
    bits ^= bits >> shift_2
    bits *= second
    bits ^= bits >> shift_3
    return bits


def running_mean_noise(
    randomness: Randomness, problem: IntArray, arm: IntArray, repetition: IntArray, level: IntArray
) -> FloatArray:
    """Return the mean of the first ``level`` standard normal draws of each (arm, repetition).

    Means at several levels belong to one sequence of draws, which is never stored. The sum of the
    first draws is a Brownian motion, refined to the requested level by bisection (Lévy's
    construction).
    """
    name = problem, arm, repetition
    n_halvings = int(level.max(initial=1) - 1).bit_length()
    # The sums at powers of two do not depend on the requested levels, so that all calls agree:
    # start at 1 and double, then bisect.
    total = randomness.normal(*name, 1, 0)
    low, low_sum = np.zeros_like(level), np.zeros(len(level))
    high, high_sum = np.ones_like(level), total
    for k in range(n_halvings):
        goes_on = level > high
        step = randomness.normal(*name, 1, k + 1) * np.sqrt(2.0**k)
        low = np.where(goes_on, high, low)
        low_sum = np.where(goes_on, high_sum, low_sum)
        high_sum = np.where(goes_on, high_sum + step, high_sum)
        high = np.where(goes_on, 2 * high, high)
    while True:
        open_ = (level != high) & (level != low)
        if not open_.any():
            break
        middle = (low + high) // 2
        bridge = randomness.normal(*name, 2, low, high) * np.sqrt((high - low) / 4)
        middle_sum = (low_sum + high_sum) / 2 + bridge
        goes_up = open_ & (level >= middle)
        goes_down = open_ & ~goes_up
        low, low_sum = np.where(goes_up, middle, low), np.where(goes_up, middle_sum, low_sum)
        high, high_sum = (
            np.where(goes_down, middle, high),
            np.where(goes_down, middle_sum, high_sum),
        )
    return np.where(level == low, low_sum, high_sum) / level
