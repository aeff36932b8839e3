"""Mutations of the best candidates, for evolution inside Hyperband."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Annotated, cast

import numpy as np
import numpy.typing as npt

from sklearn_halving._checks import CheckedFields, Count, Share, between
from sklearn_halving.samplers._dimensions import NEUTRAL, Choices, Opaque
from sklearn_halving.samplers._random import filled
from sklearn_halving.samplers._space import FloatArray, IntArray, Params, Space
from sklearn_halving.samplers._types import Told

P_NUMBER = 0.5
"""Probability that a number of the parent is changed."""
P_CATEGORY = 0.25
"""Probability that an unordered value of the parent is changed."""
MAX_MUTATIONS = 10
"""If this many mutations in a row are known, a candidate is drawn at random instead."""
WIDENING = 1.3
"""Factor by which the step grows from one such mutation to the next."""


@dataclass(frozen=True)
class EvolutionSampler(CheckedFields):
    """Propose mutations of the best candidates so far.

    The parents are the best candidates at the largest level at which at least ``min_told``
    candidates have a score. For each child, a random subset of the parameters of a parent is
    changed: a normally distributed step is added to a number, and a value of an unordered list is
    replaced by another one. Parameters that the parent does not have are drawn at random.

    Parameters
    ----------
    step : float, default=0.2
        Standard deviation of a step, as a share of the range of the parameter. It is measured on
        the scale of the distribution function, so the steps of a log-uniform parameter are steps
        of the logarithm.
    share_of_parents : float, default=0.15
        Share of the candidates with a score that become parents. There are at least two parents.
    share_random : float, default=0.2
        Share of the candidates that are drawn at random, so that no part of the space is excluded.
        It is above 0 and at most 1. The best candidate of a bracket is at least as good as the
        best of its random candidates. With a sufficient budget, successive halving is guaranteed
        to return a candidate close to it.
    min_told : int, default=4
        Minimum number of candidates with a score. All candidates are random until it is reached.

    References
    ----------
    The (mu + lambda) scheme of evolution strategies: Beyer and Schwefel. Evolution strategies: a
    comprehensive introduction. Natural Computing 1, 2002. Evolution inside Hyperband: Awad,
    Mallik and Hutter. DEHB. IJCAI 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import uniform
    >>> from sklearn_halving.samplers import EvolutionSampler, Space, Told
    >>> told = Told(Space.of({"x": uniform(0, 1)}))
    >>> for arm in range(100):
    ...     told.add({"x": arm / 100})
    ...     told.tell(arm, level=1, score=-abs(arm / 100 - 0.4))
    >>> children = EvolutionSampler().propose(told, 100, np.random.default_rng(0))
    >>> bool(np.mean([abs(child["x"] - 0.4) < 0.3 for child in children]) > 0.7)
    True
    """

    step: Annotated[float, between(0, 1)] = 0.2
    share_of_parents: Annotated[float, between(0, 1)] = 0.15
    share_random: Share = 0.2
    min_told: Count = 4

    def propose(self, told: Told, n: int, rng: np.random.Generator) -> list[Params]:
        """Return ``n`` candidates: mutations and random candidates."""
        parents = self.parents(told)

        def propose() -> Iterator[Params]:
            return self.children(told, int(rng.choice(parents)), rng)

        return filled(told, n, rng, propose if len(parents) else None, self.share_random)

    def parents(self, told: Told) -> IntArray:
        """Return the arms to mutate, best first; none before ``min_told`` arms have a score."""
        level = told.top_level(self.min_told)
        if level is None:
            return np.arange(0)
        arms, scores = told.at_level(level)
        n_parents = max(2, ceil(self.share_of_parents * len(arms)))
        # Candidates that failed or are outside the space are not parents.
        inside = np.array([told.point(arm) is not None for arm in arms.tolist()])
        arms, scores = arms[inside & (scores > -np.inf)], scores[inside & (scores > -np.inf)]
        best: IntArray = arms[np.argsort(-scores, kind="stable")[:n_parents]]
        return best

    def children(self, told: Told, parent: int, rng: np.random.Generator) -> Iterator[Params]:
        """Yield mutations, in steps that become wider."""
        point, step = cast(FloatArray, told.point(parent)), self.step
        for _ in range(MAX_MUTATIONS):
            child = mutated(told.space, point, step, rng)
            yield told.space.params_at(child, rng, like=told.candidates[parent])
            step *= WIDENING


def mutated(space: Space, point: FloatArray, step: float, rng: np.random.Generator) -> FloatArray:
    """Return a mutated point. At least one parameter is changed, if that is possible."""
    axes = space.active(point)
    chance = [P_NUMBER if space.dimensions[axis].is_ordered else P_CATEGORY for axis in axes]
    chosen = [axes[i] for i in np.flatnonzero(rng.random(len(axes)) < chance)]
    if not chosen and axes:
        chosen = [axes[int(rng.integers(len(axes)))]]
    child = point.copy()
    for axis in chosen:
        child[axis] = _moved(space, axis, float(point[axis]), step, rng)
    if space.branch_of(child) != space.branch_of(point):
        _move_to_branch(space, point, child, rng)
    return child


def _moved(space: Space, axis: int, x: float, step: float, rng: np.random.Generator) -> float:
    """Return another coordinate on one axis."""
    dimension = space.dimensions[axis]
    if isinstance(dimension, Opaque):
        return float("nan")  # to be drawn again
    if not dimension.is_ordered:
        n_cells = dimension.n_cells or 2
        return (x + int(rng.integers(1, n_cells)) / n_cells) % 1
    size = step * rng.standard_normal()
    if isinstance(dimension, Choices):  # move to the next value at least
        size = np.copysign(max(abs(size), 1 / dimension.n_cells), size)
    return dimension.snap(float(reflected(x + size)))


def reflected(x: npt.ArrayLike) -> FloatArray:
    """Return coordinates reflected at 0 and 1."""
    folded = np.abs(x) % 2
    return np.minimum(folded, 2 - folded)


def _move_to_branch(
    space: Space, point: FloatArray, child: FloatArray, rng: np.random.Generator
) -> None:
    """Draw the parameters that only the dict of the child has, and reset those that it lacks."""
    before = set(space.branches[space.branch_of(point)])
    after = set(space.branches[space.branch_of(child)])
    child[sorted(before - after)] = NEUTRAL
    for axis in sorted(after - before):
        child[axis] = space.draw_coordinate(axis, rng)
