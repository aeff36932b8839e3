"""Base of policies that plan the number of pulls of each arm.

A policy is a loop, `PlannedPolicy.play`, that yields the counts of its next plan, and goes on when
the rewards of all these pulls are known. `PlannedGame` does what stands around it: it takes the
rewards in the order of the plan, so that decisions do not depend on the order of arrival, and
drops arms that failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import ClassVar

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Seed
from sklearn_halving.policies._plan import Bracket, Plan, Round, open_plan
from sklearn_halving.policies._types import NO_ARM, Problem, Pull, Pulls
from sklearn_halving.policies.bases._base_policy import (
    BasePolicy,
    is_outside,
    known_range,
)
from sklearn_halving.policies.bases._ranking import ArmStatistics, BrokenSplits


def halving_widths(n_arms: int) -> list[int]:
    """Return the number of arms in play in each stage of halvings, until one is left."""
    widths = []
    while n_arms > 1:
        widths.append(n_arms)
        n_arms = (n_arms + 1) // 2
    return widths


def in_plans(n_even: int, n_adaptive: int, n_plans: int) -> list[tuple[int, bool]]:
    """Return a plan of even pulls and ``n_plans`` adaptive ones of similar size, if not empty.

    A plan is a number of pulls, and whether the arms share them evenly.
    """
    n_plans = max(1, min(n_plans, n_adaptive))
    cuts = [i * n_adaptive // n_plans for i in range(n_plans + 1)]
    sizes = [(n_even, True)] + [(b - a, False) for a, b in pairwise(cuts)]
    return [size for size in sizes if size[0]]


class PlannedGame:
    """One problem, as the loop of a policy sees it. Arrays have shape ``(n_arms,)``.

    Attributes
    ----------
    n_arms : int
        Number of arms (K in the papers).
    alive : ndarray of bool
        Arms in play, which the loop drops.
    has_failed, has_reward, is_outside : ndarray of bool
        Arms that failed, which are dropped, that have a reward, and that have one out of range.
    n_pulls : ndarray of int
        Number of pulls at this level, also forgotten ones; it is the next repetition of an arm.
    statistics : ArmStatistics
        What is known from rewards at this level since the last `forget`.
    rewards : list of tuple
        These rewards, as arrays of arms, splits and rewards.
    best : int
        The arm to recommend, which the loop sets.
    stage : int
        The current stage, counted from 0.
    is_stopped : bool
        Whether a stopping rule ended the game.
    revives : bool
        Whether all arms that have not failed will be in play again.
    """

    def __init__(self, policy: PlannedPolicy, problem: Problem) -> None:
        self.policy, self.problem, self.n_arms = policy, problem, problem.n_arms
        self.reward_range = known_range(policy, problem)
        self.alive = np.ones(self.n_arms, dtype=bool)
        self.has_failed, self.has_reward, self.is_outside = np.zeros((3, self.n_arms), dtype=bool)
        self.best = 0 if self.n_arms == 1 else NO_ARM
        self.stage, self.is_stopped, self.revives, self.is_finished = 0, False, False, False
        self.enter_level(problem.max_level)
        policy.stages(problem)  # raises if the parameters do not suit the problem
        self._plans = policy.play(self)
        self._open_plan()

    # For the loop.

    @property
    def mean(self) -> FloatArray:
        """Mean reward of each arm; NaN for an arm without a reward."""
        return self.statistics.mean

    def contested(self) -> BoolArray:
        """Return which arms in play have a rival; a single arm counts until its first pull."""
        if self.n_arms == 1:
            return self.alive & (self.n_pulls == 0)
        several = bool(self.alive.sum() > 1) and not self.is_stopped
        return self.alive & several

    def within_splits(self, counts: IntArray) -> IntArray:
        """Return the counts, of which each is limited by the splits that are left for the arm."""
        if self.problem.max_repetitions is None:
            return counts
        return np.minimum(counts, self.problem.max_repetitions - self.n_pulls)

    def enter_level(self, level: int) -> None:
        """Set the level of the next pulls. Rewards at other levels cannot be compared."""
        self.level = level
        self.n_pulls = np.zeros(self.n_arms, dtype=np.int64)
        self.splits = BrokenSplits()
        self.forget()

    def forget(self) -> None:
        """Reset the statistics."""
        self.statistics = ArmStatistics(self.n_arms)
        self.rewards: list[tuple[IntArray, IntArray, FloatArray]] = []

    # The protocol of a game.

    def ask(self, max_pulls: int) -> Pulls:
        """Return up to ``max_pulls`` pulls of the plan, all at the level of the stage."""
        asked = slice(self._n_asked, self._n_asked + max(max_pulls, 0))
        arm, repetition = self._arm[asked], self._repetition[asked]
        self._n_asked += len(arm)
        return Pulls(arm, np.full(len(arm), self.level), repetition)

    def tell(self, pull: Pull, reward: float) -> None:
        """Record a reward, and go on to the next plan if this one is complete."""
        self._rewards[self._place[pull.arm] + pull.repetition] = reward
        self._count_told(1)

    def tell_all(self, pulls: Pulls, rewards: FloatArray) -> None:
        """Record many rewards."""
        self._rewards[self._place[pulls.arm] + pulls.repetition] = rewards
        self._count_told(len(pulls))

    def out(self) -> BoolArray:
        """Return which arms cannot be pulled any more."""
        return self.has_failed if self.revives else ~self.alive

    def recommend(self) -> int:
        """Return the arm with the best estimate; ``NO_ARM`` if no arm has a reward."""
        is_known = self.has_reward[self.best] or not self.n_pulls.any()
        return self.best if is_known else NO_ARM

    # Plans.

    def _open_plan(self) -> None:
        """Run the loop to its next plan with pulls, if there is one."""
        counts = next((counts for counts in self._plans if counts.any()), None)
        if counts is None:
            counts = np.zeros(self.n_arms, dtype=np.int64)
            self.is_finished, self.revives = True, False
        counts = counts.astype(np.int64)
        self._arm = np.repeat(np.arange(self.n_arms), counts)
        self._place = np.cumsum(counts) - counts - self.n_pulls  # of the repetition 0 of each arm
        self._repetition = np.arange(len(self._arm)) - self._place[self._arm]
        self._counts, self._rewards = counts, np.full(len(self._arm), np.nan)
        self._n_asked = self._n_told = 0

    def _count_told(self, n: int) -> None:
        self._n_told += n
        if self._n_told == len(self._rewards) > 0:
            with np.errstate(over="ignore", invalid="ignore"):  # rewards may be near 1e300
                self._take_in()
                self._open_plan()

    def _take_in(self) -> None:
        """Add the rewards of the plan to the statistics, and drop arms that failed."""
        columns = self._arm, self._repetition, self._rewards
        failed: list[int] = []
        for pull, split, reward in zip(*(column.tolist() for column in columns), strict=True):
            failed += self.splits.take_in(pull, split, reward)
            if reward == reward:
                self.statistics.add(pull, reward)
        self.n_pulls = self.n_pulls + self._counts
        is_known = ~np.isnan(self._rewards)
        arm, split, rewards = (column[is_known] for column in columns)
        self.rewards.append((arm, split, rewards))
        self.has_reward[arm] = self.has_failed[failed] = True
        self.statistics.fail(self.has_failed)
        self.alive &= ~self.has_failed
        self.is_outside[arm[is_outside(self.reward_range, rewards)]] = True


class PlannedPolicy(BasePolicy):
    """Base class of a policy of your own that plans many pulls at a time.

    A subclass is a frozen dataclass with the field ``n_pulls``, and writes `play`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from sklearn_halving.policies import PlannedPolicy
    >>> from sklearn_halving.simulation import GaussianArms, simulate
    >>> @dataclass(frozen=True)
    ... class TwoRounds(PlannedPolicy):
    ...     n_pulls: int
    ...     def play(self, game):
    ...         for _ in range(2):
    ...             yield game.within_splits(game.alive * (self.n_pulls // 2 // game.n_arms))
    ...             if np.isnan(game.mean).all():  # no pull has worked
    ...                 return
    ...             game.best = int(np.nanargmax(game.mean))
    ...             game.alive &= game.mean >= np.nanmedian(game.mean)
    >>> simulate(TwoRounds(60), GaussianArms([0.0, 0.5, 3.0])).mistake_probability.value
    0.0
    """

    order_free: ClassVar[bool] = True
    game: ClassVar[type[PlannedGame]] = PlannedGame

    def play(self, game: PlannedGame) -> Iterator[IntArray]:
        """Yield the number of pulls of each arm, drop arms of ``game.alive``, set ``game.best``.

        When the loop continues, the rewards of these pulls are in the game. A plan without pulls
        is skipped.
        """
        raise NotImplementedError

    def stages(self, problem: Problem) -> tuple[Round, ...]:
        """Return the stages; none if they are not known at the start.

        Raises ValueError if the parameters do not suit the problem.
        """
        return ()

    def most_pulls(self, problem: Problem) -> int | None:
        """Return the maximum number of pulls; None if there is none."""
        most: int | None = getattr(self, "n_pulls", getattr(self, "max_pulls", None))
        return most

    def plan(self, problem: Problem) -> Plan:
        """Return the stages, or a single one if they are not known at the start.

        Raises the same errors as `start` if the parameters do not suit the problem.
        """
        stages, most = self.stages(problem), self.most_pulls(problem)
        known = known_range(self, problem)
        if not stages:
            return open_plan(problem, most, reward_range=known)
        return Plan((Bracket(None, stages),), most, is_exact=False, reward_range=known)

    def start(self, problem: Problem, seed: Seed = None) -> PlannedGame:
        """Return the game before the first pull. The policy is deterministic; no seed is used."""
        return self.game(self, problem)
