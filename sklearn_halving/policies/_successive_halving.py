"""Successive halving: pull the arms of a rung, promote the best of them, and repeat.

`promotion_keys` decides which arms are the best. `BracketPlay` plays the rungs of a bracket, and
`BracketsGame` several brackets, which do not share arms and do not wait for each other. The
policies of this file play a single bracket within a budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np

from sklearn_halving._checks import Count, Rule, check_whole, refuse_unless
from sklearn_halving.policies._arrays import BoolArray, FloatArray
from sklearn_halving.policies._plan import Bracket, Plan, Round
from sklearn_halving.policies._types import NO_ARM, Problem, Pull
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


class BracketPolicy(SeparateGames):
    """Base class of policies that play brackets, which subclasses define."""

    order_free: ClassVar[bool] = True
    plays_levels: ClassVar[bool] = True
    breaks_ties: ClassVar[bool] = False
    """Whether `Problem.tie_break` decides which of several equal arms are promoted."""
    factor: Factor = 3
    """Ratio of the levels of consecutive rungs."""
    select: Select = "max_resources"
    """Which arms can be recommended: those at the largest level, or those of all rungs."""

    def _brackets(self, problem: Problem) -> list[Bracket]:
        """Return the planned brackets."""
        raise NotImplementedError

    def plan(self, problem: Problem) -> Plan:
        """Return the planned brackets. The problem's number of arms is ignored.

        No bracket starts with more arms than ``n_available`` of the problem.
        """
        by_level = self.select == "max_resources"
        brackets = tuple(self._brackets(problem))
        ranks_by: Literal["level", "score"] = "level" if by_level else "score"
        return Plan(brackets, ranks_by=ranks_by, breaks_ties=self.breaks_ties)

    def order_of_play(self, plan: Plan) -> Sequence[int]:
        """Return the indices of the brackets in the order in which they are started."""
        return range(len(plan.brackets))

    def _new_game(self, problem: Problem, rng: np.random.Generator) -> BracketsGame:
        return BracketsGame(self, problem)


@dataclass(frozen=True)
class _BudgetedHalving(BracketPolicy):
    """One bracket of ``n_arms`` arms within a budget of units; subclasses define its rungs."""

    n_arms: Count
    budget: Annotated[int, Rule(check_whole, "It is a number of units of all arms together.")]

    def _rungs(self, n_arms: int, min_level: int, max_level: int) -> tuple[Round, ...]:
        """Return the rungs; raise if the budget is too small."""
        raise NotImplementedError

    def _brackets(self, problem: Problem) -> list[Bracket]:
        # The budget determines the level of the first rung, which is at least ``min_level``. The
        # last rung is at ``max_level`` if the variant has a finite horizon. Otherwise, the bracket
        # ends with the first rung that reaches it.
        n_arms = min(self.n_arms, problem.n_available or self.n_arms)
        rungs = self._rungs(n_arms, problem.min_level, problem.max_level)
        return [Bracket(max(0, len(rungs) - 1), rungs)]


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
    >>> from sklearn_halving.policies import Problem, SuccessiveHalving
    >>> policy = SuccessiveHalving(n_arms=16, budget=1000)
    >>> rungs = policy.plan(Problem(max_level=1000)).brackets[0].rounds
    >>> [(rung.n_arms, rung.level) for rung in rungs]
    [(16, 15), (8, 46), (4, 108), (2, 233)]
    """

    def __post_init__(self) -> None:
        """Check that the budget is large enough to pull every arm once."""
        super().__post_init__()
        self._rungs(self.n_arms, 1, self.budget)

    def _rungs(self, n_arms: int, min_level: int, max_level: int) -> tuple[Round, ...]:
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
    >>> from sklearn_halving.policies import InfiniteHorizonHalving, Problem
    >>> policy = InfiniteHorizonHalving(n_arms=16, budget=1000)
    >>> rungs = policy.plan(Problem(max_level=1000)).brackets[0].rounds
    >>> [(rung.n_arms, rung.level) for rung in rungs]
    [(16, 15), (8, 31), (4, 62), (2, 125)]
    """

    def _rungs(self, n_arms: int, min_level: int, max_level: int) -> tuple[Round, ...]:
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
    >>> from sklearn_halving.policies import FiniteHorizonHalving, Problem
    >>> policy = FiniteHorizonHalving(n_arms=81, budget=405, factor=3)
    >>> rungs = policy.plan(Problem(max_level=81)).brackets[0].rounds
    >>> [(rung.n_arms, rung.level) for rung in rungs]
    [(81, 1), (27, 3), (9, 9), (3, 27), (1, 81)]
    """

    factor: Factor = 3

    def _rungs(self, n_arms: int, min_level: int, max_level: int) -> tuple[Round, ...]:
        return finite_horizon_rungs(n_arms, self.budget, (min_level, max_level), self.factor)


class BracketsGame:
    """The brackets of a single problem.

    Parameters
    ----------
    policy : BracketPolicy
        The policy that plans the brackets.
    problem : Problem

    Attributes
    ----------
    open_brackets : list of int
        Indices of the unfinished brackets, in the order of play.
    brackets : dict
        Maps indices to the brackets that have started. A search with a time budget may plan
        thousands.
    is_gradual : bool
        Whether arms are promoted before their rung is complete; see `BracketPlay`.
    """

    def __init__(self, policy: BracketPolicy, problem: Problem) -> None:
        self._policy = policy
        self._tie_break = problem.tie_break if policy.breaks_ties else None
        self._n_splits = problem.max_repetitions or 1
        self.plan = policy.plan(problem)
        n_planned, n_arms = self.plan.n_arms, problem.n_arms
        rule = f"be the number of arms of the plan, {n_planned}"
        refuse_unless(n_arms == n_planned, "n_arms", rule, n_arms)
        order = policy.order_of_play(self.plan)
        self._alive = np.ones(n_arms, dtype=bool)
        self.open_brackets = [index for index in order if self.plan.brackets[index].rounds]
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
        asked = (self._started(index).ask(max_pulls) for index in self.open_brackets)
        return next(filter(None, asked), [])

    def tell(self, pull: Pull, reward: float) -> None:
        """Take in the reward of a pull."""
        index = self.plan.bracket_of_arm(pull.arm)
        self.brackets[index].tell(pull, reward)
        if self.brackets[index].is_finished:
            self.open_brackets.remove(index)

    def out(self) -> BoolArray:
        """Return which arms cannot be pulled any more, shape (n_arms,)."""
        return ~self._alive

    def best(self) -> int:
        """Return the arm with the best mean among those that can be recommended."""
        if not self.plan.brackets[0].rounds:
            return 0  # a single arm, which needs no pull
        by_level = self._policy.select == "max_resources"
        leaders = [bracket.leader(by_level) for bracket in self.brackets.values()]
        return -max(filter(None, leaders), default=(0.0, -NO_ARM))[1]

    def _started(self, index: int) -> BracketPlay:
        """Return a bracket, which starts when it is first used."""
        if index not in self.brackets:
            bracket, arms = self.plan.brackets[index], self.plan.arms(index)
            rule = partial(promotion_keys, tie_break=self._tie_break)
            self.brackets[index] = BracketPlay(
                bracket, arms, self._n_splits, rule, self._alive, self.is_gradual
            )
        return self.brackets[index]
