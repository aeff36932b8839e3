"""Upper confidence bounds: UCB-E for the best arm; UCB1, UCB-V and MOSS for cumulative reward.

Audibert, Bubeck and Munos, Bandit view on noisy optimization, 2011, Figs. 16.2 and 16.7. LUCB and
lil'UCB find the best arm with a fixed confidence.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import e, log, sqrt
from typing import ClassVar, Literal

import numpy as np

from sklearn_halving._checks import NotNegative
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Seed
from sklearn_halving.policies._successive_rejects import phase_lengths
from sklearn_halving.policies._types import NO_ARM
from sklearn_halving.policies.bases._base_policy import (
    Confidence,
    Exploration,
    RewardRange,
    Tolerance,
)
from sklearn_halving.policies.bases._index_policy import ConfidentGame, IndexGame, IndexPolicy
from sklearn_halving.policies.bases._ranking import best_known, largest_usable


@dataclass(frozen=True)
class UCBE(IndexPolicy):
    """Pull ``argmax mean + sqrt(a / N)`` and choose the arm with the best mean (UCB-E).

    With ``0 < a <= 25 (n - K) / (36 H)``, rewards in [0, 1] and ``H = sum of 1 / gap^2``, the
    probability of a wrong answer is at most ``2 n K exp(-2 a / 25)``. H is rarely known.
    `AdaptiveUCBE` estimates it, and `SuccessiveRejects` does not need it.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls of all arms together (n in the paper).
    a : float
        Exploration parameter for rewards in [0, 1], at least 0. Larger values spread the pulls
        more evenly.
    reward_range : (float, float)
        Smallest and largest possible reward, for example (0, 1) for accuracy.

    References
    ----------
    Audibert, Bubeck and Munos. Best arm identification in multi-armed bandits. COLT 2010, Fig. 2.

    Examples
    --------
    >>> from sklearn_halving.policies import UCBE
    >>> from sklearn_halving.simulation import BernoulliArms, simulate
    >>> environment = BernoulliArms([0.1, 0.6, 0.7])
    >>> result = simulate(UCBE(n_pulls=200, a=5), environment, n_problems=100)
    >>> result.mistake_probability.value
    0.13
    """

    n_pulls: int
    a: Exploration
    reward_range: RewardRange | None = None

    def index(self, arms: IndexGame) -> FloatArray:
        # B_{i, s} of Fig. 2. The base class pulls its argmax, once each arm has been pulled.
        return arms.mean + arms.width * np.sqrt(self.a / arms.n)


@dataclass(frozen=True)
class AdaptiveUCBE(IndexPolicy):
    """UCB-E with an exploration parameter that is estimated in the phases of successive rejects.

    In phase k, the parameter is ``a = c n / H_k``. ``H_0`` is K. For k > 0, ``H_k`` is the largest
    ``i / gap_i^2`` of the k largest gaps, which are estimated at the start of the phase.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls of all arms together (n in the paper). It must be larger than the
        number of arms.
    c : float, default=1.0
        Exploration rate, larger than 0.
    reward_range : (float, float)
        Smallest and largest possible reward. It is only used in phase 0.

    References
    ----------
    Audibert, Bubeck and Munos. Bandit view on noisy optimization, in Optimization for Machine
    Learning, 2011, Fig. 16.2.

    Examples
    --------
    >>> from sklearn_halving.policies import AdaptiveUCBE
    >>> from sklearn_halving.simulation import BernoulliArms, simulate
    >>> environment = BernoulliArms([0.1, 0.6, 0.7])
    >>> result = simulate(AdaptiveUCBE(n_pulls=200), environment, n_problems=100)
    >>> result.mistake_probability.value
    0.12
    """

    n_pulls: int
    c: NotNegative = 1.0
    reward_range: RewardRange | None = None

    def first_memory(self, arms: IndexGame, seed: Seed) -> tuple[int, float]:
        return 0, self.c * self.n_pulls / arms.n_arms * arms.width**2  # k = 0 and H_0 = K

    def index(self, arms: IndexGame) -> FloatArray:
        k = bisect_right(_ends_of_phases(arms.n_arms, self.n_pulls), arms.n_asked_in_all)
        if k != arms.memory[0]:
            # H_k of Fig. 16.2. No gap exceeds the width of the range, so it is at least H_0.
            hardness = max(_largest_hardness(arms.mean, k), arms.n_arms / arms.width**2)
            arms.memory = k, self.c * self.n_pulls / hardness
        # B_{i, s}(c n / H_k) of Fig. 16.2, with gaps in units of reward
        squared = arms.memory[1] / arms.width**2 / arms.n
        return arms.mean + arms.width * np.sqrt(squared)


@cache
def _ends_of_phases(n_arms: int, n_pulls: int) -> list[int]:
    """Return ``t_k = n_1 + ... + n_(k-1) + (K - k + 1) n_k`` for k = 1, ..., K - 1."""
    lengths = phase_lengths(n_arms, n_pulls)
    before = accumulate(lengths, initial=0)
    return [b + n * (n_arms - k) for k, (b, n) in enumerate(zip(before, lengths, strict=False))]


def _largest_hardness(mean: FloatArray, k: int) -> float:
    """Return the largest ``i / gap_i^2`` for K - k < i <= K, with gaps in increasing order."""
    n_arms = len(mean)
    known = np.where(np.isnan(mean), -np.inf, mean)
    gap = np.sort(known.max() - known)
    ratio = np.arange(1, n_arms + 1) / gap**2
    return float(np.nanmax(np.append(ratio[n_arms - k :], 0.0)))


@dataclass(frozen=True)
class UCB1(IndexPolicy):
    """Pull ``argmax mean + sqrt(alpha log(t) / N)`` at time t, for a large cumulative reward.

    The regret after n pulls is of order ``sum of log(n) / gap`` for ``alpha > 1/2`` and rewards in
    [0, 1] (theorem 16.10). Other policies are better at finding the best arm.

    Parameters
    ----------
    n_pulls : int
        Number of pulls after which the policy stops. Earlier decisions do not depend on it.
    alpha : float, default=2.0
        Exploration rate; 2 is UCB1 of Auer et al. (2002).
    reward_range : (float, float)
        Smallest and largest possible reward, for example (0, 1) for accuracy.

    References
    ----------
    Audibert, Bubeck and Munos. Bandit view on noisy optimization, in Optimization for Machine
    Learning, 2011, Fig. 16.7.

    Examples
    --------
    >>> from sklearn_halving.policies import UCB1
    >>> from sklearn_halving.simulation import BernoulliArms, simulate
    >>> environment = BernoulliArms([0.1, 0.5, 0.7])
    >>> result = simulate(UCB1(n_pulls=200), environment, n_problems=100)
    >>> result.mistake_probability.value
    0.01
    """

    goes_on_when_decided: ClassVar[bool] = True

    n_pulls: int
    alpha: NotNegative = 2.0
    reward_range: RewardRange | None = None

    def index(self, arms: IndexGame) -> FloatArray:
        log_t = log(arms.n_asked_in_all + 1)  # B_{i, s, t} of Fig. 16.7 at time t
        return arms.mean + arms.width * np.sqrt(self.alpha * log_t / arms.n)


@dataclass(frozen=True)
class UCBV(IndexPolicy):
    """Pull ``argmax mean + sqrt(2 alpha V log(t) / N) + 3 alpha log(t) / N`` with variance V.

    The regret is of order ``sum of (variance / gap + 2) log(n)`` for ``alpha > 1`` and rewards in
    [0, 1] (theorem 16.11). If the variances are small, this is less than the regret of `UCB1`.

    Parameters
    ----------
    n_pulls : int
        Number of pulls after which the policy stops. Earlier decisions do not depend on it.
    alpha : float, default=1.2
        Exploration rate.
    reward_range : (float, float)
        Smallest and largest possible reward, for example (0, 1) for accuracy.

    References
    ----------
    Audibert, Munos and Szepesvari. Exploration-exploitation tradeoff using variance estimates in
    multi-armed bandits. Theoretical Computer Science 410 (2009); Fig. 16.7 of Audibert, Bubeck
    and Munos (2011).

    Examples
    --------
    >>> from sklearn_halving.policies import UCBV
    >>> from sklearn_halving.simulation import BernoulliArms, simulate
    >>> environment = BernoulliArms([0.1, 0.5, 0.7])
    >>> result = simulate(UCBV(n_pulls=200), environment, n_problems=100)
    >>> result.mistake_probability.value
    0.0
    """

    goes_on_when_decided: ClassVar[bool] = True

    n_pulls: int
    alpha: NotNegative = 1.2
    reward_range: RewardRange | None = None

    def index(self, arms: IndexGame) -> FloatArray:
        x = self.alpha * log(arms.n_asked_in_all + 1) / arms.n  # B_{i, s, t} of Fig. 16.7
        variance = arms.statistics.variance(ddof=0)
        return arms.mean + np.sqrt(2 * variance * x) + 3 * arms.width * x


@dataclass(frozen=True)
class MOSS(IndexPolicy):
    """Pull ``argmax mean + sqrt(max(log(n / (K N)), 0) / N)``, which is minimax optimal.

    The regret is at most of order ``sqrt(n K)`` for rewards in [0, 1] (theorem 16.12). No policy
    has a better bound for all problems. Unlike `UCB1`, the policy depends on n.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls of all arms together (n in the paper).
    reward_range : (float, float)
        Smallest and largest possible reward, for example (0, 1) for accuracy.

    References
    ----------
    Audibert and Bubeck. Minimax policies for adversarial and stochastic bandits. COLT 2009.

    Examples
    --------
    >>> from sklearn_halving.policies import MOSS
    >>> from sklearn_halving.simulation import BernoulliArms, simulate
    >>> environment = BernoulliArms([0.1, 0.5, 0.7])
    >>> result = simulate(MOSS(n_pulls=200), environment, n_problems=100)
    >>> result.mistake_probability.value
    0.0
    """

    goes_on_when_decided: ClassVar[bool] = True

    n_pulls: int
    reward_range: RewardRange | None = None

    def index(self, arms: IndexGame) -> FloatArray:
        squared = np.log(np.maximum(self.n_pulls / (arms.n_arms * arms.n), 1.0)) / arms.n
        return arms.mean + arms.width * np.sqrt(squared)


@dataclass(frozen=True)
class LUCB(IndexPolicy):
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

    budget = "max_pulls"
    game = ConfidentGame

    delta: Confidence = 0.05
    epsilon: Tolerance = 0.0
    max_pulls: int | None = None
    reward_range: RewardRange | None = None

    def first_memory(self, arms: IndexGame, seed: Seed) -> int:
        return NO_ARM  # the rival, until it is pulled in this round

    def _radius(self, arms: IndexGame, n_pulls: IntArray) -> FloatArray:
        # A round has two pulls, or one if an arm has no splits left. The guarantee needs N <= t.
        n_rounds = (arms.n_told - arms.n_arms) // 2
        t = float(max(1 + n_rounds, arms.n_known.max(), 1))
        x = log(1.25 * arms.n_arms * t**4 / self.delta)  # k_1 = 5/4
        return arms.width * np.sqrt(x / (2 * n_pulls))

    def select(self, arms: IndexGame, usable: BoolArray) -> int:
        rival, arms.memory = arms.memory, NO_ARM
        if rival != NO_ARM and usable[rival]:  # the second pull of the round
            return int(rival)
        leader = best_known(arms.alive, arms.mean)  # h, the arm with the best mean
        others = usable & (np.arange(arms.n_arms) != leader)
        # l, the other arm with the largest upper bound
        rival = largest_usable(arms.mean + self._radius(arms, arms.n_asked), others)
        if leader == NO_ARM or not usable[leader]:
            return rival  # if one of the two arms has no splits left, only the other is pulled
        arms.memory = rival
        return leader

    def is_decided(self, arms: IndexGame) -> bool:
        leader = best_known(arms.alive, arms.mean)
        if arms.memory != NO_ARM or leader == NO_ARM:  # the round has not ended
            return False
        radius = self._radius(arms, arms.n_known)
        upper = arms.mean + radius
        upper[leader] = -np.inf
        lower = arms.mean[leader] - radius[leader]
        return bool(np.nanmax(upper) < lower + self.epsilon)


@dataclass(frozen=True)
class LilUCB(IndexPolicy):
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

    budget = "max_pulls"
    game = ConfidentGame

    delta: Confidence = 0.05
    variant: Literal["theory", "heuristic"] = "theory"
    max_pulls: int | None = None
    reward_range: RewardRange | None = None

    @property
    def n_first(self) -> int:  # type: ignore[override]
        """Number of pulls that an arm needs before it has a bound: log(log(1)) is undefined."""
        return 1 if self.variant == "theory" else 2

    def index(self, arms: IndexGame) -> FloatArray:
        if self.variant == "theory":
            eps, factor, d = 0.01, 2 * (1 + sqrt(0.01)), confidence_of_a_bound(self.delta, 0.01)
        else:
            eps, factor, d = 0.0, 1.5, self.delta / 5
        x = np.log(np.log((1 + eps) * arms.n) / d)
        return arms.mean + factor * arms.width / 2 * np.sqrt(2 * (1 + eps) * x / arms.n)

    def is_decided(self, arms: IndexGame) -> bool:
        lambda_ = 9.0 if self.variant == "theory" else 1 + 10 / arms.n_arms
        counts = np.where(arms.alive, arms.n_known, 0)
        most = counts.max()
        return bool(most >= 1 + lambda_ * (counts.sum() - most))

    def recommended(self, arms: IndexGame) -> int:
        by_mean = best_known(arms.alive, arms.mean)
        if not arms.is_decided or by_mean == NO_ARM:
            return by_mean
        return int(np.where(arms.alive, arms.n_known, -1).argmax())


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
    c = (2 + eps) / eps * (1 / log(1 + eps)) ** (1 + eps)
    return min(((sqrt(1 + delta) - 1) / 2) ** 2, log(1 + eps) / (2 * e)) / float(c)
