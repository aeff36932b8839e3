"""The pull loop, which connects a policy with the execution of pulls.

It asks the policy for pulls, submits them, writes the outcomes to the store and tells them to
the policy.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any

import numpy as np

from sklearn_halving._typing import CallbackContext
from sklearn_halving.execution._known_fits import KnownFits
from sklearn_halving.execution._prices import Prices
from sklearn_halving.execution._store import FitKey
from sklearn_halving.execution._threads import one_blas_thread
from sklearn_halving.execution._types import Job, Outcome, Result
from sklearn_halving.execution.workers._executors import Executor
from sklearn_halving.policies._protocol import GrowsArms, Policy, alive_arms
from sklearn_halving.policies._types import Problem, Pull

PATIENCE = 0.5
"""Seconds between two checks for a request to stop."""
LOOK_AHEAD = 100
"""How many unknown pulls a stopped loop looks past. The plan may be very large."""
MESSAGE = b"\nStopping after the running fits. Press Ctrl-C again to stop immediately.\n"
RESULTS_MESSAGE = b"\nMaking the results first. A third Ctrl-C stops without them.\n"
STDERR = 2


@dataclass
class PullLog:
    """All outcomes so far. They are kept if a search ends with an exception.

    Parameters
    ----------
    places : dict of Pull to int
        For each outcome that was known at the start, how many of these returned before it.
    """

    outcomes: dict[Pull, Outcome] = field(default_factory=dict)
    abandoned: list[Outcome] = field(default_factory=list)
    """Fits for which there was no time. They have no score, and have not failed."""
    places: dict[Pull, int] = field(default_factory=dict)
    lost_models: list[str] = field(default_factory=list)
    metrics: list[str] = field(default_factory=list)
    _returned: frozenset[str] | None = None

    def record(self, outcome: Outcome) -> None:
        """Add an outcome; each pull is added once.

        If ``scoring`` is a callable that returns a dict, only a fit that works tells the names of
        the metrics. Those that failed before get them, too.
        """
        self._check_metrics(outcome)
        sides = outcome.test_scores, outcome.train_scores
        names = next((list(scores) for scores in sides if isinstance(scores, dict)), [])
        if names and not self.metrics:
            self.metrics = names
            self.outcomes = {p: o.with_metrics(self.metrics) for p, o in self.outcomes.items()}
        self.outcomes[outcome.pull] = outcome.with_metrics(self.metrics)

    def _check_metrics(self, outcome: Outcome) -> None:
        """Raise if a callable ``scoring`` returns other metrics than for the fits before."""
        if outcome.kind != "ok":
            return
        scores = outcome.test_scores
        returned = frozenset[str](scores if isinstance(scores, dict) else ())
        if self._returned not in (None, returned):
            before, now = (sorted(names) or "a number" for names in (self._returned, returned))
            raise ValueError(
                "scoring must return the same metrics for every candidate and split; got "
                f"{now} after {before}."
            )
        self._returned = returned

    def in_order_of_return(self) -> list[Outcome]:
        """Return the outcomes in the order in which they returned, in this search or before."""
        pulls = sorted(self.outcomes, key=lambda pull: self.places.get(pull, len(self.places)))
        return [self.outcomes[pull] for pull in pulls]


class PullObserver:
    """Observes a pull loop. The methods do nothing; a subclass overrides those that it needs."""

    def context_of(self, pull: Pull) -> CallbackContext | None:
        """Return scikit-learn's callback context of a pull that is about to be submitted."""
        return None

    def land(self, outcome: Outcome, *, is_known: bool) -> bool:
        """Handle an outcome, new or known before; return whether to stop."""
        return False

    def told(self) -> None:
        """Act after the policy has been told outcomes."""


class Interrupt:
    """Handles SIGINT and SIGTERM during a search, in the main thread: no other can.

    The first Ctrl-C sets ``is_requested``. The second raises KeyboardInterrupt; while the results
    are made, it takes a third. What a handler of the user raises, such as SystemExit at SIGTERM,
    ends the search: a fit in which it is raised would treat it as its own error. While
    the results are made, such handlers wait.
    """

    def __init__(self) -> None:
        self.is_requested = False
        self.makes_results = False
        self.raised: BaseException | None = None
        """What a handler of the user has raised."""
        self._process = os.getpid()
        self._n_presses = 0
        self._former: dict[int, Any] = {}
        self._late: list[Callable[[], object]] = []

    def __enter__(self) -> Interrupt:
        is_main = threading.current_thread() is threading.main_thread()
        for number in (signal.SIGINT, signal.SIGTERM) if is_main else ():
            handler = signal.getsignal(number)
            if callable(handler):
                is_ctrl_c = number == signal.SIGINT and handler is signal.default_int_handler
                self._former[number] = handler
                signal.signal(number, self._press if is_ctrl_c else partial(self._call, handler))
        return self

    def __exit__(self, *error: object) -> None:
        while self._former:
            signal.signal(*self._former.popitem())
        while self._late:
            self._late.pop(0)()

    def _press(self, number: int, frame: FrameType | None) -> None:
        self._n_presses += 1
        if self._n_presses > 1 + self.makes_results:
            raise KeyboardInterrupt
        self.is_requested = True
        with suppress(OSError):  # sys.stderr may be in use when the signal arrives
            os.write(STDERR, RESULTS_MESSAGE if self.makes_results else MESSAGE)

    def _call(self, handler: Callable[..., object], number: int, frame: FrameType | None) -> None:
        # A worker that was forked meanwhile makes no results, and must not outlive its pool.
        if self.makes_results and os.getpid() == self._process:
            self._late.append(partial(handler, number, frame))
            return
        try:
            handler(number, frame)
        except BaseException as error:
            self.raised = error
            raise


@dataclass
class PullLoop:
    """Runs a policy against an executor.

    Parameters
    ----------
    policy : Policy
        Decides the next pulls.
    game : object
        The game that the policy has started.
    executor : Executor
        Runs the pulls.
    reward : callable
        Function that returns the reward of an outcome.
    log : PullLog
        Collects the outcomes.
    problem : Problem
        The problem that the policy plays. Models at its highest level are not kept.
    window : int or None, default=None
        Maximum number of open pulls. If None, the executor decides. A policy that depends on the
        order of outcomes needs a number, which must not depend on the workers. Its outcomes are
        told in the order of the pulls, so that the result does not depend on which pull returns
        first.
    observer : PullObserver, optional
        Observes the loop.
    known : KnownFits or None, default=None
        Fits that are not made again. New ones are added to them before they are used.
    known_first : sequence of pairs of Pull and FitKey, default=()
        Known fits of the first arms that a policy that plans by time is told at the start.
    prices : Prices, optional
        The times of the fits, and the deadline; the executor has them, too.
    interrupt : Interrupt, optional
        The handler of signals.
    ensure : callable
        Called with the arm of each pull that the policy requests, to create the candidate of a
        new arm. The rewards that the policy has received by then do not depend on the workers.
    n_workers : int, default=1
        Number of workers.

    Notes
    -----
    The pulls of a policy that uses time are told in the order in which they returned. It is told
    first what is known, which takes no time.

    Attributes
    ----------
    models : dict of (arm, repetition) to Result
        The latest fit of each that may be trained further, without a model if it was known. There
        are none of eliminated arms and of the highest level: the number of surviving arms bounds
        the memory.
    """

    policy: Policy
    game: Any
    executor: Executor
    reward: Callable[[Outcome], float]
    log: PullLog
    problem: Problem
    window: int | None = None
    observer: PullObserver = field(default_factory=PullObserver)
    known: KnownFits | None = None
    known_first: Sequence[tuple[Pull, FitKey]] = ()
    prices: Prices = field(default_factory=Prices)
    interrupt: Interrupt = field(default_factory=Interrupt)
    ensure: Callable[[int], None] = lambda arm: None
    n_workers: int = 1
    _stopped_by: str | None = field(default=None, init=False)
    """Why no further pull starts; fits that are known are still read."""
    models: dict[tuple[int, int], Result] = field(default_factory=dict, init=False)
    _open: dict[Pull, FitKey | None] = field(default_factory=dict, init=False)
    _landed: dict[Pull, Outcome] = field(default_factory=dict, init=False)
    _may_ask: bool = field(default=True, init=False)
    _record_time: Callable[..., None] | None = field(default=None, init=False)
    _has_full_fit: bool = field(default=False, init=False)
    _is_called_off: bool = field(default=False, init=False)
    _has_begun: bool = field(default=False, init=False)
    """Whether there are results, or fits that are waited for."""

    def __post_init__(self) -> None:
        """Note whether the policy plans by time."""
        if isinstance(self.policy, GrowsArms) and self.policy.uses_time:
            self._record_time = self.game.record_time

    def run(self) -> str:
        """Run pulls until the policy is finished or the loop is stopped; return the reason."""
        try:
            self._tell_known()
            return self._run()
        except BaseException:
            # Results that have returned by now count, although nothing is waited for, and so do
            # the other known fits. Further errors must not hide the first one.
            self._stopped_by = "error"
            with suppress(Exception):
                self.executor.stop()
                for result in self.executor.wait_any(0):
                    self._land(result)
            with suppress(Exception):
                self._run()
            raise
        finally:
            self.interrupt.makes_results = True

    def _tell_known(self) -> None:
        """Tell the policy what is known of its first arms: small levels first, as in a search."""
        pulls = sorted(self.known_first, key=lambda known: known[0][1:])
        outcomes = [o for pull, key in pulls if (o := self._recalled(pull, key)) is not None]
        if not outcomes or self._record_time is None:
            return
        rewards = np.array([self.reward(outcome) for outcome in outcomes])
        seconds = np.array([outcome.seconds for outcome in outcomes])
        self.game.tell_known([outcome.pull for outcome in outcomes], rewards, seconds)
        self._record_time(None, 0.0, self.prices.left, self.n_workers)
        self.ensure(max(outcome.pull.arm for outcome in outcomes))

    def _run(self) -> str:
        while True:
            if self._decide():
                # The open pulls of a finished policy are waited for: they are already running.
                while len(self._landed) < len(self._open) and self._wait():
                    pass
                is_whole = len(self._landed) == len(self._open)
                return "policy" if is_whole or self._stopped_by is None else self._stopped_by
            if not self._open:
                if self._stopped_by is not None:
                    break
                problem = "is not finished, but asks for no pull while none is running"
                raise RuntimeError(f"{self.policy!r} {problem}: an error in the policy.")
            # After a stop, known fits are read as long as there may be any.
            if self._must_wait() and not self._wait() and not self._can_ask():
                break
        for pull in [pull for pull in self._open if pull in self._landed]:
            self._tell_pulls([pull])
        return self._stopped_by or "policy"

    def _decide(self) -> bool:
        """Tell outcomes and ask for pulls; return whether the policy is finished."""
        # BLAS gets one thread, unless that could slow down fits in threads of this process.
        with nullcontext() if self.executor.uses_threads else one_blas_thread():
            self._tell()
            is_finished = bool(self.game.is_finished)
            if not is_finished:
                self._ask()
        return is_finished

    def _wait(self) -> bool:
        """Wait for pulls; return whether more of them may return or be told."""
        if self._stopped_by == "error":
            return False
        is_stopped = self._is_stopped()
        is_late = self._stopped_by == "time_budget" and self._has_full_fit
        # The first fit, of the own model, is the answer if there is no time for more.
        has_answer = bool(self.log.places) or self.prices.first not in self._open
        gives_up = is_late and has_answer and self.executor.can_abandon
        patience = min(PATIENCE, max(0.0, self.prices.left_for_fits))
        try:
            results = self.executor.wait_any(patience if gives_up or not is_stopped else None)
        finally:
            self._has_begun = True
            if (raised := self.interrupt.raised) is not None:
                raise raised
        for result in results:
            self._land(result)
        if gives_up:
            self.log.abandoned += [result.outcome for result in self.executor.abandon()]
        return bool(results) or not is_stopped

    def _is_stopped(self) -> bool:
        """Return whether no further pull may start."""
        if self._stopped_by is None:
            signals = {
                "interrupt": self.interrupt.is_requested,
                "callback": self._is_called_off,
                "time_budget": self.prices.left_for_fits <= 0 and self._has_begun,
            }
            self._stopped_by = next((name for name, is_on in signals.items() if is_on), None)
            if self._stopped_by is not None:
                self.executor.stop()
        return self._stopped_by is not None

    def _ask(self) -> None:
        """Ask for pulls until there is no room or the policy needs rewards first.

        After a stop, ask once, for known outcomes. They are told before further ones are asked
        for, which may depend on them.
        """
        while self._can_ask():
            n_open = len(self._open)
            for pull in self.game.ask(self._room()):
                self._open_pull(pull)
            # If the policy requests nothing, it is not asked again before the next tell: the
            # number of such calls must not depend on the order in which pulls return.
            self._may_ask = len(self._open) > n_open
            if self._stopped_by is not None:
                return

    def _can_ask(self) -> bool:
        return self._may_ask and self._room() > 0

    def _room(self) -> int:
        """Return the number of pulls that may be requested."""
        is_stopped = self._stopped_by is not None
        if self.window is not None:
            most = self.window - len(self._open)
        elif is_stopped:  # pulls that are not known may come before those that are
            most = LOOK_AHEAD - (len(self._open) - len(self._landed))
        else:
            most = self.executor.room
        if self.executor.uses_threads and self.prices.is_blind:
            most = min(most, 1 - len(self._open))  # threads cannot be ended
        n_known = 0 if self.known is None else len(self.known.outcomes) - len(self.log.places)
        return min(most, n_known) if is_stopped else most

    def _open_pull(self, pull: Pull) -> None:
        self.problem.check(self.policy, pull)
        if pull in self._open or pull in self.log.outcomes:
            rule = "to evaluate an arm again, it must ask for another repetition"
            raise RuntimeError(f"{self.policy!r} asks for {pull} a second time; {rule}.")
        self.ensure(pull.arm)
        below = self.models.get((pull.arm, pull.repetition))
        levels, model = ((), None) if below is None else (below.outcome.levels, below.model)
        key = None if self.known is None else self.known.key(pull, levels)
        self._open[pull] = key
        if key is not None and (outcome := self._recalled(pull, key)) is not None:
            self._landed[pull] = outcome
        elif not self._is_stopped():
            self.prices.note_start(pull)
            context = self.observer.context_of(pull)
            keep_model = pull.level < self.problem.max_level
            self.executor.submit(Job(pull, model, levels, keep_model, context))

    def _recalled(self, pull: Pull, key: FitKey) -> Outcome | None:
        """Return the outcome of a known pull, or None."""
        outcome = None if self.known is None else self.known.find(pull, key)
        if self.known is not None and outcome is not None:
            self.log.places[pull] = self.known.places[key]
            self.log.record(outcome)
            self._take_in(Result(outcome), is_known=True)
            self._has_begun = True
        return outcome

    def _land(self, result: Result) -> None:
        outcome = result.outcome
        self.prices.record(outcome, self.executor.guard.task.candidates[outcome.pull.arm].params)
        if outcome.kind == "abandoned":
            self.log.abandoned.append(outcome)
            if not self._is_stopped():
                self._landed[outcome.pull] = outcome
            return
        self.log.record(outcome)  # first, so that it counts whatever happens next
        if result.lost is not None:
            self.log.lost_models.append(result.lost)
        if self.known is not None and (key := self._open[outcome.pull]) is not None:
            self.known.keep(key, outcome)
        self._landed[outcome.pull] = outcome
        self._take_in(result, is_known=False)

    def _take_in(self, result: Result, *, is_known: bool) -> None:
        outcome = result.outcome
        arm, level, repetition = outcome.pull
        is_full = level == self.problem.max_level
        if outcome.levels and not is_full:
            self.models[arm, repetition] = result
        else:
            self.models.pop((arm, repetition), None)
        self._has_full_fit |= is_full and outcome.error is None
        self._is_called_off |= self.observer.land(outcome, is_known=is_known) or result.stop

    def _must_wait(self) -> bool:
        is_whole = len(self._landed) == len(self._open)
        return not is_whole and (self.policy.order_free or not self._due())

    def _due(self) -> list[Pull]:
        """Return the pulls that can be told now.

        If their order matters, it is a single one, by default the oldest: the next pulls must not
        depend on how many pulls have returned.
        """
        if self.policy.order_free:
            return list(self._landed)
        first = next(iter(self._open if self._record_time is None else self._landed), None)
        return [first] if first in self._landed else []

    def _tell(self) -> None:
        # Batches are cheaper, and no pull can be submitted before there is room again. After a
        # stop, pulls that were asked for do not return.
        is_whole = len(self._landed) == len(self._open)
        waits = self.policy.order_free and self._stopped_by is None and not is_whole
        if (due := self._due()) and (not waits or self.executor.room > 0):
            self._tell_pulls(due)

    def _reward(self, outcome: Outcome) -> float:
        return np.nan if outcome.kind == "abandoned" else self.reward(outcome)

    def _tell_pulls(self, pulls: list[Pull]) -> None:
        outcomes = [self._landed.pop(pull) for pull in pulls]
        for outcome in outcomes:
            del self._open[outcome.pull]
            if self._record_time is not None:
                left = self.prices.left
                self._record_time(outcome.pull, outcome.seconds, left, self.n_workers)
            self.game.tell(outcome.pull, self._reward(outcome))
        if self.prices.may_lack_refit:
            self.prices.expect_refit(self.game.recommend())
        self.observer.told()
        self._may_ask = True
        if self.models:
            is_alive = alive_arms(self.game, self.problem.n_arms)
            self.models = {place: r for place, r in self.models.items() if is_alive[place[0]]}
