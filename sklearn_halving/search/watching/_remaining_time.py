"""Estimate of the remaining time of a search, from the times of fits at each level."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sklearn_halving.execution._types import Outcome
from sklearn_halving.resources import Resource


@dataclass
class FitCosts:
    """Mean times of fits by amount of resource, and the rate at which fits complete.

    The time of a fit is that of training, which depends on the additional amount of resource, plus
    that of scoring, which does not. For amounts without any fit, training time is interpolated
    linearly between the two nearest amounts. With a single amount, it is proportional to it.

    Parameters
    ----------
    resource : Resource
        The resource of the levels.
    continues : bool
        Whether training continues from rung to rung.
    n_workers : int
        Assumed number of parallel fits, until the actual rate is known.
    """

    resource: Resource
    continues: bool
    n_workers: int
    _training: dict[float, tuple[float, int]] = field(default_factory=dict)
    _scoring: tuple[float, int] = (0.0, 0)
    _busy: float = 0.0
    _since: float | None = None

    def add(self, outcome: Outcome, now: float | None = None) -> None:
        """Add the times of a fit that completed at ``now``; None if it is from a checkpoint."""
        work = self._work(outcome.previous_level, outcome.pull.level)
        total, n = self._training.get(work, (0.0, 0))
        self._training[work] = total + outcome.fit_seconds, n + 1
        total, n = self._scoring
        self._scoring = total + outcome.score_seconds, n + 1
        if now is not None:
            seconds = outcome.fit_seconds + outcome.score_seconds
            self._busy += seconds
            if self._since is None:  # the start of the workers does not count
                self._since = now - seconds

    def seconds_of(self, fits: Iterable[tuple[int, int, int]], now: float) -> float | None:
        """Return the estimated time of these fits.

        Parameters
        ----------
        fits : iterable of (int, int, int)
            Previous level, level, and number of such fits.
        now : float
            Current time, by the same clock as in `add`.

        Returns
        -------
        seconds : float or None
            None if there is no fit yet.
        """
        fits = [(before, level, n) for before, level, n in fits if n > 0]
        if not fits:
            return 0.0
        if not self._training:
            return None
        scoring = self._scoring[0] / self._scoring[1]
        busy = sum(
            n * (scoring + self._training_of(self._work(before if self.continues else 0, level)))
            for before, level, n in fits
        )
        if self._since is None or self._busy <= 0 or now <= self._since:
            return busy / self.n_workers
        # The rate so far accounts for the number of workers and for all overhead.
        return busy * (now - self._since) / self._busy

    def _work(self, before: int, level: int) -> float:
        return float(self.resource.to_amount(max(1, level - before)))

    def _training_of(self, work: float) -> float:
        if work in self._training:
            return _mean(self._training[work])
        seen = sorted(self._training)
        if len(seen) == 1:
            return _mean(self._training[seen[0]]) * work / seen[0]
        above = next((i for i, other in enumerate(seen) if other > work), len(seen) - 1)
        low, high = seen[max(0, above - 1)], seen[max(1, above)]
        of_low, of_high = _mean(self._training[low]), _mean(self._training[high])
        seconds = of_low + (work - low) * max(0.0, of_high - of_low) / (high - low)
        return max(0.0, seconds)


def _mean(total_and_n: tuple[float, int]) -> float:
    return total_and_n[0] / total_and_n[1]
