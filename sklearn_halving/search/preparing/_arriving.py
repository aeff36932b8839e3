"""Candidates that a sampler creates when their bracket starts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from sklearn_halving._typing import Params
from sklearn_halving.policies._arrays import FloatArray
from sklearn_halving.policies._types import ClosedRung
from sklearn_halving.samplers import EvolutionSampler, KernelDensitySampler, Sampler, Space, Told
from sklearn_halving.search._shared_parameters import SharedParameters
from sklearn_halving.search.preparing._preparation import check_candidates
from sklearn_halving.search.preparing._search_space import SearchSpace

SAMPLERS: dict[str, Callable[[], Sampler]] = {
    "evolution": EvolutionSampler,
    "kernel_density": KernelDensitySampler,
}
"""Samplers by name, except ``"random"``, which draws all candidates before the first fit."""
DEFAULT_SAMPLER = "evolution"
"""The sampler for distributions with ``"auto"``."""
BRACKETS_IN_PLAY = 2
"""Number of brackets that run at a time. While one bracket ends, the next one keeps the workers
busy; its candidates do not depend on the scores of the first one."""
N_TRIED = 100
"""Number of examples that are drawn to check that the estimator has their parameters."""


def sampler_of(search: SharedParameters, space: SearchSpace) -> Sampler | None:
    """Return the sampler of a search; None if all candidates are drawn before the first fit."""
    sampler = getattr(search, "sampler", "random")
    if isinstance(sampler, str) and sampler == "auto":
        sampler = "random" if space.is_grid else DEFAULT_SAMPLER
    return resolve_sampler(sampler)


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
        f"sampler must be one of {names}, 'auto' in HyperbandSearchCV, or an object with the "
        f"method of sklearn_halving.samplers.Sampler; got {sampler!r}."
    )


def arriving(
    search: SharedParameters,
    sampler: Sampler,
    n_of_bracket: Sequence[int],
    order: Sequence[int],
    rng: np.random.RandomState,
    initial: Sequence[Params] = (),
) -> ArrivingCandidates:
    """Return the candidates of a sampler; raise if the estimator lacks one of the parameters."""
    space, seed = Space.of(search.param_distributions), rng.randint(2**31 - 1, size=4).tolist()
    candidates = ArrivingCandidates(sampler, space, n_of_bracket, order, seed, initial)
    if not isinstance(sampler, PointSampler):  # the policy has not started yet
        candidates.arrive(sum(n_of_bracket[: order[0]]))
    trial = np.random.default_rng(0)
    candidates.examples = tuple(space.draw(trial) for _ in range(N_TRIED))
    check_candidates(search.estimator, candidates.examples)
    return candidates


@dataclass
class PointSampler:
    """Sampler of the points that a policy creates itself, in the order of their creation.

    Parameters
    ----------
    points : callable or None, default=None
        Returns the points of the running policy, of shape (n_points, n_dimensions).
    """

    points: Callable[[], FloatArray | None] | None = None

    def propose(self, told: Told, n: int, rng: np.random.Generator) -> list[Params]:
        """Return the candidates at the next ``n`` points."""
        points = None if self.points is None else self.points()
        first = len(told.candidates)
        known = () if points is None else points[first : first + n]
        return [told.space.params_at(point) for point in known]

    def __getstate__(self) -> dict[str, object]:
        """Return an empty state, without the policy."""
        return {"points": None}


class ArrivingCandidates:
    """Candidates that a sampler creates, bracket by bracket, when a policy requests the first one.

    The candidates of a bracket are based on the rungs that are certain to be closed when the
    bracket starts, and they are created after those of all earlier brackets. They therefore
    depend only on the seed and the scores.

    Parameters
    ----------
    sampler : Sampler
        Creates the candidates.
    space : Space
        The parameters and their distributions.
    n_of_bracket : sequence of int
        Number of candidates of each bracket; 1 for a policy without brackets.
    order : sequence of int
        Indices of the brackets in the order in which they start.
    seed : list of int
        Seed of the sampler. It is combined with the index of the bracket.
    initial : sequence of dict, default=()
        Candidates with which the first brackets in the order of play begin.

    Attributes
    ----------
    examples : tuple of dict
        Random candidates of the space, which show what kinds of candidates there will be.
    """

    def __init__(
        self,
        sampler: Sampler,
        space: Space,
        n_of_bracket: Sequence[int],
        order: Sequence[int],
        seed: list[int],
        initial: Sequence[Params] = (),
    ) -> None:
        self.sampler = sampler
        self.examples: tuple[Params, ...] = ()
        self._seed, self._initial = seed, list(initial)
        self._first_arms = [0, *accumulate(n_of_bracket)]
        self._order = list(order)
        self._position = {place: position for position, place in enumerate(order)}
        self._n_started = 0
        self._number: dict[int, int] = {}
        self._told = Told(space)
        self._known: dict[int, Params] = {}
        self._rungs_before: Callable[[int], Iterable[ClosedRung]] = _nothing

    def follow(self, rungs_before: Callable[[int], Iterable[ClosedRung]]) -> None:
        """Use the closed rungs of a running policy.

        ``rungs_before`` returns the closed rungs that a bracket may use, given its index.
        """
        self._rungs_before = rungs_before

    def arrive(self, arm: int) -> None:
        """Create the candidates of the bracket of an arm, unless they exist already."""
        position = self._position[bisect_right(self._first_arms, arm) - 1]
        while self._n_started <= position:
            self._start_next()

    def __getstate__(self) -> dict[str, object]:
        """Return the existing candidates, without the policy."""
        return {**vars(self), "_rungs_before": _nothing}

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

    def _start_next(self) -> None:
        """Create the candidates of the next bracket in the order of play."""
        place = self._order[self._n_started]
        for rung in self._rungs_before(place):
            for arm, mean in zip(rung.arms.tolist(), rung.means.tolist(), strict=True):
                self._told.tell(self._number[arm], rung.level, mean)
        first, end = self._first_arms[place], self._first_arms[place + 1]
        rng = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(place,)))
        n_initial = min(len(self._initial), end - first)
        self._add(first, self._initial[:n_initial])
        del self._initial[:n_initial]
        n_made = end - first - n_initial
        made = list(self.sampler.propose(self._told, n_made, rng)) if n_made else []
        if len(made) != n_made or not all(isinstance(params, dict) for params in made):
            raise ValueError(
                f"sampler={self.sampler!r} must propose {n_made} dicts of parameters, as many as "
                f"it is asked for; got {made!r}."
            )
        self._add(end - n_made, made)
        self._n_started += 1

    def _add(self, first_arm: int, made: Sequence[Params]) -> None:
        """Add candidates, the first of which is ``first_arm``."""
        for arm, params in enumerate(made, start=first_arm):
            self._known[arm] = params
            self._number[arm] = len(self._number)
            self._told.add(params)


def _nothing(place: int) -> Iterable[ClosedRung]:
    """Return no rungs, before there is a policy."""
    return ()
