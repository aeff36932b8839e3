"""Sequential halving with unequal reward variances (Lalitha et al. 2023), and its baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import log, sqrt
from operator import truediv
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike

from sklearn_halving._checks import Count, NotNegative, between, refuse_unless
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._plan import Plan, Round
from sklearn_halving.policies._types import NO_ARM, Problem
from sklearn_halving.policies.bases._base_policy import Confidence, check_budget
from sklearn_halving.policies.bases._planned_policy import (
    PlannedGame,
    PlannedPolicy,
    halving_widths,
    in_plans,
)
from sklearn_halving.policies.bases._pulls_by_index import (
    greedy_counts,
    least_count_for_bound,
    positive_weights,
)
from sklearn_halving.policies.bases._ranking import best_alive, keep_best
from sklearn_halving.policies.noise._additive_model import Estimates
from sklearn_halving.policies.noise._noise_estimates import (
    DEFAULT_SHRINKAGE,
    checked_variances,
    errors_in_play,
    estimate_arms,
    is_clear,
    likelihood_of_leading,
    shrunk_variances,
)

Allocation = Literal["likelihood", "pooled", "ucb", "known", "uniform"]

VERY_FEW_ARMS, FEWER_ARMS, FEW_ARMS = 3, 5, 16
"""Numbers of arms up to which pulls on common splits are shared more evenly."""

ENOUGH_FOR_THREE = 9
"""Up to `FEW_ARMS` arms start with three pulls each if the budget has this many per arm."""

LEAST_LIKELIHOOD = 0.01
"""Arms that are less likely than this, relative to the leader, get nothing of the even part."""

WILD, LIKELIHOOD_OF_WILD = 20.0, 0.1
"""The likelihood of an arm whose variance is this many times that of all others, and which does
not lead, is reduced by this factor. It makes no difference with many arms on common splits."""


@dataclass(frozen=True)
class LikelihoodAllocation:
    """The allocation of `VarianceHalving` by the likelihood that an arm is the best.

    Its constants were chosen by simulation, see `examples/benchmarks/wrong_choices.py`.

    Parameters
    ----------
    common_splits : bool
        Whether arms are compared on common splits. In this case, a pull is only useful if a
        rival is pulled on the same split, and the weights do not depend on the noise of an
        arm.
    """

    n_arms: int
    n_pulls: int
    common_splits: bool

    def stages(self, plans_per_stage: int) -> list[tuple[int, list[tuple[int, bool]]]]:
        """Return the number of contenders in each stage, and its plans as in `in_plans`.

        The first plan has the first pulls of all arms.
        """
        widths, n_even = self.widths(), self._n_first() * self.n_arms
        if not widths:
            return []
        first, *later = in_plans(n_even, self.n_pulls - n_even, plans_per_stage * len(widths))
        plans = [[first]] + [[] for _ in widths[1:]]
        for i, plan in enumerate(later):
            plans[i * len(widths) // len(later)].append(plan)
        return list(zip(widths, plans, strict=True))

    def widths(self) -> list[int]:
        """Return the number of contenders in each stage."""
        widths = halving_widths(self.n_arms)
        return [self.n_arms] * len(widths) if self._even_share() == 1 else widths

    def counts(self, game: PlannedGame, n: int) -> IntArray:
        """Return the number of pulls of each arm in a plan after the first."""
        in_play, n_pulls = game.contested(), game.statistics.n_pulls
        limit = game.problem.max_repetitions
        if limit is not None:  # an arm without splits left makes room for another
            in_play = in_play & (n_pulls < limit)
        estimates = estimate_arms(game, common_splits=self.common_splits)
        is_few = self.common_splits and self.n_arms <= FEW_ARMS
        shrinkage = 1.0 if is_few else DEFAULT_SHRINKAGE
        variance = shrunk_variances(estimates, game.alive, shrinkage)
        likelihood = likelihood_of_leading(estimates, variance, n_pulls, game.alive, shrinkage)
        if self._even_share() > 0:
            leader = keep_best(likelihood, in_play, 1)
            likelihood[_is_wild(estimates, game.alive) & ~leader] *= LIKELIHOOD_OF_WILD
        # Without noise, all arms but the leader have a likelihood of 0: the best means are next.
        top = np.where(game.alive, estimates.mean, -np.inf).max()
        with np.errstate(invalid="ignore"):
            rank = np.where(likelihood > 0, likelihood, estimates.mean - top)
        contenders = keep_best(rank, in_play, self.widths()[game.stage])
        first_two = keep_best(rank, in_play, 2)
        if self.common_splits:
            # Pulling only the leader yields no information about differences, so that an arm that
            # leads by chance would keep the lead.
            weight = np.sqrt(likelihood)
            weight = np.where(first_two, np.where(in_play, weight, 0.0).max(), weight)
        else:
            weight = variance * np.sqrt(likelihood)
        evenly = contenders & ((likelihood >= LEAST_LIKELIHOOD) | first_two)
        n_even = int(self._even_share() * n + 0.5)
        even = greedy_counts(evenly.astype(np.float64), n_pulls, n_even, limit)
        weight = positive_weights(weight, contenders)
        return even + greedy_counts(weight, n_pulls + even, n - int(even.sum()), limit)

    def _n_first(self) -> int:
        """Return the number of pulls of each arm before the first comparison."""
        per_arm = self.n_pulls // self.n_arms
        if not self.common_splits:
            # Variances need three pulls per arm, at most half of the budget.
            return min(3, max(1, per_arm // 2))
        if self.n_arms > FEW_ARMS:
            return 1
        if per_arm >= 4:
            return 3 if self.n_pulls >= ENOUGH_FOR_THREE * self.n_arms else 2
        return min(2, per_arm) if self.n_arms <= FEWER_ARMS else 1

    def _even_share(self) -> float:
        """Return the share of a plan that its contenders get evenly."""
        if not self.common_splits:
            return 0.1
        shares = {VERY_FEW_ARMS: 1.0, FEWER_ARMS: 0.5, FEW_ARMS: 0.25}
        return next((share for most, share in shares.items() if self.n_arms <= most), 0.0)


def _is_wild(estimates: Estimates, alive: BoolArray) -> BoolArray:
    """Return which arms are far noisier than all others.

    Pulls of such an arm may make it the leader by chance, and rarely show that it is the best.
    """
    squares, freedom = (np.where(alive, x, 0.0) for x in (estimates.squares, estimates.freedom))
    of_others = freedom.sum() - freedom
    pooled = (squares.sum() - squares) / np.maximum(of_others, 1e-9)
    is_known = (of_others >= 2) & (pooled > 0) & (freedom > 0)
    return is_known & (squares > WILD * pooled * freedom)


@dataclass(frozen=True)
class UniformAllocation(PlannedPolicy):
    """Pull every arm ``floor(n_pulls / n_arms)`` times and choose the arm with the best mean.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls of all arms together.

    References
    ----------
    Lalitha, Kalantari, Ma, Deoras and Kveton. Fixed-budget best-arm identification with
    heterogeneous reward variances. UAI 2023, section 5 ("Unif").

    Examples
    --------
    >>> from sklearn_halving.policies import Problem, UniformAllocation
    >>> policy = UniformAllocation(n_pulls=7)
    >>> game = policy.start(Problem(n_arms=3))
    >>> pulls = game.ask(max_pulls=10)
    >>> pulls.arm, pulls.repetition
    (array([0, 0, 1, 1, 2, 2]), array([0, 1, 0, 1, 0, 1]))
    >>> game.tell_all(pulls, rewards=-abs(pulls.arm - 1.0))
    >>> game.recommend()
    1
    """

    n_pulls: int

    def play(self, game: PlannedGame) -> Iterator[IntArray]:
        yield game.within_splits(np.full(game.n_arms, self.n_pulls // game.n_arms))
        game.best = best_alive(game.alive, game.mean)

    def stages(self, problem: Problem) -> tuple[Round, ...]:
        """Return the only stage."""
        n_arms = problem.n_arms
        check_budget("n_pulls", self.n_pulls, n_arms, f"to pull each of {n_arms} candidates once")
        n_each = min(self.n_pulls // n_arms, problem.max_repetitions or self.n_pulls)
        return (Round(n_arms, problem.max_level, most_pulls=n_arms * n_each),)


class HalvingGame(PlannedGame):
    """A game of `VarianceHalving`, which may stop early."""

    policy: VarianceHalving

    def ended_by(self) -> Sequence[str]:
        """Return the stopping rules in use if one of them ended the play, else nothing."""
        policy = self.policy
        rules = {"stop_probability": policy.stop_probability, "tolerance": policy.tolerance}
        return [f"{k}={v}" for k, v in rules.items() if self.is_stopped and v is not None]


@dataclass(frozen=True)
class VarianceHalving(PlannedPolicy):
    r"""Choose the best of many noisy arms with a fixed number of pulls.

    All allocations except "likelihood" follow Algorithm 1 of the paper. They have
    ``m = ceil(log2 n_arms)`` stages of ``floor(n_pulls / m)`` pulls. After each stage, the best
    ``ceil(n / 2)`` of the n arms in play are kept. The j-th pull of every arm is repetition j.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls of all arms together.
    allocation : {"likelihood", "pooled", "ucb", "known", "uniform"}, default="likelihood"
        How the pulls are allocated to the arms. N is the number of pulls of an arm, and v is its
        sample variance, shrunk towards the pooled variance of all arms in play.

        - "likelihood": no arm is eliminated permanently. Stage s allocates its pulls to the
          ``n_arms / 2^s`` arms that are most likely to be as good as the leader. They are chosen
          again for each plan. Their weight is the square root of this likelihood (Student's t,
          with 3 extra degrees of freedom), times v if splits are not common. A part
          of each plan is allocated evenly to the contenders: with common splits, all of it for
          up to 3 arms, half for up to 5, a quarter for up to 16, and nothing for more. At least
          one pull per arm is needed.
        - "pooled": halving that pulls ``argmax v / N`` within a stage.
        - "ucb": SHAdaVar (Algorithm 4). It pulls ``argmax U / N``, where U is an upper confidence
          bound of the variance (eq. 7), once each arm has the pulls that the bound requires. If
          the number of splits is limited, it pulls ``argmax v / N`` instead, with v not shrunk.
          The algorithm of the paper also needs ``keep_pulls=False`` and ``plans_per_stage`` above
          ``n_pulls``.
        - "known": SHVar (Algorithm 3). It pulls ``argmax sigma^2 / N``.
        - "uniform": SH (Algorithm 2). It pulls the arms in turn.
    reward_variances : array-like of shape (n_arms,), default=None
        The known variances of the rewards, for ``allocation="known"``.
    delta : float, default=0.05
        One minus the confidence level of the bound, for ``allocation="ucb"``.
    keep_pulls : bool, default=True
        Whether a stage also uses the rewards of earlier stages. The algorithm in the paper does
        not, which simplifies its proof.
    common_splits : bool, default=True
        Whether repetition j is the same split for all arms. If True, arms are compared by the
        additive model arm + split + noise. With ``keep_pulls=False`` this is not used, and arms
        are compared by their means, as in the paper.
    plans_per_stage : int, default=2
        How often the variances are estimated in each stage. Pulls of the same plan can run in
        parallel. With a number above ``n_pulls``, the variances are estimated after every pull,
        as in the paper's version of "ucb".
    stop_probability : float or None, default=None
        Stop when the leader is the best of the arms in play with at least this probability (see
        `probability_of_best`). It must be above 0.5 and below 1. If None, this rule is not used.
    tolerance : float or None, default=None
        Stop when no other arm in play can be better than the leader by more than this, in units
        of reward. The upper limit for each arm is the difference of the means plus 1.645 standard
        errors of the difference, a one-sided 95 % limit. If None, this rule is not used.
    overlap : float or None, default=None
        Size of a test set divided by the size of a training set, which the stopping rules need
        (see `standard_errors`). 0 assumes that the rewards of an arm are independent. None
        takes it from the problem, where it is 0 outside of a search.

    Notes
    -----
    The reward of arm k on split j is :math:`\mu_k + b_j + e_{kj}`, with an effect of the split on
    all arms and noise. The noise of an arm, with the sum of squared residuals :math:`S_k` and
    :math:`d_k` degrees of freedom, is shrunk towards the pooled noise :math:`\bar v` with the
    weight :math:`d_0`, which is 1 for "likelihood" with up to 16 arms on common splits, and
    otherwise 3. Let l be the leader and N the number of pulls. Then

    .. math:: v_k = \frac{S_k + d_0 \bar v}{d_k + d_0}, \qquad
        z_k = \frac{\mu_l - \mu_k}{\sqrt{v_k / N_k + v_l / N_l}}, \qquad
        L_k = \Big( 1 + \frac{z_k^2}{d_k + d_0} \Big)^{-(d_k + d_0 + 1) / 2} .

    On common splits, "likelihood" pulls the arm with the largest :math:`\sqrt{L_k} / N_k` among
    the :math:`\lceil K / 2^s \rceil` arms with the largest :math:`L_k`; there is no proof for it.
    For "known", the probability of error is at most (Theorem 3, with the gap :math:`\Delta` of the
    second best arm)

    .. math:: 2 \log_2 K \exp\Big( - \frac{n \Delta^2}{4 \log_2 K \sum_k \sigma_k^2} \Big) .

    The stopping rules are tested after each plan at the last level. They need a pull of each arm
    in play and 3 degrees of freedom for the variance of the noise, and ignore eliminated arms.

    References
    ----------
    Lalitha, Kalantari, Ma, Deoras and Kveton. Fixed-budget best-arm identification with
    heterogeneous reward variances. UAI 2023.

    Karnin, Koren and Somekh. Almost optimal exploration in multi-armed bandits. ICML 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import Problem, VarianceHalving
    >>> policy = VarianceHalving(n_pulls=60)
    >>> game = policy.start(Problem(n_arms=4))
    >>> rng, n_pulls = np.random.default_rng(0), np.zeros(4, dtype=int)
    >>> while not game.is_finished:
    ...     pulls = game.ask(max_pulls=100)
    ...     rewards = np.array([0.1, 0.2, 0.5, 0.4])[pulls.arm] + rng.normal(0, 0.1, len(pulls))
    ...     n_pulls += np.bincount(pulls.arm, minlength=4)
    ...     game.tell_all(pulls, rewards)
    >>> game.recommend(), int(n_pulls.sum()), bool(n_pulls[3] > n_pulls[0])
    (2, 60, True)
    """

    game = HalvingGame

    n_pulls: Count
    allocation: Allocation = "likelihood"
    reward_variances: ArrayLike | None = None
    delta: Confidence = 0.05
    keep_pulls: bool = True
    common_splits: bool = True
    plans_per_stage: Count = 2
    stop_probability: Annotated[float, between(0.5, 1)] | None = None
    tolerance: NotNegative | None = None
    overlap: NotNegative | None = None

    def __post_init__(self) -> None:
        """Validate the parameters that do not depend on the number of arms."""
        super().__post_init__()
        holds = (self.allocation == "known") == (self.reward_variances is not None)
        rule = f"be given if, and only if, allocation='known', here {self.allocation!r}"
        refuse_unless(holds, "reward_variances", rule, self.reward_variances)
        if self.allocation == "likelihood":  # it has no stages, and goes back to arms it left
            rule = "be True, or use another allocation than 'likelihood'"
            refuse_unless(self.keep_pulls, "keep_pulls", rule, self.keep_pulls)

    def plan(self, problem: Problem) -> Plan:
        """Return the stages. With "likelihood", no arm is eliminated."""
        halves = self.allocation != "likelihood"
        return replace(super().plan(problem), ranks_by="stage" if halves else "score")

    def stages(self, problem: Problem) -> tuple[Round, ...]:
        """Return the stages of Algorithm 1."""
        n_arms, n_splits = problem.n_arms, problem.max_repetitions
        why = f"for {n_arms} candidates in all stages of allocation={self.allocation!r}"
        check_budget("n_pulls", self.n_pulls, self.least_n_pulls(n_arms), why)
        rule = f"be True for a limited number of splits, {n_splits}"
        refuse_unless(self.keep_pulls or n_splits is None, "keep_pulls", rule, self.keep_pulls)
        checked_variances(self.reward_variances, n_arms)
        return tuple(
            Round(width, problem.max_level, most_pulls=sum(n_pulls for n_pulls, _ in plans))
            for width, plans in self._stages(n_arms)
        )

    def play(self, game: PlannedGame) -> Iterator[IntArray]:
        """Play Algorithm 1. "likelihood" keeps all arms; a stage limits which of them it pulls."""
        stages, halves = self._stages(game.n_arms), self.allocation != "likelihood"
        n_left = sum(len(plans) for _, plans in stages)
        pull = getattr(self, f"_pull_{self.allocation}")
        for game.stage, (width, plans) in enumerate(stages):  # line 4
            if not self.keep_pulls:
                game.forget()
            for i, (n, is_even) in enumerate(plans, start=1):
                counts = self._pull_uniform(game, n) if is_even else pull(game, n)
                yield game.within_splits(counts)  # lines 6 to 8: I_(s, t)
                n_left -= 1
                is_end = i == len(plans) if halves else not n_left
                mean = self._estimates(game).mean if is_end else game.mean
                if halves and is_end:  # lines 9 to 12: A_(s + 1)
                    game.alive = keep_best(mean, game.alive, (width + 1) // 2)
                # A single survivor is not pulled again and stays the best.
                best = best_alive(game.alive, mean)
                game.best = game.best if best == NO_ARM and game.alive.any() else best
                if n_left and self._is_clear(game):
                    game.is_stopped = True
                    return

    # Pull(s, t) of Algorithm 1 for each allocation, for the ``n`` pulls of a plan.

    def _pull_uniform(self, game: PlannedGame, n: int) -> IntArray:
        """Algorithm 2, SH: the arms in turn."""
        return _greedy(game, np.ones(game.n_arms), n)

    def _pull_known(self, game: PlannedGame, n: int) -> IntArray:
        """Algorithm 3, SHVar: argmax sigma^2 / N (line 4)."""
        return _greedy(game, np.asarray(self.reward_variances, dtype=np.float64), n)

    def _pull_ucb(self, game: PlannedGame, n: int) -> IntArray:
        """Algorithm 4, SHAdaVar: argmax U / N (line 8), after the arms in turn (lines 2 to 4)."""
        variance = shrunk_variances(self._estimates(game), game.alive, 0.0)
        least, n_pulls = self._least_count(), game.statistics.n_pulls[game.contested()]
        if game.problem.max_repetitions is not None or n_pulls.min(initial=least) < least:
            return _greedy(game, variance, n)

        def u_over_n(v: float, n: int) -> float:
            return v / (n * (1 - 2 * sqrt(log(1 / self.delta) / (n - 1))))  # U of eq. 7

        return _greedy(game, variance, n, u_over_n)

    def _pull_pooled(self, game: PlannedGame, n: int) -> IntArray:
        """Not in the paper: argmax v / N."""
        variance = shrunk_variances(self._estimates(game), game.alive, DEFAULT_SHRINKAGE)
        return _greedy(game, variance, n)

    def _pull_likelihood(self, game: PlannedGame, n: int) -> IntArray:
        """Not in the paper: the arms that may be as good as the leader."""
        return self._by_likelihood(game.n_arms).counts(game, n)

    def _stages(self, n_arms: int) -> list[tuple[int, list[tuple[int, bool]]]]:
        """Return the number of arms in play in each stage, and its plans.

        A plan is a number of pulls, and whether the arms share them evenly.
        """
        if self.allocation == "likelihood":
            return self._by_likelihood(n_arms).stages(self.plans_per_stage)
        widths = halving_widths(n_arms)
        n_stage = self.n_pulls // max(1, len(widths))  # Algorithm 1, line 5
        if self.allocation in ("uniform", "known"):
            return [(width, [(n_stage, False)]) for width in widths]
        stages, n_each = [], 0
        for width in widths:
            n_each = n_each if self.keep_pulls else 0
            n_even = min(n_stage, max(0, self._least_count() - n_each) * width)
            stages.append((width, in_plans(n_even, n_stage - n_even, self.plans_per_stage)))
            n_each += n_even // width
        return stages

    def _by_likelihood(self, n_arms: int) -> LikelihoodAllocation:
        return LikelihoodAllocation(n_arms, self.n_pulls, self.common_splits)

    def _least_count(self) -> int:
        """Return the number of pulls of an arm before its estimated variance is used."""
        return least_count_for_bound(self.delta) if self.allocation == "ucb" else 3

    def _estimates(self, game: PlannedGame) -> Estimates:
        return estimate_arms(game, common_splits=self.common_splits and self.keep_pulls)

    def _is_clear(self, game: PlannedGame) -> bool:
        """Return whether a stopping rule is fulfilled, and recommend the leader if so."""
        rules = self.stop_probability, self.tolerance
        if rules == (None, None) or game.alive.sum() < 2:
            return False
        overlap = game.problem.overlap if self.overlap is None else self.overlap
        estimates = self._estimates(game)
        known = checked_variances(self.reward_variances, game.n_arms)
        error = errors_in_play(game, estimates, known, overlap)
        mean = np.where(game.alive, estimates.mean, np.nan)
        leader = best_alive(game.alive, mean)
        if error is None or not is_clear(mean, error, leader, *rules):
            return False
        game.best = leader
        return True

    def least_n_pulls(self, n_arms: int) -> int:
        """Return the smallest ``n_pulls`` that pulls each arm in play once in every stage."""
        n_stages = 1 if self.allocation == "likelihood" else max(1, len(halving_widths(n_arms)))
        return n_arms * n_stages


def _greedy(
    game: PlannedGame,
    weight: FloatArray,
    n: int,
    index: Callable[[float, int], float] = truediv,
) -> IntArray:
    """Return the pulls of the arms in play, each of argmax weight / N."""
    weight = positive_weights(weight, game.contested())
    n_pulls, limit = game.statistics.n_pulls, game.problem.max_repetitions
    return greedy_counts(weight, n_pulls, n, limit, index)
