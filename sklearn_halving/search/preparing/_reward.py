"""The reward of an outcome: the score that guides a search."""

from __future__ import annotations

from sklearn_halving._typing import Refit
from sklearn_halving.execution._types import Outcome


class Reward:
    """Returns the score of an outcome that guides the search.

    With several metrics, it is the one that ``refit`` names, or the first one.
    """

    def __init__(self, refit: Refit, refit_metric: Refit | None) -> None:
        # For a callable that returns a dict, only ``refit`` determines the metric.
        names = [name for name in (refit, refit_metric) if isinstance(name, str)]
        self._metric = names[0] if names else None

    def metric_of(self, scores: object) -> str:
        """Return the name of the metric; ``"score"`` if there is only one."""
        if not isinstance(scores, dict):
            return "score"
        if self._metric is None or self._metric not in scores:
            first: str = next(iter(scores))
            return first
        return self._metric

    def __call__(self, outcome: Outcome) -> float:
        """Return the test score that guides the search."""
        scores = outcome.test_scores
        return float(scores[self.metric_of(scores)] if isinstance(scores, dict) else scores)
