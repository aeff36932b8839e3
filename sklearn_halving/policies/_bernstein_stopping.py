"""Geometric empirical Bernstein stopping: pull until a mean is known with a given precision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, inf, log
from typing import Annotated, Literal

import numpy as np

from sklearn_halving._checks import Count, between, check_between, one_of
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._races import RangedPolicy
from sklearn_halving.policies.bases._parameter_checks import (
    Confidence,
    RewardRange,
    check_budget,
    width_of_range,
)
from sklearn_halving.policies.bases._planned_pulls import Game
from sklearn_halving.policies.bases._ranking import best_known

ErrorKind = Literal["additive", "multiplicative"]


@dataclass(frozen=True)
class BernsteinStopping(RangedPolicy):
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
    t1: Count = 20
    alpha: Annotated[float, between(1, inf)] = 1.1
    max_pulls: int | None = None
    reward_range: RewardRange | None = None

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        largest = 1.0 if self.error == "multiplicative" else inf
        check_between("epsilon", self.epsilon, "Use 0.05, for example.", low=0, high=largest)
        check_between("t1", self.t1, "Use 20, the default.", low=1, high=inf)

    def _play(self, game: Game) -> Iterator[IntArray]:
        width = width_of_range(self, self.reward_range)
        if self.max_pulls is not None:
            check_budget("max_pulls", self.max_pulls, game.n_arms, "to pull each arm once")
        shape = game.alive.shape
        c = 3 / (self.delta * self.t1**self.q * (1 - self.alpha**-self.q))
        lower, upper = np.zeros(shape), np.full(shape, np.inf)  # LB and UB
        t_k, t_next = self.t1, self._next_of_grid(self.t1)
        estimate = game.extra = np.full(shape, np.nan)
        while (counts := self._counts(game)).any():
            yield counts  # all t_1 pulls before the first test, then one by one
            game.stage += 1
            mean, t = game.mean(), int(game.n_pulls[counts > 0].max())
            estimate = np.where(game.alive | game.has_failed, mean, estimate)
            if t >= self.t1:
                while t >= t_next:
                    t_k, t_next = t_next, self._next_of_grid(t_next)
                x = t_next / t**2 * log(c * t_k**self.q)
                variance = game.statistics.squared_deviation_sum / t
                with np.errstate(invalid="ignore", over="ignore"):
                    c_t = np.sqrt(2 * variance * x) + 3 * width * x
                    lower = np.maximum(lower, np.abs(mean) - c_t)
                    upper = np.minimum(upper, np.abs(mean) + c_t)
                    low, high = (1 + self.epsilon) * lower, (1 - self.epsilon) * upper
                    middle = np.sign(mean) * (low + high) / 2
                is_additive = self.error == "additive"
                is_precise = c_t <= self.epsilon if is_additive else low >= high
                is_known = np.logical_and(is_precise, game.alive & (counts > 0))
                estimate = np.where(is_known, mean if is_additive else middle, estimate)
                game.alive &= ~is_known
            game.extra, game.best = estimate, best_known(~game.has_failed, estimate)

    def _counts(self, game: Game) -> IntArray:
        """Return the pulls of a round: t_1 pulls of each arm, then one of those in play."""
        counts = game.within_splits(game.alive * (1 if game.stage else self.t1))
        if self.max_pulls is None:
            return counts
        n_left = self.max_pulls - game.n_pulls.sum(axis=1, keepdims=True)
        n_arms = np.maximum((counts > 0).sum(axis=1, keepdims=True), 1)
        return np.minimum(counts, n_left // n_arms)

    def _next_of_grid(self, t: int) -> int:
        # Round first, because of products such as 22.000000000000004.
        return max(t + 1, ceil(round(self.alpha * t, 9)))

    def estimate(self, state: Game) -> FloatArray:
        """Return the estimated mean of each arm, shape ``(*batch, n_arms)``; NaN for failures."""
        estimate: FloatArray = state.extra
        return estimate.reshape(*state.batch_shape, -1).copy()

    def is_confident(self, state: Game) -> BoolArray:
        """Return whether the means of all valid arms have the required precision; shape ``batch``.

        False if ``max_pulls`` was reached, if an arm had no splits left, or if a reward was
        outside of ``reward_range``.
        """
        is_known = ~state.alive & (state.has_failed | ~state.is_outside)
        is_confident = is_known.all(axis=1) & ~state.has_failed.all(axis=1)
        return np.reshape(is_confident, state.batch_shape)
