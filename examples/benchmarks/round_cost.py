"""What BayesGap costs beside a fit: one round, 400 pulls into a search.

    python examples/benchmarks/round_cost.py [--quick] [--seeds N] [--output FILE.md]

A round is `BayesGap.ask` and `tell`, as between two fits. It is held against the posterior
computed anew in every round (Cholesky factor of the pulled arms' covariance, by SciPy), and
against reading as many numbers as there are arms times pulls. Two priors on a line: a smooth one,
of which few columns explain the rest, and a rough one that has full rank, the worst case; with
an effect of every split on all arms, as in a search, and without. Peak memory is that of a
process of its own with 100,000 arms, and of a search of so many candidates.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from _common import CLAIM_COLUMNS, Report, claim, cpu_seconds, one_thread, parse_options
from _doubles import DoNothing
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from sklearn_halving import BayesGapSearchCV
from sklearn_halving.policies import BayesGap, KernelCovariance, Problem

N_PULLS, N_TIMED = 400, 50
LENGTH, NOISE = 0.1, 0.25
Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]


def smooth(points: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the squared exponential kernel."""
    return np.exp(-0.5 * ((points - others[:, 0]) / LENGTH) ** 2)


def rough(points: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the exponential kernel: no column is explained by others."""
    return np.exp(-np.abs(points - others[:, 0]) / LENGTH)


KERNELS: dict[str, Kernel] = {"smooth": smooth, "rough": rough}


class Game:
    """A search under way: arms on a line, rewards made up."""

    def __init__(self, n_arms: int, kernel: Kernel, n_pulls: int, splits: bool = True) -> None:
        self.points = np.linspace(0, 1, n_arms)[:, np.newaxis]
        self.kernel = kernel
        covariance = KernelCovariance(kernel, self.points, np.ones(n_arms))
        self.policy = BayesGap(n_pulls, covariance, NOISE, NOISE if splits else 0.0)
        self.state = self.policy.start(Problem(n_arms))
        self.truth = np.sin(9 * self.points[:, 0])
        self.noise = 0.5 * np.random.default_rng(0).standard_normal(n_pulls)
        self.n_played = 0

    def play(self, n_rounds: int) -> None:
        """Play rounds."""
        policy, state = self.policy, self.state
        for noise in self.noise[self.n_played : self.n_played + n_rounds]:
            pulls = policy.ask(state, 1)
            policy.tell(state, pulls, self.truth[pulls.arm] + noise)
        self.n_played += n_rounds

    def naive_posterior(self) -> np.ndarray:
        """Compute means and deviations of all arms from nothing but the rewards."""
        arms = np.flatnonzero(self.state.n_told[0])
        rows = self.kernel(self.points[arms], self.points)
        noise = NOISE / self.state.n_told[0, arms]
        started = time.process_time()
        factor = cho_factor(rows[:, arms] + np.diag(noise), lower=True)
        mean = cho_solve(factor, self.truth[arms]) @ rows
        explained = solve_triangular(factor[0], rows, lower=True)
        deviation = np.sqrt(np.maximum(1 - np.einsum("tk,tk->k", explained, explained), 0))
        self.naive_seconds = time.process_time() - started
        return mean + deviation


def seconds_a_round(
    n_arms: int, kernel: Kernel, splits: bool, n_times: int
) -> tuple[list[float], Game]:
    """Return CPU seconds of a round after 400 pulls, several times over, and the last game."""
    seconds = []
    for _ in range(n_times):
        game = Game(n_arms, kernel, N_PULLS + N_TIMED, splits)
        game.play(N_PULLS)
        seconds.append(cpu_seconds(lambda game=game: game.play(N_TIMED)) / N_TIMED)
    return seconds, game


def seconds_of_reading(n_arms: int, n_times: int) -> float:
    """Return the least CPU seconds of adding up arms times pulls numbers."""
    numbers = np.random.default_rng(0).random((N_PULLS, n_arms))
    return min(cpu_seconds(numbers.sum) for _ in range(20 * n_times))


def round_rows(sizes: tuple[int, ...], n_times: int) -> Iterator[list[Any]]:
    """Yield the cost of a round, and over that of reading and of computing all anew."""
    targets = {160: "<= 20", 1000: "<= 50"}
    for n_arms in sizes:
        for name, kernel in KERNELS.items():
            for splits in (False, True):
                ours, game = seconds_a_round(n_arms, kernel, splits, n_times)
                n_rows = game.state.posterior.features.n_rows
                what = f"{n_arms:,} arms, {name} prior ({n_rows} features)"
                what += ", splits" if splits else ""
                yield claim(f"{what}: µs", [1e6 * s for s in ours], targets.get(n_arms))
                if n_arms not in targets:
                    reading = seconds_of_reading(n_arms, n_times)
                    ratios = [s / reading for s in ours]
                    yield claim(f"{what} / reading ({1e6 * reading:,.0f} µs)", ratios, "<= 1.5")
            game.naive_posterior()
            naive = game.naive_seconds
            what = f"{what} / computed anew ({1e6 * naive:,.0f} µs)"
            yield claim(what, [s / naive for s in ours])


def peak_mebibytes(n_arms: int, name: str) -> float:
    """Return the peak memory of a process that plays 400 pulls."""
    command = [sys.executable, __file__, "--memory-of", str(n_arms), name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def search_many(n_candidates: int) -> None:
    """Search a grid of so many candidates, with an estimator that does nothing."""
    grid = {"value": list(range(n_candidates // 100)), "level": list(range(100))}
    X, y = np.zeros((100, 2)), np.zeros(100)
    BayesGapSearchCV(DoNothing(), grid, n_fits=100, refit=False, random_state=0).fit(X, y)


def memory_rows(n_arms: int) -> Iterator[list[Any]]:
    """Yield the peak memory, imports and all."""
    what = f"BayesGapSearchCV, {n_arms:,} candidates, 100 fits: MiB"
    yield claim(what, [peak_mebibytes(n_arms, "search")], "<= 1024")
    for name in KERNELS:
        what = f"{n_arms:,} arms, {name} prior, {N_PULLS} pulls: MiB"
        yield claim(what, [peak_mebibytes(n_arms, name)], "<= 1024")


def main() -> None:
    """Measure everything, and print one table."""
    if sys.argv[1:2] == ["--memory-of"]:
        n_arms, name = int(sys.argv[2]), sys.argv[3]
        if name == "search":
            search_many(n_arms)
        else:
            Game(n_arms, KERNELS[name], N_PULLS).play(N_PULLS)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    options = parse_options(__doc__, seeds=7)
    report = Report("Cost of a round of BayesGap", options)
    sizes = (160, 1000) if options.quick else (160, 1000, 10_000)
    with one_thread():
        report.table("One round", CLAIM_COLUMNS, round_rows(sizes, options.seeds))
        n_arms = 20_000 if options.quick else 100_000
        report.table("Peak memory", CLAIM_COLUMNS, memory_rows(n_arms))
    report.save()


if __name__ == "__main__":
    main()
