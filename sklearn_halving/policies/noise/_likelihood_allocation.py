"""Allocation of the pulls of `VarianceHalving` by the likelihood that an arm is the best.

The constants were chosen by simulation. `examples/benchmarks/wrong_choices.py` measures them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies.bases._greedy_allocation import greedy_counts, positive_weights
from sklearn_halving.policies.bases._planned_pulls import Game, in_plans, widths_of
from sklearn_halving.policies.bases._ranking import keep_best
from sklearn_halving.policies.noise._noise_estimates import (
    Estimates,
    estimate_arms,
    likelihood_of_leading,
    shrunk_variances,
)

VERY_FEW_ARMS, FEWER_ARMS, FEW_ARMS = 3, 5, 16
"""Numbers of arms up to which pulls on common splits are shared more evenly."""

ENOUGH_FOR_THREE = 9
"""Up to `FEW_ARMS` arms start with three pulls each if the budget has this many per arm."""

LEAST_LIKELIHOOD = 0.01
"""Arms that are less likely than this, relative to the leader, get nothing of the even part."""

WILD, LIKELIHOOD_OF_WILD = 20.0, 0.1
"""The likelihood of an arm whose variance is this many times that of all others, and which does
not lead, is reduced by this factor. It makes no difference with many arms on common splits."""


@dataclass(frozen=True)
class LikelihoodAllocation:
    """The allocation for given numbers of arms and pulls."""

    n_arms: int
    n_pulls: int
    common_splits: bool
    """Whether arms are compared on common splits. In this case, a pull is only useful if a rival
    is pulled on the same split, and the weights do not depend on the noise of an arm."""
    shrinkage: float | None
    """Weight of the pooled variance in the variance of an arm, in degrees of freedom."""

    def stages(self, plans_per_stage: int) -> list[tuple[int, list[tuple[int, bool]]]]:
        """Return the number of contenders in each stage, and its plans as in `in_plans`.

        The first plan has the first pulls of all arms.
        """
        widths, n_even = widths_of(self.n_arms), self._n_first() * self.n_arms
        if not widths:
            return []
        first, *later = in_plans(n_even, self.n_pulls - n_even, plans_per_stage * len(widths))
        plans = [[first]] + [[] for _ in widths[1:]]
        for i, plan in enumerate(later):
            plans[i * len(widths) // len(later)].append(plan)
        if self._even_share() == 1:
            widths = [self.n_arms] * len(widths)
        return list(zip(widths, plans, strict=True))

    def counts(self, game: Game, n: int, n_contenders: int) -> IntArray:
        """Return the number of pulls of each arm in a plan after the first."""
        in_play, n_pulls = game.contested(), game.statistics.n_pulls
        limit = game.problem.max_repetitions
        if limit is not None:  # an arm without splits left makes room for another
            in_play = in_play & (n_pulls < limit)
        estimates = estimate_arms(game.statistics, game.alive, game.table)
        shrinkage = self._shrinkage()
        variance = shrunk_variances(estimates, game.alive, shrinkage)
        likelihood = likelihood_of_leading(estimates, variance, n_pulls, game.alive, shrinkage)
        if self._even_share() > 0:
            leader = keep_best(likelihood, in_play, 1)
            likelihood[_is_wild(estimates, game.alive) & ~leader] *= LIKELIHOOD_OF_WILD
        rank = _rank(likelihood, estimates.mean, game.alive)
        contenders = keep_best(rank, in_play, n_contenders)
        first_two = keep_best(rank, in_play, 2)
        if self.common_splits:
            # Pulling only the leader yields no information about differences, so that an arm that
            # leads by chance would keep the lead.
            weight = np.sqrt(likelihood)
            largest = np.where(in_play, weight, 0.0).max(axis=1, keepdims=True)
            weight = np.where(first_two, largest, weight)
        else:
            weight = variance * np.sqrt(likelihood)
        evenly = contenders & ((likelihood >= LEAST_LIKELIHOOD) | first_two)
        n_even = np.full(len(in_play), int(self._even_share() * n + 0.5))
        even = greedy_counts(evenly.astype(np.float64), n_pulls, n_even, limit)
        rest = n - even.sum(axis=1)
        weight = positive_weights(weight, contenders)
        return even + greedy_counts(weight, n_pulls + even, rest, limit)

    def _n_first(self) -> int:
        """Return the number of pulls of each arm before the first comparison."""
        per_arm = self.n_pulls // self.n_arms
        if not self.common_splits:
            # Variances need three pulls per arm, at most half of the budget.
            return min(3, max(1, per_arm // 2))
        if self.n_arms > FEW_ARMS:
            return 1
        if per_arm >= 4:
            return 3 if self.n_pulls >= ENOUGH_FOR_THREE * self.n_arms else 2
        return min(2, per_arm) if self.n_arms <= FEWER_ARMS else 1

    def _even_share(self) -> float:
        """Return the share of a plan that its contenders get evenly."""
        if not self.common_splits:
            return 0.1
        shares = {VERY_FEW_ARMS: 1.0, FEWER_ARMS: 0.5, FEW_ARMS: 0.25}
        return next((share for most, share in shares.items() if self.n_arms <= most), 0.0)

    def _shrinkage(self) -> float:
        if self.shrinkage is not None:
            return self.shrinkage
        return 1.0 if self.common_splits and self.n_arms <= FEW_ARMS else 3.0


def _rank(likelihood: FloatArray, mean: FloatArray, alive: BoolArray) -> FloatArray:
    """Return the likelihood, or the negative gap to the best mean where the likelihood is 0.

    Without noise, all arms but the leader have a likelihood of 0.
    """
    top = np.where(alive, mean, -np.inf).max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        rank: FloatArray = np.where(likelihood > 0, likelihood, mean - top)
    return rank


def _is_wild(estimates: Estimates, alive: BoolArray) -> BoolArray:
    """Return which arms are far noisier than all others.

    Pulls of such an arm may make it the leader by chance, and rarely show that it is the best.
    """
    squares, freedom = (np.where(alive, x, 0.0) for x in (estimates.squares, estimates.freedom))
    of_others = freedom.sum(axis=1, keepdims=True) - freedom
    pooled = squares.sum(axis=1, keepdims=True) - squares
    pooled /= np.maximum(of_others, 1e-9)
    is_known = (of_others >= 2) & (pooled > 0) & (freedom > 0)
    return is_known & (squares > WILD * pooled * freedom)
