"""Choosing among correlated arms with few pulls: BayesGap and its rivals (Hoffman et al. 2014)

Plays `BayesGap`, the paper's printed form, and the other rules on the same posterior, and prints
the mean simple regret of what they choose, with standard errors:

1. 100 arms on a line, beside the values recorded in this project's reading of the paper;
2. the same with a length scale or a noise in the model that is not that of the arms;
3. 357 arms of which a sample of signals is known, as in the paper's traffic network (6.1), where
   the prior is the empirical covariance of that sample. The traffic data is not to be had. In
   its place are signals that are made up, and 357 pixels of MNIST: one image is one morning, a
   sensor sees a pixel and some of its neighbours, and the arm to find is the brightest. As in
   the paper the prior is made of 1,680 images, a run is played on each of others, and the noise
   is 5 % of the mean variance. The prior has the principal components that make up 99.9 %.

``python hoffman_2014_simulation.py`` makes 2,000 runs of the first two, 500 of the third, in about
a quarter of an hour; ``--quick`` makes 40 in some seconds; ``--only pixels`` leaves out the rest.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from _games import play as play_game
from scipy.ndimage import gaussian_filter

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from _common import load_images

from sklearn_halving.policies import BayesGap, Problem, Pull, Pulls

N_PULLS = (20, 50, 100, 200)
CHUNK = 250  # problems at a time: what they hold fits into the cache
N_SENSORS, N_HISTORY = 357, 1680
LENGTH, NOISE = 0.1, 0.25  # of exp(-(x - x')^2 / length^2) on [0, 1]; variance, sigma = 0.5
RULES: dict[str, dict[str, object]] = {
    "BayesGap": {},
    "printed": {"beta": "printed", "recommendation": "smallest_bound"},
    "GP-UCB": {"acquisition": "gp_ucb"},
    "Thompson": {"acquisition": "thompson"},
    "EI": {"acquisition": "ei"},
    "PI": {"acquisition": "pi"},
    "BayesUCB": {"acquisition": "bayes_ucb"},
}
PEERS = ("GP-UCB", "Thompson", "EI", "uniform")
# mean regret for N_PULLS: 2,000 runs, 500 for BayesGap
RECORDED = {
    "BayesGap": (0.099, 0.039, 0.025, 0.012),
    "printed": (0.224, 0.175, 0.142, 0.042),
    "GP-UCB": (0.108, 0.038, 0.022, 0.012),
    "Thompson": (0.144, 0.057, 0.029, 0.015),
    "EI": (0.203, 0.117, 0.081, 0.056),
    "uniform": (0.227, 0.099, 0.052, 0.033),
}


@dataclass
class Model:
    """What the policies believe."""

    covariance: object
    noise: float = NOISE
    prior_mean: np.ndarray | float = 0.0
    standardize: bool = False

    def policy(self, n_pulls: int, **options: object) -> BayesGap:
        return BayesGap(
            n_pulls,
            self.covariance,
            self.noise,
            standardize=self.standardize,
            prior_mean=self.prior_mean,
            **options,
        )


@dataclass
class Arms:
    """The truth: means of shape (n_problems, n_arms) and the variance of the noise."""

    mean: np.ndarray = field(repr=False)
    noise: float = NOISE

    def pull(self, rng: np.random.Generator, problem: int, pulls: Pulls) -> np.ndarray:
        noise = np.sqrt(self.noise) * rng.standard_normal(len(pulls))
        return self.mean[problem, pulls.arm] + noise

    def regret(self, chosen: np.ndarray) -> np.ndarray:
        return self.mean.max(axis=1) - self.mean[np.arange(len(chosen)), chosen]


def line_covariance(length: float, n_arms: int = 100) -> np.ndarray:
    x = np.linspace(0, 1, n_arms)
    return np.exp(-(((x[:, np.newaxis] - x) / length) ** 2))


def smooth_arms(rng: np.random.Generator, n_problems: int) -> Arms:
    """Draw arms from the prior of the line."""
    values, vectors = np.linalg.eigh(line_covariance(LENGTH))
    factor = vectors * np.sqrt(np.maximum(values, 0))
    return Arms(rng.standard_normal((n_problems, len(factor))) @ factor.T)


@dataclass
class Traffic:
    """Speeds at 357 places: a few causes spread over all, and some that are local.

    The prior is what 120 earlier mornings say, so that its rank is below the number of arms.
    """

    n_arms: int = 357
    n_known: int = 120

    def __post_init__(self) -> None:
        rng = np.random.default_rng(2014)
        x = np.linspace(0, 1, self.n_arms)[:, np.newaxis]
        centre, width = rng.random(40), rng.uniform(0.01, 0.2, 40)
        causes = np.exp(-0.5 * ((x - centre) / width) ** 2) * rng.gamma(2.0, 3.0, 40)
        self._causes = np.hstack([causes, 1.5 * np.eye(self.n_arms)])
        self._typical = 60 + 4 * rng.standard_normal(self.n_arms)
        known = self._signals(rng, self.n_known)
        centred = (known - known.mean(axis=0)) / np.sqrt(self.n_known - 1)
        noise = 0.05 * float((centred**2).sum(axis=0).mean())
        self.noise = noise
        self.model = Model(centred.T @ centred, noise, known.mean(axis=0))

    def _signals(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return self._typical + rng.standard_normal((n, self._causes.shape[1])) @ self._causes.T

    def arms(self, rng: np.random.Generator, n_problems: int) -> Arms:
        return Arms(self._signals(rng, n_problems), self.noise)


class Pixels:
    """The 357 pixels of MNIST that vary most: history for the prior, other images for the runs.

    Parameters
    ----------
    images : ndarray of shape (n_images, 784)
        The first 1,680 are history.
    """

    def __init__(self, images: np.ndarray) -> None:
        seen = gaussian_filter(images.reshape(-1, 28, 28), (0, 1, 1)).reshape(-1, 784)
        arms = np.sort(np.argsort(-seen[:N_HISTORY].var(axis=0), kind="stable")[:N_SENSORS])
        known, self._others = seen[:N_HISTORY, arms], seen[N_HISTORY:, arms]
        values, vectors = np.linalg.eigh(np.cov(known, rowvar=False))
        self.rank = 1 + int((values[::-1].cumsum() < 0.999 * values.sum()).sum())
        factor = (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, : self.rank]
        self.noise = 0.05 * float(values.mean())
        self.model = Model(factor @ factor.T, self.noise, known.mean(axis=0))
        self._n_played = 0

    def arms(self, rng: np.random.Generator, n_problems: int) -> Arms:
        """Return the next images."""
        first = self._n_played
        self._n_played += n_problems
        return Arms(self._others[first : first + n_problems], self.noise)


# ------------------------------------------------------------------------------- simulation


def play(policy: BayesGap, arms: Arms, rng: np.random.Generator) -> np.ndarray:
    """Return the regret of what the policy chooses in each problem."""
    n_problems, n_arms = arms.mean.shape
    seeds = np.random.SeedSequence(int(rng.integers(2**32))).spawn(n_problems)
    chosen = np.empty(n_problems, dtype=int)
    for i, seed in enumerate(seeds):
        game = policy.start(Problem(n_arms), seed)
        play_game(game, partial(arms.pull, rng, i))
        chosen[i] = game.recommend()
    return arms.regret(chosen)


def play_uniform(policy: BayesGap, arms: Arms, rng: np.random.Generator) -> np.ndarray:
    """Pull all arms in a random order, again and again; choose by the same posterior."""
    n_problems, n_arms = arms.mean.shape
    chosen = np.empty(n_problems, dtype=int)
    for i in range(n_problems):
        game, order = policy.start(Problem(n_arms)), rng.permutation(n_arms)
        for t in range(policy.n_pulls):
            pull = Pull(int(order[t % n_arms]), 1, t // n_arms)
            game.tell(pull, arms.pull(rng, i, Pulls.of([pull])).item())
        chosen[i] = game.recommend()
    return arms.regret(chosen)


@dataclass
class Cell:
    """Mean regret over all runs."""

    regrets: np.ndarray = field(repr=False)

    @property
    def mean(self) -> float:
        return float(self.regrets.mean())

    @property
    def error(self) -> float:
        return float(self.regrets.std() / np.sqrt(len(self.regrets)))


def all_rules(
    model: Model,
    draw: Callable[[np.random.Generator, int], Arms],
    n_pulls: int,
    n_runs: int,
    names: tuple[str, ...] = (*RULES, "uniform"),
) -> dict[str, Cell]:
    """Return the regrets of all rules on the same problems, each with noise of its own."""
    regrets: dict[str, list[np.ndarray]] = {name: [] for name in names}
    n_chunk = min(CHUNK, n_runs)
    for seed in np.random.SeedSequence([n_pulls, 2014]).spawn(-(-n_runs // n_chunk)):
        arms = draw(np.random.default_rng(seed), n_chunk)
        for i, name in enumerate(names):
            rng = np.random.default_rng([int(seed.generate_state(1)[0]), i])
            policy = model.policy(n_pulls, **RULES.get(name, {}))
            how = play_uniform if name == "uniform" else play
            regrets[name].append(how(policy, arms, rng))
    return {name: Cell(np.concatenate(values)) for name, values in regrets.items()}


# ------------------------------------------------------------------------------- the report


def print_table(title: str, rows: dict[str, dict[str, Cell]], digits: int = 4) -> None:
    print(f"\n## {title}\n\nMean simple regret (standard error)\n")
    names = list(next(iter(rows.values())))
    print("| | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 1))
    for label, cells in rows.items():
        texts = [f"{c.mean:.{digits}f} ({c.error:.{digits}f})" for c in cells.values()]
        print(f"| {label} | " + " | ".join(texts) + " |", flush=True)


def print_recorded(rows: dict[int, dict[str, Cell]]) -> None:
    print("\nAgainst the recorded values; 'off' is more than three standard errors away\n")
    print("| | " + " | ".join(RECORDED) + " |\n|" + "---|" * (len(RECORDED) + 1))
    for i, (n_pulls, cells) in enumerate(rows.items()):
        texts = []
        for name, values in RECORDED.items():
            cell = cells[name]
            # The recorded values' own error is not printed: that of as many runs like these.
            n_recorded = 500 if name == "BayesGap" else 2000
            error = cell.error * np.sqrt(1 + len(cell.regrets) / n_recorded)
            verdict = "ok" if abs(cell.mean - values[i]) <= 3 * error + 0.0005 else "off"
            texts.append(f"{cell.mean:.3f}, recorded {values[i]:.3f}: {verdict}")
        print(f"| T = {n_pulls} | " + " | ".join(texts) + " |")


def print_ratios(rows: dict[str, dict[str, Cell]]) -> None:
    print("\nBayesGap against the best of " + ", ".join(PEERS) + "\n")
    print("| | best peer | ratio (standard error) | not worse than uniform |")
    print("|---|---|---|---|")
    for label, cells in rows.items():
        own = cells["BayesGap"]
        peer = min((name for name in PEERS if name in cells), key=lambda name: cells[name].mean)
        best, uniform = cells[peer], cells["uniform"]
        ratio = own.mean / best.mean
        # On the same problems: the error of the mean of own - ratio * best.
        left = own.regrets - ratio * best.regrets
        error = float(left.std() / np.sqrt(len(left)) / best.mean)
        better = "yes" if own.mean <= uniform.mean else "NO"
        print(f"| {label} | {peer} | {ratio:.2f} ({error:.2f}) | {better} |")


def misspecified(n_runs: int, all_n_pulls: tuple[int, ...]) -> dict[str, dict[str, Cell]]:
    """Return the regrets where the model has another length or noise than the arms."""
    names = ("BayesGap", "printed", "GP-UCB", "Thompson", "uniform")
    models = {
        "length x 1/3": Model(line_covariance(LENGTH / 3)),
        "length x 3": Model(line_covariance(LENGTH * 3)),
        "sigma x 1/3": Model(line_covariance(LENGTH), NOISE / 9),
        "sigma x 3": Model(line_covariance(LENGTH), NOISE * 9),
        "level and scale estimated": Model(line_covariance(LENGTH), standardize=True),
    }
    rows = {}
    for label, model in models.items():
        for n_pulls in all_n_pulls:
            row = all_rules(model, smooth_arms, n_pulls, n_runs, names)
            rows[f"{label}, T = {n_pulls}"] = row
    return rows


def print_errors(rows: dict[str, dict[str, Cell]]) -> None:
    print("\nHow often an arm was chosen that is not the best, as in the paper's Figure 2\n")
    names = list(next(iter(rows.values())))
    print("| | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 1))
    for label, cells in rows.items():
        texts = [f"{(cell.regrets > 0).mean():.3f}" for cell in cells.values()]
        print(f"| {label} | " + " | ".join(texts) + " |")


def play_line(n_runs: int, n_pulls: tuple[int, ...]) -> None:
    model = Model(line_covariance(LENGTH))
    line = {n: all_rules(model, smooth_arms, n, n_runs) for n in n_pulls}
    labelled = {f"T = {n}": cells for n, cells in line.items()}
    print_table("100 arms on a line, sigma = 0.5", labelled)
    print_recorded(line)
    print_ratios(labelled)


def play_wrong(n_runs: int, n_pulls: tuple[int, ...]) -> None:
    wrong = misspecified(n_runs, n_pulls)
    print_table("100 arms on a line, the model is wrong", wrong)
    print_ratios(wrong)


def play_traffic(n_runs: int, n_pulls: tuple[int, ...]) -> None:
    traffic = Traffic()
    rows = {f"T = {n}": all_rules(traffic.model, traffic.arms, n, n_runs) for n in n_pulls}
    print_table(f"357 arms, made up, rank {traffic.n_known - 1}", rows, digits=3)
    print_errors(rows)
    print_ratios(rows)


def play_pixels(n_runs: int, n_pulls: tuple[int, ...]) -> None:
    images, _, name = load_images(N_HISTORY + n_runs + CHUNK, 2014)
    if not name.startswith("MNIST"):
        print("\n357 pixels: left out, since MNIST is not in SKLEARN_HALVING_DATA.")
        return
    rows = {}
    for n in n_pulls:
        pixels = Pixels(images)
        rows[f"T = {n}"] = all_rules(pixels.model, pixels.arms, n, n_runs)
    title = f"357 pixels of MNIST, from 0 to 1; rank {pixels.rank}, sigma {pixels.noise**0.5:.3f}"
    print_table(title, rows)
    print_errors(rows)
    print_ratios(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few runs, some seconds")
    parser.add_argument("--runs", type=int, default=2000, help="runs of every rule")
    parser.add_argument("--only", default="", help="line, wrong, traffic or pixels")
    options = parser.parse_args()
    n_runs = 40 if options.quick else options.runs
    n_large = 10 if options.quick else min(n_runs, 500)
    n_pulls = N_PULLS[:2] if options.quick else N_PULLS
    large = (50,) if options.quick else (100, 400)
    if options.only in "line":
        play_line(n_runs, n_pulls)
    if options.only in "wrong":
        play_wrong(n_runs, n_pulls)
    if options.only in "traffic":
        play_traffic(n_large, large)
    if options.only in "pixels":
        play_pixels(n_large, large)


if __name__ == "__main__":
    main()
