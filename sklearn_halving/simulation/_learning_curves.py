"""Learning curves: losses that converge to a limit within an envelope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from sklearn_halving._checks import CheckedFields, Count, Positive, refuse_unless
from sklearn_halving.policies import Pulls
from sklearn_halving.policies._arrays import FloatArray, IntArray
from sklearn_halving.simulation._noisy_arms import EnvironmentDefaults, as_vector
from sklearn_halving.simulation._randomness import Randomness

LIMIT, DEVIATION = 21, 22
"""Purposes of random numbers."""


Envelope = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class PowerEnvelope(CheckedFields):
    """The envelope ``gamma(t) = scale * t^(-1 / alpha)``.

    Parameters
    ----------
    alpha : float, default=2.0
        A large alpha means slow learning; 2 is the rate of a mean of independent draws.
    scale : float, default=1.0
        Largest distance of a loss from its limit after one unit.

    References
    ----------
    Li et al. Hyperband. JMLR 18 (2018), eq. (5).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.simulation import PowerEnvelope
    >>> PowerEnvelope(alpha=2)(np.array([1, 4, 100]))
    array([1. , 0.5, 0.1])
    """

    alpha: Positive = 2.0
    scale: Positive = 1.0

    def __call__(self, t: npt.ArrayLike) -> FloatArray:
        """Return the envelope after t units."""
        return self.scale * np.asarray(t, dtype=np.float64) ** (-1 / self.alpha)


@dataclass(frozen=True)
class PowerLimits(CheckedFields):
    """Limits with the distribution ``F(x) = (x - optimum)^beta`` on an interval of length 1.

    Parameters
    ----------
    beta : float, default=1.0
        A large beta means that arms near the optimum are rare; 1 is the uniform distribution.
    optimum : float, default=0.0
        Infimum of the limits. No arm reaches it, and regret is measured from it.

    References
    ----------
    Li et al. Hyperband. JMLR 18 (2018), eq. (6).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.simulation import PowerLimits
    >>> PowerLimits(beta=2, optimum=0.5)(np.array([0.01, 0.25]))
    array([0.6, 1. ])
    """

    beta: Positive = 1.0
    optimum: float = 0.0

    def __call__(self, uniform: npt.ArrayLike) -> FloatArray:
        """Return the quantiles of the limits at ``uniform``."""
        share = np.asarray(uniform, dtype=np.float64)
        return self.optimum + share ** (1 / self.beta)


@dataclass(frozen=True, eq=False)
class LearningCurves(EnvironmentDefaults):
    """Arms whose loss after t units is ``limit + u * envelope(t)``, u between -1 and 1.

    A reward is a negative loss. There is no noise: pulls at the same level give the same reward.

    Parameters
    ----------
    limits : array-like of shape (n_arms,) or callable
        The limits of the losses (nu in the paper). A callable, such as `PowerLimits`, is their
        quantile function, from which each arm of each problem is drawn. If it has an
        ``optimum``, regret is measured from there, otherwise from the best arm drawn.
    envelope : callable, default=PowerEnvelope()
        The envelope (gamma in the paper): largest distance from the limit for an array of units.
    deviation : {"random", "adversarial", "above"}, default="random"
        Position of the curves in the envelope. "random": u is drawn for each arm and constant, so
        that curves cross. "adversarial": the best arm approaches its limit from above
        (``u = 1``), all others from below, which makes the bounds of the paper tight. "above":
        all curves approach from above and do not cross.
    n_arms : int or None, default=None
        Number of arms if limits are drawn. None: as many as the policy plans.
    max_level : int, default=1_000_000
        Largest number of units.

    References
    ----------
    Jamieson and Talwalkar. Non-stochastic best arm identification and hyperparameter
    optimization. AISTATS 2016, sections 2 and 3; "adversarial" is the proof of theorem 3. Li et
    al. Hyperband. JMLR 18 (2018), section 4.3.2.

    Examples
    --------
    >>> from sklearn_halving.policies import SuccessiveHalving
    >>> from sklearn_halving.simulation import LearningCurves, PowerEnvelope, PowerLimits
    >>> from sklearn_halving.simulation import simulate
    >>> curves = LearningCurves(PowerLimits(beta=1), PowerEnvelope(alpha=2))
    >>> cheap = simulate(SuccessiveHalving(n_arms=64, budget=1_000), curves)
    >>> dear = simulate(SuccessiveHalving(n_arms=64, budget=100_000), curves)
    >>> bool(dear.simple_regret.value < cheap.simple_regret.value / 2)
    True
    """

    limits: npt.ArrayLike
    envelope: Envelope = PowerEnvelope()
    deviation: Literal["random", "adversarial", "above"] = "random"
    n_arms: Count | None = None
    max_level: Count = 1_000_000
    max_repetitions = 1

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        rule = "be a function of the number of units"
        refuse_unless(callable(self.envelope), "envelope", rule, self.envelope)
        if not callable(self.limits):
            limits = as_vector("limits", self.limits)
            rule = f"be the number of limits, {len(limits)}"
            refuse_unless(self.n_arms in (None, len(limits)), "n_arms", rule, self.n_arms)
            self._store(limits=limits, n_arms=len(limits))

    def draw(self, randomness: Randomness, n_arms: int) -> Curves:
        """Return the arms of ``randomness.n_problems`` problems."""
        shape = randomness.n_problems, n_arms
        if callable(self.limits):
            limits = self.limits(randomness.of_each_arm(randomness.uniform, n_arms, LIMIT))
        else:
            limits = np.broadcast_to(self.limits, shape)
        best = getattr(self.limits, "optimum", None)
        best = limits.min(axis=1) if best is None else np.full(shape[0], float(best))
        deviation = np.ones(shape)
        if self.deviation == "random":
            deviation = 2 * randomness.of_each_arm(randomness.uniform, n_arms, DEVIATION) - 1
        elif self.deviation == "adversarial":
            is_best = np.arange(n_arms) == limits.argmin(axis=1)[:, np.newaxis]
            deviation = np.where(is_best, 1.0, -1.0)
        return Curves(-limits, -best, deviation, self.envelope)


@dataclass(frozen=True, eq=False)
class Curves:
    """Drawn curves."""

    values: FloatArray
    """Negative limits. Shape ``(n_problems, n_arms)``."""
    best_value: FloatArray
    """Shape ``(n_problems,)``."""
    deviation: FloatArray
    """The factor u of the envelope by which each loss exceeds its limit.
    Shape ``(n_problems, n_arms)``."""
    envelope: Envelope
    candidate: None = None

    def rewards(self, problem: IntArray, pulls: Pulls) -> FloatArray:
        """Return the rewards of pulls; all arrays of shape ``(n_pulls,)``."""
        distance = self.envelope(pulls.level.astype(np.float64))
        return self.values[problem, pulls.arm] - self.deviation[problem, pulls.arm] * distance
