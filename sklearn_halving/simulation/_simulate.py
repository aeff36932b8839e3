"""Play policies against an environment, with many problems in lockstep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from sklearn_halving.policies import Policy, Problem
from sklearn_halving.policies.bases._base_policy import BasePolicy, as_policy, name_of
from sklearn_halving.policies.bases._parameter_checks import check_count
from sklearn_halving.simulation._games import Games
from sklearn_halving.simulation._randomness import Randomness
from sklearn_halving.simulation._result import Outcomes, SimulationResult
from sklearn_halving.simulation._types import Environment

N_VALUES = 2**16
"""Problems times arms of one batch, if nothing else is asked for: what fits into the cache."""

N_PLANNED = 2**21
"""Largest number of pulls of one batch that a policy may plan ahead, about 50 MB."""


def simulate(
    policy: Policy,
    environment: Environment,
    n_problems: int = 1000,
    seed: int | np.random.SeedSequence = 0,
    *,
    checkpoints: Sequence[int] = (),
    max_pulls: int = 1_000_000,
    batch_size: int | None = None,
) -> SimulationResult:
    """Play a policy on many problems drawn from an environment.

    The randomness of a pull depends only on the seed, the problem and the pull. With the same
    seed, all policies play the same problems, and the same pulls give the same rewards.

    Parameters
    ----------
    policy : Policy
        An object of `sklearn_halving.policies`, or of your own class with the same methods. If its
        ``reward_range`` is None and the environment knows the range, it is filled in.
    environment : Environment
        `GaussianArms`, `BernoulliArms`, `GaussianProcessArms`, `LearningCurves`,
        `RecordedScores`, or an object of your own class.
    n_problems : int, default=1000
        Number of problems. Standard errors decrease with its square root.
    seed : int or numpy.random.SeedSequence, default=0
        The same seed gives the same result.
    checkpoints : sequence of int, default=()
        Numbers of units of resource (pulls, if there is one level) after which the choice of the
        policy is recorded, in increasing order.
    max_pulls : int, default=1_000_000
        Number of pulls of one problem within which the policy must stop by itself.
    batch_size : int or None, default=None
        Number of problems in lockstep. None chooses a number that fits into the processor's
        cache. It affects the result only for policies that draw at random, such as `EXP3`.

    Returns
    -------
    SimulationResult

    Raises
    ------
    TypeError
        If the policy or the environment lacks a method, or the policy makes its own arms, like
        `HOO`.
    ValueError
        If policy and environment do not match: different numbers of arms or levels, or an unknown
        range of rewards that the policy needs.
    RuntimeError
        If the policy does not stop within ``max_pulls``, or neither asks for pulls nor stops.

    Examples
    --------
    >>> from sklearn_halving.policies import SuccessiveRejects, UniformAllocation
    >>> from sklearn_halving.simulation import GaussianArms, simulate
    >>> arms = GaussianArms(means=[0] * 20, mean_sd=1, sds=2)  # drawn again for each problem
    >>> uniform = simulate(UniformAllocation(n_pulls=400), arms, n_problems=2000)
    >>> rejects = simulate(SuccessiveRejects(n_pulls=400), arms, n_problems=2000)
    >>> bool(rejects.simple_regret.value < 0.7 * uniform.simple_regret.value)
    True
    """
    policy = checked_policy(policy, environment)
    check_count("n_problems", n_problems)
    check_count("max_pulls", max_pulls)
    if batch_size is not None:
        check_count("batch_size", batch_size)
    marks = _checked_checkpoints(checkpoints)
    problem = problem_of(policy, environment)
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    played: list[Outcomes] = []
    n_played = n_most = 0
    while n_played < n_problems:
        size = batch_size or _batch_size(policy, problem, n_most)
        size = min(size, n_problems - n_played)
        randomness = Randomness.of(root, size, n_played)
        games = Games(environment.draw(randomness, problem.n_arms), problem, marks)
        own = np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, len(played)))
        played.append(games.play(policy, own, max_pulls))
        n_played, n_most = n_played + size, max(n_most, int(played[-1].n_pulls.max()))
    return _result(policy, environment, played, marks)


def _checked_environment(environment: object) -> Environment:
    """Return the environment, or raise a TypeError if it is not one."""
    if isinstance(environment, type) or not isinstance(environment, Environment):
        raise TypeError(
            "environment must be an object with the methods of "
            f"sklearn_halving.simulation.Environment, got {environment!r}. Give for example "
            "GaussianArms([0.0, 1.0])."
        )
    return environment


def checked_policy(given: object, environment: object) -> BasePolicy:
    """Return the policy, with the range of rewards if the environment knows it."""
    environment = _checked_environment(environment)
    policy = as_policy(given, reward_range=environment.reward_range)
    if policy.describe().n_dimensions is not None:
        raise TypeError(
            "policy must choose among the arms of the environment, got "
            f"{policy!r}, whose arms are points that it creates during the game. Give for example "
            "SuccessiveRejects(n_pulls=100), or tell this policy the rewards of its points in a "
            "loop of your own."
        )
    return policy


def _checked_checkpoints(checkpoints: Sequence[int]) -> list[int]:
    marks = list(checkpoints)
    for mark in marks:
        check_count("Each of checkpoints", mark)
    if marks != sorted(set(marks)):
        raise ValueError(
            f"checkpoints must be different and in increasing order, got {checkpoints!r}. Use "
            f"{sorted(set(marks))}."
        )
    return marks


def problem_of(policy: Policy, environment: Environment) -> Problem:
    """Return what the policy knows; the schedule may determine the number of arms."""
    n_arms, levels = environment.n_arms, (environment.min_level, environment.max_level)
    if n_arms is None:
        schedule = policy.schedule(*levels)
        if schedule is None:
            raise ValueError(
                "n_arms of the environment must be given for a policy without a schedule, got "
                f"None and {name_of(policy)}. Give n_arms, the number of arms to draw for each "
                "problem."
            )
        n_arms = schedule.n_arms
    return Problem(n_arms, *levels, environment.max_repetitions)


def _batch_size(policy: BasePolicy, problem: Problem, n_most: int) -> int:
    """Return how many problems to play in lockstep.

    A policy whose decisions do not depend on the order of rewards may plan many pulls at a time,
    at most all pulls of a stage or of a problem. If neither number is known, the first problem is
    played alone. Problems so far had at most ``n_most`` pulls.
    """
    size = N_VALUES // problem.n_arms
    if policy.order_free:
        description = policy.describe(problem)
        of_stage = max((stage.n_pulls for stage in description.stages), default=0)
        known = [n for n in (of_stage, description.max_pulls, n_most) if n]
        size = min(size, N_PLANNED // min(known)) if known else 1
    return max(1, size)


def _result(
    policy: Policy, environment: Environment, played: list[Outcomes], marks: list[int]
) -> SimulationResult:
    """Concatenate the batches."""
    joined: dict[str, Any] = {}
    for field in fields(Outcomes):
        parts = [getattr(one, field.name) for one in played]
        joined[field.name] = None if parts[0] is None else np.concatenate(parts)
    checkpoints = np.array(marks, dtype=np.int64)
    return SimulationResult(
        policy=policy, environment=environment, checkpoints=checkpoints, **joined
    )
