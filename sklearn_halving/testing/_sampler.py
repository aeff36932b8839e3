"""A sampler is asked for candidates of small spaces."""

from __future__ import annotations

from collections.abc import Hashable
from math import inf, nan
from typing import Any

import numpy as np
from scipy.stats import loguniform, randint, uniform

from sklearn_halving.samplers import RandomSampler, Sampler, Space, Told
from sklearn_halving.testing._require import require

SPACES: list[Any] = [
    {"a": loguniform(1e-3, 1e3), "b": uniform(-1, 2), "c": randint(1, 99), "d": ["x", None, 2]},
    [{"a": [1, 2, 3]}, {"b": [4, 5], "c": ["x", "y"]}],
]
"""The second one is used up by 7 candidates."""


def check_sampler(sampler: Sampler, param_distributions: Any = None, *, seed: int = 0) -> None:
    """Ask a sampler for candidates of a small space, and check them.

    It finds, among others, candidates outside the space, the same candidate twice, changes of
    ``told``, and candidates that depend on anything but ``told`` and ``rng``.

    Parameters
    ----------
    sampler : Sampler
        The sampler.
    param_distributions : dict or list of dict, default=None
        The search space. None has a number of each kind and a list.
    seed : int, default=0
        Another seed draws other candidates and scores.

    Raises
    ------
    AssertionError
        If the sampler has no method ``propose``, or a proposal is wrong.

    Examples
    --------
    >>> from sklearn_halving.samplers import RandomSampler
    >>> from sklearn_halving.testing import check_sampler
    >>> check_sampler(RandomSampler())
    """
    is_sampler = not isinstance(sampler, type) and isinstance(sampler, Sampler)
    require(is_sampler, sampler, "must be an object with the method propose.")
    for given in SPACES if param_distributions is None else [param_distributions]:
        told, rng = Told(Space.of(given)), np.random.default_rng(seed)
        drawn = RandomSampler().propose(told, 20, rng)
        for scores, order in ([], 1), (rng.random(20).tolist(), -1), ([nan] * 20, 1):
            known = list(zip(range(20), drawn, scores, strict=False))
            first = _proposed(sampler, Told(told.space), known, 1, seed)
            again = _proposed(sampler, Told(told.space), known, order, seed)
            otherwise = "proposes other candidates for the same scores, told in another order. "
            otherwise += "Use no randomness but rng, and sort by arm or score."
            require(first == again, sampler, otherwise)


def _proposed(sampler: Sampler, told: Told, known: Any, order: int, seed: int) -> list[Hashable]:
    """Tell a sampler candidates, whose scores come in an order; return the keys of five others."""
    for _, params, _ in known:
        told.add(params)
    for arm, _, score in known[::order]:
        told.tell(arm, 1, score)
    keys = set(told.keys)
    proposed = sampler.propose(told, 5, np.random.default_rng(seed))
    is_unchanged = told.keys == keys and len(told.candidates) == len(known)
    require(is_unchanged, sampler, "changes told. The search adds candidates; copy told.keys.")
    require(len(proposed) == 5, sampler, f"proposes {len(proposed)} candidates instead of n=5.")
    for params in proposed:
        is_inside = told.space.point_of(params) is not None
        require(is_inside, sampler, f"proposes {params}, which is outside of the space.")
    new = [told.space.key(params) for params in proposed]
    n_left = (told.space.size or inf) - len(keys)
    otherwise = "proposes a candidate twice, or one of told.keys, although there are others."
    require(len({*new} - keys) >= min(5, n_left), sampler, otherwise)
    return new
