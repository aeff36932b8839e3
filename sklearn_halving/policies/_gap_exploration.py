"""Gap-based exploration of independent arms: GapE, and UGap with a fixed budget or confidence.

The policies pull arms whose gap to the best of the other arms is small or uncertain (Gabillon,
Ghavamzadeh, Lazaric and Bubeck 2011; Gabillon, Ghavamzadeh and Lazaric 2012). `AdaptiveUGapEb`
estimates the hardness of the problem, as BayesGap does, and needs no constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log
from typing import ClassVar, Literal

import numpy as np

from sklearn_halving._checks import NotNegative
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Seed
from sklearn_halving.policies._types import NO_ARM
from sklearn_halving.policies.bases._base_policy import (
    Confidence,
    Exploration,
    RewardRange,
    Tolerance,
)
from sklearn_halving.policies.bases._gap_rule import GapChoice, choose_by_gap, gap_to_others
from sklearn_halving.policies.bases._index_policy import ConfidentGame, IndexGame, IndexPolicy
from sklearn_halving.policies.bases._ranking import best_known, usable_or_first


def estimated_gaps(arms: IndexGame) -> FloatArray:
    """Return ``|best mean of the other arms - mean|``; infinite if an arm has no mean."""
    known = np.where(np.isnan(arms.mean), -np.inf, arms.mean)
    return np.abs(gap_to_others(known, known))


def bernstein_radius(arms: IndexGame, a: float, n: FloatArray) -> FloatArray:
    """Return ``sqrt(2 a V / N) + 7 a b / (3 (N - 1))``, where N is at least 2."""
    radius: FloatArray = np.sqrt(2 * a * arms.variance / n)
    return radius + 7 * a * arms.width / (3 * (n - 1))


def bernstein_hardness(arms: IndexGame, gap: FloatArray) -> FloatArray:
    """Return ``((s + sqrt(s^2 + 16 b gap / 3)) / gap)^2`` of each arm.

    s is a lower bound of the standard deviation, ``max(sqrt(variance) - b sqrt(2 / (N - 1)), 0)``.
    """
    shortfall = arms.width * np.sqrt(2 / (arms.n_known - 1.0))
    deviation = np.maximum(np.sqrt(arms.variance) - shortfall, 0.0)
    root = deviation + np.sqrt(deviation**2 + 16 / 3 * arms.width * gap)
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
    >>> game = policy.start(Problem(n_arms=3))
    >>> counts = np.zeros(3, dtype=int)
    >>> while not game.is_finished:
    ...     for pull in game.ask(max_pulls=1):
    ...         counts[pull.arm] += 1
    ...         game.tell(pull, [0.1, 0.6, 0.7][pull.arm])
    >>> counts, game.recommend()
    (array([1, 6, 5]), 2)
    """

    n_pulls: int
    a: Exploration
    reward_range: RewardRange | None = None

    def index(self, arms: IndexGame) -> FloatArray:
        # I_k(t) of GapE, of which the paper pulls the argmax
        return arms.width * np.sqrt(self.a / arms.n) - estimated_gaps(arms)


@dataclass(frozen=True)
class GapEV(IndexPolicy):
    """Pull ``argmax -gap + sqrt(2 a V / N) + 7 a b / (3 (N - 1))``, where V is the variance.

    This is the paper's algorithm with one bandit. Every arm is pulled twice first. With
    ``a = 8 (n - 2 K) / (9 H)`` and ``H = sum of ((s + sqrt(s^2 + 16 b gap / 3)) / gap)^2``, where
    s is the standard deviation of an arm, the probability of a wrong answer decreases as
    ``exp(-n / (512 H))``.

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

    def index(self, arms: IndexGame) -> FloatArray:
        # I_k(t) of GapE-V: the same gap, with a bound by the variance
        return bernstein_radius(arms, self.a, arms.n) - estimated_gaps(arms)


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
    eta: NotNegative = 8 / 9
    reward_range: RewardRange | None = None

    def index(self, arms: IndexGame) -> FloatArray:
        gap = estimated_gaps(arms)
        large_gap = gap + arms.width * np.sqrt(0.5 / arms.n_known)
        has_gap = np.isfinite(gap) & (arms.n_known >= self.n_first)
        hardness = np.where(has_gap, bernstein_hardness(arms, large_gap), 0.0).sum()
        n_left = max(self.n_pulls - 2 * arms.n_arms, 0)
        return bernstein_radius(arms, self.eta * n_left / max(hardness, 1e-300), arms.n) - gap


Bounds = Literal["hoeffding", "bernstein"]


class _UGap(IndexPolicy):
    """Base class of the policies in this module: the function SELECT-ARM of the paper's Fig. 1."""

    bounds: Bounds

    @property
    def n_first(self) -> int:  # type: ignore[override]
        """Number of pulls that an arm needs before it has an interval."""
        return 2 if self.bounds == "bernstein" else 1

    def exploration(self, arms: IndexGame) -> float:
        """Return the exploration parameter a of this round."""
        raise NotImplementedError

    def select_arm(self, arms: IndexGame, n_pulls: IntArray, usable: BoolArray) -> GapChoice:
        """Play one round among the arms that have a mean; ``NO_ARM`` if no arm is usable."""
        a, n = self.exploration(arms), n_pulls.astype(np.float64)
        radius = arms.width * np.sqrt(a / n)  # beta_k in the paper
        if self.bounds == "bernstein":
            radius = bernstein_radius(arms, a, n)
        # The bounds B_k, the leader J and its rival u of SELECT-ARM, and the wider of the two
        choice = choose_by_gap(arms.mean, radius, ~np.isnan(arms.mean), usable)
        # Bounds are undefined for infinite means.
        return choice._replace(arm=usable_or_first(choice.arm, usable))

    def select(self, arms: IndexGame, usable: BoolArray) -> int:
        return self.select_arm(arms, arms.n_asked, usable).arm


@dataclass(frozen=True)
class UGapEb(_UGap):
    """Unified gap-based exploration with a fixed budget, for independent arms.

    The confidence interval of an arm is ``mean +- b sqrt(a / N)``. The leader is the arm whose
    regret has the smallest upper bound. The rival is the other arm with the largest upper bound.
    The one with the wider interval is pulled. The policy chooses the leader of the round in which
    the regret bound was smallest. With ``a <= (n - K) / (4 H)`` and
    ``H = sum of (b / max((gap + epsilon) / 2, epsilon))^2``, the probability that the regret
    exceeds epsilon is at most ``2 K n exp(-2 a)``. Use `BayesGap` if similar arms have similar
    rewards.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls of all arms together (n in the paper).
    a : float
        Exploration parameter, at least 0.
    bounds : {"hoeffding", "bernstein"}, default="hoeffding"
        The kind of confidence bounds. "bernstein" uses the variance of each arm,
        ``sqrt(2 a V / N) + 7 a b / (3 (N - 1))``, and first pulls every arm twice.
    reward_range : (float, float)
        Smallest and largest possible reward. Their difference is b in the paper.

    References
    ----------
    Gabillon, Ghavamzadeh and Lazaric. Best arm identification: a unified approach to fixed budget
    and fixed confidence. NIPS 2012, Fig. 1.

    Examples
    --------
    >>> from sklearn_halving.policies import UGapEb
    >>> from sklearn_halving.simulation import BernoulliArms, simulate
    >>> environment = BernoulliArms([0.1, 0.6, 0.7])
    >>> result = simulate(UGapEb(n_pulls=200, a=0.5), environment, n_problems=100)
    >>> result.mistake_probability.value
    0.16
    """

    n_pulls: int
    a: Exploration
    bounds: Bounds = "hoeffding"
    reward_range: RewardRange | None = None

    def first_memory(self, arms: IndexGame, seed: Seed) -> tuple[int, float]:
        return NO_ARM, inf  # the leader with the smallest regret bound so far, and this bound

    def exploration(self, arms: IndexGame) -> float:
        return self.a

    def select(self, arms: IndexGame, usable: BoolArray) -> int:
        choice = self.select_arm(arms, arms.n_asked, usable)
        if arms.all_have_first() and not choice.bound >= arms.memory[1]:
            arms.memory = choice.leader, choice.bound
        return choice.arm

    def recommended(self, arms: IndexGame) -> int:
        best, _ = arms.memory
        stands = best != NO_ARM and arms.alive[best]
        return best if stands else best_known(arms.alive, arms.mean)


@dataclass(frozen=True)
class UGapEc(_UGap):
    """Unified gap-based exploration until an arm is known to be within epsilon of the best.

    The policy pulls as `UGapEb` does, with ``a = c log(4 K t^3 / delta)`` before pull t + 1. It
    stops when the bound of the leader's regret is below epsilon. The regret is then below epsilon
    with probability ``1 - delta``.

    Parameters
    ----------
    epsilon : float
        Tolerated regret, in units of reward. With 0, the comparison of two equal arms never
        ends.
    delta : float, default=0.05
        Accepted probability of a wrong answer.
    bounds : {"hoeffding", "bernstein"}, default="hoeffding"
        See `UGapEb`. The paper's c is 1/2 for "hoeffding" and 1 for "bernstein".
    max_pulls : int or None, default=None
        Maximum number of pulls. If the search stops because of it, the guarantee does not hold,
        and `is_confident` returns False.
    reward_range : (float, float)
        Smallest and largest possible reward. Their difference is b in the paper.

    References
    ----------
    Gabillon, Ghavamzadeh and Lazaric. Best arm identification: a unified approach to fixed budget
    and fixed confidence. NIPS 2012, Fig. 1 and theorem 2.

    Examples
    --------
    >>> from sklearn_halving.policies import UGapEc
    >>> from sklearn_halving.simulation import BernoulliArms, simulate
    >>> environment = BernoulliArms([0.1, 0.5, 0.9])
    >>> result = simulate(UGapEc(epsilon=0.05, delta=0.1), environment, n_problems=100)
    >>> result.mistake_probability.value, round(result.mean_pulls.value)
    (0.0, 499)
    """

    budget = "max_pulls"
    game = ConfidentGame

    epsilon: Tolerance
    delta: Confidence = 0.05
    bounds: Bounds = "hoeffding"
    max_pulls: int | None = None
    reward_range: RewardRange | None = None

    def exploration(self, arms: IndexGame) -> float:
        t, c = max(arms.n_told, 1), 1.0 if self.bounds == "bernstein" else 0.5
        return c * log(4 * arms.n_arms * float(t) ** 3 / self.delta)

    def is_decided(self, arms: IndexGame) -> bool:
        arms.memory = self.select_arm(arms, arms.n_known, arms.can_be_pulled())
        return bool(arms.memory.bound < self.epsilon)

    def select(self, arms: IndexGame, usable: BoolArray) -> int:
        choice: GapChoice | None = arms.memory
        if choice is None or arms.n_told < arms.n_asked_in_all:  # pulls in flight narrow bounds
            choice = self.select_arm(arms, arms.n_asked, usable)
        return choice.arm

    def recommended(self, arms: IndexGame) -> int:
        choice: GapChoice | None = arms.memory
        stands = choice is not None and arms.is_decided and arms.alive[choice.leader]
        return choice.leader if stands and choice else best_known(arms.alive, arms.mean)


@dataclass(frozen=True)
class AdaptiveUGapEb(_UGap):
    """`UGapEb` with an exploration parameter that is estimated before every pull.

    The parameter is ``a = (n - K) / (4 H)``, the largest value for which the guarantee of UGapEb
    holds, with hardness ``H = sum of (b / g)^2`` and ``g = max((gap + epsilon) / 2, epsilon)``.
    The gaps are between the bounds ``mean +- b sqrt(1 / (2 N))``. They tend to be too large, and
    therefore so does a. With "bernstein", ``H = sum of ((s + sqrt(s^2 + 16 b g / 3)) / g)^2``,
    where s is the standard deviation of an arm minus ``b sqrt(2 / (N - 1))``, and ``n - K`` is
    replaced by ``n - 2 K``. Bounds of rounds with different a cannot be compared. The policy
    therefore chooses the arm with the best mean. No guarantee is known.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls of all arms together (n in the paper). At least one per arm, or
        two with "bernstein".
    epsilon : float, default=0.0
        Tolerated regret, in units of reward.
    bounds : {"hoeffding", "bernstein"}, default="hoeffding"
        See `UGapEb`.
    reward_range : (float, float)
        Smallest and largest possible reward. Their difference is b in the paper.

    References
    ----------
    Gabillon, Ghavamzadeh and Lazaric. Best arm identification: a unified approach to fixed budget
    and fixed confidence. NIPS 2012, Fig. 1. The estimate is by Hoffman, Shahriari and de
    Freitas (AISTATS 2014, end of section 5), with bounds for independent arms.

    Examples
    --------
    >>> from sklearn_halving.policies import AdaptiveUGapEb
    >>> from sklearn_halving.simulation import BernoulliArms, simulate
    >>> environment = BernoulliArms([0.1, 0.6, 0.7])
    >>> result = simulate(AdaptiveUGapEb(n_pulls=200), environment, n_problems=100)
    >>> result.mistake_probability.value
    0.11
    """

    n_pulls: int
    epsilon: Tolerance = 0.0
    bounds: Bounds = "hoeffding"
    reward_range: RewardRange | None = None

    def exploration(self, arms: IndexGame) -> float:
        b, is_known = arms.width, np.isfinite(arms.mean) & (arms.n_known >= self.n_first)
        radius = b * np.sqrt(0.5 / arms.n_known)
        upper = np.where(is_known, arms.mean + radius, -np.inf)
        # The gap of an arm that is far ahead is negative.
        gap = np.abs(gap_to_others(upper, arms.mean - radius))
        half = np.maximum((gap + self.epsilon) / 2, max(self.epsilon, 1e-12 * b))
        hardness = (b / half) ** 2
        if self.bounds == "bernstein":
            hardness = bernstein_hardness(arms, half)
        total = float(np.where(is_known & np.isfinite(gap), hardness, 0.0).sum())
        n_left = max(self.n_pulls - self.n_first * arms.n_arms, 0)
        return n_left / (4 * (total if total > 0 else 1.0))
