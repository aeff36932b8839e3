"""Hyperband: many brackets of successive halving (Li et al. 2018).

`Hyperband` repeats the same brackets (Algorithm 1). The budget of `InfiniteHyperband` and
`GrowingHyperband` doubles in every round (Figs. 9 and 10).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count, groupby
from math import ceil, floor, inf
from typing import Literal

import numpy as np

from sklearn_halving._checks import Count, CountOrZero, refuse_unless
from sklearn_halving.policies._plan import Bracket, Plan, Round
from sklearn_halving.policies._successive_halving import BracketPolicy, BracketsGame, Select
from sklearn_halving.policies._types import NO_ARM, Problem
from sklearn_halving.policies.bases._base_policy import check_budget
from sklearn_halving.policies.bases._rungs import (
    Factor,
    exact_factor,
    finite_horizon_costs,
    finite_horizon_rungs,
    floor_log,
    halving_rungs,
    infinite_horizon_rungs,
    round_half_up,
    up_to,
)

ScheduleRule = Literal["algorithm_1", "table_1"]


@dataclass(frozen=True)
class Hyperband(BracketPolicy):
    r"""Successive halving in several brackets, which trade off the number of arms and the level.

    Bracket s starts ``n = ceil((s_max + 1) / (s + 1) * factor ** s)`` arms at
    ``max_level * factor ** -s`` units, and keeps ``floor(n * factor ** -i)`` of them in rung i.
    The level of the last rung is ``max_level``.

    Parameters
    ----------
    factor : float, default=3
        The paper's eta: one of every ``factor`` arms is kept. At least 2.
    brackets : {"all", "most_exploratory"} or sequence of int, default="all"
        Which brackets to play: all of them, the one with the most arms, or those with the
        given values of the paper's s.
    n_loops : int, default=1
        How often the chosen brackets are played, each time with new arms.
    max_eliminations : int or None, default=None
        Maximum number of eliminations in a bracket (s_max in the paper). If None, it is
        ``floor(log(max_level / min_level))`` to the base ``factor``. For at most n_max arms in a
        bracket (section 2.6 of the paper), it is ``floor(log(n_max))`` to this base. With a larger
        number than the default, the levels of rungs below ``min_level`` are raised to
        ``min_level``. If there are several rungs at ``min_level``, only the widest is played.
    select : {"max_resources", "all_rungs"}, default="max_resources"
        Whether the policy recommends the best arm at the largest level, or the arm with the best
        reward in any rung (line 11 of the algorithm in the paper).
    schedule_rule : {"algorithm_1", "table_1"}, default="algorithm_1"
        How the number of arms is computed. Table 1 of the paper differs from Algorithm 1: for
        R = 81 and eta = 3, its brackets start with 81, 27, 9, 6, 5 arms, whereas the formula gives
        81, 34, 15, 8, 5.
    early_repetitions : int or None, default=None
        Number of splits on which arms are pulled below ``max_level``. If None, they are pulled on
        all splits, so that all rungs of a bracket have about the same cost, as in the paper.
    n_candidates : int or None, default=None
        Number of arms that a loop starts. ``s_max`` is then at most the largest with which the
        paper's brackets need no more arms, and the widest bracket starts those that are left. If
        None, the brackets have the paper's numbers of arms.

    Notes
    -----
    With R the largest level, bracket s costs about ``B = (s_max + 1) R`` units on each split, and
    all of them ``(s_max + 1) B``. A pull that continues at level ``r_i`` costs only
    ``r_i - r_(i-1)``.

    Let :math:`\nu_k` be the loss of arm k at R units, and :math:`\gamma(r)` a bound on how far any
    loss at r units is from that. Two arms are ranked correctly at every r with
    :math:`\gamma(r) < |\nu_k - \nu_l| / 2`. Successive halving of n arms therefore returns an arm
    with :math:`\nu - \nu_1 \le \epsilon` if its budget is at least (Theorem 8)

    .. math:: \eta \log_\eta(R) \Big[ n + \max\Big\{ R, \sum_{k=2}^n \gamma^{-1}\Big( \max\Big\{
        \frac{\epsilon}{4}, \frac{\nu_k - \nu_1}{2} \Big\} \Big) \Big\} \Big].

    In practice :math:`\gamma` is unknown, but one of the brackets is nearly optimal for it, and
    all together cost at most ``s_max + 1`` times as much. Losses in the theorem have no noise.

    References
    ----------
    Li, Jamieson, DeSalvo, Rostamizadeh and Talwalkar. Hyperband: a novel bandit-based
    approach to hyperparameter optimization. JMLR 18 (2018), Algorithm 1.

    Examples
    --------
    >>> from sklearn_halving.policies import Hyperband, Problem
    >>> for bracket in Hyperband(factor=3).plan(Problem(max_level=9)).brackets:
    ...     print(bracket.label, [(rung.n_arms, rung.level) for rung in bracket.rounds])
    2 [(9, 1), (3, 3), (1, 9)]
    1 [(5, 3), (1, 9)]
    0 [(3, 9)]
    """

    factor: Factor = 3
    brackets: str | Sequence[int] = "all"
    n_loops: Count = 1
    max_eliminations: CountOrZero | None = None
    select: Select = "max_resources"
    schedule_rule: ScheduleRule = "algorithm_1"
    early_repetitions: Count | None = None
    n_candidates: Count | None = None

    def _brackets(self, problem: Problem) -> list[Bracket]:
        # The most exploratory bracket of each loop is the first.
        min_level, max_level = problem.min_level, problem.max_level
        rule = f"be at least 1 and at most max_level, {max_level}"
        refuse_unless(1 <= min_level <= max_level, "min_level", rule, min_level, "Use 1.")
        rungs_of: dict[int, tuple[Round, ...]] = {}
        eta = exact_factor(self.factor)
        s_max = self.max_eliminations
        if s_max is None:  # initialization of Algorithm 1
            s_max = floor_log(Fraction(max_level, min_level), eta)
        for s, n_arms in self._widths(s_max, eta).items():  # lines 1 and 2: s and n
            exact = [max_level / eta ** (s - i) for i in range(s + 1)]  # line 6: r_i
            levels = [max(min_level, round_half_up(level)) for level in exact]
            n_arms = min(n_arms, problem.n_available or n_arms)
            # Line 5: n_i. `BracketPlay` of `_successive_halving` plays lines 3 to 9 with these
            # rungs.
            *early, last = halving_rungs(n_arms, levels, eta)
            early = [replace(rung, n_repetitions=self.early_repetitions) for rung in early]
            rungs_of[s] = *early, last
        # A search with a time budget may plan thousands of loops, which share their rungs.
        loops = range(self.n_loops)
        return [Bracket(s, rungs, loop) for loop in loops for s, rungs in rungs_of.items()]

    def _widths(self, s_max: int, eta: Fraction) -> dict[int, int]:
        """Return the number of arms at the start of each bracket, by its s (lines 1 and 2)."""
        most = inf if self.n_candidates is None else self.n_candidates
        least = 0 if isinstance(self.brackets, str) else max(self._chosen(s_max))
        widths: dict[int, int] = {}
        for s_most in range(s_max, least - 1, -1):
            widths = {s: self._width(s, s_most, eta) for s in self._chosen(s_most)}
            if sum(widths.values()) <= most:
                break
        n_least = sum(widths.values())
        rule = f"be at least {n_least}, the number that the brackets need"
        refuse_unless(n_least <= most, "n_candidates", rule, self.n_candidates)
        if self.n_candidates is not None:
            widths[max(widths)] += self.n_candidates - n_least
        return widths

    def _width(self, s: int, s_max: int, eta: Fraction) -> int:
        """Return the number of arms at the start of bracket s, with ``B / R = s_max + 1``.

        In line 2, it is ``n = ceil((B / R) eta^s / (s + 1))``. Table 1 uses
        ``floor((B / R) / (s + 1)) eta^s`` instead, which gives 81, 27, 9, 6, 5 for R = 81 and
        eta = 3.
        """
        if self.schedule_rule == "table_1":
            return floor((s_max + 1) // (s + 1) * eta**s)
        return ceil(Fraction(s_max + 1, s + 1) * eta**s)

    def _chosen(self, s_max: int) -> list[int]:
        """Return the values of s of the brackets to play, with the most exploratory first."""
        every, brackets = range(s_max, -1, -1), self.brackets
        wanted: Sequence[int] = ()
        if isinstance(brackets, str):
            wanted = {"all": every, "most_exploratory": every[:1]}.get(brackets, ())
        elif np.ndim(brackets):
            wanted = list(brackets)
        is_valid = 0 < len(wanted) == len(set(wanted)) and set(wanted) <= set(every)
        rule = f"be 'all', 'most_exploratory' or different whole numbers from 0 to {s_max}"
        advice = "For a larger one, lower min_resources or factor."
        refuse_unless(is_valid, "brackets", rule, repr(brackets), advice)
        return sorted(map(int, wanted), reverse=True)

    def order_of_play(self, plan: Plan) -> Sequence[int]:
        """Return the brackets of each loop: the middle one, then the others from the widest.

        The paper starts with the widest bracket. If candidates are drawn at random, the order does
        not change the final result, but it matters if a search is stopped early. The widest
        bracket takes the longest until it has a result, in particular if small fits have a fixed
        cost, and the narrowest bracket tries few arms. The widest bracket is second because it has
        the most rungs. The remaining brackets keep workers busy that would otherwise wait for one
        of its rungs to close.
        """
        order: list[int] = []
        for _, of_loop in groupby(range(len(plan.brackets)), lambda i: plan.brackets[i].loop):
            indices = list(of_loop)
            order += [indices.pop((len(indices) - 1) // 2), *indices]
        return order


class GameOfRounds(BracketsGame):
    """The brackets of rounds, of which the last one counts."""

    def recommend(self) -> int:
        """Return the best winner of the last complete round in which an arm has not failed."""
        unfinished = {self.plan.brackets[index].loop for index in self.open_brackets}
        winners = [
            (bracket.plan.loop, *leader)
            for bracket in self.brackets.values()
            if bracket.plan.loop not in unfinished and (leader := bracket.leader(by_level=True))
        ]
        return -max(winners)[-1] if winners else NO_ARM


@dataclass(frozen=True)
class InfiniteHyperband(BracketPolicy):
    """Hyperband for an unlimited resource. Both arms and levels grow from round to round.

    Round k has a bracket for every l >= 1 with ``2^(k - l) >= l``. It plays successive halving of
    ``2^l`` new arms with ``2^k`` units (`InfiniteHorizonHalving`), where a unit is ``min_level``.
    The policy recommends the best winner of the last complete round, since the winners of earlier
    rounds have lower levels.

    Parameters
    ----------
    budget : int
        Maximum number of units of resource for all arms together, at least ``2 min_level``. It is
        not exceeded even if every rung is trained from scratch. The budget only determines how
        many complete rounds are played.

    References
    ----------
    Li et al. Hyperband. JMLR 18 (2018), Fig. 9.

    Examples
    --------
    >>> from sklearn_halving.policies import InfiniteHyperband, Problem
    >>> for bracket in InfiniteHyperband(budget=30).plan(Problem(max_level=100)).brackets:
    ...     print(bracket.loop, bracket.label, [(r.n_arms, r.level) for r in bracket.rounds])
    1 1 [(2, 1)]
    2 1 [(2, 2)]
    3 1 [(2, 4)]
    3 2 [(4, 1), (2, 2)]
    """

    game = GameOfRounds

    budget: int

    def _brackets(self, problem: Problem) -> list[Bracket]:
        # The first rungs are at ``min_level``, and all other levels are multiples of it, up to
        # ``max_level``. Where the horizon is infinite, so is ``max_level``.
        min_level, n_available = problem.min_level, problem.n_available
        why = f"for a first round of two arms with {min_level} units each"
        check_budget("budget", self.budget, 2 * min_level, why)
        brackets: list[Bracket] = []
        n_left = self.budget // min_level
        for k in count(1):
            sizes = [n for n in range(1, k + 1) if 2 ** (k - n) >= n]
            n_left -= 2**k * len(sizes)
            if n_left < 0:
                break
            for n_halvings in sizes:
                n_arms = min(2**n_halvings, n_available or 2**n_halvings)
                rungs = infinite_horizon_rungs(n_arms, 2**k) or (Round(1, 2**k),)
                rungs = tuple(Round(rung.n_arms, rung.level * min_level) for rung in rungs)
                rungs = up_to(problem.max_level, rungs)
                brackets.append(Bracket(n_halvings, rungs, k))
        return brackets


@dataclass(frozen=True)
class GrowingHyperband(BracketPolicy):
    """Hyperband with a largest level R and a budget that doubles in every round.

    Round k plays the brackets s = s_max, ..., 0. Each bracket has
    ``n = floor(2^k eta^s / (R (s + 1)))`` new arms, but at least one, and plays successive halving
    with ``2^k`` units and a last rung at level R (`FiniteHorizonHalving`). The policy recommends
    the best arm at level R. The paper recommends `Hyperband` instead, which repeats the same
    brackets.

    Parameters
    ----------
    budget : int
        Maximum number of units of resource for all arms together, at least R. It is not exceeded
        even if every rung is trained from scratch. The budget only determines how many brackets
        are played.
    factor : float, default=3
        The paper's eta, at least 2.

    Notes
    -----
    The paper rounds n up. Most brackets then exceed ``2^k`` units for any number of eliminations.
    If n is rounded down, most brackets stay within ``2^k`` units. The others are left out.

    References
    ----------
    Li et al. Hyperband. JMLR 18 (2018), Fig. 10.

    Examples
    --------
    >>> from sklearn_halving.policies import GrowingHyperband, Problem
    >>> for bracket in GrowingHyperband(budget=90, factor=3).plan(Problem(max_level=9)).brackets:
    ...     print(bracket.loop, bracket.label, [(r.n_arms, r.level) for r in bracket.rounds])
    4 0 [(1, 9)]
    5 2 [(10, 1), (3, 3), (1, 9)]
    5 1 [(5, 3), (1, 9)]
    5 0 [(3, 9)]
    """

    budget: int
    factor: Factor = 3

    def _brackets(self, problem: Problem) -> list[Bracket]:
        # No rung is below ``min_level``, and the last one is at ``max_level``, R.
        min_level, max_level = problem.min_level, problem.max_level
        n_available = problem.n_available
        eta, first = exact_factor(self.factor), (max_level - 1).bit_length()
        check_budget("budget", self.budget, max_level, f"to train one arm to level {max_level}")
        brackets: list[Bracket] = []
        n_left, levels = self.budget, (min_level, max_level)
        for k in count(first):
            for s in range(floor_log(max_level, eta), -1, -1):
                n_arms = max(1, floor(2**k * eta**s / (max_level * (s + 1))))
                n_arms = min(n_arms, n_available or n_arms)
                if min(finite_horizon_costs(n_arms, levels, self.factor)) > 2**k:
                    continue
                rungs = finite_horizon_rungs(n_arms, 2**k, levels, self.factor)
                n_left -= sum(rung.n_arms * rung.level for rung in rungs)
                if n_left < 0:
                    return brackets
                brackets.append(Bracket(s, rungs, k))
        return brackets
