"""The protocol of samplers, their input, and random sampling."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sklearn_halving._typing import Params
from sklearn_halving.samplers._space import FloatArray, IntArray, Space


@dataclass
class Told:
    """All candidates so far and their scores, as input of a sampler.

    Parameters
    ----------
    space : Space
        The search space.

    Attributes
    ----------
    candidates : list of dict
        All candidates so far, with or without scores. Arm i is candidate i.
    keys : set
        The keys of the candidates (see `Space.key`), to avoid repeating them.
    memo : dict
        What a sampler wants to remember until its next call.

    Examples
    --------
    >>> from sklearn_halving.samplers import Space, Told
    >>> told = Told(Space.of({"depth": [1, 2, 3, 4]}))
    >>> for arm, depth in enumerate([3, 1, 4]):
    ...     told.add({"depth": depth})
    ...     told.tell(arm, level=100, score=depth / 10)
    >>> told.top_level(2)
    100
    >>> arms, scores = told.at_level(100)
    >>> scores
    array([0.3, 0.1, 0.4])
    """

    space: Space
    candidates: list[Params] = field(default_factory=list)
    keys: set[Hashable] = field(default_factory=set)
    memo: dict[str, Any] = field(default_factory=dict)
    _scores: dict[int, dict[int, float]] = field(default_factory=dict)
    _pending: dict[int, None] = field(default_factory=dict)
    _points: dict[int, FloatArray | None] = field(default_factory=dict)

    def add(self, params: Params) -> None:
        """Add a candidate, which becomes the next arm."""
        self._pending[len(self.candidates)] = None
        self.candidates.append(params)
        self.keys.add(self.space.key(params))

    def tell(self, arm: int, level: int, score: float) -> None:
        """Set the mean score of an arm at a level. Larger is better, NaN is worst.

        An earlier score of the same arm at the same level is replaced.
        """
        self._scores.setdefault(level, {})[arm] = score
        self._pending.pop(arm, None)

    def at_level(self, level: int) -> tuple[IntArray, FloatArray]:
        """Return the arms that have a score at a level, and their scores.

        Returns
        -------
        arms : ndarray of int of shape (n_told,)
            In the order in which their first scores were set.
        scores : ndarray of shape (n_told,)
            NaN is replaced by -inf.
        """
        of_arm = self._scores.get(level, {})
        scores = np.array(list(of_arm.values()), dtype=np.float64)
        arms = np.array(list(of_arm), dtype=np.int64)
        return arms, np.where(np.isnan(scores), -np.inf, scores)

    def without_score(self) -> list[int]:
        """Return the arms that have no score at any level yet, in the order of their creation."""
        return list(self._pending)

    def levels(self) -> list[int]:
        """Return the levels at which an arm has a score, the largest first."""
        return sorted(self._scores, reverse=True)

    def top_level(self, n_least: int) -> int | None:
        """Return the largest level at which at least ``n_least`` arms have a score, or None."""
        return next((x for x in self.levels() if len(self._scores[x]) >= n_least), None)

    def point(self, arm: int) -> FloatArray | None:
        """Return the point of an arm in the unit cube; None if it is outside the space."""
        if arm not in self._points:
            self._points[arm] = self.space.point_of(self.candidates[arm])
        return self._points[arm]


@runtime_checkable
class Sampler(Protocol):
    """The protocol of a sampler: a frozen dataclass of parameters with one method.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.samplers import RandomSampler, Space, Told
    >>> told = Told(Space.of({"depth": [1, 2, 3, 4]}))
    >>> drawn = RandomSampler().propose(told, 4, np.random.default_rng(0))
    >>> sorted(params["depth"] for params in drawn)
    [1, 2, 3, 4]
    """

    def propose(self, told: Told, n: int, rng: np.random.Generator) -> Sequence[Params]:
        """Return ``n`` candidates.

        Parameters
        ----------
        told : Told
            The candidates so far and their scores. It must not be changed: the caller adds the
            new candidates.
        n : int
            Number of candidates.
        rng : numpy.random.Generator
            The only source of randomness.

        Returns
        -------
        candidates : sequence of dict
            Parameter names and values.
        """


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
    >>> print(f"{params['C']:.2f}")
    3.53
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
    avoided: list[set[Hashable]] = [known, own, set()]
    while len(candidates) < n:
        params = None
        if propose is not None and rng.random() >= share_random:
            params = next((one for one in propose() if space.key(one) not in known), None)
            if params is None:  # nor for the next candidate
                propose = None
        while params is None:  # a random one that is new if possible, or else new in the batch
            drawn = space.draw(rng, avoided[0])
            if space.key(drawn) not in avoided[0]:
                params = drawn
            else:
                avoided.pop(0)  # none is left, and another search would take long
        candidates.append(params)
        known.add(space.key(params))
        own.add(space.key(params))
    return candidates
