"""The mean of the five best candidates, refitted, against the winner alone.

``AdaptiveSearchCV(model, "auto", n_fits=50)`` searches on at most 600 rows of a table, or on 60 %
of a data set of scikit-learn. The five best candidates of its leaderboard are fitted on the same
rows, each with a seed of its own, and ``VotingClassifier`` or ``VotingRegressor`` averages their
predictions. Both are scored on rows that no search has seen. Standard errors are over tasks.
Results are recorded, so that an interrupted run goes on. Without the tables, only data sets of
scikit-learn are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _common import DATA, Cache, Report, one_thread, parse_options
from _tables import MODELS, TableTask, table_task
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_halving import AdaptiveSearchCV
from spaces import MANY_CLASSES, NEW

FAMILIES = ("boosting", "forest", "neural network")
SHIPPED = {
    "breast cancer": (load_breast_cancer, True),
    "diabetes of scikit-learn": (load_diabetes, False),
    "digits": (load_digits, True),
    "wine": (load_wine, True),
}
"""Data sets of scikit-learn, and whether the target is a class."""
SLOW = ("digits", *MANY_CLASSES)
"""Data of many classes, on which boosting is not tried."""
N_FITS, N_BEST = 50, 5
CLEAR = 0.5
"""Points by which a difference counts as better or worse."""


def task_of(name: str, family: str, seed: int) -> TableTask:
    """Return a model on a table, or on a data set of scikit-learn."""
    if name not in SHIPPED:
        return table_task(name, family, 600, seed)
    load, has_classes = SHIPPED[name]
    X, y = load(return_X_y=True)
    y = y if has_classes else (y - y.mean()) / y.std()
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=0.6, stratify=y if has_classes else None, random_state=seed
    )
    pipeline = make_pipeline(StandardScaler(), MODELS[family][0 if has_classes else 1])
    return TableTask(pipeline, f"{pipeline.steps[-1][0]}__", X, y, X_test, y_test, has_classes)


def mean_of_best(search: AdaptiveSearchCV, task: TableTask) -> Any:
    """Return the mean of the best candidates, fitted on all training rows."""
    best = search.leaderboard().head(N_BEST)
    seed = f"{task.prefix}random_state"
    models = [
        (f"best {rank}", clone(task.pipeline).set_params(**params, **{seed: rank}))
        for rank, params in zip(best["rank"], best["params"], strict=True)
    ]
    mean = VotingClassifier(models, voting="soft") if task.has_classes else VotingRegressor(models)
    return mean.fit(task.X, task.y)


def measured(cache: Cache, name: str, family: str, seed: int) -> dict[str, float]:
    """Return the scores of the model as it is, of the winner and of the mean of the five best."""
    key = name, seed, family
    if key not in cache.lines:
        task = task_of(name, family, seed)
        search = AdaptiveSearchCV(task.pipeline, "auto", n_fits=N_FITS, random_state=seed)
        search.fit(task.X, task.y)
        models = {
            "own": clone(task.pipeline).fit(task.X, task.y),
            "winner": search.best_estimator_,
            "five": mean_of_best(search, task),
        }
        line: dict[str, Any] = {"has_classes": task.has_classes}
        for who, model in models.items():
            line[who] = 100 * float(model.score(task.X_test, task.y_test))
            if task.has_classes:
                shares = model.predict_proba(task.X_test)
                line[f"{who} loss"] = float(log_loss(task.y_test, shares, labels=model.classes_))
        cache.add(*key, line)
    return cache.lines[key]


def rows_of(results: list[tuple[str, dict[str, Any]]]) -> Iterator[Sequence[Any]]:
    """Yield a row for each family, and one for all, of classification and of regression."""
    for kind, has_classes in (("classification", True), ("regression", False)):
        of_kind = [(fam, line) for fam, line in results if line["has_classes"] == has_classes]
        for family in dict.fromkeys([*(fam for fam, _ in of_kind), "all"]):
            lines = [line for fam, line in of_kind if family in (fam, "all")]
            if len(lines) > 1:
                yield [f"{kind}, {family}", *row_of(lines, has_classes)]


def row_of(lines: list[dict[str, Any]], has_classes: bool) -> list[Any]:
    """Return the cells of a row: gains in points, the share of clear ones, the log loss."""
    gain = np.array([line["five"] - line["winner"] for line in lines])
    tuned = np.array([line["winner"] - line["own"] for line in lines])
    loss = "-"
    if has_classes:
        change = np.array([line["five loss"] / line["winner loss"] - 1 for line in lines])
        loss = f"{100 * np.median(change):+.1f} % / {np.mean(change > 0):.0%}"
    return [
        len(lines),
        *(f"{a.mean():+.2f} ({a.std(ddof=1) / len(a) ** 0.5:.2f})" for a in (tuned, gain)),
        f"{np.mean(gain < -CLEAR):.0%} / {np.mean(gain > CLEAR):.0%}",
        loss,
    ]


def main() -> None:
    options = parse_options(__doc__, seeds=1)
    report = Report("The mean of the five best", options)
    has_tables = (DATA / "tables").exists()
    names = [*SHIPPED, *(NEW if has_tables else ())]
    families = FAMILIES
    if options.quick:
        names, families = ["breast cancer", "wine"], ("forest",)
    folder = Path.home() / ".cache" / "sklearn_halving"
    folder.mkdir(parents=True, exist_ok=True)
    cache = Cache(folder / "five_best.jsonl")
    with one_thread():
        results = [
            (family, measured(cache, name, family, seed))
            for name in names
            for family in families
            if options.only in family and not (family == "boosting" and name in SLOW)
            for seed in range(options.seeds)
        ]
    report.table(
        "Points on test rows",
        "model | tasks | winner - own | five best - winner | worse / better by half a point"
        " | log loss, median / worse",
        rows_of(results),
        "five_best.csv",
    )


if __name__ == "__main__":
    main()
