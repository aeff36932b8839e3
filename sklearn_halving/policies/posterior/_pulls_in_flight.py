"""Pulls of BayesGap that have no reward yet."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._types import NO_ARM
from sklearn_halving.policies.posterior._arm_posterior import ArmPosterior

PullOfEach = tuple[IntArray, IntArray]
"""Arms and repetitions of shape (n_problems,), with ``NO_ARM`` for problems without a pull."""


@dataclass(eq=False)
class PullsInFlight:
    """Pulls without a reward in the posterior, whose variances they reduce.

    Parameters
    ----------
    pending : list of tuple
        Arms and repetitions in flight, oldest first.
    lost : list of tuple
        Arms and repetitions of pulls that failed before the first reward of their problem. They
        reduce the variances, so that the policy leaves a region in which all arms fail.
    ahead : ArmPosterior or None
        Posterior that includes all of them; None if it has to be computed.
    """

    pending: list[PullOfEach] = field(default_factory=list)
    lost: list[PullOfEach] = field(default_factory=list)
    ahead: ArmPosterior | None = None

    def open(self, arm: IntArray, repetition: IntArray) -> None:
        """Add a pull of each problem."""
        self.pending.append((arm, repetition))
        if self.ahead is not None:
            self.ahead.update(arm, repetition, None)

    def close_oldest(self, arm: int, repetition: int) -> bool:
        """Remove the oldest pull of a single problem, and return whether it is the given one."""
        if not self.pending:
            return False
        oldest_arm, oldest_repetition = self.pending[0]
        if oldest_arm.item(0) != arm or oldest_repetition.item(0) != repetition:
            return False
        del self.pending[0]
        if not self.pending:
            self.ahead = None
        return True

    def close(self, arm: IntArray, repetition: IntArray) -> None:
        """Remove a pull of each problem."""
        left = [(np.where((a == arm) & (r == repetition), NO_ARM, a), r) for a, r in self.pending]
        self.pending = _without_empty(left)
        if not self.pending:
            self.ahead = None

    def lose(self, arm: IntArray, repetition: IntArray) -> None:
        """Add pulls that failed before the first reward of their problem."""
        if (arm != NO_ARM).any():
            self.lost.append((arm, repetition))

    def find(
        self, has_reward: BoolArray, lowest: FloatArray
    ) -> list[tuple[IntArray, IntArray, FloatArray, BoolArray]]:
        """Remove the lost pulls of problems that have a reward now.

        Returns
        -------
        found : list of tuple
            Arms, repetitions, their rewards, and in which problems they were found.
        """
        found = [(arm, split, lowest, has_reward & (arm != NO_ARM)) for arm, split in self.lost]
        if found:
            self.ahead = None
            left = [(np.where(has_reward, NO_ARM, arm), split) for arm, split in self.lost]
            self.lost = _without_empty(left)
        return found

    def ahead_of(self, posterior: ArmPosterior) -> ArmPosterior:
        """Return the posterior whose variances include these pulls."""
        if not self.pending and not self.lost:
            return posterior
        if self.ahead is None:
            self.ahead = posterior.copy()
            for arm, repetition in (*self.lost, *self.pending):
                self.ahead.update(arm, repetition, None)
        return self.ahead


def _without_empty(pulls: list[PullOfEach]) -> list[PullOfEach]:
    return [pull for pull in pulls if (pull[0] != NO_ARM).any()]
