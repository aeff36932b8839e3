"""The state of brackets of successive halving while they are played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import cast

import numpy as np

from sklearn_halving.policies._arrays import FloatArray, IntArray, Shape
from sklearn_halving.policies._types import Bracket, ClosedRung, Pulls, Schedule
from sklearn_halving.policies.bases._last_rung_race import MIN_SPLITS, Finalists, Incumbent


@dataclass
class BracketState:
    """State of a bracket."""

    bracket: Bracket
    """The plan."""
    first_arm: int
    """The arms of the bracket are ``first_arm, first_arm + 1, ...``."""
    arms: IntArray
    """The arms of the current rung in increasing order. Problems with fewer arms than others are
    padded with ``NO_ARM``. No column is padding in all problems, because pulls are counted by
    column and the rung would never be closed. Shape ``(*batch, n_arms of the rung)``."""
    rewards: FloatArray
    """The rewards of the current rung; NaN if a reward is unknown. A rung may use only the first
    repetitions. Shape ``(*batch, n_arms of the bracket, n_repetitions)``."""
    pulls: Pulls = field(init=False)
    """All pulls of the current rung, in the order in which they are requested."""
    rung: int = 0
    n_asked: int = 0
    n_told: int = 0
    """Index of the current rung, number of its requested pulls, and number of its rewards."""
    is_abandoned: bool = False
    """Whether all rewards of a rung were NaN in every problem."""
    closed: list[ClosedRung] = field(default_factory=list)
    """The closed rungs, if ``brackets_in_play`` is limited."""
    race_split: int | None = None
    """The split on which the arms of the last rung are compared with the best arm of earlier
    brackets, before any of them is pulled on the other splits. None if there is no race."""
    dropped: dict[int, float] = field(default_factory=dict)
    """Maps arms that were dropped on this split to estimates of their means."""

    def __post_init__(self) -> None:
        self.open_rung()

    def open_rung(self) -> None:
        """Set the pulls of the rung: all arms on split 0, then all arms on split 1, ..."""
        self.n_asked = self.n_told = 0
        if self.is_finished:
            return
        rung = self.bracket.rungs[self.rung]
        splits: Sequence[int] = range(rung.first_repetition, self.n_repetitions)
        if self.is_racing:
            splits = [cast(int, self.race_split)]
        self.pulls = self._pulls_on(splits, self.arms)

    def _pulls_on(self, splits: Sequence[int], arms: IntArray) -> Pulls:
        arm = np.concatenate([arms] * len(splits), axis=-1)
        level = np.full_like(arm, self.bracket.rungs[self.rung].level)
        repetition = np.repeat(splits, arms.shape[-1])
        return Pulls(arm, level, np.broadcast_to(repetition, arm.shape))

    @property
    def is_racing(self) -> bool:
        """Whether the current rung is the last one, and its arms are pulled on one split."""
        is_last = self.rung == len(self.bracket.rungs) - 1
        return self.race_split is not None and is_last

    def finish_race(self, incumbent: Incumbent | None) -> None:
        """Pull the arms that are not behind on the other splits, too."""
        split, self.race_split = cast(int, self.race_split), None
        rewards = self.rewards[self.arms - self.first_arm, split]
        is_behind, estimates = np.isnan(rewards), rewards
        if incumbent is not None:
            is_behind = incumbent.is_ahead_of(rewards, split)
            estimates = incumbent.corrected(rewards, split)
        self.dropped = dict(zip(self.arms[is_behind].tolist(), estimates[is_behind], strict=True))
        others = [i for i in range(self.n_repetitions) if i != split]
        more = self._pulls_on(others, self.arms[~is_behind])
        self.pulls = Pulls(*map(np.concatenate, zip(self.pulls, more, strict=True)))

    @property
    def is_finished(self) -> bool:
        return self.is_abandoned or self.rung >= len(self.bracket.rungs)

    @property
    def n_repetitions(self) -> int:
        """Number of splits on which the arms of the current rung are compared."""
        return self.bracket.rungs[self.rung].n_splits(self.rewards.shape[-1])

    @property
    def n_pulls_of_rung(self) -> int:
        return len(self.pulls)


class StartedBrackets(dict[int, BracketState]):
    """The brackets that have started, by their place in the schedule.

    The state of a bracket is created when it is first used, because a search with a time budget
    may plan thousands of brackets.
    """

    def __init__(
        self, schedule: Schedule, batch_shape: Shape, n_repetitions: int, *, races: bool
    ) -> None:
        super().__init__()
        self.schedule, self._batch_shape = schedule, batch_shape
        self._races = races and n_repetitions >= MIN_SPLITS
        self._n_repetitions = n_repetitions
        self._first_arm = [0, *accumulate(bracket.n_arms for bracket in schedule.brackets)]
        self.is_to_come = np.full(schedule.n_arms, True)
        """Whether the bracket of each arm has not started yet, shape (n_arms,)."""

    def __missing__(self, place: int) -> BracketState:
        bracket, first_arm = self.schedule.brackets[place], self._first_arm[place]
        arms = np.arange(first_arm, first_arm + bracket.n_arms)
        self.is_to_come[arms] = False
        shape = (*self._batch_shape, bracket.n_arms)
        rewards = np.full((*shape, self._n_repetitions), np.nan)
        arms = np.broadcast_to(arms, shape).copy()
        # The splits take turns. Otherwise all brackets would choose arms that suit one of them.
        race_split = (place + bracket.loop) % self._n_repetitions if self._races else None
        self[place] = BracketState(bracket, first_arm, arms, rewards, race_split=race_split)
        return self[place]


@dataclass
class BracketsState:
    """State of all brackets, and the best arm so far."""

    brackets: StartedBrackets
    bracket_of_arm: IntArray
    best_arm: IntArray
    best_reward: FloatArray
    open_brackets: list[int] = field(default_factory=list)
    position: dict[int, int] = field(default_factory=dict)
    """Maps the place of a bracket in the schedule to its place in the order of play."""
    finalists: Finalists = field(default_factory=Finalists)
