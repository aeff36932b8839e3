"""The protocol of a policy, and the types that it exchanges with its caller.

This module needs only NumPy. ``*batch`` in a shape stands for any number of leading axes: ``()``
in a search, ``(n_problems,)`` in a simulation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Seed, Shape

NO_ARM = -1
"""Padding of ``Pulls.arm``, for a problem of a batch that has nothing to pull."""


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


class Pulls(NamedTuple):
    """Several pulls as arrays of shape ``(*batch, n)``.

    An entry whose arm is ``NO_ARM`` is padding and must not be pulled.

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
        if len(pulls) == 1:  # faster, for policies that decide after every pull
            return cls(*(np.array([number]) for number in pulls[0]))
        columns = np.array(pulls, dtype=np.int64).reshape(-1, 3).T
        return cls(*columns)

    def each(self) -> Iterator[Pull]:
        """Yield the pulls one by one, without padding. There must be no batch axes."""
        columns = (self.arm.tolist(), self.level.tolist(), self.repetition.tolist())
        for arm, level, repetition in zip(*columns, strict=True):
            if arm != NO_ARM:
                yield Pull(arm, level, repetition)

    def __len__(self) -> int:
        return int(self.arm.shape[-1])


@dataclass(frozen=True)
class Problem:
    """Everything that a policy knows at the start.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    min_level, max_level : int
        Smallest and largest amount of resource, in whole units.
    max_repetitions : int or None
        Number of splits on which an arm can be pulled at one level; None if it is unlimited.
    n_available : int or None
        Number of different candidates from which the arms were drawn, if it is smaller than the
        number of arms. The same candidate can be an arm of several brackets.
    tie_break : tuple of int or None
        One number for each arm. If arms are tied, a policy that breaks ties keeps those with the
        smallest numbers. None keeps the arms with the smallest indices.

    Examples
    --------
    Three candidates at a single level, on as many splits as the policy asks for:

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

    def check(self, policy: Policy, pull: Pull) -> None:
        """Raise if a policy asks for a pull that the problem does not have."""
        last = inf if self.max_repetitions is None else self.max_repetitions - 1
        ranges = (0, self.n_arms - 1), (self.min_level, self.max_level), (0, last)
        for name, number, (low, high) in zip(pull._fields, pull, ranges, strict=True):
            if not low <= number <= high:
                rule = f"policy must ask for {name}s from {low} to {high}, got {number} from"
                raise ValueError(f"{rule} {policy!r}.")


@dataclass(frozen=True)
class Rung:
    """A set of arms that are compared at one level.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    level : int
        Amount of resource, in whole units.
    n_repetitions : int or None, default=None
        Number of splits on which each arm is compared, counted from the first; None means all.
    first_repetition : int, default=0
        Number of these splits on which the previous rung has already pulled the arms at the same
        level.

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
        """Return the number of splits on which an arm is compared, given the number of splits."""
        n_all = max_repetitions or 1
        return n_all if self.n_repetitions is None else min(self.n_repetitions, n_all)

    def n_pulls(self, max_repetitions: int | None) -> int:
        """Return the number of pulls of all arms, given the number of splits."""
        return self.n_arms * (self.n_splits(max_repetitions) - self.first_repetition)


@dataclass(frozen=True)
class Bracket:
    """A sequence of rungs.

    Parameters
    ----------
    label : int
        Number of planned eliminations (s in the paper).
    rungs : tuple of Rung
        From the smallest level, with the most arms, to the largest level.
    loop : int, default=0
        Index of the run of the outer loop that the bracket belongs to.

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
        """Number of arms with which the bracket starts; 1 if there are no rungs."""
        return self.rungs[0].n_arms if self.rungs else 1

    def n_pulls(self, max_repetitions: int | None) -> int:
        """Return the number of pulls of all rungs, given the number of splits."""
        return sum(rung.n_pulls(max_repetitions) for rung in self.rungs)

    def rung_of(self, level: int, repetition: int) -> int:
        """Return the index of the rung that pulls at a level on a split."""
        at_level = [i for i, rung in enumerate(self.rungs) if rung.level == level]
        return max(i for i in at_level if self.rungs[i].first_repetition <= repetition)


@dataclass(frozen=True)
class Schedule:
    """The brackets that a policy plans before the first pull.

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
        """Total number of arms of all brackets. Brackets do not share arms."""
        return sum(bracket.n_arms for bracket in self.brackets)

    @property
    def n_pulls(self) -> int:
        """Number of pulls if there is one split."""
        return self.n_pulls_on(1)

    def n_pulls_on(self, max_repetitions: int | None) -> int:
        """Return the number of pulls, given the number of splits."""
        return sum(bracket.n_pulls(max_repetitions) for bracket in self.brackets)

    def bracket_of_arm(self) -> IntArray:
        """Return the index of the bracket of each arm, shape ``(n_arms,)``."""
        sizes = [bracket.n_arms for bracket in self.brackets]
        return np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)


@dataclass(frozen=True)
class Stage:
    """The part of a search between two decisions on which arms stay in play.

    Parameters
    ----------
    n_arms : int
        Maximum number of arms in play.
    n_pulls : int
        Maximum number of pulls of all arms together.
    level : int
        Level of the pulls.

    Examples
    --------
    >>> from sklearn_halving.policies import Problem, VarianceHalving
    >>> for stage in VarianceHalving(n_pulls=60).describe(Problem(n_arms=5)).stages:
    ...     print(stage)
    Stage(n_arms=5, n_pulls=30, level=1)
    Stage(n_arms=3, n_pulls=15, level=1)
    Stage(n_arms=2, n_pulls=15, level=1)
    """

    n_arms: int
    n_pulls: int
    level: int


class ScoresAtLevel(NamedTuple):
    """Arms in increasing order, a level, and the mean rewards of the arms at that level.

    Examples
    --------
    >>> from sklearn_halving.policies import BudgetedRace, Problem, Pull, Pulls
    >>> policy = BudgetedRace(n_pulls=10)
    >>> state = policy.start(Problem(n_arms=5, max_repetitions=2))
    >>> policy.tell(state, policy.ask(state, max_pulls=1), [0.75])
    >>> policy.scores(state)
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


@dataclass(frozen=True)
class PolicyDescription:
    """The properties of a policy that are known before the first pull.

    Parameters
    ----------
    stages : tuple of Stage, default=()
        The stages, in the order of play. Empty if there are none, or if their number is not known
        in advance. Rungs are described by the `Schedule` instead.
    max_pulls : int or None, default=None
        Maximum number of pulls; None if there is no maximum.
    is_exact : bool, default=False
        Whether all of these pulls are made, unless arms fail.
    window : int or None, default=None
        Number of pulls that a search keeps in flight. With None, it depends on the number of
        workers if the policy is ``order_free``. Otherwise it is an eighth of ``max_pulls``, but at
        most 20, or 8 if there is no maximum.
    plays_levels : bool, default=False
        Whether the policy pulls at several levels. If False, all pulls are at the largest level.
    factor : float, default=3.0
        Ratio of consecutive levels, if the policy pulls at several levels.
    ranks_by_level : bool, default=True
        Whether arms that were pulled at a larger level rank before all others.
    n_dimensions : int or None, default=None
        For a policy that creates its arms as points of a unit cube, the number of dimensions.
        None if the arms are given.
    n_arms : int or None, default=None
        Maximum number of arms that such a policy creates.
    eliminates : bool, default=False
        Whether arms that were eliminated in an earlier stage rank behind those of a later stage.
    breaks_ties : bool, default=False
        Whether the policy uses ``tie_break`` of the problem.
    reward_range : (float, float) or None, default=None
        Smallest and largest reward for which the bounds of the policy hold; None if it needs no
        range.
    confidence : float or None, default=None
        Probability that the choice is right if `is_confident` returns True; None if the policy
        has no such guarantee.

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
    is_exact: bool = False
    window: int | None = None
    plays_levels: bool = False
    factor: float = 3.0
    ranks_by_level: bool = True
    n_dimensions: int | None = None
    n_arms: int | None = None
    eliminates: bool = False
    breaks_ties: bool = False
    reward_range: tuple[float, float] | None = None
    confidence: float | None = None


@runtime_checkable
class Policy(Protocol):
    """The protocol of a policy, which decides the next pulls.

    A policy is a frozen dataclass of parameters. Everything that changes is in the state that
    `start` creates and the other methods receive. Larger rewards are better, and NaN is worse
    than every number. All members of this protocol are required. `BasePolicy` has defaults for
    the optional members of a policy.

    Examples
    --------
    All policies are used in the same way:

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
    """Whether the decisions depend only on the set of known rewards, and not on their order."""

    def schedule(
        self, min_level: int, max_level: int, n_available: int | None = None
    ) -> Schedule | None:
        """Return the planned brackets, or None if the policy has no fixed plan.

        ``n_available`` is the number of available candidates; None means unlimited.
        """

    def start(self, problem: Problem, *, batch_shape: Shape = (), seed: Seed = None) -> Any:
        """Return the state before the first pull."""

    def ask(self, state: Any, max_pulls: int) -> Pulls:
        """Return at most ``max_pulls`` pulls; none if the policy has to wait for rewards."""

    def tell(self, state: Any, pulls: Pulls, rewards: FloatArray) -> None:
        """Update the state with the rewards of pulls, shape ``(*batch, n)``."""

    def is_finished(self, state: Any) -> bool:
        """Return whether all problems of the batch are finished."""

    def is_alive(self, state: Any) -> BoolArray:
        """Return which arms may still be pulled, shape ``(*batch, n_arms)``."""

    def recommend(self, state: Any) -> IntArray:
        """Return the arm to choose, shape ``batch``; ``NO_ARM`` if none has a reward."""


@runtime_checkable
class GrowsArms(Protocol):
    """What a policy can do whose arms are created during the play, from the scores so far.

    Examples
    --------
    >>> from sklearn_halving.policies import BudgetedRace, GrowsArms, SuccessiveRejects
    >>> isinstance(BudgetedRace(10), GrowsArms), isinstance(SuccessiveRejects(10), GrowsArms)
    (True, False)
    """

    def arms_wanted(self, state: Any) -> Sequence[range]:
        """Return the groups of arms that the policy has asked for, in the order of creation."""

    def scores(self, state: Any) -> Sequence[ScoresAtLevel]:
        """Return what a sampler may know of a single problem."""


@runtime_checkable
class UsesTime(Protocol):
    """What a policy can do that plans by the measured times of its pulls.

    Examples
    --------
    >>> from sklearn_halving.policies import BudgetedRace
    >>> BudgetedRace().uses_time, BudgetedRace(n_pulls=10).uses_time
    (True, False)
    """

    @property
    def uses_time(self) -> bool:
        """Whether it does. Its pulls are then told in the order in which they return."""

    def record_time(
        self, state: Any, pull: Pull | None, seconds: float, left: float, n_workers: int
    ) -> None:
        """Take in the seconds of a pull before it is told, and those of the budget that are left.

        With None in place of a pull, only the time that is left has changed.
        """
