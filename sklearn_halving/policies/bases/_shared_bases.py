"""What policies of different kinds share: no schedule, or a budget and a range of rewards."""

from __future__ import annotations

from sklearn_halving.policies._types import Schedule
from sklearn_halving.policies.bases._parameter_checks import RewardRange, width_of_range


class Unscheduled:
    """A policy that finds out on the way who gets the pulls, all of them at the largest level."""

    def schedule(
        self, min_level: int, max_level: int, n_available: int | None = None
    ) -> Schedule | None:
        """Return None: who gets the pulls is seen later."""
        return None


class RangedBudget:
    """A policy with a number of pulls, and bounds that need the range of the rewards."""

    n_pulls: int
    reward_range: RewardRange | None

    def _width(self) -> float:
        return width_of_range(self, self.reward_range)

    def _most_pulls(self) -> int:
        return self.n_pulls
