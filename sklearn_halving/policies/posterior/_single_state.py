"""State of BayesGap for a single problem, in which the usual steps need few calls of NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._types import Pulls
from sklearn_halving.policies.bases._gap_rule import SingleRound
from sklearn_halving.policies.posterior._prior import Refits
from sklearn_halving.policies.posterior._single_posterior import SinglePosterior
from sklearn_halving.policies.posterior._state import FARTHEST, PosteriorState


@dataclass(eq=False)
class SingleState(PosteriorState):
    """The `PosteriorState` of a single problem.

    Parameters
    ----------
    refits : Refits or None
        The rewards so far, if hyperparameters are fitted to them.

    Attributes
    ----------
    rule : SingleRound or None
        The faster form of a round; None if it does not apply, because at most one arm is in play
        or because the prior means are not 0.
    """

    posterior: SinglePosterior
    refits: Refits | None = None

    def __post_init__(self) -> None:
        """Use the faster form of a round if it applies."""
        super().__post_init__()
        applies = self.batch_shape == () and self.problem.n_arms > 1 and not self.prior_mean.any()
        self.rule = SingleRound(self.problem.n_arms) if applies else None

    def has_room(self) -> bool:
        """Return whether all arms in play surely have unused repetitions."""
        most = self.problem.max_repetitions
        return self.rule is not None and (most is None or self.n_rounds < most)

    def goes_on(self) -> bool:
        """Return whether an arm can be pulled."""
        return self.has_room() or super().goes_on()

    def choose(self, epsilon: float) -> int | None:
        """Return the arm of a round; None if the faster form does not apply."""
        if self.rule is None or not self.has_room():
            return None
        offset, scale = 0.0, 1.0
        if self.units is not None:
            offset, scale = self.posterior.offset_and_scale_of_one()
            epsilon /= scale * (self.units.unit.item(0) or 1.0)
        board = self.posterior.board[0]
        np.sqrt(self.in_flight.ahead_of(self.posterior).variance[0], board[2])
        weights = 1 / scale, -offset / scale
        arm, leader, bound = self.rule.choose(
            self.exploration, board, weights, epsilon, self.priority
        )
        self.rounds.append((leader, bound))
        return arm

    def pull(self, arm: int) -> Pulls:
        """Record and return the next pull."""
        repetition = self.arms.n_asked.item(0, arm)
        self.arms.n_asked[0, arm] = repetition + 1
        level = self.problem.max_level
        pulls = Pulls(np.array([arm]), np.array([level]), np.array([repetition]))
        self.open_pulls(pulls.arm, pulls.repetition)
        return pulls

    def may_win(self) -> BoolArray:
        """Return the arms that can be recommended, in the shape of ``arms.alive``."""
        if self.refits is None:
            return self.arms.alive
        is_hopeless = self.refits.is_hopeless()
        others: BoolArray = self.arms.alive & (self.arms.n_told > 0) & ~is_hopeless
        return self.arms.alive & ~(is_hopeless & others.any(axis=1, keepdims=True))

    def take_in_one(self, arm: int, repetition: int, reward: float) -> None:
        """Record a reward, with few calls of NumPy in the usual case."""
        units, in_flight = self.units, self.in_flight
        is_usual = self.rule is not None and isfinite(reward) and not in_flight.lost
        if is_usual and units is not None:
            is_usual = units.unit.item(0) > 0
        if not (is_usual and in_flight.close_oldest(arm, repetition)):
            self.take_in(np.array([arm]), np.array([repetition]), np.array([reward]))
            return
        if reward < self.lowest.item(0):
            self.lowest[0] = reward
        if units is not None:
            reward = (reward - units.zero.item(0)) / units.unit.item(0)
        self.arms.n_told[0, arm] += 1
        self._learn_one(arm, repetition, min(max(reward, -FARTHEST), FARTHEST))

    def _update(
        self, arm: IntArray, repetition: IntArray, value: FloatArray, is_told: BoolArray
    ) -> None:
        if is_told[0]:
            self._learn_one(int(arm[0]), int(repetition[0]), float(value[0]))

    def _learn_one(self, arm: int, repetition: int, value: float) -> None:
        """Update the posterior, and its hyperparameters if it is time."""
        if self.refits is None:
            self.posterior.update_one(arm, repetition, value)
        else:
            self.posterior.update_one(arm, repetition, max(value, self.refits.floor))
            if self.refits.add(arm, repetition, value):
                self.posterior, self.exploration = self.refits.fit()
                self.in_flight.ahead = None

    def _eliminate(self, rows: IntArray, arm: IntArray, reward: FloatArray) -> None:
        super()._eliminate(rows, arm, reward)
        if self.rule is not None:
            self.rule.out = np.flatnonzero(~self.arms.alive[0])
            if len(self.rule.out) > self.problem.n_arms - 2:
                self.rule = None  # at most one arm is left
