"""How brackets of successive halving are played: the part all scheduled policies share.

Brackets share no arm, so they never wait for each other. Inside a bracket a rung closes
when every pull of it has been told, whatever the order, and its best arms make the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from sklearn_halving.policies._types import (
    NO_ARM,
    BoolArray,
    Bracket,
    FloatArray,
    IntArray,
    Problem,
    Pulls,
    Schedule,
)
from sklearn_halving.policies.bases._base_policy import BasePolicy


class ClosedRung(NamedTuple):
    """The arms of a rung in increasing order, its level, and the arms' mean rewards."""

    arms: IntArray
    level: int
    means: FloatArray


@dataclass
class BracketState:
    """Where one bracket stands.

    Parameters
    ----------
    bracket : Bracket
        The plan.
    first_arm : int
        The bracket's arms are ``first_arm, first_arm + 1, ...``.
    arms : ndarray of shape (*batch, n_arms of the rung)
        The arms of the current rung in increasing order, then ``NO_ARM`` where a problem has
        fewer of them than another. No column is padding in all problems: pulls are counted by
        the column, and such a one would be waited for in vain.
    rewards : ndarray of shape (*batch, n_arms of the bracket, n_repetitions)
        The rewards of the current rung; NaN where there is none. A rung may use but the first
        of the repetitions.
    pulls : Pulls
        All pulls of the current rung, in the order in which they are asked for.
    rung, n_asked, n_told : int
        Index of the current rung, and how many of its pulls were asked for and told.
    is_abandoned : bool
        Whether, in every problem, all rewards of a rung were NaN.
    closed : list of ClosedRung
        The rungs that were played, where something may be learnt from them.
    """

    bracket: Bracket
    first_arm: int
    arms: IntArray
    rewards: FloatArray
    pulls: Pulls = field(init=False)
    rung: int = 0
    n_asked: int = 0
    n_told: int = 0
    is_abandoned: bool = False
    closed: list[ClosedRung] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.open_rung()

    def open_rung(self) -> None:
        """Lay out the pulls of the rung: all arms on split 0, then on split 1, ..."""
        self.n_asked = self.n_told = 0
        if self.is_finished:
            return
        rung = self.bracket.rungs[self.rung]
        splits = np.arange(rung.first_repetition, self.n_repetitions)
        arm = np.concatenate([self.arms] * len(splits), axis=-1)
        level = np.full_like(arm, rung.level)
        repetition = np.repeat(splits, self.arms.shape[-1])
        self.pulls = Pulls(arm, level, np.broadcast_to(repetition, arm.shape))

    @property
    def is_finished(self) -> bool:
        return self.is_abandoned or self.rung >= len(self.bracket.rungs)

    @property
    def n_repetitions(self) -> int:
        """On how many splits the arms of the current rung are compared."""
        return self.bracket.rungs[self.rung].n_splits(self.rewards.shape[-1])

    @property
    def n_pulls_of_rung(self) -> int:
        return len(self.pulls)


@dataclass
class BracketsState:
    """Where all brackets stand, and the best arm so far."""

    brackets: list[BracketState]
    bracket_of_arm: IntArray
    best_arm: IntArray
    best_reward: FloatArray
    open_brackets: list[int] = field(default_factory=list)
    position: dict[int, int] = field(default_factory=dict)
    """Place of a bracket in the schedule -> its place in the order of play."""


class ScheduledPolicy(BasePolicy):
    """Play a schedule: a subclass says which, and which rungs the answer may come from."""

    order_free: ClassVar[bool] = True
    brackets_in_play: int | None = None

    def schedule(self, min_level: int, max_level: int, n_available: int | None = None) -> Schedule:
        """Return the brackets that will be played."""
        raise NotImplementedError

    def _may_win(self, level: int, problem: Problem) -> bool:
        """Return whether a reward at this level can make an arm the answer."""
        return True

    def order_of_play(self, schedule: Schedule) -> Sequence[int]:
        """Return the places of the brackets in the order in which they are begun."""
        return range(len(schedule.brackets))

    def start(
        self,
        problem: Problem,
        *,
        batch_shape: tuple[int, ...] = (),
        seed: np.random.SeedSequence | None = None,
    ) -> tuple[Problem, BracketsState]:
        """Return the state before the first pull. The policy is deterministic; no seed is used."""
        schedule = self.schedule(problem.min_level, problem.max_level, problem.n_available)
        if schedule.n_arms != problem.n_arms:
            raise ValueError(
                f"The schedule of {self!r} has {schedule.n_arms} arms, the problem "
                f"{problem.n_arms}. Make the problem with n_arms=schedule(...).n_arms."
            )
        n_repetitions = problem.max_repetitions or 1
        brackets, first_arm = [], 0
        for bracket in schedule.brackets:
            arms = np.arange(first_arm, first_arm + bracket.n_arms)
            shape = (*batch_shape, bracket.n_arms)
            rewards = np.full((*shape, n_repetitions), np.nan)
            arms = np.broadcast_to(arms, shape).copy()
            brackets.append(BracketState(bracket, first_arm, arms, rewards))
            first_arm += bracket.n_arms
        alone = schedule.n_arms == 1 and not schedule.brackets[0].rungs
        order = self.order_of_play(schedule)
        state = BracketsState(
            brackets,
            schedule.bracket_of_arm(),
            best_arm=np.full(batch_shape, 0 if alone else NO_ARM),
            best_reward=np.full(batch_shape, np.nan),
            open_brackets=[i for i in order if not brackets[i].is_finished],
            position={place: position for position, place in enumerate(order)},
        )
        return problem, state

    def ask(self, state: tuple[Problem, BracketsState], max_pulls: int) -> Pulls:
        """Return up to ``max_pulls`` pulls, of the open bracket that was begun first."""
        _, play = state
        for index in self._in_play(play):
            bracket = play.brackets[index]
            stop = min(bracket.n_asked + max_pulls, bracket.n_pulls_of_rung)
            if stop > bracket.n_asked:
                # Of one bracket only: a lone worker would else have to do pulls of later
                # brackets before this one can go on. Who has room left asks again.
                asked = slice(bracket.n_asked, stop)
                bracket.n_asked = stop
                return Pulls(*(column[..., asked] for column in bracket.pulls))
        empty = np.empty((*play.best_arm.shape, 0), dtype=np.int64)
        return Pulls(empty, empty, empty)

    def _in_play(self, play: BracketsState) -> list[int]:
        """Return the brackets that may be asked for pulls, in the order of play."""
        if self.brackets_in_play is None or not play.open_brackets:
            return play.open_brackets
        end = play.position[play.open_brackets[0]] + self.brackets_in_play
        return [index for index in play.open_brackets if play.position[index] < end]

    def rungs_before(self, state: tuple[Problem, BracketsState], place: int) -> list[ClosedRung]:
        """Return the rungs that are closed whenever a bracket starts, in the order of play.

        Those of all brackets but the ``brackets_in_play`` - 1 that may be in play when it
        starts: what its arms are made from does not depend on which pull came back first. The
        result is complete once a pull of the bracket has been asked for.
        """
        _, play = state
        end = play.position[place] - (self.brackets_in_play or len(play.brackets)) + 1
        earlier = [index for index, position in play.position.items() if position < end]
        return [rung for index in earlier for rung in play.brackets[index].closed]

    def tell(
        self, state: tuple[Problem, BracketsState], pulls: Pulls, rewards: FloatArray
    ) -> None:
        """Take in rewards; a rung whose last reward this was closes."""
        problem, play = state
        if len(pulls) == 0:
            return
        if play.best_arm.ndim == 0:
            told = _store_singly(play, pulls, rewards)
        else:
            told = _store_in_columns(play, pulls, rewards)
        for index in told:
            bracket = play.brackets[index]
            if bracket.n_told == bracket.n_pulls_of_rung:
                self._close_rung(problem, play, bracket)
                if bracket.is_finished:
                    play.open_brackets.remove(index)

    def _close_rung(self, problem: Problem, play: BracketsState, bracket: BracketState) -> None:
        means, rung = _rung_means(bracket), bracket.bracket.rungs[bracket.rung]
        if self.brackets_in_play is not None:
            bracket.closed.append(ClosedRung(bracket.arms, rung.level, means))
        if self._may_win(rung.level, problem):
            if rung.first_repetition:
                # The rung before was at the same level, on fewer splits: its best was the answer
                # for the time being, and remains so only if all means of this rung are NaN.
                is_known = ~np.isnan(means).all(axis=-1)
                play.best_reward = np.where(is_known, np.nan, play.best_reward)
            _update_best(play, bracket, means)
        bracket.rung += 1
        if bracket.rung < len(bracket.bracket.rungs):
            rung = bracket.bracket.rungs[bracket.rung]
            bracket.arms = top_arms(bracket.arms, means, rung.n_arms, problem.tie_break)
            bracket.is_abandoned = bracket.arms.shape[-1] == 0
            if not rung.first_repetition:
                bracket.rewards.fill(np.nan)
            bracket.open_rung()

    def is_finished(self, state: tuple[Problem, BracketsState]) -> bool:
        """Return whether every bracket has been played to its end."""
        return not state[1].open_brackets

    def is_alive(self, state: tuple[Problem, BracketsState]) -> BoolArray:
        """Return which arms stand in the current rung of an open bracket."""
        problem, play = state
        alive = np.zeros((*play.best_arm.shape, problem.n_arms + 1), dtype=bool)
        for index in play.open_brackets:
            # NO_ARM is -1, so padding marks the spare last place.
            np.put_along_axis(alive, play.brackets[index].arms, True, axis=-1)
        return alive[..., :-1]

    def recommend(self, state: tuple[Problem, BracketsState]) -> IntArray:
        """Return the arm with the best mean reward at a level that may win."""
        return state[1].best_arm.copy()


def top_arms(
    arms: IntArray, means: FloatArray, n_kept: int, tie_break: Sequence[int] | None = None
) -> IntArray:
    """Return the best arms, at most ``n_kept``, in increasing order.

    Ties go to the arm with the smaller number of ``tie_break``; None: to the smaller arm. An arm
    whose mean is NaN is not kept, also where there is room. Problems that keep fewer arms than
    others are padded with ``NO_ARM`` at the end, so the shape is ``(*batch, n)`` with the largest
    number that a problem keeps.
    """
    if tie_break is None:
        best = np.argsort(-means, axis=-1, kind="stable")  # NaN sorts last
    else:
        best = np.lexsort((np.take(tie_break, arms), -means), axis=-1)
    best = best[..., :n_kept]
    is_known = ~np.isnan(np.take_along_axis(means, best, axis=-1))
    n_columns = int(is_known.sum(axis=-1).max(initial=0))
    after_all = np.iinfo(np.int64).max
    kept = np.where(is_known, np.take_along_axis(arms, best, axis=-1), after_all)
    kept = np.sort(kept, axis=-1)[..., :n_columns]
    return np.where(kept == after_all, NO_ARM, kept)


def _store_singly(play: BracketsState, pulls: Pulls, rewards: FloatArray) -> list[int]:
    """Store the rewards of one problem; return the brackets they belong to.

    One by one: a search tells few pulls at a time, for which arrays take longer.
    """
    told: dict[int, None] = {}
    columns = (pulls.arm.tolist(), pulls.repetition.tolist(), np.asarray(rewards).tolist())
    for arm, repetition, reward in zip(*columns, strict=True):
        if arm != NO_ARM:
            index = int(play.bracket_of_arm[arm])
            bracket = play.brackets[index]
            bracket.rewards[arm - bracket.first_arm, repetition] = reward
            bracket.n_told += 1
            told[index] = None
    return list(told)


def _store_in_columns(play: BracketsState, pulls: Pulls, rewards: FloatArray) -> list[int]:
    """Store the rewards of many problems, which are told in lockstep; return the brackets."""
    owner = np.where(pulls.arm == NO_ARM, -1, play.bracket_of_arm[pulls.arm])
    column_owner = owner.reshape(-1, len(pulls)).max(axis=0)
    told: list[int] = [index for index in np.unique(column_owner).tolist() if index >= 0]
    for index in told:
        columns = np.flatnonzero(column_owner == index)
        _store(play.brackets[index], pulls, np.asarray(rewards), columns)
        play.brackets[index].n_told += len(columns)
    return told


def _store(bracket: BracketState, pulls: Pulls, rewards: FloatArray, columns: IntArray) -> None:
    arm = pulls.arm[..., columns].reshape(-1, len(columns))
    repetition = pulls.repetition[..., columns].reshape(-1, len(columns))
    reward = rewards[..., columns].reshape(-1, len(columns))
    table = bracket.rewards.reshape(-1, *bracket.rewards.shape[-2:])
    problem, column = np.nonzero(arm != NO_ARM)
    arm_place = arm[problem, column] - bracket.first_arm
    table[problem, arm_place, repetition[problem, column]] = reward[problem, column]


def _rung_means(bracket: BracketState) -> FloatArray:
    """Return the mean over the splits, shape ``(*batch, n_arms of the rung)``.

    The mean is taken once the rung is complete, in the order of the splits: a sum kept up
    to date would depend, in its last bits, on the order in which the pulls came back.
    """
    place = np.where(bracket.arms == NO_ARM, 0, bracket.arms - bracket.first_arm)
    rewards = bracket.rewards[..., : bracket.n_repetitions]
    means = np.take_along_axis(rewards.mean(axis=-1), place, axis=-1)
    return np.where(bracket.arms == NO_ARM, np.nan, means)


def _update_best(play: BracketsState, bracket: BracketState, means: FloatArray) -> None:
    """Let the rung's best arm be the answer if it is better, or as good and smaller."""
    known = np.where(np.isnan(means), -np.inf, means)
    place = known.argmax(axis=-1)[..., np.newaxis]
    reward = np.take_along_axis(means, place, axis=-1)[..., 0]
    arm = np.take_along_axis(bracket.arms, place, axis=-1)[..., 0]
    is_better = ~np.isnan(reward) & (
        np.isnan(play.best_reward)
        | (reward > play.best_reward)
        | ((reward == play.best_reward) & (arm < play.best_arm))
    )
    play.best_arm = np.where(is_better, arm, play.best_arm)
    play.best_reward = np.where(is_better, reward, play.best_reward)
