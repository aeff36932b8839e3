"""Games that policies play in tests: on a table of rewards, and against random arms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sklearn_halving.policies import NO_ARM, Plan, Problem, Pulls, open_plan
from sklearn_halving.simulation import GaussianArms, simulate

OF_64 = 1 - np.sqrt(np.arange(64) / 64)
LALITHA = GaussianArms(
    means=OF_64,
    sds=np.sqrt(np.where(np.arange(64) % 2 == 0, 0.9 * OF_64**2 + 0.1, 0.1)),
    mean_sd=0.05,
    variance_factors=(0.5, 1.5),
)
"""The bandit of Lalitha et al. (2023), section 5.1; counted from 0, its best arm is noisy."""


class Game(NamedTuple):
    """One problem: the arms in the order of their pulls, the answer, and the last state."""

    arms: list[int]
    best: int
    state: Any


class Games(NamedTuple):
    """Many problems: the answers, the pulls of each arm, and the last state."""

    best: np.ndarray
    counts: np.ndarray
    state: Any


def play(policy: Any, rewards: np.ndarray, max_repetitions: int | None = None) -> Game:
    """Play one problem on a table of shape (n_arms, n_repetitions)."""
    problem = Problem(len(rewards), 1, 1, max_repetitions)
    state = policy.start(problem, seed=np.random.SeedSequence(0))
    arms: list[int] = []
    while not policy.is_finished(state):
        pulls = policy.ask(state, 10**6)
        arms += pulls.arm.tolist()
        policy.tell(state, pulls, rewards[pulls.arm, pulls.repetition])
    return Game(arms, int(policy.recommend(state)), state)


def bernoulli(policy: Any, means: list[float], n_problems: int, seed: int) -> Games:
    """Play many problems with the same arms, whose rewards are 0 or 1."""
    rng, p = np.random.default_rng(seed), np.array(means)
    seeds = np.random.SeedSequence(seed)
    state = policy.start(Problem(len(p)), batch_shape=(n_problems,), seed=seeds)
    counts = np.zeros((n_problems, len(p) + 1), dtype=int)
    rows = np.arange(n_problems)[:, np.newaxis]
    while not policy.is_finished(state):
        pulls = policy.ask(state, 10**6)
        np.add.at(counts, (np.broadcast_to(rows, pulls.arm.shape), pulls.arm), 1)
        policy.tell(state, pulls, (rng.random(pulls.arm.shape) < p[pulls.arm]).astype(float))
    return Games(policy.recommend(state), counts[:, :-1], state)


def play_in_flight(policy: Any, table: np.ndarray, seed: int = 0) -> tuple[list[int], Any]:
    """Play with the oldest of the open pulls told first; return the arms and the state."""
    state = policy.start(Problem(len(table)), seed=np.random.SeedSequence(seed))
    arms: list[int] = []
    untold: list[Any] = []
    while not policy.is_finished(state):
        untold += policy.ask(state, 100).each()
        pull = untold.pop(0)
        arms.append(pull.arm)
        policy.tell(state, Pulls.of(pull), np.array([table[pull.arm, pull.repetition]]))
    return arms, state


def mistakes_of(policy: Any, arms: GaussianArms, n_problems: int, seed: int = 0) -> float:
    """Return the share of wrong choices."""
    played = simulate(policy, arms, n_problems, seed, batch_size=n_problems)
    return played.mistake_probability.value


@dataclass(frozen=True)
class Greedy:
    """Pull each arm once, then always the best so far: a policy in one class."""

    n_pulls: int
    stuck_after: int | None = None
    factor: float = 0.5  # of its own: a policy of rungs would refuse it
    order_free: ClassVar[bool] = False

    def plan(self, problem: Problem) -> Plan:
        return open_plan(problem, self.n_pulls)

    def start(self, problem: Problem, *, batch_shape: tuple[int, ...] = (), seed: Any = None):
        shape = *batch_shape, problem.n_arms
        return {"sum": np.zeros(shape), "n": np.zeros(shape, dtype=int), "t": 0}

    def ask(self, state: Any, max_pulls: int) -> Pulls:
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(state["n"] > 0, state["sum"] / state["n"], np.inf)
        arm = mean.argmax(axis=-1)[..., np.newaxis]
        n = 0 if state["t"] == self.stuck_after else 1
        repetition = np.take_along_axis(state["n"], arm, axis=-1)
        return Pulls(arm[..., :n], np.ones_like(arm)[..., :n], repetition[..., :n])

    def tell(self, state: Any, pulls: Pulls, rewards: Any) -> None:
        mark = np.take_along_axis(state["n"], pulls.arm, axis=-1)
        total = np.take_along_axis(state["sum"], pulls.arm, axis=-1)
        np.put_along_axis(state["n"], pulls.arm, mark + 1, axis=-1)
        np.put_along_axis(state["sum"], pulls.arm, total + rewards, axis=-1)
        state["t"] += len(pulls)

    def is_finished(self, state: Any) -> bool:
        return state["t"] >= self.n_pulls

    def is_alive(self, state: Any) -> Any:
        return np.ones(state["n"].shape, dtype=bool)

    def recommend(self, state: Any) -> Any:
        return np.where(state["n"].sum(axis=-1) > 0, state["n"].argmax(axis=-1), NO_ARM)
