"""Base of a policy of your own that knows every reward when it decides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_halving._checks import Count, refuse_unless
from sklearn_halving.policies._arrays import FloatArray, Seed
from sklearn_halving.policies._plan import Plan, open_plan
from sklearn_halving.policies._types import NO_ARM, Problem, Pull
from sklearn_halving.policies.bases._base_policy import BasePolicy, generator_of
from sklearn_halving.policies.bases._ranking import BrokenSplits


@dataclass(frozen=True)
class SimplePolicy(BasePolicy):
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

    def start(self, problem: Problem, seed: Seed = None) -> SimpleGame:
        """Return the game before the first pull."""
        return SimpleGame(self, problem, generator_of(seed))


class SimpleGame:
    """The rewards of a single problem."""

    def __init__(self, policy: SimplePolicy, problem: Problem, rng: np.random.Generator) -> None:
        self._policy, self._problem, self._rng = policy, problem, rng
        self._n_splits = problem.max_repetitions or policy.n_pulls
        self._rewards: dict[int, list[float]] = {arm: [] for arm in range(problem.n_arms)}
        self._splits = BrokenSplits()
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
        """Record the reward of a pull, and drop arms that failed where others did not."""
        self._n_told += 1
        self._rewards[pull.arm].append(reward)
        for arm in self._splits.take_in(pull.arm, pull.repetition, reward):
            self._rewards.pop(arm, None)

    def out(self) -> list[int]:
        """Return the arms that failed or have no split left."""
        arms, rewards = range(self._problem.n_arms), self._rewards
        return [a for a in arms if a not in rewards or len(rewards[a]) >= self._n_splits]

    def recommend(self) -> int:
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
