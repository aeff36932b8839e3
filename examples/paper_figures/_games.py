"""Games that are played to their end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_halving.policies import Pulls

COLUMNS = ("arm", "level", "repetition")


def play(game: Any, reward: Callable[[Pulls], np.ndarray]) -> int:
    """Tell a game the rewards of all pulls that it asks for; return their number."""
    return play_all([game], lambda _, pulls: reward(pulls))


def play_all(games: list[Any], reward: Callable[[np.ndarray, Pulls], np.ndarray]) -> int:
    """Play games at the same time, with one call of ``reward(game, pulls)`` for all of them."""
    n_pulls = 0
    while playing := [i for i, game in enumerate(games) if not game.is_finished]:
        asked = [games[i].ask(10**9) for i in playing]
        if isinstance(asked[0], Pulls):
            pulls = Pulls(*(np.concatenate([getattr(own, c) for own in asked]) for c in COLUMNS))
        else:
            pulls = Pulls.of([pull for own in asked for pull in own])
        rewards = reward(np.repeat(playing, [len(own) for own in asked]), pulls)
        n_pulls += len(pulls)
        for i, own in zip(playing, asked, strict=True):
            told, rewards = rewards[: len(own)], rewards[len(own) :]
            if isinstance(own, Pulls):
                games[i].tell_all(own, told)
                continue
            for pull, one in zip(own, told.tolist(), strict=True):
                games[i].tell(pull, one)
    return n_pulls
