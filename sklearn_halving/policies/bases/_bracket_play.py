"""The play of one bracket of successive halving, for a single problem.

Arms that enter a rung together form a group, and are judged together. In successive halving, a
group is a whole rung. With gradual promotions, every arm is a group of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import isnan

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray
from sklearn_halving.policies._plan import Bracket, Round
from sklearn_halving.policies._types import Pull

Key = tuple[float, int, int]
"""Arms with smaller keys are promoted first. The last entry is the arm."""
PromotionRule = Callable[[Sequence[int], FloatArray, FloatArray], list[Key]]
"""Returns a key for each arm, given the arms, their mean rewards, and their rewards by split."""


@dataclass
class RungPlay:
    """A rung that arms enter, together or one after the other.

    Parameters
    ----------
    pulls : deque[Pull]
        Pulls that are not yet requested.
    groups : deque[Group]
        Groups that are not yet judged, in the order in which they entered.
    means : dict[int, float]
        Maps arms that have all their rewards to the mean. NaN if one of them is NaN.
    waiting : list[Key]
        Heap of the judged arms that are not promoted and have not failed.
    works : ndarray of bool
        The splits on which an arm that is judged has a reward.
    """

    plan: Round
    pulls: deque[Pull] = field(default_factory=deque)
    groups: deque[Group] = field(default_factory=deque)
    means: dict[int, float] = field(default_factory=dict)
    waiting: list[Key] = field(default_factory=list)
    works: BoolArray | bool = False
    # Number of arms that entered, and of those that are judged.
    n_entered: int = 0
    n_judged: int = 0

    @property
    def leader(self) -> tuple[float, int] | None:
        """The largest mean, and minus its arm, so that ties go to the smaller arm."""
        known = ((mean, -arm) for arm, mean in self.means.items() if not isnan(mean))
        return max(known, default=None)


@dataclass
class Group:
    """Arms that entered a rung together.

    Parameters
    ----------
    n_left : int
        Number of pulls without a reward.
    """

    rung: RungPlay
    arms: list[int]
    n_left: int = 0


@dataclass
class BracketPlay:
    """A bracket in play: pull the arms of a rung, promote the best of them, and repeat.

    With groups of whole rungs, this is the loop of successive halving (Jamieson and Talwalkar
    2016, Fig. 3), which is the inner loop of Hyperband (Li et al. 2018, Algorithm 1, lines 5 to
    10).

    Parameters
    ----------
    plan : Bracket
        The rungs.
    entrants : sequence of int
        The arms that enter the first rung at the start, in this order: consecutive numbers.
    n_splits : int
        Number of splits of the problem.
    rule : callable
        Ranks arms for their promotion.
    alive : ndarray of shape (n_arms of the problem,)
        Set to False for arms that cannot be pulled any more.
    is_gradual : bool
        Whether arms are judged and promoted one by one, in the order in which they entered, and
        not when their rung is complete.

    Attributes
    ----------
    rungs : list of RungPlay
    n_closed : int
        Number of complete rungs.

    Notes
    -----
    A split on which every arm of a rung failed so far says nothing, and the arms are compared on
    the others. If every arm of a rung failed, the first ones go on to the next.
    """

    plan: Bracket
    entrants: Sequence[int]
    n_splits: int
    rule: PromotionRule
    alive: BoolArray
    is_gradual: bool = False
    n_closed: int = 0
    _group_of: dict[int, Group] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rungs = [RungPlay(rung) for rung in self.plan.rounds]
        self._first_arm = min(self.entrants, default=0)
        self._rewards = np.full((self.plan.n_arms, self.n_splits), np.nan)
        self._enter(0, self.entrants)

    @property
    def is_finished(self) -> bool:
        """Whether no pull is left, neither in flight nor to be requested."""
        return self.n_closed == len(self.rungs)

    def ask(self, max_pulls: int) -> list[Pull]:
        """Return pulls of the highest rung that has some: one if promotions are gradual."""
        pulls = next((rung.pulls for rung in reversed(self.rungs) if rung.pulls), deque[Pull]())
        n = min(len(pulls), 1 if self.is_gradual else max_pulls)
        return [pulls.popleft() for _ in range(n)]

    def tell(self, pull: Pull, reward: float) -> None:
        """Take in a reward. If it is the last one of a group, arms may be promoted."""
        self._rewards[pull.arm - self._first_arm, pull.repetition] = reward
        group = self._group_of[pull.arm]
        group.n_left -= 1
        if group.n_left == 0:
            self._promote()

    def leader(self, by_level: bool) -> tuple[float, int] | None:
        """Return the largest mean of the arms that can be recommended, and minus the arm."""
        # Of two rungs at the same level, the later one is on more splits.
        leaders = {
            rung.plan.level: leader for rung in self.rungs if (leader := rung.leader) is not None
        }
        if by_level:
            return leaders.get(self.rungs[-1].plan.level)
        return max(leaders.values(), default=None)

    def _enter(self, place: int, arms: Sequence[int]) -> None:
        """Let arms enter a rung: one after the other, or together in increasing order."""
        rung = self.rungs[place]
        splits = range(rung.plan.first_repetition, rung.plan.n_splits(self.n_splits))
        groups = [[arm] for arm in arms] if self.is_gradual else [sorted(arms)]
        for together in filter(None, groups):
            group = Group(rung, together, len(together) * len(splits))
            rung.groups.append(group)
            rung.n_entered += len(together)
            self._group_of |= dict.fromkeys(together, group)
            level = rung.plan.level
            rung.pulls.extend(Pull(arm, level, split) for split in splits for arm in together)

    def _promote(self) -> None:
        """Judge groups in the order in which they entered, and promote the best of their arms."""
        for place in range(self.n_closed, len(self.rungs)):
            rung = self.rungs[place]
            while rung.groups and rung.groups[0].n_left == 0:
                self._judge(rung.groups.popleft())
                self._fill(place + 1)
            if self._is_complete(place):
                if rung.leader is None:  # it decides nothing
                    rung.waiting = [(0.0, 0, arm) for arm in sorted(rung.means)]
                self._fill(place + 1)
                out = [arm for arm in rung.means if self._group_of[arm].rung is rung]
                self.alive[out] = False
                self.n_closed += 1

    def _is_complete(self, place: int) -> bool:
        """Return whether a rung has just judged all arms that will ever be in it."""
        return place == self.n_closed and not self.rungs[place].groups

    def _judge(self, group: Group) -> None:
        """Let the arms of a group that have not failed wait for their promotion."""
        rung, rows = group.rung, [arm - self._first_arm for arm in group.arms]
        rewards = self._rewards[rows, : rung.plan.n_splits(self.n_splits)]
        works = rung.works | ~np.isnan(rewards).all(axis=0)
        if works.any():
            rung.works, rewards = works, rewards[:, works]
        means = rewards.mean(axis=1)
        rung.means |= zip(group.arms, means.tolist(), strict=True)
        rung.n_judged += len(group.arms)
        for key in self.rule(group.arms, means, rewards):
            if not isnan(rung.means[key[-1]]):
                heappush(rung.waiting, key)

    def _fill(self, place: int) -> None:
        """Promote the best arms that wait below a rung, as many as it has places.

        Its places open in proportion to the arms that are judged below. If all are, those of arms
        that failed are filled, too.
        """
        if place < len(self.rungs):
            below, rung = self.rungs[place - 1], self.rungs[place]
            n_places = rung.plan.n_arms
            if not self._is_complete(place - 1):
                n_places = below.n_judged * rung.plan.n_arms // below.plan.n_arms
            n = min(len(below.waiting), n_places - rung.n_entered)
            self._enter(place, [heappop(below.waiting)[-1] for _ in range(n)])
