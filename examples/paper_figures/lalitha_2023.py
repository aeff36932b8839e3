"""Choosing the best of many noisy arms: the figures of Lalitha et al. (2023)

Runs every form of `VarianceHalving` and `UniformAllocation` on the bandits of the paper and
prints how often each chose a wrong arm, with standard errors, beside the values recorded in this
project's reading of the paper:

1. section 5.1's Gaussian bandit (Figures 2 and 3), arms counted from 0;
2. a bandit of ratings that are not Gaussian, in the place of MovieLens (Figures 5 and 6), or
   MovieLens itself: ``--ratings FILE`` reads its ratings.dat or ratings.csv;
3. rewards on splits that all arms share, as in a search: what sharing them is worth.

``python lalitha_2023.py`` makes 5,000 runs; ``--quick`` makes a few hundred in under a minute.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from _games import play_all
from _pictures import Panel, save_lines
from scipy.spatial import cKDTree

from sklearn_halving.policies import (
    AdaptiveGapEV,
    AdaptiveUCBE,
    AnytimeSuccessiveRejects,
    Policy,
    Problem,
    Pulls,
    SuccessiveRejects,
    UniformAllocation,
    VarianceHalving,
    VarianceRejects,
)

N_PULLS = (1000, 2000, 3000, 5000, 8000, 12000)
CHUNK = 250  # problems that are drawn at a time
# name -> mistake probabilities for N_PULLS, K = 64, and the number of runs behind them
RECORDED = {
    "SH": ((0.486, 0.301, 0.211, 0.118, 0.072, 0.053), 20_000),
    "SHVar": ((0.265, 0.160, 0.117, 0.080, 0.063, 0.046), 20_000),
    "SHAdaVar": ((0.433, 0.228, 0.145, 0.086, 0.057, 0.045), 20_000),
    "SH, kept": ((0.314, 0.159, 0.104, 0.068, 0.043, 0.032), 3_000),
    "pooled": ((0.236, 0.103, 0.057, 0.039, 0.031, 0.024), 3_000),
}
DEFAULT = "likelihood"


def policies(n_pulls: int, variance: np.ndarray) -> dict[str, Policy]:
    """Return all policies; `SHVar` is told the variances of its problems."""
    printed = {"keep_pulls": False}
    kept = {"common_splits": False}
    return {
        "uniform": UniformAllocation(n_pulls),
        "SH": VarianceHalving(n_pulls, "uniform", **printed),
        "SHVar": VarianceHalving(n_pulls, "known", variance, **printed),
        "SHAdaVar": VarianceHalving(n_pulls, "ucb", **printed),
        "SH, kept": VarianceHalving(n_pulls, "uniform", **kept),
        "pooled": VarianceHalving(n_pulls, "pooled", **kept),
        "likelihood": VarianceHalving(n_pulls, "likelihood", **kept),
    }


def rivals(n_pulls: int, variance: np.ndarray) -> dict[str, Policy]:
    """Return the default and all others for a fixed budget that need no unknown constant.

    The range of rewards is one that Gaussian rewards hardly leave.
    """
    known = {"reward_range": (-3.0, 4.0)}
    return {
        "likelihood": VarianceHalving(n_pulls, "likelihood", common_splits=False),
        "SR": SuccessiveRejects(n_pulls),
        "SR, anytime": AnytimeSuccessiveRejects(n_pulls),
        "VBR": VarianceRejects(n_pulls),
        "adaptive UCB-E": AdaptiveUCBE(n_pulls, **known),
        "A-GapE-V": AdaptiveGapEV(n_pulls, **known),
    }


# ------------------------------------------------------------------------------- the bandits


@dataclass
class GaussianBandit:
    """Section 5.1, arms counted from 0: the best arm is one of the noisy ones."""

    mean: np.ndarray
    variance: np.ndarray

    @classmethod
    def draw(cls, rng: np.random.Generator, n_problems: int, n_arms: int) -> GaussianBandit:
        arm = np.arange(n_arms)
        mean = 1 - np.sqrt(arm / n_arms)
        variance = np.where(arm % 2 == 0, 0.9 * mean**2 + 0.1, 0.1)
        shape = n_problems, n_arms
        return cls(mean + rng.normal(0, 0.05, shape), variance * rng.uniform(0.5, 1.5, shape))

    def pull(self, rng: np.random.Generator, problem: np.ndarray, pulls: Pulls) -> np.ndarray:
        mean, variance = self.mean[problem, pulls.arm], self.variance[problem, pulls.arm]
        return rng.standard_normal(len(pulls)) * np.sqrt(variance) + mean


@dataclass
class RatingTable:
    """Films and users of a low-rank matrix, cut off at one and five stars.

    Users like or dislike a kind of film, so that ratings have two humps or pile up at the ends.
    """

    ratings: np.ndarray = field(repr=False)  # (n_films, n_users)

    @classmethod
    def draw(cls, n_films: int = 3000, n_users: int = 2000, rank: int = 5) -> RatingTable:
        rng = np.random.default_rng(2023)
        taste = rng.choice([-1.0, 1.0], (n_users, rank)) + rng.normal(0, 0.5, (n_users, rank))
        kind = rng.dirichlet(np.full(rank, 0.3), n_films) * rng.uniform(0.1, 1.6, (n_films, 1))
        quality = rng.uniform(2.3, 4.7, (n_films, 1))
        ratings = np.clip(quality + kind @ taste.T, 1, 5)
        return cls(ratings.astype(np.float32))

    @classmethod
    def of_file(cls, path: Path, rank: int = 5, n_sweeps: int = 10) -> RatingTable:
        """Complete the ratings of a file by least squares, users and films in turn."""
        separator = "::" if path.suffix == ".dat" else ","
        columns = ["user", "film", "rating"]
        table = pd.read_csv(
            path,
            sep=separator,
            engine="python" if separator == "::" else "c",
            header=None if separator == "::" else 0,
            usecols=[0, 1, 2],
            names=columns,
        )
        codes = [np.unique(table[name], return_inverse=True)[1] for name in columns[:2]]
        rating = table["rating"].to_numpy(float)
        rng = np.random.default_rng(2023)
        n_users, n_films = (int(code.max()) + 1 for code in codes)
        user, film = np.empty((n_users, rank)), rng.normal(0, 0.1, (n_films, rank))
        film[:, 0] = rating.mean()
        for _ in range(n_sweeps):
            _solve_for(user, codes[0], film[codes[1]], rating)
            _solve_for(film, codes[1], user[codes[0]], rating)
        return cls((film @ user.T).astype(np.float32))


def _solve_for(unknown: np.ndarray, code: np.ndarray, known: np.ndarray, y: np.ndarray) -> None:
    """Set each row of ``unknown`` to its ridge regression of the ratings on the other side."""
    order = np.argsort(code, kind="stable")
    ends = np.cumsum(np.bincount(code, minlength=len(unknown)))
    for row, (start, end) in enumerate(pairwise([0, *ends.tolist()])):
        X = known[order[start:end]]
        penalty = 0.1 * max(1, len(X)) * np.eye(X.shape[1])
        unknown[row] = np.linalg.solve(X.T @ X + penalty, X.T @ y[order[start:end]])


@dataclass
class RatingBandit:
    """Section 5.2: for each arm of a Gaussian bandit the film nearest in mean and variance."""

    table: RatingTable
    film: np.ndarray
    mean: np.ndarray
    variance: np.ndarray

    @classmethod
    def draw(
        cls, table: RatingTable, rng: np.random.Generator, n_problems: int, n_arms: int
    ) -> RatingBandit:
        wanted = GaussianBandit.draw(rng, n_problems, n_arms)
        means, variances = table.ratings.mean(axis=1), table.ratings.var(axis=1)
        films = cKDTree(np.column_stack([means, variances]))
        film = films.query(np.stack([3 + wanted.mean, wanted.variance], axis=-1))[1]
        return cls(table, film, means[film].astype(float), variances[film].astype(float))

    def pull(self, rng: np.random.Generator, problem: np.ndarray, pulls: Pulls) -> np.ndarray:
        user = rng.integers(self.table.ratings.shape[1], size=len(pulls))
        return self.table.ratings[self.film[problem, pulls.arm], user]


@dataclass
class SplitBandit:
    """Scores like those on the wine data: sd 0.03, of which splits make four fifths."""

    mean: np.ndarray
    variance: np.ndarray
    split_effect: np.ndarray
    own_splits: bool

    @classmethod
    def draw(
        cls, rng: np.random.Generator, n_problems: int, n_arms: int, own_splits: bool
    ) -> SplitBandit:
        shape = n_problems, n_arms
        split_effect = rng.normal(0, np.sqrt(0.8) * 0.03, (n_problems, 20_000))
        variance = 0.2 * 0.03**2 * rng.choice([0.25, 1.75], shape)
        return cls(rng.normal(0, 0.01, shape), variance, split_effect, own_splits)

    def pull(self, rng: np.random.Generator, problem: np.ndarray, pulls: Pulls) -> np.ndarray:
        effect = self.split_effect[problem, pulls.repetition]
        if self.own_splits:
            effect = rng.normal(0, np.sqrt(0.8) * 0.03, len(pulls))
        noise = np.sqrt(self.variance[problem, pulls.arm]) * rng.normal(size=len(pulls))
        return self.mean[problem, pulls.arm] + effect + noise


# ------------------------------------------------------------------------------- simulation


@dataclass
class Result:
    """What came out of all runs of one policy."""

    regrets: list[np.ndarray] = field(default_factory=list)
    n_pulls: int = 0
    seconds: float = 0.0

    @property
    def mistakes(self) -> float:
        return float((np.concatenate(self.regrets) > 0).mean())

    @property
    def regret(self) -> float:
        return float(np.concatenate(self.regrets).mean())

    @property
    def error(self) -> float:
        n, p = sum(map(len, self.regrets)), self.mistakes
        return float(np.sqrt(max(p * (1 - p), 1 / n) / n))


def simulate(policy: Policy, bandit: object, rng: np.random.Generator, result: Result) -> None:
    """Play one policy on a chunk of problems; SHVar is told the variances of each."""
    n_problems, n_arms = bandit.mean.shape
    start = time.process_time()
    games = []
    for variance in bandit.variance:
        own = policy
        if isinstance(policy, VarianceHalving) and policy.allocation == "known":
            own = replace(policy, reward_variances=variance)
        games.append(own.start(Problem(n_arms)))
    result.n_pulls += play_all(games, partial(bandit.pull, rng))
    chosen = [game.recommend() for game in games]
    result.seconds += time.process_time() - start
    result.regrets.append(bandit.mean.max(axis=1) - bandit.mean[np.arange(n_problems), chosen])


def all_policies(
    draw: Callable[[np.random.Generator, int, int], object],
    n_arms: int,
    n_pulls: int,
    n_runs: int,
    which: Callable[[int, np.ndarray], dict[str, Policy]] = policies,
) -> dict[str, Result]:
    """Return the results of all policies on the same problems, each with noise of its own."""
    results: dict[str, Result] = {}
    n_chunks = -(-n_runs // CHUNK)
    for seed in np.random.SeedSequence([n_arms, n_pulls]).spawn(n_chunks):
        bandit = draw(np.random.default_rng(seed), min(CHUNK, n_runs), n_arms)
        for i, (name, policy) in enumerate(which(n_pulls, bandit.variance).items()):
            rng = np.random.default_rng([seed.generate_state(1)[0], i])
            simulate(policy, bandit, rng, results.setdefault(name, Result()))
    return results


# ------------------------------------------------------------------------------- the report


def print_table(title: str, columns: dict[str, dict[str, Result]]) -> None:
    print(f"\n## {title}\n\nMistake probability (standard error)\n")
    names = list(next(iter(columns.values())))
    print("| | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 1))
    for label, results in columns.items():
        cells = [f"{results[name].mistakes:.4f} ({results[name].error:.4f})" for name in names]
        print(f"| {label} | " + " | ".join(cells) + " |")


def print_recorded(table: dict[int, dict[str, Result]]) -> None:
    print("\nAgainst the recorded values; 'off' is more than three standard errors away\n")
    print("| | " + " | ".join(RECORDED) + " |\n|" + "---|" * (len(RECORDED) + 1))
    for n, results in table.items():
        cells = []
        for name, (values, n_runs) in RECORDED.items():
            recorded, got = values[N_PULLS.index(n)], results[name]
            error = np.hypot(got.error, np.sqrt(recorded * (1 - recorded) / n_runs))
            verdict = "ok" if abs(got.mistakes - recorded) <= 3 * error else "off"
            cells.append(f"{got.mistakes:.3f}, recorded {recorded:.3f}: {verdict}")
        print(f"| n = {n} | " + " | ".join(cells) + " |")


def print_ratios(table: dict[int, dict[str, Result]]) -> None:
    print(f"\nThe default ({DEFAULT})\n\n| | of SHAdaVar's mistakes | fewest of all |")
    print("|---|---|---|")
    for n, results in table.items():
        if n < 2000:
            continue
        default = results[DEFAULT].mistakes
        ratio = default / results["SHAdaVar"].mistakes
        fewest = all(default < other.mistakes for k, other in results.items() if k != DEFAULT)
        print(f"| n = {n} | {ratio:.2f} | {'yes' if fewest else 'no'} |")


def panel_of(title: str, label: str, table: dict[int, dict[str, Result]]) -> Panel:
    """Return the share of mistakes of all policies, against the number of pulls or of arms."""
    x, rows, lines = list(table), list(table.values()), {}
    for name in rows[0]:
        lines[name] = x, [row[name].mistakes for row in rows], [row[name].error for row in rows]
    return Panel(title, label, "mistake probability", lines, log="xy")


def print_speed(tables: list[dict[int, dict[str, Result]]]) -> None:
    print("\nMillion pulls a second in one thread, drawing of the rewards included\n")
    for name in tables[0][N_PULLS[0]]:
        results = [row[name] for table in tables for row in table.values()]
        speed = sum(r.n_pulls for r in results) / sum(r.seconds for r in results) / 1e6
        print(f"- {name}: {speed:.1f}")


def common_splits(n_runs: int) -> None:
    """Compare splits of each arm's own, common splits, and common splits with the model."""
    ways = {  # name -> (splits of an arm's own, options)
        "own splits": (True, {"common_splits": False}),
        "common, plain means": (False, {"common_splits": False}),
        "common": (False, {}),
        "common, pooled": (False, {"allocation": "pooled"}),
        "common, SH kept": (False, {"allocation": "uniform"}),
    }
    n_arms, multiples = 32, (2, 3, 5, 10, 20, 40)
    regret: dict[str, dict[int, float]] = {way: {} for way in ways}
    for way, (own_splits, options) in ways.items():
        for multiple in multiples:
            policy, result = VarianceHalving(multiple * n_arms, **options), Result()
            if policy.n_pulls < policy.least_n_pulls(n_arms):
                continue
            for seed in np.random.SeedSequence(multiple).spawn(-(-n_runs // CHUNK)):
                rng = np.random.default_rng(seed)
                bandit = SplitBandit.draw(rng, min(CHUNK, n_runs), n_arms, own_splits)
                simulate(policy, bandit, rng, result)
            regret[way][multiple] = result.regret
    print(f"\n## Common splits\n\nMean regret, K = {n_arms}, noise 0.030, spread of arms 0.010\n")
    print("| fits | " + " | ".join(ways) + " |\n|" + "---|" * (len(ways) + 1))
    for multiple in multiples:
        cells = [f"{regret[way].get(multiple, np.nan):.5f}" for way in ways]
        print(f"| {multiple} K | " + " | ".join(cells) + " |")
    fast = np.array(list(regret["common"].values()))
    for way in ("own splits", "common, plain means"):
        ratio = pulls_ratio(np.array(multiples), np.array(list(regret[way].values())), fast)
        print(f"\n'common' needs {ratio:.1f} times fewer fits than '{way}' for the same regret")


def pulls_ratio(n: np.ndarray, slow: np.ndarray, fast: np.ndarray) -> float:
    """Return how many times fewer pulls ``fast`` needs, on average over the shared regrets."""
    levels = np.geomspace(max(slow.min(), fast.min()), min(slow.max(), fast.max()), 9)
    at = [np.interp(-np.log(levels), -np.log(y), np.log(n)) for y in (slow, fast)]
    return float(np.exp((at[0] - at[1]).mean()))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few runs, under a minute")
    parser.add_argument("--runs", type=int, default=5000, help="runs of every policy")
    parser.add_argument("--ratings", type=Path, help="ratings.dat or ratings.csv of MovieLens")
    options = parser.parse_args()
    n_runs = 250 if options.quick else options.runs
    gaussian = {n: all_policies(GaussianBandit.draw, 64, n, n_runs) for n in N_PULLS}
    print_table("Gaussian bandit, K = 64", {f"n = {n}": row for n, row in gaussian.items()})
    print_recorded(gaussian)
    print_ratios(gaussian)
    arms = {K: all_policies(GaussianBandit.draw, K, 5000, n_runs) for K in (32, 48)}
    arms[64] = gaussian[5000]
    print_table("Gaussian bandit, n = 5000", {f"K = {K}": row for K, row in arms.items()})
    print_speed([gaussian])
    others = {
        n: all_policies(GaussianBandit.draw, 64, n, min(n_runs, 1000), rivals)
        for n in ((2000,) if options.quick else N_PULLS[1:])
    }
    print_table("Gaussian bandit, K = 64: rivals", {f"n = {n}": r for n, r in others.items()})

    films = RatingTable.of_file(options.ratings) if options.ratings else RatingTable.draw()

    def draw(rng: np.random.Generator, n_problems: int, n_arms: int) -> RatingBandit:
        return RatingBandit.draw(films, rng, n_problems, n_arms)

    ratings = {
        n: all_policies(draw, 64, n, n_runs) for n in (N_PULLS[:4] if options.quick else N_PULLS)
    }
    print_table("Ratings, K = 64", {f"n = {n}": row for n, row in ratings.items()})
    print_ratios(ratings)
    wide = {n: all_policies(draw, 128, n, n_runs) for n in ((5000,) if options.quick else N_PULLS)}
    print_table("Ratings, K = 128", {f"n = {n}": row for n, row in wide.items()})
    if not options.quick:
        figures = [
            panel_of("Figure 2: Gaussian bandit, K = 64", "pulls n", gaussian),
            panel_of("Figure 3: n = 5000", "arms K", arms),
        ]
        save_lines("lalitha_2023_gaussian.png", figures, height=4)
        figures = [
            panel_of("Figure 5: ratings, K = 64", "pulls n", ratings),
            panel_of("Figure 6: ratings, K = 128", "pulls n", wide),
        ]
        save_lines("lalitha_2023_ratings.png", figures, height=4)
    common_splits(n_runs=250 if options.quick else min(n_runs, 2000))


if __name__ == "__main__":
    main()
