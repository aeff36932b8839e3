"""Pulls a second in simulation, on 300 problems.

The clock is the CPU time of one call of `simulate` in one thread: the policy's decisions, the
drawing of the rewards and all book-keeping are in it. Policies play ten Gaussian arms (Bernoulli
arms if they need rewards in [0, 1]). Policies with rungs play learning curves, and each problem by
itself. The 206 pulls of Hyperband should take at most 3 ms, which is 0.07 million a second.

``python simulation_speed.py`` takes two minutes, ``--quick`` a few seconds. HOO is not in the
table, because it makes its own arms.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import numpy as np
from _common import CLAIM_COLUMNS as COLUMNS
from _common import Report, claim, cpu_seconds, one_thread, parse_options

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
    AsynchronousHalving,
    BayesGap,
    BernsteinRace,
    BernsteinStopping,
    DoublingHalving,
    FiniteHorizonHalving,
    GapE,
    GapEV,
    GridHalving,
    GrowingHyperband,
    HoeffdingRace,
    Hyperband,
    IncumbentRace,
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
from sklearn_halving.policies.bases._separate_games import SeparateGames
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
        IncumbentRace(n),
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
        (AsynchronousHalving(200), BOUNDED),
        (AsynchronousBrackets(Hyperband()), LearningCurves(PowerLimits(beta=1), max_level=81)),
        (Hyperband(), LearningCurves(PowerLimits(beta=1), max_level=81)),
        (GridHalving(64, 1, early_repetitions=1, race_repetitions=1), BOUNDED),
        (GrowingHyperband(10_000), LearningCurves(PowerLimits(beta=1), max_level=81)),
        (InfiniteHyperband(10_000), LearningCurves(PowerLimits(beta=1))),
        (BernsteinStopping(0.1), BernoulliArms([0.5])),
    ]
    played = [(one, GAUSSIAN) for one in fixed] + [(one, BERNOULLI) for one in ranged]
    return {type(one).__name__: (one, world) for one, world in [*played, *scheduled]}


def is_by_itself(policy: Any) -> bool:
    """Return whether each problem is played by itself, and not as a row of arrays."""
    return isinstance(policy, SeparateGames)


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


def measured(
    played: dict[str, tuple[Any, Any]], n_problems: int, options: Namespace
) -> Iterator[tuple[str, list[float]]]:
    """Yield the name of each policy that was asked for, and its speeds."""
    for name, (policy, world) in played.items():
        if options.only in name:
            yield name, speeds(policy, world, n_problems, options.seeds)


def main() -> None:
    """Print the tables."""
    options = parse_options(__doc__, seeds=3)
    report = Report("Simulation speed", options)
    n_problems = 50 if options.quick else 300
    with one_thread():
        played = independent_arms()
        rows = (
            claim(name, values, ">= 0.07" if is_by_itself(played[name][0]) else ">= 1.5")
            for name, values in measured(played, n_problems, options)
        )
        report.table("Independent arms: million pulls a second", COLUMNS, rows)
        covariance = kernel(50)
        world = GaussianProcessArms(covariance, noise_sd=0.1)
        correlated = {"BayesGap": (BayesGap(100, covariance, 0.01), world)}
        rows = (claim(*row, ">= 0.3") for row in measured(correlated, n_problems, options))
        report.table("Correlated arms: million pulls a second", COLUMNS, rows)
    report.save()


if __name__ == "__main__":
    main()
