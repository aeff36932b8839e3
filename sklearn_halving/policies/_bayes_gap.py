"""BayesGap (Hoffman, Shahriari & de Freitas 2014) and other rules for the same posterior."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil, inf, prod
from numbers import Real
from typing import Annotated, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from sklearn_halving._checks import Count, NotNegative, Positive, Rule, refuse_unless
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Seed
from sklearn_halving.policies._plan import Plan, open_plan
from sklearn_halving.policies._types import NO_ARM, Belief, Problem, Pull
from sklearn_halving.policies.bases._base_policy import BasePolicy, Tolerance
from sklearn_halving.policies.bases._gap_rule import Exploration, choose_by_gap, first_largest
from sklearn_halving.policies.posterior._arm_posterior import (
    ArmCovariance,
    ArmPosterior,
    PriorFeatures,
    as_arm_covariance,
    effective_n_arms,
)
from sklearn_halving.policies.posterior._hyperparameters import (
    Hyperparameters,
    KernelFamily,
    Model,
    Refits,
)
from sklearn_halving.policies.posterior._state import PosteriorState, PullOfEach, Shape, places

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
    mean, deviation : ndarray of shape (n_problems, n_arms)
        Posterior means and standard deviations. The latter include pulls in flight.
    was_pulled : ndarray of bool of shape (n_problems, n_arms)
        Arms in play that have a reward.
    round_number : int
        Number of the next pull, t, counted from 1.
    """
    if acquisition == "bayes_ucb":
        return mean + float(ndtri(1 - 1 / (round_number + 1))) * deviation
    if acquisition == "gp_ucb":
        inside = mean.shape[1] * round_number**2 * np.pi**2 / (6 * GP_UCB_DELTA)
        return mean + np.sqrt(2 * np.log(inside)) * deviation
    best = np.where(was_pulled, mean, -np.inf).max(axis=1, keepdims=True)
    best = np.where(np.isfinite(best), best, mean.max(axis=1, keepdims=True))
    if acquisition == "pi":
        best = best + MARGIN * deviation.max(axis=1, keepdims=True)
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
    covariance : array-like of shape (n_arms, n_arms), ArmCovariance or KernelFamily, default=None
        Prior covariance of the arms. `FactorCovariance` and `KernelCovariance` do not compute the
        full matrix. With a `KernelFamily`, the length scales, ``noise_variance`` and
        ``split_variance`` are only initial values. They are estimated by maximum marginal
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
        in which the upper bound of the leader's regret was smallest.
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
    >>> state = policy.start(Problem(n_arms=200))
    >>> rng = np.random.default_rng(0)
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=1)
    ...     rewards = 0.9 - (x[pulls.arm] - x[140]) ** 2 + rng.normal(0, 0.01, len(pulls))
    ...     policy.tell(state, pulls, rewards)
    >>> bool(abs(policy.recommend(state) - 140) <= 10)
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

    def start(self, problem: Problem, seed: Seed = None) -> BayesGame:
        """Return the game before the first pull. Only Thompson sampling uses the seed."""
        return BayesGame(self, self._start(problem, (), seed))

    def _start(self, problem: Problem, batch_shape: Shape, seed: Seed) -> PosteriorState:
        n_problems = prod(batch_shape)
        make_model = partial(self._model, n_problems)
        parameters = Hyperparameters(np.zeros(0), self.noise_variance, self.split_variance)
        covariance, refits = self.covariance, None
        if isinstance(covariance, KernelFamily):
            rule = "be family.at(...) for several problems, or for standardize=False"
            refuse_unless(n_problems == 1 and self.standardize, "covariance", rule, covariance)
            parameters = replace(parameters, log_lengths=np.log(np.asarray(covariance.lengths)))
            refits = Refits(covariance, parameters, make_model)
            covariance = covariance.at(parameters.log_lengths)
        covariance = as_arm_covariance(covariance, problem.n_arms)
        rng = np.random.default_rng(seed if seed is not None else 0)
        mean = _checked_prior_mean(self.prior_mean, problem.n_arms)
        model = make_model(covariance, parameters)
        state = PosteriorState(problem, batch_shape, rng, mean, self.standardize, *model, refits)
        if self.breaks_ties and isinstance(seed, np.random.SeedSequence):
            state.break_ties(seed)
        return state

    def _model(
        self, n_problems: int, covariance: ArmCovariance, parameters: Hyperparameters
    ) -> Model:
        """Return the posterior before the first pull, and the constants of its bounds."""
        features, noise = PriorFeatures(covariance), parameters.noise_variance
        if self.acquisition == "thompson" or n_problems > 1:  # many problems pull most of the arms
            features.cover_all(MAX_FEATURES_AT_START)
        variance = np.asarray(covariance.diagonal)
        n_counted = float(len(variance))
        if self.beta == "effective":
            n_counted = effective_n_arms(covariance)
        exploration = Exploration.of(self.beta, variance, n_counted, self.n_pulls, noise)
        return ArmPosterior(features, n_problems, noise, parameters.split_variance), exploration

    def _ask(self, state: PosteriorState, max_pulls: int) -> list[Pull]:
        """Return the next pulls, with at most ``pulls_in_flight`` pulls in flight."""
        n_open = len(state.pending)
        room = min(max_pulls, self.pulls_in_flight - n_open, self.n_pulls - state.n_rounds)
        chosen: list[PullOfEach] = []
        while len(chosen) < room and (may_pull := state.may_pull()).any():
            arm = self._choose(state, may_pull)
            n_left = self.n_pulls - state.n_rounds
            if self.confirm and n_left <= ceil(self.n_pulls / CONFIRMING_SHARE):
                arm = self._confirmed(state, arm, may_pull)
            chosen.append(state.open_pulls(np.where(may_pull.any(axis=1), arm, NO_ARM)))
        level = state.problem.max_level
        return [Pull(int(arm[0]), level, int(repetition[0])) for arm, repetition in chosen]

    def _choose(self, state: PosteriorState, may_pull: BoolArray) -> IntArray:
        """Return the next arm of each problem. The variances include pulls in flight."""
        posterior, estimates, alive = state.posterior_ahead(), state.estimates(), state.alive
        mean, deviation = estimates.mean, np.sqrt(posterior.variance)
        if self.acquisition == "bayesgap":
            # Lines 7 and 8 of Algorithm 1: beta for the gaps so far, and the bounds.
            epsilon = self.epsilon / estimates.scale[0]
            beta = state.exploration.beta(mean[0], deviation[0], alive[0], epsilon)
            # Lines 2 to 4: the leader J, its rival j, and the one with the wider interval.
            one = mean[0], beta * deviation[0], alive[0], may_pull[0]
            choice = choose_by_gap(*one, state.priority)
            state.rounds.append((np.array([choice.leader]), np.array([choice.bound])))
            return np.array([choice.arm])
        if self.acquisition == "thompson":
            score = mean + posterior.sample(state.rng)
        else:
            was_pulled = (state.n_told > 0) & alive
            score = scores_of(self.acquisition, mean, deviation, was_pulled, state.n_rounds + 1)
        score = np.where(may_pull, score, -np.inf)[0]
        return np.array([first_largest(score, state.priority)])

    def _is_finished(self, state: PosteriorState) -> bool:
        """Return whether the rewards of all pulls are known, or no arm can be pulled."""
        if state.pending:
            return False
        return state.n_rounds >= self.n_pulls or not state.may_pull().any()

    def _is_alive(self, state: PosteriorState) -> BoolArray:
        """Return which arms may still be pulled."""
        return state.alive.reshape(*state.batch_shape, -1).copy()

    def _recommend(self, state: PosteriorState) -> IntArray:
        """Return the arm to choose; ``NO_ARM`` if no arm has a reward."""
        best = self._favorite(state, state.estimates().mean, only_pulled=self.confirm)
        is_known, infinite = state.is_known(), state.infinite
        if state.problem.n_arms == 1 and not state.n_rounds:
            is_known[:] = True
        is_bad, is_great = infinite == -np.inf, infinite == np.inf
        rest = np.where(is_bad.any(axis=1), is_bad.argmax(axis=1), NO_ARM)
        best = np.where(is_known, best, rest)
        best = np.where(is_great.any(axis=1), is_great.argmax(axis=1), best)
        return best.reshape(state.batch_shape)

    def _favorite(self, state: PosteriorState, mean: FloatArray, *, only_pulled: bool) -> IntArray:
        """Return the arm that looks best in each problem, whether or not its reward is known."""
        may_win, has_reward = state.may_win(), state.n_told > 0
        if only_pulled:
            was_pulled = may_win & has_reward
            may_win = np.where(was_pulled.any(axis=1, keepdims=True), was_pulled, may_win)
        best = np.array([first_largest(np.where(may_win, mean, -np.inf)[0])])
        least = (mean - TIED * np.sqrt(state.posterior.variance)).take(places(mean, best))
        # Pulled arms are preferred in ties.
        is_tied = may_win & (mean >= least[:, np.newaxis])
        best = (is_tied * np.where(has_reward, 2.0, 1.0)).argmax(axis=1)
        if self.recommendation == "smallest_bound" and state.rounds:  # line 10 of Algorithm 1
            return state.leader_of_least_bound(best, may_win)
        return best

    def _confirmed(self, state: PosteriorState, arm: IntArray, may_pull: BoolArray) -> IntArray:
        """Return the arms that look best, or the given arms if these need no confirmation."""
        mean, deviation = state.estimates().mean, np.sqrt(state.posterior.variance)
        rows, best = np.arange(len(arm)), self._favorite(state, mean, only_pulled=False)
        is_near = state.alive & (mean + deviation >= mean[rows, best][:, np.newaxis])
        n_near = np.where(is_near, state.n_asked, 0).max(axis=1)
        has_fewer = state.n_asked[rows, best] < np.maximum(n_near, 1)
        confirms = state.is_known() & has_fewer & may_pull[rows, best]
        return np.where(confirms, best, arm)

    def _belief(self, state: PosteriorState) -> Belief:
        """Return the posterior and the bounds of the arms, and the regret bounds of all rounds.

        Pulls in flight are ignored. The standard deviations do not include the uncertainty of the
        estimated mean level of all arms. They and the regret bounds are in the latest estimate of
        the scale: NaN if all rewards are equal, and 1 after a single reward. There are regret
        bounds, B_J, only if the acquisition is "bayesgap".
        """
        estimates, width = state.estimates(), np.sqrt(state.posterior.variance)
        epsilon = self.epsilon / estimates.scale[0]
        beta = state.exploration.beta(estimates.mean[0], width[0], state.alive[0], epsilon)
        mean = estimates.offset[:, np.newaxis] + estimates.scale[:, np.newaxis] * estimates.mean
        known_scale = estimates.known_scale[:, np.newaxis]
        deviation, bounds = known_scale * width, state.bounds() * known_scale
        half = beta * deviation
        arrays = mean, deviation, mean - half, mean + half, bounds
        return Belief(*(each.reshape(*state.batch_shape, -1) for each in arrays))


def _checked_prior_mean(prior_mean: npt.ArrayLike, n_arms: int) -> FloatArray:
    mean = np.asarray(prior_mean, dtype=np.float64)
    holds = mean.shape in ((), (n_arms,)) and bool(np.isfinite(mean).all())
    rule = f"be a finite number, or one for each of the {n_arms} arms"
    refuse_unless(holds, "prior_mean", rule, f"an array of shape {mean.shape}", "Use 0.")
    return np.broadcast_to(mean, (n_arms,)).copy()


class BayesGame:
    """One problem of `BayesGap`."""

    def __init__(self, policy: BayesGap, state: PosteriorState) -> None:
        self.policy, self.state = policy, state

    @property
    def is_finished(self) -> bool:
        """Whether the rewards of all pulls are known, or no arm can be pulled."""
        return self.policy._is_finished(self.state)

    def ask(self, max_pulls: int) -> list[Pull]:
        """Return the next pulls."""
        return self.policy._ask(self.state, max_pulls)

    def tell(self, pull: Pull, reward: float) -> None:
        """Take in a reward."""
        self.state.take_in(
            np.array([pull.arm]), np.array([pull.repetition]), np.array([float(reward)])
        )

    def out(self) -> BoolArray:
        """Return which arms cannot be pulled any more."""
        return ~self.policy._is_alive(self.state)

    def recommend(self) -> int:
        """Return the arm to choose."""
        return int(self.policy._recommend(self.state))

    def belief(self) -> Belief:
        """Return the posterior and the bounds of the arms."""
        return self.policy._belief(self.state)
