"""A batch of problems in lockstep: pulls, their cost, and the choices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sklearn_halving.policies import Problem, Pulls
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._types import NO_ARM
from sklearn_halving.policies.bases._base_policy import BasePolicy, name_of
from sklearn_halving.simulation._result import Outcomes
from sklearn_halving.simulation._types import Arms

N_ASKED = 2**18
"""Number of pulls of all problems requested at a time; they fit into the cache."""

MAX_IDLE = 3
"""Number of consecutive times that a policy may return only padding."""


class Games:
    """Problems that are played at the same time.

    Parameters
    ----------
    arms : Arms
    problem : Problem
    checkpoints : list of int
    """

    def __init__(self, arms: Arms, problem: Problem, checkpoints: list[int]) -> None:
        self.arms, self.problem, self.checkpoints = arms, problem, checkpoints
        self._values = np.asarray(arms.values, dtype=np.float64)
        n_problems = len(self._values)
        self._rows = np.arange(n_problems, dtype=np.int64)[:, np.newaxis]
        self.n_pulls = np.zeros(n_problems, dtype=np.int64)
        self._has_levels = problem.max_level > 1
        self.n_units = self.n_pulls.copy() if self._has_levels else self.n_pulls
        # Level of each (problem, arm, repetition), for repetitions with cheap pulls so far.
        self._standing = np.zeros((n_problems, problem.n_arms, 0), dtype=np.int64)
        shape = n_problems, len(checkpoints)
        self.checkpoint_regret = np.full(shape, np.nan)
        self.checkpoint_is_mistake = np.ones(shape, dtype=bool)
        self._is_marked = np.zeros(shape, dtype=bool)
        self._plays_on = np.ones(n_problems, dtype=bool)

    def play(self, policy: BasePolicy, seed: np.random.SeedSequence, max_pulls: int) -> Outcomes:
        """Play to the end."""
        n_problems = len(self._values)
        state = policy.start(self.problem, batch_shape=(n_problems,), seed=seed)
        n_idle = n_columns = 0
        while not policy.is_finished(state):
            pulls = policy.ask(state, self._n_wanted(policy.order_free))
            n_idle += 1
            if len(pulls):
                policy.tell(state, pulls, self._rewards(pulls, policy))
                n_columns += len(pulls)
                if self._plays_on.any():
                    n_idle = 0
            if not len(pulls) or n_idle >= MAX_IDLE:
                raise RuntimeError(
                    f"{name_of(policy)} must ask for a pull or have ended, but did neither "
                    f"after {self.n_pulls.max()} pulls of a problem, all of them told. Let "
                    "is_finished be true there, or ask return a pull."
                )
            self._pass_checkpoints(policy, state)
            if n_columns >= max_pulls:  # no problem has had more pulls than that
                self._check_limit(policy, state, max_pulls)
        return self._outcomes(policy, state)

    def _n_wanted(self, order_free: bool) -> int:
        """Return the number of pulls of each problem to request."""
        if not order_free:
            return 1  # the policy knows every reward before the next pull
        wanted = max(1, N_ASKED // len(self._values))
        is_ahead = np.array(self.checkpoints) > self.n_units[:, np.newaxis]
        is_ahead &= self._plays_on[:, np.newaxis]
        if is_ahead.any():  # no problem may pass its next checkpoint, at any level
            left = np.array(self.checkpoints) - self.n_units[:, np.newaxis]
            wanted = max(1, min(wanted, int(left[is_ahead].min()) // self.problem.max_level))
        return wanted

    def _rewards(self, pulls: Pulls, policy: BasePolicy) -> FloatArray:
        """Return the rewards of pulls, NaN for padding. Also count the pulls."""
        is_padding = pulls.arm == NO_ARM
        if not is_padding.any():
            self._plays_on = np.ones(len(self._rows), dtype=bool)
            row = np.repeat(self._rows, pulls.arm.shape[1])
            flat = self._flat_rewards(policy, row, *(column.reshape(-1) for column in pulls))
            self.n_pulls += pulls.arm.shape[1]
            return flat.reshape(pulls.arm.shape)
        self._plays_on = ~is_padding.all(axis=1)
        rewards = np.full(pulls.arm.shape, np.nan)
        row, column = np.nonzero(~is_padding)
        if len(row):
            chosen = (np.asarray(one)[row, column] for one in pulls)
            rewards[row, column] = self._flat_rewards(policy, row, *chosen)
            self.n_pulls += np.bincount(row, minlength=len(self.n_pulls))
        return rewards

    def _flat_rewards(
        self,
        policy: BasePolicy,
        row: IntArray,
        arm: IntArray,
        level: IntArray,
        repetition: IntArray,
    ) -> FloatArray:
        low, high = int(level.min()), int(level.max())
        if low < self.problem.min_level or high > self.problem.max_level:
            raise ValueError(
                f"Levels must be from {self.problem.min_level} to {self.problem.max_level}, which "
                f"the environment says, got {low} to {high} from {policy!r}. Give the environment "
                "other levels, or the policy another budget."
            )
        if self._has_levels:
            self._count_units(row, arm, level, repetition)
        return self.arms.rewards(row, arm, level, repetition)

    def _count_units(
        self, row: IntArray, arm: IntArray, level: IntArray, repetition: IntArray
    ) -> None:
        """Count the cost of pulls beyond the current level of their arms."""
        is_cheap = level < self.problem.max_level
        n_known = self._standing.shape[2]
        if is_cheap.any():
            n_needed = int(repetition[is_cheap].max()) + 1
            if n_needed > n_known:
                more = np.zeros((*self._standing.shape[:2], n_needed - n_known), dtype=np.int64)
                self._standing = np.concatenate([self._standing, more], axis=2)
                n_known = n_needed
        # Later repetitions were pulled at the largest level only, and therefore once.
        cost = level.copy()
        is_known = repetition < n_known
        stands = slice(None) if is_known.all() else is_known
        place = ((row * self.problem.n_arms + arm) * n_known + repetition)[stands]
        reached, before = level[stands], self._standing.take(place)
        cost[stands] = np.maximum(reached - before, 0)
        self._standing.put(place, np.maximum(reached, before))
        np.add.at(self.n_units, row, cost)

    def _pass_checkpoints(self, policy: BasePolicy, state: Any) -> None:
        """Record the choice of problems that have reached a checkpoint."""
        if not self.checkpoints:
            return
        due = self.n_units[:, np.newaxis] >= np.array(self.checkpoints)
        due &= ~self._is_marked
        if due.any():
            _, regret, is_mistake = self._judged(policy.recommend(state))
            self._mark(due, regret, is_mistake)

    def _mark(self, due: BoolArray, regret: FloatArray, is_mistake: BoolArray) -> None:
        self.checkpoint_regret = np.where(due, regret[:, np.newaxis], self.checkpoint_regret)
        self.checkpoint_is_mistake = np.where(
            due, is_mistake[:, np.newaxis], self.checkpoint_is_mistake
        )
        self._is_marked |= due

    def _check_limit(self, policy: BasePolicy, state: Any, max_pulls: int) -> None:
        most = int(self.n_pulls.max())
        if most >= max_pulls and not policy.is_finished(state):
            raise RuntimeError(
                f"A policy must end within max_pulls={max_pulls} pulls of a problem, but "
                f"{policy!r} was at {most} and went on. Give the policy a max_pulls of its own "
                "with which it stops, make the gaps between arms larger, or raise max_pulls."
            )

    def _judged(self, recommended: npt.ArrayLike) -> tuple[IntArray, FloatArray, BoolArray]:
        """Return the chosen candidate of each problem, its regret, and whether it is a mistake."""
        arm = np.asarray(recommended)
        is_known = arm != NO_ARM
        rows = self._rows[:, 0]
        value = np.where(is_known, self._values[rows, arm], np.nan)
        regret = np.asarray(self.arms.best_value) - value
        is_mistake = ~(value >= self._values.max(axis=1))
        candidate = arm
        if self.arms.candidate is not None:
            candidate = np.where(is_known, self.arms.candidate[rows, arm], NO_ARM)
        return candidate, regret, is_mistake

    def _outcomes(self, policy: BasePolicy, state: Any) -> Outcomes:
        """Return the final choice, which also counts for checkpoints that were not reached."""
        candidate, regret, is_mistake = self._judged(policy.recommend(state))
        self._mark(~self._is_marked, regret, is_mistake)
        is_confident = policy.is_confident(state)
        return Outcomes(
            candidate,
            regret,
            is_mistake,
            self.n_pulls,
            self.n_units,
            None if is_confident is None else np.asarray(is_confident),
            self.checkpoint_regret,
            self.checkpoint_is_mistake,
        )
