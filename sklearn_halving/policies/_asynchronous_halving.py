"""Successive halving that promotes arms before their rung is complete.

`AsynchronousHalving` (ASHA) promotes in the order of a virtual clock, `AsynchronousBrackets` in
the order in which arms entered, within the plan of another policy.
"""

from __future__ import annotations

from bisect import bisect, insort
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop
from math import floor
from typing import ClassVar, cast

import numpy as np

from sklearn_halving._checks import Count, refuse_unless
from sklearn_halving.policies._arrays import BoolArray
from sklearn_halving.policies._successive_halving import (
    BracketsGame,
    ScheduledPolicy,
    promotion_keys,
)
from sklearn_halving.policies._types import (
    NO_ARM,
    Bracket,
    PolicyDescription,
    Problem,
    Pull,
    Rung,
    Schedule,
)
from sklearn_halving.policies.bases._bracket_play import BracketPlay, Key
from sklearn_halving.policies.bases._parameter_checks import check_budget
from sklearn_halving.policies.bases._rungs import Factor, exact_factor, floor_log
from sklearn_halving.policies.bases._separate_games import SeparateGames, SeparateState


class Promotions(BracketPlay):
    """Asynchronous halving of a single problem, as one bracket in the order of a virtual clock.

    Parameters
    ----------
    rungs : tuple of Rung
        From the smallest level to the largest. Each has room for all arms.
    n_splits : int
        Number of splits of the problem.
    policy : AsynchronousHalving
    """

    def __init__(
        self, rungs: tuple[Rung, ...], n_splits: int, policy: AsynchronousHalving
    ) -> None:
        alive = np.ones(rungs[0].n_arms, dtype=bool)
        super().__init__(Bracket(len(rungs) - 1, rungs), (), n_splits, promotion_keys, alive)
        self._factor, self._n_virtual = float(policy.factor), policy.pulls_in_flight
        self._n_left, self.clock = int(policy.n_pulls), 0.0
        self._ends: dict[Pull, float] = {}
        self._promoted: list[list[Key]] = [[] for _ in rungs]

    @property
    def is_finished(self) -> bool:
        """Whether there is no pull left."""
        is_planned = any(rung.pulls for rung in self.rungs)
        return not self._ends and not is_planned and self._next() is None

    def ask(self, max_pulls: int) -> list[Pull]:
        """Return the next pull. A virtual worker starts it at the present time of the clock."""
        if len(self._ends) == self._n_virtual:
            return []
        place = None if any(rung.pulls for rung in self.rungs) else self._next()
        if place is not None:
            self._start(place)
        asked = super().ask(1)
        self._ends |= {pull: self.clock + pull.level for pull in asked}
        return asked

    def tell(self, pull: Pull, reward: float) -> None:
        """Take in a reward, and move the clock to the end of the pull."""
        self.clock = max(self.clock, self._ends.pop(pull))
        super().tell(pull, reward)

    def first_to_tell(self) -> Pull | None:
        """Return the pull in flight that ends first by the virtual clock."""
        return min(self._ends, key=self._ends.__getitem__, default=None)

    def out(self) -> BoolArray:
        """Return the arms that failed, or are at the largest level with all rewards."""
        return ~self.alive

    def best(self) -> int:
        """Return the best arm of the highest rung that has one."""
        leaders = [rung.leader for rung in reversed(self.rungs)]
        return -next(filter(None, leaders), (0.0, -NO_ARM))[1]

    def _promote(self) -> None:
        """Let arms wait for their promotion as soon as they have all rewards."""
        for rung in self.rungs:
            for group in [group for group in rung.groups if group.keys is not None]:
                rung.groups.remove(group)
                self._judge(group)

    def _next(self) -> int | None:
        """Return the rung that an arm enters next (procedure get_job); None to wait or to end."""
        may_start = self.rungs[0].n_entered < self.plan.n_arms and self._is_affordable(0)
        for place in reversed(range(1, len(self.rungs))):
            below = self.rungs[place - 1]
            # If no arm can be started and the rung is complete, its best arm goes on in any case.
            is_complete = not may_start and not any(rung.groups for rung in self.rungs[:place])
            n_best = max(floor(below.n_judged / self._factor), int(is_complete))
            # Arms that failed in the next rung do not take the place of others.
            n_best += self.rungs[place].n_judged - self._n_known(place)
            # All arms that rank before the best one that waits have been promoted.
            is_top = below.waiting and bisect(self._promoted[place - 1], below.waiting[0]) < n_best
            if is_top and self._is_affordable(place):
                return place
        return 0 if may_start else None

    def _n_known(self, place: int) -> int:
        """Return the number of arms that have a mean in a rung."""
        return len(self.rungs[place].waiting) + len(self._promoted[place])

    def _is_affordable(self, place: int) -> bool:
        """Return whether an arm that starts there leaves enough pulls for one at the top.

        They are kept until an arm has a mean there, in case the first ones fail.
        """
        n_splits = [rung.plan.n_splits(self.n_splits) for rung in self.rungs]
        highest = max(i for i in range(len(n_splits)) if i <= place or self._n_known(i))
        return n_splits[place] + sum(n_splits[highest + 1 :]) <= self._n_left

    def _start(self, place: int) -> None:
        """Let the best arm of the rung below enter a rung, or a new arm the first one."""
        arm = self.rungs[0].n_entered
        if place:
            key = heappop(self.rungs[place - 1].waiting)
            insort(self._promoted[place - 1], key)
            arm = key[-1]
        self._n_left -= self.rungs[place].plan.n_splits(self.n_splits)
        self._enter(place, [arm])


@dataclass(frozen=True)
class AsynchronousHalving(SeparateGames):
    """Successive halving that promotes an arm as soon as its rung allows (ASHA).

    Successive halving waits until a rung is complete, and workers idle. Here, an arm is promoted
    to the next rung whenever a worker is free and the arm is among the best ``1 / factor`` of the
    results of its rung so far. The highest rung comes first. If no arm can be promoted, a new arm
    starts in the lowest rung. The price is some promotions that later results do not confirm.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls of all arms together. The pulls that are needed to bring one arm
        to the largest level are reserved until an arm has a mean there.
    factor : float, default=3
        The paper's eta, at least 2: the ratio of consecutive levels, and the share of arms that
        are promoted is one of ``factor``.
    early_repetitions : int or None, default=None
        Number of splits on which an arm is pulled below the largest level. None means all.
    pulls_in_flight : int, default=8
        Number of virtual workers, which is the maximum number of pulls in flight. The result
        depends on it, but not on the number of workers. More workers than this idle.

    Notes
    -----
    In the paper, promotions follow the order in which results arrive, which differs from run to
    run. Here they follow a virtual clock, on which a pull takes as long as its level, so that the
    result is the same for any number of workers. A caller that has several pulls in flight should
    tell the pull of `first_to_tell` next. If the real durations are proportional to the levels,
    nobody waits for the clock. If they vary, workers wait for slow pulls: in simulations with
    stragglers, as many pulls took 1.7 times as long as in the order of arrival with eight workers,
    and 2.5 times as long with 128. The order of `AsynchronousBrackets` costs at most 2 %.

    If no arm is left to be started and a rung is complete, its best arm is promoted even if it is
    the only one, so that a small number of arms reaches the largest level.

    References
    ----------
    Li et al. A system for massively parallel hyperparameter tuning. MLSys 2020, Algorithm 2.
    https://arxiv.org/abs/1810.05934

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import AsynchronousHalving, Problem
    >>> policy = AsynchronousHalving(n_pulls=60)
    >>> state = policy.start(Problem(n_arms=40, min_level=1, max_level=27))
    >>> limits = np.random.default_rng(0).permutation(40)
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=8)
    ...     policy.tell(state, pulls, limits[pulls.arm] - 1 / pulls.level)
    >>> int(limits[policy.recommend(state)])
    39
    """

    plays_levels: ClassVar[bool] = True

    n_pulls: Count
    factor: Factor = 3
    early_repetitions: Count | None = None
    pulls_in_flight: Count = 8

    def _new_game(self, problem: Problem, rng: np.random.Generator) -> Promotions:
        n_splits = problem.max_repetitions or 1
        *levels, largest = self._levels(problem)
        rungs = [Rung(problem.n_arms, level, self.early_repetitions) for level in levels]
        rungs.append(Rung(problem.n_arms, largest))
        least = sum(rung.n_splits(n_splits) for rung in rungs)
        check_budget("n_pulls", self.n_pulls, least, "to bring one arm to the largest level")
        return Promotions(tuple(rungs), n_splits, self)

    def _levels(self, problem: Problem) -> list[int]:
        """Return ``floor(R eta^-k)`` for all k for which it is not below the smallest level."""
        factor = exact_factor(self.factor)
        n_more = floor_log(max(1, problem.max_level // problem.min_level), factor)
        return [floor(problem.max_level / factor**k) for k in reversed(range(n_more + 1))]

    def first_to_tell(self, state: SeparateState) -> Pull | None:
        """Return the pull in flight of a single problem that ends first by the virtual clock."""
        return cast(Promotions, state.games[0]).first_to_tell()


@dataclass(frozen=True)
class AsynchronousBrackets(ScheduledPolicy):
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

    brackets: ScheduledPolicy

    def __post_init__(self) -> None:
        """Validate the parameter."""
        rule = "be a policy that plans brackets, such as Hyperband()"
        refuse_unless(isinstance(self.brackets, ScheduledPolicy), "brackets", rule, self.brackets)
        rule = "compare all candidates of the last rung on all splits (races=False)"
        refuse_unless(not self.brackets.races, "brackets", rule, self.brackets)

    def schedule(self, min_level: int, max_level: int, n_available: int | None = None) -> Schedule:
        """Return the planned brackets."""
        return self.brackets.schedule(min_level, max_level, n_available)

    def describe(self, problem: Problem | None = None) -> PolicyDescription:
        """Return the description of the policy that plans the brackets."""
        return self.brackets.describe(problem)

    def order_of_play(self, schedule: Schedule) -> Sequence[int]:
        """Return the places of the brackets in the order in which they are started."""
        return self.brackets.order_of_play(schedule)

    def _new_game(self, problem: Problem, rng: np.random.Generator) -> BracketsGame:
        game = self.brackets._new_game(problem, rng)
        game.is_gradual = True
        return game
