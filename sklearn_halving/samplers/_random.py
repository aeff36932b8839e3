"""Random sampling, and how the other samplers fill up with it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from sklearn_halving.samplers._space import Params
from sklearn_halving.samplers._types import Told


@dataclass(frozen=True)
class RandomSampler:
    """Draw each candidate at random, without regard to scores.

    A list of dicts gives each dict the same chance, each list of values the same chance to each
    of them. No candidate comes twice while there are others.

    References
    ----------
    Bergstra and Bengio. Random search for hyper-parameter optimization. JMLR 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import loguniform
    >>> from sklearn_halving.samplers import RandomSampler, Space, Told
    >>> told = Told(Space.of({"C": loguniform(0.01, 100)}))
    >>> [params] = RandomSampler().propose(told, 1, np.random.default_rng(0))
    >>> 0.01 <= params["C"] <= 100
    True
    """

    def propose(self, told: Told, n: int, rng: np.random.Generator) -> list[Params]:
        """Return ``n`` random candidates."""
        batch = Batch(told)
        while len(batch.candidates) < n:
            batch.add(batch.draw(rng))
        return batch.candidates


class Batch:
    """Candidates that are being made, and whether one of them was made before.

    Parameters
    ----------
    told : Told
        What there is already.
    """

    def __init__(self, told: Told) -> None:
        self.candidates: list[Params] = []
        self._told = told
        self._own: set[Hashable] = set()

    def draw(self, rng: np.random.Generator) -> Params:
        """Return a random candidate: new if there is one, else one that is new in the batch."""
        space = self._told.space
        params = space.draw(rng, self)
        return space.draw(rng, self._own) if space.key(params) in self else params

    def add(self, params: Params) -> None:
        """Take in a candidate."""
        self.candidates.append(params)
        self._own.add(self._told.space.key(params))

    def __contains__(self, key: Hashable) -> bool:
        return key in self._own or key in self._told.keys
