"""Successive rejects, its anytime form, and a form with more pulls for noisy arms.

One arm is rejected after each phase (Audibert, Bubeck and Munos 2011; Faella, Finzi and Sauro
2020).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import ceil
from typing import NamedTuple

import numpy as np

from sklearn_halving._checks import NotNegative
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._plan import Round
from sklearn_halving.policies._types import Problem
from sklearn_halving.policies.bases._base_policy import check_budget
from sklearn_halving.policies.bases._planned_policy import PlannedGame, PlannedPolicy
from sklearn_halving.policies.bases._pulls_by_index import greedy_counts, positive_weights
from sklearn_halving.policies.bases._ranking import best_known, keep_best

N_FOR_VARIANCE = 3
"""Number of pulls of an arm before its estimated variance is used."""


class Phase(NamedTuple):
    """Each of ``n_arms`` arms in play is pulled ``n_each`` times, then ``n_kept`` are kept."""

    n_arms: int
    n_each: int
    n_kept: int

    def as_round(self, problem: Problem) -> Round:
        return Round(self.n_arms, problem.max_level, most_pulls=self.n_arms * self.n_each)


@cache
def phase_lengths(n_arms: int, n_pulls: int) -> tuple[int, ...]:
    """Return the number of pulls of an arm in play at the end of phases 1 to K - 1.

    ``n_k = ceil((n - K) / (log_bar(K) (K + 1 - k)))`` with ``log_bar(K) = 1/2 + sum of 1/i for
    i = 2..K``, in exact fractions.

    Examples
    --------
    >>> phase_lengths(n_arms=10, n_pulls=1000)
    (41, 46, 51, 59, 68, 82, 102, 136, 204)
    """
    log_bar = Fraction(1, 2) + sum(Fraction(1, i) for i in range(2, n_arms + 1))
    n_left = n_pulls - n_arms
    return tuple(ceil(n_left / (log_bar * (n_arms + 1 - k))) for k in range(1, n_arms))


@cache
def phases(n_arms: int, n_pulls: int) -> tuple[Phase, ...]:
    """Return the phases of one run of successive rejects. A single arm is pulled once."""
    if n_arms == 1:
        return (Phase(1, 1, 1),)
    ends = (0, *phase_lengths(n_arms, n_pulls))
    return tuple(
        Phase(width, end - before, width - 1)
        for width, (before, end) in zip(range(n_arms, 1, -1), pairwise(ends), strict=True)
    )


def play_phases(game: PlannedGame, plan: tuple[Phase, ...]) -> Iterator[IntArray]:
    """Play the phases of Fig. 16.1, with the means over all pulls so far."""
    for phase in plan:  # k = 1, 2, ..., K - 1
        yield game.within_splits(game.contested() * phase.n_each)  # (1) n_k - n_(k-1) pulls each
        game.alive = keep_best(game.mean, game.alive, phase.n_kept)  # (2) drop the worst arm
        game.best = best_known(game.alive, game.mean)  # the only one left after phase K - 1
        game.stage += 1


@dataclass(frozen=True)
class SuccessiveRejects(PlannedPolicy):
    """Reject the worst arm after each phase, so that the best arms get the most pulls.

    There are K - 1 phases. In phase k, every arm in play is pulled until it has ``n_k`` pulls
    (`phase_lengths`). Then the arm with the smallest mean is rejected. For rewards in [0, 1], the
    probability of a wrong answer is at most ``K (K - 1) / 2 exp(-(n - K) / (log_bar(K) H))``
    with ``H = max of i / gap_i^2``, where i is the rank of an arm (COLT 2010, theorem 2). The
    policy needs neither H nor the range of the rewards, and is a good choice for a small number
    of arms. The paper drops one of equal arms at random, this policy the last one.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls of all arms together (n in the paper). It must be larger than the
        number of arms.

    References
    ----------
    Audibert, Bubeck and Munos. Best arm identification in multi-armed bandits. COLT 2010;
    Bandit view on noisy optimization, in Optimization for Machine Learning, 2011, Fig. 16.1.

    Examples
    --------
    >>> from sklearn_halving.policies import Problem, SuccessiveRejects
    >>> policy = SuccessiveRejects(n_pulls=10)
    >>> game = policy.start(Problem(n_arms=3))
    >>> while not game.is_finished:
    ...     pulls = game.ask(max_pulls=10)
    ...     print(pulls.arm)
    ...     game.tell_all(pulls, rewards=pulls.arm / 10)
    [0 0 1 1 2 2]
    [1 2]
    >>> game.recommend()
    2
    """

    n_pulls: int

    def play(self, game: PlannedGame) -> Iterator[IntArray]:
        yield from play_phases(game, phases(game.n_arms, self.n_pulls))

    def stages(self, problem: Problem) -> tuple[Round, ...]:
        """Return the phases."""
        n_arms = problem.n_arms
        least = n_arms + 1 if n_arms > 1 else 1
        check_budget("n_pulls", self.n_pulls, least, f"to compare {n_arms} candidates")
        return tuple(phase.as_round(problem) for phase in phases(n_arms, self.n_pulls))


@dataclass(frozen=True)
class AnytimeSuccessiveRejects(PlannedPolicy):
    """Successive rejects in runs of increasing length, which can be stopped at any time.

    The first run ends after n pulls, where n is a power of two. Then all arms are in play again,
    a second run with another n pulls ends at time 2n, and so on. The mean of an arm is over all
    of its pulls in all runs. ``n_pulls`` only determines when the policy stops. Earlier decisions
    do not depend on it.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls. It must be at least the smallest power of two that is larger than
        the number of arms.

    References
    ----------
    Audibert, Bubeck and Munos. Bandit view on noisy optimization, in Optimization for Machine
    Learning, 2011, section 16.3.1.2.

    Examples
    --------
    >>> from sklearn_halving.policies import AnytimeSuccessiveRejects, Problem
    >>> policy = AnytimeSuccessiveRejects(n_pulls=8)
    >>> game = policy.start(Problem(n_arms=3))
    >>> while not game.is_finished:
    ...     pulls = game.ask(max_pulls=10)
    ...     print(pulls.arm, pulls.repetition)
    ...     game.tell_all(pulls, rewards=pulls.arm / 10)
    [0 1 2] [0 0 0]
    [0 1 2] [1 1 1]
    """

    n_pulls: int

    def play(self, game: PlannedGame) -> Iterator[IntArray]:
        runs = _runs(game.n_arms, self.n_pulls)
        for run in runs:
            game.alive = ~game.has_failed
            game.revives = run is not runs[-1]
            yield from play_phases(game, run)

    def stages(self, problem: Problem) -> tuple[Round, ...]:
        """Return the phases of all runs."""
        n_arms = problem.n_arms
        least = _first_run(n_arms) if n_arms > 1 else 1
        check_budget("n_pulls", self.n_pulls, least, f"for a first run with {n_arms} candidates")
        runs = _runs(n_arms, self.n_pulls)
        return tuple(phase.as_round(problem) for run in runs for phase in run)


def _first_run(n_arms: int) -> int:
    return 1 << n_arms.bit_length()  # the smallest power of two that is larger


@cache
def _runs(n_arms: int, n_pulls: int) -> list[tuple[Phase, ...]]:
    """Return the phases of all runs. The last run is cut off when the budget is spent."""
    if n_arms == 1:
        return [phases(1, 1)]
    runs: list[tuple[Phase, ...]] = []
    n_run = n_end = _first_run(n_arms)
    while True:
        run: list[Phase] = []
        for phase in phases(n_arms, n_run):
            n_each = min(phase.n_each, n_pulls // phase.n_arms)
            n_pulls -= n_each * phase.n_arms
            if n_each < phase.n_each:
                cut = [Phase(phase.n_arms, n_each, phase.n_arms)] if n_each else []
                return [*runs, *filter(None, [(*run, *cut)])]
            run.append(phase)
        runs.append(tuple(run))
        n_run, n_end = n_end, 2 * n_end  # the next run ends after twice as many pulls


@dataclass(frozen=True)
class VarianceRejects(SuccessiveRejects):
    """Reject one arm after each phase, and pull arms with a large variance more often.

    The phases have as many pulls as those of `SuccessiveRejects`. In the first phase, all arms
    get the same number of pulls. In later phases, each pull goes to the arm with the largest
    ``V / N``, so that all confidence intervals become equally wide. At the end of a phase, the
    arm with the smallest upper bound ``mean + gamma sqrt(V / N)`` is rejected. The policy suits
    a small number of arms with very different variances. With many arms and few pulls, the
    estimates of the variances are too inaccurate.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls of all arms together. It must be larger than the number of arms.
    gamma : float, default=1.96
        Half the width of a confidence interval, in standard errors. 1.96 gives 95 % intervals.

    Notes
    -----
    This implementation follows the description by Lalitha et al. (2023), who compare their own
    policy with it: as in successive rejects, one arm is removed in each of K stages, and the
    bounds have width gamma. The original paper may differ in details.

    References
    ----------
    Faella, Finzi and Sauro. Rapidly finding the best arm using variance. ECAI 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import Problem, VarianceRejects
    >>> policy = VarianceRejects(n_pulls=60)
    >>> game, rng = policy.start(Problem(n_arms=3)), np.random.default_rng(0)
    >>> while not game.is_finished:
    ...     for pull in game.ask(max_pulls=100):
    ...         game.tell(pull, [0.1, 0.5, 0.9][pull.arm] + 0.1 * rng.normal())
    >>> game.recommend()
    2
    """

    gamma: NotNegative = 1.96

    def play(self, game: PlannedGame) -> Iterator[IntArray]:
        for phase in phases(game.n_arms, self.n_pulls):
            in_play, n_pulls = game.contested(), game.n_pulls
            yield greedy_counts(  # argmax V / N, again and again
                self._weight(game, in_play),
                n_pulls,
                phase.n_each * int(in_play.sum()),
                game.problem.max_repetitions,
            )
            error = game.statistics.variance() / np.maximum(game.statistics.n_pulls, 1)
            upper = game.mean + self.gamma * np.sqrt(np.where(np.isfinite(error), error, 0.0))
            game.alive = keep_best(upper, game.alive, phase.n_kept)
            game.best = best_known(game.alive, game.mean)
            game.stage += 1

    def _weight(self, game: PlannedGame, in_play: BoolArray) -> FloatArray:
        """Return the variances; equal numbers if one is unknown, or if none is positive."""
        variance, is_known = game.statistics.variance(), game.n_pulls >= N_FOR_VARIANCE
        if not is_known[in_play].all():
            variance = np.ones(game.n_arms)
        usable = in_play & np.isfinite(variance)
        return positive_weights(np.where(usable, variance, 0.0), in_play)
