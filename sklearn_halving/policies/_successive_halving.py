"""Successive halving: pull the arms of a rung, promote the best of them, and repeat.

`promotion_keys` decides which arms are the best. `BracketPlay` plays the rungs of a bracket, and
`BracketsGame` several brackets, which do not share arms and do not wait for each other. The
policies of this file play a single bracket within a budget or over a grid, a bracket whose budget
doubles, or the brackets of another policy without waiting for complete rungs.

Arms that enter a rung together form a group, and are judged together. In successive halving, a
group is a whole rung. With gradual promotions, every arm is a separate group.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from heapq import heappop, heappush
from itertools import pairwise
from math import ceil, isnan
from typing import Annotated, ClassVar, Literal

import numpy as np

from sklearn_halving._checks import Count, Rule, check_whole, refuse_unless
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Seed
from sklearn_halving.policies._plan import Bracket, Plan, Round
from sklearn_halving.policies._types import NO_ARM, Problem, Pull
from sklearn_halving.policies.bases._base_policy import BasePolicy, check_budget
from sklearn_halving.policies.bases._planned_policy import PlannedGame, PlannedPolicy
from sklearn_halving.policies.bases._ranking import best_known, keep_best
from sklearn_halving.policies.bases._rungs import (
    Factor,
    exact_factor,
    finite_horizon_rungs,
    fixed_budget_rungs,
    floor_log,
    infinite_horizon_rungs,
    round_half_up,
    up_to,
)

Key = tuple[float, int, int]
"""Arms with smaller keys are promoted first. The last entry is the arm."""


@dataclass
class RungPlay:
    """A rung that arms enter, together or one after the other.

    Parameters
    ----------
    pulls : deque[Pull]
        Pulls that are not yet requested.
    groups : deque[Group]
        Groups that are not yet judged, in the order in which they entered.
    means : dict[int, float]
        Maps arms that are judged to the mean of their rewards. NaN if one of them is NaN.
    waiting : list[Key]
        Heap of the judged arms that are not promoted and have not failed.
    works : ndarray of bool
        The splits on which an arm that is judged has a reward.
    n_entered : int
        Number of arms that entered.
    """

    plan: Round
    pulls: deque[Pull] = field(default_factory=deque)
    groups: deque[Group] = field(default_factory=deque)
    means: dict[int, float] = field(default_factory=dict)
    waiting: list[Key] = field(default_factory=list)
    works: BoolArray | bool = False
    n_entered: int = 0

    @property
    def leader(self) -> tuple[float, int] | None:
        """The largest mean, and minus its arm, so that ties go to the smaller arm."""
        known = ((mean, -arm) for arm, mean in self.means.items() if not isnan(mean))
        return max(known, default=None)


@dataclass
class Group:
    """Arms that entered a rung together.

    Parameters
    ----------
    n_left : int
        Number of pulls without a reward.
    """

    rung: RungPlay
    arms: list[int]
    n_left: int = 0


@dataclass
class BracketPlay:
    """A bracket in play: pull the arms of a rung, promote the best of them, and repeat.

    With groups of whole rungs, this is the loop of successive halving (Jamieson and Talwalkar
    2016, Fig. 3), which is the inner loop of Hyperband (Li et al. 2018, Algorithm 1, lines 3 to
    9).

    Parameters
    ----------
    plan : Bracket
        The rungs.
    entrants : sequence of int
        The arms that enter the first rung at the start, in this order: consecutive numbers.
    n_splits : int
        Number of splits of the problem.
    alive : ndarray of shape (n_arms of the problem,)
        Set to False for arms that cannot be pulled any more.
    tie_break : sequence of int or None
        See `promotion_keys`.
    is_gradual : bool
        Whether arms are judged and promoted one by one, in the order in which they entered, and
        not when their rung is complete.

    Attributes
    ----------
    rungs : list of RungPlay
    n_closed : int
        Number of complete rungs.

    Notes
    -----
    A split on which every arm of a rung failed so far says nothing, and the arms are compared on
    the others. If every arm of a rung failed, the first ones go on to the next.
    """

    plan: Bracket
    entrants: Sequence[int]
    n_splits: int
    alive: BoolArray
    tie_break: Sequence[int] | None = None
    is_gradual: bool = False
    n_closed: int = 0
    _group_of: dict[int, Group] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rungs = [RungPlay(rung) for rung in self.plan.rounds]
        self._first_arm = min(self.entrants, default=0)
        self._rewards = np.full((self.plan.n_arms, self.n_splits), np.nan)
        self._enter(0, self.entrants)

    @property
    def is_finished(self) -> bool:
        """Whether no pull is left, neither in flight nor to be requested."""
        return self.n_closed == len(self.rungs)

    def ask(self, max_pulls: int) -> list[Pull]:
        """Return pulls of the highest rung that has some: one if promotions are gradual."""
        pulls = next((rung.pulls for rung in reversed(self.rungs) if rung.pulls), deque[Pull]())
        n = min(len(pulls), 1 if self.is_gradual else max_pulls)
        return [pulls.popleft() for _ in range(n)]

    def tell(self, pull: Pull, reward: float) -> None:
        """Record a reward. If it is the last one of a group, arms may be promoted."""
        self._rewards[pull.arm - self._first_arm, pull.repetition] = reward
        group = self._group_of[pull.arm]
        group.n_left -= 1
        if group.n_left == 0:
            self._promote()

    def leader(self, by_level: bool) -> tuple[float, int] | None:
        """Return the largest mean of the arms that can be recommended, and minus the arm."""
        # Of two rungs at the same level, the later one is on more splits.
        leaders = {
            rung.plan.level: leader for rung in self.rungs if (leader := rung.leader) is not None
        }
        if by_level:
            return leaders.get(self.rungs[-1].plan.level)
        return max(leaders.values(), default=None)

    def _enter(self, place: int, arms: Sequence[int]) -> None:
        """Let arms enter a rung: one after the other, or together in increasing order.

        In the figures, the arms are S_k or T, and all of them are pulled at the level r_k.
        """
        rung = self.rungs[place]
        splits = range(rung.plan.first_repetition, rung.plan.n_splits(self.n_splits))
        groups = [[arm] for arm in arms] if self.is_gradual else [sorted(arms)]
        for together in filter(None, groups):
            group = Group(rung, together, len(together) * len(splits))
            rung.groups.append(group)
            rung.n_entered += len(together)
            self._group_of |= dict.fromkeys(together, group)
            level = rung.plan.level
            rung.pulls.extend(Pull(arm, level, split) for split in splits for arm in together)

    def _promote(self) -> None:
        """Judge groups in the order in which they entered, and promote the best of their arms."""
        for place in range(self.n_closed, len(self.rungs)):
            rung = self.rungs[place]
            while rung.groups and rung.groups[0].n_left == 0:
                self._judge(rung.groups.popleft())
                self._fill(place + 1)
            if self._is_complete(place):
                if rung.leader is None:  # nothing to compare: the first arms go on
                    rung.waiting = [(0.0, 0, arm) for arm in sorted(rung.means)]
                self._fill(place + 1)
                out = [arm for arm in rung.means if self._group_of[arm].rung is rung]
                self.alive[out] = False
                self.n_closed += 1

    def _is_complete(self, place: int) -> bool:
        """Return whether a rung has just judged all arms that will ever be in it."""
        return place == self.n_closed and not self.rungs[place].groups

    def _judge(self, group: Group) -> None:
        """Let the arms of a group that have not failed wait for their promotion."""
        rung, rows = group.rung, [arm - self._first_arm for arm in group.arms]
        rewards = self._rewards[rows, : rung.plan.n_splits(self.n_splits)]
        works = rung.works | ~np.isnan(rewards).all(axis=0)
        if works.any():
            rung.works, rewards = works, rewards[:, works]
        means = rewards.mean(axis=1)
        rung.means |= zip(group.arms, means.tolist(), strict=True)
        for key in promotion_keys(group.arms, means, self.tie_break):
            if not isnan(rung.means[key[-1]]):
                heappush(rung.waiting, key)

    def _fill(self, place: int) -> None:
        """Promote the best arms that wait below a rung, as many as it has places.

        This is S_(k+1) in the figure of successive halving, and top_k in line 8 of Hyperband.
        Its places open in proportion to the arms that are judged below. If all are, those of arms
        that failed are filled, too.
        """
        if place < len(self.rungs):
            below, rung = self.rungs[place - 1], self.rungs[place]
            n_places = rung.plan.n_arms
            if not self._is_complete(place - 1):
                n_places = len(below.means) * rung.plan.n_arms // below.plan.n_arms
            n = min(len(below.waiting), n_places - rung.n_entered)
            self._enter(place, [heappop(below.waiting)[-1] for _ in range(n)])


Select = Literal["max_resources", "all_rungs"]


def promotion_keys(
    arms: Sequence[int], means: FloatArray, tie_break: Sequence[int] | None
) -> list[Key]:
    """Return the keys by which the arms of a rung are promoted, the smallest key first.

    The arms with the largest means are promoted. Of equal arms, the first one goes first, as it
    would win a grid search, and then those with the smaller numbers in ``tie_break``, so that a
    tie on little data does not favour one end of a grid.

    Parameters
    ----------
    arms : sequence of int of length n
        Arms that have all their rewards. Those with a mean of NaN are never promoted.
    means : ndarray of shape (n,)
        Mean reward of each arm.
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
        """Record the reward of a pull."""
        index = self.plan.bracket_of_arm(pull.arm)
        self.brackets[index].tell(pull, reward)
        if self.brackets[index].is_finished:
            self.open_brackets.remove(index)

    def out(self) -> BoolArray:
        """Return which arms cannot be pulled any more, shape (n_arms,)."""
        return ~self._alive

    def recommend(self) -> int:
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
            self.brackets[index] = BracketPlay(
                bracket, arms, self._n_splits, self._alive, self._tie_break, self.is_gradual
            )
        return self.brackets[index]


class BracketPolicy(BasePolicy):
    """Base class of policies that play brackets, which subclasses define.

    Attributes
    ----------
    breaks_ties : bool
        Whether `Problem.tie_break` decides which of several equal arms are promoted.
    factor : Factor
        Ratio of the levels of consecutive rungs.
    select : Select
        Which arms can be recommended: those at the largest level, or those of all rungs.
    """

    order_free: ClassVar[bool] = True
    plays_levels: ClassVar[bool] = True
    breaks_ties: ClassVar[bool] = False
    game: ClassVar[type[BracketsGame]] = BracketsGame
    factor: Factor = 3
    select: Select = "max_resources"

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

    def start(self, problem: Problem, seed: Seed = None) -> BracketsGame:
        """Return the game before the first pull. The policy is deterministic; no seed is used."""
        return self.game(self, problem)


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

    def _rungs(self, n_arms: int, min_level: int, max_level: int) -> tuple[Round, ...]:
        # S_k and R_k of Fig. 3. `BracketPlay` pulls the arms of S_k, and keeps S_(k+1).
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
        # S_k and r_k of Fig. 9. `BracketPlay` pulls the arms of S_k, and keeps S_(k+1).
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
        # n_k and r_k of Fig. 10. `BracketPlay` pulls n_k arms, and keeps n_(k+1) of them.
        return finite_horizon_rungs(n_arms, self.budget, (min_level, max_level), self.factor)


N_FINALISTS = 3
"""Number of arms that are compared on all splits at the largest level. A single finalist is often
chosen by chance. On recorded learning curves its regret was more than twice as large as that of
the best of three finalists."""
WIDEST_RANGE = 81
"""Maximum ratio of the largest to the smallest level, as in Hyperband with five brackets."""


@dataclass(frozen=True)
class GridHalving(BracketPolicy):
    """Halve the arms of a grid, and compare the last few on all splits.

    The levels are ``max_level / factor ** j``. Below the largest level, an arm is pulled on
    ``early_repetitions`` splits, and the best ``max(3, ceil(n / factor))`` of n arms are promoted
    to the next level. If more than three arms reach the largest level, they are first pulled on as
    many splits, and only the best ``max(3, ceil(n / 3))`` are pulled on the remaining splits. The
    number of levels is limited such that no more pulls are planned than in a grid search. If there
    is only one level, arms are eliminated on the splits alone. If that is not possible either, or
    if there are at most two arms, all arms are pulled on all splits.

    Parameters
    ----------
    n_arms : int
        Number of arms, K.
    factor : float, default=2
        One of every ``factor`` arms is promoted below the largest level. At least 2.
    early_repetitions : int, default=2
        Number of splits on which arms are pulled below the largest level, and at the largest level
        before some of them are dropped.
    first_floor, deep_floor : int, default=1
        Lower limits of the levels in addition to ``min_level``. ``first_floor`` applies to all
        levels below the largest, and ``deep_floor`` to all levels below the second largest.

    Notes
    -----
    Ties at the end of a rung are broken by `Problem.tie_break`, so that the order of the arms
    does not matter. In the last rung, ties go to the arm with the smallest index.

    References
    ----------
    For the rungs: Li, Jamieson, DeSalvo, Rostamizadeh and
    Talwalkar. Hyperband: a novel bandit-based approach to hyperparameter optimization. JMLR 18
    (2018), Fig. 10.

    Examples
    --------
    >>> from sklearn_halving.policies import GridHalving, Problem
    >>> plan = GridHalving(n_arms=24).plan(Problem(max_level=800, max_repetitions=5))
    >>> [(r.n_arms, r.level, r.n_repetitions) for r in plan.brackets[0].rounds]
    [(24, 100, 2), (12, 200, 2), (6, 400, 2), (3, 800, None)]
    >>> plan.n_pulls(5), 24 * 5
    (99, 120)
    """

    n_arms: Count
    factor: Factor = 2
    early_repetitions: Count = 2
    first_floor: Count = 1
    deep_floor: Count = 1

    breaks_ties: ClassVar[bool] = True

    def _brackets(self, problem: Problem) -> list[Bracket]:
        n_arms = min(self.n_arms, problem.n_available or self.n_arms)
        n_splits = problem.max_repetitions or 1
        everything = Bracket(0, (Round(n_arms, problem.max_level),))
        if n_arms < N_FINALISTS:
            return [everything]
        levels = self._levels(n_arms, problem.min_level, problem.max_level)
        for n_levels in range(len(levels), 0, -1):
            rungs = self._rungs(n_arms, n_splits, levels[-n_levels:])
            bracket = Bracket(n_levels - 1, rungs)
            if bracket.n_pulls(n_splits) <= n_arms * n_splits:
                return [bracket]
        return [everything]

    def _levels(self, n_arms: int, min_level: int, max_level: int) -> list[int]:
        """Return the possible levels in increasing order."""
        eta = exact_factor(self.factor)
        levels = [max_level]
        for depth in range(1, floor_log(WIDEST_RANGE, eta) + 1):
            level = round_half_up(Fraction(max_level) / eta**depth)
            floor = max(min_level, self.first_floor, self.deep_floor if depth > 1 else 1)
            is_of_use = ceil(n_arms / eta ** (depth - 1)) > N_FINALISTS
            if not is_of_use or not floor <= level < levels[-1]:
                break
            levels.append(level)
        return levels[::-1]

    def _rungs(self, n_arms: int, n_splits: int, levels: list[int]) -> tuple[Round, ...]:
        """Return the rungs at these levels. With one level, arms race on the splits."""
        eta, n_early = exact_factor(self.factor), min(self.early_repetitions, n_splits)
        rungs, width = [], n_arms
        for level in levels[:-1]:
            rungs.append(Round(width, level, n_early))
            width = max(N_FINALISTS, ceil(width / eta))
        least = min(N_FINALISTS, n_arms - 1)
        if width > least and n_early < n_splits:
            rungs.append(Round(width, levels[-1], n_early))
            width = max(least, ceil(width / 3))
            return (*rungs, Round(width, levels[-1], first_repetition=n_early))
        return (*rungs, Round(width, levels[-1]))


@dataclass(frozen=True)
class AsynchronousBrackets(BracketPolicy):
    """Brackets of another policy, with promotions that do not wait for complete rungs.

    Successive halving promotes the best arms of a rung when the rung is complete. Until then,
    workers may idle. Here, the places of the next rung are given away one by one: when the first m
    of the n arms of a rung are known, the next rung may have ``floor(m * n_next / n)`` arms, the
    best of these m that are not yet promoted. Rungs and numbers of pulls are those of the policy
    that plans them. The price is that an arm may be promoted before a better one is known.

    Parameters
    ----------
    brackets : Hyperband, FiniteHorizonHalving or GridHalving
        The policy that plans the brackets.

    Notes
    -----
    Asynchronous successive halving (ASHA, [1]_) counts the arms of a rung in the order in which
    their results arrive. Here, the arms of a rung are counted in the order in which they entered
    it. A promotion therefore waits for the slowest of the arms before it, but the result does not
    depend on the number of workers or on their speed.

    ASHA promotes an arm whenever it is among the best ``1 / eta`` of its rung so far, which may be
    more than ``1 / eta`` of all arms. As in [2]_, a rung never gets more arms than that share of
    the rung below, so that the number of pulls is known in advance.

    References
    ----------
    .. [1] Li et al. A system for massively parallel hyperparameter tuning. MLSys 2020,
       Algorithm 2 and section 3.3. https://arxiv.org/abs/1810.05934
    .. [2] Li et al. Hyper-Tune: towards efficient hyper-parameter tuning at scale. VLDB 2022,
       asynchronous scheduling. https://arxiv.org/abs/2201.06834

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import AsynchronousBrackets, Hyperband, Problem
    >>> policy = AsynchronousBrackets(Hyperband(brackets="most_exploratory"))
    >>> n_arms = policy.plan(Problem(max_level=27)).n_arms
    >>> game = policy.start(Problem(n_arms, max_level=27))
    >>> limits = np.random.default_rng(0).permutation(n_arms)
    >>> while not game.is_finished:
    ...     for pull in game.ask(max_pulls=1):
    ...         game.tell(pull, limits[pull.arm] - 1 / pull.level)
    >>> int(limits[game.recommend()])
    26
    """

    brackets: BracketPolicy

    def __post_init__(self) -> None:
        """Validate the parameter."""
        rule = "be a policy that plans brackets, such as Hyperband()"
        refuse_unless(isinstance(self.brackets, BracketPolicy), "brackets", rule, self.brackets)

    @property
    def factor(self) -> float:  # type: ignore[override]
        """Ratio of the levels of consecutive rungs."""
        return self.brackets.factor

    def plan(self, problem: Problem) -> Plan:
        """Return the planned brackets."""
        return self.brackets.plan(problem)

    def start(self, problem: Problem, seed: Seed = None) -> BracketsGame:
        """Return the game before the first pull."""
        game = self.brackets.start(problem)
        game.is_gradual = True
        return game


@dataclass(frozen=True)
class DoublingHalving(PlannedPolicy):
    """Successive halving with budgets n, 2n, 4n, ..., which can be stopped at any time.

    Every run is `SuccessiveHalving` of all arms with twice the budget of the previous run. The
    first run has the smallest budget of the series that trains every arm to the ``min_level`` of
    the problem. Training is continued: an arm starts at its current level. If this level is above
    the level of a rung, the arm is not pulled, but compared by its reward at the next larger level
    at which it was pulled. The policy recommends the winner of the last complete run. ``budget``
    only determines when the policy stops. Earlier decisions do not depend on it.

    Parameters
    ----------
    budget : int
        Maximum number of units of resource for all arms and runs together. Units are counted
        once.

    Notes
    -----
    Levels above the ``max_level`` of the problem are lowered to it. The policy stops when all
    arms have reached it.

    References
    ----------
    Jamieson and Talwalkar. Non-stochastic best arm identification and hyperparameter
    optimization. AISTATS 2016, Fig. 3 and section 3 (the "doubling trick").

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import DoublingHalving, Problem
    >>> policy = DoublingHalving(budget=24)
    >>> game = policy.start(Problem(n_arms=4, max_level=100))
    >>> limits = np.array([0.1, 0.7, 0.5, 0.9])
    >>> while not game.is_finished:
    ...     pulls = game.ask(max_pulls=100)
    ...     print(pulls.arm, pulls.level)
    ...     game.tell_all(pulls, limits[pulls.arm] - 1 / pulls.level)
    [0 1 2 3] [1 1 1 1]
    [1 3] [3 3]
    [0 2] [2 2]
    [1 3] [6 6]
    [0 2] [4 4]
    >>> game.recommend()
    3
    """

    plays_levels: ClassVar[bool] = True
    factor: ClassVar[float] = 3.0

    budget: int

    def plan(self, problem: Problem) -> Plan:
        """Return the rungs of all runs as stages."""
        return replace(super().plan(problem), ranks_by="level")

    def stages(self, problem: Problem) -> tuple[Round, ...]:
        """Return the rungs of all runs."""
        return tuple(rung for run in self._runs(problem) for rung in run)

    def play(self, game: PlannedGame) -> Iterator[IntArray]:
        runs, n_splits = self._runs(game.problem), game.problem.max_repetitions or 1
        levels = sorted({rung.level for run in runs for rung in run})
        mean = np.full((len(levels), game.n_arms), np.nan)  # at this level or the next
        standing, has_winner = np.zeros(game.n_arms, dtype=np.int64), False  # level of each arm
        for run in runs:  # budgets B, 2B, 4B, ...
            game.alive = ~game.has_failed
            n_kept = [rung.n_arms for rung in run[1:]] + [1]
            for rung, n_next in zip(run, n_kept, strict=True):  # Fig. 3, for k = 0, 1, ...
                goes_up = game.alive & (standing < rung.level)
                if np.where(goes_up, rung.level, standing).sum() > self.budget:
                    return
                game.revives = True
                game.enter_level(rung.level)
                yield goes_up * n_splits
                standing[goes_up] = rung.level
                until = mean[: levels.index(rung.level) + 1]
                until[...] = np.where(np.isnan(until), game.mean, until)
                value = np.where(game.has_failed, np.nan, until[-1])
                game.alive = keep_best(value, game.alive, n_next)
                # Recommend an arm of an incomplete run only if no winner is left.
                stands = has_winner and not game.has_failed[game.best]
                if not stands or (n_next == 1 and rung is run[-1]):
                    game.best = best_known(game.alive, value)
                game.stage += 1
            has_winner |= game.best != NO_ARM

    def _runs(self, problem: Problem) -> list[tuple[Round, ...]]:
        """Return the rungs of all runs whose first rung fits into the budget."""
        n_arms, low, high = problem.n_arms, problem.min_level, problem.max_level
        if n_arms == 1:  # it is pulled once
            return [(Round(1, low),)]
        # The first of the budgets n, 2n, 4n, ... that trains every arm to the smallest level
        n_rounds = (n_arms - 1).bit_length()
        run_budget = n_arms << (n_rounds * low - 1).bit_length()
        rungs = fixed_budget_rungs(n_arms, run_budget)
        further = zip(rungs, pairwise((0, *(rung.level for rung in rungs))), strict=True)
        least = sum(rung.n_arms * (level - below) for rung, (below, level) in further)
        check_budget("budget", self.budget, least, f"for a first run of {n_arms} arms")
        runs: list[tuple[Round, ...]] = []
        while n_arms * min(rungs[0].level, high) <= self.budget:
            runs.append(up_to(high, rungs))
            if rungs[0].level >= high:
                break
            run_budget *= 2
            rungs = fixed_budget_rungs(n_arms, run_budget)
        return runs
