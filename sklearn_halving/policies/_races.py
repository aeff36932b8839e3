"""Races: all arms are pulled in turn, and arms that are clearly worse are dropped.

The module has the Hoeffding and the empirical Bernstein race (Audibert, Bubeck and Munos, Bandit
view on noisy optimization, 2011, Figs. 16.3 and 16.4, with the epsilon of section 16.3.3.2), and
two policies of Even-Dar, Mannor and Mansour (2006): successive elimination, a race without a last
round, and median elimination, in which the worse half of the arms is dropped in each phase.
Exponential gap elimination compares arms with the winner of a median elimination. Bernstein
stopping (Fig. 16.5) drops arms whose mean is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from math import ceil, inf, log
from typing import Annotated, Literal, cast

import numpy as np

from sklearn_halving._checks import Count, Positive, between, check_between, refuse_unless
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._plan import Round
from sklearn_halving.policies._types import NO_ARM, Problem
from sklearn_halving.policies.bases._base_policy import (
    Confidence,
    RewardRange,
    Tolerance,
    check_budget,
    reward_width,
)
from sklearn_halving.policies.bases._planned_policy import (
    PlannedGame,
    PlannedPolicy,
    halving_widths,
)
from sklearn_halving.policies.bases._ranking import best_known, keep_best, largest_usable


class LastArmGame(PlannedGame):
    """A game in which arms are dropped until one is left."""

    def is_confident(self) -> bool:
        """Return whether only one arm is left, so that the guarantee holds.

        False if several arms are left, for example because ``max_pulls`` was reached, or if a
        reward was outside of ``reward_range``. Failed arms are ignored.
        """
        is_decided = self.alive.sum() == 1 or self.n_arms == 1
        return bool(is_decided and not self.is_outside.any())


class Race(PlannedPolicy):
    """Base class of races, which pull all arms in play once per round and drop the worst."""

    game = LastArmGame
    epsilon: float = 0.0
    max_pulls: int | None = None
    n_rounds: int | None = None

    def radius(self, game: PlannedGame, width: float) -> FloatArray:
        """Return half the width of the confidence interval of each arm."""
        raise NotImplementedError

    def most_rounds(self, problem: Problem) -> int | None:
        """Return the maximum number of rounds; None if it is unknown."""
        limits = [n for n in (self.n_rounds, problem.max_repetitions) if n is not None]
        return 1 if problem.n_arms == 1 else min(limits, default=None)

    def stages(self, problem: Problem) -> tuple[Round, ...]:
        """Return the rounds, if their number is known."""
        reward_width(self, problem)
        if self.max_pulls is not None:
            check_budget("max_pulls", self.max_pulls, problem.n_arms, "to pull each arm once")
        each = Round(problem.n_arms, problem.max_level, most_pulls=problem.n_arms)
        return (each,) * (self.most_rounds(problem) or 0)

    def play(self, game: PlannedGame) -> Iterator[IntArray]:
        """Play Figs. 16.3 and 16.4, which differ in the radius."""
        width, n_rounds = reward_width(self, game.problem), self.most_rounds(game.problem)
        largest, leader = -inf, NO_ARM
        for game.stage in count() if n_rounds is None else range(n_rounds):
            counts = game.contested().astype(np.int64)  # while |A| > 1
            if not counts.any() or not fits(game, counts, self.max_pulls):
                return
            yield counts  # (1)
            with np.errstate(invalid="ignore", over="ignore"):
                radius = self.radius(game, width)
                lower, upper = game.mean - radius, game.mean + radius
            # If the variance is not a number, the bounds are unknown.
            lower = np.where(game.alive & ~np.isnan(lower), lower, -inf)
            # With a positive epsilon, the largest bound so far counts. With the current ones only,
            # arms could drop each other in a chain, in which every step costs an epsilon.
            stands = self.epsilon > 0 and leader != NO_ARM and game.alive[leader]
            if not stands or not largest > lower.max():
                largest, leader = lower.max(), largest_usable(lower, game.alive)
            is_worse = ~np.isnan(upper) & ~(upper > largest + self.epsilon)
            is_worse[leader] = False  # it is never dropped
            game.alive = game.alive & ~is_worse  # (2)
            game.best = best_known(game.alive, game.mean)


@dataclass(frozen=True)
class _BoundedRace(Race):
    """Base class of races with at most ``n_rounds`` rounds, which enter the union bound."""

    n_rounds: Count
    delta: Confidence = 0.05
    epsilon: Tolerance = 0.0
    reward_range: RewardRange | None = None

    def most_pulls(self, problem: Problem) -> int:
        return self.n_rounds * problem.n_arms

    def _log_term(self, game: PlannedGame) -> float:
        """Return ``log(n K / delta)``, where n is the number of rounds."""
        return log(self.n_rounds * game.n_arms / self.delta)


@dataclass(frozen=True)
class HoeffdingRace(_BoundedRace):
    """Drop the arms whose mean is more than ``b sqrt(2 log(n K / delta) / t)`` below the best.

    With probability ``1 - delta``, the best arm is never dropped. After n rounds, several arms
    can be left. The arm with the best mean is recommended. `is_alive` returns the arms that may
    be as good.

    Parameters
    ----------
    n_rounds : int
        Maximum number of pulls of an arm (n in the paper). The width of the bounds increases
        slowly with it.
    delta : float, default=0.05
        Accepted probability that the best arm is dropped.
    epsilon : float, default=0.0
        Tolerated regret, in units of reward. Arms that cannot be better than the leader by more
        than epsilon are dropped, too.
    reward_range : (float, float)
        Smallest and largest possible reward. Their difference is b.

    References
    ----------
    Maron and Moore. Hoeffding races. NIPS 1993; Audibert, Bubeck and Munos (2011), Fig. 16.3.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import HoeffdingRace, Problem
    >>> policy = HoeffdingRace(n_rounds=200, reward_range=(0, 1))
    >>> game = policy.start(Problem(n_arms=3))
    >>> counts = np.zeros(3, dtype=int)
    >>> while not game.is_finished:
    ...     for pull in game.ask(max_pulls=10):
    ...         counts[pull.arm] += 1
    ...         game.tell(pull, [0.1, 0.5, 0.9][pull.arm])
    >>> counts, game.recommend(), game.is_confident()
    (array([ 30, 118, 118]), 2, True)
    """

    def radius(self, game: PlannedGame, width: float) -> FloatArray:
        t = np.maximum(game.n_pulls, 1)
        return width * np.sqrt(self._log_term(game) / (2 * t))


@dataclass(frozen=True)
class BernsteinRace(_BoundedRace):
    """Drop arms by bounds that use the variance of each arm.

    The bounds are ``mean +- (sqrt(2 V x / t) + 3 b x / t)`` with ``x = log(n K / delta)``, where
    V is the variance with t in the denominator. They are better than the bounds of `HoeffdingRace`
    only if the variances are well below ``b^2 / 4``, because the second term decreases slowly.

    Parameters
    ----------
    n_rounds : int
        Maximum number of pulls of an arm (n in the paper).
    delta : float, default=0.05
        Accepted probability that the best arm is dropped.
    epsilon : float, default=0.0
        Tolerated regret, as in `HoeffdingRace`.
    reward_range : (float, float)
        Smallest and largest possible reward. Their difference is b.

    References
    ----------
    Mnih, Szepesvari and Audibert. Empirical Bernstein stopping. ICML 2008; Audibert, Bubeck and
    Munos (2011), Fig. 16.4.

    Examples
    --------
    >>> from sklearn_halving.policies import BernsteinRace
    >>> from sklearn_halving.simulation import BernoulliArms, simulate
    >>> environment = BernoulliArms([0.1, 0.5, 0.9])
    >>> result = simulate(BernsteinRace(n_rounds=400), environment, n_problems=100)
    >>> result.mistake_probability.value, round(result.mean_pulls.value)
    (0.0, 740)
    """

    def radius(self, game: PlannedGame, width: float) -> FloatArray:
        x = self._log_term(game) / np.maximum(game.n_pulls, 1)
        return np.sqrt(2 * game.statistics.variance(ddof=0) * x) + 3 * width * x


@dataclass(frozen=True)
class SuccessiveElimination(Race):
    """Drop the arms whose mean is ``2 b sqrt(log(c K t^2 / delta) / t)`` below the best.

    This is a race with an unlimited number of rounds. The last arm left is the best with
    probability ``1 - delta``. The comparison of two equal arms only ends with ``max_pulls``.

    Parameters
    ----------
    delta : float, default=0.05
        Accepted probability of a wrong answer.
    c : float, default=5.0
        Constant of the paper, larger than 4.
    max_pulls : int or None, default=None
        Maximum number of pulls. A round that would exceed it is not started. If the search stops
        because of it, the guarantee does not hold, and `is_confident` returns False.
    reward_range : (float, float)
        Smallest and largest possible reward. Their difference is b.

    References
    ----------
    Even-Dar, Mannor and Mansour. Action elimination and stopping conditions for the multi-armed
    bandit and reinforcement learning problems. JMLR 7 (2006), Algorithm 3.

    Examples
    --------
    >>> from sklearn_halving.policies import SuccessiveElimination
    >>> from sklearn_halving.simulation import BernoulliArms, simulate
    >>> environment = BernoulliArms([0.1, 0.5, 0.9])
    >>> result = simulate(SuccessiveElimination(delta=0.1), environment, n_problems=100)
    >>> result.mistake_probability.value, round(result.mean_pulls.value)
    (0.0, 955)
    """

    delta: Confidence = 0.05
    c: Annotated[float, between(4, inf)] = 5.0
    max_pulls: int | None = None
    reward_range: RewardRange | None = None

    def radius(self, game: PlannedGame, width: float) -> FloatArray:
        t = np.maximum(game.n_pulls, 1).astype(np.float64)
        return width * np.sqrt(np.log(self.c * game.n_arms * t**2 / self.delta) / t)


@dataclass(frozen=True)
class MedianElimination(PlannedPolicy):
    """Drop the worse half of the arms after each of ``ceil(log2 K)`` phases of new pulls.

    Every arm in play is pulled ``ceil(4 / e^2 log(3 / d))`` times in a phase. In the first phase,
    ``e = epsilon / 4`` and ``d = delta / 2``. After each phase, e is multiplied by 3/4 and d by
    1/2. Only the rewards of the current phase are used. The regret of the last arm left is below
    epsilon with probability ``1 - delta``. The number of pulls is of the optimal order,
    ``K / epsilon^2 log(1 / delta)``, but the constant is so large that a race nearly always
    needs fewer pulls.

    Parameters
    ----------
    epsilon : float
        Tolerated regret, in units of reward. It must be larger than 0.
    delta : float, default=0.05
        Accepted probability of a wrong answer.
    max_pulls : int or None, default=None
        Maximum number of pulls. A phase that would exceed it is not started. If the search stops
        because of it, the guarantee does not hold, and `is_confident` returns False.
    reward_range : (float, float)
        Smallest and largest possible reward.

    References
    ----------
    Even-Dar, Mannor and Mansour. Action elimination and stopping conditions for the multi-armed
    bandit and reinforcement learning problems. JMLR 7 (2006), Algorithm 4; Audibert, Bubeck and
    Munos (2011), Fig. 16.6.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import MedianElimination, Problem
    >>> policy = MedianElimination(epsilon=0.8, delta=0.1, reward_range=(0, 1))
    >>> game = policy.start(Problem(n_arms=3))
    >>> counts = np.zeros(3, dtype=int)
    >>> while not game.is_finished:
    ...     for pull in game.ask(max_pulls=1000):
    ...         counts[pull.arm] += 1
    ...         game.tell(pull, [0.1, 0.5, 0.9][pull.arm])
    >>> counts, game.recommend(), game.is_confident()
    (array([ 410, 1262, 1262]), 2, True)
    """

    game = LastArmGame

    epsilon: Positive
    delta: Confidence = 0.05
    max_pulls: int | None = None
    reward_range: RewardRange | None = None

    def play(self, game: PlannedGame) -> Iterator[IntArray]:
        """Play Fig. 16.6."""
        pulls_of_phase = self._pulls_of_phases(game.problem)
        halving = drop_halves(game, game.alive, pulls_of_phase, self.max_pulls)
        for game.stage, counts in enumerate(halving):
            yield counts

    def stages(self, problem: Problem) -> tuple[Round, ...]:
        """Return the phases."""
        pulls_of_phase = self._pulls_of_phases(problem)
        check_limits(problem, self.max_pulls, pulls_of_phase, "epsilon", self.epsilon)
        plan = zip(halving_widths(problem.n_arms) or [1], pulls_of_phase, strict=True)
        return tuple(
            Round(width, problem.max_level, most_pulls=width * n_each) for width, n_each in plan
        )

    def _pulls_of_phases(self, problem: Problem) -> list[int]:
        epsilon = self.epsilon / reward_width(self, problem)
        # A single arm is pulled once, so that it has a reward.
        return pulls_of_phases(epsilon, self.delta, problem.n_arms) or [1]


def check_limits(
    problem: Problem, max_pulls: int | None, counts: list[int], name: str, value: float
) -> None:
    """Raise if there are too few pulls for the first of some phases, or splits for all of them."""
    if max_pulls is not None:
        why = f"for a first phase of {problem.n_arms} arms"
        check_budget("max_pulls", max_pulls, problem.n_arms * counts[0], why)
    n_splits, rule = problem.max_repetitions, f"be larger for fewer than {sum(counts)} splits"
    holds = n_splits is None or sum(counts) <= n_splits
    refuse_unless(holds, name, rule, f"{value} and {n_splits} splits")


def pulls_of_phases(epsilon: float, delta: float, n_arms: int) -> list[int]:
    """Return the number of pulls of an arm in each phase of median elimination, in [0, 1]."""
    return [  # (3): epsilon 3/4 and delta 1/2 as large in each phase
        ceil(4 / (epsilon / 4 * 0.75**k) ** 2 * log(3 / (delta / 2 * 0.5**k)))
        for k in range((n_arms - 1).bit_length())
    ]


def drop_halves(
    game: PlannedGame, arms: BoolArray, pulls_of_phase: list[int], max_pulls: int | None
) -> Iterator[IntArray]:
    """Play median elimination (Fig. 16.6) with some arms in play, of which the array keeps one."""
    mean = np.full(game.n_arms, np.nan)
    for n_each in pulls_of_phase:
        several = arms.sum() > 1 or game.n_arms == 1
        counts = arms * n_each
        if not several or not fits(game, counts, max_pulls):  # while |A| > 1
            return
        game.forget()
        yield counts  # (1)
        arms &= game.alive
        mean = np.where(counts > 0, game.mean, mean)
        game.best = best_known(arms, mean)
        arms &= keep_best(mean, arms, (int(arms.sum()) + 1) // 2)  # (2)


def fits(game: PlannedGame, counts: IntArray, max_pulls: int | None) -> bool:
    """Return whether pulls are within the splits and the budget; if not, the game stops."""
    is_within = bool((game.within_splits(counts) == counts).all())
    is_within &= max_pulls is None or bool((game.n_pulls + counts).sum() <= max_pulls)
    game.is_stopped |= not is_within
    return is_within and not game.is_stopped


@dataclass(frozen=True)
class ExponentialGapElimination(PlannedPolicy):
    """Drop the arms that are clearly worse than the winner of a median elimination.

    In round r, every arm in play is pulled ``ceil(2 / e^2 log(2 / d))`` times, with
    ``e = initial_epsilon / 2^r`` and ``d = delta / (50 r^3)``. `MedianElimination` with e / 2 and
    d then finds a reference arm, and the arms whose mean in the round is more than e below that of
    the reference are dropped. The last arm left is the best with probability ``1 - delta``. The
    number of pulls is of the order of the sum of ``log(log(1 / gap) / delta) / gap^2``, which is
    nearly optimal, but the constant is so large that a race needs far fewer pulls. The comparison
    of two equal arms only ends with ``max_pulls``.

    Parameters
    ----------
    delta : float, default=0.05
        Accepted probability of a wrong answer.
    initial_epsilon : float, default=0.25
        Twice the e of the first round, as a share of the range. With a larger one than that of
        the paper, the default, arms that differ a lot need fewer pulls.
    max_pulls : int or None, default=None
        Maximum number of pulls. Pulls of a round or phase that would exceed it are not started. If
        the search stops because of it, the guarantee does not hold, and `is_confident` returns
        False.
    reward_range : (float, float)
        Smallest and largest possible reward.

    References
    ----------
    Karnin, Koren and Somekh. Almost optimal exploration in multi-armed bandits. ICML 2013,
    Algorithm 2.

    Examples
    --------
    >>> from sklearn_halving.policies import ExponentialGapElimination
    >>> from sklearn_halving.simulation import BernoulliArms, simulate
    >>> policy = ExponentialGapElimination(delta=0.1, initial_epsilon=1.0)
    >>> result = simulate(policy, BernoulliArms([0.1, 0.9]), n_problems=20)
    >>> result.mistake_probability.value, round(result.mean_pulls.value)
    (0.0, 16510)
    """

    game = LastArmGame

    delta: Confidence = 0.05
    initial_epsilon: Positive = 0.25
    max_pulls: int | None = None
    reward_range: RewardRange | None = None

    def play(self, game: PlannedGame) -> Iterator[IntArray]:
        """Play Algorithm 2 of the paper."""
        width = reward_width(self, game.problem)
        for r in count(1):  # while |S_r| > 1
            epsilon, delta = self.initial_epsilon / 2**r, self.delta / (50 * r**3)
            counts = game.contested() * self._n_each(r, game.n_arms)
            if not counts.any() or not fits(game, counts, self.max_pulls):
                return
            game.forget()
            yield counts  # line 3
            mean, arms = np.where(counts > 0, game.mean, np.nan), game.alive & (counts > 0)
            game.best = best_known(game.alive, mean)
            phases = pulls_of_phases(epsilon / 2, delta, int(arms.sum()))
            yield from drop_halves(game, arms, phases, self.max_pulls)  # line 4
            reference = mean[arms].item() if arms.sum() == 1 else -inf
            game.alive &= ~(mean < reference - epsilon * width)  # line 5
            game.stage = r

    def _n_each(self, r: int, n_arms: int) -> int:
        """Return the number of pulls of an arm in round r."""
        epsilon, delta = self.initial_epsilon / 2**r, self.delta / (50 * r**3)
        return ceil(2 / epsilon**2 * log(2 / delta)) if n_arms > 1 else 1

    def stages(self, problem: Problem) -> tuple[Round, ...]:
        """Return nothing: the number of rounds is not known."""
        reward_width(self, problem)
        limits = problem, self.max_pulls, [self._n_each(1, problem.n_arms)]
        check_limits(*limits, "initial_epsilon", self.initial_epsilon)
        return ()


class StoppingGame(PlannedGame):
    """A game of `BernsteinStopping`."""

    known: FloatArray

    def estimate(self) -> FloatArray:
        """Return the estimated mean of each arm, shape ``(n_arms,)``; NaN for failures."""
        return self.known.copy()

    def is_confident(self) -> bool:
        """Return whether the means of all valid arms have the required precision.

        False if ``max_pulls`` was reached, if an arm had no splits left, or if a reward was
        outside of ``reward_range``.
        """
        is_known = ~self.alive & (self.has_failed | ~self.is_outside)
        return bool(is_known.all() and not self.has_failed.all())


@dataclass(frozen=True)
class BernsteinStopping(PlannedPolicy):
    """Pull an arm until its mean is known with a given precision.

    After t pulls in the interval ``[t_k, t_(k+1))`` of the grid ``t_k = ceil(alpha t_(k-1))``, the
    error of the mean is at most ``c_t = sqrt(2 V l) + 3 b l`` with
    ``l = t_(k+1) / t^2 log(c t_k^q)``. The bound is small if the variance V is small. "additive"
    stops when ``c_t <= epsilon``. "multiplicative" tracks the best bounds LB and UB of the
    absolute mean, and stops when ``(1 + epsilon) LB >= (1 - epsilon) UB``. The error of the
    estimate is then at most epsilon, or epsilon times the mean, with probability ``1 - delta``
    for each arm. The policy is designed for a single arm. If there are several, each is pulled
    until its mean is known, and the arm with the best mean is recommended.

    Parameters
    ----------
    epsilon : float
        Accepted error of the mean, in units of reward or relative to the mean. Larger than 0, and
        below 1 for "multiplicative".
    error : {"additive", "multiplicative"}, default="additive"
        Whether the error is absolute or relative. "multiplicative" never stops if the mean is 0.
    delta : float, default=0.05
        Accepted probability of a larger error.
    q, t1, alpha : float, int, float, default=0.1, 20, 1.1
        Parameters of the grid, with ``q > 0``, ``t1 >= 2`` and ``alpha > 1``.
    max_pulls : int or None, default=None
        Maximum number of pulls of all arms together. A round that would exceed it is not started.
        If the search stops because of it, the guarantee does not hold, and `is_confident` returns
        False.
    reward_range : (float, float)
        Smallest and largest possible reward. Their difference is b.

    Notes
    -----
    The inequality of the stopping rule is reversed in the figure of the paper.

    References
    ----------
    Mnih, Szepesvari and Audibert. Empirical Bernstein stopping. ICML 2008; Audibert, Bubeck and
    Munos. Bandit view on noisy optimization, in Optimization for Machine Learning, 2011, theorem
    16.7 and Fig. 16.5.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import BernsteinStopping, Problem
    >>> policy = BernsteinStopping(epsilon=0.1, reward_range=(0, 1))
    >>> game = policy.start(Problem(n_arms=1))
    >>> n_pulls, rng = 0, np.random.default_rng(0)
    >>> while not game.is_finished:
    ...     for pull in game.ask(max_pulls=100):
    ...         n_pulls += 1
    ...         game.tell(pull, rng.uniform(0.6, 0.7))
    >>> n_pulls, game.estimate().round(2), game.is_confident()
    (303, array([0.65]), True)
    """

    game = StoppingGame

    epsilon: float
    error: Literal["additive", "multiplicative"] = "additive"
    delta: Confidence = 0.05
    q: Positive = 0.1
    t1: Count = 20
    alpha: Annotated[float, between(1, inf)] = 1.1
    max_pulls: int | None = None
    reward_range: RewardRange | None = None

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        largest = 1.0 if self.error == "multiplicative" else inf
        check_between("epsilon", self.epsilon, "Use 0.05, for example.", low=0, high=largest)
        check_between("t1", self.t1, "Use 20, the default.", low=1, high=inf)

    def stages(self, problem: Problem) -> tuple[Round, ...]:
        """Return nothing: the number of rounds is not known."""
        reward_width(self, problem)
        if self.max_pulls is not None:
            check_budget("max_pulls", self.max_pulls, problem.n_arms, "to pull each arm once")
        return ()

    def play(self, game: PlannedGame) -> Iterator[IntArray]:
        """Play Fig. 16.5 with each arm."""
        game = cast(StoppingGame, game)
        game.known = np.full(game.n_arms, np.nan)
        width = reward_width(self, game.problem)
        c = 3 / (self.delta * self.t1**self.q * (1 - self.alpha**-self.q))
        lower, upper = np.zeros(game.n_arms), np.full(game.n_arms, inf)  # LB and UB
        t_k, t_next = self.t1, self._next_of_grid(self.t1)
        while (counts := self._counts(game)).any():
            yield counts  # all t_1 pulls before the first test, then one by one
            game.stage += 1
            mean, t = game.mean, int(game.n_pulls[counts > 0].max())
            estimate = np.where(game.alive | game.has_failed, mean, game.known)
            if t >= self.t1:
                while t >= t_next:
                    t_k, t_next = t_next, self._next_of_grid(t_next)
                x = t_next / t**2 * log(c * t_k**self.q)
                with np.errstate(invalid="ignore", over="ignore"):
                    # LB and UB from c_t
                    c_t = np.sqrt(2 * (game.statistics.squares / t) * x) + 3 * width * x
                    lower = np.maximum(lower, np.abs(mean) - c_t)
                    upper = np.minimum(upper, np.abs(mean) + c_t)
                    low, high = (1 + self.epsilon) * lower, (1 - self.epsilon) * upper
                    middle = np.sign(mean) * (low + high) / 2
                is_additive = self.error == "additive"
                is_precise = c_t <= self.epsilon if is_additive else low >= high
                is_known = is_precise & game.alive & (counts > 0)
                estimate = np.where(is_known, mean if is_additive else middle, estimate)
                game.alive &= ~is_known
            game.known, game.best = estimate, best_known(~game.has_failed, estimate)

    def _counts(self, game: PlannedGame) -> IntArray:
        """Return the pulls of a round: t_1 pulls of each arm, then one of those in play."""
        counts = game.within_splits(game.alive * (1 if game.stage else self.t1))
        if self.max_pulls is None:
            return counts
        n_left, n_arms = self.max_pulls - game.n_pulls.sum(), max(np.count_nonzero(counts), 1)
        return np.minimum(counts, n_left // n_arms)

    def _next_of_grid(self, t: int) -> int:
        # Round first, because of products such as 22.000000000000004.
        return max(t + 1, ceil(round(self.alpha * t, 9)))
