"""Hyperband with a budget that doubles in every round, with and without a largest level."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from math import floor

import numpy as np

from sklearn_halving.policies._successive_halving import BracketsGame, ScheduledPolicy
from sklearn_halving.policies._types import NO_ARM, Bracket, Problem, Rung, Schedule
from sklearn_halving.policies.bases._parameter_checks import check_budget
from sklearn_halving.policies.bases._rungs import (
    Factor,
    exact_factor,
    finite_horizon_costs,
    finite_horizon_rungs,
    floor_log,
    infinite_horizon_rungs,
    up_to,
)


@dataclass(frozen=True)
class InfiniteHyperband(ScheduledPolicy):
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
    >>> from sklearn_halving.policies import InfiniteHyperband
    >>> for bracket in InfiniteHyperband(budget=30).schedule(1, 100).brackets:
    ...     print(bracket.loop, bracket.label, [(r.n_arms, r.level) for r in bracket.rungs])
    1 1 [(2, 1)]
    2 1 [(2, 2)]
    3 1 [(2, 4)]
    3 2 [(4, 1), (2, 2)]
    """

    budget: int

    def __post_init__(self) -> None:
        """Check that the budget is large enough for the first round."""
        check_budget("budget", self.budget, 2, "for a first round of two arms with a unit each")

    def schedule(self, min_level: int, max_level: int, n_available: int | None = None) -> Schedule:
        """Return the brackets of all rounds, which start with at most ``n_available`` arms.

        The first rungs are at ``min_level``, and all other levels are multiples of it, up to
        ``max_level``. Where the horizon is infinite, so is ``max_level``.
        """
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
                rungs = infinite_horizon_rungs(n_arms, 2**k) or (Rung(1, 2**k),)
                rungs = tuple(Rung(rung.n_arms, rung.level * min_level) for rung in rungs)
                rungs = up_to(max_level, rungs)
                brackets.append(Bracket(n_halvings, rungs, k))
        return Schedule(tuple(brackets))

    def _new_game(self, problem: Problem, rng: np.random.Generator) -> BracketsGame:
        return GameOfRounds(self, problem)


class GameOfRounds(BracketsGame):
    """The brackets of rounds, of which the last one counts."""

    def best(self) -> int:
        """Return the best winner of the last complete round in which an arm has not failed."""
        unfinished = {self._schedule.brackets[place].loop for place in self.open_brackets}
        winners = [
            (bracket.plan.loop, *leader)
            for bracket in self.brackets.values()
            if bracket.plan.loop not in unfinished and (leader := bracket.leader(by_level=True))
        ]
        return -max(winners)[-1] if winners else NO_ARM


@dataclass(frozen=True)
class GrowingHyperband(ScheduledPolicy):
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
    >>> from sklearn_halving.policies import GrowingHyperband
    >>> for bracket in GrowingHyperband(budget=90, factor=3).schedule(1, 9).brackets:
    ...     print(bracket.loop, bracket.label, [(r.n_arms, r.level) for r in bracket.rungs])
    4 0 [(1, 9)]
    5 2 [(10, 1), (3, 3), (1, 9)]
    5 1 [(5, 3), (1, 9)]
    5 0 [(3, 9)]
    """

    budget: int
    factor: Factor = 3

    def schedule(self, min_level: int, max_level: int, n_available: int | None = None) -> Schedule:
        """Return the brackets of all rounds, which start with at most ``n_available`` arms.

        No rung is below ``min_level``, and the last one is at ``max_level``, R.
        """
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
                    return Schedule(tuple(brackets))
                brackets.append(Bracket(s, rungs, k))
        return Schedule(tuple(brackets))
