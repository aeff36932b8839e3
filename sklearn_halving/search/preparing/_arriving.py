"""Where the candidates of a search come from.

They are drawn from the search space before the first fit, or they arrive in groups during the
search: those of a loop of Hyperband's brackets are drawn when the loop starts, and those of a
sampler are created when their bracket starts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, count, takewhile
from typing import Any, ClassVar, Protocol

import numpy as np

from sklearn_halving._typing import Candidates, Estimator, Params
from sklearn_halving.policies._types import ClosedRung
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.samplers import (
    GaussianProcessSampler,
    Sampler,
    Space,
    Told,
)
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
        f"sklearn_halving.samplers.Sampler; got {sampler!r}. 'auto' is for HyperbandSearchCV only."
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
    if sampler is None and (plan.n_loops == 1 or space.size is not None):
        drawn = space.draw(plan.n_of_bracket, rng, plan.fronts)
        check_candidates(estimator, drawn)
        return drawn
    source: Source
    if sampler is None:
        source = DrawnByLoop(plan, space, rng)
        n_of_group: Sequence[int] = [sum(sizes) for sizes in source.n_of_bracket]
        order: Sequence[int] = range(plan.n_loops)
    else:
        source = MadeBySampler.over(
            space, sampler, rng, () if plan.schedule is None else plan.fronts
        )
        if plan.schedule is None:
            n_of_group, order = [1] * plan.problem.n_arms, range(plan.problem.n_arms)
        else:
            n_of_group, order = plan.n_of_bracket, policy.order_of_play(plan.schedule)
    candidates = ArrivingCandidates(source, n_of_group, order)
    if not isinstance(sampler, PointSampler):  # the policy has not started yet
        candidates.arrive(sum(n_of_group[: order[0]]))
    check_candidates(estimator, [*source.examples, *candidates])
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


class Source(Protocol):
    """Creates the candidates of a group when it starts."""

    @property
    def depends_on_scores(self) -> bool:
        """Whether later candidates depend on the scores of earlier ones."""

    @property
    def examples(self) -> Sequence[Params]:
        """Candidates that show what kinds of candidates there will be."""

    def follow(self, policy: BasePolicy, state: Any) -> None:
        """Use what a running policy knows."""

    def create(self, group: int, arms: range) -> Sequence[Params]:
        """Return the candidates of a group, given its index and its arms."""


class ArrivingCandidates:
    """Candidates that are created in groups, when the first one of a group is requested.

    The groups start in a fixed order. Their candidates therefore depend only on the seed and, with
    a sampler, on the scores.

    Parameters
    ----------
    source : Source
        Creates the candidates.
    n_of_group : sequence of int
        Number of candidates of each group.
    order : sequence of int
        Indices of the groups in the order in which they start.
    """

    def __init__(self, source: Source, n_of_group: Sequence[int], order: Sequence[int]) -> None:
        self.source = source
        self._first_arms = [0, *accumulate(n_of_group)]
        self._order = list(order)
        self._position = {group: position for position, group in enumerate(order)}
        self._n_started = 0
        self._known: dict[int, Params] = {}

    def arrive(self, arm: int) -> None:
        """Create the candidates of the group of an arm, unless they exist already."""
        position = self._position[bisect_right(self._first_arms, arm) - 1]
        while self._n_started <= position:
            group = self._order[self._n_started]
            arms = range(self._first_arms[group], self._first_arms[group + 1])
            self._known |= zip(arms, self.source.create(group, arms), strict=True)
            self._n_started += 1

    def __len__(self) -> int:
        return self._first_arms[-1]

    def __getitem__(self, arm: int) -> Params:
        if arm not in self._known:
            raise IndexError(f"there is no candidate {arm} yet")
        return self._known[arm]

    def __iter__(self) -> Iterator[Params]:
        """Yield the existing candidates in the order of their arms."""
        for arm in sorted(self._known):
            yield self._known[arm]


class ArrivingInLoops(ArrivingCandidates):
    """Candidates that are created in groups whose sizes the policy decides.

    Parameters
    ----------
    source : MadeBySampler
        Creates the candidates.
    n_most : int
        Maximum number of candidates.
    """

    def __init__(self, source: MadeBySampler, n_most: int) -> None:
        super().__init__(source, [n_most], [0])
        self._made = source

    @classmethod
    def over(
        cls,
        estimator: Estimator,
        space: SearchSpace,
        sampler: Sampler,
        n_most: int,
        rng: np.random.RandomState,
    ) -> ArrivingInLoops:
        """Return candidates of a search space; raise if the estimator lacks a parameter."""
        source = MadeBySampler.over(space, sampler, rng)
        check_candidates(estimator, [*space.initial, *source.examples])
        return cls(source, n_most)

    def arrive(self, arm: int) -> None:
        """Create the candidates up to the group of an arm, unless they exist already."""
        while arm not in self._known:
            arms = self._made.arrivals()[self._n_started]
            self._known |= zip(arms, self._made.create(self._n_started, arms), strict=True)
            self._n_started += 1


class DrawnByLoop:
    """Draws the candidates of each loop of brackets from distributions.

    A loop has a seed of its own, so its candidates do not depend on how many loops are planned.
    The first loop has the same candidates as a search with a single loop.

    Parameters
    ----------
    plan : SearchPlan
        The plan of the search.
    space : SearchSpace
        The distributions.
    rng : RandomState
        Generator for the candidates of the first loop and for the seed of the others.
    """

    depends_on_scores = False

    def __init__(self, plan: SearchPlan, space: SearchSpace, rng: np.random.RandomState) -> None:
        self._space = space
        self.n_of_bracket: list[list[int]] = [[] for _ in range(plan.n_loops)]
        self._fronts: list[list[range]] = [[] for _ in range(plan.n_loops)]
        fronts = plan.fronts or [range(0)] * len(plan.n_of_bracket)
        for loop, n, front in zip(plan.loop_of_bracket, plan.n_of_bracket, fronts, strict=True):
            self.n_of_bracket[loop].append(n)
            self._fronts[loop].append(front)
        self.examples = self._draw(0, rng)
        self._seed = rng.randint(2**31 - 1, size=4).tolist()

    def follow(self, policy: BasePolicy, state: Any) -> None:
        """Do nothing: the candidates do not depend on the policy."""

    def create(self, group: int, arms: range) -> Sequence[Params]:
        """Return the candidates of a loop."""
        if group == 0:
            return self.examples
        seed = np.random.SeedSequence(self._seed, spawn_key=(group,)).generate_state(8)
        return self._draw(group, np.random.RandomState(seed))

    def _draw(self, loop: int, rng: np.random.RandomState) -> tuple[Params, ...]:
        return self._space.draw(self.n_of_bracket[loop], rng, self._fronts[loop])


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
    depends_on_scores: ClassVar[bool] = True
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

    def arrivals(self) -> Sequence[range]:
        """Return the groups of arms that a policy which keeps time has created."""
        return () if self.running is None else self.running[0].arrivals(self.running[1])

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
