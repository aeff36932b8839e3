"""Tables of real test scores, for replaying searches on them: made once, then kept.

A table has one row a candidate and one column a split. Rows of the data, splits and seeds of
the models are fixed: two machines with the same versions make the same tables.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn
from _common import DATA
from _recorded_tasks import (
    CLASSIFICATION,
    WINE_QUALITY,
    accuracy,
    classifiers,
    load_wine_quality,
    roc_auc,
    wine_scores,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingGridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_halving.splits import RepeatedLearningTesting

N_FOLDS = 5
VERSION = 1
"""To be raised when what is recorded changes, so that kept tables are not taken for it."""


class Sizes(NamedTuple):
    """How much is recorded for each set."""

    n_splits: int
    n_partitions: int
    n_halvings: int
    every: int = 1  # of the candidates, every so many


FULL = Sizes(n_splits=200, n_partitions=20, n_halvings=16)
QUICK = Sizes(n_splits=30, n_partitions=5, n_halvings=1, every=4)


@dataclass(frozen=True)
class Recorded:
    """Scores of all candidates of a task, larger is better.

    Parameters
    ----------
    name : str
    metric : str
    splits : ndarray of shape (n_candidates, n_splits)
        On learning-testing splits.
    folds : ndarray of shape (n_candidates, n_partitions, 5)
        On the folds of 5-fold partitions; no partitions for the wine, where a model trains on
        a tenth of the rows.
    halving_choice : ndarray of int of shape (n_halvings,)
        What scikit-learn's HalvingGridSearchCV chose, with one seed after the other.
    halving_fits : float
        Its fits, as a multiple of the number of candidates.
    seconds : float
        CPU time that the recording took.
    """

    name: str
    metric: str
    splits: np.ndarray
    folds: np.ndarray
    halving_choice: np.ndarray
    halving_fits: float
    seconds: float

    @property
    def n_candidates(self) -> int:
        """Rows of the tables."""
        return len(self.splits)

    @property
    def truth(self) -> np.ndarray:
        """The mean over all that was recorded, each protocol with the same weight.

        Both train on the same share of the rows. Neither is judged by its own splits alone.
        """
        if not self.folds.size:
            return self.splits.mean(axis=1)
        return (self.splits.mean(axis=1) + self.folds.mean(axis=(1, 2))) / 2

    @property
    def standard_error(self) -> float:
        """What a user takes for the standard error of the best candidate's 5-fold mean.

        The standard deviation over the folds of a partition, over the root of 5, root mean
        square over partitions. On the wine 5 splits stand for the folds.
        """
        best = int(self.truth.argmax())
        spread = self.folds[best].var(axis=1, ddof=1) if self.folds.size else None
        variance = self.splits[best].var(ddof=1) if spread is None else spread.mean()
        return float(np.sqrt(variance / N_FOLDS))


def recorded(name: str, cache: Path, *, quick: bool = False) -> Recorded:
    """Return the tables of a task, from the cache or made now and kept there."""
    sizes = QUICK if quick else FULL
    label = f"{name.replace(' ', '-')}-{'-'.join(map(str, sizes))}-v{VERSION}"
    path = cache / f"{label}-sklearn{sklearn.__version__}.npz"
    if not path.exists():
        print(f"Recording {name} ...", flush=True)
        tables = _record_wine(sizes) if name == WINE_QUALITY else _record(name, sizes)
        cache.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **tables)
    with np.load(path) as kept:
        tables = {key: kept[key][()] for key in kept.files}
    metric = "RMSE" if name == WINE_QUALITY else CLASSIFICATION[name].metric
    return Recorded(name=name, metric=metric, **tables)


def _record(name: str, sizes: Sizes) -> dict[str, Any]:
    """Return the tables of a classification set."""
    started = time.process_time()
    task, models = CLASSIFICATION[name], classifiers()[:: sizes.every]
    X, y = task.load()
    if len(X) > task.n_rows:
        only = RepeatedLearningTesting(1, train_size=task.n_rows, random_state=0)
        rows = next(only.split(X, y))[0]
        X, y = X[rows], y[rows]
    cv = RepeatedLearningTesting(sizes.n_splits, random_state=1)
    folds = [
        split
        for seed in range(sizes.n_partitions)
        for split in StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(X, y)
    ]
    score = accuracy if task.metric == "accuracy" else roc_auc
    with _quiet_and_fast():
        of_splits = _table(models, X, y, cv.split(X, y), score)
        of_folds = _table(models, X, y, iter(folds), score)
        choices, n_fits = _halving(models, X, y, task.metric, sizes.n_halvings)
    return {
        "splits": of_splits,
        "folds": of_folds.reshape(len(models), -1, N_FOLDS),
        "halving_choice": choices,
        "halving_fits": n_fits,
        "seconds": time.process_time() - started,
    }


def _table(models: list[Any], X: Any, y: Any, splits: Iterator[Any], score: Any) -> np.ndarray:
    """Return the scores of all models on all splits."""
    columns = []
    for j, (train, test) in enumerate(splits):
        scaler = StandardScaler().fit(X[train])
        train_rows, test_rows, column = scaler.transform(X[train]), scaler.transform(X[test]), []
        for i, model in enumerate(models):
            if hasattr(model, "random_state"):
                model.random_state = 1000 * j + i
            column.append(score(model.fit(train_rows, y[train]), test_rows, y[test]))
        columns.append(column)
    return np.array(columns).T


def _halving(
    models: list[Any], X: Any, y: Any, metric: str, n_seeds: int
) -> tuple[np.ndarray, float]:
    """Return what HalvingGridSearchCV with its defaults chooses, and its fits a candidate."""
    choices, n_fits = [], 0
    for seed in range(n_seeds):
        for model in models:
            if hasattr(model, "random_state"):
                model.random_state = seed
        order = np.random.default_rng(seed).permutation(len(models))
        search = HalvingGridSearchCV(
            Pipeline([("scale", StandardScaler()), ("model", models[0])]),
            {"model": [models[i] for i in order]},
            cv=StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed),
            scoring=metric,
            random_state=seed,
            refit=False,
        ).fit(X, y)
        # The winner's place in the list of its rung is no place in ours: find it by its object.
        winner = search.cv_results_["params"][search.best_index_]["model"]
        choices.append(next(i for i, model in enumerate(models) if model is winner))
        n_fits = N_FOLDS * sum(search.n_candidates_)
    return np.array(choices, dtype=int), n_fits / len(models)


def _record_wine(sizes: Sizes) -> dict[str, Any]:
    """Return the scores of the 160 regressors."""
    started = time.process_time()
    data = load_wine_quality()
    if data is None:
        raise FileNotFoundError(
            f"winequality-red.csv and winequality-white.csv must be in {DATA}, and are not. "
            "Set SKLEARN_HALVING_DATA to a folder with these files of the UCI repository."
        )
    X, y = data
    cv = RepeatedLearningTesting(
        sizes.n_splits, train_size=0.1, test_size=0.1, stratify=False, random_state=1
    )
    with _quiet_and_fast():
        columns = [
            wine_scores(X[train], y[train], X[test], y[test], j)
            for j, (train, test) in enumerate(cv.split(X))
        ]
    return {
        "splits": np.array(columns).T,
        "folds": np.empty((len(columns[0]), 0, N_FOLDS)),
        "halving_choice": np.empty(0, dtype=int),
        "halving_fits": np.nan,
        "seconds": time.process_time() - started,
    }


class _quiet_and_fast(warnings.catch_warnings):  # noqa: N801 - used like a function
    """Leave out checks that cost more than a small fit, and warnings of a bad candidate."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore")
        self._config = sklearn.get_config()
        sklearn.set_config(assume_finite=True, skip_parameter_validation=True)

    def __exit__(self, *error: Any) -> None:
        sklearn.set_config(**self._config)
        super().__exit__(*error)
