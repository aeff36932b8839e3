"""Random sampling, on its own and as a part of the other samplers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import numpy as np

from sklearn_halving.samplers._space import Params, Space
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
        return filled(told, n, rng)


def filled(
    told: Told,
    n: int,
    rng: np.random.Generator,
    propose: Callable[[], Iterable[Params]] | None = None,
    share_random: float = 1.0,
) -> list[Params]:
    """Return ``n`` candidates, each of them new if possible.

    A candidate is random with probability ``share_random``, or if ``propose`` is None or yields
    no new candidate. Otherwise it is the first new one that ``propose`` yields.
    """
    space, candidates = told.space, list[Params]()
    known, own = set(told.keys), set[Hashable]()
    avoided = [known, own]
    while len(candidates) < n:
        params = None
        if propose is not None and rng.random() >= share_random:
            params = next((one for one in propose() if space.key(one) not in known), None)
            if params is None:  # nor for the next candidate
                propose = None
        if params is None:
            params = _drawn(space, rng, avoided)
        candidates.append(params)
        known.add(space.key(params))
        own.add(space.key(params))
    return candidates


def _drawn(space: Space, rng: np.random.Generator, avoided: list[set[Hashable]]) -> Params:
    """Return a random candidate that is new if possible, or else new in the batch."""
    while avoided:
        params = space.draw(rng, avoided[0])
        if space.key(params) not in avoided[0]:
            return params
        avoided.pop(0)  # none is left, and searching again would take long
    return space.draw(rng)
