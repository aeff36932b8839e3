"""AdaptiveSearchCV in the place of GridSearchCV on tables of 120 to 1,600 rows: cost and choice.

Each task is a table, a model and a grid of 3 to 25 candidates. Both searches run on the same rows
with five folds, and the winners are scored on rows that no search has seen. Both run again with
the grid reversed, to see whether the winner changes. No parameter of the plan was chosen on these
tables.

The README's grid is also given to HalvingGridSearchCV, and to Optuna's TPE as log-uniform ranges.
A choice is the same if its mean score on the five folds is at most 0.001 below that of
GridSearchCV's. TPE is stopped at the first such candidate, or after as many candidates as the grid
has. CPU includes the final fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from _common import Report, cpu_seconds, one_thread, parse_options, spread
from _data_sets import DATA_SETS, divide
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    ParameterGrid,
    cross_val_score,
    train_test_split,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_halving import AdaptiveSearchCV

N_SPLITS = 5
SIZES = (120, 300, 700, 1600)
REVERSED = ("is_reversed", "grid_is_reversed")
QUICK_SETS = ("breast cancer", "diabetes")
SAME = 0.001
README_GRID = {"C": np.logspace(-2, 4, 10), "gamma": np.logspace(-6, -1, 10)}


def models(is_regression: bool) -> dict[str, tuple[Any, dict[str, list[Any]]]]:
    """Return models of several families, and their grids."""
    kinds = (
        (SVR(), Ridge(), KNeighborsRegressor(), DecisionTreeRegressor(random_state=0))
        if is_regression
        else (
            SVC(),
            LogisticRegression(max_iter=300),
            KNeighborsClassifier(),
            DecisionTreeClassifier(random_state=0),
        )
    )
    vectors, linear, neighbours, tree = kinds
    forest = (RandomForestRegressor if is_regression else RandomForestClassifier)(
        n_estimators=20, random_state=0
    )
    strength = "alpha" if is_regression else "C"
    return {
        "support vectors": (
            make_pipeline(StandardScaler(), vectors),
            {
                f"{type(vectors).__name__.lower()}__C": [0.01, 0.1, 1, 10, 100],
                f"{type(vectors).__name__.lower()}__gamma": [1e-4, 1e-3, 1e-2, 1e-1, 1],
            },
        ),
        "linear": (
            make_pipeline(StandardScaler(), linear),
            {f"{type(linear).__name__.lower()}__{strength}": np.logspace(-3, 2, 6).tolist()},
        ),
        "neighbours": (
            make_pipeline(StandardScaler(), neighbours),
            {
                f"{type(neighbours).__name__.lower()}__n_neighbors": [1, 3, 7, 15, 25, 40],
                f"{type(neighbours).__name__.lower()}__weights": ["uniform", "distance"],
            },
        ),
        "tree": (tree, {"max_depth": [2, 4, 6, 8, 12, None], "min_samples_leaf": [1, 3, 10, 20]}),
        "forest": (forest, {"max_features": [0.2, 0.5, 1.0]}),
    }


@dataclass
class Comparison:
    """One task: planned fits and CPU time of ours over theirs, and the test scores."""

    name: str
    n_candidates: int
    fits: float
    cpu: float
    score: float
    grid_score: float
    is_reversed: bool
    grid_is_reversed: bool

    @property
    def difference(self) -> float:
        """Test score of our winner, less that of GridSearchCV's."""
        return self.score - self.grid_score


def compare(name: str, model: Any, grid: dict[str, list[Any]], rows: Any, scoring: str) -> Any:
    """Run both searches, and both with the grid reversed."""
    scorer, winner, seconds, scores = get_scorer(scoring), {}, {}, {}
    n_candidates = len(ParameterGrid(grid))
    backwards = [{key: [value] for key, value in p.items()} for p in ParameterGrid(grid)][::-1]
    options = {"scoring": scoring, "cv": N_SPLITS}
    for kind, space in (("forwards", grid), ("backwards", backwards)):
        ours = AdaptiveSearchCV(clone(model), space, random_state=0, **options)
        theirs = GridSearchCV(clone(model), space, **options)
        for search in (ours, theirs) if kind == "forwards" else (theirs, ours):
            key = type(search).__name__, kind
            seconds[key] = cpu_seconds(lambda search=search: search.fit(rows.X, rows.y))
            winner[key] = {name: search.best_params_[name] for name in grid}
            scores[key] = scorer(search, rows.X_test, rows.y_test)
    ours_name, theirs_name = "AdaptiveSearchCV", "GridSearchCV"
    changed = {
        of: winner[of, "forwards"] != winner[of, "backwards"] for of in (ours_name, theirs_name)
    }
    total = {
        of: seconds[of, "forwards"] + seconds[of, "backwards"] for of in (ours_name, theirs_name)
    }
    return Comparison(
        name,
        n_candidates,
        ours.n_fits_ / (n_candidates * N_SPLITS),
        total[ours_name] / total[theirs_name],
        scores[ours_name, "forwards"],
        scores[theirs_name, "forwards"],
        changed[ours_name],
        changed[theirs_name],
    )


def tasks(options: Any) -> Any:
    """Yield the arguments of `compare`."""
    for name, data_set in DATA_SETS.items():
        if options.quick and name not in QUICK_SETS:
            continue
        data = data_set.load()
        for n_rows in SIZES[:2] if options.quick else SIZES:
            if len(data[0]) < 1.5 * n_rows:
                continue
            for seed in range(options.seeds):
                rows = divide(data, n_rows, seed, data_set.is_regression)
                for kind, (model, grid) in models(data_set.is_regression).items():
                    if options.only in f"{name}, {kind}":
                        title = f"{name}, {n_rows} rows, {kind}"
                        yield title, model, grid, rows, data_set.scoring


class TPE:
    """Optuna's TPE until a candidate is as good as a score, with the final fit."""

    def __init__(self, wanted: float, seed: int) -> None:
        self.wanted, self.seed, self.best_score = wanted, seed, -np.inf

    def fit(self, X: Any, y: Any) -> None:
        """Ask for a candidate, and tell its mean score, until it is good enough."""
        import optuna
        from optuna.distributions import FloatDistribution

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=self.seed)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        ranges = {key: FloatDistribution(*v[[0, -1]], log=True) for key, v in README_GRID.items()}
        for _ in range(len(ParameterGrid(README_GRID))):
            trial = study.ask(ranges)
            study.tell(trial, cross_val_score(SVC(**trial.params), X, y, cv=N_SPLITS).mean())
            if study.best_value >= self.wanted:
                break
        self.best_score = study.best_value
        SVC(**study.best_params).fit(X, y)


def same_choice(options: Any) -> Iterator[list[Any]]:
    """Yield a row for each search: how often its choice is the same, and at which cost."""
    X, y = load_digits(return_X_y=True)
    shares: dict[str, list[float]] = {}
    is_same: dict[str, list[bool]] = {}
    n_rows = 300 if options.quick else 0.75
    for seed in range(options.seeds if options.quick else 10 * options.seeds):
        rows = train_test_split(X, y, stratify=y, train_size=n_rows, random_state=seed)[::2]
        grid = GridSearchCV(SVC(), README_GRID, cv=N_SPLITS)
        seconds = cpu_seconds(lambda grid=grid, rows=rows: grid.fit(*rows))
        results = grid.cv_results_
        scores = {
            tuple(params.values()): score
            for params, score in zip(results["params"], results["mean_test_score"], strict=True)
        }
        for search in (
            AdaptiveSearchCV(SVC(), README_GRID, cv=N_SPLITS, random_state=seed),
            HalvingGridSearchCV(SVC(), README_GRID, cv=N_SPLITS, random_state=seed),
            TPE(grid.best_score_ - SAME, seed),
        ):
            name = type(search).__name__
            share = cpu_seconds(lambda search=search, rows=rows: search.fit(*rows)) / seconds
            shares.setdefault(name, []).append(share)
            score = (
                search.best_score
                if isinstance(search, TPE)
                else scores[tuple(search.best_params_[key] for key in README_GRID)]
            )
            is_same.setdefault(name, []).append(score >= grid.best_score_ - SAME)
    for name, values in shares.items():
        yield [name, f"{sum(is_same[name])} of {len(values)}", *spread(values)]


def main() -> None:
    """Compare, and report."""
    options = parse_options(__doc__, seeds=1)
    report = Report("AdaptiveSearchCV in the place of GridSearchCV", options)
    with one_thread():
        if options.only in "the grid of the README":
            columns = "CPU as a share of GridSearchCV's | same choice | min | median | max"
            report.table("The README's grid", columns, same_choice(options), "same_choice.csv")
        found = [compare(*task) for task in tasks(options)]
    if not found:
        return
    losses = sorted(found, key=lambda c: c.difference)
    report.table(
        "The largest losses",
        "task | candidates | fits | CPU | test score | GridSearchCV's",
        [[c.name, c.n_candidates, c.fits, c.cpu, c.score, c.grid_score] for c in losses[:8]],
    )
    difference = 100 * np.array([c.difference for c in found])
    cpu = np.array([c.cpu for c in found])
    error = difference.std() / np.sqrt(len(found))
    worse, better = np.mean(difference < -1), np.mean(difference > 1)
    reversed_too = [np.mean([getattr(c, of) for c in found]) for of in REVERSED]
    shares = f"{cpu.mean():.2f} / {cpu.max():.2f}"
    rows = [
        ["planned fits as a share of GridSearchCV's, largest", max(c.fits for c in found)],
        [
            "CPU as a share of GridSearchCV's, mean / largest",
            shares,
        ],
        ["tasks with more CPU than GridSearchCV", f"{np.mean(cpu > 1):.0%}"],
        ["test score, difference in points", f"{difference.mean():+.2f} ({error:.2f})"],
        ["test score worse / better by more than a point", f"{worse:.0%} / {better:.0%}"],
        ["winner changed by reversing the grid", f"{reversed_too[0]:.0%}"],
        ["the same for GridSearchCV", f"{reversed_too[1]:.0%}"],
    ]
    columns = f"AdaptiveSearchCV against GridSearchCV | {len(found)} tasks"
    report.table("All tasks", columns, rows, "swap_tables.csv")


if __name__ == "__main__":
    main()
