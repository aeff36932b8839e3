"""Sequential halving that pulls where the noise is (Lalitha et al. 2023), and what beats it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sklearn_halving.policies._arm_statistics import ArmStatistics
from sklearn_halving.policies._greedy_allocation import (
    bounded_counts,
    greedy_counts,
    least_count_for_bound,
)
from sklearn_halving.policies._noise_estimates import (
    estimate_arms,
    likelihood_of_leading,
    shrunk_variances,
)
from sklearn_halving.policies._planned_pulls import (
    PlannedPolicy,
    PlannedState,
    best_alive,
    new_state,
)
from sklearn_halving.policies._types import NO_ARM, BoolArray, FloatArray, IntArray, Problem

ALLOCATIONS = ("likelihood", "pooled", "ucb", "known", "uniform")


class Step(NamedTuple):
    """One plan: ``n_pulls`` pulls in a stage.

    Parameters
    ----------
    n_pulls : int
    is_even : bool
        Whether arms are brought to equal numbers of pulls, so that variances can be estimated.
    n_kept : int or None
        The number of arms that survive the stage that the step closes; None if it closes none.
    n_contenders : int or None, default=None
        The number of arms, none of them thrown away, among which the pulls are shared.
    """

    n_pulls: int
    is_even: bool
    n_kept: int | None
    n_contenders: int | None = None


@dataclass(frozen=True)
class VarianceHalving(PlannedPolicy):
    """Choose the best of many noisy arms within a number of pulls.

    All forms but "likelihood" are Algorithm 1 of the paper: ``m = ceil(log2 n_arms)`` stages of
    ``floor(n_pulls / m)`` pulls; after each, the better ``ceil(n / 2)`` of the n arms in play
    stay. Every arm's j-th pull is repetition j.

    Parameters
    ----------
    n_pulls : int
        Number of pulls for all arms together; never exceeded.
    allocation : {"likelihood", "pooled", "ucb", "known", "uniform"}, default="likelihood"
        Where the pulls go. v is an arm's variance, shrunk towards that of all arms in play.

        - "likelihood": nothing is thrown away. An arm's share is v times the likelihood (Student's
          t, ``shrinkage`` extra degrees of freedom) that it is as good as the leader. On common
          splits, where pairs count, it is the root of the likelihood alone, and stage s shares its
          pulls among the likeliest ``n_arms / 2^s`` arms. Plays from one pull an arm.
        - "pooled": halving, ``argmax v / N`` in a stage.
        - "ucb": SHAdaVar (Algorithm 4): ``argmax U / N``, U an upper confidence bound of the
          variance (eq. 7), after as many pulls of each arm as the bound needs.
        - "known": SHVar (Algorithm 3): ``argmax sigma^2 / N``.
        - "uniform": SH (Algorithm 2), round robin.
    reward_variances : array-like of shape (n_arms,) or (*batch, n_arms), default=None
        The variances for ``allocation="known"``.
    delta : float, default=0.05
        One minus the confidence of the bound, for ``allocation="ucb"``.
    keep_pulls : bool, default=True
        Whether a stage goes on with the pulls of the stages before it. False is the paper's form,
        which forgets them for its proof.
    shrinkage : float, default=3.0
        Weight of the pooled variance in an arm's own, in degrees of freedom.
    common_splits : bool, default=True
        Whether repetition j is the same split for all arms: arms are then compared by the
        additive model arm + split + noise. Not used with ``keep_pulls=False``, where means are
        those of the paper.
    plans_per_stage : int, default=2
        How often a stage's variances are estimated anew. Pulls inside a plan can run at the same
        time. A number above ``n_pulls`` means after every pull, as the paper prints "ucb".

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

    n_pulls: int
    allocation: str = "likelihood"
    reward_variances: Sequence[float] | FloatArray | None = None
    delta: float = 0.05
    keep_pulls: bool = True
    shrinkage: float = 3.0
    common_splits: bool = True
    plans_per_stage: int = 2

    def __post_init__(self) -> None:
        """Refuse parameters that no number of arms makes sense of."""
        if self.allocation not in ALLOCATIONS:
            raise ValueError(
                f"allocation must be one of {', '.join(map(repr, ALLOCATIONS))}, "
                f"got {self.allocation!r}."
            )
        if not 0 < self.delta < 1:
            raise ValueError(f"delta must be above 0 and below 1, got {self.delta!r}.")
        if not self.shrinkage >= 0:
            raise ValueError(f"shrinkage must be 0 or more, got {self.shrinkage!r}.")
        for name in ("n_pulls", "plans_per_stage"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)!r}.")
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

    def least_n_pulls(self, n_arms: int) -> int:
        """Return the least ``n_pulls`` that can be played with so many arms.

        With it, every stage can pull each arm in play once.
        """
        return n_arms if self.allocation == "likelihood" else max(1, n_arms * _n_stages(n_arms))

    def least_n_pulls_to_adapt(self, n_arms: int) -> int | None:
        """Return the least ``n_pulls`` with which every stage's pulls follow the variances.

        With fewer, the first stages are those of SH; None: "uniform" never adapts.
        """
        if self.allocation == "uniform" or n_arms == 1:
            return None
        if self.allocation == "likelihood":
            return n_arms + 1
        if self.allocation == "known":
            return self.least_n_pulls(n_arms)
        return _n_stages(n_arms) * (self._least_count() * n_arms + 1)

    def first_adaptive_stage(self, n_arms: int) -> int | None:
        """Return the first stage whose pulls follow the variances; None if no stage's do.

        "ucb" with None *is* SH, and one that starts late is SH until then.
        """
        stage = 0
        for step in self._steps(n_arms) if self.allocation != "uniform" else ():
            if not step.is_even and step.n_pulls:
                return stage
            stage += step.n_kept is not None
        return None

    def start(
        self,
        problem: Problem,
        *,
        batch_shape: tuple[int, ...] = (),
        seed: np.random.SeedSequence | None = None,
    ) -> PlannedState:
        """Return the state before the first pull; nothing is random, so no seed is used."""
        self._check_budget(problem)
        known = None
        if self.reward_variances is not None:
            known = _checked_variances(self.reward_variances, problem.n_arms, batch_shape)
        steps = self._steps(problem.n_arms)
        uses_table = self.common_splits and self.keep_pulls
        settings = Settings(steps, known)
        state = new_state(problem, batch_shape, len(steps), settings, with_table=uses_table)
        self._open_step(state)
        return state

    def _check_budget(self, problem: Problem) -> None:
        n_arms, least = problem.n_arms, self.least_n_pulls(problem.n_arms)
        if self.n_pulls < least:
            raise ValueError(
                f"n_pulls={self.n_pulls} is too small for {n_arms} arms and "
                f"allocation={self.allocation!r}: every stage must be able to pull each arm in "
                f"play once. The least budget that works is {least}."
            )
        if not self.keep_pulls and problem.max_repetitions is not None:
            raise ValueError(
                f"keep_pulls=False forgets pulls, and an arm has only {problem.max_repetitions} "
                "of them. Use keep_pulls=True, or splits without end."
            )

    def _least_count(self) -> int:
        """Return how many pulls an arm needs before its variance steers anything."""
        return least_count_for_bound(self.delta) if self.allocation == "ucb" else 3

    def _steps(self, n_arms: int) -> tuple[Step, ...]:
        """Return all plans there will be."""
        n_stages = _n_stages(n_arms)
        if n_stages == 0:
            return ()
        if self.allocation == "likelihood":
            return self._likelihood_steps(n_arms)
        n_stage, n_each = self.n_pulls // n_stages, 0
        steps: list[Step] = []
        n_plans = self.plans_per_stage if self.allocation in ("pooled", "ucb") else 1
        for width in _widths(n_arms):
            n_even = 0
            if self.allocation in ("pooled", "ucb"):
                n_even = min(n_stage, max(0, self._least_count() - n_each) * width)
            steps += _in_plans(n_even, n_stage - n_even, n_plans, (width + 1) // 2)
            n_each = n_each + n_even // width if self.keep_pulls else 0
        return tuple(steps)

    def _likelihood_steps(self, n_arms: int) -> tuple[Step, ...]:
        """Return the plans of the form without elimination."""
        n_stages, uses_pairs = _n_stages(n_arms), self.common_splits
        # Own variances need three pulls, if those leave half of the budget; pairs do not.
        n_each = 1 if uses_pairs else min(3, max(1, self.n_pulls // (2 * n_arms)))
        n_even = n_each * n_arms
        steps = _in_plans(n_even, self.n_pulls - n_even, self.plans_per_stage * n_stages, None)
        if not uses_pairs:
            return steps
        widths, n_plans = _widths(n_arms), max(1, len(steps) - 1)
        return steps[:1] + tuple(
            step._replace(n_contenders=widths[i * n_stages // n_plans])
            for i, step in enumerate(steps[1:])
        )

    def _counts(self, state: PlannedState) -> IntArray:
        step, limit = state.settings.steps[state.step], state.problem.max_repetitions
        in_play = state.alive & (state.alive.sum(axis=1) > 1)[:, np.newaxis]
        budget = np.full(len(in_play), step.n_pulls)
        n_pulls = state.statistics.n_pulls
        if step.is_even or self.allocation == "uniform":
            return greedy_counts(in_play.astype(np.float64), n_pulls, budget, limit)
        if self.allocation == "known":
            known = _positive(state.settings.known, in_play)
            return greedy_counts(known, n_pulls, budget, limit)
        estimates = estimate_arms(state)
        variance = shrunk_variances(estimates, state.alive, self._extra_freedom())
        if self.allocation == "likelihood":
            likelihood = likelihood_of_leading(
                estimates, variance, n_pulls, state.alive, self.shrinkage
            )
            if step.n_contenders is None:
                variance = variance * likelihood
            else:
                # On common splits arms are compared in pairs: a pull without a partner is lost,
                # so that noise earns nothing and contenders share more equally.
                variance = np.sqrt(likelihood)
                in_play = _largest(likelihood, in_play, step.n_contenders)
        weight = _positive(variance, in_play)
        if self.allocation == "ucb" and limit is None:
            n_least = np.where(weight > 0, n_pulls, self._least_count()).min()
            if n_least >= self._least_count():
                return bounded_counts(weight, n_pulls, budget, self.delta)
        return greedy_counts(weight, n_pulls, budget, limit)

    def _extra_freedom(self) -> float:
        return 0.0 if self.allocation == "ucb" else self.shrinkage

    def _conclude(self, state: PlannedState) -> None:
        n_kept = state.settings.steps[state.step].n_kept
        is_last = state.step + 1 == state.n_steps
        mean = estimate_arms(state).mean if n_kept or is_last else state.statistics.mean()
        best = best_alive(state.alive, mean)
        # A lone survivor is not pulled again: it stays the best.
        alone = (best == NO_ARM) & state.alive.any(axis=1)
        state.best = np.where(alone, state.best, best)
        if n_kept is not None:
            state.alive = _largest(mean, state.alive, n_kept)
            if not self.keep_pulls and not is_last:
                state.statistics = ArmStatistics.zeros(state.alive.shape)


class Settings(NamedTuple):
    """What stays the same from `start` to the end."""

    steps: tuple[Step, ...]
    known: FloatArray | None


def _n_stages(n_arms: int) -> int:
    return (n_arms - 1).bit_length()  # ceil(log2 n_arms), exact


def _widths(n_arms: int) -> list[int]:
    """Return the number of arms in play in each stage."""
    widths = []
    while n_arms > 1:
        widths.append(n_arms)
        n_arms = (n_arms + 1) // 2
    return widths


def _in_plans(n_even: int, n_adaptive: int, n_plans: int, n_kept: int | None) -> tuple[Step, ...]:
    """Return one even step, then ``n_plans`` of nearly equal size; the last closes the stage."""
    n_plans = max(1, min(n_plans, n_adaptive))
    cuts = [i * n_adaptive // n_plans for i in range(n_plans + 1)]
    sizes = [(n_even, True)] + [(b - a, False) for a, b in pairwise(cuts)]
    steps = [Step(n_pulls, is_even, None) for n_pulls, is_even in sizes if n_pulls]
    if steps:
        steps[-1] = steps[-1]._replace(n_kept=n_kept)
    return tuple(steps)


def _checked_variances(variances: Any, n_arms: int, batch_shape: tuple[int, ...]) -> FloatArray:
    values = np.asarray(variances, dtype=np.float64)
    if values.shape not in ((n_arms,), (*batch_shape, n_arms)):
        raise ValueError(
            f"reward_variances must have one value for each of the {n_arms} arms, got an array "
            f"of shape {values.shape}."
        )
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError("reward_variances must be finite and not negative.")
    return np.broadcast_to(values, (*batch_shape, n_arms)).reshape(-1, n_arms)


def _positive(weight: FloatArray, in_play: BoolArray) -> FloatArray:
    """Return weights that are 0 out of play only: arms without variance get their first pull."""
    largest = np.where(in_play, weight, 0.0).max(axis=1, keepdims=True)
    least = np.where(largest > 0, 1e-30 * largest, 1.0)
    return np.where(in_play, np.maximum(weight, least), 0.0)


def _largest(mean: FloatArray, alive: BoolArray, n_kept: int) -> BoolArray:
    """Return which of the arms in play have the ``n_kept`` largest means; ties to the smaller."""
    order = np.lexsort((-np.where(alive, mean, np.nan), ~alive), axis=1)
    kept = np.zeros_like(alive)
    np.put_along_axis(kept, order[:, :n_kept], True, axis=1)
    return kept & alive
