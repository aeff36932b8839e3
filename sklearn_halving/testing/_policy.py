"""A policy is played in simulated games."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import isnan, nan
from typing import Any

import numpy as np

from sklearn_halving.policies import NO_ARM, Game, Policy, Problem, Pull, Pulls
from sklearn_halving.policies._protocol import (
    Believes,
    GrowsArms,
    Guarantees,
    StopsEarly,
    alive_arms,
)
from sklearn_halving.policies.bases._base_policy import require_policy
from sklearn_halving.testing._require import require

MAX_PULLS = 100_000
"""Maximum number of pulls of a policy whose plan has none."""
N_SECONDS = 50
"""The budget of a policy that uses time, of which each pull takes one second."""


@dataclass(frozen=True)
class Rewards:
    """A reward in [0, 1) for every pull, always the same; or NaN."""

    seed: int
    n_values: int = 10**6
    share_nan: float = 0.0

    def __call__(self, pull: Pull) -> float:
        """Return the reward of a pull."""
        rng = np.random.default_rng([self.seed, *pull])
        reward = int(rng.integers(self.n_values)) / self.n_values
        return nan if rng.random() < self.share_nan else reward


@dataclass
class Play:
    """A game that is played to its end, and in which all answers are checked.

    ``size`` pulls are asked for at a time. With ``rng``, random numbers are asked for and told:
    the oldest first, unless the policy is ``order_free``.
    """

    policy: Any
    problem: Problem
    reward: Any
    size: int = 1000
    seed: int = 0
    rng: np.random.Generator | None = None
    differs: bool = False
    """Whether `tell_all` and additional calls of `recommend` are used, which change nothing."""
    pulls: dict[Pull, float] = field(default_factory=dict)
    """All pulls in the order in which they were asked for, and their rewards."""
    alive: Any = None
    believes: bool = False
    """Whether the game has a model, which may say enough of an arm that is never pulled."""
    choice: int = NO_ARM

    def run(self) -> Play:
        """Play to the end."""
        game = self.policy.start(self.problem, np.random.SeedSequence(self.seed))
        self.require(isinstance(game, Game), "starts a game that lacks a member of Game.")
        most = self.policy.plan(self.problem).n_pulls(self.problem.max_repetitions) or MAX_PULLS
        untold: list[Pull] = []
        while not game.is_finished:
            asked = self._asked(game)
            self.require(untold or len(asked), "is not finished, but neither asks nor waits.")
            self.require(len(self.pulls) <= most, f"asks for more than the {most} pulls it plans.")
            untold = self._tell(game, asked, untold)
        self._look_at_arms(game)
        is_decided = isinstance(game, Guarantees | StopsEarly) or self.alive.sum() <= 1
        lost = f"is finished with {len(untold)} pulls in flight, whose rewards are lost."
        self.require(is_decided or not untold, f"{lost} Let is_finished wait for them.")
        self.require(not len(game.ask(1)), "asks for pulls after it has finished.")
        self.choice, self.believes = game.recommend(), isinstance(game, Believes)
        failed = {pull.arm for pull, reward in self.pulls.items() if isnan(reward)}
        failed -= {pull.arm for pull, reward in self.pulls.items() if not isnan(reward)}
        is_good = self.choice in {*range(NO_ARM, self.problem.n_arms)} - failed
        rule = "Recommend an arm that did not fail, or else NO_ARM."
        self.require(is_good, f"recommends {self.choice!r}. {rule}")
        return self

    def require(self, holds: object, otherwise: str) -> None:
        """Raise unless a rule holds."""
        require(holds, self.policy, otherwise)

    def _look_at_arms(self, game: Any) -> None:
        out, n_arms = np.asarray(game.out()), self.problem.n_arms
        is_mask = out.dtype == bool and out.shape == (n_arms,)
        are_arms = out.dtype != bool and out.ndim == 1 and np.isin(out, range(n_arms)).all()
        rule = f"Return a list of arms from 0 to {n_arms - 1}, or a mask of shape ({n_arms},)."
        self.require(is_mask or are_arms, f"has out() {out.tolist()}. {rule}")
        self.alive = alive_arms(game, n_arms)

    def _asked(self, game: Any) -> Sequence[Pull]:
        self._look_at_arms(game)
        most = self.size if self.rng is None else int(self.rng.integers(1, 9))
        asked = game.ask(most)
        self.require(len(asked) <= most, f"answers ask({most}) with {len(asked)} pulls.")
        for pull in asked:
            rule = "Return Pull(arm, level, repetition)."
            self.require(isinstance(pull, Pull), f"asks for {pull!r}. {rule}")
            self.problem.check(self.policy, pull)
            self.require(self.alive[pull.arm], f"asks for {pull}, whose arm is in out().")
            is_new = pull not in self.pulls
            self.require(is_new, f"asks for {pull} twice. Its j-th pull is repetition j.")
            self.pulls[pull] = self.reward(pull)
        return asked

    def _tell(self, game: Any, asked: Sequence[Pull], untold: list[Pull]) -> list[Pull]:
        """Tell rewards, and return the pulls that are still in flight."""
        if self.differs and isinstance(asked, Pulls):
            game.tell_all(asked, np.array([self.pulls[pull] for pull in asked]))
            return untold
        untold = [*untold, *asked]
        n_told = len(untold) if self.rng is None else int(self.rng.integers(len(untold) + 1))
        if self.rng is not None and self.policy.order_free:
            self.rng.shuffle(untold)
        for pull in untold[:n_told]:
            if isinstance(self.policy, GrowsArms) and self.policy.uses_time:
                game.record_time(pull, 1.0, N_SECONDS - len(self.pulls), 1)
            game.tell(pull, self.pulls[pull])
            if self.differs:
                game.recommend()
        return untold[n_told:]


def check_policy(policy: Policy, problem: Problem | None = None, *, seed: int = 0) -> None:
    """Play a policy in simulated games, and check its answers.

    It finds, among others, games that finish with pulls in flight, a wrong ``order_free``, pulls
    that do not exist or are made twice, more pulls than planned, arms that are never pulled, a
    wrong shape of ``out``, and decisions that depend on anything but the rewards and the seed.

    Parameters
    ----------
    policy : Policy
        The policy.
    problem : Problem or None, default=None
        The problem to play. None has five arms, or the number that the policy plans, levels from 1
        to 9, and ten splits.
    seed : int, default=0
        Another seed draws other rewards.

    Raises
    ------
    AssertionError
        If the policy or its game breaks another rule.
    TypeError, ValueError
        If a method is missing, or a pull does not exist.

    Examples
    --------
    >>> from sklearn_halving.policies import SuccessiveRejects
    >>> from sklearn_halving.testing import check_policy
    >>> check_policy(SuccessiveRejects(n_pulls=40))

    This one does not wait for the oldest pulls, on which its decisions depend:

    >>> from sklearn_halving.policies import UCB1
    >>> class Impatient(UCB1):
    ...     order_free = True
    >>> check_policy(Impatient(n_pulls=20))
    Traceback (most recent call last):
        ...
    AssertionError: Impatient(...) plays differently if rewards come in another order. Set...
    """
    require_policy(policy)
    if problem is None:
        problem = Problem(5, 1, 9, 10, reward_range=(0, 1))
    problem = replace(problem, n_arms=policy.plan(problem).n_arms)
    plays = []
    for n, rewards in enumerate([Rewards(seed), Rewards(seed, 2), Rewards(seed, share_nan=0.2)]):
        plays.append(first := Play(policy, problem, rewards, seed=n).run())
        again = Play(policy, problem, rewards, seed=n, differs=True).run()
        is_same = list(first.pulls) == list(again.pulls) and first.choice == again.choice
        otherwise = "plays differently the second time. Keep what changes in the game, use no "
        otherwise += "randomness but the seed, and change nothing in recommend()."
        require(is_same, policy, otherwise)
        for i in range(3):
            rng = np.random.default_rng([seed, i])
            late = Play(policy, problem, rewards, seed=n, rng=rng).run()
            is_same = late.pulls.keys() == first.pulls.keys() and late.choice == first.choice
            is_same &= late.alive.tolist() == first.alive.tolist()
            otherwise = "plays differently if rewards come in another order. Set order_free to "
            otherwise += "False, or decide by sets of rewards."
            require(is_same or not policy.order_free, policy, otherwise)
    _require_all_arms(plays)
    Play(policy, problem, Rewards(seed, share_nan=1.0)).run()


def _require_all_arms(plays: list[Play]) -> None:
    """Raise if an arm is pulled in none of the games, though there are two pulls for each arm."""
    n_arms = plays[0].problem.n_arms
    never = set(range(n_arms)) - {pull.arm for play in plays for pull in play.pulls}
    is_free = any(play.believes or len(play.pulls) < 2 * n_arms for play in plays)
    otherwise = f"never pulls arms {sorted(never)} of {n_arms}, though its budget is enough. "
    plays[0].require(is_free or not never, f"{otherwise}Pull each arm at least once.")
