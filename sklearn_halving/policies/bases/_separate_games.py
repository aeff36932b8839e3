"""Bases of policies that play each problem of a batch with an object of its own.

`SimplePolicy` is the base of a policy of one's own, which decides with every reward in hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Protocol

import numpy as np

from sklearn_halving._checks import Count, refuse_unless
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Seed, Shape
from sklearn_halving.policies._plan import Plan, open_plan
from sklearn_halving.policies._types import NO_ARM, Problem, Pull, Pulls
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.policies.bases._ranking import BrokenSplits


def generators_of(seed: Seed, batch_shape: Shape) -> list[np.random.Generator]:
    """Return a generator for each problem, so that its results do not depend on the batch."""
    root = seed or np.random.SeedSequence()
    keys = [root.spawn_key]
    if batch_shape:
        keys = [(*root.spawn_key, i) for i in range(prod(batch_shape))]
    seeds = [np.random.SeedSequence(root.entropy, spawn_key=key) for key in keys]
    return [np.random.default_rng(own) for own in seeds]


class Game(Protocol):
    """The state of a single problem."""

    @property
    def is_finished(self) -> bool:
        """Whether there is no pull left, neither in flight nor to be requested."""

    def ask(self, max_pulls: int) -> list[Pull]:
        """Return up to ``max_pulls >= 1`` pulls; none if the game has to wait for rewards."""

    def tell(self, pull: Pull, reward: float) -> None:
        """Take in the reward of a pull."""

    def out(self) -> list[int] | BoolArray:
        """Return the arms that cannot be pulled any more, or which of all arms they are."""

    def best(self) -> int:
        """Return the arm to recommend; ``NO_ARM`` if there is none."""


@dataclass
class SeparateState:
    """State of a batch of games.

    Parameters
    ----------
    games : list[Game]
        One for each problem, in row-major order.
    """

    n_arms: int
    batch_shape: Shape
    games: list[Game]


class SeparateGames(BasePolicy):
    """Base of policies that decide after every reward, with rules that are not array operations.

    A subclass creates its games in `_new_game`.
    """

    def _new_game(self, problem: Problem, rng: np.random.Generator) -> Game:
        raise NotImplementedError

    def start(
        self, problem: Problem, *, batch_shape: Shape = (), seed: Seed = None
    ) -> SeparateState:
        """Return the state before the first pull."""
        games = [self._new_game(problem, rng) for rng in generators_of(seed, batch_shape)]
        return SeparateState(problem.n_arms, batch_shape, games)

    def ask(self, state: SeparateState, max_pulls: int) -> Pulls:
        """Return pulls of each problem; none if all of them have to wait for rewards."""
        asked = [game.ask(max_pulls) if max_pulls > 0 else [] for game in state.games]
        if not state.batch_shape:
            return Pulls.of(*asked[0])
        n = max(map(len, asked))
        padded = [pulls + [Pull(NO_ARM, 0, 0)] * (n - len(pulls)) for pulls in asked]
        table = np.array(padded, dtype=np.int64).reshape(*state.batch_shape, n, 3)
        return Pulls(*np.moveaxis(table, -1, 0))

    def tell(self, state: SeparateState, pulls: Pulls, rewards: FloatArray) -> None:
        """Update the state with rewards, one after the other."""
        columns = [
            np.asarray(column).reshape(len(state.games), -1).tolist()
            for column in (*pulls, rewards)
        ]
        for game, *own in zip(state.games, *columns, strict=True):
            for arm, level, repetition, reward in zip(*own, strict=True):
                if arm != NO_ARM:
                    game.tell(Pull(arm, level, repetition), reward)

    def is_finished(self, state: SeparateState) -> bool:
        """Return whether all games are finished."""
        return all(game.is_finished for game in state.games)

    def is_alive(self, state: SeparateState) -> BoolArray:
        """Return which arms may still be pulled."""
        alive = np.ones((len(state.games), state.n_arms), dtype=bool)
        for row, game in zip(alive, state.games, strict=True):
            row[game.out()] = False
        return alive.reshape(*state.batch_shape, state.n_arms)

    def recommend(self, state: SeparateState) -> IntArray:
        """Return the arm to choose; ``NO_ARM`` if none has a reward."""
        best = [game.best() for game in state.games]
        return np.array(best, dtype=np.int64).reshape(state.batch_shape)


@dataclass(frozen=True)
class SimplePolicy(SeparateGames):
    """Base class of a policy of your own: which arm to pull next, and which one to choose.

    The j-th pull of an arm is on split j, at the largest level. A pull starts when the reward of
    the one before is known, so that a search makes one fit at a time. For several at a time, or
    for levels, write the methods of `Policy`.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls.

    Examples
    --------
    >>> from sklearn_halving.policies import SimplePolicy
    >>> from sklearn_halving.simulation import GaussianArms, simulate
    >>> class Fewest(SimplePolicy):
    ...     def next_arm(self, rewards, rng):
    ...         return min(rewards, key=lambda arm: len(rewards[arm]))
    >>> arms = GaussianArms(means=[0.0, 0.5, 1.0], sds=0.1)
    >>> simulate(Fewest(n_pulls=12), arms, n_problems=100).mistake_probability.value
    0.0
    """

    n_pulls: Count

    def next_arm(self, rewards: dict[int, FloatArray], rng: np.random.Generator) -> int:
        """Return the arm that is pulled next, one of the keys of ``rewards``.

        Parameters
        ----------
        rewards : dict
            The rewards so far of each arm that can be pulled: not of arms that failed, or that
            were pulled on all splits.
        rng : numpy.random.Generator
            The only source of randomness.
        """
        raise NotImplementedError

    def choose(self, rewards: dict[int, FloatArray]) -> int:
        """Return the arm to recommend, by default the one with the largest mean.

        Parameters
        ----------
        rewards : dict
            The rewards of each arm that has some, and did not fail.
        """
        return max(rewards, key=lambda arm: float(rewards[arm].mean()))

    def plan(self, problem: Problem) -> Plan:
        """Return the plan of a single round."""
        return open_plan(problem, self.n_pulls, window=1)

    def _new_game(self, problem: Problem, rng: np.random.Generator) -> SimpleGame:
        return SimpleGame(self, problem, rng)


class SimpleGame:
    """The rewards of a single problem."""

    def __init__(self, policy: SimplePolicy, problem: Problem, rng: np.random.Generator) -> None:
        self._policy, self._problem, self._rng = policy, problem, rng
        self._n_splits = problem.max_repetitions or policy.n_pulls
        self._rewards: dict[int, list[float]] = {arm: [] for arm in range(problem.n_arms)}
        self._splits = BrokenSplits(1)
        self._n_asked, self._n_told = 0, 0

    @property
    def is_finished(self) -> bool:
        """Whether all pulls were made, or no arm can be pulled."""
        is_over = self._n_told >= self._policy.n_pulls or len(self.out()) == self._problem.n_arms
        return self._n_asked == self._n_told and is_over

    def ask(self, max_pulls: int) -> list[Pull]:
        """Return the next pull if there is none in flight."""
        if self._n_asked > self._n_told or self.is_finished:
            return []
        known = self._known(self._rewards.keys() - {*self.out()})
        # An arm that has only failed waits for the others, which tell whether it is to blame.
        failed = {arm: len(self._rewards[arm]) for arm, own in known.items() if not len(own)}
        waiting = {arm for arm, n in failed.items() if n > min(failed.values())}
        offered = {arm: own for arm, own in known.items() if arm not in waiting}
        arm = self._answer("next_arm", offered, self._rng)
        self._n_asked += 1
        return [Pull(arm, self._problem.max_level, len(self._rewards[arm]))]

    def tell(self, pull: Pull, reward: float) -> None:
        """Take in the reward of a pull, and drop arms that failed where others did not."""
        self._n_told += 1
        self._rewards[pull.arm].append(reward)
        columns = np.zeros(1, dtype=np.int64), np.array([pull.arm]), np.array([pull.repetition])
        for arm in self._splits.take_in(*columns, np.array([reward]))[1].tolist():
            self._rewards.pop(arm, None)

    def out(self) -> list[int]:
        """Return the arms that failed or have no split left."""
        arms, rewards = range(self._problem.n_arms), self._rewards
        return [a for a in arms if a not in rewards or len(rewards[a]) >= self._n_splits]

    def best(self) -> int:
        """Return the choice of the policy; ``NO_ARM`` if no arm has a reward."""
        known = {arm: own for arm, own in self._known({*self._rewards}).items() if len(own)}
        return self._answer("choose", known) if known else NO_ARM

    def _known(self, arms: set[int]) -> dict[int, FloatArray]:
        """Return the rewards of arms, without splits on which all arms failed."""
        own = {arm: np.array(self._rewards[arm]) for arm in sorted(arms)}
        return {arm: rewards[~np.isnan(rewards)] for arm, rewards in own.items()}

    def _answer(self, name: str, rewards: dict[int, FloatArray], *args: object) -> int:
        """Return the arm that a method of the policy returns, or raise if it is none of these."""
        arm = getattr(self._policy, name)(rewards, *args)
        rule, got = "return one of the arms in rewards", f"{arm!r} from {self._policy!r}"
        refuse_unless(arm in rewards, name, rule, got)
        return int(arm)
