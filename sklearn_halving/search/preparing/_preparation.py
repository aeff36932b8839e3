"""What a search knows before its first pull."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from sklearn_halving._typing import Candidates, Estimator, RandomState
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.resources import Iterations, Rescaling, Resource
from sklearn_halving.resources._types import ContinuedResource
from sklearn_halving.samplers import Sampler
from sklearn_halving.search._shared_parameters import SharedParameters
from sklearn_halving.search._user_warnings import warn_user
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


def rescaling_of(
    search: SharedParameters, setup: Setup, candidates: Candidates
) -> Rescaling | None:
    """Return the rescaling, or None if there is nothing to rescale.

    Every candidate is rescaled to the smallest level once, so that an invalid name or a value
    that cannot be rescaled raises an error before any fit.
    """
    estimator, rescaling = search.estimator, Rescaling.from_option(search.rescale)
    if rescaling.rules:
        rescaling.check(estimator, setup.space.names)
        to_amount, levels = setup.resource.to_amount, setup.levels
        amounts = to_amount(levels.smallest), to_amount(levels.largest)
        for params in candidates:
            unfitted = clone(estimator).set_params(**clone(params, safe=False))
            rescaling.apply(params, unfitted, *amounts)
    _warn_of_refitting(setup.resource, estimator, rescales=bool(rescaling.rules))
    return rescaling if rescaling.rules else None


def _warn_of_refitting(resource: Resource, estimator: Estimator, *, rescales: bool) -> None:
    """Warn if models are fitted from scratch in each rung of a resource that could continue."""
    if not isinstance(resource, ContinuedResource):
        return
    if isinstance(resource, Iterations) and resource.continuation == "refit":
        return
    if rescales:
        reason = "rescale changes the parameters from rung to rung"
    elif not resource.can_continue(estimator):
        reason = (
            f"{type(estimator).__name__}, as it is set up, cannot be trained further by "
            f"{resource.name!r}"
        )
    else:
        return
    warn_user(f"Models are fitted from scratch in every rung, because {reason}.")


def seed_of(
    random_state: RandomState | None,
) -> tuple[np.random.RandomState, np.random.SeedSequence]:
    """Return a generator for the candidates and a seed for splits and fits."""
    rng = check_random_state(random_state)
    # A copy is used, so that the same candidates are drawn as by RandomizedSearchCV.
    entropy = deepcopy(rng).randint(0, 2**31 - 1, size=4)
    return rng, np.random.SeedSequence(entropy.tolist())
