"""LUCB and lil'UCB: pull by confidence bounds until one arm is known to be the best."""

from __future__ import annotations

from dataclasses import dataclass
from math import e, log, sqrt
from typing import Literal

import numpy as np

from sklearn_halving.policies._types import NO_ARM, BoolArray, FloatArray, IntArray
from sklearn_halving.policies.bases._fixed_confidence import Caution, FixedConfidencePolicy
from sklearn_halving.policies.bases._index_policy import IndexState
from sklearn_halving.policies.bases._parameter_checks import (
    RewardRange,
    check_between,
    check_choice,
    check_confidence,
    check_not_negative,
)
from sklearn_halving.policies.bases._ranking import best_known, largest_usable

Variant = Literal["theory", "heuristic"]


@dataclass(frozen=True)
class LUCB(FixedConfidencePolicy):
    """Pull the leader and its strongest rival until their bounds part.

    The leader has the largest mean, the rival the largest upper bound of the others; both are
    pulled in every round, one after the other. It stops when the rival's upper bound is below the
    leader's lower bound plus epsilon. Bounds in round t, which follows on a first pull of every
    arm, are ``mean +- b sqrt(log(5 K t^4 / (4 delta)) / (2 N))``.
    The leader's regret is then below epsilon with probability ``1 - delta``.

    Parameters
    ----------
    delta : float, default=0.05
        Accepted chance of a wrong answer.
    epsilon : float, default=0.0
        Regret that does not matter, in units of reward. With 0 two equal arms are compared
        without end.
    max_pulls : int or None, default=None
        Number of pulls that is never exceeded. When it ends the search the guarantee is lost, as
        `is_confident` says.
    reward_range : (float, float)
        Smallest and largest possible reward; b is their difference.

    References
    ----------
    Kalyanakrishnan, Tewari, Auer and Stone. PAC subset selection in stochastic multi-armed
    bandits. ICML 2012 (LUCB1, with one arm to be found).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import LUCB, Problem
    >>> policy = LUCB(delta=0.1, reward_range=(0, 1))
    >>> state = policy.start(Problem(n_arms=3))
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=1)
    ...     policy.tell(state, pulls, np.array([0.1, 0.5, 0.9])[pulls.arm])
    >>> int(policy.recommend(state)), bool(policy.is_confident(state))
    (2, True)
    """

    delta: float = 0.05
    epsilon: float = 0.0
    max_pulls: int | None = None
    reward_range: RewardRange | None = None

    def __post_init__(self) -> None:
        """Refuse what no bound can be made from."""
        check_confidence(self.delta)
        check_not_negative("epsilon", self.epsilon, "It is a difference of rewards, such as 0.01.")

    def _radius(self, state: IndexState, n_pulls: IntArray) -> FloatArray:
        # Two pulls a round. Where splits run out there may be one: the guarantee needs N <= t.
        n_rounds = (state.n_told_of_row - state.problem.n_arms) // 2
        most = state.n_pulls.max(axis=1)
        t = np.maximum(np.maximum(1 + n_rounds, most), 1)[:, np.newaxis].astype(np.float64)
        x = np.log(1.25 * state.problem.n_arms * t**4 / self.delta)
        radius: FloatArray = state.width * np.sqrt(x / (2 * np.maximum(n_pulls, 1)))
        return radius

    def _largest(self, state: IndexState, usable: BoolArray) -> IntArray:
        memory: Caution = state.memory
        if (memory.queued != NO_ARM).any():
            arm = np.where(usable[state.rows, memory.queued], memory.queued, NO_ARM)
            memory.queued = np.full_like(memory.queued, NO_ARM)
            return arm
        leader = best_known(state.alive, state.mean)
        is_leader = np.arange(state.problem.n_arms) == leader[:, np.newaxis]
        upper = state.mean + self._radius(state, state.n_asked)
        rival = largest_usable(upper, usable & ~is_leader)
        arm = np.where((usable & is_leader).any(axis=1), leader, NO_ARM)
        # With one of the two out of splits, the other is pulled alone.
        memory.queued = np.where(arm == NO_ARM, NO_ARM, rival)
        return np.where(arm == NO_ARM, rival, arm)

    def _has_decided(self, state: IndexState) -> BoolArray | None:
        if (state.memory.queued != NO_ARM).all():
            return None  # a round is at its middle
        leader = best_known(state.alive, state.mean)
        known = state.alive & ~np.isnan(state.mean)
        is_leader = np.arange(state.problem.n_arms) == leader[:, np.newaxis]
        radius = self._radius(state, state.n_pulls)
        with np.errstate(invalid="ignore"):
            upper = np.where(known & ~is_leader, state.mean + radius, -np.inf).max(axis=1)
            lower = np.where(known & is_leader, state.mean - radius, -np.inf).max(axis=1)
            apart = (leader != NO_ARM) & (upper < lower + self.epsilon)
        # The test is made at the end of a round, when the rival has been pulled too.
        decided: BoolArray = apart & (state.memory.queued == NO_ARM)
        return decided


@dataclass(frozen=True)
class LilUCB(FixedConfidencePolicy):
    """Pull by bounds from the law of the iterated logarithm until one arm has most of the pulls.

    Pulls ``argmax mean + (1 + beta) (1 + sqrt(eps)) sqrt(2 s^2 (1 + eps)
    log(log((1 + eps) N) / d) / N)`` with s half the width of the range, until an arm has
    ``1 + lambda`` times the pulls of all others together, and chooses that arm. With
    ``variant="theory"`` it is the best with probability ``1 - delta``, and the number of pulls is
    the least possible but for a constant, which is large. "heuristic" needs far fewer pulls and
    has no proof.

    Parameters
    ----------
    delta : float, default=0.05
        Accepted chance of a wrong answer, the paper's nu.
    variant : {"theory", "heuristic"}, default="theory"
        The paper's two settings: ``eps = 0.01, beta = 1, lambda = 9, d = ((sqrt(1 + delta) - 1) /
        2)^2 / c`` with ``c = (2 + eps) / eps (1 / log(1 + eps))^(1 + eps)``; or ``eps = 0,
        beta = 1/2, lambda = 1 + 10 / K, d = delta / 5``, every arm pulled twice first.
    max_pulls : int or None, default=None
        Number of pulls that is never exceeded. When it ends the search the guarantee is lost, as
        `is_confident` says, and the best mean is chosen.
    reward_range : (float, float)
        Smallest and largest possible reward.

    References
    ----------
    Jamieson, Malloy, Nowak and Bubeck. lil' UCB: an optimal exploration algorithm for multi-armed
    bandits. COLT 2014, Fig. 1, theorem 2 and section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import LilUCB, Problem
    >>> policy = LilUCB(delta=0.1, variant="heuristic", reward_range=(0, 1))
    >>> state = policy.start(Problem(n_arms=3))
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=1)
    ...     policy.tell(state, pulls, np.array([0.1, 0.5, 0.9])[pulls.arm])
    >>> int(policy.recommend(state)), bool(policy.is_confident(state))
    (2, True)
    """

    delta: float = 0.05
    variant: Variant = "theory"
    max_pulls: int | None = None
    reward_range: RewardRange | None = None

    def __post_init__(self) -> None:
        """Refuse what no bound can be made from."""
        check_confidence(self.delta)
        advice = "Use 'theory' for the guarantee, 'heuristic' for fewer pulls."
        check_choice("variant", self.variant, Variant, advice)

    @property
    def n_first(self) -> int:  # type: ignore[override]
        """Number of pulls that an arm needs before it has a bound: log(log(1)) is none."""
        return 1 if self.variant == "theory" else 2

    def _index(self, state: IndexState) -> FloatArray:
        n = np.maximum(state.n_asked, self.n_first)
        if self.variant == "theory":
            eps, factor, d = 0.01, 2 * (1 + sqrt(0.01)), confidence_of_a_bound(self.delta, 0.01)
        else:
            eps, factor, d = 0.0, 1.5, self.delta / 5
        x = np.log(np.log((1 + eps) * n) / d)
        return state.mean + factor * state.width / 2 * np.sqrt(2 * (1 + eps) * x / n)

    def _has_decided(self, state: IndexState) -> BoolArray:
        lambda_ = 9.0 if self.variant == "theory" else 1 + 10 / state.problem.n_arms
        counts = np.where(state.alive, state.n_pulls, 0)
        most = counts.max(axis=1)
        enough: BoolArray = most >= 1 + lambda_ * (counts.sum(axis=1) - most)
        return enough

    def _recommended(self, state: IndexState) -> IntArray:
        by_mean = best_known(state.alive, state.mean)
        most = np.where(state.alive, state.n_pulls, -1).argmax(axis=1)
        sure = state.is_decided & (by_mean != NO_ARM)
        return np.where(sure, most, by_mean)


def confidence_of_a_bound(delta: float, eps: float) -> float:
    """Return the d of the bounds for which the answer is wrong with probability delta.

    Solves ``4 sqrt(c d) + 4 c d = delta`` (theorem 2 of the paper). The theorem also needs
    ``d < log(1 + eps) / (e c)``; where delta is so large that the solution is not below it, half
    of that is returned, with which a wrong answer is less likely still.

    Examples
    --------
    >>> round(confidence_of_a_bound(0.05, 0.01) * 1e9, 2)
    7.21
    """
    check_between("eps", eps, 0, 1, "The paper uses 0.01.")
    c = (2 + eps) / eps * (1 / log(1 + eps)) ** (1 + eps)
    return min(((sqrt(1 + delta) - 1) / 2) ** 2, log(1 + eps) / (2 * e)) / float(c)
