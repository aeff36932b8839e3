"""Arms with noisy rewards, draws of a Gaussian process, and learning curves with a limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from sklearn_halving._checks import (
    CheckedFields,
    Count,
    NotNegative,
    Positive,
    Rule,
    refuse_unless,
)
from sklearn_halving._gaussian_process import checked_covariance
from sklearn_halving.policies import Pulls
from sklearn_halving.policies._arrays import FloatArray, IntArray
from sklearn_halving.policies.bases._base_policy import RewardRange
from sklearn_halving.simulation._randomness import Randomness, running_mean_noise

MEAN, VARIANCE, NOISE = 11, 12, 13
"""Purposes of random numbers."""


def as_vector(name: str, value: npt.ArrayLike, n_arms: int | None = None) -> FloatArray:
    """Return finite numbers of shape ``(n_arms,)``, or a single number for all arms."""
    vector = np.asarray(value, dtype=np.float64)
    if n_arms is None:
        rule = "be a list of finite numbers, one for each arm"
        is_shape = vector.ndim == 1 and len(vector) > 0
    else:
        rule = f"be one finite number, or a list of one for each of {n_arms} arms"
        is_shape = vector.shape in ((), (n_arms,))
    good = is_shape and bool(np.isfinite(vector).all())
    refuse_unless(good, name, rule, value, "Give one number for each arm.")
    return vector


def check_factors(name: str, value: tuple[float, float], advice: str) -> None:
    """Raise unless the value is a pair of bounds of at least 0."""
    is_pair = np.shape(value) == (2,) and 0 <= value[0] <= value[1]
    refuse_unless(is_pair, name, "be two numbers of 0 or more, the smaller first", value, advice)


class EnvironmentDefaults(CheckedFields):
    """Base class of environments with one level, unlimited pulls and rewards of any size."""

    n_arms: int | None
    min_level: int = 1
    max_level: int = 1
    max_repetitions: int | None = None
    reward_range: RewardRange | None = None

    def _store(self, **values: object) -> None:
        """Set attributes, and replace parameters by the arrays that they stand for."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


class DrawnArms:
    """Base class of drawn arms, whose regret is measured from the best of them."""

    values: FloatArray
    candidate: None = None

    @property
    def best_value(self) -> FloatArray:
        """Value of the best arm, shape ``(n_problems,)``."""
        return self.values.max(axis=1)


@dataclass(frozen=True, eq=False)
class GaussianArms(EnvironmentDefaults):
    """Arms with normally distributed rewards.

    A pull at level l returns the mean of the first l draws of its repetition, so that policies
    with rungs continue from the previous level.

    Parameters
    ----------
    means : array-like of shape (n_arms,)
        Mean reward of each arm.
    sds : float or array-like of shape (n_arms,), default=1.0
        Standard deviation of one draw of each arm.
    mean_sd : float, default=0.0
        Standard deviation of a random offset of each mean, drawn for each problem. With 0 all
        problems are equal; with all means 0 and ``mean_sd=1`` the arms are random.
    variance_factors : (float, float), default=(1.0, 1.0)
        Bounds of the uniform distribution of a factor of each variance, drawn for each problem.
    max_level : int, default=1
        Largest number of draws averaged in one pull.

    References
    ----------
    Lalitha, Kalantari, Ma, Deoras and Kveton. Fixed-budget best-arm identification with
    heterogeneous reward variances. UAI 2023, section 5.1, has ``mean_sd=0.05`` and
    ``variance_factors=(0.5, 1.5)``.

    Examples
    --------
    >>> from sklearn_halving.policies import SuccessiveRejects
    >>> from sklearn_halving.simulation import GaussianArms, simulate
    >>> arms = GaussianArms(means=[0.5, 0.4, 0.3, 0.2], sds=0.1)
    >>> result = simulate(SuccessiveRejects(n_pulls=200), arms, n_problems=500)
    >>> bool(result.mistake_probability.value < 0.01)
    True
    """

    means: Any
    sds: Any = 1.0
    mean_sd: NotNegative = 0.0
    variance_factors: Annotated[tuple[float, float], Rule(check_factors)] = (1.0, 1.0)
    max_level: Count = 1

    def __post_init__(self) -> None:
        """Check the parameters, and convert them to arrays."""
        super().__post_init__()
        means = as_vector("means", self.means)
        sds = np.broadcast_to(as_vector("sds", self.sds, len(means)), means.shape)
        refuse_unless(sds.min() >= 0, "sds", "be at least 0", self.sds)
        self._store(means=means, sds=sds, n_arms=len(means))

    def draw(self, randomness: Randomness, n_arms: int) -> NormalArms:
        """Return the arms of ``randomness.n_problems`` problems."""
        shape = randomness.n_problems, n_arms
        means, variances = np.broadcast_to(self.means, shape), np.broadcast_to(self.sds**2, shape)
        if self.mean_sd > 0:
            normal = randomness.of_each_arm(randomness.normal, n_arms, MEAN)
            means = means + self.mean_sd * normal
        low, high = self.variance_factors
        if (low, high) != (1.0, 1.0):
            uniform = randomness.of_each_arm(randomness.uniform, n_arms, VARIANCE)
            variances = variances * (low + (high - low) * uniform)
        return NormalArms(randomness, means, np.sqrt(variances), self.max_level)


@dataclass(frozen=True, eq=False)
class NormalArms(DrawnArms):
    """Drawn arms with normal rewards."""

    randomness: Randomness
    # Each has shape ``(n_problems, n_arms)``.
    values: FloatArray
    sds: FloatArray
    max_level: int

    def rewards(self, problem: IntArray, pulls: Pulls) -> FloatArray:
        """Return the rewards of pulls; all arrays of shape ``(n_pulls,)``."""
        if self.max_level == 1:
            noise = self.randomness.normal(problem, pulls.arm, NOISE, pulls.repetition)
        else:
            noise = running_mean_noise(self.randomness, problem, pulls)
        return noise * self.sds[problem, pulls.arm] + self.values[problem, pulls.arm]


@dataclass(frozen=True, eq=False)
class BernoulliArms(EnvironmentDefaults):
    """Arms whose rewards are 1 with some probability, and otherwise 0.

    Parameters
    ----------
    probabilities : array-like of shape (n_arms,)
        Probability of the reward 1.

    Examples
    --------
    A policy with a confidence makes fewer mistakes than it allows. The environment provides the
    range of rewards.

    >>> from sklearn_halving.policies import LUCB
    >>> from sklearn_halving.simulation import BernoulliArms, simulate
    >>> arms = BernoulliArms([0.9, 0.5, 0.4])
    >>> result = simulate(LUCB(delta=0.1), arms, n_problems=300)
    >>> bool(result.mistake_probability.value <= 0.1), bool(result.is_confident.all())
    (True, True)
    """

    probabilities: Any
    reward_range = (0.0, 1.0)

    def __post_init__(self) -> None:
        """Check the probabilities."""
        p = as_vector("probabilities", self.probabilities)
        is_share = bool(((p >= 0) & (p <= 1)).all())
        refuse_unless(is_share, "probabilities", "be between 0 and 1", self.probabilities)
        self._store(probabilities=p, n_arms=len(p))

    def draw(self, randomness: Randomness, n_arms: int) -> CoinArms:
        """Return the arms of ``randomness.n_problems`` problems."""
        shape = randomness.n_problems, n_arms
        return CoinArms(randomness, np.broadcast_to(self.probabilities, shape))


@dataclass(frozen=True, eq=False)
class CoinArms(DrawnArms):
    """Drawn arms with rewards 0 and 1; all problems are equal."""

    randomness: Randomness
    values: FloatArray

    def rewards(self, problem: IntArray, pulls: Pulls) -> FloatArray:
        """Return the rewards of pulls; all arrays of shape ``(n_pulls,)``."""
        uniform = self.randomness.uniform(problem, pulls.arm, NOISE, pulls.repetition)
        return (uniform < self.values[0, pulls.arm]).astype(np.float64)


@dataclass(frozen=True, eq=False)
class GaussianProcessArms(EnvironmentDefaults):
    """Arms whose means are a draw of a Gaussian process in each problem.

    Parameters
    ----------
    covariance : array-like of shape (n_arms, n_arms)
        Prior covariance of the means, such as a kernel matrix.
    noise_sd : float, default=0.5
        Standard deviation of one draw around the mean.
    max_level : int, default=1
        Largest number of draws averaged in one pull.

    References
    ----------
    Hoffman, Shahriari and de Freitas. On correlation and budget constraints in model-based bandit
    optimization with application to automatic machine learning. AISTATS 2014, section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import BayesGap
    >>> from sklearn_halving.simulation import GaussianProcessArms, simulate
    >>> x = np.linspace(0, 1, 100)
    >>> kernel = np.exp(-(((x[:, np.newaxis] - x) / 0.2) ** 2))
    >>> arms = GaussianProcessArms(kernel, noise_sd=0.1)
    >>> policy = BayesGap(n_pulls=30, covariance=kernel, noise_variance=0.01)
    >>> result = simulate(policy, arms, n_problems=20)
    >>> bool(result.simple_regret.value < 0.1)  # with fewer pulls than arms
    True
    """

    covariance: Any
    noise_sd: NotNegative = 0.5
    max_level: Count = 1

    def __post_init__(self) -> None:
        """Check the parameters, in particular that the matrix is a covariance."""
        super().__post_init__()
        n_arms = np.shape(self.covariance)[-1]
        self._store(covariance=checked_covariance(self.covariance, n_arms), n_arms=n_arms)

    def draw(self, randomness: Randomness, n_arms: int) -> NormalArms:
        """Return the arms of ``randomness.n_problems`` problems, each a draw of the process."""
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        normal = randomness.of_each_arm(randomness.normal, n_arms, MEAN)
        # One product per problem: the product of a batch may differ in the last bit.
        means = np.array([root @ one for one in normal])
        return NormalArms(randomness, means, np.full(means.shape, self.noise_sd), self.max_level)


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
        Number of arms if limits are drawn. None: the number that the policy plans.
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
    """Drawn curves.

    Parameters
    ----------
    values : ndarray
        Negative limits. Shape ``(n_problems, n_arms)``.
    best_value : ndarray
        Shape ``(n_problems,)``.
    deviation : ndarray
        The factor u of the envelope by which each loss exceeds its limit. Shape ``(n_problems,
        n_arms)``.
    """

    values: FloatArray
    best_value: FloatArray
    deviation: FloatArray
    envelope: Envelope
    candidate: None = None

    def rewards(self, problem: IntArray, pulls: Pulls) -> FloatArray:
        """Return the rewards of pulls; all arrays of shape ``(n_pulls,)``."""
        distance = self.envelope(pulls.level.astype(np.float64))
        return self.values[problem, pulls.arm] - self.deviation[problem, pulls.arm] * distance
