"""Gap-based exploration: the choice of the next arm, and the width of the bounds."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray
from sklearn_halving.policies.bases._ranking import TIE

NOWHERE = -1e200
"""Bound of an eliminated arm: finite, so that differences of bounds do not become NaN."""

LEAST_DELTA = 0.05
"""One minus the confidence level that limits the effective beta."""


class GapChoice(NamedTuple):
    """Result of one round of gap-based exploration.

    Parameters
    ----------
    arm : int
        The arm to pull: the leader or the runner-up, whichever has the wider interval.
    leader : int
        The arm whose regret has the smallest bound (J in the paper).
    bound : float
        The bound of the leader's regret (B_J in the paper).
    """

    arm: int
    leader: int
    bound: float


def first_largest(score: FloatArray, priority: FloatArray | None = None) -> int:
    """Return the first place of the largest score, up to rounding errors.

    If ``priority`` is given, ties go to the first place with the largest priority. It must be
    positive.
    """
    top = score.max()  # minus infinity is fine, plus infinity is not
    is_tied = score >= top - TIE * abs(top)
    return int((is_tied if priority is None else is_tied * priority).argmax())


def choose_by_gap(
    mean: FloatArray,
    half_width: FloatArray,
    alive: BoolArray,
    may_pull: BoolArray,
    priority: FloatArray | None = None,
) -> GapChoice:
    """Play one round of Algorithm 1, with ``argmax`` in line 3 as in the text of the paper.

    Parameters
    ----------
    mean, half_width : ndarray of shape (n_arms,)
        The bounds are ``mean +- half_width``.
    alive, may_pull : ndarray of bool of shape (n_arms,)
        Arms that can win, and those of them that can be pulled again. If neither the leader nor
        the runner-up can be pulled, the arm with the largest upper bound that can is chosen.
    priority : ndarray of shape (n_arms,) or None
        Ties go to the arm with the largest priority, or to the first arm if None.

    Returns
    -------
    GapChoice
        Its entries are undefined if no arm is alive. The bound of an arm without rivals is 0.
    """
    upper, lower = mean + half_width, mean - half_width
    upper[~alive] = lower[~alive] = NOWHERE
    regret = gap_to_others(upper, lower, NOWHERE)  # B_k = max_{i != k} U_i - L_k
    leader = first_largest(-regret, priority)  # line 2: J = argmin B_k
    bound = regret.item(leader)
    upper[leader] = NOWHERE
    runner_up = first_largest(upper, priority)  # line 3: j = argmax_{k != J} U_k
    first, second = sorted((leader, runner_up))  # line 4: the wider of the two intervals
    width = np.where(may_pull, half_width, -1.0)
    arm = second if width[second] > width[first] * (1 + TIE) else first
    if max(width[first], width[second]) < 0:
        arm = first_largest(np.where(may_pull, upper, NOWHERE))
    return GapChoice(arm, leader, bound if bound > 0.5 * NOWHERE else 0.0)


class AdaptiveBeta:
    """The exploration constant beta of eq. (9), with the hardness estimated in every round.

    Parameters
    ----------
    rule : {"effective", "printed"} or float
        The rule for beta, or a constant beta.
    variance : ndarray of shape (n_arms,)
        Prior variances. Arms with a variance of 0 are left out of kappa.
    n_counted : float
        The number of arms in T - K and in the sums over arms: K if "printed", otherwise
        `effective_n_arms`.
    n_pulls : int
        The horizon T.
    noise_variance : float

    Attributes
    ----------
    weight : float
        Number of arms that count in the sums over arms, as a share of all arms.
    information : float
        The numerator ``(T - K) / sigma^2 + kappa`` of beta, where T - K is at least 0.
    least_gap : float
        Lower limit of half a gap in the hardness. It is the standard error of an arm after T
        pulls, so that smaller gaps cannot be resolved. It also prevents a division by zero.
    least, most : float
        Lower and upper limit of beta, which are equal if beta is a constant.
    """

    def __init__(
        self,
        rule: str | float,
        variance: FloatArray,
        n_counted: float,
        n_pulls: int,
        noise_variance: float,
    ) -> None:
        self.weight, self.least, self.most = n_counted / len(variance), 0.0, np.inf
        varied = variance[variance > 1e-12 * variance.max()]
        kappa = self.weight * float((1 / varied).sum())
        self.information = max(n_pulls - n_counted, 0.0) / noise_variance + kappa
        self.least_gap = sqrt(noise_variance / n_pulls)
        if not isinstance(rule, str):
            self.least = self.most = float(rule)
        elif rule == "effective":
            # By Theorem 1, the choice is good with probability 1 - K T exp(-beta^2 / 2). For long
            # horizons and small gaps, eq. (9) leaves the range in which this is informative.
            self.least = float(np.sqrt(2 * np.log(max(n_counted * n_pulls, 2.0))))
            self.most = float(np.sqrt(2 * np.log(n_counted * n_pulls / LEAST_DELTA)))

    def beta(
        self, mean: FloatArray, deviation: FloatArray, alive: BoolArray, epsilon: float
    ) -> float:
        """Return beta for arrays of shape ``(n_arms,)``.

        ``epsilon`` is the tolerated regret, in the units of ``mean``.
        """
        if self.least == self.most:
            return self.least
        # H_eps, with gaps between bounds of three standard deviations (section 5)
        wide = 3 * deviation
        upper, lower = mean + wide, mean - wide
        upper[~alive], lower[~alive] = NOWHERE, -NOWHERE  # an infinite gap, which adds nothing
        first, best, second = two_largest(upper, NOWHERE)
        gap = best - lower
        gap[first] = second - (best - 2 * wide[first])
        # The gap of an arm that leads by more than three standard deviations is negative.
        half = np.maximum((np.abs(gap) + epsilon) * 0.5, max(epsilon, self.least_gap))
        inverse = 1 / half
        hardness = self.weight * float(inverse @ inverse)
        beta = sqrt(self.information / (4 * max(hardness, 1e-300)))
        return min(max(beta, self.least), self.most)


def gap_to_others(upper: FloatArray, lower: FloatArray, nothing: float = -np.inf) -> FloatArray:
    """Return the largest ``upper`` of all other arms minus ``lower``, for each arm.

    NaN is not allowed in ``upper``. The others of a single arm are ``nothing``.

    Examples
    --------
    >>> import numpy as np
    >>> gap_to_others(np.array([1.0, 5.0, 3.0]), np.array([0.0, 2.0, 1.0]))
    array([5., 1., 4.])
    """
    first, best, second = two_largest(upper, nothing)
    gap: FloatArray = best - lower
    gap[first] = second - lower[first]
    return gap


def two_largest(values: FloatArray, nothing: float = -np.inf) -> tuple[int, float, float]:
    """Return the arm with the largest value, this value, and the largest of the others."""
    first = int(values.argmax())
    best = values.item(first)
    values[first] = nothing
    second = float(values.max())
    values[first] = best
    return first, best, second
