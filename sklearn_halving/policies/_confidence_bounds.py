"""LUCB and lil'UCB: best arm identification with a fixed confidence by confidence bounds."""

from __future__ import annotations

from dataclasses import dataclass
from math import e, log, sqrt
from typing import Annotated, Literal

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._types import NO_ARM
from sklearn_halving.policies.bases._fixed_confidence import Caution, FixedConfidencePolicy
from sklearn_halving.policies.bases._index_policy import IndexState
from sklearn_halving.policies.bases._parameter_checks import (
    Confidence,
    RewardRange,
    Tolerance,
    check_between,
    one_of,
)
from sklearn_halving.policies.bases._ranking import (
    any_of_each,
    best_known,
    by_column,
    largest_of_each,
    largest_usable,
    places,
)

Variant = Literal["theory", "heuristic"]


@dataclass(frozen=True)
class LUCB(FixedConfidencePolicy):
    """Pull the leader and its strongest rival until their confidence intervals are separated.

    The leader is the arm with the largest mean. The rival has the largest upper bound of the
    other arms. Each arm is pulled once first. Then both the leader and the rival are pulled in
    every round, one after the other. The policy stops when the rival's upper bound is below the
    leader's lower bound plus epsilon. The bounds in round t are
    ``mean +- b sqrt(log(5 K t^4 / (4 delta)) / (2 N))``. The leader's regret is then below
    epsilon with probability ``1 - delta``.

    Parameters
    ----------
    delta : float, default=0.05
        Accepted probability of a wrong answer.
    epsilon : float, default=0.0
        Tolerated regret, in units of reward. With 0, the comparison of two equal arms never
        ends.
    max_pulls : int or None, default=None
        Maximum number of pulls. If the search stops because of it, the guarantee does not hold,
        and `is_confident` returns False.
    reward_range : (float, float)
        Smallest and largest possible reward. Their difference is b.

    References
    ----------
    Kalyanakrishnan, Tewari, Auer and Stone. PAC subset selection in stochastic multi-armed
    bandits. ICML 2012 (LUCB1 for a single best arm).

    Examples
    --------
    >>> from sklearn_halving.policies import LUCB
    >>> from sklearn_halving.simulation import BernoulliArms, simulate
    >>> environment = BernoulliArms([0.1, 0.5, 0.9])
    >>> result = simulate(LUCB(delta=0.1), environment, n_problems=100)
    >>> result.mistake_probability.value, round(result.mean_pulls.value)
    (0.0, 725)
    """

    delta: Confidence = 0.05
    epsilon: Tolerance = 0.0
    max_pulls: int | None = None
    reward_range: RewardRange | None = None

    def _radius(self, state: IndexState, n_pulls: IntArray) -> FloatArray:
        # A round has two pulls, or one if an arm has no splits left. The guarantee needs N <= t.
        n_rounds = (state.n_told_of_row - state.problem.n_arms) // 2
        most = largest_of_each(state.n_pulls)
        t = np.maximum(np.maximum(1 + n_rounds, most), 1)[:, np.newaxis].astype(np.float64)
        x = np.log(1.25 * state.problem.n_arms * t**4 / self.delta)
        return state.width * np.sqrt(x / (2 * np.maximum(n_pulls, 1)))

    def _largest(self, state: IndexState, usable: BoolArray) -> IntArray:
        memory: Caution = state.memory
        if (memory.queued != NO_ARM).any():
            is_usable = usable.take(places(usable, memory.queued))
            arm = np.where(is_usable, memory.queued, NO_ARM)
            memory.queued = np.full(len(arm), NO_ARM)
            return arm
        leader = best_known(state.alive, state.mean)
        place = places(usable, leader)[leader != NO_ARM]
        is_leader = np.zeros_like(usable)
        is_leader.put(place, True)
        upper = state.mean + self._radius(state, state.n_asked)
        rival = largest_usable(upper, usable & ~is_leader)
        arm = np.where(any_of_each(usable & is_leader), leader, NO_ARM)
        # If one of the two arms has no splits left, only the other is pulled.
        memory.queued = np.where(arm == NO_ARM, NO_ARM, rival)
        return np.where(arm == NO_ARM, rival, arm)

    def _has_decided(self, state: IndexState) -> BoolArray | None:
        if (state.memory.queued != NO_ARM).all():
            return None  # the rival has not been pulled yet in this round
        leader = best_known(state.alive, state.mean)
        known = state.alive & ~np.isnan(state.mean)
        radius = self._radius(state, state.n_pulls)
        with np.errstate(invalid="ignore"):
            upper = np.where(known, state.mean + radius, -np.inf)
            place = places(upper, leader)
            lower = state.mean.take(place) - radius.take(place)
            upper.put(place[leader != NO_ARM], -np.inf)
            apart = (leader != NO_ARM) & (largest_of_each(upper) < lower + self.epsilon)
        # The stopping rule is tested at the end of a round, after the pull of the rival.
        return apart & (state.memory.queued == NO_ARM)


@dataclass(frozen=True)
class LilUCB(FixedConfidencePolicy):
    """Pull by bounds from the law of the iterated logarithm until one arm has most of the pulls.

    The policy pulls ``argmax mean + (1 + beta) (1 + sqrt(eps)) sqrt(2 s^2 (1 + eps)
    log(log((1 + eps) N) / d) / N)``, where s is half the width of the range of the rewards. It
    stops when an arm has at least ``1 + lambda`` times as many pulls as all others together, and
    chooses that arm. With ``variant="theory"``, the chosen arm is the best with probability
    ``1 - delta``, and the number of pulls is optimal up to a constant, which is large.
    "heuristic" needs far fewer pulls, but has no guarantee.

    Parameters
    ----------
    delta : float, default=0.05
        Accepted probability of a wrong answer (nu in the paper).
    variant : {"theory", "heuristic"}, default="theory"
        The paper's two settings: ``eps = 0.01, beta = 1, lambda = 9, d = ((sqrt(1 + delta) - 1) /
        2)^2 / c`` with ``c = (2 + eps) / eps (1 / log(1 + eps))^(1 + eps)``; or ``eps = 0,
        beta = 1/2, lambda = 1 + 10 / K, d = delta / 5``, after two pulls of every arm.
    max_pulls : int or None, default=None
        Maximum number of pulls. If the search stops because of it, the arm with the best mean is
        chosen, the guarantee does not hold, and `is_confident` returns False.
    reward_range : (float, float)
        Smallest and largest possible reward.

    References
    ----------
    Jamieson, Malloy, Nowak and Bubeck. lil' UCB: an optimal exploration algorithm for multi-armed
    bandits. COLT 2014, Fig. 1, theorem 2 and section 5.

    Examples
    --------
    >>> from sklearn_halving.policies import LilUCB
    >>> from sklearn_halving.simulation import BernoulliArms, simulate
    >>> environment = BernoulliArms([0.1, 0.5, 0.9])
    >>> result = simulate(LilUCB(delta=0.1, variant="heuristic"), environment, n_problems=100)
    >>> result.mistake_probability.value, round(result.mean_pulls.value)
    (0.0, 88)
    """

    delta: Confidence = 0.05
    variant: Annotated[
        Variant, one_of(Variant, "Use 'theory' for the guarantee, 'heuristic' for fewer pulls.")
    ] = "theory"
    max_pulls: int | None = None
    reward_range: RewardRange | None = None

    @property
    def n_first(self) -> int:  # type: ignore[override]
        """Number of pulls that an arm needs before it has a bound: log(log(1)) is undefined."""
        return 1 if self.variant == "theory" else 2

    def _index(self, state: IndexState) -> FloatArray:
        memory: Caution = state.memory
        most = int(state.n_asked.max())
        if memory.radii is None or most >= len(memory.radii):
            memory.radii = self._radii(state, max(64, 2 * most))
        return state.mean + memory.radii.take(state.n_asked)

    def _radii(self, state: IndexState, n_numbers: int) -> FloatArray:
        """Return half the width of the interval of an arm with 0, 1, ... pulls."""
        n = np.maximum(np.arange(n_numbers), self.n_first)
        if self.variant == "theory":
            eps, factor, d = 0.01, 2 * (1 + sqrt(0.01)), confidence_of_a_bound(self.delta, 0.01)
        else:
            eps, factor, d = 0.0, 1.5, self.delta / 5
        x = np.log(np.log((1 + eps) * n) / d)
        return factor * state.width / 2 * np.sqrt(2 * (1 + eps) * x / n)

    def _has_decided(self, state: IndexState) -> BoolArray:
        lambda_ = 9.0 if self.variant == "theory" else 1 + 10 / state.problem.n_arms
        counts = by_column(np.where(state.alive, state.n_pulls, 0))
        most = counts.max(axis=0)
        return most >= 1 + lambda_ * (counts.sum(axis=0) - most)

    def _recommended(self, state: IndexState) -> IntArray:
        by_mean = best_known(state.alive, state.mean)
        most = np.where(state.alive, state.n_pulls, -1).argmax(axis=1)
        sure = state.is_decided & (by_mean != NO_ARM)
        return np.where(sure, most, by_mean)


def confidence_of_a_bound(delta: float, eps: float) -> float:
    """Return the d of the bounds for which the answer is wrong with probability delta.

    It solves ``4 sqrt(c d) + 4 c d = delta`` (theorem 2 of the paper). The theorem also requires
    ``d < log(1 + eps) / (e c)``. If delta is so large that the solution exceeds half of this
    limit, half of the limit is returned. A wrong answer is then even less likely.

    Examples
    --------
    >>> round(confidence_of_a_bound(0.05, 0.01) * 1e9, 2)
    7.21
    """
    check_between("eps", eps, "The paper uses 0.01.", low=0, high=1)
    c = (2 + eps) / eps * (1 / log(1 + eps)) ** (1 + eps)
    return min(((sqrt(1 + delta) - 1) / 2) ** 2, log(1 + eps) / (2 * e)) / float(c)
