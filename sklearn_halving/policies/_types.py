"""The types that a policy exchanges with its caller. This module needs only NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple, overload

import numpy as np

from sklearn_halving.policies._arrays import FloatArray, IntArray

NO_ARM = -1
"""Stands for an arm where there is none, as in a recommendation before the first reward."""
MAX_SPLITS = 25
"""Maximum number of splits of an arm in a race, if there is no limit to them."""


class Pull(NamedTuple):
    """One evaluation of an arm. It is also the key of its random numbers and of its record.

    Parameters
    ----------
    arm : int
        Index of the candidate.
    level : int
        Amount of resource, in whole units of the resource.
    repetition : int
        Index of the train/test split.

    Examples
    --------
    >>> from sklearn_halving.policies import Pull
    >>> Pull(arm=4, level=9, repetition=0) in {Pull(4, 9, 0), Pull(4, 27, 0)}
    True
    """

    arm: int
    level: int
    repetition: int


@dataclass(frozen=True, eq=False)
class Pulls(Sequence[Pull]):
    """Many pulls as arrays of shape ``(n,)``, which is also a sequence of `Pull`.

    Examples
    --------
    >>> from sklearn_halving.policies import Pull, Pulls
    >>> pulls = Pulls.of([Pull(arm=4, level=1, repetition=0), Pull(arm=2, level=9, repetition=1)])
    >>> pulls.level
    array([1, 9])
    >>> [pull.arm for pull in pulls]
    [4, 2]
    """

    arm: IntArray
    level: IntArray
    repetition: IntArray

    @classmethod
    def of(cls, pulls: Sequence[Pull]) -> Pulls:
        """Return single pulls as arrays."""
        return cls(*np.array(pulls, dtype=np.int64).reshape(-1, 3).T)

    def __len__(self) -> int:
        return len(self.arm)

    def __iter__(self) -> Iterator[Pull]:
        columns = self.arm.tolist(), self.level.tolist(), self.repetition.tolist()
        return map(Pull, *columns)

    @overload
    def __getitem__(self, index: int) -> Pull: ...
    @overload
    def __getitem__(self, index: slice) -> Pulls: ...
    def __getitem__(self, index: int | slice) -> Pull | Pulls:
        columns = self.arm[index], self.level[index], self.repetition[index]
        return Pulls(*columns) if isinstance(index, slice) else Pull(*map(int, columns))


@dataclass(frozen=True)
class Problem:
    """Everything that a policy knows at the start.

    Parameters
    ----------
    n_arms : int, default=1
        Number of arms. A policy that plans brackets determines it by itself.
    min_level, max_level : int, default=1
        Smallest and largest amount of resource, in whole units.
    max_repetitions : int or None
        Number of splits on which an arm can be pulled at one level; None if it is unlimited.
    n_available : int or None
        Number of different candidates from which the arms were drawn, if it is smaller than the
        number of arms. The same candidate can be an arm of several brackets.
    tie_break : tuple of int or None
        One number for each arm. If arms are tied, a policy that breaks ties keeps those with the
        smallest numbers. None keeps the arms with the smallest indices.
    reward_range : (float, float) or None
        Smallest and largest possible reward, for policies that need it and do not have it.
    overlap : float
        Size of a test set divided by the size of a training set; 0 for independent rewards.

    Examples
    --------
    Three candidates at a single level, without a limit on the splits:

    >>> from sklearn_halving.policies import Problem, UniformAllocation
    >>> policy = UniformAllocation(n_pulls=6)
    >>> game = policy.start(Problem(n_arms=3))
    >>> game.ask(4).arm
    array([0, 0, 1, 1])
    """

    n_arms: int = 1
    min_level: int = 1
    max_level: int = 1
    max_repetitions: int | None = None
    n_available: int | None = None
    tie_break: tuple[int, ...] | None = None
    reward_range: tuple[float, float] | None = None
    overlap: float = 0.0

    def check(self, policy: object, pull: Pull) -> None:
        """Raise if a policy asks for a pull that the problem does not have."""
        last = inf if self.max_repetitions is None else self.max_repetitions - 1
        ranges = (0, self.n_arms - 1), (self.min_level, self.max_level), (0, last)
        for name, number, (low, high) in zip(pull._fields, pull, ranges, strict=True):
            if not low <= number <= high:
                rule = f"policy must ask for {name}s from {low} to {high}, got {number} from"
                raise ValueError(f"{rule} {policy!r}.")


class ScoresAtLevel(NamedTuple):
    """Arms in increasing order, a level, and the mean rewards of the arms at that level.

    Examples
    --------
    >>> from sklearn_halving.policies import BudgetedRace, Problem
    >>> game = BudgetedRace(n_pulls=10).start(Problem(n_arms=5, max_repetitions=2))
    >>> [pull] = game.ask(max_pulls=1)
    >>> game.tell(pull, 0.75)
    >>> list(game.scores())
    [ScoresAtLevel(arms=array([0]), level=1, means=array([0.75]))]
    """

    arms: IntArray
    level: int
    means: FloatArray


class Belief(NamedTuple):
    """What a policy with a model believes about its arms, in units of reward.

    Parameters
    ----------
    mean, deviation : ndarray of shape (n_arms,)
        Posterior mean and standard deviation.
    lower, upper : ndarray of shape (n_arms,)
        The bounds that the next round would compare.
    regret_bounds : ndarray of shape (n_rounds,)
        Upper bound of the regret of the leader in each round.
    """

    mean: FloatArray
    deviation: FloatArray
    lower: FloatArray
    upper: FloatArray
    regret_bounds: FloatArray
