"""The state of brackets of successive halving, and the race in their last rung."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import cast

import numpy as np
from scipy.special import ndtr, stdtrit

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Shape
from sklearn_halving.policies._types import NO_ARM, Bracket, ClosedRung, Pulls, Schedule

Z = 1.0
"""Number of standard errors by which a dropped arm is behind."""
MAX_FINALISTS = 100
"""Number of latest finalists from which the noise is estimated."""
MIN_SPLITS = 3
"""With fewer splits there is no race: the noise would be known too badly."""


@dataclass(frozen=True)
class Incumbent:
    """The best arm of earlier brackets."""

    rewards: FloatArray
    """Its rewards. Shape ``(n_repetitions,)``."""
    tolerance: float
    """The largest difference on one split with which another arm is not behind."""

    def is_ahead_of(self, rewards: FloatArray, repetition: int) -> BoolArray:
        """Return which rewards on a split are behind by more than the noise, or NaN."""
        is_close: BoolArray = self.rewards[repetition] - rewards <= self.tolerance
        return ~is_close

    def corrected(self, rewards: FloatArray, repetition: int) -> FloatArray:
        """Return estimates of the means of arms from their rewards on one split."""
        return self.rewards.mean() + rewards - self.rewards[repetition]


def noise_tolerance(table: FloatArray) -> float | None:
    """Return `Z` standard errors of a difference on one split, None if nothing is known.

    Parameters
    ----------
    table : ndarray of shape (n_arms, n_repetitions)
        Finite rewards. Equal arms count once, as they say nothing about the noise. The noise is
        what the effects of the arms and of the splits do not explain. The quantile of Student's
        distribution takes into account that few arms tell little about it.
    """
    table = np.unique(table, axis=0)
    n_free = (len(table) - 1) * (table.shape[1] - 1)
    if n_free < 1:
        return None
    means = table.mean(axis=1, keepdims=True)
    residuals = table - means - table.mean(axis=0) + table.mean()
    variance = (residuals**2).sum() / n_free
    return float(stdtrit(n_free, ndtr(Z)) * np.sqrt(2 * variance))


@dataclass
class Finalists:
    """The arms with a reward on each split, added in the order of their brackets."""

    incumbents: list[Incumbent | None] = field(default_factory=lambda: [None])
    """The incumbent after the first 0, 1, 2, ... brackets."""
    _best: FloatArray | None = None
    _latest: FloatArray | None = None

    def add(self, rewards: FloatArray) -> None:
        """Add the arms of the last rung of a bracket, shape (n_arms, n_repetitions)."""
        table = rewards[np.isfinite(rewards).all(axis=1)]
        if len(table):
            best = table[table.mean(axis=1).argmax()]
            if self._best is None or best.mean() > self._best.mean():
                self._best = best
            if self._latest is not None:
                table = np.concatenate([self._latest, table])
            self._latest = table[-MAX_FINALISTS:]
        self.incumbents.append(self._incumbent())

    def _incumbent(self) -> Incumbent | None:
        if self._best is None or self._latest is None:
            return None
        tolerance = noise_tolerance(self._latest)
        return None if tolerance is None else Incumbent(self._best, tolerance)


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

    def means(self) -> FloatArray:
        """Return the mean over the splits, shape ``(*batch, n_arms of the rung)``.

        The mean is computed in the order of the splits once the rung is complete. The rounding
        errors of a running sum would depend on the order of the rewards.
        """
        place = np.where(self.arms == NO_ARM, 0, self.arms - self.first_arm)
        rewards = self.rewards[..., : self.n_repetitions]
        means = np.take_along_axis(rewards.mean(axis=-1), place, axis=-1)
        return np.where(self.arms == NO_ARM, np.nan, means)

    def store(self, pulls: Pulls, rewards: FloatArray, columns: IntArray) -> None:
        """Store the rewards of some columns of the pulls of a batch."""
        self.n_told += len(columns)
        if len(columns) < len(pulls):
            pulls, rewards = Pulls(*(one[..., columns] for one in pulls)), rewards[..., columns]
        n_arms, n_repetitions = self.rewards.shape[-2:]
        arm, repetition = (one.reshape(-1, len(columns)) for one in (pulls.arm, pulls.repetition))
        first_place = n_arms * np.arange(len(arm))[:, np.newaxis] - self.first_arm
        place = (first_place + arm) * n_repetitions + repetition
        rewards, is_pull = rewards.reshape(place.shape), arm != NO_ARM
        if not is_pull.all():
            place, rewards = place[is_pull], rewards[is_pull]
        self.rewards.put(place, rewards)


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

    def store(self, pulls: Pulls, rewards: FloatArray) -> list[int]:
        """Store rewards, and return the brackets to which they belong."""
        if self.best_arm.ndim == 0:
            return self._store_singly(pulls, rewards)
        arm = pulls.arm.reshape(-1, len(pulls)).max(axis=0)  # NO_ARM, or any arm of the bracket
        column_owner = np.where(arm == NO_ARM, -1, self.bracket_of_arm[arm])
        told: list[int] = [index for index in np.unique(column_owner).tolist() if index >= 0]
        for index in told:
            columns = np.flatnonzero(column_owner == index)
            self.brackets[index].store(pulls, np.asarray(rewards), columns)
        return told

    def _store_singly(self, pulls: Pulls, rewards: FloatArray) -> list[int]:
        """Store the rewards of a single problem one by one.

        Arrays are slower for the few pulls of a search.
        """
        told: dict[int, None] = {}
        columns = (pulls.arm.tolist(), pulls.repetition.tolist(), np.asarray(rewards).tolist())
        for arm, repetition, reward in zip(*columns, strict=True):
            if arm != NO_ARM:
                index = int(self.bracket_of_arm[arm])
                bracket = self.brackets[index]
                bracket.rewards[arm - bracket.first_arm, repetition] = reward
                bracket.n_told += 1
                told[index] = None
        return list(told)

    def update_best(self, arms: IntArray, means: FloatArray) -> None:
        """Recommend the best arm of a rung if it is better, or equal with a smaller index."""
        known = np.where(np.isnan(means), -np.inf, means)
        place = known.argmax(axis=-1)[..., np.newaxis]
        reward = np.take_along_axis(means, place, axis=-1)[..., 0]
        arm = np.take_along_axis(arms, place, axis=-1)[..., 0]
        is_better = ~np.isnan(reward) & (
            np.isnan(self.best_reward)
            | (reward > self.best_reward)
            | ((reward == self.best_reward) & (arm < self.best_arm))
        )
        self.best_arm = np.where(is_better, arm, self.best_arm)
        self.best_reward = np.where(is_better, reward, self.best_reward)
