"""Games that policies play in tests: on a table of rewards, and against random arms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sklearn_halving.policies import NO_ARM, Plan, Problem, Pull, Pulls, open_plan
from sklearn_halving.simulation import GaussianArms, simulate

OF_64 = 1 - np.sqrt(np.arange(64) / 64)
LALITHA = GaussianArms(
    means=OF_64,
    sds=np.sqrt(np.where(np.arange(64) % 2 == 0, 0.9 * OF_64**2 + 0.1, 0.1)),
    mean_sd=0.05,
    variance_factors=(0.5, 1.5),
)
"""The bandit of Lalitha et al. (2023), section 5.1; counted from 0, its best arm is noisy."""


class Played(NamedTuple):
    """One problem: the arms in the order of their pulls, the answer, and the game at its end."""

    arms: list[int]
    best: int
    game: Any


class ManyPlayed(NamedTuple):
    """Many problems: the answers, the pulls of each arm, and the games at their ends."""

    best: np.ndarray
    counts: np.ndarray
    games: list[Any]


def play(policy: Any, rewards: np.ndarray, max_repetitions: int | None = None) -> Played:
    """Play one problem on a table of shape (n_arms, n_repetitions)."""
    game = policy.start(Problem(len(rewards), 1, 1, max_repetitions), np.random.SeedSequence(0))
    arms: list[int] = []
    while not game.is_finished:
        pulls = game.ask(10**6)
        if isinstance(pulls, Pulls):
            arms += pulls.arm.tolist()
            game.tell_all(pulls, rewards[pulls.arm, pulls.repetition])
            continue
        for pull in pulls:
            arms.append(pull.arm)
            game.tell(pull, float(rewards[pull.arm, pull.repetition]))
    return Played(arms, game.recommend(), game)


def bernoulli(policy: Any, means: list[float], n_problems: int, seed: int) -> ManyPlayed:
    """Play many problems with the same arms, whose rewards are 0 or 1."""
    rng, seeds = np.random.default_rng(seed), np.random.SeedSequence(seed).spawn(n_problems)
    counts, games = np.zeros((n_problems, len(means)), dtype=int), []
    for own, child in zip(counts, seeds, strict=True):
        game = policy.start(Problem(len(means)), child)
        while not game.is_finished:
            asked = game.ask(10**6)
            pulls = asked if isinstance(asked, Pulls) else Pulls.of(asked)
            rewards = (rng.random(len(pulls)) < np.array(means)[pulls.arm]).astype(float)
            np.add.at(own, pulls.arm, 1)
            if pulls is asked:
                game.tell_all(pulls, rewards)
            else:
                game.tell(*asked, rewards.item())
        games.append(game)
    return ManyPlayed(np.array([game.recommend() for game in games]), counts, games)


def play_in_flight(policy: Any, table: np.ndarray, seed: int = 0) -> tuple[list[int], Any]:
    """Play with the oldest of the open pulls told first; return the arms and the game."""
    game = policy.start(Problem(len(table)), np.random.SeedSequence(seed))
    arms: list[int] = []
    untold: list[Any] = []
    while not game.is_finished:
        untold += game.ask(100)
        pull = untold.pop(0)
        arms.append(pull.arm)
        game.tell(pull, float(table[pull.arm, pull.repetition]))
    return arms, game


def mistakes_of(policy: Any, arms: GaussianArms, n_problems: int, seed: int = 0) -> float:
    """Return the share of wrong choices."""
    played = simulate(policy, arms, n_problems, seed)
    return played.mistake_probability.value


@dataclass(frozen=True)
class Greedy:
    """Pull each arm once, then always the best so far: a policy and its game in two classes."""

    n_pulls: int
    stuck_after: int | None = None
    factor: float = 0.5  # of its own: a policy of rungs would refuse it
    order_free: ClassVar[bool] = False

    def plan(self, problem: Problem) -> Plan:
        return open_plan(problem, self.n_pulls)

    def start(self, problem: Problem, seed: Any = None) -> GreedyGame:
        return GreedyGame(self, [[] for _ in range(problem.n_arms)])


@dataclass
class GreedyGame:
    policy: Greedy
    rewards: list[list[float]]

    @property
    def n_told(self) -> int:
        return sum(map(len, self.rewards))

    @property
    def is_finished(self) -> bool:
        return self.n_told >= self.policy.n_pulls

    def ask(self, max_pulls: int) -> list[Pull]:
        if self.n_told == self.policy.stuck_after:
            return []
        means = [np.mean(own) if own else np.inf for own in self.rewards]
        arm = int(np.argmax(means))
        return [Pull(arm, 1, len(self.rewards[arm]))]

    def tell(self, pull: Pull, reward: float) -> None:
        self.rewards[pull.arm].append(reward)

    def out(self) -> list[int]:
        return []

    def recommend(self) -> int:
        return int(np.argmax([len(own) for own in self.rewards])) if self.n_told else NO_ARM
