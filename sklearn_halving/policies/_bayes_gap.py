"""BayesGap (Hoffman, Shahriari & de Freitas 2014) and other rules for the same posterior."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, inf, isfinite, isinf
from numbers import Real
from typing import Annotated, Any, Literal, NamedTuple, cast, get_args

import numpy as np
import numpy.typing as npt
from scipy.linalg import rq
from scipy.special import ndtr, ndtri

from sklearn_halving._checks import Count, NotNegative, Positive, Rule, refuse_unless
from sklearn_halving._gaussian_process import (
    ArmPosterior,
    ArmPrior,
    Features,
    KernelFamily,
    fit_to_rewards,
    variances_of,
)
from sklearn_halving.policies._arrays import BoolArray, FloatArray, Seed
from sklearn_halving.policies._plan import Plan, open_plan
from sklearn_halving.policies._types import NO_ARM, Belief, Problem, Pull
from sklearn_halving.policies.bases._base_policy import BasePolicy, Tolerance, generator_of
from sklearn_halving.policies.bases._gap_rule import AdaptiveBeta, choose_by_gap, first_largest
from sklearn_halving.policies.bases._ranking import BrokenSplits

Acquisition = Literal["bayesgap", "thompson", "bayes_ucb", "gp_ucb", "ei", "pi"]
Recommendation = Literal["largest_mean", "smallest_bound"]
BetaRule = Literal["effective", "printed"]
MAX_FEATURES_AT_START = 1024
"""Maximum number of features in Thompson sampling; see `ArmPosterior.sample`."""

CONFIRMING_SHARE = 5
"""One of this many pulls may confirm the arm that looks best."""
TIED = 1e-4
"""Arms whose means differ by less than this share of a posterior deviation look equally good."""

GP_UCB_DELTA = 0.1
"""One minus the confidence level of the bounds of GP-UCB in all rounds together."""

MARGIN = 0.1
"""Minimum improvement, as a multiple of the largest posterior standard deviation."""

FARTHEST = 1e100
"""Largest distance of a reward from the first one, so that squares do not overflow."""

N_FAILED_PULLS = 2
"""A split on which this many pulls failed, and none succeeded, may be broken."""

REFITS = frozenset(5 * 2**i for i in range(30))
"""Numbers of rewards after which the hyperparameters are estimated."""

OUTLIER_SPREADS = 3.0
"""Limit for the distance of a reward below the median, as a multiple of the distance of the best
reward above it. Lower rewards are raised to the limit, so that a few poor arms do not determine
the scale."""


def scores_of(
    acquisition: str,
    mean: FloatArray,
    deviation: FloatArray,
    was_pulled: BoolArray,
    round_number: int,
) -> FloatArray:
    """Return the scores of all arms, of which the largest is pulled next.

    Parameters
    ----------
    acquisition : {"bayes_ucb", "gp_ucb", "ei", "pi"}
        "bayes_ucb" is the quantile of ``1 - 1 / (t + 1)`` in round t (Kaufmann et al. 2012, with
        c = 0). The paper uses ``1 - 1 / t``, which is a quantile of 0 in the first round.
        "gp_ucb" is ``mean + sqrt(2 log(K t^2 pi^2 / (6 delta))) deviation`` (Srinivas et al.
        2010). "ei" is the expected improvement over the best posterior mean of a pulled arm, and
        "pi" the normal quantile of the probability of an improvement by a margin. Without a
        margin, the best arm would always have the largest probability, 1/2, and no other arm
        would be pulled.
    mean, deviation : ndarray of shape (n_arms,)
        Posterior means and standard deviations. The latter include pulls in flight.
    was_pulled : ndarray of bool of shape (n_arms,)
        Arms in play that have a reward.
    round_number : int
        Number of the next pull, t, counted from 1.
    """
    if acquisition == "bayes_ucb":
        return mean + float(ndtri(1 - 1 / (round_number + 1))) * deviation
    if acquisition == "gp_ucb":
        inside = len(mean) * round_number**2 * np.pi**2 / (6 * GP_UCB_DELTA)
        return mean + np.sqrt(2 * np.log(inside)) * deviation
    best = (mean[was_pulled] if was_pulled.any() else mean).max()
    if acquisition == "pi":
        best += MARGIN * deviation.max()
    z: FloatArray = np.clip((mean - best) / np.maximum(deviation, 1e-150), -1e150, 1e150)
    if acquisition == "pi":
        return z
    return deviation * (z * ndtr(z) + np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi))


def _check_beta(name: str, value: str | float, advice: str) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool) and 0 < value < inf
    is_rule = isinstance(value, str) and value in get_args(BetaRule)
    rule = "be 'effective', 'printed' or a number above 0"
    refuse_unless(is_number or is_rule, name, rule, repr(value), advice)


@dataclass(frozen=True)
class BayesGap(BasePolicy):
    r"""Choose the best of many correlated arms, with fewer pulls than arms if need be.

    The mean rewards of the arms have a joint Gaussian prior, so that a pull of one arm is
    informative about all arms. The leader is the arm whose regret has the smallest upper bound.
    BayesGap pulls either the leader or its strongest rival, whichever has the larger posterior
    variance. Other acquisition rules can be used with the same posterior.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls of all arms together, the horizon T.
    covariance : array-like of shape (n_arms, n_arms) or KernelFamily, default=None
        Prior covariance of the arms. With a `KernelFamily`, the length scales, ``noise_variance``
        and ``split_variance`` are only initial values. They are estimated by maximum marginal
        likelihood after 5, 10, 20, 40, ... rewards. If None, arms are independent with variance 1.
    noise_variance : float, default=0.25
        Variance of a reward around the mean of its arm on its split.
    split_variance : float, default=0.0
        Variance of the effect that a split has on all arms. If it is positive, arms are compared
        on the splits that they share. The j-th pull of every arm is on split j.
    acquisition : str, default="bayesgap"
        The rule that chooses the next pull: "bayesgap", "thompson", "bayes_ucb", "gp_ucb", "ei"
        (expected improvement) or "pi" (probability of an improvement by at least 0.1 times the
        largest posterior standard deviation). Ties go to the arm with the smallest index.
    beta : {"effective", "printed"} or float, default="effective"
        Half the width of the bounds, in posterior standard deviations. "printed" is eq. (9) of
        the paper, whose sums treat similar arms as if they were independent. "effective" uses
        ``K_eff = tr(G)^2 / ||G||_F^2`` arms instead of K, and limits beta to the range in which
        Theorem 1 of the paper is informative: at least ``sqrt(2 log(K_eff T))`` and at most
        ``sqrt(2 log(K_eff T / 0.05))``. In both cases, ``T - K`` is at least 0, and the gaps,
        which are estimated in every round, are at least ``sqrt(noise_variance / T)``.
    epsilon : float, default=0.0
        Tolerated regret, in units of reward.
    recommendation : {"largest_mean", "smallest_bound"}, default="largest_mean"
        "largest_mean" recommends the arm with the largest posterior mean, even if it was never
        pulled. "smallest_bound" is the rule of the paper: it recommends the leader of the round
        in which the upper bound of the leader's regret was smallest. The algorithm as printed also
        has ``beta="printed"`` and ``standardize=False``. Otherwise, the bounds of different rounds
        have different units.
    standardize : bool, default=True
        Whether the mean level and the scale of the rewards are estimated from the rewards so far
        (`ArmPosterior.offset_and_scale`). Only the ratios of the given variances then matter. If
        False, the prior mean and the variances are used as they are.
    prior_mean : float or array-like of shape (n_arms,), default=0.0
        Prior mean of the arms. With ``standardize=True``, adding a constant has no effect.
    confirm : bool, default=False
        Whether only pulled arms are recommended. The last fifth of the pulls then goes to the arm
        that looks best, unless it has as many pulls as every arm whose posterior mean is at most
        one standard deviation lower. Otherwise ``acquisition`` chooses.
    breaks_ties : bool, default=False
        Whether ties go to an arm at random, by the seed of `start`, and not to the first.
    pulls_in_flight : int, default=1
        Maximum number of pulls in flight. Pulls in flight reduce the posterior variances, but do
        not change the means. Decisions depend on the order of the rewards, and therefore on this
        number.

    Notes
    -----
    The reward of arm k on split j is :math:`c + s (f_k + b_j + e_{kj})`, with
    :math:`f \sim N(0, G)` for the covariance G, an effect :math:`b_j` of the split with
    ``split_variance``, and noise. Let :math:`\Sigma` be the covariance of the rewards so far, and
    :math:`g_k` that of arm k with them. The posterior has the mean and the variance

    .. math:: m_k = c + g_k^\top \Sigma^{-1} (y - c), \qquad
        s_k^2 = s^2 (G_{kk} - g_k^\top \Sigma^{-1} g_k),

    where c is estimated by generalized least squares and s by restricted maximum likelihood. With
    :math:`U_k, L_k = m_k \pm \beta s_k`, a round of Algorithm 1 computes

    .. math:: B_k = \max_{i \ne k} U_i - L_k, \qquad J = \arg\min_k B_k, \qquad
        j = \arg\max_{k \ne J} U_k

    and pulls the one of J and j with the larger :math:`s_k`. (The listing in the paper has arg min
    for j, its text arg max.) :math:`B_J` bounds the regret of J. Eq. (9) is, with upper
    estimates :math:`\Delta_k` of the gaps,

    .. math:: \beta^2 = \frac{(T - K) / \sigma^2 + \sum_k 1 / G_{kk}}{4 \sum_k H_k^{-2}}, \qquad
        H_k = \max\Big( \frac{\Delta_k + \epsilon}{2}, \epsilon \Big) .

    The regret is then above epsilon with a probability of at most :math:`K T e^{-\beta^2 / 2}`
    (Theorem 1), if the model and the gaps are right. There is no proof for "effective".

    An arm with a NaN reward is eliminated and never recommended. An arm with an infinite reward
    is not pulled again. An arm with a reward of plus infinity is always recommended. An arm with
    a reward of minus infinity is recommended only if no other arm has a reward. In the posterior,
    NaN and minus infinity are replaced by the lowest reward so far. Arms that are similar to a
    failed arm therefore look worse, and the policy leaves regions in which all arms fail.

    References
    ----------
    Hoffman, Shahriari and de Freitas. On correlation and budget constraints in model-based bandit
    optimization with application to automatic machine learning. AISTATS 2014, Algorithm 1.

    Examples
    --------
    Choose among two hundred arms on a line with ten pulls. The best arm is arm 140:

    >>> import numpy as np
    >>> from sklearn_halving.policies import BayesGap, Problem
    >>> x = np.linspace(0, 1, 200)
    >>> covariance = np.exp(-0.5 * ((x[:, None] - x) / 0.2) ** 2)
    >>> policy = BayesGap(n_pulls=10, covariance=covariance, noise_variance=1e-2)
    >>> game = policy.start(Problem(n_arms=200))
    >>> rng = np.random.default_rng(0)
    >>> while not game.is_finished:
    ...     for pull in game.ask(max_pulls=1):
    ...         game.tell(pull, 0.9 - (x[pull.arm] - x[140]) ** 2 + rng.normal(0, 0.01))
    >>> bool(abs(game.recommend() - 140) <= 10)
    True
    """

    n_pulls: Count
    covariance: Any = field(default=None, repr=False)
    noise_variance: Positive = 0.25
    split_variance: NotNegative = 0.0
    acquisition: Acquisition = "bayesgap"
    beta: Annotated[BetaRule | float, Rule(_check_beta)] = "effective"
    epsilon: Tolerance = 0.0
    recommendation: Recommendation = "largest_mean"
    standardize: bool = True
    prior_mean: npt.ArrayLike = field(default=0.0, repr=False)
    confirm: bool = False
    breaks_ties: bool = False
    pulls_in_flight: Count = 1

    def plan(self, problem: Problem) -> Plan:
        """Return the plan of a single round."""
        return open_plan(problem, self.n_pulls, window=self.pulls_in_flight)

    def start(self, problem: Problem, seed: Seed = None) -> BayesGapGame:
        """Return the game before the first pull."""
        return BayesGapGame(self, problem, generator_of(seed))


class BayesGapGame:
    """The state of a single problem."""

    def __init__(self, rules: BayesGap, problem: Problem, rng: np.random.Generator) -> None:
        n_arms = problem.n_arms
        self.rules, self.problem, self.rng = rules, problem, rng
        self.model = ArmModel(rules, n_arms)
        self.priority = _priority(n_arms, rng) if rules.breaks_ties else None
        self.alive = np.ones(n_arms, dtype=bool)
        """Arms with finite rewards only."""
        self.n_asked, self.n_told = np.zeros((2, n_arms), dtype=np.int64)
        """The next split of each arm, and the number of its finite rewards."""
        self.infinite = np.zeros(n_arms)
        """Sum of the infinite rewards and NaN, which are not part of the posterior."""
        self.lowest = inf
        """The lowest finite reward so far, which replaces the reward of failed pulls."""
        self.n_rounds = 0
        """Number of pulls that were requested."""
        self.rounds: list[tuple[int, float]] = []
        """The leaders of all rounds, and the bounds of their regrets in standardized units."""
        self.in_flight: dict[tuple[int, int], None] = {}
        """Arms and splits of the pulls in flight, oldest first."""
        self.lost: list[tuple[int, int]] = []
        """Arms and splits of failed pulls, as long as there is no reward."""
        self.splits = BrokenSplits()
        """The pulls on splits on which nothing works. Their arms may be pulled again."""
        self._ahead: ArmPosterior | None = None

    # Algorithm 1: a round is line 1 in `ask`, lines 7, 8 and 2 to 4 in `_choose_by_gap`, and
    # lines 5 and 6 in `tell`; line 10 is `recommend`.

    def ask(self, max_pulls: int) -> list[Pull]:
        """Return the next pulls, with at most ``pulls_in_flight`` pulls in flight."""
        rules, pulls = self.rules, list[Pull]()
        n_confirming = ceil(rules.n_pulls / CONFIRMING_SHARE) if rules.confirm else 0
        room = min(max_pulls, rules.pulls_in_flight - len(self.in_flight))
        while len(pulls) < room and (n_left := rules.n_pulls - self.n_rounds) > 0:  # line 1
            if not (may_pull := self._may_pull()).any():
                break
            arm = self._choose(may_pull)
            if n_left <= n_confirming:
                arm = self._confirmed(arm, may_pull)
            pulls.append(self._open(arm))
        return pulls

    def _choose(self, may_pull: BoolArray) -> int:
        """Return the next arm. The variances include pulls in flight."""
        posterior, estimates = self._posterior_ahead(), self.model.estimates()
        mean, deviation = estimates.mean, np.sqrt(posterior.variance)
        acquisition = self.rules.acquisition
        if acquisition == "bayesgap":
            return self._choose_by_gap(estimates, deviation, may_pull)
        if acquisition == "thompson":
            score = mean + posterior.sample(self.rng)
        else:
            was_pulled = (self.n_told > 0) & self.alive
            score = scores_of(acquisition, mean, deviation, was_pulled, self.n_rounds + 1)
        return first_largest(np.where(may_pull, score, -np.inf), self.priority)

    def _choose_by_gap(
        self, estimates: ScaledMeans, deviation: FloatArray, may_pull: BoolArray
    ) -> int:
        """Return the arm of lines 2 to 4, with the bounds of lines 7 and 8."""
        beta = self._beta(estimates, deviation)  # line 7: beta, for the gaps so far
        width = beta * deviation  # line 8: U_k and L_k are mean +- width
        # The leader J, its rival j, and the one with the wider interval.
        choice = choose_by_gap(estimates.mean, width, self.alive, may_pull, self.priority)
        self.rounds.append((choice.leader, choice.bound))
        return choice.arm

    def tell(self, pull: Pull, reward: float) -> None:
        """Record the reward of a pull. An arm that fails or is infinite is eliminated.

        In the posterior, the reward of a failed pull is replaced by the lowest reward so far.
        """
        arm, _, split = pull  # line 5: observe the reward
        self.in_flight.pop((arm, split), None)
        failed = self.splits.take_in(arm, split, reward)
        if not (self.in_flight and isfinite(reward)) or failed:
            self._ahead = None
        if isfinite(reward):
            self.n_told[arm] += 1
            self.lowest = min(self.lowest, reward)
            self._learn(arm, split, reward)  # line 6: update the posterior
        elif isinf(reward):
            self.alive[arm] = False
            self.infinite[arm] += reward  # the sum of plus and minus infinity is NaN
        if reward == -inf:
            self.lost.append((arm, split))
        for other in failed:
            self.alive[other], self.infinite[other] = False, np.nan
            self.lost.append((other, split))
        if self.lowest < inf:
            for other, at in self.lost:
                self._learn(other, at, self.lowest)
            self.lost = []

    def recommend(self) -> int:
        """Return the arm to choose; ``NO_ARM`` if no arm has a reward."""
        is_great, is_bad = self.infinite == np.inf, self.infinite == -np.inf
        if is_great.any():
            return int(is_great.argmax())
        if self._is_known() or (self.problem.n_arms == 1 and not self.n_rounds):
            return self._favorite(self.model.estimates().mean, only_pulled=self.rules.confirm)
        return int(is_bad.argmax()) if is_bad.any() else NO_ARM

    def _favorite(self, mean: FloatArray, *, only_pulled: bool) -> int:
        """Return the arm that looks best, whether or not its reward is known."""
        may_win, has_reward = self._may_win(), self.n_told > 0
        if only_pulled and (may_win & has_reward).any():
            may_win = may_win & has_reward
        if self.rules.recommendation == "smallest_bound":  # line 10: J of the least B_J
            rounds = [(leader, bound) for leader, bound in self.rounds if may_win[leader]]
            if rounds:
                return rounds[first_largest(np.array([-bound for _, bound in rounds]))][0]
        best = first_largest(np.where(may_win, mean, -np.inf))
        least = mean[best] - TIED * np.sqrt(self.model.posterior.variance[best])
        # Pulled arms are preferred in ties.
        is_tied = may_win & (mean >= least)
        return int((is_tied & has_reward if (is_tied & has_reward).any() else is_tied).argmax())

    @property
    def is_finished(self) -> bool:
        """Whether the rewards of all pulls are known, or no arm can be pulled."""
        is_over = self.n_rounds >= self.rules.n_pulls
        return not self.in_flight and (is_over or not self._may_pull().any())

    def out(self) -> BoolArray:
        """Return which arms cannot be pulled any more."""
        return ~self.alive

    def belief(self) -> Belief:
        """Return the posterior and the bounds of the arms, and the regret bounds of all rounds.

        Pulls in flight are ignored. The standard deviations do not include the uncertainty of the
        estimated mean level of all arms. They and the regret bounds are in the latest estimate of
        the scale: NaN if all rewards are equal, and 1 after a single reward. There are regret
        bounds, B_J, only if the acquisition is "bayesgap".
        """
        estimates, width = self.model.estimates(), np.sqrt(self.model.posterior.variance)
        mean = estimates.offset + estimates.scale * estimates.mean
        deviation = estimates.known_scale * width
        half = self._beta(estimates, width) * deviation
        bounds = np.array([bound for _, bound in self.rounds]) * estimates.known_scale
        return Belief(mean, deviation, mean - half, mean + half, bounds)

    # What the rounds need.

    def _beta(self, estimates: ScaledMeans, deviation: FloatArray) -> float:
        epsilon = self.rules.epsilon / estimates.scale
        return self.model.exploration.beta(estimates.mean, deviation, self.alive, epsilon)

    def _is_known(self) -> bool:
        """Return whether an arm in play has a reward."""
        return bool((self.alive & (self.n_told > 0)).any())

    def _may_pull(self) -> BoolArray:
        """Return the arms that can be pulled; none if only one arm is left and has a reward."""
        n_alive = np.count_nonzero(self.alive)
        if n_alive < 2 and (self.problem.n_arms == 1 or self._is_known()):
            return np.zeros_like(self.alive)
        most = self.problem.max_repetitions
        return self.alive if most is None else self.alive & (self.n_asked < most)

    def _may_win(self) -> BoolArray:
        """Return the arms that can be recommended."""
        may_win = self.alive.copy()
        may_win[self.model.hopeless()] = False
        failed = [arm for arms in self.splits.doubtful.values() for arm in arms]
        may_win[failed] &= self.n_told[failed] > 0  # not an arm of which no fit has worked
        return may_win if (may_win & (self.n_told > 0)).any() else self.alive

    def _confirmed(self, arm: int, may_pull: BoolArray) -> int:
        """Return the arm that looks best, or the given arm if that needs no confirmation."""
        mean, deviation = self.model.estimates().mean, np.sqrt(self.model.posterior.variance)
        best = self._favorite(mean, only_pulled=False)
        is_near = self.alive & (mean + deviation >= mean[best])
        n_near = self.n_asked[is_near].max(initial=1)
        confirms = self._is_known() and self.n_asked[best] < n_near and may_pull[best]
        return best if confirms else arm

    def _open(self, arm: int) -> Pull:
        """Return the next pull of an arm, on the first split that may work."""
        split, last = int(self.n_asked[arm]), (self.problem.max_repetitions or inf) - 1
        while len(self.splits.doubtful.get(split, ())) >= N_FAILED_PULLS and split < last:
            split += 1
        self.n_asked[arm] = split + 1
        self.n_rounds += 1
        self.in_flight[arm, split] = None
        if self._ahead is not None:
            self._ahead.update(arm, split, None)
        return Pull(arm, self.problem.max_level, split)

    def _posterior_ahead(self) -> ArmPosterior:
        """Return the posterior whose variances include the pulls in flight and the lost ones.

        All failed pulls reduce the variances, so that the policy leaves a region in which all
        arms fail.
        """
        doubtful = [(arm, split) for split, arms in self.splits.doubtful.items() for arm in arms]
        pulls = [*self.lost, *doubtful, *self.in_flight]
        if not pulls:
            return self.model.posterior
        if self._ahead is None:
            self._ahead = self.model.posterior.copy()
            for arm, split in pulls:
                self._ahead.update(arm, split, None)
        return self._ahead

    def _learn(self, arm: int, split: int, reward: float) -> None:
        if self.model.learn(arm, split, reward):
            self._ahead = None


def _priority(n_arms: int, rng: np.random.Generator) -> FloatArray:
    """Return in which order arms win ties: at random, as the first arms of a grid are corners."""
    seed = cast(np.random.SeedSequence, rng.bit_generator.seed_seq)
    own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1))
    return 1 + np.random.default_rng(own).permutation(n_arms).astype(np.float64)


class ScaledMeans(NamedTuple):
    """The posterior means in standardized units, and the units.

    Parameters
    ----------
    mean : ndarray of shape (n_arms,)
    offset, scale : float
        ``offset + scale * mean`` is the posterior mean in the units of the rewards.
    known_scale : float
        The scale, or NaN if it is not known because all rewards are equal.
    """

    mean: FloatArray
    offset: float
    scale: float
    known_scale: float


class ArmModel:
    """The posterior of the arms of a problem, and the hyperparameters of its prior."""

    def __init__(self, rules: BayesGap, n_arms: int) -> None:
        self.rules, covariance = rules, rules.covariance
        self.prior_mean = _checked_prior_mean(rules.prior_mean, n_arms)
        self.family: KernelFamily | None = None
        if isinstance(covariance, KernelFamily):
            rule = "be a matrix for standardize=False"
            refuse_unless(rules.standardize, "covariance", rule, covariance)
            self.family, n_rows = covariance, len(covariance.points)
            rule = f"have a row for each of the {n_arms} arms"
            refuse_unless(n_rows == n_arms, "covariance", rule, f"{n_rows} rows")
            prior = covariance.at(np.log(np.asarray(covariance.lengths)))
        else:
            prior = ArmPrior.of(covariance, n_arms)
        self.zero = 0.0
        """The first reward, which is subtracted from all if their level is estimated."""
        self.told: list[tuple[int, int, float]] = []
        """Arms, splits and standardized rewards, if hyperparameters are fitted to them."""
        self.floor = -inf
        """Limit to which lower rewards are raised before updates, set by the last fit."""
        self._start(prior, rules.noise_variance, rules.split_variance)

    def _start(self, prior: ArmPrior, noise: float, split_variance: float) -> None:
        """Set the posterior before the first pull, and the constants of its bounds."""
        rules, features = self.rules, Features(prior)
        if rules.acquisition == "thompson":
            features.cover_all(MAX_FEATURES_AT_START)
        is_effective = rules.beta == "effective"
        n_counted = prior.effective_n_arms() if is_effective else float(len(prior.variance))
        self.posterior = ArmPosterior(features, noise, split_variance)
        self.exploration = AdaptiveBeta(
            rules.beta, prior.variance, n_counted, rules.n_pulls, noise
        )

    def estimates(self) -> ScaledMeans:
        """Return posterior means in standardized units."""
        offset, known_scale = 0.0, 1.0
        if self.rules.standardize:
            offset, known_scale = self.posterior.offset_and_scale()
        scale = known_scale if known_scale == known_scale else 1.0
        of_rewards, of_ones = self.posterior.answers
        mean = self.prior_mean + of_rewards - offset * of_ones
        return ScaledMeans(mean / scale, self.zero + offset, scale, known_scale)

    def learn(self, arm: int, split: int, reward: float) -> bool:
        """Update the posterior with a reward. Return whether the hyperparameters have changed."""
        value = reward - float(self.prior_mean[arm])
        if self.rules.standardize and not self.posterior.n_told:
            self.zero = value
        value = min(max(value - self.zero, -FARTHEST), FARTHEST)
        self.posterior.update(arm, split, max(value, self.floor))
        if self.family is None:
            return False
        self.told.append((arm, split, value))
        if len(self.told) not in REFITS:
            return False
        self._refit(self.family)
        return True

    def _refit(self, family: KernelFamily) -> None:
        """Fit the hyperparameters to all rewards, and update the new prior by all of them."""
        rules, (arm, split, rewards) = self.rules, map(np.array, zip(*self.told, strict=True))
        median, most = np.median(rewards), rewards.max()
        self.floor = float(median - OUTLIER_SPREADS * (most - median)) if most > median else -inf
        # The search for the maximum stops at a tolerance that depends on the unit of the rewards.
        unit = next((abs(reward) for reward in rewards if reward), 1.0)
        raised = np.maximum(rewards, self.floor)
        variances = [rules.noise_variance, rules.split_variance][: 1 + (rules.split_variance > 0)]
        guess = np.log([*family.lengths, *variances])
        found = fit_to_rewards(family, arm, split, raised / unit, guess)
        n_lengths = len(family.lengths)
        self._start(family.at(found[:n_lengths]), *variances_of(found[n_lengths:]))
        for pull in zip(arm.tolist(), split.tolist(), raised.tolist(), strict=True):
            self.posterior.update(*pull)
        # Of all roots the triangular one: Thompson sampling then ignores the order of the rewards.
        root = rq(self.posterior.root, mode="r")
        self.posterior.root = root * np.sign(root.diagonal())

    def hopeless(self) -> list[int]:
        """Return the arms that only have rewards below the floor.

        An arm with any reward above the floor is not hopeless, because a single low reward may be
        due to its split.
        """
        if self.floor == -inf:
            return []
        hopeful = {arm for arm, _, value in self.told if value >= self.floor}
        return sorted({arm for arm, _, _ in self.told} - hopeful)


def _checked_prior_mean(prior_mean: npt.ArrayLike, n_arms: int) -> FloatArray:
    mean = np.asarray(prior_mean, dtype=np.float64)
    holds = mean.shape in ((), (n_arms,)) and bool(np.isfinite(mean).all())
    rule = f"be a finite number, or one for each of the {n_arms} arms"
    refuse_unless(holds, "prior_mean", rule, f"an array of shape {mean.shape}", "Use 0.")
    return np.broadcast_to(mean, (n_arms,)).copy()
