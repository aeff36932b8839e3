"""Successive halving: play the rungs of brackets, and promote the best arms of each.

Brackets do not share arms. They only wait for each other if their arms are created during the
game. Within a bracket, a rung is closed when the rewards of all its pulls are known, in any order.
`top_arms` selects the arms of the next rung. The policies of this file play a single bracket
within a budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, ClassVar

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Seed, Shape
from sklearn_halving.policies._types import (
    NO_ARM,
    Bracket,
    ClosedRung,
    Problem,
    Pulls,
    Rung,
    Schedule,
)
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.policies.bases._bracket_state import (
    BracketsState,
    BracketState,
    StartedBrackets,
)
from sklearn_halving.policies.bases._parameter_checks import Count, Rule, check_whole
from sklearn_halving.policies.bases._rungs import (
    Factor,
    finite_horizon_rungs,
    fixed_budget_rungs,
    infinite_horizon_rungs,
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
            if any(
                len(play.brackets[before].closed) < self._n_needed(play, index, before)
                for before in ready
            ):
                break
            ready.append(index)
        return ready

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
        told = play.store(pulls, rewards)
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
        means, rung = bracket.means(), bracket.bracket.rungs[bracket.rung]
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
            play.update_best(bracket.arms, means)
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


@dataclass(frozen=True)
class _BudgetedHalving(ScheduledPolicy):
    """One bracket of ``n_arms`` arms within a budget of units; subclasses define its rungs."""

    n_arms: Count
    budget: Annotated[
        int, Rule(check_whole, "It is a number of units for all arms together, such as 1000.")
    ]

    def _rungs(self, n_arms: int, max_level: int) -> tuple[Rung, ...]:
        """Return the rungs; raise if the budget is too small."""
        raise NotImplementedError

    def schedule(self, min_level: int, max_level: int, n_available: int | None = None) -> Schedule:
        """Return the bracket, with ``n_available`` arms if that is less than ``n_arms``.

        ``min_level`` is not used, because the budget determines the level of the first rung.
        ``max_level`` is the level of the last rung if the variant has a finite horizon.
        """
        n_arms = self.n_arms if n_available is None else min(self.n_arms, n_available)
        rungs = self._rungs(n_arms, max_level)
        return Schedule((Bracket(max(0, len(rungs) - 1), rungs),))

    def _may_win(self, level: int, problem: Problem) -> bool:
        # The winner of the last round is recommended. Its level is the largest of all rounds.
        return level == self._rungs(problem.n_arms, problem.max_level)[-1].level


@dataclass(frozen=True)
class SuccessiveHalving(_BudgetedHalving):
    """Halve the number of arms ``ceil(log2 n)`` times within a budget of units.

    Round k spends ``floor(budget / (|S_k| * ceil(log2 n)))`` additional units on each of its
    arms and keeps the best ``floor(|S_k| / 2)`` arms. The policy stops when one arm is left.

    Parameters
    ----------
    n_arms : int
        Number of arms, n.
    budget : int
        Maximum number of units of resource for all arms together, B. Units are counted once: if
        an arm is trained from level 15 to level 46, this costs 31 units.

    References
    ----------
    Jamieson and Talwalkar. Non-stochastic best arm identification and hyperparameter
    optimization. AISTATS 2016, Fig. 3.

    Examples
    --------
    >>> from sklearn_halving.policies import SuccessiveHalving
    >>> rungs = SuccessiveHalving(n_arms=16, budget=1000).schedule(1, 1000).brackets[0].rungs
    >>> [(rung.n_arms, rung.level) for rung in rungs]
    [(16, 15), (8, 46), (4, 108), (2, 233)]
    """

    def __post_init__(self) -> None:
        """Check that the budget is large enough to pull every arm once."""
        super().__post_init__()
        self._rungs(self.n_arms, 1)

    def _rungs(self, n_arms: int, max_level: int) -> tuple[Rung, ...]:
        return fixed_budget_rungs(n_arms, self.budget)


@dataclass(frozen=True)
class InfiniteHorizonHalving(SuccessiveHalving):
    """Halve the number of arms ``ceil(log2 n)`` times, with a separate budget for each round.

    Unlike in `SuccessiveHalving`, ``r_k = floor(budget / (|S_k| ceil(log2 n)))`` is the level of
    round k, and not the number of additional units. The budget is not exceeded even if every arm
    is trained from scratch in every round.

    Parameters
    ----------
    n_arms : int
        Number of arms, n.
    budget : int
        Maximum number of units of resource for all arms together, B.

    References
    ----------
    Li et al. Hyperband. JMLR 18 (2018), Fig. 9 (infinite horizon).

    Examples
    --------
    >>> from sklearn_halving.policies import InfiniteHorizonHalving
    >>> rungs = InfiniteHorizonHalving(n_arms=16, budget=1000).schedule(1, 1000).brackets[0].rungs
    >>> [(rung.n_arms, rung.level) for rung in rungs]
    [(16, 15), (8, 31), (4, 62), (2, 125)]
    """

    def _rungs(self, n_arms: int, max_level: int) -> tuple[Rung, ...]:
        return infinite_horizon_rungs(n_arms, self.budget)


@dataclass(frozen=True)
class FiniteHorizonHalving(_BudgetedHalving):
    """Successive halving within a budget, for a known largest level R.

    The number of eliminations s is the smallest that the budget allows,
    ``s = min {t : n R (t + 1) eta^-t <= B, t <= log_eta(min(R, n))}``. Rung k has
    ``floor(n eta^-k)`` arms at ``floor(R eta^(k - s))`` units.

    Parameters
    ----------
    n_arms : int
        Number of arms, n.
    budget : int
        Maximum number of units of resource for all arms together, B. It is not exceeded even if
        every rung is trained from scratch.
    factor : float, default=3
        The paper's eta, at least 2.

    References
    ----------
    Li et al. Hyperband. JMLR 18 (2018), Fig. 10 (finite horizon).

    Examples
    --------
    >>> from sklearn_halving.policies import FiniteHorizonHalving
    >>> policy = FiniteHorizonHalving(n_arms=81, budget=405, factor=3)
    >>> rungs = policy.schedule(1, 81).brackets[0].rungs
    >>> [(rung.n_arms, rung.level) for rung in rungs]
    [(81, 1), (27, 3), (9, 9), (3, 27), (1, 81)]
    """

    factor: Factor = 3

    def _rungs(self, n_arms: int, max_level: int) -> tuple[Rung, ...]:
        return finite_horizon_rungs(n_arms, self.budget, max_level, self.factor)
