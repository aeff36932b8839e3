"""What a search knows before its first pull: the same for `plan` and `fit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from sklearn.base import clone

from sklearn_halving._typing import Candidates, Estimator, Params
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies._protocol import ChoosesPoints, GrowsArms, Policy, uses_time
from sklearn_halving.policies._types import Problem
from sklearn_halving.resources import Iterations, Resource
from sklearn_halving.resources._types import ContinuedResource, check_rescaled_names
from sklearn_halving.samplers import Sampler
from sklearn_halving.search._parameters import Inputs
from sklearn_halving.search.preparing._candidates import (
    LazyCandidates,
    Source,
    check_candidates,
)
from sklearn_halving.search.preparing._levels import Levels
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.preparing._space import SearchSpace
from sklearn_halving.search.preparing._splits import SearchSplits


@dataclass(frozen=True)
class Setup:
    """Everything that is known before the policy is created."""

    inputs: Inputs
    """Data, scorers and routed parameters."""
    space: SearchSpace
    """The search space, from which candidates are drawn."""
    resource: Resource
    """The resource, which defines the meaning of a level."""
    splits: SearchSplits
    """The splits, and what is known about them before the first fit."""
    levels: Levels
    """The range of levels."""
    n_candidates: int = 1
    """Maximum number of candidates. Brackets have their own."""
    n_fits: int | None = None
    """Maximum number of fits, if there is one. Brackets have their own."""
    sampler: Sampler | None = None
    """The sampler that creates candidates during the search, if one does."""
    is_endless: bool = False
    """Whether loops of brackets are played until the time is over."""
    reward_range: tuple[float, float] | None = None
    """The range of the score that guides the search, if it is known."""
    drawn: Sequence[Params] = ()
    """Candidates that must be known before the policy is created."""


def make_plan(policy: Policy, setup: Setup) -> SearchPlan:
    """Return the plan of a policy, which may determine the number of candidates."""
    levels, splits = setup.levels, setup.splits
    problem = Problem(
        setup.n_candidates,
        levels.smallest,
        levels.largest,
        splits.n_repetitions,
        setup.space.size,
        reward_range=setup.reward_range,
        overlap=splits.overlap,
    )
    plan = policy.plan(problem)
    return SearchPlan(
        replace(problem, n_arms=plan.n_arms),
        plan,
        makes_candidates=isinstance(policy, GrowsArms | ChoosesPoints),
        uses_time=uses_time(policy),
        is_endless=setup.is_endless,
    )


def make_candidates(
    estimator: Estimator,
    setup: Setup,
    plan: SearchPlan,
    source: Source | None,
) -> Candidates:
    """Return the candidates of a search; raise if the estimator lacks one of their parameters."""
    if setup.drawn:
        return setup.drawn
    if source is not None:
        setup.space.check_initial(plan.problem.n_arms)
        check_candidates(estimator, source.examples())
        return LazyCandidates(plan.problem.n_arms, source.more)
    if not plan.is_endless:
        drawn = setup.space.draw(plan.n_of_bracket, setup.inputs.seeds.rng)
        check_candidates(estimator, drawn)
        return drawn
    rng, sizes = (
        setup.inputs.seeds.rng,
        plan.n_of_bracket[: len(plan.n_of_bracket) // plan.n_loops],
    )
    candidates = LazyCandidates(plan.problem.n_arms, partial(setup.space.draw, sizes, rng))
    candidates.ensure(0)
    check_candidates(estimator, candidates)
    return candidates


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
    has_rungs = levels.smallest < levels.largest and isinstance(resource, ContinuedResource)
    if not has_rungs or resource.can_continue(estimator):
        return
    if not (isinstance(resource, Iterations) and resource.continuation == "refit"):
        reason = (
            "rescale changes the parameters from rung to rung"
            if resource.rescale
            else f"{type(estimator).__name__}, as it is set up, cannot be trained further by "
            f"{resource.name!r}"
        )
        warn_user(f"Models are fitted from scratch in every rung, because {reason}.")
