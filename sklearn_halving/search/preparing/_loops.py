"""Loops of Hyperband's brackets, whose candidates are drawn when the loop starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sklearn_halving.policies import Hyperband
from sklearn_halving.search.preparing._limits import read_seconds
from sklearn_halving.search.preparing._preparation import Levels
from sklearn_halving.search.preparing._search_space import Params, SearchSpace

MAX_PLANNED_FITS = 500_000
"""Loops beyond this number of fits are not planned if the search has a time budget."""
MAX_FITS_PER_SECOND = 20_000
"""Nor are loops that cannot start within the time budget: no search makes fits this fast."""
MAX_DRAWN = 20_000
"""Loops beyond this number of candidates are not planned either, if all of them are drawn before
the first fit, as from a grid."""


def n_planned_loops(
    search: Any, loop: Hyperband, levels: Levels, space: SearchSpace, n_splits: int
) -> int:
    """Return the number of loops to plan; ``loop`` is the policy with a single loop."""
    if search.time_budget is None:
        if search.n_loops == "auto":
            raise ValueError(
                "n_loops='auto' plays loops until the time is up; got time_budget=None. Set "
                "time_budget, or give n_loops as a number."
            )
        return int(search.n_loops)
    schedule = loop.schedule(levels.smallest, levels.largest, space.size)
    most = _max_fits(search) // schedule.n_pulls_on(n_splits)
    if space.size is not None:
        most = min(most, MAX_DRAWN // schedule.n_arms)
    most = max(1, most)
    return most if search.n_loops == "auto" else min(int(search.n_loops), most)


def _max_fits(search: Any) -> int:
    """Return the number of fits to plan for a search with a time budget."""
    seconds = read_seconds("time_budget", search.time_budget)
    # The time budget may change between the sessions of a checkpoint, but not the candidates.
    if search.checkpoint is not None or seconds is None:
        return MAX_PLANNED_FITS
    return int(min(MAX_PLANNED_FITS, MAX_FITS_PER_SECOND * seconds))


class LoopCandidates:
    """Candidates that are drawn from distributions, loop by loop.

    A loop has a seed of its own, so its candidates do not depend on how many loops are planned.
    The first loop has the same candidates as a search with a single loop.

    Parameters
    ----------
    space : SearchSpace
        The distributions.
    n_of_bracket : sequence of int
        Number of candidates of each bracket, in all loops.
    fronts : sequence of range
        Indices of the initial candidates with which each bracket begins; may be empty.
    n_loops : int
        Number of loops. All of them have the same brackets.
    rng : RandomState
        Generator for the candidates of the first loop and for the seed of the others.
    """

    def __init__(
        self,
        space: SearchSpace,
        n_of_bracket: Sequence[int],
        fronts: Sequence[range],
        n_loops: int,
        rng: np.random.RandomState,
    ) -> None:
        n_brackets = len(n_of_bracket) // n_loops
        self._space, self._n_brackets = space, n_brackets
        self._n_of_bracket, self._fronts = list(n_of_bracket[:n_brackets]), fronts
        self._n_of_loop, self._n_loops = sum(self._n_of_bracket), n_loops
        self._loops = {0: self._draw(0, rng)}
        self._seed = rng.randint(2**31 - 1, size=4).tolist()

    def arrive(self, arm: int) -> None:
        """Draw the candidates of the loop of an arm, unless they exist already."""
        loop = arm // self._n_of_loop
        if loop not in self._loops:
            seed = np.random.SeedSequence(self._seed, spawn_key=(loop,)).generate_state(8)
            self._loops[loop] = self._draw(loop, np.random.RandomState(seed))

    def _draw(self, loop: int, rng: np.random.RandomState) -> tuple[Params, ...]:
        first = loop * self._n_brackets
        fronts = self._fronts[first : first + self._n_brackets]
        return self._space.draw(self._n_of_bracket, rng, fronts)

    def __len__(self) -> int:
        return self._n_of_loop * self._n_loops

    def __getitem__(self, arm: int) -> Params:
        loop, place = divmod(arm, self._n_of_loop)
        if loop not in self._loops:
            raise IndexError(f"there is no candidate {arm} yet")
        return self._loops[loop][place]

    def __iter__(self) -> Iterator[Params]:
        """Yield the existing candidates in the order of their arms."""
        for loop in sorted(self._loops):
            yield from self._loops[loop]
