"""Successive halving: one bracket with a fixed budget."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn_halving.policies._types import Rung
from sklearn_halving.policies.bases._budgeted_halving import BudgetedHalving
from sklearn_halving.policies.bases._rungs import (
    exact_factor,
    finite_horizon_rungs,
    fixed_budget_rungs,
)


@dataclass(frozen=True)
class SuccessiveHalving(BudgetedHalving):
    """Halve the number of arms ``ceil(log2 n)`` times within a budget of units.

    Round k spends ``floor(budget / (|S_k| * ceil(log2 n)))`` additional units on each of its
    arms and keeps the best ``floor(|S_k| / 2)`` arms. The policy stops when one arm is left.

    Parameters
    ----------
    n_arms : int
        Number of arms, n.
    budget : int
        Maximum number of units of resource for all arms together, B. Units are counted once: if
        an arm is trained from level 15 to level 46, this costs 31 units.

    References
    ----------
    Jamieson and Talwalkar. Non-stochastic best arm identification and hyperparameter
    optimization. AISTATS 2016, Fig. 3.

    Examples
    --------
    >>> from sklearn_halving.policies import SuccessiveHalving
    >>> rungs = SuccessiveHalving(n_arms=16, budget=1000).schedule(1, 1000).brackets[0].rungs
    >>> [(rung.n_arms, rung.level) for rung in rungs]
    [(16, 15), (8, 46), (4, 108), (2, 233)]
    """

    def __post_init__(self) -> None:
        """Check that the budget is large enough to pull every arm once."""
        super().__post_init__()
        fixed_budget_rungs(self.n_arms, self.budget)

    def _rungs(self, n_arms: int, max_level: int) -> tuple[Rung, ...]:
        return fixed_budget_rungs(n_arms, self.budget)


@dataclass(frozen=True)
class FiniteHorizonHalving(BudgetedHalving):
    """Successive halving within a budget, for a known largest level R.

    The number of eliminations s is the smallest that the budget allows,
    ``s = min {t : n R (t + 1) eta^-t <= B, t <= log_eta(min(R, n))}``. Rung k has
    ``floor(n eta^-k)`` arms at ``floor(R eta^(k - s))`` units.

    Parameters
    ----------
    n_arms : int
        Number of arms, n.
    budget : int
        Maximum number of units of resource for all arms together, B. It is not exceeded even if
        every rung is trained from scratch.
    factor : float, default=3
        The paper's eta, at least 2.

    References
    ----------
    Li et al. Hyperband. JMLR 18 (2018), Fig. 10 (finite horizon).

    Examples
    --------
    >>> from sklearn_halving.policies import FiniteHorizonHalving
    >>> policy = FiniteHorizonHalving(n_arms=81, budget=405, factor=3)
    >>> rungs = policy.schedule(1, 81).brackets[0].rungs
    >>> [(rung.n_arms, rung.level) for rung in rungs]
    [(81, 1), (27, 3), (9, 9), (3, 27), (1, 81)]
    """

    factor: float = 3

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        exact_factor(self.factor)

    def _rungs(self, n_arms: int, max_level: int) -> tuple[Rung, ...]:
        return finite_horizon_rungs(n_arms, self.budget, max_level, self.factor)
