"""A race without end: new arms enter while the best ones so far are confirmed on more splits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import sqrt
from typing import NamedTuple, cast

import numpy as np
from scipy.special import ndtr

from sklearn_halving._checks import Count
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._types import NO_ARM, ClosedRung, PolicyDescription, Problem, Pull
from sklearn_halving.policies.bases._separate_games import SeparateGames, SeparateState
from sklearn_halving.policies.noise._noise_estimates import fit_additive_model

N_FIRST = 8
"""Number of arms that enter before any arm is confirmed, all on the first split."""
PULLS_PER_ARM = 4
"""One of so many pulls is that of a new arm."""
LEAST_SPLITS = 3
"""Number of splits that an arm may have from the beginning."""
ARMS_PER_UNKNOWN = 16
"""With a single split, one of so many arms may be in flight, or a quarter of `pulls_in_flight`."""
LEAST_CHANCE = 0.03
"""If no arm is better than the leader with this probability, another new arm enters."""
GROWTH = 1.12
"""Noise and scale are estimated again when there are so many times as many rewards."""
PRIOR_FREEDOM = 2.0
PRIOR_NOISE = 0.25
"""Degrees of freedom of the prior of the noise variance, and its ratio to that of the arms."""
LARGEST = 1e150
"""Rewards are clipped to this magnitude, so that squares of differences do not overflow."""


@dataclass(frozen=True)
class IncumbentRace(SeparateGames):
    """Confirm the arms that may be the best on more splits, while new arms enter.

    The first eight arms are pulled on the first split. Then every fourth pull is that of a new
    arm, on a random split of the leader, the arm with the largest posterior mean. The other pulls
    compare the leader with a contender: the arm with the largest probability of being better than
    the leader, divided by the square root of its number of pulls. If the leader has no more
    splits than the contender, it is pulled on another one. Otherwise, the contender is pulled on a
    random split of the leader. After n pulls, an arm has at most ``sqrt(n)`` splits, or three. If
    the leader has as many, and no other arm is better with a probability of 3 %, another new arm
    enters. A poor arm thus costs one or two pulls. There is no horizon: the answer is good at any
    time. The policy is for arms in random order, and for arms that are created one after the
    other.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls of all arms together.
    n_splits : int, default=25
        Maximum number of splits of an arm, if the problem has as many.
    pulls_in_flight : int, default=4
        Maximum number of pulls in flight. The result depends on it, but not on the number of
        workers. With a single split, each pull is that of a new arm. Then, only one of sixteen
        arms is in flight, or a quarter of this number, so that the others are known.

    Notes
    -----
    The means are those of an additive model of arms and splits. The arms are assumed to be drawn
    from a normal distribution, whose spread is that of the better half. The noise is pooled over
    all arms with at least two splits. Arms with equal rewards on all their common splits count
    once in both estimates, as they say nothing about the noise. The answer is the arm with the
    largest posterior mean among those with at least half of the most splits. An arm that fails
    once is out.

    References
    ----------
    Hutter, Hoos and Leyton-Brown. Sequential model-based optimization for general algorithm
    configuration. LION 5, 2011 (the procedure Intensify). Audibert, Bubeck and Munos. Bandit view
    on noisy optimization, 2011, section 16.3 (races).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import IncumbentRace, Problem
    >>> policy = IncumbentRace(n_pulls=150)
    >>> state = policy.start(Problem(n_arms=30), seed=np.random.SeedSequence(0))
    >>> rng = np.random.default_rng(0)
    >>> means = rng.permutation(30)
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=4)
    ...     policy.tell(state, pulls, rng.normal(means[pulls.arm]))
    >>> int(means[policy.recommend(state)])
    29
    """

    n_pulls: Count
    n_splits: Count = 25
    pulls_in_flight: Count = 4

    def describe(self, problem: Problem | None = None) -> PolicyDescription:
        """Return the description of the policy. Arms may be created when first pulled."""
        return replace(super().describe(problem), arms_may_arrive=True)

    def _new_game(self, problem: Problem, rng: np.random.Generator) -> Race:
        n_splits = min(self.n_splits, problem.max_repetitions or self.n_splits)
        n_pulls = int(min(self.n_pulls, problem.n_arms * n_splits))
        rewards = np.full((min(problem.n_arms, n_pulls), n_splits), np.nan)
        return Race(problem.max_level, n_pulls, self.pulls_in_flight, rng, rewards)

    def rungs_before(self, state: SeparateState, place: int) -> list[ClosedRung]:
        """Return the mean rewards of all arms of a single problem so far, and their variances.

        They are adjusted for the effects of the splits. Failed arms have NaN. The result does not
        depend on ``place``, the new arm.
        """
        race = cast(Race, state.games[0])
        belief = race.belief
        if belief is None:
            return []
        arms = np.flatnonzero(race.has_failed[: len(belief.mean)] | (belief.n_rewards > 0))
        noise = belief.noise / np.maximum(belief.n_rewards[arms], 1)
        has_noise = race.rewards.shape[1] > 1  # a score on the only split is all there is to know
        return [ClosedRung(arms, race.level, belief.estimates[arms], noise if has_noise else None)]


class Scale(NamedTuple):
    """Centre and variance of the means of the arms, and variance of the noise of a reward."""

    centre: float
    spread: float
    noise: float


class RaceBelief(NamedTuple):
    """What the rewards say about the arms that had entered, each of shape (n_arms,)."""

    n_rewards: IntArray
    estimates: FloatArray
    """Mean rewards, adjusted for the effects of the splits; NaN for an arm without a reward."""
    mean: FloatArray
    """Posterior means; -inf for an arm without a reward."""
    variance: FloatArray
    """Posterior variances."""
    noise: float
    """Variance of the noise of a reward."""


@dataclass
class Race:
    """State of a race.

    Parameters
    ----------
    level : int
        Level of all pulls.
    n_left : int
        Number of remaining pulls.
    n_in_flight : int
        Maximum number of pulls in flight.
    rng : numpy.random.Generator
        Chooses the splits of new arms and of contenders.
    rewards : ndarray of shape (n_arms, n_splits)
        NaN where there is none. Arms that failed have none.
    """

    level: int
    n_left: int
    n_in_flight: int
    rng: np.random.Generator
    rewards: FloatArray
    n_entered: int = 0
    open: set[Pull] = field(default_factory=set)
    _belief: RaceBelief | None = None
    _scale: Scale | None = None
    _n_of_scale: int = 0

    def __post_init__(self) -> None:
        """Start without pulls."""
        self.asked = np.zeros(self.rewards.shape, dtype=bool)
        self.has_failed = np.zeros(len(self.rewards), dtype=bool)

    def ask(self, max_pulls: int) -> list[Pull]:
        """Return the next pull; none if the race has to wait for rewards."""
        has_room = self.n_left > 0 and len(self.open) < self.n_in_flight
        arm = self._next_arm() if has_room else NO_ARM
        if arm == NO_ARM or self._must_wait():
            return []
        pull = Pull(arm, self.level, self._split_for(arm))
        self.n_entered = max(self.n_entered, arm + 1)
        self.n_left -= 1
        self.asked[arm, pull.repetition] = True
        self.open.add(pull)
        return [pull]

    def _must_wait(self) -> bool:
        """Return whether a sampler should know more rewards, as each pull is that of a new arm."""
        most = max(1, self.n_in_flight // 4, self.n_entered // ARMS_PER_UNKNOWN)
        return self.rewards.shape[1] == 1 and self.n_entered >= N_FIRST and len(self.open) >= most

    @property
    def is_finished(self) -> bool:
        """Return whether no pulls are left, and none are in flight."""
        return not self.open and (self.n_left == 0 or self._next_arm() == NO_ARM)

    def tell(self, pull: Pull, reward: float) -> None:
        """Take in a reward. An arm that fails is out."""
        self.open.discard(pull)
        if np.isnan(reward):
            self.has_failed[pull.arm] = True
            self.rewards[pull.arm] = np.nan
        elif not self.has_failed[pull.arm]:
            self.rewards[pull.arm, pull.repetition] = np.clip(reward, -LARGEST, LARGEST)
        self._belief = None

    def out(self) -> BoolArray:
        """Return which arms failed."""
        return self.has_failed

    def best(self) -> int:
        """Return the arm with the largest posterior mean that has half of the most splits."""
        belief = self.belief
        if belief is None:
            return NO_ARM
        has_enough = 2 * belief.n_rewards >= belief.n_rewards.max()
        return int(np.argmax(np.where(has_enough, belief.mean, -np.inf)))

    @property
    def belief(self) -> RaceBelief | None:
        """What is known about the arms; None before the first reward."""
        if self._belief is None:
            self._belief = self._updated()
        return self._belief

    def _updated(self) -> RaceBelief | None:
        table = self.rewards[: self.n_entered]
        is_known = ~np.isnan(table)
        n = is_known.sum(axis=1)
        if not n.any():
            return None
        if self._scale is None or n.sum() >= GROWTH * self._n_of_scale:
            self._scale, self._n_of_scale = scale_of(table), int(n.sum())
        centre, spread, noise = self._scale
        estimates = fit_additive_model(table, is_known).mean
        weight = n * spread / (n * spread + noise)
        mean = np.where(n > 0, centre + weight * (estimates - centre), -np.inf)
        return RaceBelief(n, estimates, mean, (1 - weight) * spread, noise)

    def _next_arm(self) -> int:
        """Return the next arm to pull; ``NO_ARM`` if the race has to wait, or is over."""
        new = self.n_entered if self.n_entered < len(self.rewards) else NO_ARM
        belief = self.belief
        if NO_ARM < new < N_FIRST:
            return new
        if belief is None:
            return NO_ARM if self.open else new
        of_arm = self.asked[: self.n_entered].sum(axis=1)
        n_asked, n_total = of_arm[: len(belief.mean)], int(of_arm.sum())
        most = n_splits = self.rewards.shape[1]
        if new != NO_ARM:
            most = min(max(LEAST_SPLITS, round(sqrt(n_total))), n_splits)
        leader = int(np.argmax(belief.mean))
        error = np.sqrt(belief.variance + belief.variance[leader])
        chance = ndtr((belief.mean - belief.mean[leader]) / error)
        chance[(n_asked >= most) | (belief.n_rewards == 0)] = 0.0
        chance[leader] = 0.0
        contender = int(np.argmax(chance / np.sqrt(n_asked)))
        has_contender = chance[contender] >= LEAST_CHANCE
        if new != NO_ARM and n_total % PULLS_PER_ARM == 0:
            return new
        if has_contender and n_asked[leader] > n_asked[contender]:
            return contender
        return leader if n_asked[leader] < most else new

    def _split_for(self, arm: int) -> int:
        """Return the split of the next pull of an arm."""
        leader = NO_ARM if self.belief is None else int(np.argmax(self.belief.mean))
        if leader == NO_ARM or arm == self.n_entered < N_FIRST:
            return 0
        if arm == leader:
            return int(np.argmin(self.asked[arm]))
        return int(self.rng.choice(np.flatnonzero(self.asked[leader] & ~self.asked[arm])))


def scale_of(rewards: FloatArray) -> Scale:
    """Return the scale of a table of rewards, in which equal arms count once."""
    different = rewards[first_of_equal(rewards)]
    n = (~np.isnan(different)).sum(axis=1)
    means = fit_additive_model(different, ~np.isnan(different)).mean
    centre = float(np.median(means))
    better = np.sort(means - centre)[len(means) // 2 :]
    least = 1e-9 * float(np.nanmax(np.abs(rewards)))  # if all means are equal
    spread = max(float((better**2).mean()), least**2, 1e-300)
    repeated = different[n > 1]
    squares, freedom = PRIOR_FREEDOM * PRIOR_NOISE * spread, PRIOR_FREEDOM
    if len(repeated) > 1:
        fit = fit_additive_model(repeated, ~np.isnan(repeated))
        squares, freedom = squares + float(fit.squares.sum()), freedom + float(fit.freedom.sum())
    noise = squares / freedom
    return Scale(centre, max(spread - noise * float((1 / n).mean()), 0.1 * spread), noise)


def first_of_equal(rewards: FloatArray) -> list[int]:
    """Return the arms without those that are equal to another one on all common splits.

    Of equal arms, one with the most rewards is returned. Arms without rewards are not.
    """
    n = (~np.isnan(rewards)).sum(axis=1)
    kept: list[int] = []
    for arm in np.argsort(-n, kind="stable")[: (n > 0).sum()].tolist():
        differences = rewards[kept] - rewards[arm]
        is_common = ~np.isnan(differences)
        is_equal = ~(differences != 0).any(axis=1, where=is_common) & is_common.any(axis=1)
        if not is_equal.any():
            kept.append(arm)
    return kept
