"""Successive halving: pull the arms of a rung, promote the best of them, and repeat.

`promotion_keys` decides which arms are the best. `BracketPlay` plays the rungs of a bracket, and
`BracketsGame` several brackets, which do not share arms and do not wait for each other. The
policies of this file play a single bracket within a budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Annotated, ClassVar, Literal

import numpy as np

from sklearn_halving._checks import Count, Rule, check_whole, refuse_unless
from sklearn_halving.policies._arrays import BoolArray, FloatArray
from sklearn_halving.policies._types import (
    NO_ARM,
    Bracket,
    PolicyDescription,
    Problem,
    Pull,
    Rung,
    Schedule,
)
from sklearn_halving.policies.bases._bracket_play import BracketPlay, Key
from sklearn_halving.policies.bases._rungs import (
    Factor,
    finite_horizon_rungs,
    fixed_budget_rungs,
    infinite_horizon_rungs,
    up_to,
)
from sklearn_halving.policies.bases._separate_games import SeparateGames

Select = Literal["max_resources", "all_rungs"]


def promotion_keys(
    arms: Sequence[int],
    means: FloatArray,
    rewards: FloatArray,
    tie_break: Sequence[int] | None = None,
) -> list[Key]:
    """Return the keys by which the arms of a rung are promoted, the smallest key first.

    The arms with the largest means are promoted. Of equal arms, the first one goes first, as it
    would win a grid search, and then those with the smaller numbers in ``tie_break``, so that a
    tie on little data does not favour one end of a grid. Another rule changes only this function:
    for a lower confidence bound, subtract a multiple of ``rewards.std(axis=1)`` from the means.

    Parameters
    ----------
    arms : sequence of int of length n
        Arms that have all their rewards. Those with a mean of NaN are never promoted.
    means : ndarray of shape (n,)
        Mean reward of each arm.
    rewards : ndarray of shape (n, n_splits)
        Rewards of each arm on the splits of the rung.
    tie_break : sequence of int or None
        A number for each arm of the problem; see `Problem`.
    """
    losses = (-means).tolist()
    if tie_break is None:
        return list(zip(losses, [0] * len(arms), arms, strict=True))
    first = dict(sorted(zip(losses, arms, strict=True), reverse=True))  # the smallest arm is last
    ties = [
        0 if first[loss] == arm else 1 + tie_break[arm]
        for loss, arm in zip(losses, arms, strict=True)
    ]
    return list(zip(losses, ties, arms, strict=True))


class ScheduledPolicy(SeparateGames):
    """Base class of policies that play a schedule, which subclasses define."""

    order_free: ClassVar[bool] = True
    select: Select = "max_resources"

    def schedule(self, min_level: int, max_level: int, n_available: int | None = None) -> Schedule:
        """Return the planned brackets."""
        raise NotImplementedError

    def describe(self, problem: Problem | None = None) -> PolicyDescription:
        """Return the description; ``select`` determines how arms at different levels rank."""
        own = super().describe(problem)
        return replace(own, ranks_by_level=self.select == "max_resources")

    def order_of_play(self, schedule: Schedule) -> Sequence[int]:
        """Return the places of the brackets in the order in which they are started."""
        return range(len(schedule.brackets))

    def _new_game(self, problem: Problem, rng: np.random.Generator) -> BracketsGame:
        return BracketsGame(self, problem)


@dataclass(frozen=True)
class _BudgetedHalving(ScheduledPolicy):
    """One bracket of ``n_arms`` arms within a budget of units; subclasses define its rungs."""

    n_arms: Count
    budget: Annotated[int, Rule(check_whole, "It is a number of units of all arms together.")]

    def _rungs(self, n_arms: int, min_level: int, max_level: int) -> tuple[Rung, ...]:
        """Return the rungs; raise if the budget is too small."""
        raise NotImplementedError

    def schedule(self, min_level: int, max_level: int, n_available: int | None = None) -> Schedule:
        """Return the bracket, with ``n_available`` arms if that is less than ``n_arms``.

        The budget determines the level of the first rung, which is at least ``min_level``.
        ``max_level`` is the level of the last rung if the variant has a finite horizon.
        Otherwise, the bracket ends with the first rung that reaches it.
        """
        n_arms = self.n_arms if n_available is None else min(self.n_arms, n_available)
        rungs = self._rungs(n_arms, min_level, max_level)
        return Schedule((Bracket(max(0, len(rungs) - 1), rungs),))


@dataclass(frozen=True)
class SuccessiveHalving(_BudgetedHalving):
    """Halve the number of arms ``ceil(log2 n)`` times within a budget of units.

    Round k spends ``floor(budget / (|S_k| * ceil(log2 n)))`` additional units on each of its
    arms and keeps the best ``floor(|S_k| / 2)`` arms. The policy stops when one arm is left.

    Parameters
    ----------
    n_arms : int
        Number of arms, n.
    budget : int
        Maximum number of units of resource for all arms together, B. Units are counted once: if
        an arm is trained from level 15 to level 46, this costs 31 units.

    References
    ----------
    Jamieson and Talwalkar. Non-stochastic best arm identification and hyperparameter
    optimization. AISTATS 2016, Fig. 3.

    Examples
    --------
    >>> from sklearn_halving.policies import SuccessiveHalving
    >>> rungs = SuccessiveHalving(n_arms=16, budget=1000).schedule(1, 1000).brackets[0].rungs
    >>> [(rung.n_arms, rung.level) for rung in rungs]
    [(16, 15), (8, 46), (4, 108), (2, 233)]
    """

    def __post_init__(self) -> None:
        """Check that the budget is large enough to pull every arm once."""
        super().__post_init__()
        self._rungs(self.n_arms, 1, self.budget)

    def _rungs(self, n_arms: int, min_level: int, max_level: int) -> tuple[Rung, ...]:
        return up_to(max_level, fixed_budget_rungs(n_arms, self.budget, min_level))


@dataclass(frozen=True)
class InfiniteHorizonHalving(SuccessiveHalving):
    """Halve the number of arms ``ceil(log2 n)`` times, with a separate budget for each round.

    Unlike in `SuccessiveHalving`, ``r_k = floor(budget / (|S_k| ceil(log2 n)))`` is the level of
    round k, and not the number of additional units. The budget is not exceeded even if every arm
    is trained from scratch in every round.

    Parameters
    ----------
    n_arms : int
        Number of arms, n.
    budget : int
        Maximum number of units of resource for all arms together, B.

    References
    ----------
    Li et al. Hyperband. JMLR 18 (2018), Fig. 9 (infinite horizon).

    Examples
    --------
    >>> from sklearn_halving.policies import InfiniteHorizonHalving
    >>> rungs = InfiniteHorizonHalving(n_arms=16, budget=1000).schedule(1, 1000).brackets[0].rungs
    >>> [(rung.n_arms, rung.level) for rung in rungs]
    [(16, 15), (8, 31), (4, 62), (2, 125)]
    """

    def _rungs(self, n_arms: int, min_level: int, max_level: int) -> tuple[Rung, ...]:
        return up_to(max_level, infinite_horizon_rungs(n_arms, self.budget, min_level))


@dataclass(frozen=True)
class FiniteHorizonHalving(_BudgetedHalving):
    """Successive halving within a budget, for a known largest level R.

    The number of eliminations s is the smallest that the budget allows,
    ``s = min {t : n R (t + 1) eta^-t <= B, t <= log_eta(min(R, n))}``. Rung k has
    ``floor(n eta^-k)`` arms at ``floor(R eta^(k - s))`` units.

    Parameters
    ----------
    n_arms : int
        Number of arms, n.
    budget : int
        Maximum number of units of resource for all arms together, B. It is not exceeded even if
        every rung is trained from scratch.
    factor : float, default=3
        The paper's eta, at least 2.

    References
    ----------
    Li et al. Hyperband. JMLR 18 (2018), Fig. 10 (finite horizon).

    Examples
    --------
    >>> from sklearn_halving.policies import FiniteHorizonHalving
    >>> policy = FiniteHorizonHalving(n_arms=81, budget=405, factor=3)
    >>> rungs = policy.schedule(1, 81).brackets[0].rungs
    >>> [(rung.n_arms, rung.level) for rung in rungs]
    [(81, 1), (27, 3), (9, 9), (3, 27), (1, 81)]
    """

    factor: Factor = 3

    def _rungs(self, n_arms: int, min_level: int, max_level: int) -> tuple[Rung, ...]:
        return finite_horizon_rungs(n_arms, self.budget, (min_level, max_level), self.factor)


class BracketsGame:
    """The brackets of a single problem.

    Parameters
    ----------
    policy : ScheduledPolicy
        The policy that plans the brackets.
    problem : Problem

    Attributes
    ----------
    open_brackets : list of int
        Places in the schedule of the unfinished brackets, in the order of play.
    brackets : dict
        Maps places to the brackets that have started. A search with a time budget may plan
        thousands.
    is_gradual : bool
        Whether arms are promoted before their rung is complete; see `BracketPlay`.
    """

    def __init__(self, policy: ScheduledPolicy, problem: Problem) -> None:
        self._policy, self._tie_break = policy, problem.tie_break
        self._n_splits = problem.max_repetitions or 1
        self._schedule = policy.schedule(problem.min_level, problem.max_level, problem.n_available)
        n_planned, n_arms = self._schedule.n_arms, problem.n_arms
        rule = f"be the number of arms of the schedule, {n_planned}"
        refuse_unless(n_arms == n_planned, "n_arms", rule, n_arms)
        order = policy.order_of_play(self._schedule)
        self._bracket_of_arm = self._schedule.bracket_of_arm()
        self._first_arm = [0, *accumulate(bracket.n_arms for bracket in self._schedule.brackets)]
        self._alive = np.ones(n_arms, dtype=bool)
        self.open_brackets = [place for place in order if self._schedule.brackets[place].rungs]
        self.brackets: dict[int, BracketPlay] = {}
        self.is_gradual = False

    @property
    def is_finished(self) -> bool:
        """Whether all brackets are finished."""
        return not self.open_brackets

    def ask(self, max_pulls: int) -> list[Pull]:
        """Return pulls of the first bracket in the order of play that has some.

        They are of one bracket only. Otherwise a single worker would have to do pulls of later
        brackets before this bracket can continue.
        """
        asked = (self._started(place).ask(max_pulls) for place in self.open_brackets)
        return next(filter(None, asked), [])

    def tell(self, pull: Pull, reward: float) -> None:
        """Take in the reward of a pull."""
        place = int(self._bracket_of_arm[pull.arm])
        self.brackets[place].tell(pull, reward)
        if self.brackets[place].is_finished:
            self.open_brackets.remove(place)

    def out(self) -> BoolArray:
        """Return which arms cannot be pulled any more, shape (n_arms,)."""
        return ~self._alive

    def best(self) -> int:
        """Return the arm with the best mean among those that can be recommended."""
        if not self._schedule.brackets[0].rungs:
            return 0  # a single arm, which needs no pull
        by_level = self._policy.select == "max_resources"
        leaders = [bracket.leader(by_level) for bracket in self.brackets.values()]
        return -max(filter(None, leaders), default=(0.0, -NO_ARM))[1]

    def _started(self, place: int) -> BracketPlay:
        """Return a bracket, which starts when it is first used."""
        if place not in self.brackets:
            plan = self._schedule.brackets[place]
            arms = range(self._first_arm[place], self._first_arm[place + 1])
            rule = partial(promotion_keys, tie_break=self._tie_break)
            self.brackets[place] = BracketPlay(
                plan, arms, self._n_splits, rule, self._alive, self.is_gradual
            )
        return self.brackets[place]
