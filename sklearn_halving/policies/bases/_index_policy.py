"""Base of policies that pull the arm with the largest index, again and again.

A policy is the formula of its index, `IndexPolicy.index`. `IndexGame` does what stands around it:
the budget, the first pulls of every arm, pulls in flight, arms that failed or have no splits left,
and the stopping rule.
"""

from __future__ import annotations

from math import inf, isinf, isnan
from typing import Any, ClassVar

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, Seed
from sklearn_halving.policies._plan import Plan, open_plan
from sklearn_halving.policies._types import NO_ARM, Problem, Pull
from sklearn_halving.policies.bases._base_policy import (
    BasePolicy,
    check_budget,
    known_range,
    reward_width,
)
from sklearn_halving.policies.bases._ranking import (
    ArmStatistics,
    BrokenSplits,
    best_known,
    largest_usable,
)


class IndexGame:
    """One problem, as an index policy sees it. Arrays have shape ``(n_arms,)``.

    Attributes
    ----------
    n_arms : int
        Number of arms (K in the papers).
    width : float
        The largest minus the smallest possible reward, by which bounds are multiplied.
    n : ndarray of float
        Number of pulls of each arm in the formulas (N in the papers). Pulls in flight are
        included, since they will narrow the bound for any reward, but not those that failed.
    n_known : ndarray of int
        Number of rewards of each arm.
    mean : ndarray
        Mean reward of each arm; NaN for arms without a reward and for failed arms.
    variance : ndarray
        Unbiased variance of the rewards of each arm; 0 for too few pulls.
    alive : ndarray of bool
        Arms that have not failed.
    n_asked : ndarray of int
        Number of pulls of each arm, which is its next repetition.
    n_asked_in_all, n_told : int
        Number of pulls of all arms that were requested, and of those that returned.
    most_pulls : float
        Maximum number of pulls; infinite if there is no maximum.
    is_decided : bool
        Whether the stopping rule ended the game, or no rival was left.
    memory : Any
        What a policy has to remember besides.
    """

    def __init__(self, policy: IndexPolicy, problem: Problem, seed: Seed) -> None:
        self.policy, self.problem, self.n_arms = policy, problem, problem.n_arms
        self.width, self.most_pulls = reward_width(policy, problem), policy.checked_budget(problem)
        self.low, self.high = known_range(policy, problem) or (-inf, inf)
        self.statistics, self.splits = ArmStatistics(self.n_arms), BrokenSplits()
        self.mean, self.n_known = self.statistics.mean, self.statistics.n_pulls
        self.n, self.variance = np.zeros((2, self.n_arms))
        self.n_asked = np.zeros(self.n_arms, dtype=np.int64)
        self.alive = np.ones(self.n_arms, dtype=bool)
        self.n_alive, self.n_asked_in_all, self.n_told = self.n_arms, 0, 0
        self.is_finished = self.is_decided = self.is_outside = False
        self._has_first = policy.n_first == 0
        self.memory: Any = policy.first_memory(self, seed)

    def can_be_pulled(self) -> BoolArray:
        """Return which arms have not failed and have a split left."""
        most = self.problem.max_repetitions
        return self.alive if most is None else self.alive & (self.n_asked < most)

    def ask(self, max_pulls: int) -> list[Pull]:
        """Return the next pull; none if the game has to wait for rewards."""
        if self.is_finished or self.n_asked_in_all >= self.most_pulls or max_pulls < 1:
            return []
        # Infinite rewards are valid. Formulas may divide by 0 where an arm has no pull.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            arm = self._next_arm()
        if arm == NO_ARM:
            return []
        pull = Pull(arm, self.problem.max_level, self.n_asked.item(arm))
        self.n_asked[arm] += 1
        self.n[arm] += 1
        self.n_asked_in_all += 1
        return [pull]

    def _next_arm(self) -> int:
        """Return the arm that has had too few first pulls, or else what the policy chooses."""
        usable, n_first = self.can_be_pulled(), self.policy.n_first
        if not self._has_first:
            waits = usable & (self.n < n_first)
            if waits.any():
                return int(np.where(waits, self.n_asked, self.n_asked.max() + 1).argmin())
            # If most first pulls are in flight, the few arms with an index must not get all pulls.
            if 2 * self._n_without_first() > self.n_arms:
                return NO_ARM
            usable = usable & (self.n_known >= n_first)
        return self.policy.select(self, usable) if usable.any() else NO_ARM

    def _n_without_first(self) -> int:
        """Return how many arms still lack a reward of their first pulls."""
        is_open = self.can_be_pulled() | (self.n > self.n_known)
        return int((self.alive & (self.n_known < self.policy.n_first) & is_open).sum())

    def all_have_first(self) -> bool:
        """Return whether no arm lacks a reward of its first pulls."""
        return self._has_first or self._n_without_first() == 0

    def tell(self, pull: Pull, reward: float) -> None:
        """Record a reward. After the end, it must not change the recommendation."""
        if self.is_finished:
            return
        arm, _, split = pull
        self.n_told += 1
        failed = self.splits.take_in(arm, split, reward)
        if reward == reward:
            self.is_outside |= not self.low <= reward <= self.high
            self.statistics.add_one(arm, reward)
            freedom = max(self.n_known.item(arm) - 1, 1)
            self.variance[arm] = self.statistics.squares.item(arm) / freedom
            if isinf(reward) and isnan(self.mean[arm]):  # it has rewards of both signs
                failed = [*failed, arm]
        else:
            self.n[arm] -= 1
        if failed:
            self.alive[failed] = False
            self.n_alive = int(self.alive.sum())
            self.statistics.fail(failed)
        self.policy.learn(self, pull, reward)
        self._close()

    def _close(self) -> None:
        """End the game if it is decided, has spent the budget, or has no pull left."""
        if not self._has_first:
            self._has_first = bool((self.n_known >= self.policy.n_first).all())
        lacks = not self._has_first and self.alive & (self.n_known < self.policy.n_first)
        if self._has_first or not np.any(lacks):
            self.is_decided = self._follows_rule()
        self.is_finished = self.is_decided or self.n_told >= self.most_pulls
        is_limited = self.problem.max_repetitions is not None or not self.n_alive
        if is_limited and self.n_told == self.n_asked_in_all and not self.can_be_pulled().any():
            self.is_finished = True
        if self.n_alive <= 1 and not self.policy.goes_on_when_decided:
            is_alone = not (self.alive & (self.n_known == 0)).any()
            self.is_decided |= is_alone and self.n_alive == 1
            self.is_finished |= is_alone

    def _follows_rule(self) -> bool:
        """Return whether a stopping rule ends the game."""
        return False

    def out(self) -> BoolArray:
        """Return which arms have failed. None is eliminated because of low rewards."""
        return ~self.alive

    def recommend(self) -> int:
        """Return the arm to choose; ``NO_ARM`` if no arm has a reward."""
        return self.policy.recommended(self)


class ConfidentGame(IndexGame):
    """The game of a policy with a stopping rule, `IndexPolicy.is_decided`."""

    def _follows_rule(self) -> bool:
        """Return whether the stopping rule of the policy ends the game."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return self.policy.is_decided(self)

    def is_confident(self) -> bool:
        """Return whether the stopping rule ended the game, so that the guarantee holds.

        False if the game is not finished, if it ended because of ``max_pulls`` or because no
        splits were left, or if a reward was outside of ``reward_range``.
        """
        return self.is_decided and not self.is_outside


class IndexPolicy(BasePolicy):
    """Base class of a policy of your own that pulls the arm with the largest index.

    A subclass is a frozen dataclass with the field ``n_pulls``, and writes `index`. A game asks
    for one pull at a time. Further requests before its reward is known take pulls in flight into
    account.

    Attributes
    ----------
    n_first : int
        Number of pulls that an arm needs before it has an index.
    budget : {"n_pulls", "max_pulls"}
        The field with the maximum number of pulls; ``max_pulls`` may be None.
    goes_on_when_decided : bool
        Whether an arm without rivals is still pulled, to collect rewards.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from sklearn_halving.policies import IndexPolicy
    >>> from sklearn_halving.simulation import GaussianArms, simulate
    >>> @dataclass(frozen=True)
    ... class Optimist(IndexPolicy):
    ...     n_pulls: int
    ...     def index(self, arms):
    ...         return arms.mean + 1 / np.sqrt(arms.n)
    >>> mistakes = simulate(Optimist(60), GaussianArms([0.0, 0.5, 2.0])).mistake_probability
    >>> round(mistakes.value, 2)
    0.0
    """

    n_first: ClassVar[int] = 1
    budget: ClassVar[str] = "n_pulls"
    goes_on_when_decided: ClassVar[bool] = False
    game: ClassVar[type[IndexGame]] = IndexGame

    def index(self, arms: IndexGame) -> FloatArray:
        """Return the index of each arm, with any value for arms that cannot be pulled."""
        raise NotImplementedError

    def select(self, arms: IndexGame, usable: BoolArray) -> int:
        """Return the usable arm with the largest index. At least one is usable."""
        return largest_usable(self.index(arms), usable)

    def first_memory(self, arms: IndexGame, seed: Seed) -> Any:
        """Return what the policy has to remember besides the rewards."""
        return None

    def learn(self, arms: IndexGame, pull: Pull, reward: float) -> None:
        """Update the memory with a reward, which may be NaN."""

    def is_decided(self, arms: IndexGame) -> bool:
        """Return whether the stopping rule ends the game."""
        return False

    def recommended(self, arms: IndexGame) -> int:
        """Return the arm to choose, by default the one with the best mean."""
        return best_known(arms.alive, arms.mean)

    def checked_budget(self, problem: Problem) -> float:
        """Return the maximum number of pulls, or raise if it is too small."""
        name, most, n_arms = self.budget, getattr(self, self.budget), problem.n_arms
        if most is None and name == "max_pulls":
            return inf
        why = f"to pull each of {n_arms} candidates {self.n_first} times"
        check_budget(name, most, 1 if n_arms == 1 else max(1, self.n_first * n_arms), why)
        return float(most)

    def plan(self, problem: Problem) -> Plan:
        """Return the plan of a single round, with the range of rewards."""
        budget, reward_range = getattr(self, self.budget), known_range(self, problem)
        return open_plan(problem, budget, reward_range=reward_range)

    def start(self, problem: Problem, seed: Seed = None) -> IndexGame:
        """Return the game before the first pull.

        Raises ValueError if the parameters do not suit the problem.
        """
        return self.game(self, problem, seed)
