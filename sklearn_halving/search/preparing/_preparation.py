"""What a search knows before its first pull."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from sklearn_halving._typing import Candidates, Estimator, RandomState
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.resources import Iterations, Resource
from sklearn_halving.resources._rescaling import check_rescaled_names
from sklearn_halving.resources._types import ContinuedResource
from sklearn_halving.samplers import Sampler
from sklearn_halving.search.preparing._inputs import FitInputs
from sklearn_halving.search.preparing._levels import Levels
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.preparing._search_space import SearchSpace
from sklearn_halving.search.preparing._splitting import SearchSplits


@dataclass(frozen=True)
class Setup:
    """Everything that is known before the policy is created."""

    inputs: FitInputs
    """Data, scorers and routed parameters."""
    space: SearchSpace
    """The search space, from which candidates are drawn."""
    sampler: Sampler | None
    """The sampler that creates candidates during the search; None if they are drawn from the
    space."""
    resource: Resource
    """The resource, which defines the meaning of a level."""
    splits: SearchSplits
    """The splits, and what is known about them before the first fit."""
    levels: Levels
    """The range of levels."""


@dataclass(frozen=True)
class Preparation:
    """Everything that is known before the first pull; the same for `plan` and `fit`."""

    setup: Setup
    """What the policy was created from."""
    policy: BasePolicy
    """The policy."""
    plan: SearchPlan
    """The plan of the policy."""


def check_rungs(estimator: Estimator, setup: Setup, candidates: Candidates) -> None:
    """Raise before any fit if a parameter that depends on the resource cannot be rescaled.

    Every candidate is rescaled to the smallest level once. A warning says if the models of a
    resource that could continue are fitted from scratch in each rung.
    """
    resource, levels = setup.resource, setup.levels
    if resource.rescale:
        check_rescaled_names(resource.rescale, estimator, setup.space.names)
        for params in candidates:
            unfitted = clone(estimator).set_params(**clone(params, safe=False))
            resource.rescaled(unfitted, levels.smallest, levels.largest)
    if not isinstance(resource, ContinuedResource) or resource.can_continue(estimator):
        return
    if not (isinstance(resource, Iterations) and resource.continuation == "refit"):
        reason = (
            "rescale changes the parameters from rung to rung"
            if resource.rescale
            else f"{type(estimator).__name__}, as it is set up, cannot be trained further by "
            f"{resource.name!r}"
        )
        warn_user(f"Models are fitted from scratch in every rung, because {reason}.")


def seed_of(
    random_state: RandomState | None,
) -> tuple[np.random.RandomState, np.random.SeedSequence]:
    """Return a generator for the candidates and a seed for splits and fits."""
    rng = check_random_state(random_state)
    # A copy is used, so that the same candidates are drawn as by RandomizedSearchCV.
    entropy = deepcopy(rng).randint(0, 2**31 - 1, size=4)
    return rng, np.random.SeedSequence(entropy.tolist())
