"""Brackets of successive halving that promote arms before their rung is complete."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import takewhile, zip_longest
from math import isnan
from typing import ClassVar

import numpy as np

from sklearn_halving.policies._successive_halving import ScheduledPolicy
from sklearn_halving.policies._types import (
    NO_ARM,
    ClosedRung,
    PolicyDescription,
    Problem,
    Pull,
    Rung,
    Schedule,
)
from sklearn_halving.policies.bases._bracket_state import BracketsState, BracketState
from sklearn_halving.policies.bases._parameter_checks import refuse_unless
from sklearn_halving.policies.bases._separate_games import SeparateGames, SeparateState


@dataclass
class GrowingRung:
    """A rung that arms enter one after the other."""

    rung: Rung
    """The plan."""
    arms: list[int] = field(default_factory=list)
    """In the order in which they entered."""
    means: dict[int, float] = field(default_factory=dict)
    """Maps arms that have all their rewards to the mean. NaN if one of them is NaN."""
    leader: tuple[float, int] | None = None
    """The largest mean, and minus its arm."""
    n_judged: int = 0
    """The first ``n_judged`` arms have a mean and have been compared."""
    waiting: list[tuple[float, int, int]] = field(default_factory=list)
    """Heap of the judged arms that are not promoted: negative mean, tie break, arm."""
    is_closed: bool = False
    """Whether no further arm enters."""

    def add_mean(self, arm: int, mean: float) -> None:
        """Set the mean of an arm that has all its rewards."""
        self.means[arm] = mean
        if not isnan(mean):
            self.leader = max(self.leader or (mean, -arm), (mean, -arm))

    @property
    def is_complete(self) -> bool:
        """Whether all arms that will ever be in this rung have been judged."""
        return self.is_closed and self.n_judged == len(self.arms)

    def closed(self) -> ClosedRung:
        """Return the result of the rung."""
        arms = sorted(self.arms)
        means = np.array([self.means[arm] for arm in arms])
        return ClosedRung(np.array(arms), self.rung.level, means)


class AsynchronousBracket:
    """A bracket of a single problem.

    Parameters
    ----------
    state : BracketState
        The bracket before its first pull.
    tie_break : sequence of int or None
        A number for each arm of the problem; see `Problem`.
    """

    def __init__(self, state: BracketState, tie_break: Sequence[int] | None) -> None:
        self._state, self._tie_break = state, tie_break
        self._n_all = state.rewards.shape[-1]
        self._planned: list[deque[Pull]] = [deque() for _ in state.bracket.rungs]
        self._n_left: dict[int, int] = {}
        self.rungs = [GrowingRung(rung) for rung in state.bracket.rungs]
        self.out: list[int] = []
        """Arms that cannot be pulled any more."""
        # In the order of the tie break, so that the order of the arms does not matter.
        for arm in sorted(state.arms.tolist(), key=self._order):
            self._enter(0, arm)
        self.rungs[0].is_closed = True

    @property
    def is_finished(self) -> bool:
        """Whether no pull is left, neither in flight nor to be requested."""
        return self.rungs[-1].is_complete

    def ask(self) -> Pull | None:
        """Return the next pull of the highest rung that has one."""
        planned = next((pulls for pulls in reversed(self._planned) if pulls), None)
        return planned.popleft() if planned else None

    def tell(self, pull: Pull, reward: float) -> None:
        """Take in a reward, and promote the arms whose turn it is."""
        row = self._state.rewards[pull.arm - self._state.first_arm]
        row[pull.repetition] = reward
        self._n_left[pull.arm] -= 1
        if self._n_left[pull.arm] == 0:
            place = self._state.bracket.rung_of(pull.level, pull.repetition)
            rung = self.rungs[place]
            rung.add_mean(pull.arm, float(row[: rung.rung.n_splits(self._n_all)].mean()))
            self._promote()
            left = self.rungs[len(self._state.closed) :]
            complete = takewhile(lambda rung: rung.is_complete and rung.arms, left)
            self._state.closed += [rung.closed() for rung in complete]

    def best(self, by_level: bool) -> tuple[float, int] | None:
        """Return the largest mean of the arms that can be recommended, and minus the arm."""
        last = self.rungs[-1].rung.level
        leaders: list[tuple[float, int]] = []
        for rung in self.rungs:
            if rung.leader is None or (by_level and rung.rung.level < last):
                continue
            if rung.rung.first_repetition:
                leaders.clear()  # the previous rung was at this level, on fewer splits
            leaders.append(rung.leader)
        return max(leaders, default=None)

    def _order(self, arm: int) -> tuple[int, int]:
        return (0 if self._tie_break is None else self._tie_break[arm]), arm

    def _enter(self, place: int, arm: int) -> None:
        """Plan the pulls of an arm in a rung."""
        rung = self.rungs[place]
        rung.arms.append(arm)
        first, end = rung.rung.first_repetition, rung.rung.n_splits(self._n_all)
        self._planned[place].extend(Pull(arm, rung.rung.level, j) for j in range(first, end))
        self._n_left[arm] = end - first

    def _promote(self) -> None:
        """Judge arms in the order in which they entered, and fill the places that this opens."""
        for place, (rung, above) in enumerate(zip_longest(self.rungs, self.rungs[1:])):
            while rung.n_judged < len(rung.arms) and rung.arms[rung.n_judged] in rung.means:
                self._judge(rung)
                if above is not None:
                    n_open = rung.n_judged * above.rung.n_arms // rung.rung.n_arms
                    self._fill(place + 1, n_open)
            if above is not None and rung.is_complete and not above.is_closed:
                self._fill(place + 1, above.rung.n_arms)  # arms that failed leave places empty
                above.is_closed = True
                self.out += [arm for *_, arm in rung.waiting]

    def _judge(self, rung: GrowingRung) -> None:
        arm = rung.arms[rung.n_judged]
        rung.n_judged += 1
        if not isnan(rung.means[arm]):
            heappush(rung.waiting, (-rung.means[arm], *self._order(arm)))
        if isnan(rung.means[arm]) or rung is self.rungs[-1]:
            self.out.append(arm)

    def _fill(self, place: int, n_arms: int) -> None:
        """Promote the best arms that wait until a rung has ``n_arms`` arms."""
        waiting = self.rungs[place - 1].waiting
        while waiting and len(self.rungs[place].arms) < n_arms:
            self._enter(place, heappop(waiting)[-1])


@dataclass
class AsynchronousGame:
    """The brackets of a single problem."""

    policy: ScheduledPolicy
    """The policy whose brackets are played."""
    problem: Problem
    play: BracketsState
    """The state of the policy before its first pull, which holds the schedule and the brackets in
    play."""
    by_level: bool
    """Whether only arms at the last level of their bracket can be recommended."""
    n_open: int = 0
    _brackets: dict[int, AsynchronousBracket] = field(default_factory=dict)
    _leaders: dict[int, tuple[float, int]] = field(default_factory=dict)
    """The best mean of each bracket that has one, and minus its arm."""

    @property
    def is_finished(self) -> bool:
        """Whether all brackets are finished."""
        return not self.play.open_brackets

    def ask(self) -> Pull | None:
        """Return the next pull of the first bracket in the order of play that has one."""
        for place in self.policy.in_play(self.play):
            if place not in self._brackets:
                bracket = self.play.brackets[place]
                self._brackets[place] = AsynchronousBracket(bracket, self.problem.tie_break)
            pull = self._brackets[place].ask()
            if pull is not None:
                self.n_open += 1
                return pull
        return None

    def tell(self, pull: Pull, reward: float) -> None:
        """Take in the reward of a pull."""
        self.n_open -= 1
        place = int(self.play.bracket_of_arm[pull.arm])
        bracket = self._brackets[place]
        bracket.tell(pull, reward)
        leader = bracket.best(self.by_level)
        if leader is not None:
            self._leaders[place] = leader
        if bracket.is_finished:
            self.play.open_brackets.remove(place)

    def out(self) -> list[int]:
        """Return the arms that cannot be pulled any more."""
        return [arm for bracket in self._brackets.values() for arm in bracket.out]

    def best(self) -> int:
        """Return the arm with the best mean; ``NO_ARM`` if there is none."""
        return -max(self._leaders.values())[1] if self._leaders else NO_ARM


@dataclass(frozen=True)
class AsynchronousBrackets(SeparateGames):
    """Brackets of another policy, with promotions that do not wait for complete rungs.

    Successive halving promotes the best arms of a rung when the rung is complete. Until then,
    workers may idle. Here, the places of the next rung are given away one by one: when the first m
    of the n arms of a rung are known, the next rung may have ``floor(m * n_next / n)`` arms, the
    best of these m that are not yet promoted. Rungs and numbers of pulls are those of the policy
    that plans them. The price is that an arm may be promoted before a better one is known.

    Parameters
    ----------
    brackets : Hyperband, FiniteHorizonHalving or GridHalving
        The policy that plans the brackets.

    Notes
    -----
    Asynchronous successive halving (ASHA, [1]_) counts the arms of a rung in the order in which
    their results arrive. Here, the arms of a rung are counted in the order in which they entered
    it. A promotion therefore waits for the slowest of the arms before it, but the result does not
    depend on the number of workers or on their speed.

    ASHA promotes an arm whenever it is among the best ``1 / eta`` of its rung so far, which may be
    more than ``1 / eta`` of all arms. As in [2]_, a rung never gets more arms than that share of
    the rung below, so that the number of pulls is known in advance.

    References
    ----------
    .. [1] Li et al. A system for massively parallel hyperparameter tuning. MLSys 2020,
       Algorithm 2 and section 3.3. https://arxiv.org/abs/1810.05934
    .. [2] Li et al. Hyper-Tune: towards efficient hyper-parameter tuning at scale. VLDB 2022,
       asynchronous scheduling. https://arxiv.org/abs/2201.06834

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import AsynchronousBrackets, Hyperband, Problem
    >>> policy = AsynchronousBrackets(Hyperband(brackets="most_exploratory"))
    >>> n_arms = policy.schedule(1, 27).n_arms
    >>> state = policy.start(Problem(n_arms, min_level=1, max_level=27))
    >>> limits = np.random.default_rng(0).permutation(n_arms)
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=1)
    ...     policy.tell(state, pulls, limits[pulls.arm] - 1 / pulls.level)
    >>> int(limits[policy.recommend(state)])
    26
    """

    order_free: ClassVar[bool] = True

    brackets: ScheduledPolicy

    def __post_init__(self) -> None:
        """Validate the parameter."""
        refuse_unless(
            isinstance(self.brackets, ScheduledPolicy),
            "brackets",
            "be a policy that plans brackets",
            self.brackets,
            "Give for example Hyperband().",
        )
        refuse_unless(
            not self.brackets.races,
            "brackets",
            "compare all arms of the last rung on all splits",
            self.brackets,
            "Use races=False: a race needs a complete rung.",
        )

    def schedule(
        self, min_level: int, max_level: int, n_available: int | None = None
    ) -> Schedule | None:
        """Return the planned brackets."""
        return self.brackets.schedule(min_level, max_level, n_available)

    def describe(self, problem: Problem | None = None) -> PolicyDescription:
        """Return the description of the policy that plans the brackets."""
        return self.brackets.describe(problem)

    def order_of_play(self, schedule: Schedule) -> Sequence[int]:
        """Return the places of the brackets in the order in which they are started."""
        return self.brackets.order_of_play(schedule)

    def rungs_before(self, state: SeparateState, place: int) -> list[ClosedRung]:
        """Return the rungs that are always closed when a bracket of a single problem starts."""
        game = state.games[0]
        if not isinstance(game, AsynchronousGame):
            return []
        return self.brackets.rungs_before((game.problem, game.play), place)

    def _new_game(self, problem: Problem, rng: np.random.Generator) -> AsynchronousGame:
        by_level = self.brackets.describe(problem).ranks_by_level
        return AsynchronousGame(self.brackets, *self.brackets.start(problem), by_level)
