"""Successive rejects with more pulls for noisy arms (Faella, Finzi and Sauro 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Shape
from sklearn_halving.policies._successive_rejects import (
    PhasedPolicy,
    check_n_pulls,
    contested,
    phases,
)
from sklearn_halving.policies._types import Problem
from sklearn_halving.policies.bases._greedy_allocation import greedy_counts, positive_weights
from sklearn_halving.policies.bases._parameter_checks import NotNegative
from sklearn_halving.policies.bases._planned_pulls import PlannedState, new_state
from sklearn_halving.policies.bases._ranking import best_known, keep_best

N_FOR_VARIANCE = 3
"""Number of pulls of an arm before its estimated variance is used."""


@dataclass(frozen=True)
class VarianceRejects(PhasedPolicy):
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
    >>> state, rng = policy.start(Problem(n_arms=3)), np.random.default_rng(0)
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=100)
    ...     noise = 0.1 * rng.normal(size=len(pulls))
    ...     policy.tell(state, pulls, np.array([0.1, 0.5, 0.9])[pulls.arm] + noise)
    >>> int(policy.recommend(state))
    2
    """

    n_pulls: int
    gamma: NotNegative = 1.96

    def _first_state(self, problem: Problem, batch_shape: Shape) -> PlannedState:
        check_n_pulls(self.n_pulls, problem.n_arms)
        plan = phases(problem.n_arms, self.n_pulls)
        return new_state(problem, batch_shape, len(plan), plan)

    def _counts(self, state: PlannedState) -> IntArray:
        n_each = state.settings[state.step].n_each
        in_play = contested(state)
        budget = n_each * in_play.sum(axis=1)
        weight = self._variances(state, in_play)
        limit = state.problem.max_repetitions
        return greedy_counts(weight, state.statistics.n_pulls, budget, limit)

    def _variances(self, state: PlannedState, in_play: BoolArray) -> FloatArray:
        """Return positive weights for the arms in play, and 0 for the other arms."""
        variance = state.statistics.variance()
        known = in_play & (state.statistics.n_pulls >= N_FOR_VARIANCE)
        variance = np.where(known & np.isfinite(variance), variance, 0.0)
        # Weights are equal if a variance is unknown, or if no variance is positive.
        is_known = (known | ~in_play).all(axis=1, keepdims=True)
        return positive_weights(np.where(is_known, variance, 1.0), in_play)

    def _conclude(self, state: PlannedState) -> None:
        mean, n = state.statistics.mean(), np.maximum(state.statistics.n_pulls, 1)
        error = np.sqrt(state.statistics.variance() / n)
        with np.errstate(invalid="ignore"):
            upper = mean + self.gamma * np.where(np.isfinite(error), error, 0.0)
        state.alive = keep_best(upper, state.alive, state.settings[state.step].n_kept)
        state.best = best_known(state.alive, mean)
