"""Sequential halving with unequal reward variances (Lalitha et al. 2023), and extensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sklearn_halving.policies._arrays import FloatArray, IntArray
from sklearn_halving.policies._types import NO_ARM, Problem, Stage
from sklearn_halving.policies.bases._arm_statistics import ArmStatistics
from sklearn_halving.policies.bases._greedy_allocation import (
    bounded_counts,
    greedy_counts,
    least_count_for_bound,
    positive_weights,
)
from sklearn_halving.policies.bases._parameter_checks import (
    Confidence,
    Count,
    NotNegative,
    Rule,
    between,
    check_budget,
    check_not_negative,
)
from sklearn_halving.policies.bases._planned_pulls import (
    PlannedPolicy,
    PlannedState,
    Step,
    in_plans,
    n_stages_of,
    new_state,
    widths_of,
)
from sklearn_halving.policies.bases._ranking import best_alive, keep_best
from sklearn_halving.policies.noise._choice_probability import is_clear
from sklearn_halving.policies.noise._likelihood_allocation import LikelihoodAllocation
from sklearn_halving.policies.noise._noise_estimates import (
    checked_variances,
    errors_in_play,
    estimate_arms,
    shrunk_variances,
)

Allocation = Literal["likelihood", "pooled", "ucb", "known", "uniform"]
DEFAULT_SHRINKAGE = 3.0


@dataclass(frozen=True)
class VarianceHalving(PlannedPolicy):
    """Choose the best of many noisy arms with a fixed number of pulls.

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
          with ``shrinkage`` extra degrees of freedom), times v if splits are not common. A part
          of each plan is allocated evenly to the contenders: with common splits, all of it for
          up to 3 arms, half for up to 5, a quarter for up to 16, and nothing for more. At least
          one pull per arm is needed.
        - "pooled": halving that pulls ``argmax v / N`` within a stage.
        - "ucb": SHAdaVar (Algorithm 4). It pulls ``argmax U / N``, where U is an upper confidence
          bound of the variance (eq. 7), once each arm has the pulls that the bound requires.
        - "known": SHVar (Algorithm 3). It pulls ``argmax sigma^2 / N``.
        - "uniform": SH (Algorithm 2). It pulls the arms in turn.
    reward_variances : array-like of shape (n_arms,) or (*batch, n_arms), default=None
        The known variances of the rewards, for ``allocation="known"``.
    delta : float, default=0.05
        One minus the confidence level of the bound, for ``allocation="ucb"``.
    keep_pulls : bool, default=True
        Whether a stage also uses the rewards of earlier stages. The algorithm in the paper does
        not, which simplifies its proof.
    shrinkage : float or None, default=None
        Weight of the pooled variance in the estimated variance of an arm, in degrees of freedom.
        If None, it is 1 for "likelihood" with up to 16 arms on common splits, otherwise 3.
    common_splits : bool, default=True
        Whether repetition j is the same split for all arms. If True, arms are compared by the
        additive model arm + split + noise. With ``keep_pulls=False`` this is not used, and arms
        are compared by their means, as in the paper.
    plans_per_stage : int, default=2
        How often the variances are estimated in each stage. Pulls of the same plan can run in
        parallel. With a number above ``n_pulls``, the variances are estimated after every pull,
        as in the paper's version of "ucb".
    levels : tuple of int or None, default=None
        Level of the pulls of each stage, in non-decreasing order; see `growing_levels`. Rewards
        at different levels cannot be compared, so that statistics and repetitions are reset when
        the level changes. If None, all stages use the largest level of the problem. Not available
        for "likelihood", which does not eliminate arms.
    stop_probability : float or None, default=None
        Stop when the leader is the best of the arms in play with at least this probability (see
        `probability_of_best`). It must be above 0.5 and below 1. If None, this rule is not used.
    tolerance : float or None, default=None
        Stop when no other arm in play can be better than the leader by more than this, in units
        of reward. The upper limit for each arm is the difference of the means plus 1.645 standard
        errors of the difference, a one-sided 95 % limit. If None, this rule is not used.
    overlap : float, default=0.0
        Size of a test set divided by the size of a training set, which the stopping rules need
        (see `standard_errors`). 0 assumes that the rewards of an arm are independent.

    Notes
    -----
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
    >>> state = policy.start(Problem(n_arms=4))
    >>> rng, n_pulls = np.random.default_rng(0), np.zeros(4, dtype=int)
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=100)
    ...     rewards = np.array([0.1, 0.2, 0.5, 0.4])[pulls.arm] + rng.normal(0, 0.1, len(pulls))
    ...     n_pulls += np.bincount(pulls.arm, minlength=4)
    ...     policy.tell(state, pulls, rewards)
    >>> int(policy.recommend(state)), int(n_pulls.sum()), bool(n_pulls[3] > n_pulls[0])
    (2, 60, True)
    """

    n_pulls: Count
    allocation: Allocation = "likelihood"
    reward_variances: ArrayLike | None = None
    delta: Confidence = 0.05
    keep_pulls: bool = True
    shrinkage: NotNegative | None = None
    common_splits: bool = True
    plans_per_stage: Count = 2
    levels: tuple[int, ...] | None = None
    stop_probability: Annotated[float, between(0.5, 1, "Use 0.95, or None.")] | None = None
    tolerance: Annotated[float, Rule(check_not_negative, "Use 0.01, or None.")] | None = None
    overlap: Annotated[float, Rule(check_not_negative, "It is n_test / n_train, or 0.")] = 0.0

    def __post_init__(self) -> None:
        """Validate the parameters that do not depend on the number of arms."""
        super().__post_init__()
        if (self.allocation == "known") != (self.reward_variances is not None):
            raise ValueError(
                "reward_variances must be given if, and only if, allocation='known'; got "
                f"allocation={self.allocation!r} and reward_variances={self.reward_variances!r}."
            )
        if self.allocation == "likelihood" and not self.keep_pulls:
            raise ValueError(
                "allocation='likelihood' has no stages after which it could forget; "
                "use keep_pulls=True, or another allocation."
            )
        if self.levels is not None:
            self._check_levels_alone(self.levels)

    def _check_levels_alone(self, levels: tuple[int, ...]) -> None:
        if self.allocation == "likelihood":
            raise ValueError(
                f"levels cannot be used with allocation='likelihood', got levels={levels!r}: "
                "it goes back to arms that it left, and their rewards must be comparable. Use "
                "allocation='pooled', or levels=None."
            )
        if not all(isinstance(b, Integral) and a <= b for a, b in pairwise((1, *levels))):
            raise ValueError(
                "levels must be whole numbers of at least 1, none smaller than the one before, "
                f"got {levels!r}. growing_levels(smallest, largest, n_stages) makes them."
            )

    def _check_levels(self, problem: Problem) -> None:
        """Raise an error if the levels do not match the stages of the problem."""
        n_stages, low, high = n_stages_of(problem.n_arms), problem.min_level, problem.max_level
        if self.levels is None or n_stages == 0:
            return
        if len(self.levels) != n_stages:
            raise ValueError(
                f"levels must have one level a stage, and {problem.n_arms} arms are halved in "
                f"{n_stages} stages, got {len(self.levels)} levels: {self.levels!r}. "
                f"growing_levels({low}, {high}, {n_stages}) makes them."
            )
        if not (low <= self.levels[0] and self.levels[-1] <= high):
            raise ValueError(
                f"levels must be from {low} to {high}, the smallest and the largest level, got "
                f"{self.levels!r}. growing_levels({low}, {high}, {n_stages}) makes such levels."
            )

    def least_n_pulls(self, n_arms: int) -> int:
        """Return the smallest ``n_pulls`` that pulls each arm in play once in every stage."""
        return n_arms if self.allocation == "likelihood" else max(1, n_arms * n_stages_of(n_arms))

    def least_n_pulls_to_adapt(self, n_arms: int) -> int | None:
        """Return the smallest ``n_pulls`` with which all stages adapt to the variances.

        With fewer pulls, the first stages are uniform as in SH. None if the policy never adapts.
        """
        if self.allocation == "uniform" or n_arms == 1:
            return None
        if self.allocation == "likelihood":
            return n_arms + 1
        if self.allocation == "known":
            return self.least_n_pulls(n_arms)
        return n_stages_of(n_arms) * (self._least_count() * n_arms + 1)

    @property
    def plays_levels(self) -> bool:
        """Whether stages are at different levels."""
        return len(set(self.levels or ())) > 1

    def _stages(self, state: PlannedState) -> tuple[Stage, ...]:
        steps, widths = state.settings.steps, widths_of(state.problem.n_arms)
        n_pulls = [sum(s.n_pulls for s in steps if s.stage == i) for i in range(len(widths))]
        if self.allocation == "likelihood":
            widths = self._by_likelihood(state.problem.n_arms).widths()
        levels = self.levels or (state.problem.max_level,) * len(widths)
        return tuple(map(Stage, widths, n_pulls, levels))

    def first_adaptive_stage(self, n_arms: int) -> int | None:
        """Return the first stage that adapts to the variances; None if no stage adapts.

        Earlier stages are uniform as in SH. If None is returned, "ucb" is identical to SH.
        """
        for step in self._steps(n_arms) if self.allocation != "uniform" else ():
            if not step.is_even and step.n_pulls:
                return step.stage
        return None

    def _first_state(self, problem: Problem, batch_shape: tuple[int, ...]) -> PlannedState:
        self._check_budget(problem)
        self._check_levels(problem)
        given, steps = self.reward_variances, self._steps(problem.n_arms)
        known = None if given is None else checked_variances(given, problem.n_arms, batch_shape)
        uses_table = self.common_splits and self.keep_pulls
        settings = Settings(steps, known)
        state = new_state(problem, batch_shape, len(steps), settings, with_table=uses_table)
        if self.levels and steps:
            state.level = self.levels[0]
        return state

    def _check_budget(self, problem: Problem) -> None:
        least = self.least_n_pulls(problem.n_arms)
        why = f"for {problem.n_arms} arms in all stages of allocation={self.allocation!r}"
        check_budget("n_pulls", self.n_pulls, least, why)
        if not self.keep_pulls and problem.max_repetitions is not None:
            raise ValueError(
                f"keep_pulls=False forgets pulls, and an arm has only {problem.max_repetitions} "
                "of them. Use keep_pulls=True, or splits without end."
            )

    def _least_count(self) -> int:
        """Return the number of pulls of an arm before its estimated variance is used."""
        return least_count_for_bound(self.delta) if self.allocation == "ucb" else 3

    def _steps(self, n_arms: int) -> tuple[Step, ...]:
        """Return all plans."""
        n_stages = n_stages_of(n_arms)
        if n_stages == 0:
            return ()
        if self.allocation == "likelihood":
            return self._by_likelihood(n_arms).steps(self.plans_per_stage)
        n_stage, n_each = self.n_pulls // n_stages, 0
        steps: list[Step] = []
        n_plans = self.plans_per_stage if self.allocation in ("pooled", "ucb") else 1
        for stage, width in enumerate(widths_of(n_arms)):
            n_even = 0
            if not self.keep_pulls or self._new_level(stage):
                n_each = 0
            if self.allocation in ("pooled", "ucb"):
                n_even = min(n_stage, max(0, self._least_count() - n_each) * width)
            steps += in_plans(n_even, n_stage - n_even, n_plans, (width + 1) // 2, stage)
            n_each += n_even // width
        return tuple(steps)

    def _new_level(self, stage: int) -> int | None:
        """Return the level of a stage, or None if the previous stage has the same level."""
        if not self.levels or stage == 0 or self.levels[stage - 1] == self.levels[stage]:
            return None
        return self.levels[stage]

    @property
    def _shrinkage(self) -> float:
        return DEFAULT_SHRINKAGE if self.shrinkage is None else self.shrinkage

    def _by_likelihood(self, n_arms: int) -> LikelihoodAllocation:
        return LikelihoodAllocation(n_arms, self.n_pulls, self.common_splits, self.shrinkage)

    def _counts(self, state: PlannedState) -> IntArray:
        step, limit = state.settings.steps[state.step], state.problem.max_repetitions
        is_open = (state.alive.sum(axis=1) > 1) & ~state.stopped
        in_play = state.alive & is_open[:, np.newaxis]
        budget = np.full(len(in_play), step.n_pulls)
        n_pulls = state.statistics.n_pulls
        if step.is_even or self.allocation == "uniform":
            return greedy_counts(in_play.astype(np.float64), n_pulls, budget, limit)
        if self.allocation == "known":
            known = positive_weights(state.settings.known, in_play)
            return greedy_counts(known, n_pulls, budget, limit)
        if self.allocation == "likelihood":
            return self._by_likelihood(state.problem.n_arms).counts(state, step, in_play)
        shrinkage = 0.0 if self.allocation == "ucb" else self._shrinkage
        variance = shrunk_variances(estimate_arms(state), state.alive, shrinkage)
        weight = positive_weights(variance, in_play)
        if self.allocation == "ucb" and limit is None:
            n_least = np.where(weight > 0, n_pulls, self._least_count()).min()
            if n_least >= self._least_count():
                return bounded_counts(weight, n_pulls, budget, self.delta)
        return greedy_counts(weight, n_pulls, budget, limit)

    def _stage(self, state: PlannedState) -> int:
        return int(state.settings.steps[state.step].stage)

    def _conclude(self, state: PlannedState) -> None:
        n_kept = state.settings.steps[state.step].n_kept
        is_last = state.step + 1 == state.n_steps
        mean = estimate_arms(state).mean if n_kept or is_last else state.statistics.mean()
        best = best_alive(state.alive, mean)
        # A single survivor is not pulled again and stays the best, as does a leader after a stop.
        alone = (best == NO_ARM) & state.alive.any(axis=1)
        state.best = np.where(alone | state.stopped, state.best, best)
        is_open = ~state.stopped[:, np.newaxis]
        if n_kept is not None:
            state.stage[state.alive & is_open] = self._stage(state)
            kept = keep_best(mean, state.alive, n_kept)
            state.alive = np.where(is_open, kept, state.alive)
        if not is_last:
            self._stop_early(state)
            if n_kept is not None:
                self._open_stage(state, self._stage(state) + 1)

    def _open_stage(self, state: PlannedState, stage: int) -> None:
        """Set the level of the stage, and reset the statistics that no longer apply."""
        level = self._new_level(stage)
        if level is not None:
            state.level = level
            state.n_pulls_ever = np.zeros_like(state.n_pulls_ever)
        if level is not None or not self.keep_pulls:
            state.statistics = ArmStatistics.zeros(state.alive.shape)
            if state.table is not None:
                state.table = np.empty((*state.alive.shape, 0))

    def _stop_early(self, state: PlannedState) -> None:
        """Stop the problems that fulfil a stopping rule, and recommend their leaders."""
        at_last_level = not self.levels or state.level == self.levels[-1]
        if (self.stop_probability is None and self.tolerance is None) or not at_last_level:
            return
        known = state.settings.known
        mean, error, ready = errors_in_play(state, known, self._shrinkage, self.overlap)
        leader = best_alive(state.alive, mean)
        for i in np.flatnonzero(ready):
            if is_clear(mean[i], error[i], int(leader[i]), self.stop_probability, self.tolerance):
                state.stopped[i], state.best[i] = True, leader[i]

    def ended_by(self, state: PlannedState) -> Sequence[str]:
        """Return the stopping rules in use if one of them ended the play, else nothing."""
        rules = {"stop_probability": self.stop_probability, "tolerance": self.tolerance}
        is_stopped = state.stopped.all()
        return [f"{k}={v}" for k, v in rules.items() if is_stopped and v is not None]


class Settings(NamedTuple):
    """The part of the state that does not change."""

    steps: tuple[Step, ...]
    known: FloatArray | None
