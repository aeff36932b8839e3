"""No resource: every fit is a whole one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn_halving.resources._fitting import fit


@dataclass(frozen=True)
class WholeFit:
    """Fit the estimator as it is, on all rows of the training fold; there is one level.

    What ``resource=None`` stands for in the searches that do not need a resource.

    Examples
    --------
    >>> from sklearn_halving.resources import WholeFit
    >>> WholeFit().level_range(None, 100, 1)
    (1, 1)
    """

    name = "whole_fit"
    subsamples_rows = False

    def check(self, estimator: Any, searched: frozenset[str]) -> None:
        """Accept every estimator and every search space."""

    def level_range(self, estimator: Any, n_train: int, n_rows_needed: int) -> tuple[int, int]:
        """Return 1 and 1: there is one level."""
        return 1, 1

    def to_level(self, amount: float) -> int:
        """Return the number of whole fits that is nearest."""
        return round(amount)

    def to_amount(self, level: int) -> float:
        """Return the level: whole fits are their own unit."""
        return level

    def params_at(self, level: int) -> dict[str, Any]:
        """Return nothing: no parameter states the level."""
        return {}

    def can_continue(self, estimator: Any) -> bool:
        """Return False: there is no higher level."""
        return False

    def train(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        level: int,
        previous_level: int,
        fit_params: dict[str, Any],
    ) -> Any:
        """Fit from scratch."""
        return fit(estimator, X, y, fit_params)
