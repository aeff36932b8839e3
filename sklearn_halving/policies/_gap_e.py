"""Gap-based exploration with a number of pulls: GapE, GapE-V and its adaptive form.

For a bounded number of pulls and independent arms. The arm is pulled whose gap to the best of
the others is small or poorly known (Gabillon, Ghavamzadeh, Lazaric and Bubeck 2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sklearn_halving.policies._types import FloatArray, IntArray
from sklearn_halving.policies.bases._base_policy import RangedBudget
from sklearn_halving.policies.bases._index_policy import IndexPolicy, IndexState
from sklearn_halving.policies.bases._parameter_checks import RewardRange, check_not_negative
from sklearn_halving.policies.bases._ranking import best_of_others


class _GapIndex(RangedBudget, IndexPolicy):
    """What the policies of this file share: the estimated gaps."""

    def _radius(self, state: IndexState, gap: FloatArray) -> FloatArray:
        """Return what is added to the negative gap, in units of reward."""
        raise NotImplementedError

    def _index(self, state: IndexState) -> FloatArray:
        gap = estimated_gaps(state)
        return self._radius(state, gap) - gap


def estimated_gaps(state: IndexState) -> FloatArray:
    """Return ``|best mean of the others - own mean|``; infinite where there is no mean."""
    known = np.where(np.isnan(state.mean), -np.inf, state.mean)
    with np.errstate(invalid="ignore"):
        return np.abs(best_of_others(known) - known)


def bernstein_radius(
    state: IndexState,
    x: FloatArray | float,
    n_pulls: IntArray,
    variance: FloatArray | None = None,
) -> FloatArray:
    """Return ``sqrt(2 x V / N) + 7 x b / (3 (N - 1))``, with numbers of pulls of at least 2."""
    n = np.maximum(n_pulls, 2)
    variance = sample_variance(state) if variance is None else variance
    radius: FloatArray = np.sqrt(2 * x * variance / n)
    return radius + 7 * x * state.width / (3 * (n - 1))


def sample_variance(state: IndexState) -> FloatArray:
    """Return the variance of each arm's rewards, with N - 1 in the denominator."""
    variance: FloatArray = state.statistics.squared_deviation_sum / np.maximum(
        state.n_pulls - 1, 1
    )
    return variance


_CHECK_A = "Large values pull all arms evenly, 0 explores nothing."


@dataclass(frozen=True)
class GapE(_GapIndex):
    """Pull ``argmax -gap + b sqrt(a / N)`` and choose the best mean.

    With ``a = 4 (n - K) / (9 H)`` and ``H = sum of (b / gap)^2`` the chance of a wrong answer is
    at most ``2 K n exp(-(n - K) / (144 H))``. H is rarely known: `AdaptiveGapEV` estimates its
    like.

    Parameters
    ----------
    n_pulls : int
        Number of pulls for all arms together, the paper's n; never exceeded.
    a : float
        Exploration, at least 0. The more, the more even the pulls.
    reward_range : (float, float)
        Smallest and largest possible reward; the paper's b is their difference.

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
    a: float
    reward_range: RewardRange | None = None

    def __post_init__(self) -> None:
        """Refuse an exploration below 0."""
        check_not_negative("a", self.a, _CHECK_A)

    def _radius(self, state: IndexState, gap: FloatArray) -> FloatArray:
        return state.width * np.sqrt(self.a / np.maximum(state.n_asked, 1))


@dataclass(frozen=True)
class GapEV(_GapIndex):
    """Pull ``argmax -gap + sqrt(2 a V / N) + 7 a b / (3 (N - 1))``, V the variance of an arm.

    With ``a = 8 (n - 2 K) / (9 H)`` and ``H = sum of ((s + sqrt(s^2 + 16 b gap / 3)) / gap)^2``, s
    the standard deviations, the chance of a wrong answer falls as ``exp(-n / (512 H))``. Every
    arm is pulled twice first.

    Parameters
    ----------
    n_pulls : int
        Number of pulls for all arms together, the paper's n; never exceeded. At least two an arm.
    a : float
        Exploration, at least 0. The more, the more even the pulls.
    reward_range : (float, float)
        Smallest and largest possible reward; the paper's b is their difference.

    References
    ----------
    Gabillon, Ghavamzadeh, Lazaric and Bubeck. Multi-bandit best arm identification. NIPS 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import GapEV, Problem
    >>> policy = GapEV(n_pulls=60, a=0.5, reward_range=(0, 1))
    >>> state = policy.start(Problem(n_arms=3))
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=1)
    ...     policy.tell(state, pulls, np.array([0.1, 0.6, 0.7])[pulls.arm])
    >>> int(policy.recommend(state))
    2
    """

    n_first: ClassVar[int] = 2

    n_pulls: int
    a: float
    reward_range: RewardRange | None = None

    def __post_init__(self) -> None:
        """Refuse an exploration below 0."""
        check_not_negative("a", self.a, _CHECK_A)

    def _radius(self, state: IndexState, gap: FloatArray) -> FloatArray:
        return bernstein_radius(state, self.a, state.n_asked)


@dataclass(frozen=True)
class AdaptiveGapEV(_GapIndex):
    """GapE-V with its exploration estimated before every pull: A-GapE-V.

    ``a = eta (n - 2 K) / H`` with H as in `GapEV`, of ``gap + b sqrt(1 / (2 N))`` for the gaps and
    ``max(s - b sqrt(2 / (N - 1)), 0)`` for the standard deviations: an H that is rather too small,
    so that there is rather too much exploration. No guarantee is known.

    Parameters
    ----------
    n_pulls : int
        Number of pulls for all arms together, the paper's n; never exceeded. At least two an arm.
    eta : float, default=8/9
        Exploration rate.
    reward_range : (float, float)
        Smallest and largest possible reward; the paper's b is their difference.

    References
    ----------
    Gabillon, Ghavamzadeh, Lazaric and Bubeck. Multi-bandit best arm identification. NIPS 2011,
    section 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import AdaptiveGapEV, Problem
    >>> policy = AdaptiveGapEV(n_pulls=60, reward_range=(0, 1))
    >>> state = policy.start(Problem(n_arms=3))
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=1)
    ...     policy.tell(state, pulls, np.array([0.1, 0.6, 0.7])[pulls.arm])
    >>> int(policy.recommend(state))
    2
    """

    n_first: ClassVar[int] = 2

    n_pulls: int
    eta: float = 8 / 9
    reward_range: RewardRange | None = None

    def __post_init__(self) -> None:
        """Refuse an exploration rate below 0."""
        check_not_negative("eta", self.eta, "Use 8/9, the default.")

    def _radius(self, state: IndexState, gap: FloatArray) -> FloatArray:
        n, width = np.maximum(state.n_pulls, 2), state.width
        has_gap = state.alive & np.isfinite(gap) & (state.n_pulls >= self.n_first)
        largest_gap = gap + width * np.sqrt(0.5 / n)
        variance = sample_variance(state)
        deviation = np.maximum(np.sqrt(variance) - width * np.sqrt(2 / (n - 1)), 0.0)
        root = deviation + np.sqrt(deviation**2 + 16 / 3 * width * largest_gap)
        hardness = np.where(has_gap, (root / largest_gap) ** 2, 0.0).sum(axis=1, keepdims=True)
        n_left = max(self.n_pulls - 2 * state.problem.n_arms, 0)
        x = self.eta * n_left / np.maximum(hardness, 1e-300)
        return bernstein_radius(state, x, state.n_asked, variance)
