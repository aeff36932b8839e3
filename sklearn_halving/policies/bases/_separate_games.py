"""Base of policies that play each problem of a batch with an object of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sklearn_halving.policies._arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    Seed,
    Shape,
    generators_of,
)
from sklearn_halving.policies._types import NO_ARM, Problem, Pull, Pulls
from sklearn_halving.policies.bases._base_policy import BasePolicy


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
    """State of a batch of games."""

    n_arms: int
    batch_shape: Shape
    games: list[Game]
    """One for each problem, in row-major order."""


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
