"""Successive halving with a budget that doubles, which can be stopped at any time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from sklearn_halving.policies._arrays import IntArray
from sklearn_halving.policies._plan import Plan, Round
from sklearn_halving.policies._types import Problem
from sklearn_halving.policies.bases._parameter_checks import check_budget
from sklearn_halving.policies.bases._planned_pulls import Game, PlannedPolicy
from sklearn_halving.policies.bases._ranking import best_known, keep_best
from sklearn_halving.policies.bases._rungs import fixed_budget_rungs


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
    >>> state = policy.start(Problem(n_arms=4, max_level=100))
    >>> limits = np.array([0.1, 0.7, 0.5, 0.9])
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=100)
    ...     print(pulls.arm, pulls.level)
    ...     policy.tell(state, pulls, limits[pulls.arm] - 1 / pulls.level)
    [0 1 2 3] [1 1 1 1]
    [1 3] [3 3]
    [0 2] [2 2]
    [1 3] [6 6]
    [0 2] [4 4]
    >>> int(policy.recommend(state))
    3
    """

    plays_levels: ClassVar[bool] = True
    factor: ClassVar[float] = 3.0

    budget: int

    def plan(self, problem: Problem) -> Plan:
        """Return the rungs of all runs as stages."""
        return replace(super().plan(problem), ranks_by="level")

    def _play(self, game: Game) -> Iterator[IntArray]:
        runs = self._runs(game)
        rungs, n_splits = [rung for run in runs for rung in run], game.problem.max_repetitions or 1
        game.stages = tuple(rungs)
        levels = sorted({rung.level for rung in rungs})
        mean = np.full((len(levels), *game.alive.shape), np.nan)  # at this level or the next
        standing = np.zeros(game.alive.shape, dtype=np.int64)  # the level of each arm
        is_over, has_winner = (np.zeros((len(standing), 1), dtype=bool) for _ in range(2))
        for run in runs:  # budgets B, 2B, 4B, ...
            game.alive = np.where(is_over, game.alive, ~game.has_failed)
            n_kept = [rung.n_arms for rung in run[1:]] + [1]
            for rung, n_next in zip(run, n_kept, strict=True):  # Fig. 3, for k = 0, 1, ...
                goes_up = game.alive & (standing < rung.level)
                cost = np.where(goes_up, rung.level - standing, 0) + standing
                is_over |= cost.sum(axis=1, keepdims=True) > self.budget
                if is_over.all():
                    return
                goes_up &= ~is_over
                game.revives = ~is_over
                game.enter_level(rung.level)
                yield goes_up * n_splits
                standing[goes_up] = rung.level
                until = mean[: levels.index(rung.level) + 1]
                until[...] = np.where(np.isnan(until), game.mean(), until)
                value = np.where(game.has_failed, np.nan, until[-1])
                kept = keep_best(value, game.alive, n_next)
                game.alive = np.where(is_over, game.alive, kept)
                # Recommend an arm of an incomplete run only if no winner is left.
                stands = has_winner & ~np.take_along_axis(game.has_failed, game.best[:, None], 1)
                decides = ~is_over & (~stands | (n_next == 1 and rung is run[-1]))
                game.best = np.where(decides[:, 0], best_known(game.alive, value), game.best)
                game.stage += 1
            has_winner |= ~is_over & (game.best[:, np.newaxis] >= 0)

    def _runs(self, game: Game) -> list[tuple[Round, ...]]:
        """Return the rungs of all runs whose first rung fits into the budget."""
        n_arms, low, high = game.n_arms, game.problem.min_level, game.problem.max_level
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
            below = [rung for rung in rungs if rung.level < high]
            runs.append((*below, *(Round(r.n_arms, high) for r in rungs[len(below) :][:1])))
            if not below:
                break
            run_budget *= 2
            rungs = fixed_budget_rungs(n_arms, run_budget)
        return runs
