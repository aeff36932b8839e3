"""What a policy is, and the few types that it exchanges with its caller.

Everything here is NumPy only. A leading ``*batch`` in a shape means any number of
leading axes: ``()`` inside a search, ``(n_problems,)`` inside a simulation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

NO_ARM = -1
"""Stands in ``Pulls.arm`` where a problem of a batch has nothing to pull."""


class Pull(NamedTuple):
    """One evaluation: the key of its randomness, its record and its place in a table.

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


class Pulls(NamedTuple):
    """Several pulls as arrays of shape ``(*batch, n)``.

    An entry whose arm is ``NO_ARM`` is padding and is not to be pulled.

    Examples
    --------
    >>> from sklearn_halving.policies import Pull, Pulls
    >>> pulls = Pulls.of(Pull(arm=4, level=1, repetition=0), Pull(arm=2, level=9, repetition=1))
    >>> pulls.level
    array([1, 9])
    >>> [pull.arm for pull in pulls.each()]
    [4, 2]
    """

    arm: IntArray
    level: IntArray
    repetition: IntArray

    @classmethod
    def of(cls, *pulls: Pull) -> Pulls:
        """Return single pulls as arrays of shape ``(len(pulls),)``."""
        if len(pulls) == 1:  # as a policy that decides after every pull is told; it is quicker
            return cls(*(np.array([number]) for number in pulls[0]))
        columns = np.array(pulls, dtype=np.int64).reshape(-1, 3).T
        return cls(*columns)

    def each(self) -> Iterator[Pull]:
        """Yield the pulls of an unbatched set one by one, padding left out."""
        columns = (self.arm.tolist(), self.level.tolist(), self.repetition.tolist())
        for arm, level, repetition in zip(*columns, strict=True):
            if arm != NO_ARM:
                yield Pull(arm, level, repetition)

    def __len__(self) -> int:
        return int(self.arm.shape[-1])


@dataclass(frozen=True)
class Problem:
    """All that a policy knows at the start.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    min_level, max_level : int
        Smallest and largest amount of resource, in whole units.
    max_repetitions : int or None
        Number of splits on which an arm can be pulled at one level; None if there is no end
        of them.
    n_available : int or None
        Number of different candidates among which the arms were drawn, where it is smaller
        than the number of arms: the same candidate can be an arm of several brackets.
    tie_break : tuple of int or None
        One number for each arm. A policy that uses them keeps the arms with the smaller numbers
        among equal ones. None: the smaller arms.

    Examples
    --------
    Three candidates, fitted on all there is, on as many splits as the policy asks for:

    >>> from sklearn_halving.policies import Problem, UniformAllocation
    >>> policy = UniformAllocation(n_pulls=6)
    >>> state = policy.start(Problem(n_arms=3))
    >>> policy.ask(state, 4).arm
    array([0, 0, 1, 1])
    """

    n_arms: int
    min_level: int = 1
    max_level: int = 1
    max_repetitions: int | None = None
    n_available: int | None = None
    tie_break: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Rung:
    """``n_arms`` arms that stand at ``level`` units of the resource.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    level : int
        Amount of resource, in whole units.
    n_repetitions : int or None, default=None
        On how many of the splits each arm is compared, the first ones; None means all.
    first_repetition : int, default=0
        How many of these splits the rung before has pulled at the same level.

    Examples
    --------
    >>> from sklearn_halving.policies import SuccessiveHalving
    >>> schedule = SuccessiveHalving(n_arms=4, budget=24).schedule(1, 100)
    >>> rung = schedule.brackets[0].rungs[0]
    >>> rung.n_arms, rung.level, rung.n_pulls(max_repetitions=5)
    (4, 3, 20)
    """

    n_arms: int
    level: int
    n_repetitions: int | None = None
    first_repetition: int = 0

    def n_splits(self, max_repetitions: int | None) -> int:
        """Return on how many splits an arm is compared, where there are so many."""
        n_all = max_repetitions or 1
        return n_all if self.n_repetitions is None else min(self.n_repetitions, n_all)

    def n_pulls(self, max_repetitions: int | None) -> int:
        """Return the number of pulls of all arms, where there are so many splits."""
        return self.n_arms * (self.n_splits(max_repetitions) - self.first_repetition)


@dataclass(frozen=True)
class Bracket:
    """A sequence of rungs.

    Parameters
    ----------
    label : int
        The paper's s: the number of eliminations that were planned for the bracket.
    rungs : tuple of Rung
        From the widest and cheapest to the narrowest and dearest.
    loop : int, default=0
        Which run of the outer loop the bracket belongs to.

    Examples
    --------
    >>> from sklearn_halving.policies import Hyperband
    >>> bracket = Hyperband().schedule(1, 9).brackets[0]
    >>> bracket.label, [(rung.n_arms, rung.level) for rung in bracket.rungs]
    (2, [(9, 1), (3, 3), (1, 9)])
    """

    label: int
    rungs: tuple[Rung, ...]
    loop: int = 0

    @property
    def n_arms(self) -> int:
        """Number of arms with which the bracket starts; one arm needs no rung."""
        return self.rungs[0].n_arms if self.rungs else 1

    def n_pulls(self, max_repetitions: int | None) -> int:
        """Return the number of pulls of all rungs, where there are so many splits."""
        return sum(rung.n_pulls(max_repetitions) for rung in self.rungs)

    def rung_of(self, level: int, repetition: int) -> int:
        """Return the number of the rung that pulls at this level on this split."""
        at_level = [i for i, rung in enumerate(self.rungs) if rung.level == level]
        return max(i for i in at_level if self.rungs[i].first_repetition <= repetition)


@dataclass(frozen=True)
class Schedule:
    """The brackets that a policy will play, known before the first pull.

    Examples
    --------
    >>> from sklearn_halving.policies import Bracket, Rung, Schedule
    >>> schedule = Schedule((Bracket(1, (Rung(3, 1), Rung(1, 3))), Bracket(0, (Rung(2, 3),))))
    >>> schedule.n_arms, schedule.n_pulls
    (5, 6)
    >>> schedule.bracket_of_arm()
    array([0, 0, 0, 1, 1])
    """

    brackets: tuple[Bracket, ...]

    @property
    def n_arms(self) -> int:
        """Number of arms of all brackets together; no arm is in two brackets."""
        return sum(bracket.n_arms for bracket in self.brackets)

    @property
    def n_pulls(self) -> int:
        """Number of (arm, level) pairs: of pulls, if there is one split."""
        return self.n_pulls_on(1)

    def n_pulls_on(self, max_repetitions: int | None) -> int:
        """Return the number of pulls, where there are so many splits."""
        return sum(bracket.n_pulls(max_repetitions) for bracket in self.brackets)

    def bracket_of_arm(self) -> IntArray:
        """Return the index in ``brackets`` of each arm, shape ``(n_arms,)``."""
        sizes = [bracket.n_arms for bracket in self.brackets]
        return np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)


@dataclass(frozen=True)
class Stage:
    """A part of a search between two decisions about who stays in play.

    Parameters
    ----------
    n_arms : int
        The most arms that are in play at a time.
    n_pulls : int
        The most pulls, of all arms together.
    level : int
        The level of the pulls.

    Examples
    --------
    >>> from sklearn_halving.policies import Problem, VarianceHalving
    >>> for stage in VarianceHalving(n_pulls=60).describe(Problem(n_arms=5)).stages:
    ...     print(stage)
    Stage(n_arms=5, n_pulls=23, level=1)
    Stage(n_arms=3, n_pulls=18, level=1)
    Stage(n_arms=2, n_pulls=19, level=1)
    """

    n_arms: int
    n_pulls: int
    level: int


@dataclass(frozen=True)
class PolicyDescription:
    """What a caller may know of a policy before the first pull; every field has a default.

    Parameters
    ----------
    stages : tuple of Stage, default=()
        The stages in the order in which they are played. Empty if there are none, or if nobody
        knows beforehand how many there will be. Rungs are in the `Schedule`.
    max_pulls : int or None, default=None
        The number of pulls that is never exceeded; None if the policy has no such number.
    window : int or None, default=None
        How many pulls a search has open at a time. None leaves it to the search: 8 for a policy
        whose decisions depend on the order of the rewards, else as many as there are workers for.
    plays_levels : bool, default=False
        Whether the policy pulls at several levels; else all pulls are at the largest.
    factor : float, default=3.0
        The ratio of neighbouring levels, where the policy plays several.
    ranks_by_level : bool, default=True
        Whether an arm that was pulled at a larger level is ahead of all that were not.
    n_dimensions : int or None, default=None
        The dimensions of the cube whose points the policy makes its arms of; None if it chooses
        among given arms.
    n_arms : int or None, default=None
        The most arms that such a policy makes.
    arms_may_arrive : bool, default=False
        Whether each arm may be made when it is asked for the first time. The policy then has a
        method ``rungs_before``, which returns what is known of the others.
    reward_range : (float, float) or None, default=None
        Smallest and largest reward for which the policy's bounds hold; None if it needs no range.
    confidence : float or None, default=None
        The probability with which the choice is right if `is_confident` says so.

    Examples
    --------
    >>> from sklearn_halving.policies import LUCB, Problem, SuccessiveRejects
    >>> description = SuccessiveRejects(n_pulls=20).describe(Problem(n_arms=3))
    >>> description.max_pulls, description.stages[0]
    (20, Stage(n_arms=3, n_pulls=15, level=1))
    >>> LUCB(delta=0.1).describe().confidence
    0.9
    """

    stages: tuple[Stage, ...] = ()
    max_pulls: int | None = None
    window: int | None = None
    plays_levels: bool = False
    factor: float = 3.0
    ranks_by_level: bool = True
    n_dimensions: int | None = None
    n_arms: int | None = None
    arms_may_arrive: bool = False
    reward_range: tuple[float, float] | None = None
    confidence: float | None = None


@runtime_checkable
class Policy(Protocol):
    """What decides the next pulls: a frozen dataclass of parameters.

    All that changes lives in the state that `start` makes and the other methods take. Rewards
    are larger-is-better; NaN is worse than every number. These members are required.
    `BasePolicy` has defaults for what a policy may say besides.

    Examples
    --------
    Every policy is played in the same way:

    >>> from sklearn_halving.policies import Policy, Problem, SuccessiveRejects
    >>> policy = SuccessiveRejects(n_pulls=20)
    >>> isinstance(policy, Policy)
    True
    >>> state = policy.start(Problem(n_arms=4))
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=8)
    ...     policy.tell(state, pulls, rewards=-abs(pulls.arm - 2.0))
    >>> int(policy.recommend(state))
    2
    """

    order_free: ClassVar[bool]
    """Whether decisions depend on the set of outcomes told, not on their order."""

    def schedule(
        self, min_level: int, max_level: int, n_available: int | None = None
    ) -> Schedule | None:
        """Return the planned brackets, or None if the policy adapts as it goes.

        ``n_available`` is the number of candidates there are; None: no end of them.
        """

    def start(
        self,
        problem: Problem,
        *,
        batch_shape: tuple[int, ...] = (),
        seed: np.random.SeedSequence | None = None,
    ) -> Any:
        """Return the state before the first pull."""

    def ask(self, state: Any, max_pulls: int) -> Pulls:
        """Return at most ``max_pulls`` pulls; none means: tell me something first."""

    def tell(self, state: Any, pulls: Pulls, rewards: FloatArray) -> None:
        """Take in the rewards, shape ``(*batch, n)``, of pulls that were asked for."""

    def is_finished(self, state: Any) -> bool:
        """Return whether there is nothing left to ask, in any problem of the batch."""

    def is_alive(self, state: Any) -> BoolArray:
        """Return which arms may still be pulled, shape ``(*batch, n_arms)``."""

    def recommend(self, state: Any) -> IntArray:
        """Return the arm to choose, shape ``batch``; ``NO_ARM`` if none has a reward."""
