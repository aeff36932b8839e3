"""Ask, submit, journal, tell: the only place where a policy and the execution of pulls meet."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sklearn_halving.execution._journal import Journal
from sklearn_halving.execution._model_store import ModelStore
from sklearn_halving.execution._types import Job, Landing, Outcome
from sklearn_halving.execution.workers._executors import Executor
from sklearn_halving.execution.workers._interrupt import Interrupt
from sklearn_halving.policies._types import Policy, Pull, Pulls

DEFAULT_WINDOW = 8
"""Open pulls of a policy that depends on the order of outcomes and names no window."""
PATIENCE = 0.5
"""Seconds between two checks of whether the user wants to stop."""


@dataclass
class PullLog:
    """Every outcome so far; it is kept if a search ends with an exception."""

    outcomes: dict[Pull, Outcome] = field(default_factory=dict)
    lost_models: list[str] = field(default_factory=list)

    def record(self, outcome: Outcome) -> None:
        """Enter an outcome; each pull is entered once."""
        self.outcomes[outcome.pull] = outcome


class PullObserver:
    """Follows a pull loop. The methods do nothing; a subclass overrides those that it needs."""

    def context_of(self, pull: Pull) -> Any:
        """Return scikit-learn's callback context of a pull that is about to be submitted."""
        return None

    def land(self, outcome: Outcome, *, is_replayed: bool) -> bool:
        """Take note of an outcome, new or from the journal; return whether to stop."""
        return False

    def tell(self) -> None:
        """Take note that the policy has received rewards."""


@dataclass
class StopSignals:
    """What can stop a loop before the policy is finished.

    Parameters
    ----------
    deadline : float, default=inf
        No pull starts after this, by the clock of ``time.monotonic``.
    interrupt : Interrupt or None, default=None
        Whether the user pressed Ctrl-C.
    is_called_off : bool, default=False
        Whether an observer wants to stop.
    """

    deadline: float = float("inf")
    interrupt: Interrupt | None = None
    is_called_off: bool = False

    @property
    def reason(self) -> str | None:
        """What stops the loop now; None to go on."""
        if self.interrupt is not None and self.interrupt.is_requested:
            return "interrupt"
        if self.is_called_off:
            return "callback"
        return "time_budget" if time.monotonic() >= self.deadline else None

    @property
    def patience(self) -> float | None:
        """How many seconds to wait before the next check; None if nothing can stop the loop."""
        left = self.deadline - time.monotonic()
        if self.interrupt is None and left == float("inf"):
            return None
        return min(PATIENCE, max(0.0, left))


@dataclass
class PullLoop:
    """Runs a policy against an executor.

    Parameters
    ----------
    policy : Policy
        Decides the next pulls.
    state : object
        The policy's state.
    executor : Executor
        Runs the pulls.
    reward : callable
        Outcome -> the number that the policy sees.
    log : PullLog
        Collects the outcomes.
    top_level : int
        Models at this level are not kept: there is no higher level.
    window : int or None, default=None
        How many pulls are open at a time; None leaves it to the executor. For a policy that
        depends on the order of outcomes, None means `DEFAULT_WINDOW`. The window is then the
        same for every number of workers, and outcomes are told oldest first, so that the result
        does not depend on which pull came back first.
    observer : PullObserver, optional
        Follows the loop.
    journal : Journal or None, default=None
        Outcomes are written to it before they count. Pulls that it contains are not run again.
    models : ModelStore, optional
        Keeps models between levels.
    signals : StopSignals, optional
        Tells when to stop early.
    arrive : callable or None, default=None
        Called with the arm of each pull when the policy asks for it: makes the candidate of a new
        arm. What has been told by then does not depend on the workers.

    Attributes
    ----------
    stopped_by : {"policy", "time_budget", "interrupt", "callback"}
        What ended the loop.
    n_replayed : int
        How many pulls were taken from the journal.
    """

    policy: Policy
    state: Any
    executor: Executor
    reward: Callable[[Outcome], float]
    log: PullLog
    top_level: int
    window: int | None = None
    observer: PullObserver = field(default_factory=PullObserver)
    journal: Journal | None = None
    models: ModelStore = field(default_factory=ModelStore)
    signals: StopSignals = field(default_factory=StopSignals)
    arrive: Callable[[int], None] | None = None
    stopped_by: str = field(default="policy", init=False)
    n_replayed: int = field(default=0, init=False)
    _open: dict[Pull, None] = field(default_factory=dict, init=False)
    _landed: dict[Pull, Outcome] = field(default_factory=dict, init=False)
    _may_ask: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        """Fix the window of a policy that depends on the order of outcomes."""
        if not self.policy.order_free and self.window is None:
            self.window = DEFAULT_WINDOW

    def run(self) -> None:
        """Pull until the policy is finished or the loop is stopped."""
        while True:
            self._tell()
            if self.policy.is_finished(self.state):
                self._drain()
                return
            self._ask()
            if not self._open:
                if self.stopped_by != "policy":
                    break
                raise RuntimeError(
                    f"{self.policy!r} is not finished, but it asks for nothing and waits for "
                    "nothing. This is a mistake in the policy."
                )
            if self._must_wait() and not self._wait():
                break
        for pull in [pull for pull in self._open if pull in self._landed]:
            self._tell_pulls([pull])

    def _wait(self) -> bool:
        """Wait for pulls; return whether more may come back or be told."""
        is_stopped = self._is_stopped()
        landings = self.executor.wait_any(None if is_stopped else self.signals.patience)
        for landing in landings:
            self._land(landing)
        return bool(landings) or not is_stopped

    def _is_stopped(self) -> bool:
        """Return whether no further pull may start."""
        if self.stopped_by == "policy":
            self.stopped_by = self.signals.reason or "policy"
            if self.stopped_by != "policy":
                self.executor.stop()
        return self.stopped_by != "policy"

    def _ask(self) -> None:
        """Ask until there is no room, or the policy needs to be told something first."""
        if self.stopped_by != "policy" and self.journal is None:
            return
        while self._may_ask and (room := self._room()) > 0:
            n_open, n_replayed = len(self._open), self.n_replayed
            for pull in self.policy.ask(self.state, room).each():
                self._open_pull(pull)
            # Not before the next tell: how often a policy is asked in vain must not depend on
            # the order in which pulls come back.
            self._may_ask = len(self._open) > n_open
            if self.stopped_by != "policy" and self.n_replayed == n_replayed:
                self._may_ask = False  # only pulls of the journal are of use now

    def _room(self) -> int:
        if self.window is None:
            return self.executor.room
        return self.window - len(self._open)

    def _open_pull(self, pull: Pull) -> None:
        if pull in self._open or pull in self.log.outcomes:
            raise RuntimeError(
                f"{self.policy!r} asks for {pull} a second time. This is a mistake in the "
                "policy: to look at an arm again, it must ask for another repetition."
            )
        if self.arrive is not None:
            self.arrive(pull.arm)
        self._open[pull] = None
        if self.journal is not None and pull in self.journal.records:
            record = self.journal.records[pull]
            self.n_replayed += 1
            self.models.recall(record)
            self._take_in(record.outcome, is_replayed=True)
        elif not self._is_stopped():
            self._submit(pull)

    def _submit(self, pull: Pull) -> None:
        context = self.observer.context_of(pull)
        kept = self.models.take(pull)
        keep_model = pull.level < self.top_level
        if kept.model is not None:
            job = Job(pull, kept.model, kept.level, keep_model, context)
        else:
            job = Job(pull, None, 0, keep_model, context, kept.levels)
        self.executor.submit(job)

    def _drain(self) -> None:
        """Wait for pulls that a finished policy left open: they are paid for."""
        while len(self._landed) < len(self._open) and self._wait():
            pass
        if len(self._landed) == len(self._open):
            self.stopped_by = "policy"

    def _land(self, landing: Landing) -> None:
        if landing.lost is not None:
            self.log.lost_models.append(landing.lost)
        record = self.models.keep(landing)
        if self.journal is not None:
            self.journal.append(record)
            self.models.settle(record)
        self._take_in(landing.outcome, is_replayed=False)
        self.signals.is_called_off |= landing.stop

    def _take_in(self, outcome: Outcome, *, is_replayed: bool) -> None:
        self.log.record(outcome)
        self._landed[outcome.pull] = outcome
        self.signals.is_called_off |= self.observer.land(outcome, is_replayed=is_replayed)

    def _must_wait(self) -> bool:
        if self.policy.order_free:
            return len(self._landed) < len(self._open)
        return next(iter(self._open)) not in self._landed

    def _tell(self) -> None:
        """Tell all outcomes, or only the oldest pull's if their order matters."""
        if not self._landed:
            return
        if not self.policy.order_free:
            # One at a time: what is asked next must not depend on how many came back.
            oldest = next(iter(self._open))
            if oldest in self._landed:
                self._tell_pulls([oldest])
        elif self.executor.room > 0 or len(self._landed) == len(self._open):
            # Batches are cheaper, and nothing can be decided before there is room again.
            self._tell_pulls(list(self._landed))

    def _tell_pulls(self, pulls: list[Pull]) -> None:
        rewards = np.array([self.reward(self._landed.pop(pull)) for pull in pulls])
        for pull in pulls:
            del self._open[pull]
        self.policy.tell(self.state, Pulls.of(*pulls), rewards)
        self._may_ask = True
        self.observer.tell()
        if len(self.models):
            self.models.drop(self.policy.is_alive(self.state))
