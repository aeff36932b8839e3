"""One bracket for a grid that never makes more pulls than all arms on all splits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from sklearn_halving.policies._types import Bracket, Problem, Rung, Schedule
from sklearn_halving.policies.bases._bracket_policy import ScheduledPolicy
from sklearn_halving.policies.bases._parameter_checks import check_count
from sklearn_halving.policies.bases._rungs import exact_factor, floor_log, round_half_up

N_FINALISTS = 3
"""Arms that are compared on all splits at the largest level. One alone would often be a lucky
one: on recorded learning curves its regret was more than twice that of the best of three."""
WIDEST_RANGE = 81
"""The smallest level is at least the largest divided by this, as in Hyperband's five brackets."""


@dataclass(frozen=True)
class GridHalving(ScheduledPolicy):
    """Start every arm once, halve them, and compare the last few on all splits.

    The levels are ``max_level / factor ** j``. Below the largest level an arm is pulled on
    ``early_repetitions`` splits, and the best ``max(3, ceil(n / factor))`` of n arms go on. At
    the largest level more than three arms are pulled on ``race_repetitions`` splits first,
    and the best ``max(3, ceil(n / 3))`` on the other splits, too. There are as few levels as
    it takes to plan at most ``n_arms * n_repetitions`` pulls, the number of a grid search.
    With one level the arms race on splits alone. If that cannot be done either, or there are
    at most two arms, all of them are pulled on all splits.

    Parameters
    ----------
    n_arms : int
        Number of arms, K.
    n_repetitions : int
        Number of splits, S.
    factor : float, default=2
        One of every ``factor`` arms goes on below the largest level. At least 2.
    early_repetitions : int, default=2
        On how many of the splits arms are pulled below the largest level.
    race_repetitions : int, default=2
        On how many of the splits arms are pulled at the largest level before some of them are
        dropped.
    first_floor, deep_floor : int, default=1
        Least level of the rungs below the largest level, and of those below the next level.
        Neither is below ``min_level``.

    Notes
    -----
    Equal arms at a cut are kept by `Problem.tie_break`, so that the order of the arms does not
    matter. The answer among equal arms of the last rung is the smallest arm.

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
        """Refuse what no schedule can be made from."""
        counts = ("n_arms", "n_repetitions", "early_repetitions", "race_repetitions")
        for name in (*counts, "first_floor", "deep_floor"):
            check_count(name, getattr(self, name))
        exact_factor(self.factor)

    def schedule(self, min_level: int, max_level: int, n_available: int | None = None) -> Schedule:
        """Return the one bracket.

        Parameters
        ----------
        min_level, max_level : int
            Smallest level that is allowed, and the level of the last rung.
        n_available : int or None, default=None
            Number of arms to play if there are fewer than ``n_arms``.
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
        if (problem.max_repetitions or 1) != self.n_repetitions:
            raise ValueError(
                f"n_repetitions={self.n_repetitions} must be the number of splits of the problem, "
                f"got a problem with {problem.max_repetitions or 1}. Give that number."
            )
        return state

    def _levels(self, n_arms: int, min_level: int, max_level: int) -> list[int]:
        """Return the levels that would be of use, smallest first."""
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
        """Return the rungs at these levels; with one level, a race on splits."""
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
