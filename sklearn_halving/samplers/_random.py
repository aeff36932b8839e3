"""Random sampling, on its own and as a part of the other samplers."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable
from dataclasses import dataclass

import numpy as np

from sklearn_halving.samplers._space import Params
from sklearn_halving.samplers._types import Told


@dataclass(frozen=True)
class RandomSampler:
    """Draw candidates at random, independently of the scores.

    In a list of dicts, all dicts are equally likely. In a list of values, all values are equally
    likely. Candidates are not repeated as long as there are others.

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
        return Batch(told).filled(n, rng)


class Batch:
    """The candidates of one proposal.

    ``key in batch`` is True for the keys of these and of all earlier candidates.

    Parameters
    ----------
    told : Told
        The earlier candidates.
    """

    def __init__(self, told: Told) -> None:
        self.candidates: list[Params] = []
        self._told = told
        self._own: set[Hashable] = set()
        self._avoided: list[Container[Hashable]] = [self, self._own]

    def filled(
        self,
        n: int,
        rng: np.random.Generator,
        make: Callable[[Batch], Params | None] | None = None,
        share_random: float = 1.0,
    ) -> list[Params]:
        """Add candidates until there are ``n``, and return all of them.

        A candidate is random with probability ``share_random``, without ``make``, or if ``make``
        returns None.
        """
        while len(self.candidates) < n:
            params = None
            if make is not None and rng.random() >= share_random:
                params = make(self)
            self.add(self.draw(rng) if params is None else params)
        return self.candidates

    def draw(self, rng: np.random.Generator) -> Params:
        """Return a random candidate that is new if possible, or else new in the batch."""
        space = self._told.space
        while self._avoided:
            params = space.draw(rng, self._avoided[0])
            if space.key(params) not in self._avoided[0]:
                return params
            self._avoided.pop(0)  # none is left, and searching again would take long
        return space.draw(rng)

    def add(self, params: Params) -> None:
        """Add a candidate."""
        self.candidates.append(params)
        self._own.add(self._told.space.key(params))

    def __contains__(self, key: Hashable) -> bool:
        return key in self._own or key in self._told.keys
