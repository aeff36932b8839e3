"""The workers that a search lost, and when it is too many."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn_halving._unstable_joblib import LostWorkerError

MAX_LOSSES = 3
"""After so many losses of workers all pulls run in companions: starting anew costs seconds."""
MAX_IN_VAIN = 5
"""How often the workers may be lost with nothing coming back in between."""


@dataclass
class Losses:
    """The workers that were lost.

    Parameters
    ----------
    pending : LostWorkerError or None
        A loss from which the executor has yet to recover.
    n : int
        How many losses there were.
    n_in_vain : int
        How many since a chunk last came back.
    """

    pending: LostWorkerError | None = None
    n: int = 0
    n_in_vain: int = 0

    @property
    def are_many(self) -> bool:
        """Whether it is better to run each pull in a companion from now on."""
        return self.n >= MAX_LOSSES

    def note(self, loss: LostWorkerError) -> None:
        """Count a loss; raise if workers do nothing but die."""
        self.n += 1
        self.n_in_vain += 1
        if self.n_in_vain > MAX_IN_VAIN:
            raise RuntimeError(
                f"The workers were lost {self.n_in_vain} times in a row, and nothing came back "
                f"in between. The last time: {loss}. Look for what ends them: the system, for "
                "want of memory, or the cluster."
            ) from loss.error
