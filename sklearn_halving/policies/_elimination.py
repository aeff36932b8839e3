"""Successive and median elimination (Even-Dar, Mannor and Mansour 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, log
from typing import Annotated

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Shape
from sklearn_halving.policies._races import Interval, LastArmPolicy, Race, RaceMemory
from sklearn_halving.policies._successive_rejects import contested
from sklearn_halving.policies._types import Problem, Stage
from sklearn_halving.policies.bases._arm_statistics import ArmStatistics
from sklearn_halving.policies.bases._parameter_checks import (
    Confidence,
    RewardRange,
    Rule,
    between,
    check_budget,
    check_positive,
    width_of_range,
)
from sklearn_halving.policies.bases._planned_pulls import PlannedState, new_state
from sklearn_halving.policies.bases._ranking import best_known, keep_best


@dataclass(frozen=True)
class SuccessiveElimination(Race):
    """Drop the arms whose mean is ``2 b sqrt(log(c K t^2 / delta) / t)`` below the best.

    This is a race with an unlimited number of rounds. The last arm left is the best with
    probability ``1 - delta``. The comparison of two equal arms only ends with ``max_pulls``.

    Parameters
    ----------
    delta : float, default=0.05
        Accepted probability of a wrong answer.
    c : float, default=5.0
        Constant of the paper, larger than 4.
    max_pulls : int or None, default=None
        Maximum number of pulls. A round that would exceed it is not started. If the search stops
        because of it, the guarantee does not hold, and `is_confident` returns False.
    reward_range : (float, float)
        Smallest and largest possible reward. Their difference is b.

    References
    ----------
    Even-Dar, Mannor and Mansour. Action elimination and stopping conditions for the multi-armed
    bandit and reinforcement learning problems. JMLR 7 (2006), Algorithm 3.

    Examples
    --------
    >>> from sklearn_halving.policies import SuccessiveElimination
    >>> from sklearn_halving.simulation import BernoulliArms, simulate
    >>> environment = BernoulliArms([0.1, 0.5, 0.9])
    >>> result = simulate(SuccessiveElimination(delta=0.1), environment, n_problems=100)
    >>> result.mistake_probability.value, round(result.mean_pulls.value)
    (0.0, 955)
    """

    delta: Confidence = 0.05
    c: Annotated[
        float,
        between(4, inf, "The guarantee does not hold for smaller values. Use 5, the default."),
    ] = 5.0
    max_pulls: int | None = None
    reward_range: RewardRange | None = None

    def _first_state(self, problem: Problem, batch_shape: Shape) -> PlannedState:
        if self.max_pulls is not None:
            check_budget("max_pulls", self.max_pulls, problem.n_arms, "to pull each arm once")
        return super()._first_state(problem, batch_shape)

    def _may_go_on(self, state: PlannedState, n_in_play: IntArray) -> BoolArray:
        if self.max_pulls is None:
            return np.ones(len(n_in_play), dtype=bool)
        return state.n_pulls_ever.sum(axis=1) + n_in_play <= self.max_pulls

    def _interval(self, state: PlannedState, memory: RaceMemory) -> Interval:
        mean = state.statistics.mean()
        t = np.maximum(state.statistics.n_pulls, 1).astype(np.float64)
        x = np.log(self.c * state.problem.n_arms * t**2 / self.delta)
        radius = memory.width * np.sqrt(x / t)
        return Interval(mean - radius, mean + radius)


@dataclass
class _PhaseMemory:
    """Memory of median elimination, such as the mean of each arm in its last phase."""

    pulls_of_phase: tuple[int, ...]
    is_outside: BoolArray
    mean: FloatArray
    is_over: BoolArray


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

    def _first_state(self, problem: Problem, batch_shape: Shape) -> PlannedState:
        width, n_arms = width_of_range(self, self.reward_range), problem.n_arms
        n_phases = (n_arms - 1).bit_length()
        # A single arm is pulled once, so that it has a reward.
        counts = tuple(self._n_pulls(phase, width) for phase in range(n_phases)) or (1,)
        if self.max_pulls is not None:
            least = n_arms * counts[0]
            check_budget("max_pulls", self.max_pulls, least, f"for a first phase of {n_arms} arms")
        if problem.max_repetitions is not None and sum(counts) > problem.max_repetitions:
            raise ValueError(
                f"MedianElimination with epsilon={self.epsilon} needs {sum(counts)} splits, got "
                f"{problem.max_repetitions}. Use an endless stream of splits, a larger epsilon, "
                "or SuccessiveElimination."
            )
        state = new_state(problem, batch_shape, len(counts))
        n_problems = len(state.alive)
        state.settings = _PhaseMemory(
            counts,
            is_outside=np.zeros(n_problems, dtype=bool),
            mean=np.full(state.alive.shape, np.nan),
            is_over=np.zeros(n_problems, dtype=bool),
        )
        return state

    def _stages(self, state: PlannedState) -> tuple[Stage, ...]:
        stages, n_arms = [], state.problem.n_arms
        for n_each in state.settings.pulls_of_phase:
            stages.append(Stage(n_arms, n_arms * n_each, state.problem.max_level))
            n_arms = (n_arms + 1) // 2
        return tuple(stages)

    def _n_pulls(self, phase: int, width: float) -> int:
        epsilon = self.epsilon / width / 4 * 0.75**phase
        return ceil(4 / epsilon**2 * log(3 / (self.delta / 2 * 0.5**phase)))

    def _counts(self, state: PlannedState) -> IntArray:
        memory: _PhaseMemory = state.settings
        counts = contested(state) * memory.pulls_of_phase[state.step]
        if self.max_pulls is not None:
            fits = state.n_pulls_ever.sum(axis=1) + counts.sum(axis=1) <= self.max_pulls
            memory.is_over |= ~fits
            counts = np.where(memory.is_over[:, np.newaxis], 0, counts)
        return counts

    def _conclude(self, state: PlannedState) -> None:
        memory: _PhaseMemory = state.settings
        if state.plan is None:
            return
        self._check_rewards(state)
        played = state.plan.counts.sum(axis=1) > 0
        mean = np.where(state.plan.counts > 0, state.statistics.mean(), memory.mean)
        memory.mean = mean
        state.best = np.where(played, best_known(state.alive, mean), state.best)
        n_kept = (state.alive.sum(axis=1) + 1) // 2
        kept = keep_best(mean, state.alive, n_kept)
        state.alive = np.where(played[:, np.newaxis], kept, state.alive)
        state.statistics = ArmStatistics.zeros(state.alive.shape)
