"""A real clock: LightGBM with its ready space, against random search, TPE and FLAML.

``AdaptiveSearchCV(model, "auto", time_budget=T)`` gets the seconds of 10, 30 and 100 full fits on
one split. Random search and Optuna's TPE draw from the same space, and compare candidates on five
folds. FLAML searches its own space of LightGBM on encoded columns. All of them use one core. The
choices are scored on rows that no search has seen. Without FLAML, its column is empty.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from _common import DATA, Report, one_thread, parse_options
from _peer_spaces import for_optuna
from _tables import TableTask, table_task
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.base import clone
from sklearn.model_selection import ParameterSampler, cross_val_score

from sklearn_halving import AdaptiveSearchCV
from sklearn_halving.spaces import space_for

BUDGETS, FOLDS = (10, 30, 100), 5
TABLES = ("car 1000", "segment 1400", "vehicle 500", "bike 4000", "cpu.small 4000", "mv 8000")


def lightgbm_task(name: str, seed: int) -> TableTask:
    """Return LightGBM with its defaults on a table."""
    table, n_rows = name.split()
    task = table_task(table, "boosting", int(n_rows), seed)
    model = LGBMClassifier if task.has_classes else LGBMRegressor
    task.pipeline.steps[-1] = ("lgbm", model(n_jobs=1, random_state=0, verbose=-1))
    return task


def adaptive(task: TableTask, seconds: float, seed: int) -> Any:
    """Return the fitted search."""
    search = AdaptiveSearchCV(task.pipeline, "auto", time_budget=seconds, random_state=seed)
    return search.fit(task.X, task.y)


def on_five_folds(
    draw: Callable[[], dict[str, Any]],
    tell: Callable[[float], None],
    task: TableTask,
    seconds: float,
    seed: int,
) -> Any:
    """Return the best of the candidates that can be compared and refitted in time, or of one."""
    began, costs, best = time.perf_counter(), [], (-np.inf, None)
    folds = task.folds(FOLDS, seed)
    while not costs or time.perf_counter() - began + np.mean(costs) * (1 + 1 / 4) < seconds:
        start = time.perf_counter()
        model = clone(task.pipeline).set_params(**draw())
        score = cross_val_score(model, task.X, task.y, cv=folds).mean()
        tell(score)
        costs.append(time.perf_counter() - start)
        best = max(best, (score, model), key=lambda pair: pair[0])
    return best[1].fit(task.X, task.y)


def random_search(task: TableTask, seconds: float, seed: int) -> Any:
    """Return the model that random search chooses."""
    space, rng = space_for(task.pipeline, task.X, task.y), np.random.RandomState(seed)
    return on_five_folds(
        lambda: next(iter(ParameterSampler(space, 1, random_state=rng))),
        lambda score: None,
        task,
        seconds,
        seed,
    )


def tpe(task: TableTask, seconds: float, seed: int) -> Any:
    """Return the model that Optuna's TPE chooses."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed)
    )
    space, trials = for_optuna(space_for(task.pipeline, task.X, task.y)), []

    def draw() -> dict[str, Any]:
        trials.append(study.ask(space))
        return dict(trials[-1].params)

    return on_five_folds(draw, lambda score: study.tell(trials[-1], score), task, seconds, seed)


class Encoded:
    """A model behind the encoder of a pipeline."""

    def __init__(self, encoder: Any, model: Any) -> None:
        self._encoder, self._model = encoder, model

    def predict(self, X: Any) -> np.ndarray:
        """Return the predictions."""
        return np.ravel(self._model.predict(self._encoder.transform(X)))


def flaml(task: TableTask, seconds: float, seed: int) -> Any:
    """Return the model that FLAML chooses."""
    from flaml import AutoML

    encoder = clone(task.pipeline[:-1]).fit(task.X)
    model = AutoML()
    model.fit(
        encoder.transform(task.X),
        task.y,
        task="classification" if task.has_classes else "regression",
        metric="accuracy" if task.has_classes else "r2",
        estimator_list=["lgbm"],
        time_budget=seconds,
        n_jobs=1,
        seed=seed,
        verbose=0,
    )
    return Encoded(encoder, model)


def points_lost(task: TableTask, model: Any) -> float:
    """Return how far accuracy or R^2 on the test rows is below 1, in points."""
    found = model.predict(task.X_test)
    if task.has_classes:
        return 100 * float(np.mean(found != task.y_test))
    return 100 * float(np.mean((found - task.y_test) ** 2) / np.var(task.y_test))


SEARCHES: dict[str, Callable[[TableTask, float, int], Any]] = {
    "adaptive": adaptive,
    "random": random_search,
    "TPE": tpe,
    "FLAML": flaml,
}


def rows_of(tables: tuple[str, ...], budgets: tuple[int, ...], n_seeds: int) -> Iterator[list]:
    """Yield a row for each budget: mean losses, and differences with errors over tables."""
    searches = dict(SEARCHES)
    if importlib.util.find_spec("flaml") is None:
        del searches["FLAML"]
    for budget in budgets:
        found, used = [], []
        for name in tables:
            for seed in range(n_seeds):
                task = lightgbm_task(name, seed)
                train, _ = task.folds(FOLDS, seed)[0]
                start = time.perf_counter()
                clone(task.pipeline).fit(task.X.iloc[train], task.y[train])
                seconds = budget * (time.perf_counter() - start)
                losses = {"table": name}
                for search_name, search in searches.items():
                    start = time.perf_counter()
                    model = search(task, seconds, seed)
                    used += [(time.perf_counter() - start) / seconds] * (search is adaptive)
                    losses[search_name] = points_lost(task, model)
                found.append(losses)
        table = pd.DataFrame(found, columns=["table", *SEARCHES]).groupby("table").mean()
        row = [f"{budget} full fits", len(table), *table.mean()]
        for other in list(SEARCHES)[1:]:
            gain = table[other] - table["adaptive"]
            row.append(f"{gain.mean():+.2f} ({gain.sem():.2f})")
        yield [*row, f"{min(used):.2f} to {max(used):.2f}"]


def main() -> None:
    options = parse_options(__doc__, seeds=2)
    report = Report("A real clock", options)
    if not (DATA / "tables").exists():
        print(f"No tables in {DATA}: nothing to do. Set SKLEARN_HALVING_DATA.")
        return
    names = " | ".join(SEARCHES)
    minus = " | ".join(f"{name} minus adaptive" for name in list(SEARCHES)[1:])
    with one_thread():
        rows = rows_of(
            TABLES[: 1 if options.quick else None],
            BUDGETS[: 1 if options.quick else None],
            options.seeds,
        )
        columns = f"points lost | tables | {names} | {minus} | time used"
        report.table("LightGBM on real tables", columns, rows, "real_clock.csv")


if __name__ == "__main__":
    main()
