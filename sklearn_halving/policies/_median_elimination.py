"""Median elimination: the worse half of the arms is dropped in each phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, log
from typing import Annotated

import numpy as np

from sklearn_halving._checks import Rule, check_positive
from sklearn_halving.policies._arrays import IntArray
from sklearn_halving.policies._races import LastArmPolicy
from sklearn_halving.policies._types import Problem, Stage
from sklearn_halving.policies.bases._parameter_checks import (
    Confidence,
    RewardRange,
    check_budget,
    width_of_range,
)
from sklearn_halving.policies.bases._planned_pulls import Game, widths_of
from sklearn_halving.policies.bases._ranking import best_known, keep_best


@dataclass(frozen=True)
class MedianElimination(LastArmPolicy):
    """Drop the worse half of the arms after each of ``ceil(log2 K)`` phases of new pulls.

    Every arm in play is pulled ``ceil(4 / e^2 log(3 / d))`` times in a phase. In the first phase,
    ``e = epsilon / 4`` and ``d = delta / 2``. After each phase, e is multiplied by 3/4 and d by
    1/2. Only the rewards of the current phase are used. The regret of the last arm left is below
    epsilon with probability ``1 - delta``. The number of pulls is of the optimal order,
    ``K / epsilon^2 log(1 / delta)``, but the constant is so large that a race nearly always
    needs fewer pulls.

    Parameters
    ----------
    epsilon : float
        Tolerated regret, in units of reward. It must be larger than 0.
    delta : float, default=0.05
        Accepted probability of a wrong answer.
    max_pulls : int or None, default=None
        Maximum number of pulls. A phase that would exceed it is not started. If the search stops
        because of it, the guarantee does not hold, and `is_confident` returns False.
    reward_range : (float, float)
        Smallest and largest possible reward.

    References
    ----------
    Even-Dar, Mannor and Mansour. Action elimination and stopping conditions for the multi-armed
    bandit and reinforcement learning problems. JMLR 7 (2006), Algorithm 4; Audibert, Bubeck and
    Munos (2011), Fig. 16.6.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import MedianElimination, Problem
    >>> policy = MedianElimination(epsilon=0.8, delta=0.1, reward_range=(0, 1))
    >>> state = policy.start(Problem(n_arms=3))
    >>> counts = np.zeros(3, dtype=int)
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=1000)
    ...     np.add.at(counts, pulls.arm, 1)
    ...     policy.tell(state, pulls, np.array([0.1, 0.5, 0.9])[pulls.arm])
    >>> counts, int(policy.recommend(state)), bool(policy.is_confident(state))
    (array([ 410, 1262, 1262]), 2, True)
    """

    epsilon: Annotated[
        float, Rule(check_positive, "It is a difference that does not matter, such as 0.05.")
    ]
    delta: Confidence = 0.05
    max_pulls: int | None = None
    reward_range: RewardRange | None = None

    def _play(self, game: Game) -> Iterator[IntArray]:
        pulls_of_phase = self._pulls_of_phase(game.problem)
        plan = zip(widths_of(game.n_arms) or [1], pulls_of_phase, strict=True)
        game.stages = tuple(Stage(width, width * n_each, game.level) for width, n_each in plan)
        mean = np.full(game.alive.shape, np.nan)
        for game.stage, n_each in enumerate(pulls_of_phase):  # Fig. 16.6: while |A| > 1
            counts = game.within_budget(game.contested() * n_each, self.max_pulls)
            game.forget()
            yield counts  # (1)
            mean = np.where(counts > 0, game.mean(), mean)
            game.best = best_known(game.alive, mean)
            n_median = (game.alive.sum(axis=1) + 1) // 2
            n_kept = np.where(counts.any(axis=1), n_median, game.n_arms)
            game.alive = keep_best(mean, game.alive, n_kept)  # (2)

    def _pulls_of_phase(self, problem: Problem) -> list[int]:
        """Return the number of pulls of an arm in each phase, or raise if it does not work."""
        width, n_arms = width_of_range(self, self.reward_range), problem.n_arms
        epsilon, delta = self.epsilon / width / 4, self.delta / 2
        counts = [  # (3): epsilon 3/4 and delta 1/2 as large in each phase
            ceil(4 / (epsilon * 0.75**k) ** 2 * log(3 / (delta * 0.5**k)))
            for k in range((n_arms - 1).bit_length())
        ] or [1]  # a single arm is pulled once, so that it has a reward
        if self.max_pulls is not None:
            least = n_arms * counts[0]
            check_budget("max_pulls", self.max_pulls, least, f"for a first phase of {n_arms} arms")
        if problem.max_repetitions is not None and sum(counts) > problem.max_repetitions:
            raise ValueError(
                f"MedianElimination with epsilon={self.epsilon} needs {sum(counts)} splits, got "
                f"{problem.max_repetitions}. Use an endless stream of splits, a larger epsilon, "
                "or SuccessiveElimination."
            )
        return counts
