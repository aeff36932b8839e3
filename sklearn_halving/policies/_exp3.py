"""EXP3: randomized pulls with exponential weights, for adversarial rewards."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import e, log, sqrt
from typing import ClassVar

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Seed, generators_of
from sklearn_halving.policies._types import NO_ARM, Pulls
from sklearn_halving.policies.bases._base_policy import RangedBudget
from sklearn_halving.policies.bases._index_policy import IndexPolicy, IndexState
from sklearn_halving.policies.bases._parameter_checks import RewardRange, refuse_unless
from sklearn_halving.policies.bases._ranking import (
    by_column,
    largest_of_each,
    places,
    running_sums,
)

N_DRAWN = 256


@dataclass
class Weights:
    """Memory of EXP3."""

    log_weight: FloatArray
    """Shape ``(n_problems, n_arms)``."""
    generators: list[np.random.Generator]
    """One for each problem, so that the results of a problem do not depend on the batch."""
    drawn: FloatArray
    """Uniform random numbers, drawn in advance. Shape ``(n_problems, N_DRAWN)``."""
    n_used: int = N_DRAWN
    """Number of columns of ``drawn`` that were used."""
    in_flight: list[tuple[IntArray, IntArray, FloatArray]] = field(default_factory=list)
    """Pulls in flight, each entry of shape (n_problems,)."""

    def next_uniform(self) -> FloatArray:
        """Return a uniform number for each problem."""
        if self.n_used == self.drawn.shape[1]:
            for row, generator in zip(self.drawn, self.generators, strict=True):
                row[:] = generator.random(len(row))
            self.n_used = 0
        self.n_used += 1
        return self.drawn[:, self.n_used - 1]


@dataclass(frozen=True)
class EXP3(RangedBudget, IndexPolicy):
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
    gamma: float | None = None
    reward_range: RewardRange | None = None

    def __post_init__(self) -> None:
        """Validate gamma."""
        holds = self.gamma is None or 0 < self.gamma <= 1
        advice = "Use None for the value of the paper."
        refuse_unless(holds, "gamma", "be larger than 0 and at most 1", self.gamma, advice)

    def _gamma(self, n_arms: int) -> float:
        if self.gamma is not None:
            return self.gamma
        if n_arms == 1:
            return 1.0
        return min(1.0, sqrt(n_arms * log(n_arms) / ((e - 1) * self.n_pulls)))

    def _first_memory(self, state: IndexState, seed: Seed) -> Weights:
        generators = generators_of(seed, state.batch_shape)
        drawn = np.empty((len(generators), min(N_DRAWN, self.n_pulls)))
        weights = Weights(np.zeros(state.alive.shape), generators, drawn)
        weights.n_used = drawn.shape[1]
        return weights

    def _largest(self, state: IndexState, usable: BoolArray) -> IntArray:
        """Draw an arm for each row, and record its probability."""
        memory: Weights = state.memory
        gamma = self._gamma(state.problem.n_arms)
        log_weight = np.where(usable, memory.log_weight, -np.inf)
        n_usable = by_column(usable).sum(axis=0)[:, np.newaxis]
        largest = np.where(n_usable > 0, largest_of_each(log_weight)[:, np.newaxis], 0.0)
        weight = np.exp(log_weight - largest)
        total = np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
        share = (1 - gamma) * weight
        share /= total
        share += gamma / np.maximum(n_usable, 1) * usable
        reached = running_sums(share)
        limit = memory.next_uniform() * reached[-1]
        arm = np.minimum((reached <= limit).sum(axis=0), state.problem.n_arms - 1)
        may_ask = state.is_open & (state.n_asked_of_row < self.n_pulls) & (n_usable[:, 0] > 0)
        arm = np.where(may_ask, arm, NO_ARM)
        if may_ask.any():
            place = places(share, arm)
            memory.in_flight.append((arm, state.n_asked.take(place), share.take(place)))
        return arm

    def _learn(self, state: IndexState, row: IntArray, pulled: Pulls, rewards: FloatArray) -> None:
        memory: Weights = state.memory
        low = (self.reward_range or (0.0, 1.0))[0]
        x = np.clip((rewards - low) / state.width, 0.0, 1.0)
        probability = self._probability(memory, row, pulled)
        n_arms = state.problem.n_arms
        gain = self._gamma(n_arms) * np.where(np.isnan(x), 0.0, x) / (probability * n_arms)
        place = row * n_arms + pulled.arm
        memory.log_weight.put(place, memory.log_weight.take(place) + gain)

    def _probability(self, memory: Weights, row: IntArray, pulled: Pulls) -> FloatArray:
        """Return the probability with which the pull of each row was drawn, and remove it."""
        probability = np.ones(len(row))
        for i, (arm, repetition, share) in enumerate(memory.in_flight):
            same = (arm[row] == pulled.arm) & (repetition[row] == pulled.repetition)
            if same.any():
                probability = np.where(same, share[row], probability)
                if same.all():
                    del memory.in_flight[i]
                    break
        return probability
