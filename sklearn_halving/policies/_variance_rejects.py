"""Successive rejects that pulls where the noise is (Faella, Finzi and Sauro 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_halving.policies._successive_rejects import PhasedPolicy, contested, phases
from sklearn_halving.policies._types import BoolArray, FloatArray, IntArray, Problem
from sklearn_halving.policies.bases._greedy_allocation import greedy_counts
from sklearn_halving.policies.bases._parameter_checks import check_budget, check_not_negative
from sklearn_halving.policies.bases._planned_pulls import PlannedState, new_state
from sklearn_halving.policies.bases._ranking import best_known, keep_best

N_FOR_VARIANCE = 3
"""Pulls an arm needs before its variance steers anything."""


@dataclass(frozen=True)
class VarianceRejects(PhasedPolicy):
    """Reject one arm at a time, with the pulls of a phase shared by the variances of the arms.

    The phases have as many pulls as those of `SuccessiveRejects`. In the first all arms get the
    same number; in later ones a pull goes to the arm with the largest ``V / N``, so that all
    confidence intervals become equally wide. Then the arm with the smallest upper bound
    ``mean + gamma sqrt(V / N)`` is rejected. For few arms with very different variances; with
    many arms and few pulls the variances are not known well enough.

    Parameters
    ----------
    n_pulls : int
        Number of pulls for all arms together; never exceeded. Larger than the number of arms.
    gamma : float, default=1.96
        Half the width of a confidence interval in standard errors; 1.96 covers 95 %.

    Notes
    -----
    This follows how Lalitha et al. (2023) describe the policy with which they compare theirs: one
    arm less in each of K stages, after Audibert's successive rejects, with bounds of width gamma.
    Details of the original may differ.

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
    gamma: float = 1.96

    def __post_init__(self) -> None:
        """Refuse a width below 0."""
        check_not_negative("gamma", self.gamma, "Use 1.96, the default.")

    def _first_state(self, problem: Problem, batch_shape: tuple[int, ...]) -> PlannedState:
        n_arms = problem.n_arms
        least = n_arms + 1 if n_arms > 1 else 1
        why = f"to compare {n_arms} arms in {n_arms - 1} phases"
        check_budget("n_pulls", self.n_pulls, least, why)
        plan = phases(n_arms, self.n_pulls)
        return new_state(problem, batch_shape, len(plan), plan)

    def _counts(self, state: PlannedState) -> IntArray:
        n_each = state.settings[state.step].n_each
        in_play = contested(state)
        budget = n_each * in_play.sum(axis=1)
        weight = self._variances(state, in_play)
        limit = state.problem.max_repetitions
        return greedy_counts(weight, state.statistics.n_pulls, budget, limit)

    def _variances(self, state: PlannedState, in_play: BoolArray) -> FloatArray:
        """Return positive weights of the arms in play, 0 of the others."""
        n, squares = state.statistics.n_pulls, state.statistics.squared_deviation_sum
        known = in_play & (n >= N_FOR_VARIANCE)
        variance = np.where(known & np.isfinite(squares), squares / np.maximum(n - 1, 1), 0.0)
        largest = variance.max(axis=1, keepdims=True)
        # All alike where some variance is not known yet, or none is above 0.
        even = ~(known | ~in_play).all(axis=1, keepdims=True) | (largest <= 0)
        least = np.where(largest > 0, 1e-30 * largest, 1.0)
        return np.where(in_play, np.where(even, 1.0, np.maximum(variance, least)), 0.0)

    def _conclude(self, state: PlannedState) -> None:
        n, squares = state.statistics.n_pulls, state.statistics.squared_deviation_sum
        mean = state.statistics.mean()
        error = np.sqrt(squares / np.maximum(n - 1, 1) / np.maximum(n, 1))
        with np.errstate(invalid="ignore"):
            upper = mean + self.gamma * np.where(np.isfinite(error), error, 0.0)
        state.alive = keep_best(upper, state.alive, state.settings[state.step].n_kept)
        state.best = best_known(state.alive, mean)
