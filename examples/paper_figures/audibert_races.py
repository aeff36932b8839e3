"""Hoeffding against empirical Bernstein races: Table 16.1 of Audibert, Bubeck and Munos (2011)

Eleven nearest-neighbour models on each data set. A pull is the leave-one-out loss on one row, the
j-th pull of every model on the j-th row of a random order; there are as many rounds as rows. What
the table shows is the share of the losses that were never computed, and how many models were left.

The table's data sets (SARCOS, Covertype2, Local) are replaced by

- regression, as SARCOS: the quality of 6,497 wines by the absolute error, between 0 and 6;
- classification: phoneme (5,404 rows, two vowels), adult (6,000 rows drawn, numbers only) and
  mammography (11,183 rows, a few of them positive), by the error, 0 or 1.

``python audibert_races.py`` takes about a minute and needs the data folder (see
``examples/_data.py``); ``--quick``, or no folder, plays on data sets that come with scikit-learn.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _games import play
from _pictures import save_bars
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _data import data_folder, load_adult, load_wine_quality

from sklearn_halving.policies import BernsteinRace, HoeffdingRace, Problem

NEIGHBOURS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 400, 800)
DELTA = 0.1
PRINTED = {  # Table 16.1 of the chapter: losses saved by the Hoeffding and the Bernstein race
    "SARCOS": (0.0, 0.449),
    "Covertype2": (0.149, 0.293),
    "Local": (0.060, 0.331),
}


@dataclass(frozen=True)
class Losses:
    """Leave-one-out losses of all models on all rows, shape (n_models, n_rows)."""

    name: str
    table: np.ndarray
    largest: float


def leave_one_out(name: str, X: Any, y: np.ndarray, *, classifies: bool) -> Losses:
    """Predict each row from its nearest neighbours, itself left out."""
    X = StandardScaler().fit_transform(np.asarray(X, dtype=float))
    most = min(max(NEIGHBOURS), len(X) - 1)
    near = NearestNeighbors(n_neighbors=most).fit(X).kneighbors(return_distance=False)
    if not classifies:
        sums = np.cumsum(y[near], axis=1)
        table = [np.abs(sums[:, k - 1] / k - y) for k in np.minimum(NEIGHBOURS, most)]
        return Losses(name, np.array(table), float(y.max() - y.min()))
    labels = np.unique(y)
    table = []
    for k in np.minimum(NEIGHBOURS, most):
        votes = np.column_stack([(y[near[:, :k]] == label).sum(axis=1) for label in labels])
        table.append(labels[votes.argmax(axis=1)] != y)
    return Losses(name, np.array(table, dtype=float), 1.0)


def data_sets(*, quick: bool) -> Iterator[Losses]:
    """Yield the losses on each data set."""
    folder = data_folder()
    if quick or folder is None:
        yield leave_one_out("diabetes", *load_diabetes(return_X_y=True), classifies=False)
        yield leave_one_out("breast cancer", *load_breast_cancer(return_X_y=True), classifies=True)
        yield leave_one_out("digits", *load_digits(return_X_y=True), classifies=True)
        return
    X, y = load_wine_quality()
    X = X.select_dtypes("number")
    yield leave_one_out("wine quality", X, np.asarray(y, dtype=float), classifies=False)
    for name in ("phoneme", "mammography"):
        table = pd.read_csv(folder / f"{name}.csv", header=None)
        codes = pd.factorize(table.iloc[:, -1].astype(str).str.strip("'"))[0]
        yield leave_one_out(name, table.iloc[:, :-1], codes, classifies=True)
    X, y = load_adult(must_be_real=True)
    rows = np.random.default_rng(0).permutation(len(X))[:6000]
    X = X.select_dtypes("number").iloc[rows]
    yield leave_one_out("adult", X, np.asarray(y)[rows].astype(int), classifies=True)


def race(race_class: type, losses: Losses, n_orders: int) -> tuple[np.ndarray, ...]:
    """Return shares of work saved, models left, and whether the best is left, for each order."""
    n_models, n_rows = losses.table.shape
    policy = race_class(n_rounds=n_rows, delta=DELTA, reward_range=(-losses.largest, 0.0))
    orders = np.random.default_rng(0).permuted(np.tile(np.arange(n_rows), (n_orders, 1)), axis=1)
    n_pulls, alive = np.zeros(n_orders), np.ones((n_orders, n_models), dtype=bool)
    for i, order in enumerate(orders):
        game = policy.start(Problem(n_models, max_repetitions=n_rows))
        table = -losses.table[:, order]
        n_pulls[i] = play(game, lambda pulls, table=table: table[pulls.arm, pulls.repetition])
        alive[i, game.out()] = False
    best = losses.table.mean(axis=1).argmin()
    return 1 - n_pulls / (n_models * n_rows), alive.sum(axis=1), alive[:, best]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    n_orders = 3 if quick else 20
    print("Work saved / models left of 11, means and standard errors over orders of the rows.")
    print(f"delta = {DELTA}, {n_orders} orders.\n")
    print("| | rows | mean variance / range^2 | Hoeffding | empirical Bernstein | best kept |")
    print("|---|---|---|---|---|---|")
    shares: dict[str, list[tuple[float, float]]] = {}
    for losses in data_sets(quick=quick):
        cells, kept = [], []
        for race_class in (HoeffdingRace, BernsteinRace):
            saved, left, is_kept = race(race_class, losses, n_orders)
            error = saved.std(ddof=1) / np.sqrt(n_orders)
            cells.append(f"{saved.mean():.1%} ({error:.1%}) / {left.mean():.1f}")
            shares.setdefault(losses.name, []).append((saved.mean(), error))
            kept.append(f"{is_kept.sum()} and")
        variance = losses.table.var(axis=1).mean() / losses.largest**2
        both = " ".join(kept).removesuffix(" and")
        n_rows = losses.table.shape[1]
        print(f"| {losses.name} | {n_rows} | {variance:.3f} | {' | '.join(cells)} | {both} |")
    if not quick:
        draw(shares)


def draw(shares: dict[str, list[tuple[float, float]]]) -> None:
    """Draw our savings, and those that the paper prints."""
    printed = [[(share, np.nan) for share in pair] for pair in PRINTED.values()]
    both = np.array([*shares.values(), *printed])
    groups = [*shares, *(f"printed:\n{name}" for name in PRINTED)]
    names = ("Hoeffding race", "empirical Bernstein race")
    bars = {name: (None, 100 * both[:, i, 0], 100 * both[:, i, 1]) for i, name in enumerate(names)}
    save_bars("audibert_races.png", "losses saved, %", groups, bars)


if __name__ == "__main__":
    main()
