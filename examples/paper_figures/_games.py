"""A game that is played to its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_halving.policies import Pulls


def play(game: Any, reward: Callable[[Pulls], np.ndarray]) -> int:
    """Tell a game the rewards of all pulls that it asks for; return their number."""
    n_pulls = 0
    while not game.is_finished:
        asked = game.ask(10**9)
        pulls = asked if isinstance(asked, Pulls) else Pulls.of(asked)
        rewards = reward(pulls)
        n_pulls += len(pulls)
        if pulls is asked:
            game.tell_all(pulls, rewards)
            continue
        for pull, one in zip(asked, rewards.tolist(), strict=True):
            game.tell(pull, one)
    return n_pulls
