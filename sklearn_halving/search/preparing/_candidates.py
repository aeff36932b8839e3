"""Where the candidates of a search come from.

They are drawn from the search space before the first fit, or created in groups during the search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_halving._content_hash import params_digest
from sklearn_halving._typing import Candidates, Estimator, Params
from sklearn_halving.execution._known_fits import KnownFits, candidate_digest, found_params
from sklearn_halving.execution._store import FitKey
from sklearn_halving.execution._types import Outcome
from sklearn_halving.policies._protocol import ChoosesPoints, GrowsArms, Policy
from sklearn_halving.policies._types import Problem, Pull
from sklearn_halving.samplers import GaussianProcessSampler, RandomSampler, Sampler, Space, Told
from sklearn_halving.samplers._space import Choices, Opaque
from sklearn_halving.search.preparing._space import SearchSpace, estimator_with

SAMPLERS: dict[str, Callable[[], Sampler]] = {
    "gaussian_process": GaussianProcessSampler,
    "random": RandomSampler,
}
"""Samplers by name."""
N_TRIED = 100
"""Number of examples that are drawn to check that the estimator has their parameters."""


def resolve_sampler(sampler: object) -> Sampler:
    """Return a sampler that is given by name or as an object; None is the Gaussian process."""
    if sampler is None:
        return GaussianProcessSampler()
    if isinstance(sampler, str) and sampler in SAMPLERS:
        return SAMPLERS[sampler]()
    if isinstance(sampler, Sampler) and not isinstance(sampler, type):
        return sampler
    names = ", ".join(map(repr, SAMPLERS))
    raise ValueError(
        f"sampler must be None, one of {names}, or an object with the method of "
        f"sklearn_halving.samplers.Sampler; got {sampler!r}."
    )


def check_candidates(estimator: Estimator, candidates: Candidates | Sequence[Params]) -> None:
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


class LazyCandidates:
    """Candidates that are created in groups, when the first one of a group is requested.

    The groups are created in a fixed order, so that candidates depend only on the seed and on the
    scores.

    Parameters
    ----------
    n_most : int
        Maximum number of candidates.
    more : callable
        Returns the candidates of the next group.
    known : sequence of dict, default=()
        The candidates that exist already.

    Attributes
    ----------
    digests : list[str]
        For each candidate that exists, the digest that equal candidates share.
    """

    def __init__(
        self, n_most: int, more: Callable[[], Sequence[Params]], known: Sequence[Params] = ()
    ) -> None:
        self._n_most, self._more = n_most, more
        self._known: list[Params] = []
        self.digests: list[str] = []
        self._add(known)

    def _add(self, made: Sequence[Params]) -> None:
        self._known += made
        self.digests += map(params_digest, made)

    def ensure(self, arm: int) -> None:
        """Create the candidates up to the group of an arm, unless they exist already."""
        while arm >= len(self._known):
            self._add(self._more())

    def __len__(self) -> int:
        return self._n_most

    def __getitem__(self, arm: int) -> Params:
        return self._known[arm]

    def __iter__(self) -> Iterator[Params]:
        """Yield the candidates that exist."""
        return iter(self._known)

    def __getstate__(self) -> dict[str, object]:
        """Return the candidates that exist, without what creates them."""
        return {**vars(self), "_more": None}


@dataclass
class CandidateSource:
    """Creates the candidates of a growing policy by a sampler, after the initial ones.

    Parameters
    ----------
    sampler : Sampler
        Creates the candidates.
    told : Told
        The candidates so far and their scores.
    seed : list[int]
        Seed of the sampler. It is combined with the number of the group.
    initial : Sequence[Params]
        The first candidates.
    n_groups : int
        Number of groups so far.
    """

    sampler: Sampler
    told: Told
    seed: list[int]
    initial: Sequence[Params]
    game: Any = None  # from the start of the search on
    n_groups: int = 0

    def examples(self) -> list[Params]:
        """Return the initial candidates, random ones, and a proposal without scores."""
        trial, space = np.random.default_rng(0), self.told.space
        drawn = [space.draw(trial) for _ in range(N_TRIED)]
        return [*self.initial, *drawn, *self._proposed(Told(space), 1, trial)]

    def more(self) -> Sequence[Params]:
        """Return the candidates of the next group."""
        arms = self.game.arms_wanted()[self.n_groups]
        for level_scores in self.game.scores():
            for arm, mean in zip(level_scores.arms, level_scores.means, strict=True):
                self.told.tell(int(arm), level_scores.level, float(mean))
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(self.n_groups,)))
        first = list(self.initial[arms.start : arms.stop])
        for params in first:
            self.told.add(params)
        made = self._proposed(self.told, len(arms) - len(first), rng)
        for params in made:
            self.told.add(params)
        self.n_groups += 1
        return [*first, *made]

    def start_with(
        self, known: KnownFits, problem: Problem, reward: Callable[[Outcome], float]
    ) -> list[tuple[Pull, FitKey]]:
        """Add known candidates of the space to the initial ones, the best first.

        They are half of the candidates at most, so that there are new ones, or all of a grid.

        Returns
        -------
        pulls : list of pairs of Pull and FitKey
            What is known of them.
        """
        space, fits = self.told.space, known.by_candidate(problem)
        values: dict[str, dict[str, object]] = {}
        for each in space.dimensions:
            if isinstance(each, Choices):
                values.setdefault(each.name, {}).update(each.by_digest)
        first = {candidate_digest(params): params for params in self.initial}
        is_whole = problem.n_arms == problem.n_available
        n_most = problem.n_arms if is_whole else max(len(first), problem.n_arms // 2)
        means = {
            digest: np.mean([reward(known.outcomes[key]) for key in own.values()])
            for digest, own in fits.items()
        }
        # Values of a distribution without coordinates may be outside of the space.
        is_clear = not any(isinstance(each, Opaque) for each in space.dimensions)
        for digest in sorted(fits, key=lambda each: -np.nan_to_num(means[each], nan=-np.inf)):
            if len(first) >= n_most or not is_clear:
                break
            params = found_params(known.store.params[digest], values)
            is_inside = params is not None and space.point_of(params) is not None
            if params is not None and is_inside and candidate_digest(params) == digest:
                first.setdefault(digest, params)
        self.initial = [*first.values()]
        return [
            (Pull(arm, *place), key)
            for arm, digest in enumerate(first)
            for place, key in fits.get(digest, {}).items()
        ]

    def _proposed(self, told: Told, n: int, rng: np.random.Generator) -> list[Params]:
        if n == 0:
            return []
        proposed: Any = self.sampler.propose(told, n, rng)
        made = list(proposed) if isinstance(proposed, Iterable) else []
        names = [name for params in made for name in (params if isinstance(params, dict) else [0])]
        if len(made) != n or not all(isinstance(name, str) for name in names):
            raise ValueError(
                f"sampler={self.sampler!r} must propose {n} dicts of parameters, one for each "
                f"candidate; got {proposed!r}."
            )
        return made


@dataclass
class PointSource:
    """Returns the candidates at the points that a policy creates itself, one by one."""

    space: Space
    game: Any = None  # from the start of the search on
    n_points: int = 0

    def examples(self) -> list[Params]:
        """Return random candidates."""
        trial = np.random.default_rng(0)
        return [self.space.draw(trial) for _ in range(N_TRIED)]

    def more(self) -> Sequence[Params]:
        """Return the next candidate."""
        point = self.game.points[self.n_points]
        self.n_points += 1
        return [self.space.params_at(point)]


Source = CandidateSource | PointSource


def make_source(
    policy: Policy, space: SearchSpace, sampler: Sampler | None, rng: np.random.RandomState
) -> Source | None:
    """Return what creates candidates during a search; None if they are drawn before."""
    if isinstance(policy, ChoosesPoints):
        return PointSource(Space.of(space.distributions))
    if isinstance(policy, GrowsArms):
        seed = rng.randint(2**31 - 1, size=4).tolist()
        told = Told(Space.of(space.distributions))
        return CandidateSource(sampler or RandomSampler(), told, seed, space.initial)
    return None
