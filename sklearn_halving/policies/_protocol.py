"""The protocol of a policy, and small protocols for what only some policies can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Seed, Shape
from sklearn_halving.policies._plan import Plan
from sklearn_halving.policies._types import Belief, Problem, Pull, Pulls, ScoresAtLevel


@runtime_checkable
class Policy(Protocol):
    """The protocol of a policy, which decides the next pulls.

    A policy is a frozen dataclass of parameters. Everything that changes is in the state that
    `start` creates and the other methods receive. Larger rewards are better, and NaN is worse
    than every number. All members of this protocol are required. `BasePolicy` has a `plan`.

    What only some policies can do is in protocols of its own: `GrowsArms`, `ChoosesPoints`,
    `UsesTime`, `TakesKnown`, `PlaysLevels`, `PlaysStages`, `Believes`, `Guarantees` and
    `StopsEarly`. A class that has their methods need not inherit from them.

    Examples
    --------
    All policies are used in the same way:

    >>> from sklearn_halving.policies import Policy, Problem, SuccessiveRejects
    >>> policy = SuccessiveRejects(n_pulls=20)
    >>> isinstance(policy, Policy)
    True
    >>> state = policy.start(Problem(n_arms=4))
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=8)
    ...     policy.tell(state, pulls, rewards=-abs(pulls.arm - 2.0))
    >>> int(policy.recommend(state))
    2
    """

    order_free: ClassVar[bool]
    """Whether the decisions depend only on the set of known rewards, and not on their order."""

    def plan(self, problem: Problem) -> Plan:
        """Return the planned rounds: an adaptive policy has a single one.

        A policy that plans brackets determines the number of arms. Of the problem, it uses the
        levels and ``n_available``.
        """

    def start(self, problem: Problem, *, batch_shape: Shape = (), seed: Seed = None) -> Any:
        """Return the state before the first pull."""

    def ask(self, state: Any, max_pulls: int) -> Pulls:
        """Return at most ``max_pulls`` pulls; none if the policy has to wait for rewards."""

    def tell(self, state: Any, pulls: Pulls, rewards: FloatArray) -> None:
        """Update the state with the rewards of pulls, shape ``(*batch, n)``."""

    def is_finished(self, state: Any) -> bool:
        """Return whether all problems of the batch are finished."""

    def is_alive(self, state: Any) -> BoolArray:
        """Return which arms may still be pulled, shape ``(*batch, n_arms)``."""

    def recommend(self, state: Any) -> IntArray:
        """Return the arm to choose, shape ``batch``; ``NO_ARM`` if none has a reward."""


@runtime_checkable
class GrowsArms(Protocol):
    """A policy whose arms are created during the play, from the scores so far.

    Examples
    --------
    >>> from sklearn_halving.policies import BudgetedRace, GrowsArms, SuccessiveRejects
    >>> isinstance(BudgetedRace(10), GrowsArms), isinstance(SuccessiveRejects(10), GrowsArms)
    (True, False)
    """

    def arms_wanted(self, state: Any) -> Sequence[range]:
        """Return the groups of arms that the policy has asked for, in the order of creation."""

    def scores(self, state: Any) -> Sequence[ScoresAtLevel]:
        """Return what a sampler may know of a single problem."""


@runtime_checkable
class ChoosesPoints(Protocol):
    """A policy that creates its arms as points of the unit cube. It plans how many.

    Examples
    --------
    >>> from sklearn_halving.policies import HOO, ChoosesPoints, UCB1
    >>> isinstance(HOO(60), ChoosesPoints), isinstance(UCB1(60), ChoosesPoints)
    (True, False)
    """

    n_dimensions: int
    """Number of dimensions of the cube."""

    def points(self, state: Any) -> FloatArray:
        """Return the points of the arms, shape ``(*batch, n_arms, n_dimensions)``.

        Arms that do not exist yet are NaN.
        """


@runtime_checkable
class UsesTime(Protocol):
    """A policy that plans by the measured times of its pulls.

    Examples
    --------
    >>> from sklearn_halving.policies import BudgetedRace
    >>> BudgetedRace().uses_time, BudgetedRace(n_pulls=10).uses_time
    (True, False)
    """

    @property
    def uses_time(self) -> bool:
        """Whether the budget is a time. Pulls are then told in the order in which they return."""

    def record_time(
        self, state: Any, pull: Pull | None, seconds: float, left: float, n_workers: int
    ) -> None:
        """Take in the seconds of a pull before it is told, and those of the budget that are left.

        With None in place of a pull, only the time that is left has changed.
        """


@runtime_checkable
class TakesKnown(Protocol):
    """A policy that can start from rewards of earlier searches.

    Examples
    --------
    >>> from sklearn_halving.policies import BudgetedRace, TakesKnown, UCB1
    >>> isinstance(BudgetedRace(), TakesKnown), isinstance(UCB1(60), TakesKnown)
    (True, False)
    """

    def tell_known(
        self, state: Any, pulls: Pulls, rewards: FloatArray, seconds: FloatArray
    ) -> None:
        """Take in, before the first `ask`, rewards of the first arms and the times of their pulls.

        They are no part of the budget.
        """


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
class PlaysStages(Protocol):
    """A policy that decides between stages which arms stay in play.

    Examples
    --------
    >>> from sklearn_halving.policies import PlaysStages, SuccessiveRejects, UCB1
    >>> isinstance(SuccessiveRejects(60), PlaysStages), isinstance(UCB1(60), PlaysStages)
    (True, False)
    """

    def stage(self, state: Any, pull: Pull) -> int:
        """Return the stage of a pull that has just returned, before it is told."""


@runtime_checkable
class Believes(Protocol):
    """A policy with a model of its arms.

    Examples
    --------
    >>> from sklearn_halving.policies import BayesGap, Believes, UCB1
    >>> isinstance(BayesGap(60), Believes), isinstance(UCB1(60), Believes)
    (True, False)
    """

    def belief(self, state: Any) -> Belief:
        """Return what the policy believes about the arms of one problem."""


@runtime_checkable
class Guarantees(Protocol):
    """A policy that stops when the best arm is known with a given confidence.

    Examples
    --------
    >>> from sklearn_halving.policies import LUCB, UCB1, Guarantees
    >>> isinstance(LUCB(), Guarantees), isinstance(UCB1(60), Guarantees)
    (True, False)
    """

    def is_confident(self, state: Any) -> BoolArray:
        """Return whether the guarantee holds, shape ``batch``."""


@runtime_checkable
class StopsEarly(Protocol):
    """A policy that may end before its plan is complete, and says why.

    Examples
    --------
    >>> from sklearn_halving.policies import StopsEarly, UCB1, VarianceHalving
    >>> isinstance(VarianceHalving(60), StopsEarly), isinstance(UCB1(60), StopsEarly)
    (True, False)
    """

    def ended_by(self, state: Any) -> Sequence[str]:
        """Return the rules of which one ended the play early, such as ``["tolerance=0.1"]``."""
