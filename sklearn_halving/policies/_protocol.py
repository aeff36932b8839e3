"""The protocols of a policy and its game, and small ones for what only some of them can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, Seed
from sklearn_halving.policies._plan import Plan
from sklearn_halving.policies._types import Belief, Problem, Pull


@runtime_checkable
class Game(Protocol):
    """One problem in play. Larger rewards are better, and NaN is worse than every number.

    A game whose `ask` returns `Pulls` also has the method ``tell_all(pulls, rewards)``, with which
    simulations tell arrays at once.

    Examples
    --------
    All policies are played in the same way:

    >>> from sklearn_halving.policies import Problem, SuccessiveRejects
    >>> game = SuccessiveRejects(n_pulls=20).start(Problem(n_arms=4))
    >>> while not game.is_finished:
    ...     for pull in game.ask(max_pulls=8):
    ...         game.tell(pull, reward=-abs(pull.arm - 2.0))
    >>> game.recommend()
    2
    """

    @property
    def is_finished(self) -> bool:
        """Whether there is no pull left, neither in flight nor to be requested."""

    def ask(self, max_pulls: int) -> Sequence[Pull]:
        """Return at most ``max_pulls`` pulls; none if the game has to wait for rewards."""

    def tell(self, pull: Pull, reward: float) -> None:
        """Record the reward of a pull."""

    def out(self) -> Sequence[int] | BoolArray:
        """Return the arms that cannot be pulled any more, or which of all arms they are."""

    def recommend(self) -> int:
        """Return the arm to choose; ``NO_ARM`` if none has a reward."""


def alive_arms(game: Game, n_arms: int) -> BoolArray:
    """Return which arms may still be pulled, shape ``(n_arms,)``."""
    alive = np.ones(n_arms, dtype=bool)
    alive[game.out()] = False
    return alive


@runtime_checkable
class Policy(Protocol):
    """The protocol of a policy, which decides the next pulls.

    A policy is a frozen dataclass of parameters. Everything that changes is in the `Game` that
    `start` creates. All members of this protocol are required. `BasePolicy` has a `plan`.

    Separate protocols have what only some policies can do: `PlaysLevels`, `GrowsArms` and
    `ChoosesPoints` of the policy, and `PlaysStages`, `Believes`, `Guarantees` and `StopsEarly` of
    the game. A class that has their members need not inherit from them.

    Examples
    --------
    >>> from sklearn_halving.policies import Policy, SuccessiveRejects
    >>> isinstance(SuccessiveRejects(n_pulls=20), Policy)
    True
    """

    order_free: ClassVar[bool]
    """Whether the decisions depend only on the set of known rewards, and not on their order."""

    def plan(self, problem: Problem) -> Plan:
        """Return the planned rounds: an adaptive policy has a single one.

        A policy that plans brackets determines the number of arms. Of the problem, it uses the
        levels and ``n_available``.
        """

    def start(self, problem: Problem, seed: Seed = None) -> Any:
        """Return the game before the first pull."""


@runtime_checkable
class PlaysLevels(Protocol):
    """A policy that may pull below the largest level.

    Examples
    --------
    >>> from sklearn_halving.policies import Hyperband
    >>> Hyperband(factor=4).plays_levels, Hyperband(factor=4).factor
    (True, 4)
    """

    @property
    def plays_levels(self) -> bool:
        """Whether some pulls are below the largest level."""

    @property
    def factor(self) -> float:
        """Ratio of consecutive levels, by which a search chooses the smallest one."""


@runtime_checkable
class GrowsArms(Protocol):
    """A policy whose arms are created during the play, from the scores so far.

    Its game has two more methods. ``arms_wanted()`` returns the groups of arms that it has asked
    for, as ranges in the order of creation. ``scores()`` returns what a sampler may know, as
    `ScoresAtLevel`.

    If the policy uses time, there are two further methods. ``record_time(pull, seconds, left,
    n_workers)`` records the seconds of a pull before it is told, and the seconds that are left of
    the budget; with None in place of a pull, only the time left has changed. ``tell_known(pulls,
    rewards, seconds)`` records, before the first `ask`, rewards of the first arms from earlier
    searches, and the times of their pulls. They are no part of the budget.

    Examples
    --------
    >>> from sklearn_halving.policies import BudgetedRace, GrowsArms, SuccessiveRejects
    >>> isinstance(BudgetedRace(10), GrowsArms), isinstance(SuccessiveRejects(10), GrowsArms)
    (True, False)
    >>> BudgetedRace().uses_time, BudgetedRace(n_pulls=10).uses_time
    (True, False)
    """

    @property
    def uses_time(self) -> bool:
        """Whether the budget is a time. Pulls are then told in the order in which they return."""


@runtime_checkable
class ChoosesPoints(Protocol):
    """A policy that creates its arms as points of the unit cube. It plans how many.

    The attribute ``points`` of its game has the coordinates, shape ``(n_arms, n_dimensions)``.
    Arms that do not exist yet are NaN.

    Examples
    --------
    >>> from sklearn_halving.policies import HOO, ChoosesPoints, UCB1
    >>> isinstance(HOO(60), ChoosesPoints), isinstance(UCB1(60), ChoosesPoints)
    (True, False)
    """

    n_dimensions: int
    """Number of dimensions of the cube."""


@runtime_checkable
class PlaysStages(Protocol):
    """A game that decides between stages which arms stay in play.

    Examples
    --------
    >>> from sklearn_halving.policies import PlaysStages, Problem, SuccessiveRejects
    >>> game = SuccessiveRejects(60).start(Problem(n_arms=4))
    >>> isinstance(game, PlaysStages), game.stage
    (True, 0)
    """

    stage: int
    """The stage of the pulls that are not told yet, counted from 0."""


@runtime_checkable
class Believes(Protocol):
    """A game with a model of its arms.

    Examples
    --------
    >>> from sklearn_halving.policies import BayesGap, Believes, Problem
    >>> isinstance(BayesGap(60).start(Problem(n_arms=4)), Believes)
    True
    """

    def belief(self) -> Belief:
        """Return what is believed about the arms."""


@runtime_checkable
class Guarantees(Protocol):
    """A game that ends when the best arm is known with a given confidence.

    Examples
    --------
    >>> from sklearn_halving.policies import LUCB, Guarantees, Problem
    >>> isinstance(LUCB(reward_range=(0, 1)).start(Problem(n_arms=4)), Guarantees)
    True
    """

    def is_confident(self) -> bool:
        """Return whether the guarantee holds."""


ALL_TRIED = "all candidates were tried"
"""What a game may say of its end if nothing is left to do: the play is then complete."""


@runtime_checkable
class StopsEarly(Protocol):
    """A game that may end before its plan is complete, and says why.

    Examples
    --------
    >>> from sklearn_halving.policies import Problem, StopsEarly, VarianceHalving
    >>> isinstance(VarianceHalving(60).start(Problem(n_arms=4)), StopsEarly)
    True
    """

    def ended_by(self) -> Sequence[str]:
        """Return the rules of which one ended the play early, such as ``["tolerance=0.1"]``."""
