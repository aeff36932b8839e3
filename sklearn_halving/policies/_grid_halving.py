"""Successive halving of the arms of a grid, whose last few are compared on all splits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import ClassVar

import numpy as np

from sklearn_halving._checks import Count, refuse_unless
from sklearn_halving.policies._plan import Bracket, Round
from sklearn_halving.policies._successive_halving import BracketPolicy, BracketsGame
from sklearn_halving.policies._types import Problem
from sklearn_halving.policies.bases._rungs import Factor, exact_factor, floor_log, round_half_up

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
    number of levels is limited such that at most ``n_arms * n_repetitions`` pulls are planned, as
    in a grid search. If there is only one level, arms are eliminated on the splits alone. If that
    is not possible either, or if there are at most two arms, all arms are pulled on all splits.

    Parameters
    ----------
    n_arms : int
        Number of arms, K.
    n_repetitions : int
        Number of splits, S.
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
    The rungs are those of successive halving. Li, Jamieson, DeSalvo, Rostamizadeh and
    Talwalkar. Hyperband: a novel bandit-based approach to hyperparameter optimization. JMLR 18
    (2018), Fig. 10.

    Examples
    --------
    >>> from sklearn_halving.policies import GridHalving, Problem
    >>> plan = GridHalving(n_arms=24, n_repetitions=5).plan(Problem(max_level=800))
    >>> [(r.n_arms, r.level, r.n_repetitions) for r in plan.brackets[0].rounds]
    [(24, 100, 2), (12, 200, 2), (6, 400, 2), (3, 800, None)]
    >>> plan.n_pulls(5), 24 * 5
    (99, 120)
    """

    n_arms: Count
    n_repetitions: Count
    factor: Factor = 2
    early_repetitions: Count = 2
    first_floor: Count = 1
    deep_floor: Count = 1

    breaks_ties: ClassVar[bool] = True

    def _brackets(self, problem: Problem) -> list[Bracket]:
        n_arms = min(self.n_arms, problem.n_available or self.n_arms)
        everything = Bracket(0, (Round(n_arms, problem.max_level),))
        if n_arms < N_FINALISTS:
            return [everything]
        levels = self._levels(n_arms, problem.min_level, problem.max_level)
        for n_levels in range(len(levels), 0, -1):
            rungs = self._rungs(n_arms, levels[-n_levels:])
            bracket = Bracket(n_levels - 1, rungs)
            if bracket.n_pulls(self.n_repetitions) <= n_arms * self.n_repetitions:
                return [bracket]
        return [everything]

    def _new_game(self, problem: Problem, rng: np.random.Generator) -> BracketsGame:
        game, n_splits = super()._new_game(problem, rng), problem.max_repetitions or 1
        holds, rule = self.n_repetitions == n_splits, f"be the number of splits, {n_splits}"
        refuse_unless(holds, "n_repetitions", rule, self.n_repetitions)
        return game

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

    def _rungs(self, n_arms: int, levels: list[int]) -> tuple[Round, ...]:
        """Return the rungs at these levels. With one level, arms race on the splits."""
        eta, n_early = exact_factor(self.factor), min(self.early_repetitions, self.n_repetitions)
        rungs, width = [], n_arms
        for level in levels[:-1]:
            rungs.append(Round(width, level, n_early))
            width = max(N_FINALISTS, ceil(width / eta))
        least = min(N_FINALISTS, n_arms - 1)
        if width > least and n_early < self.n_repetitions:
            rungs.append(Round(width, levels[-1], n_early))
            width = max(least, ceil(width / 3))
            return (*rungs, Round(width, levels[-1], first_repetition=n_early))
        return (*rungs, Round(width, levels[-1]))
