"""Base classes of policies, with defaults for the optional methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar

from sklearn_halving._checks import CheckedFields
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._types import (
    Belief,
    Policy,
    PolicyDescription,
    Problem,
    Pull,
    Schedule,
)

DEFAULT_WINDOW = 8
"""Pulls in flight of a policy that depends on the order of rewards, without window and budget."""
WINDOW_SHARE = 8
"""One of this many pulls of the budget is in flight by default, but at most `MAX_WINDOW`."""
MAX_WINDOW = 20


def default_window(max_pulls: int | None) -> int:
    """Return the number of pulls in flight for a policy that depends on the order of rewards.

    It must not depend on the number of workers. A policy that knows 7/8 of its rewards when it
    asks for the last pull decides almost as well as one that waits for every reward. Eight
    workers need about 20 pulls in flight, because the oldest is told first.
    """
    if max_pulls is None:
        return DEFAULT_WINDOW
    return min(max(max_pulls // WINDOW_SHARE, 1), MAX_WINDOW)


def window_of(policy: Policy, description: PolicyDescription) -> int | None:
    """Return the maximum number of pulls in flight; None if it does not matter."""
    if description.window is not None or policy.order_free:
        return description.window
    return default_window(description.max_pulls)


class BasePolicy(CheckedFields, Policy):
    """Base class of policies, with defaults for the optional methods and no schedule.

    To write your own policy, inherit from this class and override the methods that differ. A
    class that has the methods of `Policy`, but does not inherit from this class, gets the same
    defaults. If your policy is a dataclass, fields with a ``Literal`` type are validated.

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
        """Return None, since the policy has no fixed plan."""
        return None

    def describe(self, problem: Problem | None = None) -> PolicyDescription:
        """Return the properties of the policy that are known before the first pull.

        By default, ``max_pulls`` is the attribute ``n_pulls`` or ``max_pulls``, ``window`` is
        ``pulls_in_flight``, and ``plays_levels``, ``factor`` and ``reward_range`` are the
        attributes of the same name. A policy with a schedule plays several levels.

        Parameters
        ----------
        problem : Problem or None, default=None
            If None, the description holds for all problems and has no ``stages``.
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
        """Return the current stage; None after the last stage or if there are no stages."""
        return None

    def stage_of_pull(self, state: Any, pull: Pull) -> int | None:
        """Return the stage of a pull that has just returned; by default, the current stage."""
        return self.current_stage(state)

    def stage_of_arm(self, state: Any) -> IntArray | None:
        """Return the last stage of each arm, shape ``(*batch, n_arms)``, or None."""
        return None

    def is_confident(self, state: Any) -> BoolArray | None:
        """Return whether the guarantee holds, shape ``batch``; None if there is no guarantee."""
        return None

    def belief(self, state: Any) -> Belief | None:
        """Return what the policy believes about the arms of one problem; None without a model."""
        return None

    def ended_by(self, state: Any) -> Sequence[str] | None:
        """Return the rules of which one ended the play early, such as ``["tolerance=0.1"]``."""
        return ()

    def points(self, state: Any) -> FloatArray | None:
        """Return the arms as points of the unit cube; None if the arms are given.

        The shape is ``(*batch, n_arms, n_dimensions)``, with NaN for arms that do not exist yet.
        """
        return None


class ConfidentPolicy(BasePolicy):
    """Base class of policies that stop when the best arm is known with confidence 1 - delta."""

    delta: float

    def describe(self, problem: Problem | None = None) -> PolicyDescription:
        """Return the properties that are known before the first pull, with the confidence."""
        return replace(super().describe(problem), confidence=1 - self.delta)


class _Adapted(BasePolicy):
    """Wrapper that adds the defaults to a policy that does not inherit from `BasePolicy`."""

    def __init__(self, policy: Any) -> None:
        self._policy = policy
        for name in dir(BasePolicy):
            if not name.startswith("_") and hasattr(policy, name):
                setattr(self, name, getattr(policy, name))

    def __repr__(self) -> str:
        return repr(self._policy)

    def describe(self, problem: Problem | None = None) -> PolicyDescription:
        return BasePolicy.describe(self._policy, problem)


def as_policy(given: Any, **known: object) -> BasePolicy:
    """Return a policy with all optional methods.

    Parameters
    ----------
    given : object
        A policy with the methods of `Policy`. It does not need to inherit from `BasePolicy`.
    **known
        Parameters that the caller knows, such as ``reward_range=(0, 1)``. They replace the fields
        of the same name that are None, if the policy is a dataclass.

    Raises
    ------
    TypeError
        If ``given`` is a class, or if a method is missing.
    """
    is_class = isinstance(given, type)
    required = [name for name in ("order_free", *vars(Policy)) if not name.startswith("_")]
    missing = [name for name in required if _is_missing(given, name)]
    if is_class or missing:
        what = f"the class {given.__name__}" if is_class else f"{given!r}, without {missing[0]}"
        raise TypeError(f"policy must be an object with the methods of Policy, got {what}.")
    if is_dataclass(given):
        own = {field.name for field in fields(given) if getattr(given, field.name) is None}
        lacking = {name: known[name] for name in own & known.keys()}
        given = replace(given, **lacking)  # type: ignore[type-var]
    adapted: Any = _Adapted  # it has all methods once it is made
    policy: BasePolicy = given if isinstance(given, BasePolicy) else adapted(given)
    return policy


def name_of(policy: Policy) -> str:
    """Return the name of the class, for tables and messages."""
    return type(policy._policy if isinstance(policy, _Adapted) else policy).__name__


def _is_missing(given: object, name: str) -> bool:
    if not hasattr(given, name):
        return True
    # Methods that a subclass of BasePolicy does not define have the empty body of the protocol.
    without_body = getattr(Policy, name, None)
    return without_body is not None and getattr(given, name) == without_body.__get__(given)


def _has_schedule(policy: Policy) -> bool:
    try:
        return policy.schedule(1, 1) is not None
    except ValueError:  # it has a schedule, but not for a single level
        return True
