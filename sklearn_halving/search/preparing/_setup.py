"""What a search knows before its first pull: the same for `plan` and `fit`."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from sklearn_halving._typing import Candidates, Estimator, Params, RandomState
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies._types import Problem
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.resources import Iterations, Resource
from sklearn_halving.resources._types import ContinuedResource, check_rescaled_names
from sklearn_halving.samplers import Sampler
from sklearn_halving.search._shared_parameters import FitInputs
from sklearn_halving.search.preparing._arriving import ArrivingCandidates
from sklearn_halving.search.preparing._content_hash import content_hash
from sklearn_halving.search.preparing._levels import Levels
from sklearn_halving.search.preparing._plan import SearchPlan, fronts_of
from sklearn_halving.search.preparing._space import SearchSpace
from sklearn_halving.search.preparing._splits import SearchSplits

POLICY = 2**31 - 2
"""Used instead of a repetition in the seed of the policy."""


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
    n_candidates: int = 1
    """Number of candidates, or the maximum if a sampler creates them. Brackets have their own."""
    n_fits: int = 1
    """Maximum number of fits. Brackets have their own."""
    drawn: Sequence[Params] = ()
    """Candidates that must be known before the policy is created."""


@dataclass(frozen=True)
class Prepared:
    """Everything that is known before the first pull."""

    setup: Setup
    """What the policy was created from."""
    policy: BasePolicy
    """The policy."""
    plan: SearchPlan
    """The plan of the policy."""
    candidates: Candidates
    """The candidates, some of which may be created during the search."""
    seed: np.random.SeedSequence
    """Seed of the policy, the splits and the fits."""

    def start(self) -> Any:
        """Return the state of the policy before the first pull."""
        own = np.random.SeedSequence(self.seed.entropy, spawn_key=(*self.seed.spawn_key, POLICY))
        problem = self.plan.problem
        if self.plan.description.breaks_ties:
            problem = replace(problem, tie_break=_tie_break(self.candidates, self.seed))
        state = self.policy.start(problem, seed=own)
        if isinstance(self.candidates, ArrivingCandidates):
            self.candidates.source.follow(self.policy, state)
        return state


def make_plan(policy: BasePolicy, setup: Setup) -> SearchPlan:
    """Return the plan of a policy."""
    levels, space = setup.levels, setup.space
    schedule = policy.schedule(levels.smallest, levels.largest, space.size)
    if schedule is not None:
        n_arms = schedule.n_arms
    else:
        n_arms = policy.describe().n_arms or setup.n_candidates
    problem = Problem(
        n_arms, levels.smallest, levels.largest, setup.splits.n_repetitions, space.size
    )
    plan = SearchPlan(
        problem,
        policy.describe(problem),
        schedule,
        makes_candidates=setup.sampler is not None,
    )
    if not space.initial:
        return plan
    order = [0]
    if schedule is not None:  # brackets that eliminate the fewest candidates early
        brackets = schedule.brackets
        order = sorted(range(len(brackets)), key=lambda i: (brackets[i].loop, brackets[i].label))
    return replace(plan, fronts=fronts_of(len(space.initial), plan.n_of_bracket, order))


def _tie_break(candidates: Candidates, seed: np.random.SeedSequence) -> tuple[int, ...]:
    """Return a number for each candidate that depends on its parameters and on the seed."""
    key = blake2b(repr((seed.entropy, seed.spawn_key)).encode(), digest_size=32).digest()
    return tuple(
        int.from_bytes(blake2b(content_hash(params).encode(), key=key, digest_size=7).digest())
        for params in candidates
    )


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
