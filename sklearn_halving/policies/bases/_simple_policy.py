"""Base of a policy of your own that knows every reward when it decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from sklearn_halving._checks import Count, refuse_unless
from sklearn_halving.policies._arrays import BoolArray, FloatArray, Seed
from sklearn_halving.policies._plan import Plan, open_plan
from sklearn_halving.policies._types import NO_ARM, Problem, Pull
from sklearn_halving.policies.bases._base_policy import generator_of
from sklearn_halving.policies.bases._index_policy import IndexGame, IndexPolicy


class Memory(NamedTuple):
    """The rewards of each arm, and the source of randomness."""

    rewards: list[list[float]]
    rng: np.random.Generator

    def known(self, arms: BoolArray) -> dict[int, FloatArray]:
        """Return the rewards of some of the arms."""
        return {arm: np.array(self.rewards[arm]) for arm in np.flatnonzero(arms).tolist()}


@dataclass(frozen=True)
class SimplePolicy(IndexPolicy):
    """Base class of a policy of your own: which arm to pull next, and which one to choose.

    The j-th pull of an arm is on split j, at the largest level. A pull starts when the reward of
    the one before is known, so that a search makes one fit at a time. For several at a time,
    inherit from `IndexPolicy` or `PlannedPolicy`; for levels, write the methods of `Game`.

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

    n_first: ClassVar[int] = 0
    goes_on_when_decided: ClassVar[bool] = True

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

    def first_memory(self, arms: IndexGame, seed: Seed) -> Memory:
        return Memory([[] for _ in range(arms.n_arms)], generator_of(seed))

    def learn(self, arms: IndexGame, pull: Pull, reward: float) -> None:
        if reward == reward:
            arms.memory.rewards[pull.arm].append(reward)

    def select(self, arms: IndexGame, usable: BoolArray) -> int:
        """Return the next arm; ``NO_ARM`` if a pull is in flight."""
        if arms.n_told < arms.n_asked_in_all:
            return NO_ARM
        # An arm that has only failed waits for the others, which tell whether it is to blame.
        n_failed = np.where(arms.n_known > 0, 0, arms.n_asked)
        has_none = usable & (arms.n_known == 0)
        least = n_failed.min(initial=arms.n_asked_in_all, where=has_none)
        offered = arms.memory.known(usable & (n_failed <= least))
        return self._checked("next_arm", self.next_arm(offered, arms.memory.rng), offered)

    def recommended(self, arms: IndexGame) -> int:
        """Return the choice of the policy; ``NO_ARM`` if no arm has a reward."""
        known = arms.memory.known(arms.alive & (arms.n_known > 0))
        return self._checked("choose", self.choose(known), known) if known else NO_ARM

    def _checked(self, name: str, arm: int, rewards: dict[int, FloatArray]) -> int:
        """Return the arm that a method of the policy returned, or raise if it is none of these."""
        rule, got = "return one of the arms in rewards", f"{arm!r} from {self!r}"
        refuse_unless(arm in rewards, name, rule, got)
        return int(arm)
