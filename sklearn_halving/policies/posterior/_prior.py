"""The hyperparameters of the prior of BayesGap, which are fitted to the rewards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray
from sklearn_halving.policies.bases._gap_rule import Exploration
from sklearn_halving.policies.posterior._arm_covariance import ArmCovariance
from sklearn_halving.policies.posterior._arm_posterior import ArmPosterior
from sklearn_halving.policies.posterior._hyperparameters import (
    ArmRewards,
    Hyperparameters,
    KernelFamily,
    fit_hyperparameters,
)

REFITS = frozenset(5 * 2**i for i in range(30))
"""Numbers of rewards after which the hyperparameters are estimated."""

OUTLIER_SPREADS = 3.0
"""Limit for the distance of a reward below the median, as a multiple of the distance of the best
reward above it. Lower rewards are raised to the limit, so that a few poor arms do not determine
the scale."""

Model = tuple[ArmPosterior, Exploration]
"""A posterior, and the constants of its bounds."""


@dataclass(eq=False)
class Refits:
    """The rewards of a single problem, to which hyperparameters are fitted from time to time.

    Parameters
    ----------
    family : KernelFamily
    guess : Hyperparameters
        The initial hyperparameters.
    make_model : callable
        Function of a covariance and hyperparameters that returns a posterior without rewards.
    highest : ndarray of shape (n_arms,)
        The highest standardized reward of each arm, minus infinity without one.
    told : list of tuple
        Arms, repetitions and standardized rewards.
    floor : float
        Limit to which lower rewards are raised before updates, set by the last fit.
    """

    family: KernelFamily
    guess: Hyperparameters
    make_model: Callable[[ArmCovariance, Hyperparameters], Model]
    highest: FloatArray
    told: list[tuple[int, int, float]] = field(default_factory=list)
    floor: float = -np.inf

    def add(self, arm: int, split: int, reward: float) -> bool:
        """Store a reward, and return whether it is time for a fit."""
        self.told.append((arm, split, reward))
        self.highest[arm] = max(reward, self.highest[arm])
        return len(self.told) in REFITS

    def fit(self) -> Model:
        """Return the posterior given all rewards, with hyperparameters that are fitted to them."""
        told = ArmRewards(*map(np.array, zip(*self.told, strict=True)))
        self.floor = floor_of(told.rewards)
        told = told._replace(rewards=np.maximum(told.rewards, self.floor))
        found = fit_hyperparameters(self.family, told, self.guess)
        posterior, exploration = self.make_model(self.family.at(found.log_lengths), found)
        for pull in zip(*(column[:, np.newaxis] for column in told), strict=True):
            posterior.update(*pull)
        return posterior, exploration

    def is_hopeless(self) -> BoolArray:
        """Return which arms only have rewards below the floor, shape ``(n_arms,)``.

        An arm with any reward above the floor is not hopeless, because a single low reward may be
        due to its split.
        """
        return (self.highest > -np.inf) & (self.highest < self.floor)


def floor_of(rewards: FloatArray) -> float:
    """Return the limit to which lower rewards are raised in the model of a search."""
    median = float(np.median(rewards))
    spread = float(rewards.max()) - median
    return median - OUTLIER_SPREADS * spread if spread > 0 else -np.inf
