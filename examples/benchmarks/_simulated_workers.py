"""Policies on the workers of a simulated cluster, with a clock: for `workers.py`.

Pulls are asked for, submitted ahead and told as in a search. They start in the order of
submission. A policy whose decisions depend on the order of the rewards gets them in its own order,
and has a fixed number of pulls in flight. Overheads of the search and of the cluster are not
simulated, except for the ``overhead`` of a pull.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf, isinf
from typing import Any

import numpy as np

from sklearn_halving.policies import NO_ARM, Policy, Problem, Pull, Pulls
from sklearn_halving.policies.bases._base_policy import BasePolicy, name_of, window_of
from sklearn_halving.simulation import Arms, Environment, Estimate, Randomness
from sklearn_halving.simulation._result import estimate_of
from sklearn_halving.simulation._simulate import checked_policy, problem_of

SPEED, STRAGGLER, LIFETIME = 41, 42, 43
"""Purposes of random numbers."""


@dataclass(frozen=True)
class PullDurations:
    """Seconds of pulls: ``(overhead + seconds_per_unit * level) * speed``.

    The speed of a candidate has a lognormal distribution with mean 1 and the standard deviation
    ``candidate_sd`` of its logarithm. A share of pulls, the stragglers, takes ``straggler_factor``
    times as long.
    """

    seconds_per_unit: float = 1.0
    overhead: float = 0.0
    candidate_sd: float = 0.0
    straggler_share: float = 0.0
    straggler_factor: float = 5.0

    def __call__(self, randomness: Randomness, problem: int, pulls: Pulls) -> np.ndarray:
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
class Workers:
    """The workers of a simulated cluster.

    Parameters
    ----------
    n_workers : int
    durations : callable, default=PullDurations()
        Function of `Randomness`, the index of a problem and `Pulls` that returns seconds.
    mean_lifetime : float, default=inf
        Mean of the exponential distribution of the seconds after which a worker dies. The pull
        that was running is repeated by another worker, in the same time.
    absence : float, default=0.0
        Seconds until a worker that died is replaced.
    pulls_per_worker : int, default=2
        Number of pulls for each worker that a search submits ahead, including the one that runs:
        the number in its ``pre_dispatch="2*n_jobs"``.
    """

    n_workers: int
    durations: Callable[[Randomness, int, Pulls], np.ndarray] = PullDurations()
    mean_lifetime: float = inf
    absence: float = 0.0
    pulls_per_worker: int = 2

    def lifetime(self, randomness: Randomness, worker: int, number: int) -> float:
        """Return the seconds for which a worker lives after it came for the given time."""
        if isinf(self.mean_lifetime):
            return inf
        uniform = randomness.uniform(0, worker, number, LIFETIME)
        return float(-self.mean_lifetime * np.log(uniform[0]))


@dataclass(frozen=True, eq=False)
class ClockResult:
    """What a policy and its workers did with their time; arrays of shape ``(n_problems,)``.

    ``busy_seconds`` went into pulls that ended and ``lost_seconds`` into those that did not,
    because the worker died or the time was up; for ``absent_seconds`` workers were dead. All three
    are sums over workers. ``traces`` has the seconds after which the choice changed, and its
    regret.
    """

    workers: Workers
    seconds: np.ndarray
    busy_seconds: np.ndarray
    lost_seconds: np.ndarray
    absent_seconds: np.ndarray
    n_pulls: np.ndarray
    regret: np.ndarray
    traces: list[np.ndarray]

    @property
    def idle_share(self) -> Estimate:
        """Share of the time of living workers in which they did nothing."""
        present = self.workers.n_workers * self.seconds - self.absent_seconds
        return estimate_of(1 - (self.busy_seconds + self.lost_seconds) / present)

    def seconds_to(self, regret: Any) -> np.ndarray:
        """Return when the regret of each choice was first at most ``regret``, or infinity."""
        targets = np.broadcast_to(regret, self.seconds.shape)
        firsts = []
        for trace, target in zip(self.traces, targets, strict=True):
            is_reached = trace[:, 1] <= target
            firsts.append(trace[is_reached.argmax(), 0] if is_reached.any() else inf)
        return np.array(firsts)


def simulate_workers(
    policy: Policy,
    environment: Environment,
    workers: Workers,
    n_problems: int = 10,
    seed: int = 0,
    *,
    time_budget: float = inf,
    by_arrival: bool = False,
) -> ClockResult:
    """Play a policy on the workers of a simulated cluster.

    Parameters
    ----------
    policy : Policy
    environment : Environment
    workers : Workers
    n_problems : int, default=10
    seed : int, default=0
        The same seed gives the same problems, rewards and durations, for all policies.
    time_budget : float, default=inf
        Seconds after which pulls are abandoned and the choice is final.
    by_arrival : bool, default=False
        Whether a policy whose decisions depend on the order of the rewards gets them in the order
        in which pulls end, with ``n_workers`` pulls in flight. A search never does this, because
        its result would depend on the durations.

    Returns
    -------
    ClockResult
    """
    chosen = checked_policy(policy, environment)
    problem = problem_of(chosen, environment)
    root = np.random.SeedSequence(seed)
    clocks = []
    for number in range(n_problems):
        randomness = Randomness.of(root, 1, number)
        arms = environment.draw(randomness, problem.n_arms)
        state = chosen.start(problem, seed=np.random.SeedSequence(seed, spawn_key=(number,)))
        clock = Clock(chosen, state, problem, arms, randomness, workers, by_arrival)
        clock.play(time_budget)
        clocks.append(clock)
    return ClockResult(
        workers,
        seconds=np.array([clock.now for clock in clocks]),
        busy_seconds=np.array([clock.busy for clock in clocks]),
        lost_seconds=np.array([clock.lost for clock in clocks]),
        absent_seconds=np.array([clock.absent for clock in clocks]),
        n_pulls=np.array([clock.n_pulls for clock in clocks]),
        regret=np.array([clock.regret for clock in clocks]),
        traces=[np.array(clock.trace).reshape(-1, 2) for clock in clocks],
    )


@dataclass
class Clock:
    """A problem that is played on workers."""

    policy: BasePolicy
    state: Any
    """State of the policy before its first pull."""
    problem: Problem
    arms: Arms
    """The arms of this problem alone."""
    randomness: Randomness
    """The randomness of this problem alone."""
    workers: Workers
    by_arrival: bool
    now: float = 0.0
    busy: float = 0.0
    lost: float = 0.0
    absent: float = 0.0
    n_pulls: int = 0
    regret: float = np.nan
    trace: list[tuple[float, float]] = field(default_factory=list)
    _open: dict[Pull, tuple[float, float]] = field(default_factory=dict)
    """Reward and duration of the pulls that were asked for and not told."""
    _landed: dict[Pull, None] = field(default_factory=dict)
    _queue: deque[Pull] = field(default_factory=deque)
    _running: dict[int, tuple[Pull, float]] = field(default_factory=dict)
    _events: list[tuple[float, int]] = field(default_factory=list)
    _ends_of_life: dict[int, float] = field(default_factory=dict)
    _free: list[int] = field(default_factory=list)
    _n_lives: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._description = self.policy.describe(self.problem)
        self._window = window_of(self.policy, self._description)

    def play(self, time_budget: float) -> None:
        """Play to the end, or until the time is up."""
        for worker in range(self.workers.n_workers):
            self._come(worker)
        while not self.policy.is_finished(self.state):
            self._ask()
            self._start_pulls()
            if not self._open:
                raise RuntimeError(
                    f"{name_of(self.policy)} is not finished, but it asks for nothing and waits "
                    "for nothing. Let is_finished be true there, or ask return a pull."
                )
            if self._events[0][0] > time_budget:
                self.now = time_budget
                break
            self._pass_event()
            self._tell()
        for worker in self._free:
            self._is_alive(worker)
        self.lost += sum(self.now - began for _, began in self._running.values())
        returns = [at for at, worker in self._events if worker not in self._running]
        self.absent -= sum(max(0.0, at - self.now) for at in returns)

    @property
    def _room(self) -> int:
        """Number of pulls that the search may ask for."""
        if self._window is None:
            ahead = self.workers.pulls_per_worker * self.workers.n_workers
            return ahead - (len(self._open) - len(self._landed))
        window = self.workers.n_workers if self.by_arrival else self._window
        return window - len(self._open)

    def _ask(self) -> None:
        while (room := self._room) > 0:
            asked = self.policy.ask(self.state, room)
            pulls = list(asked.each())
            if not pulls:
                return
            asked = Pulls.of(*pulls)
            rewards = self.arms.rewards(np.zeros(len(pulls), dtype=np.int64), asked).tolist()
            seconds = self.workers.durations(self.randomness, 0, asked).tolist()
            self._open.update(zip(pulls, zip(rewards, seconds, strict=True), strict=True))
            self._queue.extend(pulls)

    def _start_pulls(self) -> None:
        """Let free workers start the pulls that wait."""
        while self._queue and self._free:
            worker = heappop(self._free)
            if not self._is_alive(worker):
                continue
            pull = self._queue.popleft()
            self._running[worker] = pull, self.now
            end = min(self.now + self._open[pull][1], self._ends_of_life[worker])
            heappush(self._events, (end, worker))

    def _pass_event(self) -> None:
        """Go to the next event: a pull ends, a worker dies, or a worker comes."""
        self.now, worker = heappop(self._events)
        if worker not in self._running:
            self._come(worker)
            return
        pull, began = self._running.pop(worker)
        if self.now < began + self._open[pull][1]:
            self.lost += self.now - began
            self._queue.appendleft(pull)
            self.absent += self.workers.absence
            heappush(self._events, (self.now + self.workers.absence, worker))
            return
        self.busy += self.now - began
        self.n_pulls += 1
        self._landed[pull] = None
        heappush(self._free, worker)

    def _is_alive(self, worker: int) -> bool:
        """Return whether a free worker is alive, after its deaths and returns up to now."""
        while (death := self._ends_of_life[worker]) <= self.now:
            self.absent += self.workers.absence
            if death + self.workers.absence > self.now:
                heappush(self._events, (death + self.workers.absence, worker))
                return False
            self._begin_life(worker, death + self.workers.absence)
        return True

    def _come(self, worker: int) -> None:
        self._begin_life(worker, self.now)
        heappush(self._free, worker)

    def _begin_life(self, worker: int, when: float) -> None:
        number = self._n_lives[worker] = self._n_lives.get(worker, 0) + 1
        life = self.workers.lifetime(self.randomness, worker, number)
        self._ends_of_life[worker] = when + life

    def _tell(self) -> None:
        """Tell the rewards that the policy may know now, as a search does."""
        while self._landed:
            pulls = list(self._landed)
            if not self.policy.order_free and not self.by_arrival:
                first = self.policy.first_to_tell(self.state) or next(iter(self._open))
                if first not in self._landed:
                    return
                pulls = [first]
            rewards = np.array([self._open.pop(pull)[0] for pull in pulls])
            for pull in pulls:
                del self._landed[pull]
            self.policy.tell(self.state, Pulls.of(*pulls), rewards)
            self._note_choice(pulls)
            if not self.policy.order_free:
                self._ask()

    def _note_choice(self, pulls: list[Pull]) -> None:
        """Record the regret of the present choice, if it may have changed."""
        is_decided = self.trace and self._description.ranks_by_level
        if is_decided and all(pull.level < self.problem.max_level for pull in pulls):
            return
        arm = int(self.policy.recommend(self.state))
        if arm == NO_ARM:
            return
        regret = float(self.arms.best_value[0] - self.arms.values[0, arm])
        if regret != self.regret:
            self.regret = regret
            self.trace.append((self.now, regret))
