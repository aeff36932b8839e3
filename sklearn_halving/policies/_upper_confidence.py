"""Upper confidence bounds: UCB-E for the best arm; UCB1, UCB-V and MOSS for cumulative reward.

Audibert, Bubeck and Munos, Bandit view on noisy optimization, 2011, Figs. 16.2 and 16.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sklearn_halving._checks import NotNegative, Rule, check_not_negative
from sklearn_halving.policies._arrays import FloatArray, IntArray, Seed
from sklearn_halving.policies._successive_rejects import phase_lengths
from sklearn_halving.policies.bases._index_policy import IndexPolicy, IndexState
from sklearn_halving.policies.bases._parameter_checks import Exploration, RewardRange


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
    Audibert and Bubeck. Best arm identification in multi-armed bandits. COLT 2010, Fig. 2.

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

    def _index(self, state: IndexState) -> FloatArray:
        return state.mean + state.width * np.sqrt(self.a / state.n)


@dataclass
class _Phases:
    """The phase of each problem, and the parameter a that was estimated at its start."""

    ends: IntArray
    """Number of pulls at the end of each phase, shape ``(n_arms - 1,)``."""
    phase: IntArray
    a: FloatArray


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

    def _first_memory(self, state: IndexState, seed: Seed) -> _Phases:
        n_arms = state.problem.n_arms
        lengths = np.array(phase_lengths(n_arms, self.n_pulls), dtype=np.int64)
        # t_k = n_1 + ... + n_(k-1) + (K - k + 1) n_k
        ends = np.cumsum(lengths) + np.arange(n_arms - 1, 0, -1) * lengths
        a = np.full(len(state.rows), self.c * self.n_pulls / n_arms)
        return _Phases(ends, np.zeros_like(state.rows), a * state.width**2)

    def _index(self, state: IndexState) -> FloatArray:
        memory: _Phases = state.memory
        phase = np.searchsorted(memory.ends, state.n_asked_in_all, side="right")
        new = phase != memory.phase
        if new.any():
            # No gap exceeds the width of the range. H is therefore at least H_0.
            least = state.problem.n_arms / state.width**2
            hardness = np.maximum(_largest_hardness(state.mean[new], phase[new]), least)
            memory.phase[new], memory.a[new] = phase[new], self.c * self.n_pulls / hardness
        # The gaps are in units of reward.
        squared = memory.a[:, np.newaxis] / state.width**2 / state.n
        return state.mean + state.width * np.sqrt(squared)


def _largest_hardness(mean: FloatArray, phase: IntArray) -> FloatArray:
    """Return the largest ``i / gap_i^2`` for K - k < i <= K, with gaps in increasing order."""
    n_arms = mean.shape[1]
    known = np.where(np.isnan(mean), -np.inf, mean)
    gap = np.sort(known.max(axis=1, keepdims=True) - known, axis=1)
    ratio = np.arange(1, n_arms + 1) / gap**2
    counts = np.arange(n_arms) >= n_arms - phase[:, np.newaxis]
    return np.where(counts & ~np.isnan(ratio), ratio, 0.0).max(axis=1)


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
    alpha: Annotated[
        float, Rule(check_not_negative, "Use 2, the default; the bound needs over 1/2.")
    ] = 2.0
    reward_range: RewardRange | None = None

    def _index(self, state: IndexState) -> FloatArray:
        log_t = np.log(state.n_asked_in_all + 1)[:, np.newaxis]
        return state.mean + state.width * np.sqrt(self.alpha * log_t / state.n)


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
    alpha: Annotated[
        float, Rule(check_not_negative, "Use 1.2, the default; the bound needs over 1.")
    ] = 1.2
    reward_range: RewardRange | None = None

    def _index(self, state: IndexState) -> FloatArray:
        log_t = np.log(state.n_asked_in_all + 1)[:, np.newaxis]
        x = self.alpha * log_t / state.n
        variance = state.statistics.variance(ddof=0)
        return state.mean + np.sqrt(2 * variance * x) + 3 * state.width * x


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

    def _index(self, state: IndexState) -> FloatArray:
        n = state.n
        squared = np.log(np.maximum(self.n_pulls / (state.problem.n_arms * n), 1.0)) / n
        return state.mean + state.width * np.sqrt(squared)
