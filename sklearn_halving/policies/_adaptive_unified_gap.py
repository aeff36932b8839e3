"""UGap that estimates how hard the problem is, as BayesGap does, and needs no constant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_halving.policies._gap_exploration import sample_variance
from sklearn_halving.policies._types import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._unified_gap import (
    _check_bounds,
    _compare,
    _first_pulls,
    _half_width,
)
from sklearn_halving.policies.bases._index_policy import IndexPolicy, IndexState
from sklearn_halving.policies.bases._parameter_checks import (
    RewardRange,
    check_not_negative,
    width_of_range,
)
from sklearn_halving.policies.bases._ranking import best_of_others


@dataclass(frozen=True)
class AdaptiveUGapEb(IndexPolicy):
    """`UGapEb` with its exploration estimated before every pull.

    ``a = (n - K) / (4 H)``, the largest for which UGapEb's bound of the regret is proved, with the
    hardness ``H = sum of (b / g)^2``, ``g = max((gap + epsilon) / 2, epsilon)``. Gaps are taken
    between bounds ``mean +- b sqrt(1 / (2 N))``: rather too large, and so is a. With "bernstein"
    ``H = sum of ((s + sqrt(s^2 + 16 b g / 3)) / g)^2``, s the standard deviation of an arm less
    ``b sqrt(2 / (N - 1))``, and ``n - 2 K`` in place of ``n - K``. Bounds of rounds with unlike a
    cannot be compared: the best mean is chosen, and not the leader of the least bound. No
    guarantee is known.

    Parameters
    ----------
    n_pulls : int
        Number of pulls for all arms together, the paper's n; never exceeded. At least one an arm,
        with "bernstein" two.
    epsilon : float, default=0.0
        Regret that does not matter, in units of reward.
    bounds : {"hoeffding", "bernstein"}, default="hoeffding"
        See `UGapEb`.
    reward_range : (float, float)
        Smallest and largest possible reward; the paper's b is their difference.

    References
    ----------
    Gabillon, Ghavamzadeh and Lazaric. Best arm identification: a unified approach to fixed budget
    and fixed confidence. NIPS 2012, Fig. 1. The estimate is that of Hoffman, Shahriari and de
    Freitas (AISTATS 2014, end of section 5), by bounds for independent arms.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import AdaptiveUGapEb, Problem
    >>> policy = AdaptiveUGapEb(n_pulls=40, reward_range=(0, 1))
    >>> state = policy.start(Problem(n_arms=3))
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=1)
    ...     policy.tell(state, pulls, np.array([0.1, 0.6, 0.7])[pulls.arm])
    >>> int(policy.recommend(state))
    2
    """

    n_pulls: int
    epsilon: float = 0.0
    bounds: str = "hoeffding"
    reward_range: RewardRange | None = None

    def __post_init__(self) -> None:
        """Refuse a regret below 0 and unknown bounds."""
        check_not_negative("epsilon", self.epsilon, "It is a difference of rewards, such as 0.01.")
        _check_bounds(self.bounds)

    @property
    def n_first(self) -> int:  # type: ignore[override]
        """Number of pulls that an arm needs before it has an interval."""
        return _first_pulls(self.bounds)

    def regret_bounds(self, state: IndexState) -> FloatArray:
        """Return B_J of every round in which all arms had bounds, shape ``(*batch, n_rounds)``."""
        bounds = np.array(state.memory).reshape(len(state.memory), len(state.rows))
        return bounds.T.reshape(*state.batch_shape, -1)

    def half_width(self, state: IndexState) -> FloatArray:
        """Return half the width of each arm's interval, shape ``(*batch, n_arms)``.

        Infinite where there are too few rewards for one.
        """
        x = self._exploration(state)
        width = np.where(
            state.n_pulls >= self.n_first,
            _half_width(self.bounds, x, state, state.n_pulls),
            np.inf,
        )
        return width.reshape(*state.batch_shape, -1)

    def _width(self) -> float:
        return width_of_range(self, self.reward_range)

    def _most_pulls(self) -> int:
        return self.n_pulls

    def _first_memory(
        self, state: IndexState, seed: np.random.SeedSequence | None
    ) -> list[FloatArray]:
        return []  # the bounds of all rounds

    def _exploration(self, state: IndexState) -> FloatArray:
        """Return a in each problem, shape ``(n_problems, 1)``."""
        n, b = np.maximum(state.n_pulls, self.n_first), state.width
        is_known = state.alive & np.isfinite(state.mean) & (state.n_pulls >= self.n_first)
        mean = np.where(is_known, state.mean, 0.0)
        radius = b * np.sqrt(0.5 / n)
        others = best_of_others(np.where(is_known, mean + radius, -np.inf))
        has_gap = is_known & np.isfinite(others)
        # Of an arm that is far ahead the gap is negative.
        gap = np.abs(np.where(has_gap, others, 0.0) - (mean - radius))
        half = np.maximum((gap + self.epsilon) / 2, max(self.epsilon, 1e-12 * b))
        if self.bounds == "bernstein":
            spread = np.where(is_known, np.sqrt(sample_variance(state)), 0.0)
            deviation = np.maximum(spread - b * np.sqrt(2 / (n - 1)), 0.0)
            hardness = ((deviation + np.sqrt(deviation**2 + 16 / 3 * b * half)) / half) ** 2
        else:
            hardness = (b / half) ** 2
        total = np.where(has_gap, hardness, 0.0).sum(axis=1, keepdims=True)
        n_left = max(self.n_pulls - self.n_first * state.problem.n_arms, 0)
        return n_left / (4 * np.where(total > 0, total, 1.0))

    def _largest(self, state: IndexState, usable: BoolArray) -> IntArray:
        with np.errstate(over="ignore", invalid="ignore"):  # infinite rewards are numbers
            half_width = _half_width(self.bounds, self._exploration(state), state, state.n_asked)
        choice = _compare(state, half_width, usable)
        # Rounds before every arm has its first pulls compare too few arms.
        counts = state.is_open & self._has_first(state)
        if counts.any():
            state.memory.append(np.where(counts, choice.bound, np.nan))
        return choice.arm
