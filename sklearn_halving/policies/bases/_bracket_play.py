"""The play of one bracket of successive halving, for a single problem.

Arms that enter a rung together form a group, and are judged together. In successive halving, a
group is a whole rung. With gradual promotions, every arm is a group of its own. The arms of a last
rung may race on one split against the `Incumbent`, the best arm of earlier brackets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from math import isnan
from typing import cast

import numpy as np
from scipy.special import ndtr, stdtrit

from sklearn_halving.policies._arrays import BoolArray, FloatArray
from sklearn_halving.policies._types import Bracket, ClosedRung, Pull, Rung

Z = 1.0
"""Number of standard errors by which a dropped arm is behind."""
MAX_FINALISTS = 100
"""Number of latest finalists from which the noise is estimated."""
MIN_SPLITS = 3
"""With fewer splits there is no race: the noise would be known too badly."""


@dataclass(frozen=True)
class Incumbent:
    """The best arm of earlier brackets."""

    rewards: FloatArray
    """Its rewards. Shape ``(n_repetitions,)``."""
    tolerance: float
    """The largest difference on one split with which another arm is not behind."""

    def is_ahead_of(self, rewards: FloatArray, repetition: int) -> BoolArray:
        """Return which rewards on a split are behind by more than the noise, or NaN."""
        is_close: BoolArray = self.rewards[repetition] - rewards <= self.tolerance
        return ~is_close

    def corrected(self, rewards: FloatArray, repetition: int) -> FloatArray:
        """Return estimates of the means of arms from their rewards on one split."""
        return self.rewards.mean() + rewards - self.rewards[repetition]


def noise_tolerance(table: FloatArray) -> float | None:
    """Return `Z` standard errors of a difference on one split, None if nothing is known.

    Parameters
    ----------
    table : ndarray of shape (n_arms, n_repetitions)
        Finite rewards. Equal arms count once, as they say nothing about the noise. The noise is
        what the effects of the arms and of the splits do not explain. The quantile of Student's
        distribution takes into account that few arms tell little about it.
    """
    table = np.unique(table, axis=0)
    n_free = (len(table) - 1) * (table.shape[1] - 1)
    if n_free < 1:
        return None
    means = table.mean(axis=1, keepdims=True)
    residuals = table - means - table.mean(axis=0) + table.mean()
    variance = (residuals**2).sum() / n_free
    return float(stdtrit(n_free, ndtr(Z)) * np.sqrt(2 * variance))


@dataclass
class Finalists:
    """The arms with a reward on each split, added in the order of their brackets."""

    incumbents: list[Incumbent | None] = field(default_factory=lambda: [None])
    """The incumbent after the first 0, 1, 2, ... brackets."""
    _best: FloatArray | None = None
    _latest: deque[FloatArray] = field(default_factory=partial(deque, maxlen=MAX_FINALISTS))

    def add(self, rewards: FloatArray) -> None:
        """Add the arms of the last rung of a bracket, shape (n_arms, n_repetitions)."""
        for row in rewards[np.isfinite(rewards).all(axis=1)]:
            self._latest.append(row)
            if self._best is None or row.mean() > self._best.mean():
                self._best = row
        incumbent = None
        if self._best is not None:
            tolerance = noise_tolerance(np.array(self._latest))
            incumbent = None if tolerance is None else Incumbent(self._best, tolerance)
        self.incumbents.append(incumbent)


Key = tuple[float, int, int]
"""Arms with smaller keys are promoted first. The last entry is the arm."""
PromotionRule = Callable[[Sequence[int], FloatArray, FloatArray], list[Key]]
"""Returns a key for each arm, given the arms, their mean rewards, and their rewards by split."""


@dataclass
class RungPlay:
    """A rung that arms enter, together or one after the other."""

    plan: Rung
    pulls: deque[Pull] = field(default_factory=deque)
    """Pulls that are not yet requested."""
    groups: deque[Group] = field(default_factory=deque)
    """Groups that are not yet judged, in the order in which they entered."""
    means: dict[int, float] = field(default_factory=dict)
    """Maps arms that have all their rewards to the mean. NaN if one of them is NaN."""
    waiting: list[Key] = field(default_factory=list)
    """Heap of the judged arms that are not promoted and have not failed."""
    n_entered: int = 0
    n_judged: int = 0
    """Number of arms that entered, and of those that are judged."""

    @property
    def leader(self) -> tuple[float, int] | None:
        """The largest mean, and minus its arm, so that ties go to the smaller arm."""
        known = ((mean, -arm) for arm, mean in self.means.items() if not isnan(mean))
        return max(known, default=None)


@dataclass
class Group:
    """Arms that entered a rung together."""

    rung: RungPlay
    arms: list[int]
    n_left: int = 0
    """Number of pulls without a reward."""
    keys: list[Key] | None = None
    """Keys of the arms that have not failed. None until all rewards are known."""


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
    race_split : int or None
        The split on which the arms of the last rung are compared with the best arm of earlier
        brackets, before any of them is pulled on the other splits. None if there is no race.

    Attributes
    ----------
    rungs : list of RungPlay
    closed : list of ClosedRung
        The results of the complete rungs.
    dropped : dict
        Maps arms that were dropped in the race to estimates of their means.
    """

    plan: Bracket
    entrants: Sequence[int]
    n_splits: int
    rule: PromotionRule
    alive: BoolArray
    is_gradual: bool = False
    race_split: int | None = None
    closed: list[ClosedRung] = field(default_factory=list)
    dropped: dict[int, float] = field(default_factory=dict)
    _group_of: dict[int, Group] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rungs = [RungPlay(rung) for rung in self.plan.rungs]
        self._first_arm = min(self.entrants, default=0)
        self._rewards = np.full((self.plan.n_arms, self.n_splits), np.nan)
        self._enter(0, self.entrants)

    @property
    def is_finished(self) -> bool:
        """Whether no pull is left, neither in flight nor to be requested."""
        return len(self.closed) == len(self.rungs)

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
        if group.n_left == 0 and not self.awaits_incumbent:
            self._rank(group)

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
        n_splits = rung.plan.n_splits(self.n_splits)
        splits: Sequence[int] = range(rung.plan.first_repetition, n_splits)
        if self.race_split is not None and rung is self.rungs[-1]:
            splits = [self.race_split]
        groups = [[arm] for arm in arms] if self.is_gradual else [sorted(arms)]
        for together in filter(None, groups):
            group = Group(rung, together)
            rung.groups.append(group)
            rung.n_entered += len(together)
            self._group_of |= dict.fromkeys(together, group)
            self._pull(group, together, splits)

    def _pull(self, group: Group, arms: list[int], splits: Sequence[int]) -> None:
        """Plan the pulls of arms on splits."""
        level = group.rung.plan.level
        group.rung.pulls.extend(Pull(arm, level, split) for split in splits for arm in arms)
        group.n_left += len(arms) * len(splits)

    def _rank(self, group: Group) -> None:
        """Rank the arms of a group that has all its rewards."""
        rung, rows = group.rung, [arm - self._first_arm for arm in group.arms]
        rewards = self._rewards[rows, : rung.plan.n_splits(self.n_splits)]
        means = rewards.mean(axis=1)
        rung.means |= zip(group.arms, means.tolist(), strict=True)
        keys = self.rule(group.arms, means, rewards)
        group.keys = [key for key in keys if not isnan(rung.means[key[-1]])]
        self._promote()

    def _promote(self) -> None:
        """Judge groups in the order in which they entered, and promote the best of their arms."""
        for place in range(len(self.closed), len(self.rungs)):
            rung = self.rungs[place]
            while rung.groups and rung.groups[0].keys is not None:
                self._judge(rung.groups.popleft())
                self._fill(place + 1)
            if self._is_complete(place):
                self._fill(place + 1)
                self.alive[[arm for *_, arm in rung.waiting]] = False
                means = {arm: self.dropped.get(arm, rung.means[arm]) for arm in sorted(rung.means)}
                arms = np.array([*means], dtype=np.int64)
                self.closed.append(ClosedRung(arms, rung.plan.level, np.array([*means.values()])))

    def _is_complete(self, place: int) -> bool:
        """Return whether a rung has just judged all arms that will ever be in it."""
        return place == len(self.closed) and not self.rungs[place].groups

    def _judge(self, group: Group) -> None:
        """Let the arms of a group that have not failed wait for their promotion."""
        rung, keys = group.rung, group.keys or []
        rung.n_judged += len(group.arms)
        for key in keys:
            heappush(rung.waiting, key)
        self.alive[group.arms] = False
        self.alive[[arm for *_, arm in keys]] = rung is not self.rungs[-1]

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

    @property
    def awaits_incumbent(self) -> bool:
        """Whether the arms of the last rung are known on one split, and no more are planned."""
        groups = self.rungs[-1].groups
        return self.race_split is not None and bool(groups) and groups[0].n_left == 0

    def finalists(self) -> FloatArray:
        """Return the rewards of the arms of the last rung, shape (n_arms, n_splits)."""
        return self._rewards[[arm - self._first_arm for arm in sorted(self.rungs[-1].means)]]

    def end_race(self, incumbent: Incumbent | None) -> None:
        """Pull the arms of the last rung that are not behind on the other splits, too."""
        split, self.race_split = cast(int, self.race_split), None
        (group,) = self.rungs[-1].groups
        arms = np.array(group.arms)
        rewards = self._rewards[arms - self._first_arm, split]
        is_behind, estimates = np.isnan(rewards), rewards
        if incumbent is not None:
            is_behind = incumbent.is_ahead_of(rewards, split)
            estimates = incumbent.corrected(rewards, split)
        behind, others = arms[is_behind], [i for i in range(self.n_splits) if i != split]
        self.dropped = dict(zip(behind.tolist(), estimates[is_behind].tolist(), strict=True))
        self.alive[behind] = False
        self._rewards[behind - self._first_arm] = np.nan
        self._pull(group, arms[~is_behind].tolist(), others)
        if group.n_left == 0:
            self._rank(group)
