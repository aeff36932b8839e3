"""What it saves to train models on from rung to rung, instead of fitting them again.

    python examples/benchmarks/continuation.py [--quick] [--seeds N] [--only TEXT]
        [--output FILE.md]

CPU time of the bracket of 81 candidates (R = 81, or 243 trees; factor 3), with models fitted
anew in each rung over the same with models continued. The candidates, the splits and the
survivors are the same: the scorer predicts, which costs what it costs, but returns a number
that depends on the parameters alone. One thread; LightGBM, XGBoost and CatBoost where
installed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from _common import (
    CLAIM_COLUMNS,
    Report,
    claim,
    cpu_seconds,
    load_phoneme,
    one_thread,
    parse_options,
)
from scipy.stats import loguniform, randint
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_halving import HyperbandSearchCV
from sklearn_halving.resources import Iterations

TREES = {"max_features": [0.1, 0.2, 0.3], "min_samples_leaf": randint(1, 20)}
BOOSTING = {"learning_rate": loguniform(0.02, 0.5), "max_depth": [2, 3, 4]}
LINEAR = {"alpha": loguniform(1e-6, 1e-1)}
N_CLASSES = 4
"""Boosting fits a tree for each class in each round: it gets four of the ten digits."""


class Case(NamedTuple):
    """An estimator, the parameter that is the resource, and what is searched."""

    name: str
    estimator: Any
    parameter: str
    space: dict[str, Any]
    target: str = ">= 0.95"
    continued: Any = "auto"
    n_class: int = 10
    largest: int = 81
    has_many_rows: bool = False


def cases() -> Iterator[Case]:
    """Yield what is measured."""
    trees = {"parameter": "n_estimators", "target": ">= 1.3", "largest": 243}
    yield Case("RandomForest", RandomForestClassifier(), space=TREES, **trees)
    yield Case("ExtraTrees", ExtraTreesClassifier(), space=TREES, **trees)
    boosting = GradientBoostingClassifier()
    yield Case("GradientBoosting", boosting, space=BOOSTING, n_class=N_CLASSES, **trees)
    # On the 1,797 digits a tree takes a millisecond, and what a fit costs beside its trees
    # counts; on three times as many rows it counts less.
    trees["has_many_rows"] = True
    space = {"max_features": [1, 2, 3], "min_samples_leaf": randint(1, 20)}
    yield Case("RandomForest, phoneme", RandomForestClassifier(), space=space, **trees)
    yield Case("ExtraTrees, phoneme", ExtraTreesClassifier(), space=space, **trees)
    yield Case("GradientBoosting, phoneme", boosting, space=BOOSTING, **trees)
    # No early stopping, which would end some of the fits before their level.
    steady = HistGradientBoostingClassifier(early_stopping=False)
    yield Case("HistGradientBoosting", steady, "max_iter", BOOSTING, n_class=N_CLASSES)
    sgd = SGDClassifier(tol=None)
    yield Case("SGD, tol=None", sgd, "max_iter", LINEAR)
    yield Case("SGD, as it comes", SGDClassifier(), "max_iter", LINEAR)
    piped = {f"sgdclassifier__{name}": values for name, values in LINEAR.items()}
    pipeline = make_pipeline(StandardScaler(), sgd)
    yield Case("scaler and SGD, tol=None", pipeline, "sgdclassifier__max_iter", piped)
    yield Case("Perceptron, tol=None", Perceptron(penalty="l2", tol=None), "max_iter", LINEAR)
    mlp = MLPClassifier((20,), n_iter_no_change=1000)
    yield Case("MLP", mlp, "max_iter", {"alpha": loguniform(1e-6, 1e-1)})
    name = "SGD by partial_fit, over refits by fit"
    yield Case(name, sgd, "max_iter", LINEAR, continued="partial_fit")
    name = "MLP by partial_fit, over refits by fit"
    yield Case(name, mlp, "max_iter", LINEAR, continued="partial_fit")
    yield from boosting_libraries()


def boosting_libraries() -> Iterator[Case]:
    """Yield the cases of the libraries that are installed."""
    n = "n_estimators"
    quiet = {"random_state": 0, "n_jobs": 1}
    try:
        from lightgbm import LGBMClassifier

        yield Case("LightGBM", LGBMClassifier(verbose=-1, **quiet), n, BOOSTING, n_class=N_CLASSES)
    except ImportError:
        print("LightGBM is not installed: left out.")
    try:
        from xgboost import XGBClassifier

        yield Case("XGBoost", XGBClassifier(**quiet), n, BOOSTING, n_class=N_CLASSES)
    except ImportError:
        print("XGBoost is not installed: left out.")
    try:
        from catboost import CatBoostClassifier

        model = CatBoostClassifier(
            learning_rate=0.1, verbose=0, thread_count=1, allow_writing_files=False
        )
        yield Case("CatBoost", model, "iterations", BOOSTING, n_class=N_CLASSES)
    except ImportError:
        print("CatBoost is not installed: left out.")


class FixedRanking:
    """A scorer that predicts, and returns a number that only the parameters decide.

    What is random, yet the same for both searches, decides who survives: neither the dear
    candidates nor the cheap ones are favoured.
    """

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.seconds = 0.0

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Predict, then return the number."""
        self.seconds += cpu_seconds(lambda: estimator.predict(X))
        params = estimator.get_params()
        return float(crc32(repr([params[name] for name in self.names]).encode()))


class Counting(BaseEstimator):
    """Counts the units that it is trained for; can be trained on."""

    n_trained = 0

    def __init__(self, quality: float = 0, units: int = 1, warm_start: bool = False) -> None:
        self.quality = quality
        self.units = units
        self.warm_start = warm_start

    def fit(self, X: Any, y: Any) -> Counting:
        """Count the units that are missing."""
        Counting.n_trained += self.units - (getattr(self, "units_", 0) if self.warm_start else 0)
        self.units_ = self.units
        return self

    def predict(self, X: Any) -> Any:
        """Return anything: the ranking is fixed."""
        return np.zeros(len(X))


def search(case: Case, resource: Any, options: dict[str, Any], seed: int) -> HyperbandSearchCV:
    """Return the search of one bracket, the one with the most candidates."""
    return HyperbandSearchCV(
        case.estimator,
        case.space,
        resource=resource,
        brackets="most_exploratory",
        refit=False,
        scoring=FixedRanking(sorted(case.space)),
        random_state=seed,
        **options,
    )


def ratios_of(case: Case, data: tuple[Any, Any], options: dict[str, Any], n: int) -> list[Any]:
    """Return the line of a case: CPU of refitting over CPU of continuing, once a seed."""
    continued = Iterations(case.parameter) if case.continued == "auto" else case.continued
    refitted = Iterations(case.parameter, continuation="refit")
    both = np.empty((n, 2, 2))  # seed, refitted or continued, whole search or without predicting
    for seed in range(n):
        runs = []
        for turn in (0, 1):  # either way goes first once
            order = (refitted, continued) if turn else (continued, refitted)
            found = [_cpu_of_fit(case, way, options, seed, data) for way in order]
            runs.append(found if turn else found[::-1])
        both[seed] = np.mean(runs, axis=0)
    whole, training = (both[:, 0] / both[:, 1]).T
    seconds = " / ".join(f"{value:.2f}" for value in np.median(both[:, :, 0], axis=0))
    name = f"{case.name} ({seconds} s)"
    return [*claim(name, whole, case.target), float(np.median(training))]


def _cpu_of_fit(case: Case, resource: Any, options: Any, seed: int, data: Any) -> list[float]:
    """Return CPU seconds of the search, and those without predicting."""
    fitted = search(case, resource, options, seed)
    seconds = cpu_seconds(lambda: fitted.fit(*data))
    return [seconds, seconds - fitted.scorer_.seconds]


def counted_rows() -> Iterator[list[Any]]:
    """Yield the units that an estimator which counts was trained for, of R = 81."""
    case = Case("", Counting(), "units", {"quality": np.arange(1000).tolist()})
    options = {"max_resources": 81, "cv": 2}
    data = np.zeros((20, 1)), np.arange(20) % 2
    for way, expected in (("total", 297), ("refit", 405)):
        Counting.n_trained = 0
        searched = search(case, Iterations("units", continuation=way), options, seed=0)
        searched.fit(*data)
        n_units = Counting.n_trained / searched.n_splits_
        reached = "yes" if n_units == expected == searched.n_resources_spent_ / 2 else "**no**"
        yield [way, n_units, searched.n_resources_spent_ / 2, expected, reached]


def timed_rows(options: argparse.Namespace) -> Iterator[list[Any]]:
    """Yield one line for each estimator."""
    step = 3 if options.quick else 1
    for case in cases():
        if options.only not in case.name:
            continue
        X, y = load_phoneme() if case.has_many_rows else digits(case.n_class)
        largest = 27 if options.quick else case.largest
        how = {"max_resources": largest, "cv": StratifiedKFold(2)}
        yield ratios_of(case, (X[::step], y[::step]), how, options.seeds)


def digits(n_class: int) -> tuple[Any, Any]:
    """Return the digits that scikit-learn ships, in [0, 1]."""
    X, y = load_digits(n_class=n_class, return_X_y=True)
    return X / 16, y


def main() -> None:
    """Count, then measure."""
    options = parse_options(__doc__, seeds=5)
    report = Report("Continuing models from rung to rung", options)
    started = time.perf_counter()
    with one_thread():
        report.table(
            "Units trained for, a split: 81 candidates, R = 81, factor 3",
            "continuation | counted by the estimator | n_resources_spent_ | expected | equal",
            counted_rows(),
        )
        report.table(
            "CPU of refitting / CPU of continuing",
            f"{CLAIM_COLUMNS} | without predicting, median",
            timed_rows(options),
        )
    report.write(
        f"The digits of scikit-learn (boosting: 0 to {N_CLASSES - 1}) or the 5,404 rows of the "
        "phoneme data, 2 folds; seconds are "
        "those of the whole search, refitting / continuing. In units the ratio is 405 / 297 = "
        f"1.36. Took {time.perf_counter() - started:.0f} s."
    )
    report.save()


if __name__ == "__main__":
    main()
