"""Base class of scheduled policies, which play brackets of successive halving.

Brackets do not share arms. They only wait for each other if their arms are created during the
game. Within a bracket, a rung is closed when the rewards of all its pulls are known, in any order.
Its best arms are promoted to the next rung.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import ClassVar

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Seed, Shape
from sklearn_halving.policies._types import NO_ARM, ClosedRung, Problem, Pulls, Schedule
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.policies.bases._bracket_state import (
    BracketsState,
    BracketState,
    StartedBrackets,
)


class ScheduledPolicy(BasePolicy):
    """Base class of policies that play a schedule, which subclasses define."""

    order_free: ClassVar[bool] = True
    brackets_in_play: int | None = None
    races: bool = False

    def schedule(self, min_level: int, max_level: int, n_available: int | None = None) -> Schedule:
        """Return the planned brackets."""
        raise NotImplementedError

    def _may_win(self, level: int, problem: Problem) -> bool:
        """Return whether an arm can be recommended for a reward at this level."""
        return True

    def start(
        self, problem: Problem, *, batch_shape: Shape = (), seed: Seed = None
    ) -> tuple[Problem, BracketsState]:
        """Return the state before the first pull. The policy is deterministic; no seed is used."""
        schedule = self.schedule(problem.min_level, problem.max_level, problem.n_available)
        if schedule.n_arms != problem.n_arms:
            raise ValueError(
                f"n_arms must be the number of arms of the schedule, {schedule.n_arms}, got "
                f"{problem.n_arms}. Use Problem(n_arms=policy.schedule(...).n_arms) for {self!r}."
            )
        if self.races and batch_shape:
            raise ValueError(
                f"races=True needs batch_shape=(), a single problem; got {batch_shape}. Start the "
                "policy once for each problem, or use races=False."
            )
        alone = schedule.n_arms == 1 and not schedule.brackets[0].rungs
        order = self.order_of_play(schedule)
        state = BracketsState(
            StartedBrackets(schedule, batch_shape, problem.max_repetitions or 1, races=self.races),
            schedule.bracket_of_arm(),
            best_arm=np.full(batch_shape, 0 if alone else NO_ARM),
            best_reward=np.full(batch_shape, np.nan),
            open_brackets=[i for i in order if schedule.brackets[i].rungs],
            position={place: position for position, place in enumerate(order)},
        )
        return problem, state

    def ask(self, state: tuple[Problem, BracketsState], max_pulls: int) -> Pulls:
        """Return up to ``max_pulls`` pulls of the first open bracket in the order of play."""
        _, play = state
        for index in self.in_play(play):
            bracket = play.brackets[index]
            stop = min(bracket.n_asked + max_pulls, bracket.n_pulls_of_rung)
            if stop > bracket.n_asked:
                # Return pulls of one bracket only. Otherwise a single worker would have to do
                # pulls of later brackets before this bracket can continue.
                asked = slice(bracket.n_asked, stop)
                bracket.n_asked = stop
                return Pulls(*(column[..., asked] for column in bracket.pulls))
        empty = np.empty((*play.best_arm.shape, 0), dtype=np.int64)
        return Pulls(empty, empty, empty)

    def in_play(self, play: BracketsState) -> list[int]:
        """Return the brackets in play, in the order of play."""
        if self.brackets_in_play is None:
            return play.open_brackets
        ready: list[int] = []
        for index in play.open_brackets:
            # Brackets that are not open any more have ended, and no bracket waits for them.
            if any(self._waits_for(play, index, before) for before in ready):
                break
            ready.append(index)
        return ready

    def _waits_for(self, play: BracketsState, place: int, before: int) -> bool:
        return len(play.brackets[before].closed) < self._n_needed(play, place, before)

    def _n_needed(self, play: BracketsState, place: int, before: int) -> int:
        """Return how many rungs of an earlier bracket are closed when a bracket starts."""
        n_rungs = len(play.brackets.schedule.brackets[before].rungs)
        back = play.position[place] - play.position[before]
        if back >= (self.brackets_in_play or len(play.position)):
            return n_rungs
        return 0 if back == 1 else n_rungs - 1

    def rungs_before(self, state: tuple[Problem, BracketsState], place: int) -> list[ClosedRung]:
        """Return the rungs that are always closed when a bracket starts, in the order of play.

        These are the rungs for which the bracket waits. The result therefore does not depend on
        the order of the rewards. It is complete once a pull of the bracket has been requested.
        """
        _, play = state
        if self.brackets_in_play is None:
            return []
        return [
            rung
            for before in islice(play.position, play.position[place])
            for rung in play.brackets[before].closed[: self._n_needed(play, place, before)]
        ]

    def tell(
        self, state: tuple[Problem, BracketsState], pulls: Pulls, rewards: FloatArray
    ) -> None:
        """Update the state with rewards, and close the rungs that are complete."""
        problem, play = state
        if len(pulls) == 0:
            return
        if play.best_arm.ndim == 0:
            told = _store_singly(play, pulls, rewards)
        else:
            told = _store_in_columns(play, pulls, rewards)
        if self.races:
            # A bracket that has ended may end the race of a later one.
            told = list(self.in_play(play))
        for index in told:
            bracket = play.brackets[index]
            if bracket.is_racing and bracket.n_told == bracket.n_pulls_of_rung:
                self._end_race(play, index)
            if bracket.n_told == bracket.n_pulls_of_rung and not bracket.is_racing:
                self._close_rung(problem, play, bracket)
                if bracket.is_finished:
                    play.open_brackets.remove(index)

    def _end_race(self, play: BracketsState, place: int) -> None:
        """End a race if all brackets have ended, except for the one before and later ones."""
        end = play.position[place] - 1
        if any(play.position[index] < end for index in play.open_brackets[:1]):
            return
        known = play.finalists.incumbents
        for index in islice(play.position, len(known) - 1, max(0, end)):
            before = play.brackets[index]
            play.finalists.add(before.rewards[before.arms - before.first_arm])
        play.brackets[place].finish_race(known[max(0, end)])

    def _close_rung(self, problem: Problem, play: BracketsState, bracket: BracketState) -> None:
        means, rung = _rung_means(bracket), bracket.bracket.rungs[bracket.rung]
        if self.brackets_in_play is not None:
            known = means.copy()
            for arm, estimate in bracket.dropped.items():
                known[bracket.arms == arm] = estimate
            bracket.closed.append(ClosedRung(bracket.arms, rung.level, known))
        if self._may_win(rung.level, problem):
            if rung.first_repetition:
                # The previous rung was at the same level on fewer splits. Its best arm is
                # replaced unless all means of this rung are NaN.
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

    def n_dropped(self, state: tuple[Problem, BracketsState], place: int) -> int | None:
        """Return how many arms a bracket has dropped in its race, None before the race ends."""
        bracket = state[1].brackets[place]
        is_to_come = bracket.race_split is not None and not bracket.is_finished
        return None if is_to_come else len(bracket.dropped)

    def is_finished(self, state: tuple[Problem, BracketsState]) -> bool:
        """Return whether all brackets are finished."""
        return not state[1].open_brackets

    def is_alive(self, state: tuple[Problem, BracketsState]) -> BoolArray:
        """Return which arms are in the current rung of an open bracket."""
        problem, play = state
        alive = np.zeros((*play.best_arm.shape, problem.n_arms + 1), dtype=bool)
        alive[..., :-1] = play.brackets.is_to_come
        for bracket in play.brackets.values():
            if bracket.is_finished:
                continue
            # NO_ARM is -1, so that padding marks the extra last place.
            np.put_along_axis(alive, bracket.arms, True, axis=-1)
            alive[..., list(bracket.dropped)] = False
        return alive[..., :-1]

    def recommend(self, state: tuple[Problem, BracketsState]) -> IntArray:
        """Return the arm with the best mean reward at a level from which arms can win."""
        return state[1].best_arm.copy()


def top_arms(
    arms: IntArray, means: FloatArray, n_kept: int, tie_break: Sequence[int] | None = None
) -> IntArray:
    """Return the best of the arms, which are in increasing order, and keep their order.

    At most ``n_kept`` arms are returned. Ties go to the arm with the smaller number in
    ``tie_break``, or to the smaller arm if it is None. Arms with a mean of NaN are never
    kept. The shape is ``(*batch, n)``, where n is the largest number of kept arms of a problem.
    Problems with fewer arms are padded with ``NO_ARM``.
    """
    if tie_break is None:
        # Sorting the means is much faster than sorting the arms by their means.
        worst = -np.sort(-means, axis=-1)[..., min(n_kept, means.shape[-1]) - 1]
        is_kept = means >= worst[..., np.newaxis]
        if not np.isnan(worst).any() and is_kept.sum() == n_kept * worst.size:
            return arms[is_kept].reshape(*worst.shape, n_kept)
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
    """Store the rewards of a single problem, and return their brackets.

    Rewards are stored one by one, because arrays are slower for the few pulls of a search.
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
    """Store the rewards of a batch of problems, and return their brackets."""
    arm = pulls.arm.reshape(-1, len(pulls)).max(axis=0)  # NO_ARM, or any arm of the bracket
    column_owner = np.where(arm == NO_ARM, -1, play.bracket_of_arm[arm])
    told: list[int] = [index for index in np.unique(column_owner).tolist() if index >= 0]
    for index in told:
        columns = np.flatnonzero(column_owner == index)
        _store(play.brackets[index], pulls, np.asarray(rewards), columns)
        play.brackets[index].n_told += len(columns)
    return told


def _store(bracket: BracketState, pulls: Pulls, rewards: FloatArray, columns: IntArray) -> None:
    if len(columns) < len(pulls):
        pulls, rewards = Pulls(*(one[..., columns] for one in pulls)), rewards[..., columns]
    n_arms, n_repetitions = bracket.rewards.shape[-2:]
    arm, repetition = (one.reshape(-1, len(columns)) for one in (pulls.arm, pulls.repetition))
    first_place = n_arms * np.arange(len(arm))[:, np.newaxis] - bracket.first_arm
    place = (first_place + arm) * n_repetitions + repetition
    rewards, is_pull = rewards.reshape(place.shape), arm != NO_ARM
    if not is_pull.all():
        place, rewards = place[is_pull], rewards[is_pull]
    bracket.rewards.put(place, rewards)


def _rung_means(bracket: BracketState) -> FloatArray:
    """Return the mean over the splits, shape ``(*batch, n_arms of the rung)``.

    The mean is computed in the order of the splits once the rung is complete. The rounding
    errors of a running sum would depend on the order of the rewards.
    """
    place = np.where(bracket.arms == NO_ARM, 0, bracket.arms - bracket.first_arm)
    rewards = bracket.rewards[..., : bracket.n_repetitions]
    means = np.take_along_axis(rewards.mean(axis=-1), place, axis=-1)
    return np.where(bracket.arms == NO_ARM, np.nan, means)


def _update_best(play: BracketsState, bracket: BracketState, means: FloatArray) -> None:
    """Recommend the best arm of the rung if it is better, or equal with a smaller index."""
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
