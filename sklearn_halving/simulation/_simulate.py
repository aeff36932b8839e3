"""Play policies against an environment, with many problems in lockstep: pulls, costs, choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from sklearn_halving.policies import Policy, Problem, Pulls
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._types import NO_ARM
from sklearn_halving.policies.bases._base_policy import BasePolicy, as_policy, name_of
from sklearn_halving.policies.bases._parameter_checks import check_count
from sklearn_halving.simulation._randomness import Randomness
from sklearn_halving.simulation._result import Outcomes, SimulationResult
from sklearn_halving.simulation._types import Arms, Environment

N_VALUES = 2**16
"""Problems times arms of one batch, if nothing else is asked for: what fits into the cache."""

N_PLANNED = 2**21
"""Largest number of pulls of one batch that a policy may plan ahead, about 50 MB."""

N_ASKED = 2**18
"""Number of pulls of all problems requested at a time; they fit into the cache."""

MAX_IDLE = 3
"""Number of consecutive times that a policy may return only padding."""


def simulate(
    policy: Policy,
    environment: Environment,
    n_problems: int = 1000,
    seed: int | np.random.SeedSequence = 0,
    *,
    checkpoints: Sequence[int] = (),
    max_pulls: int = 1_000_000,
    batch_size: int | None = None,
) -> SimulationResult:
    """Play a policy on many problems drawn from an environment.

    The randomness of a pull depends only on the seed, the problem and the pull. With the same
    seed, all policies play the same problems, and the same pulls give the same rewards.

    Parameters
    ----------
    policy : Policy
        An object of `sklearn_halving.policies`, or of your own class with the same methods. If its
        ``reward_range`` is None and the environment knows the range, it is filled in.
    environment : Environment
        `GaussianArms`, `BernoulliArms`, `GaussianProcessArms`, `LearningCurves`,
        `RecordedScores`, or an object of your own class.
    n_problems : int, default=1000
        Number of problems. Standard errors decrease with its square root.
    seed : int or numpy.random.SeedSequence, default=0
        The same seed gives the same result.
    checkpoints : sequence of int, default=()
        Numbers of units of resource (pulls, if there is one level) after which the choice of the
        policy is recorded, in increasing order.
    max_pulls : int, default=1_000_000
        Number of pulls of one problem within which the policy must stop by itself.
    batch_size : int or None, default=None
        Number of problems in lockstep. None chooses a number that fits into the processor's
        cache. It affects the result only for policies that draw at random, such as `EXP3`.

    Returns
    -------
    SimulationResult

    Raises
    ------
    TypeError
        If the policy or the environment lacks a method, or the policy makes its own arms, like
        `HOO`.
    ValueError
        If policy and environment do not match: different numbers of arms or levels, or an unknown
        range of rewards that the policy needs.
    RuntimeError
        If the policy does not stop within ``max_pulls``, or neither asks for pulls nor stops.

    Examples
    --------
    >>> from sklearn_halving.policies import SuccessiveRejects, UniformAllocation
    >>> from sklearn_halving.simulation import GaussianArms, simulate
    >>> arms = GaussianArms(means=[0] * 20, mean_sd=1, sds=2)  # drawn again for each problem
    >>> uniform = simulate(UniformAllocation(n_pulls=400), arms, n_problems=2000)
    >>> rejects = simulate(SuccessiveRejects(n_pulls=400), arms, n_problems=2000)
    >>> bool(rejects.simple_regret.value < 0.7 * uniform.simple_regret.value)
    True
    """
    policy = checked_policy(policy, environment)
    check_count("n_problems", n_problems)
    check_count("max_pulls", max_pulls)
    if batch_size is not None:
        check_count("batch_size", batch_size)
    marks = _checked_checkpoints(checkpoints)
    problem = problem_of(policy, environment)
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    played: list[Outcomes] = []
    n_played = n_most = 0
    while n_played < n_problems:
        size = batch_size or _batch_size(policy, problem, n_most)
        size = min(size, n_problems - n_played)
        randomness = Randomness.of(root, size, n_played)
        games = Games(environment.draw(randomness, problem.n_arms), problem, marks)
        own = np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, len(played)))
        played.append(games.play(policy, own, max_pulls))
        n_played, n_most = n_played + size, max(n_most, int(played[-1].n_pulls.max()))
    return _result(policy, environment, played, marks)


def _checked_environment(environment: object) -> Environment:
    """Return the environment, or raise a TypeError if it is not one."""
    if isinstance(environment, type) or not isinstance(environment, Environment):
        raise TypeError(
            "environment must be an object with the methods of "
            f"sklearn_halving.simulation.Environment, got {environment!r}. Give for example "
            "GaussianArms([0.0, 1.0])."
        )
    return environment


def checked_policy(given: object, environment: object) -> BasePolicy:
    """Return the policy, with the range of rewards if the environment knows it."""
    environment = _checked_environment(environment)
    policy = as_policy(given, reward_range=environment.reward_range)
    if policy.describe().n_dimensions is not None:
        raise TypeError(
            "policy must choose among the arms of the environment, got "
            f"{policy!r}, whose arms are points that it creates during the game. Give for example "
            "SuccessiveRejects(n_pulls=100), or tell this policy the rewards of its points in a "
            "loop of your own."
        )
    return policy


def _checked_checkpoints(checkpoints: Sequence[int]) -> list[int]:
    marks = list(checkpoints)
    for mark in marks:
        check_count("Each of checkpoints", mark)
    if marks != sorted(set(marks)):
        raise ValueError(
            f"checkpoints must be different and in increasing order, got {checkpoints!r}. Use "
            f"{sorted(set(marks))}."
        )
    return marks


def problem_of(policy: Policy, environment: Environment) -> Problem:
    """Return what the policy knows; the schedule may determine the number of arms."""
    n_arms, levels = environment.n_arms, (environment.min_level, environment.max_level)
    if n_arms is None:
        schedule = policy.schedule(*levels)
        if schedule is None:
            raise ValueError(
                "n_arms of the environment must be given for a policy without a schedule, got "
                f"None and {name_of(policy)}. Give n_arms, the number of arms to draw for each "
                "problem."
            )
        n_arms = schedule.n_arms
    return Problem(n_arms, *levels, environment.max_repetitions)


def _batch_size(policy: BasePolicy, problem: Problem, n_most: int) -> int:
    """Return how many problems to play in lockstep.

    A policy whose decisions do not depend on the order of rewards may plan many pulls at a time,
    at most all pulls of a stage or of a problem. If neither number is known, the first problem is
    played alone. Problems so far had at most ``n_most`` pulls.
    """
    size = N_VALUES // problem.n_arms
    if policy.order_free:
        description = policy.describe(problem)
        of_stage = max((stage.n_pulls for stage in description.stages), default=0)
        known = [n for n in (of_stage, description.max_pulls, n_most) if n]
        size = min(size, N_PLANNED // min(known)) if known else 1
    return max(1, size)


def _result(
    policy: Policy, environment: Environment, played: list[Outcomes], marks: list[int]
) -> SimulationResult:
    """Concatenate the batches."""
    joined: dict[str, Any] = {}
    for field in fields(Outcomes):
        parts = [getattr(one, field.name) for one in played]
        joined[field.name] = None if parts[0] is None else np.concatenate(parts)
    checkpoints = np.array(marks, dtype=np.int64)
    return SimulationResult(
        policy=policy, environment=environment, checkpoints=checkpoints, **joined
    )


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
