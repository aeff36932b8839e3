"""The prior of BayesGap, and its hyperparameters, which are fitted to the rewards."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray
from sklearn_halving.policies.bases._gap_rule import Exploration
from sklearn_halving.policies.posterior._arm_covariance import (
    ArmCovariance,
    PriorFeatures,
    effective_n_arms,
)
from sklearn_halving.policies.posterior._hyperparameters import (
    ArmRewards,
    Hyperparameters,
    KernelFamily,
    fit_hyperparameters,
)
from sklearn_halving.policies.posterior._single_posterior import SinglePosterior

MAX_FEATURES_AT_START = 1024
"""Maximum number of features in Thompson sampling; see `ArmPosterior.sample`."""

REFITS = frozenset(5 * 2**i for i in range(30))
"""Numbers of rewards after which the hyperparameters are estimated."""

OUTLIER_SPREADS = 3.0
"""Limit for the distance of a reward below the median, as a multiple of the distance of the best
reward above it. Lower rewards are raised to the limit, so that a few poor arms do not determine
the scale."""


@dataclass(frozen=True)
class PriorRecipe:
    """What the prior depends on besides its covariance and its hyperparameters.

    Parameters
    ----------
    beta : str or float
        The parameter of `BayesGap`.
    n_pulls : int
    covers_all : bool
        Whether the features of all arms are computed at the start.
    """

    beta: str | float
    n_pulls: int
    covers_all: bool

    def make(
        self, covariance: ArmCovariance, parameters: Hyperparameters
    ) -> tuple[PriorFeatures, Exploration]:
        """Return the features of the arms, and the constants of their bounds."""
        features, noise = PriorFeatures(covariance), parameters.noise_variance
        if self.covers_all:
            features.cover_all(MAX_FEATURES_AT_START)
        variance = np.asarray(covariance.diagonal)
        n_counted = float(len(variance))
        if self.beta == "effective":
            n_counted = effective_n_arms(covariance)
        return features, Exploration.of(self.beta, variance, n_counted, self.n_pulls, noise)


@dataclass(eq=False)
class Refits:
    """The rewards of a single problem, to which hyperparameters are fitted from time to time.

    Parameters
    ----------
    recipe : PriorRecipe
    family : KernelFamily
    guess : Hyperparameters
        The initial hyperparameters.
    highest : ndarray of shape (n_arms,)
        The highest standardized reward of each arm, minus infinity without one.
    told : list of tuple
        Arms, repetitions and standardized rewards.
    floor : float
        Limit to which lower rewards are raised before updates, set by the last fit.
    """

    recipe: PriorRecipe
    family: KernelFamily
    guess: Hyperparameters
    highest: FloatArray
    told: list[tuple[int, int, float]] = field(default_factory=list)
    floor: float = -np.inf

    def add(self, arm: int, split: int, reward: float) -> bool:
        """Store a reward, and return whether it is time for a fit."""
        self.told.append((arm, split, reward))
        self.highest[arm] = max(reward, self.highest.item(arm))
        return len(self.told) in REFITS

    def fit(self) -> tuple[SinglePosterior, Exploration]:
        """Return the posterior given all rewards, with hyperparameters that are fitted to them."""
        told = ArmRewards(*map(np.array, zip(*self.told, strict=True)))
        self.floor = floor_of(told.rewards)
        told = told._replace(rewards=np.maximum(told.rewards, self.floor))
        found = fit_hyperparameters(self.family, told, self.guess)
        features, exploration = self.recipe.make(self.family.at(found.log_lengths), found)
        posterior = SinglePosterior(features, found.noise_variance, found.split_variance)
        posterior.learn_all(told)
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
