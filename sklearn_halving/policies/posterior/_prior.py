"""Construction of the prior from the parameters of BayesGap."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sklearn_halving.policies.bases._gap_rule import Exploration
from sklearn_halving.policies.posterior._arm_covariance import (
    PriorFeatures,
    as_arm_covariance,
    effective_n_arms,
)
from sklearn_halving.policies.posterior._arm_posterior import ArmPosterior
from sklearn_halving.policies.posterior._hyperparameters import (
    ArmRewards,
    Hyperparameters,
    KernelFamily,
    fit_hyperparameters,
)

MAX_FEATURES_AT_START = 1024
"""Maximum number of features in Thompson sampling; see `ArmPosterior.sample`."""


@dataclass(frozen=True, eq=False)
class PriorRecipe:
    """Parameters of the prior, which is computed again when hyperparameters are fitted.

    Parameters
    ----------
    covariance : array-like, ArmCovariance, KernelFamily or None
        The parameter of `BayesGap`.
    variances : Hyperparameters
        The given noise variance and split variance.
    beta : str or float
    n_pulls, n_arms, n_problems : int
    covers_all : bool
        Whether the features of all arms are computed at the start.
    """

    covariance: Any = field(repr=False)
    variances: Hyperparameters
    beta: str | float
    n_pulls: int
    n_arms: int
    n_problems: int
    covers_all: bool

    @property
    def is_open(self) -> bool:
        """Whether the prior has hyperparameters that are estimated from the rewards."""
        return isinstance(self.covariance, KernelFamily)

    def check_family(self, standardize: bool) -> None:
        """Raise if a family is combined with several problems, or with a fixed scale."""
        if self.is_open and (self.n_problems != 1 or not standardize):
            raise ValueError(
                "A KernelFamily needs a single problem and standardize=True, got "
                f"{self.n_problems} problems and standardize={standardize}. Use "
                "covariance=family.at(...), whose length scales are fixed."
            )

    def guess(self) -> Hyperparameters:
        """Return the initial hyperparameters."""
        if not self.is_open:
            return self.variances
        lengths = np.asarray(self.covariance.lengths, dtype=np.float64)
        return replace(self.variances, log_lengths=np.log(lengths))

    def make(self, parameters: Hyperparameters) -> tuple[ArmPosterior, Exploration]:
        """Return the posterior before the first reward, and the constants of its bounds."""
        given, noise = self.covariance, parameters.noise_variance
        if self.is_open:
            given = given.at(parameters.log_lengths)
        covariance = as_arm_covariance(given, self.n_arms)
        features = PriorFeatures(covariance)
        if self.covers_all:
            features.cover_all(MAX_FEATURES_AT_START)
        posterior = ArmPosterior(features, self.n_problems, noise, parameters.split_variance)
        variance, n_counted = np.asarray(covariance.diagonal), float(self.n_arms)
        if self.beta == "effective":
            n_counted = effective_n_arms(covariance)
        return posterior, Exploration.of(self.beta, variance, n_counted, self.n_pulls, noise)

    def refit(self, told: ArmRewards) -> tuple[ArmPosterior, Exploration]:
        """Return the posterior and the constants after fitting the hyperparameters to rewards."""
        family = self.covariance
        found = fit_hyperparameters(
            family.among, told, self.guess(), family.length_bounds, family.gradient
        )
        posterior, exploration = self.make(found)
        posterior.learn_all(told)
        return posterior, exploration
