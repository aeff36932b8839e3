"""How long fits take at each level, and so how long the rest of a search takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sklearn_halving.execution._types import Outcome
from sklearn_halving.resources import Resource


@dataclass
class FitCosts:
    """The mean time of fits, by what they were given, and the pace at which they come back.

    A fit costs its training, which depends on how much resource it is given, or given more
    than the model that it goes on from, and its scoring, which does not. Training at a level
    that nobody has seen yet is on the straight line through the two nearest that were seen;
    after a single one it is in proportion to the resource.

    Parameters
    ----------
    resource : Resource
        What a level means.
    continues : bool
        Whether models are trained on from rung to rung.
    n_workers : int
        How many fits run at a time, until it is seen how many do.
    """

    resource: Resource
    continues: bool
    n_workers: int
    _training: dict[float, tuple[float, int]] = field(default_factory=dict)
    _scoring: tuple[float, int] = (0.0, 0)
    _busy: float = 0.0
    _since: float | None = None

    def add(self, outcome: Outcome, now: float | None = None) -> None:
        """Take in the times of a fit that came back now; of an earlier search without ``now``."""
        work = self._work(outcome.previous_level, outcome.pull.level)
        total, n = self._training.get(work, (0.0, 0))
        self._training[work] = total + outcome.fit_seconds, n + 1
        total, n = self._scoring
        self._scoring = total + outcome.score_seconds, n + 1
        if now is not None:
            seconds = outcome.fit_seconds + outcome.score_seconds
            self._busy += seconds
            if self._since is None:  # workers may have taken their time to start before that
                self._since = now - seconds

    def seconds_of(self, fits: Iterable[tuple[int, int, int]], now: float) -> float | None:
        """Return how long these fits take.

        Parameters
        ----------
        fits : iterable of (int, int, int)
            The level before, the level, and how many such fits there are.
        now : float
            The time, by the same clock as in `add`.

        Returns
        -------
        seconds : float or None
            None if no fit has been seen yet.
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
        # What has come back in the time so far counts workers, and all that is not fitting.
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
