"""Races: all arms are pulled in turn, and arms that are clearly worse are dropped.

The module has the Hoeffding and the empirical Bernstein race (Audibert, Bubeck and Munos, Bandit
view on noisy optimization, 2011, Figs. 16.3 and 16.4, with the epsilon of section 16.3.3.2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from typing import Annotated, NamedTuple

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Shape
from sklearn_halving.policies._successive_rejects import contested
from sklearn_halving.policies._types import NO_ARM, PolicyDescription, Problem, Stage
from sklearn_halving.policies.bases._base_policy import ConfidentPolicy
from sklearn_halving.policies.bases._parameter_checks import (
    Confidence,
    RewardRange,
    Rule,
    Tolerance,
    check_count,
    is_outside,
    width_of_range,
)
from sklearn_halving.policies.bases._planned_pulls import (
    Plan,
    PlannedPolicy,
    PlannedState,
    new_state,
)
from sklearn_halving.policies.bases._ranking import best_known, largest_usable


class Interval(NamedTuple):
    """Lower and upper confidence bound of each arm, shape (n_problems, n_arms)."""

    lower: FloatArray
    upper: FloatArray


@dataclass
class RaceMemory:
    """Memory of a race besides the statistics. Arrays have shape (n_problems,)."""

    width: float
    """The largest minus the smallest possible reward."""
    best_lower: FloatArray
    """The largest lower bound of an arm. With a positive epsilon, the largest so far."""
    holder: IntArray
    """The arm that has this bound; ``NO_ARM`` before the first round."""
    is_outside: BoolArray
    """Whether a reward was outside of ``reward_range``."""


class RoundsPolicy(ConfidentPolicy, PlannedPolicy):
    """Base class of policies that play rounds until a plan is empty."""

    def _open_step(self, state: PlannedState) -> None:
        state.plan = None
        plan = Plan(self._counts(state), state.n_pulls_ever)
        if plan.n_columns:
            state.plan = plan


class LastArmPolicy(ConfidentPolicy, PlannedPolicy):
    """Base class of policies that drop arms until one is left.

    The ``settings`` of a state have an array ``is_outside`` of shape (n_problems,).
    """

    reward_range: RewardRange | None

    def _check_rewards(self, state: PlannedState) -> None:
        """Record whether a reward of the plan was outside of ``reward_range``."""
        if state.plan is not None:
            outside = is_outside(self.reward_range, state.plan.rewards)
            state.settings.is_outside |= outside.any(axis=1)

    def is_confident(self, state: PlannedState) -> BoolArray:
        """Return whether only one arm is left, so that the guarantee holds; shape ``batch``.

        False if several arms are left, for example because ``max_pulls`` was reached, or if a
        reward was outside of ``reward_range``. Failed arms are ignored.
        """
        is_decided = (state.alive.sum(axis=1) == 1) | (state.problem.n_arms == 1)
        confident: BoolArray = is_decided & ~state.settings.is_outside
        return confident.reshape(state.batch_shape)


class Race(LastArmPolicy, RoundsPolicy):
    """Base class of races, which pull all arms in play once per round and drop the worst."""

    epsilon: float = 0.0

    def _interval(self, state: PlannedState, memory: RaceMemory) -> Interval:
        """Return the bounds of all arms after a round."""
        raise NotImplementedError

    def _may_go_on(self, state: PlannedState, n_in_play: IntArray) -> BoolArray:
        """Return which problems may have another round with ``n_in_play`` arms."""
        raise NotImplementedError

    def _most_rounds(self, problem: Problem) -> int | None:
        """Return the maximum number of rounds; None if it is unknown."""
        return problem.max_repetitions

    def _stages(self, state: PlannedState) -> tuple[Stage, ...]:
        n_arms, level = state.problem.n_arms, state.problem.max_level
        n_rounds = 1 if n_arms == 1 else self._most_rounds(state.problem)
        return (Stage(n_arms, n_arms, level),) * (n_rounds or 0)

    def _first_state(self, problem: Problem, batch_shape: Shape) -> PlannedState:
        width = width_of_range(self, self.reward_range)
        state = new_state(problem, batch_shape, n_steps=0)
        n_problems = len(state.alive)
        state.settings = RaceMemory(
            width,
            best_lower=np.full(n_problems, -np.inf),
            holder=np.full(n_problems, NO_ARM),
            is_outside=np.zeros(n_problems, dtype=bool),
        )
        return state

    def _counts(self, state: PlannedState) -> IntArray:
        in_play = contested(state)
        if state.problem.max_repetitions is not None:
            in_play &= state.n_pulls_ever < state.problem.max_repetitions
        in_play &= self._may_go_on(state, in_play.sum(axis=1))[:, np.newaxis]
        return in_play.astype(np.int64)

    def _conclude(self, state: PlannedState) -> None:
        self._check_rewards(state)
        state.alive &= ~self._is_worse(state, state.settings)
        state.best = best_known(state.alive, state.statistics.mean())

    def _is_worse(self, state: PlannedState, memory: RaceMemory) -> BoolArray:
        """Return which arms are dropped. The arm with the best lower bound is never dropped."""
        with np.errstate(invalid="ignore", over="ignore"):
            lower, upper = self._interval(state, memory)
        # If the variance is not a number, the bounds are unknown.
        lower = np.where(state.alive & ~np.isnan(lower), lower, -np.inf)
        leader, largest = largest_usable(lower, state.alive), lower.max(axis=1)
        if self.epsilon:
            # Compare with the best lower bound so far. With the current bounds only, arms could
            # drop each other in a chain, in which every step costs an epsilon.
            rows = np.arange(len(leader))
            stands = (memory.holder != NO_ARM) & state.alive[rows, memory.holder]
            stands &= memory.best_lower > largest
            largest = np.where(stands, memory.best_lower, largest)
            leader = np.where(stands, memory.holder, leader)
        memory.best_lower, memory.holder = largest, leader
        worse = ~(upper > largest[:, np.newaxis] + self.epsilon) & ~np.isnan(upper)
        is_leader = np.arange(state.problem.n_arms) == leader[:, np.newaxis]
        return state.alive & worse & ~is_leader


@dataclass(frozen=True)
class _BoundedRace(Race):
    """Base class of races with at most ``n_rounds`` rounds, which enter the union bound."""

    n_rounds: Annotated[
        int,
        Rule(
            check_count,
            "An arm in play is pulled once in a round. Close arms need some hundreds.",
        ),
    ]
    delta: Confidence = 0.05
    epsilon: Tolerance = 0.0
    reward_range: RewardRange | None = None

    def describe(self, problem: Problem | None = None) -> PolicyDescription:
        """Return the description; the maximum number of pulls depends on the number of arms."""
        description = super().describe(problem)
        if problem is None:
            return description
        return replace(description, max_pulls=self.n_rounds * problem.n_arms)

    def _most_rounds(self, problem: Problem) -> int:
        return min(self.n_rounds, problem.max_repetitions or self.n_rounds)

    def _may_go_on(self, state: PlannedState, n_in_play: IntArray) -> BoolArray:
        return np.full(len(n_in_play), state.step < self.n_rounds)

    def _log_term(self, state: PlannedState) -> float:
        """Return ``log(n K / delta)``, where n is the number of rounds."""
        return log(self.n_rounds * state.problem.n_arms / self.delta)


@dataclass(frozen=True)
class HoeffdingRace(_BoundedRace):
    """Drop the arms whose mean is more than ``b sqrt(2 log(n K / delta) / t)`` below the best.

    With probability ``1 - delta``, the best arm is never dropped. After n rounds, several arms
    can be left. The arm with the best mean is recommended. `is_alive` returns the arms that may
    be as good.

    Parameters
    ----------
    n_rounds : int
        Maximum number of pulls of an arm (n in the paper). The width of the bounds increases
        slowly with it.
    delta : float, default=0.05
        Accepted probability that the best arm is dropped.
    epsilon : float, default=0.0
        Tolerated regret, in units of reward. Arms that cannot be better than the leader by more
        than epsilon are dropped, too.
    reward_range : (float, float)
        Smallest and largest possible reward. Their difference is b.

    References
    ----------
    Maron and Moore. Hoeffding races. NIPS 1993; Audibert, Bubeck and Munos (2011), Fig. 16.3.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import HoeffdingRace, Problem
    >>> policy = HoeffdingRace(n_rounds=200, reward_range=(0, 1))
    >>> state = policy.start(Problem(n_arms=3))
    >>> counts = np.zeros(3, dtype=int)
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=10)
    ...     np.add.at(counts, pulls.arm, 1)
    ...     policy.tell(state, pulls, np.array([0.1, 0.5, 0.9])[pulls.arm])
    >>> counts, int(policy.recommend(state)), bool(policy.is_confident(state))
    (array([ 30, 118, 118]), 2, True)
    """

    def _interval(self, state: PlannedState, memory: RaceMemory) -> Interval:
        mean, t = state.statistics.mean(), np.maximum(state.statistics.n_pulls, 1)
        radius = memory.width * np.sqrt(self._log_term(state) / (2 * t))
        return Interval(mean - radius, mean + radius)


@dataclass(frozen=True)
class BernsteinRace(_BoundedRace):
    """Drop arms by bounds that use the variance of each arm.

    The bounds are ``mean +- (sqrt(2 V x / t) + 3 b x / t)`` with ``x = log(n K / delta)``, where
    V is the variance with t in the denominator. They are better than those of `HoeffdingRace`
    only if the variances are well below ``b^2 / 4``, because the second term decreases slowly.

    Parameters
    ----------
    n_rounds : int
        Maximum number of pulls of an arm (n in the paper).
    delta : float, default=0.05
        Accepted probability that the best arm is dropped.
    epsilon : float, default=0.0
        Tolerated regret, as in `HoeffdingRace`.
    reward_range : (float, float)
        Smallest and largest possible reward. Their difference is b.

    References
    ----------
    Mnih, Szepesvari and Audibert. Empirical Bernstein stopping. ICML 2008; Audibert, Bubeck and
    Munos (2011), Fig. 16.4.

    Examples
    --------
    >>> from sklearn_halving.policies import BernsteinRace
    >>> from sklearn_halving.simulation import BernoulliArms, simulate
    >>> environment = BernoulliArms([0.1, 0.5, 0.9])
    >>> result = simulate(BernsteinRace(n_rounds=400), environment, n_problems=100)
    >>> result.mistake_probability.value, round(result.mean_pulls.value)
    (0.0, 740)
    """

    def _interval(self, state: PlannedState, memory: RaceMemory) -> Interval:
        mean, t = state.statistics.mean(), np.maximum(state.statistics.n_pulls, 1)
        x = self._log_term(state) / t
        radius = np.sqrt(2 * state.statistics.variance(ddof=0) * x) + 3 * memory.width * x
        return Interval(mean - radius, mean + radius)
