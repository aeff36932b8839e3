"""Successive halving: one bracket within a budget of units or of pulls."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from sklearn_halving.policies._types import Bracket, Problem, Rung, Schedule
from sklearn_halving.policies.bases._bracket_policy import ScheduledPolicy
from sklearn_halving.policies.bases._parameter_checks import (
    check_count,
    check_whole,
    refuse_unless,
)
from sklearn_halving.policies.bases._rungs import (
    exact_factor,
    finite_horizon_rungs,
    fixed_budget_rungs,
    floor_log,
    infinite_horizon_rungs,
    round_half_up,
)

N_FINALISTS = 3
"""Number of arms that are compared on all splits at the largest level. A single finalist is often
chosen by chance. On recorded learning curves its regret was more than twice as large as that of
the best of three finalists."""
WIDEST_RANGE = 81
"""Maximum ratio of the largest to the smallest level, as in Hyperband with five brackets."""


@dataclass(frozen=True)
class _BudgetedHalving(ScheduledPolicy):
    """One bracket of ``n_arms`` arms within a budget of units; subclasses define its rungs."""

    n_arms: int
    budget: int

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_count("n_arms", self.n_arms)
        advice = "It is a number of units for all arms together, such as 1000."
        check_whole("budget", self.budget, advice)

    def _rungs(self, n_arms: int, max_level: int) -> tuple[Rung, ...]:
        """Return the rungs; raise if the budget is too small."""
        raise NotImplementedError

    def schedule(self, min_level: int, max_level: int, n_available: int | None = None) -> Schedule:
        """Return the bracket, with ``n_available`` arms if that is less than ``n_arms``.

        ``min_level`` is not used, because the budget determines the level of the first rung.
        ``max_level`` is the level of the last rung if the variant has a finite horizon.
        """
        n_arms = self.n_arms if n_available is None else min(self.n_arms, n_available)
        rungs = self._rungs(n_arms, max_level)
        return Schedule((Bracket(max(0, len(rungs) - 1), rungs),))

    def _may_win(self, level: int, problem: Problem) -> bool:
        # The winner of the last round is recommended. Its level is the largest of all rounds.
        return level == self._rungs(problem.n_arms, problem.max_level)[-1].level


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
        self._rungs(self.n_arms, 1)

    def _rungs(self, n_arms: int, max_level: int) -> tuple[Rung, ...]:
        return fixed_budget_rungs(n_arms, self.budget)


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

    def _rungs(self, n_arms: int, max_level: int) -> tuple[Rung, ...]:
        return infinite_horizon_rungs(n_arms, self.budget)


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

    factor: float = 3

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        exact_factor(self.factor)

    def _rungs(self, n_arms: int, max_level: int) -> tuple[Rung, ...]:
        return finite_horizon_rungs(n_arms, self.budget, max_level, self.factor)


@dataclass(frozen=True)
class GridHalving(ScheduledPolicy):
    """Halve the arms of a grid, and compare the last few on all splits.

    The levels are ``max_level / factor ** j``. Below the largest level, an arm is pulled on
    ``early_repetitions`` splits, and the best ``max(3, ceil(n / factor))`` of n arms are promoted
    to the next level. If more than three arms reach the largest level, they are first pulled on
    ``race_repetitions`` splits, and only the best ``max(3, ceil(n / 3))`` are pulled on the
    remaining splits. The number of levels is limited such that at most
    ``n_arms * n_repetitions`` pulls are planned, as in a grid search. If there is only one level,
    arms are eliminated on the splits alone. If that is not possible either, or if there are at
    most two arms, all arms are pulled on all splits.

    Parameters
    ----------
    n_arms : int
        Number of arms, K.
    n_repetitions : int
        Number of splits, S.
    factor : float, default=2
        One of every ``factor`` arms is promoted below the largest level. At least 2.
    early_repetitions : int, default=2
        Number of splits on which arms are pulled below the largest level.
    race_repetitions : int, default=2
        Number of splits on which arms are pulled at the largest level before some of them are
        dropped.
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
    >>> from sklearn_halving.policies import GridHalving
    >>> schedule = GridHalving(n_arms=24, n_repetitions=5).schedule(1, 800)
    >>> [(r.n_arms, r.level, r.n_repetitions) for r in schedule.brackets[0].rungs]
    [(24, 100, 2), (12, 200, 2), (6, 400, 2), (3, 800, None)]
    >>> schedule.n_pulls_on(5), 24 * 5
    (99, 120)
    """

    n_arms: int
    n_repetitions: int
    factor: float = 2
    early_repetitions: int = 2
    race_repetitions: int = 2
    first_floor: int = 1
    deep_floor: int = 1

    def __post_init__(self) -> None:
        """Validate the parameters."""
        counts = ("n_arms", "n_repetitions", "early_repetitions", "race_repetitions")
        for name in (*counts, "first_floor", "deep_floor"):
            check_count(name, getattr(self, name))
        exact_factor(self.factor)

    def schedule(self, min_level: int, max_level: int, n_available: int | None = None) -> Schedule:
        """Return the bracket, with ``n_available`` arms if that is less than ``n_arms``.

        No rung is below ``min_level``, and the last one is at ``max_level``.
        """
        n_arms = self.n_arms if n_available is None else min(self.n_arms, n_available)
        everything = Bracket(0, (Rung(n_arms, max_level),))
        if n_arms < N_FINALISTS:
            return Schedule((everything,))
        levels = self._levels(n_arms, min_level, max_level)
        for n_levels in range(len(levels), 0, -1):
            rungs = self._rungs(n_arms, levels[-n_levels:])
            bracket = Bracket(n_levels - 1, rungs)
            if bracket.n_pulls(self.n_repetitions) <= n_arms * self.n_repetitions:
                return Schedule((bracket,))
        return Schedule((everything,))

    def start(self, problem: Problem, **options: Any) -> Any:
        """Return the state before the first pull."""
        state = super().start(problem, **options)
        n_splits = problem.max_repetitions or 1
        holds, rule = self.n_repetitions == n_splits, f"be the number of splits, {n_splits}"
        refuse_unless(holds, "n_repetitions", rule, self.n_repetitions)
        return state

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

    def _rungs(self, n_arms: int, levels: list[int]) -> tuple[Rung, ...]:
        """Return the rungs at these levels. With one level, arms race on the splits."""
        eta, n_race = exact_factor(self.factor), self.race_repetitions
        rungs, width = [], n_arms
        for level in levels[:-1]:
            rungs.append(Rung(width, level, min(self.early_repetitions, self.n_repetitions)))
            width = max(N_FINALISTS, ceil(width / eta))
        least = min(N_FINALISTS, n_arms - 1)
        if width > least and n_race < self.n_repetitions:
            rungs.append(Rung(width, levels[-1], n_race))
            width = max(least, ceil(width / 3))
            return (*rungs, Rung(width, levels[-1], first_repetition=n_race))
        return (*rungs, Rung(width, levels[-1]))

    def _may_win(self, level: int, problem: Problem) -> bool:
        return level == problem.max_level
