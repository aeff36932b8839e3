"""Pulls a second in simulation, on 300 problems.

The clock is the CPU time of one call of `simulate` in one thread: the policy's decisions, the
drawing of the rewards and all book-keeping are in it. Policies play ten Gaussian arms (Bernoulli
arms if they need rewards in [0, 1]), those with rungs learning curves, and BayesGap 50 correlated
arms.

``python simulation_speed.py`` takes two minutes, ``--quick`` a few seconds. HOO is not in the
table, because it makes its own arms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _common import Report, cpu_seconds, one_thread, parse_options, spread

from sklearn_halving.policies import (
    EXP3,
    LUCB,
    MOSS,
    UCB1,
    UCBE,
    UCBV,
    AdaptiveGapEV,
    AdaptiveUCBE,
    AdaptiveUGapEb,
    AnytimeSuccessiveRejects,
    AsynchronousBrackets,
    BayesGap,
    BernsteinRace,
    BernsteinStopping,
    BudgetedRace,
    DoublingHalving,
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
    SuccessiveElimination,
    SuccessiveHalving,
    SuccessiveRejects,
    UGapEb,
    UGapEc,
    UniformAllocation,
    VarianceHalving,
    VarianceRejects,
)
from sklearn_halving.simulation import (
    BernoulliArms,
    GaussianArms,
    GaussianProcessArms,
    LearningCurves,
    PowerLimits,
    simulate,
)

MEANS = np.linspace(0.7, 0.3, 10)
BERNOULLI, GAUSSIAN = BernoulliArms(MEANS), GaussianArms(MEANS, sds=0.5)
CURVES = LearningCurves(PowerLimits(beta=1), n_arms=64)
BOUNDED = LearningCurves(PowerLimits(beta=1), n_arms=64, max_level=81)
LONG = {"max_pulls": 1500}  # of policies that stop when they are sure


def kernel(n_arms: int) -> np.ndarray:
    """Return a covariance of neighbouring arms."""
    x = np.linspace(0, 1, n_arms)
    covariance: np.ndarray = np.exp(-(((x[:, np.newaxis] - x) / 0.2) ** 2))
    return covariance


def independent_arms() -> dict[str, tuple[Any, Any]]:
    """Return all policies that model no correlation, each with its environment."""
    n = 1000
    fixed = [
        UniformAllocation(n),
        SuccessiveRejects(n),
        AnytimeSuccessiveRejects(n),
        VarianceRejects(n),
        BudgetedRace(n),
        VarianceHalving(n, common_splits=False),
    ]
    ranged = [
        UCBE(n, 10.0),
        AdaptiveUCBE(n),
        GapE(n, 10.0),
        GapEV(n, 10.0),
        AdaptiveGapEV(n),
        UGapEb(n, 10.0),
        AdaptiveUGapEb(n),
        UCB1(n),
        UCBV(n),
        MOSS(n),
        EXP3(n),
        UGapEc(0.01, **LONG),
        LUCB(**LONG),
        LilUCB(**LONG),
        SuccessiveElimination(**LONG),
        MedianElimination(1.0),
        HoeffdingRace(200),
        BernsteinRace(200),
    ]
    scheduled = [
        (SuccessiveHalving(64, 10_000), CURVES),
        (DoublingHalving(10_000), CURVES),
        (FiniteHorizonHalving(64, 10_000), BOUNDED),
        (InfiniteHorizonHalving(64, 10_000), CURVES),
        (AsynchronousBrackets(Hyperband()), LearningCurves(PowerLimits(beta=1), max_level=81)),
        (Hyperband(), LearningCurves(PowerLimits(beta=1), max_level=81)),
        (GridHalving(64, early_repetitions=1), BOUNDED),
        (GrowingHyperband(10_000), LearningCurves(PowerLimits(beta=1), max_level=81)),
        (InfiniteHyperband(10_000), LearningCurves(PowerLimits(beta=1))),
        (BernsteinStopping(0.1), BernoulliArms([0.5])),
    ]
    played = [(one, GAUSSIAN) for one in fixed] + [(one, BERNOULLI) for one in ranged]
    return {type(one).__name__: (one, world) for one, world in [*played, *scheduled]}


def speeds(policy: Any, world: Any, n_problems: int, repeats: int) -> list[float]:
    """Return millions of pulls in a second of CPU time."""
    found = []
    for seed in range(repeats):
        n_pulls = 0

        def play(seed: int = seed) -> None:
            nonlocal n_pulls
            n_pulls = int(simulate(policy, world, n_problems, seed).n_pulls.sum())

        seconds = cpu_seconds(play)
        found.append(n_pulls / seconds / 1e6)
    return found


def main() -> None:
    """Print the table."""
    options = parse_options(__doc__, seeds=3)
    report = Report("Simulation speed", options)
    n_problems = 50 if options.quick else 300
    covariance = kernel(50)
    correlated = GaussianProcessArms(covariance, noise_sd=0.1)
    played = independent_arms() | {"BayesGap": (BayesGap(100, covariance, 0.01), correlated)}
    rows = (
        [name, *spread(speeds(policy, world, n_problems, options.seeds))]
        for name, (policy, world) in played.items()
        if options.only in name
    )
    with one_thread():
        columns = "policy | min | median | max"
        report.table("Million pulls a second", columns, rows, "simulation_speed.csv")


if __name__ == "__main__":
    main()
