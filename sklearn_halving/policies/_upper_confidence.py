"""Policies that pull the arm with the largest upper confidence bound of its mean.

UCB-E and its adaptive form look for the best arm; UCB1, UCB-V and MOSS for large rewards on the
way (Audibert, Bubeck and Munos, Bandit view on noisy optimization, 2011, Figs. 16.2 and 16.7).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sklearn_halving.policies._index_policy import IndexPolicy, IndexState
from sklearn_halving.policies._parameter_checks import (
    RewardRange,
    check_not_negative,
    width_of_range,
)
from sklearn_halving.policies._successive_rejects import phase_lengths
from sklearn_halving.policies._types import FloatArray, IntArray


class _UpperConfidence(IndexPolicy):
    """What the policies of this file share: a budget and a range of rewards."""

    n_pulls: int
    reward_range: RewardRange | None

    def _width(self) -> float:
        return width_of_range(self, self.reward_range)

    def _most_pulls(self) -> int:
        return self.n_pulls

    def _squared_radius(self, state: IndexState, n_pulls: IntArray) -> FloatArray:
        """Return the square of what is added to the mean, for rewards in [0, 1]."""
        raise NotImplementedError

    def _index(self, state: IndexState) -> FloatArray:
        # Pulls in flight count: they will narrow the bound, whatever they bring.
        squared = self._squared_radius(state, np.maximum(state.n_asked, 1))
        return state.mean + state.width * np.sqrt(squared)


@dataclass(frozen=True)
class UCBE(_UpperConfidence):
    """Pull ``argmax mean + sqrt(a / N)`` and choose the best mean: UCB for exploration.

    With ``0 < a <= 25 (n - K) / (36 H)``, rewards in [0, 1] and ``H = sum of 1 / gap^2``, the
    chance of a wrong answer is at most ``2 n K exp(-2 a / 25)``. H is rarely known:
    `AdaptiveUCBE` estimates it, `SuccessiveRejects` does without.

    Parameters
    ----------
    n_pulls : int
        Number of pulls for all arms together, the paper's n; never exceeded.
    a : float
        Exploration, at least 0, for rewards in [0, 1]. The more, the more even the pulls.
    reward_range : (float, float)
        Smallest and largest possible reward, for example (0, 1) for accuracy.

    References
    ----------
    Audibert and Bubeck. Best arm identification in multi-armed bandits. COLT 2010, Fig. 2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import UCBE, Problem
    >>> policy = UCBE(n_pulls=6, a=0.1, reward_range=(0, 1))
    >>> state = policy.start(Problem(n_arms=2))
    >>> arms = []
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=1)
    ...     arms.append(int(pulls.arm[0]))
    ...     policy.tell(state, pulls, np.array([0.4, 0.6])[pulls.arm])
    >>> arms, int(policy.recommend(state))
    ([0, 1, 1, 1, 1, 1], 1)
    """

    n_pulls: int
    a: float
    reward_range: RewardRange | None = None

    def __post_init__(self) -> None:
        """Refuse an exploration below 0."""
        check_not_negative("a", self.a, "Large values pull all arms evenly, 0 explores nothing.")

    def _squared_radius(self, state: IndexState, n_pulls: IntArray) -> FloatArray:
        return self.a / n_pulls


@dataclass
class _Hardness:
    """What Adaptive UCB-E remembers: ends of phases, and each problem's phase and a."""

    phase_ends: IntArray
    phase: IntArray
    a: FloatArray


@dataclass(frozen=True)
class AdaptiveUCBE(_UpperConfidence):
    """UCB-E with its exploration estimated in the phases of successive rejects.

    ``a = c n / H_k`` in phase k; ``H_0 = K``, and ``H_k`` is the largest ``i / gap_i^2`` of the k
    largest estimated gaps at the start of the phase.

    Parameters
    ----------
    n_pulls : int
        Number of pulls for all arms together, the paper's n; never exceeded. Larger than the
        number of arms.
    c : float, default=1.0
        The paper's exploration rate. Larger than 0.
    reward_range : (float, float)
        Smallest and largest possible reward; only phase 0 depends on it.

    References
    ----------
    Audibert, Bubeck and Munos. Bandit view on noisy optimization, in Optimization for Machine
    Learning, 2011, Fig. 16.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import AdaptiveUCBE, Problem
    >>> policy = AdaptiveUCBE(n_pulls=60, reward_range=(0, 1))
    >>> state = policy.start(Problem(n_arms=3))
    >>> means = np.array([0.1, 0.5, 0.7])
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=1)
    ...     policy.tell(state, pulls, means[pulls.arm])
    >>> int(policy.recommend(state))
    2
    """

    n_pulls: int
    c: float = 1.0
    reward_range: RewardRange | None = None

    def __post_init__(self) -> None:
        """Refuse an exploration rate below 0."""
        check_not_negative("c", self.c, "The paper's simulations use 1.")

    def _first_memory(self, state: IndexState, seed: np.random.SeedSequence | None) -> _Hardness:
        n_arms = state.problem.n_arms
        lengths = np.array(phase_lengths(n_arms, self.n_pulls), dtype=np.int64)
        # t_k = n_1 + ... + n_(k-1) + (K - k + 1) n_k
        ends = np.cumsum(lengths) + np.arange(n_arms - 1, 0, -1) * lengths
        a = np.full(len(state.rows), self.c * self.n_pulls / n_arms)
        return _Hardness(ends, np.zeros_like(state.rows), a * state.width**2)

    def _squared_radius(self, state: IndexState, n_pulls: IntArray) -> FloatArray:
        memory: _Hardness = state.memory
        phase = np.searchsorted(memory.phase_ends, state.n_asked_of_row, side="right")
        new = np.flatnonzero(phase != memory.phase)
        if len(new):
            # No gap exceeds the width of the range, so that H is at least what it is in phase 0.
            least = state.problem.n_arms / state.width**2
            hardness = np.maximum(_largest_hardness(state.mean[new], phase[new]), least)
            memory.phase[new], memory.a[new] = phase[new], self.c * self.n_pulls / hardness
        # In units of reward, as the gaps are.
        a: FloatArray = memory.a[:, np.newaxis] / state.width**2 / n_pulls
        return a


def _largest_hardness(mean: FloatArray, phase: IntArray) -> FloatArray:
    """Return the largest ``i / gap_i^2``, K - k < i <= K, gaps in increasing order."""
    n_arms = mean.shape[1]
    known = np.where(np.isnan(mean), -np.inf, mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.sort(known.max(axis=1, keepdims=True) - known, axis=1)
        ratio = np.arange(1, n_arms + 1) / gap**2
    counts = np.arange(n_arms) >= n_arms - phase[:, np.newaxis]
    hardness: FloatArray = np.where(counts & ~np.isnan(ratio), ratio, 0.0).max(axis=1)
    return hardness


class _CumulativeReward(_UpperConfidence):
    """A policy that earns: the only arm left is still worth its pulls."""

    goes_on_when_decided: ClassVar[bool] = True


@dataclass(frozen=True)
class UCB1(_CumulativeReward):
    """Pull ``argmax mean + sqrt(alpha log(t) / N)`` before pull t: large rewards on the way.

    The regret after n pulls is of order ``sum of log(n) / gap`` for ``alpha > 1/2`` and rewards in
    [0, 1] (theorem 16.10). To find the best arm, not to earn, the others of this folder are
    better.

    Parameters
    ----------
    n_pulls : int
        Number of pulls after which to stop; nothing before depends on it.
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
    >>> import numpy as np
    >>> from sklearn_halving.policies import UCB1, Problem
    >>> policy = UCB1(n_pulls=200, reward_range=(0, 1))
    >>> state = policy.start(Problem(n_arms=3))
    >>> means = np.array([0.1, 0.5, 0.7])
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=1)
    ...     policy.tell(state, pulls, means[pulls.arm])
    >>> int(policy.recommend(state))
    2
    """

    n_pulls: int
    alpha: float = 2.0
    reward_range: RewardRange | None = None

    def __post_init__(self) -> None:
        """Refuse an exploration rate below 0."""
        check_not_negative("alpha", self.alpha, "Use 2, the default; the bound needs over 1/2.")

    def _squared_radius(self, state: IndexState, n_pulls: IntArray) -> FloatArray:
        log_t = np.log(state.n_asked_of_row + 1)[:, np.newaxis]
        squared: FloatArray = self.alpha * log_t / n_pulls
        return squared


@dataclass(frozen=True)
class UCBV(_CumulativeReward):
    """Pull ``argmax mean + sqrt(2 alpha V log(t) / N) + 3 alpha log(t) / N``, V the variance.

    Where variances are small, regret is of order ``sum of (variance / gap + 2) log(n)`` for
    ``alpha > 1`` and rewards in [0, 1] (theorem 16.11): less than that of `UCB1`.

    Parameters
    ----------
    n_pulls : int
        Number of pulls after which to stop; nothing before depends on it.
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
    >>> import numpy as np
    >>> from sklearn_halving.policies import UCBV, Problem
    >>> policy = UCBV(n_pulls=200, reward_range=(0, 1))
    >>> state = policy.start(Problem(n_arms=3))
    >>> means = np.array([0.1, 0.5, 0.7])
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=1)
    ...     policy.tell(state, pulls, means[pulls.arm])
    >>> int(policy.recommend(state))
    2
    """

    n_pulls: int
    alpha: float = 1.2
    reward_range: RewardRange | None = None

    def __post_init__(self) -> None:
        """Refuse an exploration rate below 0."""
        check_not_negative("alpha", self.alpha, "Use 1.2, the default; the bound needs over 1.")

    def _index(self, state: IndexState) -> FloatArray:
        variance = state.statistics.squared_deviation_sum / np.maximum(state.n_pulls, 1)
        x = self.alpha * np.log(state.n_asked_of_row + 1)[:, np.newaxis]
        x = x / np.maximum(state.n_asked, 1)
        return state.mean + np.sqrt(2 * variance * x) + 3 * state.width * x


@dataclass(frozen=True)
class MOSS(_CumulativeReward):
    """Pull ``argmax mean + sqrt(2 max(log(n / (K N)), 0) / N)``: least regret in the worst case.

    Regret is at most of order ``sqrt(n K)`` with rewards in [0, 1] (theorem 16.12); no policy can
    have less on all problems. Unlike `UCB1` it needs to know n.

    Parameters
    ----------
    n_pulls : int
        Number of pulls for all arms together, the paper's n; never exceeded.
    reward_range : (float, float)
        Smallest and largest possible reward, for example (0, 1) for accuracy.

    References
    ----------
    Audibert and Bubeck. Minimax policies for adversarial and stochastic bandits. COLT 2009; the
    form with a 2 is that of Fig. 16.7 of Audibert, Bubeck and Munos (2011).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import MOSS, Problem
    >>> policy = MOSS(n_pulls=200, reward_range=(0, 1))
    >>> state = policy.start(Problem(n_arms=3))
    >>> means = np.array([0.1, 0.5, 0.7])
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=1)
    ...     policy.tell(state, pulls, means[pulls.arm])
    >>> int(policy.recommend(state))
    2
    """

    n_pulls: int
    reward_range: RewardRange | None = None

    def _squared_radius(self, state: IndexState, n_pulls: IntArray) -> FloatArray:
        ratio = self.n_pulls / (state.problem.n_arms * n_pulls)
        return 2 * np.log(np.maximum(ratio, 1.0)) / n_pulls
