"""Where the candidates of a search come from.

They are drawn from the search space before the first fit, or created in groups during the search.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from sklearn_halving._typing import Estimator, Params
from sklearn_halving.execution._known_fits import KnownFits, candidate_digest, found_params
from sklearn_halving.execution._store import FitKey
from sklearn_halving.execution._types import Candidate, Outcome
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
    sampler = "gaussian_process" if sampler is None else sampler
    if isinstance(sampler, str) and sampler in SAMPLERS:
        return SAMPLERS[sampler]()
    if isinstance(sampler, Sampler) and not isinstance(sampler, type):
        return sampler
    names = ", ".join(map(repr, SAMPLERS))
    raise ValueError(
        f"sampler must be None, one of {names}, or an object with the method of "
        f"sklearn_halving.samplers.Sampler; got {sampler!r}."
    )


def check_candidates(estimator: Estimator, candidates: Iterable[Params]) -> None:
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


class LazyCandidates(ABC):
    """Candidates that are created in groups, when the first one of a group is requested.

    The groups are created in a fixed order, so that candidates depend only on the seed and on the
    scores.

    Parameters
    ----------
    n_most : int
        Maximum number of candidates.
    known : sequence of dict, default=()
        The candidates that exist already.
    """

    def __init__(self, n_most: int, known: Sequence[Params] = ()) -> None:
        self._n_most = n_most
        self._made: list[Candidate] = []
        self._add(known)

    @abstractmethod
    def _more(self) -> Sequence[Params]:
        """Return the candidates of the next group."""

    def _add(self, made: Iterable[Params]) -> None:
        for params in made:
            self._made.append(Candidate.of(len(self._made), params))

    def ensure(self, arm: int) -> None:
        """Create the candidates up to the group of an arm, unless they exist already."""
        while arm >= len(self._made):
            self._add(self._more())

    def __len__(self) -> int:
        return self._n_most

    def __getitem__(self, arm: int) -> Candidate:
        return self._made[arm]

    def __iter__(self) -> Iterator[Candidate]:
        """Yield the candidates that exist."""
        return iter(self._made)


class DrawnCandidates(LazyCandidates):
    """Candidates that are drawn before the first fit, or for each loop of brackets.

    Parameters
    ----------
    draw : callable
        Returns the candidates of a loop.
    """

    def __init__(
        self, n_most: int, draw: Callable[[], Sequence[Params]], known: Sequence[Params]
    ) -> None:
        super().__init__(n_most, known)
        self._draw = draw
        self.ensure(0)

    def _more(self) -> Sequence[Params]:
        return self._draw()


class PointCandidates(LazyCandidates):
    """The candidates at the points that a policy creates itself, one by one."""

    def __init__(self, game: Any, n_most: int, space: SearchSpace) -> None:
        super().__init__(n_most)
        self._game, self._space = game, Space.of(space.distributions)

    def examples(self) -> list[Params]:
        """Return random candidates."""
        return _random_examples(self._space)

    def _more(self) -> Sequence[Params]:
        return [self._space.params_at(self._game.points[len(self._made)])]


class SampledCandidates(LazyCandidates):
    """The candidates that a sampler creates for a growing policy, after the initial ones.

    Parameters
    ----------
    game : object
        The game, which tells how many candidates it wants, and their scores.
    space : SearchSpace
        The space, with the first candidates.
    sampler : Sampler or None
        Creates the candidates; None draws them at random.
    seed : list[int]
        Seed of the sampler. It is combined with the number of the group.
    """

    def __init__(
        self, game: Any, n_most: int, space: SearchSpace, sampler: Sampler | None, seed: list[int]
    ) -> None:
        super().__init__(n_most)
        space.check_initial(n_most)
        self._game, self._space = game, Space.of(space.distributions)
        self._initial = list(space.initial)
        self._told, self._sampler = Told(self._space), sampler or RandomSampler()
        self._seed, self._n_groups = seed, 0

    def examples(self) -> list[Params]:
        """Return the initial candidates, random ones, and a proposal without scores."""
        proposed = self._proposed(Told(self._space), 1, np.random.default_rng(0))
        return [*self._initial, *_random_examples(self._space), *proposed]

    def _more(self) -> Sequence[Params]:
        arms = self._game.arms_wanted()[self._n_groups]
        for at_level in self._game.scores():
            for arm, mean in zip(at_level.arms, at_level.means, strict=True):
                self._told.tell(int(arm), at_level.level, float(mean))
        seed = np.random.SeedSequence(self._seed, spawn_key=(self._n_groups,))
        rng = np.random.default_rng(seed)
        self._n_groups += 1
        first = self._initial[arms.start : arms.stop]
        for params in first:
            self._told.add(params)
        made = self._proposed(self._told, len(arms) - len(first), rng)
        for params in made:
            self._told.add(params)
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
        space, fits = self._space, known.by_candidate(problem)
        values: dict[str, dict[str, object]] = {}
        for each in space.dimensions:
            if isinstance(each, Choices):
                values.setdefault(each.name, {}).update(each.by_digest)
        first = {candidate_digest(params): params for params in self._initial}
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
        self._initial = [*first.values()]
        return [
            (Pull(arm, *place), key)
            for arm, digest in enumerate(first)
            for place, key in fits.get(digest, {}).items()
        ]

    def _proposed(self, told: Told, n: int, rng: np.random.Generator) -> list[Params]:
        if n == 0:
            return []
        proposed: Any = self._sampler.propose(told, n, rng)
        made = list(proposed) if isinstance(proposed, Iterable) else []
        names = [name for params in made for name in (params if isinstance(params, dict) else [0])]
        if len(made) != n or not all(isinstance(name, str) for name in names):
            raise ValueError(
                f"sampler={self._sampler!r} must propose {n} dicts of parameters, one for each "
                f"candidate; got {proposed!r}."
            )
        return made


def _random_examples(space: Space) -> list[Params]:
    trial = np.random.default_rng(0)
    return [space.draw(trial) for _ in range(N_TRIED)]
