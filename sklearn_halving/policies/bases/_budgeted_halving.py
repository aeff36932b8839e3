"""Base class of the variants of successive halving that play one bracket within a budget."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn_halving.policies._types import Bracket, Problem, Rung, Schedule
from sklearn_halving.policies.bases._bracket_policy import ScheduledPolicy
from sklearn_halving.policies.bases._parameter_checks import check_count, check_whole


@dataclass(frozen=True)
class BudgetedHalving(ScheduledPolicy):
    """One bracket of ``n_arms`` arms within a budget of units; subclasses define its rungs."""

    n_arms: int
    budget: int

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_count("n_arms", self.n_arms)
        advice = "It is a number of units for all arms together, such as 1000."
        check_whole("budget", self.budget, advice)

    def _rungs(self, n_arms: int, max_level: int) -> tuple[Rung, ...]:
        """Return the rungs; raise if the budget is too small."""
        raise NotImplementedError

    def schedule(self, min_level: int, max_level: int, n_available: int | None = None) -> Schedule:
        """Return the bracket.

        Parameters
        ----------
        min_level : int
            Not used. The budget determines the level of the first rung.
        max_level : int
            The level of the last rung, if the variant has a finite horizon.
        n_available : int or None, default=None
            Number of available candidates, if it is smaller than ``n_arms``.
        """
        n_arms = self.n_arms if n_available is None else min(self.n_arms, n_available)
        rungs = self._rungs(n_arms, max_level)
        return Schedule((Bracket(max(0, len(rungs) - 1), rungs),))

    def _may_win(self, level: int, problem: Problem) -> bool:
        # The winner of the last round is recommended. Its level is the largest of all rounds.
        return level == self._rungs(problem.n_arms, problem.max_level)[-1].level
