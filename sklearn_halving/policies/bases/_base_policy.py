"""What policies have in common: a description with defaults, and the check that there is one."""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from typing import Any, ClassVar

from sklearn_halving.policies._types import (
    BoolArray,
    FloatArray,
    IntArray,
    Policy,
    PolicyDescription,
    Problem,
    Schedule,
)
from sklearn_halving.policies.bases._parameter_checks import RewardRange, width_of_range

REQUIRED = (
    *("order_free", "schedule", "start", "ask", "tell"),
    *("is_finished", "is_alive", "recommend"),
)
OPTIONAL = ("describe", "current_stage", "stage_of_arm", "is_confident", "points")


class BasePolicy(Policy):
    """A policy without a schedule, with defaults for everything that a policy need not say.

    Inherit from it to write a policy of your own, and override what differs. A class that has
    the methods of `Policy` and does not inherit from it is given the same defaults.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from sklearn_halving.policies import BasePolicy, Problem
    >>> @dataclass(frozen=True)
    ... class MyPolicy(BasePolicy):
    ...     n_pulls: int
    ...     pulls_in_flight: int = 2
    >>> description = MyPolicy(n_pulls=40).describe(Problem(n_arms=8))
    >>> description.max_pulls, description.window, description.stages
    (40, 2, ())
    """

    order_free: ClassVar[bool] = False

    def schedule(
        self, min_level: int, max_level: int, n_available: int | None = None
    ) -> Schedule | None:
        """Return None: it is decided on the way which arm is pulled."""
        return None

    def describe(self, problem: Problem | None = None) -> PolicyDescription:
        """Return what a caller may know before the first pull.

        The default takes ``max_pulls`` from an attribute ``n_pulls`` or ``max_pulls``, ``window``
        from ``pulls_in_flight``, and ``plays_levels``, ``factor`` and ``reward_range`` from
        attributes of the same name. A policy with a schedule plays several levels.

        Parameters
        ----------
        problem : Problem or None, default=None
            None: what holds for every problem; there are no ``stages`` in that case.
        """
        own = {name: getattr(self, name, None) for name in ("plays_levels", "factor")}
        most = getattr(self, "n_pulls", None)
        return PolicyDescription(
            max_pulls=getattr(self, "max_pulls", None) if most is None else most,
            window=getattr(self, "pulls_in_flight", None),
            plays_levels=bool(own["plays_levels"]) or _has_schedule(self),
            factor=float(own["factor"] or PolicyDescription.factor),
            reward_range=getattr(self, "reward_range", None),
        )

    def current_stage(self, state: Any) -> int | None:
        """Return the stage of the pulls under way; None without stages, and after the last."""
        return None

    def stage_of_arm(self, state: Any) -> IntArray | None:
        """Return the last stage of each arm, shape ``(*batch, n_arms)``; None without stages."""
        return None

    def is_confident(self, state: Any) -> BoolArray | None:
        """Return where the guarantee holds, shape ``batch``; None without a confidence."""
        return None

    def points(self, state: Any) -> FloatArray | None:
        """Return the arms as points of the unit cube; None if the arms are given.

        The shape is ``(*batch, n_arms, n_dimensions)``, with NaN for arms that do not exist yet.
        """
        return None


class ConfidentPolicy(BasePolicy):
    """A policy that stops when it knows the best arm with probability ``1 - delta``."""

    delta: float

    def describe(self, problem: Problem | None = None) -> PolicyDescription:
        """Return what a caller may know before the first pull, the confidence included."""
        return replace(super().describe(problem), confidence=1 - self.delta)


class RangedBudget:
    """A policy with a number of pulls, and bounds that need the range of the rewards."""

    n_pulls: int
    reward_range: RewardRange | None

    def _width(self) -> float:
        return width_of_range(self, self.reward_range)

    def _most_pulls(self) -> int:
        return self.n_pulls


class _Adapted(BasePolicy):
    """A policy that has the methods of `Policy` but is no `BasePolicy`: adds the defaults."""

    def __init__(self, policy: Any) -> None:
        self._policy = policy
        for name in (*REQUIRED, *OPTIONAL):
            if hasattr(policy, name):
                setattr(self, name, getattr(policy, name))

    def __repr__(self) -> str:
        return repr(self._policy)

    def describe(self, problem: Problem | None = None) -> PolicyDescription:
        return BasePolicy.describe(self._policy, problem)


def as_policy(given: Any, **known: Any) -> BasePolicy:
    """Return an object as a policy that describes itself.

    Parameters
    ----------
    given : object
        With the methods of `Policy`; the class need not inherit from `BasePolicy`.
    **known
        What the caller knows, such as ``reward_range=(0, 1)``. It fills in the fields of a
        dataclass that have this name and are None.

    Raises
    ------
    TypeError
        If it is a class, or a method is missing.
    """
    is_class = isinstance(given, type)
    missing = [name for name in REQUIRED if _is_missing(given, name)]
    if is_class or missing:
        what = f"the class {given.__name__}" if is_class else f"{given!r}, without {missing[0]}"
        raise TypeError(
            "policy must be an object with the methods of sklearn_halving.policies.Policy, got "
            f"{what}. Give for example SuccessiveRejects(n_pulls=100)."
        )
    lacking = {
        name: value
        for name, value in known.items()
        if value is not None and getattr(given, name, value) is None
    }
    if lacking and is_dataclass(given):
        given = replace(given, **lacking)  # type: ignore[type-var]
    adapted: Any = _Adapted  # it has all methods once it is made
    policy: BasePolicy = given if isinstance(given, BasePolicy) else adapted(given)
    return policy


def name_of(policy: Policy) -> str:
    """Return the name of the class, for tables and messages."""
    return type(policy._policy if isinstance(policy, _Adapted) else policy).__name__


def _is_missing(given: Any, name: str) -> bool:
    if not hasattr(given, name):
        return True
    # What a subclass of BasePolicy does not write has the empty body of the protocol.
    without_body = getattr(Policy, name, None)
    return without_body is not None and getattr(given, name) == without_body.__get__(given)


def _has_schedule(policy: Policy) -> bool:
    try:
        return policy.schedule(1, 1) is not None
    except ValueError:  # it has one, though not for a single level
        return True
