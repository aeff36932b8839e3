"""UCB1, UCB-V and MOSS: upper confidence bounds for a large cumulative reward.

Audibert, Bubeck and Munos, Bandit view on noisy optimization, 2011, Fig. 16.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sklearn_halving.policies._arrays import FloatArray, IntArray
from sklearn_halving.policies._upper_confidence import UpperConfidencePolicy
from sklearn_halving.policies.bases._index_policy import IndexState
from sklearn_halving.policies.bases._parameter_checks import RewardRange, check_not_negative


class _CumulativeReward(UpperConfidencePolicy):
    """Base class of policies for cumulative reward, which keep pulling a single remaining arm."""

    goes_on_when_decided: ClassVar[bool] = True


@dataclass(frozen=True)
class UCB1(_CumulativeReward):
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

    n_pulls: int
    alpha: float = 2.0
    reward_range: RewardRange | None = None

    def __post_init__(self) -> None:
        """Validate the exploration rate."""
        check_not_negative("alpha", self.alpha, "Use 2, the default; the bound needs over 1/2.")

    def _squared_radius(self, state: IndexState, n_pulls: IntArray) -> FloatArray:
        log_t = np.log(state.n_asked_of_row + 1)[:, np.newaxis]
        squared: FloatArray = self.alpha * log_t / n_pulls
        return squared


@dataclass(frozen=True)
class UCBV(_CumulativeReward):
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

    n_pulls: int
    alpha: float = 1.2
    reward_range: RewardRange | None = None

    def __post_init__(self) -> None:
        """Validate the exploration rate."""
        check_not_negative("alpha", self.alpha, "Use 1.2, the default; the bound needs over 1.")

    def _index(self, state: IndexState) -> FloatArray:
        variance = state.statistics.squared_deviation_sum / np.maximum(state.n_pulls, 1)
        x = self.alpha * np.log(state.n_asked_of_row + 1)[:, np.newaxis]
        x = x / np.maximum(state.n_asked, 1)
        return state.mean + np.sqrt(2 * variance * x) + 3 * state.width * x


@dataclass(frozen=True)
class MOSS(_CumulativeReward):
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

    n_pulls: int
    reward_range: RewardRange | None = None

    def _squared_radius(self, state: IndexState, n_pulls: IntArray) -> FloatArray:
        ratio = self.n_pulls / (state.problem.n_arms * n_pulls)
        squared: FloatArray = np.log(np.maximum(ratio, 1.0)) / n_pulls
        return squared
