"""BayesGap over the drawn candidates, followed by a race with candidates of a sampler."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np

from sklearn_halving.policies import IncumbentRace
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Seed, Shape
from sklearn_halving.policies._incumbent_contest import Contest
from sklearn_halving.policies._types import ClosedRung, PolicyDescription, Problem, Pulls
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.policies.bases._separate_games import SeparateState
from sklearn_halving.policies.posterior._state import PosteriorState
from sklearn_halving.search.candidate_model._independent import BOUNDS
from sklearn_halving.search.candidate_model._posterior import (
    GapOverCandidates,
    make_gap,
)
from sklearn_halving.search.candidate_model._prior import CandidatePrior
from sklearn_halving.search.preparing._preparation import Setup

if TYPE_CHECKING:
    from sklearn_halving.search._bayes_gap import BayesGapSearchCV

SHARE_OF_GAP = 4
"""One of this many fits is made by BayesGap, before the race."""
LEAST_OF_GAP = 10
"""Minimum number of fits of BayesGap."""


@dataclass
class GapThenRaceState:
    """State of both parts. The race starts when all rewards of the first part are known."""

    problem: Problem
    gap: PosteriorState
    race: SeparateState
    is_racing: bool = False
    rewards: dict[int, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))


@dataclass(frozen=True)
class GapThenRace(BasePolicy):
    """Choose among the first arms by BayesGap, and race the others against the winner.

    The arms of the race may be created when they are first pulled. Only for a single problem.

    Parameters
    ----------
    gap : GapOverCandidates
        The policy of the first part.
    race : IncumbentRace
        The policy of the second part. Its ``n_pulls`` is the budget of both parts.
    n_drawn : int
        Number of arms of the first part.
    """

    gap: GapOverCandidates
    race: IncumbentRace
    n_drawn: int

    def describe(self, problem: Problem | None = None) -> PolicyDescription:
        """Return the description of the race, which has the budget of both parts."""
        return self.race.describe(problem)

    def start(
        self, problem: Problem, *, batch_shape: Shape = (), seed: Seed = None
    ) -> GapThenRaceState:
        """Return the state before the first pull."""
        drawn = Problem(
            self.n_drawn, problem.min_level, problem.max_level, problem.max_repetitions
        )
        gap = self.gap.start(drawn, seed=seed)
        return GapThenRaceState(problem, gap, self.race.start(problem, seed=seed))

    def ask(self, state: GapThenRaceState, max_pulls: int) -> Pulls:
        """Return the next pulls of the current part."""
        if state.is_racing:
            return self.race.ask(state.race, max_pulls)
        return self.gap.ask(state.gap, max_pulls)

    def tell(self, state: GapThenRaceState, pulls: Pulls, rewards: FloatArray) -> None:
        """Update the current part, and start the race after the last reward of the first one."""
        if state.is_racing:
            self.race.tell(state.race, pulls, rewards)
            return
        self.gap.tell(state.gap, pulls, rewards)
        for pull, reward in zip(pulls.each(), rewards.tolist(), strict=True):
            state.rewards[pull.arm][pull.repetition] = reward
        if self.gap.is_finished(state.gap):
            state.is_racing = True
            self._open_race(state)

    def _open_race(self, state: GapThenRaceState) -> None:
        """Make the winner of the first part the incumbent of the race."""
        best = int(self.gap.recommend(state.gap))
        rivals = [arm for arm in self._rivals(state, best) if arm in state.rewards]
        entrants = [*rivals, *range(self.n_drawn, state.problem.n_arms)]
        cast(Contest, state.race.games[0]).go_on_from(state.rewards, best, entrants)

    def _rivals(self, state: GapThenRaceState, best: int) -> list[int]:
        """Return the arms that the model does not tell from the winner, the best one first."""
        mean, deviation = self.gap.posterior(state.gap)
        order = np.argsort(-mean, kind="stable").tolist()
        return [arm for arm in order if arm != best and mean[arm] + deviation[arm] >= mean[best]]

    def is_finished(self, state: GapThenRaceState) -> bool:
        """Return whether both parts are finished."""
        return state.is_racing and self.race.is_finished(state.race)

    def is_alive(self, state: GapThenRaceState) -> BoolArray:
        """Return which arms may still be pulled."""
        alive = self.race.is_alive(state.race)
        if state.is_racing:  # arms that the first part did not pull are not pulled any more
            was_pulled = np.isin(np.arange(self.n_drawn), list(state.rewards))
            alive[: self.n_drawn] &= was_pulled
        else:
            alive[: self.n_drawn] = self.gap.is_alive(state.gap)
        return alive

    def recommend(self, state: GapThenRaceState) -> IntArray:
        """Return the winner of the current part; ``NO_ARM`` if no arm has a reward."""
        if state.is_racing:
            return self.race.recommend(state.race)
        return self.gap.recommend(state.gap)

    def rungs_before(self, state: GapThenRaceState, place: int) -> Sequence[ClosedRung]:
        """Return the mean rewards of all arms so far, those of the first part included."""
        return self.race.rungs_before(state.race, place) if state.is_racing else ()


def n_of_gap(n_pulls: int) -> int:
    """Return the maximum number of fits of the first part."""
    return min(n_pulls, max(LEAST_OF_GAP, n_pulls // SHARE_OF_GAP))


def most_arms(n_pulls: int, n_drawn: int) -> int:
    """Return the maximum number of candidates, given the number of those that are drawn.

    The first part ends early if all of them fail at once, or if there are few splits.
    """
    return n_drawn + n_pulls - min(n_of_gap(n_pulls), n_drawn)


def make_gap_then_race(
    search: BayesGapSearchCV,
    n_pulls: int,
    in_flight: int,
    n_drawn: int,
    setup: Setup,
    prior: CandidatePrior,
) -> GapThenRace:
    """Return the policy of a search with a sampler. Raise an error if it has no use for one."""
    if search.acquisition in BOUNDS:
        raise ValueError(
            f"sampler must be 'random' with acquisition={search.acquisition!r}, which fits every "
            f"candidate first; got {search.sampler!r}. Leave it out, or use another acquisition."
        )
    size = setup.space.size
    if size is not None and n_drawn >= size:
        raise ValueError(
            f"sampler must be 'random' if the model knows all {size} candidates of "
            f"param_distributions, so that none can be added; got {search.sampler!r}. Leave it "
            "out, or set n_candidates to a smaller number."
        )
    if n_drawn < 2:
        raise ValueError(
            f"n_candidates must be at least 2 with sampler={search.sampler!r}, since BayesGap "
            f"first compares the drawn candidates; got {search.n_candidates!r}. Set it to 2 or "
            "more, or leave it out."
        )
    n_splits = max(IncumbentRace.n_splits, setup.splits.n_named)
    race = IncumbentRace(n_pulls, n_splits=n_splits, pulls_in_flight=in_flight)
    return GapThenRace(make_gap(search, n_of_gap(n_pulls), in_flight, prior), race, n_drawn)
