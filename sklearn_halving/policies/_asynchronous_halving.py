"""Asynchronous successive halving (ASHA), in the order of a virtual clock."""

from __future__ import annotations

from bisect import bisect, insort
from dataclasses import dataclass
from heapq import heappop
from math import floor
from typing import ClassVar, cast

import numpy as np

from sklearn_halving._checks import Count
from sklearn_halving.policies._arrays import BoolArray
from sklearn_halving.policies._successive_halving import promotion_keys
from sklearn_halving.policies._types import NO_ARM, Bracket, Problem, Pull, Rung
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
