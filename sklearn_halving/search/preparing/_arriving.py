"""Where the candidates of a search come from.

They are drawn from the search space before the first fit, or a sampler creates them in groups
during the search, such as those of a bracket when it starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, count, takewhile
from typing import Any

import numpy as np

from sklearn_halving._typing import Candidates, Estimator, Params
from sklearn_halving.policies._types import ClosedRung
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.samplers import GaussianProcessSampler, Sampler, Space, Told
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.preparing._space import SearchSpace, estimator_with

SAMPLERS: dict[str, Callable[[], Sampler]] = {
    "gaussian_process": GaussianProcessSampler,
}
"""Samplers by name, except ``"random"``, which draws all candidates before the first fit."""
DEFAULT_SAMPLER = "gaussian_process"
"""The sampler for distributions with ``"auto"``."""
BRACKETS_IN_PLAY = 3
"""Number of brackets that run at a time. The last rung of a bracket has few fits. Meanwhile, the
next two brackets keep the workers busy."""
N_TRIED = 100
"""Number of examples that are drawn to check that the estimator has their parameters."""


def resolve_sampler(sampler: object) -> Sampler | None:
    """Return a sampler that is given by name or as an object; None for "random"."""
    if isinstance(sampler, str):
        if sampler == "random":
            return None
        if sampler in SAMPLERS:
            return SAMPLERS[sampler]()
    elif isinstance(sampler, Sampler) and not isinstance(sampler, type):
        return sampler
    names = ", ".join(map(repr, ["random", *SAMPLERS]))
    raise ValueError(
        f"sampler must be one of {names}, or an object with the method of "
        f"sklearn_halving.samplers.Sampler; got {sampler!r}. Only BanditSearchCV has no 'auto'."
    )


def draw_candidates(
    estimator: Estimator,
    space: SearchSpace,
    sampler: Sampler | None,
    policy: BasePolicy,
    plan: SearchPlan,
    rng: np.random.RandomState,
) -> Candidates:
    """Return the candidates of a search; raise if the estimator lacks one of their parameters."""
    if sampler is None:
        drawn = space.draw(plan.n_of_bracket, rng, plan.fronts)
        check_candidates(estimator, drawn)
        return drawn
    fronts = () if plan.schedule is None else plan.fronts
    source, groups = MadeBySampler.over(space, sampler, rng, fronts), None
    if plan.schedule is not None:
        ends = list(accumulate(plan.n_of_bracket))
        arms_of = [range(end - n, end) for n, end in zip(plan.n_of_bracket, ends, strict=True)]
        groups = [(group, arms_of[group]) for group in policy.order_of_play(plan.schedule)]
    elif not plan.description.keeps_time:
        groups = [(arm, range(arm, arm + 1)) for arm in range(plan.problem.n_arms)]
    candidates = ArrivingCandidates(source, plan.problem.n_arms, groups)
    if groups and not isinstance(sampler, PointSampler):  # the policy has not started yet
        candidates.arrive(groups[0][1].start)
    check_candidates(estimator, [*space.initial, *source.examples, *candidates])
    return candidates


def check_candidates(estimator: Estimator, candidates: Candidates) -> None:
    """Set each combination of parameter names once, to raise early for an invalid name."""
    seen = set()
    for params in candidates:
        kind = tuple(
            (name, type(value) if hasattr(value, "get_params") else None)
            for name, value in sorted(params.items())
        )
        if kind in seen:
            continue
        seen.add(kind)
        estimator_with(estimator, params, "Invalid parameter {name!r} for estimator {estimator}.")


class ArrivingCandidates:
    """Candidates that are created in groups, when the first one of a group is requested.

    The groups start in a fixed order, or when the policy decides it. Their candidates therefore
    depend only on the seed and on the scores.

    Parameters
    ----------
    source : MadeBySampler
        Creates the candidates.
    n_most : int
        Maximum number of candidates.
    groups : sequence of (int, range) or None
        Index and arms of each group, in the order in which they start; None if the policy decides.
    """

    def __init__(
        self, source: MadeBySampler, n_most: int, groups: Sequence[tuple[int, range]] | None
    ) -> None:
        self.source = source
        self._n_most = n_most
        self._groups = groups
        self._n_started = 0
        self._known: dict[int, Params] = {}

    def arrive(self, arm: int) -> None:
        """Create the candidates up to the group of an arm, unless they exist already."""
        while arm not in self._known:
            groups = self.source.arrivals() if self._groups is None else self._groups
            group, arms = groups[self._n_started]
            self._known |= zip(arms, self.source.create(group, arms), strict=True)
            self._n_started += 1

    def __len__(self) -> int:
        return self._n_most

    def __getitem__(self, arm: int) -> Params:
        if arm not in self._known:
            raise IndexError(f"there is no candidate {arm} yet")
        return self._known[arm]

    def __iter__(self) -> Iterator[Params]:
        """Yield the existing candidates in the order of their arms."""
        for arm in sorted(self._known):
            yield self._known[arm]


@dataclass
class MadeBySampler:
    """Creates the candidates of each bracket by a sampler.

    They are based on the rungs that are certain to be closed when the bracket starts, and they
    are created after those of all earlier brackets.
    """

    sampler: Sampler
    """Creates the candidates."""
    told: Told
    """The candidates so far and their scores."""
    seed: list[int]
    """Seed of the sampler. It is combined with the index of the bracket."""
    initial: list[Params]
    """Candidates with which the groups begin."""
    fronts: Sequence[range] = ()
    """The indices of those of each group; if empty, the first groups begin with them."""
    running: tuple[BasePolicy, Any] | None = None
    """The policy and its state, from the start of the search on."""
    _number: dict[int, int] = field(default_factory=dict)
    _rungs: list[ClosedRung] = field(default_factory=list)

    @classmethod
    def over(
        cls,
        space: SearchSpace,
        sampler: Sampler,
        rng: np.random.RandomState,
        fronts: Sequence[range] = (),
    ) -> MadeBySampler:
        """Return the source for a search space, with a seed from a generator."""
        seed = rng.randint(2**31 - 1, size=4).tolist()
        told = Told(Space.of(space.distributions))
        return cls(sampler, told, seed, list(space.initial), fronts)

    @property
    def examples(self) -> Sequence[Params]:
        """Random candidates of the space, and one that the sampler proposes without scores."""
        trial, space = np.random.default_rng(0), self.told.space
        drawn = [space.draw(trial) for _ in range(N_TRIED)]
        n_proposed = 0 if isinstance(self.sampler, PointSampler) else 1
        return [*drawn, *self._proposed(Told(space), n_proposed, trial)]

    def follow(self, policy: BasePolicy, state: Any) -> None:
        """Use the closed rungs of a running policy, or its points."""
        self.running = policy, state
        if isinstance(self.sampler, PointSampler):
            self.sampler.running = policy, state

    def arrivals(self) -> Sequence[tuple[int, range]]:
        """Return index and arms of the groups that a policy which keeps time has created."""
        policy, state = self.running or (None, None)
        return [] if policy is None else list(enumerate(policy.arrivals(state)))

    def create(self, group: int, arms: range) -> Sequence[Params]:
        """Return the candidates of a bracket, the first of which are initial ones."""
        policy, state = self.running or (None, None)
        rungs = [] if policy is None else list(policy.rungs_before(state, group))
        # Rungs that the bracket before used are not told again, which would take quadratic time.
        pairs = zip(rungs, self._rungs, strict=False)
        n_known = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
        self._rungs = rungs
        for rung in rungs[n_known:]:
            variances = np.zeros(len(rung.arms)) if rung.variances is None else rung.variances
            columns = (rung.arms.tolist(), rung.means.tolist(), variances.tolist())
            for arm, mean, variance in zip(*columns, strict=True):
                self.told.tell(self._number[arm], rung.level, mean, variance)
        n_before = len(self._number)
        place = self.fronts[group] if self.fronts else range(n_before, n_before + len(arms))
        front = self.initial[place.start : place.stop]
        for params in front:
            self.told.add(params)
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(group,)))
        made = self._proposed(self.told, len(arms) - len(front), rng)
        for params in made:
            self.told.add(params)
        self._number |= zip(arms, count(len(self._number)), strict=False)
        return [*front, *made]

    def _proposed(self, told: Told, n: int, rng: np.random.Generator) -> list[Params]:
        if n == 0:
            return []
        made = list(self.sampler.propose(told, n, rng))
        if len(made) != n or not all(isinstance(params, dict) for params in made):
            raise ValueError(
                f"sampler={self.sampler!r} must propose {n} dicts of parameters, one for each "
                f"candidate; got {made!r}."
            )
        return made

    def __getstate__(self) -> dict[str, object]:
        """Return the candidates, without the policy."""
        return {**vars(self), "running": None, "_rungs": []}


@dataclass
class PointSampler:
    """Sampler of the points that a policy creates itself, in the order of their creation."""

    running: tuple[BasePolicy, Any] | None = None
    """The policy and its state, from the start of the search on."""

    def propose(self, told: Told, n: int, rng: np.random.Generator) -> list[Params]:
        """Return the candidates at the next ``n`` points."""
        points = None if self.running is None else self.running[0].points(self.running[1])
        first = len(told.candidates)
        known = () if points is None else points[first : first + n]
        return [told.space.params_at(point) for point in known]

    def __getstate__(self) -> dict[str, object]:
        """Return an empty state, without the policy."""
        return {"running": None}
