"""Asynchronous successive halving (ASHA), in the order of a virtual clock."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import floor, isnan
from typing import ClassVar

import numpy as np

from sklearn_halving.policies._types import NO_ARM, Problem, Pull
from sklearn_halving.policies.bases._parameter_checks import Count, check_budget
from sklearn_halving.policies.bases._rungs import Factor, exact_factor, floor_log
from sklearn_halving.policies.bases._separate_games import SeparateGames, SeparateState


@dataclass
class RungScores:
    """Results of one rung."""

    level: int
    """Level of its pulls."""
    n_splits: int
    """Number of splits on which an arm is pulled."""
    rewards: dict[int, list[float]] = field(default_factory=dict)
    """Maps arms to their rewards so far."""
    mean: dict[int, float] = field(default_factory=dict)
    """Maps arms that have all their rewards to the mean. NaN if one of them is NaN."""
    promoted: set[int] = field(default_factory=set)
    """Arms that were started in the next rung."""
    n_open: int = 0
    """Number of arms that were started in this rung and do not have all rewards."""

    def ranking(self) -> list[int]:
        """Return the arms with a mean, the best first; ties by index."""
        known = [arm for arm, mean in self.mean.items() if not isnan(mean)]
        return sorted(known, key=lambda arm: (-self.mean[arm], arm))

    def promotable(self, n_best: int) -> int:
        """Return the best arm that is among the `n_best` and is not promoted, or ``NO_ARM``."""
        waiting = [arm for arm in self.ranking()[:n_best] if arm not in self.promoted]
        return waiting[0] if waiting else NO_ARM


@dataclass
class Promotions:
    """State of asynchronous halving of a single problem."""

    rungs: list[RungScores]
    """From the smallest level to the largest."""
    factor: float
    n_arms: int
    n_left: int
    """Number of pulls that are not yet planned."""
    clock: float = 0.0
    _n_started: int = 0
    _top: int = -1
    _planned: deque[Pull] = field(default_factory=deque)
    _ends: dict[Pull, float] = field(default_factory=dict)

    @property
    def n_open(self) -> int:
        """Number of pulls in flight."""
        return len(self._ends)

    @property
    def is_finished(self) -> bool:
        """Whether there is no pull left."""
        return not self._ends and not self._planned and self._next() is None

    def ask(self) -> Pull | None:
        """Return the next pull. A virtual worker starts it at the present time of the clock."""
        if not self._planned:
            following = self._next()
            if following is None:
                return None
            self._begin(*following)
        pull = self._planned.popleft()
        self._ends[pull] = self.clock + pull.level
        return pull

    def tell(self, pull: Pull, reward: float) -> None:
        """Take in a reward, and move the clock to the end of the pull."""
        self.clock = max(self.clock, self._ends.pop(pull))
        rung = next(rung for rung in self.rungs if rung.level == pull.level)
        rewards = rung.rewards[pull.arm]
        rewards.append(reward)
        if len(rewards) == rung.n_splits:
            # Sorted, so that rounding does not depend on the order of the splits.
            rung.mean[pull.arm] = float(np.mean(np.sort(rewards)))
            rung.n_open -= 1
            if not isnan(rung.mean[pull.arm]):
                self._top = max(self._top, self.rungs.index(rung))

    def first_to_tell(self) -> Pull | None:
        """Return the pull in flight that ends first by the virtual clock."""
        return min(self._ends, key=lambda pull: self._ends[pull], default=None)

    def out(self) -> list[int]:
        """Return the arms that failed, or are at the largest level with all rewards."""
        failed = [a for rung in self.rungs for a, mean in rung.mean.items() if isnan(mean)]
        return [*failed, *self.rungs[-1].mean]

    def best(self) -> int:
        """Return the best arm of the highest rung that has one."""
        rankings = [rung.ranking() for rung in reversed(self.rungs)]
        return next((ranking[0] for ranking in rankings if ranking), NO_ARM)

    def _next(self) -> tuple[int, int] | None:
        """Return the arm and the rung to start (procedure get_job); None to wait or to end."""
        may_start = self._n_started < self.n_arms and self._is_affordable(0)
        for place in reversed(range(len(self.rungs) - 1)):
            rung = self.rungs[place]
            share = len(rung.mean) / self.factor
            # If no arm can be started and the rung is complete, its best arm goes on in any case.
            is_complete = not may_start and not any(r.n_open for r in self.rungs[: place + 1])
            n_best = max(floor(share), int(is_complete))
            # Arms that failed in the next rung do not take the place of others.
            n_best += sum(isnan(mean) for mean in self.rungs[place + 1].mean.values())
            arm = rung.promotable(n_best)
            if arm != NO_ARM and self._is_affordable(place + 1):
                return arm, place + 1
        return (self._n_started, 0) if may_start else None

    def _is_affordable(self, place: int) -> bool:
        """Return whether an arm that starts there leaves enough pulls for one at the top.

        They are kept until an arm has a mean there, in case the first ones fail.
        """
        highest = max(place, self._top)
        later = sum(rung.n_splits for rung in self.rungs[highest + 1 :])
        return self.rungs[place].n_splits + later <= self.n_left

    def _begin(self, arm: int, place: int) -> None:
        rung = self.rungs[place]
        if place:
            self.rungs[place - 1].promoted.add(arm)
        else:
            self._n_started += 1
        self.n_left -= rung.n_splits
        rung.n_open += 1
        rung.rewards[arm] = []
        self._planned.extend(Pull(arm, rung.level, j) for j in range(rung.n_splits))


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
        n_all = problem.max_repetitions or 1
        n_early = min(self.early_repetitions or n_all, n_all)
        levels = self._levels(problem)
        rungs = [RungScores(level, n_early) for level in levels[:-1]]
        rungs.append(RungScores(levels[-1], n_all))
        least = sum(rung.n_splits for rung in rungs)
        check_budget("n_pulls", self.n_pulls, least, "to bring one arm to the largest level")
        return Promotions(rungs, float(self.factor), problem.n_arms, int(self.n_pulls))

    def _levels(self, problem: Problem) -> list[int]:
        """Return ``floor(R eta^-k)`` for all k for which it is not below the smallest level."""
        factor = exact_factor(self.factor)
        n_more = floor_log(max(1, problem.max_level // problem.min_level), factor)
        return [floor(problem.max_level / factor**k) for k in reversed(range(n_more + 1))]

    def first_to_tell(self, state: SeparateState) -> Pull | None:
        """Return the pull in flight of a single problem that ends first by the virtual clock."""
        game = state.games[0]
        return game.first_to_tell() if isinstance(game, Promotions) else None
