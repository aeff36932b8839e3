"""Geometric empirical Bernstein stopping: pull until a mean is known with a given precision."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, log
from typing import Annotated, Literal

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Shape
from sklearn_halving.policies._races import RoundsPolicy
from sklearn_halving.policies._types import Problem
from sklearn_halving.policies.bases._parameter_checks import (
    Confidence,
    RewardRange,
    between,
    check_between,
    check_budget,
    is_outside,
    one_of,
    width_of_range,
)
from sklearn_halving.policies.bases._planned_pulls import PlannedState, new_state
from sklearn_halving.policies.bases._ranking import best_known

ErrorKind = Literal["additive", "multiplicative"]


@dataclass
class StoppingMemory:
    """Memory of the policy. Arrays have shape (n_problems, n_arms)."""

    width: float
    """The largest minus the smallest possible reward."""
    lower: FloatArray
    upper: FloatArray
    """Bounds of the absolute value of the mean (LB and UB in the paper)."""
    estimate: FloatArray
    """The final estimate of the mean if an arm is done, else its sample mean."""
    is_done: BoolArray
    is_outside: BoolArray
    """Arms whose mean has the required precision, and arms with a reward out of range."""
    first_of_grid: int
    next_of_grid: int
    """The interval of the grid that contains the number of pulls (t_k and t_(k+1) in the
    paper)."""


@dataclass(frozen=True)
class BernsteinStopping(RoundsPolicy):
    """Pull an arm until its mean is known with a given precision.

    After t pulls in the interval ``[t_k, t_(k+1))`` of the grid ``t_k = ceil(alpha t_(k-1))``, the
    error of the mean is at most ``c_t = sqrt(2 V l) + 3 b l`` with
    ``l = t_(k+1) / t^2 log(c t_k^q)``. The bound is small if the variance V is small. "additive"
    stops when ``c_t <= epsilon``. "multiplicative" tracks the best bounds LB and UB of the
    absolute mean, and stops when ``(1 + epsilon) LB >= (1 - epsilon) UB``. The error of the
    estimate is then at most epsilon, or epsilon times the mean, with probability ``1 - delta``
    for each arm. The policy is designed for a single arm. If there are several, each is pulled
    until its mean is known, and the arm with the best mean is recommended.

    Parameters
    ----------
    epsilon : float
        Accepted error of the mean, in units of reward or relative to the mean. Larger than 0, and
        below 1 for "multiplicative".
    error : {"additive", "multiplicative"}, default="additive"
        Whether the error is absolute or relative. "multiplicative" never stops if the mean is 0.
    delta : float, default=0.05
        Accepted probability of a larger error.
    q, t1, alpha : float, int, float, default=0.1, 20, 1.1
        Parameters of the grid, with ``q > 0``, ``t1 >= 2`` and ``alpha > 1``.
    max_pulls : int or None, default=None
        Maximum number of pulls of all arms together. A round that would exceed it is not started.
        If the search stops because of it, the guarantee does not hold, and `is_confident` returns
        False.
    reward_range : (float, float)
        Smallest and largest possible reward. Their difference is b.

    Notes
    -----
    The inequality of the stopping rule is reversed in the figure of the paper.

    References
    ----------
    Mnih, Szepesvari and Audibert. Empirical Bernstein stopping. ICML 2008; Audibert, Bubeck and
    Munos. Bandit view on noisy optimization, in Optimization for Machine Learning, 2011, theorem
    16.7 and Fig. 16.5.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import BernsteinStopping, Problem
    >>> policy = BernsteinStopping(epsilon=0.1, reward_range=(0, 1))
    >>> state = policy.start(Problem(n_arms=1))
    >>> n_pulls, rng = 0, np.random.default_rng(0)
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=100)
    ...     n_pulls += len(pulls)
    ...     policy.tell(state, pulls, rng.uniform(0.6, 0.7, size=len(pulls)))
    >>> n_pulls, policy.estimate(state).round(2), bool(policy.is_confident(state))
    (303, array([0.65]), True)
    """

    epsilon: float
    error: Annotated[
        ErrorKind, one_of(ErrorKind, "Use 'additive' for an error in units of reward.")
    ] = "additive"
    delta: Confidence = 0.05
    q: Annotated[float, between(0, inf)] = 0.1
    t1: Annotated[int, between(1, inf)] = 20
    alpha: Annotated[float, between(1, inf)] = 1.1
    max_pulls: int | None = None
    reward_range: RewardRange | None = None

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        largest = 1.0 if self.error == "multiplicative" else inf
        check_between("epsilon", self.epsilon, "Use 0.05, for example.", low=0, high=largest)

    def _first_state(self, problem: Problem, batch_shape: Shape) -> PlannedState:
        width = width_of_range(self, self.reward_range)
        if self.max_pulls is not None:
            check_budget("max_pulls", self.max_pulls, problem.n_arms, "to pull each arm once")
        state = new_state(problem, batch_shape, n_steps=0)
        shape = state.alive.shape
        state.settings = StoppingMemory(
            width,
            lower=np.zeros(shape),
            upper=np.full(shape, np.inf),
            estimate=np.full(shape, np.nan),
            is_done=np.zeros(shape, dtype=bool),
            is_outside=np.zeros(shape, dtype=bool),
            first_of_grid=self.t1,
            next_of_grid=self._next_of_grid(self.t1),
        )
        return state

    def _next_of_grid(self, t: int) -> int:
        # Round first, because of products such as 22.000000000000004.
        return max(t + 1, ceil(round(self.alpha * t, 9)))

    def _counts(self, state: PlannedState) -> IntArray:
        memory: StoppingMemory = state.settings
        goes_on = state.alive & ~memory.is_done
        # The first plan has all pulls before the first test.
        n_each = np.where(goes_on, self.t1 if state.step == 0 else 1, 0)
        if state.problem.max_repetitions is not None:
            n_each = np.minimum(n_each, state.problem.max_repetitions - state.n_pulls_ever)
        if self.max_pulls is not None:
            n_left = (self.max_pulls - state.n_pulls_ever.sum(axis=1))[:, np.newaxis]
            n_arms = np.maximum((n_each > 0).sum(axis=1, keepdims=True), 1)
            n_each = np.minimum(n_each, n_left // n_arms)
        return n_each

    def _conclude(self, state: PlannedState) -> None:
        memory: StoppingMemory = state.settings
        statistics, plan = state.statistics, state.plan
        mean = statistics.mean()
        if plan is not None:
            problem, column = np.nonzero(is_outside(self.reward_range, plan.rewards))
            memory.is_outside[problem, plan.arm[problem, column]] = True
        tests = state.alive & ~memory.is_done & (statistics.n_pulls >= self.t1)
        if tests.any():
            self._test(state, memory, mean, tests)
        memory.estimate = np.where(memory.is_done, memory.estimate, mean)

    def recommend(self, state: PlannedState) -> IntArray:
        """Return the arm with the best estimate; ``NO_ARM`` if no arm has a reward."""
        if not state.step:
            return super().recommend(state)
        best = best_known(state.alive, state.settings.estimate)
        return best.reshape(state.batch_shape)

    def _test(
        self, state: PlannedState, memory: StoppingMemory, mean: FloatArray, tests: BoolArray
    ) -> None:
        """Test which arms are done. The tested arms have equal numbers of pulls."""
        t = int(state.statistics.n_pulls[tests].max())
        while t >= memory.next_of_grid:
            memory.first_of_grid = memory.next_of_grid
            memory.next_of_grid = self._next_of_grid(memory.next_of_grid)
        c = 3 / (self.delta * self.t1**self.q * (1 - self.alpha**-self.q))
        x = memory.next_of_grid / t**2 * log(c * memory.first_of_grid**self.q)
        variance = state.statistics.squared_deviation_sum / t
        with np.errstate(invalid="ignore", over="ignore"):
            radius = np.sqrt(2 * variance * x) + 3 * memory.width * x
            lower = np.maximum(memory.lower, np.abs(mean) - radius)
            upper = np.minimum(memory.upper, np.abs(mean) + radius)
            low, high = (1 + self.epsilon) * lower, (1 - self.epsilon) * upper
            middle = np.sign(mean) * (low + high) / 2
        memory.lower = np.where(tests, lower, memory.lower)
        memory.upper = np.where(tests, upper, memory.upper)
        is_additive = self.error == "additive"
        is_done = np.logical_and(tests, radius <= self.epsilon if is_additive else low >= high)
        estimate = mean if is_additive else middle
        memory.estimate = np.where(is_done, estimate, memory.estimate)
        memory.is_done |= is_done

    def is_alive(self, state: PlannedState) -> BoolArray:
        """Return which arms may still be pulled."""
        alive: BoolArray = state.alive & ~state.settings.is_done
        return alive.reshape(*state.batch_shape, -1)

    def estimate(self, state: PlannedState) -> FloatArray:
        """Return the estimated mean of each arm, shape ``(*batch, n_arms)``; NaN for failures."""
        memory: StoppingMemory = state.settings
        return memory.estimate.reshape(*state.batch_shape, -1).copy()

    def is_confident(self, state: PlannedState) -> BoolArray:
        """Return whether the means of all valid arms have the required precision; shape ``batch``.

        False if ``max_pulls`` was reached, if an arm had no splits left, or if a reward was
        outside of ``reward_range``.
        """
        memory: StoppingMemory = state.settings
        known = (memory.is_done & ~memory.is_outside) | ~state.alive
        n_known, n_alive = known.sum(axis=1), state.alive.sum(axis=1)
        confident: BoolArray = (n_known == state.problem.n_arms) & (n_alive > 0)
        return confident.reshape(state.batch_shape)
