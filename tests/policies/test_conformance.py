"""What every policy must do, whichever it is.

The classes are found by walking `sklearn_halving.policies`. A new one needs an entry in
`CASES`: problems it is played on, what it may spend, and a reference that says, in plain
loops over a table of all rewards, what should have been pulled and recommended.
"""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sklearn_halving.policies
from sklearn_halving.policies import (
    EXP3,
    HOO,
    LUCB,
    MOSS,
    NO_ARM,
    UCB1,
    UCBE,
    UCBV,
    AdaptiveGapEV,
    AdaptiveUCBE,
    AdaptiveUGapEb,
    AnytimeSuccessiveRejects,
    AsynchronousBrackets,
    BasePolicy,
    BayesGap,
    BernsteinRace,
    BernsteinStopping,
    Bracket,
    BudgetedRace,
    DoublingHalving,
    ExponentialGapElimination,
    FiniteHorizonHalving,
    GapE,
    GapEV,
    GridHalving,
    GrowingHyperband,
    HoeffdingRace,
    Hyperband,
    InfiniteHorizonHalving,
    InfiniteHyperband,
    LilUCB,
    MedianElimination,
    Plan,
    PlaysStages,
    Policy,
    Problem,
    Pull,
    SimplePolicy,
    SuccessiveElimination,
    SuccessiveHalving,
    SuccessiveRejects,
    UGapEb,
    UGapEc,
    UniformAllocation,
    VarianceHalving,
    VarianceRejects,
)
from sklearn_halving.policies.bases._base_policy import plays_levels, require_policy
from sklearn_halving.testing import check_policy
from sklearn_halving.testing._policy import Play

Reward = Callable[[Pull], float]

ROOT_SEED = np.random.SeedSequence(0)


RANGE = (0.0, 125_000.0)
"""Of the rewards in most tables, for policies that need to know it."""


@dataclass(frozen=True)
class Case:
    """A policy, a problem, and what is true of the two together."""

    policy: Any
    problem: Problem
    reference: Callable[[Case, Reward], tuple[set[Pull], int]]
    """Reward of every pull -> (all pulls of the search, the arm to recommend)."""
    budget: int
    """Never exceeded, summed over the splits of one repetition."""
    cost: str = "pulls"
    """Unit of the budget: "pulls", "units" (each pull from scratch) or "further units"."""
    uses_ranks_only: bool = True
    """Whether a * reward + b, a > 0, changes nothing."""
    wins_ties: int = 0
    """The arm to recommend where all are equal: the smallest that can be recommended."""


# ------------------------------------------------------------------------- the references


def best_of(arms: list[int], mean: dict[int, float]) -> list[int]:
    """Return the arms from best to worst: NaN last, ties to the smaller arm."""
    return sorted(arms, key=lambda arm: (math.isnan(mean[arm]), -mean[arm], arm))


def with_arms(plan: Plan) -> Iterator[tuple[Bracket, list[int]]]:
    """Yield each bracket and its arms."""
    first_arm = 0
    for bracket in plan.brackets:
        yield bracket, list(range(first_arm, first_arm + bracket.n_arms))
        first_arm += bracket.n_arms


def play_plan(case: Case, reward: Reward, *, in_any_rung: bool) -> tuple[set[Pull], int]:
    """Play successive halving in each bracket of the plan."""
    problem = case.problem
    pulled: set[Pull] = set()
    candidates: list[tuple[float, int]] = []
    plan = case.policy.plan(problem)
    for bracket, arms in with_arms(plan):
        for i, rung in enumerate(bracket.rounds):
            repetitions = range(rung.n_splits(problem.max_repetitions))
            table = {}
            for arm in arms:
                pulls = [Pull(arm, rung.level, repetition) for repetition in repetitions]
                pulled.update(pulls)
                table[arm] = [reward(pull) for pull in pulls]
            # A split on which all arms failed says nothing.
            works = [j for j in repetitions if not all(math.isnan(table[arm][j]) for arm in arms)]
            mean = {a: float(np.mean([table[a][j] for j in works or repetitions])) for a in arms}
            ranking = [arm for arm in best_of(arms, mean) if not math.isnan(mean[arm])]
            is_last = i + 1 == len(bracket.rounds)
            if not ranking:  # the rung decides nothing
                arms = arms if is_last else arms[: bracket.rounds[i + 1].n_arms]
                continue
            if rung.first_repetition:  # the rung before, on fewer splits, was for the time being
                candidates.clear()
            goes_on = not is_last and bracket.rounds[i + 1].first_repetition > 0
            if is_last or in_any_rung or goes_on:
                candidates.append((-mean[ranking[0]], ranking[0]))
            if not is_last:
                arms = sorted(ranking[: bracket.rounds[i + 1].n_arms])
    if not candidates:
        return pulled, 0 if plan.n_arms == 1 and not pulled else NO_ARM
    return pulled, min(candidates)[1]


def at_the_end(case: Case, reward: Reward) -> tuple[set[Pull], int]:
    return play_plan(case, reward, in_any_rung=False)


def in_any_rung(case: Case, reward: Reward) -> tuple[set[Pull], int]:
    return play_plan(case, reward, in_any_rung=True)


def play_asynchronously(case: Case, reward: Reward) -> tuple[set[Pull], int]:
    """Play each bracket of the plan, and give away the places of a rung one by one."""
    problem, pulled = case.problem, set()
    winners: list[tuple[float, int]] = []
    for bracket, arms in with_arms(case.policy.plan(problem)):
        for i, rung in enumerate(bracket.rounds):
            mean: dict[int, float] = {}
            promoted: list[int] = []
            works: set[int] = set()
            n_next = 0 if i + 1 == len(bracket.rounds) else bracket.rounds[i + 1].n_arms
            for arm in arms:
                pulls = [
                    Pull(arm, rung.level, j) for j in range(rung.n_splits(problem.max_repetitions))
                ]
                pulled.update(pulls)
                rewards = [reward(pull) for pull in pulls]
                works |= {j for j, r in enumerate(rewards) if not math.isnan(r)}
                mean[arm] = float(np.mean([rewards[j] for j in sorted(works)] or math.nan))
                n_places = n_next if len(mean) == len(arms) else len(mean) * n_next // rung.n_arms
                good = [a for a in best_of(list(mean), mean) if not math.isnan(mean[a])]
                good = [a for a in good if a not in promoted]
                promoted += good[: n_places - len(promoted)]
            known = [(-m, arm) for arm, m in mean.items() if not math.isnan(m)]
            promoted = promoted if known else sorted(arms)[:n_next]
            if known and rung.first_repetition:
                winners.clear()
            if rung.level == bracket.rounds[-1].level:
                winners += known
            arms = promoted
    return pulled, min(winners)[1] if winners else NO_ARM


class Seen:
    """All rewards so far, and what they say of each arm."""

    def __init__(self) -> None:
        self.rewards: dict[Pull, float] = {}
        self.forgotten: set[Pull] = set()

    def known(self, arm: int) -> list[float]:
        """Return the rewards of an arm that are numbers."""
        remembered = self.rewards.keys() - self.forgotten
        own = [self.rewards[pull] for pull in sorted(remembered) if pull.arm == arm]
        return [reward for reward in own if not math.isnan(reward)]

    def failed(self) -> set[int]:
        """Return the arms that failed on a split on which another arm did not."""
        works = {pull.repetition for pull, r in self.rewards.items() if not math.isnan(r)}
        lost = {pull for pull, r in self.rewards.items() if math.isnan(r)}
        return {pull.arm for pull in lost if pull.repetition in works}

    def means(self, arms: Iterable[int]) -> dict[int, float]:
        """Return the mean of each arm; NaN for arms that failed or have no reward."""
        failed = self.failed()
        known = {arm: [] if arm in failed else self.known(arm) for arm in arms}
        return {a: sum(own) / len(own) if own else math.nan for a, own in known.items()}


def uniform(case: Case, reward: Reward) -> tuple[set[Pull], int]:
    """Pull every arm equally often and choose the best mean."""
    problem, n_each = case.problem, case.policy.n_pulls // case.problem.n_arms
    n_each = min(n_each, problem.max_repetitions or n_each)
    arms, seen = list(range(problem.n_arms)), Seen()
    pulled = {Pull(arm, problem.max_level, j) for arm in arms for j in range(n_each)}
    seen.rewards = {pull: reward(pull) for pull in pulled}
    mean = seen.means(arms)
    best = best_of(arms, mean)[0]
    return pulled, NO_ARM if math.isnan(mean[best]) else best


def greedy_halving(case: Case, reward: Reward) -> tuple[set[Pull], int]:
    """Play Algorithms 1 to 3 of Lalitha et al. (2023), one pull at a time."""
    policy, n_arms = case.policy, case.problem.n_arms
    variance = policy.reward_variances or [1.0] * n_arms
    n_stages, n_kept = math.ceil(math.log2(n_arms)), n_arms
    arms, n_ever, best = list(range(n_arms)), [0] * n_arms, NO_ARM
    seen = Seen()
    for _ in range(n_stages):
        if len(arms) < 2:
            break
        n_pulls = [len(seen.known(arm)) for arm in range(n_arms)]
        for _ in range(policy.n_pulls // n_stages):
            index = {a: variance[a] / n_pulls[a] if n_pulls[a] else math.inf for a in arms}
            arm = min(arms, key=lambda a: (-index[a], a))
            pull = Pull(arm, case.problem.max_level, n_ever[arm])
            seen.rewards[pull] = reward(pull)
            n_pulls[arm] += 1
            n_ever[arm] += 1
        n_kept = math.ceil(n_kept / 2)  # as planned, also where more arms have failed
        mean = seen.means(arms)
        arms = [arm for arm in best_of(arms, mean) if arm not in seen.failed()]
        best = next((arm for arm in arms if not math.isnan(mean[arm])), best if arms else NO_ARM)
        arms = sorted(arms[:n_kept])
        if not policy.keep_pulls:
            seen.forgotten |= seen.rewards.keys()
    return set(seen.rewards), best


def successive_rejects(case: Case, reward: Reward) -> tuple[set[Pull], int]:
    """Play Fig. 16.1 of Audibert, Bubeck and Munos (2011), one arm after the other."""
    n_arms, n_pulls = case.problem.n_arms, case.policy.n_pulls
    log_bar = 0.5 + sum(1 / i for i in range(2, n_arms + 1))
    arms, seen = list(range(n_arms)), Seen()
    if n_arms == 1:
        alone = Pull(0, case.problem.max_level, 0)
        seen.rewards[alone] = reward(alone)
    for k in range(1, n_arms):
        if len(arms) == 1:
            break
        n_k = math.ceil((n_pulls - n_arms) / (log_bar * (n_arms + 1 - k)) - 1e-9)
        n_k = min(n_k, case.problem.max_repetitions or n_k)
        pulls = [Pull(arm, case.problem.max_level, j) for arm in arms for j in range(n_k)]
        seen.rewards |= {pull: reward(pull) for pull in pulls}
        mean = seen.means(arms)
        arms = [arm for arm in best_of(arms, mean)[: n_arms - k] if arm not in seen.failed()]
    mean = seen.means(range(n_arms))
    best = best_of(arms or list(mean), mean)[0]
    return set(seen.rewards), NO_ARM if math.isnan(mean[best]) else best


class OutOfPullsError(Exception):
    """The next pulls would exceed the budget or the splits."""


def exponential_gaps(case: Case, reward: Reward) -> tuple[set[Pull], int]:
    """Play Algorithm 2 of Karnin, Koren and Somekh (2013), one arm after the other."""
    policy, problem, seen = case.policy, case.problem, Seen()
    arms, n_ever, best = list(range(problem.n_arms)), [0] * problem.n_arms, [NO_ARM]
    known: dict[int, float] = {}  # the latest means of a median elimination
    width = policy.reward_range[1] - policy.reward_range[0]

    def means_of(pulled: list[int], n_each: float) -> dict[int, float]:
        """Pull arms, and return the means of those that have not failed, best first."""
        n_each = math.ceil(n_each)
        n_most = max(n_ever[arm] for arm in pulled) + n_each
        if len(seen.rewards) + n_each * len(pulled) > policy.max_pulls:
            raise OutOfPullsError
        if n_most > (problem.max_repetitions or n_most):
            raise OutOfPullsError
        seen.forgotten |= seen.rewards.keys()
        for arm in pulled:
            for _ in range(n_each):
                pull = Pull(arm, problem.max_level, n_ever[arm])
                seen.rewards[pull] = reward(pull)
                n_ever[arm] += 1
        mean = seen.means(pulled)
        known.update(mean)
        ranking = [arm for arm in best_of(pulled, mean) if arm not in seen.failed()]
        order = ranking + best_of(list(known), known)
        best[0] = next((arm for arm in order if not math.isnan(known[arm])), NO_ARM)
        return {arm: mean[arm] for arm in ranking}

    try:
        for r in range(1, 100) if len(arms) > 1 else ():
            epsilon, delta = policy.initial_epsilon * 2.0**-r, policy.delta / (50 * r**3)
            mean = means_of(arms, 2 / epsilon**2 * math.log(2 / delta))
            left, e, d = sorted(mean), epsilon / 8, delta / 2
            known.clear()
            while len(left) > 1:
                ranking = list(means_of(left, 4 / e**2 * math.log(3 / d)))
                left = sorted(ranking[: math.ceil(len(ranking) / 2)])
                e, d = e * 3 / 4, d / 2
            alive = [arm for arm in mean if arm not in seen.failed()]
            reference = mean[left[0]] if left else -math.inf
            arms = sorted(a for a in alive if not mean[a] < reference - epsilon * width)
            if len(arms) < 2:
                break
    except OutOfPullsError:
        pass
    return set(seen.rewards), best[0]


def by_itself(case: Case, reward: Reward) -> tuple[set[Pull], int]:
    """Play one pull at a time: what the numbers should be is in the policy's own tests."""
    game = play(case, reward, size=1)
    return set(game.pulls), game.choice


# ------------------------------------------------------------------------------ the cases


def hyperband(R: int, n_splits: int = 1, n_available: int | None = None, **options: Any) -> Case:
    policy = Hyperband(**options)
    plan = policy.plan(Problem(max_level=R, n_available=n_available))
    problem = Problem(plan.n_arms, 1, R, n_splits, n_available)
    # The paper spends about B = (s_max + 1) R a bracket; ceil and rounding add to it, so
    # what is promised is the plan.
    budget = sum(r.n_arms * r.level for b in plan.brackets for r in b.rounds)
    reference = in_any_rung if policy.select == "all_rungs" else at_the_end
    return Case(policy, problem, reference, budget, cost="units")


def fixed_budget(n_arms: int, budget: int, n_splits: int = 1, R: int | None = None) -> Case:
    problem = Problem(n_arms, 1, R or budget, n_splits)
    policy = SuccessiveHalving(n_arms, budget)
    return Case(policy, problem, at_the_end, budget, cost="further units")


def finite_horizon(n_arms: int, budget: int, R: int, n_splits: int = 1, factor: float = 3) -> Case:
    policy = FiniteHorizonHalving(n_arms, budget, factor)
    return Case(policy, Problem(n_arms, 1, R, n_splits), at_the_end, budget, cost="units")


def grid_halving(n_arms: int, n_splits: int, R: int, **options: Any) -> Case:
    policy = GridHalving(n_arms, **options)
    return Case(policy, Problem(n_arms, 1, R, n_splits), at_the_end, n_arms * n_splits)


def variance_halving(
    n_arms: int,
    n_pulls: int,
    allocation: str,
    reference: Callable[[Case, Reward], tuple[set[Pull], int]] = by_itself,
    n_splits: int | None = None,
    **options: Any,
) -> Case:
    policy = VarianceHalving(n_pulls, allocation, **options)
    problem = Problem(n_arms, 1, 3, n_splits)
    return Case(policy, problem, reference, n_pulls, uses_ranks_only=False)


def noisy(
    policy: Any,
    n_arms: int,
    n_splits: int | None = None,
    *,
    budget: int | None = None,
    uses_ranks_only: bool = False,
) -> Case:
    """Return a case of a policy whose own tests say what it should have pulled."""
    budget = policy.n_pulls if budget is None else budget
    problem = Problem(n_arms, 1, 3, n_splits)
    return Case(policy, problem, by_itself, budget, uses_ranks_only=uses_ranks_only)


def hoo(wins_ties: int, n_splits: int | None = None, **options: Any) -> Case:
    policy = HOO(25, reward_range=RANGE, **options)
    return replace(noisy(policy, policy.n_points, n_splits), wins_ties=wins_ties)


def bayes_gap(n_arms: int, n_pulls: int, n_splits: int | None = None, **options: Any) -> Case:
    x = np.random.default_rng(1).random(n_arms)  # at random: no two pairs of arms are alike
    covariance = np.exp(-(((x[:, np.newaxis] - x) / 0.2) ** 2))
    policy = BayesGap(n_pulls, covariance, **options)
    return Case(policy, Problem(n_arms, 1, 3, n_splits), by_itself, n_pulls, uses_ranks_only=False)


class Fewest(SimplePolicy):
    """A policy of somebody else, which pulls the arms in turn."""

    def next_arm(self, rewards: dict[int, np.ndarray], rng: np.random.Generator) -> int:
        return min(rewards, key=lambda arm: len(rewards[arm]))


def asynchronous(case: Case) -> Case:
    policy = AsynchronousBrackets(case.policy)
    return replace(case, policy=policy, reference=play_asynchronously)


def growing(
    policy: Any,
    R: int,
    n_splits: int = 1,
    reference: Callable[[Case, Reward], tuple[set[Pull], int]] = by_itself,
) -> Case:
    plan = policy.plan(Problem(max_level=R))
    problem = Problem(plan.n_arms, 1, R, n_splits)
    case = Case(policy, problem, reference, policy.budget, "units")
    if reference is at_the_end:
        return case
    # The answer is one of the last round.
    n_before = sum(b.n_arms for b in plan.brackets if b.loop < plan.brackets[-1].loop)
    return replace(case, wins_ties=n_before)


CASES: dict[type, list[Case]] = {
    BayesGap: [
        bayes_gap(7, 30),
        bayes_gap(6, 25, n_splits=4, beta="printed"),
        bayes_gap(6, 20, split_variance=0.5),
        bayes_gap(6, 15, acquisition="gp_ucb"),
        bayes_gap(7, 22, confirm=True),
        bayes_gap(5, 12, n_splits=3, acquisition="ei", confirm=True),
        bayes_gap(5, 15, acquisition="ei"),
        bayes_gap(5, 15, acquisition="pi"),
        bayes_gap(5, 15, acquisition="bayes_ucb"),
        bayes_gap(1, 5),
    ],
    Hyperband: [
        hyperband(27),
        hyperband(16, n_splits=3, factor=2.5, select="all_rungs"),
        hyperband(9, n_splits=2, n_loops=2, brackets=[2, 0]),
        hyperband(27, n_splits=3, early_repetitions=1),
        hyperband(16, n_splits=3, factor=2, early_repetitions=2, select="all_rungs"),
        hyperband(27, n_available=7),
        hyperband(1),
    ],
    SuccessiveHalving: [
        fixed_budget(16, 1000),
        fixed_budget(7, 40, n_splits=3),
        fixed_budget(16, 1000, R=50),
        fixed_budget(2, 2),
        fixed_budget(1, 1),
    ],
    FiniteHorizonHalving: [
        finite_horizon(27, 27 * 4, 27),
        finite_horizon(10, 200, 30, n_splits=2, factor=2),
        finite_horizon(5, 50, 10),
    ],
    GridHalving: [
        grid_halving(24, 5, 800),
        grid_halving(9, 4, 30, factor=3, deep_floor=10),
        grid_halving(6, 5, 1),
        grid_halving(40, 3, 64, early_repetitions=1),
        grid_halving(2, 3, 9),
        grid_halving(1, 1, 1),
    ],
    UniformAllocation: [
        Case(UniformAllocation(20), Problem(6, 1, 3), uniform, 20),
        Case(UniformAllocation(40), Problem(5, 1, 3, 4), uniform, 40),
        Case(UniformAllocation(3), Problem(1, 1, 3), uniform, 3),
    ],
    SuccessiveRejects: [
        Case(SuccessiveRejects(60), Problem(7, 1, 3), successive_rejects, 60),
        Case(SuccessiveRejects(60), Problem(5, 1, 3, 9), successive_rejects, 60),
        Case(SuccessiveRejects(3), Problem(2), successive_rejects, 3),
        Case(SuccessiveRejects(1), Problem(1), successive_rejects, 1),
    ],
    AnytimeSuccessiveRejects: [
        noisy(AnytimeSuccessiveRejects(75), 6, uses_ranks_only=True),
        noisy(AnytimeSuccessiveRejects(64), 5, n_splits=9, uses_ranks_only=True),
        noisy(AnytimeSuccessiveRejects(1), 1, uses_ranks_only=True),
    ],
    UCBE: [
        noisy(UCBE(40, 2.0, RANGE), 6),
        noisy(UCBE(40, 0.1, RANGE), 4, n_splits=9),
        noisy(UCBE(1, 0.0, RANGE), 1),
    ],
    AdaptiveUCBE: [
        noisy(AdaptiveUCBE(60, reward_range=RANGE), 6),
        noisy(AdaptiveUCBE(60, 0.5, reward_range=RANGE), 5, n_splits=10),
    ],
    UCB1: [noisy(UCB1(40, reward_range=RANGE), 5), noisy(UCB1(9, reward_range=RANGE), 1)],
    UCBV: [noisy(UCBV(40, reward_range=RANGE), 5), noisy(UCBV(40, 2.0, RANGE), 5, n_splits=6)],
    GapE: [noisy(GapE(40, 1.0, RANGE), 5), noisy(GapE(40, 0.1, RANGE), 4, n_splits=9)],
    GapEV: [noisy(GapEV(40, 0.5, RANGE), 5), noisy(GapEV(40, 0.5, RANGE), 5, n_splits=7)],
    AdaptiveGapEV: [
        noisy(AdaptiveGapEV(40, reward_range=RANGE), 5),
        noisy(AdaptiveGapEV(40, 0.1, RANGE), 5, n_splits=7),
    ],
    AdaptiveUGapEb: [
        noisy(AdaptiveUGapEb(40, reward_range=RANGE), 5),
        noisy(AdaptiveUGapEb(40, 9e3, "bernstein", RANGE), 5, n_splits=7),
    ],
    UGapEb: [
        noisy(UGapEb(40, 1.0, reward_range=RANGE), 5),
        noisy(UGapEb(40, 1.0, "bernstein", RANGE), 5, n_splits=7),
    ],
    UGapEc: [
        noisy(UGapEc(0.0, max_pulls=60, reward_range=RANGE), 5, budget=60),
        noisy(UGapEc(6e4, 0.9, max_pulls=90, reward_range=RANGE), 5, budget=90),
        noisy(UGapEc(6e4, 0.9, "bernstein", 90, RANGE), 5, n_splits=15, budget=75),
        noisy(UGapEc(9e4, max_pulls=900, reward_range=RANGE), 3, budget=900),
    ],
    LUCB: [
        noisy(LUCB(max_pulls=60, reward_range=RANGE), 5, budget=60),
        noisy(LUCB(0.9, 6e4, 90, RANGE), 5, n_splits=15, budget=75),
        noisy(LUCB(epsilon=9e4, max_pulls=900, reward_range=RANGE), 3, budget=900),
    ],
    LilUCB: [
        noisy(LilUCB(max_pulls=60, reward_range=RANGE), 5, budget=60),
        noisy(LilUCB(0.5, "heuristic", 90, RANGE), 3, n_splits=35, budget=90),
    ],
    HoeffdingRace: [
        noisy(HoeffdingRace(40, reward_range=RANGE), 5, budget=200),
        noisy(HoeffdingRace(60, 0.9, 2e4, RANGE), 5, n_splits=30, budget=150),
        noisy(HoeffdingRace(60, reward_range=RANGE), 1, budget=1),
    ],
    BernsteinRace: [
        noisy(BernsteinRace(60, 0.5, reward_range=(0, 1e3)), 5, budget=300),
        noisy(BernsteinRace(60, 0.9, 5e4, RANGE), 5, n_splits=40, budget=200),
    ],
    SuccessiveElimination: [
        noisy(SuccessiveElimination(0.9, 4.1, 150, (0, 6e4)), 5, budget=150),
        noisy(SuccessiveElimination(0.9, 4.1, None, RANGE), 5, n_splits=40, budget=200),
    ],
    MedianElimination: [
        noisy(MedianElimination(10.0, 0.9, None, (0, 3.0)), 5, budget=5 * 3 * 40),
        noisy(MedianElimination(10.0, 0.9, 60, (0, 3.0)), 5, n_splits=99, budget=60),
    ],
    ExponentialGapElimination: [
        Case(policy, Problem(n_arms, 1, 3, n_splits), exponential_gaps, 900, uses_ranks_only=False)
        for policy, n_arms, n_splits in [
            (ExponentialGapElimination(0.9, 40.0, 900, (0, 1e3)), 5, None),
            (ExponentialGapElimination(0.5, 60.0, 900, (0, 3.0)), 4, 150),
        ]
    ],
    # Where all rewards are equal, the cells with more pulls and, of those, the lower ones.
    HOO: [hoo(6), hoo(14, 4, n_dimensions=2), hoo(2, 3, nu1=0.5), hoo(14, variant="basic")],
    EXP3: [noisy(EXP3(60, reward_range=RANGE), 5), noisy(EXP3(60, 0.3, RANGE), 5, n_splits=9)],
    BernsteinStopping: [
        noisy(BernsteinStopping(9e4, reward_range=RANGE, max_pulls=150), 1, budget=150),
        noisy(BernsteinStopping(9e4, reward_range=RANGE), 3, n_splits=60, budget=180),
        noisy(
            BernsteinStopping(0.9, "multiplicative", max_pulls=99, reward_range=(0, 9e3)),
            3,
            budget=99,
        ),
    ],
    BudgetedRace: [
        noisy(BudgetedRace(60), 9, n_splits=5),
        noisy(BudgetedRace(40), 7, n_splits=4),
        noisy(BudgetedRace(200, screening_level=1), 20, n_splits=3),
        noisy(BudgetedRace(30), 25, n_splits=1),
        noisy(BudgetedRace(2), 1, n_splits=5),
    ],
    AsynchronousBrackets: [
        asynchronous(hyperband(27)),
        asynchronous(hyperband(9, n_splits=2, n_loops=2, brackets=[2, 0])),
        asynchronous(hyperband(27, n_splits=3, early_repetitions=1)),
        asynchronous(hyperband(27, n_available=7)),
        asynchronous(finite_horizon(10, 200, 30, n_splits=2, factor=2)),
        asynchronous(grid_halving(24, 5, 800)),
        asynchronous(grid_halving(6, 5, 1)),
    ],
    InfiniteHyperband: [
        growing(InfiniteHyperband(200), 200),
        growing(InfiniteHyperband(200), 10),
        growing(InfiniteHyperband(40), 1, 2),
    ],
    GrowingHyperband: [
        growing(GrowingHyperband(300), 9, reference=at_the_end),
        growing(GrowingHyperband(400, 2.5), 16, 3, reference=at_the_end),
        growing(GrowingHyperband(1), 1, reference=at_the_end),
    ],
    VarianceRejects: [
        noisy(VarianceRejects(90), 6),
        noisy(VarianceRejects(90, 0.0), 5, n_splits=14),
        noisy(VarianceRejects(1), 1),
    ],
    InfiniteHorizonHalving: [
        Case(InfiniteHorizonHalving(16, 1000), Problem(16, 1, 1000, 1), at_the_end, 1000, "units"),
        Case(InfiniteHorizonHalving(7, 40), Problem(7, 1, 40, 3), at_the_end, 40, "units"),
        Case(InfiniteHorizonHalving(16, 1000), Problem(16, 5, 40, 2), at_the_end, 1000, "units"),
        Case(InfiniteHorizonHalving(1, 1), Problem(1), at_the_end, 1, "units"),
    ],
    DoublingHalving: [
        Case(DoublingHalving(300), Problem(6, 1, 500, 1), by_itself, 300, "further units"),
        Case(DoublingHalving(200), Problem(7, 1, 500, 3), by_itself, 200, "further units"),
        Case(DoublingHalving(999), Problem(5, 1, 30, 1), by_itself, 150, "further units"),
        Case(DoublingHalving(1), Problem(1), by_itself, 1, "further units"),
    ],
    Fewest: [noisy(Fewest(40), 5), noisy(Fewest(40), 5, n_splits=6), noisy(Fewest(9), 1)],
    MOSS: [noisy(MOSS(40, RANGE), 5), noisy(MOSS(40, RANGE), 5, n_splits=6)],
    VarianceHalving: [
        variance_halving(7, 41, "uniform", greedy_halving, keep_pulls=False),
        variance_halving(8, 41, "uniform", greedy_halving, common_splits=False),
        variance_halving(
            6, 60, "known", greedy_halving, keep_pulls=False, reward_variances=[3, 0.1, 0, 7, 1, 2]
        ),
        variance_halving(6, 120, "pooled"),
        variance_halving(6, 120, "pooled", common_splits=False, n_splits=9),
        variance_halving(5, 200, "ucb", keep_pulls=False),
        variance_halving(5, 200, "ucb", n_splits=60, delta=0.2),
        variance_halving(9, 80, "likelihood"),
        variance_halving(9, 80, "likelihood", common_splits=False, n_splits=12),
        variance_halving(3, 3, "likelihood"),
        variance_halving(1, 5, "likelihood"),
    ],
}
ALL = [
    # By default each policy is played on its first problem, see `tests/conftest.py`.
    pytest.param(case, id=f"{cls.__name__}-{i}", marks=[pytest.mark.full] if i else [])
    for cls, cases in CASES.items()
    for i, case in enumerate(cases)
]


# ------------------------------------------------------------------- the package is walked


def policy_classes() -> Iterator[type]:
    """Yield the classes that play: what has the methods of `Policy`, bases left out."""
    methods = [name for name, _ in inspect.getmembers(Policy, inspect.isfunction)]
    methods = [name for name in methods if not name.startswith("_")]
    found = set()
    package = sklearn_halving.policies
    for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        module = importlib.import_module(info.name)
        for _, cls in inspect.getmembers(module, inspect.isclass):
            is_here = cls.__module__ == module.__name__ and cls is not Policy
            is_here = is_here and not cls.__name__.startswith("_")
            if is_here and all(hasattr(cls, name) for name in methods):
                found.add(cls)
    for cls in sorted(found, key=lambda cls: cls.__name__):
        is_base = any(cls in other.__mro__[1:] for other in found)
        if is_dataclass(cls) or not is_base:
            yield cls


def test_every_policy_has_cases() -> None:
    missing = [cls.__name__ for cls in policy_classes() if not CASES.get(cls)]
    assert not missing, (
        f"{', '.join(missing)}: found in sklearn_halving.policies, but without an entry in CASES "
        f"of {__file__}. Add a few problems and a reference, so that it is tested like the rest."
    )


def test_every_policy_is_public() -> None:
    missing = {cls.__name__ for cls in policy_classes()} - {*sklearn_halving.policies.__all__}
    assert not missing, f"{missing} must be listed in sklearn_halving/policies/__init__.py"


@pytest.mark.parametrize("case", ALL)
def test_is_a_frozen_dataclass_of_parameters(case: Case) -> None:
    policy = case.policy
    assert isinstance(policy, Policy)
    first = fields(policy)[0].name
    with pytest.raises(FrozenInstanceError):
        setattr(policy, first, None)


COUNTS = {
    *("n_pulls", "max_pulls", "budget", "n_rounds", "n_arms", "n_dimensions", "n_splits"),
    *("pulls_in_flight", "plans_per_stage"),
}


@pytest.mark.parametrize("case", [cases[0] for cases in CASES.values()])
def test_counts_are_whole_numbers(case: Case) -> None:
    """A budget of NaN would never be used up, one of 100.5 is one of 101."""
    for name in COUNTS & {one.name for one in fields(case.policy)}:
        for bad in (math.nan, math.inf, 100.5, 1000.0, True, "9"):
            with pytest.raises(ValueError, match=f"^{name} must be a whole number.*got {bad!r}"):
                replace(case.policy, **{name: bad}).start(case.problem)
        value = getattr(case.policy, name)
        if value is not None:
            replace(case.policy, **{name: np.int64(value)}).start(case.problem)


# ----------------------------------------------------------------------- playing a policy


def play(case: Case, reward: Reward, size: int = 1000) -> Play:
    """Play to the end, one step after the other."""
    return Play(case.policy, case.problem, reward, size).run()


@dataclass(frozen=True)
class Table:
    """A reward for every pull, the same at every call; some equal, some NaN."""

    seed: int
    n_values: int = 10**6
    nan_share: float = 0.0
    nan_levels: tuple[int, ...] = ()

    def __call__(self, pull: Pull) -> float:
        number = hash((self.seed, *pull))  # of whole numbers: the same in every process
        if pull.level in self.nan_levels or number % 1000 < 1000 * self.nan_share:
            return math.nan
        return number // 1000 % self.n_values / 8  # exact, so that means are too


tables = st.builds(
    Table,
    st.integers(0, 2**16),
    st.sampled_from([2, 5, 10**6]),
    st.sampled_from([0.0, 0.2, 0.8]),
)


@pytest.mark.parametrize("case", ALL)
@given(table=tables)
@settings(max_examples=10)
def test_does_what_the_reference_does(case: Case, table: Table) -> None:
    """Covers ties (few values), NaN, and what is recommended, against plain loops."""
    game = play(case, table)
    pulled, best = case.reference(case, table)
    assert set(game.pulls) == pulled
    assert game.choice == best


@pytest.mark.parametrize("case", ALL)
@given(table=tables)
@settings(max_examples=10)
def test_the_budget_holds(case: Case, table: Table) -> None:
    game = play(case, table)
    for repetition in range(case.problem.max_repetitions or 1):
        pulls = sorted(pull for pull in game.pulls if pull.repetition == repetition)
        highest: dict[int, int] = {}
        further = 0
        for pull in pulls:
            further += pull.level - highest.get(pull.arm, 0)
            highest[pull.arm] = pull.level
        units = sum(pull.level for pull in pulls)
        spent = {"pulls": len(pulls), "units": units, "further units": further}[case.cost]
        assert spent <= case.budget


@pytest.mark.parametrize("case", ALL)
def test_conforms(case: Case) -> None:
    """Covers what every policy must do, also those of others."""
    check_policy(case.policy, case.problem)


@pytest.mark.parametrize("case", ALL)
@given(table=tables, a=st.sampled_from([1e-3, 0.5, 3.0, 1e6]), b=st.integers(-100, 100))
@settings(max_examples=10)
def test_scale_of_rewards_is_irrelevant(case: Case, table: Table, a: float, b: int) -> None:
    if not case.uses_ranks_only:
        pytest.skip("models the size of rewards")
    if case.problem.max_repetitions != 1:
        a, b = 2.0 ** round(math.log2(a)), 0  # else the rounding of means makes or breaks ties
    plain = play(case, table)
    scaled = play(case, lambda pull: a * table(pull) + b)
    assert list(scaled.pulls) == list(plain.pulls)
    assert scaled.choice == plain.choice


@pytest.mark.parametrize("case", ALL)
def test_ties_go_to_the_smaller_arm(case: Case) -> None:
    assert play(case, lambda pull: 1.0).choice == case.wins_ties


@pytest.mark.parametrize("case", ALL)
def test_infinite_rewards_are_numbers(case: Case) -> None:
    worst = play(case, lambda pull: -math.inf)
    assert worst.choice == case.wins_ties, "minus infinity is bad, and better than nothing"


@pytest.mark.parametrize("case", ALL)
def test_nan_is_worse_than_every_number(case: Case) -> None:
    """All but the last arm of each bracket fail, always: the last must come through."""
    plan = case.policy.plan(case.problem)
    last = {case.problem.n_arms - 1}
    if plan.has_rungs:
        last = {plan.arms(i)[-1] for i in range(len(plan.brackets))}
    game = play(case, lambda pull: -1e300 if pull.arm in last else math.nan)
    assert game.choice in last


@pytest.mark.parametrize("case", ALL)
def test_where_all_is_nan_nothing_is_recommended(case: Case) -> None:
    game = play(case, lambda pull: math.nan)
    if not game.pulls:
        assert case.problem.n_arms == 1
        return
    assert game.choice == NO_ARM
    if case.policy.plan(case.problem).has_rungs:
        return  # a rung in which all fail decides nothing
    if isinstance(case.policy, DoublingHalving):
        return  # nor does a round
    levels: dict[int, set[int]] = {}
    for pull in game.pulls:
        levels.setdefault(pull.arm, set()).add(pull.level)
    assert all(len(of_arm) == 1 for of_arm in levels.values())


@pytest.mark.parametrize("case", ALL)
def test_arms_are_compared_on_the_splits_that_work(case: Case) -> None:
    """No arm can be fitted on the first split."""
    game = play(case, lambda pull: math.nan if pull.repetition == 0 else float(-pull.arm))
    known = {pull.arm for pull in game.pulls if pull.repetition > 0}
    if not known:
        pytest.skip("no arm is pulled on a second split")
    assert game.choice in known


@pytest.mark.parametrize("case", ALL)
def test_a_rung_of_nan_decides_nothing(case: Case) -> None:
    plan = case.policy.plan(case.problem)
    if not plan.has_rungs:
        pytest.skip("has no rungs")
    for bracket in plan.brackets:
        for rung in bracket.rounds:
            table = Table(7, nan_levels=(rung.level,))
            pulled, best = case.reference(case, table)
            game = play(case, table)
            assert set(game.pulls) == pulled
            assert game.choice == best


@pytest.mark.parametrize("case", ALL)
def test_the_planned_rungs_are_what_is_asked_for(case: Case) -> None:
    problem, plan = case.problem, case.policy.plan(case.problem)
    if not plan.has_rungs:
        pytest.skip("adapts as it goes")
    assert plan.n_arms == problem.n_arms
    counted = Counter(plan.position(pull) for pull in play(case, Table(11)).pulls)
    assert counted == {
        (i, number): rung.n_pulls(problem.max_repetitions)
        for i, bracket in enumerate(plan.brackets)
        for number, rung in enumerate(bracket.rounds)
    }


@pytest.mark.parametrize("case", ALL)
def test_the_plan_is_what_is_played(case: Case) -> None:
    policy, problem, plan = case.policy, case.problem, case.policy.plan(case.problem)
    game = policy.start(problem, ROOT_SEED)
    has_stages = isinstance(game, PlaysStages)
    assert plan.window is None or not policy.order_free
    played, rounds = defaultdict(list), plan.brackets[0].rounds
    while not game.is_finished:
        asked = list(game.ask(1000))
        assert len(asked) <= (plan.window or math.inf)
        played[game.stage if has_stages else 0] += asked
        if has_stages:
            stage = rounds[0 if rounds[0].is_open else game.stage]
            assert {pull.level for pull in asked} == {stage.level}
            assert len({pull.arm for pull in asked}) <= stage.n_arms <= problem.n_arms
        for pull in asked:
            game.tell(pull, Table(13)(pull))
    pulls = [pull for own in played.values() for pull in own]
    n_planned = plan.n_pulls(problem.max_repetitions)
    if n_planned is not None:
        assert len(pulls) == n_planned if plan.is_exact else len(pulls) <= n_planned
    assert plays_levels(policy) or {pull.level for pull in pulls} <= {problem.max_level}
    for number, own in played.items() if has_stages and not rounds[0].is_open else ():
        assert len(own) <= rounds[number].n_pulls(problem.max_repetitions)


@dataclass(frozen=True)
class Unfinished(BasePolicy):
    """Lacks all methods without a default."""


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (UniformAllocation, "the class UniformAllocation"),
        ("uniform", "'uniform', without order_free"),
        (Unfinished(), r"Unfinished\(\), without start"),
    ],
)
def test_what_is_no_policy_is_refused(given: Any, what: str) -> None:
    with pytest.raises(TypeError, match=f"policy must be an object .* got {what}"):
        require_policy(given)


@pytest.mark.parametrize("case", ALL)
def test_a_problem_of_another_size_is_refused(case: Case) -> None:
    problem = case.problem
    if not case.policy.plan(problem).has_rungs:
        pytest.skip("plays with any number of arms")
    wrong = Problem(problem.n_arms + 1, problem.min_level, problem.max_level)
    with pytest.raises(ValueError, match=f"{problem.n_arms}|n_arms"):
        case.policy.start(wrong)
