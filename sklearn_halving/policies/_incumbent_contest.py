"""The race of new arms against the incumbent on its splits, for a single problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isnan, sqrt

import numpy as np

from sklearn_halving.policies._types import NO_ARM, Pull

QUICK_SPLITS = 5
"""Number of splits up to which the incumbent gets one more with each new arm."""
ARMS_PER_SPLIT = 5
"""Number of new arms for each further split of the incumbent. An arm has to lead on all of its
splits, so that a good one would have to wait long if they were many from the start."""
LARGEST = 1e150
"""Rewards are clipped to this magnitude, so that squares of differences do not overflow."""


@dataclass(frozen=True)
class RaceRules:
    """Rules that decide when a new arm is dropped, and when it becomes the incumbent.

    Parameters
    ----------
    n_splits : int
        Number of splits of the winner.
    min_splits : int
        Number of splits after which a new arm may become the incumbent without a clear lead.
    z : float
        Number of pooled standard errors by which a new arm must be behind to be dropped early.
    n_racers : int
        Maximum number of pulls in flight, and of new arms that race at the same time.
    """

    n_splits: int
    min_splits: int = 3
    z: float = 1.0
    n_racers: int = 4


@dataclass
class Contest:
    """State of a race.

    Parameters
    ----------
    rules : RaceRules
    level : int
        Level of all pulls.
    n_left : int
        Number of remaining pulls.
    rng : numpy.random.Generator
        Chooses the split of the next pull of a new arm.
    entrants : list of int
        Arms in the order in which they enter. The first is the first incumbent.

    Attributes
    ----------
    incumbent : int
        The best arm so far; ``NO_ARM`` if there is none.
    rewards : dict
        Maps arms to their rewards, which are dicts with the splits as keys.
    dropped : set of int
        Arms that have been dropped.
    """

    rules: RaceRules
    level: int
    n_left: int
    rng: np.random.Generator
    entrants: list[int]
    incumbent: int = NO_ARM
    rewards: dict[int, dict[int, float]] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)
    _racers: list[int] = field(default_factory=list)
    _open: set[Pull] = field(default_factory=set)
    _n_entered: int = 0
    _n_raised: int = 0
    _squares: dict[int, tuple[float, int]] = field(default_factory=dict)

    def go_on_from(
        self, rewards: Mapping[int, Mapping[int, float]], best: int, entrants: Sequence[int]
    ) -> None:
        """Start with the rewards of an earlier part of the search.

        Rewards on splits from ``n_splits`` on are ignored, because the race never pulls them. So
        are arms with a NaN reward.

        Parameters
        ----------
        rewards : mapping of int to mapping
            Maps arms to their rewards, by split. Arms that are not in ``entrants`` are dropped.
        best : int
            The incumbent, unless it has a NaN reward.
        entrants : sequence of int
            The other arms, in the order in which they enter.
        """
        self.n_left -= sum(map(len, rewards.values()))
        for arm, of_arm in rewards.items():
            if not any(map(isnan, of_arm.values())):
                splits = [split for split in of_arm if split < self.rules.n_splits]
                self.rewards[arm] = {split: _clipped(of_arm[split]) for split in splits}
        if best in self.rewards:
            self.incumbent = best
        has_failed = rewards.keys() - self.rewards.keys()
        self.entrants = [arm for arm in entrants if arm not in has_failed]
        self.dropped = set(rewards.keys() - {best, *self.entrants})

    def ask(self, max_pulls: int = 1) -> list[Pull]:
        """Return the next pull; none if the race has to wait for rewards."""
        may_ask = self.n_left > 0 and len(self._open) < self.rules.n_racers
        pull = self._next() if may_ask else None
        if pull is None:
            return []
        self.n_left -= 1
        self._open.add(pull)
        return [pull]

    @property
    def is_finished(self) -> bool:
        """Return whether no pulls are left, and none are in flight."""
        if self._open or self.n_left <= 0:
            return not self._open
        has_rivals = self._racers or self._n_entered < len(self.entrants)
        return not has_rivals and (
            self.incumbent == NO_ARM or self._n_asked(self.incumbent) >= self.rules.n_splits
        )

    def tell(self, pull: Pull, reward: float) -> None:
        """Update the race with a reward, which may drop arms or change the incumbent."""
        self._open.discard(pull)
        arm = pull.arm
        if arm in self.dropped:
            return
        if isnan(reward):
            self._fail(arm)
            return
        self.rewards.setdefault(arm, {})[pull.repetition] = _clipped(reward)
        if self.incumbent == NO_ARM:
            self._racers.remove(arm)
            self.incumbent = arm
        elif arm in self._racers:
            self._judge(arm)
        elif arm == self.incumbent:
            self._judge_all()

    def out(self) -> list[int]:
        """Return the arms that were dropped."""
        return list(self.dropped)

    def best(self) -> int:
        """Return the incumbent, or the best arm if the incumbent has no reward yet."""
        if self.rewards.get(self.incumbent):
            return self.incumbent
        means = {arm: self._mean(arm) for arm in self.rewards}
        return max(means, key=lambda arm: (means[arm], -arm), default=NO_ARM)

    def _next(self) -> Pull | None:
        """Return the next pull. New arms enter until one of them has to be pulled."""
        while True:
            n_entered = self._n_entered
            pull = self._of_anyone()
            if pull is not None or self._n_entered == n_entered:
                return pull

    def _of_anyone(self) -> Pull | None:
        """Return a pull. The incumbent is first, followed by current races and a new arm."""
        if self.incumbent == NO_ARM:
            if self._racers or self._n_entered == len(self.entrants):
                return None  # the first racer with a reward becomes the incumbent
            self.incumbent = self._enter()
        n_asked = self._n_asked(self.incumbent)
        n_missing = max(0, self.rules.n_splits - n_asked)
        if n_asked < self._least_splits or (n_missing and self.n_left <= n_missing):
            return self._of_incumbent()
        for racer in self._racers:
            splits = self._untried(racer)
            is_open = any(pull.arm == racer for pull in self._open)
            # Further splits at the same time are for racers that are ahead of the incumbent.
            if splits and (not is_open or sum(self._differences(racer)) > 0):
                return Pull(racer, self.level, int(self.rng.choice(splits)))
        if self._n_entered < len(self.entrants) and len(self._racers) < self.rules.n_racers:
            return self._of_newcomer(n_asked)
        # All remaining racers are ahead, or there are none.
        is_waited_for = any(pull.arm == self.incumbent for pull in self._open)
        may_wait = self._racers and self._open
        if n_missing and not is_waited_for and not may_wait:
            return self._of_incumbent()
        return None

    def _of_newcomer(self, n_asked: int) -> Pull | None:
        """Return the pull of the incumbent that precedes a new arm, or the pull of the new arm.

        Return None if the new arm needs no pull, because of its rewards from before the race.
        """
        n_arms = 1 if n_asked < QUICK_SPLITS else ARMS_PER_SPLIT
        if n_asked < self.rules.n_splits and self._n_entered - self._n_raised >= n_arms:
            self._n_raised = self._n_entered
            return self._of_incumbent()
        splits = sorted(self.rewards.get(self.incumbent, ()))
        if not splits:
            return None
        newcomer = self._enter()
        self._racers.append(newcomer)
        self._judge(newcomer)
        splits = self._untried(newcomer)
        if newcomer not in self._racers or not splits:
            return None
        return Pull(newcomer, self.level, int(self.rng.choice(splits)))

    def _enter(self) -> int:
        self._n_entered += 1
        return self.entrants[self._n_entered - 1]

    @property
    def _least_splits(self) -> int:
        return min(self.rules.min_splits, self.rules.n_splits)

    def _n_asked(self, arm: int) -> int:
        n_open = sum(pull.arm == arm for pull in self._open)
        return len(self.rewards.get(arm, ())) + n_open

    def _of_incumbent(self) -> Pull:
        """Return a pull of the incumbent on its first split without a pull."""
        known = {*self.rewards.get(self.incumbent, ())}
        known |= {pull.repetition for pull in self._open if pull.arm == self.incumbent}
        split = next(i for i in range(self.rules.n_splits) if i not in known)
        return Pull(self.incumbent, self.level, split)

    def _untried(self, racer: int) -> list[int]:
        """Return the splits on which the incumbent has a reward and the racer has none."""
        asked = {*self.rewards.get(racer, ())}
        asked |= {pull.repetition for pull in self._open if pull.arm == racer}
        return sorted(self.rewards.get(self.incumbent, {}).keys() - asked)

    def _differences(self, racer: int) -> list[float]:
        """Return the rewards of a racer minus those of the incumbent, on their common splits."""
        own, other = self.rewards.get(racer, {}), self.rewards.get(self.incumbent, {})
        return [own[split] - other[split] for split in own if split in other]

    def _judge(self, racer: int) -> None:
        """Drop a racer that is behind, or make it the incumbent if it leads on all splits."""
        differences = np.array(self._differences(racer))
        n = len(differences)
        if n == 0:
            return
        mean = float(differences.mean())
        self._squares[racer] = float(((differences - mean) ** 2).sum()), n - 1
        error = self._pooled_error(n)
        is_open = any(pull.arm in (racer, self.incumbent) for pull in self._open)
        if mean + self.rules.z * error < 0:
            self._drop(racer)
        elif n == len(self.rewards[self.incumbent]) and not is_open:
            if mean <= 0:
                self._drop(racer)
            elif n >= self._least_splits or mean > 2 * error:
                self._crown(racer)

    def _pooled_error(self, n: int) -> float:
        """Return the standard error of a mean of n differences, pooled over all races."""
        squares, freedom = np.sum(list(self._squares.values()), axis=0)
        return sqrt(squares / freedom / n) if freedom else inf

    def _crown(self, racer: int) -> None:
        """Make a racer the incumbent, against which the other racers continue."""
        self.dropped.add(self.incumbent)
        self.incumbent = racer
        self._racers.remove(racer)
        self._judge_all()

    def _drop(self, racer: int) -> None:
        self.dropped.add(racer)
        self._racers.remove(racer)

    def _fail(self, arm: int) -> None:
        """Drop a failed arm. A failed incumbent is replaced by the best of its rivals."""
        self.rewards.pop(arm, None)
        if arm in self._racers:
            self._drop(arm)
            return
        self.dropped.add(arm)
        means = {racer: self._mean(racer) for racer in self._racers if self.rewards.get(racer)}
        self.incumbent = max(means, key=lambda racer: means[racer], default=NO_ARM)
        if self.incumbent != NO_ARM:
            self._racers.remove(self.incumbent)
            self._judge_all()

    def _judge_all(self) -> None:
        for racer in list(self._racers):
            if racer in self._racers:  # not yet dropped or crowned
                self._judge(racer)

    def _mean(self, arm: int) -> float:
        return float(np.mean(list(self.rewards[arm].values())))


def _clipped(reward: float) -> float:
    return min(max(reward, -LARGEST), LARGEST)
