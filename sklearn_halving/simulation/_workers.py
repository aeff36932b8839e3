"""Workers of a simulated cluster: how many there are, how long pulls take, and when they die."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isinf

import numpy as np

from sklearn_halving.policies import Pulls
from sklearn_halving.policies._arrays import FloatArray
from sklearn_halving.policies.bases._parameter_checks import (
    CheckedFields,
    Count,
    NotNegative,
    Positive,
    check_positive,
    refuse_unless,
)
from sklearn_halving.simulation._randomness import Randomness

SPEED, STRAGGLER, LIFETIME = 41, 42, 43
"""Purposes of random numbers."""


@dataclass(frozen=True)
class PullDurations(CheckedFields):
    """Durations of pulls in seconds, by level and candidate.

    A pull at level l takes ``(overhead + seconds_per_unit * l) * speed`` seconds. The speed of a
    candidate has a lognormal distribution with mean 1. A straggler takes ``straggler_factor``
    times as long.

    Parameters
    ----------
    seconds_per_unit : float, default=1.0
        Seconds for a unit of resource.
    overhead : float, default=0.0
        Seconds that a pull takes at any level.
    candidate_sd : float, default=0.0
        Standard deviation of the logarithm of the speed of candidates. With 0.5, nine of ten
        candidates take between 0.4 and 2 times as long as the mean.
    straggler_share : float, default=0.0
        Share of pulls that are stragglers, at random.
    straggler_factor : float, default=5.0
        How many times as long a straggler takes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import Pull, Pulls
    >>> from sklearn_halving.simulation import PullDurations, Randomness
    >>> durations = PullDurations(seconds_per_unit=2.0, overhead=1.0)
    >>> randomness = Randomness.of(np.random.SeedSequence(0), n_problems=1)
    >>> durations(randomness, 0, Pulls.of(Pull(0, 1, 0), Pull(0, 9, 0)))
    array([ 3., 19.])
    """

    seconds_per_unit: Positive = 1.0
    overhead: NotNegative = 0.0
    candidate_sd: NotNegative = 0.0
    straggler_share: NotNegative = 0.0
    straggler_factor: Positive = 5.0

    def __call__(self, randomness: Randomness, problem: int, pulls: Pulls) -> FloatArray:
        """Return the durations of pulls of a problem, shape ``(n,)``."""
        seconds = self.overhead + self.seconds_per_unit * pulls.level.astype(np.float64)
        if self.candidate_sd:
            normal = randomness.normal(problem, pulls.arm, SPEED)
            seconds = seconds * np.exp(self.candidate_sd * normal - self.candidate_sd**2 / 2)
        if self.straggler_share:
            is_slow = randomness.uniform(problem, *pulls, STRAGGLER) < self.straggler_share
            seconds = np.where(is_slow, seconds * self.straggler_factor, seconds)
        return seconds


@dataclass(frozen=True)
class Workers(CheckedFields):
    """The workers of a simulated cluster.

    Parameters
    ----------
    n_workers : int
        Number of workers.
    durations : callable, default=PullDurations()
        Function of `Randomness`, the index of a problem and `Pulls` that returns the seconds that
        each pull takes.
    mean_lifetime : float, default=inf
        Mean number of seconds after which a worker dies; lifetimes have an exponential
        distribution. The pull that was running is repeated by another worker, in the same time.
    absence : float, default=0.0
        Seconds until a worker that died is replaced.
    pulls_per_worker : int, default=2
        Number of pulls for each worker that a search submits ahead, including the one that runs:
        the number in its ``pre_dispatch="2*n_jobs"``. Policies whose decisions depend on the order
        of the rewards have a window of their own instead.

    Examples
    --------
    >>> from sklearn_halving.simulation import PullDurations, Workers
    >>> workers = Workers(128, PullDurations(candidate_sd=0.5), mean_lifetime=3600, absence=60)
    """

    n_workers: Count
    durations: Callable[[Randomness, int, Pulls], FloatArray] = PullDurations()
    mean_lifetime: float = inf
    absence: NotNegative = 0.0
    pulls_per_worker: Count = 2

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        refuse_unless(
            callable(self.durations),
            "durations",
            "be a function of randomness, problem and pulls",
            self.durations,
            "Give for example PullDurations(candidate_sd=0.5).",
        )
        if not isinf(self.mean_lifetime):
            check_positive("mean_lifetime", self.mean_lifetime, "Use inf if no worker dies.")

    def lifetime(self, randomness: Randomness, problem: int, worker: int, number: int) -> float:
        """Return the seconds for which a worker lives after it came for the given time."""
        if isinf(self.mean_lifetime):
            return inf
        uniform = randomness.uniform(problem, worker, number, LIFETIME)
        return float(-self.mean_lifetime * np.log(uniform[0]))
