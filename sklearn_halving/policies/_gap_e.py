"""Gap-based exploration with a fixed budget: GapE, GapE-V and its adaptive variant.

The policies are for independent arms. They pull arms whose gap to the best of the other arms is
small or uncertain (Gabillon, Ghavamzadeh, Lazaric and Bubeck 2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sklearn_halving._checks import Rule, check_not_negative
from sklearn_halving.policies._arrays import FloatArray
from sklearn_halving.policies.bases._index_policy import IndexPolicy, IndexState
from sklearn_halving.policies.bases._parameter_checks import Exploration, RewardRange
from sklearn_halving.policies.bases._ranking import gap_to_others


def estimated_gaps(state: IndexState) -> FloatArray:
    """Return ``|best mean of the other arms - mean|``; infinite if an arm has no mean."""
    mean = state.mean
    known = np.where(np.isnan(mean), -np.inf, mean)
    return np.abs(gap_to_others(known, known))


def bernstein_radius(
    state: IndexState, a: FloatArray | float, n: FloatArray, variance: FloatArray
) -> FloatArray:
    """Return ``sqrt(2 a V / N) + 7 a b / (3 (N - 1))``, where N is at least 2."""
    radius: FloatArray = np.sqrt(2 * a * variance / n)
    return radius + 7 * a * state.width / (3 * (n - 1))


def bernstein_hardness(state: IndexState, variance: FloatArray, gap: FloatArray) -> FloatArray:
    """Return ``((s + sqrt(s^2 + 16 b gap / 3)) / gap)^2`` of each arm.

    s is a lower bound of the standard deviation, ``max(sqrt(variance) - b sqrt(2 / (N - 1)), 0)``.
    """
    shortfall = state.width * np.sqrt(2 / (state.n_pulls - 1.0))
    deviation = np.maximum(np.sqrt(variance) - shortfall, 0.0)
    root = deviation + np.sqrt(deviation**2 + 16 / 3 * state.width * gap)
    hardness: FloatArray = (root / gap) ** 2
    return hardness


@dataclass(frozen=True)
class GapE(IndexPolicy):
    """Pull ``argmax -gap + b sqrt(a / N)`` and choose the arm with the best mean.

    With ``a = 4 (n - K) / (9 H)`` and ``H = sum of (b / gap)^2``, the probability of a wrong
    answer is at most ``2 K n exp(-(n - K) / (144 H))``. H is rarely known. `AdaptiveGapEV`
    estimates a similar quantity.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls of all arms together (n in the paper).
    a : float
        Exploration parameter, at least 0. Larger values spread the pulls more evenly.
    reward_range : (float, float)
        Smallest and largest possible reward. Their difference is b in the paper.

    References
    ----------
    Gabillon, Ghavamzadeh, Lazaric and Bubeck. Multi-bandit best arm identification. NIPS 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import GapE, Problem
    >>> policy = GapE(n_pulls=12, a=0.1, reward_range=(0, 1))
    >>> state = policy.start(Problem(n_arms=3))
    >>> counts = np.zeros(3, dtype=int)
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=1)
    ...     counts[pulls.arm] += 1
    ...     policy.tell(state, pulls, np.array([0.1, 0.6, 0.7])[pulls.arm])
    >>> counts, int(policy.recommend(state))
    (array([1, 6, 5]), 2)
    """

    n_pulls: int
    a: Exploration
    reward_range: RewardRange | None = None

    def _index(self, state: IndexState) -> FloatArray:
        return state.width * np.sqrt(self.a / state.n) - estimated_gaps(state)


@dataclass(frozen=True)
class GapEV(IndexPolicy):
    """Pull ``argmax -gap + sqrt(2 a V / N) + 7 a b / (3 (N - 1))``, where V is the variance.

    Every arm is pulled twice first. With ``a = 8 (n - 2 K) / (9 H)`` and
    ``H = sum of ((s + sqrt(s^2 + 16 b gap / 3)) / gap)^2``, where s is the standard deviation of
    an arm, the probability of a wrong answer decreases as ``exp(-n / (512 H))``.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls of all arms together (n in the paper). At least two per arm.
    a : float
        Exploration parameter, as in `GapE`.
    reward_range : (float, float)
        Smallest and largest possible reward. Their difference is b in the paper.

    References
    ----------
    Gabillon, Ghavamzadeh, Lazaric and Bubeck. Multi-bandit best arm identification. NIPS 2011.

    Examples
    --------
    >>> from sklearn_halving.policies import GapEV
    >>> from sklearn_halving.simulation import BernoulliArms, simulate
    >>> environment = BernoulliArms([0.1, 0.6, 0.7])
    >>> result = simulate(GapEV(n_pulls=200, a=0.5), environment, n_problems=100)
    >>> result.mistake_probability.value
    0.11
    """

    n_first: ClassVar[int] = 2

    n_pulls: int
    a: Exploration
    reward_range: RewardRange | None = None

    def _index(self, state: IndexState) -> FloatArray:
        variance = state.statistics.variance()
        radius = bernstein_radius(state, self.a, state.n, variance)
        return radius - estimated_gaps(state)


@dataclass(frozen=True)
class AdaptiveGapEV(IndexPolicy):
    """GapE-V with an exploration parameter that is estimated before every pull (A-GapE-V).

    The parameter is ``a = eta (n - 2 K) / H``, with H as in `GapEV`. In H, the gaps are estimated
    by ``gap + b sqrt(1 / (2 N))`` and the standard deviations by
    ``max(s - b sqrt(2 / (N - 1)), 0)``. Both estimates tend to make H too small, and therefore
    the exploration too large. No guarantee is known.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls of all arms together (n in the paper). At least two per arm.
    eta : float, default=8/9
        Exploration rate.
    reward_range : (float, float)
        Smallest and largest possible reward. Their difference is b in the paper.

    References
    ----------
    Gabillon, Ghavamzadeh, Lazaric and Bubeck. Multi-bandit best arm identification. NIPS 2011,
    section 3.3.

    Examples
    --------
    >>> from sklearn_halving.policies import AdaptiveGapEV
    >>> from sklearn_halving.simulation import BernoulliArms, simulate
    >>> environment = BernoulliArms([0.1, 0.6, 0.7])
    >>> result = simulate(AdaptiveGapEV(n_pulls=200), environment, n_problems=100)
    >>> result.mistake_probability.value
    0.12
    """

    n_first: ClassVar[int] = 2

    n_pulls: int
    eta: Annotated[float, Rule(check_not_negative, "Use 8/9, the default.")] = 8 / 9
    reward_range: RewardRange | None = None

    def _index(self, state: IndexState) -> FloatArray:
        gap, variance = estimated_gaps(state), state.statistics.variance()
        large_gap = gap + state.width * np.sqrt(0.5 / state.n_pulls)
        has_gap = np.isfinite(gap) & (state.n_pulls >= self.n_first)
        each = np.where(has_gap, bernstein_hardness(state, variance, large_gap), 0.0)
        hardness = np.maximum(each.sum(axis=1, keepdims=True), 1e-300)
        a = self.eta * max(self.n_pulls - 2 * state.problem.n_arms, 0) / hardness
        return bernstein_radius(state, a, state.n, variance) - gap
