"""Play policies against an environment, with many problems at a time, and the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs

from sklearn_halving._checks import check_count, refuse_unless
from sklearn_halving.policies import (
    NO_ARM,
    ChoosesPoints,
    Guarantees,
    Policy,
    Problem,
    Pull,
    Pulls,
)
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies.bases._base_policy import require_policy
from sklearn_halving.simulation._randomness import Arms, Environment, Randomness

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Estimate(NamedTuple):
    """A mean over problems and its standard error.

    Parameters
    ----------
    value : float
        The mean.
    standard_error : float
        Standard error of the mean, from the variation over problems.

    Examples
    --------
    >>> from sklearn_halving.policies import UniformAllocation
    >>> from sklearn_halving.simulation import GaussianArms, simulate
    >>> result = simulate(UniformAllocation(n_pulls=4), GaussianArms([0, 1]), n_problems=1000)
    >>> mistake, error = result.mistake_probability
    >>> 0 < error < 0.02
    True
    """

    value: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """The outcome of a policy in each problem, and averages.

    Parameters
    ----------
    policy : object
        The policy.
    environment : object
        The environment from which the problems were drawn.
    recommended : ndarray of int of shape (n_problems,)
        Number of the finally chosen candidate; -1 if none.
    regret : ndarray of shape (n_problems,)
        Value of the best arm minus the value of the chosen one; NaN if none was chosen.
    is_mistake : ndarray of bool of shape (n_problems,)
        Whether another arm has a higher value than the chosen one, or none was chosen.
    n_pulls : ndarray of int of shape (n_problems,)
        Number of pulls, which is the number of observed losses.
    n_units : ndarray of int of shape (n_problems,)
        Units of resource, each counted once: an arm that continues from level 15 to 46 costs 31
        units.
    is_confident : ndarray of bool of shape (n_problems,) or None
        Whether the guarantee of the policy holds; None if the policy has none.
    checkpoints : ndarray of int of shape (n_checkpoints,)
        Numbers of units after which the choice was recorded.
    checkpoint_regret : ndarray of shape (n_problems, n_checkpoints)
        Regret of these choices; NaN if there was none. If the policy stopped before, regret of its
        final choice.
    checkpoint_is_mistake : ndarray of bool of shape (n_problems, n_checkpoints)

    Examples
    --------
    >>> from sklearn_halving.policies import UniformAllocation
    >>> from sklearn_halving.simulation import GaussianArms, simulate
    >>> result = simulate(UniformAllocation(n_pulls=30), GaussianArms([0.0, 0.5, 1.0]))
    >>> result.mean_pulls
    Estimate(value=30.0, standard_error=0.0)
    >>> result.to_frame().columns.tolist()
    ['recommended', 'regret', 'is_mistake', 'n_pulls', 'n_units']
    """

    policy: Policy
    environment: Environment = field(repr=False)
    recommended: IntArray = field(repr=False)
    regret: FloatArray = field(repr=False)
    is_mistake: BoolArray = field(repr=False)
    n_pulls: IntArray = field(repr=False)
    n_units: IntArray = field(repr=False)
    is_confident: BoolArray | None = field(repr=False)
    checkpoints: IntArray = field(repr=False)
    checkpoint_regret: FloatArray = field(repr=False)
    checkpoint_is_mistake: BoolArray = field(repr=False)

    @property
    def n_problems(self) -> int:
        """Number of problems that were played."""
        return len(self.recommended)

    @property
    def mistake_probability(self) -> Estimate:
        """Share of problems in which another arm was better.

        The standard error is computed for ``(mistakes + 1) / (n_problems + 2)``, so it is never 0.
        """
        share, n = float(self.is_mistake.mean()), self.n_problems
        smoothed = (self.is_mistake.sum() + 1) / (n + 2)
        return Estimate(share, float(np.sqrt(smoothed * (1 - smoothed) / n)))

    @property
    def simple_regret(self) -> Estimate:
        """Mean regret of the final choice; NaN if there is a problem without a choice."""
        return estimate_of(self.regret)

    @property
    def mean_pulls(self) -> Estimate:
        """Mean number of pulls."""
        return estimate_of(self.n_pulls)

    @property
    def mean_units(self) -> Estimate:
        """Mean number of units of resource."""
        return estimate_of(self.n_units)

    def summary(self) -> pd.Series[float]:
        """Return all means and standard errors, for comparison with other policies.

        Returns
        -------
        pandas.Series
            Named after the class of the policy.
        """
        values = {}
        for name in ("mistake_probability", "simple_regret", "mean_pulls", "mean_units"):
            values[name], values[f"{name}_error"] = getattr(self, name)
        return pd.Series(values, name=type(self.policy).__name__)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each problem."""
        names = ["recommended", "regret", "is_mistake", "n_pulls", "n_units"]
        if self.is_confident is not None:
            names.append("is_confident")
        columns = {name: getattr(self, name) for name in names}
        for i, units in enumerate(self.checkpoints.tolist()):
            columns[f"regret_after_{units}"] = self.checkpoint_regret[:, i]
        return pd.DataFrame(columns)

    def plot(self, ax: Axes | None = None, *, label: str | None = None) -> Axes:
        """Plot the mean regret against units of resource, with two standard errors.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            None makes a new figure. Pass the same axes to compare several policies.
        label : str or None, default=None
            Name of the policy in the legend; None uses the name of its class.

        Returns
        -------
        matplotlib.axes.Axes
        """
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        units = np.append(self.checkpoints, self.mean_units.value)
        regret = np.column_stack([self.checkpoint_regret, self.regret])
        order = np.argsort(units, kind="stable")
        middle, error = np.array([estimate_of(regret[:, i]) for i in order]).T
        name = label or type(self.policy).__name__
        ax.errorbar(
            units[order], middle, 2 * error, marker="o", markersize=3, capsize=2, label=name
        )
        ax.set(xlabel="pulls" if self.environment.max_level == 1 else "units of resource")
        ax.set(xscale="log", ylabel="regret of the arm chosen")
        ax.legend()
        return ax


def estimate_of(values: npt.ArrayLike) -> Estimate:
    """Return the mean over problems and its standard error."""
    values = np.asarray(values, dtype=np.float64)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return Estimate(float(values.mean()), float(error))


N_VALUES = 2**16
"""Largest number of problems times arms of a block."""

N_PLANNED = 2**21
"""Largest number of pulls that the games of a block may plan ahead, about 50 MB."""

N_ASKED = 2**18
"""Number of pulls of all problems requested at a time; they fit into the cache."""


def simulate(
    policy: Policy,
    environment: Environment,
    n_problems: int = 1000,
    seed: int | np.random.SeedSequence = 0,
    *,
    checkpoints: Sequence[int] = (),
    max_pulls: int = 1_000_000,
    n_jobs: int | None = None,
) -> SimulationResult:
    """Play a policy on many problems drawn from an environment.

    The randomness of a pull depends only on the seed, the problem and the pull. With the same
    seed, all policies play the same problems, and the same pulls give the same rewards.

    Parameters
    ----------
    policy : Policy
        An object of `sklearn_halving.policies`, or of your own class with the same methods. If its
        ``reward_range`` is None, the range of the environment is used, if it is known.
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
    n_jobs : int or None, default=None
        Number of processes, as in scikit-learn. The result does not depend on it.

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
    marks = _checked_checkpoints(checkpoints)
    problem = problem_of(policy, environment)
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    size = _block_size(policy, problem, ceil(n_problems / effective_n_jobs(n_jobs)))
    numbers = [range(n_problems)[i : i + size] for i in range(0, n_problems, size)]
    blocks = Parallel(n_jobs=n_jobs)(
        delayed(_play_block)(policy, environment, problem, marks, max_pulls, root, own)
        for own in numbers
    )
    joined: dict[str, Any] = {"checkpoints": np.array(marks, dtype=np.int64)}
    for name, value in blocks[0].items():
        parts = [block[name] for block in blocks]
        joined[name] = None if value is None else np.concatenate(parts)
    return SimulationResult(policy=policy, environment=environment, **joined)


def checked_policy(given: object, environment: object) -> Policy:
    """Return the policy, with the range of rewards if the environment knows it."""
    if isinstance(environment, type) or not isinstance(environment, Environment):
        raise TypeError(
            "environment must be an object with the methods of "
            f"sklearn_halving.simulation.Environment, got {environment!r}."
        )
    policy = require_policy(given)
    if isinstance(policy, ChoosesPoints):
        raise TypeError(
            f"policy must choose among the arms of the environment, got {policy!r}, whose arms "
            "are points. Write a loop that tells it the rewards of its points."
        )
    return policy


def _checked_checkpoints(checkpoints: Sequence[int]) -> list[int]:
    marks = list(checkpoints)
    for mark in marks:
        check_count("Each of checkpoints", mark)
    rule = "be different and in increasing order"
    refuse_unless(marks == sorted(set(marks)), "checkpoints", rule, repr(checkpoints))
    return marks


def problem_of(policy: Policy, environment: Environment) -> Problem:
    """Return what the policy knows; its plan may determine the number of arms."""
    levels = environment.min_level, environment.max_level
    known, most = environment.reward_range, environment.max_repetitions
    problem = Problem(environment.n_arms or 1, *levels, most, reward_range=known)
    if environment.n_arms is not None:
        return problem
    plan = policy.plan(problem)
    if not plan.has_rungs:
        raise ValueError(
            "n_arms of the environment must be given for a policy without brackets, got None and "
            f"{type(policy).__name__}."
        )
    return replace(problem, n_arms=plan.n_arms)


def _block_size(policy: Policy, problem: Problem, most: int) -> int:
    """Return how many problems to play at a time, of at most ``most``.

    A policy whose decisions do not depend on the order of rewards may plan many pulls at a time.
    """
    size = min(most, N_VALUES // problem.n_arms)
    if policy.order_free:
        n_pulls = policy.plan(problem).n_pulls(problem.max_repetitions)
        size = min(size, N_PLANNED // (n_pulls or N_PLANNED // 100))
    return max(1, size)


def _play_block(
    policy: Policy,
    environment: Environment,
    problem: Problem,
    marks: list[int],
    max_pulls: int,
    root: np.random.SeedSequence,
    numbers: range,
) -> dict[str, Any]:
    """Play problems of these numbers, and return the fields of `SimulationResult`."""
    randomness = Randomness.of(root, len(numbers), numbers.start)
    arms = environment.draw(randomness, problem.n_arms)
    keys = ((*root.spawn_key, i) for i in numbers)
    seeds = (np.random.SeedSequence(root.entropy, spawn_key=key) for key in keys)
    games = [policy.start(problem, seed) for seed in seeds]
    return Block(policy, problem, arms, games, marks).play(max_pulls)


class Block:
    """Problems that are played at the same time.

    Parameters
    ----------
    policy : Policy
    problem : Problem
    arms : Arms
    games : list
        The game of each problem.
    checkpoints : list of int
    """

    def __init__(
        self,
        policy: Policy,
        problem: Problem,
        arms: Arms,
        games: list[Any],
        checkpoints: list[int],
    ) -> None:
        self.policy, self.problem, self.arms, self.games = policy, problem, arms, games
        self.checkpoints = np.array(checkpoints)
        self.n_pulls, self.n_units = np.zeros((2, len(games)), dtype=np.int64)
        # Level of each (problem, arm, repetition), for repetitions with cheap pulls so far.
        self._standing = np.zeros((len(games), problem.n_arms, 0), dtype=np.int64)
        # The arm chosen at each checkpoint, and whether the problem has passed it.
        self._chosen = np.full((len(games), len(checkpoints)), NO_ARM)
        self._is_marked = np.zeros(self._chosen.shape, dtype=bool)

    def play(self, max_pulls: int) -> dict[str, Any]:
        """Play to the end, and return the fields of `SimulationResult`."""
        plays_on = np.array([not game.is_finished for game in self.games])
        while plays_on.any():
            numbers = np.flatnonzero(plays_on)
            self._play_round(numbers.tolist(), self._n_wanted(numbers))
            self._pass_checkpoints()
            plays_on[numbers] = [not self.games[i].is_finished for i in numbers.tolist()]
            if (most := self.n_pulls[plays_on].max(initial=0)) >= max_pulls:
                raise RuntimeError(
                    f"A policy must end within max_pulls={max_pulls} pulls of a problem, but "
                    f"{self.policy!r} was at {most} and went on. Give the policy a max_pulls."
                )
        return self._outcomes()

    def _n_wanted(self, numbers: IntArray) -> int:
        """Return the number of pulls of each problem to request."""
        if not self.policy.order_free:
            return 1  # the policy knows every reward before the next pull
        wanted = max(1, N_ASKED // len(numbers))
        left = self.checkpoints - self.n_units[numbers, np.newaxis]
        if (left > 0).any():  # no problem may pass its next checkpoint, at any level
            wanted = max(1, min(wanted, int(left[left > 0].min()) // self.problem.max_level))
        return wanted

    def _play_round(self, numbers: list[int], n_wanted: int) -> None:
        """Ask each game, draw the rewards of all of them at once, and tell them."""
        asked = [self.games[i].ask(n_wanted) for i in numbers]
        if not all(len(pulls) for pulls in asked):
            raise RuntimeError(
                f"{type(self.policy).__name__} must ask for a pull or have ended, but did neither "
                f"after {self.n_pulls[numbers].max()} pulls of a problem, all of them told. Let "
                "is_finished be true there, or ask return a pull."
            )
        ends = np.cumsum([len(pulls) for pulls in asked])
        counts = np.diff(ends, prepend=0)
        pulls, row = _joined(asked), np.repeat(numbers, counts)
        rewards = self._rewards(row, pulls)
        self.n_pulls[numbers] += counts
        self._count_units(row, pulls)
        for i, own, end in zip(numbers, asked, ends.tolist(), strict=True):
            told = rewards[end - len(own) : end]
            if isinstance(own, Pulls):
                self.games[i].tell_all(own, told)
            else:
                for pull, reward in zip(own, told.tolist(), strict=True):
                    self.games[i].tell(pull, reward)

    def _rewards(self, row: IntArray, pulls: Pulls) -> FloatArray:
        """Return the rewards of pulls, or raise if the problem does not have them."""
        columns = pulls.arm, pulls.level, pulls.repetition
        for number in (np.min, np.max):
            self.problem.check(self.policy, Pull(*(int(number(column)) for column in columns)))
        return np.asarray(self.arms.rewards(row, pulls), dtype=np.float64)

    def _count_units(self, row: IntArray, pulls: Pulls) -> None:
        """Count the cost of pulls beyond the current level of their arms."""
        if self.problem.max_level == 1:
            self.n_units = self.n_pulls
            return
        # Later repetitions were pulled at the largest level only, and therefore once.
        is_cheap = pulls.level < self.problem.max_level
        n_new = pulls.repetition[is_cheap].max(initial=-1) + 1 - self._standing.shape[2]
        if n_new > 0:
            self._standing = np.pad(self._standing, ((0, 0), (0, 0), (0, n_new)))
        is_known = pulls.repetition < self._standing.shape[2]
        place = row[is_known], pulls.arm[is_known], pulls.repetition[is_known]
        reached, before = pulls.level[is_known], self._standing[place]
        cost = pulls.level.copy()
        cost[is_known] = np.maximum(reached - before, 0)
        self._standing[place] = np.maximum(reached, before)
        np.add.at(self.n_units, row, cost)

    def _pass_checkpoints(self) -> None:
        """Record the choice of problems that have reached a checkpoint."""
        due = (self.n_units[:, np.newaxis] >= self.checkpoints) & ~self._is_marked
        for i in np.flatnonzero(due.any(axis=1)).tolist():
            self._chosen[i, due[i]] = self.games[i].recommend()
        self._is_marked |= due

    def _judged(self, arm: IntArray) -> tuple[FloatArray, BoolArray]:
        """Return the regret of the chosen arm of each problem, and whether it is a mistake."""
        values = np.asarray(self.arms.values, dtype=np.float64)
        value = np.where(arm == NO_ARM, np.nan, np.take_along_axis(values, arm, axis=1))
        best = np.asarray(self.arms.best_value)[:, np.newaxis]
        return best - value, ~(value >= values.max(axis=1, keepdims=True))

    def _outcomes(self) -> dict[str, Any]:
        """Return the final choice, which also counts for checkpoints that were not reached."""
        arm = candidate = np.array([game.recommend() for game in self.games])
        chosen = np.where(self._is_marked, self._chosen, arm[:, np.newaxis])
        regret, is_mistake = self._judged(np.column_stack([chosen, arm]))
        if self.arms.candidate is not None:
            chosen = self.arms.candidate[np.arange(len(arm)), arm]
            candidate = np.where(arm == NO_ARM, NO_ARM, chosen)
        is_confident = None
        if isinstance(self.games[0], Guarantees):
            is_confident = np.array([game.is_confident() for game in self.games])
        return {
            "recommended": candidate,
            "regret": regret[:, -1],
            "is_mistake": is_mistake[:, -1],
            "n_pulls": self.n_pulls,
            "n_units": self.n_units,
            "is_confident": is_confident,
            "checkpoint_regret": regret[:, :-1],
            "checkpoint_is_mistake": is_mistake[:, :-1],
        }


def _joined(asked: list[Sequence[Pull]]) -> Pulls:
    """Return the pulls of several games as arrays."""
    if not all(isinstance(pulls, Pulls) for pulls in asked):
        return Pulls.of([pull for pulls in asked for pull in pulls])
    names = ("arm", "level", "repetition")
    return Pulls(*(np.concatenate([getattr(own, name) for own in asked]) for name in names))
