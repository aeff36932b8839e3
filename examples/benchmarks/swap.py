"""AdaptiveSearchCV in the place of GridSearchCV on tables of 120 to 1,600 rows: cost and choice.

Each task is a table, a model and a grid of 3 to 25 candidates. Both searches run on the same rows
with five folds, and the winners are scored on rows that no search has seen. Both run again with
the grid reversed, to see whether the winner changes. No parameter of the plan was chosen on these
tables.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from _common import Report, cpu_seconds, one_thread, parse_options
from _data_sets import DATA_SETS, divide
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, ParameterGrid
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


def main() -> None:
    """Compare, and report."""
    options = parse_options(__doc__, seeds=1)
    report = Report("AdaptiveSearchCV in the place of GridSearchCV", options)
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [compare(*task) for task in tasks(options)]
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
