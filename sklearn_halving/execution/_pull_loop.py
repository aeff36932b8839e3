"""Ask, submit, journal, tell: the only place where a policy and the execution of pulls meet."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sklearn_halving.execution._journal import Journal, Record
from sklearn_halving.execution._model_store import ModelStore
from sklearn_halving.execution._types import Job, Landing, Outcome
from sklearn_halving.execution.workers._executors import Executor
from sklearn_halving.execution.workers._interrupt import Interrupt
from sklearn_halving.policies._types import Policy, Pull, Pulls

DEFAULT_WINDOW = 8
"""Open pulls of a policy that depends on the order of outcomes and names no window."""
PATIENCE = 0.5
"""Seconds between two looks at whether the user wants to stop."""


@dataclass
class PullLog:
    """Every outcome so far; still there when a search ends with an exception."""

    outcomes: dict[Pull, Outcome] = field(default_factory=dict)
    lost_models: list[str] = field(default_factory=list)

    def record(self, outcome: Outcome) -> None:
        """Enter an outcome; each pull is entered once."""
        self.outcomes[outcome.pull] = outcome


@dataclass
class PullLoop:
    """Runs a policy against an executor.

    Parameters
    ----------
    policy : Policy
        What decides the next pulls.
    state : object
        The policy's state.
    executor : Executor
        Where the pulls run.
    reward : callable
        Outcome -> the number that the policy sees.
    log : PullLog
        Where the outcomes go.
    top_level : int
        Models at this level are not kept: nothing comes after it.
    window : int or None, default=None
        How many pulls are open at a time; None leaves it to the executor. For a policy whose
        decisions depend on the order of outcomes None means `DEFAULT_WINDOW`: the same for
        every number of workers, and outcomes are told oldest first, so that the result does
        not depend on which pull came back first.
    context_of : callable, default=None
        Pull -> scikit-learn's callback context.
    landed : callable, default=None
        Called with the outcome of each pull that came back; returns whether to stop.
    replayed : callable, default=None
        Called with each outcome that was taken from the journal; returns whether to stop.
    told : callable, default=None
        Called each time that the policy was told something.
    journal : Journal or None, default=None
        Where outcomes are written before they count. Pulls that it has are not done again.
    deadline : float, default=inf
        No pull is begun after this, by the clock of ``time.monotonic``.
    interrupt : Interrupt or None, default=None
        Whether the user wants to stop.

    Attributes
    ----------
    stopped_by : {"policy", "time_budget", "interrupt", "callback"}
        What ended the search.
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
    context_of: Callable[[Pull], Any] | None = None
    landed: Callable[[Outcome], bool] | None = None
    replayed: Callable[[Outcome], bool] | None = None
    told: Callable[[], None] | None = None
    journal: Journal | None = None
    deadline: float = float("inf")
    interrupt: Interrupt | None = None
    models: ModelStore = field(default_factory=ModelStore)
    stopped_by: str = "policy"
    n_replayed: int = 0
    _open: dict[Pull, None] = field(default_factory=dict)
    _landed: dict[Pull, Outcome] = field(default_factory=dict)
    _ways: dict[Pull, tuple[tuple[int, ...], bool]] = field(default_factory=dict)
    _may_ask: bool = True
    _is_called_off: bool = False

    def __post_init__(self) -> None:
        """Fix the window of a policy for which the order counts."""
        if not self.policy.order_free and self.window is None:
            self.window = DEFAULT_WINDOW

    def run(self) -> None:
        """Pull until the policy is finished, the time is up, or the user has had enough."""
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
                    f"{self.policy!r} is not finished, yet asks for nothing and waits for "
                    "nothing. This is a mistake in the policy."
                )
            if self._must_wait() and not self._wait():
                break
        for pull in [pull for pull in self._open if pull in self._landed]:
            self._tell_pulls([pull])

    def _wait(self) -> bool:
        """Wait for pulls; return whether there may be more to come or to be told."""
        is_stopped = self._is_stopped()
        landings = self.executor.wait_any(None if is_stopped else self._patience())
        for landing in landings:
            self._land(landing)
        return bool(landings) or not is_stopped

    def _is_stopped(self) -> bool:
        """Return whether no pull may be begun any more."""
        if self.stopped_by != "policy":
            return True
        if self.interrupt is not None and self.interrupt.is_requested:
            self.stopped_by = "interrupt"
        elif self._is_called_off:
            self.stopped_by = "callback"
        elif time.monotonic() >= self.deadline:
            self.stopped_by = "time_budget"
        else:
            return False
        self.executor.stop()
        return True

    def _patience(self) -> float | None:
        left = self.deadline - time.monotonic()
        if self.interrupt is None and left == float("inf"):
            return None
        return min(PATIENCE, max(0.0, left))

    def _ask(self) -> None:
        """Ask until there is no room, or the policy wants to be told something first."""
        if self.stopped_by != "policy" and self.journal is None:
            return
        while self._may_ask and (room := self._room()) > 0:
            n_before = len(self._open), self.n_replayed
            for pull in self.policy.ask(self.state, room).each():
                self._open_pull(pull)
            # Not before the next tell: how often a policy is asked in vain must not depend on
            # how the pulls come back.
            self._may_ask = len(self._open) > n_before[0]
            if self.stopped_by != "policy" and self.n_replayed == n_before[1]:
                self._may_ask = False  # only what the journal has is of use now

    def _room(self) -> int:
        if self.window is None:
            return self.executor.room
        return self.window - len(self._open)

    def _open_pull(self, pull: Pull) -> None:
        if pull in self._open or pull in self.log.outcomes:
            raise RuntimeError(
                f"{self.policy!r} asks for {pull} a second time. This is a mistake in the "
                "policy: another look at an arm is another repetition."
            )
        self._open[pull] = None
        if self.journal is not None and pull in self.journal.records:
            self._replay(self.journal.records[pull])
        elif not self._is_stopped():
            self._submit(pull)

    def _replay(self, record: Record) -> None:
        """Let a pull that the journal has land at once."""
        pull = record.outcome.pull
        self.n_replayed += 1
        self.log.record(record.outcome)
        self._landed[pull] = record.outcome
        self.models.recall(record)
        if self.replayed is not None and self.replayed(record.outcome):
            self._is_called_off = True

    def _submit(self, pull: Pull) -> None:
        kept = self.models.take(pull)
        context = None if self.context_of is None else self.context_of(pull)
        keep_model = pull.level < self.top_level
        if kept.model is not None:
            job = Job(pull, kept.model, kept.level, keep_model, context)
        else:
            job = Job(pull, None, 0, keep_model, context, kept.levels)
        if keep_model:
            self._ways[pull] = kept.levels, kept.model is None
        self.executor.submit(job)

    def _drain(self) -> None:
        """Wait for pulls that a policy left open: which were paid for is no matter of time."""
        while len(self._landed) < len(self._open) and self._wait():
            pass
        if len(self._landed) == len(self._open):
            self.stopped_by = "policy"

    def _land(self, landing: Landing) -> None:
        outcome, pull = landing.outcome, landing.outcome.pull
        if landing.lost is not None:
            self.log.lost_models.append(landing.lost)
        levels: tuple[int, ...] = ()
        digest = None
        way, is_from_scratch = self._ways.pop(pull, ((), True))
        if landing.model is not None:
            if outcome.previous_level == 0 and not is_from_scratch:
                way = ()  # the model could not be read where it was needed
            levels = (*way, pull.level)
            digest = self.models.put(pull, landing.model, levels)
        if self.journal is not None:
            self.journal.append(Record(outcome, levels, digest))
            self.models.settle(pull, has_file=digest is not None)
        self.log.record(outcome)
        self._landed[pull] = outcome
        if self.landed is not None and self.landed(outcome):
            self._is_called_off = True
        if landing.stop:
            self._is_called_off = True

    def _must_wait(self) -> bool:
        if self.policy.order_free:
            return len(self._landed) < len(self._open)
        return next(iter(self._open)) not in self._landed

    def _tell(self) -> None:
        """Tell all that landed, or, where the order counts, no more than the oldest pull."""
        if not self._landed:
            return
        if not self.policy.order_free:
            # One at a time: what is asked next must not depend on how many came back.
            oldest = next(iter(self._open))
            if oldest in self._landed:
                self._tell_pulls([oldest])
        elif self.executor.room > 0 or len(self._landed) == len(self._open):
            # Telling in batches is cheaper; nothing is decided before there is room again.
            self._tell_pulls(list(self._landed))

    def _tell_pulls(self, pulls: list[Pull]) -> None:
        rewards = np.array([self.reward(self._landed.pop(pull)) for pull in pulls])
        for pull in pulls:
            del self._open[pull]
        self.policy.tell(self.state, Pulls.of(*pulls), rewards)
        self._may_ask = True
        if self.told is not None:
            self.told()
        if len(self.models):
            self.models.drop(self.policy.is_alive(self.state))
