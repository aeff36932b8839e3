"""How often a wrong arm is chosen: VarianceHalving beside simple rules with the same budget.

    python examples/benchmarks/wrong_choices.py [--quick] [--runs N] [--only TEXT] [--csv]

The means are ``1 - sqrt(i / K)`` for i = 0 to K - 1, plus a normal deviation of 0.05, and arms
come in random order. On common splits, each split adds a normal effect with a standard deviation
of 0.5 to all arms. Variances are unequal as in section 5.1 of Lalitha et al. (2023), where the
better half of the arms is noisier, or equal, or one arm has a much larger one. Every rule plays
until the standard error of its share of wrong choices is below 3 % of the share, or until all
runs are made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from _common import Report, one_thread, parse_options

from sklearn_halving.policies import (
    Policy,
    Problem,
    SuccessiveRejects,
    UniformAllocation,
    VarianceHalving,
)

CHUNK = 500  # problems at a time
PRECISION = 0.03  # standard error as a share of the figure
SPLIT_SD = 0.5
RIVALS = ("uniform", "halving, kept", "pooled", "rejects")


@dataclass(frozen=True)
class Case:
    """A kind of problem and a budget.

    ``noise`` is "unequal", "equal", "one wild", "best wild" or "Bernoulli", and ``size`` the
    standard deviation of equal or wild noise, or the success rates of the best and the worst arm.
    """

    n_arms: int
    n_pulls: int
    noise: str
    size: float | tuple[float, float] = 0.7
    common_splits: bool = True

    @property
    def name(self) -> str:
        splits = "common" if self.common_splits else "independent"
        rates = f" {self.size[0]} to {self.size[1]}" if isinstance(self.size, tuple) else ""
        return f"{splits}, K = {self.n_arms}, n = {self.n_pulls}, {self.noise}{rates}"

    def draw(self, rng: np.random.Generator, n: int) -> Bandits:
        """Return ``n`` problems."""
        place = rng.permuted(np.tile(np.arange(self.n_arms), (n, 1)), axis=1)
        rise = 1 - np.sqrt(place / self.n_arms)
        if isinstance(self.size, tuple):
            best, worst = self.size
            return Bandits(worst + (best - worst) * rise, None)
        mean = rise + rng.normal(0, 0.05, rise.shape)
        if self.noise == "unequal":
            variance = np.where(place % 2 == 0, 0.9 * rise**2 + 0.1, 0.1)
            return Bandits(mean, np.sqrt(variance * rng.uniform(0.5, 1.5, rise.shape)))
        if self.noise == "equal":
            return Bandits(mean, np.full(rise.shape, self.size))
        which = 0 if self.noise == "best wild" else self.n_arms // 2
        return Bandits(mean, np.where(place == which, self.size, 0.3))


@dataclass(frozen=True)
class Bandits:
    """Arms of many problems; success rates if there is no ``sd``."""

    mean: np.ndarray
    sd: np.ndarray | None

    def pull(self, rng: np.random.Generator, problem: int, arm: np.ndarray) -> np.ndarray:
        """Return rewards of a problem without the effects of splits."""
        mean = self.mean[problem, arm]
        if self.sd is None:
            return (rng.random(arm.shape) < mean).astype(np.float64)
        return mean + self.sd[problem, arm] * rng.standard_normal(arm.shape)


def rules(case: Case) -> dict[str, Callable[[], Policy]]:
    """Return the default and the simple rules; making one may raise if the budget is small."""
    n, options = case.n_pulls, {"common_splits": case.common_splits}
    return {
        "default": lambda: VarianceHalving(n, **options),
        "uniform": lambda: UniformAllocation(n),
        "halving, kept": lambda: VarianceHalving(n, "uniform", **options),
        "pooled": lambda: VarianceHalving(n, "pooled", **options),
        "rejects": lambda: SuccessiveRejects(n),
    }


def n_wrong(policy: Policy, case: Case, rng: np.random.Generator, n: int) -> int:
    """Return how many of ``n`` choices are wrong."""
    bandits = case.draw(rng, n)
    effect = rng.normal(0, SPLIT_SD * case.common_splits, (n, case.n_pulls))
    wrong = 0
    for i in range(n):
        game = policy.start(Problem(case.n_arms))
        while not game.is_finished:
            pulls = game.ask(10**9)
            game.tell_all(pulls, bandits.pull(rng, i, pulls.arm) + effect[i, pulls.repetition])
        wrong += game.recommend() != bandits.mean[i].argmax()
    return wrong


def share_of_wrong(policy: Policy, case: Case, most_runs: int) -> tuple[float, float]:
    """Return the share of wrong choices and its standard error."""
    n_runs = wrong = 0
    for seed in np.random.SeedSequence([case.n_arms, case.n_pulls]).spawn(-(-most_runs // CHUNK)):
        wrong += n_wrong(policy, case, np.random.default_rng(seed), CHUNK)
        n_runs += CHUNK
        share = wrong / n_runs
        error = float(np.sqrt(share * (1 - share) / n_runs))
        if 0 < error < PRECISION * share:
            break
    return share, error


def row_of(case: Case, most_runs: int) -> list[str]:
    """Return the row of a case: all shares, and the ratio to the best simple rule."""
    cells, simple, default = [], [], np.nan
    for name, make in rules(case).items():
        try:
            share, error = share_of_wrong(make(), case, most_runs)
        except ValueError:  # the budget is too small for the rule
            cells.append("-")
            continue
        cells.append(f"{share:.4f} ({error:.4f})")
        if name == "default":
            default = share
        else:
            simple.append(share)
    ratio = f"{default / min(simple):.2f}" if min(simple) > 0 else "-"
    return [case.name, *cells, ratio]


def cases(quick: bool) -> list[Case]:
    """Return all cases; the quick ones have few arms."""
    sizes = (3, 5) if quick else (3, 4, 5, 8, 16, 64)
    found = [
        Case(k, 5 * k, noise, size)
        for k in sizes
        for noise, size in (("unequal", 0.7), ("equal", 0.7), ("one wild", 3.0))
    ]
    found += [Case(5, 25, "best wild", 3.0), Case(8, 40, "best wild", 3.0)]
    if quick:
        return found
    found += [Case(k, n, "equal") for k, n in ((5, 10), (16, 35), (64, 130))]
    found += [Case(k, n, "unequal") for k, n in ((5, 10), (16, 35), (64, 130))]
    alone = [
        Case(64, 2000, "unequal"),
        Case(64, 1000, "equal", 0.5),
        Case(64, 2000, "Bernoulli", (0.5, 0.2)),
        Case(64, 2000, "Bernoulli", (0.1, 0.01)),
        Case(64, 1000, "one wild", 5.0),
        Case(64, 1000, "best wild", 5.0),
        Case(64, 130, "equal", 0.2),
        Case(16, 35, "Bernoulli", (0.9, 0.1)),
        Case(16, 80, "unequal"),
        Case(5, 300, "unequal"),
        Case(5, 50, "unequal"),
        Case(5, 40, "one wild", 5.0),
    ]
    return found + [Case(c.n_arms, c.n_pulls, c.noise, c.size, False) for c in alone]


def main() -> None:
    """Print a row for each case."""
    options = parse_options(__doc__, seeds=20_000, quick_seeds=1000, name="runs")
    report = Report("Wrong choices", options)
    columns = " | ".join(["case", "default", *RIVALS, "ratio to the best"])
    chosen = (case for case in cases(options.quick) if options.only in case.name)
    with one_thread():
        rows = (row_of(case, options.runs) for case in chosen)
        report.table("Share of wrong choices (standard error)", columns, rows, "wrong_choices.csv")


if __name__ == "__main__":
    main()
