"""How long it takes to come within 0.002 of the best of 60 random candidates.

    python examples/benchmarks/time_to_quality.py [--quick] [--seeds N] [--only TEXT]
        [--output FILE.md]

The time of a search is measured until it has evaluated a candidate, with all of the resource and
on all five folds, whose mean score is at most 0.002 below the best of the 60. The speed-up is the
time of RandomizedSearchCV for all 60, divided by this time. All searches use the same folds.
HalvingRandomSearchCV is measured until its end, and its choice is then scored on the five folds.
Everything runs in one process and one thread. The time is missing for seeds in which the score was
not reached; the share of the other seeds is given beside the median.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from _common import Report, load_images, one_thread, parse_options
from _peer_spaces import suggest
from scipy.stats import loguniform, randint, uniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import (
    HalvingRandomSearchCV,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer, MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import SVC

from sklearn_halving import HyperbandSearchCV

PREPROCESSORS = ["passthrough", MinMaxScaler(), StandardScaler(), Normalizer()]
MARGIN = 0.002


class KernelRidgeClassifier(ClassifierMixin, KernelRidge):
    """Kernel ridge regression on one column for each class (Li et al. 2018, 3.2.2)."""

    def fit(self, X: Any, y: Any) -> KernelRidgeClassifier:
        """Solve for all classes at once."""
        self._binarizer = LabelBinarizer(neg_label=-1)
        targets = self._binarizer.fit_transform(y)
        self.classes_ = self._binarizer.classes_
        return super().fit(X, targets)

    def predict(self, X: Any) -> Any:
        """Return the class with the largest output."""
        return self.classes_[super().predict(X).argmax(axis=1)]


class Task(NamedTuple):
    """A search space and its data.

    ``reference`` are good parameters. If random search may not find any, their score is the goal.
    """

    name: str
    estimator: BaseEstimator
    space: Any
    load: Callable[[int], tuple[Any, Any]]
    target: str = ""
    options: dict[str, Any] = {}  # noqa: RUF012 - never changed
    reference: dict[str, Any] | None = None


def tasks(quick: bool) -> Iterator[Task]:
    """Yield all tasks."""
    n_images, n_features = (200, 50) if quick else (1500, 1000)

    def digits(seed: int) -> tuple[Any, Any]:
        X, y = load_digits(return_X_y=True)
        step = 5 if quick else 1
        return X[::step], y[::step]

    def images(seed: int) -> tuple[Any, Any]:
        return load_images(n_images, seed)[:2]

    svc = {"C": loguniform(1e-2, 1e4), "gamma": loguniform(1e-6, 1e1)}
    yield Task("SVC on digits, n_samples", SVC(), svc, digits, ">= 20")
    # The space of section 3.2.2 of the paper, with alpha = 1 / (2 C).
    kernel_ridge = Pipeline([("scale", "passthrough"), ("model", KernelRidgeClassifier())])
    kernels = {
        "scale": PREPROCESSORS,
        "model__kernel": ["rbf", "poly", "sigmoid"],
        "model__alpha": loguniform(5e-6, 5e2),
        "model__gamma": loguniform(1e-5, 1e1),
        "model__degree": randint(2, 6),
        "model__coef0": uniform(-1, 2),
    }
    yield Task("kernel ridge on images, n_samples", kernel_ridge, kernels, images)
    features = Pipeline(
        [
            ("scale", "passthrough"),
            ("rbf", RBFSampler(n_components=n_features, random_state=0)),
            ("model", RidgeClassifier()),
        ]
    )
    space = {
        "scale": PREPROCESSORS,
        "rbf__gamma": loguniform(1e-5, 1e1),
        "model__alpha": loguniform(5e-6, 5e2),
    }
    resource = {"resource": "rbf__n_components"}
    yield Task("random features on images", features, space, images, options=resource)
    wide = {"C": loguniform(1e-6, 1e6), "gamma": loguniform(1e-12, 1e2)}
    known = {"C": 10, "gamma": 1e-3}
    yield Task("SVC on digits, one in sixty is good", SVC(), wide, digits, reference=known)


class Reached(NamedTuple):
    """Seconds until the goal was reached (NaN: never), seconds until the end, and best score."""

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
    """Return when the last fold of the first candidate with this score was evaluated."""
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
    """Return the time of scikit-learn's halving search if its choice is good enough."""
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
    """Return when Optuna's TPE had a trial with this score, of as many as random search."""
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
    """Return the searches; Optuna is included if it is installed."""
    found: dict[str, Callable[..., Reached]] = {
        name: lambda *a, options=options: hyperband(options, *a)
        for name, options in list(VARIANTS.items())[: 2 if quick else None]
    }
    found["HalvingRandomSearchCV"] = halving
    try:
        import optuna  # noqa: F401

        found["Optuna TPE"] = lambda *a: optuna_tpe(*a, n_iter=n_iter)
    except ImportError:
        print("Optuna is not installed and is left out.")
    return found


def table_rows(task: Task, options: argparse.Namespace, notes: list[str]) -> list[list[Any]]:
    """Run all searches on all seeds, and return a row for each search."""
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
