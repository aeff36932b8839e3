"""The plan of a policy: brackets, which are sequences of rounds."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal

from sklearn_halving.policies._types import Problem, Pull

DEFAULT_WINDOW = 8
"""Pulls in flight of a policy that depends on the order of rewards, without window and budget.
With a budget, one of this many pulls of it is in flight, but at most `MAX_WINDOW`."""
MAX_WINDOW = 20


def default_window(max_pulls: int | None) -> int:
    """Return the number of pulls in flight for a policy that depends on the order of rewards.

    It must not depend on the number of workers. A policy that knows 7/8 of its rewards when it
    asks for the last pull decides almost as well as one that waits for every reward. Eight
    workers need about 20 pulls in flight, because the oldest is told first.
    """
    if max_pulls is None:
        return DEFAULT_WINDOW
    return min(max(max_pulls // DEFAULT_WINDOW, 1), MAX_WINDOW)


@dataclass(frozen=True)
class Round:
    """Arms that are pulled at one level: a rung, a stage, or all pulls of an adaptive policy.

    Parameters
    ----------
    n_arms : int
        Maximum number of arms in play at a time.
    level : int
        Amount of resource, in whole units.
    n_repetitions : int or None, default=None
        Number of splits on which each arm is compared, counted from the first; None means all.
    first_repetition : int, default=0
        The first of these splits that is new. On those before it, the previous round has pulled
        the arms at the same level.
    most_pulls : int or None, default=None
        Maximum number of pulls of all arms together. None is one of each arm on each split.
    is_open : bool, default=False
        Whether the number of pulls is not known, unless there is a maximum.

    Examples
    --------
    >>> from sklearn_halving.policies import Problem, SuccessiveHalving
    >>> plan = SuccessiveHalving(n_arms=4, budget=24).plan(Problem(4, max_level=100))
    >>> first = plan.brackets[0].rounds[0]
    >>> first.n_arms, first.level, first.n_pulls(max_repetitions=5)
    (4, 3, 20)
    """

    n_arms: int
    level: int
    n_repetitions: int | None = None
    first_repetition: int = 0
    most_pulls: int | None = None
    is_open: bool = False

    def n_splits(self, max_repetitions: int | None) -> int:
        """Return the number of splits on which an arm is compared, given the number of splits."""
        n_all = max_repetitions or 1
        return n_all if self.n_repetitions is None else min(self.n_repetitions, n_all)

    def n_pulls(self, max_repetitions: int | None) -> int | None:
        """Return the number of pulls of all arms, given the number of splits; None if unknown."""
        if self.most_pulls is not None or self.is_open:
            return self.most_pulls
        return self.n_arms * (self.n_splits(max_repetitions) - self.first_repetition)


@dataclass(frozen=True)
class Bracket:
    """A sequence of rounds.

    Parameters
    ----------
    label : int or None
        Number of planned eliminations (s in the paper). None if the rounds are not rungs, in which
        the arms that go on are compared, but stages.
    rounds : tuple of Round
        In the order of play. Rungs go from the smallest level, with the most arms, to the largest.
    loop : int, default=0
        Index of the run of the outer loop that the bracket belongs to.

    Examples
    --------
    >>> from sklearn_halving.policies import Hyperband, Problem
    >>> bracket = Hyperband().plan(Problem(max_level=9)).brackets[0]
    >>> bracket.label, [(rung.n_arms, rung.level) for rung in bracket.rounds]
    (2, [(9, 1), (3, 3), (1, 9)])
    """

    label: int | None
    rounds: tuple[Round, ...]
    loop: int = 0

    @property
    def n_arms(self) -> int:
        """Number of arms of the bracket; 1 if there are no rounds."""
        return max((each.n_arms for each in self.rounds), default=1)

    def n_pulls(self, max_repetitions: int | None) -> int:
        """Return the number of pulls of all rungs, given the number of splits."""
        return sum(rung.n_pulls(max_repetitions) or 0 for rung in self.rounds)


@dataclass(frozen=True)
class Plan:
    """What a policy plans for a problem before the first pull.

    Parameters
    ----------
    brackets : tuple of Bracket
        The brackets, which do not share arms. A policy without brackets has one of stages.
    max_pulls : int or None, default=None
        Maximum number of pulls of all rounds together. None is their sum.
    is_exact : bool, default=True
        Whether all of these pulls are made, unless arms fail.
    window : int or None, default=None
        Number of pulls that a search keeps in flight. With None, it depends on the number of
        workers if the policy is ``order_free``. Otherwise it is an eighth of the number of pulls,
        but at most 20, or 8 if there is no maximum.
    ranks_by : {"level", "stage", "score"}, default="score"
        Whether arms that reached a larger level, or a later stage, rank before all others.
    reward_range : (float, float) or None, default=None
        Smallest and largest reward for which the bounds of the policy hold; None if it needs no
        range.
    breaks_ties : bool, default=False
        Whether the policy uses ``tie_break`` of the problem.

    Examples
    --------
    >>> from sklearn_halving.policies import Hyperband, Problem, VarianceHalving
    >>> plan = Hyperband().plan(Problem(max_level=3))
    >>> plan.n_arms, plan.n_pulls(max_repetitions=5)
    (5, 30)
    >>> for stage in VarianceHalving(n_pulls=60).plan(Problem(n_arms=5)).brackets[0].rounds:
    ...     print(stage.n_arms, stage.most_pulls)
    5 30
    3 15
    2 15
    """

    brackets: tuple[Bracket, ...]
    max_pulls: int | None = None
    is_exact: bool = True
    window: int | None = None
    ranks_by: Literal["level", "stage", "score"] = "score"
    reward_range: tuple[float, float] | None = None
    breaks_ties: bool = False

    @property
    def has_rungs(self) -> bool:
        """Whether the rounds are the rungs of brackets, and not stages."""
        return self.brackets[0].label is not None

    def pulls_in_flight(self, order_free: bool) -> int | None:
        """Return the maximum number of pulls in flight; None if it does not matter."""
        known = order_free or self.window is not None
        return self.window if known else default_window(self.max_pulls)

    @property
    def n_arms(self) -> int:
        """Total number of arms of all brackets."""
        return self._first_arms[-1]

    def n_pulls(self, max_repetitions: int | None) -> int | None:
        """Return the maximum number of pulls, given the number of splits; None if unknown."""
        rounds = [each for bracket in self.brackets for each in bracket.rounds]
        pulls = [each.n_pulls(max_repetitions) for each in rounds]
        known = [] if self.max_pulls is None else [self.max_pulls]
        if None not in pulls:
            known.append(sum(n for n in pulls if n is not None))
        return min(known, default=None)

    @cached_property
    def _first_arms(self) -> list[int]:
        return [0, *accumulate(bracket.n_arms for bracket in self.brackets)]

    def arms(self, bracket: int) -> range:
        """Return the arms of a bracket, given its index."""
        return range(self._first_arms[bracket], self._first_arms[bracket + 1])

    def bracket_of_arm(self, arm: int) -> int:
        """Return the index of the bracket of an arm."""
        return bisect_right(self._first_arms, arm) - 1 if self.has_rungs else 0

    def position(self, pull: Pull) -> tuple[int, int]:
        """Return the indices of the bracket and of the rung of a pull."""
        index = self.bracket_of_arm(pull.arm)
        rounds = enumerate(self.brackets[index].rounds)
        at_level = [(i, rung) for i, rung in rounds if rung.level == pull.level]
        return index, max(i for i, rung in at_level if rung.first_repetition <= pull.repetition)


def open_plan(
    problem: Problem,
    max_pulls: int | None = None,
    *,
    is_exact: bool = False,
    window: int | None = None,
    ranks_by: Literal["level", "stage", "score"] = "score",
    reward_range: tuple[float, float] | None = None,
) -> Plan:
    """Return the plan of an adaptive policy, whose only round has all pulls.

    There is at most one pull of each arm on each split, and at most ``max_pulls`` in all.

    Parameters
    ----------
    problem : Problem
        The problem.
    max_pulls : int or None, default=None
        Maximum number of pulls; None if there is none.
    is_exact, window, ranks_by, reward_range
        As in `Plan`.

    Returns
    -------
    plan : Plan

    Examples
    --------
    >>> from sklearn_halving.policies import Problem, open_plan
    >>> open_plan(Problem(n_arms=3, max_repetitions=5), max_pulls=20).n_pulls(5)
    15
    """
    n_splits = problem.max_repetitions
    limits = [max_pulls] if n_splits is None else [max_pulls, problem.n_arms * n_splits]
    most = min((limit for limit in limits if limit is not None), default=None)
    stage = Round(problem.n_arms, problem.max_level, most_pulls=most, is_open=True)
    bracket = Bracket(None, (stage,))
    return Plan((bracket,), max_pulls, is_exact, window, ranks_by, reward_range)
