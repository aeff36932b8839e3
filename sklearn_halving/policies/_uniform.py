"""Uniform allocation: the same number of pulls for every arm, as a baseline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sklearn_halving.policies._arrays import IntArray
from sklearn_halving.policies._types import Stage
from sklearn_halving.policies.bases._parameter_checks import check_budget
from sklearn_halving.policies.bases._planned_pulls import Game, PlannedPolicy
from sklearn_halving.policies.bases._ranking import best_alive


@dataclass(frozen=True)
class UniformAllocation(PlannedPolicy):
    """Pull every arm ``floor(n_pulls / n_arms)`` times and choose the arm with the best mean.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls of all arms together.

    References
    ----------
    Lalitha, Kalantari, Ma, Deoras and Kveton. Fixed-budget best-arm identification with
    heterogeneous reward variances. UAI 2023, section 5 ("Unif").

    Examples
    --------
    >>> from sklearn_halving.policies import Problem, UniformAllocation
    >>> policy = UniformAllocation(n_pulls=7)
    >>> state = policy.start(Problem(n_arms=3))
    >>> pulls = policy.ask(state, max_pulls=10)
    >>> pulls.arm, pulls.repetition
    (array([0, 0, 1, 1, 2, 2]), array([0, 1, 0, 1, 0, 1]))
    >>> policy.tell(state, pulls, rewards=-abs(pulls.arm - 1.0))
    >>> int(policy.recommend(state))
    1
    """

    n_pulls: int

    def _play(self, game: Game) -> Iterator[IntArray]:
        n_arms = game.n_arms
        check_budget("n_pulls", self.n_pulls, n_arms, f"to pull each of {n_arms} candidates once")
        n_each = game.within_splits(np.full(game.alive.shape, self.n_pulls // n_arms))
        game.stages = (Stage(n_arms, n_arms * int(n_each.min()), game.level),)
        yield n_each
        game.best = best_alive(game.alive, game.mean())
