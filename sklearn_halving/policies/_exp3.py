"""EXP3: randomized pulls with exponential weights, for adversarial rewards."""

from __future__ import annotations

from dataclasses import dataclass
from math import e, log, sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from sklearn_halving._checks import Share
from sklearn_halving.policies._arrays import BoolArray, FloatArray, Seed
from sklearn_halving.policies._types import Pull
from sklearn_halving.policies.bases._base_policy import RewardRange, generator_of, known_range
from sklearn_halving.policies.bases._index_policy import IndexGame, IndexPolicy
from sklearn_halving.policies.bases._ranking import usable_or_first


class Memory(NamedTuple):
    """What EXP3 remembers.

    Parameters
    ----------
    log_weight : ndarray of shape (n_arms,)
        The logarithms of the weights.
    rng : numpy.random.Generator
    in_flight : dict
        The probabilities of the pulls in flight, by arm and repetition.
    """

    log_weight: FloatArray
    rng: np.random.Generator
    in_flight: dict[tuple[int, int], float]


@dataclass(frozen=True)
class EXP3(IndexPolicy):
    """Pull at random, with probabilities that grow exponentially with the rewards so far.

    Arm i is pulled with probability ``p_i = (1 - gamma) w_i / sum w + gamma / K``. Then its weight
    is multiplied by ``exp(gamma x / (p_i K))``, where x is the reward scaled to [0, 1]. The
    expected regret is at most ``2.63 sqrt(n K log K)`` for any sequence of rewards, even if they
    change over time. The arm with the best mean is recommended.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls of all arms together.
    gamma : float or None, default=None
        Share of pulls that are drawn uniformly, larger than 0 and at most 1. If None, it is
        ``min(1, sqrt(K log K / ((e - 1) n_pulls)))``, the value for which the bound holds.
    reward_range : (float, float)
        Smallest and largest possible reward. Rewards outside of the range are clipped.

    References
    ----------
    Auer, Cesa-Bianchi, Freund and Schapire. The nonstochastic multiarmed bandit problem. SIAM
    Journal on Computing 32 (2002), Fig. 1 and corollary 3.2.

    Examples
    --------
    >>> from sklearn_halving.policies import EXP3
    >>> from sklearn_halving.simulation import BernoulliArms, simulate
    >>> environment = BernoulliArms([0.1, 0.5, 0.9])
    >>> result = simulate(EXP3(n_pulls=500), environment, n_problems=100)
    >>> result.mistake_probability.value
    0.0
    """

    n_first: ClassVar[int] = 0
    goes_on_when_decided: ClassVar[bool] = True

    n_pulls: int
    gamma: Share | None = None
    reward_range: RewardRange | None = None

    def _gamma(self, n_arms: int) -> float:
        if self.gamma is not None:
            return self.gamma
        if n_arms == 1:
            return 1.0
        return min(1.0, sqrt(n_arms * log(n_arms) / ((e - 1) * self.n_pulls)))

    def first_memory(self, arms: IndexGame, seed: Seed) -> Memory:
        return Memory(np.zeros(arms.n_arms), generator_of(seed), {})

    def select(self, arms: IndexGame, usable: BoolArray) -> int:
        """Draw an arm, and record its probability."""
        memory, gamma = arms.memory, self._gamma(arms.n_arms)
        log_weight = np.where(usable, memory.log_weight, -np.inf)
        weight = np.exp(log_weight - log_weight.max())
        share = (1 - gamma) * weight / weight.sum()  # 1. p_i
        share += gamma / usable.sum() * usable
        reached = np.cumsum(share)
        limit = memory.rng.random() * reached[-1]  # 2. draw an arm
        arm = usable_or_first(min(int((reached <= limit).sum()), arms.n_arms - 1), usable)
        memory.in_flight[arm, arms.n_asked.item(arm)] = share.item(arm)
        return arm

    def learn(self, arms: IndexGame, pull: Pull, reward: float) -> None:
        """Update the weight of the arm, unless the pull failed."""
        probability = arms.memory.in_flight.pop((pull.arm, pull.repetition))
        if reward == reward:  # 3. and 4. the reward between 0 and 1, divided by p_i
            low = (known_range(self, arms.problem) or (0.0, 1.0))[0]
            x = min(max((reward - low) / arms.width, 0.0), 1.0)
            gain = self._gamma(arms.n_arms) * x / (probability * arms.n_arms)
            arms.memory.log_weight[pull.arm] += gain
