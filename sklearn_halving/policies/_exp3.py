"""EXP3: randomized pulls with exponential weights, for adversarial rewards."""

from __future__ import annotations

from dataclasses import dataclass
from math import e, log, sqrt
from typing import ClassVar

import numpy as np

from sklearn_halving._checks import Share
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Seed
from sklearn_halving.policies._types import Pulls
from sklearn_halving.policies.bases._base_policy import RewardRange, known_range
from sklearn_halving.policies.bases._index_policy import IndexPolicy, IndexState
from sklearn_halving.policies.bases._ranking import places, usable_or_first
from sklearn_halving.policies.bases._separate_games import generators_of

Memory = tuple[FloatArray, list[np.random.Generator], list[tuple[IntArray, IntArray, FloatArray]]]
"""The logarithms of the weights, of shape (n_problems, n_arms); a generator for each problem; and
arms, repetitions and probabilities of the pulls in flight, each of shape (n_problems,)."""


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

    def _first_memory(self, state: IndexState, seed: Seed) -> Memory:
        return np.zeros(state.n_asked.shape), generators_of(seed, state.batch_shape), []

    def _choose(self, state: IndexState, usable: BoolArray, has_first: BoolArray) -> IntArray:
        """Draw an arm for each row, and record its probability."""
        log_weight, generators, in_flight = state.memory
        gamma = self._gamma(state.problem.n_arms)
        log_weight = np.where(usable, log_weight, -np.inf)
        weight = np.exp(log_weight - log_weight.max(axis=1)[:, np.newaxis])
        share = (1 - gamma) * weight
        share /= weight.sum(axis=1, keepdims=True)
        share += gamma / usable.sum(axis=1)[:, np.newaxis] * usable
        reached = np.cumsum(share, axis=1).T
        limit = np.array([rng.random() for rng in generators]) * reached[-1]
        arm = np.minimum((reached <= limit).sum(axis=0), state.problem.n_arms - 1)
        arm = usable_or_first(arm, usable)
        place = places(share, arm)
        in_flight.append((arm, state.n_asked.take(place), share.take(place)))
        return arm

    def _learn(self, state: IndexState, row: IntArray, pulled: Pulls, rewards: FloatArray) -> None:
        log_weight, _, in_flight = state.memory
        low = (known_range(self, state.problem) or (0.0, 1.0))[0]
        x = np.clip((rewards - low) / state.width, 0.0, 1.0)
        probability = np.ones(len(row))  # with which the pull of each row was drawn
        for i, (arm, repetition, share) in enumerate(in_flight):
            same = (arm[row] == pulled.arm) & (repetition[row] == pulled.repetition)
            probability = np.where(same, share[row], probability)
            if len(row) and same.all():  # a failed pull is not learned
                del in_flight[i]
                break
        n_arms = state.problem.n_arms
        gain = self._gamma(n_arms) * np.where(np.isnan(x), 0.0, x) / (probability * n_arms)
        log_weight.reshape(-1)[row * n_arms + pulled.arm] += gain
