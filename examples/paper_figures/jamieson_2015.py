"""Non-stochastic best-arm identification: Table 1 and Figures 4 to 6 of Jamieson & Talwalkar

Plays the library's policies on learners that are trained by SGD, as in section 5 of the paper:

1. Table 1: how many losses each policy observes, counted;
2. Figure 4, ridge regression, 10 arms: six policies;
3. Figure 5, kernel SVM, 100 arms, and Figure 6, matrix completion, 64 arms: successive halving,
   successive rejects and uniform allocation, as in the paper.

A budget is a number of units of training for all arms; every budget is a run from scratch, and
the next is twice as large. Time is the CPU time of training and of computing validation losses;
what policies take for their decisions is told apart. An arm's standing is its latest loss, not
the mean of its losses, for all policies but EXP3, which multiplies weights after each loss.

``python jamieson_2015.py`` takes about four minutes, ``--quick`` some seconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from _pictures import Panel, save_lines
from _sgd_learners import KernelSVM, MatrixCompletion, Ridge
from threadpoolctl import threadpool_limits

from sklearn_halving.policies import (
    EXP3,
    LUCB,
    LilUCB,
    Problem,
    Pulls,
    SuccessiveHalving,
    SuccessiveRejects,
    UniformAllocation,
)

LOSSES = {"reward_range": (-1.0, 0.0)}  # the paper's [0, 1], turned round
POLICIES: dict[str, Callable[[int, int], Any]] = {
    "uniform": lambda n_arms, budget: UniformAllocation(budget),
    "successive halving": SuccessiveHalving,
    "successive rejects": lambda n_arms, budget: SuccessiveRejects(budget),
    "LUCB": lambda n_arms, budget: LUCB(max_pulls=budget, **LOSSES),
    "lil'UCB": lambda n_arms, budget: LilUCB(variant="heuristic", max_pulls=budget, **LOSSES),
    "lil'UCB, range 0.1": lambda n_arms, budget: LilUCB(
        variant="heuristic", max_pulls=budget, reward_range=(-1.0, -0.9)
    ),
    "EXP3": lambda n_arms, budget: EXP3(budget, **LOSSES),
}
PRINTED = {  # Table 1: observed losses for n arms and the budget B
    "uniform": lambda n, B: n,
    "successive halving": lambda n, B: 2 * n + 1,
    "successive rejects": lambda n, B: (n + 1) * n // 2,
    "LUCB": lambda n, B: B,
    "lil'UCB": lambda n, B: B,
    "EXP3": lambda n, B: B,
}
FIXED_BUDGET = ("uniform", "successive halving", "successive rejects")


@dataclass(frozen=True)
class Figure:
    """One experiment of the paper, in small."""

    number: int
    learner: type
    n_arms: int
    budgets: tuple[int, ...]
    n_trials: int
    policies: tuple[str, ...]
    n_rows: int | None = None  # None: all


FULL = (
    Figure(4, Ridge, 10, tuple(40 * 2**k for k in range(9)), 6, tuple(POLICIES)),
    Figure(5, KernelSVM, 100, tuple(800 * 2**k for k in range(7)), 6, FIXED_BUDGET),
    Figure(6, MatrixCompletion, 64, tuple(512 * 2**k for k in range(5)), 4, FIXED_BUDGET),
)
QUICK = (
    Figure(4, Ridge, 4, (40, 80), 2, tuple(POLICIES), 2000),
    Figure(5, KernelSVM, 9, (80, 160), 2, FIXED_BUDGET, 500),
    Figure(6, MatrixCompletion, 8, (64, 128), 2, FIXED_BUDGET, 4000),
)


# ------------------------------------------------------------------------------ one run


@dataclass
class Run:
    """What one policy did with one budget."""

    chosen: int = -1
    test_loss: float = np.nan
    n_units: int = 0
    n_observed: int = 0
    train_seconds: float = 0.0
    loss_seconds: float = 0.0
    policy_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        return self.train_seconds + self.loss_seconds


class StoppedClock:
    """CPU time since the last look."""

    def __init__(self) -> None:
        self._last = time.process_time()

    def lap(self) -> float:
        last, self._last = self._last, time.process_time()
        return self._last - last


@dataclass
class Standing:
    """Where the arms of a run stand: units, pulls told, the sum told, the latest loss."""

    n_arms: int
    n_units: np.ndarray = field(init=False)
    n_told: np.ndarray = field(init=False)
    told: np.ndarray = field(init=False)
    loss: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.n_units, self.n_told = np.zeros((2, self.n_arms), dtype=int)
        self.told = np.zeros(self.n_arms)
        self.loss = np.full(self.n_arms, np.inf)


def play(learner: Any, name: str, budget: int, seed: int) -> Run:
    """Train and choose with one policy; the learner starts from scratch."""
    learner.reset()
    policy = POLICIES[name](learner.n_arms, budget)
    has_levels = policy.plan(Problem(max_level=budget)) is not None
    problem = Problem(learner.n_arms, max_level=budget if has_levels else 1)
    game = policy.start(problem, np.random.SeedSequence(seed))
    run, standing, clock = Run(), Standing(learner.n_arms), StoppedClock()
    while not game.is_finished:
        asked = game.ask(10**9)
        pulls = asked if isinstance(asked, Pulls) else Pulls.of(asked)
        run.policy_seconds += clock.lap()
        rewards = np.empty(len(pulls))
        # The pulls of an arm that come together are one stretch of training, and one loss.
        for arm in dict.fromkeys(pulls.arm.tolist()):
            place = pulls.arm == arm
            level = int(pulls.level[place].max())
            n_more = level - standing.n_units[arm] if has_levels else int(place.sum())
            learner.advance(arm, int(n_more))
            run.train_seconds += clock.lap()
            standing.loss[arm] = min(learner.loss(arm, 0), 1e6)
            run.loss_seconds += clock.lap()
            run.n_observed += 1
            standing.n_units[arm] += n_more
            rewards[place] = reward_of(standing, arm, int(place.sum()), has_levels, name)
        for pull, reward in zip(asked, rewards.tolist(), strict=True):
            game.tell(pull, reward)
        run.policy_seconds += clock.lap()
    # The paper's convention for policies that never drop an arm: the arm of the latest loss.
    latest = int(standing.loss.argmin())
    run.chosen = latest if name == "EXP3" else game.recommend()
    run.n_units = int(standing.n_units.sum())
    run.test_loss = learner.loss(run.chosen, 1)
    return run


def reward_of(standing: Standing, arm: int, n_pulls: int, has_levels: bool, name: str) -> float:
    """Return what is told of an arm's last pulls.

    A policy of single pulls goes by the mean of what it was told. For that to be the latest
    loss, the sum must be as many times that loss as there were pulls.
    """
    latest = -float(standing.loss[arm])
    if has_levels or name == "EXP3":
        return latest
    standing.n_told[arm] += n_pulls
    total = standing.n_told[arm] * latest
    reward = (total - standing.told[arm]) / n_pulls
    standing.told[arm] = total
    return float(reward)


# ------------------------------------------------------------------------------- Table 1


class Curves:
    """Arms without any learning: their losses fall to limits like 1 / t."""

    def __init__(self, n_arms: int) -> None:
        self.n_arms = n_arms
        self.limit = np.random.default_rng(0).uniform(0.1, 0.6, n_arms)
        self.reset()

    def reset(self) -> None:
        self.n_units = np.zeros(self.n_arms, dtype=int)

    def advance(self, arm: int, n_units: int) -> None:
        self.n_units[arm] += n_units

    def loss(self, arm: int, part: int) -> float:
        return float(self.limit[arm] + 0.3 / self.n_units[arm])


def print_table_1(sizes: list[tuple[int, int]]) -> None:
    columns = " | ".join(f"n = {n}, B = {B}: counted | printed" for n, B in sizes)
    print(f"\n## Table 1: observed losses\n\n| | {columns} |\n|---|" + "---:|---:|" * len(sizes))
    for name, formula in PRINTED.items():
        cells = []
        for n, budget in sizes:
            counted = play(Curves(n), name, budget, seed=0).n_observed
            cells += [str(counted), str(formula(n, budget))]
        print(f"| {name} | {' | '.join(cells)} |")


# ----------------------------------------------------------------------- Figures 4 to 6

Curve = dict[str, np.ndarray]  # of one policy: numbers of shape (n_trials, n_budgets)


def measure(figure: Figure) -> dict[str, Curve]:
    """Return what came out of all runs."""
    shape = figure.n_trials, len(figure.budgets)
    names = "test_loss", "n_units", "n_observed", "seconds", "policy_seconds"
    curves = {p: {name: np.empty(shape) for name in names} for p in figure.policies}
    for trial in range(figure.n_trials):
        learner = figure.learner(trial, figure.n_arms, figure.n_rows)
        for policy in figure.policies:
            for i, budget in enumerate(figure.budgets):
                run = play(learner, policy, budget, seed=trial)
                for name in names:
                    curves[policy][name][trial, i] = getattr(run, name)
    return curves


def print_figure(figure: Figure, curves: dict[str, Curve]) -> None:
    print(
        f"\n## Figure {figure.number}: {figure.learner.name}, {figure.n_arms} arms, "
        f"{figure.n_trials} trials; test loss (standard error)\n"
    )
    budgets = " | ".join(f"B = {budget}" for budget in figure.budgets)
    print(f"| | {budgets} |\n|---|" + "---:|" * len(figure.budgets))
    for policy, curve in curves.items():
        mean, error = mean_and_error(curve["test_loss"])
        cells = [f"{m:.4f} ({e:.4f})" for m, e in zip(mean, error, strict=True)]
        print(f"| {policy} | {' | '.join(cells)} |")
    final = {policy: curve["test_loss"].mean(axis=0)[-1] for policy, curve in curves.items()}
    print_costs(curves, "uniform allocation", final["uniform"])
    slower = max(("successive halving", "successive rejects"), key=lambda name: final[name])
    print_costs(curves, slower, final[slower])


def print_costs(curves: dict[str, Curve], whose: str, goal: float) -> None:
    print(
        f"\nTo the loss of {whose} with the largest budget, {goal:.4f}; times as much as "
        "successive halving needs, in brackets. At the largest budget: losses observed, seconds "
        "of training and losses, seconds of the policy.\n"
    )
    print("| | units | seconds | observed | train and loss | policy |\n|---|" + "---:|" * 5)
    needed = {
        policy: [needed_for(goal, curve, "n_units"), needed_for(goal, curve, "seconds")]
        for policy, curve in curves.items()
    }
    for policy, curve in curves.items():
        ratios = np.array(needed[policy]) / needed["successive halving"]
        cells = [
            "not reached" if np.isnan(cost) else f"{cost:.{digits}f} ({ratio:.2f})"
            for cost, ratio, digits in zip(needed[policy], ratios, (0, 3), strict=True)
        ]
        last = [curve[name].mean(axis=0)[-1] for name in ("n_observed", "seconds")]
        seconds = curve["policy_seconds"].mean(axis=0)[-1]
        cells += [f"{last[0]:.0f}", f"{last[1]:.2f}", f"{seconds:.2f}"]
        print(f"| {policy} | {' | '.join(cells)} |")


def mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


def needed_for(goal: float, curve: Curve, cost: str) -> float:
    """Return the cost at which the mean loss comes down to the goal; NaN if it does not.

    Between two budgets it is interpolated, the cost on a log scale.
    """
    loss, x = curve["test_loss"].mean(axis=0), np.log(curve[cost].mean(axis=0))
    reached = np.flatnonzero(loss <= goal)
    if not len(reached):
        return np.nan
    i = int(reached[0])
    if i == 0:
        return float(np.exp(x[0]))
    share = (loss[i - 1] - goal) / (loss[i - 1] - loss[i])
    return float(np.exp(x[i - 1] + share * (x[i] - x[i - 1])))


def draw(figure: Figure, curves: dict[str, Curve]) -> None:
    costs = {
        "n_units": figure.learner.unit,
        "seconds": "seconds of training and of validation losses",
    }
    panels = []
    for cost, label in costs.items():
        lines = {
            policy: (curve[cost].mean(axis=0), *mean_and_error(curve["test_loss"]))
            for policy, curve in curves.items()
        }
        title = f"Figure {figure.number}: {figure.learner.name}" if not panels else ""
        panels.append(Panel(title, label, "test loss", lines))
    save_lines(f"jamieson_2015_figure_{figure.number}.png", panels)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, some seconds")
    parser.add_argument("--only", type=int, help="the number of one figure")
    options = parser.parse_args()
    with threadpool_limits(1):
        report(options)


def report(options: argparse.Namespace) -> None:
    sizes = [(16, 1000), (100, 10_000)]
    if options.only is None:
        print_table_1(sizes[:1] if options.quick else sizes)
    for figure in QUICK if options.quick else FULL:
        if options.only in (None, figure.number):
            started = time.process_time()
            curves = measure(figure)
            print_figure(figure, curves)
            if not options.quick:
                draw(figure, curves)
            print(f"\n{time.process_time() - started:.0f} seconds", flush=True)


if __name__ == "__main__":
    main()
