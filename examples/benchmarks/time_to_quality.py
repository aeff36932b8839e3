"""How long it takes to come within 0.002 of the best of 60 random candidates.

    python examples/benchmarks/time_to_quality.py [--quick] [--seeds N] [--only TEXT]
        [--output FILE.md]

The clock of a search stops when it has first evaluated, with all of the resource and on all
five folds, a candidate whose mean score is at least the best of the 60 less 0.002. The time
that RandomizedSearchCV takes for its 60, divided by that, is the speed-up; the folds are the
same for all. HalvingRandomSearchCV stops its clock at its end, and what it chose is then
scored on the five folds. Everything runs in one process and one thread. A seed where the
quality was not reached has no time: the share that did reach it stands beside the median.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from _common import Report, one_thread, parse_options
from _peer_spaces import suggest
from _tasks import Task, tasks
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    HalvingRandomSearchCV,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_score,
)

from sklearn_halving import HyperbandSearchCV

MARGIN = 0.002


class Reached(NamedTuple):
    """Seconds until the quality was there (NaN: never), and until the end; best score."""

    seconds: float
    total: float
    best: float


VARIANTS: dict[str, dict[str, Any]] = {
    "HyperbandSearchCV, defaults": {},
    "HyperbandSearchCV, factor=4": {"factor": 4},
    "HyperbandSearchCV, most exploratory": {"brackets": "most_exploratory"},
    "HyperbandSearchCV, most exploratory, 3 loops": {
        "brackets": "most_exploratory",
        "n_loops": 3,
    },
    "HyperbandSearchCV, 2 loops": {"n_loops": 2},
}


def random_search(task: Task, data: Any, cv: Any, seed: int, n_iter: int) -> tuple[float, Any]:
    """Return the seconds for all candidates, and their scores."""
    search = RandomizedSearchCV(
        task.estimator, task.space, n_iter=n_iter, cv=cv, random_state=1000 + seed, refit=False
    )
    started = time.perf_counter()
    search.fit(*data)
    return time.perf_counter() - started, search.cv_results_["mean_test_score"]


def hyperband(options: Any, task: Task, data: Any, cv: Any, seed: int, goal: float) -> Reached:
    """Return when the first candidate with that score was through its last fold."""
    options = {"cv": cv, "random_state": seed, "refit": False, **task.options, **options}
    search = HyperbandSearchCV(task.estimator, task.space, **options)
    started = time.time()
    search.fit(*data)
    total = time.time() - started
    history = search.history_
    full = history[history.n_resources == history.n_resources.max()]
    full = full.assign(end=full.started + full.fit_time + full.score_time - started)
    through = full.groupby("candidate").agg(score=("test_score", "mean"), end=("end", "max"))
    good = through.end[through.score >= goal]
    return Reached(good.min() if len(good) else np.nan, total, through.score.max())


def halving(task: Task, data: Any, cv: Any, seed: int, goal: float) -> Reached:
    """Return the time of scikit-learn's own search if what it chose is good enough."""
    options = {"cv": cv, "random_state": seed, "refit": False}
    if task.options:
        name = task.options["resource"]
        largest = task.estimator.get_params()[name]
        options |= {
            "resource": name,
            "max_resources": largest,
            "min_resources": max(1, largest // 81),
        }
    search = HalvingRandomSearchCV(task.estimator, task.space, **options)
    started = time.perf_counter()
    search.fit(*data)
    total = time.perf_counter() - started
    chosen = clone(task.estimator).set_params(**search.best_params_)
    best = cross_val_score(chosen, *data, cv=cv).mean()
    return Reached(total if best >= goal else np.nan, total, best)


def optuna_tpe(task: Task, data: Any, cv: Any, seed: int, goal: float, n_iter: int) -> Reached:
    """Return when Optuna's TPE had a trial with that score, of as many as random search."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    ends, scores = [], []

    def objective(trial: Any) -> float:
        params = suggest(trial, task.space)
        model = clone(task.estimator).set_params(**params)
        scores.append(cross_val_score(model, *data, cv=cv).mean())
        ends.append(time.perf_counter() - started)
        if scores[-1] >= goal:
            trial.study.stop()
        return scores[-1]

    sampler = optuna.samplers.TPESampler(seed=seed)
    started = time.perf_counter()
    optuna.create_study(direction="maximize", sampler=sampler).optimize(objective, n_iter)
    return Reached(ends[-1] if scores[-1] >= goal else np.nan, ends[-1], max(scores))


def searches(n_iter: int, *, quick: bool) -> dict[str, Callable[..., Reached]]:
    """Return what is compared; Optuna if it is installed."""
    found: dict[str, Callable[..., Reached]] = {
        name: lambda *a, options=options: hyperband(options, *a)
        for name, options in list(VARIANTS.items())[: 2 if quick else None]
    }
    found["HalvingRandomSearchCV"] = halving
    try:
        import optuna  # noqa: F401

        found["Optuna TPE"] = lambda *a: optuna_tpe(*a, n_iter=n_iter)
    except ImportError:
        print("Optuna is not installed: left out.")
    return found


def table_rows(task: Task, options: argparse.Namespace, notes: list[str]) -> list[list[Any]]:
    """Run everything on every seed; return one line for each search."""
    n_iter = 10 if options.quick else 60
    kinds = searches(n_iter, quick=options.quick)
    reached: dict[str, list[Reached]] = {name: [] for name in kinds}
    baselines, goals = [], []
    for seed in range(options.seeds):
        data = task.load(seed)
        cv = StratifiedKFold(5, shuffle=True, random_state=seed)
        baseline, scores = random_search(task, data, cv, seed, n_iter)
        goal = scores.max()
        if task.reference is not None:
            model = clone(task.estimator).set_params(**task.reference)
            goal = max(goal, cross_val_score(model, *data, cv=cv).mean())
        baselines.append(baseline)
        goals.append((goal, scores.max(), np.mean(scores >= goal - MARGIN)))
        for name, search in kinds.items():
            reached[name].append(search(task, data, cv, seed, goal - MARGIN))
    best, best_of_random, share = np.mean(goals, axis=0)
    notes.append(
        f"{n_iter} random candidates took {np.median(baselines):.1f} s; best known "
        f"score {best:.4f}, best of random {best_of_random:.4f} (means); {share:.1%} of the "
        f"random candidates are within {MARGIN}."
    )
    return [_row(name, found, baselines, goals, task) for name, found in reached.items()]


def _row(name: str, found: list[Reached], baselines: Any, goals: Any, task: Task) -> list[Any]:
    """Return a line: speed-up until the quality, how often, and of the whole search."""
    speed_up = np.array(baselines) / [one.seconds for one in found]
    total = np.array(baselines) / [one.total for one in found]
    hits = speed_up[~np.isnan(speed_up)]
    figures = [hits.min(), np.median(hits), hits.max()] if len(hits) else [np.nan] * 3
    is_ours = task.target and name.startswith("Hyperband")
    bound = float(task.target.split()[1]) if is_ours else np.nan
    verdict = ("yes" if figures[1] >= bound else "**no**") if is_ours else ""
    behind = np.mean([goal[0] - one.best for goal, one in zip(goals, found, strict=True)])
    hit_share = f"{len(hits)} of {len(found)}"
    target = task.target if is_ours else ""
    return [name, *figures, hit_share, np.median(total), f"{behind:+.4f}", target, verdict]


COLUMNS = (
    "search | speed-up: min | median | max | reached | whole search: median speed-up "
    "| score behind best known, mean | target | reached it"
)


def main() -> None:
    """Print a table for each task."""
    options = parse_options(__doc__, seeds=5)
    report = Report("Time to quality", options)
    started = time.perf_counter()
    with one_thread():
        for task in tasks(options.quick):
            if options.only not in task.name:
                continue
            notes: list[str] = []
            report.table(task.name, COLUMNS, table_rows(task, options, notes))
            report.write(*notes, "")
    report.write(f"Took {time.perf_counter() - started:.0f} s.")
    report.save()


if __name__ == "__main__":
    main()
